//! A network set up to run: engine, and what is recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::choice::{at_its_field, choose_engine, windowed};
use crate::assemble::Assembled;
use crate::engine::sequential::Sequential;
use crate::engine::windowed::Windowed;
use crate::engine::{Ending, Observer};
use crate::error::InputError;
use crate::graph::Graph;
use crate::net::series::{Plan, samples_of};
use crate::net::{Net, trace};
use crate::scenario::{EngineChoice, Scenario};
use crate::spec::Resolved;
use crate::spec::run::{Interval, Samples};
use crate::spec::value::PortRef;
use crate::topology::NodeNames;

/// Switch ports up to which the queues of all are sampled over time.
const MOST_SAMPLED: usize = 4096;

/// One of the two engines.
pub(crate) enum Engine {
    Sequential(Box<Sequential>),
    Windowed(Box<Windowed>),
}

impl Engine {
    pub(crate) fn net(&mut self) -> &mut Net {
        match self {
            Engine::Sequential(e) => e.net_mut(),
            Engine::Windowed(e) => e.net_mut(),
        }
    }

    pub(crate) fn run(&mut self, observer: &mut dyn Observer) -> Result<(Ending, u64), InputError> {
        match self {
            Engine::Sequential(e) => e.run(observer),
            Engine::Windowed(e) => e.run(observer),
        }
    }

    /// Sets up records alike in all parts of the network.
    fn prepare(&mut self, mut prepare: impl FnMut(&mut Net)) {
        match self {
            Engine::Sequential(e) => prepare(e.net_mut()),
            Engine::Windowed(e) => e.nets_mut().for_each(prepare),
        }
    }

    pub(super) fn threads(&self) -> usize {
        match self {
            Engine::Sequential(_) => 1,
            Engine::Windowed(e) => e.threads(),
        }
    }

    /// CPU seconds of threads beside the calling one.
    pub(super) fn others_cpu_s(&self) -> f64 {
        match self {
            Engine::Sequential(_) => 0.0,
            Engine::Windowed(e) => e.others_cpu_s(),
        }
    }
}

/// A network set up to run, with its records.
pub(super) struct Ready {
    pub(super) engine: Engine,
    pub(super) choice: (EngineChoice, String),
    pub(super) classes: Vec<u8>,
    pub(super) chosen_ports: Vec<u32>,
}

/// The ports that a setting names, by global index; `of_hosts`: those of hosts may be among them.
fn named_ports(
    spec: &Resolved,
    scenario: &Scenario,
    setting: &str,
    named: &[PortRef],
    of_hosts: bool,
) -> Result<Vec<u32>, InputError> {
    let graph = &scenario.graph;
    let nodes = NodeNames::new(&scenario.names, &graph.tiers);
    let mut chosen = Vec::new();
    for (i, port) in named.iter().enumerate() {
        let field = format!("{setting}.{i}");
        let find = |name: &str| {
            let unknown = || spec.error(&field, &nodes.unknown(name)).allowed(nodes.allowed());
            nodes.find(name).ok_or_else(unknown)
        };
        let (node, numbers) = match port {
            PortRef::Number(name, number) => {
                let node = find(name)?;
                (node, Vec::from_iter(Some(*number).filter(|n| usize::from(*n) < graph.ports_of(node).len())))
            }
            PortRef::Towards(link) => {
                let (node, to) = (find(&link.from)?, find(&link.to)?);
                let ports = (0..).zip(graph.ports_of(node));
                (node, ports.filter(|(_, p)| p.peer == to).map(|(number, _)| number).collect())
            }
        };
        let is_wrong_kind = graph.is_host(node) && !of_hosts;
        if is_wrong_kind || numbers.is_empty() {
            let what = if of_hosts { "node" } else { "switch" };
            let allowed = match graph.ports_of(node).len() {
                _ if is_wrong_kind => "a port of a switch".to_string(),
                0 => format!("a {what} that has ports"),
                1 => "port number 0, or the link to its neighbour".to_string(),
                n => format!("port numbers 0 to {}, or a link to a neighbour", n - 1),
            };
            let problem = if of_hosts { "no such port" } else { "no such switch port" };
            return Err(spec.error(&field, problem).allowed(allowed));
        }
        chosen.extend(numbers.into_iter().map(|number| graph.port_index(node, number) as u32));
    }
    Ok(chosen)
}

/// Ports whose queues are to be in the series, by global index.
pub(super) fn chosen_ports(spec: &Resolved, scenario: &Scenario) -> Result<Vec<u32>, InputError> {
    named_ports(spec, scenario, "records.series.ports", &spec.records.series.ports, false)
}

/// Which packets are to be recorded one by one, if any.
pub(super) fn packet_plan(spec: &Resolved, scenario: &Scenario) -> Result<Option<trace::Plan>, InputError> {
    let asked = &spec.records.packets;
    let named = named_ports(spec, scenario, "records.packets.ports", &asked.ports, true)?;
    let mut ports = vec![named.is_empty(); scenario.graph.ports.len()];
    for port in named {
        ports[port as usize] = true;
    }
    let time = asked.start.0..asked.end.map_or(u64::MAX, |end| end.0);
    Ok((asked.rows > 0).then(|| trace::Plan { ports: ports.into(), time }))
}

/// What series are to be made of, if any: the queues of the ports named and, where the busiest are wanted and there are not more than
/// [`MOST_SAMPLED`], of all switch ports.
pub(super) fn series_plan(spec: &Resolved, graph: &Graph, chosen: &[u32]) -> Option<Plan> {
    let series = &spec.records.series;
    let Interval::Every(interval) = series.interval else { return None };
    let at_switches = |p: &u32| !graph.is_host(graph.ports[*p as usize].node);
    let mut ports: Vec<u32> = (0..graph.ports.len() as u32).filter(at_switches).collect();
    if series.busiest == 0 || ports.len() > MOST_SAMPLED {
        ports = chosen.to_vec();
        ports.sort_unstable();
        ports.dedup();
    }
    let samples = if let Samples::Count(n) = series.samples { n as usize } else { samples_of(ports.len()) };
    let (mut flows, mut seen) = (series.flows.clone(), BTreeSet::new());
    flows.retain(|id| seen.insert(*id));
    Some(Plan { interval: interval.0, samples, ports, flows })
}

pub(super) fn set_up(spec: &Resolved, assembled: Assembled, threads: usize) -> Result<Ready, InputError> {
    let scenario = assembled.scenario;
    let chosen_ports = chosen_ports(spec, &scenario)?;
    let packets = packet_plan(spec, &scenario)?;
    let choice = choose_engine(&scenario)?;
    let mut engine = if choice.0 == EngineChoice::Windowed {
        Engine::Windowed(Box::new(windowed(spec, &scenario, assembled.source, threads)?))
    } else {
        let made = Sequential::new(Arc::clone(&scenario), assembled.source, None);
        Engine::Sequential(Box::new(made.map_err(|e| at_its_field(spec, e))?))
    };
    engine.prepare(|net| net.record_classes(&assembled.classes));
    if let Some(plan) = series_plan(spec, &scenario.graph, &chosen_ports) {
        engine.prepare(|net| net.sample(plan.clone()));
    }
    if let Some(plan) = packets {
        engine.prepare(|net| net.record_packets(plan.clone()));
    }
    Ok(Ready { engine, choice, classes: assembled.classes, chosen_ports })
}

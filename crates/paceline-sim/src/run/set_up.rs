//! A network set up to run: engine, and what is recorded.

use std::sync::Arc;

use super::choice::choose_engine;
use crate::assemble::{Assembled, series_interval};
use crate::engine::sequential::Sequential;
use crate::engine::windowed::Windowed;
use crate::engine::{Ending, Observer};
use crate::error::InputError;
use crate::graph::Graph;
use crate::net::Net;
use crate::scenario::EngineChoice;
use crate::spec::Resolved;

/// Ports up to which queue lengths are sampled over time.
pub(super) const MOST_SAMPLED: usize = 4096;

pub(super) enum Engine {
    Sequential(Box<Sequential>),
    Windowed(Box<Windowed>),
}

impl Engine {
    pub(super) fn net(&mut self) -> &mut Net {
        match self {
            Engine::Sequential(e) => e.net_mut(),
            Engine::Windowed(e) => e.net_mut(),
        }
    }

    pub(super) fn run(&mut self, observer: &mut dyn Observer) -> Result<(Ending, u64), InputError> {
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

/// Ports whose queues are to be in the series, by global index.
pub(super) fn chosen_ports(spec: &Resolved, graph: &Graph) -> Result<Vec<u32>, InputError> {
    let mut chosen = Vec::new();
    for (i, port) in spec.records.series.ports.iter().enumerate() {
        let known = (port.node as usize) < graph.nodes()
            && !graph.is_host(port.node)
            && usize::from(port.port) < graph.ports_of(port.node).len();
        if !known {
            return Err(spec
                .error(&format!("records.series.ports.{i}"), "no such switch port")
                .value(format!("{}:{}", port.node, port.port))
                .allowed("\"switch:port\" with a switch's node id and a port number from 0"));
        }
        chosen.push(graph.port_index(port.node, port.port) as u32);
    }
    Ok(chosen)
}

pub(super) fn set_up(spec: &Resolved, assembled: Assembled, threads: usize) -> Result<Ready, InputError> {
    let scenario = assembled.scenario;
    let chosen_ports = chosen_ports(spec, &scenario.graph)?;
    let choice = choose_engine(&scenario)?;
    let mut engine = if choice.0 == EngineChoice::Windowed {
        Engine::Windowed(Box::new(Windowed::on_threads(&scenario, assembled.source, threads)?))
    } else {
        Engine::Sequential(Box::new(Sequential::new(Arc::clone(&scenario), assembled.source, None)?))
    };
    engine.prepare(|net| net.record_classes(&assembled.classes));
    if let Some(interval) = series_interval(spec) {
        let most = if chosen_ports.is_empty() && spec.records.series.busiest == 0 { 0 } else { MOST_SAMPLED };
        engine.prepare(|net| net.sample(interval.0, most, spec.records.series.flows.clone()));
    }
    Ok(Ready { engine, choice, classes: assembled.classes, chosen_ports })
}

//! From a checked specification to something that can run: the network built, the flow sources made.
//!
//! | file | what |
//! |---|---|
//! | here | the whole: network, hosts, schemes, all workloads |
//! | `network.rs`, `names.rs` | nodes and links; the names that scenarios give to nodes |
//! | `failures.rs` | which links fail when |
//! | `workloads.rs` | what becomes of a workload, by kind; what hosts it has |
//! | `on_off.rs`, `incast.rs`, `flows.rs`, `rpc.rs`, `programs.rs`, `mpi.rs` | kinds that take more than a few lines |
//! | `flow_file.rs` | files that list flows, of either form; the flows of any scenario as such a file |
//! | `load.rs`, `sizes.rs` | from a load to arrivals; flow sizes |
//! | `lengths.rs` | how long all messages will be |
//! | `doubts.rs` | warnings that take the network to see |

mod doubts;
mod failures;
mod flow_file;
mod flows;
mod incast;
mod lengths;
mod load;
mod mpi;
mod names;
mod network;
mod on_off;
mod programs;
mod rpc;
mod sizes;
mod workloads;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use paceline_proto::transport::homa::cutoffs::Lengths;
use paceline_proto::units::{BitsPerSec, Duration, MS, Time};

use crate::error::InputError;
use crate::graph::{Graph, NodeId};
use crate::ideal;
use crate::routing::Routes;
use crate::scenario::{
    Accounting, BufferModel, HostConfig, QueueRecords, RecordConfig, Rto, Scenario, SwitchConfig, Transport,
};
use crate::spec::host::{BaseRtt, IdleRestart, Rto as RtoSpec};
use crate::spec::run::{QueueRecords as QueueSpec, Stall};
use crate::spec::scheme::Control;
use crate::spec::topology::TopologyKind;
use crate::spec::workload::WorkloadKind;
use crate::spec::{Resolved, Spec};
use crate::topology::{self, NodeNames};
use crate::workload::program::{Kind, Program};
use crate::workload::{self as w, FlowSource};
pub use flow_file::flow_table;
use lengths::Expected;
use network::build_topology;

/// Ports up to which queue histograms are kept per port when that is left to us.
const MOST_PORTS: usize = 4096;
/// Largest input file that is read.
const MOST_BYTES: u64 = 256 << 20;

/// A scenario with its flows, ready to run.
pub struct Assembled {
    /// The run.
    pub scenario: Arc<Scenario>,
    /// Its flows.
    pub source: Box<dyn FlowSource>,
    /// Classes the flows may use, ascending.
    pub classes: Vec<u8>,
    /// Flows that will start, where the scenario itself says so or leaves next to no doubt.
    pub flow_count: Option<u64>,
    /// Instant at which the last workload ends, where known; of queries up to a number about when the last comes.
    pub arrivals_end: Option<Time>,
    /// The flows of `source` alone: those of programs and queries start by what happens in the run.
    pub drawn: Extent,
    /// What looks wrong in the input files.
    pub warnings: Vec<String>,
}

/// How many flows come, as far as the scenario itself says so.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// So many.
    pub count: Option<u64>,
    /// So many at most.
    pub most: Option<u64>,
    /// Until when.
    pub end: Option<Time>,
}

impl Extent {
    const NONE: Self = Self { count: Some(0), most: Some(0), end: Some(Time(0)) };

    /// Both together.
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count.zip(other.count).map(|(a, b)| a + b),
            most: self.most.zip(other.most).map(|(a, b)| a.saturating_add(b)),
            end: self.end.zip(other.end).map(|(a, b)| a.max(b)),
        }
    }
}

/// Builds the network and the flow sources of a specification.
///
/// # Errors
/// An input file that cannot be read or is malformed, an unknown distribution, a host the network does not have, a
/// topology that is not connected.
pub fn assemble(spec: &Resolved) -> Result<Assembled, InputError> {
    let mut warnings = Vec::new();
    let mut network = build_topology(spec, &mut warnings)?;
    topology::delay_at_switches(&mut network, spec.switch.delay);
    let graph = Arc::new(Graph::new(&network));
    crate::routing::choice::check(&graph, spec.routing.config()).map_err(|e| {
        let error = spec.error("routing.choice", &e.problem);
        InputError { value: e.value, allowed: e.allowed, ..error }
    })?;
    let rates: Vec<BitsPerSec> = graph.ports.iter().filter(|p| !graph.is_host(p.node)).map(|p| p.rate).collect();
    let framing = spec.framing.config();
    let messages = spec.schemes.iter().any(|(_, s)| s.cc.is_message_transport());
    let switch = spec.switch.config(&rates, &framing, messages);
    let fastest = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(1);
    let mut routes = Routes::new(Arc::clone(&graph), spec.routing.config());
    let longest = ideal::max_base_rtt(&mut routes, framing.payload);
    let rtt = Duration::from_ns(longest.rtt_ns);
    let base_rtt = if let BaseRtt::Fixed(d) = spec.host.base_rtt { d } else { rtt };
    let initial = first_timeout(spec, longest_drain(&graph, &switch), base_rtt);
    if let (None, Stall::After(stall)) = (initial, &spec.run.stall)
        && *stall <= rtt
    {
        warnings.push(format!(
            "run.stall ({stall:#}) is not longer than the network's base RTT ({rtt:#}): waiting for the first ACK looks like a stall"
        ));
    }
    let names = match &spec.topology.kind {
        TopologyKind::Graph(graph) => graph.hosts.iter().chain(&graph.switches).map(|n| n.0.clone()).collect(),
        _ => Vec::new(),
    };
    let mut scenario = Scenario {
        seed: spec.seed,
        graph: Arc::clone(&graph),
        names: names.clone(),
        framing,
        switch,
        host: host_config(spec, initial),
        routing: spec.routing.config(),
        failures: failures::failures(spec, &network, &NodeNames::new(&names, &network.tiers))?,
        schemes: spec.schemes.iter().map(|(name, s)| s.config(name)).collect(),
        groups: groups(spec),
        rpcs: Arc::default(),
        programs: Arc::default(),
        adapter: spec.host.adapter(&spec.switch.qcn),
        int_multiple: 0,
        stop: spec.run.stop(),
        stall: match spec.run.stall {
            Stall::Off => None,
            // What brings one message on may be several round trips apart: a request, a credit, a packet.
            Stall::After(d) if messages => Some(d.max(Duration(rtt.0.saturating_mul(4)))),
            Stall::After(d) => Some(d),
        },
        engine: spec.run.engine,
        records: RecordConfig { queues: queue_records(spec, graph.ports.len()), pfc_log: false },
        quirks: spec.quirks.config(),
    };
    let schemes: Vec<String> = scenario.schemes.iter().map(|s| s.name.clone()).collect();
    let nodes = NodeNames::new(&names, &graph.tiers);
    let build = Build { spec, scenario: &scenario, schemes: &schemes, nodes };
    let by_length = spec.schemes.iter().any(|(_, s)| matches!(s.cc, Control::Homa(_)));
    let Gathered { mut sources, mut classes, extent, drawn, rpcs, programs, lengths, groups, doubts } =
        gather(&build, by_length)?;
    warnings.extend(doubts);
    let facts = build.facts(fastest, base_rtt, lengths);
    scenario.groups = groups;
    scenario.rpcs = rpcs.into();
    scenario.programs = programs.into();
    let transports: Vec<Transport> = spec.schemes.iter().map(|(_, s)| s.cc.transport(&facts)).collect();
    for (scheme, transport) in scenario.schemes.iter_mut().zip(transports) {
        if let Some(all) = transport.classes() {
            classes = all.collect();
        }
        scheme.transport = transport;
    }
    if let Some(pfc) = &mut scenario.switch.pfc {
        pfc.classes = classes.len().clamp(1, 8) as u8;
    }
    warnings.extend(crate::net::switch::buffers::lack_of_headroom(&scenario));
    warnings.extend(doubts::of_paths(spec, &scenario, &longest, &mut routes));
    warnings.extend(doubts::of_programs(&scenario));
    let source = match sources.len() {
        1 => sources.remove(0),
        _ => Box::new(w::Merge::new(sources)),
    };
    Ok(Assembled {
        scenario: Arc::new(scenario),
        source,
        classes: classes.into_iter().collect(),
        flow_count: extent.count,
        arrivals_end: extent.end,
        drawn,
        warnings,
    })
}

/// How long the queue of one port takes to empty at most: all that its switch may hold for it, over the slowest of its links.
fn longest_drain(graph: &Graph, switch: &SwitchConfig) -> Duration {
    let switches = (0..graph.nodes() as NodeId).filter(|node| !graph.is_host(*node));
    let drains = switches.filter_map(|node| {
        let ports = graph.ports_of(node);
        let by_input = switch.model == BufferModel::PerPort && switch.accounting == Accounting::Input;
        let most = if by_input { switch.buffer.0.saturating_mul(ports.len() as u64) } else { switch.buffer.0 };
        ports.iter().map(|p| p.rate).min().map(|slowest| slowest.serialisation(most))
    });
    drains.max().unwrap_or(Duration(0))
}

/// The first timeout of a flow that hears nothing; `drain` is how long a full buffer takes to empty.
fn first_timeout(spec: &Spec, drain: Duration, base_rtt: Duration) -> Option<Duration> {
    match spec.host.rto {
        RtoSpec::Off => None,
        RtoSpec::After(time) => Some(time),
        // One below the drain of a full buffer would fire for queueing alone.
        RtoSpec::Auto => Some(Duration(MS.max(base_rtt.0.saturating_mul(4).saturating_add(drain.0)))),
    }
}

fn host_config(spec: &Spec, first_timeout: Option<Duration>) -> HostConfig {
    HostConfig {
        ack_priority: spec.host.ack_priority,
        nack_interval: spec.host.nack_interval,
        rto: first_timeout.map(|initial| Rto { initial, tries: spec.host.rto_tries }),
        own_base_rtt: spec.host.base_rtt == BaseRtt::Pair,
        base_rtt: if let BaseRtt::Fixed(d) = spec.host.base_rtt { Some(d) } else { None },
        idle_restart: if let IdleRestart::After(d) = spec.host.idle_restart { Some(d) } else { None },
        chunk: 0,
    }
}

fn queue_records(spec: &Spec, ports: usize) -> QueueRecords {
    match spec.records.queues {
        QueueSpec::Off => QueueRecords::Off,
        QueueSpec::Tier => QueueRecords::Tier,
        QueueSpec::Auto if ports > MOST_PORTS => QueueRecords::Tier,
        QueueSpec::Port | QueueSpec::Auto => QueueRecords::Port,
    }
}

/// The groups of the workloads, each once.
fn groups(spec: &Spec) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for workload in &spec.workloads {
        if !groups.contains(&workload.group.0) {
            groups.push(workload.group.0.clone());
        }
    }
    groups
}

/// What all workloads come to.
struct Gathered {
    sources: Vec<Box<dyn FlowSource>>,
    classes: BTreeSet<u8>,
    extent: Extent,
    /// That of all but programs and queries.
    drawn: Extent,
    rpcs: Vec<Arc<w::Rpc>>,
    programs: Vec<Arc<Program>>,
    lengths: Vec<Lengths>,
    /// Those of the workloads, and of flow tables that have some of their own.
    groups: Vec<String>,
    doubts: Vec<String>,
}

/// Builds the workloads, with what is known of their lengths if `by_length`.
fn gather(build: &Build<'_>, by_length: bool) -> Result<Gathered, InputError> {
    let mut all = Gathered {
        sources: Vec::new(),
        classes: BTreeSet::new(),
        extent: Extent::NONE,
        drawn: Extent::NONE,
        rpcs: Vec::new(),
        programs: Vec::new(),
        lengths: Vec::new(),
        groups: build.scenario.groups.clone(),
        doubts: Vec::new(),
    };
    for (number, workload) in build.spec.workloads.iter().enumerate() {
        let first_connection = all.rpcs.last().map_or(0, |r| r.first + r.count());
        let made = build.workload(number, workload, first_connection, &mut all.groups)?;
        all.extent = all.extent.and(made.extent);
        if made.rpc.is_none() && made.program.is_none() {
            all.drawn = all.drawn.and(made.extent);
        }
        all.lengths.extend(by_length.then(|| made.lengths(build.scenario)).flatten());
        all.rpcs.extend(made.rpc);
        all.programs.extend(made.program.map(Arc::new));
        all.doubts.extend(made.doubts);
        all.classes.extend(made.classes);
        all.sources.push(made.source);
    }
    Ok(all)
}

/// The message-passing program of a workload; without a number, of the only workload that has one.
///
/// # Errors
/// What [`assemble`] refuses; no such workload, or several where none is named (field `workload`).
pub fn message_passing(spec: &Resolved, workload: Option<usize>) -> Result<Arc<crate::mpi::Program>, InputError> {
    let made = assemble(spec)?;
    let all = made.scenario.programs.iter().filter_map(|p| match &p.kind {
        Kind::Mpi(mpi) => Some((usize::from(p.workload), &mpi.program)),
        Kind::ScatterGather(_) => None,
    });
    let mut fitting = all.clone().filter(|(number, _)| workload.is_none_or(|w| w == *number));
    if let (Some((_, program)), None) = (fitting.next(), fitting.next()) {
        return Ok(Arc::clone(program));
    }
    let numbers: Vec<String> = all.map(|(number, _)| number.to_string()).collect();
    let (problem, allowed) = match (numbers.len(), workload) {
        (0, _) => {
            ("the scenario has no message-passing program", "a scenario with a workload of kind = \"mpi\"".into())
        }
        (_, None) => ("the scenario has several message-passing programs", numbers.join(", ")),
        (_, Some(_)) => ("no message-passing program", numbers.join(", ")),
    };
    let error = InputError::new(problem).field("workload").allowed(allowed);
    Err(workload.map_or(error.clone(), |w| error.value(w)))
}

/// Refuses workloads whose flows start by what happens in the run, for who wants them as a list.
///
/// # Errors
/// The first such workload.
pub fn refuse_waiting(spec: &Resolved) -> Result<(), InputError> {
    let waits = |kind: &WorkloadKind| {
        matches!(kind, WorkloadKind::Rpc(_) | WorkloadKind::ScatterGather(_) | WorkloadKind::Mpi(_))
    };
    let Some(number) = spec.workloads.iter().position(|w| waits(&w.kind)) else { return Ok(()) };
    let problem = "what waits for an answer cannot be written as a list of flows";
    let error = spec.error(&format!("workloads.{number}.kind"), problem);
    Err(error.allowed("workloads whose flows start at times of their own"))
}

/// A source with what is known of it beforehand.
struct Made {
    source: Box<dyn FlowSource>,
    classes: Vec<u8>,
    extent: Extent,
    rpc: Option<Arc<w::Rpc>>,
    program: Option<Program>,
    /// What its flows will be like.
    expected: Expected,
    /// Warnings.
    doubts: Vec<String>,
}

impl Made {
    /// Flows of the workload's class, `count` of them and the last at `end`, as far as known.
    fn flows(source: impl FlowSource + 'static, count: Option<u64>, end: Option<Time>) -> Self {
        let source = Box::new(source);
        let (extent, expected) = (Extent { count, most: count, end }, Expected::Unknown);
        Self { source, classes: vec![], extent, rpc: None, program: None, expected, doubts: vec![] }
    }
}

/// What workloads are made from.
struct Build<'a> {
    spec: &'a Resolved,
    scenario: &'a Scenario,
    schemes: &'a [String],
    nodes: NodeNames<'a>,
}

fn read_text(spec: &Resolved, field: &str, file: &str, most: u64) -> Result<String, InputError> {
    let path = Path::new(file);
    let fail = |why: String| spec.error(field, &why).value(file).allowed("a readable file");
    let bytes = crate::input::read(path, most).map_err(fail)?;
    crate::input::utf8(bytes, file)
}

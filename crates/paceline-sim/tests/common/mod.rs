//! What the tests of whole runs share: small networks, a run of either engine, everything it left behind.
#![allow(clippy::unwrap_used, reason = "tests")]

pub mod reference;

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_proto::cc::{Params, fixed};
use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time};
use paceline_sim::assemble::assemble;
use paceline_sim::engine::sequential::Sequential;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::engine::{Ending, Observer};
use paceline_sim::graph::{Graph, Link, NodeKind, Topology};
use paceline_sim::net::series::Plan;
use paceline_sim::net::{Net, trace};
use paceline_sim::record::{Counters, FlowName, FlowRecord, PacketRecord, PfcEvent, QueryRecord, Status, Traffic};
use paceline_sim::results::packet_file::InOrder;
use paceline_sim::scenario::*;
use paceline_sim::spec::parse;
use paceline_sim::workload::{FlowSource, FlowSpec, FlowTable};
use proptest::prelude::*;

pub const GBPS: u64 = 1_000_000_000;

/// Both engines, for tests that hold for either.
pub const ENGINES: [EngineChoice; 2] = [EngineChoice::Sequential, EngineChoice::Windowed];

/// Keeps what a run reports.
#[derive(Default)]
pub struct Collect {
    pub flows: Vec<FlowRecord>,
    pub pfc: Vec<PfcEvent>,
    pub queries: Vec<QueryRecord>,
    pub packets: Vec<PacketRecord>,
    in_order: InOrder,
}

impl Observer for Collect {
    fn flow_records(&mut self, records: &[FlowRecord]) {
        self.flows.extend(records.iter().filter(|r| r.status != Status::Running));
    }
    fn pfc(&mut self, events: &[PfcEvent]) {
        self.pfc.extend_from_slice(events);
    }
    fn queries_answered(&mut self, records: &[QueryRecord]) {
        self.queries.extend_from_slice(records);
    }
    fn packets(&mut self, packets: &mut Vec<PacketRecord>, names: &[FlowName], before: u64) -> bool {
        self.packets.extend(self.in_order.take(packets, names, before, |_| true));
        true
    }
}

/// Everything a run left behind that does not depend on how an engine looks at it. Flows by id, queries by time, PFC frames
/// by time and port, queue histograms and pause times by global port and class.
#[derive(PartialEq, Debug)]
pub struct Outcome {
    pub ending: Ending,
    pub flows: Vec<FlowRecord>,
    pub queries: Vec<QueryRecord>,
    pub pfc: Vec<(u64, u32, u16, bool)>,
    /// At every third port.
    pub packets: Vec<PacketRecord>,
    pub counters: Counters,
    /// Of message transports and TCP.
    pub transport: String,
    pub traffic: Vec<Traffic>,
    pub alive: u32,
    pub queues: Vec<Vec<(usize, u64)>>,
    /// Up to when something waited.
    pub queue_span: u64,
    pub pauses: Vec<[u64; 8]>,
    pub hops: (u64, u64),
    pub first_drop: Option<String>,
    pub samples: Samples,
}

impl Outcome {
    pub fn of(net: &Net, collect: Collect, ending: Ending, classes: &[u8]) -> Self {
        let Collect { mut flows, pfc, mut queries, packets, .. } = collect;
        assert!(packets.is_sorted(), "packets are not told in order");
        flows.sort_by_key(|f| f.id);
        queries.sort_by_key(|q| (q.start, q.connection, q.number));
        let mut pfc: Vec<_> = pfc.iter().map(|e| (e.now, e.node, e.port, e.pause)).collect();
        pfc.sort_unstable();
        let ports = 0..net.graph().ports.len() as u32;
        Self {
            ending,
            flows,
            queries,
            pfc,
            packets,
            // Events depend on how one looks; everything else is physics.
            counters: {
                assert_eq!(net.unsound(), None);
                Counters { events: 0, ..*net.counters() }
            },
            transport: format!("{:?}", net.message_counters()),
            traffic: net.traffic().to_vec(),
            alive: net.packets_alive(),
            queues: ports.clone().flat_map(|p| classes.iter().map(move |c| net.queue_time(p, *c).collect())).collect(),
            queue_span: net.queue_span(0),
            pauses: ports.map(|p| net.pauses(p).map_or([0; 8], |x| x.time)).collect(),
            hops: net.hops(),
            first_drop: net.first_lossless_drop().map(str::to_string),
            samples: Samples::of(net),
        }
    }
}

/// Samples of queues and flows by their instants. Engines take different numbers of them after the last flow has ended, and a
/// series keeps every other one when it has too many: compared is what both have.
#[derive(Debug)]
pub struct Samples(BTreeMap<u64, String>);

impl Samples {
    fn of(net: &Net) -> Self {
        let s = net.series();
        let last = s.active.iter().rposition(|a| *a > 0).map_or(0, |i| i + 1);
        let sample = |i: usize| {
            let mut waits: Vec<_> = s.waits[i].iter().map(|w| format!("{w:?}")).collect();
            waits.sort_unstable();
            (
                s.times[i],
                format!("{:?}", (&s.queues[i], s.active[i], s.finished[i], s.flows.get(i), s.received.get(i), waits)),
            )
        };
        Self((0..last).map(sample).collect())
    }

    /// When they were taken, ps.
    pub fn instants(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }
}

impl PartialEq for Samples {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().all(|(at, sample)| other.0.get(at).is_none_or(|theirs| theirs == sample))
    }
}

/// Whether two runs left the same behind; the parts in which they usually differ first, for a message that can be read. Returns how many
/// samples both have: where there are none, samples have not been compared.
pub fn agree(one: &Outcome, other: &Outcome) -> Result<usize, TestCaseError> {
    for (one, other) in one.flows.iter().zip(&other.flows) {
        prop_assert_eq!(one, other);
    }
    prop_assert_eq!(&one.counters, &other.counters);
    prop_assert_eq!(&one.transport, &other.transport);
    prop_assert_eq!(one.hops, other.hops);
    prop_assert_eq!(&one.pauses, &other.pauses);
    prop_assert_eq!(&one.samples, &other.samples);
    for (place, (one, other)) in one.queues.iter().zip(&other.queues).enumerate() {
        prop_assert_eq!(one, other, "queue histogram {}", place);
    }
    prop_assert_eq!(one, other);
    Ok(one.samples.instants().filter(|at| other.samples.0.contains_key(at)).count())
}

/// Time between two samples that hardly ever come when a window ends, ps.
const OFF_WINDOWS: u64 = 1_234_567;

/// Records queues of these classes, and samples.
fn record(net: &mut Net, classes: &[u8], interval: u64) {
    net.record_classes(classes);
    let switches = |p: &u32| !net.graph().is_host(net.graph().ports[*p as usize].node);
    let sampled = (0..net.graph().ports.len() as u32).filter(switches).collect();
    // Not at all ports: those of others are dealt with in shorter ways.
    let ports = (0..net.graph().ports.len()).map(|port| port % 3 == 1).collect();
    net.record_packets(trace::Plan { ports, time: 0..u64::MAX });
    net.sample(Plan { interval, samples: 512, ports: sampled, flows: (0..4).collect() });
}

/// Runs a scenario with one of the engines and hands over the network as the run left it. The time is the engine's: of the
/// last event (sequential), of the end of the last window (windowed).
pub fn run_net<T>(
    scenario: &Arc<Scenario>,
    source: Box<dyn FlowSource>,
    classes: &[u8],
    engine: EngineChoice,
    look: impl FnOnce(&Net, Collect, Ending, u64) -> T,
) -> T {
    let mut collect = Collect::default();
    if engine == EngineChoice::Windowed {
        let mut e = Windowed::new(scenario, source).unwrap();
        record(e.net_mut(), classes, OFF_WINDOWS);
        let (ending, now) = e.run(&mut collect).unwrap();
        look(e.net(), collect, ending, now)
    } else {
        let mut e = Sequential::new(Arc::clone(scenario), source, None).unwrap();
        record(e.net_mut(), classes, OFF_WINDOWS);
        let (ending, now) = e.run(&mut collect).unwrap();
        look(e.net(), collect, ending, now)
    }
}

/// What a run left, on how many threads it was, and how many packets went from one thread's part to another's.
pub struct Shared {
    pub outcome: Outcome,
    pub threads: usize,
    pub crossed: u64,
}

/// Runs a scenario with the sequential engine or, windowed, on up to so many threads.
pub fn run_on(scenario: &Arc<Scenario>, source: Box<dyn FlowSource>, classes: &[u8], threads: Option<usize>) -> Shared {
    run_sampled(scenario, source, classes, threads, OFF_WINDOWS)
}

/// The same with so much time, ps, between two samples.
pub fn run_sampled(
    scenario: &Arc<Scenario>,
    source: Box<dyn FlowSource>,
    classes: &[u8],
    threads: Option<usize>,
    interval: u64,
) -> Shared {
    let mut collect = Collect::default();
    if let Some(threads) = threads {
        let mut engine = Windowed::on_threads(scenario, source, threads).unwrap();
        engine.nets_mut().for_each(|net| record(net, classes, interval));
        let threads = engine.threads();
        let (ending, _) = engine.run(&mut collect).unwrap();
        let crossed = engine.shares().iter().map(|s| s.crossed).sum();
        Shared { outcome: Outcome::of(engine.net(), collect, ending, classes), threads, crossed }
    } else {
        let mut engine = Sequential::new(Arc::clone(scenario), source, None).unwrap();
        record(engine.net_mut(), classes, interval);
        let (ending, _) = engine.run(&mut collect).unwrap();
        Shared { outcome: Outcome::of(engine.net(), collect, ending, classes), threads: 1, crossed: 0 }
    }
}

/// The same for a scenario in TOML whose wires all lose packets with probability `loss`.
pub fn run_text(toml: &str, loss: f64, threads: Option<usize>) -> Shared {
    run_changed(toml, |graph| graph.ports.iter_mut().for_each(|p| p.error_rate = loss), threads)
}

/// The same for a scenario in TOML whose links are changed before it runs.
pub fn run_changed(toml: &str, change: impl FnOnce(&mut Graph), threads: Option<usize>) -> Shared {
    let assembled = assemble(&parse(toml, "test", &[]).unwrap_or_else(|e| panic!("{e}\n{toml}"))).unwrap();
    let mut scenario = assembled.scenario;
    let mut graph: Graph = (*scenario.graph).clone();
    change(&mut graph);
    if graph != *scenario.graph {
        scenario = Arc::new(Scenario { graph: Arc::new(graph), ..(*scenario).clone() });
    }
    run_on(&scenario, assembled.source, &assembled.classes, threads)
}

/// Runs flows of class 3 through a scenario.
pub fn run(scenario: &Arc<Scenario>, flows: &[FlowSpec], engine: EngineChoice) -> Outcome {
    run_source(scenario, Box::new(FlowTable::new(flows.to_vec())), engine)
}

/// The same for any source of flows.
pub fn run_source(scenario: &Arc<Scenario>, source: Box<dyn FlowSource>, engine: EngineChoice) -> Outcome {
    run_net(scenario, source, &[3], engine, |net, collect, ending, _| Outcome::of(net, collect, ending, &[3]))
}

/// A flow of class 3 and scheme 0.
pub fn flow(start_ps: u64, src: u32, dst: u32, bytes: u64) -> FlowSpec {
    FlowSpec {
        start: Time(start_ps),
        src,
        dst,
        bytes,
        scheme: 0,
        group: 0,
        class: 3,
        dport: 100,
        rate_cap: 0,
        stream: 0,
        nic: None,
    }
}

/// Hosts 0 to n - 1 at switch n, each on a link of its own rate (bit/s) and delay (ps).
pub fn star(links: &[(u64, u64)]) -> Topology {
    let n = links.len();
    Topology {
        kinds: [vec![NodeKind::Host; n], vec![NodeKind::Switch]].concat(),
        tiers: [vec![0; n], vec![1]].concat(),
        links: (0..n as u32)
            .zip(links)
            .map(|(h, (rate, delay))| Link::symmetric(h, n as u32, BitsPerSec(*rate), Duration(*delay)))
            .collect(),
    }
}

/// A scenario without congestion control, window, PFC, ECN and timeout, with more buffer than anything needs, the sizes of
/// the HPCC simulator and queue histograms of every port: what a test wants different it changes.
pub fn plain(topology: &Topology) -> Scenario {
    Scenario {
        seed: 1,
        graph: Arc::new(Graph::new(topology)),
        names: Vec::new(),
        framing: Framing::HPCC,
        switch: SwitchConfig {
            strict: false,
            selective: None,
            trimming: None,
            red: None,
            qcn: None,
            exempt_syn: false,
            buffer: Bytes(1 << 30),
            model: BufferModel::PerPort,
            accounting: Accounting::Output,
            pfc: None,
            egress_alpha_q16: 1 << 16,
            ecn: None,
        },
        host: HostConfig {
            ack_priority: false,
            nack_interval: Duration::from_us(500),
            rto: None,
            own_base_rtt: true,
            base_rtt: None,
            idle_restart: None,
            chunk: 0,
        },
        routing: RoutingConfig {
            choice: PathChoice::FlowHash,
            order: NextHopOrder::Port,
            salt: 0,
            nics: NicChoice::All,
            flowlet_gap: Duration(0),
        },
        failures: FailureConfig::default(),
        schemes: vec![Scheme {
            transport: Transport::Rdma,
            name: "none".into(),
            params: Params::Fixed(fixed::Params::default()),
            window: Window::Off,
        }],
        groups: vec!["all".into()],
        rpcs: Arc::default(),
        programs: Arc::default(),
        adapter: None,
        int_multiple: 0,
        stop: Stop::Completed,
        stall: Some(Duration::from_us(10_000_000)),
        engine: EngineChoice::Auto,
        records: RecordConfig { queues: QueueRecords::Port, pfc_log: true },
        quirks: Quirks::default(),
    }
}

//! From a checked specification to something that can run: the network built, the flow sources made.

mod failures;
mod load;
mod mpi;
mod names;
mod on_off;
mod programs;

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use paceline_proto::transport::tcp;
use paceline_proto::units::{BitsPerSec, Duration, MS, Time};

use crate::clock::Clock;
use crate::error::InputError;
use crate::graph::{Graph, Link, NodeId, NodeKind, Topology};
use crate::ideal;
use crate::programs::Program;
use crate::routing::Routes;
use crate::scenario::{HostConfig, QueueRecords, RecordConfig, Rto, Scenario, Scheme, Transport};
use crate::spec::Resolved;
use crate::spec::host::{BaseRtt, IdleRestart, Rto as RtoSpec};
use crate::spec::run::{Interval, QueueRecords as QueueSpec, Stall};
use crate::spec::scheme::proactive::Facts;
use crate::spec::topology::{GraphTopology, TopologyKind};
use crate::spec::workload::{
    Flows, Incast, IncastMode, Load, LoadBytes, LoadMean, OnOff, OnOffMode, Pick as PickSpec, RateCap, Receiver, Rpc,
    RpcMode, Sampling, Shift, Sizes, Workload, WorkloadKind,
};
use crate::topology;
use crate::workload::{self as w, FlowDefaults, FlowSource, FlowSpec, SizeLaw, TableNames};
use load::incast_pairs;

/// Ports up to which queue histograms are kept per port when that is left to us.
const MOST_PORTS: usize = 4096;

/// A scenario with its flows, ready to run.
pub struct Assembled {
    /// The run.
    pub scenario: Arc<Scenario>,
    /// Its flows.
    pub source: Box<dyn FlowSource>,
    /// Classes the flows may use, ascending.
    pub classes: Vec<u8>,
    /// Flows that will start, where the scenario itself says so.
    pub flow_count: Option<u64>,
    /// Flows that will start at most, where the scenario itself says so.
    pub most_flows: Option<u64>,
    /// Instant at which the last workload ends, where known.
    pub arrivals_end: Option<Time>,
    /// What looks wrong in the input files.
    pub warnings: Vec<String>,
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
    let host_rate = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).min().unwrap_or(1);
    let base_rtt = if let BaseRtt::Fixed(d) = spec.host.base_rtt {
        d
    } else {
        let mut routes = Routes::new(Arc::clone(&graph), spec.routing.config());
        Duration::from_ns(ideal::max_base_rtt(&mut routes, framing.payload).rtt_ns)
    };
    // A timeout below the drain of a full buffer would fire for queueing alone.
    let drain = BitsPerSec(host_rate).serialisation(switch.buffer.0);
    let initial = match spec.host.rto {
        RtoSpec::Off => None,
        RtoSpec::After(time) => Some(time),
        RtoSpec::Auto => Some(Duration(MS.max(base_rtt.0.saturating_mul(4).saturating_add(drain.0)))),
    };
    if let (None, Stall::After(stall)) = (initial, &spec.run.stall) {
        let mut routes = Routes::new(Arc::clone(&graph), spec.routing.config());
        let rtt = Duration::from_ns(ideal::max_base_rtt(&mut routes, framing.payload).rtt_ns);
        if *stall <= rtt {
            warnings.push(format!(
                "run.stall ({stall}) is not longer than the network's base RTT ({rtt}): waiting for the first ACK looks like a stall"
            ));
        }
    }
    let host = HostConfig {
        ack_priority: spec.host.ack_priority,
        nack_interval: spec.host.nack_interval,
        rto: initial.map(|initial| Rto { initial, tries: spec.host.rto_tries }),
        own_base_rtt: spec.host.base_rtt == BaseRtt::Pair,
        base_rtt: if let BaseRtt::Fixed(d) = spec.host.base_rtt { Some(d) } else { None },
        idle_restart: if let IdleRestart::After(d) = spec.host.idle_restart { Some(d) } else { None },
        chunk: 0,
    };
    let queues = match spec.records.queues {
        QueueSpec::Off => QueueRecords::Off,
        QueueSpec::Tier => QueueRecords::Tier,
        QueueSpec::Auto if graph.ports.len() > MOST_PORTS => QueueRecords::Tier,
        QueueSpec::Port | QueueSpec::Auto => QueueRecords::Port,
    };
    let schemes: Vec<Scheme> = spec.schemes.iter().map(|(name, s)| s.config(name)).collect();
    let mut groups: Vec<String> = Vec::new();
    for workload in &spec.workloads {
        if !groups.contains(&workload.group.0) {
            groups.push(workload.group.0.clone());
        }
    }
    let names = match &spec.topology.kind {
        TopologyKind::Graph(graph) => graph.hosts.iter().chain(&graph.switches).map(|n| n.0.clone()).collect(),
        _ => Vec::new(),
    };
    let mut scenario = Scenario {
        seed: spec.seed,
        graph: Arc::clone(&graph),
        names,
        framing,
        switch,
        host,
        routing: spec.routing.config(),
        failures: failures::failures(spec, &network)?,
        schemes,
        groups,
        rpcs: Arc::default(),
        programs: Arc::default(),
        adapter: spec.host.adapter(spec.switch.qcn.enabled, spec.switch.qcn.exempt_syn),
        int_multiple: 0,
        stop: spec.run.stop(),
        stall: match spec.run.stall {
            Stall::Off => Duration(u64::MAX / 4),
            Stall::After(d) => d,
        },
        engine: spec.run.engine,
        records: RecordConfig { queues, pfc_log: false },
        quirks: spec.quirks.config(),
    };
    let names: Vec<String> = scenario.schemes.iter().map(|s| s.name.clone()).collect();
    let build = Build { spec, scenario: &scenario, names: &names };
    let mut sources = Vec::new();
    let mut classes = BTreeSet::new();
    let (mut flow_count, mut most_flows, mut arrivals_end) = (Some(0u64), Some(0u64), Some(Time(0)));
    let mut rpcs: Vec<Arc<w::Rpc>> = Vec::new();
    let mut programs = Vec::new();
    for (number, workload) in spec.workloads.iter().enumerate() {
        let made = build.workload(number, workload, rpcs.last().map_or(0, |r| r.first + r.count()))?;
        rpcs.extend(made.rpc);
        programs.extend(made.program.map(Arc::new));
        classes.extend(made.classes);
        flow_count = flow_count.zip(made.count).map(|(a, b)| a + b);
        most_flows = most_flows.zip(made.most).map(|(a, b)| a.saturating_add(b));
        arrivals_end = arrivals_end.zip(made.end).map(|(a, b)| a.max(b));
        sources.push(made.source);
    }
    let facts = build.facts(host_rate, base_rtt)?;
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
    warnings.extend(crate::switch::lack_of_headroom(&scenario));
    let source = match sources.len() {
        1 => sources.remove(0),
        _ => Box::new(w::Merge::new(sources)),
    };
    Ok(Assembled {
        scenario: Arc::new(scenario),
        source,
        classes: classes.into_iter().collect(),
        flow_count,
        most_flows,
        arrivals_end,
        warnings,
    })
}

/// Packets a connection over RDMA may be asked to carry: half of what its numbers hold.
const MOST_PACKETS: f64 = 2_147_483_648.0;

/// Largest input file that is read.
const MOST_BYTES: u64 = 256 << 20;

fn read_text(spec: &Resolved, field: &str, file: &str) -> Result<String, InputError> {
    let path = Path::new(file);
    let fail = |why: String| spec.error(field, &why).value(file).allowed("a readable file");
    let size = std::fs::metadata(path).map_err(|e| fail(format!("cannot be read: {e}")))?.len();
    if size > MOST_BYTES {
        return Err(fail(format!("too large: {size} B")));
    }
    let bytes = std::fs::read(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
    crate::hpcc_format::utf8(&bytes, file).map(str::to_string)
}

fn build_topology(spec: &Resolved, warnings: &mut Vec<String>) -> Result<Topology, InputError> {
    let network = match &spec.topology.kind {
        TopologyKind::Star(t) => topology::star(t.hosts, t.host_rate, t.link_delay),
        TopologyKind::Dumbbell(t) => {
            topology::dumbbell(t.left, t.right, t.host_rate, t.bottleneck_rate, t.host_delay, t.bottleneck_delay)
        }
        TopologyKind::ParkingLot(t) => {
            topology::parking_lot(t.hops, t.host_rate, t.chain_rate, t.host_delay, t.chain_delay)
        }
        TopologyKind::LeafSpine(t) => topology::leaf_spine(
            t.leaves,
            t.spines,
            t.hosts_per_leaf,
            t.host_rate,
            t.fabric_rate,
            t.link_delay,
            t.links_per_pair,
        ),
        TopologyKind::FatTree(t) => topology::fat_tree(t.k, t.host_rate, t.fabric_rate, t.link_delay, t.hosts_per_edge),
        TopologyKind::Xgft(t) => topology::xgft(&t.levels()),
        TopologyKind::HpccFat320(_) => topology::hpcc_fat320(),
        TopologyKind::File(t) => {
            let text = read_text(spec, "topology.file", &t.file.0)?;
            let (mut network, more) = crate::hpcc_format::topology::read_topology(&text, &t.file.0, Clock::Exact)?;
            warnings.extend(more);
            topology::validate_topology(&network).map_err(|e| e.file(&t.file.0))?;
            topology::tier_by_distance(&mut network);
            return Ok(network);
        }
        TopologyKind::Graph(t) => graph_topology(spec, t),
    }?;
    topology::validate_topology(&network)?;
    Ok(network)
}

fn graph_topology(spec: &Resolved, t: &GraphTopology) -> Result<Topology, InputError> {
    let names: Vec<&str> = t.hosts.iter().chain(&t.switches).map(|n| n.0.as_str()).collect();
    let index: std::collections::BTreeMap<&str, NodeId> =
        names.iter().enumerate().map(|(i, n)| (*n, i as NodeId)).collect();
    let kinds = [vec![NodeKind::Host; t.hosts.len()], vec![NodeKind::Switch; t.switches.len()]].concat();
    let tiers = kinds.iter().map(|k| u8::from(*k == NodeKind::Switch)).collect();
    let mut network = Topology { tiers, kinds, links: Vec::new() };
    for (i, link) in t.links.iter().enumerate() {
        let end = |name: &str, key: &str| {
            index.get(name).copied().ok_or_else(|| {
                spec.error(&format!("topology.links.{i}.{key}"), "no such node")
                    .value(name)
                    .allowed("a name in topology.hosts or topology.switches")
            })
        };
        let [ab, ba] = link.sides();
        let (a, b) = (end(&link.a.0, "a")?, end(&link.b.0, "b")?);
        network.links.push(Link { a, b, ab, ba, error_rate: link.error_rate });
    }
    topology::tier_by_distance(&mut network);
    topology::validate_topology(&network).map_err(|e| {
        let place = e.field.map(|f| format!("{f}: ")).unwrap_or_default();
        let error = spec.error("topology", &format!("{place}{}", e.problem));
        InputError { value: e.value, allowed: e.allowed, ..error }
    })?;
    Ok(network)
}

/// A source with what is known of it beforehand.
struct Made {
    source: Box<dyn FlowSource>,
    classes: Vec<u8>,
    count: Option<u64>,
    most: Option<u64>,
    end: Option<Time>,
    rpc: Option<Arc<w::Rpc>>,
    program: Option<Program>,
}

impl Made {
    /// Flows of the workload's class, `count` of them and the last at `end`, as far as known.
    fn flows(source: impl FlowSource + 'static, count: Option<u64>, end: Option<Time>) -> Self {
        Self { source: Box::new(source), classes: vec![], count, most: count, end, rpc: None, program: None }
    }
}

/// What workloads are made from.
struct Build<'a> {
    spec: &'a Resolved,
    scenario: &'a Scenario,
    names: &'a [String],
}

impl Build<'_> {
    /// What all flows of a workload have in common.
    fn flow(&self, workload: &Workload) -> FlowDefaults {
        let scheme = workload.scheme.as_ref().and_then(|name| self.spec.scheme_index(&name.0)).unwrap_or(0);
        let group = self.scenario.groups.iter().position(|g| *g == workload.group.0).unwrap_or(0);
        FlowDefaults {
            scheme: scheme as u16,
            group: group as u16,
            class: workload.class,
            rate_cap: if let RateCap::Rate(r) = workload.rate_cap { r.0 } else { 0 },
            ..FlowDefaults::default()
        }
    }

    fn rpc(&self, number: usize, p: &Rpc, first: u32, begin: Time, flow: FlowDefaults) -> Result<w::Rpc, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let clients = self.hosts(&field("clients"), &p.clients, 1)?;
        let servers = self.hosts(&field("servers"), &p.servers, 1)?;
        let law = self.sizes(&field("sizes"), &p.sizes)?;
        let asks = match &p.mode {
            RpcMode::Closed(mode) => w::Asks::Outstanding(mode.outstanding),
            RpcMode::Open(mode) => {
                let pairs = [(1.0, w::Pairs::uniform(&clients, &servers))];
                let rate = self.rate(number, &mode.load, &law, &clients, &pairs, usize::from(flow.scheme))?;
                let pick = if mode.pick == PickSpec::Idle { w::Pick::Idle } else { w::Pick::Random };
                w::Asks::PerSecond(rate, pick)
            }
        };
        let config = w::RpcConfig {
            clients,
            servers,
            connections: p.connections,
            first,
            asks,
            sizes: law,
            response: p.response.0,
            begin,
            end: p.end.or_else(|| self.stop()).unwrap_or(Time::NEVER),
            workload: number as u16,
            flow,
        };
        let rpc = w::Rpc::new(config).map_err(|e| self.inside(&field(""), e))?;
        let tcp = self.spec.schemes[usize::from(flow.scheme)].1.cc.is_tcp();
        let (packets, key) = rpc.packets_ahead(self.scenario.framing.payload);
        if !tcp && packets > MOST_PACKETS {
            return Err(self
                .spec
                .error(&field(key), "too many packets on one connection over RDMA, which numbers them in 32 bits")
                .allowed(format!("at most {MOST_PACKETS} packets asked for on a connection, or a scheme over TCP")));
        }
        Ok(rpc)
    }

    /// The instant at which the run stops, where it is given.
    fn stop(&self) -> Option<Time> {
        if let crate::scenario::Stop::At(t) = self.scenario.stop { Some(t) } else { None }
    }

    fn workload(&self, number: usize, workload: &Workload, first_connection: u32) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let flow = self.flow(workload);
        let place = |e: InputError| if e.file.is_some() { e } else { self.inside(&field(""), e) };
        let sizes = |s: &Sizes| self.sizes(&field("sizes"), s);
        let end = |end: Option<Time>, duration: Option<Duration>| {
            end.or(duration.map(|d| workload.start + d)).or(self.stop())
        };
        let (seed, id) = (self.scenario.seed, number as u16);
        let mut made = match &workload.kind {
            WorkloadKind::Poisson(p) => {
                let law = sizes(&p.sizes)?;
                let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
                let pairs = [(1.0, w::Pairs::uniform(&hosts, &hosts))];
                let rate = self.rate(number, &p.load, &law, &hosts, &pairs, usize::from(flow.scheme))?;
                let end = end(p.end, p.duration);
                let config = w::PoissonConfig {
                    sources: hosts.clone(),
                    destinations: hosts,
                    sizes: law,
                    flows_per_second: rate,
                    begin: workload.start,
                    end: end.unwrap_or(Time::NEVER),
                    count: p.max_flows,
                    seed,
                    workload: id,
                    flow,
                };
                let made = Made::flows(w::Poisson::new(&config).map_err(place)?, None, end);
                Made { most: p.max_flows, ..made }
            }
            WorkloadKind::OnOff(p) => self.on_off(number, workload, p, flow)?,
            WorkloadKind::Incast(p) => self.incast(number, workload, p, flow)?,
            WorkloadKind::Permutation(p) => {
                let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
                let count = Some(hosts.len() as u64 * p.rounds);
                let shuffle = match p.shift {
                    Shift::Random => w::Shuffle::Random,
                    Shift::By(n) => w::Shuffle::Shift(n),
                };
                let config = w::PermutationConfig {
                    hosts,
                    shuffle,
                    sizes: sizes(&p.sizes)?,
                    begin: workload.start,
                    period: p.period,
                    rounds: p.rounds,
                    seed,
                    workload: id,
                    flow,
                };
                let end = Some(Time(workload.start.0 + p.period.0 * (p.rounds - 1)));
                Made::flows(w::Permutation::new(&config).map_err(place)?, count, end)
            }
            WorkloadKind::AllToAll(p) => {
                let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
                let n = hosts.len() as u64;
                let config = w::AllToAllConfig {
                    hosts,
                    sizes: sizes(&p.sizes)?,
                    begin: workload.start,
                    step: p.step,
                    period: p.period,
                    rounds: p.rounds,
                    seed,
                    workload: id,
                    flow,
                };
                let end = Some(Time(workload.start.0 + p.period.0 * (p.rounds - 1) + p.step.0 * (n - 2)));
                let count = Some(n * (n - 1) * p.rounds);
                Made::flows(w::AllToAll::new(&config).map_err(place)?, count, end)
            }
            WorkloadKind::Flows(p) => self.table(number, workload, p, flow)?,
            WorkloadKind::Rpc(p) => {
                let rpc = Arc::new(self.rpc(number, p, first_connection, workload.start, flow)?);
                let made = Made::flows(w::Connections::new(Arc::clone(&rpc)), Some(0), Some(rpc.end));
                Made { rpc: Some(rpc), ..made }
            }
            WorkloadKind::ScatterGather(p) => {
                let end = p.end.or(self.stop());
                let program = self.scatter_gather(number, p, workload.start, flow)?;
                Made { program: Some(program), ..Made::flows(w::FlowTable::new(vec![]), None, end) }
            }
            WorkloadKind::Mpi(p) => {
                let program = self.mpi(number, p, workload.start, flow)?;
                Made { program: Some(program), ..Made::flows(w::FlowTable::new(vec![]), None, None) }
            }
        };
        if made.classes.is_empty() {
            made.classes = vec![workload.class];
        }
        Ok(made)
    }

    /// An error of a workload's constructor, under the workload's place in the scenario.
    fn inside(&self, prefix: &str, e: InputError) -> InputError {
        let field = format!("{prefix}{}", e.field.as_deref().unwrap_or_default());
        let mut placed = self.spec.error(field.trim_end_matches('.'), &e.problem);
        placed.value = e.value.or(placed.value);
        placed.allowed = e.allowed;
        placed
    }

    fn hosts(&self, field: &str, set: &crate::spec::value::HostSet, least: usize) -> Result<Vec<NodeId>, InputError> {
        let hosts: Vec<NodeId> = set.of(self.scenario.graph.hosts()).collect();
        if let crate::spec::value::HostSet::Ranges(ranges) = set
            && let Some((_, high)) = ranges.iter().find(|(_, high)| {
                (*high as usize) >= self.scenario.graph.nodes() || !self.scenario.graph.is_host(*high)
            })
        {
            let all = self.scenario.graph.hosts().count();
            return Err(self
                .spec
                .error(field, "no such host")
                .value(high)
                .allowed(format!("host ids 0 to {}", all - 1)));
        }
        if hosts.len() < least {
            return Err(self
                .spec
                .error(field, "too few hosts")
                .value(hosts.len())
                .allowed(format!("at least {least}")));
        }
        Ok(hosts)
    }

    fn sizes(&self, field: &str, sizes: &Sizes) -> Result<SizeLaw, InputError> {
        Ok(match sizes {
            Sizes::Fixed(bytes) => SizeLaw::Fixed(bytes.0),
            Sizes::Builtin(name) => {
                let found = w::builtin(&name.0)
                    .map_err(|e| self.inside(&format!("{field}."), InputError { field: None, ..e }))?;
                SizeLaw::Drawn(Arc::new(found.cdf))
            }
            Sizes::File(file) => {
                let sampling = match file.sampling {
                    Sampling::Interpolated => w::Sampling::Interpolated,
                    Sampling::Step => w::Sampling::Step,
                };
                let text = read_text(self.spec, field, &file.file.0)?;
                SizeLaw::Drawn(Arc::new(w::Cdf::parse(&text, &file.file.0, sampling)?))
            }
        })
    }

    /// What transports derive their defaults from.
    fn facts(&self, host_rate: u64, base_rtt: Duration) -> Result<Facts, InputError> {
        let laws = self.spec.workloads.iter().enumerate().find_map(|(i, w)| match &w.kind {
            WorkloadKind::Poisson(p) => Some((i, &p.sizes)),
            WorkloadKind::Incast(p) => Some((i, &p.sizes)),
            WorkloadKind::Permutation(p) => Some((i, &p.sizes)),
            WorkloadKind::AllToAll(p) => Some((i, &p.sizes)),
            WorkloadKind::OnOff(OnOff { mode: OnOffMode::Flows(mode), .. }) => Some((i, &mode.sizes)),
            WorkloadKind::OnOff(_)
            | WorkloadKind::Flows(_)
            | WorkloadKind::Rpc(_)
            | WorkloadKind::ScatterGather(_)
            | WorkloadKind::Mpi(_) => None,
        });
        let sizes = laws.map(|(i, sizes)| self.sizes(&format!("workloads.{i}.sizes"), sizes)).transpose()?;
        Ok(Facts {
            host_rate: BitsPerSec(host_rate),
            base_rtt,
            framing: self.scenario.framing,
            sizes,
            tcp: Arc::new(tcp::Params { probe: Some(Duration(2 * base_rtt.0)), ..self.spec.host.tcp.params() }),
        })
    }

    fn mean(&self, law: &SizeLaw, bytes: LoadBytes, mean: LoadMean, scheme: usize) -> Result<f64, InputError> {
        let bytes = match bytes {
            LoadBytes::Payload => w::LoadBytes::Payload,
            LoadBytes::Wire => w::LoadBytes::Wire,
        };
        let mean = match mean {
            LoadMean::Sampled => w::LoadMean::Sampled,
            LoadMean::Nominal => w::LoadMean::Nominal,
        };
        let telemetry = self.spec.schemes[scheme].1.cc.telemetry_bytes();
        w::load::mean_bytes(law, bytes, mean, &self.scenario.framing, telemetry)
    }

    /// Arrivals per second at each of `sources`.
    fn rate(
        &self,
        number: usize,
        load: &Load,
        law: &SizeLaw,
        sources: &[NodeId],
        pairs: &[(f64, w::Pairs)],
        scheme: usize,
    ) -> Result<f64, InputError> {
        let prefix = format!("workloads.{number}.load.");
        let mean = self.mean(law, load.bytes, load.mean, scheme).map_err(|e| self.inside(&prefix, e))?;
        let of = self.reference(number, &load.of, sources, pairs)?;
        w::rate_for_load(load.value, mean, of, sources.len() as u32).map_err(|e| self.inside(&prefix, e))
    }

    fn incast(&self, number: usize, workload: &Workload, p: &Incast, flow: FlowDefaults) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
        let receivers = match p.receiver {
            Receiver::Random => hosts.clone(),
            Receiver::Host(h) if hosts.contains(&h) || self.scenario.graph.hosts().any(|x| x == h) => vec![h],
            Receiver::Host(h) => {
                let all = self.scenario.graph.hosts().count();
                return Err(self
                    .spec
                    .error(&field("receiver"), "no such host")
                    .value(h)
                    .allowed(format!("host ids 0 to {}", all - 1)));
            }
        };
        let senders: Vec<NodeId> = if let Receiver::Host(h) = p.receiver {
            hosts.iter().copied().filter(|x| *x != h).collect()
        } else {
            hosts.clone()
        };
        let law = self.sizes(&field("sizes"), &p.sizes)?;
        let mut step = Duration(0);
        let periodic = |count: u64, period: Duration| {
            let end = Time(workload.start.0.saturating_add(period.0.saturating_mul(count - 1)));
            (w::Episodes::Every { begin: workload.start, period, count }, Some(count * u64::from(p.senders)), Some(end))
        };
        let (episodes, count, end) = match &p.mode {
            IncastMode::Synchronous(m) => periodic(m.count, m.period),
            IncastMode::Staggered(m) => {
                step = m.step;
                periodic(m.count, m.period)
            }
            IncastMode::Poisson(m) => {
                let end = m.end.or(m.duration.map(|d| workload.start + d)).or(self.stop());
                let prefix = field("load.");
                let mean = self
                    .mean(&law, m.load.bytes, m.load.mean, usize::from(flow.scheme))
                    .map_err(|e| self.inside(&prefix, e))?;
                let pairs = incast_pairs(&senders, &receivers, p);
                let of = self.reference(number, &m.load.of, &hosts, &pairs)?;
                let rate = w::rate_for_load(m.load.value, mean * f64::from(p.senders), of, 1)
                    .map_err(|e| self.inside(&prefix, e))?;
                let end_at = end.unwrap_or(Time::NEVER);
                (w::Episodes::Poisson { begin: workload.start, end: end_at, per_second: rate }, None, end)
            }
        };
        let config = w::IncastConfig {
            senders,
            fan_in: p.senders,
            random_senders: p.random_senders,
            receivers,
            sizes: law,
            step,
            episodes,
            seed: self.scenario.seed,
            workload: number as u16,
            flow,
        };
        let source = w::Incast::new(&config).map_err(|e| self.inside(&field(""), e))?;
        Ok(Made::flows(source, count, end))
    }

    fn table(&self, number: usize, workload: &Workload, p: &Flows, flow: FlowDefaults) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let mut flows: Vec<FlowSpec> = Vec::new();
        if let Some(file) = &p.file {
            let text = read_text(self.spec, &field("file"), &file.0)?;
            let names = TableNames { schemes: self.names, groups: &self.scenario.groups };
            flows = w::read_table(BufReader::new(text.as_bytes()), &file.0, &self.scenario.graph, names, flow)?;
        }
        let graph = &self.scenario.graph;
        for (i, row) in p.rows.iter().enumerate() {
            let at = |key: &str| field(&format!("rows.{i}.{key}"));
            for (key, host) in [("src", row.src), ("dst", row.dst)] {
                if host as usize >= graph.nodes() || !graph.is_host(host) {
                    let all = graph.hosts().count();
                    return Err(self
                        .spec
                        .error(&at(key), "no such host")
                        .value(host)
                        .allowed(format!("host ids 0 to {}", all - 1)));
                }
            }
            if row.src == row.dst {
                return Err(self
                    .spec
                    .error(&at("dst"), "a host cannot send to itself")
                    .value(row.dst)
                    .allowed("another host than src"));
            }
            let mut f = flow.flow(row.start, row.src, row.dst, row.bytes.0);
            if let Some(name) = &row.scheme {
                f.scheme = self.spec.scheme_index(&name.0).unwrap_or(0) as u16;
            }
            f.class = row.class.unwrap_or(f.class);
            if let Some(RateCap::Rate(r)) = row.rate_cap {
                f.rate_cap = r.0;
            }
            flows.push(f);
        }
        for f in &mut flows {
            f.start = Time(f.start.0.saturating_add(workload.start.0));
        }
        flows.sort_by_key(|f| f.start);
        let mut classes: Vec<u8> = flows.iter().map(|f| f.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let (count, end) = (Some(flows.len() as u64), flows.last().map(|f| f.start));
        Ok(Made { classes, ..Made::flows(w::FlowTable::new(flows), count, end) })
    }
}

/// When series are sampled, if at all.
pub fn series_interval(spec: &Resolved) -> Option<Duration> {
    match spec.records.series.interval {
        Interval::Off => None,
        Interval::Every(d) => Some(d),
    }
}

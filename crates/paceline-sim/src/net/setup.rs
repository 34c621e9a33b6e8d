//! Building the network of a scenario.

use std::sync::Arc;

use paceline_proto::cc::{FlowContext, Params, Telemetry, hpcc_pint};
use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::telemetry::{MAX_RATES, record_life};
use paceline_proto::units::{Bytes, Duration};

use super::by_number::ByNumber;
use super::slots::FreeSlots;
use super::{Direction, Draws, EcnPoint, Net, Whole};
use crate::clock::{Clock, Wire};
use crate::error::InputError;
use crate::graph::{Graph, PortInfo};
use crate::ideal;
use crate::net::balance::Books;
use crate::net::failures::Failures;
use crate::net::flow::Receiving;
use crate::net::host::Nic;
use crate::net::host::adapter::Adapters;
use crate::net::host::message::Messages;
use crate::net::port::{MEASURED, NO_ECN, Port, WATCHED};
use crate::net::programs::Programs;
use crate::net::reference_random::ReferenceRandom;
use crate::net::rpc::Rpcs;
use crate::net::series::Series;
use crate::net::streams::Streams;
use crate::net::switch::buffers::Buffers;
use crate::net::switch::congestion::CongestionPoints;
use crate::net::switch::levels::Levels;
use crate::net::switch::pint::Pint;
use crate::net::switch::special::Special;
use crate::packet::{Arena, NONE, PINT, ROUTED};
use crate::record::{Counters, News, PortCounts, Traffic};
use crate::routing::by_node::NodeRoutes;
use crate::routing::{Address, Routes};
use crate::scenario::{self, BufferModel, QueueRecords, Scenario, Window};

impl Net {
    /// Builds the network of a scenario.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, InputError> {
        Self::part(scenario, None)
    }

    /// Builds the network of a scenario whose graph is a part of a larger one.
    pub(crate) fn part(scenario: Arc<Scenario>, whole: Option<Whole>) -> Result<Self, InputError> {
        let graph = Arc::clone(&scenario.graph);
        let clock = if scenario.quirks.clock_1ns { Clock::TruncatedNs } else { Clock::Exact };
        let (f, max_frame) = (&scenario.framing, scenario.max_frame());
        let speeds = ascending(graph.ports.iter());
        let switch_rates = ascending(graph.ports.iter().filter(|p| !graph.is_host(p.node)));
        check_limits(&scenario, &speeds, &switch_rates)?;
        let fastest = || graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(1);
        let nic_rate = whole.map_or_else(fastest, |w| w.nic_rate);
        let rates = int_rates(&scenario, &switch_rates);
        let wires: Vec<Wire> = speeds.iter().map(|&r| Wire::new(clock, r, max_frame, f.wire_overhead)).collect();
        let (ecn, ecn_by_speed) = marking(&scenario, &speeds);
        let (ports, nics) = ports(&scenario, &speeds, &switch_rates, &wires, &ecn_by_speed);
        crate::routing::choice::check(&graph, scenario.routing)?;
        let mut routes = Routes::new(Arc::clone(&graph), scenario.routing);
        let by_node = scenario.quirks.routes_by_node;
        let mut by_node = by_node.then(|| Box::new(NodeRoutes::new(Arc::clone(&graph), &vec![false; graph.links()])));
        let payload = scenario.framing.payload;
        let network = match (whole, &mut by_node) {
            (Some(whole), _) => whole.network,
            (None, Some(by_node)) => ideal::max_base_rtt_by_node(by_node, payload),
            (None, None) => ideal::max_base_rtt(&mut routes, payload),
        };
        let host_rate = whole.map_or_else(|| graph.first_host_rate(), |w| w.host_rate);
        let buffers = Buffers::new(&graph, &scenario.switch, host_rate, max_frame, f.pfc_frame);
        check_longest_queue(&scenario, &buffers)?;
        if let Some(pfc) = &scenario.switch.pfc {
            check_pfc(&scenario, pfc, &buffers)?;
        }
        let int_multiple = scenario.int_units(nic_rate);
        let Kinds { tiers, port_tier, directions, port_direction } = kinds_of_links(&graph);
        let nic_rates: Vec<_> = nics.iter().map(|n| graph.ports[n.port as usize].rate).collect();
        let of_host = |port: u32, host| Address { host, nic: (port - graph.first[host as usize]) as u16 };
        let addresses = nics.iter().map(|n| of_host(n.port, graph.ports[n.port as usize].node)).collect();
        let shared = Shared { rates, int_multiple };
        let (rtt_ns, bdp) = match scenario.host.base_rtt {
            Some(rtt) => (rtt.as_ns().max(1), (u128::from(nic_rate) * u128::from(rtt.0) / 8_000_000_000_000) as u64),
            None => (network.rtt_ns, network.bdp),
        };
        let contexts = (0..scenario.schemes.len()).map(|i| shared.context(&scenario, i, nic_rate, rtt_ns, bdp));
        let stream_contexts: Arc<[FlowContext]> = contexts.collect();
        let draw = |purpose| Stream::new(scenario.seed, purpose, 0).at(0);
        let messages = Messages::new(&scenario, &nic_rates, stream_contexts, draw(Purpose::Transport))?;
        Ok(Self {
            draws: Draws {
                ecn: draw(Purpose::Ecn),
                loss: draw(Purpose::WireLoss),
                controller: draw(Purpose::Controller),
                spray: draw(Purpose::Spray),
                ties: draw(Purpose::Ties),
            },
            clock,
            arena: Arena::new(scenario.schemes.iter().any(scenario::Scheme::uses_words)),
            pint: Pint::new(
                &scenario,
                scenario.host.base_rtt.map_or(network.rtt_ns, Duration::as_ns),
                draw(Purpose::Telemetry),
            )?,
            reference_random: scenario.quirks.reference_random.then(|| ReferenceRandom::new(graph.nodes())),
            first: graph.first.clone(),
            wires,
            ecn,
            rules: super::rules::Rules::new(&scenario, int_multiple, buffers.egress_limit()),
            buffers,
            int_multiple,
            payload: u64::from(scenario.framing.payload),
            host: scenario.host,
            spray: scenario.routing.choice.splits_flows(),
            flowlet_gap: scenario.routing.flowlets(),
            uneven: scenario.routing.choice.splits_flows() && ideal::parallel_links_differ(&graph),
            special_acks: special_acks(&scenario),
            ack_control_class: scenario.host.ack_priority && !scenario.quirks.ack_priority_at_hosts,
            rates,
            failures: Failures::new(&scenario, draw(Purpose::Spray)),
            error_rate: graph.ports.iter().map(|p| p.error_rate).collect(),
            nics,
            addresses,
            flows: Vec::new(),
            infos: Vec::new(),
            receiving: ByNumber::new(0, Receiving::default()),
            free_flows: FreeSlots::new(messages.as_deref()),
            contexts: Vec::new(),
            routes,
            by_node,
            network,
            levels: Levels::default(),
            series: Series { next: u64::MAX, ..Series::default() },
            pauses: (0..graph.ports.len()).map(|_| None).collect(),
            ports,
            counters: Counters::default(),
            books: Books::default(),
            traffic: vec![Traffic::default(); scenario.schemes.len()],
            port_counts: vec![PortCounts::default(); graph.ports.len()],
            news: News::default(),
            trace: None,
            stages: None,
            port_tier,
            tiers,
            port_direction,
            offered: vec![0; directions.len()],
            directions,
            first_start: u64::MAX,
            last_start: 0,
            last_end: 0,
            timeouts: 0,
            first_failure: None,
            first_drop: None,
            first_impossible: None,
            progress: 0,
            used: vec![0; scenario.schemes.len()],
            datagrams: 0,
            next_sport: std::collections::BTreeMap::new(),
            path: Vec::new(),
            special: Special::new(&scenario, draw(Purpose::Ecn))?,
            messages,
            streams: Streams::new(&scenario),
            rpcs: Rpcs::new(&scenario, nic_rates.len()),
            adapters: Adapters::new(&scenario, &nic_rates),
            congestion: CongestionPoints::new(&scenario),
            programs: Programs::new(&scenario, nic_rates.len()),
            pinned: None,
            long_paths: Vec::new(),
            share: super::parts::Share::default(),
            notes: Vec::new(),
            graph,
            scenario,
        })
    }

    /// Prepares queue histograms for the classes in use (ascending).
    pub fn record_classes(&mut self, classes: &[u8]) {
        if self.scenario.records.queues == QueueRecords::Off {
            return;
        }
        for (slot, class) in classes.iter().enumerate() {
            self.rules.class_slot[usize::from(*class)] = slot as u8;
        }
        let per_tier = self.scenario.records.queues == QueueRecords::Tier;
        let (mut rows, mut row_of_tier) = (0, vec![None; self.tiers.len()]);
        let row_of_port = self.ports.iter().zip(&self.port_tier).map(|(port, tier)| {
            let known = if per_tier { row_of_tier[usize::from(*tier)] } else { None };
            let row = known.unwrap_or(rows);
            if known.is_none() && port.nic == NONE {
                row_of_tier[usize::from(*tier)] = Some(row);
                rows += 1;
            }
            row
        });
        self.levels.prepare(classes.len(), row_of_port);
    }

    /// The context of a scheme's flows with the given line rate, base RTT (ns) and bandwidth-delay product (bytes).
    ///
    /// # Errors
    /// There are 65,536 different ones already.
    pub(crate) fn context(
        &mut self,
        scheme: u16,
        line_rate: u64,
        base_rtt_ns: u64,
        bdp: u64,
    ) -> Result<u16, InputError> {
        let shared = Shared { rates: self.rates, int_multiple: self.int_multiple };
        let window = window_of(self.scenario.schemes[usize::from(scheme)].window, bdp);
        let params = &self.scenario.schemes[usize::from(scheme)].params;
        let same = |c: &FlowContext| {
            c.line_rate == line_rate && c.base_rtt_ns == base_rtt_ns && c.window == window && c.params == *params
        };
        if let Some(i) = self.contexts.iter().position(same) {
            return Ok(i as u16);
        }
        if self.contexts.len() > usize::from(u16::MAX) {
            return Err(InputError::new("too many different base RTTs of flows")
                .field("host.base_rtt")
                .value("pair")
                .allowed("at most 65536 different ones in a run; or base_rtt = \"network\""));
        }
        let context = shared.context(&self.scenario, usize::from(scheme), line_rate, base_rtt_ns, bdp);
        self.contexts.push(context);
        Ok((self.contexts.len() - 1) as u16)
    }

    /// Whether the flows of a context have base RTT and window of the network's longest pair of hosts.
    pub(crate) fn is_of_longest_pair(&self, ctx: &FlowContext) -> bool {
        let mut its = self.scenario.schemes.iter().filter(|scheme| scheme.params == ctx.params);
        ctx.base_rtt_ns == self.network.rtt_ns
            && its.any(|scheme| window_of(scheme.window, self.network.bdp) == ctx.window)
    }
}

/// The rates of some ports, each once, ascending.
fn ascending<'a>(ports: impl Iterator<Item = &'a PortInfo>) -> Vec<u64> {
    let mut rates: Vec<u64> = ports.map(|p| p.rate.0).collect();
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// Refuses what does not fit: into the size of a packet, the codes of ports for speeds, those of INT for rates; and a
/// scheme without the window that it reckons with.
fn check_limits(scenario: &Scenario, speeds: &[u64], switch_rates: &[u64]) -> Result<(), InputError> {
    let max_frame = scenario.max_frame();
    if max_frame > u32::from(u16::MAX) {
        return Err(InputError::new("a full frame does not fit its 16-bit size")
            .field("framing")
            .value(format!("{max_frame} B"))
            .allowed("payload and headers of at most 65535 B together"));
    }
    if let Some(s) = scenario.schemes.iter().find(|s| s.params.profile().needs_window && s.window == Window::Off) {
        return Err(InputError::new("the scheme reckons with a window, so there must be one")
            .field(format!("schemes.{}.window", s.name))
            .value("off")
            .allowed("\"bdp\" or a size"));
    }
    if speeds.len() > 200 {
        return Err(InputError::new("too many different link rates")
            .field("topology")
            .value(speeds.len())
            .allowed("at most 200"));
    }
    if scenario.uses_int() && switch_rates.len() > MAX_RATES {
        return Err(InputError::new("INT can name eight different port rates")
            .field("topology")
            .value(format!("{} rates", switch_rates.len()))
            .allowed("at most 8 different rates of switch ports; or schemes without INT"));
    }
    Ok(())
}

/// The rates of switch ports by their codes in INT.
fn int_rates(scenario: &Scenario, switch_rates: &[u64]) -> [f64; MAX_RATES] {
    let mut rates = [0.0; MAX_RATES];
    for (slot, rate) in rates.iter_mut().zip(switch_rates) {
        // The reference simulator has codes for five rates and reads all others as the first of these.
        let known = !scenario.quirks.clock_1ns || crate::scenario::INT_RATES.contains(rate);
        *slot = if known { *rate } else { crate::scenario::INT_RATES[0] } as f64;
    }
    rates
}

/// Where ports mark, and for each speed which of these its ports have, or `NO_ECN`.
fn marking(scenario: &Scenario, speeds: &[u64]) -> (Vec<EcnPoint>, Vec<u8>) {
    let marked = scenario.schemes.iter().any(|s| s.transport.takes_marks());
    let mut points = Vec::new();
    let of_speed = |&rate: &u64| -> u8 {
        let Some(config) = scenario.switch.ecn.as_ref().filter(|_| marked) else { return NO_ECN };
        let own = config.by_rate.iter().find(|t| t.rate.0 == rate);
        let point = own.map(|t| EcnPoint { k_min: clamp(t.k_min.0), k_max: clamp(t.k_max.0), p_max: t.p_max });
        points.push(point.unwrap_or(EcnPoint { k_min: 0, k_max: 0, p_max: 0.0 }));
        (points.len() - 1) as u8
    };
    let by_speed = speeds.iter().map(of_speed).collect();
    (points, by_speed)
}

/// The ports of the network, and those of hosts once more as NICs. Wires and marking are by speed.
fn ports(
    scenario: &Scenario,
    speeds: &[u64],
    switch_rates: &[u64],
    wires: &[Wire],
    ecn_by_speed: &[u8],
) -> (Vec<Port>, Vec<Nic>) {
    let graph = &scenario.graph;
    let uses_pint = scenario.schemes.iter().any(|s| s.params.profile().telemetry == Telemetry::Pint);
    let reacts_late = scenario.switch.pfc.is_some_and(|pfc| pfc.reaction.0 != 0);
    let mut nics = Vec::new();
    let mut ports = Vec::with_capacity(graph.ports.len());
    for (i, p) in graph.ports.iter().enumerate() {
        let speed = speeds.binary_search(&p.rate.0).unwrap_or(0);
        let mut port = Port::new(p.node, p.delay.0, p.peer, graph.first[p.peer as usize], p.peer_port, speed as u8);
        port.ps_per_byte = wires[speed].ps_per_byte();
        port.peer_is_host = graph.is_host(p.peer);
        if p.error_rate > 0.0 || !scenario.failures.outages.is_empty() || reacts_late {
            port.watched |= WATCHED;
        }
        if uses_pint && !graph.is_host(p.node) {
            port.watched |= MEASURED;
        }
        if graph.is_host(p.node) {
            port.nic = nics.len() as u32;
            nics.push(Nic::new(i as u32));
        } else {
            port.ecn = ecn_by_speed[speed];
            port.strict = scenario.switch.strict;
            port.rate_code = switch_rates.iter().position(|r| *r == p.rate.0).unwrap_or(0).min(MAX_RATES - 1) as u8;
        }
        ports.push(port);
    }
    (ports, nics)
}

/// What links are told apart by.
struct Kinds {
    /// Tiers of links by name.
    tiers: Vec<String>,
    /// That of each port's link.
    port_tier: Vec<u8>,
    directions: Vec<Direction>,
    /// That of each port's link.
    port_direction: Vec<u8>,
}

fn kinds_of_links(graph: &Graph) -> Kinds {
    let (mut tiers, mut directions) = (Vec::new(), Vec::new());
    let mut known = std::collections::BTreeMap::new();
    let (mut port_tier, mut port_direction) = (Vec::new(), Vec::new());
    for p in &graph.ports {
        let ends = [p.node, p.peer].map(|n| graph.tiers[n as usize]);
        let towards = match ends[0] == ends[1] {
            true if p.node < p.peer => Some("to higher ids"),
            true => Some("to lower ids"),
            false => None,
        };
        let (tier, direction) = *known.entry((ends, towards)).or_insert_with(|| {
            let name = ends.map(crate::topology::tier_name).join("->");
            let tier = tiers.iter().position(|known| *known == name).unwrap_or_else(|| {
                tiers.push(name);
                tiers.len() - 1
            });
            directions.push(Direction { tier: tier as u8, towards });
            (tier as u8, (directions.len() - 1) as u8)
        });
        port_tier.push(tier);
        port_direction.push(direction);
    }
    Kinds { tiers, port_tier, directions, port_direction }
}

/// Refuses buffers by which more might wait at one port than is counted: bytes of queues have 32 bits.
fn check_longest_queue(scenario: &Scenario, buffers: &Buffers) -> Result<(), InputError> {
    let (graph, buffer) = (&scenario.graph, scenario.switch.buffer);
    if scenario.switch.model != BufferModel::PerPort || buffers.egress_limit() != u64::MAX {
        return Ok(());
    }
    let ports = |node| if graph.is_host(node) { 0 } else { graph.ports_of(node).len() as u64 };
    let most = (0..graph.nodes() as u32).map(ports).max().unwrap_or(0).max(1);
    if buffer.0.saturating_mul(most) <= LONGEST_QUEUE {
        return Ok(());
    }
    let problem = format!("what the {most} ports of a switch take in may all wait at one");
    let allowed = Bytes(LONGEST_QUEUE / most / 1000 * 1000);
    Err(InputError::new(problem).field("switch.buffer").value(buffer).allowed(format!("at most {allowed}")))
}

/// Refuses PFC without buffer to pause in.
fn check_pfc(scenario: &Scenario, pfc: &scenario::Pfc, buffers: &Buffers) -> Result<(), InputError> {
    let graph = &scenario.graph;
    if let Some(node) = (0..graph.nodes() as u32).find(|&n| !graph.is_host(n) && buffers.pool_of(n) == 0) {
        let ports = graph.first[node as usize]..graph.first[node as usize + 1];
        let error = match scenario.switch.model {
            BufferModel::Shared => {
                let headroom: u64 = ports.clone().map(|p| u64::from(buffers.headroom_of(p))).sum();
                InputError::new(format!(
                    "the headroom ({headroom} B a class) and reserves of the {} ports of switch {node} leave nothing to share",
                    ports.len()
                ))
            }
            BufferModel::PerPort => {
                let headroom = ports.map(|p| buffers.headroom_of(p)).max().unwrap_or(0);
                InputError::new(format!(
                    "the headroom of a port of switch {node}, {headroom} B for each of {} classes, leaves nothing of its buffer",
                    pfc.classes
                ))
            }
        };
        return Err(error
            .field("switch.buffer")
            .value(scenario.switch.buffer)
            .allowed("a larger buffer, shorter links, or a smaller switch.pfc.headroom"));
    }
    let xoff = (0..graph.nodes() as u32).filter(|n| !graph.is_host(*n)).map(|n| buffers.pool_of(n)).min().unwrap_or(0);
    if let Some(xon) = pfc.xon.filter(|xon| xon.0 > xoff) {
        return Err(InputError::new(format!("above xoff, which follows from the headroom ({xoff} B)"))
            .field("switch.pfc.xon")
            .value(xon)
            .allowed("at most xoff"));
    }
    let most = (0..graph.nodes() as u32).map(|n| graph.ports_of(n).len()).max().unwrap_or(0);
    if pfc.reaction.0 > 0 && most > usize::from(super::REACTING) {
        return Err(InputError::new("a node has too many ports for pauses that take time")
            .field("switch.pfc.reaction")
            .value(pfc.reaction)
            .allowed(format!("0s, or at most {} ports at a node", super::REACTING)));
    }
    Ok(())
}

/// Bytes that may wait at a port: as much as `switch.buffer` may be.
const LONGEST_QUEUE: u64 = 4_000_000_000;

/// What all flows' contexts have in common.
struct Shared {
    rates: [f64; MAX_RATES],
    int_multiple: u64,
}

impl Shared {
    fn context(&self, scenario: &Scenario, scheme: usize, line_rate: u64, base_rtt_ns: u64, bdp: u64) -> FlowContext {
        let scheme = &scenario.schemes[scheme];
        let fastest = self.rates.iter().copied().fold(0.0, f64::max);
        let base_rtt = Duration::from_ns(base_rtt_ns);
        FlowContext {
            line_rate,
            base_rtt_ns,
            window: window_of(scheme.window, bdp),
            mtu: scenario.framing.payload,
            rates: self.rates,
            int_multiple: self.int_multiple,
            utilisations: hpcc_pint::utilisations(&scheme.params),
            // The reference simulator believes records of any age.
            record_life: if scenario.quirks.clock_1ns {
                u16::MAX
            } else {
                record_life(self.int_multiple, fastest, base_rtt)
            },
            paced: !scenario.quirks.line_rate_pacing,
            params: scheme.params.clone(),
        }
    }
}

/// A scheme's window at line rate, bytes; 0 for none.
fn window_of(window: Window, bdp: u64) -> u64 {
    match window {
        Window::Off => 0,
        Window::Bdp => bdp.max(1),
        Window::Fixed(b) => b.0,
    }
}

/// A threshold as the 32-bit queue counters can compare it.
fn clamp(bytes: u64) -> u32 {
    bytes.min(u64::from(u32::MAX)) as u32
}

/// Flags of ACKs of which it is more than the sender's business what becomes of them.
fn special_acks(scenario: &Scenario) -> u8 {
    let all_count = scenario.schemes.iter().all(|s| match &s.params {
        Params::HpccPint(p) => p.counts_all(),
        _ => true,
    });
    ROUTED | if all_count && !scenario.quirks.reference_random { 0 } else { PINT }
}

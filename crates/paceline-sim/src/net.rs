//! The state of the network and what happens at a switch port. Both engines drive this one model; they differ only in
//! the order in which they look at independent places.

use std::sync::Arc;

use paceline_proto::cc::{FlowContext, Telemetry};
use paceline_proto::rng::{Purpose, Stream, hash3, unit};
use paceline_proto::telemetry::{IntUnits, MAX_HOPS, MAX_RATES};
use paceline_proto::units::{Duration, Time};

use crate::clock::{Clock, Wire};
use crate::engine::reference_random::ReferenceRandom;
use crate::error::InputError;
use crate::flow::{Flow, FlowInfo, Receiving};
use crate::graph::{Graph, NodeId};
use crate::host::Nic;
use crate::ideal;
use crate::packet::{Arena, CE, Handle, INLINE_HOPS, INT, Kind, LONG, NONE, Packet};
use crate::pint::Pint;
use crate::port::{NO_ECN, Port};
use crate::record::{BINS, Counters, FlowRecord, Pauses, PfcEvent, PortCounts, Sampler, bin};
use crate::routing::Routes;
use crate::scenario::{HostConfig, PathChoice, QueueRecords, Scenario, Window};
use crate::series::Series;
use crate::switch::{Admit, Buffers, Place};

/// How an engine learns what the model started. Static dispatch: this is the hot path.
pub trait Schedule {
    /// Whether the transmitter of `port`, free at `free`, is idle for what happens at `now`.
    fn idle(&self, port: u32, free: u64, now: u64) -> bool;
    /// A transmission started: the transmitter is busy until `free`, the packet reaches `inbox` (global port index) at
    /// `arrival`.
    fn started(&mut self, port: u32, free: u64, handle: Handle, inbox: u32, arrival: u64);
    /// Something waits behind the busy transmitter of `port`, which is free at `free`.
    fn waiting(&mut self, port: u32, free: u64);
}

/// Ports at the switches of each flow's path, there and back, where a packet cannot carry them; by flow slot.
pub(crate) type LongPaths = Vec<[Box<[u16]>; 2]>;

/// ECN thresholds of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnPoint {
    pub(crate) k_min: u32,
    k_max: u32,
    p_max: f64,
}

impl EcnPoint {
    /// Whether a packet that leaves `behind` bytes (above `k_min`) is marked; the `packet`-th draw of its port.
    #[inline]
    pub(crate) fn marks(&self, behind: u32, key: u64, port: u32, packet: u64) -> bool {
        behind > self.k_max || { unit(hash3(key, u64::from(port), packet)) < self.chance(behind) }
    }

    /// Marking probability between the thresholds.
    fn chance(&self, behind: u32) -> f64 {
        self.p_max * f64::from(behind - self.k_min) / f64::from(self.k_max - self.k_min)
    }
}

/// Keys of the draws made per packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) ecn: u64,
    pub(crate) loss: u64,
    pub(crate) controller: u64,
    pub(crate) spray: u64,
    pub(crate) ties: u64,
}

/// The network.
pub struct Net {
    pub(crate) draws: Draws,
    pub(crate) clock: Clock,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) graph: Arc<Graph>,
    pub(crate) arena: Arena,
    pub(crate) ports: Vec<Port>,
    /// Node of every port.
    pub(crate) port_node: Vec<u32>,
    /// First port of every node.
    pub(crate) first: Vec<u32>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) ecn: Vec<EcnPoint>,
    pub(crate) ecn_per_port: bool,
    pub(crate) buffers: Buffers,
    int_multiple: u64,
    pub(crate) int_units: IntUnits,
    /// State of probabilistic telemetry, where some scheme uses it.
    pub(crate) pint: Option<Box<Pint>>,
    /// The reference's random numbers, in compatibility mode.
    pub(crate) reference_random: Option<ReferenceRandom>,
    /// Copies of what the hosts look at for every packet.
    pub(crate) payload: u64,
    pub(crate) host: HostConfig,
    pub(crate) spray: bool,
    /// ACKs travel in the control class, also through switches.
    pub(crate) ack_control_class: bool,
    rates: [u64; MAX_RATES],
    pub(crate) error_rate: Vec<f64>,
    /// NICs, by global port index (`NONE` for switch ports).
    pub(crate) nic_of_port: Vec<u32>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) infos: Vec<FlowInfo>,
    pub(crate) receiving: Vec<Receiving>,
    pub(crate) free_flows: std::collections::VecDeque<u32>,
    pub(crate) contexts: Vec<FlowContext>,
    pub(crate) routes: Routes,
    /// Largest base RTT and bandwidth-delay product over all pairs.
    pub(crate) network: ideal::BaseRtt,
    /// First histogram of each port: its own, or that of its tier.
    pub(crate) queue_row: Vec<u32>,
    /// Histograms by row and class, empty when not recorded.
    pub(crate) queue_time: Vec<[u64; BINS]>,
    pub(crate) class_slot: [u8; 8],
    pub(crate) class_slots: usize,
    /// Queue lengths sampled at fixed instants, as the reference simulator does.
    pub(crate) sampler: Option<Sampler>,
    /// Samples over time; never due unless set.
    pub(crate) series: Series,
    pub(crate) pauses: Vec<Option<Box<Pauses>>>,
    pub(crate) counters: Counters,
    /// Marks and drops by port.
    pub(crate) port_counts: Vec<PortCounts>,
    /// Flows that ended since someone last took them.
    pub(crate) ended: Vec<FlowRecord>,
    pub(crate) pfc_log: Vec<PfcEvent>,
    /// Tier of every port's link (index into [`Net::tiers`]) and frame bytes that started flows will put on each tier.
    pub(crate) port_tier: Vec<u8>,
    pub(crate) offered: Vec<u64>,
    tiers: Vec<String>,
    /// Start of the last flow so far.
    pub(crate) last_start: u64,
    /// End of the last flow so far.
    pub(crate) last_end: u64,
    /// Retransmission timeouts so far, and why the first flow was given up.
    pub(crate) timeouts: u64,
    pub(crate) first_failure: Option<String>,
    /// Why the first lossless drop happened.
    pub(crate) first_drop: Option<String>,
    /// Changes whenever any flow makes progress.
    pub(crate) progress: u64,
    /// Source ports given out so far by (source, destination), for the reference's numbering.
    pub(crate) next_sport: std::collections::BTreeMap<(NodeId, NodeId), u16>,
    pub(crate) path: Vec<u16>,
    /// Paths longer than a packet carries, by flow slot.
    pub(crate) long_paths: LongPaths,
}

impl Net {
    /// Builds the network of a scenario.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, InputError> {
        let graph = Arc::clone(&scenario.graph);
        let clock = if scenario.quirks.clock_1ns { Clock::TruncatedNs } else { Clock::Exact };
        let telemetry = scenario.schemes.iter().map(|s| s.params.telemetry_bytes()).max().unwrap_or(0);
        let f = &scenario.framing;
        let max_frame =
            (f.payload + f.header + telemetry).max(f.ack_header + telemetry).max(f.min_frame).max(f.pfc_frame);
        if max_frame > u32::from(u16::MAX) {
            return Err(InputError::new("a full frame does not fit its 16-bit size")
                .field("framing")
                .value(format!("{max_frame} B"))
                .allowed("payload and headers of at most 65535 B together"));
        }
        let mut speeds: Vec<u64> = graph.ports.iter().map(|p| p.rate.0).collect();
        speeds.sort_unstable();
        speeds.dedup();
        if speeds.len() > 200 {
            return Err(InputError::new("too many different link rates").value(speeds.len()).allowed("at most 200"));
        }
        let nic_rate = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(1);
        let mut switch_rates: Vec<u64> =
            graph.ports.iter().filter(|p| !graph.is_host(p.node)).map(|p| p.rate.0).collect();
        switch_rates.sort_unstable();
        switch_rates.dedup();
        let uses_int = scenario.schemes.iter().any(|s| s.params.uses_int());
        if uses_int && switch_rates.len() > MAX_RATES {
            return Err(InputError::new("INT can name eight different port rates")
                .field("schemes")
                .value(format!("{} rates", switch_rates.len()))
                .allowed("at most 8 different rates of switch ports"));
        }
        let uses_pint = scenario.schemes.iter().any(|s| s.params.telemetry() == Telemetry::Pint);
        let mut rates = [0; MAX_RATES];
        for (slot, rate) in rates.iter_mut().zip(&switch_rates) {
            *slot = *rate;
        }
        let mut ecn = Vec::new();
        let mut ecn_of = |rate: u64| -> u8 {
            let Some(config) = &scenario.switch.ecn else { return NO_ECN };
            let Some(t) = config.by_rate.iter().find(|t| t.rate.0 == rate) else { return NO_ECN };
            ecn.push(EcnPoint { k_min: clamp(t.k_min.0), k_max: clamp(t.k_max.0), p_max: t.p_max });
            (ecn.len() - 1) as u8
        };
        let ecn_by_speed: Vec<u8> = speeds.iter().map(|&r| ecn_of(r)).collect();
        let wires: Vec<Wire> = speeds.iter().map(|&r| Wire::new(clock, r, max_frame, f.wire_overhead)).collect();
        let mut nics = Vec::new();
        let mut nic_of_port = vec![NONE; graph.ports.len()];
        let mut ports = Vec::with_capacity(graph.ports.len());
        for (i, p) in graph.ports.iter().enumerate() {
            let speed = speeds.binary_search(&p.rate.0).unwrap_or(0);
            let mut port = Port::new(p.delay.0, p.peer, graph.first[p.peer as usize], p.peer_port, speed as u8);
            port.ps_per_byte = wires[speed].ps_per_byte();
            port.peer_is_host = graph.is_host(p.peer);
            port.watched = p.error_rate > 0.0 || (uses_pint && !graph.is_host(p.node));
            if graph.is_host(p.node) {
                nic_of_port[i] = nics.len() as u32;
                nics.push(Nic::new(i as u32));
            } else {
                port.ecn = ecn_by_speed[speed];
                port.rate_code = switch_rates.iter().position(|r| *r == p.rate.0).unwrap_or(0).min(MAX_RATES - 1) as u8;
            }
            ports.push(port);
        }
        let mut routes = Routes::new(Arc::clone(&graph), scenario.routing);
        let network = ideal::max_base_rtt(&mut routes, scenario.framing.payload);
        let buffers = Buffers::new(&graph, &scenario.switch, nic_rate, max_frame, f.pfc_frame);
        if scenario.switch.pfc.is_some()
            && let Some(node) = (0..graph.nodes() as u32).find(|&n| !graph.is_host(n) && buffers.pool_of(n) == 0)
        {
            let ports = graph.first[node as usize]..graph.first[node as usize + 1];
            let headroom: u64 = ports.clone().map(|p| u64::from(buffers.headroom_of(p))).sum();
            return Err(InputError::new(format!(
                "the headroom ({headroom} B) and reserves of the {} ports of switch {node} leave nothing to share",
                ports.len()
            ))
            .field("switch.buffer")
            .value(scenario.switch.buffer)
            .allowed("a larger buffer, shorter links, or a smaller switch.pfc.headroom"));
        }
        let int_multiple =
            if scenario.int_multiple == 0 { (nic_rate / 25_000_000_000).max(1) } else { scenario.int_multiple };
        let mut tiers: Vec<String> = Vec::new();
        let mut port_tier = Vec::with_capacity(graph.ports.len());
        for p in &graph.ports {
            let name = |n: u32| crate::topology::tier_name(graph.tiers[n as usize]);
            let tier = format!("{}->{}", name(p.node), name(p.peer));
            let index = tiers.iter().position(|t| *t == tier).unwrap_or_else(|| {
                tiers.push(tier);
                tiers.len() - 1
            });
            port_tier.push(index as u8);
        }
        let draw = |purpose| Stream::new(scenario.seed, purpose, 0).at(0);
        let class_slots = if scenario.records.queues == QueueRecords::Off { 0 } else { 8 };
        Ok(Self {
            draws: Draws {
                ecn: draw(Purpose::Ecn),
                loss: draw(Purpose::WireLoss),
                controller: draw(Purpose::Controller),
                spray: draw(Purpose::Spray),
                ties: draw(Purpose::Ties),
            },
            clock,
            arena: Arena::new(scenario.schemes.iter().any(|s| s.params.telemetry() != Telemetry::None)),
            pint: Pint::new(
                &scenario,
                scenario.host.base_rtt.map_or(network.rtt_ns, Duration::as_ns),
                draw(Purpose::Telemetry),
            )?,
            reference_random: scenario.quirks.reference_random.then(|| ReferenceRandom::new(graph.nodes())),
            port_node: graph.ports.iter().map(|p| p.node).collect(),
            first: graph.first.clone(),
            wires,
            ecn,
            ecn_per_port: scenario.switch.ecn.as_ref().is_some_and(|e| e.per_port),
            buffers,
            int_multiple,
            int_units: IntUnits::new(int_multiple),
            payload: u64::from(scenario.framing.payload),
            host: scenario.host,
            spray: scenario.routing.choice == PathChoice::Spray,
            ack_control_class: scenario.host.ack_priority && !scenario.quirks.ack_priority_at_hosts,
            rates,
            error_rate: graph.ports.iter().map(|p| p.error_rate).collect(),
            nic_of_port,
            nics,
            flows: Vec::new(),
            infos: Vec::new(),
            receiving: Vec::new(),
            free_flows: std::collections::VecDeque::new(),
            contexts: Vec::new(),
            routes,
            network,
            queue_row: Vec::new(),
            queue_time: Vec::new(),
            class_slot: [0; 8],
            class_slots,
            sampler: None,
            series: Series { next: u64::MAX, ..Series::default() },
            pauses: (0..graph.ports.len()).map(|_| None).collect(),
            ports,
            counters: Counters::default(),
            port_counts: vec![PortCounts::default(); graph.ports.len()],
            ended: Vec::new(),
            pfc_log: Vec::new(),
            port_tier,
            offered: vec![0; tiers.len()],
            tiers,
            last_start: 0,
            last_end: 0,
            timeouts: 0,
            first_failure: None,
            first_drop: None,
            progress: 0,
            next_sport: std::collections::BTreeMap::new(),
            path: Vec::new(),
            long_paths: Vec::new(),
            graph,
            scenario,
        })
    }

    /// Prepares queue histograms for the classes in use (1 to 7, ascending).
    pub fn record_classes(&mut self, classes: &[u8]) {
        if self.class_slots == 0 {
            return;
        }
        self.class_slots = classes.len();
        for (slot, class) in classes.iter().enumerate() {
            self.class_slot[usize::from(*class)] = slot as u8;
        }
        let mut rows: Vec<Option<String>> = Vec::new();
        let per_tier = self.scenario.records.queues == QueueRecords::Tier;
        for port in 0..self.ports.len() as u32 {
            let name = per_tier.then(|| crate::results::tables::tier(self, port));
            let known = if per_tier { rows.iter().position(|r| *r == name) } else { None };
            let row = known.unwrap_or(rows.len());
            if known.is_none() && self.nic_of_port[port as usize] == NONE {
                rows.push(name);
            }
            self.queue_row.push((row * self.class_slots) as u32);
        }
        self.queue_time = vec![[0; BINS]; rows.len() * self.class_slots];
    }

    /// The context of a scheme's flows with the given line rate, base RTT (ns) and bandwidth-delay product (bytes).
    pub(crate) fn context(&mut self, scheme: u16, line_rate: u64, base_rtt_ns: u64, bdp: u64) -> u16 {
        let s = &self.scenario.schemes[usize::from(scheme)];
        let window = match s.window {
            Window::Off => 0,
            Window::Bdp => bdp.max(1),
            Window::Fixed(b) => b.0,
        };
        let same = |c: &FlowContext| {
            c.line_rate == line_rate && c.base_rtt_ns == base_rtt_ns && c.window == window && c.params == s.params
        };
        if let Some(i) = self.contexts.iter().position(same) {
            return i as u16;
        }
        self.contexts.push(FlowContext {
            line_rate,
            base_rtt_ns,
            window,
            mtu: self.scenario.framing.payload,
            rates: self.rates,
            int_multiple: self.int_multiple,
            paced: !self.scenario.quirks.line_rate_pacing,
            params: s.params.clone(),
        });
        (self.contexts.len() - 1) as u16
    }

    /// A queue of a switch changes from its present length at `now`.
    #[inline(always)]
    pub(crate) fn note_queue(&mut self, port: u32, class: u8, now: u64) {
        if self.class_slots == 0 {
            if let Some(sampler) = &mut self.sampler {
                let p = &self.ports[port as usize];
                sampler.change(port, p.total - p.class_bytes(0));
            }
            return;
        }
        let (bytes, since) = self.ports[port as usize].level_since(class, now);
        if bytes > 0 {
            let slot = usize::from(self.class_slot[usize::from(class)]);
            self.queue_time[self.queue_row[port as usize] as usize + slot][bin(bytes)] += now - since;
        }
    }

    /// Appends a packet to a switch queue.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) {
        if packet.class != 0 {
            self.note_queue(port, packet.class, now);
        }
        self.ports[port as usize].push(self.arena.split().0, h, packet.class, packet.size);
    }

    /// Marks congestion by what a departing packet leaves behind.
    #[inline(always)]
    fn mark(&mut self, port: u32, h: Handle, class: u8) {
        let p = &self.ports[port as usize];
        if p.ecn == NO_ECN {
            return;
        }
        let point = &self.ecn[usize::from(p.ecn)];
        let behind = if self.ecn_per_port { p.total } else { p.class_bytes(class) };
        if behind <= point.k_min {
            return;
        }
        let marked = match &mut self.reference_random {
            Some(reference) => behind > point.k_max || reference.mark() < point.chance(behind),
            None => point.marks(behind, self.draws.ecn, port, p.tx_packets),
        };
        // An ACK is not marked: its flag is the echo of the data packet's. (The reference draws for it all the same.)
        if marked && self.arena[h].kind == Kind::Data {
            self.arena[h].flags |= CE;
            self.counters.marks += 1;
            self.port_counts[port as usize].marks += 1;
        }
    }

    /// Starts sending a packet that has left its queue. Returns (transmitter free, inbox, arrival).
    #[inline(always)]
    pub(crate) fn transmit(&mut self, port: u32, h: Handle, at_switch: bool, now: u64) -> (u64, u32, u64) {
        let p = &mut self.ports[port as usize];
        let packet = &mut self.arena[h];
        let size = packet.size;
        let control = packet.kind != Kind::Data;
        let stamp = at_switch && !control && packet.flags & INT != 0 && usize::from(packet.hop) <= MAX_HOPS;
        let stamp_hop = usize::from(packet.hop.wrapping_sub(1));
        let tx_before = p.tx_bytes;
        p.tx_bytes += u64::from(size);
        p.tx_packets += 1;
        if control {
            p.tx_control += 1;
            p.tx_control_bytes += u64::from(size);
        }
        p.free = now + p.wire_ps(size, &self.wires);
        let arrival = p.free + p.delay;
        packet.in_port = p.peer_port;
        let inbox = if p.peer_is_host || packet.kind.is_pfc() {
            p.peer_base + u32::from(p.peer_port)
        } else {
            let hop = usize::from(packet.hop);
            packet.hop += 1;
            let out = if hop < INLINE_HOPS {
                packet.out[hop]
            } else {
                let long = &self.long_paths[(packet.flow & 0xff_ffff) as usize];
                long[usize::from(control)][hop]
            };
            p.peer_base + u32::from(out)
        };
        if stamp {
            let record = self.int_units.pack(Time(now), tx_before, u64::from(p.total), p.rate_code);
            self.arena.int(h)[stamp_hop] = record;
        }
        (p.free, inbox, arrival)
    }

    /// A packet has left a watched port: the load is measured where PINT asks for it, and it may be lost on the wire
    /// (drawn from the port's own stream). True when it is lost.
    #[cold]
    #[inline(never)]
    fn watch(&mut self, port: u32, h: Handle, now: u64) -> bool {
        let p = &self.ports[port as usize];
        if let (Some(pint), NONE) = (&mut self.pint, self.nic_of_port[port as usize]) {
            let (packets, int) = self.arena.split();
            pint.measure(port, p, &packets[h as usize], &mut int[h as usize], now, self.reference_random.as_mut());
        }
        if self.error_rate[port as usize] <= 0.0 || self.arena[h].kind.is_pfc() {
            return false;
        }
        if unit(hash3(self.draws.loss, u64::from(port), p.tx_packets)) >= self.error_rate[port as usize] {
            return false;
        }
        self.lose(port, h);
        true
    }

    /// A packet is lost on the wire behind a port.
    pub(crate) fn lose(&mut self, port: u32, h: Handle) {
        self.counters.drops_wire += 1;
        self.port_counts[port as usize].drops_wire += 1;
        self.counters.data_dropped += u64::from(self.arena[h].kind == Kind::Data);
        self.arena.release(h);
    }

    /// Sends the packet just taken from its queue and tells the engine.
    #[inline(always)]
    pub(crate) fn launch<S: Schedule>(&mut self, port: u32, h: Handle, at_switch: bool, now: u64, s: &mut S) {
        let (free, inbox, arrival) = self.transmit(port, h, at_switch, now);
        let handle = if self.ports[port as usize].watched && self.watch(port, h, now) { NONE } else { h };
        s.started(port, free, handle, inbox, arrival);
    }

    /// Account place of a packet at a switch.
    #[inline(always)]
    pub(crate) fn place(&self, node: u32, packet: &Packet) -> Place {
        Place {
            node,
            ingress: self.first[node as usize] + u32::from(packet.in_port),
            class: packet.class,
            size: u32::from(packet.size),
        }
    }

    /// A switch port starts its next packet, if one may go. Exact order.
    pub(crate) fn depart<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        let Some(class) = self.ports[port as usize].pick() else { return };
        if class != 0 {
            self.note_queue(port, class, now);
        }
        let h = self.ports[port as usize].pop(self.arena.split().0, class);
        let packet = self.arena[h];
        if !packet.kind.is_pfc() {
            let node = self.port_node[port as usize];
            let place = self.place(node, &packet);
            let resume = if self.buffers.is_exact(node) {
                self.buffers.release(place)
            } else {
                self.buffers.local(node).remove(packet.in_port, class, packet.size);
                false
            };
            self.mark(port, h, class);
            if resume {
                self.send_pfc(place.ingress, packet.class, Kind::Resume, now, s);
            }
        }
        self.launch(port, h, true, now, s);
        let p = &self.ports[port as usize];
        if p.waiting != 0 {
            s.waiting(port, p.free);
        }
    }

    /// Starts the next packet of a switch port if its transmitter is idle.
    #[inline]
    fn start<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        let free = self.ports[port as usize].free;
        if s.idle(port, free, now) {
            self.depart(port, now, s);
        } else {
            s.waiting(port, free);
        }
    }

    /// Sends a PFC frame out of a port.
    fn send_pfc<S: Schedule>(&mut self, port: u32, class: u8, kind: Kind, now: u64, s: &mut S) {
        if kind == Kind::Pause {
            self.counters.pause_frames += 1;
        } else {
            self.counters.resume_frames += 1;
        }
        if let Some(reference) = &mut self.reference_random {
            reference.pfc_frame();
        }
        let size = self.scenario.framing.pfc_frame as u16;
        let packet = Packet { flow: u32::from(class), size, kind, ..Packet::default() };
        let h = self.arena.alloc(packet);
        self.enqueue(port, h, &packet, now);
        self.start(port, now, s);
    }

    /// A PFC frame takes effect at a port. Returns whether it lets the port go on.
    pub(crate) fn apply_pfc(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) -> bool {
        let class = packet.flow as u8;
        let pause = packet.kind == Kind::Pause;
        let p = &mut self.ports[port as usize];
        let was = p.paused & (1 << class) != 0;
        let record = self.pauses[port as usize].get_or_insert_default();
        if pause {
            p.paused |= 1 << class;
            record.pauses[usize::from(class)] += 1;
            if !was {
                record.since[usize::from(class)] = now;
            }
        } else {
            p.paused &= !(1 << class);
            record.resumes[usize::from(class)] += 1;
            if was {
                record.time[usize::from(class)] += now - record.since[usize::from(class)];
            }
        }
        if self.scenario.records.pfc_log {
            let node = self.port_node[port as usize];
            let number = (port - self.first[node as usize]) as u16;
            self.pfc_log.push(PfcEvent { now, node, port: number, class, pause });
        }
        self.arena.release(h);
        !pause
    }

    /// A packet has no room at a switch.
    pub(crate) fn drop_packet(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) {
        self.counters.drops_buffer += 1;
        self.port_counts[port as usize].drops_buffer += 1;
        self.counters.data_dropped += u64::from(packet.kind == Kind::Data);
        if self.buffers.lossless() {
            self.counters.lossless_drops += 1;
            if self.first_drop.is_none() {
                let node = self.port_node[port as usize];
                let ingress = self.first[node as usize] + u32::from(packet.in_port);
                self.first_drop = Some(format!(
                    "class {} lost a packet of {} B at {} in switch {node}, from port {} to port {}: {}",
                    packet.class,
                    packet.size,
                    Time(now),
                    packet.in_port,
                    port - self.first[node as usize],
                    self.buffers.explain(node, ingress, packet.class)
                ));
            }
        }
        self.arena.release(h);
    }

    /// A packet arrives at the switch whose egress port is `port`. Exact order.
    pub(crate) fn switch_arrival<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) {
        let packet = self.arena[h];
        if packet.kind.is_pfc() {
            if self.apply_pfc(port, h, &packet, now) {
                self.start(port, now, s);
            }
            return;
        }
        let node = self.port_node[port as usize];
        if self.buffers.choose(node) {
            let p = &mut self.ports[port as usize];
            if p.waiting | p.paused == 0 && s.idle(port, p.free, now) {
                // In and out in the same instant: the buffer never holds it.
                p.pass(packet.class);
                self.launch(port, h, true, now, s);
                return;
            }
            self.buffers.local(node).add(packet.in_port, packet.class, packet.size);
            self.enqueue(port, h, &packet, now);
            self.start(port, now, s);
            return;
        }
        let place = self.place(node, &packet);
        let p = &self.ports[port as usize];
        match self.buffers.admit(place, p.class_bytes(packet.class), p.total) {
            Admit::Drop => {
                self.drop_packet(port, h, &packet, now);
                return;
            }
            Admit::Keep => {}
            Admit::KeepAndPause => self.send_pfc(place.ingress, packet.class, Kind::Pause, now, s),
        }
        self.enqueue(port, h, &packet, now);
        self.start(port, now, s);
    }

    /// A packet for the path of a flow direction: fills in the ports at its switches.
    pub(crate) fn set_path(packet: &mut Packet, path: &[u16]) {
        let n = path.len().min(INLINE_HOPS);
        packet.out[..n].copy_from_slice(&path[..n]);
        if path.len() > INLINE_HOPS {
            packet.flags |= LONG;
        }
        packet.hop = 0;
    }

    /// The topology.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Sums over the run so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Pauses of a port (global index), if it ever was paused.
    pub fn pauses(&self, port: u32) -> Option<&Pauses> {
        self.pauses[port as usize].as_deref()
    }

    /// Time by queue length bin of a port and class, up to the last change; empty when not recorded.
    pub fn queue_time(&self, port: u32, class: u8) -> &[u64] {
        if self.class_slots == 0 {
            return &[];
        }
        if self.nic_of_port[port as usize] != NONE {
            return &[];
        }
        &self.queue_time[self.queue_row[port as usize] as usize + usize::from(self.class_slot[usize::from(class)])]
    }

    /// Packets in existence: queued or on a wire.
    pub fn packets_alive(&self) -> u32 {
        self.arena.live()
    }

    /// Why the first packet of a lossless class was dropped.
    pub fn first_lossless_drop(&self) -> Option<&str> {
        self.first_drop.as_deref()
    }

    /// Names of the tiers of links, `from->to`.
    pub fn tiers(&self) -> &[String] {
        &self.tiers
    }

    /// Packets with and without payload that were put on a link.
    pub fn hops(&self) -> (u64, u64) {
        let (all, control) = self.ports.iter().fold((0, 0), |(a, c), p| (a + p.tx_packets, c + p.tx_control));
        (all - control, control)
    }

    /// Why nothing moves: who waits for whom.
    pub fn diagnose(&self, now: u64) -> String {
        crate::diagnosis::diagnose(self, now)
    }
}

/// A threshold as the 32-bit queue counters can compare it.
fn clamp(bytes: u64) -> u32 {
    bytes.min(u64::from(u32::MAX)) as u32
}

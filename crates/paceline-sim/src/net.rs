//! The state of the network and what happens at a switch port. Both engines drive this one model; they differ only in
//! the order in which they look at independent places. How it is built: `net/setup.rs`.

pub(crate) mod parts;
pub(crate) mod rules;
mod setup;

use std::sync::Arc;

use paceline_proto::cc::FlowContext;
use paceline_proto::rng::{hash3, unit};
use paceline_proto::telemetry::{MAX_HOPS, MAX_RATES};
use paceline_proto::units::Time;

use crate::adapter::Adapters;
use crate::clock::{Clock, Wire};
use crate::congestion::CongestionPoints;
use crate::engine::reference_random::ReferenceRandom;
use crate::failures::Failures;
use crate::flow::{Flow, FlowInfo, Receiving, SLOT_MASK};
use crate::graph::{Graph, NodeId};
use crate::host::Nic;
use crate::ideal;
use crate::message::Messages;
use crate::packet::{Arena, CE, Handle, INLINE_HOPS, INT, Kind, LONG, NONE, Packet, UNSCHEDULED};
use crate::pint::Pint;
use crate::port::{NO_ECN, Port};
use crate::programs::Programs;
use crate::record::{BINS, Counters, FlowRecord, Pauses, PfcEvent, PortCounts, QueryRecord, Sampler, Traffic, bin};
use crate::routing::Routes;
use crate::rpc::Rpcs;
use crate::scenario::{HostConfig, Scenario};
use crate::series::Series;
use crate::special::Special;
use crate::streams::Streams;
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
    /// A switch turns a packet round that came in at its port `in_port`: it reaches `inbox` of the same switch at
    /// `arrival`, one lookahead later.
    fn turned(&mut self, handle: Handle, in_port: u16, inbox: u32, arrival: u64);
}

/// What a window that concerns one port alone needs of its engine.
pub trait Lane: Schedule {
    /// A packet reaches `inbox` (global port index) at `arrival`.
    fn put(&mut self, inbox: u32, arrival: u64, handle: Handle);
}

/// What reaches a port in one window, in order: times and packets.
#[derive(Clone, Debug)]
pub struct Arrivals<'a> {
    /// Start of the window, ps.
    pub start: u64,
    /// Time since then in the upper half, packet in the lower.
    pub keys: std::slice::Iter<'a, u64>,
}

impl Iterator for Arrivals<'_> {
    type Item = (u64, Handle);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, Handle)> {
        self.keys.next().map(|key| (self.start + (key >> 32), *key as Handle))
    }
}

/// In [`Packet::in_port`] of a PFC frame that takes effect some time after its arrival: orders it among packets that arrive meanwhile.
pub(crate) const REACTING: u16 = 1 << 15;

/// In [`rules::Rules::class_slot`]: no histograms.
pub(crate) const UNRECORDED: u8 = u8::MAX;

/// Ports at the switches of each flow's path, there and back, where a packet cannot carry them; by flow number.
pub(crate) type LongPaths = Vec<[Box<[u16]>; 2]>;

/// The port at switch `hop` (from 0) of a packet's path where the packet does not carry it. Where links fail it is not used:
/// paths may then become longer than they were.
#[cold]
pub(crate) fn long_hop(paths: &LongPaths, packet: &Packet, hop: usize) -> u16 {
    let direction = usize::from(packet.kind.is_back());
    let path = paths.get((packet.flow & SLOT_MASK) as usize).and_then(|both| both[direction].get(hop));
    path.copied().unwrap_or(0)
}

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

/// What a part of a network takes from the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    /// Largest base RTT and bandwidth-delay product.
    pub network: ideal::BaseRtt,
    /// Rate of the fastest NIC, bit/s.
    pub nic_rate: u64,
}

/// The way of all flows, in place of routing: egress ports from the sending NIC on, of packets and of ACKs, and the base RTT of
/// the pair.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    pub paths: [Vec<u16>; 2],
    pub pair: ideal::BaseRtt,
}

/// The network.
pub struct Net {
    pub(crate) draws: Draws,
    pub(crate) clock: Clock,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) graph: Arc<Graph>,
    pub(crate) arena: Arena,
    pub(crate) ports: Vec<Port>,
    /// First port of every node.
    pub(crate) first: Vec<u32>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) ecn: Vec<EcnPoint>,
    pub(crate) rules: rules::Rules,
    pub(crate) buffers: Buffers,
    int_multiple: u64,
    /// State of probabilistic telemetry, where some scheme uses it.
    pub(crate) pint: Option<Box<Pint>>,
    /// The reference's random numbers, in compatibility mode.
    pub(crate) reference_random: Option<ReferenceRandom>,
    /// Copies of what the hosts look at for every packet.
    pub(crate) payload: u64,
    pub(crate) host: HostConfig,
    /// Paths are drawn packet by packet.
    pub(crate) spray: bool,
    /// They are, and parallel links are not alike.
    pub(crate) uneven: bool,
    /// ACKs travel in the control class, also through switches.
    pub(crate) ack_control_class: bool,
    rates: [f64; MAX_RATES],
    pub(crate) error_rate: Vec<f64>,
    /// Failing links, where there are any.
    pub(crate) failures: Option<Box<Failures>>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) infos: Vec<FlowInfo>,
    pub(crate) receiving: Vec<Receiving>,
    pub(crate) free_flows: std::collections::VecDeque<u32>,
    pub(crate) contexts: Vec<FlowContext>,
    pub(crate) routes: Routes,
    /// Largest base RTT and bandwidth-delay product over all pairs.
    pub(crate) network: ideal::BaseRtt,
    /// Way of all flows, where it is given.
    pub(crate) pinned: Option<Pinned>,
    /// First histogram of each port: its own, or that of its tier.
    pub(crate) queue_row: Vec<u32>,
    /// Histograms by row and class, empty when not recorded.
    pub(crate) queue_time: Vec<[u64; BINS]>,
    pub(crate) class_slots: usize,
    /// Queue lengths sampled at fixed instants, as the reference simulator does.
    pub(crate) sampler: Option<Sampler>,
    /// Samples over time; never due unless set.
    pub(crate) series: Series,
    pub(crate) pauses: Vec<Option<Box<Pauses>>>,
    pub(crate) counters: Counters,
    /// By scheme; kept for TCP and UDP.
    pub(crate) traffic: Vec<Traffic>,
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
    /// Retransmission timeouts so far, and the first flow given up: when, which, how.
    pub(crate) timeouts: u64,
    pub(crate) first_failure: Option<(u64, u64, String)>,
    /// The first lossless drop: when, at which port, why.
    pub(crate) first_drop: Option<(u64, u64, String)>,
    /// Changes whenever any flow makes progress.
    pub(crate) progress: u64,
    /// Source ports given out so far by (source, destination), for the reference's numbering.
    pub(crate) next_sport: std::collections::BTreeMap<(NodeId, NodeId), u16>,
    pub(crate) path: Vec<u16>,
    /// Switch ports with rules of their own, where they have.
    pub(crate) special: Option<Box<Special>>,
    /// Host-wide message transports, where the scheme is one.
    pub(crate) messages: Option<Box<Messages>>,
    /// Connections that stay open, where there are any.
    pub(crate) streams: Option<Box<Streams>>,
    /// Clients that ask over them, where there are any.
    pub(crate) rpcs: Option<Box<Rpcs>>,
    /// Adapters between transports and links, where hosts have them.
    pub(crate) adapters: Option<Box<Adapters>>,
    /// QCN at switches, where they have it.
    pub(crate) congestion: Option<Box<CongestionPoints>>,
    /// Programs at the hosts, where there are any.
    pub(crate) programs: Option<Box<Programs>>,
    /// Queries answered since someone last took them.
    pub(crate) queries: Vec<QueryRecord>,
    /// Paths longer than a packet carries, by flow number.
    pub(crate) long_paths: LongPaths,
    /// Which part of a network in parts this is.
    pub(crate) share: parts::Share,
    /// By part; empty when there is only one.
    pub(crate) outboxes: Vec<parts::Outbox>,
}

impl Net {
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
        let slot = usize::from(self.rules.class_slot[usize::from(class)]);
        if slot >= self.class_slots {
            return;
        }
        let (bytes, since) = self.ports[port as usize].level_since(class, now);
        if bytes > 0 {
            self.queue_time[self.queue_row[port as usize] as usize + slot][bin(bytes)] += now - since;
        }
    }

    /// Whether the queues of a class are recorded: those of control packets only where data share their class.
    #[inline(always)]
    pub(crate) fn is_recorded(&self, class: u8) -> bool {
        class != 0 || self.rules.class_slot[0] != UNRECORDED
    }

    /// Appends a packet to a switch queue.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) {
        if self.is_recorded(packet.class) {
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
        let behind = if self.rules.ecn_per_port { p.total } else { p.class_bytes(class) };
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
        let stamp_hop = usize::from(packet.hop & 7);
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
            let out = if hop < INLINE_HOPS { packet.out[hop] } else { long_hop(&self.long_paths, packet, hop) };
            p.peer_base + u32::from(out)
        };
        if stamp {
            let record = self.rules.int_units.pack(Time(now), tx_before, u64::from(p.total), p.rate_code);
            self.arena.int(h)[stamp_hop] = record;
        }
        (p.free, inbox, arrival)
    }

    /// A packet has left a watched port: the load is measured where PINT asks for it, it may be lost on the wire (drawn
    /// from the port's own stream) or because a link is down, where links fail its next port is looked up, and it may leave
    /// for another part. Returns the packet, [`NONE`] when nothing is left of it here, and its inbox.
    #[cold]
    #[inline(never)]
    fn watch(&mut self, port: u32, h: Handle, inbox: u32, now: u64, arrival: u64) -> (Handle, u32) {
        if self.wire_loses(port, h, now) {
            return (NONE, inbox);
        }
        let mut inbox = inbox;
        let packet = self.arena[h];
        if self.failures.is_some() && self.ports[port as usize].nic != NONE && !packet.kind.is_pfc() {
            self.address_packet(h, &packet);
        }
        if let Some(failures) = &mut self.failures {
            // A path of many changes may not wrap the count.
            self.arena[h].hop = packet.hop.min(u8::MAX - 1);
            match failures.forward(port, h, &packet, now, arrival) {
                Ok(next) => inbox = next,
                Err(at) => {
                    if at == port && failures.is_down(port, now) {
                        self.ports[port as usize].unsend(packet.size, packet.kind != Kind::Data);
                    }
                    self.lose_to_failure(at, h);
                    return (NONE, inbox);
                }
            }
        }
        let Some(part) = self.part_across(port) else { return (h, inbox) };
        self.outboxes[usize::from(part)].cut.push(parts::Cut { handle: h, inbox, arrival });
        (NONE, inbox)
    }

    /// The wire behind a port, and what it does with a packet by chance. True when the packet is lost.
    fn wire_loses(&mut self, port: u32, h: Handle, now: u64) -> bool {
        let p = &self.ports[port as usize];
        if let (Some(pint), NONE) = (&mut self.pint, self.ports[port as usize].nic) {
            let (packets, int) = self.arena.split();
            let (packet, telemetry) = (&packets[h as usize], &mut int[h as usize].0);
            match &mut self.reference_random {
                None => pint.measure(port, p, packet, telemetry, now),
                Some(reference) => {
                    pint.measure_with(port, p, packet, telemetry, now, &mut || reference.rand.next());
                }
            }
        }
        let error_rate = self.error_rate[port as usize];
        if error_rate > 0.0
            && !self.arena[h].kind.is_pfc()
            && unit(hash3(self.draws.loss, u64::from(port), p.tx_packets)) < error_rate
        {
            self.lose(port, h);
            return true;
        }
        false
    }

    /// A packet is lost on the wire behind a port.
    pub(crate) fn lose(&mut self, port: u32, h: Handle) {
        self.counters.drops_wire += 1;
        self.port_counts[port as usize].drops_wire += 1;
        self.counters.data_dropped += u64::from(self.arena[h].kind == Kind::Data);
        self.note_loss(h);
        self.arena.release(h);
    }

    /// Sends the packet just taken from its queue and tells the engine.
    #[inline(always)]
    pub(crate) fn launch<S: Schedule>(&mut self, port: u32, h: Handle, at_switch: bool, now: u64, s: &mut S) {
        let (free, inbox, mut arrival) = self.transmit(port, h, at_switch, now);
        let mut to = (h, inbox);
        if self.ports[port as usize].watched != 0 {
            let reacts = self.rules.pfc_reaction != 0 && self.arena[h].kind.is_pfc();
            if reacts {
                arrival += self.rules.pfc_reaction;
                self.arena[h].in_port |= REACTING;
            }
            to = self.watch(port, h, inbox, now, arrival);
            if reacts && to.0 != NONE {
                s.turned(h, self.arena[h].in_port, inbox, arrival);
                to.0 = NONE;
            }
        }
        s.started(port, free, to.0, to.1, arrival);
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

    /// A packet leaves a queue of a switch. Returns the ingress port that may now send a resume.
    #[inline(always)]
    pub(crate) fn release_place(&mut self, node: u32, packet: &Packet) -> Option<u32> {
        let place = self.place(node, packet);
        if self.buffers.is_exact(node) {
            return self.buffers.release(place).then_some(place.ingress);
        }
        self.buffers.local(node).remove(packet.in_port, packet.class, packet.size);
        None
    }

    /// A switch port starts its next packet, if one may go. Exact order.
    pub(crate) fn depart<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        if self.special.is_some() && self.special_depart(port, now, s) {
            return;
        }
        let Some(class) = self.ports[port as usize].pick() else { return };
        if self.is_recorded(class) {
            self.note_queue(port, class, now);
        }
        let h = self.ports[port as usize].pop(self.arena.split().0, class);
        let packet = self.arena[h];
        if !packet.kind.is_pfc() {
            let node = self.ports[port as usize].node;
            let resume = self.release_place(node, &packet);
            self.mark(port, h, class);
            if let Some(ingress) = resume {
                self.send_pfc(ingress, packet.class, Kind::Resume, now, s);
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
    pub(crate) fn send_pfc<S: Schedule>(&mut self, port: u32, class: u8, kind: Kind, now: u64, s: &mut S) {
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
            let node = self.ports[port as usize].node;
            let number = (port - self.first[node as usize]) as u16;
            self.pfc_log.push(PfcEvent { now, node, port: number, class, pause });
        }
        self.arena.release(h);
        !pause
    }

    /// A packet has no room at a switch.
    pub(crate) fn drop_packet(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) {
        self.counters.drops_buffer += 1;
        self.counters.data_dropped += u64::from(packet.kind == Kind::Data);
        let counts = &mut self.port_counts[port as usize];
        counts.drops_buffer += 1;
        counts.drops_control += u64::from(packet.kind != Kind::Data);
        if self.messages.is_some() && packet.flags & UNSCHEDULED != 0 {
            self.counters.drops_unscheduled += 1;
            counts.drops_unscheduled += 1;
        }
        self.note_loss(h);
        if self.buffers.lossless() {
            self.counters.lossless_drops += 1;
            if self.first_drop.as_ref().is_none_or(|(at, place, _)| (now, u64::from(port)) < (*at, *place)) {
                let node = self.ports[port as usize].node;
                let ingress = self.first[node as usize] + u32::from(packet.in_port);
                let why = format!(
                    "class {} lost a packet of {} B at {} in switch {node}, from port {} to port {}: {}",
                    packet.class,
                    packet.size,
                    Time(now),
                    packet.in_port,
                    port - self.first[node as usize],
                    self.buffers.explain(node, ingress, packet.class)
                );
                self.first_drop = Some((now, u64::from(port), why));
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
        if self.special.is_some() && self.special_arrival(port, h, now, s) {
            return;
        }
        if packet.flags & self.rules.selective_mask != 0 && self.refuses(port, &packet) {
            self.drop_packet(port, h, &packet, now);
            return;
        }
        let node = self.ports[port as usize].node;
        if self.buffers.choose(node) {
            if self.congestion.is_some() {
                self.sample_congestion(port, h, &packet, now, s);
            }
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
        if self.congestion.is_some() {
            self.sample_congestion(port, h, &packet, now, s);
        }
        self.enqueue(port, h, &packet, now);
        self.start(port, now, s);
    }

    /// Whether a port drops an unscheduled packet although there is room.
    pub(crate) fn refuses(&self, port: u32, packet: &Packet) -> bool {
        let p = &self.ports[port as usize];
        self.rules
            .selective
            .is_some_and(|s| !s.admits(p.total, p.class_bytes(packet.class), u32::from(packet.size), true))
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

    /// Asks for a port and a packet.
    #[inline(always)]
    pub(crate) fn fetch(&self, port: u32, h: Handle) {
        if let Some(port) = self.ports.get(port as usize) {
            crate::packet::prefetch(port);
        }
        self.arena.fetch_one(h);
    }

    /// The topology.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Sums over the run so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What each scheme has sent so far, where schemes are over TCP and UDP.
    pub fn traffic(&self) -> &[Traffic] {
        &self.traffic
    }

    /// What the endpoints of a message transport have counted; `None` with RDMA.
    pub fn message_counters(&self) -> Option<paceline_proto::transport::message::Counters> {
        self.messages.as_ref().map(|m| m.counters())
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
        if self.ports[port as usize].nic != NONE {
            return &[];
        }
        let slot = usize::from(self.rules.class_slot[usize::from(class)]);
        self.queue_time.get(self.queue_row[port as usize] as usize + slot).map_or(&[], |row| row)
    }

    /// Packets in existence: queued or on a wire.
    pub fn packets_alive(&self) -> u32 {
        self.arena.live()
    }

    /// Why the first packet of a lossless class was dropped.
    pub fn first_lossless_drop(&self) -> Option<&str> {
        self.first_drop.as_ref().map(|(_, _, why)| why.as_str())
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
        crate::diagnosis::diagnose(self, &crate::diagnosis::waits(self), now)
    }
}

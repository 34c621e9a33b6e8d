//! The state of the network. Both engines drive this one model; they differ only in the order in which they look at independent places.
//! How it is built: `net/setup.rs`; what happens at a switch: `net/switch.rs`, at a host: `net/host.rs`; what hosts do over
//! transports: `net/{streams,rpc,programs}.rs`.

pub(crate) mod balance;
pub(crate) mod by_number;
pub(crate) mod failures;
pub mod flow;
pub mod host;
pub(crate) mod parts;
pub mod port;
pub mod programs;
pub(crate) mod reference_random;
pub(crate) mod rpc;
pub(crate) mod rules;
pub mod saturation;
pub mod series;
mod setup;
pub(crate) mod slots;
mod soundness;
pub(crate) mod stages;
pub(crate) mod streams;
pub mod switch;
pub mod trace;

use std::sync::Arc;

use paceline_proto::cc::{CongestionControl, FlowContext};
use paceline_proto::rng::{hash3, unit};
use paceline_proto::telemetry::MAX_RATES;

use crate::clock::{Clock, Wire};
use crate::graph::{Graph, NodeId};
use crate::ideal;
use crate::net::balance::Books;
use crate::net::by_number::ByNumber;
use crate::net::failures::Failures;
use crate::net::flow::{Flow, FlowInfo, Receiving, SLOT_MASK};
use crate::net::host::Nic;
use crate::net::host::adapter::Adapters;
use crate::net::host::message::Messages;
use crate::net::port::Port;
use crate::net::programs::Programs;
use crate::net::reference_random::ReferenceRandom;
use crate::net::rpc::Rpcs;
use crate::net::series::Series;
use crate::net::slots::FreeSlots;
use crate::net::stages::Stages;
use crate::net::streams::Streams;
use crate::net::switch::buffers::Buffers;
use crate::net::switch::congestion::CongestionPoints;
use crate::net::switch::levels::Levels;
use crate::net::switch::pint::Pint;
use crate::net::switch::special::Special;
use crate::net::trace::Trace;
use crate::packet::{Arena, Handle, INLINE_HOPS, LONG, NONE, Packet};
use crate::record::{Counters, News, Pauses, PortCounts, Traffic};
use crate::routing::by_node::NodeRoutes;
use crate::routing::{Address, Routes};
use crate::scenario::{HostConfig, Scenario};

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

/// What a load is told of: a tier of links, or one direction of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    /// Index into [`Net::tiers`].
    pub tier: u8,
    /// Of links between nodes of one tier: which way.
    pub towards: Option<&'static str>,
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
    /// Rate of the first host's first NIC, bit/s.
    pub host_rate: u64,
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
    /// Paths are drawn packet by packet, or flowlet by flowlet.
    pub(crate) spray: bool,
    /// They are, and parallel links are not alike.
    pub(crate) uneven: bool,
    /// The pause that begins a flowlet, ps, where paths are drawn by flowlet.
    pub(crate) flowlet_gap: Option<u64>,
    /// ACKs travel in the control class, also through switches.
    pub(crate) ack_control_class: bool,
    /// Flags of ACKs that a [turn](crate::net::host::turn) leaves to the network.
    pub(crate) special_acks: u8,
    rates: [f64; MAX_RATES],
    pub(crate) error_rate: Vec<f64>,
    /// Failing links, where there are any.
    pub(crate) failures: Option<Box<Failures>>,
    pub(crate) nics: Vec<Nic>,
    /// By NIC, apart from what else is known of it: the far end's is asked for with each sprayed packet.
    pub(crate) addresses: Box<[Address]>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) infos: Vec<FlowInfo>,
    pub(crate) receiving: ByNumber<Receiving>,
    pub(crate) free_flows: FreeSlots,
    pub(crate) contexts: Vec<FlowContext>,
    pub(crate) routes: Routes,
    /// The reference's routes, where they differ.
    pub(crate) by_node: Option<Box<NodeRoutes>>,
    /// Largest base RTT and bandwidth-delay product over all pairs.
    pub(crate) network: ideal::BaseRtt,
    /// Way of all flows, where it is given.
    pub(crate) pinned: Option<Pinned>,
    /// Queue lengths so far.
    pub(crate) levels: Levels,
    /// Samples over time; never due unless set.
    pub(crate) series: Series,
    pub(crate) pauses: Vec<Option<Box<Pauses>>>,
    pub(crate) counters: Counters,
    pub(crate) books: Books,
    /// By scheme; kept for TCP and UDP.
    pub(crate) traffic: Vec<Traffic>,
    /// Marks and drops by port.
    pub(crate) port_counts: Vec<PortCounts>,
    /// What nobody has been told yet.
    pub(crate) news: News,
    /// Which packets are recorded, where any are.
    pub(crate) trace: Option<Box<Trace>>,
    /// Whose stages at nodes are noted, where any are.
    pub(crate) stages: Option<Box<Stages>>,
    /// Tier of every port's link (index into [`Net::tiers`]).
    pub(crate) port_tier: Vec<u8>,
    tiers: Vec<String>,
    /// Direction of every port's link (index into [`Net::directions`]) and frame bytes that started flows will put on each.
    pub(crate) port_direction: Vec<u8>,
    pub(crate) offered: Vec<u64>,
    directions: Vec<Direction>,
    /// Starts of the first and the last flow so far; the first is `u64::MAX` before there is one.
    pub(crate) first_start: u64,
    pub(crate) last_start: u64,
    /// End of the last flow so far.
    pub(crate) last_end: u64,
    /// Retransmission timeouts so far, and the first flow given up: when, which, how.
    pub(crate) timeouts: u64,
    pub(crate) first_failure: Option<(u64, u64, String)>,
    /// The first lossless drop: when, at which port, why.
    pub(crate) first_drop: Option<(u64, u64, String)>,
    /// The first result that cannot be: when, of which flow or query, what.
    pub(crate) first_impossible: Option<(u64, u64, String)>,
    /// Changes whenever any flow makes progress.
    pub(crate) progress: u64,
    /// By scheme: what controllers have used ([`CongestionControl::used`]), of flows whose slots are others' now or that began anew.
    pub(crate) used: Vec<u8>,
    /// Datagrams sent here less those that ended here, modulo 2^64: over all parts, those that are on their way.
    pub(crate) datagrams: u64,
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
    /// Paths longer than a packet carries, by flow number.
    pub(crate) long_paths: LongPaths,
    /// Which part of a network in parts this is.
    pub(crate) share: parts::Share,
    /// What the other parts are to be told, by part; empty when there is only one.
    pub(crate) notes: Vec<Vec<parts::Note>>,
}

impl Net {
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

    /// What the controllers of a scheme's flows have used.
    pub(crate) fn used(&self, scheme: usize) -> u8 {
        let flows = self.flows.iter().zip(&self.infos).filter(|(_, info)| usize::from(info.spec.scheme) == scheme);
        flows.fold(self.used[scheme], |used, (flow, _)| used | flow.cc.used())
    }

    /// Keeps what a flow's controller has used, which is about to be another's.
    pub(crate) fn keep_used(&mut self, slot: u32) {
        let i = slot as usize;
        self.used[usize::from(self.infos[i].spec.scheme)] |= self.flows[i].cc.used();
    }

    /// Pauses of a port (global index), if it ever was paused.
    pub fn pauses(&self, port: u32) -> Option<&Pauses> {
        self.pauses[port as usize].as_deref()
    }

    /// How long, ps, the queue of a class at a switch port had a length in which bin, up to its last change; no bins where that is not
    /// recorded.
    pub fn queue_time(&self, port: u32, class: u8) -> impl Iterator<Item = (usize, u64)> + Clone {
        let at_switch = self.ports[port as usize].nic == NONE;
        let slot = if at_switch { self.rules.class_slot[usize::from(class)] } else { UNRECORDED };
        self.levels.bins(port, usize::from(slot))
    }

    /// The time that histograms of queues cover in a run of `end` ps: copies of what has arrived may still wait when the last flow ends.
    pub fn queue_span(&self, end: u64) -> u64 {
        self.levels.span(end)
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

    /// What loads are told of.
    pub(crate) fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// Packets with and without payload that were put on a link.
    pub fn hops(&self) -> (u64, u64) {
        let (all, control) = self.ports.iter().fold((0, 0), |(a, c), p| (a + p.tx_packets, c + p.tx_control));
        (all - control, control)
    }
}

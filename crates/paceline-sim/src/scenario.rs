//! A validated run: what the engines work from. Built by `assemble` from TOML or Python, or by `hpcc` from the files of
//! the HPCC reference simulator. Everything is resolved: no default is left to fill in.

mod headroom;
mod quirks;

pub use headroom::{Headroom, PausedLink};
pub(crate) use quirks::INT_RATES;
pub use quirks::{NamedQuirk, Quirks};

use paceline_proto::qcn::CNM_FRAME;
use paceline_proto::transport::unscheduled::{BurstParams, Unscheduled};
use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time};
use serde::{Deserialize, Serialize};

use crate::clock::LATEST;
use crate::framing::Added;
pub use crate::framing::Framing;
pub use crate::routing::config::{NextHopOrder, NicChoice, PathChoice, RoutingConfig};

/// How a switch's packet buffer is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferModel {
    /// One pool shared by all ports.
    Shared,
    /// A fixed limit per port; `buffer` is that limit.
    PerPort,
}

/// Which port of a switch a packet's bytes count at, with [`BufferModel::PerPort`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounting {
    /// That by which it will leave.
    Output,
    /// That by which it came.
    Input,
    /// Both: either may have no room.
    Both,
}

/// Priority flow control of a switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pfc {
    /// Bytes every (ingress port, class) may hold before it draws on the shared pool.
    pub reserve: Bytes,
    /// Bytes set aside per port for what arrives after a pause was sent.
    pub headroom: Headroom,
    /// Share of the free pool a (port, class) of a host-speed port may take, in 1/65536.
    pub alpha_q16: u32,
    /// Whether that share doubles for each factor 2, also one only begun, above the first host's rate, up to 1.
    pub alpha_scales: bool,
    /// A paused class resumes when its share is this far under the threshold.
    pub resume_offset: Bytes,
    /// Lossless classes in use: reserve and headroom are set aside for each of them. 1 as in the reference simulator.
    pub classes: u8,
    /// With a buffer per port, bytes of a class at an ingress port beyond which it is paused; `None`: the port's share of the class less
    /// the headroom.
    pub xoff: Option<Bytes>,
    /// At or below this it resumes; `None`: `resume_offset` under `xoff`.
    pub xon: Option<Bytes>,
    /// From the arrival of a pause or resume frame to its effect.
    pub reaction: Duration,
    /// What headrooms and reserves leave of a shared buffer is counted in 32 bits, as in the reference simulator: if they exceed it, by wrapping
    /// around.
    pub wraps: bool,
}

/// How often `alpha` doubles at a port of `rate` where hosts have `host_rate`, both in bit/s: as often as the rate must be
/// halved until it is no more than theirs (hpcc-ns3 facts, section 4.7: 2 for 100 Gb/s over hosts of 40 Gb/s).
pub(crate) fn doublings_above(rate: u64, host_rate: u64) -> u32 {
    let halves = std::iter::successors(Some(rate), |r| Some(r / 2));
    halves.take_while(|r| *r > host_rate.max(1)).count() as u32
}

/// ECN marking of a switch port: by the queue left behind at departure.
#[derive(Clone, Debug, PartialEq)]
pub struct Ecn {
    /// Threshold set per port rate, ascending by rate; a port takes the entry of its own rate, and thresholds of 0 where there is none.
    pub by_rate: Vec<EcnThresholds>,
    /// Whether the queue of the packet's class or that of the whole port counts.
    pub per_port: bool,
}

/// RED-like thresholds on the instantaneous queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnThresholds {
    /// Port rate these apply to.
    pub rate: BitsPerSec,
    /// No mark at or below this queue.
    pub k_min: Bytes,
    /// Always a mark above this queue.
    pub k_max: Bytes,
    /// Marking probability at `k_max`.
    pub p_max: f64,
}

/// RED at switch ports.
#[derive(Clone, Debug, PartialEq)]
pub struct RedQueues {
    /// Of every queue.
    pub params: paceline_proto::port::red::Params,
    /// One queue per port, all classes together, instead of one per class.
    pub per_port: bool,
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Packet buffer: of the switch (`Shared`) or of each port (`PerPort`).
    pub buffer: Bytes,
    /// How it is divided.
    pub model: BufferModel,
    /// Where bytes count when it is divided by port; with PFC at the ingress port.
    pub accounting: Accounting,
    /// Priority flow control; without it a full buffer drops.
    pub pfc: Option<Pfc>,
    /// Without PFC and with a shared buffer: share of the free pool one egress queue may take, in 1/65536.
    pub egress_alpha_q16: u32,
    /// ECN marking.
    pub ecn: Option<Ecn>,
    /// Ports serve classes in order of their numbers instead of in turn.
    pub strict: bool,
    /// Ports drop unscheduled packets of message transports over a threshold. Its `limit` is out of reach: `buffer` is the
    /// limit.
    pub selective: Option<paceline_proto::port::selective_drop::SelectiveDrop>,
    /// RED on the average queue of every port.
    pub red: Option<RedQueues>,
    /// QCN at every port.
    pub qcn: Option<paceline_proto::port::congestion_point::CongestionPointParams>,
    /// QCN does not sample frames that open connections.
    pub exempt_syn: bool,
    /// Ports cut payloads off instead of dropping packets.
    pub trimming: Option<paceline_proto::port::trimming::TrimmingPort>,
}

/// A host and its NIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostConfig {
    /// ACKs travel in the control class (never paused) instead of the flow's class.
    pub ack_priority: bool,
    /// A receiver repeats a NACK for the same packet after this long.
    pub nack_interval: Duration,
    /// Retransmission timeout; `None` switches it off.
    pub rto: Option<Rto>,
    /// Window and rates derive from the pair's own base RTT instead of the largest in the network.
    pub own_base_rtt: bool,
    /// A base RTT for all flows in place of the network's.
    pub base_rtt: Option<Duration>,
    /// A stream idle for longer than this begins anew.
    pub idle_restart: Option<Duration>,
    /// A loss sends both ends back to a multiple of this many packets; 0 and 1: to the lost packet.
    pub chunk: u32,
}

/// What lies between a message transport and its link.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// Bytes of frames it holds.
    pub buffer: paceline_proto::units::Bytes,
    /// Time of a frame from the transport to the adapter's queues, and from the link to the transport.
    pub down: Duration,
    /// See `down`.
    pub up: Duration,
    /// Rate limiters that QCN drives.
    pub limiter: Option<paceline_proto::qcn::ReactionPointParams>,
    /// Which frames share one.
    pub limiter_of: LimiterOf,
    /// Notifications shrink TCP's window instead of driving a limiter.
    pub to_window: bool,
    /// Frames that open connections pass by the limiters.
    pub exempt_syn: bool,
}

/// Which frames share a rate limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterOf {
    /// All to one host, or to one of its NICs if it has several.
    Destination,
    /// All of one flow in one direction.
    Flow,
    /// All.
    Nic,
}

/// Retransmission timeout of the RDMA transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rto {
    /// First timeout; doubles with each try.
    pub initial: Duration,
    /// Tries before the flow is given up as failed; 20 at most.
    pub tries: u32,
}

impl Rto {
    /// How long a flow to which nobody answers is tried, ps: all its timeouts in a row.
    pub fn patience(&self) -> u64 {
        self.initial.0.saturating_mul((2 << self.tries) - 1)
    }
}

/// A time during which a link is down, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Index into [`crate::graph::Topology::links`].
    pub link: u32,
    /// When it fails.
    pub down: Time,
    /// When it is back; `None` for never.
    pub up: Option<Time>,
}

/// Failing links.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FailureConfig {
    /// What fails when, in any order.
    pub outages: Vec<Outage>,
    /// From the failure or repair of a link to the instant at which all switches forward by routes that know of it.
    pub reroute_after: Duration,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// When every flow has finished or failed.
    Completed,
    /// At this instant at the latest.
    At(Time),
}

impl Stop {
    /// When a run ends at the latest, ps.
    pub fn instant(self) -> u64 {
        if let Stop::At(t) = self { t.0 } else { LATEST.0 }
    }
}

/// Which engine runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// By the scenario: windowed where the lookahead pays, sequential elsewhere.
    Auto,
    /// One event after the other.
    Sequential,
    /// Windows of the smallest link delay.
    Windowed,
}

/// A scheme: a congestion controller with its parameters, under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Name, as flows and results refer to it.
    pub name: String,
    /// Controller and parameters.
    pub params: paceline_proto::cc::Params,
    /// Window at line rate.
    pub window: Window,
    /// Who brings the bytes across.
    pub transport: Transport,
}

impl Scheme {
    /// Telemetry bytes in each of its data packets, and in what answers them.
    pub fn telemetry_bytes(&self) -> u32 {
        if self.transport == Transport::Rdma { self.params.profile().telemetry.bytes() } else { 0 }
    }

    /// What it adds to the payload of its data packets.
    pub fn added(&self) -> Added {
        let full_last = match &self.transport {
            Transport::Homa(p) => p.sizes.full_last,
            Transport::Ndp(p) => p.sizes.full_last,
            _ => false,
        };
        Added { telemetry: self.telemetry_bytes(), full_last }
    }

    /// Whether its packets have words beside them.
    pub fn uses_words(&self) -> bool {
        self.transport != Transport::Rdma || self.params.profile().telemetry != paceline_proto::cc::Telemetry::None
    }
}

/// What moves the bytes of a scheme's flows.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Transport {
    /// RDMA under the scheme's congestion control.
    #[default]
    Rdma,
    /// TCP under the scheme's congestion control, with the stack of all hosts.
    Tcp(std::sync::Arc<paceline_proto::transport::tcp::Params>),
    /// UDP, which knows neither windows nor answers, at the rate of the scheme. Beside it hosts have the stack of
    /// [`Transport::Tcp`].
    Udp(std::sync::Arc<paceline_proto::transport::tcp::Params>),
    /// Homa. The same for all flows of a run.
    Homa(paceline_proto::transport::homa::Params),
    /// NDP. The same for all flows of a run.
    Ndp(paceline_proto::transport::ndp::Params),
    /// ExpressPass, and the credit shapers of all ports. The same for all flows of a run.
    ExpressPass {
        /// Of the hosts.
        params: paceline_proto::transport::express_pass::Params,
        /// Of the ports.
        shaper: paceline_proto::port::credits::ShaperParams,
    },
}

/// The window a scheme starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// No window.
    Off,
    /// One bandwidth-delay product: of the network's longest pair, or of the flow's own with [`HostConfig::own_base_rtt`].
    Bdp,
    /// As given.
    Fixed(Bytes),
}

impl Transport {
    /// Smallest and largest of the frames that the framing does not know of, bytes.
    pub fn other_frames(&self) -> Option<(u32, u32)> {
        match self {
            Transport::ExpressPass { params, .. } => {
                let (smallest, largest) = params.framing.credit;
                Some((smallest.into(), largest.into()))
            }
            _ => None,
        }
    }

    /// Whether its data packets understand congestion marks.
    pub fn takes_marks(&self) -> bool {
        match self {
            Transport::Rdma => true,
            Transport::Tcp(p) => p.ecn,
            Transport::Udp(_) | Transport::Homa(_) | Transport::Ndp(_) | Transport::ExpressPass { .. } => false,
        }
    }

    /// What its senders may do before a receiver has answered; `None` where nobody asks for that.
    pub fn burst(&self) -> Option<&BurstParams> {
        match self {
            Transport::Rdma | Transport::Tcp(_) | Transport::Udp(_) => None,
            Transport::Homa(p) => Some(&p.burst),
            Transport::Ndp(p) => Some(&p.burst),
            Transport::ExpressPass { params, .. } => Some(&params.burst),
        }
    }

    /// Whether its bursts are followed by probes, and may be dropped by switches on their way.
    pub fn is_aeolus(&self) -> bool {
        self.burst().is_some_and(|burst| burst.policy == Unscheduled::Aeolus)
    }

    /// Whether answers take the way of the data backwards.
    pub fn is_symmetric(&self) -> bool {
        matches!(self, Transport::ExpressPass { .. })
    }

    /// Classes its packets travel in; `None` where workloads say so.
    pub fn classes(&self) -> Option<std::ops::RangeInclusive<u8>> {
        match self {
            Transport::Rdma | Transport::Tcp(_) | Transport::Udp(_) => None,
            Transport::Homa(p) => Some(0..=p.levels - 1),
            Transport::Ndp(p) => Some(0..=p.data_priority),
            Transport::ExpressPass { params, .. } => {
                let low = params.burst.policy == Unscheduled::Plain;
                Some(0..=1 + u8::from(low))
            }
        }
    }
}

/// How finely queue histograms are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QueueRecords {
    /// Not at all.
    #[default]
    Off,
    /// Per switch port and class.
    Port,
    /// Per tier of links and class.
    Tier,
}

/// What to record beyond counters and flows.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RecordConfig {
    /// Time-weighted queue histograms of the switch ports.
    pub queues: QueueRecords,
    /// PFC frames one by one.
    pub pfc_log: bool,
}

/// A whole run, resolved.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// The network.
    pub graph: std::sync::Arc<crate::graph::Graph>,
    /// Names of its nodes, for messages. Empty: by tier and number in it.
    pub names: Vec<String>,
    /// Sizes on the wire.
    pub framing: Framing,
    /// Switches.
    pub switch: SwitchConfig,
    /// Hosts.
    pub host: HostConfig,
    /// Routing.
    pub routing: RoutingConfig,
    /// Failing links.
    pub failures: FailureConfig,
    /// Schemes.
    pub schemes: Vec<Scheme>,
    /// Names of the flow groups.
    pub groups: Vec<String>,
    /// Queries and responses, in the order of their connections' numbers.
    pub rpcs: std::sync::Arc<[std::sync::Arc<crate::workload::rpc::Rpc>]>,
    /// What lies between message transports and links, where it takes time or room.
    pub adapter: Option<Adapter>,
    /// Programs at the hosts.
    pub programs: std::sync::Arc<[std::sync::Arc<crate::workload::program::Program>]>,
    /// Scale of the INT units; 0: the hosts' rate in steps of 25 Gb/s, at least 1, and a unit of bytes no more than a full frame.
    pub int_multiple: u64,
    /// When it ends.
    pub stop: Stop,
    /// Without progress of any flow for this long the run is stopped with a diagnosis; without it never.
    pub stall: Option<Duration>,
    /// Which engine.
    pub engine: EngineChoice,
    /// Records.
    pub records: RecordConfig,
    /// Compatibility behaviours.
    pub quirks: Quirks,
}

impl Scenario {
    /// Largest frame there is, bytes.
    pub fn max_frame(&self) -> u32 {
        let f = &self.framing;
        let telemetry = self.schemes.iter().map(|s| s.params.profile().telemetry.bytes()).max().unwrap_or(0);
        let others = self.schemes.iter().filter_map(|s| s.transport.other_frames()).map(|(_, largest)| largest);
        let usual = (f.payload + f.header + telemetry).max(f.ack_header + telemetry).max(f.min_frame).max(f.pfc_frame);
        let notification = if self.switch.qcn.is_some() { CNM_FRAME } else { 0 };
        usual.max(others.max().unwrap_or(0)).max(notification)
    }

    /// Whether its quirks are of the order of the reference's events, or of ports that count what a failed link has taken from them, and
    /// so never stand empty again.
    pub fn follows_reference_order(&self) -> bool {
        let q = &self.quirks;
        let counts_what_is_gone = q.link_down && !self.failures.outages.is_empty();
        q.insertion_order || q.nic_round_robin || q.reference_random || counts_what_is_gone
    }

    /// Scale of the INT units, with hosts of `nic_rate` bit/s.
    pub fn int_units(&self, nic_rate: u64) -> u64 {
        match self.int_multiple {
            // A unit of bytes is no more than a full frame: with more, one packet counts as several or as nothing, and of the hops of a
            // path, of which HPCC takes the busiest, one nearly always has just counted one.
            0 => (nic_rate / 25_000_000_000).min(u64::from(self.max_frame()) / 128).max(1),
            given => given,
        }
    }

    /// Whether switches write INT records into the packets of any scheme.
    pub fn uses_int(&self) -> bool {
        self.schemes.iter().any(|s| s.params.uses_int())
    }

    /// Name of a node, for messages.
    pub fn node_name(&self, node: crate::graph::NodeId) -> String {
        let tier = self.graph.tiers[node as usize];
        let before = &self.graph.tiers[..node as usize];
        let number = || before.iter().map(|t| u64::from(*t == tier)).sum::<u64>();
        let by_tier = || format!("{}{}", crate::topology::tier_name(tier), number());
        self.names.get(node as usize).cloned().unwrap_or_else(by_tier)
    }
}

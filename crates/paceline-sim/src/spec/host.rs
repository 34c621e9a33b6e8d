//! `[framing]`, `[host]` and `[routing]`.

use paceline_proto::qcn;
use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use crate::scenario::{self, LimiterOf, NextHopOrder, NicChoice, PathChoice};

use super::declare::section;
use super::tcp::Tcp;
use super::value::{choice, either};

choice! {
    /// A set of sizes to start from.
    pub enum Preset {
        /// The HPCC reference simulator's.
        Hpcc = "hpcc",
        /// Ethernet with 1460-byte payloads.
        Ethernet = "ethernet",
    }
}

section! {
    /// Sizes of everything on the wire. A scheme's telemetry is added to data packets and ACKs.
    pub struct Framing {
        /// Where the sizes that are not given come from.
        preset: Preset = "hpcc", from "Paceline";
        /// Payload of a full data packet.
        payload: Bytes => preset { "hpcc" => "1000B", "ethernet" => "1460B" }, in "[1B, 9216B]", from "HPCC reference simulator, PACKET_PAYLOAD_SIZE; Ethernet: 1500-byte MTU less IPv4 and TCP headers";
        /// Headers of a data packet, telemetry not counted.
        header: Bytes => preset { "hpcc" => "48B", "ethernet" => "58B" }, in "[0B, 1000B]", from "HPCC reference simulator: 14 PPP, 20 IP, 8 UDP, 6 sequence and group; Ethernet: 18 with check sum, 20 IPv4, 20 TCP";
        /// Headers of an ACK or NACK, telemetry not counted.
        ack_header: Bytes => preset { "hpcc" => "46B", "ethernet" => "58B" }, in "[1B, 1000B]", from "HPCC reference simulator: 14 PPP, 20 IP, 12 ACK; Ethernet: as data";
        /// Smallest frame; shorter ones are padded.
        min_frame: Bytes => preset { "hpcc" => "60B", "ethernet" => "64B" }, in "[0B, 9216B]", from "HPCC reference simulator; IEEE 802.3";
        /// A PFC pause or resume frame.
        pfc_frame: Bytes => preset { "hpcc" => "43B", "ethernet" => "64B" }, in "[1B, 9216B]", from "HPCC reference simulator; IEEE 802.1Qbb";
        /// What the wire adds to every frame and no buffer counts: preamble and gap between frames.
        wire_overhead: Bytes => preset { "hpcc" => "0B", "ethernet" => "20B" }, in "[0B, 1000B]", from "HPCC reference simulator: none; IEEE 802.3: 8 preamble, 12 gap";
    }
}

impl Framing {
    /// The engine's form. All ranges lie far inside 32 bits.
    pub fn config(&self) -> scenario::Framing {
        scenario::Framing {
            payload: self.payload.0 as u32,
            header: self.header.0 as u32,
            ack_header: self.ack_header.0 as u32,
            min_frame: self.min_frame.0 as u32,
            pfc_frame: self.pfc_frame.0 as u32,
            wire_overhead: self.wire_overhead.0 as u32,
        }
    }
}

either! {
    /// Retransmission timeout.
    pub enum Rto {
        /// 4 base RTTs and the drain of a full switch buffer at host speed, at least 1 ms.
        Auto = "auto",
        /// None: a flow whose last packets are lost never ends.
        Off = "off",
        ;
        /// This long at first.
        After(Duration),
    }
}

either! {
    /// When a connection that stays open begins anew.
    pub enum IdleRestart {
        /// Never: its controller keeps what it knows.
        Off = "off",
        ;
        /// After this long without anything to send or in flight.
        After(Duration),
    }
}

either! {
    /// The base RTT that windows and rates derive from.
    pub enum BaseRtt {
        /// The largest of all pairs of hosts.
        Network = "network",
        /// That of the flow's own pair.
        Pair = "pair",
        ;
        /// The same for all.
        Fixed(Duration),
    }
}

section! {
    /// Every host and its NIC.
    pub struct Host {
        /// ACKs travel in the control class, which is never paused and, where there is no room, dropped, instead of the flow's class.
        ack_priority: bool = false, from "HPCC reference simulator, ACK_HIGH_PRIO 0";
        /// A receiver repeats a NACK for the same packet after this long.
        nack_interval: Duration = "500us", in "[1ns, 10s]", from "HPCC reference simulator (fixed there)";
        /// Retransmission timeout, doubled with each try: a time, `"off"`, or `"auto"` (4 base RTTs and the drain
        /// of all that a switch can hold for its slowest link, at least 1 ms, so that it does not fire for queueing at one switch alone).
        rto: Rto = "auto", in "[1us, 100s]", from "Paceline; the HPCC reference simulator has none";
        /// Timeouts in a row at which a flow sends again; at the next it is given up as failed. So is one whose receiver has asked for the same
        /// packet for as long as all these take.
        rto_tries: u32 = 7, in "[1, 20]", from "InfiniBand: retry count of 3 bits";
        /// A connection that stays open (`kind = "rpc"`) with nothing to send and nothing in flight for longer than this begins
        /// anew at the next message, with the rate and window of a new flow. Over RDMA only.
        idle_restart: IdleRestart = "off", in "[1ns, 100s]", from "Paceline; HPCC: flows start at line rate";
        /// The base RTT that windows and rates derive from: the largest in the network, that of the flow's own pair, or a time. With
        /// it goes the bandwidth-delay product: over all pairs the largest product of a pair's base RTT and the slowest link of
        /// its path (every NIC has that window, slower ones too); that of the flow's own pair; or the time by the flow's own NIC (over
        /// TCP by the fastest).
        base_rtt: BaseRtt = "network", in "[1ns, 10s]", from "HPCC reference simulator, GLOBAL_T 1";
        sections {
            /// The TCP stack.
            tcp: Tcp;
            /// The time through stack and adapter, and the adapter's buffer.
            adapter: Adapter;
            /// The adapter's rate limiters.
            qcn: HostQcn;
        }
    }
}

section! {
    /// What lies between TCP and the link. Frames leave the stack as the windows open and wait in the adapter for the link; a full
    /// adapter holds the stack back. Without it they wait for the link in a queue without limit, and hosts take no time.
    pub struct Adapter {
        /// Whether hosts have one.
        enabled: bool = false, from "Paceline";
        /// Frames on their way to the link.
        buffer: Bytes = "512KiB", in "[16KiB, 1GiB]", from "HotI 2011: 512 KB";
        /// Through the adapter, each way.
        delay: Duration = "500ns", in "[0s, 1s]", from "HotI 2011: network delay 500 ns, taken as the adapter's";
        /// Through the stack, from TCP to the adapter.
        tx_delay: Duration = "9500ns", in "[0s, 1s]", from "HotI 2011: 9.5 us";
        /// Through the stack, from the adapter to TCP.
        rx_delay: Duration = "24us", in "[0s, 1s]", from "HotI 2011: 24 us";
    }
}

choice! {
    LimiterOf { Destination = "destination", Flow = "flow", Nic = "nic", }
}

choice! {
    /// When a stage of recovery counts as past the threshold.
    pub enum Stages {
        /// Above it.
        PseudoCode = "pseudo_code",
        /// At it and above.
        Standard = "standard",
    }
}

choice! {
    /// What a notification does at the sender of the sampled frame.
    pub enum Reaction {
        /// It drives the limiter.
        Limiter = "limiter",
        /// It shrinks the window of the frame's connection as the echo of a mark would, where the frame carried data.
        Window = "window",
    }
}

section! {
    /// QCN's reaction points: rate limiters in the adapter.
    pub struct HostQcn {
        /// Frames that share a limiter: all to one destination, all of one flow, or all.
        limiter: LimiterOf = "destination", from "HotI 2011 (inferred: QCN delays SYNs); IEEE 802.1Qau: \"nic\"";
        /// What a notification does.
        reaction: Reaction = "limiter", from "IEEE 802.1Qau; \"window\" for comparison";
        /// A stage of the timer.
        timer: Duration = "15ms", in "[1us, 100s]", from "HotI 2011; IEEE8021-CN-MIB";
        /// A stage of the byte counter.
        byte_limit: Bytes = "150000B", in "[1B, 1GiB]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Each stage but the first is drawn from this share of it around it.
        jitter: f64 = 0.15, in "[0, 1]", from "QCN pseudo-code 2.x";
        /// Stages of fast recovery.
        threshold: u32 = 5, in "[1, 255]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Step of the target rate in active increase.
        ai_rate: BitsPerSec = "5Mbps", in "[1Kbps, 1Tbps]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Step of the target rate in hyper-active increase.
        hai_rate: BitsPerSec = "50Mbps", in "[1Kbps, 1Tbps]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Lowest rate.
        min_rate: BitsPerSec = "100Kbps", in "[1Kbps, 1Tbps]", from "HotI 2011; IEEE8021-CN-MIB: 5 Mb/s";
        /// Share of the rate that a unit of feedback (1 to 63) takes.
        gain: f64 = 0.0078125, in "[0, 1]", from "IEEE8021-CN-MIB: 2^-7; HotI 2011: 0.5 for feedback up to 1";
        /// Smallest share of the rate that one feedback leaves.
        min_decrease: f64 = 0.5, in "[0, 1]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Feedback in the first byte stage leaves target and byte counter alone.
        keep_target: bool = true, from "QCN pseudo-code 2.x; HotI 2011: extra fast recovery (inferred)";
        /// In a first stage a target above ten times the rate falls to an eighth.
        clamp_target: bool = true, from "QCN pseudo-code 2.x; HotI 2011: extra fast recovery (inferred)";
        /// Only feedback of a queue above its set point starts a limiter.
        start_above_set_point: bool = false, from "one implementation of IEEE 802.1Qau";
        /// When a stage counts as past the threshold.
        stages: Stages = "pseudo_code", from "QCN pseudo-code 2.x; IEEE 802.1Qau: \"standard\"";
    }
}

impl Host {
    /// What lies between transports and links, which switches may notify.
    pub fn adapter(&self, switches: &super::switch::Qcn) -> Option<scenario::Adapter> {
        let (a, q, notified) = (&self.adapter, &self.qcn, switches.enabled);
        a.enabled.then(|| scenario::Adapter {
            buffer: a.buffer,
            down: Duration(a.tx_delay.0 + a.delay.0),
            up: Duration(a.delay.0 + a.rx_delay.0),
            to_window: notified && q.reaction == Reaction::Window,
            exempt_syn: notified && switches.exempt_syn,
            limiter: (notified && q.reaction == Reaction::Limiter).then(|| qcn::ReactionPointParams {
                timer: q.timer,
                byte_limit: q.byte_limit.0,
                jitter: (q.jitter * 1e6).round() as u32,
                threshold: q.threshold,
                ai_rate: q.ai_rate.0,
                hai_rate: q.hai_rate.0,
                min_rate: q.min_rate.0,
                gain: q.gain,
                min_decrease: q.min_decrease,
                keep_target: q.keep_target,
                clamp_target: q.clamp_target,
                start_above_set_point: q.start_above_set_point,
                stages: match q.stages {
                    Stages::PseudoCode => qcn::Stages::PseudoCode,
                    Stages::Standard => qcn::Stages::Standard,
                },
            }),
            limiter_of: q.limiter,
        })
    }
}

choice! { PathChoice { FlowHash = "flow_hash", Spray = "spray", Flowlet = "flowlet", DModK = "d_mod_k", SModK = "s_mod_k", } }
choice! { NicChoice { All = "all", Nearest = "nearest", } }
choice! { NextHopOrder { Port = "port", DescendingId = "descending_id", } }

section! {
    /// Choice among shortest paths.
    pub struct Routing {
        /// Per flow by a hash of its addresses and ports, salted per switch; or per packet, drawn at the source; or per flowlet, what a flow
        /// sends without a pause of `flowlet_gap`, drawn at the source. In trees also per flow by the number of its destination (D-mod-k) or
        /// source (S-mod-k): on the way up a node takes the uplink of that number, divided by the product of all uplinks below it, modulo
        /// its own uplinks.
        choice: PathChoice = "flow_hash", from "HPCC reference simulator: per-flow ECMP";
        /// With `choice = "flowlet"`: from how long a pause on what an end of a flow sends takes a path anew. What is shorter than the
        /// difference of two paths' delays lets packets overtake each other.
        flowlet_gap: Duration = "100us", in "[1ns, 10s]", from "Let It Flow (NSDI 2017); 100 us: simulator of ConWeave (SIGCOMM 2023)";
        /// How equal next hops are numbered: by port, or by descending node id as the reference simulator happens to do.
        order: NextHopOrder = "port", from "Paceline";
        /// Added to each switch's id to salt its hash; salts those by which hosts choose among several NICs, too.
        salt: u32 = 0, in "[0, 4294967295]", from "HPCC reference simulator: the switch's id alone";
        /// Which NICs of hosts with several a flow may use: all that reach each other; or, where both hosts have NICs at one switch, the
        /// fastest of these, as GPUs of one server use its NVSwitch.
        nics: NicChoice = "all", from "Paceline; \"nearest\": SimAI, GPUs of one server";
        /// From the failure or repair of a link to the instant at which all switches forward by routes that know of it.
        reroute_after: Duration = "0s", in "[0s, 1000s]", from "HPCC reference simulator, LINK_DOWN: at once";
    }
}

impl Routing {
    /// The engine's form.
    pub fn config(&self) -> scenario::RoutingConfig {
        let Self { choice, order, salt, nics, flowlet_gap, .. } = *self;
        scenario::RoutingConfig { choice, order, salt, nics, flowlet_gap }
    }
}

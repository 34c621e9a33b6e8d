//! `[framing]`, `[host]` and `[routing]`.

use paceline_proto::units::{Bytes, Duration};

use crate::scenario::{self, NextHopOrder, PathChoice};

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
        /// ACKs travel in the control class, which is never paused, instead of the flow's class.
        ack_priority: bool = false, from "HPCC reference simulator, ACK_HIGH_PRIO 0";
        /// A receiver repeats a NACK for the same packet after this long.
        nack_interval: Duration = "500us", in "[1ns, 10s]", from "HPCC reference simulator (fixed there)";
        /// Retransmission timeout, doubled with each try: a time, `"off"`, or `"auto"` (4 base RTTs and the drain
        /// of a full switch buffer at host speed, at least 1 ms, so that it does not fire for queueing at one switch alone).
        rto: Rto = "auto", in "[1us, 100s]", from "Paceline; the HPCC reference simulator has none";
        /// Timeouts in a row after which a flow is given up as failed.
        rto_tries: u32 = 7, in "[1, 20]", from "InfiniBand: retry count of 3 bits";
        /// A connection that stays open (`kind = "rpc"`) with nothing to send and nothing in flight for longer than this begins
        /// anew at the next message, with the rate and window of a new flow. Over RDMA only.
        idle_restart: IdleRestart = "off", in "[1ns, 100s]", from "Paceline; HPCC: flows start at line rate";
        /// The base RTT that windows and rates derive from: the largest in the network, that of the flow's own pair, or a time.
        base_rtt: BaseRtt = "network", in "[1ns, 10s]", from "HPCC reference simulator, GLOBAL_T 1";
        sections {
            /// The TCP stack.
            tcp: Tcp;
        }
    }
}

choice! { PathChoice { FlowHash = "flow_hash", Spray = "spray", DModK = "d_mod_k", SModK = "s_mod_k", } }
choice! { NextHopOrder { Port = "port", DescendingId = "descending_id", } }

section! {
    /// Choice among shortest paths.
    pub struct Routing {
        /// Per flow by a hash of its addresses and ports, salted per switch; or per packet, drawn at the source. In trees also
        /// per flow by the number of its destination (D-mod-k) or source (S-mod-k): on the way up a node takes the uplink of that
        /// number, divided by the product of all uplinks below it, modulo its own uplinks.
        choice: PathChoice = "flow_hash", from "HPCC reference simulator: per-flow ECMP";
        /// How equal next hops are numbered: by port, or by descending node id as the reference simulator happens to do.
        order: NextHopOrder = "port", from "Paceline";
        /// Added to each switch's id to salt its hash.
        salt: u32 = 0, in "[0, 4294967295]", from "HPCC reference simulator: the switch's id alone";
        /// From the failure or repair of a link to the instant at which all switches forward by routes that know of it.
        reroute_after: Duration = "0s", in "[0s, 1000s]", from "HPCC reference simulator, LINK_DOWN: at once";
    }
}

impl Routing {
    /// The engine's form.
    pub fn config(&self) -> scenario::RoutingConfig {
        scenario::RoutingConfig { choice: self.choice, order: self.order, salt: self.salt }
    }
}

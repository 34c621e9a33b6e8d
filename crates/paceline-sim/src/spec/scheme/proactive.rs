//! Schemes whose receivers say who sends: Homa and NDP, each also over Aeolus.

use paceline_proto::transport::homa::cutoffs::{Count, Cutoffs, split};
use paceline_proto::transport::homa::params::UnscheduledPriority;
use paceline_proto::transport::message::Sizes;
use paceline_proto::transport::unscheduled::{BurstStop, RepairOrder, Unscheduled};
use paceline_proto::transport::{homa, ndp};
use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use crate::scenario::{Framing, Transport};
use crate::spec::declare::section;
use crate::spec::value::{choice, either};
use crate::workload::{Sampling, SizeLaw};

choice! {
    /// What a sender does before its receiver has answered.
    pub enum FirstRtt {
        /// It sends a burst, repaired by the transport's own means.
        Burst = "burst",
        /// It sends a burst that switches may drop (`switch.selective_drop`), followed by a probe, with an ACK for each packet.
        Aeolus = "aeolus",
        /// It asks for permission.
        Wait = "wait",
    }
}

either! {
    /// Bytes a sender may send unasked.
    pub enum FirstBytes {
        /// Base RTT of the network times rate of the host links.
        Bdp = "bdp",
        ;
        /// This many, on the wire.
        Bytes(Bytes),
    }
}

either! {
    /// A number that otherwise follows from the workload or from other parameters.
    pub enum AutoCount {
        /// As the source computes it.
        Auto = "auto",
        ;
        /// This many.
        Count(u32),
    }
}

choice! {
    /// What a sender does first when it may send: repair, or go on.
    pub enum Repair {
        /// Known losses, then new packets.
        LostFirst = "lost_first",
        /// New packets, then known losses.
        NewFirst = "new_first",
    }
}

choice! {
    /// Whether the first permission ends the burst.
    pub enum Stop {
        /// It does.
        FirstCredit = "first_credit",
        /// The whole burst goes out.
        Never = "never",
    }
}

choice! {
    /// What decides the priority of an unscheduled packet.
    pub enum FirstPriority {
        /// The message's size.
        Size = "size",
        /// What is left of the message.
        Remaining = "remaining",
        /// Nothing: all have the lowest priority.
        Lowest = "lowest",
    }
}

section! {
    /// Homa: short messages at once, long ones as their receiver grants, shortest first, in eight priorities. Homa assumes
    /// large buffers; over small ones losses are repaired by timeouts, or by Aeolus (`first_rtt = "aeolus"`).
    ///
    /// One transport serves all flows of a run; `workloads.class`, `host.rto` and congestion marks mean nothing to it. Hosts
    /// put packets into classes 0 to `levels` - 1; switches serve them in strict order (`switch.scheduler`).
    pub struct Homa {
        /// What a sender does before its receiver has answered.
        first_rtt: FirstRtt = "burst", from "Homa, SIGCOMM 2018, sec. 3.2; Aeolus, SIGCOMM 2020, sec. 3";
        /// Bytes of a message that are sent unasked, and that a receiver keeps on their way: base RTT times rate of the host
        /// links, or a size. Rounded up to whole packets.
        rtt_bytes: FirstBytes = "bdp", in "[1B, 1GiB]", from "Homa, sec. 3.2: RTTbytes";
        /// Priorities in use.
        levels: u32 = 8, in "[2, 8]", from "Homa, sec. 3.4";
        /// How many of them, from the highest, unscheduled packets use: by their share of the bytes of the first workload's
        /// sizes, or so many. Each carries the same number of bytes, shorter messages higher.
        unscheduled_levels: AutoCount = "auto", in "[1, 7]", from "Homa, sec. 3.4; Homa RFC";
        /// Messages, of different senders, that a receiver grants at a time: as many as there are levels for scheduled
        /// packets, or so many.
        overcommitment: AutoCount = "auto", in "[1, 1000]", from "Homa, sec. 3.5";
        /// What decides the priority of an unscheduled packet.
        unscheduled_priority: FirstPriority = "size", from "Homa, sec. 3.4; the authors' simulator: remaining";
        /// Grants outstanding over all of a receiver's messages stay within `overcommitment` times `rtt_bytes`.
        cap_outstanding: bool => first_rtt { "burst" => false, "aeolus" => true, "wait" => false }, from "Aeolus needs it to promise that scheduled packets are not lost";
        /// A message with less than `rtt_bytes` left has the priority of an unscheduled one of that size, if better.
        tail_boost: bool = false, from "the Homa authors' simulator: on";
        /// A receiver that is owed data and hears nothing this long asks for them again.
        resend_timeout: Duration => first_rtt { "burst" => "40us", "aeolus" => "10ms", "wait" => "10ms" }, in "[1us, 100s]", from "Aeolus, sec. 6: drain time of 500 KB at 100 Gb/s; 10 ms with Aeolus";
        /// A sender whose message nobody has answered this long repeats its first packet.
        sender_timeout: Duration => first_rtt { "burst" => "40us", "aeolus" => "10ms", "wait" => "10ms" }, in "[1us, 100s]", from "as resend_timeout";
        /// A sender that has sent all and heard nothing this long asks whether all has arrived.
        done_timeout: Duration = "10ms", in "[1us, 100s]", from "Homa's ns-3 port: outbound timeout";
        /// Most packets asked for at once: the whole first gap, or so many. 1 repairs slowest.
        resend_packets: AutoCount = "auto", in "[1, 1000000]", from "Paceline";
        /// At most one request for repair to a sender at a time.
        one_resend_per_peer: bool = true, from "Homa RFC";
        /// What ends the burst early.
        stop: Stop => first_rtt { "burst" => "never", "aeolus" => "first_credit", "wait" => "never" }, from "Aeolus; the first grant";
        /// Which packets a grant is spent on first.
        repair: Repair = "lost_first", from "Aeolus, from memory; a variant shows the effect";
        /// When nothing is known to be lost and nothing is new, packets of unknown fate are sent again.
        resend_open: bool = false, from "Paceline";
        /// Last packets of messages are padded to full size.
        pad_last: bool = false, from "htsim";
    }
}

section! {
    /// NDP: a first window at line rate, switches that trim instead of dropping (`switch.trimming`), receivers that pull the
    /// rest, packet by packet over all paths (`routing.choice = "spray"`).
    ///
    /// One transport serves all flows of a run; `workloads.class`, `host.rto` and congestion marks mean nothing to it. Data
    /// are in class 1, headers, answers and pulls in class 0.
    pub struct Ndp {
        /// What a sender does before its receiver has answered. With `"aeolus"` switches do not trim but drop
        /// (`switch.selective_drop`).
        first_rtt: FirstRtt = "burst", from "NDP, SIGCOMM 2017, sec. 3.2; Aeolus, SIGCOMM 2020, sec. 3";
        /// Packets of the first window: base RTT times rate of the host links, and 8 more if switches trim; or so many.
        first_window: AutoCount = "auto", in "[0, 1000000]", from "NDP, sec. 3.2 and 6: 30 packets, 23 in incasts; a round trip and 8 packets on faster networks";
        /// Time between two pulls of a host, in full packets on its link.
        pull_spacing: f64 = 1.0, in "[0.1, 10]", from "NDP, sec. 3.2; htsim: 1/0.99";
        /// A packet without an answer for this long is lost; a sender that hears nothing this long sends a packet unasked.
        rto: Duration = "1ms", in "[1us, 100s]", from "NDP, sec. 3.2";
        /// Each message's timeout lies so many percent around `rto`.
        rto_jitter: u32 = 0, in "[0, 100]", from "NDP authors' simulator: 25 in places";
        /// A returned header is sent again at once when at least so many percent of the recent answers were ACKs; 101: never.
        returned_ack_share: u32 = 25, in "[0, 101]", from "NDP, sec. 3.2.4";
        /// A pull that finds nothing to send is kept until there is something.
        keep_idle_pulls: bool => first_rtt { "burst" => false, "aeolus" => true, "wait" => false }, from "NDP: thrown away; Aeolus needs them for repair";
        /// After a probe the receiver pulls once for every packet it lacks.
        pull_missing: bool = true, from "Aeolus";
        /// After a probe's answer packets of unknown fate count as lost only after this long: on sprayed paths they may be late.
        verdict_delay: Duration = "0s", in "[0s, 1s]", from "Paceline";
        /// Which packets a pull is spent on first.
        repair: Repair = "lost_first", from "Aeolus, from memory; a variant shows the effect";
        /// When nothing is known to be lost and nothing is new, packets of unknown fate are sent again.
        resend_open: bool = false, from "Paceline";
        /// Last packets of messages are padded to full size.
        pad_last: bool = false, from "htsim: on";
    }
}

/// What a transport derives its defaults from.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Rate of the host links.
    pub host_rate: BitsPerSec,
    /// Largest base RTT.
    pub base_rtt: Duration,
    /// Sizes on the wire.
    pub framing: Framing,
    /// Sizes of the messages of the first workload that uses it.
    pub sizes: Option<SizeLaw>,
}

impl Facts {
    fn sizes(&self, full_last: bool) -> Sizes {
        let f = &self.framing;
        Sizes { payload: f.payload, header: f.header, control: f.ack_header.max(f.min_frame), full_last }
    }

    /// Base RTT times rate, bytes on the wire.
    fn bdp(&self) -> u64 {
        let bits = u128::from(self.host_rate.0) * u128::from(self.base_rtt.0) / 1_000_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

fn policy(first: &FirstRtt) -> Unscheduled {
    match first {
        FirstRtt::Burst => Unscheduled::Plain,
        FirstRtt::Aeolus => Unscheduled::Aeolus,
        FirstRtt::Wait => Unscheduled::Wait,
    }
}

fn order(repair: &Repair) -> RepairOrder {
    match repair {
        Repair::LostFirst => RepairOrder::LostFirst,
        Repair::NewFirst => RepairOrder::NewFirst,
    }
}

impl Homa {
    /// The transport in a network.
    pub fn transport(&self, facts: &Facts) -> Transport {
        let sizes = facts.sizes(self.pad_last);
        let rtt_bytes = match self.rtt_bytes {
            FirstBytes::Bdp => facts.bdp(),
            FirstBytes::Bytes(bytes) => bytes.0,
        };
        let overhead = facts.framing.wire_overhead;
        let cutoffs = self.cutoffs(facts, rtt_bytes, sizes, overhead);
        let mut p = homa::Params::homa(facts.host_rate, rtt_bytes, sizes, overhead, cutoffs);
        p.burst.policy = policy(&self.first_rtt);
        p.burst.stop = match self.stop {
            Stop::FirstCredit => BurstStop::FirstCredit,
            Stop::Never => BurstStop::Never,
        };
        p.burst.order = order(&self.repair);
        p.burst.resend_open = self.resend_open;
        p.levels = self.levels as u8;
        p.overcommitment = match self.overcommitment {
            AutoCount::Auto => self.levels - u32::from(cutoffs.unscheduled),
            AutoCount::Count(n) => n,
        };
        p.unscheduled_priority = match self.unscheduled_priority {
            FirstPriority::Size => UnscheduledPriority::MessageSize,
            FirstPriority::Remaining => UnscheduledPriority::Remaining,
            FirstPriority::Lowest => UnscheduledPriority::Lowest,
        };
        p.cap_outstanding = self.cap_outstanding;
        p.tail_boost = self.tail_boost;
        p.resend_timeout = self.resend_timeout;
        p.sender_timeout = self.sender_timeout;
        p.done_timeout = self.done_timeout;
        if let AutoCount::Count(n) = self.resend_packets {
            p.resend_packets = n;
        }
        p.one_resend_per_peer = self.one_resend_per_peer;
        Transport::Homa(p)
    }

    /// The split of the levels.
    fn cutoffs(&self, facts: &Facts, rtt_bytes: u64, sizes: Sizes, overhead: u32) -> Cutoffs {
        let levels = self.levels as u8;
        let count = Count::Wire(sizes, overhead);
        let law = |levels| match &facts.sizes {
            Some(SizeLaw::Drawn(cdf)) => {
                let points: Vec<(f64, f64)> = cdf.points().iter().map(|(b, p)| (*b as f64, *p)).collect();
                split(&points, cdf.sampling() == Sampling::Interpolated, rtt_bytes, levels, count)
            }
            Some(SizeLaw::Fixed(bytes)) => split(&[(*bytes as f64, 1.0)], false, rtt_bytes, levels, count),
            None => Cutoffs::ONE,
        };
        match self.unscheduled_levels {
            AutoCount::Auto => law(levels),
            // Of n + 1 levels with everything unscheduled, n are for unscheduled packets.
            AutoCount::Count(n) => {
                let n = (n as u8).min(levels - 1);
                let mut found = law(levels);
                if found.unscheduled != n {
                    found = Cutoffs { unscheduled: n, ..self.even(facts, rtt_bytes, n, count) };
                }
                found
            }
        }
    }

    /// Bounds that give `n` levels equal bytes.
    fn even(&self, facts: &Facts, rtt_bytes: u64, n: u8, count: Count) -> Cutoffs {
        // Sizes cut off at what is sent unasked: then all of it is unscheduled, and the split has n levels for it.
        let Some(SizeLaw::Drawn(cdf)) = &facts.sizes else { return Cutoffs::ONE };
        let cut = |b: u64| b.min(rtt_bytes) as f64;
        let points: Vec<(f64, f64)> = cdf.points().iter().map(|(b, p)| (cut(*b), *p)).collect();
        split(&points, cdf.sampling() == Sampling::Interpolated, rtt_bytes, n + 1, count)
    }
}

impl Ndp {
    /// The transport in a network.
    pub fn transport(&self, facts: &Facts) -> Transport {
        let sizes = facts.sizes(self.pad_last);
        let (rate, overhead) = (facts.host_rate, facts.framing.wire_overhead);
        let mut p = match self.first_rtt {
            FirstRtt::Aeolus => ndp::Params::aeolus(rate, facts.bdp(), sizes, overhead),
            _ => ndp::Params::ndp(rate, facts.bdp(), sizes, overhead),
        };
        p.burst.policy = policy(&self.first_rtt);
        if let AutoCount::Count(n) = self.first_window {
            p.burst.packets = n;
        }
        p.burst.order = order(&self.repair);
        p.burst.resend_open = self.resend_open;
        p.pull_interval = Duration((p.pull_interval.0 as f64 * self.pull_spacing) as u64);
        p.rto = self.rto;
        p.rto_jitter = self.rto_jitter;
        p.returned_ack_share = self.returned_ack_share;
        p.keep_idle_pulls = self.keep_idle_pulls;
        p.pull_missing = self.pull_missing;
        p.verdict_delay = self.verdict_delay;
        Transport::Ndp(p)
    }
}

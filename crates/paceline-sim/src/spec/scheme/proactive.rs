//! Schemes whose receivers say who sends: ExpressPass, Homa and NDP, each also over Aeolus.

use std::sync::Arc;

use paceline_proto::cc::{Params, fixed};
use paceline_proto::port::credits::ShaperParams;
use paceline_proto::transport::homa::cutoffs::{Count, Cutoffs, Lengths, split};
use paceline_proto::transport::homa::params::UnscheduledPriority;
use paceline_proto::transport::message::Sizes;
use paceline_proto::transport::unscheduled::{BurstParams, BurstStop, RepairOrder, Unscheduled, burst_packets};
use paceline_proto::transport::{express_pass, homa, ndp, tcp};
use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use super::config::{Over, Settings};
use crate::scenario::{Framing, Transport};
use crate::spec::declare::section;
use crate::spec::value::{choice, either};

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
        /// Base RTT of the network times rate of the fastest host links.
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

either! {
    /// Pulls that may be outstanding.
    pub enum PullLimit {
        /// Any number.
        Off = "off",
        /// Three first windows.
        Auto = "auto",
        ;
        /// At most this many.
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
        /// Bytes of a message that are sent unasked, and that a receiver keeps on their way: base RTT times rate of the fastest
        /// host links, or a size. Of frames and what the wire adds to them, rounded up to whole packets.
        rtt_bytes: FirstBytes = "bdp", in "[1B, 1GiB]", from "Homa, sec. 3.2: RTTbytes";
        /// Priorities in use.
        levels: u32 = 8, in "[2, 8]", from "Homa, sec. 3.4";
        /// How many of them, from the highest, unscheduled packets use: by their share of the bytes of all messages that the run is
        /// expected to have, or so many. Each carries the same number of bytes, shorter messages higher. `paceline check` says which sizes separate them.
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
        /// A receiver that is owed data and hears nothing this long asks for them again. Granted packets may wait long under strict
        /// priority: a timer shorter than that sends them twice.
        resend_timeout: Duration => first_rtt { "burst" => "5ms", "aeolus" => "10ms", "wait" => "10ms" }, in "[1us, 100s]", from "Homa's Linux module: 5 ms; its ns-3 port: 1 ms; Aeolus, sec. 5: 40 us for figure 17, 10 ms in its other results";
        /// A sender whose message nobody has answered this long repeats its first packet.
        sender_timeout: Duration => first_rtt { "burst" => "5ms", "aeolus" => "10ms", "wait" => "10ms" }, in "[1us, 100s]", from "as resend_timeout";
        /// A sender that may send nothing more and has heard nothing this long asks whether all has arrived.
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
        /// Packets of the first window: base RTT times rate of the fastest host links, and 8 more if switches trim; or so many.
        first_window: AutoCount = "auto", in "[1, 1000000]", from "NDP, sec. 3.2 and 6: 30 packets, 23 in incasts; a round trip and 8 packets on faster networks";
        /// Time between two pulls of a host, in full packets on its link.
        pull_spacing: f64 = 1.0, in "[0.1, 10]", from "NDP, sec. 3.2; htsim: 1/0.99";
        /// A packet without an answer for this long is lost; a sender that hears nothing this long sends a packet unasked.
        rto: Duration = "1ms", in "[1us, 100s]", from "NDP, sec. 3.2";
        /// Each message's timeout lies so many percent around `rto`.
        rto_jitter: u32 = 0, in "[0, 100]", from "NDP authors' simulator: 25 in places";
        /// A returned header is sent again at once when at least so many percent of the recent answers were ACKs, as then its path is to
        /// blame; 101: not for that reason.
        returned_ack_share: u32 = 25, in "[0, 101]", from "NDP, sec. 3.2.4";
        /// A pull that finds nothing to send is kept until there is something.
        keep_idle_pulls: bool => first_rtt { "burst" => false, "aeolus" => true, "wait" => false }, from "NDP: thrown away; Aeolus needs them for repair";
        /// Pulls that a receiver may have outstanding over all its messages: so many, three first windows, or any number: then each message
        /// has a window of its own, and senders that were held up elsewhere send all of theirs together.
        pull_limit: PullLimit = "off", in "[1, 1000000]", from "neither NDP nor Aeolus has one; with \"auto\" NDP over Aeolus loses no scheduled packet";
        /// After a probe the receiver pulls once for every packet it lacks.
        pull_missing: bool = true, from "Aeolus";
        /// After a probe's answer packets of unknown fate count as lost only after this long: on sprayed paths they may be late.
        verdict_delay: Duration = "0s", in "[0s, 1s]", from "Paceline";
        /// What ends the burst early.
        stop: Stop = "never", from "NDP, sec. 3.2; of Aeolus over NDP the text at hand does not say";
        /// Which packets a pull is spent on first.
        repair: Repair = "lost_first", from "Aeolus, from memory; a variant shows the effect";
        /// When nothing is known to be lost and nothing is new, packets of unknown fate are sent again.
        resend_open: bool = false, from "Paceline";
        /// Last packets of messages are padded to full size.
        pad_last: bool = false, from "htsim: on";
    }
}

choice! {
    /// The rule by which a receiver adapts its credit rate.
    pub enum CreditFeedback {
        /// That of the authors' simulator.
        Simulator = "simulator",
        /// That of the paper's text.
        Paper = "paper",
    }
}

choice! {
    /// How an unscheduled packet is sent again after its timeout.
    pub enum LateRepair {
        /// On a credit.
        OnCredit = "on_credit",
        /// At once, unscheduled again.
        AtOnce = "at_once",
    }
}

section! {
    /// ExpressPass: receivers send credits at a rate they control, every port lets credits through at the rate of the data
    /// they call for, and senders answer each credit with one packet on the same path backwards.
    ///
    /// One transport serves all flows of a run; `workloads.class`, `host.rto` and congestion marks mean nothing to it. Credits
    /// are in class 0, everything else in class 1; with `first_rtt = "burst"`, known as priority queueing, unscheduled packets
    /// are in class 2.
    pub struct ExpressPass {
        /// What a sender does before the first credit. `"burst"` is priority queueing: unscheduled packets at low priority.
        first_rtt: FirstRtt = "wait", from "ExpressPass, SIGCOMM 2017; Aeolus, SIGCOMM 2020, sec. 5";
        /// Bytes of a flow that may go unscheduled: base RTT times rate of the fastest host links, or a size. Of frames and what the
        /// wire adds to them, rounded up to whole packets.
        first_bytes: FirstBytes = "bdp", in "[1B, 1GiB]", from "Aeolus, sec. 4";
        /// First credit rate, as a share of the largest.
        alpha: f64 = 0.5, in "(0, 1]", from "authors' simulator, large-scale script";
        /// A flow of fewer packets starts in proportion slower.
        full_rate_packets: u32 = 40, in "[1, 1000000]", from "authors' simulator";
        /// First aggressiveness w.
        w_init: f64 = 0.0625, in "(0, 1]", from "authors' simulator, large-scale script: 1/16; library: 0.5";
        /// Smallest w.
        w_min: f64 = 0.01, in "(0, 1]", from "ExpressPass, sec. 4: 0.01";
        /// Largest w.
        w_max: f64 = 0.5, in "(0, 1]", from "ExpressPass, sec. 4: 0.5";
        /// Growth of w with a second update without congestion.
        w_step: f64 = 0.05, in "[0, 1]", from "authors' simulator";
        /// Share of credits that may be lost.
        target_loss: f64 => feedback { "simulator" => 0.125, "paper" => 0.1 }, in "[0, 1]", from "authors' simulator, of a flow without rate; paper, of any";
        /// Rule of adaptation.
        feedback: CreditFeedback = "simulator", from "authors' simulator, on which Aeolus was built";
        /// Gaps between credits vary by up to this share.
        jitter: f64 = 0.1, in "[0, 0.999]", from "authors' simulator";
        /// Credits vary by so many bytes around the smallest frame: it breaks up drops in step.
        credit_spread: Bytes = "8B", in "[0B, 32B]", from "authors' simulator: 76 to 92 bytes";
        /// Stop credits as soon as those on their way will do: as many as packets remain have come within a round trip.
        early_stop: bool = true, from "authors' simulator";
        /// Credits that may wait at a port.
        credit_queue: u32 = 8, in "[1, 100000]", from "authors' simulator, large-scale script; others have 2 and 10";
        /// Credits that a port may send in a row after a pause.
        credit_burst: u32 = 2, in "[2, 1000]", from "authors' simulator, large-scale script; library: 10";
        /// Requests, stops, probes and NACKs are repeated after this long.
        retransmit_timeout: Duration => first_rtt { "wait" => "100us", "aeolus" => "10ms", "burst" => "10ms" }, in "[1us, 100s]", from "authors' simulator, large-scale script; Aeolus: 10 ms";
        /// Wait for the effect of a credit stop while the round trip is unknown.
        credit_stop_timeout: Duration = "2ms", in "[1us, 100s]", from "authors' simulator";
        /// A sender that waits for credits asks again after so long without any.
        credit_timeout: Duration = "10ms", in "[1us, 100s]", from "Paceline; the authors' simulator waits for ever";
        /// With Aeolus the probe is the request, after the burst, instead of one before it.
        request_in_probe: bool = false, from "Paceline";
        /// Priority queueing: timeout of unscheduled packets.
        rto_unscheduled: Duration = "10ms", in "[1us, 100s]", from "Aeolus, sec. 5: 10 ms and 20 us";
        /// Priority queueing: timeout of scheduled packets.
        rto_scheduled: Duration = "10ms", in "[1us, 100s]", from "Aeolus, sec. 5: 10 ms";
        /// Priority queueing: how a late unscheduled packet is sent again.
        late_repair: LateRepair = "on_credit", from "Paceline; the paper's text at hand does not say";
        /// What ends the burst early.
        stop: Stop = "first_credit", from "Aeolus; the first credit";
        /// Which packets a credit is spent on first.
        repair: Repair = "lost_first", from "Aeolus, from memory; a variant shows the effect";
        /// When nothing is known to be lost and nothing is new, packets of unknown fate are sent again.
        resend_open: bool = false, from "Paceline";
    }
}

/// What a transport derives its defaults from.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Rate of the fastest host links: a burst that fills only slower ones would hold them up for whole flows.
    pub host_rate: BitsPerSec,
    /// Largest base RTT.
    pub base_rtt: Duration,
    /// Sizes on the wire.
    pub framing: Framing,
    /// How long messages will be, by workload; where nothing asks for it empty.
    pub lengths: Vec<Lengths>,
    /// The TCP stack.
    pub tcp: Arc<tcp::Params>,
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

fn policy(first: FirstRtt) -> Unscheduled {
    match first {
        FirstRtt::Burst => Unscheduled::Plain,
        FirstRtt::Aeolus => Unscheduled::Aeolus,
        FirstRtt::Wait => Unscheduled::Wait,
    }
}

fn burst_stop(stop: Stop) -> BurstStop {
    match stop {
        Stop::FirstCredit => BurstStop::FirstCredit,
        Stop::Never => BurstStop::Never,
    }
}

fn order(repair: Repair) -> RepairOrder {
    match repair {
        Repair::LostFirst => RepairOrder::LostFirst,
        Repair::NewFirst => RepairOrder::NewFirst,
    }
}

/// The answers of a transport with priorities of its own.
macro_rules! message_transport {
    () => {
        fn params(&self) -> Params {
            Params::Fixed(fixed::Params::default())
        }

        fn over(&self) -> Over {
            Over::Message
        }

        fn first_rtt(&self) -> Option<FirstRtt> {
            Some(self.first_rtt)
        }
    };
}

impl Settings for Homa {
    message_transport!();

    fn fills_round_trip(&self) -> bool {
        matches!(self.rtt_bytes, FirstBytes::Bdp)
    }

    fn pads_last(&self) -> bool {
        self.pad_last
    }

    fn transport(&self, facts: &Facts) -> Transport {
        let sizes = facts.sizes(self.pad_last);
        let rtt_bytes = match self.rtt_bytes {
            FirstBytes::Bdp => facts.bdp(),
            FirstBytes::Bytes(bytes) => bytes.0,
        };
        let overhead = facts.framing.wire_overhead;
        // What is sent unasked is counted in packets on the wire, a message's size in payload.
        let packets = burst_packets(rtt_bytes, sizes.full() + overhead).max(1);
        let unasked = u64::from(packets) * u64::from(sizes.payload);
        let cutoffs = self.cutoffs(facts, unasked, sizes, overhead);
        let mut p = homa::Params::homa(facts.host_rate, rtt_bytes, sizes, overhead, cutoffs);
        p.burst.policy = policy(self.first_rtt);
        p.burst.stop = burst_stop(self.stop);
        p.burst.order = order(self.repair);
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
}

impl Homa {
    /// The split of the levels, with so many bytes of payload sent unasked.
    fn cutoffs(&self, facts: &Facts, unasked: u64, sizes: Sizes, overhead: u32) -> Cutoffs {
        let levels = self.levels as u8;
        let own = match self.unscheduled_levels {
            AutoCount::Count(n) => Some(n as u8),
            // Nothing but probes is unscheduled then: the least there can be.
            AutoCount::Auto if self.first_rtt == FirstRtt::Wait => Some(1),
            AutoCount::Auto => None,
        };
        split(&facts.lengths, unasked, levels, own, Count::Wire(sizes, overhead))
    }
}

impl Settings for ExpressPass {
    message_transport!();

    fn fills_round_trip(&self) -> bool {
        self.first_rtt != FirstRtt::Wait && matches!(self.first_bytes, FirstBytes::Bdp)
    }

    fn transport(&self, facts: &Facts) -> Transport {
        let f = &facts.framing;
        let control = f.ack_header.max(f.min_frame);
        let spread = self.credit_spread.0 as u32;
        let framing = express_pass::Framing {
            payload: short(f.payload),
            data_overhead: short(f.header),
            min_data: short(f.min_frame),
            control: short(control),
            probe: short(control),
            credit: (short(control.saturating_sub(spread).max(1)), short(control + spread)),
            wire_overhead: short(f.wire_overhead),
        };
        let first_bytes = match self.first_bytes {
            FirstBytes::Bdp => facts.bdp(),
            FirstBytes::Bytes(bytes) => bytes.0,
        };
        let params = express_pass::Params {
            framing,
            alpha: self.alpha,
            full_rate_packets: self.full_rate_packets,
            w_init: self.w_init,
            w_min: self.w_min,
            w_max: self.w_max,
            w_step: self.w_step,
            target_loss: self.target_loss,
            feedback: match self.feedback {
                CreditFeedback::Simulator => express_pass::Feedback::Simulator,
                CreditFeedback::Paper => express_pass::Feedback::Paper,
            },
            jitter: self.jitter,
            early_stop: self.early_stop,
            retransmit_timeout: self.retransmit_timeout,
            credit_stop_timeout: self.credit_stop_timeout,
            credit_timeout: self.credit_timeout,
            burst: BurstParams {
                policy: policy(self.first_rtt),
                packets: burst_packets(first_bytes, f.payload + f.header + f.wire_overhead),
                stop: burst_stop(self.stop),
                order: order(self.repair),
                resend_open: self.resend_open,
                ordered_path: true,
            },
            request_in_probe: self.request_in_probe,
            rto_unscheduled: self.rto_unscheduled,
            rto_scheduled: self.rto_scheduled,
            unscheduled_repair: match self.late_repair {
                LateRepair::OnCredit => express_pass::UnscheduledRepair::OnCredit,
                LateRepair::AtOnce => express_pass::UnscheduledRepair::AtOnce,
            },
        };
        let shaper = ShaperParams {
            queue_limit: self.credit_queue.saturating_mul(control).max(control + spread),
            bucket_depth: self.credit_burst * (control + f.wire_overhead),
        };
        Transport::ExpressPass { params, shaper }
    }
}

/// A size in bytes; all ranges lie inside 16 bits.
fn short(bytes: u32) -> u16 {
    bytes.min(u32::from(u16::MAX)) as u16
}

impl Settings for Ndp {
    message_transport!();

    fn fills_round_trip(&self) -> bool {
        !matches!(self.first_window, AutoCount::Count(_))
    }

    fn pads_last(&self) -> bool {
        self.pad_last
    }

    fn transport(&self, facts: &Facts) -> Transport {
        let sizes = facts.sizes(self.pad_last);
        let (rate, overhead) = (facts.host_rate, facts.framing.wire_overhead);
        let mut p = match self.first_rtt {
            FirstRtt::Aeolus => ndp::Params::aeolus(rate, facts.bdp(), sizes, overhead),
            _ => ndp::Params::ndp(rate, facts.bdp(), sizes, overhead),
        };
        p.burst.policy = policy(self.first_rtt);
        if let AutoCount::Count(n) = self.first_window {
            p.burst.packets = n;
        }
        p.burst.stop = burst_stop(self.stop);
        p.burst.order = order(self.repair);
        p.burst.resend_open = self.resend_open;
        p.pull_interval = Duration((p.pull_interval.0 as f64 * self.pull_spacing) as u64);
        p.rto = self.rto;
        p.rto_jitter = self.rto_jitter;
        p.returned_ack_share = self.returned_ack_share;
        p.keep_idle_pulls = self.keep_idle_pulls;
        p.pull_limit = match self.pull_limit {
            PullLimit::Off => u64::MAX,
            PullLimit::Auto => u64::from(p.burst.packets.max(1)) * 3,
            PullLimit::Count(n) => u64::from(n),
        };
        p.pull_missing = self.pull_missing;
        p.verdict_delay = self.verdict_delay;
        Transport::Ndp(p)
    }
}

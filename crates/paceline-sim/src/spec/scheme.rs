//! `[schemes.NAME]`: congestion control. To add one: a `section!` with its parameters, a line in [`Control`], and what the
//! engine makes of it (`config.rs`).

mod config;
pub mod proactive;
mod stream;

use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use super::declare::{section, variants};
use super::value::{choice, either};
use config::Settings;
use proactive::{ExpressPass, Homa, Ndp};
use stream::{Cubic, HpccTcp, NewReno, Udp, Vegas};

section! {
    /// A congestion control with its parameters. Several schemes may share a network; each workload names the one it uses.
    pub struct Scheme {
        select {
            /// The algorithm.
            cc: Control;
        }
    }
}

variants! {
    /// The algorithm.
    pub enum Control by cc, from "Paceline" {
        /// None.
        Fixed(NoControl) = "none",
        /// HPCC with INT.
        Hpcc(Hpcc) = "hpcc",
        /// HPCC with PINT.
        HpccPint(HpccPint) = "hpcc_pint",
        /// DCQCN.
        Dcqcn(Dcqcn) = "dcqcn",
        /// TIMELY.
        Timely(Timely) = "timely",
        /// DCTCP.
        Dctcp(Dctcp) = "dctcp",
        /// `NewReno` over TCP.
        NewReno(NewReno) = "new_reno",
        /// CUBIC over TCP.
        Cubic(Cubic) = "cubic",
        /// Vegas over TCP.
        Vegas(Vegas) = "vegas",
        /// HPCC over TCP.
        HpccTcp(HpccTcp) = "hpcc_tcp",
        /// UDP.
        Udp(Udp) = "udp",
        /// Homa.
        Homa(Homa) = "homa",
        /// NDP.
        Ndp(Ndp) = "ndp",
        /// ExpressPass.
        ExpressPass(ExpressPass) = "express_pass",
    }
    every Settings
}

either! {
    /// Bytes a flow may have in flight.
    pub enum Window {
        /// The largest bandwidth-delay product of the network (`host.base_rtt`).
        Bdp = "bdp",
        /// No limit.
        Off = "off",
        ;
        /// This many.
        Bytes(Bytes),
    }
}

either! {
    /// Bytes an HPCC flow may have in flight at line rate. It cannot be off: the algorithm divides by it.
    pub enum HpccWindow {
        /// The largest bandwidth-delay product of the network (`host.base_rtt`).
        Bdp = "bdp",
        ;
        /// This many.
        Bytes(Bytes),
    }
}

either! {
    /// A sending rate.
    pub enum SendRate {
        /// That of the NIC.
        Line = "line",
        ;
        /// This one, at most that of the NIC.
        Rate(BitsPerSec),
    }
}

section! {
    /// No congestion control: a fixed window and a fixed rate.
    pub struct NoControl {
        /// Bytes in flight: the bandwidth-delay product (`host.base_rtt`), a size, or no limit.
        window: Window = "bdp", in "[1B, 1TiB]", from "HPCC reference simulator, HAS_WIN 1";
        /// Sending rate in bytes of frames (`framing.wire_overhead` comes on top): that of the NIC, or a rate up to that.
        rate: SendRate = "line", in "[1Kbps, 10Tbps]", from "Paceline";
    }
}

section! {
    /// HPCC: window and rate from the link utilisation that switches report in every packet (INT). A packet has room for
    /// five switches; those behind the fifth are not seen, of which a run warns. Packets of a flow must keep to one path.
    /// Bytes are counted in units of 128 B for each 25 Gb/s of the fastest host, but no more than a full frame, and queues in units of
    /// five eighths of that.
    pub struct Hpcc {
        /// Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top. Above 1 a queue is kept.
        eta: f64 = 0.95, in "(0, 10]", from "HPCC, sec. 5.1 (0.95); the project page uses 0.99, and 1.5";
        /// Rounds of additive increase before a multiplicative adjustment is forced.
        max_stage: u32 = 0, in "[0, 1000]", from "HPCC project page: 0, the 5 of the paper being a typo for the simulations";
        /// Additive increase per round trip, as a rate; the paper's `W_AI` is this times the base RTT.
        w_ai_rate: BitsPerSec = "50Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_AI (--hpai 50)";
        /// Lowest rate.
        min_rate: BitsPerSec = "1Gbps", in "[1Kbps, 10Tbps]", from "HPCC reference simulator, MIN_RATE 1000Mb/s";
        /// React to every ACK against the reference rate, not once per round trip only.
        fast_reaction: bool = true, from "HPCC, Alg. 1; reference simulator, FAST_REACT 1";
        /// The window follows the rate; otherwise it stays that of the line rate.
        variable_window: bool = true, from "HPCC reference simulator, VAR_WIN 1";
        /// Bytes in flight at line rate: the bandwidth-delay product (`host.base_rtt`), or a size.
        window: HpccWindow = "bdp", in "[1B, 1TiB]", from "HPCC: W_init; reference simulator, HAS_WIN 1";
        /// Rate of a new flow as a share of the line rate.
        start: f64 = 1.0, in "[0.0001, 1]", from "HPCC, sec. 3: flows start at line rate";
        /// Keep utilisation and rate per hop and send at the lowest, instead of following the busiest hop. Not in the paper.
        multi_rate: bool = false, from "HPCC reference simulator, MULTI_RATE 0 in its scripts; not compared with its output";
        /// ACKs within a round trip leave out hops whose queue is empty. Not in the paper.
        sample_feedback: bool = false, from "HPCC reference simulator, SAMPLE_FEEDBACK 0";
    }
}

section! {
    /// HPCC-PINT: HPCC with the largest link utilisation of the path in one or two bytes, rounded at random.
    pub struct HpccPint {
        /// Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top. Above 1 a queue is kept.
        eta: f64 = 0.95, in "(0, 10]", from "HPCC, sec. 5.1 (0.95); the project page uses 0.99, and 1.5";
        /// Rounds of additive increase before a multiplicative adjustment is forced.
        max_stage: u32 = 0, in "[0, 1000]", from "HPCC project page: 0";
        /// Additive increase per round trip, as a rate; the paper's `W_AI` is this times the base RTT.
        w_ai_rate: BitsPerSec = "50Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_AI (--hpai 50)";
        /// Lowest rate.
        min_rate: BitsPerSec = "1Gbps", in "[1Kbps, 10Tbps]", from "HPCC reference simulator, MIN_RATE 1000Mb/s";
        /// Base of the logarithm in which switches write the utilisation, the same for all schemes of a run. From about
        /// 1.045 on a power fits into one byte.
        log_base: f64 = 1.05, in "[1.001, 2]", from "HPCC reference simulator, PINT_LOG_BASE 1.05";
        /// Share of the ACKs that count.
        probability: f64 = 1.0, in "[0.0001, 1]", from "HPCC reference simulator, PINT_PROB 1; PINT, sec. 4.3: p";
        /// The window follows the rate; otherwise it stays that of the line rate.
        variable_window: bool = true, from "HPCC reference simulator, VAR_WIN 1";
        /// Bytes in flight at line rate: the bandwidth-delay product (`host.base_rtt`), a size, or no limit.
        window: Window = "bdp", in "[1B, 1TiB]", from "HPCC reference simulator, HAS_WIN 1";
    }
}

choice! {
    /// A set of timers for DCQCN.
    pub enum DcqcnPreset {
        /// The NIC vendor's.
        Vendor = "vendor",
        /// Those of the paper.
        Paper = "paper",
    }
}

section! {
    /// DCQCN: the rate falls with congestion marks and recovers by timers. It needs `switch.ecn`, whose thresholds all
    /// schemes share.
    ///
    /// The timers `alpha_interval`, `decrease_interval` and `increase_interval` are 1, 4 and 300 us by default, the NIC
    /// vendor's; `preset = "paper"` makes them the DCQCN paper's 50, 50 and 55 us. As in the HPCC reference simulator
    /// each marked packet counts as a notification, and there is no byte counter.
    pub struct Dcqcn {
        /// Timers where not given: the NIC vendor's (1, 4, 300 us) or the DCQCN paper's (50, 50, 55 us).
        preset: DcqcnPreset = "vendor", from "HPCC, fig. 2, compares the two; reference simulator: scripts dcqcn and dcqcn_paper";
        /// Gain of the estimate `alpha` of congestion.
        g: f64 = 0.00390625, in "(0, 1]", from "DCQCN paper: 1/256; reference simulator, EWMA_GAIN";
        /// From one update of `alpha` to the next.
        alpha_interval: Duration => preset { "vendor" => "1us", "paper" => "50us" }, in "[100ns, 1s]", from "HPCC reference simulator, ALPHA_RESUME_INTERVAL 1 and 50; the DCQCN paper has 55";
        /// Shortest time from one decrease of the rate to the next.
        decrease_interval: Duration => preset { "vendor" => "4us", "paper" => "50us" }, in "[100ns, 1s]", from "HPCC, fig. 2: Td 4 us (vendor), 50 us (DCQCN paper); reference simulator, RATE_DECREASE_INTERVAL";
        /// From one increase of the rate to the next.
        increase_interval: Duration => preset { "vendor" => "300us", "paper" => "55us" }, in "[100ns, 1s]", from "HPCC, fig. 2: Ti 300 us (vendor), 55 us (DCQCN paper); reference simulator, RP_TIMER";
        /// Increases of fast recovery (F), towards the rate before the decrease, until additive increase begins.
        fast_recovery: u32 = 1, in "[0, 1000]", from "HPCC reference simulator, FAST_RECOVERY_TIMES 1; the DCQCN paper has 5";
        /// Additive increase. Made for hosts of 100 Gb/s: take it in proportion elsewhere.
        ai_rate: BitsPerSec = "20Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_AI 20Mb/s at 100 Gb/s";
        /// Hyper increase, after the additive one. Made for hosts of 100 Gb/s.
        hai_rate: BitsPerSec = "200Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_HAI 200Mb/s at 100 Gb/s";
        /// Lowest rate.
        min_rate: BitsPerSec = "1Gbps", in "[1Kbps, 10Tbps]", from "HPCC reference simulator, MIN_RATE 1000Mb/s";
        /// The rate to recover to falls with every decrease, not only with the first after an increase.
        clamp_target_rate: bool = false, from "HPCC reference simulator, CLAMP_TARGET_RATE 0";
        /// Notifications sooner than this after the last that counted are ignored.
        cnp_interval: Duration = "0s", in "[0s, 1s]", from "HPCC reference simulator: every mark counts; the DCQCN paper's N is 50 us";
        /// The window, where there is one, follows the rate; otherwise it stays that of the line rate.
        variable_window: bool = true, from "HPCC reference simulator, VAR_WIN 1";
        /// Bytes in flight at line rate: no limit (DCQCN), the bandwidth-delay product (DCQCN+win; `host.base_rtt`), or a size.
        window: Window = "off", in "[1B, 1TiB]", from "HPCC, sec. 5: DCQCN and DCQCN+win; reference simulator, HAS_WIN";
    }
}

section! {
    /// TIMELY: the rate follows the round-trip time and its gradient. No help from switches.
    ///
    /// The queues that ACKs meet count as congestion too; the HPCC reference simulator's scripts give ACKs priority
    /// (`host.ack_priority`, there with `quirks.ack_priority_at_hosts`) with TIMELY, and with DCQCN without a window.
    pub struct Timely {
        /// Below this RTT the rate grows whatever the gradient.
        t_low: Duration = "50us", in "[0s, 10s]", from "TIMELY paper; reference simulator (fixed there)";
        /// Above this RTT the rate falls whatever the gradient.
        t_high: Duration = "500us", in "[0s, 10s]", from "TIMELY paper; reference simulator (fixed there)";
        /// What the difference of two RTTs is divided by to give the gradient.
        min_rtt: Duration = "20us", in "[1ns, 10s]", from "TIMELY paper; reference simulator (fixed there)";
        /// Weight of the newest difference of RTTs.
        ewma: f64 = 0.875, in "(0, 1]", from "TIMELY, alg. 1: alpha; reference simulator (fixed there)";
        /// Multiplicative decrease factor.
        beta: f64 = 0.8, in "(0, 1]", from "TIMELY paper; reference simulator (fixed there)";
        /// Increases in a row after which `hai_rate` takes the place of `ai_rate`.
        hai_after: u32 = 5, in "[0, 1000]", from "TIMELY paper: N; reference simulator (fixed there)";
        /// Additive increase. Made for hosts of 100 Gb/s: take it in proportion elsewhere.
        ai_rate: BitsPerSec = "100Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_AI 100Mb/s at 100 Gb/s; TIMELY: 10 Mb/s at 10 Gb/s";
        /// Increase once `hai_after` is reached. Made for hosts of 100 Gb/s.
        hai_rate: BitsPerSec = "500Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_HAI 500Mb/s at 100 Gb/s; TIMELY: 5 times the additive one";
        /// Lowest rate.
        min_rate: BitsPerSec = "1Gbps", in "[1Kbps, 10Tbps]", from "HPCC reference simulator, MIN_RATE 1000Mb/s";
        /// The window, where there is one, follows the rate; otherwise it stays that of the line rate.
        variable_window: bool = true, from "HPCC reference simulator, VAR_WIN 1";
        /// Bytes in flight at line rate: no limit (TIMELY), the bandwidth-delay product (TIMELY+win; `host.base_rtt`), or a size.
        window: Window = "off", in "[1B, 1TiB]", from "HPCC, sec. 5: TIMELY and TIMELY+win; reference simulator, HAS_WIN";
    }
}

section! {
    /// DCTCP as a rate: it falls once per window by the share of marked packets, and starts at line rate.
    ///
    /// DCTCP wants switches to mark in one step: `switch.ecn.k_min` and `k_max` of `"300KB"` at 100 Gb/s.
    /// The thresholds are those of the run, shared by all its schemes; the default ones suit DCQCN. Compare schemes that
    /// need different ones by separate runs.
    pub struct Dctcp {
        /// Gain of the estimate `alpha` of the share of marked packets.
        g: f64 = 0.0625, in "(0, 1]", from "DCTCP paper: 1/16; reference simulator, EWMA_GAIN";
        /// Additive increase per round trip, as a rate. Made for hosts of 100 Gb/s.
        ai_rate: BitsPerSec = "615Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, DCTCP_RATE_AI 615Mb/s at 100 Gb/s";
        /// Lowest rate.
        min_rate: BitsPerSec = "1Gbps", in "[1Kbps, 10Tbps]", from "HPCC reference simulator, MIN_RATE 1000Mb/s";
        /// The window follows the rate; otherwise it stays that of the line rate.
        variable_window: bool = true, from "HPCC reference simulator, VAR_WIN 1";
        /// Bytes in flight at line rate: the bandwidth-delay product (`host.base_rtt`), a size, or no limit.
        window: Window = "bdp", in "[1B, 1TiB]", from "HPCC reference simulator, HAS_WIN 1";
    }
}

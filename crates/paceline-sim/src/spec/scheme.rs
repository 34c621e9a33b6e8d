//! `[schemes.NAME]`: congestion control. To add one: a `section!` with its parameters and a line in [`Control`].

use paceline_proto::units::{BitsPerSec, Bytes};

use super::declare::{section, variants};
use super::value::either;

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
    }
}

either! {
    /// Bytes a flow may have in flight.
    pub enum Window {
        /// Base RTT times line rate.
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
        /// Base RTT times line rate.
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
        /// Bytes in flight: base RTT times line rate, a size, or no limit.
        window: Window = "bdp", in "[1B, 1TiB]", from "HPCC reference simulator, HAS_WIN 1";
        /// Sending rate: that of the NIC, or a rate up to that.
        rate: SendRate = "line", in "[1Kbps, 10Tbps]", from "Paceline";
    }
}

section! {
    /// HPCC: window and rate from the link utilisation that switches report in every packet (INT).
    pub struct Hpcc {
        /// Target utilisation of a link.
        eta: f64 = 0.95, in "(0, 1]", from "HPCC, sec. 5.1 (0.95); the project page uses 0.99";
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
        /// Bytes in flight at line rate: base RTT times line rate, or a size.
        window: HpccWindow = "bdp", in "[1B, 1TiB]", from "HPCC: W_init; reference simulator, HAS_WIN 1";
    }
}

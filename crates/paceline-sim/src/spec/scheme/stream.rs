//! Schemes over TCP: `NewReno`, CUBIC, Vegas and HPCC. The stack below them is `[host.tcp]`. And UDP.

use std::sync::Arc;

use paceline_proto::cc::new_reno::Halving;
use paceline_proto::cc::{Params, cubic, fixed, hpcc, new_reno, vegas};
use paceline_proto::units::BitsPerSec;

use super::config::{Over, Settings};
use super::proactive::Facts;
use super::{HpccWindow, SendRate, Window};
use crate::scenario::Transport;
use crate::spec::declare::section;
use crate::spec::value::{choice, either};

choice! {
    /// What a loss halves.
    pub enum Halved {
        /// The bytes in flight.
        Flight = "flight",
        /// The window, rounded down to whole segments.
        Window = "window",
    }
}

impl Halved {
    fn rule(self) -> Halving {
        match self {
            Halved::Flight => Halving::Flight,
            Halved::Window => Halving::WindowInSegments,
        }
    }
}

section! {
    /// TCP with the `NewReno` window: slow start, additive increase, halving. Every flow is a connection of its own.
    pub struct NewReno {
        /// Segments of slow-start growth for one ACK.
        abc_limit: u32 = 2, in "[1, 1000]", from "RFC 3465: 2; RFC 5681: 1";
        /// What a loss halves: the bytes in flight, or the window in whole segments and with that what else differs in FreeBSD (slow start also
        /// at ssthresh, a halving with every timeout, at most `abc_limit` segments counted for one ACK).
        halving: Halved = "flight", from "RFC 5681, eq. 4; FreeBSD: the window";
    }
}

choice! {
    /// Which text CUBIC follows.
    pub enum CubicForm {
        /// RFC 9438.
        Rfc = "rfc9438",
        /// FreeBSD of 2011.
        Freebsd = "freebsd2011",
        /// The same, but a timeout sets the maximum and begins the curve anew, as other losses do.
        FreebsdAnew = "freebsd2011_anew",
    }
}

either! {
    /// What a maximum below the last one is multiplied with.
    pub enum FastConvergence {
        /// Half of 1 and `beta`.
        Auto = "auto",
        ;
        /// So much of it.
        Share(f64),
    }
}

section! {
    /// TCP with the CUBIC window. Every flow is a connection of its own.
    pub struct Cubic {
        /// Which text it follows.
        form: CubicForm = "rfc9438", from "RFC 9438; FreeBSD 9";
        /// Share of the window kept on a loss.
        beta: f64 => form { "rfc9438" => 0.7, "freebsd2011" => 0.8, "freebsd2011_anew" => 0.8 }, in "(0, 0.999]", from "RFC 9438, sec. 4.6; FreeBSD 9";
        /// Steepness, segments per cubed second.
        c: f64 = 0.4, in "(0, 1000]", from "RFC 9438, sec. 5.1";
        /// What a maximum below the last one is multiplied with: half of 1 and `beta`, or a number; 1 for nothing.
        fast_convergence: FastConvergence = "auto", in "(0, 1]", from "RFC 9438, sec. 4.7: (1 + beta) / 2; FreeBSD 9: 0.9, as much with its beta";
        /// Segments of slow-start growth for one ACK.
        abc_limit: u32 = 2, in "[1, 1000]", from "RFC 3465: 2";
    }
}

either! {
    /// Segments in queues.
    pub enum Queued {
        /// FreeBSD's rule instead.
        Off = "off",
        ;
        /// So many.
        Segments(u32),
    }
}

choice! {
    /// How Vegas computes how much of its window is queued.
    pub enum Arithmetic {
        /// In bytes, by the times as the clock of the stack has them.
        Exact = "exact",
        /// In whole bytes per tick of the clock and whole segments, as FreeBSD.
        Ticks = "ticks",
    }
}

section! {
    /// TCP with the Vegas window, which follows the round-trip time. Every flow is a connection of its own.
    pub struct Vegas {
        /// The window grows while fewer segments are in queues.
        alpha: u32 = 1, in "[0, 1000000]", from "FreeBSD: 1; Brakmo and Peterson 1995: 2";
        /// The window shrinks while more segments are in queues.
        beta: u32 = 3, in "[0, 1000000]", from "FreeBSD: 3; Brakmo and Peterson 1995: 4";
        /// Slow start ends when more segments are in queues.
        gamma: Queued = "off", in "[0, 1000000]", from "FreeBSD: its own rule; Brakmo and Peterson 1995: 1; slow start as in Linux, ns-3";
        /// How it is computed what is queued.
        arithmetic: Arithmetic = "exact", from "Brakmo and Peterson 1995; FreeBSD: ticks";
        /// Segments of slow-start growth for one ACK.
        abc_limit: u32 = 2, in "[1, 1000]", from "RFC 3465: 2";
        /// What a loss halves: the bytes in flight, or the window in whole segments and with that what else differs in FreeBSD (slow start also
        /// at ssthresh, a halving with every timeout).
        halving: Halved = "window", from "FreeBSD";
    }
}

section! {
    /// HPCC over TCP: one probe per round trip collects what switches report (INT) and comes back at once; data and ACKs
    /// carry nothing. Losses are repaired as `NewReno` repairs them, and do not move the window.
    pub struct HpccTcp {
        /// Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top. Above 1 a queue is kept.
        eta: f64 = 0.95, in "(0, 10]", from "HPCC, sec. 5.1";
        /// Rounds of additive increase before a multiplicative adjustment is forced.
        max_stage: u32 = 5, in "[0, 1000]", from "HPCC, sec. 5.1";
        /// Additive increase per round trip, as a rate; the paper's `W_AI` is this times the base RTT.
        w_ai_rate: BitsPerSec = "50Mbps", in "[0bps, 10Tbps]", from "HPCC reference simulator, RATE_AI (--hpai 50)";
        /// Lowest rate, which gives the lowest window; `host.tcp.min_window` holds besides.
        min_rate: BitsPerSec = "100Mbps", in "[1Kbps, 10Tbps]", from "Paceline";
        /// Window at line rate: base RTT times line rate, or a size.
        window: HpccWindow = "bdp", in "[1B, 1TiB]", from "HPCC: W_init";
    }
}

section! {
    /// UDP: datagrams at a fixed rate, delivered or lost. No window, no answers, no repair, no ECN; PFC holds them up. A flow is over
    /// for its sender when the last datagram has gone. Shares a run with schemes over TCP, packet by packet in turn at a host.
    pub struct Udp {
        /// Rate of a flow on the wire: that of the NIC, or a rate up to that.
        rate: SendRate = "line", in "[1Kbps, 10Tbps]", from "Paceline";
    }
}

impl Settings for Udp {
    fn params(&self) -> Params {
        Params::Fixed(fixed::Params { rate: if let SendRate::Rate(rate) = self.rate { rate.0 } else { 0 } })
    }

    fn over(&self) -> Over {
        Over::Udp
    }

    fn transport(&self, facts: &Facts) -> Transport {
        Transport::Udp(Arc::clone(&facts.tcp))
    }
}

impl Settings for HpccTcp {
    fn params(&self) -> Params {
        Params::Hpcc(hpcc::Params {
            eta: self.eta,
            max_stage: self.max_stage,
            w_ai_rate: self.w_ai_rate.0,
            min_rate: self.min_rate.0,
            ..hpcc::Params::default()
        })
    }

    fn over(&self) -> Over {
        Over::Tcp
    }

    fn window(&self) -> Window {
        self.window.clone().into()
    }

    fn additive_increase(&self) -> Option<(&'static str, BitsPerSec)> {
        Some(("w_ai_rate", self.w_ai_rate))
    }
}

impl Settings for NewReno {
    fn params(&self) -> Params {
        Params::NewReno(new_reno::Params { abc_limit: self.abc_limit, halving: self.halving.rule() })
    }
}

impl Settings for Cubic {
    fn params(&self) -> Params {
        let form = match self.form {
            CubicForm::Rfc => cubic::Form::Rfc9438,
            CubicForm::Freebsd => cubic::Form::Freebsd2011,
            CubicForm::FreebsdAnew => cubic::Form::Freebsd2011Anew,
        };
        let (beta, c) = (self.beta, self.c);
        let fast_convergence = match self.fast_convergence {
            FastConvergence::Auto => f64::midpoint(1.0, beta),
            FastConvergence::Share(share) => share,
        };
        Params::Cubic(cubic::Params { beta, c, fast_convergence, abc_limit: self.abc_limit, form })
    }
}

impl Settings for Vegas {
    fn params(&self) -> Params {
        let gamma = if let Queued::Segments(n) = self.gamma { Some(n) } else { None };
        let (alpha, beta, abc_limit) = (self.alpha, self.beta, self.abc_limit);
        let coarse = self.arithmetic == Arithmetic::Ticks;
        Params::Vegas(vegas::Params { alpha, beta, gamma, coarse, abc_limit, halving: self.halving.rule() })
    }
}

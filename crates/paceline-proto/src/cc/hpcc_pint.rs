//! HPCC with probabilistic telemetry: HPCC-PINT (Ben Basat et al., SIGCOMM 2020).
//!
//! Source: the paper's section 4.3 and the behaviour of the authors' public simulator (hpcc-ns3 facts, section 4.9). The
//! switches estimate the utilisation and send its logarithm, the largest of the path; see [`crate::pint`].
//!
//! *Deviations from HPCC, as in that simulator:* the sender does not average (the switches do), always reacts fast, and
//! the first ACK of a flow only opens its round trip. Whether an ACK counts is drawn by the engine, per ACK.

use super::hpcc::Reaction;
use super::{Ack, Algorithm, CongestionControl, FlowContext, Limits, Profile, Runs, Telemetry, scaled_window};

/// Bytes of the telemetry part of a packet.
pub const HEADER_BYTES: u32 = 2;

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Target utilisation eta, above 0. 0.95 as in HPCC.
    pub eta: f64,
    /// Additive-increase stages before a multiplicative adjustment is forced (0 in the authors' runs).
    pub max_stage: u32,
    /// Additive increase `W_AI` as a rate, bit/s.
    pub w_ai_rate: u64,
    /// Lowest rate, bit/s.
    pub min_rate: u64,
    /// Base of the logarithm in which utilisation travels, above 1. 1.05 needs 8 bits. One value per run.
    pub log_base: f64,
    /// Share of the ACKs that count, 0 to 1 (the paper's p, a power of two there; 1 in the comparison runs).
    pub probability: f64,
    /// The window follows the rate.
    pub variable_window: bool,
}

impl Algorithm for Params {
    const PROFILE: Profile =
        Profile { runs: Runs::Both, telemetry: Telemetry::Pint, rate_moves_next_packet: true, ..Profile::RDMA };

    fn min_rate_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.min_rate)
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 0,
            w_ai_rate: 50_000_000,
            min_rate: 1_000_000_000,
            log_base: 1.05,
            probability: 1.0,
            variable_window: true,
        }
    }
}

impl Params {
    /// Whether every ACK counts, whatever is drawn.
    pub fn counts_all(&self) -> bool {
        self.counts(u16::MAX)
    }

    /// Whether an ACK counts, by 16 random bits.
    pub fn counts(&self, draw: u16) -> bool {
        u32::from(draw) < (65536.0 * self.probability) as u32
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct HpccPint {
    /// Reference rate `R_c`, bit/s: changes once per round trip.
    reference_rate: u64,
    /// Rate now, bit/s.
    rate: u64,
    /// An ACK above this sequence number opens a new round trip; 0 before the first ACK.
    last_update_seq: u32,
    stage: u32,
}

/// What the powers that fit a byte stand for, for [`FlowContext::utilisations`]; empty for other schemes.
pub fn utilisations(params: &super::Params) -> Box<[f64]> {
    match params {
        super::Params::HpccPint(p) => (0..=u8::MAX).map(|power| utilisation(u16::from(power), p.log_base)).collect(),
        _ => Box::default(),
    }
}

/// No port measures a power beyond the range of numbers, but a packet could carry one.
fn utilisation(power: u16, base: f64) -> f64 {
    crate::pint::decode(power, base).min(f64::MAX)
}

impl HpccPint {
    /// A fresh flow: line rate.
    pub fn new(ctx: &FlowContext) -> Self {
        Self { reference_rate: ctx.line_rate, rate: ctx.line_rate, last_update_seq: 0, stage: 0 }
    }
}

impl CongestionControl for HpccPint {
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::HpccPint(p) = &ctx.params else { return };
        let Some(power) = ack.power() else { return };
        if self.last_update_seq == 0 {
            self.last_update_seq = ack.snd_nxt;
            return;
        }
        let known = ctx.utilisations.get(usize::from(power)).copied();
        let c = known.unwrap_or_else(|| utilisation(power, p.log_base)) / p.eta;
        let Params { max_stage, w_ai_rate, min_rate, .. } = *p;
        let reaction = Reaction { max_stage, w_ai_rate, min_rate, line_rate: ctx.line_rate };
        let (rate, stage) = reaction.adjusted(c, self.reference_rate, self.stage);
        self.rate = rate;
        if ack.ack > self.last_update_seq {
            self.reference_rate = self.rate;
            self.stage = stage;
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }

    fn sets_rate(&self, _ctx: &FlowContext, ack: &Ack<'_>) -> bool {
        self.last_update_seq != 0 && !ack.int.is_empty()
    }

    #[inline(always)]
    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::HpccPint(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;
    use crate::telemetry::IntHop;

    /// Base 2 makes powers exact: 2^9 / 512 is a utilisation of 1, 2^10 of 2.
    #[test]
    fn reacts_to_each_ack_against_the_reference_rate() {
        let params = Params { eta: 1.0, log_base: 2.0, ..Params::default() };
        let ctx = context(super::super::Params::HpccPint(params));
        let mut f = HpccPint::new(&ctx);
        let mut answer = |a, next, power: u64| {
            let word = [IntHop(power)];
            f.on_ack(&ctx, &Ack { int: &word, ..ack(a, next, false) });
            f.rate / 1_000_000
        };
        assert_eq!(answer(1, 10, 10), 100_000, "the first ACK only opens the round trip");
        assert_eq!(answer(2, 11, 10), 50_050, "fast: half of the reference rate, plus W_AI");
        assert_eq!(answer(3, 12, 10), 50_050, "again against the same reference");
        assert_eq!(answer(11, 20, 10), 50_050, "the reference rate follows now");
        assert_eq!(answer(12, 20, 10), 25_075);
        assert_eq!(answer(13, 20, 9), 50_100);
        assert_eq!(answer(14, 20, 20), 1_000, "never below the lowest rate");
    }

    #[test]
    fn sampling_takes_its_share() {
        let counts = |p, draw| Params { probability: p, ..Params::default() }.counts(draw);
        assert!(counts(1.0, u16::MAX) && !counts(0.0, 0));
        assert!(counts(0.5, 32767) && !counts(0.5, 32768));
    }
}

//! HPCC with a reference rate per hop ([`hpcc::Params::multi_rate`]).
//!
//! Source: the behaviour of the HPCC authors' public simulator with `MULTI_RATE 1` (hpcc-ns3 facts, section 4.8); the
//! paper has no such variant. Every hop runs HPCC's average and adjustment for itself; the flow takes the lowest rate.
//!
//! *Not checked* against the simulator's output, which was only read about. *Not as in that simulator:* hops left out by `sample_feedback` do
//! not enter the minimum (there: with their reference rate), and their records are stored (there: not).

use super::hpcc::{self, average, first_rate, hop_utilisation, is_stale, sets_rate};
use super::{Ack, CongestionControl, FlowContext, Limits, float, scaled_window};
use crate::telemetry::{IntHop, MAX_HOPS};

/// One hop as the sender sees it.
#[derive(Clone, Copy, Debug)]
struct Hop {
    last: IntHop,
    u: f64,
    reference_rate: u64,
    stage: u32,
}

/// A flow's state. Boxed by [`super::Controller`]: it is more than twice that of the common controllers.
#[derive(Clone, Debug)]
pub struct HpccMultiRate {
    hops: [Hop; MAX_HOPS],
    /// Rate now, bit/s.
    rate: u64,
    /// An ACK above this sequence number opens a new round trip; 0 before the first ACK.
    last_update_seq: u32,
    /// When the records came, in ticks.
    heard: u16,
}

impl HpccMultiRate {
    /// A fresh flow: its first rate, utilisation 1 at every hop.
    pub fn new(ctx: &FlowContext) -> Self {
        let rate = first_rate(ctx);
        let hop = Hop { last: IntHop::default(), u: 1.0, reference_rate: rate, stage: 0 };
        Self { hops: [hop; MAX_HOPS], rate, last_update_seq: 0, heard: 0 }
    }

    fn adjust(&mut self, ctx: &FlowContext, p: &hpcc::Params, int: &[IntHop], opens_round: bool) {
        let (mut lowest, mut left_out) = (u64::MAX, u64::MAX);
        for (new, hop) in int.iter().zip(&mut self.hops) {
            if p.sample_feedback && !opens_round && new.queue(1) == 0 {
                if ctx.believes_records() {
                    left_out = left_out.min(hop.reference_rate);
                } else {
                    hop.last = *new;
                }
                continue;
            }
            let old = std::mem::replace(&mut hop.last, *new);
            let (u, tau) = hop_utilisation(ctx, *new, old);
            if tau == 0 {
                continue;
            }
            hop.u = average(ctx, hop.u, u, tau);
            let c = hop.u / p.eta;
            let (mut rate, stage) = p.reaction(ctx.line_rate).adjusted(c, hop.reference_rate, hop.stage);
            // A hop that has counted no unit of bytes for a round trip: the quotient does not fit 64 bits, and the reference simulator then has 0.
            if ctx.believes_records() && stage == 0 && c < 1.0 && float(hop.reference_rate) / c >= 2f64.powi(64) {
                rate = p.w_ai_rate.max(p.min_rate).min(ctx.line_rate);
            }
            lowest = lowest.min(rate);
            if opens_round {
                (hop.reference_rate, hop.stage) = (rate, stage);
            }
        }
        if lowest != u64::MAX {
            self.rate = lowest.min(left_out);
        }
    }
}

impl CongestionControl for HpccMultiRate {
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::Hpcc(p) = &ctx.params else { return };
        let opens_round = ack.ack > self.last_update_seq;
        if !opens_round && !p.fast_reaction {
            return;
        }
        if is_stale(ctx, ack.now, &mut self.heard) || self.last_update_seq == 0 {
            for (hop, new) in self.hops.iter_mut().zip(ack.int) {
                hop.last = *new;
            }
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
            return;
        }
        self.adjust(ctx, p, ack.int, opens_round);
        if opens_round {
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }

    fn sets_rate(&self, ctx: &FlowContext, ack: &Ack<'_>) -> bool {
        sets_rate(ctx, ack, self.last_update_seq)
    }

    /// Other hops: all start from the present rate, and the next ACK only stores its records.
    fn on_new_path(&mut self) {
        self.hops.fill(Hop { last: IntHop::default(), u: 1.0, reference_rate: self.rate, stage: 0 });
        self.last_update_seq = 0;
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Hpcc(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;
    use crate::telemetry::IntUnits;
    use crate::units::{Time, US};

    /// A record of a 100 Gb/s port after `us` microseconds at which `share` of the line was sent and `queue` waits.
    fn record(us: u64, share: f64, queue: u64) -> IntHop {
        IntUnits::new(4).pack(Time(us * US), (share * us as f64 * 12_500.0) as u64, queue, 0)
    }

    /// Two hops, one half used, one with a queue of one bandwidth-delay product: the flow follows the second, and the
    /// first keeps its own, higher reference rate. With one hop both forms of HPCC are the same.
    #[test]
    fn the_lowest_hop_rate_counts() {
        let p = hpcc::Params { eta: 1.0, multi_rate: true, ..hpcc::Params::default() };
        let ctx = context(super::super::Params::Hpcc(p));
        let (mut multi, mut single) = (HpccMultiRate::new(&ctx), hpcc::Hpcc::new(&ctx));
        for (round, us) in [20u64, 40, 60].into_iter().enumerate() {
            let int = [record(us, 0.5, 0), record(us, 1.0, 153_000)];
            let round = round as u32 * 100;
            multi.on_ack(&ctx, &Ack { int: &int, ..ack(round + 1, round + 50, false) });
            single.on_ack(&ctx, &Ack { int: &int[1..], ..ack(round + 1, round + 50, false) });
        }
        // Twice: half the rate (to the resolution of the records) plus W_AI.
        assert!((24_900_000_000..25_300_000_000).contains(&multi.rate), "{}", multi.rate);
        assert_eq!(multi.rate, single.limits(&ctx).rate);
        assert_eq!(multi.hops[0].reference_rate, ctx.line_rate);
    }

    #[test]
    fn empty_hops_are_left_out_within_a_round() {
        let p = hpcc::Params { sample_feedback: true, multi_rate: true, ..hpcc::Params::default() };
        let ctx = context(super::super::Params::Hpcc(p));
        let mut f = HpccMultiRate::new(&ctx);
        let mut answer = |a, us, queue| {
            f.on_ack(&ctx, &Ack { int: &[record(us, 1.0, queue)], ..ack(a, a + 50, false) });
            f.rate
        };
        answer(1, 20, 0);
        let before = answer(60, 40, 153_000);
        assert_eq!(answer(61, 60, 0), before, "a fast ACK without queue says nothing");
        assert_ne!(answer(62, 80, 153_000), before);
    }
}

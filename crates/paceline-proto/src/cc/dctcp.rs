//! DCTCP as a hardware rate controller (Alizadeh et al., SIGCOMM 2010, over RDMA).
//!
//! Source of the algorithm: the paper's section 3.3, in the rate-based form of the HPCC authors' public simulator
//! (hpcc-ns3 facts, section 4.12).
//!
//! *Deviations from the paper, as in that simulator:* the controlled quantity is a rate that starts at line rate (no slow
//! start), the window follows as `W * R / line rate`; every packet is acknowledged and its mark echoed as it is; `alpha`
//! starts at 1; the increase is a rate per round trip. *From the simulator:* the length of a batch counts packets, so a
//! message's short last packet counts whole (it matters only after everything has been sent).

use super::{Ack, Algorithm, CongestionControl, FlowContext, Limits, Profile, scaled_window};

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Gain g of the estimate of the marked share, 0 to 1. The paper's 1/16.
    pub g: f64,
    /// Additive increase per round trip as a rate, bit/s. 615 Mb/s at 100 Gb/s in the HPCC authors' runs.
    pub ai_rate: u64,
    /// Lowest rate, bit/s.
    pub min_rate: u64,
    /// The window follows the rate.
    pub variable_window: bool,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile { needs_marks: true, ..Profile::RDMA };

    fn min_rate_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.min_rate)
    }
}

impl Default for Params {
    fn default() -> Self {
        Self { g: 0.0625, ai_rate: 615_000_000, min_rate: 1_000_000_000, variable_window: true }
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Estimated share of marked packets.
    alpha: f64,
    /// Rate now, bit/s.
    rate: u64,
    /// An ACK above this sequence number closes a batch; 0 before the first ACK.
    last_update_seq: u32,
    /// Marked packets of the batch, and its length, packets.
    marked: u32,
    batch: u32,
    /// The flow's first packet: not 0 where a stream has begun anew.
    first: u32,
    /// While set, the rate has been reduced for the window up to this sequence number.
    reduced_until: Option<u32>,
}

impl Dctcp {
    /// A fresh flow: line rate, `alpha` 1.
    pub fn new(ctx: &FlowContext) -> Self {
        Self { alpha: 1.0, rate: ctx.line_rate, last_update_seq: 0, marked: 0, batch: 0, first: 0, reduced_until: None }
    }

    /// Whether an ACK opens a batch; if so, whether it is the first one.
    pub fn opens_batch(&self, ack: u32) -> Option<bool> {
        (ack > self.last_update_seq).then_some(self.last_update_seq == 0)
    }

    /// Replaces the length of the batch just opened: that simulator counts it otherwise where packets were lost.
    pub fn set_batch(&mut self, packets: u32) {
        self.batch = packets;
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::Dctcp(p) = &ctx.params else { return };
        self.marked += u32::from(ack.ecn);
        let closes_batch = ack.ack > self.last_update_seq;
        if closes_batch && self.last_update_seq == 0 {
            self.last_update_seq = ack.snd_nxt;
            self.batch = ack.snd_nxt.saturating_sub(self.first) + 1;
        } else if closes_batch {
            let share = (f64::from(self.marked) / f64::from(self.batch)).min(1.0);
            self.alpha = (1.0 - p.g) * self.alpha + p.g * share;
            self.last_update_seq = ack.snd_nxt;
            self.marked = 0;
            self.batch = ack.snd_nxt.saturating_sub(ack.ack) + 1;
        }
        if self.reduced_until.is_some_and(|high| ack.ack > high) {
            self.reduced_until = None;
        }
        if ack.ecn && self.reduced_until.is_none() {
            self.rate = ((self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64).max(p.min_rate).min(ctx.line_rate);
            self.reduced_until = Some(ack.snd_nxt);
        }
        if self.reduced_until.is_none() && closes_batch {
            self.rate = (self.rate + p.ai_rate).min(ctx.line_rate);
        }
    }

    fn begin_at(&mut self, seq: u32) {
        self.first = seq;
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Dctcp(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;

    /// One mark in a batch that is counted as four packets instead of eleven weighs a quarter.
    #[test]
    fn a_batch_may_be_counted_otherwise() {
        let ctx = context(super::super::Params::Dctcp(Params::default()));
        let mut f = Dctcp::new(&ctx);
        assert_eq!(f.opens_batch(1), Some(true));
        f.on_ack(&ctx, &ack(1, 10, false));
        assert_eq!((f.opens_batch(10), f.opens_batch(11)), (None, Some(false)));
        f.set_batch(4);
        f.on_ack(&ctx, &ack(11, 20, true));
        assert_eq!((f.rate, f.alpha), (52_343_750_000, 15.0 / 16.0 + 0.25 / 16.0));
    }

    /// A stream of a thousand packets that begins anew counts its first batch from there: over all that was ever sent, marks would
    /// weigh nothing.
    #[test]
    fn a_new_beginning_counts_from_there() {
        let ctx = context(super::super::Params::Dctcp(Params::default()));
        let [mut fresh, mut anew] = [Dctcp::new(&ctx), Dctcp::new(&ctx)];
        anew.begin_at(1000);
        for (a, next) in [(1, 10), (2, 11), (10, 19), (11, 20), (21, 30)] {
            fresh.on_ack(&ctx, &ack(a, next, true));
            anew.on_ack(&ctx, &ack(1000 + a, 1000 + next, true));
            assert_eq!((fresh.rate, fresh.alpha, fresh.batch), (anew.rate, anew.alpha, anew.batch));
        }
    }

    /// Worked by hand with g = 1/16: a mark halves the rate once per window, and the share of marked packets enters
    /// `alpha` when a batch closes.
    #[test]
    fn one_reduction_per_window_by_the_marked_share() {
        let ctx = context(super::super::Params::Dctcp(Params::default()));
        let mut f = Dctcp::new(&ctx);
        // First ACK: opens the first batch (10 packets sent, length 11); alpha is still 1, so a mark halves.
        f.on_ack(&ctx, &ack(1, 10, true));
        assert_eq!((f.rate, f.batch, f.alpha), (50_000_000_000, 11, 1.0));
        for a in 2..=10 {
            f.on_ack(&ctx, &ack(a, 10 + a, true));
        }
        assert_eq!((f.rate, f.alpha), (50_000_000_000, 1.0), "same window: no second reduction");
        // 11 of 11 marked, then reduced again; alpha stays 1.
        f.on_ack(&ctx, &ack(11, 20, true));
        assert_eq!((f.rate, f.batch, f.alpha), (25_000_000_000, 10, 1.0));
        // The next batch has no mark: alpha decays to 15/16 and the rate grows by the additive step.
        for a in 12..=20 {
            f.on_ack(&ctx, &ack(a, 10 + a, false));
        }
        f.on_ack(&ctx, &ack(21, 30, false));
        assert_eq!((f.rate, f.alpha), (25_615_000_000, 0.9375));
        // A lone mark now costs 15/32.
        f.on_ack(&ctx, &ack(22, 31, true));
        assert_eq!(f.rate, 13_607_968_750);
        assert_eq!(f.limits(&ctx).cwnd, 153_000 * 13_607_968_750 / 100_000_000_000);
    }
}

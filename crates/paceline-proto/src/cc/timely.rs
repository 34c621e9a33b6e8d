//! TIMELY: RTT-based congestion control (Mittal et al., SIGCOMM 2015).
//!
//! Source: the paper's Algorithm 1 with its hyperactive increase, in the form of the HPCC authors' public simulator
//! (hpcc-ns3 facts, section 4.11).
//!
//! *Deviations from the paper, as in that simulator:* the rate starts at line rate; one RTT sample per window of sent data
//! counts; the RTT runs from the start of the packet's serialisation at the sender to the arrival of its ACK, so the
//! sender's own NIC queue is not in it; the increase counts stages over all ACKs that increase, also those below `t_low`; a
//! gradient that would take more than the whole rate leaves `min_rate`; with a window ("TIMELY+win" of the HPCC paper) it follows the rate.

use super::{Ack, Algorithm, CongestionControl, FlowContext, Limits, Profile, Telemetry, scaled_window};

/// Bytes of the time stamp a data packet carries and its ACK returns.
pub const HEADER_BYTES: u32 = 8;

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Below this RTT the rate grows whatever the gradient, ns. 50 us in the paper.
    pub t_low_ns: f64,
    /// Above this RTT it falls whatever the gradient, ns. 500 us in the paper.
    pub t_high_ns: f64,
    /// The RTT difference is measured against this, ns, above 0. 20 us in the paper.
    pub min_rtt_ns: f64,
    /// Weight of the newest difference, 0 to 1. 0.875 in the paper.
    pub ewma: f64,
    /// Multiplicative decrease factor beta, 0 to 1. 0.8 in the paper.
    pub beta: f64,
    /// Increases in a row after which `hai_rate` replaces `ai_rate`. 5 in the paper.
    pub hai_after: u32,
    /// Additive increase delta, bit/s. 100 Mb/s at 100 Gb/s in the HPCC authors' runs (10 Mb/s at 10 Gb/s in the paper).
    pub ai_rate: u64,
    /// Hyperactive increase, bit/s. 500 Mb/s likewise (five times delta).
    pub hai_rate: u64,
    /// Lowest rate, bit/s.
    pub min_rate: u64,
    /// The window, where there is one, follows the rate.
    pub variable_window: bool,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile { telemetry: Telemetry::SendTime, ..Profile::RDMA };

    fn min_rate_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.min_rate)
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            t_low_ns: 50_000.0,
            t_high_ns: 500_000.0,
            min_rtt_ns: 20_000.0,
            ewma: 0.875,
            beta: 0.8,
            hai_after: 5,
            ai_rate: 100_000_000,
            hai_rate: 500_000_000,
            min_rate: 1_000_000_000,
            variable_window: true,
        }
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Timely {
    /// Smoothed difference of successive RTTs, ns.
    difference: f64,
    /// The last RTT that counted, ns.
    last_rtt: f64,
    /// Rate now, bit/s.
    rate: u64,
    /// The next ACK that counts is above this sequence number; 0 before the first.
    last_update_seq: u32,
    /// Increases in a row.
    stage: u32,
}

impl Timely {
    /// A fresh flow: line rate.
    pub fn new(ctx: &FlowContext) -> Self {
        Self { difference: 0.0, last_rtt: 0.0, rate: ctx.line_rate, last_update_seq: 0, stage: 0 }
    }

    /// The factor by which the rate falls, or `None` when it grows.
    fn decrease(&self, p: &Params, rtt: f64) -> Option<f64> {
        if rtt < p.t_low_ns {
            return None;
        }
        if rtt > p.t_high_ns {
            return Some(1.0 - p.beta * (1.0 - p.t_high_ns / rtt));
        }
        let gradient = self.difference / p.min_rtt_ns;
        (gradient > 0.0).then(|| (1.0 - p.beta * gradient).max(0.0))
    }
}

impl CongestionControl for Timely {
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::Timely(p) = &ctx.params else { return };
        let Some(rtt) = ack.rtt() else { return };
        if ack.ack <= self.last_update_seq {
            return;
        }
        let rtt = rtt.0 as f64 / 1000.0;
        if self.last_update_seq != 0 {
            self.difference = (1.0 - p.ewma) * self.difference + p.ewma * (rtt - self.last_rtt);
            if let Some(factor) = self.decrease(p, rtt) {
                self.rate = ((self.rate as f64 * factor) as u64).max(p.min_rate).min(ctx.line_rate);
                self.stage = 0;
            } else {
                let step = if self.stage < p.hai_after { p.ai_rate } else { p.hai_rate };
                self.rate = (self.rate + step).min(ctx.line_rate);
                self.stage = self.stage.saturating_add(1);
            }
        }
        self.last_update_seq = ack.snd_nxt;
        self.last_rtt = rtt;
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Timely(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;
    use crate::telemetry::IntHop;
    use crate::units::{Time, US};

    /// One sample: RTT in microseconds, one window after the other.
    fn sample(f: &mut Timely, ctx: &FlowContext, window: u32, rtt_us: u64) {
        let sent = [IntHop(7 * US)];
        f.on_ack(
            ctx,
            &Ack { now: Time((7 + rtt_us) * US), int: &sent, ..ack(window * 10 + 1, window * 10 + 10, false) },
        );
    }

    /// Worked by hand from the paper's Algorithm 1 with beta 0.8, alpha 0.875, min RTT 20 us.
    #[test]
    fn gradient_and_thresholds() {
        let ctx = context(super::super::Params::Timely(Params::default()));
        let mut f = Timely::new(&ctx);
        sample(&mut f, &ctx, 0, 60);
        assert_eq!(f.rate, 100_000_000_000, "the first sample is only remembered");
        // +8 us: difference 7 us, gradient 0.35, factor 0.72.
        sample(&mut f, &ctx, 1, 68);
        assert_eq!(f.rate, 72_000_000_000);
        // -8 us: difference 0.125 * 7 - 7 < 0: grows by delta; five times, then hyperactively.
        sample(&mut f, &ctx, 2, 60);
        assert_eq!(f.rate, 72_100_000_000);
        for window in 3..7 {
            sample(&mut f, &ctx, window, 60);
        }
        assert_eq!(f.rate, 72_500_000_000);
        sample(&mut f, &ctx, 7, 40);
        assert_eq!(f.rate, 73_000_000_000);
        // Above t_high: 1 - 0.8 * (1 - 500/1000) = 0.6, whatever the gradient.
        sample(&mut f, &ctx, 8, 1000);
        assert_eq!((f.rate, f.stage), (43_800_000_000, 0));
        // A steep rise between the thresholds cannot go below the lowest rate.
        sample(&mut f, &ctx, 9, 499);
        sample(&mut f, &ctx, 10, 50);
        sample(&mut f, &ctx, 11, 499);
        assert_eq!(f.rate, 1_000_000_000);
    }

    #[test]
    fn one_sample_per_window() {
        let ctx = context(super::super::Params::Timely(Params::default()));
        let mut f = Timely::new(&ctx);
        sample(&mut f, &ctx, 0, 60);
        let sent = [IntHop(0)];
        f.on_ack(&ctx, &Ack { now: Time(900 * US), int: &sent, ..ack(10, 20, false) });
        assert_eq!(f.rate, 100_000_000_000, "this ACK belongs to the window already sampled");
        f.on_ack(&ctx, &Ack { now: Time(900 * US), int: &[], ..ack(11, 20, false) });
        assert_eq!(f.rate, 100_000_000_000, "no time stamp, no sample");
    }
}

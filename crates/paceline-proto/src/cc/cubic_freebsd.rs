//! CUBIC of FreeBSD 8 and 9 (`cc_cubic` of 2011, after draft-rhee-tcpm-cubic-02), the kernel of the `HotI` 2011 study.
//!
//! 80 % of the window is kept on a loss where RFC 9438 keeps 70 %, but ssthresh halves the first time. Once per window of
//! acknowledged bytes the window becomes what the line of the Reno-friendly region says, also where that is less, or the curve
//! where that is above. Line and curve begin at a fast recovery's end, a mark or a timeout: a timeout halves ssthresh as
//! `NewReno` does and keeps maximum and curve. What is reckoned when a reduction is over (fast convergence, the mean round trip,
//! how long the curve takes to the maximum) is so after fast recoveries alone: a mark, whose reduction ends without one
//! (`cc_post_recovery` is called in `IN_FASTRECOVERY`), sets a new maximum and leaves the rest, so that the curve, before the first
//! loss, is back at that maximum at once. Before the first reduction they begin with the connection, at its initial window,
//! which what is reached in congestion avoidance replaces (it matters with an inherited ssthresh). Round-trip times are averaged
//! between fast recoveries; until there are eight samples the rules are `NewReno`'s. With [`Form::Freebsd2011Anew`] a timeout sets the maximum
//! and begins the curve as a loss does (converged-Ethernet facts, section 6.6, against that kernel's source).
//!
//! *Deviations:* line and curve are exact, where that kernel's 32 bits overflow after some 75 ticks in the line (its tick was 1 ms)
//! and its cube root is a polynomial; a reduction leaves no less than two segments; ACKs in fast recovery give no sample.

use super::cubic::{Form, Params, seconds};
use super::window::{Window, clamped};
use super::{CongestionControl, FlowContext, Limits, Loss, StreamAck, StreamStart};
use crate::units::{Duration, Time};

/// Round-trip samples before they are trusted.
const ENOUGH: u32 = 8;

/// A flow's state.
#[derive(Clone, Debug)]
pub struct CubicFreebsd {
    window: Window,
    /// Round-trip samples of the connection.
    samples: u32,
    /// Smoothed round-trip times since the last fast recovery: how many, and their sum, ps.
    acks: u32,
    sum: u64,
    /// Their mean between the two fast recoveries before, ps; the first trusted one before any; 0 before that.
    mean: u64,
    /// Start of line and curve.
    since: Time,
    /// The window at the last reduction, less by fast convergence after a fast recovery; and at the one before. Bytes.
    max: u32,
    previous: u32,
    /// Seconds from `since` to `max`, by the last fast recovery; 0 before one.
    k: f64,
    /// There was a reduction.
    reduced: bool,
}

impl CubicFreebsd {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext) -> Self {
        Self {
            window: Window::new(ctx, true),
            samples: 0,
            acks: 0,
            sum: 0,
            mean: 0,
            since: Time(0),
            max: 0,
            previous: 0,
            k: 0.0,
            reduced: false,
        }
    }

    /// Congestion avoidance, once per window of acknowledged bytes.
    fn avoid(&mut self, ctx: &FlowContext, p: &Params, now: Time) {
        let mtu = f64::from(ctx.mtu);
        let (t, rtt) = (seconds(Duration(now.0.saturating_sub(self.since.0))), seconds(Duration(self.mean)));
        let max = f64::from(self.max) / mtu;
        let line = max * p.beta + p.alpha() * t / rtt;
        let next = p.curve(t + rtt, self.k, max);
        if next < line {
            self.window.cwnd = clamped((line * mtu) as u64).max(ctx.mtu);
        } else {
            self.window.cwnd = self.window.cwnd.max(clamped((next * mtu) as u64));
        }
        if !self.reduced {
            self.max = self.max.max(self.window.cwnd);
        }
    }

    /// A loss or mark: what is left as ssthresh.
    fn begin(&mut self, p: &Params) -> u64 {
        let share = if self.reduced { p.beta } else { 0.5 };
        (self.previous, self.max) = (self.max, self.window.cwnd);
        self.reduced = true;
        (f64::from(self.window.cwnd) * share + 0.5) as u64
    }

    /// A fast recovery is over.
    fn end(&mut self, ctx: &FlowContext, p: &Params) {
        if self.max < self.previous {
            self.max = (f64::from(self.max) * p.fast_convergence) as u32;
        }
        if self.acks > 0 {
            self.mean = (self.sum / u64::from(self.acks)).max(1);
        }
        (self.acks, self.sum) = (0, 0);
        self.k = libm::cbrt(f64::from(self.max) / f64::from(ctx.mtu) * (1.0 - p.beta) / p.c);
    }
}

impl CongestionControl for CubicFreebsd {
    fn start_stream(&mut self, _ctx: &FlowContext, start: StreamStart) {
        self.window.start(start.cwnd, start.ssthresh);
        (self.since, self.max) = (start.now, self.window.cwnd);
    }

    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        self.window.timed_out = false;
        self.samples = self.samples.saturating_add(u32::from(ack.rtt.is_some()));
        if self.samples >= ENOUGH {
            (self.acks, self.sum) = (self.acks.saturating_add(1), self.sum.saturating_add(ack.srtt.0));
            if self.mean == 0 {
                self.mean = ack.srtt.0.max(1);
            }
        }
        if ack.marked {
            return;
        }
        if !ack.may_grow {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(ctx, ack, p.abc_limit);
        } else if self.mean == 0 {
            self.window.congestion_avoidance(ctx, ack.bytes, p.abc_limit);
        } else if self.window.is_acknowledged(ctx, ack.bytes, p.abc_limit) {
            self.avoid(ctx, p, ack.now);
        }
    }

    fn on_loss(&mut self, ctx: &FlowContext, now: Time, loss: Loss, _flight: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        if loss == Loss::Timeout {
            if p.form == Form::Freebsd2011Anew {
                self.begin(p);
                self.end(ctx, p);
            }
            // The first may be none; only the next counts.
            self.reduced |= self.window.timed_out;
            self.since = now;
            self.window.timeout(ctx, u64::from(self.window.cwnd / 2 / ctx.mtu * ctx.mtu));
        } else {
            let left = self.begin(p);
            self.window.reduce(ctx, left);
        }
    }

    fn on_ecn(&mut self, ctx: &FlowContext, now: Time, _flight: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        let left = self.begin(p);
        self.since = now;
        self.window.reduce(ctx, left);
    }

    fn on_recovered(&mut self, ctx: &FlowContext, now: Time, limit: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        self.end(ctx, p);
        self.since = now;
        let share = u64::from(clamped((f64::from(self.max) * p.beta) as u64).max(ctx.mtu));
        // With less than ssthresh on its way that and a segment, so that there is no burst.
        let little = limit < u64::from(self.window.ssthresh) + u64::from(ctx.mtu);
        self.window.cwnd = clamped(if little { limit } else { share });
    }

    fn on_idle(&mut self, _ctx: &FlowContext, limit: u64) {
        self.window.idle(limit);
    }

    fn undo_timeout(&mut self) {
        self.window.undo();
    }

    fn ssthresh(&self) -> u64 {
        u64::from(self.window.ssthresh)
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        Limits { cwnd: u64::from(self.window.cwnd), rate: ctx.line_rate }
    }
}

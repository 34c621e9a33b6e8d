//! CUBIC: the window is a cubic function of the time since the last reduction (RFC 9438), with the 2011 form in FreeBSD.
//!
//! *2011* (draft-rhee-tcpm-cubic-02 as in FreeBSD 8 and 9, the kernel of the `HotI` 2011 study): 80 % of the window is kept on a loss
//! where RFC 9438 keeps 70 %; the first loss halves; the `Reno`-friendly window is a line in time from the last maximum,
//! and is taken over as it is; round-trip times are averaged between losses, and with fewer than eight samples the rules are
//! `NewReno`'s.
//!
//! *Deviations of the 2011 form from FreeBSD 9's code:* a timeout is a reduction like any other, it leaves `beta` of the window as
//! ssthresh and its window as the maximum, where FreeBSD halves in whole segments, keeps the maximum and only begins the time
//! anew. The window follows the curve with every ACK, where FreeBSD with appropriate byte counting takes over the curve's value
//! once per window of bytes acknowledged. Before the first reduction the window grows as `NewReno`'s, where FreeBSD follows the
//! curve from eight samples on, with the window reached as its maximum (it matters with an inherited ssthresh).
//!
//! In a data centre the cubic part hardly matters (from 100 segments back to 100 takes seconds): growth is the
//! friendly region's, a third to a half of a segment per round trip.

use super::window::{Window, clamped};
use super::{CongestionControl, FlowContext, Limits, Loss, StreamAck, StreamStart};
use crate::units::{Duration, S, Time};

/// Which text it follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// RFC 9438.
    Rfc9438,
    /// FreeBSD of 2011.
    Freebsd2011,
}

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Share of the window kept on a loss, above 0 and below 1. RFC 9438: 0.7; 2011: 0.8.
    pub beta: f64,
    /// Steepness C, segments/s^3, above 0. 0.4.
    pub c: f64,
    /// What a maximum below the last one is multiplied with (fast convergence); 1 for none. RFC 9438: `(1 + beta) / 2`;
    /// 2011: 0.9.
    pub fast_convergence: f64,
    /// Segments of slow-start growth per ACK, 1 and up.
    pub abc_limit: u32,
    /// Which text it follows.
    pub form: Form,
}

impl Params {
    /// RFC 9438.
    pub fn rfc9438() -> Self {
        Self { beta: 0.7, c: 0.4, fast_convergence: 0.85, abc_limit: 2, form: Form::Rfc9438 }
    }

    /// FreeBSD of 2011.
    pub fn freebsd2011() -> Self {
        Self { beta: 0.8, c: 0.4, fast_convergence: 0.9, abc_limit: 2, form: Form::Freebsd2011 }
    }
}

/// A flow's state. Windows in segments where they are doubles.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    /// Samples since the last reduction.
    samples: u32,
    /// Their sum, ps; then, from the reduction on, the mean.
    rtt_sum: u64,
    mean_rtt: u64,
    /// Start of the curve; `None` until congestion avoidance begins.
    epoch: Option<Time>,
    w_max: f64,
    /// RFC 9438: the window before the last reduction that was no timeout's (sections 4.6, 4.8); 0 before the first.
    prior: f64,
    /// Seconds from the epoch to `w_max`.
    k: f64,
    /// RFC 9438: `W_est`. 2011: window not yet credited in whole bytes.
    w_est: f64,
    /// The last ACK of the epoch.
    heard: Time,
    /// Part of a byte the window has grown by.
    fraction: f64,
    /// The next epoch begins from where it is (after a timeout or slow start without a loss: section 4.8 and 4.10).
    flat: bool,
}

impl Cubic {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext) -> Self {
        let freebsd = matches!(&ctx.params, super::Params::Cubic(p) if p.form == Form::Freebsd2011);
        Self {
            window: Window::new(ctx, freebsd),
            samples: 0,
            rtt_sum: 0,
            mean_rtt: 0,
            epoch: None,
            w_max: 0.0,
            prior: 0.0,
            k: 0.0,
            w_est: 0.0,
            heard: Time(0),
            fraction: 0.0,
            flat: true,
        }
    }

    fn segments(&self, ctx: &FlowContext) -> f64 {
        f64::from(self.window.cwnd) / f64::from(ctx.mtu)
    }

    /// `W_cubic(t)` (equation 1).
    fn curve(&self, p: &Params, t: f64) -> f64 {
        let x = t - self.k;
        p.c * x * x * x + self.w_max
    }

    /// Grows the window by so many segments.
    fn grow(&mut self, ctx: &FlowContext, segments: f64) {
        self.fraction += segments * f64::from(ctx.mtu);
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        self.window.cwnd = clamped(u64::from(self.window.cwnd) + whole);
    }

    /// Congestion avoidance by RFC 9438, sections 4.2 to 4.5.
    fn avoid(&mut self, ctx: &FlowContext, p: &Params, ack: &StreamAck) {
        let cwnd = self.segments(ctx);
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_est = cwnd;
            if self.flat {
                (self.w_max, self.k) = (cwnd, 0.0);
            } else {
                // Equation 2. Below zero when the window is above the maximum already.
                self.k = libm::cbrt((self.w_max - cwnd) / p.c).max(0.0);
            }
            ack.now
        });
        let t = seconds(Duration(ack.now.0.saturating_sub(epoch.0)));
        let acked = ack.bytes as f64 / f64::from(ctx.mtu);
        // Section 4.3: alpha is that of a flow halving by beta, and 1 once the window of before is reached (`w_max` may be lower, by fast
        // convergence).
        let alpha = if self.w_est < self.prior { 3.0 * (1.0 - p.beta) / (1.0 + p.beta) } else { 1.0 };
        self.w_est += alpha * acked / cwnd;
        if self.curve(p, t) < self.w_est {
            if self.w_est > cwnd {
                self.grow(ctx, self.w_est - cwnd);
            }
            return;
        }
        // Section 4.2: at most half of the window more per round trip.
        let target = self.curve(p, t + seconds(ack.srtt)).clamp(cwnd, 1.5 * cwnd);
        self.grow(ctx, (target - cwnd) / cwnd * acked);
    }

    /// Congestion avoidance of FreeBSD 2011.
    fn avoid_2011(&mut self, ctx: &FlowContext, p: &Params, ack: &StreamAck) {
        let Some(epoch) = self.epoch.filter(|_| self.mean_rtt > 0) else {
            self.window.congestion_avoidance(ctx, ack.bytes);
            return;
        };
        let cwnd = self.segments(ctx);
        let (t, rtt) = (seconds(Duration(ack.now.0.saturating_sub(epoch.0))), seconds(Duration(self.mean_rtt)));
        let friendly = self.w_max * p.beta + 3.0 * (1.0 - p.beta) / (1.0 + p.beta) * t / rtt;
        let next = self.curve(p, t + rtt);
        if next < friendly {
            self.window.cwnd = clamped((friendly * f64::from(ctx.mtu)) as u64).max(ctx.mtu);
        } else if cwnd < next {
            self.grow(ctx, (next - cwnd) / cwnd * (ack.bytes as f64 / f64::from(ctx.mtu)));
        }
    }

    /// A reduction: remembers the maximum and where the curve goes from.
    fn remember(&mut self, ctx: &FlowContext, p: &Params, now: Time) {
        let cwnd = self.segments(ctx);
        self.w_max = if cwnd < self.w_max { cwnd * p.fast_convergence } else { cwnd };
        self.fraction = 0.0;
        self.flat = false;
        self.epoch = None;
        if p.form == Form::Freebsd2011 {
            self.k = libm::cbrt(self.w_max * (1.0 - p.beta) / p.c);
            self.mean_rtt = if self.samples >= 8 { self.rtt_sum / u64::from(self.samples) } else { self.mean_rtt };
            self.epoch = Some(now);
        }
        (self.samples, self.rtt_sum) = (0, 0);
    }

    /// What is left of the window. The first loss of the 2011 form halves.
    fn kept(&self, p: &Params, bytes: u64) -> u64 {
        let first = p.form == Form::Freebsd2011 && self.w_max == 0.0;
        (bytes as f64 * if first { 0.5 } else { p.beta } + 0.5) as u64
    }
}

impl CongestionControl for Cubic {
    fn start_stream(&mut self, _ctx: &FlowContext, start: StreamStart) {
        self.window.start(start.cwnd, start.ssthresh);
    }

    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        self.window.timed_out = false;
        if let Some(rtt) = ack.rtt {
            self.rtt_sum = self.rtt_sum.saturating_add(rtt.0);
            self.samples = self.samples.saturating_add(1);
        }
        if !ack.may_grow {
            if p.form == Form::Rfc9438 {
                // Section 5.8: time in which the application limits is no time of the curve.
                self.epoch = self.epoch.map(|start| start + Duration(ack.now.0.saturating_sub(self.heard.0)));
            }
            self.heard = ack.now;
            return;
        }
        self.heard = ack.now;
        if self.window.in_slow_start() {
            self.window.slow_start(ctx, ack, p.abc_limit);
        } else if p.form == Form::Rfc9438 {
            self.avoid(ctx, p, ack);
        } else {
            self.avoid_2011(ctx, p, ack);
        }
    }

    fn on_loss(&mut self, ctx: &FlowContext, now: Time, loss: Loss, flight: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        // RFC 9438, section 4.6: of the flight; FreeBSD: of the window.
        let of = if p.form == Form::Rfc9438 { flight } else { u64::from(self.window.cwnd) };
        let kept = self.kept(p, of);
        if loss == Loss::Timeout {
            if !self.window.timed_out {
                self.remember(ctx, p, now);
            }
            self.flat = true;
            self.window.timeout(ctx, kept);
        } else {
            self.prior = self.segments(ctx);
            self.remember(ctx, p, now);
            self.window.reduce(ctx, kept);
        }
    }

    fn on_ecn(&mut self, ctx: &FlowContext, now: Time, flight: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        let kept = self.kept(p, if p.form == Form::Rfc9438 { flight } else { u64::from(self.window.cwnd) });
        self.prior = self.segments(ctx);
        self.remember(ctx, p, now);
        match p.form {
            Form::Rfc9438 => self.window.reduce_on_mark(ctx, kept),
            Form::Freebsd2011 => self.window.reduce(ctx, kept),
        }
    }

    fn on_recovered(&mut self, ctx: &FlowContext, now: Time, limit: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        let mut to = u64::from(self.window.ssthresh);
        if p.form == Form::Freebsd2011 {
            // The share of the maximum, also after the first loss that halved ssthresh; the curve begins here.
            to = (self.w_max * p.beta * f64::from(ctx.mtu) + 0.5) as u64;
            self.epoch = Some(now);
        }
        self.window.cwnd = clamped(to.max(u64::from(ctx.mtu)).min(limit));
    }

    fn on_idle(&mut self, ctx: &FlowContext, limit: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        self.window.cwnd = u64::from(self.window.cwnd).min(limit) as u32;
        if p.form == Form::Rfc9438 {
            // Section 5.8: time without sending is no time of the curve.
            self.epoch = None;
        }
    }

    fn undo_timeout(&mut self) {
        self.window.undo();
        self.epoch = None;
    }

    fn ssthresh(&self) -> u64 {
        u64::from(self.window.ssthresh)
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        Limits { cwnd: u64::from(self.window.cwnd), rate: ctx.line_rate }
    }
}

fn seconds(d: Duration) -> f64 {
    d.0 as f64 / S as f64
}

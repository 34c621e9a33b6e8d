//! CUBIC: the window is a cubic function of the time since the last reduction (RFC 9438). FreeBSD's form of 2011 is
//! [`super::cubic_freebsd`].
//!
//! In a data centre the cubic part hardly matters (from 100 segments back to 100 takes seconds): growth is the
//! friendly region's, a third to a half of a segment per round trip.

use super::window::{Window, clamped};
use super::{Algorithm, CongestionControl, FlowContext, Limits, Loss, Profile, StreamAck, StreamStart};
use crate::units::{Duration, S, Time};

/// Which text it follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// RFC 9438.
    Rfc9438,
    /// FreeBSD of 2011.
    Freebsd2011,
    /// The same, but that maximum and curve begin anew with a timeout as with any loss.
    Freebsd2011Anew,
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

impl Algorithm for Params {
    const PROFILE: Profile = Profile::TCP;
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

    /// `W_cubic(t)`, segments, `t` and `k` in seconds (RFC 9438, equation 1).
    pub(super) fn curve(&self, t: f64, k: f64, w_max: f64) -> f64 {
        let x = t - k;
        self.c * x * x * x + w_max
    }

    /// Segments per round trip by which a flow that keeps `beta` is as fast as one that halves (RFC 9438, section 4.3).
    pub(super) fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// A flow's state. Windows in segments where they are doubles.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    curve: Curve,
    /// That of before the last first timeout.
    before: Option<Box<Curve>>,
    /// The last ACK of the epoch.
    heard: Time,
    /// Part of a byte the window has grown by.
    fraction: f64,
}

/// What a timeout that proves needless gives back beside the window (section 4.9).
#[derive(Clone, Debug)]
struct Curve {
    /// Start of the curve; `None` until congestion avoidance begins.
    epoch: Option<Time>,
    w_max: f64,
    /// The window when ssthresh was last set (`cwnd_prior`, section 4.3), by a timeout too; 0 before the first time.
    prior: f64,
    /// Seconds from the epoch to `w_max`.
    k: f64,
    /// `W_est` (section 4.3).
    w_est: f64,
    /// The next epoch begins from where it is (after a timeout or slow start without a loss: section 4.8 and 4.10).
    flat: bool,
}

impl Cubic {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext) -> Self {
        Self {
            window: Window::new(ctx, false),
            curve: Curve { epoch: None, w_max: 0.0, prior: 0.0, k: 0.0, w_est: 0.0, flat: true },
            before: None,
            heard: Time(0),
            fraction: 0.0,
        }
    }

    fn segments(&self, ctx: &FlowContext) -> f64 {
        f64::from(self.window.cwnd) / f64::from(ctx.mtu)
    }

    /// Grows the window by so many segments.
    fn grow(&mut self, ctx: &FlowContext, segments: f64) {
        self.fraction += segments * f64::from(ctx.mtu);
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        self.window.cwnd = clamped(u64::from(self.window.cwnd) + whole);
    }

    /// Congestion avoidance (sections 4.2 to 4.5).
    fn avoid(&mut self, ctx: &FlowContext, p: &Params, ack: &StreamAck) {
        let cwnd = self.segments(ctx);
        let epoch = *self.curve.epoch.get_or_insert_with(|| {
            self.curve.w_est = cwnd;
            if self.curve.flat {
                (self.curve.w_max, self.curve.k) = (cwnd, 0.0);
            } else {
                // Equation 2. Below zero when the window is above the maximum already.
                self.curve.k = libm::cbrt((self.curve.w_max - cwnd) / p.c).max(0.0);
            }
            ack.now
        });
        let t = seconds(Duration(ack.now.0.saturating_sub(epoch.0)));
        let acked = ack.bytes as f64 / f64::from(ctx.mtu);
        // Section 4.3: 1 once the window of before is reached (`w_max` may be lower, by fast convergence).
        let alpha = if self.curve.w_est < self.curve.prior { p.alpha() } else { 1.0 };
        self.curve.w_est += alpha * acked / cwnd;
        if p.curve(t, self.curve.k, self.curve.w_max) < self.curve.w_est {
            if self.curve.w_est > cwnd {
                self.grow(ctx, self.curve.w_est - cwnd);
            }
            return;
        }
        // Section 4.2: at most half of the window more per round trip.
        let target = p.curve(t + seconds(ack.srtt), self.curve.k, self.curve.w_max).clamp(cwnd, 1.5 * cwnd);
        self.grow(ctx, (target - cwnd) / cwnd * acked);
    }

    /// A reduction: remembers the maximum; the curve goes from the next ACK on.
    fn remember(&mut self, ctx: &FlowContext, p: &Params) {
        let cwnd = self.segments(ctx);
        self.curve.w_max = if cwnd < self.curve.w_max { cwnd * p.fast_convergence } else { cwnd };
        self.fraction = 0.0;
        self.curve.flat = false;
        self.curve.epoch = None;
    }
}

/// What is left of the bytes in flight (section 4.6).
fn kept(p: &Params, flight: u64) -> u64 {
    (flight as f64 * p.beta + 0.5) as u64
}

impl CongestionControl for Cubic {
    fn start_stream(&mut self, _ctx: &FlowContext, start: StreamStart) {
        self.window.start(start.cwnd, start.ssthresh);
    }

    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        self.window.timed_out = false;
        if !ack.may_grow {
            // Section 5.8: time in which the application limits is no time of the curve.
            self.curve.epoch = self.curve.epoch.map(|start| start + Duration(ack.now.0.saturating_sub(self.heard.0)));
        } else if self.window.in_slow_start() {
            self.window.slow_start(ctx, ack, p.abc_limit);
        } else {
            self.avoid(ctx, p, ack);
        }
        self.heard = ack.now;
    }

    fn on_loss(&mut self, ctx: &FlowContext, _now: Time, loss: Loss, flight: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        if loss == Loss::Timeout {
            if !self.window.timed_out {
                self.before = Some(Box::new(self.curve.clone()));
                self.curve.prior = self.segments(ctx);
                self.remember(ctx, p);
            }
            self.curve.flat = true;
            self.window.timeout(ctx, kept(p, flight));
        } else {
            self.curve.prior = self.segments(ctx);
            self.remember(ctx, p);
            self.window.reduce(ctx, kept(p, flight));
        }
    }

    fn on_ecn(&mut self, ctx: &FlowContext, _now: Time, flight: u64) {
        let super::Params::Cubic(p) = &ctx.params else { return };
        self.curve.prior = self.segments(ctx);
        self.remember(ctx, p);
        self.window.reduce_on_mark(ctx, kept(p, flight));
    }

    fn on_recovered(&mut self, ctx: &FlowContext, _now: Time, limit: u64) {
        let to = u64::from(self.window.ssthresh).max(u64::from(ctx.mtu));
        self.window.cwnd = clamped(to.min(limit));
    }

    fn on_idle(&mut self, _ctx: &FlowContext, limit: u64) {
        self.window.idle(limit);
        // Section 5.8: time without sending is no time of the curve.
        self.curve.epoch = None;
    }

    fn undo_timeout(&mut self) {
        self.window.undo();
        if let Some(before) = self.before.take() {
            self.curve = *before;
        }
    }

    fn ssthresh(&self) -> u64 {
        u64::from(self.window.ssthresh)
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        Limits { cwnd: u64::from(self.window.cwnd), rate: ctx.line_rate }
    }
}

pub(super) fn seconds(d: Duration) -> f64 {
    d.0 as f64 / S as f64
}

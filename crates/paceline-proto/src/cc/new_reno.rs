//! `NewReno`: slow start, congestion avoidance, halving (RFC 5681, RFC 6582), with appropriate byte counting (RFC 3465).
//!
//! What to send again and when is the transport's business ([`crate::transport::tcp`]); this file is the window.

use super::window::Window;
use super::{Algorithm, CongestionControl, FlowContext, Limits, Loss, Profile, StreamAck, StreamStart};
use crate::units::Time;

/// What is halved on a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halving {
    /// The bytes in flight (RFC 5681, equation 4); on a mark the window (RFC 3168).
    Flight,
    /// The window, rounded down to whole segments (FreeBSD).
    WindowInSegments,
}

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Segments of slow-start growth per ACK, 1 and up. RFC 5681: 1; RFC 3465 and FreeBSD: 2.
    pub abc_limit: u32,
    /// What is halved.
    pub halving: Halving,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile::TCP;
}

impl Default for Params {
    fn default() -> Self {
        Self { abc_limit: 2, halving: Halving::Flight }
    }
}

/// Half of the window or of the flight, by the rule.
pub(super) fn halved(ctx: &FlowContext, rule: Halving, cwnd: u32, flight: u64) -> u64 {
    match rule {
        Halving::Flight => flight / 2,
        Halving::WindowInSegments => u64::from(cwnd / 2 / ctx.mtu * ctx.mtu),
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: Window,
}

impl NewReno {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext) -> Self {
        let freebsd = matches!(&ctx.params, super::Params::NewReno(p) if p.halving == Halving::WindowInSegments);
        Self { window: Window::new(ctx, freebsd) }
    }
}

impl CongestionControl for NewReno {
    fn start_stream(&mut self, _ctx: &FlowContext, start: StreamStart) {
        self.window.start(start.cwnd, start.ssthresh);
    }

    #[inline]
    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        let super::Params::NewReno(p) = &ctx.params else { return };
        self.window.timed_out = false;
        if !ack.may_grow {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(ctx, ack, p.abc_limit);
        } else {
            self.window.congestion_avoidance(ctx, ack.bytes, p.abc_limit);
        }
    }

    fn on_loss(&mut self, ctx: &FlowContext, _now: Time, loss: Loss, flight: u64) {
        let super::Params::NewReno(p) = &ctx.params else { return };
        let half = halved(ctx, p.halving, self.window.cwnd, flight);
        match loss {
            Loss::Timeout => self.window.timeout(ctx, half),
            Loss::DupAcks | Loss::Nack => self.window.reduce(ctx, half),
        }
    }

    fn on_ecn(&mut self, ctx: &FlowContext, _now: Time, _flight: u64) {
        let super::Params::NewReno(p) = &ctx.params else { return };
        let half = halved(ctx, p.halving, self.window.cwnd, u64::from(self.window.cwnd));
        match p.halving {
            Halving::Flight => self.window.reduce_on_mark(ctx, half),
            Halving::WindowInSegments => self.window.reduce(ctx, half),
        }
    }

    fn on_recovered(&mut self, _ctx: &FlowContext, _now: Time, limit: u64) {
        self.window.cwnd = u64::from(self.window.ssthresh).min(limit) as u32;
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

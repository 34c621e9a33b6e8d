//! Vegas: keeps a few segments queued, judged from the round-trip time (Brakmo and Peterson, JSAC 1995).
//!
//! Once per round trip `diff = expected - actual` in segments: the window the round began with, less what was sent in it
//! scaled by `base RTT / RTT`. That many segments of the flow stand in queues.
//!
//! *Two variants:* with `gamma` the paper's (slow start ends when diff exceeds it); without, FreeBSD's of 2010 (slow start
//! only every other round trip, ended by a window below ssthresh). *Deviation:* the paper's earlier retransmission
//! after the first or second duplicate ACK is not modelled, nor is it in the common kernels. Losses and marks as in
//! `NewReno`.

use super::new_reno::{Halving, halved};
use super::window::{Window, clamped};
use super::{CongestionControl, FlowContext, Limits, Loss, StreamAck, StreamStart};
use crate::units::{Duration, Time};

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The window grows while fewer segments are queued. FreeBSD: 1; the paper: 2.
    pub alpha: u32,
    /// The window shrinks while more segments are queued, at least `alpha`. FreeBSD: 3; the paper: 4.
    pub beta: u32,
    /// Slow start ends when more segments are queued; the paper's 1. `None`: FreeBSD's rule.
    pub gamma: Option<u32>,
    /// Segments of slow-start growth per ACK, 1 and up.
    pub abc_limit: u32,
    /// What a loss halves.
    pub halving: Halving,
}

impl Default for Params {
    fn default() -> Self {
        Self { alpha: 1, beta: 3, gamma: None, abc_limit: 2, halving: Halving::WindowInSegments }
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    /// Lowest round-trip time seen, ps.
    base_rtt: Duration,
    /// The round trip ends when this position is acknowledged; what was sent then; 0 before the first.
    round_end: u64,
    /// Window when it began.
    round_cwnd: u32,
    /// FreeBSD: slow start in this round trip.
    grows: bool,
}

impl Vegas {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext) -> Self {
        Self { window: Window::new(ctx), base_rtt: Duration(u64::MAX), round_end: 0, round_cwnd: 0, grows: true }
    }

    /// A round trip of length `rtt` has ended in which `sent` bytes were sent.
    fn end_round(&mut self, ctx: &FlowContext, p: &Params, sent: u64, rtt: Duration) {
        let actual = u128::from(sent) * u128::from(self.base_rtt.0) / u128::from(rtt.0.max(1));
        let queued = i128::from(self.round_cwnd) - actual as i128;
        let segments = |n: u32| i128::from(n) * i128::from(ctx.mtu);
        let w = &mut self.window;
        let less = |w: &Window| w.cwnd.saturating_sub(ctx.mtu).max(2 * ctx.mtu);
        match p.gamma {
            None if queued < segments(p.alpha) => {
                if w.in_slow_start() {
                    self.grows = !self.grows;
                } else {
                    w.cwnd = clamped(u64::from(w.cwnd) + u64::from(ctx.mtu));
                }
            }
            None if queued > segments(p.beta) => {
                w.cwnd = less(w);
                if w.in_slow_start() {
                    w.ssthresh = w.cwnd;
                }
            }
            Some(gamma) if w.in_slow_start() && queued > segments(gamma) => {
                // The window that would just fill the path, and one segment.
                let target = clamped(actual as u64 + u64::from(ctx.mtu));
                w.cwnd = w.cwnd.min(target).max(2 * ctx.mtu);
                w.ssthresh = w.ssthresh.min(w.cwnd);
            }
            Some(_) if w.in_slow_start() => {}
            Some(_) if queued > segments(p.beta) => {
                w.cwnd = less(w);
                w.ssthresh = w.ssthresh.min(w.cwnd);
            }
            Some(_) if queued < segments(p.alpha) => {
                w.cwnd = clamped(u64::from(w.cwnd) + u64::from(ctx.mtu));
            }
            _ => {}
        }
    }
}

impl CongestionControl for Vegas {
    fn start_stream(&mut self, _ctx: &FlowContext, start: StreamStart) {
        self.window.start(start.cwnd, start.ssthresh);
    }

    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        let super::Params::Vegas(p) = &ctx.params else { return };
        self.window.timed_out = false;
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
        }
        // The byte that opened the round is acknowledged; without a sample the round is longer.
        if ack.una > self.round_end
            && let Some(rtt) = ack.rtt
        {
            if self.round_end > 0 && ack.may_grow {
                self.end_round(ctx, p, ack.nxt - self.round_end, rtt);
            }
            self.round_end = ack.nxt;
            self.round_cwnd = self.window.cwnd;
        }
        if ack.may_grow && self.window.in_slow_start() && self.grows {
            self.window.slow_start(ctx, ack, p.abc_limit);
        }
    }

    fn on_loss(&mut self, ctx: &FlowContext, _now: Time, loss: Loss, flight: u64) {
        let super::Params::Vegas(p) = &ctx.params else { return };
        let half = halved(ctx, p.halving, self.window.cwnd, flight);
        match loss {
            Loss::Timeout => self.window.timeout(ctx, half),
            Loss::DupAcks | Loss::Nack => self.window.reduce(ctx, half),
        }
        self.grows = true;
    }

    fn on_ecn(&mut self, ctx: &FlowContext, _now: Time, _flight: u64) {
        let super::Params::Vegas(p) = &ctx.params else { return };
        let half = halved(ctx, p.halving, self.window.cwnd, u64::from(self.window.cwnd));
        self.window.reduce(ctx, half);
    }

    fn on_recovered(&mut self, _ctx: &FlowContext, _now: Time, limit: u64) {
        self.window.cwnd = u64::from(self.window.ssthresh).min(limit) as u32;
        // The round was one of retransmissions: start a new one.
        self.round_end = 0;
    }

    fn on_idle(&mut self, _ctx: &FlowContext, limit: u64) {
        self.window.cwnd = u64::from(self.window.cwnd).min(limit) as u32;
        self.round_end = 0;
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

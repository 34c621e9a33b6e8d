//! Vegas: keeps a few segments queued, judged from the round-trip time (Brakmo and Peterson, JSAC 1995).
//!
//! Once per round trip one segment is timed. When it is acknowledged, `diff = expected - actual` in segments: the window, less
//! what was sent since that segment, itself included, scaled by `base RTT / RTT`. That many segments of the flow stand in queues,
//! or wait at the receiver for a delayed ACK. The window is that of the moment, in the paper (the current one) as in FreeBSD,
//! whose `marked_snd_cwnd` is noted when the ACK of the marked segment arrives, not when that left.
//!
//! *Two variants of slow start:* with `gamma` it ends when diff exceeds that, and doubles every round trip, as in Linux and ns-3
//! (the paper, section 4.3, lets it double every other one); without, FreeBSD's of 2010 (`cc_vegas` over `h_ertt`): growth is
//! switched off and on from one round trip to the next while little is queued, until a window above beta ends it.
//!
//! *Two arithmetics:* diff is exact, so that alpha to beta segments do stand in the queue; or FreeBSD's: times in ticks, one more
//! than have passed, rates in whole bytes per tick, diff in whole segments. One byte per tick is many segments where a round trip
//! has many ticks: at 30 ms and a tick of 1 us diff is 0 or some thirty segments, whatever alpha and beta.
//!
//! *Deviations:* the paper's earlier retransmission after the first or second duplicate ACK is not modelled, nor is it in the common
//! kernels. Losses and marks as in `NewReno`.
//!
//! *Timing:* with `gamma` a new segment is timed as for RFC 6298 without timestamps, none that is sent again, and the base RTT is the lowest
//! of those. Without, it is done as in FreeBSD ([`super::Params::marks_segments`]), segments sent again included. *Deviation:*
//! FreeBSD also lets ACKs in fast recovery switch its growth or add to the inflated window; here these change nothing.
//!
//! As in FreeBSD, whole segments can hold a window where it began: with ACKs for two segments each one of three waits for the next,
//! which is a diff of 1, neither below alpha = 1 nor above beta.

use super::new_reno::{Halving, halved};
use super::window::{Window, clamped};
use super::{Algorithm, CongestionControl, FlowContext, Limits, Loss, Profile, StreamAck, StreamStart, Timing};
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
    /// diff in FreeBSD's whole bytes per tick and whole segments, instead of exactly.
    pub coarse: bool,
    /// Segments of slow-start growth per ACK, 1 and up.
    pub abc_limit: u32,
    /// What a loss halves.
    pub halving: Halving,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile::TCP;
}

impl Default for Params {
    fn default() -> Self {
        Self { alpha: 1, beta: 3, gamma: None, coarse: false, abc_limit: 2, halving: Halving::WindowInSegments }
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    /// Lowest round-trip time, ps.
    base_rtt: Duration,
    /// FreeBSD: growth as `NewReno`'s in this round trip.
    grows: bool,
}

impl Vegas {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext) -> Self {
        // Slow start also at ssthresh belongs to FreeBSD's rule. With gamma it would undo every step down: the window that has come
        // down to ssthresh, and takes that along, would grow by the same ACK's bytes.
        let rule = |p: &Params| p.gamma.is_none() && p.halving == Halving::WindowInSegments;
        let freebsd = matches!(&ctx.params, super::Params::Vegas(p) if rule(p));
        Self { window: Window::new(ctx, freebsd), base_rtt: Duration(u64::MAX), grows: true }
    }

    /// The timed segment is acknowledged.
    fn end_round(&mut self, ctx: &FlowContext, p: &Params, ack: &StreamAck, timing: Timing) {
        let actual = u128::from(timing.sent) * u128::from(self.base_rtt.0) / u128::from(timing.rtt.0.max(1));
        let queued = if p.coarse {
            self.whole_segments(ctx, timing) * i128::from(ctx.mtu)
        } else {
            i128::from(self.window.cwnd) - actual as i128
        };
        let segments = |n: u32| i128::from(n) * i128::from(ctx.mtu);
        // The paper leaves equality open. A window of three segments of which one always waits for a delayed ACK has a diff of
        // exactly 1: with alpha = 1 it would be the last. FreeBSD compares whole segments and grows below.
        let few = if p.coarse { queued < segments(p.alpha) } else { queued <= segments(p.alpha) };
        let w = &mut self.window;
        let less = |w: &Window| w.cwnd.saturating_sub(ctx.mtu).max(2 * ctx.mtu);
        match p.gamma {
            None if few => {
                if w.in_slow_start() {
                    self.grows = !self.grows;
                } else {
                    self.grows = false;
                    w.cwnd = clamped(u64::from(w.cwnd) + u64::from(ctx.mtu));
                }
            }
            None if queued > segments(p.beta) => {
                if !ack.marked {
                    w.cwnd = less(w);
                    // Leaves slow start.
                    w.ssthresh = w.ssthresh.min(w.cwnd);
                }
                self.grows = false;
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
            Some(_) if few => {
                w.cwnd = clamped(u64::from(w.cwnd) + u64::from(ctx.mtu));
            }
            _ => {}
        }
    }

    /// diff as FreeBSD computes it.
    fn whole_segments(&self, ctx: &FlowContext, timing: Timing) -> i128 {
        let ticks = |d: Duration| i128::from(d.0 / timing.tick.0.max(1)) + 1;
        let base = ticks(self.base_rtt);
        let (expected, actual) = (i128::from(self.window.cwnd) / base, i128::from(timing.sent) / ticks(timing.rtt));
        (expected - actual) * base / i128::from(ctx.mtu.max(1))
    }
}

impl CongestionControl for Vegas {
    fn start_stream(&mut self, _ctx: &FlowContext, start: StreamStart) {
        self.window.start(start.cwnd, start.ssthresh);
    }

    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        let super::Params::Vegas(p) = &ctx.params else { return };
        self.window.timed_out = false;
        if let Some(timing) = ack.timed {
            self.base_rtt = self.base_rtt.min(timing.lowest);
            if ack.may_grow || p.gamma.is_none() {
                self.end_round(ctx, p, ack, timing);
            }
        }
        if !ack.may_grow || !self.grows {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(ctx, ack, p.abc_limit);
        } else if p.gamma.is_none() {
            self.window.congestion_avoidance(ctx, ack.bytes, p.abc_limit);
        }
    }

    fn on_loss(&mut self, ctx: &FlowContext, _now: Time, loss: Loss, flight: u64) {
        let super::Params::Vegas(p) = &ctx.params else { return };
        let half = halved(ctx, p.halving, self.window.cwnd, flight);
        match loss {
            Loss::Timeout => self.window.timeout(ctx, half),
            Loss::DupAcks | Loss::Nack => {
                self.window.reduce(ctx, half);
                self.grows = p.gamma.is_some();
            }
        }
    }

    fn on_ecn(&mut self, ctx: &FlowContext, _now: Time, _flight: u64) {
        let super::Params::Vegas(p) = &ctx.params else { return };
        let half = halved(ctx, p.halving, self.window.cwnd, u64::from(self.window.cwnd));
        match p.halving {
            Halving::Flight => self.window.reduce_on_mark(ctx, half),
            Halving::WindowInSegments => self.window.reduce(ctx, half),
        }
        self.grows = p.gamma.is_some();
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

//! The congestion window that `NewReno`, CUBIC and Vegas share (RFC 5681, RFC 3465).

use super::{FlowContext, StreamAck};

/// No slow-start threshold yet.
pub const UNLIMITED: u32 = u32::MAX;

/// Largest window: that of RFC 7323, section 2.3.
const MAX: u32 = 1 << 30;

/// Window and threshold, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start below this.
    pub ssthresh: u32,
    /// Bytes acknowledged towards the next segment of growth.
    counted: u32,
    /// Both as they were before the last first timeout.
    before: (u32, u32),
    /// A timeout, and nothing new acknowledged since.
    pub timed_out: bool,
    /// The slow start that a timeout has begun.
    after_timeout: bool,
    /// FreeBSD's: slow start also at ssthresh, every timeout halves, one ACK counts for no more than in slow start, and a window
    /// of bytes acknowledged is counted from slow start's end.
    freebsd: bool,
}

impl Window {
    /// One segment, until [`Window::start`]; `freebsd`: with that kernel's rules where they differ.
    pub fn new(ctx: &FlowContext, freebsd: bool) -> Self {
        let before = (ctx.mtu, UNLIMITED);
        Self { cwnd: ctx.mtu, ssthresh: UNLIMITED, counted: 0, before, timed_out: false, after_timeout: false, freebsd }
    }

    /// The connection is open.
    pub fn start(&mut self, cwnd: u64, ssthresh: Option<u64>) {
        self.cwnd = clamped(cwnd);
        self.ssthresh = ssthresh.map_or(UNLIMITED, clamped);
    }

    /// Whether the window grows exponentially. RFC 5681, section 3.1, leaves equality open; FreeBSD's controllers compare with `<=`,
    /// so that their window grows by the bytes of one more ACK after a reduction.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh || self.freebsd && self.cwnd == self.ssthresh
    }

    /// Slow start: the bytes acknowledged, at most `limit` segments of them per ACK, and one in the whole slow start after
    /// a timeout (RFC 3465, section 2.2); FreeBSD's only until all has been sent again.
    #[inline]
    pub fn slow_start(&mut self, ctx: &FlowContext, ack: &StreamAck, limit: u32) {
        let one = if self.freebsd { ack.resending } else { self.after_timeout };
        let limit = if one { 1 } else { limit };
        let step = ack.bytes.min(u64::from(limit) * u64::from(ctx.mtu));
        if self.freebsd {
            self.counted = 0;
        }
        self.cwnd = clamped(u64::from(self.cwnd) + step);
        self.after_timeout &= self.in_slow_start();
    }

    /// Nothing was sent for long: the window is at most `limit` (RFC 5681, section 4.1).
    pub fn idle(&mut self, limit: u64) {
        self.cwnd = u64::from(self.cwnd).min(limit) as u32;
        self.after_timeout = false;
    }

    /// Congestion avoidance: one segment per window of bytes acknowledged (RFC 3465, section 2.1); FreeBSD counts at most `limit`
    /// segments for one ACK.
    #[inline]
    pub fn congestion_avoidance(&mut self, ctx: &FlowContext, bytes: u64, limit: u32) {
        if self.is_acknowledged(ctx, bytes, limit) {
            self.cwnd = clamped(u64::from(self.cwnd) + u64::from(ctx.mtu));
        }
    }

    /// Whether `bytes` more make a window of them that has been acknowledged; the next is counted from there on.
    #[inline]
    pub fn is_acknowledged(&mut self, ctx: &FlowContext, bytes: u64, limit: u32) -> bool {
        let most = if self.freebsd { u64::from(limit) * u64::from(ctx.mtu) } else { u64::MAX };
        self.counted = clamped(u64::from(self.counted) + bytes.min(most));
        let whole = self.counted >= self.cwnd;
        if whole {
            self.counted -= self.cwnd;
        }
        whole
    }

    /// A loss or mark: both become `to`, at least two segments (RFC 5681, equation 4).
    pub fn reduce(&mut self, ctx: &FlowContext, to: u64) {
        self.ssthresh = clamped(to.max(2 * u64::from(ctx.mtu)));
        self.cwnd = self.ssthresh;
        self.counted = 0;
        self.after_timeout = false;
    }

    /// A mark, for a controller by the RFCs: the window may become one segment, ssthresh two (RFC 3168, section 6.1.2; RFC 9438, section 4.6).
    pub fn reduce_on_mark(&mut self, ctx: &FlowContext, to: u64) {
        self.reduce(ctx, to);
        self.cwnd = clamped(to.max(u64::from(ctx.mtu)));
    }

    /// A timeout: one segment. ssthresh becomes `to`, but stays when the same segment timed out before (RFC 5681,
    /// section 3.1); FreeBSD's then is half of that one segment, so two.
    pub fn timeout(&mut self, ctx: &FlowContext, to: u64) {
        if !self.timed_out {
            self.before = (self.cwnd, self.ssthresh);
        }
        if !self.timed_out || self.freebsd {
            self.reduce(ctx, to);
        }
        (self.timed_out, self.after_timeout) = (true, true);
        self.counted = 0;
        self.cwnd = ctx.mtu;
    }

    /// The last first timeout was none.
    pub fn undo(&mut self) {
        (self.cwnd, self.ssthresh) = self.before;
        self.after_timeout = false;
    }
}

/// A window in range.
pub fn clamped(bytes: u64) -> u32 {
    bytes.min(u64::from(MAX)) as u32
}

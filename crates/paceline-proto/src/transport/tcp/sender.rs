//! The sending half: positions in the stream, the application's messages, the peer's window.

use std::collections::VecDeque;

use crate::units::Time;

use super::marked::Marked;
use super::params::Params;
use super::segment::{ISS, Segment};

/// A segment, sent once, that is being timed: one per round trip.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// First position of it.
    pub start: u64,
    /// One past its last position.
    pub end: u64,
    /// When it left.
    pub sent: Time,
    /// The segment after it: one past its last position, and when it left.
    pub next: Option<(u64, Time)>,
}

/// Positions and windows of the sending half.
#[derive(Clone, Debug)]
pub struct Sender {
    /// First position not acknowledged.
    pub una: u64,
    /// Next position to send; behind `max` while what a timeout gave up is sent again.
    pub nxt: u64,
    /// One past the highest position sent.
    pub max: u64,
    /// End of the application's data.
    pub end: u64,
    /// The application has closed: a FIN follows at `end`.
    pub fin: bool,
    /// Ends of messages not yet acknowledged.
    ends: VecDeque<u64>,
    /// Window the peer announced, bytes from `una`, and the largest so far.
    pub wnd: u64,
    pub max_wnd: u64,
    /// The segment that announced it: its position and acknowledgement (`SND.WL1`, `SND.WL2`).
    wl: (u64, u64),
    /// Socket buffer, bytes.
    pub buffer: u64,
    /// When data last left.
    pub last_sent: Time,
    /// When a segment last came.
    pub last_heard: Time,
    /// The one segment being timed.
    pub timed: Option<Timed>,
    /// What FreeBSD's Vegas has timed; empty for all others.
    pub marked: Marked,
}

impl Sender {
    /// Before the SYN.
    pub fn new(params: &Params) -> Self {
        Self {
            una: ISS,
            nxt: ISS,
            max: ISS,
            end: ISS + 1,
            fin: false,
            ends: VecDeque::new(),
            wnd: 0,
            max_wnd: 0,
            wl: (0, 0),
            buffer: params.send_buffer.initial,
            last_sent: Time(0),
            last_heard: Time(0),
            timed: None,
            marked: Marked::default(),
        }
    }

    /// The application writes a message.
    pub fn write(&mut self, bytes: u64) {
        self.end += bytes;
        self.ends.push_back(self.end);
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.max - self.una
    }

    /// Whether the FIN is acknowledged.
    pub fn fin_acked(&self) -> bool {
        self.fin && self.una > self.end
    }

    /// Whether anything is still to be sent for the first time.
    #[inline]
    pub fn has_new(&self) -> bool {
        self.max < self.end + u64::from(self.fin)
    }

    /// Whether a message ends in `(start, end]`.
    #[inline]
    pub fn message_ends_in(&self, start: u64, end: u64) -> bool {
        match self.ends.front() {
            None => false,
            Some(first) if end < *first => false,
            Some(_) => self.ends.get(self.ends.partition_point(|e| *e <= start)).is_some_and(|e| *e <= end),
        }
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        while self.ends.front().is_some_and(|end| *end <= ack) {
            self.ends.pop_front();
        }
    }

    /// Takes over the announced window unless the segment is older than the last that did (RFC 9293, section 3.10.7.4).
    #[inline]
    pub fn update_window(&mut self, position: u64, ack: u64, segment: &Segment) {
        if (position, ack) >= self.wl {
            self.wl = (position, ack);
            self.wnd = u64::from(segment.window);
            self.max_wnd = self.max_wnd.max(self.wnd);
        }
    }

    /// Automatic growth (FreeBSD): the buffer, nearly full, is what limits, and the windows would take more.
    #[inline]
    pub fn grow_buffer(&mut self, cwnd: u64, params: &Params) {
        let limits = &params.send_buffer;
        if self.buffer >= limits.max || self.wnd / 4 * 5 < self.buffer {
            return;
        }
        let queued = (self.end - self.una.min(self.end)).min(self.buffer);
        if queued >= self.buffer / 8 * 7 && self.wnd.min(cwnd) >= queued - self.flight().min(queued) {
            self.buffer = (self.buffer + limits.step).min(limits.max);
        }
    }
}

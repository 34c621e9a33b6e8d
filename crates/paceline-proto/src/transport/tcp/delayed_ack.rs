//! When an acknowledgement leaves (RFC 5681, section 4.2).

use crate::units::Time;

use super::params::Params;

/// The acknowledgement owed to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DelayedAck {
    /// Segments in order since the last one.
    segments: u32,
    /// It is to leave now.
    due: bool,
    /// Latest time for it; `None` when nothing is owed.
    deadline: Option<Time>,
}

impl DelayedAck {
    /// A segment came in order: acknowledged with the n-th, with the end of a message if so set, or when the timer says.
    #[inline]
    pub fn on_segment(&mut self, now: Time, push: bool, params: &Params) {
        self.segments += 1;
        if self.segments >= params.delayed_ack.segments || push && params.delayed_ack.push {
            self.due = true;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + params.delayed_ack.timer);
        }
    }

    /// An acknowledgement must leave at once.
    #[inline]
    pub fn demand(&mut self) {
        self.due = true;
    }

    /// What is owed, if anything, leaves at once: the timer ran out, or a poll batch ended.
    pub fn flush(&mut self) {
        self.due |= self.segments > 0;
    }

    /// Whether it is to leave now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// When [`DelayedAck::flush`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.due { None } else { self.deadline }
    }

    /// One has left.
    #[inline]
    pub fn settle(&mut self) {
        *self = Self::default();
    }
}

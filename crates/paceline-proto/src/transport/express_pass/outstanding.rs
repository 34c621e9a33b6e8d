//! Priority queueing: which packets are on their way, and which of them have waited too long.
//!
//! A timer runs per packet from its sending, as packets wait in low-priority queues for any length of time. Each class has
//! one timeout, so each keeps its packets in order of sending and only the first can be due.

use std::collections::VecDeque;

use super::{later, params::Params};
use crate::transport::packet_set::{PacketSet, Received};
use crate::units::Time;

/// Packets on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    acked: Received,
    unscheduled: VecDeque<(u32, Time)>,
    scheduled: VecDeque<(u32, Time)>,
    /// To be sent again as unscheduled packets.
    pub(super) again: PacketSet,
}

impl Outstanding {
    #[inline]
    pub(super) fn sent(&mut self, seq: u32, now: Time, scheduled: bool) {
        if scheduled { self.scheduled.push_back((seq, now)) } else { self.unscheduled.push_back((seq, now)) }
    }

    /// A packet has arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, seq: u32) {
        self.acked.insert(seq);
        self.again.remove(seq);
        for queue in [&mut self.unscheduled, &mut self.scheduled] {
            while queue.front().is_some_and(|(seq, _)| self.acked.contains(*seq)) {
                queue.pop_front();
            }
        }
    }

    pub(super) fn is_acked(&self, seq: u32) -> bool {
        self.acked.contains(seq)
    }

    pub(super) fn acked(&self) -> u32 {
        self.acked.count()
    }

    /// A packet due at `now`, and whether it was a scheduled one. It is forgotten.
    pub(super) fn pop_due(&mut self, now: Time, p: &Params) -> Option<(u32, bool)> {
        for scheduled in [false, true] {
            let (queue, rto) = if scheduled {
                (&mut self.scheduled, p.rto_scheduled)
            } else {
                (&mut self.unscheduled, p.rto_unscheduled)
            };
            while let Some(&(seq, at)) = queue.front() {
                let acked = self.acked.contains(seq);
                if !acked && later(at, rto) > now {
                    break;
                }
                queue.pop_front();
                if !acked {
                    return Some((seq, scheduled));
                }
            }
        }
        None
    }

    /// When the next is due.
    #[inline]
    pub(super) fn next_timeout(&self, p: &Params) -> Time {
        let due = |queue: &VecDeque<(u32, Time)>, rto| queue.front().map_or(Time::NEVER, |(_, at)| later(*at, rto));
        due(&self.unscheduled, p.rto_unscheduled).min(due(&self.scheduled, p.rto_scheduled))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

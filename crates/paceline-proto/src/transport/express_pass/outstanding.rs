//! Priority queueing: which packets are on their way, and which of them have waited too long.
//!
//! A timer runs per packet from its sending, as packets wait in low-priority queues for any length of time. Each class has
//! one timeout, so in each only the packet sent longest ago can be due.

use super::{later, params::Params};
use crate::transport::in_flight::InFlight;
use crate::transport::packet_set::PacketSet;
use crate::units::Time;

/// Packets on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    unscheduled: InFlight,
    scheduled: InFlight,
    /// To be sent again as unscheduled packets.
    pub(super) again: PacketSet,
}

impl Outstanding {
    #[inline]
    pub(super) fn sent(&mut self, seq: u32, now: Time, scheduled: bool) {
        if scheduled { &mut self.scheduled } else { &mut self.unscheduled }.insert(seq, now);
    }

    /// A packet has arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, seq: u32) {
        self.unscheduled.remove(seq);
        self.scheduled.remove(seq);
        self.again.remove(seq);
    }

    /// A packet due at `now`, and whether it was a scheduled one. It is forgotten.
    pub(super) fn pop_due(&mut self, now: Time, p: &Params) -> Option<(u32, bool)> {
        [(&mut self.unscheduled, p.rto_unscheduled, false), (&mut self.scheduled, p.rto_scheduled, true)]
            .into_iter()
            .find_map(|(packets, rto, scheduled)| {
                let (seq, _) = packets.oldest().filter(|(_, at)| later(*at, rto) <= now)?;
                packets.remove(seq);
                Some((seq, scheduled))
            })
    }

    /// When the next is due.
    #[inline]
    pub(super) fn next_timeout(&self, p: &Params) -> Time {
        let due = |packets: &InFlight, rto| packets.oldest().map_or(Time::NEVER, |(_, at)| later(at, rto));
        due(&self.unscheduled, p.rto_unscheduled).min(due(&self.scheduled, p.rto_scheduled))
    }

    pub(super) fn clear(&mut self) {
        self.unscheduled.clear();
        self.scheduled.clear();
        self.again.clear();
    }
}

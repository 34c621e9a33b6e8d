//! NDP: a first window at line rate, switches that trim instead of dropping, and receivers that pull the rest.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance", SIGCOMM
//! 2017, its simulator and the maintained fork htsim (proactive facts, section 3); with Aeolus' policy for the first round
//! trip, sections 4.4, 4.5 and 9.4 of the facts. The switch is in [`crate::port::trimming`], the order of paths in [`paths`].
//!
//! *Deviations.* Repairs leave in order of packet number, not of their NACKs; a returned packet has no place before them.
//! Messages of one host share its line in turn, packet by packet, also in their first windows. Every packet carries the
//! message's length, not only those of the first window. A trimmed header of a packet that had arrived is acknowledged.
//! A pull that overtakes its own answer, as it may where paths are sprayed, is kept until that comes: htsim's sender ignores it, so that
//! the packet of a NACK behind it waits for the timeout.
//! A sender that hears nothing for a timeout sends one packet unasked, however many have timed out: it is how lost pulls are made up
//! for; the timeout works also with return to sender, and is not adapted to the round trip. Whether a returned packet's path is to blame
//! follows from tallies that are halved, not from a ring of answers. Over Aeolus data are one queue, but answers and pulls keep their class above
//! it, and an ACK condemns no earlier packet, as paths are sprayed: only the probe's answer does. What comes for a message that is complete is answered by
//! [`Kind::Done`]: its ACKs may all be lost. The receiver has no preference among messages, and pulls them in order of
//! their senders, not of flows' numbers. See also [`crate::port::trimming`] and [`paths`].

pub mod params;
pub mod paths;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::message::{Counters, End, Endpoint, Header, Kind, Message, Outcome, PULLS, TO_SENDER};
use crate::units::Time;
pub use params::Params;
use receiver::Receivers;
use sender::Senders;

/// A host's NDP.
#[derive(Clone, Debug)]
pub struct Host {
    params: Params,
    /// Names the host's random draws.
    key: u64,
    senders: Senders,
    receivers: Receivers,
    /// Answers and pulls: they go before data.
    control: VecDeque<Header>,
    counters: Counters,
}

impl Host {
    /// A host without messages. `key`: a random word of its own, see [`rng`](crate::rng).
    pub fn new(params: Params, key: u64) -> Self {
        Self {
            params,
            key,
            senders: Senders::default(),
            receivers: Receivers::default(),
            control: VecDeque::new(),
            counters: Counters::default(),
        }
    }
}

impl Endpoint for Host {
    fn start(&mut self, now: Time, slot: u32, message: Message) {
        self.senders.start(&self.params, self.key, now, slot, message);
    }

    fn on_packet(&mut self, now: Time, header: &Header) -> Outcome {
        if header.is(TO_SENDER) {
            let finished = self.senders.on_packet(&self.params, now, header, &mut self.counters);
            return Outcome { fresh: 0, end: if finished { End::Finished } else { End::None } };
        }
        match header.kind {
            Kind::Data | Kind::Probe => {
                self.receivers.on_packet(&self.params, now, header, &mut self.control, &mut self.counters)
            }
            _ => Outcome::default(),
        }
    }

    fn on_late(&mut self, kind: Kind, flags: u8) {
        self.counters.wasted_permits += u64::from(kind == Kind::Pull || flags & PULLS != 0);
    }

    fn forget(&mut self, slot: u32) {
        self.receivers.forget(slot);
        self.control.retain(|h| h.flow != slot || !h.is(TO_SENDER));
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Header> {
        self.control.pop_front().or_else(|| self.senders.poll(&self.params, now, &mut self.counters))
    }

    #[inline]
    fn has_more(&self) -> bool {
        !self.control.is_empty() || self.senders.has_any()
    }

    fn next_timeout(&self) -> Time {
        self.senders.timers.next().min(self.receivers.next_timeout(&self.params))
    }

    fn on_timeout(&mut self, now: Time) {
        self.receivers.on_timeout(&self.params, now, &mut self.control, &mut self.counters);
        self.senders.on_timeout(&self.params, now, &mut self.counters);
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

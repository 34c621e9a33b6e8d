//! Homa: short messages are sent at once, long ones in the order and at the pace their receiver grants, in eight priorities.
//!
//! Source: Montazeri et al., SIGCOMM 2018, as in the authors' simulator and the Homa RFC (proactive facts, section 2);
//! with Aeolus' policy for the first round trip, sections 4.4, 4.5 and 9.4 of the facts. The split of the priorities is in
//! [`cutoffs`].
//!
//! *Deviations.* Lengths, windows and ranks count packets, not bytes, and all packets carry the same payload. Messages are
//! one-way: the receiver confirms the whole message (DONE), the sender asks for that if it does not come (NEED ACK, as the RFC's
//! packets of these names). Nobody gives up. Grants and RESENDs are counters and ranges, so that the next grant makes up
//! for a lost one; a RESEND's data has the highest scheduled priority. The authors' option to overcommit more while the
//! downlink idles is left out. A BUSY forgets the RESEND it answers; over Aeolus it also says that the
//! grants outstanding are held, not lost. A scheduled packet has the priority of the latest grant, not of its own. A grant restarts the receiver's wait for a RESEND, as a new packet or BUSY does. Over Aeolus an ACK condemns no earlier packet, as paths may be
//! sprayed: only the probe's answer does; and what a RESEND asks for is granted as well, as it may be lost again. See also [`cutoffs`].

pub mod cutoffs;
pub mod params;
mod ranking;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::message::{Counters, End, Endpoint, Header, Kind, Message, Outcome, TO_SENDER};
use crate::units::Time;
pub use params::Params;
use receiver::Receivers;
use sender::Senders;

/// A host's Homa.
#[derive(Clone, Debug)]
pub struct Host {
    params: Params,
    senders: Senders,
    receivers: Receivers,
    /// Grants and other control packets: they go before data.
    control: VecDeque<Header>,
    counters: Counters,
}

impl Host {
    /// A host without messages.
    pub fn new(params: Params) -> Self {
        Self {
            receivers: Receivers::new(&params),
            params,
            senders: Senders::default(),
            control: VecDeque::new(),
            counters: Counters::default(),
        }
    }
}

impl Endpoint for Host {
    fn start(&mut self, now: Time, slot: u32, message: Message) {
        self.senders.start(&self.params, now, slot, message);
    }

    fn on_packet(&mut self, now: Time, header: &Header) -> Outcome {
        let (control, counters) = (&mut self.control, &mut self.counters);
        if header.is(TO_SENDER) {
            let finished = self.senders.on_packet(&self.params, now, header, control, counters);
            if finished {
                // The slot may be another message's by the time these would leave.
                self.control.retain(|h| h.flow != header.flow || h.is(TO_SENDER));
            }
            return Outcome { fresh: 0, end: if finished { End::Finished } else { End::None } };
        }
        match header.kind {
            Kind::Data | Kind::Probe | Kind::Busy | Kind::NeedAck => {
                self.receivers.on_packet(&self.params, now, header, control, counters)
            }
            _ => Outcome::default(),
        }
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
        self.senders.timers.next().min(self.receivers.next_timeout())
    }

    fn on_timeout(&mut self, now: Time) {
        let (control, counters) = (&mut self.control, &mut self.counters);
        self.receivers.on_timeout(&self.params, now, control, counters);
        self.senders.on_timeout(&self.params, now, control, counters);
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

//! All of a host's ExpressPass as one endpoint: its flows' halves, the queues in front of its link, and the credit shaper there.
//!
//! Priorities are queues: 0 the shaped credits, 1 data and control packets, 2 the unscheduled packets of priority queueing.

use std::collections::VecDeque;

use super::{Class, Config, Header, Invalid, Kind, Params, Receiver, Sender};
use crate::port::credits::{CreditShaper, Next, ShaperParams};
use crate::rng::{Purpose, Stream};
use crate::transport::message::{self, AGAIN, Counters, End, Endpoint, Message, Outcome, TO_SENDER, UNSCHEDULED};
use crate::transport::timers::Timers;
use crate::transport::unscheduled::Unscheduled;
use crate::units::{BitsPerSec, Time};

/// Priority of credits, of everything else, and of a burst below it.
pub const CREDIT_PRIORITY: u8 = 0;
/// See [`CREDIT_PRIORITY`].
pub const DATA_PRIORITY: u8 = 1;
/// See [`CREDIT_PRIORITY`].
pub const LOW_PRIORITY: u8 = 2;

/// [`super::Header::flags`] lie this far up in [`message::Header::flags`].
const FLAGS_SHIFT: u32 = 1;
/// Where they are there; [`AGAIN`] shares a bit with a flag of credit stops, and only data packets have it.
const FLAGS_MASK: u8 = 0b1110;

/// A flow that begins here.
#[derive(Clone, Debug)]
struct Outbound {
    tx: Sender,
    peer: u32,
    /// Of the sender's packets sent again, those that have left with [`AGAIN`]: it counts them when their credit comes.
    again: u64,
}

impl Outbound {
    /// One of the sender's packets as one of the host's.
    fn header(&mut self, config: &Config, h: &Header) -> message::Header {
        let mut header = self::header(config, h, self.peer);
        if h.kind == Kind::Data && self.tx.counters().retransmitted > self.again {
            self.again += 1;
            header.flags |= AGAIN;
        }
        header
    }
}

/// A flow that ends here.
#[derive(Clone, Debug)]
struct Inbound {
    rx: Receiver,
    peer: u32,
    delivered: bool,
}

/// A host's ExpressPass.
#[derive(Clone, Debug)]
pub struct Host {
    config: Config,
    shaper: CreditShaper,
    /// Names the host's random draws.
    key: u64,
    senders: Vec<Option<Outbound>>,
    receivers: Vec<Option<Inbound>>,
    /// Flows that have ended here so far: numbers their draws.
    received: u64,
    credits: VecDeque<message::Header>,
    credit_bytes: u32,
    /// Scheduled and control packets.
    data: VecDeque<message::Header>,
    /// Senders with unscheduled packets, the next one first.
    bursting: VecDeque<u32>,
    /// Senders have even numbers, receivers odd ones.
    timers: Timers,
    /// When the first credit may go, if nothing else waits.
    credit_at: Time,
    counters: Counters,
}

impl Host {
    /// A host without flows, on a link of that rate. `key`: a random word of its own, see [`rng`](crate::rng).
    ///
    /// # Errors
    /// A parameter out of its range.
    pub fn new(params: Params, shaping: ShaperParams, link: BitsPerSec, key: u64) -> Result<Self, Invalid> {
        let shaper = CreditShaper::new(link, &params.framing, shaping)?;
        Ok(Self {
            config: Config::new(params, link)?,
            shaper,
            key,
            senders: Vec::new(),
            receivers: Vec::new(),
            received: 0,
            credits: VecDeque::new(),
            credit_bytes: 0,
            data: VecDeque::new(),
            bursting: VecDeque::new(),
            timers: Timers::default(),
            credit_at: Time::NEVER,
            counters: Counters::default(),
        })
    }

    /// Takes over all that a sender has to send now.
    fn drain_sender(&mut self, now: Time, slot: u32) {
        let Some(out) = &mut self.senders[slot as usize] else { return };
        while let Some(h) = out.tx.poll_transmit(now, &self.config) {
            let header = out.header(&self.config, &h);
            count(&mut self.counters, &header);
            self.data.push_back(header);
        }
        if out.tx.has_unscheduled() && !self.bursting.contains(&slot) {
            self.bursting.push_back(slot);
        }
        self.timers.arm(slot * 2, out.tx.next_timeout(&self.config));
    }

    /// Takes over all that a receiver has to send now; a credit without room is lost.
    fn drain_receiver(&mut self, now: Time, slot: u32) {
        let Some(Inbound { rx, peer, .. }) = &mut self.receivers[slot as usize] else { return };
        while let Some(h) = rx.poll_transmit(now, &self.config) {
            let header = self::header(&self.config, &h, *peer);
            count(&mut self.counters, &header);
            if header.kind != message::Kind::Credit {
                self.data.push_back(header);
            } else if self.shaper.admits(self.credit_bytes, header.size) {
                self.credit_bytes += u32::from(header.size);
                self.credits.push_back(header);
            } else {
                self.counters.lost_credits += 1;
            }
        }
        self.timers.arm(slot * 2 + 1, rx.next_timeout());
    }

    /// The next unscheduled packet, of the senders in turn.
    fn next_unscheduled(&mut self, now: Time) -> Option<message::Header> {
        while let Some(slot) = self.bursting.pop_front() {
            let Some(out) = &mut self.senders[slot as usize] else { continue };
            let Some(h) = out.tx.poll_unscheduled(now, &self.config) else { continue };
            let header = out.header(&self.config, &h);
            count(&mut self.counters, &header);
            // Puts the sender back into the turn if it has more, and takes what follows the last one, the probe.
            self.drain_sender(now, slot);
            return Some(header);
        }
        None
    }

    /// Forgets what waits to be sent for a slot, of senders or of receivers.
    fn discard(&mut self, slot: u32, from_receiver: bool) {
        let keep = |h: &message::Header| h.flow != slot || h.is(TO_SENDER) != from_receiver;
        self.data.retain(keep);
        if from_receiver {
            self.credits.retain(keep);
            self.credit_bytes = self.credits.iter().map(|h| u32::from(h.size)).sum();
        }
    }

    fn at_sender(&mut self, now: Time, h: &Header) -> Outcome {
        let slot = h.slot;
        let Some(Some(Outbound { tx, .. })) = self.senders.get_mut(slot as usize) else { return Outcome::default() };
        let before = tx.counters();
        tx.on_packet(now, h, &self.config);
        self.counters.timeouts += u64::from(tx.counters().timeouts - before.timeouts);
        self.counters.wasted_permits += tx.counters().wasted_credits - before.wasted_credits;
        if !tx.is_finished() {
            self.drain_sender(now, slot);
            return Outcome::default();
        }
        self.counters.blind_stops += u64::from(tx.counters().blind_stops);
        self.senders[slot as usize] = None;
        self.discard(slot, false);
        self.bursting.retain(|s| *s != slot);
        Outcome { fresh: 0, end: End::Finished }
    }

    fn at_receiver(&mut self, now: Time, h: &Header, peer: u32) -> Outcome {
        let i = h.slot as usize;
        if self.receivers.len() <= i {
            self.receivers.resize_with(i + 1, || None);
        }
        let inbound = self.receivers[i].get_or_insert_with(|| {
            self.received += 1;
            let stream = Stream::new(self.key, Purpose::Transport, self.received);
            Inbound { rx: Receiver::new(h.slot, stream), peer, delivered: false }
        });
        let fresh = inbound.rx.on_packet(now, h, &self.config);
        let done = inbound.rx.done_at().is_some();
        let end = if done && !inbound.delivered { End::Delivered } else { End::None };
        inbound.delivered = done;
        let data = h.kind == Kind::Data;
        self.counters.duplicates += u64::from(data && !fresh);
        self.drain_receiver(now, h.slot);
        let payload = h.size.saturating_sub(self.config.params.framing.data_overhead);
        Outcome { fresh: if fresh { u32::from(payload).max(1) } else { 0 }, end }
    }
}

/// Counts a packet that is to be sent.
fn count(counters: &mut Counters, header: &message::Header) {
    match header.kind {
        message::Kind::Data => {
            counters.data += 1;
            counters.unscheduled += u64::from(header.is(UNSCHEDULED));
            counters.again += u64::from(header.is(AGAIN));
        }
        message::Kind::Credit => counters.permits += 1,
        message::Kind::Probe => counters.probes += 1,
        _ => {}
    }
}

/// A flow's packet as one of the host's.
fn header(config: &Config, h: &Header, peer: u32) -> message::Header {
    let kind = match h.kind {
        Kind::CreditRequest => message::Kind::CreditRequest,
        Kind::Credit => message::Kind::Credit,
        Kind::Data => message::Kind::Data,
        Kind::CreditStop => message::Kind::CreditStop,
        Kind::Nack => message::Kind::Nack,
        Kind::Ack => message::Kind::Ack,
        Kind::Probe => message::Kind::Probe,
        Kind::ProbeAck => message::Kind::ProbeAck,
    };
    let (priority, unscheduled) = match h.class {
        Class::Credit => (CREDIT_PRIORITY, 0),
        Class::Scheduled => (DATA_PRIORITY, 0),
        Class::Unscheduled if config.params.burst.policy == Unscheduled::Plain => (LOW_PRIORITY, UNSCHEDULED),
        Class::Unscheduled => (DATA_PRIORITY, UNSCHEDULED),
    };
    let side = if h.kind.is_from_receiver() { TO_SENDER } else { 0 };
    message::Header {
        kind,
        priority,
        flags: h.flags << FLAGS_SHIFT | unscheduled | side,
        size: h.size,
        flow: h.slot,
        peer,
        seq: h.seq,
        ext: h.ext,
    }
}

/// The other way round. `None` for what ExpressPass never sends.
fn received(h: &message::Header) -> Option<Header> {
    let kind = match h.kind {
        message::Kind::CreditRequest => Kind::CreditRequest,
        message::Kind::Credit => Kind::Credit,
        message::Kind::Data => Kind::Data,
        message::Kind::CreditStop => Kind::CreditStop,
        message::Kind::Nack => Kind::Nack,
        message::Kind::Ack => Kind::Ack,
        message::Kind::Probe => Kind::Probe,
        message::Kind::ProbeAck => Kind::ProbeAck,
        _ => return None,
    };
    let class = match kind {
        Kind::Credit => Class::Credit,
        _ if h.is(UNSCHEDULED) => Class::Unscheduled,
        _ => Class::Scheduled,
    };
    let flags = if kind == Kind::Data { 0 } else { (h.flags & FLAGS_MASK) >> FLAGS_SHIFT };
    Some(Header { ext: h.ext, slot: h.flow, seq: h.seq, size: h.size, kind, class, flags })
}

impl Endpoint for Host {
    fn start(&mut self, now: Time, slot: u32, message: Message) {
        let i = slot as usize;
        if self.senders.len() <= i {
            self.senders.resize_with(i + 1, || None);
        }
        let mut tx = Sender::new(slot, message.bytes, &self.config);
        tx.start(now, &self.config);
        self.senders[i] = Some(Outbound { tx, peer: message.peer, again: 0 });
        self.drain_sender(now, slot);
    }

    fn on_packet(&mut self, now: Time, header: &message::Header) -> Outcome {
        let Some(h) = received(header).filter(|h| h.slot < message::MAX_SLOTS) else { return Outcome::default() };
        if header.is(TO_SENDER) { self.at_sender(now, &h) } else { self.at_receiver(now, &h, header.peer) }
    }

    fn on_late(&mut self, kind: message::Kind, _flags: u8) {
        self.counters.wasted_permits += u64::from(kind == message::Kind::Credit);
    }

    fn forget(&mut self, slot: u32) {
        if let Some(inbound) = self.receivers.get_mut(slot as usize) {
            *inbound = None;
        }
        self.discard(slot, true);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<message::Header> {
        self.credit_at = Time::NEVER;
        loop {
            let waiting = !(self.data.is_empty() && self.bursting.is_empty());
            match self.shaper.next(now, self.credits.front().map(|h| h.size), waiting) {
                Next::Idle => return None,
                Next::Credit(at) if at > now => {
                    self.credit_at = at;
                    return None;
                }
                Next::Credit(_) => {
                    let credit = self.credits.pop_front()?;
                    self.credit_bytes -= u32::from(credit.size);
                    self.shaper.sent(now, credit.size);
                    return Some(credit);
                }
                Next::Data => {
                    if let Some(h) = self.data.pop_front() {
                        return Some(h);
                    }
                    // A burst may turn out to be over; then only credits are left.
                    if let Some(h) = self.next_unscheduled(now) {
                        return Some(h);
                    }
                }
            }
        }
    }

    #[inline]
    fn has_more(&self) -> bool {
        !(self.data.is_empty() && self.bursting.is_empty() && self.credits.is_empty())
    }

    fn held_back(&self) -> usize {
        self.credits.len()
    }

    fn next_timeout(&self) -> Time {
        self.timers.next().min(self.credit_at)
    }

    fn on_timeout(&mut self, now: Time) {
        self.credit_at = Time::NEVER;
        while let Some(number) = self.timers.pop_due(now) {
            let slot = number / 2;
            if number.is_multiple_of(2) {
                let Some(Some(Outbound { tx, .. })) = self.senders.get_mut(slot as usize) else { continue };
                let timeouts = tx.counters().timeouts;
                if tx.next_timeout(&self.config) <= now {
                    tx.on_timeout(now, &self.config);
                }
                self.counters.timeouts += u64::from(tx.counters().timeouts - timeouts);
                self.drain_sender(now, slot);
            } else {
                let Some(Some(inbound)) = self.receivers.get_mut(slot as usize) else { continue };
                if inbound.rx.next_timeout() <= now {
                    inbound.rx.on_timeout(now, &self.config);
                }
                self.drain_receiver(now, slot);
            }
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a flow says is what the other end's flow hears.
    #[test]
    fn headers_survive_the_translation() {
        let config = Config::new(Params::default(), BitsPerSec(100_000_000_000)).unwrap();
        for kind in [
            Kind::CreditRequest,
            Kind::Credit,
            Kind::Data,
            Kind::CreditStop,
            Kind::Nack,
            Kind::Ack,
            Kind::Probe,
            Kind::ProbeAck,
        ] {
            for flags in 0..8 {
                let class = if kind == Kind::Credit { Class::Credit } else { Class::Scheduled };
                let flags = if kind == Kind::Data { 0 } else { flags };
                let h = Header { ext: 5 << 40, slot: 7, seq: 9, size: 84, kind, class, flags };
                assert_eq!(received(&header(&config, &h, 3)), Some(h));
            }
        }
    }
}

//! The receiving half: sends credits at an adapted rate, says what is missing and when everything is there.
//!
//! Source: proactive facts, sections 1.4 (credit loop, NACKs), 4.4 to 4.6 and 9.4. It knows of the sender only what its
//! packets say. *Deviations:* see the module's head.

use super::credit_rate::CreditRate;
use super::params::{Config, Params};
use super::{COMPLETE, Class, FINAL, Header, Kind, Length, REQUEST, Stamp, later};
use crate::rng::{Stream, below, unit};
use crate::transport::packet_set::{Arrival, Received};
use crate::transport::unscheduled::Unscheduled;
use crate::units::Time;

/// Packets to send now.
const SEND_ACK: u8 = 1;
const SEND_PROBE_ACK: u8 = 2;
const SEND_NACK: u8 = 4;
const SEND_CREDIT: u8 = 8;

/// Packets a selective NACK can name.
const NACK_WINDOW: u32 = 64;

/// The receiving half of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    slot: u32,
    /// Packets of the flow; 0 while unknown.
    packets: u32,
    received: Received,
    rate: CreditRate,
    stream: Stream,
    /// [`SEND_ACK`] and so on.
    pending: u8,
    ack_seq: u32,
    probe_seq: u32,
    /// Number of the next credit, and of the first not yet accounted for.
    next_credit: u32,
    expected_credit: u32,
    /// When the next credit is due; never while none are wanted.
    credit_at: Time,
    /// When the NACK is repeated; never while nothing is known to be missing.
    nack_at: Time,
    /// End of what the last selective NACK covered.
    nack_end: u32,
    done_at: Time,
    duplicates: u64,
    nacks: u32,
}

impl Receiver {
    /// A flow of which nothing is known. `stream`: random numbers of this flow alone ([`crate::rng::Purpose::Transport`]);
    /// credit n uses numbers 2n (size) and 2n + 1 (jitter).
    pub fn new(slot: u32, stream: Stream) -> Self {
        Self {
            slot,
            packets: 0,
            received: Received::default(),
            rate: CreditRate::new(),
            stream,
            pending: 0,
            ack_seq: 0,
            probe_seq: 0,
            next_credit: 0,
            expected_credit: 0,
            credit_at: Time::NEVER,
            nack_at: Time::NEVER,
            nack_end: 0,
            done_at: Time::NEVER,
            duplicates: 0,
            nacks: 0,
        }
    }

    /// When the last packet arrived; `None` before.
    pub fn done_at(&self) -> Option<Time> {
        (self.done_at != Time::NEVER).then_some(self.done_at)
    }

    /// Packets of the flow that have arrived.
    pub fn delivered(&self) -> u32 {
        self.received.count()
    }

    /// Data packets that came for nothing: duplicates, and with go-back-N those after a gap.
    pub fn discarded(&self) -> u64 {
        self.duplicates
    }

    /// Credits sent.
    pub fn credits(&self) -> u32 {
        self.next_credit
    }

    /// NACKs sent.
    pub fn nacks(&self) -> u32 {
        self.nacks
    }

    /// The credit rate, to look at.
    pub fn rate(&self) -> &CreditRate {
        &self.rate
    }

    fn is_complete(&self) -> bool {
        self.done_at != Time::NEVER
    }

    /// A packet of this flow has arrived. True when it brought payload for the first time.
    #[inline]
    pub fn on_packet(&mut self, now: Time, h: &Header, c: &Config) -> bool {
        match h.kind {
            Kind::Data => return self.on_data(now, h, c),
            Kind::CreditRequest => {
                self.learn_length(h);
                self.on_request(now, h, c);
            }
            Kind::Probe => {
                self.learn_length(h);
                self.probe_seq = h.seq;
                self.pending |= SEND_PROBE_ACK;
                if h.flags & REQUEST != 0 {
                    self.on_request(now, h, c);
                }
            }
            Kind::CreditStop => {
                self.learn_length(h);
                self.on_stop(now, h, c);
            }
            Kind::Credit | Kind::Nack | Kind::Ack | Kind::ProbeAck => {}
        }
        false
    }

    fn learn_length(&mut self, h: &Header) {
        if self.packets == 0 {
            self.packets = Length::unpack(h.ext).packets;
        }
    }

    fn on_request(&mut self, now: Time, h: &Header, c: &Config) {
        if self.is_complete() {
            self.say_complete();
        } else if self.packets > 0 && self.credit_at == Time::NEVER {
            self.rate.restart(now, Length::unpack(h.ext).remaining, c);
            self.credit_due(now, c);
        }
    }

    fn on_stop(&mut self, now: Time, h: &Header, c: &Config) {
        self.credit_at = Time::NEVER;
        self.pending &= !SEND_CREDIT;
        if self.is_complete() {
            self.say_complete();
            return;
        }
        // Everything sent before the stop has arrived, or it is lost.
        let lost = match c.params.burst.policy {
            Unscheduled::Wait => h.seq > self.received.first_missing() && self.nack_at == Time::NEVER,
            Unscheduled::Aeolus => h.flags & FINAL != 0,
            Unscheduled::Plain => false,
        };
        if lost && self.packets > 0 {
            self.nack(now, &c.params);
        }
    }

    fn on_data(&mut self, now: Time, h: &Header, c: &Config) -> bool {
        if h.class == Class::Unscheduled {
            self.learn_length(h);
        } else {
            self.account_credit(now, Stamp(h.ext));
        }
        if h.seq >= self.packets {
            return false;
        }
        let policy = c.params.burst.policy;
        if policy == Unscheduled::Wait && h.seq > self.received.first_missing() {
            // Go-back-N: what comes after a gap comes again.
            self.duplicates += 1;
            if self.nack_at == Time::NEVER {
                self.nack(now, &c.params);
            }
            return false;
        }
        let arrival = self.received.insert(h.seq);
        self.duplicates += u64::from(arrival != Arrival::New);
        if arrival == Arrival::TooFar {
            return false;
        }
        if policy == Unscheduled::Plain || h.class == Class::Unscheduled {
            self.ack_seq = h.seq;
            self.pending |= SEND_ACK;
        }
        if arrival == Arrival::New {
            self.after_progress(now, c);
        }
        arrival == Arrival::New
    }

    fn after_progress(&mut self, now: Time, c: &Config) {
        if self.received.count() >= self.packets {
            self.done_at = now;
            (self.credit_at, self.nack_at) = (Time::NEVER, Time::NEVER);
            self.pending &= !(SEND_NACK | SEND_CREDIT);
            self.say_complete();
        } else if self.nack_at != Time::NEVER {
            if c.params.burst.policy == Unscheduled::Wait {
                self.nack_at = Time::NEVER;
            } else if self.received.first_missing() >= self.nack_end {
                // What the last NACK named is there; the next part is as old.
                self.nack(now, &c.params);
            }
        }
    }

    /// An ACK that says that everything is there; its number is the last packet's.
    fn say_complete(&mut self) {
        if self.pending & SEND_ACK == 0 {
            self.ack_seq = self.packets - 1;
            self.pending |= SEND_ACK;
        }
    }

    fn nack(&mut self, now: Time, p: &Params) {
        self.pending |= SEND_NACK;
        self.nack_end = self.received.first_missing().saturating_add(NACK_WINDOW);
        self.nack_at = later(now, p.retransmit_timeout);
    }

    /// Credits before the one that brought this packet, and since the last that brought one, were lost.
    #[inline]
    fn account_credit(&mut self, now: Time, stamp: Stamp) {
        let lost = stamp.beyond(self.expected_credit);
        // A number not yet used belongs to a credit from before the last request, or to none.
        if lost < self.next_credit.wrapping_sub(self.expected_credit) {
            self.expected_credit = self.expected_credit.wrapping_add(lost + 1);
            self.rate.on_data(stamp.age(now), lost);
        }
    }

    fn credit_due(&mut self, now: Time, c: &Config) {
        self.rate.update(now, c);
        self.pending |= SEND_CREDIT;
        let draw = unit(self.stream.at(2 * u64::from(self.next_credit) + 1));
        self.credit_at = later(now, self.rate.gap(draw, c));
    }

    /// When [`Receiver::on_timeout`] is to be called.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.credit_at.min(self.nack_at)
    }

    /// Handles all that is due at `now`.
    #[inline]
    pub fn on_timeout(&mut self, now: Time, c: &Config) {
        if self.credit_at <= now {
            self.credit_due(now, c);
        }
        if self.nack_at <= now {
            self.nack(now, &c.params);
        }
    }

    /// The next packet for the queue of its class. To be called until `None` after each call of another method.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, c: &Config) -> Option<Header> {
        if self.pending == 0 {
            return None;
        }
        let f = &c.params.framing;
        let flags = if self.is_complete() { COMPLETE } else { 0 };
        let mut h = Header {
            ext: 0,
            slot: self.slot,
            seq: self.ack_seq,
            size: f.control,
            kind: Kind::Ack,
            class: Class::Scheduled,
            flags,
        };
        if self.pending & SEND_ACK != 0 {
            self.pending &= !SEND_ACK;
        } else if self.pending & SEND_PROBE_ACK != 0 {
            self.pending &= !SEND_PROBE_ACK;
            (h.kind, h.seq) = (Kind::ProbeAck, self.probe_seq);
        } else if self.pending & SEND_NACK != 0 {
            self.pending &= !SEND_NACK;
            self.nacks += 1;
            (h.kind, h.seq, h.flags) = (Kind::Nack, self.received.first_missing(), 0);
            if c.params.burst.policy != Unscheduled::Wait {
                h.ext = self.missing_from(h.seq);
            }
        } else {
            self.pending &= !SEND_CREDIT;
            let (least, most) = f.credit;
            let draw = self.stream.at(2 * u64::from(self.next_credit));
            h = Header {
                ext: Stamp::new(self.next_credit, now).0,
                seq: self.next_credit,
                size: least + below(draw, u32::from(most - least) + 1) as u16,
                kind: Kind::Credit,
                class: Class::Credit,
                flags: 0,
                ..h
            };
            self.next_credit = self.next_credit.wrapping_add(1);
        }
        Some(h)
    }

    /// Which of the packets from `first` on are missing, as a mask.
    fn missing_from(&self, first: u32) -> u64 {
        let end = first.saturating_add(NACK_WINDOW).min(self.packets);
        (first..end).filter(|seq| !self.received.contains(*seq)).fold(0, |mask, seq| mask | 1 << (seq - first))
    }
}

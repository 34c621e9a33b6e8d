//! The sending half: asks for credits, answers each with a packet, stops them, repairs losses.
//!
//! Source: proactive facts, sections 1.3 (states, early stop, go-back-N), 4.4 to 4.6 (first round trip) and 9.4.
//! *Deviations:* see the module's head.

use super::outstanding::Outstanding;
use super::params::{Config, Params, UnscheduledRepair};
use super::{COMPLETE, Class, FINAL, Header, Kind, Length, REQUEST, later};
use crate::transport::unscheduled::{BurstStop, RepairOrder, Scoreboard, Unscheduled};
use crate::units::{Duration, Time};

/// Where the exchange with the receiver stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// A request is on its way.
    Requesting,
    /// Credits come.
    Receiving,
    /// No more credits are wanted.
    Stopped,
    Finished,
}

/// Control packets to send now.
const SEND_REQUEST: u8 = 1;
const SEND_STOP: u8 = 2;

/// What a sender has done, for measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Data packets sent, all copies.
    pub data: u64,
    /// Of these, unscheduled.
    pub unscheduled: u64,
    /// Of these, copies of a packet sent before.
    pub retransmitted: u64,
    /// Credits that met nothing to send.
    pub wasted_credits: u64,
    /// Credit requests sent, in probes too.
    pub requests: u32,
    /// Credit stops sent.
    pub stops: u32,
    /// Of these, before the round trip was known.
    pub blind_stops: u32,
    /// Timers that ran out on a packet of any kind.
    pub timeouts: u32,
}

/// The sending half of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    slot: u32,
    packets: u32,
    /// Payload of the last packet.
    last_payload: u16,
    state: State,
    /// [`SEND_REQUEST`], [`SEND_STOP`].
    pending: u8,
    /// The request was sent only once: the first credit tells the round trip.
    fresh: bool,
    /// A credit has come in vain since the last credit stop.
    vain: bool,
    /// Go-back-N: next packet to send. Packets from here to `high` have been sent before.
    next: u32,
    high: u32,
    /// Data packet to send now, with the stamp of its credit.
    data: Option<(u32, u64)>,
    /// 0 while unknown.
    rtt: Duration,
    request_at: Time,
    /// Credits since `check_at`, for the early stop.
    credits: u32,
    check_at: Time,
    /// Timer of the state, and of the probe.
    timer_at: Time,
    probe_at: Time,
    board: Scoreboard,
    outstanding: Outstanding,
    counters: SenderCounters,
}

impl Sender {
    /// A flow of `bytes` (0 counts as 1), at most 2^32 - 2 packets.
    pub fn new(slot: u32, bytes: u64, c: &Config) -> Self {
        let payload = u64::from(c.params.framing.payload.max(1));
        let bytes = bytes.clamp(1, payload * u64::from(u32::MAX - 1));
        Self {
            slot,
            packets: bytes.div_ceil(payload) as u32,
            last_payload: ((bytes - 1) % payload + 1) as u16,
            state: State::Idle,
            pending: 0,
            fresh: true,
            vain: false,
            next: 0,
            high: 0,
            data: None,
            rtt: Duration(0),
            request_at: Time(0),
            credits: 0,
            check_at: Time(0),
            timer_at: Time::NEVER,
            probe_at: Time::NEVER,
            board: Scoreboard::default(),
            outstanding: Outstanding::default(),
            counters: SenderCounters::default(),
        }
    }

    /// The flow begins.
    pub fn start(&mut self, now: Time, c: &Config) {
        if self.state != State::Idle {
            return;
        }
        let p = &c.params;
        let aeolus = p.burst.policy == Unscheduled::Aeolus;
        let burst = if p.burst.policy == Unscheduled::Wait { 0 } else { p.burst.packets };
        self.board.restart(self.packets, burst, aeolus);
        self.request(now, p);
        if aeolus && p.request_in_probe {
            // The request is the probe, after the burst; its timer starts there.
            self.pending &= !SEND_REQUEST;
            self.timer_at = Time::NEVER;
        }
    }

    /// Packets of the flow.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// The receiver has said that it has everything. Its half must be kept until then.
    pub fn is_finished(&self) -> bool {
        self.state == State::Finished
    }

    /// What has been done so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// A packet for this flow has arrived.
    #[inline]
    pub fn on_packet(&mut self, now: Time, h: &Header, c: &Config) {
        if matches!(self.state, State::Idle | State::Finished) {
            self.counters.wasted_credits += u64::from(h.kind == Kind::Credit);
            return;
        }
        let p = &c.params;
        match h.kind {
            Kind::Credit => self.on_credit(now, h.ext, p),
            Kind::Ack | Kind::ProbeAck if h.flags & COMPLETE != 0 => self.finish(),
            Kind::Ack => self.on_ack(now, h.seq, p),
            Kind::ProbeAck => self.on_probe_ack(now, p),
            Kind::Nack => self.on_nack(now, h, p),
            Kind::CreditRequest | Kind::Data | Kind::CreditStop | Kind::Probe => {}
        }
    }

    fn on_credit(&mut self, now: Time, stamp: u64, p: &Params) {
        if p.burst.stop == BurstStop::FirstCredit {
            self.board.stop_burst();
        }
        if self.state == State::Requesting {
            // The credit may answer an earlier request, or be one of those on their way when a stop went out: a sample may
            // be too short, and only grows what is known.
            if self.fresh || self.rtt.0 == 0 {
                self.rtt = self.rtt.max(Duration(now.0.saturating_sub(self.request_at.0).max(1)));
            }
            self.state = State::Receiving;
            self.pending &= !SEND_REQUEST;
            (self.check_at, self.credits) = (now, 0);
        }
        if let Some(seq) = self.take_scheduled(p) {
            self.data = Some((seq, stamp));
        } else {
            self.counters.wasted_credits += 1;
            self.vain = true;
        }
        if self.state == State::Stopped {
            if self.timer_at == Time::NEVER {
                self.timer_at = later(now, self.rtt);
            }
            return;
        }
        self.credits += 1;
        self.timer_at = later(now, p.credit_timeout);
        let remaining = self.remaining(p);
        if remaining == 0 {
            self.stop(now, p);
        } else if now.0.saturating_sub(self.check_at.0) >= self.rtt.0 {
            if p.early_stop && self.credits >= remaining {
                self.stop(now, p);
            }
            (self.check_at, self.credits) = (now, 0);
        }
    }

    /// The packet a credit is spent on.
    fn take_scheduled(&mut self, p: &Params) -> Option<u32> {
        let (seq, again) = if p.burst.policy == Unscheduled::Wait {
            if self.next >= self.packets {
                return None;
            }
            self.next += 1;
            (self.next - 1, self.next <= self.high)
        } else if self.board.in_burst() && (self.board.lost() == 0 || p.burst.order == RepairOrder::NewFirst) {
            // A burst that no credit ends: what it would have sent next goes as a scheduled packet, of which no fate is awaited.
            let seq = self.board.next_unscheduled()?;
            self.board.on_ack(seq, false);
            (seq, false)
        } else {
            self.board.next_scheduled(p.burst.order, p.burst.resend_open)?
        };
        self.high = self.high.max(self.next);
        self.counters.retransmitted += u64::from(again);
        Some(seq)
    }

    /// Packets that need credits, as far as is known. With Aeolus those of unknown fate count, as they may be lost.
    fn remaining(&self, p: &Params) -> u32 {
        match p.burst.policy {
            Unscheduled::Wait => self.packets - self.next,
            Unscheduled::Aeolus => self.board.remaining(),
            Unscheduled::Plain => self.packets - self.board.next_new() + self.board.lost(),
        }
    }

    fn on_ack(&mut self, now: Time, seq: u32, p: &Params) {
        if p.burst.policy == Unscheduled::Wait || seq >= self.packets {
            return;
        }
        if p.burst.policy == Unscheduled::Plain {
            self.outstanding.on_ack(seq);
        }
        self.board.on_ack(seq, p.burst.policy == Unscheduled::Aeolus && p.burst.ordered_path);
        self.after_verdict(now, p);
    }

    fn on_probe_ack(&mut self, now: Time, p: &Params) {
        self.probe_at = Time::NEVER;
        self.board.on_probe_ack();
        self.after_verdict(now, p);
    }

    /// The scoreboard has changed: credits may have become unnecessary.
    fn after_verdict(&mut self, now: Time, p: &Params) {
        if self.state == State::Receiving && self.remaining(p) == 0 {
            self.stop(now, p);
        }
    }

    fn on_nack(&mut self, now: Time, h: &Header, p: &Params) {
        if p.burst.policy == Unscheduled::Wait {
            if h.seq >= self.next {
                return;
            }
            self.next = h.seq;
        } else {
            for bit in 0..64 {
                if h.ext >> bit & 1 != 0 {
                    self.board.mark_lost(h.seq.saturating_add(bit));
                }
            }
        }
        if self.state == State::Stopped && self.remaining(p) > 0 {
            self.request(now, p);
        }
    }

    fn request(&mut self, now: Time, p: &Params) {
        self.state = State::Requesting;
        (self.pending, self.fresh) = (SEND_REQUEST, true);
        self.request_at = now;
        self.timer_at = later(now, p.retransmit_timeout);
    }

    fn stop(&mut self, now: Time, p: &Params) {
        self.state = State::Stopped;
        self.vain = false;
        self.pending |= SEND_STOP;
        self.counters.blind_stops += u32::from(self.rtt.0 == 0);
        let wait = if self.rtt.0 == 0 { p.credit_stop_timeout } else { Duration(self.rtt.0.saturating_mul(2)) };
        self.timer_at = later(now, wait);
    }

    fn finish(&mut self) {
        self.state = State::Finished;
        (self.pending, self.data) = (0, None);
        (self.timer_at, self.probe_at) = (Time::NEVER, Time::NEVER);
        self.outstanding.clear();
    }

    /// When [`Sender::on_timeout`] is to be called; may be too early, never too late.
    #[inline]
    pub fn next_timeout(&self, c: &Config) -> Time {
        let timers = self.timer_at.min(self.probe_at);
        if c.params.burst.policy == Unscheduled::Plain {
            timers.min(self.outstanding.next_timeout(&c.params))
        } else {
            timers
        }
    }

    /// Handles all that is due at `now`.
    pub fn on_timeout(&mut self, now: Time, c: &Config) {
        let p = &c.params;
        if self.probe_at <= now {
            self.probe_at = Time::NEVER;
            self.board.repeat_probe();
            self.counters.timeouts += 1;
        }
        let mut lost = false;
        while let Some((seq, scheduled)) = self.outstanding.pop_due(now, p) {
            self.counters.timeouts += 1;
            if scheduled || p.unscheduled_repair == UnscheduledRepair::OnCredit {
                lost |= self.board.mark_lost(seq);
            } else {
                self.outstanding.again.insert(seq);
            }
        }
        if lost && self.state == State::Stopped {
            self.request(now, p);
        }
        if self.timer_at <= now {
            self.on_state_timer(now, p);
        }
    }

    fn on_state_timer(&mut self, now: Time, p: &Params) {
        self.timer_at = later(now, p.retransmit_timeout);
        match self.state {
            State::Requesting | State::Receiving => {
                self.state = State::Requesting;
                (self.fresh, self.request_at) = (false, now);
                // A probe about to go (again) takes the request along: one packet, and one timeout.
                if !(p.request_in_probe && self.board.owes_probe()) {
                    self.counters.timeouts += 1;
                    self.pending |= SEND_REQUEST;
                }
            }
            State::Stopped if self.remaining(p) > 0 => self.request(now, p),
            State::Stopped => {
                // With priority queueing packets have timeouts of their own; there only credits in vain count.
                if p.burst.policy != Unscheduled::Plain || std::mem::take(&mut self.vain) {
                    self.pending |= SEND_STOP;
                } else {
                    self.timer_at = Time::NEVER;
                }
            }
            State::Idle | State::Finished => self.timer_at = Time::NEVER,
        }
    }

    /// The next packet for the queue of its class. To be called until `None` after each call of another method.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, c: &Config) -> Option<Header> {
        let p = &c.params;
        if self.pending & SEND_REQUEST != 0 {
            self.pending &= !SEND_REQUEST;
            self.counters.requests += 1;
            return Some(self.control(Kind::CreditRequest, p));
        }
        if self.board.owes_probe()
            && !matches!(self.state, State::Idle | State::Finished)
            && let Some(probe) = self.probe(now, p)
        {
            return Some(probe);
        }
        if let Some((seq, stamp)) = self.data.take() {
            return Some(self.data_packet(now, seq, Class::Scheduled, stamp, p));
        }
        if self.pending & SEND_STOP != 0 {
            self.pending &= !SEND_STOP;
            self.counters.stops += 1;
            return Some(self.control(Kind::CreditStop, p));
        }
        None
    }

    fn probe(&mut self, now: Time, p: &Params) -> Option<Header> {
        let sent = self.board.take_probe()?;
        let asks = p.request_in_probe && self.state == State::Requesting;
        if sent == 0 && !asks {
            return None;
        }
        self.probe_at = later(now, p.retransmit_timeout);
        let mut h = self.control(Kind::Probe, p);
        (h.seq, h.size) = (sent, p.framing.probe);
        if asks {
            h.flags = REQUEST;
            self.counters.requests += 1;
            (self.request_at, self.timer_at) = (now, self.probe_at);
        }
        Some(h)
    }

    /// Whether [`Sender::poll_unscheduled`] has something.
    #[inline]
    pub fn has_unscheduled(&self) -> bool {
        (self.board.in_burst() || !self.outstanding.again.is_empty())
            && !matches!(self.state, State::Idle | State::Finished)
    }

    /// The next unscheduled packet, for a NIC that has nothing else to send.
    #[inline]
    pub fn poll_unscheduled(&mut self, now: Time, c: &Config) -> Option<Header> {
        if matches!(self.state, State::Idle | State::Finished) {
            return None;
        }
        let seq = if let Some(seq) = self.board.next_unscheduled() {
            seq
        } else {
            self.counters.retransmitted += u64::from(!self.outstanding.again.is_empty());
            self.outstanding.again.pop_first()?
        };
        let length = Length { packets: self.packets, remaining: 0 };
        Some(self.data_packet(now, seq, Class::Unscheduled, length.pack(), &c.params))
    }

    fn data_packet(&mut self, now: Time, seq: u32, class: Class, ext: u64, p: &Params) -> Header {
        if p.burst.policy == Unscheduled::Plain {
            self.outstanding.sent(seq, now, class == Class::Scheduled);
        }
        self.counters.data += 1;
        self.counters.unscheduled += u64::from(class == Class::Unscheduled);
        let payload = if seq + 1 == self.packets { self.last_payload } else { p.framing.payload };
        Header { ext, slot: self.slot, seq, size: p.framing.data(payload), kind: Kind::Data, class, flags: 0 }
    }

    fn control(&self, kind: Kind, p: &Params) -> Header {
        let remaining = self.remaining(p);
        let seq = if p.burst.policy == Unscheduled::Wait { self.next } else { self.board.next_new() };
        let flags = if kind == Kind::CreditStop && remaining == 0 { FINAL } else { 0 };
        let ext = Length { packets: self.packets, remaining }.pack();
        Header { ext, slot: self.slot, seq, size: p.framing.control, kind, class: Class::Scheduled, flags }
    }
}

//! One end of a connection: opening, closing, arrivals and timers.

use crate::cc::{Ack, CongestionControl, Controller, FlowContext, Loss, StreamStart};
use crate::telemetry::IntHop;
use crate::units::{Duration, Time};

use super::cache::CacheEntry;
use super::params::{InheritCwnd, Params};
use super::receiver::Receiver;
use super::recovery::Recovery;
use super::rto::{Rto, next_tick};
use super::segment::{Flags, ISS, Segment, expand};
use super::sender::Sender;
use super::timers::{Timer, Timers};

/// What all connections of a stack on one kind of host share.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The stack.
    pub tcp: &'a Params,
    /// The controller's; `mtu` is the maximum segment size, bytes.
    pub cc: &'a FlowContext,
}

impl Context<'_> {
    /// Maximum segment size, bytes.
    #[inline]
    pub(super) fn mss(&self) -> u64 {
        u64::from(self.cc.mtu)
    }

    /// The stack's clock, never 0 at the start (a timestamp of 0 stands for none).
    #[inline]
    pub(super) fn ticks(&self, now: Time) -> u32 {
        ((now.0 / self.tcp.rto.quantum.0.max(1)) as u32).wrapping_add(1)
    }

    /// A span of time as the stack's clock sees it.
    pub(super) fn measured(&self, from: Time, to: Time) -> Duration {
        let quantum = self.tcp.rto.quantum.0.max(1);
        Duration((to.0 / quantum - from.0 / quantum) * quantum)
    }
}

/// Where a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Sent a SYN.
    SynSent,
    /// Received a SYN and answered it.
    SynReceived,
    /// Open in at least one direction; the states from ESTABLISHED to LAST-ACK of RFC 9293.
    Open,
    /// Both directions are closed, this end closed first and answers repeated FINs for a while.
    TimeWait,
    /// Over.
    Closed,
    /// Given up after too many timeouts.
    Failed,
}

/// What happened in a call.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Bytes that have newly arrived in order.
    pub delivered: u64,
    /// Bytes newly acknowledged by the peer.
    pub acked: u64,
    /// The handshake is over.
    pub opened: bool,
    /// All the peer will ever send has arrived.
    pub peer_closed: bool,
    /// Both directions are closed and acknowledged.
    pub closed: bool,
    /// The connection was given up.
    pub failed: bool,
}

/// What a connection counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Data segments sent again, whatever for.
    pub retransmits: u64,
    /// Retransmission timeouts, of SYNs too, but the last at which a connection is given up.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Third duplicate ACKs that were ignored because they acknowledged no more than "recover".
    pub ignored_duplicates: u64,
    /// Window reductions for congestion marks.
    pub ecn_reductions: u64,
    /// ACKs that the timer of delayed ACKs sent.
    pub late_acks: u64,
    /// Timeouts found to have been mistakes.
    pub spurious_timeouts: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Largest congestion window, bytes.
    pub largest_window: u64,
    /// Longest round trip that an ACK of data told.
    pub longest_rtt: Duration,
    /// The controller asked for a window below the least one.
    pub lifted: bool,
}

/// A first timeout that may yet be undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// An ACK before this came too early to answer the copy.
    pub(super) until: Time,
    pub(super) recover: u64,
    pub(super) timeout_recover: u64,
    pub(super) reduced_until: u64,
    pub(super) answered: bool,
    pub(super) cwr: bool,
}

/// The probe for telemetry of which one is under way per round trip.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Probe {
    /// Number of the last one sent; 0 before the first.
    pub(super) number: u32,
    /// It has neither come back nor been given up.
    pub(super) out: bool,
    /// Probes that may still be sent before data leave again.
    pub(super) left: u8,
    /// Number of the newest one that has come back.
    pub(super) answered: u32,
    /// Number of the peer's one to reflect.
    pub(super) reply: Option<u32>,
}

/// One end of a TCP connection.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) state: State,
    /// Agreed on in the handshake.
    pub(super) ecn: bool,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    /// This end closed before the peer's FIN had come.
    pub(super) closed_first: bool,
    /// SYNs (SYN/ACKs) sent.
    pub(super) syns: u8,
    /// Timeouts in a row.
    pub(super) tries: u8,
    /// Probes of a closed window in a row, and one is due.
    pub(super) persists: u8,
    pub(super) probe_window: bool,
    /// Segments left of the burst under way.
    pub(super) burst_left: u32,
    /// Not before this may the next burst begin.
    pub(super) pace_at: Time,
    /// What the controller allows.
    pub(super) cwnd: u64,
    pub(super) rate: u64,
    pub(super) cc: Controller,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) recovery: Recovery,
    pub(super) rto: Rto,
    pub(super) timers: Timers,
    pub(super) undo: Option<Undo>,
    pub(super) probe: Probe,
    pub(super) cache: Option<CacheEntry>,
    pub(super) counters: Counters,
}

impl Connection {
    /// The end that waits for a SYN.
    pub fn listen(cx: Context<'_>) -> Self {
        Self {
            state: State::Listen,
            ecn: false,
            sack: false,
            timestamps: cx.tcp.timestamps,
            closed_first: false,
            syns: 0,
            tries: 0,
            persists: 0,
            probe_window: false,
            burst_left: 0,
            pace_at: Time(0),
            cwnd: cx.mss(),
            rate: cx.cc.line_rate,
            cc: Controller::new(cx.cc),
            tx: Sender::new(cx.tcp),
            rx: Receiver::new(cx.tcp),
            recovery: Recovery::default(),
            rto: Rto::new(),
            timers: Timers::default(),
            undo: None,
            probe: Probe::default(),
            cache: None,
            counters: Counters::default(),
        }
    }

    /// The end that sends the SYN, with the next [`Connection::poll_transmit`].
    pub fn connect(cx: Context<'_>) -> Self {
        Self { state: State::SynSent, ..Self::listen(cx) }
    }

    /// What earlier connections to the peer have left by now; it counts when the handshake ends.
    pub fn recall(&mut self, cache: Option<CacheEntry>) {
        self.cache = cache;
    }

    /// What has arrived is acknowledged at once.
    pub fn acknowledge_now(&mut self) {
        self.rx.ack.demand();
    }

    /// The application sends a message of `bytes`; its last segment carries PSH. Before the handshake is over it waits.
    /// Without effect after [`Connection::close`].
    pub fn write(&mut self, bytes: u64) {
        if !self.tx.fin && bytes > 0 {
            self.tx.write(bytes);
        }
    }

    /// The application takes `bytes` that have arrived. Only without `auto_read`.
    pub fn read(&mut self, cx: Context<'_>, bytes: u64) {
        self.rx.read(bytes, cx.cc.mtu);
    }

    /// The application will write no more: a FIN follows the last byte.
    pub fn close(&mut self) {
        self.tx.fin = true;
    }

    /// A segment arrives. `int`: the telemetry a reflected probe brings, else empty.
    pub fn on_segment(&mut self, cx: Context<'_>, now: Time, segment: &Segment, int: &[IntHop]) -> Outcome {
        let mut outcome = Outcome::default();
        self.tx.last_heard = now;
        match self.state {
            State::Closed | State::Failed => return outcome,
            State::Listen => self.on_syn(cx, segment),
            State::SynSent => self.on_syn_ack(cx, now, segment, &mut outcome),
            State::SynReceived if segment.flags.has(Flags::SYN) => {
                // Our answer was lost. The next one echoes when this SYN was sent.
                self.rx.on_timestamp(segment);
                self.tx.nxt = self.tx.una;
                return outcome;
            }
            State::SynReceived => {
                if segment.flags.has(Flags::ACK) && expand(segment.ack, self.tx.una) == ISS + 1 {
                    self.tx.update_window(expand(segment.seq, self.rx.rcv_nxt), ISS + 1, segment);
                    self.open(cx, now, segment);
                    outcome.opened = true;
                }
            }
            State::Open | State::TimeWait => {}
        }
        if !matches!(self.state, State::Open | State::TimeWait) {
            return outcome;
        }
        if segment.flags.has(Flags::SYN) {
            if !outcome.opened {
                // A repeated SYN/ACK: our ACK of it was lost.
                self.rx.ack.demand();
            }
            return outcome;
        }
        if segment.flags.has(Flags::PROBE) {
            self.probe.reply = Some(segment.seq);
            return outcome;
        }
        if segment.flags.has(Flags::PROBE_REPLY) {
            self.on_probe_reply(cx, now, segment.seq, int);
            return outcome;
        }
        if segment.flags.has(Flags::ACK) {
            outcome.acked = self.on_ack(cx, now, segment);
        }
        let was_finished = self.rx.finished();
        outcome.delivered = self.rx.on_data(now, segment, cx.tcp, cx.cc.mtu, self.ecn);
        outcome.peer_closed = self.rx.finished() && !was_finished;
        self.sync_ack_timer(cx);
        self.check_closed(cx, now, &mut outcome);
        outcome
    }

    fn on_syn(&mut self, cx: Context<'_>, segment: &Segment) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            self.negotiate(cx, segment);
            self.ecn = cx.tcp.ecn && segment.flags.has(Flags::ECE | Flags::CWR);
            self.state = State::SynReceived;
        }
    }

    fn on_syn_ack(&mut self, cx: Context<'_>, now: Time, segment: &Segment, outcome: &mut Outcome) {
        let agreed = segment.flags.has(Flags::SYN | Flags::ACK) && expand(segment.ack, self.tx.una) == ISS + 1;
        if agreed && self.tx.max > ISS {
            self.negotiate(cx, segment);
            let asked = self.ecn;
            self.ecn = asked && segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
            self.tx.update_window(ISS, ISS + 1, segment);
            self.rx.ack.demand();
            self.open(cx, now, segment);
            outcome.opened = true;
        }
    }

    fn negotiate(&mut self, cx: Context<'_>, segment: &Segment) {
        self.sack = cx.tcp.sack && segment.flags.has(Flags::SACK_PERMITTED);
        self.timestamps = cx.tcp.timestamps && segment.timestamps.is_some();
        self.tx.update_window(ISS, 0, segment);
        self.rx.on_syn(segment);
    }

    /// The handshake is over.
    fn open(&mut self, cx: Context<'_>, now: Time, segment: &Segment) {
        let mss = cx.mss();
        self.state = State::Open;
        self.timers.clear(Timer::Retransmit);
        let syn_lost = self.syns > 1;
        self.rto.established(syn_lost && self.rto.samples() == 0);
        let sample = match (self.timestamps, segment.timestamps) {
            (true, Some(t)) if t.echo != 0 => {
                let ticks = cx.ticks(now).wrapping_sub(t.echo);
                (ticks < 1 << 31).then(|| Duration(u64::from(ticks).saturating_mul(cx.tcp.rto.quantum.0)))
            }
            _ => self.tx.timed.map(|t| cx.measured(t.sent, now)),
        };
        self.tx.timed = None;
        if let Some(entry) = self.cache.filter(|entry| entry.srtt.0 > 0 && self.rto.samples() == 0) {
            self.rto = Rto::inherited(entry.srtt, entry.rttvar);
        }
        if let Some(rtt) = sample {
            self.rto.sample(rtt, &cx.tcp.rto);
        }
        self.tx.acknowledge(ISS + 1);
        self.tries = 0;
        self.recovery.recover = ISS;
        // RFC 5681, section 3.1: one segment after a lost SYN or SYN/ACK.
        let mut cwnd = if syn_lost { mss } else { cx.tcp.initial_window.bytes(cx.cc.mtu) };
        let room = self.tx.wnd.min(self.tx.buffer);
        // What was inherited is no reason to send more than that.
        if let Some(entry) = self.cache.filter(|_| !syn_lost) {
            cwnd = match cx.tcp.inherit_cwnd {
                InheritCwnd::Off => cwnd,
                InheritCwnd::Half => (entry.cwnd / 2).min(room).max(mss),
                InheritCwnd::Full => entry.cwnd.min(room).max(mss),
            };
        }
        let ssthresh = self.cache.and_then(|entry| entry.ssthresh).map(|bytes| bytes.max(2 * mss));
        self.cc.start_stream(cx.cc, StreamStart { now, cwnd, ssthresh });
        self.tx.last_sent = now;
        self.apply_limits(cx);
    }

    fn on_probe_reply(&mut self, cx: Context<'_>, now: Time, number: u32, int: &[IntHop]) {
        if number == self.probe.number {
            self.probe.out = false;
            self.timers.clear(Timer::Probe);
        }
        // One given up counts when it comes after all: a long queue is why it is late.
        if number.wrapping_sub(self.probe.answered) as i32 > 0 && !int.is_empty() {
            self.probe.answered = number;
            // One probe is one round trip to a controller that counts packets.
            self.cc.on_ack(cx.cc, &Ack { now, ack: number, snd_nxt: number, ecn: false, switches: 0, int });
            self.apply_limits(cx);
        }
    }

    /// Runs the timers due by `now`.
    pub fn on_timeout(&mut self, cx: Context<'_>, now: Time) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some(timer) = self.timers.expired(now) {
            match timer {
                Timer::Retransmit => self.on_retransmit_timeout(cx, now, &mut outcome),
                Timer::Persist => self.probe_window = true,
                Timer::DelayedAck => {
                    self.counters.late_acks += 1;
                    self.rx.ack.flush();
                }
                Timer::Pace => {}
                Timer::Probe => self.probe.out = false,
                Timer::TimeWait => self.state = State::Closed,
            }
        }
        outcome
    }

    fn on_retransmit_timeout(&mut self, cx: Context<'_>, now: Time, outcome: &mut Outcome) {
        if self.tries >= cx.tcp.rto.tries {
            self.state = State::Failed;
            self.timers.clear_all();
            outcome.failed = true;
            return;
        }
        self.counters.timeouts += 1;
        self.tries += 1;
        let first_wait = self.rto.srtt();
        self.rto.back_off(&cx.tcp.rto);
        if self.state != State::Open {
            self.tx.nxt = self.tx.una;
            self.tx.timed = None;
            return;
        }
        if self.tries == 1 && cx.tcp.undo_early_ack {
            let r = &self.recovery;
            let until = now + Duration(first_wait.0 / 2);
            self.undo = Some(Undo {
                until,
                recover: r.recover,
                timeout_recover: r.timeout_recover,
                reduced_until: r.reduced_until,
                answered: r.answered,
                cwr: r.cwr,
            });
        }
        // With SACK new data go on leaving while a lost retransmission holds up the cumulative ACK, so that FlightSize (RFC 5681, eq. 4) is
        // mostly what has arrived. The window is what is in the network at most, and a timeout must not raise ssthresh above it.
        let flight = if self.sack { self.tx.flight().min(self.cwnd) } else { self.tx.flight() };
        self.cc.on_loss(cx.cc, now, Loss::Timeout, flight);
        self.recovery.on_timeout(&mut self.tx);
        // FreeBSD tells the peer of no timeout.
        self.recovery.cwr = if cx.tcp.freebsd_ecn { self.recovery.cwr } else { self.ecn };
        self.burst_left = 0;
        self.apply_limits(cx);
        self.start_retransmit_timer(cx, now);
    }

    /// When to call [`Connection::on_timeout`] next.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    pub(super) fn start_retransmit_timer(&mut self, cx: Context<'_>, now: Time) {
        let at = next_tick(now + self.rto.timeout(&cx.tcp.rto), cx.tcp.rto.quantum);
        self.timers.set(Timer::Retransmit, at);
    }

    #[inline]
    pub(super) fn sync_ack_timer(&mut self, cx: Context<'_>) {
        match self.rx.ack.deadline() {
            Some(at) => self.timers.set(Timer::DelayedAck, next_tick(at, cx.tcp.rto.quantum)),
            None => self.timers.clear(Timer::DelayedAck),
        }
    }

    /// Takes over what the controller now allows.
    #[inline]
    pub(super) fn apply_limits(&mut self, cx: Context<'_>) {
        let limits = self.cc.limits(cx.cc);
        let least = u64::from(cx.tcp.min_window.max(1)) * cx.mss();
        self.cwnd = limits.cwnd.max(least);
        self.counters.largest_window = self.counters.largest_window.max(self.cwnd);
        // A window that is lifted is sent within a round trip as well: at a lower rate it would never be used.
        let of_least = u128::from(least) * 8_000_000_000 / u128::from(cx.cc.base_rtt_ns.max(1));
        self.counters.lifted |= limits.cwnd < least;
        self.rate = if limits.cwnd < least { limits.rate.max(of_least as u64) } else { limits.rate };
    }

    fn check_closed(&mut self, cx: Context<'_>, now: Time, outcome: &mut Outcome) {
        if self.state == State::Open && self.tx.fin_acked() && self.rx.finished() {
            outcome.closed = true;
            self.timers.clear_all();
            if self.closed_first {
                self.state = State::TimeWait;
                self.timers.set(Timer::TimeWait, now + cx.tcp.time_wait);
            } else {
                self.state = State::Closed;
            }
        }
    }

    /// What to leave to the next connection to the same peer: with four samples of the round-trip time or more (FreeBSD).
    pub fn cache_entry(&self, cx: Context<'_>) -> Option<CacheEntry> {
        (self.rto.samples() >= 4).then(|| CacheEntry {
            srtt: self.rto.srtt(),
            rttvar: self.rto.rttvar(),
            ssthresh: Some(self.cc.ssthresh())
                .filter(|bytes| *bytes < self.tx.buffer / 2)
                .map(|bytes| CacheEntry::whole_packets(bytes, cx.mss())),
            cwnd: self.cwnd,
        })
    }

    /// Where it is.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes sent and not acknowledged, SYN and FIN as one each.
    pub fn in_flight(&self) -> u64 {
        self.tx.flight()
    }

    /// Congestion window, bytes.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Slow-start threshold, bytes.
    pub fn ssthresh(&self) -> u64 {
        self.cc.ssthresh()
    }

    /// Smoothed round-trip time; 0 before the first sample.
    pub fn srtt(&self) -> Duration {
        self.rto.srtt()
    }

    /// The retransmission timeout as it would start now.
    pub fn rto(&self, cx: Context<'_>) -> Duration {
        self.rto.timeout(&cx.tcp.rto)
    }

    /// Bytes that have arrived in order.
    pub fn delivered(&self) -> u64 {
        self.rx.delivered()
    }

    /// Bytes the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.tx.una.min(self.tx.end).saturating_sub(ISS + 1)
    }

    /// Whether it began with what an earlier connection to the peer had left.
    pub fn inherits(&self) -> bool {
        self.cache.is_some()
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Segments dropped because the reassembly queue was full.
    pub fn reassembly_drops(&self) -> u64 {
        self.rx.reassembly_drops
    }

    /// Socket buffers now, bytes: sending, receiving.
    pub fn buffers(&self) -> (u64, u64) {
        (self.tx.buffer, self.rx.buffer())
    }
}

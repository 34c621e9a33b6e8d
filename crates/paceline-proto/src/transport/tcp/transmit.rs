//! What leaves next.

use std::mem::take;

use crate::cc::CongestionControl;
use crate::units::{Duration, S, Time};

use super::connection::{Connection, Context, State};
use super::params::Pacing;
use super::rto::next_tick;
use super::sack::NextSeg;
use super::segment::{Flags, ISS, Segment, Timestamps};
use super::sender::Timed;
use super::timers::Timer;

/// Probes without data between them.
const PROBES_AFTER_DATA: u8 = 3;

/// A stretch of the stream chosen to be sent; the FIN is the position after the data.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    start: u64,
    end: u64,
    why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// The window lets it (also what a timeout gave up).
    Window,
    /// Loss recovery asks for it.
    Lost,
    /// The one rescue retransmission.
    Rescue,
    /// The peer's window is closed and must be asked after.
    Persist,
}

/// Why nothing is to be sent.
enum Nothing {
    /// No data, or they wait for something that will come by itself.
    Wait,
    /// The peer's window, and nothing is under way that would open it.
    Closed,
}

impl Connection {
    /// The next segment to leave at `now`, if any. To be called after every other call until it says `None`.
    pub fn poll_transmit(&mut self, cx: Context<'_>, now: Time) -> Option<Segment> {
        match self.state {
            State::SynSent | State::SynReceived => self.poll_syn(cx, now),
            State::Open => self
                .poll_probe_reply()
                .or_else(|| self.poll_data(cx, now))
                .or_else(|| self.poll_ack(cx, now))
                .or_else(|| self.poll_probe(cx, now)),
            // Both FINs are through; only repeated ones are answered.
            State::TimeWait | State::Closed => self.poll_ack(cx, now),
            State::Listen | State::Failed => None,
        }
    }

    fn blank(&self, cx: Context<'_>, now: Time) -> Segment {
        let timestamps = self.timestamps.then(|| Timestamps { value: cx.ticks(now), echo: 0 });
        Segment { timestamps, ..Segment::default() }
    }

    fn poll_syn(&mut self, cx: Context<'_>, now: Time) -> Option<Segment> {
        if self.tx.nxt > ISS {
            return None;
        }
        let mut segment = self.blank(cx, now);
        segment.seq = ISS as u32;
        segment.flags = Flags::SYN;
        if self.state == State::SynSent {
            self.ecn = cx.tcp.ecn && self.syns <= cx.tcp.ecn_syn_retries;
            segment.flags |= (Flags::ECE | Flags::CWR).when(self.ecn) | Flags::SACK_PERMITTED.when(cx.tcp.sack);
            segment.window = cx.tcp.receive_buffer.initial as u32;
        } else {
            self.rx.acknowledge(&mut segment, false);
            segment.flags |= Flags::ECE.when(self.ecn) | Flags::SACK_PERMITTED.when(self.sack);
        }
        // RFC 6298, section 3: no sample from a segment sent twice.
        self.tx.timed = (self.syns == 0).then_some(Timed { start: ISS, end: ISS + 1, sent: now, next: None });
        self.syns = self.syns.saturating_add(1);
        (self.tx.nxt, self.tx.max) = (ISS + 1, ISS + 1);
        self.start_retransmit_timer(cx, now);
        Some(segment)
    }

    fn poll_ack(&mut self, cx: Context<'_>, now: Time) -> Option<Segment> {
        if !self.rx.ack.is_due() {
            return None;
        }
        let mut segment = self.blank(cx, now);
        segment.seq = self.tx.nxt as u32;
        segment.flags = Flags::CWR.when(cx.tcp.freebsd_ecn && take(&mut self.recovery.cwr));
        self.rx.acknowledge(&mut segment, self.sack);
        self.timers.clear(Timer::DelayedAck);
        Some(segment)
    }

    fn poll_probe_reply(&mut self) -> Option<Segment> {
        let seq = self.probe.reply.take()?;
        Some(Segment { seq, flags: Flags::PROBE_REPLY, ..Segment::default() })
    }

    /// A probe per round trip while data leave, and a few after the last: a sender that waits for its timer asks nothing.
    fn poll_probe(&mut self, cx: Context<'_>, now: Time) -> Option<Segment> {
        let wait = cx.tcp.probe.filter(|_| cx.cc.params.uses_int())?;
        if self.probe.out || self.probe.left == 0 {
            return None;
        }
        self.probe.out = true;
        self.probe.left -= 1;
        self.probe.number = self.probe.number.wrapping_add(1).max(1);
        self.timers.set(Timer::Probe, now + wait);
        Some(Segment { seq: self.probe.number, flags: Flags::PROBE, ..Segment::default() })
    }

    fn poll_data(&mut self, cx: Context<'_>, now: Time) -> Option<Segment> {
        let nothing_left = self.tx.nxt > self.tx.end || self.tx.nxt == self.tx.end && !self.tx.fin;
        if nothing_left && !self.recovery.resend && !self.recovery.fast {
            self.burst_left = 0;
            return None;
        }
        if self.burst_left == 0 && now < self.pace_at {
            self.timers.set(Timer::Pace, self.pace_at);
            return None;
        }
        self.restart_after_idle(cx, now);
        match self.choose(cx) {
            Ok(chosen) => Some(self.send(cx, now, chosen)),
            Err(nothing) => {
                self.burst_left = 0;
                let waiting = self.timers.is_set(Timer::Persist) || self.timers.is_set(Timer::Retransmit);
                if matches!(nothing, Nothing::Closed) && !waiting {
                    let at = now + self.rto.persist(self.persists, &cx.tcp.rto);
                    self.timers.set(Timer::Persist, next_tick(at, cx.tcp.rto.quantum));
                }
                None
            }
        }
    }

    /// RFC 5681, section 4.1; as FreeBSD asks with `idle_by_receipt`.
    fn restart_after_idle(&mut self, cx: Context<'_>, now: Time) {
        if cx.tcp.idle_restart && self.tx.flight() == 0 && self.tx.has_new() {
            let (since, timeout) = (|last: Time| Duration(now.0.saturating_sub(last.0)), self.rto.timeout(&cx.tcp.rto));
            let was_idle = if cx.tcp.idle_by_receipt {
                since(self.tx.last_heard) >= timeout
            } else {
                since(self.tx.last_sent) > timeout
            };
            if was_idle {
                self.cc.on_idle(cx.cc, cx.tcp.initial_window.bytes(cx.cc.mtu));
                self.apply_limits(cx);
            }
        }
    }

    fn choose(&mut self, cx: Context<'_>) -> Result<Chosen, Nothing> {
        let mss = cx.mss();
        if self.recovery.resend {
            self.recovery.resend = false;
            let (start, max) = (self.tx.una, self.tx.max);
            if start < max {
                let end = self.recovery.board.end_of_hole(start, max, mss);
                return Ok(Chosen { start, end, why: Why::Lost });
            }
        }
        if self.recovery.fast && self.sack {
            return self.choose_by_scoreboard(cx);
        }
        let window = self.cwnd.saturating_add_signed(self.recovery.inflation).max(mss);
        self.choose_by_window(cx, window.saturating_add(self.recovery.limited))
    }

    /// RFC 6675, section 5, step C.
    fn choose_by_scoreboard(&mut self, cx: Context<'_>) -> Result<Chosen, Nothing> {
        let mss = cx.mss();
        let board = &self.recovery.board;
        let room = match &self.recovery.prr {
            Some(prr) => prr.allowance,
            None => self.cwnd.saturating_sub(board.pipe(self.tx.una, self.tx.max, cx.tcp, mss)),
        };
        if room < mss {
            return Err(Nothing::Wait);
        }
        // New data are bounded by the peer's window alone: pipe stands for the other.
        let new = self.tx.has_new().then(|| self.choose_by_window(cx, u64::MAX / 2)).and_then(Result::ok);
        match self.recovery.board.next(self.tx.una..self.tx.max, new.is_some(), cx.tcp, mss) {
            Some(NextSeg::Again(start, end)) => Ok(Chosen { start, end, why: Why::Lost }),
            Some(NextSeg::Rescue(start, end)) => Ok(Chosen { start, end, why: Why::Rescue }),
            Some(NextSeg::New) => new.ok_or(Nothing::Wait),
            None => Err(Nothing::Wait),
        }
    }

    fn choose_by_window(&mut self, cx: Context<'_>, window: u64) -> Result<Chosen, Nothing> {
        let mss = cx.mss();
        let tx = &self.tx;
        let again = tx.nxt < tx.max;
        let start = if again { self.recovery.board.first_missing(tx.nxt) } else { tx.nxt };
        let last = tx.end + u64::from(tx.fin);
        if start >= last {
            return Err(Nothing::Wait);
        }
        if self.probe_window {
            // What the window holds, or one byte (RFC 9293, section 3.8.6.1 and the override of 3.8.6.2.1).
            let end = (tx.una + tx.wnd).clamp(start + 1, start + mss).min(last);
            return Ok(Chosen { start, end, why: Why::Persist });
        }
        let window = window.min(tx.wnd).min(tx.buffer);
        let right = tx.una + window;
        let mut end = tx.end.min(right).min(start + mss);
        if again && start < tx.max {
            end = end.min(self.recovery.board.end_of_hole(start, tx.max, mss).max(start));
        }
        // The FIN needs no room of its own.
        if tx.fin && (end == tx.end || start == tx.end) && right >= tx.end {
            end = last;
        }
        if end <= start {
            return Err(if tx.flight() == 0 || again { Nothing::Closed } else { Nothing::Wait });
        }
        let len = end - start;
        let idle = tx.flight() == 0;
        // Silly window avoidance (RFC 9293, section 3.8.6.2.1) and Nagle (section 3.7.4).
        let all = end >= tx.end;
        let worth = len >= mss || all && (!cx.tcp.nagle || idle || tx.fin) || len >= tx.max_wnd / 2 || again;
        if !worth {
            return Err(if idle { Nothing::Closed } else { Nothing::Wait });
        }
        // A sender that hands over large bursts waits until one is allowed, unless a third of the window or all is.
        if cx.tcp.burst > 1 && self.burst_left == 0 && !idle && !again && !self.recovery.fast && right < tx.end {
            let wanted = (u64::from(cx.tcp.burst) * mss).min((window / 3).max(mss));
            if right - start < wanted && self.recovery.limited == 0 {
                return Err(Nothing::Wait);
            }
        }
        Ok(Chosen { start, end, why: Why::Window })
    }

    fn send(&mut self, cx: Context<'_>, now: Time, chosen: Chosen) -> Segment {
        let Chosen { start, end, why } = chosen;
        let payload = end.min(self.tx.end) - start.min(self.tx.end);
        let fin = self.tx.fin && end > self.tx.end;
        let new = end > self.tx.max;
        let again = start < self.tx.max;
        let mut segment = self.blank(cx, now);
        segment.seq = start as u32;
        segment.len = payload as u32;
        // ECT on new data only (RFC 3168, section 6.1.5), not on probes of a window (6.1.6).
        let ect = self.ecn && payload > 0 && !again && why == Why::Window;
        // With new data (RFC 3168, section 6.1.2); from FreeBSD with whatever leaves next.
        let cwr = self.recovery.cwr && (cx.tcp.freebsd_ecn || !again && payload > 0);
        segment.flags = Flags::FIN.when(fin)
            | Flags::PSH.when(self.tx.message_ends_in(start, end.min(self.tx.end)))
            | Flags::ECT.when(ect)
            | Flags::CWR.when(cwr);
        self.recovery.cwr &= !cwr;
        self.rx.acknowledge(&mut segment, self.sack);
        self.timers.clear(Timer::DelayedAck);

        self.counters.retransmits += u64::from(again && why != Why::Persist);
        if cx.cc.params.marks_segments() && payload > 0 {
            self.tx.marked.on_sent(start, start + payload, cx.ticks(now));
        }
        if again {
            self.tx.timed = None;
        } else if why == Why::Window {
            match &mut self.tx.timed {
                None => self.tx.timed = Some(Timed { start, end, sent: now, next: None }),
                Some(timed) if timed.next.is_none() => timed.next = Some((end, now)),
                Some(_) => {}
            }
        }
        if new && end > self.tx.una + self.cwnd && self.recovery.limited > 0 {
            self.recovery.limited_sent += end - start;
        }
        if fin && !self.rx.finished() {
            self.closed_first = true;
        }
        self.tx.max = self.tx.max.max(end);
        self.tx.last_sent = now;
        self.probe.left = PROBES_AFTER_DATA;
        if why == Why::Persist {
            self.probe_window = false;
            self.persists = self.persists.saturating_add(1);
            self.counters.window_probes += 1;
            let at = now + self.rto.persist(self.persists, &cx.tcp.rto);
            self.timers.set(Timer::Persist, next_tick(at, cx.tcp.rto.quantum));
            return segment;
        }
        self.tx.nxt = self.tx.nxt.max(end);
        if let Some(prr) = &mut self.recovery.prr {
            prr.on_sent(end - start);
        }
        match why {
            Why::Lost if self.recovery.fast && self.sack => self.recovery.board.on_again(end),
            Why::Rescue => self.recovery.board.on_rescue(self.recovery.recover),
            _ => {}
        }
        if self.timers.is_set(Timer::Persist) {
            self.timers.clear(Timer::Persist);
            self.persists = 0;
        }
        let rearm = why != Why::Window && cx.tcp.rearm_on_retransmit;
        if rearm || !self.timers.is_set(Timer::Retransmit) {
            self.start_retransmit_timer(cx, now);
        }
        if new {
            self.tx.grow_buffer(self.cwnd, cx.tcp);
        }
        self.after_send(cx, now, payload);
        segment
    }

    /// Bursts and pacing.
    fn after_send(&mut self, cx: Context<'_>, now: Time, payload: u64) {
        self.burst_left = if self.burst_left == 0 { cx.tcp.burst.max(1) } else { self.burst_left } - 1;
        let rate = match cx.tcp.pacing {
            Pacing::Off => return,
            Pacing::Rate => u128::from(self.rate),
            Pacing::Window { slow_start, avoidance } => {
                let srtt = u128::from(self.rto.srtt().0);
                if srtt == 0 {
                    return;
                }
                // As in Linux: up to half of the threshold, and at what is in flight where the window has fallen below that.
                let percent = if self.cwnd < self.cc.ssthresh() / 2 { slow_start } else { avoidance };
                u128::from(self.cwnd.max(self.tx.flight())) * 8 * u128::from(S) * u128::from(percent) / 100 / srtt
            }
        };
        let gap = u128::from(payload) * 8 * u128::from(S) / rate.max(1);
        self.pace_at = self.pace_at.max(now) + Duration(u64::try_from(gap).unwrap_or(u64::MAX >> 1));
    }
}

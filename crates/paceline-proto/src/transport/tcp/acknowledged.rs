//! What an ACK does to the sender.

use crate::cc::{CongestionControl, Loss, StreamAck, Timing};
use crate::units::{Duration, Time};

use super::connection::{Connection, Context};
use super::marked::Arrival;
use super::params::Pacing;
use super::prr::{Delivery, Prr};
use super::recovery::Duplicate;
use super::segment::{Flags, Segment, expand};
use super::timers::Timer;

impl Connection {
    /// The acknowledging part of a segment. Returns the bytes it acknowledges for the first time.
    pub(super) fn on_ack(&mut self, cx: Context<'_>, now: Time, segment: &Segment) -> u64 {
        let ack = expand(segment.ack, self.tx.una);
        if ack > self.tx.max {
            // Of something never sent (RFC 9293, section 3.10.7.4): answer and drop.
            self.rx.ack.demand();
            return 0;
        }
        if ack < self.tx.una {
            return 0;
        }
        let mss = cx.mss();
        let news =
            if self.sack { self.recovery.board.update(&segment.sack, self.tx.una.max(ack), self.tx.max) } else { 0 };
        let same_window = u64::from(segment.window) == self.tx.wnd;
        self.tx.update_window(expand(segment.seq, self.rx.rcv_nxt), ack, segment);
        if self.ecn && segment.flags.has(Flags::ECE) {
            self.on_ecn_echo(cx, now, ack);
        }
        if ack > self.tx.una {
            return self.on_new_ack(cx, now, ack, news, segment);
        }
        // RFC 5681, section 2 without SACK, RFC 6675, section 2 with. Answers to window probes are none.
        let plain = segment.len == 0 && !segment.flags.has(Flags::FIN) && same_window;
        if (if self.sack { news > 0 } else { plain }) && self.timers.is_set(Timer::Retransmit) {
            self.on_duplicate_ack(cx, now, news, mss);
        }
        0
    }

    fn on_new_ack(&mut self, cx: Context<'_>, now: Time, ack: u64, news: u64, segment: &Segment) -> u64 {
        let mss = cx.mss();
        let acked = ack - self.tx.una;
        let timed = self.tx.timed.take_if(|t| ack >= t.end).map(|t| {
            let next = t.next.filter(|(end, _)| ack >= *end);
            Timing {
                sent: self.tx.max - t.start,
                rtt: cx.measured(t.sent, now),
                lowest: cx.measured(next.map_or(t.sent, |(_, sent)| sent), now),
                tick: cx.tcp.rto.quantum,
            }
        });
        let rtt = self.round_trip(cx, now, timed, segment);
        let timed = if cx.cc.params.marks_segments() { self.marked_round(cx, now, ack, segment) } else { timed };
        if let Some(rtt) = rtt {
            self.counters.longest_rtt = self.counters.longest_rtt.max(rtt);
            self.rto.sample(rtt, &cx.tcp.rto);
        }
        if let Some(undo) = self.undo.take()
            && self.tries == 1
            && now < undo.until
        {
            // FreeBSD: too early to answer the copy, so the original had not been lost.
            self.cc.undo_timeout();
            self.recovery.recover = undo.recover;
            self.recovery.timeout_recover = undo.timeout_recover;
            self.recovery.reduced_until = undo.reduced_until;
            if cx.tcp.freebsd_ecn {
                // An echo with this very ACK has been answered.
                self.recovery.answered |= undo.answered;
            } else {
                self.recovery.cwr = undo.cwr;
            }
            self.recovery.resend = false;
            self.tx.nxt = self.tx.max;
            self.counters.spurious_timeouts += 1;
            self.apply_limits(cx);
        }
        self.tries = 0;
        let resending = self.tx.nxt < self.tx.max;
        // What had been selectively acknowledged is no news.
        let delivered = news + acked - self.recovery.board.sacked.bytes_below(ack);
        let in_flight = self.tx.flight();
        self.tx.acknowledge(ack);
        self.recovery.board.advance(ack);
        let mut restart = true;
        if self.recovery.fast && ack < self.recovery.recover {
            self.recovery.on_partial(acked, self.sack, mss);
            self.reduce(cx, delivered, true);
            // RFC 6582, section 4: "impatient" leaves the timer running after the first partial ACK.
            restart = self.sack || !cx.tcp.impatient || self.recovery.no_partial_yet;
            self.recovery.no_partial_yet = false;
        } else if self.recovery.fast {
            // With SACK what is in the network has come down to ssthresh, which is the window then (RFC 6675, section 5; RFC 9937). FreeBSD
            // bounds it as without.
            let least = if cx.tcp.freebsd_recovery { 0 } else { mss };
            let bounded = !self.sack || cx.tcp.freebsd_recovery;
            let flight = if bounded { self.tx.flight().max(least) + mss } else { u64::MAX };
            self.recovery.leave();
            self.cc.on_recovered(cx.cc, now, flight);
            self.apply_limits(cx);
        } else {
            self.recovery.on_new_ack();
            self.recovery.resend = false;
            // FreeBSD's window stays until the window of data is over; by RFC 3168, section 6.1.2, it grows as usual with ACKs without the
            // echo, and with no other.
            let answered = self.recovery.answered;
            self.recovery.answered = answered && ack < self.recovery.reduced_until;
            let marked = if cx.tcp.freebsd_ecn { answered } else { self.ecn && segment.flags.has(Flags::ECE) };
            let may_grow = !marked && self.cwnd <= self.tx.wnd && self.window_was_used(cx, in_flight);
            let (una, srtt) = (self.tx.una, self.rto.srtt());
            let ack = StreamAck { now, bytes: acked, una, timed, rtt, srtt, marked, may_grow, resending };
            self.cc.on_stream_ack(cx.cc, &ack);
            self.apply_limits(cx);
        }
        // RFC 6298, sections 5.2 and 5.3.
        if self.tx.flight() == 0 {
            self.timers.clear(Timer::Retransmit);
        } else if restart {
            self.start_retransmit_timer(cx, now);
        }
        // RFC 6675, section 5: what tells of more data above counts as a duplicate also if it acknowledges some. Not in FreeBSD.
        if news > 0 && !self.recovery.fast && !cx.tcp.freebsd_recovery {
            self.on_duplicate_ack(cx, now, delivered, mss);
        }
        acked
    }

    /// Whether the window was what kept more than `in_flight` bytes from being out, before an ACK. In slow start half of it will do
    /// (Linux): what the ACK before it allowed may still be leaving. A sender that waits for room for a burst, or is paced, is kept
    /// by the window all the same.
    fn window_was_used(&self, cx: Context<'_>, in_flight: u64) -> bool {
        if !cx.tcp.grow_used {
            return true;
        }
        let burst = (u64::from(cx.tcp.burst) * cx.mss()).min(self.cwnd / 3).max(cx.mss());
        let halves = cx.tcp.pacing != Pacing::Off || self.cwnd < self.cc.ssthresh();
        in_flight + burst > self.cwnd || halves && 2 * in_flight >= self.cwnd
    }

    /// A round-trip time, if this ACK tells one (RFC 7323, section 4.1; without timestamps RFC 6298, section 3).
    fn round_trip(&self, cx: Context<'_>, now: Time, timed: Option<Timing>, segment: &Segment) -> Option<Duration> {
        if self.timestamps {
            let echo = segment.timestamps.filter(|t| t.echo != 0)?.echo;
            let ticks = cx.ticks(now).wrapping_sub(echo);
            // A peer may echo anything.
            return (ticks < 1 << 31).then(|| Duration(u64::from(ticks).saturating_mul(cx.tcp.rto.quantum.0)));
        }
        timed.map(|t| t.rtt)
    }

    /// The round trip that FreeBSD's Vegas takes this ACK of new data to end.
    fn marked_round(&mut self, cx: Context<'_>, now: Time, ack: u64, segment: &Segment) -> Option<Timing> {
        let echo = segment.timestamps.filter(|t| self.timestamps && t.echo != 0).map(|t| t.echo);
        let arrival = Arrival { una: self.tx.una, ack, echo, ticks: cx.ticks(now), mss: cx.mss() };
        let round = self.tx.marked.on_ack(&arrival)?;
        let tick = cx.tcp.rto.quantum;
        let span = |ticks: u32| Duration(u64::from(ticks).saturating_mul(tick.0));
        Some(Timing { sent: round.sent, rtt: span(round.ticks), lowest: span(round.lowest), tick })
    }

    /// `delivered`: bytes that it tells have arrived, and had not before.
    fn on_duplicate_ack(&mut self, cx: Context<'_>, now: Time, delivered: u64, mss: u64) {
        match self.recovery.on_duplicate(&self.tx, self.sack, cx.tcp, mss) {
            Duplicate::Counted => self.reduce(cx, delivered, false),
            Duplicate::Ignored => self.counters.ignored_duplicates += 1,
            Duplicate::Lost => {
                let flight = self.tx.flight().saturating_sub(self.recovery.limited_sent);
                // Not twice in a window of data, and the peer hears of it (RFC 3168, section 6.1.2).
                if !self.recovery.answered {
                    self.cc.on_loss(cx.cc, now, Loss::DupAcks, flight);
                    self.recovery.reduced_until = self.tx.max;
                    self.recovery.cwr = self.ecn;
                } else if cx.tcp.freebsd_ecn {
                    self.recovery.cwr = self.ecn;
                }
                self.recovery.answered = false;
                self.recovery.enter(&mut self.tx, self.sack, cx.tcp, mss);
                self.counters.fast_retransmits += 1;
                self.apply_limits(cx);
                if self.sack && cx.tcp.prr {
                    // What this ACK tells of counts as delivered in the recovery.
                    let flight = self.recovery.board.missing_between(self.tx.una, self.tx.max) + delivered;
                    self.recovery.prr = Some(Prr::new(self.cwnd, flight));
                    self.reduce(cx, delivered, false);
                }
            }
        }
    }

    /// Proportional rate reduction: an ACK of a recovery says that `bytes` more have arrived.
    fn reduce(&mut self, cx: Context<'_>, bytes: u64, advances: bool) {
        let (mss, board) = (cx.mss(), &self.recovery.board);
        let Some(prr) = &mut self.recovery.prr else { return };
        let edge = board.lost_edge(cx.tcp, mss);
        let more_lost = board.missing_between(prr.lost_edge.max(self.tx.una), edge) > 0;
        prr.lost_edge = prr.lost_edge.max(edge);
        let pipe = board.pipe(self.tx.una, self.tx.max, cx.tcp, mss);
        prr.on_ack(Delivery { bytes, pipe, safe: advances && !more_lost }, mss);
    }

    /// A switch has told of congestion: as an echo of a mark on what was last acknowledged.
    pub(super) fn on_congestion(&mut self, cx: Context<'_>, now: Time) {
        self.on_ecn_echo(cx, now, self.tx.una);
    }

    /// RFC 3168, section 6.1.2: at most one reduction per window of data, whatever its cause.
    fn on_ecn_echo(&mut self, cx: Context<'_>, now: Time, ack: u64) {
        let r = &mut self.recovery;
        // FreeBSD forgets with a timeout that it has reduced: an echo that goes on holds the window down once more, while what was in
        // flight is sent again.
        let reduced = if cx.tcp.freebsd_ecn { r.answered } else { ack <= r.reduced_until };
        if r.fast || reduced || self.tx.flight() == 0 {
            return;
        }
        r.reduced_until = self.tx.max;
        r.answered = true;
        r.cwr = self.ecn;
        if cx.tcp.freebsd_ecn {
            r.recover = self.tx.max;
        }
        let flight = self.tx.flight();
        self.cc.on_ecn(cx.cc, now, flight);
        self.counters.ecn_reductions += 1;
        self.apply_limits(cx);
    }
}

//! NDP's sending side: a first window at line rate, then one packet per pull.

use std::collections::VecDeque;

use super::params::{DOUBLINGS, Params};
use crate::rng::hash3;
use crate::transport::in_flight::InFlight;
use crate::transport::message::{AGAIN, Counters, Header, Kind, LAST, Message, PULLS, UNSCHEDULED};
use crate::transport::packet_set::Received;
use crate::transport::timers::Timers;
use crate::transport::unscheduled::{BurstStop, RepairOrder, Scoreboard, Unscheduled};
use crate::units::Time;

/// Answers that count as recent: the tallies are halved when they reach this many.
const RECENT: u16 = 32;

/// A message being sent.
#[derive(Clone, Debug, Default)]
struct Outbound {
    live: bool,
    peer: u32,
    bytes: u64,
    board: Scoreboard,
    acked: Received,
    in_flight: InFlight,
    /// Packets that may be sent by pulls received.
    allowance: u32,
    /// The last pull's counter.
    pulled: u64,
    /// ACKs and NACKs received, and packets that a probe was answered without: each stands for a pull to come.
    answered: u64,
    /// Times the timer ran out in vain while pulls were to come.
    waits: u32,
    /// Whether a packet was sent unasked since the last pull.
    unasked: bool,
    /// Of the recent answers, ACKs, and all.
    recent_acks: u16,
    recent: u16,
    /// Listed among the messages with repairs, with other packets.
    listed: [bool; 2],
    /// Timeout of this message, ps.
    rto: u64,
    /// Last time it sent or heard anything.
    active: Time,
    probe_at: Time,
    /// When open packets become lost ones.
    verdict_at: Time,
}

impl Outbound {
    fn in_window(&self) -> bool {
        self.board.in_burst()
    }

    /// Whether the next packet would be a repair.
    fn has_repair(&self, params: &Params) -> bool {
        self.allowance > 0
            && self.board.lost() > 0
            && (params.burst.order == RepairOrder::LostFirst || self.board.next_new() == self.board.packets())
    }

    fn has_other(&self, params: &Params) -> bool {
        self.in_window()
            || self.board.owes_probe()
            || (self.allowance > 0 && self.board.has_scheduled(params.burst.resend_open))
    }

    /// When something is to be done if nothing arrives.
    fn deadline(&self) -> Time {
        let after = |at: Time| Time(at.0.saturating_add(self.rto));
        let packets = self.in_flight.oldest().map_or(Time::NEVER, |(_, sent)| after(sent));
        let probe = if self.board.awaits_probe_ack() { after(self.probe_at) } else { Time::NEVER };
        let first = packets.min(probe).min(self.verdict_at);
        if first == Time::NEVER { Time(self.active.0.saturating_add(self.patience())) } else { first }
    }

    /// Whether the receiver has told of packets that it has not pulled for yet.
    fn is_owed(&self) -> bool {
        self.answered > self.pulled
    }

    /// How long it waits when every packet sent is accounted for, ps. The timeout is for real loss (facts 3.2), and a receiver with many
    /// senders takes longer than that to come round: then the wait doubles each time it was in vain, for as long as the message
    /// lives, as otherwise every pull of a large incast would be waited for with packets that nobody has asked for. It ends, as the last
    /// pull may be lost; when the next one tells that some were, the wait was none in vain.
    fn patience(&self) -> u64 {
        if self.is_owed() { self.rto.saturating_mul(1 << self.waits) } else { self.rto }
    }

    /// Pulls arrive, so many with those that were lost before. Returns how many are more than there are packets.
    fn on_pulls(&mut self, steps: u32) -> u32 {
        if steps > 0 && std::mem::take(&mut self.unasked) && steps > 1 {
            self.waits = self.waits.saturating_sub(1);
        }
        let all = self.allowance.saturating_add(steps);
        self.allowance = all.min(self.board.packets());
        all - self.allowance
    }

    /// The probe's answer counts: open packets are lost, and the receiver pulls for them, if it does.
    fn condemn(&mut self, params: &Params) {
        let lost = self.board.on_probe_ack();
        if params.pull_missing {
            self.answered += u64::from(lost);
        }
    }

    fn tally(&mut self, ack: bool) {
        self.recent += 1;
        self.recent_acks += u16::from(ack);
        if self.recent >= RECENT {
            self.recent /= 2;
            self.recent_acks /= 2;
        }
    }
}

/// All messages a host is sending.
#[derive(Clone, Debug, Default)]
pub(super) struct Senders {
    messages: Vec<Outbound>,
    /// Messages with repairs to send, messages with other packets, each in turn.
    rings: [VecDeque<u32>; 2],
    pub(super) timers: Timers,
}

impl Senders {
    pub(super) fn start(&mut self, params: &Params, key: u64, now: Time, slot: u32, message: Message) {
        let i = slot as usize;
        if i >= self.messages.len() {
            self.messages.resize_with(i + 1, Outbound::default);
        }
        let m = &mut self.messages[i];
        let probes = params.burst.policy != Unscheduled::Plain;
        m.board.restart(params.sizes.packets(message.bytes), params.burst.announcing(), probes);
        m.acked.clear();
        m.in_flight.clear();
        (m.live, m.peer, m.bytes) = (true, message.peer, message.bytes);
        (m.allowance, m.pulled, m.answered, m.waits, m.recent, m.recent_acks) = (0, 0, 0, 0, 0, 0);
        (m.unasked, m.active, m.probe_at, m.verdict_at) = (false, now, now, Time::NEVER);
        m.rto = around(params.rto.0, params.rto_jitter, hash3(key, message.id, 0));
        self.review(params, slot);
    }

    /// Puts a message where it will be found, and sets its timer.
    fn review(&mut self, params: &Params, slot: u32) {
        let m = &mut self.messages[slot as usize];
        for (ring, has) in [m.has_repair(params), m.has_other(params)].into_iter().enumerate() {
            if has && !m.listed[ring] {
                m.listed[ring] = true;
                self.rings[ring].push_back(slot);
            }
        }
        self.timers.arm(slot, m.deadline());
    }

    /// A packet for a message of this host. True when the message is complete.
    pub(super) fn on_packet(&mut self, params: &Params, now: Time, h: &Header, counters: &mut Counters) -> bool {
        let Some(m) = self.messages.get_mut(h.flow as usize).filter(|m| m.live) else { return false };
        match h.kind {
            Kind::Ack | Kind::Nack | Kind::Data if h.seq >= m.board.next_new() => return false,
            Kind::Ack => {
                m.in_flight.remove(h.seq);
                m.acked.insert(h.seq);
                m.board.on_ack(h.seq, params.burst.ordered_path && h.is(UNSCHEDULED));
                m.answered += 1;
                m.tally(true);
            }
            Kind::Nack => {
                m.in_flight.remove(h.seq);
                if !m.acked.contains(h.seq) {
                    m.board.mark_lost(h.seq);
                }
                m.answered += 1;
                m.tally(false);
            }
            Kind::Data => {
                counters.returned += 1;
                m.in_flight.remove(h.seq);
                m.tally(false);
                if !m.acked.contains(h.seq) && m.board.mark_lost(h.seq) && Self::at_once(params, m) {
                    m.allowance = m.allowance.saturating_add(1);
                }
            }
            Kind::ProbeAck => {
                if params.verdict_delay.0 == 0 {
                    m.condemn(params);
                } else if m.board.awaits_probe_ack() {
                    m.verdict_at = m.verdict_at.min(Time(now.0.saturating_add(params.verdict_delay.0)));
                }
            }
            Kind::Done => {
                m.live = false;
                counters.wasted_permits += u64::from(m.allowance);
                return true;
            }
            Kind::Pull => {}
            _ => return false,
        }
        m.active = now;
        let pulls = if h.kind == Kind::Pull || h.is(PULLS) { h.ext } else { 0 };
        let steps = pulls.saturating_sub(m.pulled).min(u64::from(m.board.packets())) as u32;
        m.pulled = m.pulled.max(pulls);
        if m.acked.count() == m.board.packets() {
            m.live = false;
            counters.wasted_permits += u64::from(m.allowance) + u64::from(steps);
            return true;
        }
        if pulls > 0 {
            counters.wasted_permits += u64::from(m.on_pulls(steps));
            if steps > 0 && params.burst.stop == BurstStop::FirstCredit {
                m.board.stop_burst();
            }
        }
        Self::discard(params, m, counters);
        self.review(params, h.flow);
        false
    }

    /// Whether a returned packet, which is among the recent answers, goes out again without a pull.
    fn at_once(params: &Params, m: &Outbound) -> bool {
        // The rest of a first window that has not left yet brings pulls too.
        let expected = m.is_owed() || m.allowance > 0 || m.in_window();
        let path = u32::from(m.recent_acks) * 100 >= params.returned_ack_share * u32::from(m.recent);
        (!expected && m.board.open() <= 1) || path
    }

    /// Throws away pulls that find nothing to send, but for those that have overtaken their answers on another path: a NACK may still
    /// come for which nothing else would be sent.
    fn discard(params: &Params, m: &mut Outbound, counters: &mut Counters) {
        if !params.keep_idle_pulls && m.allowance > 0 && !m.board.has_scheduled(params.burst.resend_open) {
            let early = m.pulled.saturating_sub(m.answered).min(u64::from(m.allowance)) as u32;
            counters.wasted_permits += u64::from(m.allowance - early);
            m.allowance = early;
        }
    }

    /// Whether any message may have a packet.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.rings.iter().any(|ring| !ring.is_empty())
    }

    /// The next packet: repairs of any message first, then the others, each message in turn.
    pub(super) fn poll(&mut self, params: &Params, now: Time, counters: &mut Counters) -> Option<Header> {
        for ring in 0..2 {
            while let Some(slot) = self.rings[ring].pop_front() {
                let m = &mut self.messages[slot as usize];
                m.listed[ring] = false;
                let wanted = if ring == 0 { m.has_repair(params) } else { m.has_other(params) };
                if !m.live || !wanted {
                    continue;
                }
                let header = Self::send(params, m, slot, now, counters);
                Self::discard(params, m, counters);
                self.review(params, slot);
                if header.is_some() {
                    return header;
                }
            }
        }
        None
    }

    fn send(params: &Params, m: &mut Outbound, slot: u32, now: Time, counters: &mut Counters) -> Option<Header> {
        let plain = params.burst.policy == Unscheduled::Plain;
        let (seq, flags) = if m.has_repair(params) {
            m.allowance -= 1;
            (m.board.take_lost()?, AGAIN)
        } else if let Some(seq) = m.board.next_unscheduled() {
            (seq, UNSCHEDULED)
        } else if let Some(sent) = m.board.take_probe() {
            m.probe_at = now;
            m.active = now;
            counters.probes += 1;
            let size = params.sizes.control_frame();
            let (priority, peer, ext) = (params.data_priority, m.peer, m.bytes);
            return Some(Header { kind: Kind::Probe, priority, flags: 0, size, flow: slot, peer, seq: sent, ext });
        } else {
            let (seq, again) = m.board.next_scheduled(params.burst.order, params.burst.resend_open)?;
            m.allowance -= 1;
            (seq, if again { AGAIN } else { 0 })
        };
        m.active = now;
        // What Aeolus' unscheduled packets came to is the probe's business.
        if plain || flags & UNSCHEDULED == 0 {
            m.in_flight.insert(seq, now);
        }
        counters.data += 1;
        counters.again += u64::from(flags & AGAIN != 0);
        counters.unscheduled += u64::from(flags & UNSCHEDULED != 0);
        let last = if seq + 1 == m.board.packets() { LAST } else { 0 };
        Some(Header {
            kind: Kind::Data,
            priority: params.data_priority,
            flags: flags | last,
            size: params.sizes.frame(m.bytes, seq),
            flow: slot,
            peer: m.peer,
            seq,
            ext: m.bytes,
        })
    }

    /// Looks at the messages whose timers are due.
    pub(super) fn on_timeout(&mut self, params: &Params, now: Time, counters: &mut Counters) {
        while let Some(slot) = self.timers.pop_due(now) {
            let m = &mut self.messages[slot as usize];
            if !m.live {
                continue;
            }
            if m.deadline() <= now {
                Self::expire(params, m, now, counters);
            }
            self.review(params, slot);
        }
    }

    fn expire(params: &Params, m: &mut Outbound, now: Time, counters: &mut Counters) {
        let due = |at: Time| now.0 >= at.0.saturating_add(m.rto);
        if m.verdict_at <= now {
            m.verdict_at = Time::NEVER;
            m.condemn(params);
            return;
        }
        counters.timeouts += 1;
        if m.board.awaits_probe_ack() && due(m.probe_at) {
            m.board.repeat_probe();
            // Else silence would be met a second time at once, with a packet that nobody has asked for.
            m.active = now;
            return;
        }
        if m.is_owed() {
            m.waits = DOUBLINGS.min(m.waits + 1);
            m.unasked = true;
        }
        let mut lost = false;
        while let Some((seq, _)) = m.in_flight.oldest().filter(|(_, sent)| now.0 >= sent.0.saturating_add(m.rto)) {
            m.in_flight.remove(seq);
            lost |= m.board.mark_lost(seq);
        }
        if !lost && !m.board.has_scheduled(false) {
            // Nothing known to be missing, yet not everything acknowledged.
            m.board.mark_lost(m.acked.first_missing());
        }
        // Pulls come only for what arrives: start again with one packet.
        m.allowance = m.allowance.max(1);
        m.active = now;
    }
}

/// A timeout up to so many percent below or above `rto`, ps, from 64 random bits; 1 ps at least.
fn around(rto: u64, percent: u32, bits: u64) -> u64 {
    let width = (u128::from(rto) * u128::from(percent.min(100)) / 100).min(u128::from(u64::MAX / 2));
    // In 128 bits: a width of 2 ms is all that 32 bits hold of picoseconds, there and back.
    let drawn = (u128::from(bits) * (2 * width + 1)) >> 64;
    u64::try_from(u128::from(rto) - width + drawn).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::around;
    use crate::units::MS;

    /// Timeouts of 50 ms, the authors' own, lay between 45.7 and 50 ms with 25 %.
    #[test]
    fn timeouts_lie_around_their_mean() {
        let ends = |rto, percent| (around(rto, percent, 0), around(rto, percent, u64::MAX));
        assert_eq!(ends(50 * MS, 25), (37_500_000_000, 62_500_000_000));
        assert_eq!(around(50 * MS, 25, 1 << 63), 50 * MS);
        assert_eq!(ends(MS, 0), (MS, MS));
        assert_eq!(ends(0, 100), (1, 1));
        assert_eq!(ends(u64::MAX, 100), (u64::MAX / 2 + 1, u64::MAX));
    }
}

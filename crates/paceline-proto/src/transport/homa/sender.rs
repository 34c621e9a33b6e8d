//! Homa's sending side: a host's shortest message first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::VecDeque;
use std::collections::binary_heap::PeekMut;

use super::params::Params;
use crate::transport::message::{AGAIN, Counters, GRANTED, Header, Kind, LAST, Message, UNSCHEDULED};
use crate::transport::timers::Timers;
use crate::transport::unscheduled::{BurstStop, Scoreboard, Unscheduled};
use crate::units::Time;

/// Most packets one RESEND is heeded for; a longer gap takes another one.
const MOST_RESENT: u32 = 1 << 16;

/// What messages are ordered by: packets to be sent, then start, id, slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    remaining: u32,
    start: Time,
    id: u64,
    slot: u32,
}

/// A message being sent.
#[derive(Clone, Debug, Default)]
struct Outbound {
    live: bool,
    peer: u32,
    bytes: u64,
    start: Time,
    id: u64,
    board: Scoreboard,
    /// Grants received, and spent.
    granted: u32,
    spent: u32,
    /// The latest grant's number; what RESENDs allow may be beyond it.
    last_grant: u32,
    /// Packets that a RESEND or a timeout allows.
    free: u32,
    /// Priority of scheduled packets, and of those sent again.
    priority: u8,
    again_priority: u8,
    /// Its valid entry in the heap.
    listed: Option<Key>,
    /// Anything has come from the receiver.
    heard: bool,
    /// Last time it sent or heard anything.
    active: Time,
    probe_at: Time,
}

impl Outbound {
    fn has_repair(&self) -> bool {
        self.free > 0 && self.board.lost() > 0
    }

    fn ready(&self, params: &Params) -> bool {
        self.has_repair()
            || self.board.in_burst()
            || self.board.owes_probe()
            || (self.granted > self.spent && self.board.has_scheduled(params.burst.resend_open))
    }

    fn key(&self, slot: u32) -> Key {
        let remaining = self.board.packets() - self.board.next_new() + self.board.lost();
        Key { remaining, start: self.start, id: self.id, slot }
    }

    /// When something is to be done if nothing arrives; [`Time::NEVER`] while it has packets to send.
    fn deadline(&self, params: &Params) -> Time {
        let after = |at: Time, wait: crate::units::Duration| Time(at.0.saturating_add(wait.0.max(1)));
        if self.ready(params) {
            Time::NEVER
        } else if self.board.awaits_probe_ack() {
            after(self.probe_at, params.sender_timeout)
        } else if !self.heard {
            after(self.active, params.sender_timeout)
        } else {
            // Also while it waits for grants: the receiver may have everything, and its DONE may be lost.
            after(self.active, params.done_timeout)
        }
    }
}

/// All messages a host is sending.
#[derive(Clone, Debug, Default)]
pub(super) struct Senders {
    messages: Vec<Outbound>,
    /// Messages with something to send, shortest first; outdated entries are skipped.
    heap: BinaryHeap<Reverse<Key>>,
    pub(super) timers: Timers,
}

impl Senders {
    pub(super) fn start(&mut self, params: &Params, now: Time, slot: u32, message: Message) {
        let i = slot as usize;
        if i >= self.messages.len() {
            self.messages.resize_with(i + 1, Outbound::default);
        }
        let m = &mut self.messages[i];
        let probes = params.burst.policy != Unscheduled::Plain;
        m.board.restart(params.sizes.packets(message.bytes), params.burst.announcing(), probes);
        (m.live, m.peer, m.bytes, m.start, m.id) = (true, message.peer, message.bytes, now, message.id);
        (m.granted, m.spent, m.last_grant, m.free, m.heard, m.listed) = (0, 0, 0, 0, false, None);
        (m.priority, m.again_priority) = (params.lowest(), params.lowest());
        (m.active, m.probe_at) = (now, now);
        self.review(params, slot);
    }

    /// Puts a message where it will be found, and sets its timer.
    fn review(&mut self, params: &Params, slot: u32) {
        let m = &mut self.messages[slot as usize];
        let key = m.ready(params).then(|| m.key(slot));
        if key != m.listed {
            m.listed = key;
            self.heap.extend(key.map(Reverse));
        }
        self.timers.arm(slot, m.deadline(params));
    }

    /// A packet for a message of this host. True when the message is complete.
    pub(super) fn on_packet(
        &mut self,
        params: &Params,
        now: Time,
        h: &Header,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) -> bool {
        let Some(m) = self.messages.get_mut(h.flow as usize).filter(|m| m.live) else { return false };
        match h.kind {
            Kind::Done => {
                m.live = false;
                m.listed = None;
                return true;
            }
            Kind::Ack if h.seq < m.board.next_new() => {
                m.board.on_ack(h.seq, params.burst.ordered_path);
            }
            Kind::ProbeAck => {
                m.board.on_probe_ack();
            }
            Kind::Grant => {
                m.granted = m.granted.max(h.seq);
                // On sprayed paths an older grant may come later: its priority is out of date.
                if h.seq >= m.last_grant {
                    m.last_grant = h.seq;
                    m.priority = (h.ext & 7) as u8;
                }
                if params.burst.stop == BurstStop::FirstCredit {
                    m.board.stop_burst();
                }
            }
            Kind::Resend => self.resend(params, h, control),
            Kind::Busy => {}
            _ => return false,
        }
        let m = &mut self.messages[h.flow as usize];
        (m.heard, m.active) = (true, now);
        counters.wasted_permits += u64::from(Self::discard(params, m));
        self.review(params, h.flow);
        false
    }

    /// Grants for packets that do not exist are forgotten.
    fn discard(params: &Params, m: &mut Outbound) -> u32 {
        let plain = params.burst.policy == Unscheduled::Plain;
        if !plain || m.granted <= m.spent || m.board.has_scheduled(false) {
            return 0;
        }
        let idle = m.granted - m.spent;
        m.spent = m.granted;
        idle
    }

    /// The receiver misses packets: send them again, or say that shorter messages go first.
    fn resend(&mut self, params: &Params, h: &Header, control: &mut VecDeque<Header>) {
        let mine = self.messages[h.flow as usize].key(h.flow);
        let shorter = self.first().is_some_and(|first| first.slot != h.flow && first < mine);
        let m = &mut self.messages[h.flow as usize];
        if shorter {
            control.push_back(Header {
                kind: Kind::Busy,
                priority: 0,
                flags: 0,
                size: params.sizes.control_frame(),
                flow: h.flow,
                peer: m.peer,
                seq: 0,
                ext: m.bytes,
            });
            return;
        }
        m.again_priority = (h.ext >> 32 & 7) as u8;
        let end = u64::from(h.seq) + u64::from((h.ext as u32).min(MOST_RESENT));
        let end = end.min(u64::from(m.board.packets())) as u32;
        for seq in h.seq..end.min(m.board.next_new()) {
            m.board.mark_lost(seq);
        }
        m.free = m.free.max(end.min(m.board.next_new()).saturating_sub(h.seq)).min(m.board.lost());
        // What was never sent the receiver believes granted: the grant is lost, this one stands for it.
        if end > m.board.next_new() && !m.board.in_burst() {
            m.granted = m.granted.max(m.spent.saturating_add(end - m.board.next_new()));
            m.priority = m.again_priority;
        }
    }

    /// The message that goes first.
    fn first(&mut self) -> Option<Key> {
        while let Some(&Reverse(key)) = self.heap.peek() {
            if self.messages[key.slot as usize].listed == Some(key) {
                return Some(key);
            }
            self.heap.pop();
        }
        None
    }

    /// Whether any message may have a packet.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        !self.heap.is_empty()
    }

    /// The next packet of the shortest message that has one.
    pub(super) fn poll(&mut self, params: &Params, now: Time, counters: &mut Counters) -> Option<Header> {
        while let Some(key) = self.first() {
            let slot = key.slot;
            let m = &mut self.messages[slot as usize];
            let header = Self::send(params, m, slot, now, counters);
            counters.wasted_permits += u64::from(Self::discard(params, m));
            m.listed = m.ready(params).then(|| m.key(slot));
            if let Some(mut top) = self.heap.peek_mut() {
                match m.listed {
                    Some(key) => *top = Reverse(key),
                    None => {
                        PeekMut::pop(top);
                    }
                }
            }
            self.timers.arm(slot, m.deadline(params));
            if header.is_some() {
                return header;
            }
        }
        None
    }

    fn send(params: &Params, m: &mut Outbound, slot: u32, now: Time, counters: &mut Counters) -> Option<Header> {
        let sent = u64::from(m.board.next_new()) * u64::from(params.sizes.payload);
        let unscheduled = params.unscheduled_level(m.bytes, m.bytes.saturating_sub(sent));
        let (seq, flags, priority) = if m.has_repair() {
            m.free -= 1;
            (m.board.take_lost()?, AGAIN, m.again_priority)
        } else if let Some(seq) = m.board.next_unscheduled() {
            (seq, UNSCHEDULED, unscheduled)
        } else if let Some(sent) = m.board.take_probe() {
            (m.probe_at, m.active) = (now, now);
            counters.probes += 1;
            // Where levels follow from what remains, the first packets have the lowest: in a higher one the probe would
            // overtake them, and they would count as lost.
            let priority = params.unscheduled_level(m.bytes, m.bytes);
            let (size, peer, ext) = (params.sizes.control_frame(), m.peer, m.bytes);
            return Some(Header { kind: Kind::Probe, priority, flags: 0, size, flow: slot, peer, seq: sent, ext });
        } else {
            let (seq, again) = m.board.next_scheduled(params.burst.order, params.burst.resend_open)?;
            m.spent += 1;
            (seq, GRANTED | if again { AGAIN } else { 0 }, m.priority)
        };
        m.active = now;
        counters.data += 1;
        counters.again += u64::from(flags & AGAIN != 0);
        counters.unscheduled += u64::from(flags & UNSCHEDULED != 0);
        let last = if seq + 1 == m.board.packets() { LAST } else { 0 };
        Some(Header {
            kind: Kind::Data,
            priority,
            flags: flags | last,
            size: params.sizes.frame(m.bytes, seq),
            flow: slot,
            peer: m.peer,
            seq,
            ext: m.bytes,
        })
    }

    /// Looks at the messages whose timers are due.
    pub(super) fn on_timeout(
        &mut self,
        params: &Params,
        now: Time,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) {
        while let Some(slot) = self.timers.pop_due(now) {
            let m = &mut self.messages[slot as usize];
            if !m.live {
                continue;
            }
            if m.deadline(params) <= now {
                counters.timeouts += 1;
                m.active = now;
                if m.board.awaits_probe_ack() {
                    m.board.repeat_probe();
                } else if !m.heard {
                    // The receiver may not know of the message: the first packet again, as the first time.
                    m.board.mark_lost(0);
                    m.free = m.free.max(1);
                    m.again_priority = params.unscheduled_level(m.bytes, m.bytes);
                } else {
                    control.push_back(Header {
                        kind: Kind::NeedAck,
                        priority: 0,
                        flags: 0,
                        size: params.sizes.control_frame(),
                        flow: slot,
                        peer: m.peer,
                        seq: 0,
                        ext: m.bytes,
                    });
                }
            }
            self.review(params, slot);
        }
    }
}

//! NDP's receiving side: an answer per packet, and pulls at the pace of the host's link.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::params::Params;
use crate::transport::message::{
    Counters, End, Header, Kind, MAX_SLOTS, Outcome, PULLS, TO_SENDER, TRIMMED, UNSCHEDULED,
};
use crate::transport::packet_set::{Arrival, Received};
use crate::units::Time;

/// A message being received, or complete and not yet forgotten.
#[derive(Clone, Debug, Default)]
struct Inbound {
    live: bool,
    done: bool,
    probed: bool,
    /// Listed in the pull queue.
    listed: bool,
    peer: u32,
    bytes: u64,
    packets: u32,
    received: Received,
    /// Pulls owed.
    pending: u32,
    /// Pulls sent, and how many of them packets have answered or can no longer.
    pulls: u64,
    answered: u64,
}

/// Messages that are owed pulls. They have turns in order of their senders, round after round: who becomes due behind the one just served
/// has its turn in the same round. htsim goes by the numbers of flows, which in an incast are usually in this order, too. An order that follows
/// from arrivals is another matter: it takes 16 messages of two packets 5 % longer in the mean.
#[derive(Clone, Debug, Default)]
struct Turns {
    /// The next first; some may be owed nothing any more.
    queue: BinaryHeap<Reverse<Turn>>,
    round: u64,
    /// Whose turn was last, if others are to come in this round.
    last: Option<Turn>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Turn {
    round: u64,
    peer: u32,
    slot: u32,
}

impl Turns {
    fn push(&mut self, peer: u32, slot: u32) {
        let mut turn = Turn { round: self.round, peer, slot };
        turn.round += u64::from(self.last.is_some_and(|last| turn <= last));
        self.queue.push(Reverse(turn));
    }

    /// The next one in turn, which is taken off the list as all before it that are owed nothing.
    fn pop(&mut self, messages: &mut [Inbound]) -> Option<u32> {
        let turn = self.first(messages)?;
        self.queue.pop();
        messages[turn.slot as usize].listed = false;
        let others = self.first(messages).is_some_and(|next| next.round == turn.round);
        (self.round, self.last) = if others { (turn.round, Some(turn)) } else { (turn.round + 1, None) };
        Some(turn.slot)
    }

    fn first(&mut self, messages: &mut [Inbound]) -> Option<Turn> {
        loop {
            let Reverse(turn) = *self.queue.peek()?;
            let m = &mut messages[turn.slot as usize];
            if m.pending > 0 {
                return Some(turn);
            }
            m.listed = false;
            self.queue.pop();
        }
    }
}

/// All messages a host is receiving, and its pull pacer.
#[derive(Clone, Debug, Default)]
pub(super) struct Receivers {
    messages: Vec<Inbound>,
    turns: Turns,
    /// Pulls owed to all messages.
    waiting: u64,
    /// Pulls of all messages that no packet has answered yet.
    outstanding: u64,
    /// No pull before this.
    next_pull: Time,
}

impl Receivers {
    /// A packet of a message's sender. Answers go to `control`.
    pub(super) fn on_packet(
        &mut self,
        params: &Params,
        now: Time,
        h: &Header,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) -> Outcome {
        let i = h.flow as usize;
        if h.flow >= MAX_SLOTS {
            return Outcome::default();
        }
        if i >= self.messages.len() {
            self.messages.resize_with(i + 1, Inbound::default);
        }
        let m = &mut self.messages[i];
        if !m.live {
            m.received.clear();
            (m.live, m.done, m.probed, m.peer, m.bytes) = (true, false, false, h.peer, h.ext);
            (m.packets, m.pending, m.pulls, m.answered) = (params.sizes.packets(h.ext), 0, 0, 0);
        }
        if h.ext != m.bytes || (h.kind == Kind::Data && h.seq >= m.packets) {
            return Outcome::default();
        }
        let mut answer = Header {
            kind: match h.kind {
                // Its ACK may have been lost, with those of any other packets.
                _ if m.done => Kind::Done,
                Kind::Probe => Kind::ProbeAck,
                _ => Kind::Ack,
            },
            priority: params.control_priority,
            flags: TO_SENDER | h.flags & UNSCHEDULED,
            size: params.sizes.control_frame(),
            flow: h.flow,
            peer: m.peer,
            seq: h.seq,
            ext: 0,
        };
        let mut outcome = Outcome::default();
        if h.kind == Kind::Probe {
            let pulls = Self::pulls_for_probe(params, m, h);
            self.pull(params, now, pulls, &mut answer, counters);
            control.push_back(answer);
            return outcome;
        }
        let had_room = self.outstanding < params.pull_limit;
        let none_waits = self.waiting == 0;
        if !h.is(UNSCHEDULED) && m.answered < m.pulls {
            m.answered += 1;
            self.outstanding -= 1;
        }
        if h.is(TRIMMED) {
            if !m.received.contains(h.seq) {
                answer.kind = Kind::Nack;
            }
        } else {
            match m.received.insert(h.seq) {
                Arrival::New => outcome.fresh = params.sizes.payload_of(m.bytes, h.seq),
                Arrival::Duplicate => counters.duplicates += 1,
                Arrival::TooFar => return outcome,
            }
            if !m.done && m.received.count() == m.packets {
                m.done = true;
                self.waiting -= u64::from(std::mem::take(&mut m.pending));
                self.outstanding -= m.pulls - std::mem::replace(&mut m.answered, m.pulls);
                outcome.end = End::Delivered;
            }
        }
        if !had_room {
            // What has waited for room was due before.
            self.next_pull = self.next_pull.max(now);
        }
        if !m.done {
            self.pull(params, now, 1, &mut answer, counters);
        } else if outcome.end == End::Delivered && none_waits && self.is_idle(params, now) {
            // Only pulls that wait are taken back when a message is complete (facts 3.3). The one that its last answer would have been has had
            // its turn.
            self.next_pull = now + params.pull_interval;
        }
        control.push_back(answer);
        outcome
    }

    /// The sender's burst is over, or it asks for pulls: once per message, pulls for what is missing.
    fn pulls_for_probe(params: &Params, m: &mut Inbound, h: &Header) -> u32 {
        if m.done || std::mem::replace(&mut m.probed, true) {
            return 0;
        }
        match h.seq.min(m.packets) {
            0 => params.burst.packets.clamp(1, m.packets),
            sent if params.pull_missing => sent - m.received.count_below(sent),
            _ => 0,
        }
    }

    /// Whether a pull may go, if none waits.
    fn is_idle(&self, params: &Params, now: Time) -> bool {
        now >= self.next_pull && self.outstanding < params.pull_limit
    }

    /// Owes a message so many pulls; the first goes with the answer when the pacer is idle.
    fn pull(&mut self, params: &Params, now: Time, pulls: u32, answer: &mut Header, counters: &mut Counters) {
        if pulls == 0 {
            return;
        }
        if self.waiting > 0 || !self.is_idle(params, now) {
            return self.owe(answer.flow, pulls);
        }
        let m = &mut self.messages[answer.flow as usize];
        m.pulls += 1;
        self.outstanding += 1;
        self.next_pull = now + params.pull_interval;
        counters.permits += 1;
        answer.flags |= PULLS;
        answer.ext = m.pulls;
        self.owe(answer.flow, pulls - 1);
    }

    fn owe(&mut self, slot: u32, pulls: u32) {
        let m = &mut self.messages[slot as usize];
        let before = m.pending;
        m.pending = m.pending.saturating_add(pulls);
        self.waiting += u64::from(m.pending - before);
        if m.pending > 0 && !m.listed {
            m.listed = true;
            self.turns.push(m.peer, slot);
        }
    }

    /// When the pacer sends its next pull.
    pub(super) fn next_timeout(&self, params: &Params) -> Time {
        if self.waiting > 0 && self.outstanding < params.pull_limit { self.next_pull } else { Time::NEVER }
    }

    /// Sends the pull that is due, if one is.
    pub(super) fn on_timeout(
        &mut self,
        params: &Params,
        now: Time,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) {
        if now < self.next_timeout(params) {
            return;
        }
        let Some(slot) = self.turns.pop(&mut self.messages) else { return };
        let m = &mut self.messages[slot as usize];
        m.pending -= 1;
        m.pulls += 1;
        self.outstanding += 1;
        if m.pending > 0 {
            m.listed = true;
            self.turns.push(m.peer, slot);
        }
        control.push_back(Header {
            kind: Kind::Pull,
            priority: params.control_priority,
            flags: TO_SENDER,
            size: params.sizes.control_frame(),
            flow: slot,
            peer: m.peer,
            seq: 0,
            ext: m.pulls,
        });
        self.waiting -= 1;
        self.next_pull = now + params.pull_interval;
        counters.permits += 1;
    }

    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(m) = self.messages.get_mut(slot as usize) {
            m.live = false;
            self.waiting -= u64::from(std::mem::take(&mut m.pending));
            self.outstanding -= m.pulls - std::mem::replace(&mut m.answered, m.pulls);
        }
    }
}

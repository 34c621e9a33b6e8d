//! Homa's receiving side: grants for the shortest messages, RESENDs for what does not come.

use std::collections::{BTreeMap, VecDeque};

use super::params::Params;
use super::ranking::{Key, Ranking};
use crate::transport::message::{
    AGAIN, Counters, End, GRANTED, Header, Kind, MAX_SLOTS, Outcome, TO_SENDER, UNSCHEDULED,
};
use crate::transport::packet_set::{Arrival, Received};
use crate::transport::timers::Timers;
use crate::transport::unscheduled::Unscheduled;
use crate::units::Time;

/// A message being received, or complete and not yet forgotten.
#[derive(Clone, Debug, Default)]
struct Inbound {
    live: bool,
    done: bool,
    /// The probe has arrived: what is missing of the unscheduled part is lost.
    probed: bool,
    host: u32,
    /// Number of the sending host among those this receiver knows.
    peer: u32,
    bytes: u64,
    packets: u32,
    /// Packets its sender may send unasked.
    unscheduled: u32,
    received: Received,
    /// Of these, unscheduled ones.
    received_unscheduled: u32,
    /// Grants sent, and answered by a packet or given up.
    granted: u32,
    answered: u32,
    /// Over Aeolus, of the grants outstanding those that were silent when a RESEND went: what comes next tells whether its sender
    /// holds them (BUSY) or they are lost (a repair, or silence again).
    doubted: u32,
    /// Of the grants taken for lost those whose packets have not come late.
    lost: u32,
    since: Time,
    /// Last time that anything new of it arrived, that its sender was busy, or that it was granted. What a sender does because it hears
    /// nothing, its first packet again or a question for the outcome, puts no RESEND off (as in Homa's Linux module, whose senders
    /// ask by RESENDs of their own).
    active: Time,
    /// When it may be granted again; [`Time::NEVER`]: when something arrives.
    grant_at: Time,
}

impl Inbound {
    fn outstanding(&self) -> u32 {
        self.granted - self.answered
    }

    /// What was in doubt is lost. Returns how many grants that are.
    fn write_off(&mut self) -> u32 {
        let lost = std::mem::take(&mut self.doubted).min(self.outstanding());
        self.answered += lost;
        self.lost += lost;
        lost
    }

    /// Packets on their way, as far as the receiver can tell.
    fn in_flight(&self, plain: bool) -> u32 {
        if plain {
            return self.unscheduled.saturating_add(self.granted).saturating_sub(self.received.count());
        }
        let burst = if self.probed { 0 } else { self.unscheduled.saturating_sub(self.received_unscheduled) };
        burst + self.outstanding()
    }

    /// Packets that still need a grant.
    fn ungranted(&self, plain: bool) -> u32 {
        if self.done {
            0
        } else if plain || !self.probed {
            (self.packets - self.unscheduled).saturating_sub(self.granted)
        } else {
            (self.packets - self.received.count()).saturating_sub(self.outstanding())
        }
    }

    fn key(&self, slot: u32, plain: bool) -> Key {
        Key { ungranted: self.ungranted(plain), packets: self.packets, since: self.since, slot }
    }
}

/// All messages a host is receiving.
#[derive(Clone, Debug)]
pub(super) struct Receivers {
    messages: Vec<Inbound>,
    ranking: Ranking,
    /// Numbers of the hosts that have sent messages; looked up once per message.
    peers: BTreeMap<u32, u32>,
    /// Per such host: no other RESEND to it before.
    resend_after: Vec<Time>,
    /// Grants outstanding over all messages.
    outstanding: u64,
    /// Earliest time at which an active message may be granted again.
    grant_timer: Time,
    timers: Timers,
}

impl Receivers {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            messages: Vec::new(),
            ranking: Ranking::new(params.overcommitment, params.scheduled_levels()),
            peers: BTreeMap::new(),
            resend_after: Vec::new(),
            outstanding: 0,
            grant_timer: Time::NEVER,
            timers: Timers::default(),
        }
    }

    /// A packet of a message's sender. Answers go to `control`.
    pub(super) fn on_packet(
        &mut self,
        params: &Params,
        now: Time,
        h: &Header,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) -> Outcome {
        let plain = params.burst.policy == Unscheduled::Plain;
        let mut outcome = Outcome::default();
        if h.flow >= MAX_SLOTS || !self.know(params, now, h) {
            return outcome;
        }
        let m = &mut self.messages[h.flow as usize];
        self.resend_after[m.peer as usize] = Time(0);
        if m.done {
            counters.duplicates += u64::from(h.kind == Kind::Data);
            if h.kind != Kind::Busy {
                control.push_back(answer(params, m.host, h, Kind::Done));
            }
            return outcome;
        }
        let before = m.outstanding();
        match h.kind {
            Kind::Data => {
                let arrival = m.received.insert(h.seq);
                match arrival {
                    Arrival::New => {
                        m.active = now;
                        outcome.fresh = params.sizes.payload_of(m.bytes, h.seq);
                        m.received_unscheduled += u32::from(h.is(UNSCHEDULED));
                    }
                    Arrival::Duplicate => {
                        counters.duplicates += 1;
                        if h.is(AGAIN) {
                            // The sender has not heard of us, or believes it lost: the message is known here.
                            control.push_back(answer(params, m.host, h, Kind::Busy));
                        }
                    }
                    Arrival::TooFar => return outcome,
                }
                // Without Aeolus grants are for the packets behind the unscheduled ones, in order. Such a packet may come without its
                // grant, when a RESEND has asked for it.
                let answers = if plain { arrival == Arrival::New && h.seq >= m.unscheduled } else { h.is(GRANTED) };
                if answers && arrival == Arrival::Duplicate && m.lost > 0 {
                    // Asked for in vain, and come twice: its grant counts as lost already.
                    m.lost -= 1;
                } else if answers {
                    m.answered = (m.answered + 1).min(m.granted);
                    m.doubted = m.doubted.saturating_sub(1);
                }
                if h.is(AGAIN) && !answers {
                    m.write_off();
                }
                if h.is(UNSCHEDULED) && !plain {
                    control.push_back(answer(params, m.host, h, Kind::Ack));
                }
                if m.received.count() == m.packets {
                    (m.done, m.answered) = (true, m.granted);
                    outcome.end = End::Delivered;
                    control.push_back(answer(params, m.host, h, Kind::Done));
                }
            }
            Kind::Probe => {
                if !std::mem::replace(&mut m.probed, true) {
                    m.active = now;
                }
                control.push_back(answer(params, m.host, h, Kind::ProbeAck));
            }
            Kind::NeedAck => control.push_back(answer(params, m.host, h, Kind::Busy)),
            _ => (m.active, m.doubted) = (now, 0),
        }
        m.grant_at = now;
        let freed = u64::from(before - m.outstanding());
        let key = m.key(h.flow, plain);
        let (peer, deadline) = (m.peer, Time(m.active.0.saturating_add(params.resend_timeout.0)).max(now));
        self.outstanding -= freed;
        self.timers.arm(h.flow, deadline);
        self.ranking.set(peer, key);
        if params.cap_outstanding && freed > 0 {
            self.wake();
        }
        self.grant(params, now, control, counters);
        outcome
    }

    /// Makes the record of a message at its first packet. False for what does not fit the message.
    fn know(&mut self, params: &Params, now: Time, h: &Header) -> bool {
        let i = h.flow as usize;
        if i >= self.messages.len() {
            self.messages.resize_with(i + 1, Inbound::default);
        }
        let m = &mut self.messages[i];
        if !m.live {
            let known = self.peers.len() as u32;
            let peer = *self.peers.entry(h.peer).or_insert(known);
            if peer == known {
                self.resend_after.push(Time(0));
            }
            let packets = params.sizes.packets(h.ext);
            let burst = params.burst.announcing();
            let mut received = std::mem::take(&mut m.received);
            received.clear();
            *m = Inbound {
                live: true,
                host: h.peer,
                peer,
                bytes: h.ext,
                packets,
                unscheduled: burst.min(packets),
                received,
                since: now,
                active: now,
                grant_at: now,
                ..Inbound::default()
            };
        }
        h.ext == m.bytes && (h.kind != Kind::Data || h.seq < m.packets)
    }

    /// Room under the cap: every active message may try again.
    fn wake(&mut self) {
        for slot in self.ranking.active() {
            let m = &mut self.messages[slot as usize];
            if m.grant_at == Time::NEVER {
                m.grant_at = Time(0);
            }
        }
    }

    /// Grants what may be granted now, the best message first.
    fn grant(&mut self, params: &Params, now: Time, control: &mut VecDeque<Header>, counters: &mut Counters) {
        let plain = params.burst.policy == Unscheduled::Plain;
        let cap = u64::from(params.overcommitment.max(1)) * u64::from(params.rtt_packets.max(1));
        loop {
            let mut next = Time::NEVER;
            let due = self.ranking.active().find(|slot| {
                let at = self.messages[*slot as usize].grant_at;
                next = next.min(at);
                at <= now
            });
            let Some(slot) = due else {
                self.grant_timer = next;
                return;
            };
            let scheduled = self.ranking.level(self.ranking.rank(slot).unwrap_or(0));
            let m = &mut self.messages[slot as usize];
            let room = !params.cap_outstanding || self.outstanding < cap;
            if m.in_flight(plain) >= params.rtt_packets.max(1) || !room {
                m.grant_at = Time::NEVER;
                continue;
            }
            let mut level = params.first_scheduled() + scheduled;
            let left = m.ungranted(plain);
            if params.tail_boost && left < params.rtt_packets {
                let bytes = u64::from(left) * u64::from(params.sizes.payload);
                level = level.min(params.unscheduled_level(bytes, bytes));
            }
            m.granted += 1;
            m.active = now;
            m.grant_at = Time(now.0.saturating_add(params.grant_interval.0.max(1)));
            self.outstanding += 1;
            counters.permits += 1;
            control.push_back(Header {
                kind: Kind::Grant,
                priority: 0,
                flags: TO_SENDER,
                size: params.sizes.control_frame(),
                flow: slot,
                peer: m.host,
                seq: m.granted,
                ext: u64::from(level),
            });
            let (peer, key) = (m.peer, m.key(slot, plain));
            self.timers.arm(slot, Time(now.0.saturating_add(params.resend_timeout.0)));
            self.ranking.set(peer, key);
        }
    }

    pub(super) fn next_timeout(&self) -> Time {
        self.grant_timer.min(self.timers.next())
    }

    /// Grants that are due; RESENDs for messages that have been silent although data is owed.
    pub(super) fn on_timeout(
        &mut self,
        params: &Params,
        now: Time,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) {
        while let Some(slot) = self.timers.pop_due(now) {
            self.silence(params, now, slot, control, counters);
        }
        if self.grant_timer <= now {
            self.grant(params, now, control, counters);
        }
    }

    fn silence(
        &mut self,
        params: &Params,
        now: Time,
        slot: u32,
        control: &mut VecDeque<Header>,
        counters: &mut Counters,
    ) {
        let plain = params.burst.policy == Unscheduled::Plain;
        let m = &mut self.messages[slot as usize];
        if !m.live || m.done || m.in_flight(plain) == 0 {
            return;
        }
        let wait = params.resend_timeout.0.max(1);
        let due = m.active.0.saturating_add(wait);
        if due > now.0 {
            return self.timers.arm(slot, Time(due));
        }
        let after = &mut self.resend_after[m.peer as usize];
        if params.one_resend_per_peer && *after > now {
            let again = *after;
            return self.timers.arm(slot, again);
        }
        *after = Time(now.0.saturating_add(wait));
        m.active = now;
        counters.timeouts += 1;
        let end = m.unscheduled.saturating_add(m.granted).min(m.packets);
        // Of the grants over Aeolus some were spent on repairs, so that fewer packets are owed than lie before the end.
        let gap = m.received.first_gap(end, params.resend_packets.max(1).min(m.in_flight(plain)));
        let (first, count) = gap.or_else(|| m.received.first_gap(m.packets, 1)).unwrap_or((0, 1));
        control.push_back(Header {
            kind: Kind::Resend,
            priority: 0,
            flags: TO_SENDER,
            size: params.sizes.control_frame(),
            flow: slot,
            peer: m.host,
            seq: first,
            ext: u64::from(params.first_scheduled()) << 32 | u64::from(count),
        });
        if !plain {
            self.outstanding -= u64::from(m.write_off());
            m.doubted = m.outstanding();
            m.grant_at = now;
        }
        let (peer, key) = (m.peer, m.key(slot, plain));
        self.timers.arm(slot, Time(now.0.saturating_add(wait)));
        self.ranking.set(peer, key);
        self.wake();
        self.grant(params, now, control, counters);
    }

    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(m) = self.messages.get_mut(slot as usize).filter(|m| m.live) {
            self.outstanding -= u64::from(m.outstanding());
            (m.live, m.answered) = (false, m.granted);
            self.ranking.remove(slot);
        }
    }
}

/// A control packet in reply to a sender's.
fn answer(params: &Params, host: u32, h: &Header, kind: Kind) -> Header {
    let (flags, size) = (TO_SENDER, params.sizes.control_frame());
    Header { kind, priority: 0, flags, size, flow: h.flow, peer: host, seq: h.seq, ext: 0 }
}

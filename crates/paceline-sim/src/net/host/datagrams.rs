//! Flows over UDP: what became of their datagrams.
//!
//! Such a flow is over for its sender when the last datagram has gone, and gives its place at the NIC back. Its record is
//! written when all datagrams have arrived or are lost: wherever that happens, the sender's part is told. When the last one will have
//! gone is known as it begins: a flow whose end is not before the run's stop does not end at all.

use paceline_proto::transport::message::{Kind as Said, LAST};

use crate::net::Net;
use crate::net::flow::{SLOT_BITS, SLOT_MASK};
use crate::net::parts::Note;
use crate::packet::{Handle, INT, Kind};
use crate::record::{FlowRecord, Status};

/// The datagrams of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagrams {
    /// On their way.
    pub(crate) pending: u32,
    /// Lost so far.
    pub(crate) lost: u32,
    /// When the last one will have gone, ps; 0 before it begins.
    gone_at: u64,
    /// When the latest arrived, ps.
    last_arrival: u64,
}

impl Net {
    /// A packet is about to be lost: its scheme counts it, and a flow of datagrams has one less on its way.
    #[cold]
    pub(crate) fn note_loss(&mut self, h: Handle) {
        let packet = self.arena[h];
        let tcp_or_udp = self.messages.as_ref().is_some_and(|m| m.is_tcp());
        let Some(words) = self.arena.words(h).filter(|_| tcp_or_udp && packet.kind == Kind::Data) else { return };
        if packet.flags & INT != 0 {
            // A probe.
            return;
        }
        let said = words.0[1].0;
        if let Some(traffic) = self.traffic.get_mut((said >> 48) as usize) {
            traffic.dropped_packets += 1;
            traffic.dropped_bytes += u64::from(packet.size);
        }
        if said & 0xff == Said::Datagram as u64 {
            self.datagram_ends(packet.flow, None);
        }
    }

    /// A datagram ends here: it has arrived, or is lost.
    pub(crate) fn datagram_ends(&mut self, flow: u32, arrived: Option<u64>) {
        self.datagrams = self.datagrams.wrapping_sub(1);
        self.datagram_over(flow, arrived);
    }

    /// A datagram has arrived, or is lost; told to the part of its sender.
    pub(crate) fn datagram_over(&mut self, flow: u32, arrived: Option<u64>) {
        let number = flow & SLOT_MASK;
        let part = (number & ((1 << self.share.bits) - 1)) as u8;
        if part != self.share.me {
            self.tell(part, Note::Datagram { flow, arrived });
            return;
        }
        let slot = number >> self.share.bits;
        debug_assert_eq!(u32::from(self.flows[slot as usize].generation), flow >> SLOT_BITS, "the slot waits for them");
        let d = &mut self.infos[slot as usize].datagrams;
        d.pending -= 1;
        match arrived {
            Some(at) => d.last_arrival = d.last_arrival.max(at),
            None => d.lost += 1,
        }
        if d.pending == 0 && self.is_sent(slot) {
            let record = self.record_of_datagrams(slot);
            let d = &self.infos[slot as usize].datagrams;
            let end = d.gone_at.max(d.last_arrival);
            self.last_end = self.last_end.max(end);
            self.judge_flow(&record, end);
            self.news.flows.push(record);
            self.free_flows.give_back(slot, self.flows[slot as usize].progress_at, false, false);
        }
    }

    /// A packet leaves its host from `now` on, or the stack where there is an adapter: with its last datagram a flow is over.
    #[inline(always)]
    pub(crate) fn datagram_leaves(&mut self, h: Handle, now: u64) {
        if self.messages.as_ref().is_some_and(|m| m.has_udp()) {
            self.if_last_datagram_leaves(h, now);
        }
    }

    #[inline(never)]
    fn if_last_datagram_leaves(&mut self, h: Handle, now: u64) {
        let packet = &self.arena[h];
        if packet.kind != Kind::Data || packet.flags & INT != 0 {
            return;
        }
        let last = Said::Datagram as u64 | u64::from(LAST) << 8;
        if self.arena.words(h).is_some_and(|words| words.0[1].0 & (0xff | u64::from(LAST) << 8) == last) {
            let slot = (packet.flow & SLOT_MASK) >> self.share.bits;
            self.datagrams_gone(slot, now);
        }
    }

    /// The last datagram of a flow goes at `now`.
    #[cold]
    fn datagrams_gone(&mut self, slot: u32, now: u64) {
        self.renew_ideal(slot, now);
        let flow = &mut self.flows[slot as usize];
        flow.progress_at = now;
        let port = &self.ports[flow.nic as usize];
        let gone_at = now + port.wire_ps(flow.short_size, &self.wires);
        self.infos[slot as usize].datagrams.gone_at = gone_at;
        if gone_at < self.scenario.stop.instant() {
            flow.alive = false;
            self.counters.finished += 1;
            if let Some(m) = &mut self.messages {
                m.free_place(port.nic, flow.place);
            }
        }
    }

    /// Whether the last datagram of the flow in a slot has begun, and will have gone before the run stops.
    fn is_sent(&self, slot: u32) -> bool {
        self.infos[slot as usize].datagrams.gone_at != 0 && !self.flows[slot as usize].alive
    }

    /// Whether the run's stop finds the last datagram of a flow on its first link. Where that is lost nothing else comes before the stop.
    pub(crate) fn sends_at_stop(&self) -> bool {
        self.flows.iter().zip(&self.infos).any(|(flow, info)| flow.alive && info.datagrams.gone_at != 0)
    }

    /// The record of a flow whose last datagram has gone.
    fn record_of_datagrams(&self, slot: u32) -> FlowRecord {
        let info = &self.infos[slot as usize];
        let (d, start) = (&info.datagrams, info.spec.start.0);
        let whole = d.pending == 0 && d.lost == 0;
        let record = FlowRecord {
            fct_sender: d.gone_at - start,
            fct_receiver: if whole { d.last_arrival - start } else { 0 },
            ..self.record_of(slot, start, Status::Running)
        };
        FlowRecord { status: Status::Finished, ..record }
    }

    /// Records of the flows whose last datagram has gone, but some are still on their way.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = FlowRecord> {
        let gone = |slot: &u32| self.is_sent(*slot) && self.infos[*slot as usize].datagrams.pending > 0;
        (0..self.flows.len() as u32).filter(gone).map(|slot| self.record_of_datagrams(slot))
    }
}

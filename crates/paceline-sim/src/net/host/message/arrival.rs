//! From a packet that arrives at a NIC to a header for its endpoint, and what follows from what the endpoint says.

use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::transport::message::{self as proto, End, Endpoint, Header, Outcome, TO_SENDER};
use paceline_proto::transport::tcp;
use paceline_proto::units::Time;

use super::endpoint;
use super::places::Incoming;
use crate::net::Net;
use crate::net::flow::{SLOT_BITS, SLOT_MASK};
use crate::packet::{CE, Handle, INT, Kind, Packet};
use crate::record::Status;

impl Net {
    /// A packet arrives at the NIC of its message's sender or receiver.
    pub(crate) fn message_arrival(&mut self, nic: u32, h: Handle, packet: &Packet, now: u64) {
        if self.adapters.is_some() {
            self.comes_up(nic, h, now);
            return;
        }
        self.books.receive(packet.kind, packet.size);
        self.message_delivered(nic, h, packet, now);
    }

    /// Whether a packet opens a connection.
    pub(crate) fn opens_connection(&self, h: Handle) -> bool {
        // Where switches write records, the words say nothing else.
        let words = self.arena.words(h).filter(|_| self.arena[h].flags & INT == 0);
        self.messages.as_ref().is_some_and(|m| m.is_tcp) && words.is_some_and(|w| tcp::is_opening(w.0[3].0))
    }

    /// A switch has told of congestion that a packet of a flow met: its sender's window shrinks.
    pub(crate) fn congested(&mut self, nic: u32, flow: u32, now: u64) {
        let slot = (flow & SLOT_MASK) >> self.share.bits;
        let f = &self.flows[slot as usize];
        if f.alive && u32::from(f.generation) == flow >> SLOT_BITS {
            let place = f.place;
            if let Some(m) = &mut self.messages {
                endpoint!(&mut m.endpoints, nic, host => host.congested(Time(now), place));
            }
            self.message_changed(nic, now);
        }
    }

    /// The NICs of a packet's sender and receiver, and its message's number; none where it is of no message that is known.
    pub(crate) fn ends_of_packet(&self, packet: &Packet) -> Option<(u32, u32, u64)> {
        let (m, number) = (self.messages.as_ref()?, packet.flow & SLOT_MASK);
        let Incoming { from, to, id, .. } = *m.incoming.get(number)?;
        if u32::from(self.receiving[number].generation) != packet.flow >> SLOT_BITS {
            return None;
        }
        Some(if packet.kind.is_back() { (to, from, id) } else { (from, to, id) })
    }

    /// A packet has come to the endpoint of a NIC.
    pub(crate) fn message_delivered(&mut self, nic: u32, h: Handle, packet: &Packet, now: u64) {
        let words = *self.arena.int(h);
        let collected = packet.flags & INT != 0;
        let (ext, word) = if collected { (0, words[0].0) } else { (words[0].0, words[1].0) };
        self.arena.release(h);
        let marked = if packet.flags & CE != 0 { proto::CE } else { 0 };
        let flags = (word >> 8) as u8 | marked;
        let kind = proto::Kind::ALL.get((word & 0xff) as usize).copied().unwrap_or(proto::Kind::Data);
        if packet.kind == Kind::Data {
            self.counters.data_delivered += 1;
        }
        let back = flags & TO_SENDER != 0;
        let scheme = usize::from((word >> 48) as u16);
        if kind == proto::Kind::Datagram {
            let payload = u64::from(self.scenario.framing.payload);
            let fresh = ext.saturating_sub(u64::from(packet.seq) * payload).min(payload);
            self.traffic[scheme].delivered_bytes += fresh;
            self.progress += 1;
            self.datagram_ends(packet.flow, Some(now));
            return;
        }
        let number = packet.flow & SLOT_MASK;
        let generation = packet.flow >> SLOT_BITS;
        let slot = number >> self.share.bits;
        let Some(m) = &mut self.messages else { return };
        let is_tcp = m.is_tcp;
        let (flow, peer) = if back {
            let f = &self.flows[slot as usize];
            if !f.alive || u32::from(f.generation) != generation {
                endpoint!(&mut m.endpoints, nic, host => host.on_late(kind, flags));
                return;
            }
            (f.place, m.places[nic as usize].sending[f.place as usize].peer)
        } else {
            let receiving = &self.receiving[number];
            if u32::from(receiving.generation) != generation || now >= receiving.forgotten_at {
                return;
            }
            let place = m.place(nic, packet.flow, receiving, now);
            let inbound = &m.places[nic as usize].receiving[place as usize];
            if inbound.flow != packet.flow {
                return;
            }
            (place, inbound.peer)
        };
        let (priority, size, seq) = (packet.class, packet.size, packet.seq);
        let header = Header { kind, priority, flags, size, flow, peer, seq, ext };
        let Outcome { fresh, end } = if m.is_tcp {
            let extra = if collected {
                // One record per switch, and how many there are.
                std::array::from_fn(|i| if i < MAX_HOPS { words[1 + i].0 } else { u64::from(packet.hop) })
            } else {
                std::array::from_fn(|i| words[2 + i].0)
            };
            endpoint!(&mut m.endpoints, nic, host => host.on_packet_with(Time(now), &header, &extra))
        } else {
            endpoint!(&mut m.endpoints, nic, host => host.on_packet(Time(now), &header))
        };
        self.progress += u64::from(fresh > 0);
        if !back && is_tcp {
            self.traffic[scheme].delivered_bytes += u64::from(fresh);
        } else if !back && !self.series.followed.is_empty() {
            let id = m.places[nic as usize].receiving[flow as usize].id;
            self.series.note_arrived(id, fresh);
        }
        if fresh > 0 && self.streams.is_some() {
            self.stream_moved(number, slot, back, fresh, now);
        }
        match end {
            End::None => {}
            End::Delivered => {
                let state = &mut self.receiving[number];
                state.done_at = now;
                if self.share.bits != 0 {
                    self.announce_done(number, generation as u8, now);
                } else if self.programs.is_some() {
                    self.program_flow_arrived(number, now);
                }
            }
            End::Finished => {
                self.progress += 1;
                self.end_message(nic, slot, packet.flow, flow, Status::Finished, now);
            }
        }
        self.message_changed(nic, now);
    }

    /// Bytes have newly arrived, or were acknowledged (`back`), where there are streams.
    fn stream_moved(&mut self, number: u32, slot: u32, back: bool, fresh: u32, now: u64) {
        if !back {
            if let Some(stream) = self.receiving[number].stream.checked_sub(1) {
                self.stream_bytes(stream, fresh, now);
            }
        } else if let (Some(stream), Some(streams)) =
            (self.flows[slot as usize].stream.checked_sub(1), &mut self.streams)
        {
            streams.acked_bytes(stream, fresh);
        }
    }
}

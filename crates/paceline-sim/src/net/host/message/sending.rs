//! From an endpoint's header to a packet: what fits goes into the packet's own fields, the rest into the words beside it.

use paceline_proto::rng::hash3;
use paceline_proto::telemetry::IntHop;
use paceline_proto::transport::message::{self as proto, AGAIN, Endpoint, Extra, Header, TO_SENDER};
use paceline_proto::units::Time;

use super::endpoint;
use super::places::Turns;
use crate::net::Net;
use crate::net::failures::Carried;
use crate::net::flow::SLOT_BITS;
use crate::packet::{Handle, INT, Kind, LONG, NONE, Packet, UNSCHEDULED};
use crate::routing::spraying::Turn;

impl Net {
    /// The next packet of a NIC's endpoint, the NIC that it is for, and whether there may be more.
    pub(crate) fn next_message_packet(&mut self, nic: u32, now: u64) -> Option<(Handle, u32, bool)> {
        let queries = self.queries_due(nic);
        let m = self.messages.as_mut()?;
        // Asking may have told it when to be asked again.
        let (next, more, timeout) = endpoint!(&mut m.endpoints, nic, host => {
            (host.poll_transmit(Time(now)), host.has_more(), host.next_timeout())
        });
        self.nics[nic as usize].timer_at = timeout.0.min(queries);
        let header = next?;
        let extra = m.is_tcp.then(|| endpoint!(&mut m.endpoints, nic, host => host.extra()));
        Some((self.message_packet(nic, &header, extra, now), header.peer, more))
    }

    /// The packet of a header.
    fn message_packet(&mut self, nic: u32, header: &Header, extra: Option<Extra>, now: u64) -> Handle {
        let back = header.is(TO_SENDER);
        let mut packet = Packet {
            next: NONE,
            seq: header.seq,
            size: header.size,
            class: header.priority & 7,
            // An answer to an unscheduled packet is no burst of anybody's.
            flags: if header.kind == proto::Kind::Data && header.is(proto::UNSCHEDULED) { UNSCHEDULED } else { 0 },
            kind: match (header.kind, back) {
                (proto::Kind::Data | proto::Kind::Datagram, false) => Kind::Data,
                (_, false) => Kind::Control,
                (_, true) => Kind::Answer,
            },
            ..Packet::default()
        };
        let share = self.share.bits;
        let me = u32::from(self.share.me);
        let Some(m) = &mut self.messages else { return self.arena.alloc(packet) };
        let collects = m.is_tcp && header.kind == proto::Kind::Probe;
        if collects {
            // Switches write their records into data packets.
            packet.kind = Kind::Data;
            packet.flags |= INT;
        }
        let places = &mut m.places[nic as usize];
        let mut scheme = 0;
        let spray = m.spray;
        let (peer, id, ports, turns) = if back {
            let inbound = &mut places.receiving[header.flow as usize];
            packet.flow = inbound.flow;
            packet.out = inbound.path;
            packet.flags |= if inbound.long { LONG } else { 0 };
            if m.is_tcp {
                packet.class = if self.ack_control_class { 0 } else { inbound.class };
            }
            (inbound.peer, inbound.id, inbound.ports, inbound.turns)
        } else {
            let outbound = &mut places.sending[header.flow as usize];
            let flow = &self.flows[outbound.slot as usize];
            packet.flow = outbound.slot << share | me | u32::from(flow.generation) << SLOT_BITS;
            packet.out = flow.path;
            packet.flags |= flow.flags & LONG;
            if m.is_tcp {
                packet.class = flow.class;
            }
            let info = &mut self.infos[outbound.slot as usize];
            scheme = info.spec.scheme;
            if packet.kind == Kind::Data && !collects {
                let traffic = &mut self.traffic[usize::from(scheme)];
                traffic.packets += 1;
                traffic.frame_bytes += u64::from(header.size);
                self.progress += u64::from(header.kind == proto::Kind::Datagram);
                let datagrams = u32::from(header.kind == proto::Kind::Datagram);
                info.datagrams.pending += datagrams;
                self.datagrams = self.datagrams.wrapping_add(datagrams.into());
            }
            if packet.kind == Kind::Data {
                self.counters.data_made += 1;
                if header.is(AGAIN) {
                    info.retransmitted += 1;
                    self.counters.retransmitted += 1;
                }
            }
            (outbound.peer, info.id, [info.sport, info.spec.dport], outbound.turns)
        };
        let turn = spray.then(|| self.spray_turn(nic, peer, id, header, turns, now));
        if let (Some(turn), None) = (turn, &self.failures) {
            self.spread(&mut packet, nic, peer, turn);
        }
        let h = self.arena.alloc(packet);
        if self.failures.is_some() {
            let carried = Carried::new([nic, peer].map(|nic| self.addresses[nic as usize]), ports, id, turn);
            self.failures.iter_mut().for_each(|f| f.carry(h, carried));
        }
        let words = self.arena.int(h);
        let said = header.kind as u64 | u64::from(header.flags) << 8 | u64::from(nic) << 16;
        let said = IntHop(said | u64::from(scheme) << 48);
        if collects {
            words[0] = said;
            return h;
        }
        words[0] = IntHop(header.ext);
        words[1] = said;
        if let Some(extra) = extra {
            words[2..].iter_mut().zip(extra).for_each(|(word, e)| *word = IntHop(e));
        }
        h
    }

    /// The turn of a packet that a NIC sends for a message, among the paths to its peer.
    fn spray_turn(&mut self, nic: u32, peer: u32, id: u64, header: &Header, mut turns: Turns, now: u64) -> Turn {
        let back = header.is(TO_SENDER);
        if turns.paths == 0 {
            let [from, to] = [nic, peer].map(|nic| self.addresses[nic as usize]);
            turns.paths = self.routes.paths(from, to, &mut self.path);
        }
        let mut number = 0;
        if let Some(m) = &mut self.messages {
            number = match self.flowlet_gap {
                Some(gap) => {
                    let (number, paused) = turns.flowlet.next(now, gap);
                    self.counters.flowlets += u64::from(paused);
                    number
                }
                None => turns.next(header, m.probed),
            };
            let places = &mut m.places[nic as usize];
            let place = header.flow as usize;
            *(if back { &mut places.receiving[place].turns } else { &mut places.sending[place].turns }) = turns;
        }
        Turn::new(hash3(self.draws.spray, id, u64::from(back)), u64::from(number), turns.paths)
    }

    /// A path for a packet from one NIC to another.
    fn spread(&mut self, packet: &mut Packet, from: u32, to: u32, mut turn: Turn) {
        let [from, to] = [from, to].map(|nic| self.addresses[nic as usize]);
        let mut path = std::mem::take(&mut self.path);
        if self.routes.spray_path(from, to, |n| turn.next(n), &mut path).is_ok() {
            Self::set_path(packet, &path[1..]);
        }
        self.path = path;
    }
}

impl Turns {
    /// The number of a packet's turn, from 0.
    ///
    /// Each packet takes the next, but with Aeolus (`probed`) for those that would overtake what they tell of: a packet of a burst that is
    /// shorter than the one before it, its last or the probe behind it, follows that one on its path, and the answer to a probe follows
    /// the answer before it. Otherwise the last packet of a burst would seem lost, and be sent twice, in a network
    /// without any queue. Aeolus asks for one path (proactive facts, section 4.4: a later ACK tells of a loss where packets
    /// keep their order).
    fn next(&mut self, header: &Header, probed: bool) -> u32 {
        use proto::Kind;
        let burst = header.kind == Kind::Data && header.is(proto::UNSCHEDULED);
        match header.kind {
            Kind::Probe if probed && self.taken > 0 => return self.burst.0,
            Kind::ProbeAck if probed && self.taken > 0 => return self.taken.wrapping_sub(1),
            Kind::Data if probed && burst && header.size < self.burst.1 => return self.burst.0,
            _ => {}
        }
        let number = self.taken;
        self.taken = self.taken.wrapping_add(1);
        if burst {
            self.burst = (number, header.size);
        }
        number
    }
}

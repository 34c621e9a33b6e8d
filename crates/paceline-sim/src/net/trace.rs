//! Which packets are recorded one by one, and what is noted of them. Ports whose packets are recorded are *watched*, so that those of all
//! others cost nothing.

use std::ops::Range;

use paceline_proto::transport::message::Kind as Said;

use crate::net::Net;
use crate::net::port::{Port, WATCHED};
use crate::net::streams::STREAMS;
use crate::packet::{CE, Handle, INT, Kind, Packet, Words};
use crate::record::{FlowName, PacketEvent, PacketKind, PacketRecord};

/// Which packets are recorded.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By port (global index).
    pub ports: Box<[bool]>,
    /// When, ps.
    pub time: Range<u64>,
}

/// What is recorded in a network.
#[derive(Debug)]
pub(crate) struct Trace {
    plan: Plan,
    /// Packets carry what a message transport says in their words.
    messages: bool,
    /// That is TCP or UDP.
    is_tcp: bool,
}

impl Trace {
    /// A record of what a port does with a packet at `now`; `None` where it is not asked for. `words`: those beside the packet, if any.
    pub(crate) fn record(
        &self,
        port: u32,
        p: &Port,
        packet: &Packet,
        words: Option<&Words>,
        now: u64,
        event: PacketEvent,
    ) -> Option<PacketRecord> {
        if !self.plan.ports[port as usize] || !self.plan.time.contains(&now) {
            return None;
        }
        let Packet { seq, size, kind, flags, .. } = *packet;
        let mut record = PacketRecord {
            at: now,
            port,
            event,
            arrival: 0,
            kind: PacketKind::Frame(kind),
            flow: Some(u64::from(packet.flow)),
            seq: None,
            ack: None,
            size,
            class: packet.class,
            marked: flags & CE != 0,
            waiting: p.total,
        };
        match (kind, words) {
            (Kind::Pause | Kind::Resume, _) => (record.flow, record.class) = (None, packet.flow as u8),
            (Kind::Notification, _) => {}
            (_, Some(Words(words))) if self.messages => {
                // A probe's other words are the switches'.
                let collects = self.is_tcp && flags & INT != 0;
                let said = words[usize::from(!collects)].0;
                record.kind = PacketKind::Message(said as u8);
                record.seq = Some(seq);
                if self.is_tcp && !collects && said as u8 != Said::Datagram as u8 {
                    record.ack = Some(words[2].0 as u32);
                }
            }
            (Kind::Ack | Kind::Nack, _) => record.ack = Some(seq),
            _ => record.seq = Some(seq),
        }
        Some(record)
    }
}

impl Net {
    /// Has packets recorded.
    pub fn record_packets(&mut self, plan: Plan) {
        for (port, _) in self.ports.iter_mut().zip(&plan.ports).filter(|(_, traced)| **traced) {
            port.watched |= WATCHED;
        }
        let messages = self.messages.as_ref();
        let (is_tcp, messages) = (messages.is_some_and(|m| m.is_tcp()), messages.is_some());
        self.trace = Some(Box::new(Trace { plan, messages, is_tcp }));
    }

    /// A flow is called this in packets from now on.
    pub(crate) fn note_name(&mut self, number: u32, id: u64) {
        if self.trace.is_some() && id < STREAMS {
            self.news.names.push(FlowName { number, id });
        }
    }

    /// A record of what a port does with a packet at `now`, where that is asked for.
    pub(crate) fn packet_record(&self, port: u32, h: Handle, now: u64, event: PacketEvent) -> Option<PacketRecord> {
        let trace = self.trace.as_ref()?;
        let p = &self.ports[port as usize];
        trace.record(port, p, &self.arena[h], self.arena.words(h).as_ref(), now, event)
    }

    /// Records what a port does with a packet that it does not send.
    pub(crate) fn note_packet(&mut self, port: u32, h: Handle, now: u64, event: PacketEvent) {
        let record = self.packet_record(port, h, now, event);
        self.news.packets.extend(record);
    }
}

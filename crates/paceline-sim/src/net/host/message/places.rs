//! Places: the dense numbers by which an endpoint knows messages, and what is behind them at either end.
//!
//! A sender's place is free again when its message is over. A receiver's place rests for a while, until nothing of its message
//! can be under way any more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_proto::transport::message::Endpoint;

use super::{Messages, endpoint};
use crate::net::Net;
use crate::net::flow::{FlowInfo, Receiving, SLOT_MASK};
use crate::packet::{INLINE_HOPS, NONE};
use crate::routing::Address;
use crate::routing::flowlets::Flowlet;

/// A message at its sender's NIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outbound {
    /// The flow's slot.
    pub(super) slot: u32,
    /// NIC of the receiver.
    pub(super) peer: u32,
    /// Where its packets are in their paths.
    pub(super) turns: Turns,
}

/// The turns of one end's packets of a message among its paths.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    /// Turns taken.
    pub(super) taken: u32,
    /// Number of the last unscheduled packet's turn, and its size.
    pub(super) burst: (u32, u16),
    /// Paths there are; 0 before the first packet.
    pub(super) paths: u32,
    pub(super) flowlet: Flowlet,
}

/// What a receiver's NIC must know before the first packet comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// Its place at the endpoint; [`NONE`] before the first packet.
    place: u32,
    /// NICs of the sender and of the receiver.
    pub(super) from: u32,
    pub(super) to: u32,
    /// The message's number.
    pub(super) id: u64,
    /// Class of its flow.
    class: u8,
    /// Port numbers of its flow at sender and receiver.
    ports: [u16; 2],
}

impl Incoming {
    /// Of a flow that has not started.
    pub(super) const NOBODY: Self = Self { place: NONE, from: NONE, to: NONE, id: 0, class: 0, ports: [0; 2] };
}

/// A message at its receiver's NIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inbound {
    /// Flow field of its packets.
    pub(super) flow: u32,
    /// NIC of the sender.
    pub(super) peer: u32,
    pub(super) id: u64,
    /// Class of the flow, and its port numbers at receiver and sender.
    pub(super) class: u8,
    pub(super) ports: [u16; 2],
    /// Way back.
    pub(super) path: [u16; INLINE_HOPS],
    pub(super) long: bool,
    /// Where the packets sent back are in their paths.
    pub(super) turns: Turns,
}

/// The places of one NIC's endpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) sending: Vec<Outbound>,
    pub(super) free: Vec<u32>,
    pub(super) receiving: Vec<Inbound>,
    /// Receivers' places whose messages are finished, and since when; the oldest first, in whatever order they are told of.
    resting: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Messages {
    /// Flows' numbers have so many bits for the part of their sender.
    pub(crate) fn become_part(&mut self, bits: u32) {
        self.incoming = self.incoming.with_bits(bits);
    }

    /// A flow has started: its receiver's NIC may hear of it.
    pub(crate) fn open(&mut self, number: u32, incoming: Incoming) {
        self.incoming.set(number, incoming);
    }

    /// What a flow's receiver was told.
    pub(crate) fn opened(&self, number: u32) -> Incoming {
        self.incoming[number]
    }

    /// A message has ended at its sender at `now`: its receiver's place may rest.
    pub(crate) fn finished(&mut self, flow: u32, now: u64) {
        let Incoming { place, to, .. } = self.incoming[flow & SLOT_MASK];
        if place != NONE {
            let places = &mut self.places[to as usize];
            if places.receiving[place as usize].flow == flow {
                places.resting.push(Reverse((now, place)));
            }
        }
    }

    /// The place of a message at its receiver's NIC, given at its first packet.
    pub(super) fn place(&mut self, nic: u32, flow: u32, receiving: &Receiving, now: u64) -> u32 {
        let number = flow & SLOT_MASK;
        let Incoming { place, from, id, class, ports: [sport, dport], .. } = self.incoming[number];
        if place != NONE {
            return place;
        }
        let places = &mut self.places[nic as usize];
        let long = usize::from(receiving.switches) > INLINE_HOPS;
        let ports = [dport, sport];
        let inbound =
            Inbound { flow, peer: from, id, class, ports, path: receiving.path, long, turns: Turns::default() };
        let rested = places.resting.peek().filter(|Reverse((since, _))| since + self.rest <= now);
        let rested = rested.map(|Reverse((_, place))| *place);
        let place = rested.unwrap_or(places.receiving.len() as u32);
        if rested.is_some() {
            places.resting.pop();
            places.receiving[place as usize] = inbound;
            endpoint!(&mut self.endpoints, nic, host => host.forget(place));
        } else {
            places.receiving.push(inbound);
        }
        self.incoming[number].place = place;
        place
    }
}

impl Net {
    /// The two ends of a message, and what its receiver's NIC must know.
    pub(crate) fn incoming(&self, src: Address, dst: Address, flow: &FlowInfo) -> Incoming {
        let nic = |a: Address| self.ports[self.graph.port_index(a.host, a.nic)].nic;
        let ports = [flow.sport, flow.spec.dport];
        Incoming { place: NONE, from: nic(src), to: nic(dst), id: flow.id, class: flow.spec.class, ports }
    }
}

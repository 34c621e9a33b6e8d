//! Switch ports that cut payloads off instead of dropping packets (NDP): two short queues, headers in class 0, data in class 1.
//!
//! Source: the rules are those of [`paceline_proto::port::trimming`]; this file does what they say. A port needs no
//! other port of its switch, except for a header that goes back to its sender: that takes the switch as long as its shortest link
//! (delay and the header's own frame), so that ports stay independent within a window. *Deviation:* a real switch would
//! turn it round at once. *Deviation:* a header goes back on a shortest way drawn anew from that switch on, not on its own path backwards.
//! A header whose way back is longer than packets can carry is dropped.

use paceline_proto::port::trimming::{OnData, OnHeader, Queue, Service, TrimmingPort};
use paceline_proto::rng::hash3;
use paceline_proto::telemetry::IntHop;
use paceline_proto::transport::message::{self as proto, Header, TO_SENDER, TRIMMED};

use super::{PortRules, Special};
use crate::error::InputError;
use crate::net::port::Port;
use crate::net::switch::local::Fixed;
use crate::net::{Net, Schedule};
use crate::packet::{Handle, INLINE_HOPS, Kind, LONG, Packet, UNSCHEDULED};
use crate::record::PacketEvent;
use crate::scenario::Scenario;

/// Class of headers and control packets, and that of data.
const HEADERS: u8 = 0;
const DATA: u8 = 1;

/// The ports of all switches.
pub(crate) struct Trimming {
    settings: TrimmingPort,
    /// By port.
    service: Vec<Service>,
    /// By port: class and size of the packet sent last, which counts against its queue until it has left.
    sending: Vec<(u8, u16)>,
    /// Bytes of a trimmed frame.
    size: u16,
    /// Key of the coins.
    key: u64,
    /// By node: how long a switch takes to turn a header round, ps. No less than a window, as no frame is smaller.
    turn: Box<[u64]>,
    /// By port: when the last header it turned round went back in.
    turned: Vec<u64>,
}

/// In [`Packet::in_port`](crate::packet::Packet): turned round by the egress port of the switch that the rest names. Orders
/// such packets among those that arrive over wires.
const TURNED: u16 = 1 << 15;

/// The port a packet came in by, or turned round at: whose account it is on.
#[inline]
pub(crate) fn ingress(in_port: u16) -> u16 {
    in_port & !TURNED
}

impl Trimming {
    /// The ports of a scenario, where its switches trim. `key`: of their random draws.
    pub(super) fn new(scenario: &Scenario, settings: TrimmingPort, key: u64) -> Result<Self, InputError> {
        let graph = &scenario.graph;
        let most = (0..graph.nodes() as u32).map(|n| graph.ports_of(n).len()).max().unwrap_or(0);
        if most > usize::from(TURNED) {
            return Err(InputError::new("a switch that trims has too many ports")
                .field("switch.trimming.enabled")
                .value(most)
                .allowed(format!("at most {TURNED} ports")));
        }
        let size = scenario.framing.ack_header.max(scenario.framing.min_frame);
        Ok(Self {
            settings,
            service: vec![Service::default(); scenario.graph.ports.len()],
            sending: vec![(HEADERS, 0); scenario.graph.ports.len()],
            size: size as u16,
            key,
            turn: crate::lookahead::over_shortest_links(scenario, size + scenario.framing.wire_overhead),
            turned: vec![0; scenario.graph.ports.len()],
        })
    }

    /// The port starts a packet of a class.
    pub(super) fn sends(&mut self, port: u32, class: u8, size: u16) {
        self.sending[port as usize] = (class, size);
    }

    /// The same for one that finds the port idle.
    pub(super) fn sends_at_once(&mut self, port: u32, packet: &Packet) {
        self.sends(port, queue_of(packet), packet.size);
    }

    /// As [`held`], of a port.
    fn held(&self, port: u32, p: &Port, class: u8, busy: bool) -> u32 {
        held(p, self.sending[port as usize], class, busy)
    }

    /// What it is for one port.
    #[inline]
    pub(super) fn at(&mut self, port: u32) -> TrimmingAt<'_> {
        let i = port as usize;
        TrimmingAt { settings: &self.settings, service: &mut self.service[i], sending: &mut self.sending[i] }
    }

    /// The class served next.
    pub(super) fn pick(&mut self, port: u32, p: &Port) -> Option<u8> {
        serve(&mut self.service[port as usize], &self.settings, p)
    }
}

/// The rules for one port.
pub(super) struct TrimmingAt<'a> {
    settings: &'a TrimmingPort,
    service: &'a mut Service,
    sending: &'a mut (u8, u16),
}

impl PortRules for TrimmingAt<'_> {
    #[inline(always)]
    fn passes(&mut self, _fixed: &Fixed<'_>, packet: &Packet, _now: u64) -> bool {
        *self.sending = (queue_of(packet), packet.size);
        true
    }

    #[inline(always)]
    fn keeps(&self, _fixed: &Fixed<'_>, p: &Port, packet: &Packet, busy: bool) -> Option<u8> {
        let class = queue_of(packet);
        let queue = if class == DATA { Queue::Data } else { Queue::Header };
        let held = held(p, *self.sending, class, busy);
        self.settings.fits(queue, held, u32::from(packet.size)).then_some(class)
    }

    #[inline(always)]
    fn next_at(&self, p: &Port, _packets: &[Packet]) -> Option<u64> {
        Some(p.free)
    }

    #[inline(always)]
    fn next_class(&mut self, p: &Port, _packets: &[Packet], _now: u64) -> Option<u8> {
        serve(self.service, self.settings, p)
    }

    #[inline(always)]
    fn sent(&mut self, class: u8, size: u16, _now: u64) {
        *self.sending = (class, size);
    }
}

/// The queue of a packet.
#[inline(always)]
fn queue_of(packet: &Packet) -> u8 {
    if packet.kind == Kind::Data { DATA } else { HEADERS }
}

/// Bytes of a class that a port holds: what waits and, while it is `busy`, what it sends.
#[inline(always)]
fn held(p: &Port, (of, size): (u8, u16), class: u8, busy: bool) -> u32 {
    p.class_bytes(class) + if busy && of == class { u32::from(size) } else { 0 }
}

/// The class served next.
#[inline(always)]
fn serve(service: &mut Service, settings: &TrimmingPort, p: &Port) -> Option<u8> {
    match service.next(settings, p.waiting & 1 != 0, p.waiting & !1 != 0)? {
        Queue::Header => Some(HEADERS),
        Queue::Data => Some(DATA),
    }
}

impl Net {
    /// A packet arrives for the port, which is sending or not (`busy`).
    pub(super) fn trimming_arrival<S: Schedule>(&mut self, port: u32, h: Handle, busy: bool, now: u64, s: &mut S) {
        let packet = self.arena[h];
        let Some(Special::Trimming(t)) = self.special.as_deref() else { return };
        if packet.kind == Kind::Data {
            let p = &self.ports[port as usize];
            let tail = p.tail(DATA).map_or(0, |tail| u32::from(self.arena[tail].size));
            // One packet at a time comes in at a port; flows have other numbers on other threads.
            let coin = hash3(t.key, u64::from(port) << 16 | u64::from(packet.in_port), now);
            match t.settings.on_data(t.held(port, p, DATA, busy), tail, u32::from(packet.size), coin) {
                OnData::Enqueue => self.keep(port, h, DATA, now),
                OnData::TrimArriving => self.trim(port, h, busy, now, s),
                OnData::TrimTail => {
                    self.note_queue(port, DATA, now);
                    let last = self.ports[port as usize].pop_tail(self.arena.split().0, DATA);
                    let out = self.arena[last];
                    self.buffers.local(self.ports[port as usize].node).remove(ingress(out.in_port), DATA, out.size);
                    self.keep(port, h, DATA, now);
                    self.trim(port, last, busy, now, s);
                }
            }
        } else {
            self.offer_header(port, h, busy, now, s);
        }
    }

    /// Cuts a packet's payload off and offers its header to the header queue.
    fn trim<S: Schedule>(&mut self, port: u32, h: Handle, busy: bool, now: u64, s: &mut S) {
        self.note_packet(port, h, now, PacketEvent::Trimmed);
        let Some(Special::Trimming(t)) = self.special.as_deref() else { return };
        let packet = &mut self.arena[h];
        let whole = std::mem::replace(&mut packet.size, t.size);
        packet.kind = Kind::Control;
        self.books.trim(whole, packet);
        packet.flags &= !UNSCHEDULED;
        self.arena.int(h)[1].0 |= u64::from(TRIMMED) << 8;
        self.counters.data_trimmed += 1;
        self.port_counts[port as usize].trims += 1;
        self.offer_header(port, h, busy, now, s);
    }

    /// A header or control packet for the header queue.
    fn offer_header<S: Schedule>(&mut self, port: u32, h: Handle, busy: bool, now: u64, s: &mut S) {
        let Some(Special::Trimming(t)) = self.special.as_deref() else { return };
        let packet = self.arena[h];
        let word = self.arena.int(h)[1].0;
        let kind = proto::Kind::ALL.get((word & 0xff) as usize).copied().unwrap_or(proto::Kind::Ack);
        let flags = (word >> 8) as u8;
        let header = Header { kind, priority: 0, flags, size: packet.size, flow: 0, peer: 0, seq: packet.seq, ext: 0 };
        let held = t.held(port, &self.ports[port as usize], HEADERS, busy);
        match t.settings.on_header(held, &header) {
            OnHeader::Enqueue => self.keep(port, h, HEADERS, now),
            OnHeader::ReturnToSender => self.turn_back(port, h, now, s),
            OnHeader::Drop => self.drop_packet(port, h, &packet, now),
        }
    }

    /// Sends a header back to its sender.
    fn turn_back<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) {
        let Some(Special::Trimming(t)) = self.special.as_deref_mut() else { return };
        // One after the other: no two are at the same place at the same time.
        let node = self.ports[port as usize].node;
        let last = &mut t.turned[port as usize];
        let at = (now + t.turn[node as usize]).max(*last + 1);
        *last = at;
        let mut packet = self.arena[h];
        let sender = (self.arena.int(h)[1].0 >> 16) as u32;
        let key = hash3(self.draws.spray, u64::from(port) << 16 | u64::from(packet.in_port), now);
        packet.kind = Kind::Answer;
        packet.flags &= !LONG;
        let inbox = if let Some(failures) = &mut self.failures {
            match failures.turn_back(port, h, &packet, key, at) {
                Ok(inbox) => inbox,
                Err(lost_at) => return self.lose_to_failure(lost_at, h),
            }
        } else {
            let address = self.addresses[sender as usize];
            let mut path = std::mem::take(&mut self.path);
            let found = self.routes.way_from(node, address, key, &mut path);
            if !found || path.len() > INLINE_HOPS {
                self.path = path;
                let dropped = self.arena[h];
                self.drop_packet(port, h, &dropped, now);
                return;
            }
            Self::set_path(&mut packet, &path);
            let inbox = self.first[node as usize] + u32::from(path[0]);
            self.path = path;
            inbox
        };
        packet.hop = 1;
        packet.in_port = TURNED | (port - self.first[node as usize]) as u16;
        self.arena[h] = packet;
        let words = self.arena.int(h);
        words[1] = IntHop(words[1].0 | u64::from(TO_SENDER) << 8);
        self.counters.returned += 1;
        s.turned(h, packet.in_port, inbox, at);
    }
}

//! What a NIC does in the usual case: data, ACKs and departures over RDMA that concern no more than the NIC, the packet and its
//! flow. All that these need is borrowed once; for everything else a turn stops, before anything is done, and the network goes on.

use paceline_proto::cc::FlowContext;
use paceline_proto::transport::rdma::Acked;

use super::arrival::goes_at_once;
use super::{NEVER, Next, Nic, is_plain, launch_plain};
use crate::clock::{Clock, Wire};
use crate::net::balance::Books;
use crate::net::by_number::ByNumber;
use crate::net::flow::{Flow, Receiving, SLOT_BITS, SLOT_MASK};
use crate::net::port::Port;
use crate::net::streams::Streams;
use crate::net::{Arrivals, Net, Schedule};
use crate::packet::{Arena, Handle, Kind, LAST, Packet, TICKS};
use crate::record::Counters;
use crate::scenario::HostConfig;

/// A NIC, and what its usual packets need.
pub(crate) struct Turn<'a> {
    n: &'a mut Nic,
    p: &'a mut Port,
    arena: &'a mut Arena,
    flows: &'a mut [Flow],
    receiving: &'a mut ByNumber<Receiving>,
    streams: Option<&'a mut Streams>,
    counters: &'a mut Counters,
    books: &'a mut Books,
    progress: &'a mut u64,
    contexts: &'a [FlowContext],
    wires: &'a [Wire],
    host: &'a HostConfig,
    clock: Clock,
    /// Payload of a full packet.
    payload: u64,
    /// A flow's number in packets: its slot shifted by this, and the part.
    share_bits: u32,
    part: u32,
    spray: bool,
    control_class: bool,
    special_acks: u8,
}

impl Net {
    /// A turn of the NIC. None where hosts speak other than RDMA, or the NIC's wire loses packets or leads to a host.
    #[inline(always)]
    pub(crate) fn turn(&mut self, nic: u32) -> Option<Turn<'_>> {
        let n = &mut self.nics[nic as usize];
        let p = &mut self.ports[n.port as usize];
        let is_usual = self.messages.is_none() && is_plain(p);
        is_usual.then_some(Turn {
            n,
            p,
            arena: &mut self.arena,
            flows: &mut self.flows,
            receiving: &mut self.receiving,
            streams: self.streams.as_deref_mut(),
            counters: &mut self.counters,
            books: &mut self.books,
            progress: &mut self.progress,
            contexts: &self.contexts,
            wires: &self.wires,
            host: &self.host,
            clock: self.clock,
            payload: self.payload,
            share_bits: self.share.bits,
            part: u32::from(self.share.me),
            spray: self.spray,
            control_class: self.ack_control_class,
            special_acks: self.special_acks,
        })
    }
}

impl Turn<'_> {
    /// Arrivals in order, and departures between them, up to an arrival at `end` or later, a timer, or what a turn does not do. The
    /// arrival it stops at is still in `arrivals`.
    #[inline(always)]
    pub(crate) fn run<S: Schedule>(&mut self, arrivals: &mut Arrivals<'_>, end: u64, s: &mut S) {
        let mut rest = arrivals.clone();
        while let Some((now, h)) = rest.next() {
            if now >= end || now > self.n.timer_at || !self.take(h, now, s) {
                return;
            }
            *arrivals = rest.clone();
        }
    }

    /// Sends everything that goes before `before`. Returns a time before which nothing more is sent, or, as an error, when something
    /// goes next that a turn does not send, and what.
    #[inline(always)]
    pub(super) fn advance<S: Schedule>(&mut self, before: u64, s: &mut S) -> Result<u64, (u64, Next)> {
        loop {
            let (at, next) = self.n.next(self.p, self.arena.split().0, self.flows, self.host.ack_priority);
            self.n.next_at = at;
            if at >= before {
                return Ok(at);
            }
            let h = match next {
                Next::Control => self.p.pop(self.arena.split().0, 0),
                Next::Flow(place) => {
                    let slot = self.n.flows[place];
                    let flow = &mut self.flows[slot as usize];
                    if self.spray {
                        return Err((at, next));
                    }
                    if flow.flags & TICKS != 0 {
                        flow.catch_up(self.contexts, at, self.clock);
                    }
                    let h = flow.send(slot << self.share_bits | self.part, at, self.clock, self.arena);
                    self.counters.data_made += 1;
                    if flow.ends_message()
                        && let Some(streams) = &self.streams
                    {
                        streams.refit(flow);
                    }
                    self.n.charge(place, flow, self.payload, self.host.rto);
                    h
                }
                Next::Nothing => return Ok(NEVER),
            };
            let free = self.launch(h, at, s);
            self.n.next_at = free;
            if free >= before {
                return Ok(free);
            }
        }
    }

    /// Puts a packet on the wire. Returns when the transmitter is free again.
    #[inline(always)]
    fn launch<S: Schedule>(&mut self, h: Handle, now: u64, s: &mut S) -> u64 {
        launch_plain(self.n.port, self.p, h, &mut self.arena[h], self.wires, now, s)
    }

    /// Sends everything that goes before an arrival, and takes that. False when a turn does not do it; it may have sent something.
    #[inline(always)]
    pub(crate) fn take<S: Schedule>(&mut self, h: Handle, now: u64, s: &mut S) -> bool {
        if self.n.next_at <= now && self.advance(now + 1, s).is_err() {
            return false;
        }
        match self.arena[h].kind {
            Kind::Data => self.data(h, now, s),
            Kind::Ack => self.ack(h, now),
            _ => false,
        }
    }

    #[inline(always)]
    fn data<S: Schedule>(&mut self, h: Handle, now: u64, s: &mut S) -> bool {
        let packet = &mut self.arena[h];
        if packet.flags & LAST != 0 {
            return false;
        }
        // Those in the midst of a message make nothing ready but their answer.
        self.counters.data_delivered += 1;
        self.books.receive(Kind::Data, packet.size);
        let state = &mut self.receiving[packet.flow & SLOT_MASK];
        if !state.answer(packet, now, self.host, self.control_class, &mut self.counters.data_discarded) {
            self.arena.release(h);
            return true;
        }
        let size = packet.size;
        if goes_at_once(self.p, packet, now, self.host.ack_priority) {
            let free = self.launch(h, now, s);
            self.n.next_at = self.n.next_at.max(free);
        } else {
            self.p.free = self.p.free.max(now);
            self.p.push(self.arena.split().0, h, 0, size);
            self.n.next_at = self.n.next_at.min(self.p.free);
        }
        true
    }

    #[inline(always)]
    fn ack(&mut self, h: Handle, now: u64) -> bool {
        let Packet { flow: number, seq, flags, size, .. } = self.arena[h];
        let flow = &mut self.flows[((number & SLOT_MASK) >> self.share_bits) as usize];
        let is_its = flow.alive && u32::from(flow.generation) == number >> SLOT_BITS;
        if !is_its || flags & self.special_acks != 0 || flow.timeouts != 0 {
            return false;
        }
        let whole = flow.whole_chunks(seq, self.host.chunk);
        let acked = match &mut self.streams {
            _ if seq < flow.whole_at => flow.tx.on_ack(whole),
            Some(streams) if flow.stream != 0 => streams.on_ack(flow, whole),
            _ => return false,
        };
        self.books.receive(Kind::Ack, size);
        let free = self.p.free.max(now);
        self.p.free = free;
        if acked != Acked::Old {
            *self.progress += 1;
            flow.progress_at = now;
        }
        if flags & TICKS != 0 {
            flow.catch_up(self.contexts, now, self.clock);
        }
        let ctx = &self.contexts[usize::from(flow.context)];
        flow.react(ctx, self.arena, h, true, now, self.clock);
        let avail = flow.availability(self.payload);
        self.n.avail[flow.place as usize] = avail;
        if avail != NEVER {
            self.n.next_at = self.n.next_at.min(avail.max(free));
        }
        true
    }
}

//! A host's NIC: what it sends next, and what it does with what arrives.
//!
//! One FIFO of ACKs that goes before data (an ACK of a paused class holds up those behind it, of any class; the HPCC reference simulator has but one
//! class), then round robin over the flows that may send. The NIC is advanced lazily:
//! whoever looks at it first brings it up to the present.

pub(crate) mod adapter;
mod arrival;
pub(crate) mod datagrams;
pub(crate) mod message;
mod turn;

use paceline_proto::cc::{CongestionControl, Loss};
use paceline_proto::rng::mix;
use paceline_proto::telemetry::IntHop;
use paceline_proto::units::Time;

use crate::clock::Wire;
use crate::net::flow::Flow;
use crate::net::port::Port;
use crate::net::{Net, Schedule};
use crate::packet::{Handle, INT, Kind, PINT, Packet, ROUTED, TICKS};
use crate::record::Status;
use crate::scenario::Rto;

/// Never.
const NEVER: u64 = u64::MAX;

/// A NIC.
#[derive(Clone, Debug)]
pub struct Nic {
    /// Its port (global index).
    pub(crate) port: u32,
    /// Flows sending here.
    pub(crate) flows: Vec<u32>,
    /// When each of them may send its next packet; `NEVER` when it has nothing to send or its window is closed.
    pub(crate) avail: Vec<u64>,
    /// Place of the flow served last.
    pub(crate) last: u32,
    /// It sends nothing before this; kept low, so that most looks at an idle NIC cost one comparison.
    pub(crate) next_at: u64,
    /// Earliest instant a retransmission timeout may be due.
    pub(crate) timer_at: u64,
    /// Pending wake-up of the engine for the next departure; used by the sequential engine.
    pub(crate) wake_at: u64,
    /// Timeout event the sequential engine has listed last.
    pub(crate) timer_listed: u64,
}

impl Nic {
    /// An idle NIC.
    pub fn new(port: u32) -> Self {
        Self {
            port,
            flows: Vec::new(),
            avail: Vec::new(),
            last: 0,
            next_at: NEVER,
            timer_at: NEVER,
            wake_at: NEVER,
            timer_listed: NEVER,
        }
    }
}

/// What became of a flow by an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answered {
    /// No such flow any more.
    Unknown,
    /// It goes on, under new limits.
    Running(u32),
    /// It is complete.
    Finished(u32),
}

/// Whether a NIC's port leads to a switch over a wire that loses nothing.
#[inline(always)]
fn is_plain(p: &Port) -> bool {
    p.watched == 0 && !p.peer_is_host
}

/// [`Net::launch`] at a NIC that [`is_plain`]. Returns when the transmitter is free again.
#[inline(always)]
fn launch_plain<S: Schedule>(
    port: u32,
    p: &mut Port,
    h: Handle,
    packet: &mut Packet,
    wires: &[Wire],
    now: u64,
    s: &mut S,
) -> u64 {
    p.tx_bytes += u64::from(packet.size);
    p.tx_packets += 1;
    if packet.kind != Kind::Data {
        p.tx_control += 1;
        p.tx_control_bytes += u64::from(packet.size);
    }
    let free = now + p.wire_ps(packet.size, wires);
    p.free = free;
    packet.in_port = p.peer_port;
    packet.hop = 1;
    s.started(port, free, h, p.peer_base + u32::from(packet.out[0]), free + p.delay);
    free
}

/// What goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Control,
    /// Data of the flow at this place of the NIC's list.
    Flow(usize),
    Nothing,
}

impl Nic {
    /// The next departure: when, and what.
    #[inline(always)]
    fn next(&self, port: &Port, packets: &[Packet], flows: &[Flow], ack_priority: bool) -> (u64, Next) {
        if port.waiting & 1 != 0 {
            let class = packets[port.head(0) as usize].class;
            if class == 0 || ack_priority || port.paused & (1 << class) == 0 {
                return (port.free, Next::Control);
            }
        }
        let count = self.avail.len();
        let (mut best, mut earliest) = (usize::MAX, NEVER);
        let mut at = self.last as usize;
        for _ in 0..count {
            at = if at + 1 >= count { 0 } else { at + 1 };
            let avail = self.avail[at];
            let is_paused = |slot: u32| port.paused & (1 << flows[slot as usize].class) != 0;
            if avail >= earliest || (port.paused != 0 && is_paused(self.flows[at])) {
                continue;
            }
            (best, earliest) = (at, avail);
            if avail <= port.free {
                break;
            }
        }
        if best == usize::MAX { (NEVER, Next::Nothing) } else { (earliest.max(port.free), Next::Flow(best)) }
    }

    /// The flow at a place of the list has sent a packet.
    #[inline(always)]
    fn charge(&mut self, place: usize, flow: &Flow, mtu: u64, rto: Option<Rto>) {
        self.last = place as u32;
        self.avail[place] = flow.availability(mtu);
        if let Some(rto) = rto {
            self.timer_at = self.timer_at.min(flow.progress_at + (rto.initial.0 << flow.timeouts));
        }
    }
}

impl Net {
    /// Lets the NIC send everything that goes before `end` (departures at `end` itself included when `inclusive`).
    /// Returns a time before which it sends nothing more.
    #[inline(always)]
    pub(crate) fn nic_advance<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        let at = self.nics[nic as usize].next_at;
        if at >= end + u64::from(inclusive) { at } else { self.nic_work(nic, end, inclusive, s) }
    }

    /// The rest of [`Net::nic_advance`], when there is something to look at.
    fn nic_work<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        if self.messages.is_some() {
            return self.message_work(nic, end, inclusive, s);
        }
        let before = end + u64::from(inclusive);
        loop {
            let (at, next) = match self.turn(nic).map(|mut turn| turn.advance(before, s)) {
                Some(Ok(at)) => return at,
                Some(Err(next)) => next,
                None => {
                    let n = &mut self.nics[nic as usize];
                    let p = &self.ports[n.port as usize];
                    n.next(p, self.arena.split().0, &self.flows, self.host.ack_priority)
                }
            };
            self.nics[nic as usize].next_at = at;
            if at >= before {
                return at;
            }
            let port = self.nics[nic as usize].port;
            let h = match next {
                Next::Control => self.ports[port as usize].pop(self.arena.split().0, 0),
                Next::Flow(place) => {
                    let slot = self.nics[nic as usize].flows[place];
                    let h = self.make_packet(slot, at);
                    let flow = &self.flows[slot as usize];
                    self.nics[nic as usize].charge(place, flow, self.payload, self.host.rto);
                    h
                }
                Next::Nothing => return NEVER,
            };
            let free = self.nic_launch(port, h, at, s);
            self.nics[nic as usize].next_at = free;
            if free >= before {
                return free;
            }
        }
    }

    /// Something changed at a NIC: it may send from `at` on, or as soon as its transmitter is free.
    #[inline(always)]
    pub(crate) fn may_send(&mut self, nic: u32, at: u64) {
        let n = &mut self.nics[nic as usize];
        let free = self.ports[n.port as usize].free;
        n.next_at = n.next_at.min(at.max(free));
    }

    /// [`Net::launch`] at a NIC. Returns when the transmitter is free again.
    #[inline(always)]
    pub(crate) fn nic_launch<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) -> u64 {
        let p = &mut self.ports[port as usize];
        if is_plain(p) {
            return launch_plain(port, p, h, &mut self.arena[h], &self.wires, now, s);
        }
        self.launch(port, h, false, now, s);
        self.ports[port as usize].free
    }

    /// The next data packet of a flow, its telemetry word set where it has one.
    #[inline(always)]
    pub(crate) fn make_packet(&mut self, slot: u32, now: u64) -> Handle {
        let number = self.number(slot);
        let flow = &mut self.flows[slot as usize];
        if flow.flags & TICKS != 0 && !self.scenario.quirks.nic_round_robin {
            flow.catch_up(&self.contexts, now, self.clock);
        }
        let h = flow.send(number, now, self.clock, &mut self.arena);
        self.counters.data_made += 1;
        if flow.ends_message()
            && let Some(streams) = &self.streams
        {
            streams.refit(flow);
        }
        if self.spray {
            self.spray_packet(slot, h, now);
        }
        h
    }

    /// Has a stream's sender look at the message of its next packet.
    fn refit(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        if let (Some(streams), true) = (&self.streams, flow.stream != 0) {
            streams.refit(flow);
        }
    }

    /// What some schemes need before an ACK is looked at. Returns whether it counts.
    #[cold]
    #[inline(never)]
    fn before_ack(&mut self, h: Handle, slot: u32, flags: u8, now: u64) -> bool {
        if flags & ROUTED != 0 {
            self.note_path(h, slot);
        }
        if flags & TICKS != 0 && !self.scenario.quirks.nic_round_robin {
            self.flows[slot as usize].catch_up(&self.contexts, now, self.clock);
        }
        flags & PINT == 0 || self.pint_counts(slot, now)
    }

    /// Gives a packet a path of its own or of its flowlet, drawn from the stream of (flow, packet or flowlet).
    #[inline(never)]
    fn spray_packet(&mut self, slot: u32, h: Handle, now: u64) {
        let info = &mut self.infos[slot as usize];
        let (id, spec) = (info.id, info.spec);
        let number = match self.flowlet_gap {
            Some(gap) => {
                let (number, paused) = info.flowlet.next(now, gap);
                self.counters.flowlets += u64::from(paused);
                number
            }
            None => self.arena[h].seq,
        };
        let key = self.draws.spray;
        let mut tier = 0;
        let draw = |n: u32| {
            tier += 1;
            paceline_proto::rng::below(paceline_proto::rng::hash3(key, id, u64::from(number) << 8 | tier), n)
        };
        let mut path = std::mem::take(&mut self.path);
        let (src, dst) = self.ends(&spec, id);
        if self.routes.spray_path(src, dst, draw, &mut path).is_ok() {
            Self::set_path(&mut self.arena[h], &path[1..]);
        }
        if self.flowlet_gap.is_some() && self.arena[h].flags & INT != 0 {
            // The path id of HPCC's INT header, sec. 3.1 of the paper, in the word before the records.
            self.arena.int(h)[0] = IntHop(path.iter().fold(0, |id, port| mix(id << 32 | u64::from(*port))));
        }
        self.path = path;
    }

    /// Brings the NIC's view of a flow up to date.
    pub(crate) fn refresh(&mut self, slot: u32) {
        let nic = self.ports[self.flows[slot as usize].nic as usize].nic;
        self.refresh_at(nic, slot);
    }

    #[inline(always)]
    fn refresh_at(&mut self, nic: u32, slot: u32) {
        let flow = &self.flows[slot as usize];
        let avail = flow.availability(self.payload);
        self.nics[nic as usize].avail[flow.place as usize] = avail;
        if avail != NEVER {
            self.may_send(nic, avail);
        }
    }

    /// Nothing that happens at a NIC now can let a packet leave before now.
    #[inline]
    pub(crate) fn begin_at(&mut self, nic: u32, now: u64) {
        let p = &mut self.ports[self.nics[nic as usize].port as usize];
        p.free = p.free.max(now);
    }

    /// Hands a started flow to its NIC.
    pub(crate) fn add_to_nic(&mut self, slot: u32) -> u32 {
        if self.messages.is_some() {
            return self.add_message(slot);
        }
        let port = self.flows[slot as usize].nic;
        let nic = self.ports[port as usize].nic;
        let n = &mut self.nics[nic as usize];
        self.flows[slot as usize].place = n.flows.len() as u32;
        n.flows.push(slot);
        n.avail.push(NEVER);
        self.refresh(slot);
        self.begin_stream(nic, slot);
        nic
    }

    /// A started flow that is a stream opens its connection.
    pub(crate) fn begin_stream(&mut self, nic: u32, slot: u32) {
        if let Some(stream) = self.flows[slot as usize].stream.checked_sub(1) {
            self.open_stream(nic, stream, self.infos[slot as usize].spec.start.0);
        }
    }

    /// Takes an ended flow off its NIC.
    pub(crate) fn remove_from_nic(&mut self, slot: u32) {
        let flow = &self.flows[slot as usize];
        let (nic, place) = (self.ports[flow.nic as usize].nic, flow.place);
        let n = &mut self.nics[nic as usize];
        n.flows.swap_remove(place as usize);
        n.avail.swap_remove(place as usize);
        if let Some(&moved) = n.flows.get(place as usize) {
            self.flows[moved as usize].place = place;
        }
    }

    /// Handles the retransmission timeouts due at `now` and says when to look again.
    pub(crate) fn nic_timeouts(&mut self, nic: u32, now: u64) {
        if self.messages.is_some() {
            self.message_timeout(nic, now);
            return;
        }
        self.begin_at(nic, now);
        self.issue_due(nic, now);
        let mut next = self.queries_due(nic);
        let mut place = 0;
        let Some(rto) = self.host.rto else {
            self.nics[nic as usize].timer_at = next;
            return;
        };
        while let Some(&slot) = self.nics[nic as usize].flows.get(place) {
            let flow = &mut self.flows[slot as usize];
            if flow.tx.in_flight() == 0 {
                place += 1;
                continue;
            }
            let due = flow.progress_at + (rto.initial.0 << flow.timeouts);
            if due > now {
                next = next.min(due);
                place += 1;
                continue;
            }
            if u32::from(flow.timeouts) + 1 > rto.tries {
                self.remove_from_nic(slot);
                self.end_flow(slot, now, Status::Failed);
                continue;
            }
            flow.timeouts += 1;
            flow.progress_at = now;
            self.timeouts += 1;
            self.rewind(slot);
            let flow = &mut self.flows[slot as usize];
            let ctx = &self.contexts[usize::from(flow.context)];
            flow.cc.on_loss(ctx, Time(now), Loss::Timeout, 0);
            self.apply_limits(slot);
            self.refresh(slot);
            next = next.min(now + (rto.initial.0 << self.flows[slot as usize].timeouts));
            place += 1;
        }
        self.nics[nic as usize].timer_at = next;
    }
}

//! The NIC of the HPCC reference simulator, where it differs from ours (quirk `nic_round_robin`).
//!
//! Finished flows stay in the round robin until a scan passes them, the index of the flow served last is not renumbered
//! when they go, and the pacing timer is not set when some flow whose window is closed could have sent earlier
//! (hpcc-ns3 facts, sections 4.5 and 6, Q3). A pending timer is moved by every ACK that sets a rate, the last of a flow
//! included, and by no other. ACKs wait in one line, which only a pause of class 3 holds up, whatever their own class. After going back an ACK of
//! packets not yet sent again leaves the sender where it is; its window then counts as closed.

mod hash_order;

use super::events::{Events, What};
use super::order::Rank;
use crate::net::Net;
use crate::net::flow::{SLOT_BITS, SLOT_MASK};
use crate::packet::{Handle, Kind, NONE, Packet, TICKS};
use crate::record::Stage;
use crate::routing::ip_of;
use crate::workload::FlowSpec;
use hash_order::HashOrder;
use paceline_proto::cc::{CongestionControl, TIMERS};
use paceline_proto::units::Time;

/// One NIC.
#[derive(Clone, Debug, Default)]
struct ReferenceNic {
    flows: Vec<u32>,
    last: usize,
    busy: bool,
    /// Pending pacing timer: when, and its number.
    timer: Option<(u64, u32)>,
    timers: u32,
}

/// The tick of a controller's timer that is in the event list: when, and its number.
#[derive(Clone, Copy, Debug)]
struct Tick {
    at: Time,
    number: u32,
}

/// What a configuration says of its hosts and wires.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceOptions {
    /// `L2_ACK_INTERVAL`: a message's first bytes that are answered with a NACK only, less one.
    pub(crate) ack_interval: u64,
    /// `L2_CHUNK_SIZE`, bytes: a packet that ends at a multiple is acknowledged whatever the interval.
    pub(crate) chunk: u64,
    /// By link: share of packets lost, and whether the topology file says so.
    pub(crate) links: Vec<(f64, bool)>,
}

/// All NICs.
#[derive(Debug)]
pub(super) struct ReferenceNics {
    nics: Vec<ReferenceNic>,
    ack_interval: u64,
    chunk: u64,
    /// By flow slot and timer.
    ticks: Vec<[Tick; TIMERS]>,
    /// By host, where a link fails: its unfinished flows.
    orders: Vec<HashOrder>,
    /// By flow slot, where hosts have several NICs: the NIC that sends the answers.
    answering: Vec<u32>,
}

/// The class whose pause holds up a host's ACKs.
const ACK_CLASS: u8 = 3;
/// Bits of an event's place that name the flow slot; the timer is above.
const TICK_SHIFT: u32 = SLOT_BITS;

/// By what the reference's hosts know a flow they send.
fn pair_key(spec: &FlowSpec, sport: u16) -> u64 {
    u64::from(ip_of(spec.dst, 0)) << 32 | u64::from(sport) << 16 | u64::from(spec.class)
}

impl ReferenceNics {
    pub(super) fn new(net: &Net) -> Self {
        let orders = if net.failures.is_some() { net.graph.nodes() } else { 0 };
        Self {
            nics: vec![ReferenceNic::default(); net.nics.len()],
            ack_interval: 1,
            chunk: 0,
            ticks: Vec::new(),
            orders: vec![HashOrder::default(); orders],
            answering: Vec::new(),
        }
    }

    pub(super) fn configure(&mut self, options: &ReferenceOptions) {
        (self.ack_interval, self.chunk) = (options.ack_interval, options.chunk);
    }

    /// Whether the receiver keeps an ACK to itself. The reference's count of bytes to the next ACK is set anew by every
    /// packet, to the interval from the start of the message; after so many bytes every packet is acknowledged.
    fn holds_back(&self, net: &Net, h: Handle) -> bool {
        let answer = &net.arena[h];
        if self.ack_interval <= 1 || answer.kind != Kind::Ack {
            return false;
        }
        let slot = (answer.flow & SLOT_MASK) as usize;
        let received = net.bytes_below(slot, answer.seq);
        received < self.ack_interval && (self.chunk == 0 || !received.is_multiple_of(self.chunk))
    }

    /// A flow starts.
    pub(super) fn flow(&mut self, net: &mut Net, events: &mut Events, slot: u32, now: u64) {
        let info = &net.infos[slot as usize];
        if let Some(order) = self.orders.get_mut(info.spec.src as usize) {
            order.insert(pair_key(&info.spec, info.sport), slot);
            net.renew_standalone(slot, now);
        }
        self.find_nics(net, slot, now);
        let nic = net.ports[net.flows[slot as usize].nic as usize].nic;
        self.nics[nic as usize].flows.push(slot);
        net.flows[slot as usize].next_avail = now;
        self.trigger(net, events, nic, now);
    }

    /// A link failed: every host in turn makes new lists of its unfinished flows, in the order of a hash table, and looks for
    /// something to send after each one.
    pub(super) fn list_again(&mut self, net: &mut Net, events: &mut Events, now: u64) {
        for nic in &mut self.nics {
            nic.flows.clear();
        }
        for host in 0..self.orders.len() {
            let slots: Vec<u32> = self.orders[host].slots().collect();
            for slot in slots {
                self.find_nics(net, slot, now);
                net.renew_standalone(slot, now);
                let nic = net.ports[net.flows[slot as usize].nic as usize].nic;
                self.nics[nic as usize].flows.push(slot);
                self.trigger(net, events, nic, now);
            }
        }
    }

    /// The NICs that either end of a flow sends from now. (Where a host is cut off, the reference divides by zero; here it
    /// keeps to its NIC.)
    fn find_nics(&mut self, net: &mut Net, slot: u32, now: u64) {
        if net.by_node.is_none() {
            return;
        }
        if let Some(port) = net.reference_port(slot, false, now) {
            net.flows[slot as usize].nic = port;
        }
        if let Some(port) = net.reference_port(slot, true, now) {
            let place = slot as usize;
            if self.answering.len() <= place {
                self.answering.resize(place + 1, NONE);
            }
            self.answering[place] = net.ports[port as usize].nic;
        }
    }

    /// The transmitter is free again.
    pub(super) fn transmitted(&mut self, net: &mut Net, events: &mut Events, nic: u32, now: u64) {
        self.nics[nic as usize].busy = false;
        self.trigger(net, events, nic, now);
    }

    /// A pacing timer runs out.
    pub(super) fn paced(&mut self, net: &mut Net, events: &mut Events, nic: u32, number: u32, now: u64) {
        let n = &mut self.nics[nic as usize];
        if n.timer.is_some_and(|(_, current)| current == number) {
            n.timer = None;
            self.trigger(net, events, nic, now);
        }
    }

    /// Schedules the ticks a flow's controller has set, and drops those it has moved. Ticks are events here, not caught
    /// up later: which of a tick and a packet in the same nanosecond goes first changes the packet's gap.
    fn list_ticks(&mut self, net: &Net, events: &mut Events, slot: u32) {
        let flow = &net.flows[slot as usize];
        if flow.flags & TICKS == 0 {
            return;
        }
        if self.ticks.len() <= slot as usize {
            self.ticks.resize(slot as usize + 1, [Tick { at: Time::NEVER, number: 0 }; TIMERS]);
        }
        for (timer, at) in flow.cc.timers().into_iter().enumerate() {
            let tick = &mut self.ticks[slot as usize][timer];
            if tick.at == at {
                continue;
            }
            *tick = Tick { at, number: tick.number.wrapping_add(1) };
            if at != Time::NEVER {
                let place = slot | (timer as u32) << TICK_SHIFT;
                events.push_at(at.0, Rank::Timer, What::Tick, flow.nic, place, tick.number);
            }
        }
    }

    /// A controller's timer runs out.
    pub(super) fn tick(&mut self, net: &mut Net, events: &mut Events, place: u32, number: u32, now: u64) {
        let (slot, timer) = (place & SLOT_MASK, (place >> TICK_SHIFT) as usize);
        let tick = &mut self.ticks[slot as usize][timer];
        if tick.number != number || !net.flows[slot as usize].alive {
            return;
        }
        tick.at = Time::NEVER;
        let flow = &mut net.flows[slot as usize];
        flow.cc.on_timer(&net.contexts[usize::from(flow.context)], timer, Time(now));
        net.apply_limits(slot);
        self.list_ticks(net, events, slot);
    }

    /// A packet arrives.
    pub(super) fn arrival(&mut self, net: &mut Net, events: &mut Events, nic: u32, h: Handle, now: u64) {
        let packet = net.arena[h];
        let port = net.nics[nic as usize].port;
        match packet.kind {
            Kind::Data => {
                if !net.receive_data(h, now) {
                    return;
                }
                net.begin_answer(h);
                if self.holds_back(net, h) {
                    net.arena.release(h);
                    return;
                }
                let answer = &net.arena[h];
                let (slot, size) = ((answer.flow & SLOT_MASK) as usize, answer.size);
                let nic = self.answering.get(slot).copied().filter(|nic| *nic != NONE).unwrap_or(nic);
                let port = net.nics[nic as usize].port;
                if net.ports[port as usize].watched != 0 {
                    net.note_stage(port, h, now, Stage::Queued, 0);
                }
                net.ports[port as usize].push(net.arena.split().0, h, 0, size);
                self.trigger(net, events, nic, now);
            }
            Kind::Control | Kind::Answer | Kind::Notification => net.message_arrival(nic, h, &packet, now),
            Kind::Ack | Kind::Nack => self.answered(net, events, h, &packet, now),
            Kind::Pause | Kind::Resume => {
                if net.apply_pfc(port, h, &packet, now) {
                    self.trigger(net, events, nic, now);
                }
            }
        }
    }

    /// An ACK or NACK arrives. One of a flow that is over does not even have the NIC look for something to send.
    fn answered(&mut self, net: &mut Net, events: &mut Events, h: Handle, packet: &Packet, now: u64) {
        let Some(answered) = net.receive_ack_as_reference(h, packet, now) else { return };
        let slot = answered.slot;
        if !answered.finished {
            self.list_ticks(net, events, slot);
        } else if let Some(order) = self.orders.get_mut(net.infos[slot as usize].spec.src as usize) {
            order.remove(slot);
        }
        let nic = net.ports[net.flows[slot as usize].nic as usize].nic;
        if answered.sets_rate {
            self.move_timer(net, events, nic, slot, now);
        }
        self.trigger(net, events, nic, now);
    }

    /// A rate was set, which may have moved a flow's next packet; a pending timer that is now too late moves with it.
    fn move_timer(&mut self, net: &Net, events: &mut Events, nic: u32, slot: u32, now: u64) {
        let next = net.flows[slot as usize].next_avail;
        if self.nics[nic as usize].timer.is_some_and(|(at, _)| next < at) {
            self.set_timer(net, events, nic, next.max(now));
        }
    }

    fn set_timer(&mut self, net: &Net, events: &mut Events, nic: u32, at: u64) {
        let n = &mut self.nics[nic as usize];
        n.timers = n.timers.wrapping_add(1);
        n.timer = Some((at, n.timers));
        events.push_at(at, Rank::Departure, What::Pacing, net.nics[nic as usize].port, nic, n.timers);
    }

    /// Sends the next packet if the NIC is idle.
    fn trigger(&mut self, net: &mut Net, events: &mut Events, nic: u32, now: u64) {
        let port = net.nics[nic as usize].port;
        if self.nics[nic as usize].busy || net.link_is_down(port, now) {
            return;
        }
        let p = &net.ports[port as usize];
        let paused = p.paused;
        if p.waiting & 1 != 0 && (net.host.ack_priority || paused & (1 << ACK_CLASS) == 0) {
            let h = net.ports[port as usize].pop(net.arena.split().0, 0);
            self.nics[nic as usize].busy = true;
            net.launch(port, h, false, now, events);
            return;
        }
        if let Some(place) = self.scan(net, nic, paused, now) {
            let n = &mut self.nics[nic as usize];
            n.last = place;
            n.busy = true;
            let slot = n.flows[place];
            let h = net.make_packet(slot, now);
            net.launch(port, h, false, now, events);
            return;
        }
        let n = &self.nics[nic as usize];
        let unsent = n.flows.iter().map(|s| &net.flows[*s as usize]).filter(|f| f.alive && f.tx.has_data());
        let Some(next) = unsent.map(|f| f.next_avail).min() else { return };
        if n.timer.is_none() && next > now {
            self.set_timer(net, events, nic, next);
        }
    }

    /// The place of the flow to serve; removes finished flows the scan passed.
    fn scan(&mut self, net: &Net, nic: u32, paused: u8, now: u64) -> Option<usize> {
        let n = &mut self.nics[nic as usize];
        let count = n.flows.len();
        let (mut found, mut first_finished) = (None, usize::MAX);
        for step in 1..=count {
            let place = (step + n.last) % count;
            let slot = n.flows[place];
            let flow = &net.flows[slot as usize];
            if flow.alive
                && paused & (1 << flow.class) == 0
                && flow.tx.has_data()
                && flow.in_flight(net.payload) < flow.cwnd
            {
                if flow.next_avail <= now {
                    found = Some(place);
                    break;
                }
            } else if !flow.alive {
                first_finished = first_finished.min(place);
            }
        }
        if first_finished != usize::MAX {
            let chosen = found.map(|place| n.flows[place]);
            let mut place = 0;
            n.flows.retain(|slot| {
                place += 1;
                place <= first_finished || net.flows[*slot as usize].alive
            });
            found = chosen.and_then(|slot| n.flows.iter().position(|s| *s == slot));
        }
        found
    }
}

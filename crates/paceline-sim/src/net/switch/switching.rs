//! A switch in exact order: packets arrive, wait, leave, are marked, stamped, lost or dropped, and PFC frames take effect. A window that no
//! threshold can come into is run port by port instead (`local.rs`), by the same rules.

use std::hint::select_unpredictable;

use paceline_proto::rng::{hash3, unit};
use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::units::Time;

use crate::clock::Wire;
use crate::net::port::{NO_ECN, Port};
use crate::net::reference_random::ReferenceRandom;
use crate::net::rules::Rules;
use crate::net::switch::buffers::{Admit, Place};
use crate::net::{Draws, EcnPoint, LongPaths, Net, REACTING, Schedule, long_hop};
use crate::packet::{Arena, CE, CONTROL, Handle, INLINE_HOPS, INT, Kind, NONE, Packet, UNSCHEDULED};
use crate::record::{PacketEvent, PacketRecord, PfcEvent, Stage};

/// Puts a packet on the wire behind a port. Returns (transmitter free, inbox, arrival).
#[inline(always)]
fn transmit(
    p: &mut Port,
    arena: &mut Arena,
    h: Handle,
    at_switch: bool,
    now: u64,
    (rules, wires, long_paths): (&Rules, &[Wire], &LongPaths),
) -> (u64, u32, u64) {
    let (packets, int) = arena.split_with_scrap();
    let packet = &mut packets[h as usize];
    let size = packet.size;
    let control = packet.kind != Kind::Data;
    // Data and answers come in no order that could be predicted: what concerns only one kind is done without branches.
    let stamp = at_switch && !control && packet.flags & INT != 0 && usize::from(packet.hop) <= MAX_HOPS;
    let stamp_hop = usize::from(packet.hop & 7);
    let tx_before = p.tx_bytes;
    p.tx_bytes += u64::from(size);
    p.tx_packets += 1;
    p.tx_control += u64::from(control);
    p.tx_control_bytes += if control { u64::from(size) } else { 0 };
    p.free = now + p.wire_ps(size, wires);
    let arrival = p.free + p.delay;
    packet.in_port = p.peer_port;
    let ends = p.peer_is_host | packet.kind.is_pfc();
    let hop = usize::from(packet.hop);
    packet.hop += u8::from(!ends);
    let mut out = packet.out[hop.min(INLINE_HOPS - 1)];
    if !ends && hop >= INLINE_HOPS {
        out = long_hop(long_paths, packet, hop);
    }
    let inbox = p.peer_base + u32::from(select_unpredictable(ends, p.peer_port, out));
    let (words, scrap) = int;
    if at_switch && rules.writes_int {
        let place = if stamp { h as usize } else { usize::MAX };
        let words = match words.get_mut(place) {
            Some(words) => words,
            None => scrap,
        };
        words.0[stamp_hop] = rules.int_units.pack(Time(now), tx_before, u64::from(p.total), p.rate_code);
    }
    (p.free, inbox, arrival)
}

/// Whether a packet that leaves a port that marks meets congestion: by what it leaves behind.
#[inline(always)]
fn meets_congestion(
    port: u32,
    p: &Port,
    class: u8,
    (rules, points, draws): (&Rules, &[EcnPoint], &Draws),
    reference: &mut Option<ReferenceRandom>,
) -> bool {
    let point = &points[usize::from(p.ecn)];
    let behind = if rules.ecn_per_port { p.total } else { p.class_bytes(class) };
    if behind <= point.k_min {
        return false;
    }
    match reference {
        Some(reference) => behind > point.k_max || reference.mark() < point.chance(behind),
        None => point.marks(behind, draws.ecn, port, p.tx_packets),
    }
}

impl Net {
    /// A queue of a switch changes from its present length at `now`.
    #[inline(always)]
    pub(crate) fn note_queue(&mut self, port: u32, class: u8, now: u64) {
        let slot = self.rules.class_slot[usize::from(class)];
        self.levels.note(port, &mut self.ports[port as usize], class, slot, now);
    }

    /// Appends a packet to a switch queue.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) {
        if self.rules.is_recorded(packet.class) {
            self.note_queue(port, packet.class, now);
        }
        if self.ports[port as usize].watched != 0 {
            self.note_stage(port, h, now, Stage::Queued, packet.class);
        }
        self.ports[port as usize].push(self.arena.split().0, h, packet.class, packet.size);
    }

    /// A packet finds a switch port quiet and leaves in the same instant, so that no queue ever holds it. Exact order.
    #[inline(always)]
    fn pass_through<S: Schedule>(&mut self, port: u32, h: Handle, class: u8, now: u64, s: &mut S) {
        let p = &mut self.ports[port as usize];
        p.pass(class);
        if p.watched != 0 {
            self.note_stage(port, h, now, Stage::Queued, class);
        }
        self.launch(port, h, true, now, s);
    }

    /// Starts sending a packet that has left its queue. Returns (transmitter free, inbox, arrival).
    #[inline(always)]
    pub(crate) fn transmit(&mut self, port: u32, h: Handle, at_switch: bool, now: u64) -> (u64, u32, u64) {
        let wires = (&self.rules, &self.wires[..], &self.long_paths);
        transmit(&mut self.ports[port as usize], &mut self.arena, h, at_switch, now, wires)
    }

    /// A packet has left a watched port: the load is measured where PINT asks for it, it may be lost on the wire (drawn
    /// from the port's own stream) or because a link is down, and where links fail its next port is looked up. Returns the packet,
    /// [`NONE`] when nothing is left of it, and its inbox.
    #[cold]
    #[inline(never)]
    fn watch(&mut self, port: u32, h: Handle, inbox: u32, now: u64, arrival: u64) -> (Handle, u32) {
        let record = self.packet_record(port, h, now, PacketEvent::Sent);
        if self.stages.is_some() {
            self.note_sent(port, h, now);
        }
        let sent = self.cross(port, h, inbox, now, arrival);
        self.news.packets.extend(record.map(|record| match sent {
            Ok(_) => PacketRecord { arrival, ..record },
            Err(event) => PacketRecord { event, ..record },
        }));
        sent.map_or((NONE, inbox), |inbox| (h, inbox))
    }

    /// The rest of [`Net::watch`]: the packet's inbox, or, as an error, how it was lost.
    fn cross(&mut self, port: u32, h: Handle, mut inbox: u32, now: u64, arrival: u64) -> Result<u32, PacketEvent> {
        if self.wire_loses(port, h, now) {
            return Err(PacketEvent::DroppedWire);
        }
        let packet = self.arena[h];
        if self.failures.is_some() && self.ports[port as usize].nic != NONE && !packet.kind.is_pfc() {
            self.address_packet(h, &packet);
        }
        if let Some(failures) = &mut self.failures {
            // A path of many changes may not wrap the count.
            self.arena[h].hop = packet.hop.min(u8::MAX - 1);
            match failures.forward(port, h, &packet, now, arrival) {
                Ok(next) => inbox = next,
                Err(at) => {
                    if at == port && failures.is_down(port, now) {
                        self.ports[port as usize].unsend(packet.size, packet.kind != Kind::Data);
                        if self.ports[port as usize].nic != NONE {
                            self.books.not_sent(&packet);
                        }
                    } else if let Some(inbox) = self.doom(port, at, h) {
                        return Ok(inbox);
                    }
                    self.lose_to_failure(at, h);
                    return Err(PacketEvent::DroppedLinkDown);
                }
            }
        }
        Ok(inbox)
    }

    /// The wire behind a port, and what it does with a packet by chance. True when the packet is lost.
    fn wire_loses(&mut self, port: u32, h: Handle, now: u64) -> bool {
        let p = &self.ports[port as usize];
        if let (Some(pint), NONE) = (&mut self.pint, self.ports[port as usize].nic) {
            let (packets, int) = self.arena.split();
            let (packet, telemetry) = (&packets[h as usize], &mut int[h as usize].0);
            match &mut self.reference_random {
                None => pint.measure(port, p, packet, telemetry, now),
                Some(reference) => {
                    pint.measure_with(port, p, packet, telemetry, now, &mut || reference.rand.next());
                }
            }
        }
        let error_rate = self.error_rate[port as usize];
        if error_rate > 0.0
            && !self.arena[h].kind.is_pfc()
            && unit(hash3(self.draws.loss, u64::from(port), p.tx_packets)) < error_rate
        {
            self.lose(port, h);
            return true;
        }
        false
    }

    /// A packet is lost on the wire behind a port.
    pub(crate) fn lose(&mut self, port: u32, h: Handle) {
        self.counters.drops_wire += 1;
        self.port_counts[port as usize].drops_wire += 1;
        let packet = self.arena[h];
        self.note_dropped(&packet);
        self.note_loss(h);
        self.arena.release(h);
    }

    /// Sends the packet just taken from its queue and tells the engine.
    #[inline(always)]
    pub(crate) fn launch<S: Schedule>(&mut self, port: u32, h: Handle, at_switch: bool, now: u64, s: &mut S) {
        let (free, inbox, mut arrival) = self.transmit(port, h, at_switch, now);
        let mut to = (h, inbox);
        if self.ports[port as usize].watched != 0 {
            let reacts = self.rules.pfc_reaction != 0 && self.arena[h].kind.is_pfc();
            if reacts {
                arrival += self.rules.pfc_reaction;
                self.arena[h].in_port |= REACTING;
            }
            to = self.watch(port, h, inbox, now, arrival);
            if reacts && to.0 != NONE {
                s.turned(h, self.arena[h].in_port, inbox, arrival);
                to.0 = NONE;
            }
        }
        s.started(port, free, to.0, to.1, arrival);
    }

    /// Account place of a packet at a switch.
    #[inline(always)]
    pub(crate) fn place(&self, node: u32, packet: &Packet) -> Place {
        Place {
            node,
            ingress: self.first[node as usize] + u32::from(packet.in_port),
            class: packet.class,
            size: u32::from(packet.size),
        }
    }

    /// A packet leaves a queue of a switch. Returns the ingress port that may now send a resume.
    #[inline(always)]
    pub(crate) fn release_place(&mut self, node: u32, packet: &Packet) -> Option<u32> {
        let place = self.place(node, packet);
        if self.buffers.is_exact(node) {
            return self.buffers.release(place).then_some(place.ingress);
        }
        self.buffers.local(node).remove(packet.in_port, packet.class, packet.size);
        None
    }

    /// A switch port starts its next packet, if one may go. Exact order.
    pub(crate) fn depart<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        if self.special.is_some() && self.special_depart(port, now, s) {
            return;
        }
        let p = &mut self.ports[port as usize];
        let Some(class) = p.pick() else { return };
        if self.rules.is_recorded(class) {
            self.levels.note(port, p, class, self.rules.class_slot[usize::from(class)], now);
        }
        let h = p.pop(self.arena.split().0, class);
        let packet = &mut self.arena[h];
        if !packet.kind.is_pfc() {
            // An ACK is not marked: its flag is the echo of the data packet's. (The reference draws for it all the same.)
            let is_met = p.ecn != NO_ECN
                && meets_congestion(port, p, class, (&self.rules, &self.ecn, &self.draws), &mut self.reference_random);
            if is_met && self.rules.takes_mark(&self.arena[h], self.arena.words(h).as_ref()) {
                self.arena[h].flags |= CE;
                self.counters.marks += 1;
                self.port_counts[port as usize].marks += 1;
            } else if is_met {
                self.mark_answer(h);
            }
            let (node, packet) = (self.ports[port as usize].node, self.arena[h]);
            if let Some(ingress) = self.release_place(node, &packet) {
                self.send_pfc(ingress, packet.class, Kind::Resume, now, s);
            }
        }
        self.launch(port, h, true, now, s);
        let p = &self.ports[port as usize];
        if p.waiting != 0 {
            s.waiting(port, p.free);
        }
    }

    /// Starts the next packet of a switch port if its transmitter is idle.
    #[inline]
    fn start<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        let free = self.ports[port as usize].free;
        if s.idle(port, free, now) {
            self.depart(port, now, s);
        } else {
            s.waiting(port, free);
        }
    }

    /// Sends a PFC frame out of a port.
    pub(crate) fn send_pfc<S: Schedule>(&mut self, port: u32, class: u8, kind: Kind, now: u64, s: &mut S) {
        if kind == Kind::Pause {
            self.counters.pause_frames += 1;
        } else {
            self.counters.resume_frames += 1;
        }
        if let Some(reference) = &mut self.reference_random {
            reference.pfc_frame();
        }
        let size = self.scenario.framing.pfc_frame as u16;
        // As in the reference, a frame tells how much waits the other way. Nobody acts on that.
        let seq = self.ports[port as usize].class_bytes(class);
        let packet = Packet { flow: u32::from(class), seq, size, kind, ..Packet::default() };
        self.books.make(&packet);
        let h = self.arena.alloc(packet);
        self.enqueue(port, h, &packet, now);
        self.start(port, now, s);
    }

    /// A PFC frame takes effect at a port. Returns whether it lets the port go on.
    pub(crate) fn apply_pfc(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) -> bool {
        let class = packet.flow as u8;
        let pause = packet.kind == Kind::Pause;
        let p = &mut self.ports[port as usize];
        let was = p.paused & (1 << class) != 0;
        let record = self.pauses[port as usize].get_or_insert_default();
        if pause {
            p.paused |= 1 << class;
            record.pauses[usize::from(class)] += 1;
            if !was {
                record.since[usize::from(class)] = now;
            }
        } else {
            p.paused &= !(1 << class);
            record.resumes[usize::from(class)] += 1;
            if was {
                record.time[usize::from(class)] += now - record.since[usize::from(class)];
            }
        }
        if self.scenario.records.pfc_log {
            let node = self.ports[port as usize].node;
            let number = (port - self.first[node as usize]) as u16;
            self.news.pfc.push(PfcEvent { now, node, port: number, class, pause });
        }
        self.books.receive(packet.kind, packet.size);
        self.arena.release(h);
        !pause
    }

    /// A packet is lost.
    pub(crate) fn note_dropped(&mut self, packet: &Packet) {
        self.counters.data_dropped += u64::from(packet.kind == Kind::Data);
        self.books.drop(packet);
    }

    /// A packet has no room at a switch.
    pub(crate) fn drop_packet(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) {
        self.counters.drops_buffer += 1;
        self.note_dropped(packet);
        let counts = &mut self.port_counts[port as usize];
        counts.drops_buffer += 1;
        counts.drops_control += u64::from(packet.kind != Kind::Data);
        if self.messages.is_some() && packet.flags & UNSCHEDULED != 0 {
            self.counters.drops_unscheduled += 1;
            counts.drops_unscheduled += 1;
        }
        self.note_packet(port, h, now, PacketEvent::DroppedBuffer);
        self.note_loss(h);
        // What selective dropping may take was sent to be lost.
        let may_be_lost = packet.flags & self.rules.selective_mask != 0;
        if self.buffers.lossless() && packet.class != CONTROL && !may_be_lost {
            self.counters.lossless_drops += 1;
            if self.first_drop.as_ref().is_none_or(|(at, place, _)| (now, u64::from(port)) < (*at, *place)) {
                let node = self.ports[port as usize].node;
                let ingress = self.first[node as usize] + u32::from(packet.in_port);
                let why = format!(
                    "class {} lost a packet of {} B at {:#} in switch {node}, from port {} to port {}: {}",
                    packet.class,
                    packet.size,
                    Time(now),
                    packet.in_port,
                    port - self.first[node as usize],
                    self.buffers.explain(node, ingress, packet.class)
                );
                self.first_drop = Some((now, u64::from(port), why));
            }
        }
        self.arena.release(h);
    }

    /// A packet arrives at the switch whose egress port is `port`. Exact order.
    #[inline(always)]
    pub(crate) fn switch_arrival<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) {
        if !self.passes(port, h, now, s) {
            self.arrive_at_switch(port, h, now, s);
        }
    }

    /// The same, whatever the packet and the port: at once where thresholds are near, as then few packets pass.
    #[inline(never)]
    pub(crate) fn arrive_at_switch<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) {
        let packet = self.arena[h];
        if packet.kind.is_pfc() {
            if self.apply_pfc(port, h, &packet, now) {
                self.start(port, now, s);
            }
            return;
        }
        if self.special.is_some() && self.special_arrival(port, h, now, s) {
            return;
        }
        if packet.flags & self.rules.selective_mask != 0 && self.refuses(port, &packet) {
            self.drop_packet(port, h, &packet, now);
            return;
        }
        let node = self.ports[port as usize].node;
        if self.buffers.choose(node) {
            if let Some(feedback) = self.sample_congestion(port, h, &packet, now) {
                self.notify(port, &packet, feedback, now, s);
            }
            let p = &self.ports[port as usize];
            if p.is_quiet() && s.idle(port, p.free, now) {
                self.pass_through(port, h, packet.class, now, s);
                return;
            }
            self.buffers.local(node).add(packet.in_port, packet.class, packet.size);
            self.enqueue(port, h, &packet, now);
            self.start(port, now, s);
            return;
        }
        let place = self.place(node, &packet);
        let p = &self.ports[port as usize];
        let passes = p.is_quiet() && s.idle(port, p.free, now) && self.buffers.lets_through(place);
        let mut feedback = None;
        if passes {
            feedback = self.sample_congestion(port, h, &packet, now);
            if feedback.is_none() {
                self.pass_through(port, h, packet.class, now, s);
                return;
            }
        }
        let p = &self.ports[port as usize];
        match self.buffers.admit(place, p.class_bytes(packet.class), p.total) {
            Admit::Drop => {
                self.drop_packet(port, h, &packet, now);
                return;
            }
            Admit::Keep => {}
            Admit::KeepAndPause => self.send_pfc(place.ingress, packet.class, Kind::Pause, now, s),
        }
        if !passes {
            feedback = self.sample_congestion(port, h, &packet, now);
        }
        if let Some(feedback) = feedback {
            self.notify(port, &packet, feedback, now, s);
        }
        self.enqueue(port, h, &packet, now);
        self.start(port, now, s);
    }

    /// The usual arrival at a switch: the port is quiet, and nothing need be known of the others. True when the packet has passed; if not,
    /// nothing has been done.
    #[inline(always)]
    fn passes<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) -> bool {
        let p = &mut self.ports[port as usize];
        let packet = &self.arena[h];
        let is_usual =
            p.is_quiet() && p.watched == 0 && !packet.kind.is_pfc() && packet.flags & self.rules.selective_mask == 0;
        if !is_usual
            || !s.idle(port, p.free, now)
            || self.special.is_some()
            || self.congestion.is_some()
            || !self.buffers.choose(p.node)
        {
            return false;
        }
        p.pass(packet.class);
        let wires = (&self.rules, &self.wires[..], &self.long_paths);
        let (free, inbox, arrival) = transmit(p, &mut self.arena, h, true, now, wires);
        s.started(port, free, h, inbox, arrival);
        true
    }

    /// Whether a port drops an unscheduled packet although there is room.
    pub(crate) fn refuses(&self, port: u32, packet: &Packet) -> bool {
        let p = &self.ports[port as usize];
        self.rules
            .selective
            .is_some_and(|s| !s.admits(p.total, p.class_bytes(packet.class), u32::from(packet.size), true))
    }
}

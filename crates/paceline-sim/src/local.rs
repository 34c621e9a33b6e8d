//! One window of one egress port of a switch in which nothing can touch another port. The hot path of large runs: the
//! port's state stays in registers, and a packet that finds the transmitter idle passes without being queued. The
//! results are those of the exact order (`Net::switch_arrival`, `Net::depart`), port by port.

use paceline_proto::telemetry::{IntHop, IntUnits, MAX_HOPS};
use paceline_proto::units::Time;

use crate::clock::Wire;
use crate::flow::SLOT_MASK;
use crate::net::{LongPaths, Net, Schedule};
use crate::packet::{CE, Handle, INT, Kind, Packet};
use crate::port::{NO_ECN, Port};
use crate::record::bin;
use crate::scenario::BufferModel;

impl Net {
    /// Runs the port: `arrivals` as (time, handle) in order, all before `end`; departures before `end`.
    pub(crate) fn run_local<S: Schedule>(
        &mut self,
        port: u32,
        arrivals: impl Iterator<Item = (u64, Handle)>,
        end: u64,
        s: &mut S,
    ) {
        // Without pauses in force, losses or limits there is nothing to look up per packet.
        let p = &self.ports[port as usize];
        let lossless = self.buffers.lossless();
        let limit = if !lossless && self.scenario.switch.model == BufferModel::PerPort {
            self.scenario.switch.buffer.0
        } else {
            u64::MAX
        };
        let k_min = if p.ecn == NO_ECN { u32::MAX } else { self.ecn[usize::from(p.ecn)].k_min };
        for (now, h) in arrivals {
            let p = &mut self.ports[port as usize];
            if p.free <= now && p.waiting | p.paused == 0 && !p.lossy {
                let (packets, int) = self.arena.split();
                let packet = &mut packets[h as usize];
                if !packet.kind.is_pfc() {
                    // In and out in the same instant: the buffer never holds it.
                    p.pass(packet.class);
                    let sent = send(p, packet, now, &self.wires, &self.long_paths, self.int_units);
                    if let Some((hop, record)) = sent.stamp {
                        int[h as usize][hop] = record;
                    }
                    s.started(port, p.free, h, sent.inbox, p.free + p.delay);
                    continue;
                }
            }
            while self.ports[port as usize].free <= now && self.depart_local(port, k_min, s) {}
            let packet = self.arena[h];
            if packet.kind.is_pfc() {
                if self.apply_pfc(port, h, &packet, now) {
                    let p = &mut self.ports[port as usize];
                    p.free = p.free.max(now);
                }
                continue;
            }
            let p = &mut self.ports[port as usize];
            if p.free <= now {
                if p.waiting & !(p.paused & !1) == 0 && p.paused & (1 << packet.class) == 0 {
                    // Nothing waits, or what waits is paused; this one is not and goes now.
                    p.free = now;
                }
            }
            if u64::from(p.total) + u64::from(packet.size) > limit {
                self.drop_packet(port, h, &packet, now);
                continue;
            }
            self.note_local(port, packet.class, now);
            let place = self.place(self.port_node[port as usize], &packet);
            self.buffers.add_local(place);
            self.ports[port as usize].push(&mut self.arena, h, packet.class, packet.size);
        }
        while self.ports[port as usize].free < end && self.depart_local(port, k_min, s) {}
        let p = &self.ports[port as usize];
        if p.waiting & !(p.paused & !1) != 0 {
            s.waiting(port, p.free);
        }
    }

    /// A departure at the instant the transmitter is free. False when nothing may go.
    #[inline(always)]
    fn depart_local<S: Schedule>(&mut self, port: u32, k_min: u32, s: &mut S) -> bool {
        let p = &mut self.ports[port as usize];
        if p.waiting == 0 {
            return false;
        }
        let now = p.free;
        let Some(class) = p.pick() else { return false };
        self.note_local(port, class, now);
        let p = &mut self.ports[port as usize];
        let (h, packet) = p.pop(&self.arena, class);
        if !packet.kind.is_pfc() {
            let behind = if self.ecn_per_port { p.total } else { p.class_bytes(class) };
            if behind > k_min {
                self.mark_local(port, h, behind);
            }
            let place = self.place(self.port_node[port as usize], &packet);
            self.buffers.remove_local(place);
        }
        self.send_local(port, h, now, s);
        true
    }

    #[inline(always)]
    fn note_local(&mut self, port: u32, class: u8, now: u64) {
        if self.class_slots == 0 || class == 0 {
            return;
        }
        let slot = usize::from(self.class_slot[usize::from(class)]);
        let since = &mut self.queue_since[port as usize * self.class_slots + slot];
        let bytes = self.ports[port as usize].class_bytes(class);
        if bytes > 0 {
            self.queue_time[self.queue_row[port as usize] as usize + slot][bin(bytes)] += now - *since;
        }
        *since = now;
    }

    #[cold]
    fn mark_local(&mut self, port: u32, h: Handle, behind: u32) {
        let p = &self.ports[port as usize];
        if self.ecn[usize::from(p.ecn)].marks(behind, self.draws.ecn, port, p.tx_packets) {
            self.arena[h].flags |= CE;
            self.counters.marks += 1;
            self.port_counts[port as usize].marks += 1;
        }
    }

    /// [`Net::launch`], without a draw where the wire loses nothing.
    #[inline(always)]
    fn send_local<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) {
        let p = &mut self.ports[port as usize];
        if p.lossy {
            self.launch(port, h, true, now, s);
            return;
        }
        let (packets, int) = self.arena.split();
        let sent = send(p, &mut packets[h as usize], now, &self.wires, &self.long_paths, self.int_units);
        if let Some((hop, record)) = sent.stamp {
            int[h as usize][hop] = record;
        }
        s.started(port, p.free, h, sent.inbox, p.free + p.delay);
    }
}

/// What a transmission leaves to be done.
struct Sent {
    inbox: u32,
    /// Hop and telemetry record to write into the packet.
    stamp: Option<(usize, IntHop)>,
}

/// Puts a packet on the wire of a switch port at `now`: counts it, moves it on by one hop and stamps it.
#[inline(always)]
fn send(p: &mut Port, packet: &mut Packet, now: u64, wires: &[Wire], long_paths: &LongPaths, units: IntUnits) -> Sent {
    let size = packet.size;
    let tx_before = p.tx_bytes;
    p.tx_bytes += u64::from(size);
    p.tx_packets += 1;
    p.free = now + p.wire_ps(size, wires);
    packet.in_port = p.peer_port;
    let hop = usize::from(packet.hop);
    let control = packet.kind != Kind::Data;
    let to = if p.peer_is_host || packet.kind.is_pfc() {
        p.peer_port
    } else {
        packet.hop += 1;
        match packet.out.get(hop) {
            Some(port) => *port,
            None => long_paths[(packet.flow & SLOT_MASK) as usize][usize::from(control)][hop],
        }
    };
    let mut stamp = None;
    if control {
        p.tx_control += 1;
        p.tx_control_bytes += u64::from(size);
    } else if packet.flags & INT != 0 && hop <= MAX_HOPS {
        stamp = Some((hop.wrapping_sub(1), units.pack(Time(now), tx_before, u64::from(p.total), p.rate_code)));
    }
    Sent { inbox: p.peer_base + u32::from(to), stamp }
}

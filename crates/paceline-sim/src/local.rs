//! One window of one egress port of a switch in which nothing can touch another port. The hot path of large runs: all
//! that the port needs is borrowed once, and a packet that finds the transmitter idle passes without being queued. The
//! results are those of the exact order (`Net::switch_arrival`, `Net::depart`), port by port.

use paceline_proto::rng::{hash3, unit};
use paceline_proto::telemetry::{IntHop, IntUnits, MAX_HOPS};
use paceline_proto::units::Time;

use crate::clock::Wire;
use crate::failures::Failures;
use crate::net::{EcnPoint, LongPaths, Net, Schedule, long_hop};
use crate::packet::{CE, Handle, INT, Kind, NONE, Packet};
use crate::pint::Pint;
use crate::port::{NO_ECN, Port};
use crate::record::{BINS, bin};
use crate::scenario::BufferModel;
use crate::switch::LocalAccount;

/// What a port needs for one window.
struct Local<'a> {
    port: u32,
    p: &'a mut Port,
    packets: &'a mut [Packet],
    int: &'a mut [[IntHop; MAX_HOPS]],
    account: LocalAccount<'a>,
    /// Histograms of the port's classes; empty when not kept.
    rows: &'a mut [[u64; BINS]],
    class_slot: [u8; 8],
    wires: &'a [Wire],
    long_paths: &'a LongPaths,
    units: IntUnits,
    /// Marking point; its `k_min` apart, out of reach where there is none.
    ecn: Option<EcnPoint>,
    k_min: u32,
    ecn_per_port: bool,
    ecn_key: u64,
    pint: Option<&'a mut Pint>,
    failures: Option<&'a mut Failures>,
    /// Loss probability of the wire, and the key of its draws.
    loss: f64,
    loss_key: u64,
    /// Bytes that may wait.
    limit: u64,
    marks: u64,
    /// Packets lost on the wire or, at the port given, because a link was down.
    lost: Vec<(Handle, Option<u32>)>,
}

/// An arrival the port cannot handle alone.
enum Exception {
    /// A PFC frame takes effect.
    Pfc,
    /// No room.
    Drop,
}

impl Net {
    /// Runs the port: `arrivals` as (time, handle) in order, all before `end`; departures before `end`.
    pub(crate) fn run_local<S: Schedule>(
        &mut self,
        port: u32,
        mut arrivals: impl Iterator<Item = (u64, Handle)>,
        end: u64,
        s: &mut S,
    ) {
        loop {
            let mut local = self.local(port);
            let exception = local.run(&mut arrivals, end, s);
            let (marks, lost) = (local.marks, std::mem::take(&mut local.lost));
            self.counters.marks += marks;
            self.port_counts[port as usize].marks += marks;
            for (h, link_down) in lost {
                match link_down {
                    Some(at) => self.lose_to_failure(at, h),
                    None => self.lose(port, h),
                }
            }
            let Some((now, h, exception)) = exception else { break };
            let packet = self.arena[h];
            match exception {
                Exception::Drop => self.drop_packet(port, h, &packet, now),
                Exception::Pfc => {
                    if self.apply_pfc(port, h, &packet, now) {
                        let p = &mut self.ports[port as usize];
                        p.free = p.free.max(now);
                    }
                }
            }
        }
        let p = &self.ports[port as usize];
        if p.waiting & !(p.paused & !1) != 0 {
            s.waiting(port, p.free);
        }
    }

    #[inline(always)]
    fn local(&mut self, port: u32) -> Local<'_> {
        let i = port as usize;
        let (packets, int) = self.arena.split();
        let p = &mut self.ports[i];
        let limit = if !self.buffers.lossless() && self.scenario.switch.model == BufferModel::PerPort {
            self.scenario.switch.buffer.0
        } else {
            u64::MAX
        };
        let ecn = if p.ecn == NO_ECN { None } else { Some(self.ecn[usize::from(p.ecn)]) };
        let rows = if self.class_slots == 0 {
            &mut [][..]
        } else {
            let first = self.queue_row[i] as usize;
            &mut self.queue_time[first..first + self.class_slots]
        };
        Local {
            port,
            loss: if p.watched { self.error_rate[i] } else { 0.0 },
            p,
            packets,
            int,
            account: self.buffers.local(self.port_node[i]),
            rows,
            class_slot: self.class_slot,
            wires: &self.wires,
            long_paths: &self.long_paths,
            units: self.int_units,
            k_min: ecn.map_or(u32::MAX, |e| e.k_min),
            ecn,
            ecn_per_port: self.ecn_per_port,
            ecn_key: self.draws.ecn,
            pint: self.pint.as_deref_mut(),
            failures: self.failures.as_deref_mut(),
            loss_key: self.draws.loss,
            limit,
            marks: 0,
            lost: Vec::new(),
        }
    }
}

impl Local<'_> {
    /// Until the window ends, or something comes that concerns more than this port.
    #[inline(always)]
    fn run<S: Schedule>(
        &mut self,
        arrivals: &mut impl Iterator<Item = (u64, Handle)>,
        end: u64,
        s: &mut S,
    ) -> Option<(u64, Handle, Exception)> {
        for (now, h) in arrivals {
            while self.p.free <= now && self.depart(s) {}
            let packet = &self.packets[h as usize];
            if packet.kind.is_pfc() {
                return Some((now, h, Exception::Pfc));
            }
            let (class, size, in_port) = (packet.class, packet.size, packet.in_port);
            if self.p.free <= now && self.p.paused & (1 << class) == 0 {
                if self.p.waiting == 0 {
                    // In and out in the same instant: the buffer never holds it.
                    self.p.pass(class);
                    self.send(h, now, s);
                    continue;
                }
                // What waits is paused; this one is not and goes now.
                self.p.free = now;
            }
            if u64::from(self.p.total) + u64::from(size) > self.limit {
                return Some((now, h, Exception::Drop));
            }
            self.note(class, now);
            self.account.add(in_port, class, size);
            self.p.push(self.packets, h, class, size);
        }
        while self.p.free < end && self.depart(s) {}
        None
    }

    /// A departure at the instant the transmitter is free. False when nothing may go.
    #[inline(always)]
    fn depart<S: Schedule>(&mut self, s: &mut S) -> bool {
        if self.p.waiting == 0 {
            return false;
        }
        let now = self.p.free;
        let Some(class) = self.p.pick() else { return false };
        self.note(class, now);
        let h = self.p.pop(self.packets, class);
        let packet = &self.packets[h as usize];
        if !packet.kind.is_pfc() {
            self.account.remove(packet.in_port, class, packet.size);
            let behind = if self.ecn_per_port { self.p.total } else { self.p.class_bytes(class) };
            if behind > self.k_min {
                self.mark(h, behind);
            }
        }
        self.send(h, now, s);
        true
    }

    /// The queue of a class changes at `now`.
    #[inline(always)]
    fn note(&mut self, class: u8, now: u64) {
        let (bytes, since) = self.p.level_since(class, now);
        if bytes > 0
            && class != 0
            && let Some(row) = self.rows.get_mut(usize::from(self.class_slot[usize::from(class & 7)]))
        {
            row[bin(bytes)] += now - since;
        }
    }

    #[cold]
    fn mark(&mut self, h: Handle, behind: u32) {
        let packet = &mut self.packets[h as usize];
        if self.ecn.is_some_and(|e| e.marks(behind, self.ecn_key, self.port, self.p.tx_packets))
            && packet.kind == Kind::Data
        {
            packet.flags |= CE;
            self.marks += 1;
        }
    }

    /// Puts a packet on the wire at `now`: counts it, moves it on by one hop and stamps it.
    #[inline(always)]
    fn send<S: Schedule>(&mut self, h: Handle, now: u64, s: &mut S) {
        let p = &mut *self.p;
        let packet = &mut self.packets[h as usize];
        let size = packet.size;
        let tx_before = p.tx_bytes;
        p.tx_bytes += u64::from(size);
        p.tx_packets += 1;
        p.free = now + p.wire_ps(size, self.wires);
        packet.in_port = p.peer_port;
        let hop = usize::from(packet.hop);
        let control = packet.kind != Kind::Data;
        let to = if p.peer_is_host || packet.kind.is_pfc() {
            p.peer_port
        } else {
            packet.hop += 1;
            match packet.out.get(hop) {
                Some(port) => *port,
                None => long_hop(self.long_paths, packet, hop),
            }
        };
        if control {
            p.tx_control += 1;
            p.tx_control_bytes += u64::from(size);
        } else if packet.flags & INT != 0 && hop <= MAX_HOPS {
            let record = self.units.pack(Time(now), tx_before, u64::from(p.total), p.rate_code);
            self.int[h as usize][hop.wrapping_sub(1)] = record;
        }
        let mut to = (h, p.peer_base + u32::from(to));
        if p.watched {
            to = self.watch(h, to.1, now);
        }
        s.started(self.port, self.p.free, to.0, to.1, self.p.free + self.p.delay);
    }

    /// As `Net::watch`.
    #[cold]
    fn watch(&mut self, h: Handle, inbox: u32, now: u64) -> (Handle, u32) {
        if self.wire_loses(h, now) {
            self.lost.push((h, None));
            return (NONE, inbox);
        }
        let Some(failures) = &mut self.failures else { return (h, inbox) };
        let packet = &mut self.packets[h as usize];
        packet.hop = packet.hop.min(u8::MAX - 1);
        match failures.forward(self.port, h, packet, now, self.p.free + self.p.delay) {
            Ok(inbox) => (h, inbox),
            Err(at) => {
                if at == self.port && failures.is_down(at, now) {
                    self.p.unsend(packet.size, packet.kind != Kind::Data);
                }
                self.lost.push((h, Some(at)));
                (NONE, inbox)
            }
        }
    }

    /// Measures the load where PINT asks for it. Returns whether the wire loses this packet.
    fn wire_loses(&mut self, h: Handle, now: u64) -> bool {
        let packet = &self.packets[h as usize];
        if let Some(pint) = &mut self.pint {
            pint.measure(self.port, self.p, packet, &mut self.int[h as usize], now, None);
        }
        self.loss > 0.0
            && !packet.kind.is_pfc()
            && unit(hash3(self.loss_key, u64::from(self.port), self.p.tx_packets)) < self.loss
    }
}

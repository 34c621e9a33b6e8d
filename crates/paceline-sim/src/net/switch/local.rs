//! One window of one egress port of a switch in which nothing can touch another port. The hot path of large runs: all
//! that the port needs is borrowed once, and a packet that finds the transmitter idle passes without being queued. The
//! results are those of the exact order (`Net::switch_arrival`, `Net::depart`), port by port.

use paceline_proto::rng::{hash3, unit};
use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::units::Time;

use crate::clock::Wire;
use crate::net::failures::Failures;
use crate::net::port::{NO_ECN, Port, WATCHED};
use crate::net::rules::Rules;
use crate::net::switch::buffers::LocalAccount;
use crate::net::switch::levels::Rows;
use crate::net::switch::pint::Pint;
use crate::net::switch::special::Special;
use crate::net::trace::Trace;
use crate::net::{Arrivals, Draws, EcnPoint, Lane, LongPaths, Net, REACTING, long_hop};
use crate::packet::{CE, Handle, INT, Kind, Packet, Words};
use crate::record::{PacketEvent, PacketRecord};

/// What stays as it is during a window.
pub(super) struct Fixed<'a> {
    pub(super) port: u32,
    pub(super) rules: &'a Rules,
    draws: &'a Draws,
    wires: &'a [Wire],
    long_paths: &'a LongPaths,
    /// Marking point; its `k_min` apart, out of reach where there is none.
    ecn: Option<&'a EcnPoint>,
    k_min: u32,
    /// Loss probability of the wire.
    loss: f64,
}

impl Fixed<'_> {
    /// Where the histogram of a class is among those of the port.
    #[inline(always)]
    pub(super) fn slot(&self, class: u8) -> u8 {
        self.rules.class_slot[usize::from(class & 7)]
    }
}

/// What few packets meet.
pub(super) struct Rare<'a> {
    pint: Option<&'a mut Pint>,
    failures: Option<&'a mut Failures>,
    trace: Option<&'a Trace>,
    /// What was recorded of packets.
    records: &'a mut Vec<PacketRecord>,
    marks: u64,
    /// Packets lost on the wire or, at the port given, because a link was down.
    lost: Vec<(Handle, Option<u32>)>,
}

/// Where packets and their telemetry are, and the switch's memory. Apart from the port, so that the compiler knows that
/// nothing written here changes the port.
pub(super) struct Store<'a> {
    pub(super) packets: &'a mut [Packet],
    pub(super) int: &'a mut [Words],
    pub(super) account: LocalAccount<'a>,
    /// Histograms of the port's classes; empty when not kept.
    pub(super) rows: Rows<'a>,
}

/// An arrival the port cannot handle alone.
enum Exception {
    /// A PFC frame takes effect.
    Pfc,
    /// No room.
    Drop,
}

impl Net {
    /// Runs the port: `arrivals` in order, all before `end`; departures before `end`.
    pub(crate) fn run_local<L: Lane>(&mut self, port: u32, mut arrivals: Arrivals<'_>, end: u64, lane: &mut L) {
        if self.special.is_some() {
            self.run_special(port, arrivals, end, lane);
            return;
        }
        while let Some((now, h, exception)) =
            self.with_port(port, |fixed, p, store, rare, _| run(fixed, p, store, rare, &mut arrivals, end, lane))
        {
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
            lane.waiting(port, p.free);
        }
    }

    /// Does something with all that a port needs borrowed once, and the rules of special ports beside it.
    #[inline(always)]
    pub(super) fn with_port<T>(
        &mut self,
        port: u32,
        work: impl FnOnce(&Fixed<'_>, &mut Port, &mut Store<'_>, &mut Rare<'_>, Option<&mut Special>) -> T,
    ) -> T {
        let i = port as usize;
        let (packets, int) = self.arena.split();
        let p = &mut self.ports[i];
        let ecn = if p.ecn == NO_ECN { None } else { self.ecn.get(usize::from(p.ecn)) };
        let fixed = Fixed {
            port,
            rules: &self.rules,
            draws: &self.draws,
            wires: &self.wires,
            long_paths: &self.long_paths,
            k_min: ecn.map_or(u32::MAX, |e| e.k_min),
            ecn,
            loss: if p.watched & WATCHED != 0 { self.error_rate[i] } else { 0.0 },
        };
        let rows = self.levels.of(port);
        let mut store = Store { packets, int, account: self.buffers.local(p.node), rows };
        let mut rare = Rare {
            pint: self.pint.as_deref_mut(),
            failures: self.failures.as_deref_mut(),
            trace: self.trace.as_deref(),
            records: &mut self.news.packets,
            marks: 0,
            lost: Vec::new(),
        };
        let done = work(&fixed, p, &mut store, &mut rare, self.special.as_deref_mut());
        let Rare { marks, lost, .. } = rare;
        if marks != 0 {
            self.counters.marks += marks;
            self.port_counts[i].marks += marks;
        }
        if !lost.is_empty() {
            self.forget_lost(port, lost);
        }
        done
    }

    /// Takes leave of packets that were lost behind a port, or because the link at the port given was down.
    #[cold]
    #[inline(never)]
    fn forget_lost(&mut self, port: u32, lost: Vec<(Handle, Option<u32>)>) {
        for (h, link_down) in lost {
            match link_down {
                Some(at) => self.lose_to_failure(at, h),
                None => self.lose(port, h),
            }
        }
    }
}

/// Until the window ends, or something comes that concerns more than this port.
#[inline(always)]
fn run<L: Lane>(
    fixed: &Fixed<'_>,
    p: &mut Port,
    store: &mut Store<'_>,
    rare: &mut Rare<'_>,
    arrivals: &mut Arrivals<'_>,
    end: u64,
    lane: &mut L,
) -> Option<(u64, Handle, Exception)> {
    // Of its own, so that it stays in registers.
    let mut rest = arrivals.clone();
    while let Some((now, h)) = rest.next() {
        if p.free <= now && p.is_quiet() {
            let packet = &mut store.packets[h as usize];
            if !packet.kind.is_pfc() {
                pass(fixed, p, packet, store.int, rare, h, now, lane);
                continue;
            }
        }
        while p.free <= now && p.waiting != 0 && depart(fixed, p, store, rare, lane) {}
        let packet = &mut store.packets[h as usize];
        if packet.kind.is_pfc() {
            *arrivals = rest;
            return Some((now, h, Exception::Pfc));
        }
        if p.free <= now && (p.paused == 0 || p.paused & (1 << packet.class) == 0) {
            if p.waiting == 0 {
                pass(fixed, p, packet, store.int, rare, h, now, lane);
                continue;
            }
            // What waits is paused; this one is not and goes now.
            p.free = now;
        }
        let (class, size, in_port, flags) = (packet.class, packet.size, packet.in_port, packet.flags);
        let refused = flags & fixed.rules.selective_mask != 0 && refuses(fixed, p, class, size);
        if u64::from(p.total) + u64::from(size) > fixed.rules.port_limit || refused {
            *arrivals = rest;
            return Some((now, h, Exception::Drop));
        }
        store.rows.grows(p, class, fixed.slot(class), now);
        store.account.add(in_port, class, size);
        p.push(store.packets, h, class, size);
    }
    while p.free < end && p.waiting != 0 && depart(fixed, p, store, rare, lane) {}
    None
}

/// As `Net::refuses`.
#[cold]
#[inline(never)]
fn refuses(fixed: &Fixed<'_>, p: &Port, class: u8, size: u16) -> bool {
    fixed.rules.selective.is_some_and(|s| !s.admits(p.total, p.class_bytes(class), u32::from(size), true))
}

/// A departure at the instant the transmitter is free. False when nothing may go.
#[inline(always)]
fn depart<L: Lane>(fixed: &Fixed<'_>, p: &mut Port, store: &mut Store<'_>, rare: &mut Rare<'_>, lane: &mut L) -> bool {
    let now = p.free;
    let Some(class) = p.pick() else { return false };
    store.rows.shrinks(p, class, fixed.slot(class), now);
    let h = p.pop(store.packets, class);
    let packet = &mut store.packets[h as usize];
    if !packet.kind.is_pfc() {
        store.account.remove(packet.in_port, class, packet.size);
        let behind = if fixed.rules.ecn_per_port { p.total } else { p.class_bytes(class) };
        if behind > fixed.k_min {
            mark(fixed, p, packet, rare, behind, store.int.get(h as usize));
        }
    }
    let direct = p.peer_is_host || packet.kind.is_pfc();
    send(fixed, p, packet, store.int, rare, h, now, direct, p.total, lane);
    true
}

#[cold]
#[inline(never)]
fn mark(fixed: &Fixed<'_>, p: &Port, packet: &mut Packet, rare: &mut Rare<'_>, behind: u32, words: Option<&Words>) {
    if fixed.ecn.is_some_and(|e| e.marks(behind, fixed.draws.ecn, fixed.port, p.tx_packets))
        && fixed.rules.takes_mark(packet, words)
    {
        packet.flags |= CE;
        rare.marks += 1;
    }
}

/// A packet goes in and out in the same instant: the buffer never holds it.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "apart, so that the compiler knows what cannot change what")]
pub(super) fn pass<L: Lane>(
    fixed: &Fixed<'_>,
    p: &mut Port,
    packet: &mut Packet,
    int: &mut [Words],
    rare: &mut Rare<'_>,
    h: Handle,
    now: u64,
    lane: &mut L,
) {
    p.pass(packet.class);
    let direct = p.peer_is_host;
    send(fixed, p, packet, int, rare, h, now, direct, 0, lane);
}

/// Puts a packet on the wire at `now`: counts it, moves it on by one hop and stamps it. `direct`: it ends at the peer.
/// `behind`: bytes that wait.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "apart, so that the compiler knows what cannot change what")]
pub(super) fn send<L: Lane>(
    fixed: &Fixed<'_>,
    p: &mut Port,
    packet: &mut Packet,
    int: &mut [Words],
    rare: &mut Rare<'_>,
    h: Handle,
    now: u64,
    direct: bool,
    behind: u32,
    lane: &mut L,
) {
    let size = packet.size;
    let tx_before = p.tx_bytes;
    p.tx_bytes += u64::from(size);
    p.tx_packets += 1;
    p.free = now + p.wire_ps(size, fixed.wires);
    packet.in_port = p.peer_port;
    let hop = usize::from(packet.hop);
    let control = packet.kind != Kind::Data;
    let to = if direct {
        p.peer_port
    } else {
        packet.hop += 1;
        match packet.out.get(hop) {
            Some(port) => *port,
            None => long_hop(fixed.long_paths, packet, hop),
        }
    };
    if control {
        p.tx_control += 1;
        p.tx_control_bytes += u64::from(size);
    } else if packet.flags & INT != 0 && hop <= MAX_HOPS {
        int[h as usize].0[hop & 7] = fixed.rules.int_units.pack(Time(now), tx_before, u64::from(behind), p.rate_code);
    }
    let (inbox, arrival) = (p.peer_base + u32::from(to), p.free + p.delay);
    if p.watched != 0 {
        if let Some(pint) = &mut rare.pint {
            pint.measure(fixed.port, p, packet, &mut int[h as usize].0, now);
        }
        if p.watched & WATCHED != 0 {
            let words = int.get(h as usize);
            let Some((inbox, arrival)) = watch(fixed, p, packet, words, rare, (h, inbox), (now, arrival)) else {
                return;
            };
            lane.put(inbox, arrival, h);
            return;
        }
    }
    lane.put(inbox, arrival, h);
}

/// As `Net::watch`: where and when the packet arrives, unless nothing is left of it here.
#[cold]
#[inline(never)]
fn watch(
    fixed: &Fixed<'_>,
    p: &mut Port,
    packet: &mut Packet,
    words: Option<&Words>,
    rare: &mut Rare<'_>,
    (h, inbox): (Handle, u32),
    (now, mut arrival): (u64, u64),
) -> Option<(u32, u64)> {
    if fixed.rules.pfc_reaction != 0 && packet.kind.is_pfc() {
        arrival += fixed.rules.pfc_reaction;
        packet.in_port |= REACTING;
    }
    let record = rare.trace.and_then(|trace| trace.record(fixed.port, p, packet, words, now, PacketEvent::Sent));
    let sent = cross(fixed, p, packet, rare, (h, inbox), (now, arrival));
    rare.records.extend(record.map(|record| match sent {
        Ok(_) => PacketRecord { arrival, ..record },
        Err(event) => PacketRecord { event, ..record },
    }));
    sent.ok().map(|inbox| (inbox, arrival))
}

/// As `Net::cross`.
fn cross(
    fixed: &Fixed<'_>,
    p: &mut Port,
    packet: &mut Packet,
    rare: &mut Rare<'_>,
    (h, mut inbox): (Handle, u32),
    (now, arrival): (u64, u64),
) -> Result<u32, PacketEvent> {
    if fixed.loss > 0.0
        && !packet.kind.is_pfc()
        && unit(hash3(fixed.draws.loss, u64::from(fixed.port), p.tx_packets)) < fixed.loss
    {
        rare.lost.push((h, None));
        return Err(PacketEvent::DroppedWire);
    }
    if let Some(failures) = &mut rare.failures {
        packet.hop = packet.hop.min(u8::MAX - 1);
        match failures.forward(fixed.port, h, packet, now, arrival) {
            Ok(next) => inbox = next,
            Err(at) => {
                if at == fixed.port && failures.is_down(at, now) {
                    p.unsend(packet.size, packet.kind != Kind::Data);
                }
                rare.lost.push((h, Some(at)));
                return Err(PacketEvent::DroppedLinkDown);
            }
        }
    }
    Ok(inbox)
}

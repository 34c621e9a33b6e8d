//! Switch ports with rules of their own: those that trim (NDP), shape credits (ExpressPass) or have RED. A port needs no
//! other port of its switch, so a window is run port by port. Packets that a port lets through or keeps go through a loop
//! ([`run`], by [`PortRules`]) there; for all others, and event by event, a port takes general steps (`Net::special_arrival`,
//! `Net::special_depart`). Both do the same; tests compare the engines.

pub(crate) mod credits;
pub(crate) mod red;
pub(crate) mod trimming;

use crate::net::port::Port;
use crate::net::switch::local::{Fixed, Rare, Store, pass, send};
use crate::net::{Arrivals, Lane, Net, Schedule};
use crate::packet::{Handle, Packet, UNSCHEDULED};
use crate::scenario::{Scenario, Transport};
use credits::Credits;
use red::RedPorts;
use trimming::Trimming;

/// The rules of a run's switch ports, where they are special.
pub(crate) enum Special {
    /// NDP's.
    Trimming(Trimming),
    /// ExpressPass's.
    Credits(Credits),
    /// RED before the rules of ordinary ports.
    Red(RedPorts),
}

impl Special {
    /// The ports of a scenario. `key`: of their random draws.
    pub(crate) fn new(scenario: &Scenario, key: u64) -> Result<Option<Box<Self>>, crate::InputError> {
        if let Some(settings) = scenario.switch.trimming {
            return Ok(Some(Box::new(Special::Trimming(Trimming::new(scenario, settings, key)?))));
        }
        if let Some(red) = &scenario.switch.red {
            return Ok(Some(Box::new(Special::Red(RedPorts::new(scenario, red, key)))));
        }
        let credits = scenario.schemes.iter().find_map(|s| match &s.transport {
            Transport::ExpressPass { params, shaper } => Some((params.framing, *shaper)),
            _ => None,
        });
        let Some((framing, shaper)) = credits else { return Ok(None) };
        Ok(Some(Box::new(Special::Credits(Credits::new(scenario, &framing, shaper)?))))
    }
}

/// A lane that need not be told what waits: the port is looked at until its window ends.
struct Quiet<'a, L>(&'a mut L);

impl<L: Lane> Schedule for Quiet<'_, L> {
    #[inline(always)]
    fn idle(&self, port: u32, free: u64, now: u64) -> bool {
        self.0.idle(port, free, now)
    }

    #[inline(always)]
    fn started(&mut self, port: u32, free: u64, handle: Handle, inbox: u32, arrival: u64) {
        self.0.started(port, free, handle, inbox, arrival);
    }

    fn waiting(&mut self, _port: u32, _free: u64) {}

    fn turned(&mut self, handle: Handle, in_port: u16, inbox: u32, arrival: u64) {
        self.0.turned(handle, in_port, inbox, arrival);
    }
}

/// What a port with rules of its own decides, about packets that concern nothing else.
trait PortRules {
    /// Whether a packet that finds the port idle and empty goes at once, at `now`: it is then counted as sent.
    fn passes(&mut self, fixed: &Fixed<'_>, packet: &Packet, now: u64) -> bool;

    /// The class in which a packet waits, that finds the port sending (`busy`) or not; None where more is to be decided.
    fn keeps(&self, fixed: &Fixed<'_>, p: &Port, packet: &Packet, busy: bool) -> Option<u8>;

    /// When the port starts its next packet if nothing arrives before.
    fn next_at(&self, p: &Port, packets: &[Packet]) -> Option<u64>;

    /// The class of that packet, which is going to be sent at `now`; something waits.
    fn next_class(&mut self, p: &Port, packets: &[Packet], now: u64) -> Option<u8>;

    /// A packet has been taken from its queue to be sent at `now`.
    fn sent(&mut self, class: u8, size: u16, now: u64);
}

/// Until the window ends, or a packet arrives that is not simply let through or kept.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "apart, so that the compiler knows what cannot change what")]
fn run<R: PortRules, L: Lane>(
    fixed: &Fixed<'_>,
    p: &mut Port,
    store: &mut Store<'_>,
    rare: &mut Rare<'_>,
    rules: &mut R,
    arrivals: &mut Arrivals<'_>,
    end: u64,
    lane: &mut L,
) -> Option<(u64, Handle)> {
    let mut rest = arrivals.clone();
    while let Some((now, h)) = rest.next() {
        departures(fixed, p, store, rare, rules, now + 1, lane);
        let idle = p.free <= now;
        let packet = &mut store.packets[h as usize];
        if idle && p.waiting == 0 && rules.passes(fixed, packet, now) {
            pass(fixed, p, packet, store.int, rare, h, now, lane);
            continue;
        }
        let Some(class) = rules.keeps(fixed, p, packet, !idle) else {
            *arrivals = rest;
            return Some((now, h));
        };
        packet.class = class;
        let (in_port, size) = (trimming::ingress(packet.in_port), packet.size);
        store.account.add(in_port, class, size);
        store.rows.grows(p, class, fixed.slot(class), now);
        p.push(store.packets, h, class, size);
        if idle {
            // Nothing goes before what has come now.
            p.free = p.free.max(now);
            departures(fixed, p, store, rare, rules, now + 1, lane);
        }
    }
    *arrivals = rest;
    departures(fixed, p, store, rare, rules, end, lane);
    None
}

/// All departures before `end`.
#[inline(always)]
fn departures<R: PortRules, L: Lane>(
    fixed: &Fixed<'_>,
    p: &mut Port,
    store: &mut Store<'_>,
    rare: &mut Rare<'_>,
    rules: &mut R,
    end: u64,
    lane: &mut L,
) {
    while p.waiting != 0
        && let Some(now) = rules.next_at(p, store.packets)
        && now < end
        && let Some(class) = rules.next_class(p, store.packets, now)
    {
        store.rows.shrinks(p, class, fixed.slot(class), now);
        let h = p.pop(store.packets, class);
        let packet = &mut store.packets[h as usize];
        rules.sent(class, packet.size, now);
        store.account.remove(trimming::ingress(packet.in_port), class, packet.size);
        let (direct, behind) = (p.peer_is_host, p.total);
        send(fixed, p, packet, store.int, rare, h, now, direct, behind, lane);
    }
}

impl Net {
    /// One window of a port: `arrivals` as (time, handle) in order, all before `end`; departures before `end`.
    pub(crate) fn run_special<L: Lane>(&mut self, port: u32, mut arrivals: Arrivals<'_>, end: u64, lane: &mut L) {
        if matches!(self.special.as_deref(), Some(Special::Red(_))) {
            self.run_red(port, arrivals, end, lane);
            return;
        }
        while let Some((now, h)) = self.with_port(port, |fixed, p, store, rare, special| match special {
            Some(Special::Trimming(t)) => run(fixed, p, store, rare, &mut t.at(port), &mut arrivals, end, lane),
            Some(Special::Credits(c)) => run(fixed, p, store, rare, &mut c.at(port), &mut arrivals, end, lane),
            _ => None,
        }) {
            self.special_arrival(port, h, now, &mut Quiet(lane));
        }
        if let Some((at, _)) = self.next_special(port, 0) {
            lane.waiting(port, at);
        }
    }

    /// When the port starts its next packet, at `from` at the earliest, if nothing arrives before, and of which class; a port that
    /// trims decides that only then.
    #[inline]
    fn next_special(&self, port: u32, from: u64) -> Option<(u64, Option<u8>)> {
        let p = &self.ports[port as usize];
        if p.waiting == 0 {
            return None;
        }
        let free = p.free.max(from);
        match self.special.as_deref() {
            Some(Special::Credits(c)) => {
                c.next(port, p, self.arena.packets(), free).map(|(at, class)| (at, Some(class)))
            }
            _ => Some((free, None)),
        }
    }

    /// The port starts its next packet, if one may go. False where ordinary rules decide.
    pub(crate) fn special_depart<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) -> bool {
        if let Some(Special::Red(red)) = self.special.as_deref_mut() {
            if let Some(class) = self.ports[port as usize].pick() {
                red.leaves(port, class, now);
            }
            return false;
        }
        self.special_start(port, now, s);
        true
    }

    fn special_start<S: Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        let Some((at, class)) = self.next_special(port, now) else { return };
        if at > now {
            s.waiting(port, at);
            return;
        }
        self.special_send(port, class, now, s);
    }

    /// The port sends its next packet at `now`, of the class that has been decided, if it has.
    fn special_send<S: Schedule>(&mut self, port: u32, class: Option<u8>, now: u64, s: &mut S) {
        let p = &self.ports[port as usize];
        let class = match self.special.as_deref_mut() {
            Some(Special::Trimming(t)) => t.pick(port, p),
            _ => class,
        };
        let Some(class) = class else { return };
        if self.rules.is_recorded(class) {
            self.note_queue(port, class, now);
        }
        let h = self.ports[port as usize].pop(self.arena.split().0, class);
        let packet = self.arena[h];
        match self.special.as_deref_mut() {
            Some(Special::Credits(c)) => c.sent(port, class, packet.size, now),
            Some(Special::Trimming(t)) => t.sends(port, class, packet.size),
            _ => {}
        }
        let in_port = trimming::ingress(packet.in_port);
        self.buffers.local(self.ports[port as usize].node).remove(in_port, class, packet.size);
        self.launch(port, h, true, now, s);
        let p = &self.ports[port as usize];
        if p.waiting != 0 {
            // Also where only a credit waits that may go later: what arrives until then goes before it.
            s.waiting(port, p.free);
        }
    }

    /// A packet arrives for the port. False where ordinary rules decide what becomes of it.
    pub(crate) fn special_arrival<S: Schedule>(&mut self, port: u32, h: Handle, now: u64, s: &mut S) -> bool {
        if matches!(self.special.as_deref(), Some(Special::Red(_))) {
            let refused = self.red_refuses(port, h, now);
            if refused {
                let packet = self.arena[h];
                self.drop_packet(port, h, &packet, now);
            }
            return refused;
        }
        let p = &self.ports[port as usize];
        let idle = s.idle(port, p.free, now);
        let trims = matches!(self.special.as_deref(), Some(Special::Trimming(_)));
        if idle && p.waiting == 0 && (trims || self.passes_shaper(port, h, now)) {
            if let Some(Special::Trimming(t)) = self.special.as_deref_mut() {
                let packet = &self.arena[h];
                t.sends_at_once(port, packet);
            }
            self.launch(port, h, true, now, s);
            return true;
        }
        if trims {
            self.trimming_arrival(port, h, !idle, now, s);
        } else {
            self.credits_arrival(port, h, now);
        }
        let p = &mut self.ports[port as usize];
        if idle {
            // Nothing goes before what has come now.
            p.free = p.free.max(now);
            self.special_depart(port, now, s);
        } else if p.waiting != 0 {
            let free = p.free;
            s.waiting(port, free);
        }
        true
    }

    /// Into a queue.
    fn keep(&mut self, port: u32, h: Handle, class: u8, now: u64) {
        self.arena[h].class = class;
        let packet = self.arena[h];
        let in_port = trimming::ingress(packet.in_port);
        self.buffers.local(self.ports[port as usize].node).add(in_port, class, packet.size);
        self.enqueue(port, h, &packet, now);
    }

    /// Whether a port has no room for a packet, by the limits of ordinary ports; `waiting`: bytes at the port that count.
    fn is_full(&self, port: u32, h: Handle, waiting: u32) -> bool {
        let packet = &self.arena[h];
        let (in_class, size) = (self.ports[port as usize].class_bytes(packet.class), u32::from(packet.size));
        let selective = self.rules.selective.filter(|_| packet.flags & self.rules.selective_mask & UNSCHEDULED != 0);
        !self.buffers.has_room(self.ports[port as usize].node, size, in_class, waiting)
            || selective.is_some_and(|s| !s.admits(waiting, in_class, size, true))
    }
}

//! Switch ports with RED on their average queues: every arrival moves the average and may be marked, or dropped, before it is
//! admitted as at ordinary ports.
//!
//! Source: the rules are those of [`paceline_proto::port::red`]. *Deviation* from the facts on converged Ethernet, section 5: a queue is idle
//! from the end of its last packet's transmission on, not from its beginning, so that an average falls for one packet's time less.
//! A packet that is marked and then finds no room counts as marked.

use paceline_proto::port::Verdict;
use paceline_proto::port::red::{Params, Red};
use paceline_proto::rng::hash3;
use paceline_proto::units::Duration;

use crate::net::port::Port;
use crate::net::{Arrivals, Lane, Net, Schedule};
use crate::packet::{CE, Handle};
use crate::scenario::{RedQueues, Scenario};

use super::{Quiet, Special};

/// RED at all ports.
pub(crate) struct RedPorts {
    params: Params,
    per_port: bool,
    /// Key of the draws.
    key: u64,
    /// By port: time of a packet on its link.
    packet_time: Vec<Duration>,
    /// By port and class; with `per_port`, class 0 stands for all.
    queues: Vec<Queue>,
}

#[derive(Clone, Copy, Default)]
struct Queue {
    red: Red,
    /// Draws so far.
    draws: u64,
    /// When the last packet left it for the link, ps: when that is over it is idle, if nothing waits.
    left: u64,
}

impl RedPorts {
    pub(super) fn new(scenario: &Scenario, red: &RedQueues, key: u64) -> Self {
        let ports = &scenario.graph.ports;
        Self {
            packet_time: ports.iter().map(|p| red.params.packet_time(p.rate)).collect(),
            queues: vec![Queue::default(); ports.len() * 8],
            params: red.params.clone(),
            per_port: red.per_port,
            key,
        }
    }

    fn place(&self, port: u32, class: u8) -> usize {
        port as usize * 8 + if self.per_port { 0 } else { usize::from(class & 7) }
    }

    fn verdict(&mut self, port: u32, p: &Port, class: u8, now: u64, ect: bool) -> Verdict {
        let place = self.place(port, class);
        let waiting = if self.per_port { p.total } else { p.class_bytes(class) };
        let Queue { red, draws, left } = &mut self.queues[place];
        // The last packet's own time on the link is not idle; all packets count as one size there (`red::Params::packet`).
        let idle = Duration(now.saturating_sub(*left + self.packet_time[port as usize].0));
        if waiting == 0 {
            *left = now;
        }
        red.on_arrival(&self.params, waiting, idle, self.packet_time[port as usize], ect, || {
            *draws += 1;
            hash3(self.key, place as u64, *draws)
        })
    }

    /// A packet of a class leaves its queue.
    pub(super) fn leaves(&mut self, port: u32, class: u8, now: u64) {
        let place = self.place(port, class);
        self.queues[place].left = now;
    }
}

impl Net {
    /// Whether RED drops an arriving packet; it may mark it instead.
    pub(super) fn red_refuses(&mut self, port: u32, h: Handle, now: u64) -> bool {
        let packet = self.arena[h];
        let ect = self.rules.takes_mark(&packet, self.arena.words(h).as_ref());
        let Some(Special::Red(red)) = self.special.as_deref_mut() else { return false };
        match red.verdict(port, &self.ports[port as usize], packet.class, now, ect) {
            Verdict::Enqueue => false,
            Verdict::Drop => true,
            Verdict::Mark => {
                self.arena[h].flags |= CE;
                self.counters.marks += 1;
                self.port_counts[port as usize].marks += 1;
                false
            }
        }
    }

    /// One window of a port of a switch in which nothing can touch another port. As `Net::switch_arrival` and `Net::depart`, with the
    /// accounts of the port alone.
    pub(super) fn run_red<L: Lane>(&mut self, port: u32, arrivals: Arrivals<'_>, end: u64, lane: &mut L) {
        let mut quiet = Quiet(lane);
        let node = self.ports[port as usize].node;
        self.buffers.local(node);
        let limit = self.rules.port_limit;
        for (now, h) in arrivals {
            self.red_departures(port, now + 1, &mut quiet);
            let packet = self.arena[h];
            if packet.kind.is_pfc() {
                if self.apply_pfc(port, h, &packet, now) {
                    let p = &mut self.ports[port as usize];
                    p.free = p.free.max(now);
                }
                continue;
            }
            let refused = self.red_refuses(port, h, now)
                || packet.flags & self.rules.selective_mask != 0 && self.refuses(port, &packet);
            let p = &mut self.ports[port as usize];
            if refused || u64::from(p.total) + u64::from(packet.size) > limit {
                self.drop_packet(port, h, &packet, now);
                continue;
            }
            if p.free <= now && (p.paused == 0 || p.paused & (1 << packet.class) == 0) {
                if p.waiting == 0 {
                    // In and out in the same instant: the buffer never holds it.
                    p.pass(packet.class);
                    self.launch(port, h, true, now, &mut quiet);
                    continue;
                }
                // What waits is paused; this one is not and goes now.
                p.free = now;
            }
            self.buffers.local(node).add(packet.in_port, packet.class, packet.size);
            self.enqueue(port, h, &packet, now);
        }
        self.red_departures(port, end, &mut quiet);
        let p = &self.ports[port as usize];
        if p.waiting & !(p.paused & !1) != 0 {
            lane.waiting(port, p.free);
        }
    }

    /// All departures before `end`.
    fn red_departures<S: Schedule>(&mut self, port: u32, end: u64, s: &mut S) {
        loop {
            let p = &self.ports[port as usize];
            if p.free >= end || p.waiting & !(p.paused & !1) == 0 {
                return;
            }
            self.depart(port, p.free, s);
        }
    }
}

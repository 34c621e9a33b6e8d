//! A window of a switch that may be near a threshold: all its ports together, in exact order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::inbox::Key;
use super::order::tie;
use super::part::Lanes;
use super::sort::{BLOCK, ByUpperHalf};
use crate::net::{Net, Schedule};
use crate::packet::Handle;

/// What arrives at a switch in a window, port by port, and room to bring it into one order.
#[derive(Debug)]
pub(super) struct Exact {
    /// Arrivals at one port after the other, each in order of time.
    arrivals: Vec<Key>,
    /// Port of each.
    ports: Vec<u32>,
    /// The ports, and where their arrivals end.
    spans: Vec<(u32, usize)>,
    /// Time within the window in the upper half, place among the arrivals in the lower.
    order: Vec<Key>,
    by_time: ByUpperHalf,
    departures: Departures,
    listed: Vec<bool>,
}

/// When ports send next, and which.
#[derive(Debug, Default)]
struct Departures(BinaryHeap<Reverse<(u64, u32)>>);

impl Departures {
    /// When the next one is.
    #[inline]
    fn next_at(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// The port that sends next. Of several at one time `rank` decides, which is asked only then.
    #[inline]
    fn pop(&mut self, rank: impl Fn(u32, u64) -> u64) -> Option<u32> {
        let Reverse((at, port)) = self.0.pop()?;
        Some(if self.next_at() == Some(at) { self.first_of_many(at, port, rank) } else { port })
    }

    #[cold]
    #[inline(never)]
    fn first_of_many(&mut self, at: u64, port: u32, rank: impl Fn(u32, u64) -> u64) -> u32 {
        let mut ports = vec![port];
        while self.next_at() == Some(at) {
            ports.extend(self.0.pop().map(|Reverse((_, port))| port));
        }
        let first = ports.iter().copied().min_by_key(|port| (rank(*port, at), *port)).unwrap_or(port);
        self.0.extend(ports.into_iter().filter(|port| *port != first).map(|port| Reverse((at, port))));
        first
    }
}

/// The schedule of one switch in exact order.
struct Merged<'a> {
    lanes: &'a mut Lanes,
    departures: &'a mut Departures,
    listed: &'a mut [bool],
    first: u32,
    end: u64,
}

impl Schedule for Merged<'_> {
    #[inline(always)]
    fn idle(&self, _port: u32, free: u64, now: u64) -> bool {
        free <= now
    }

    #[inline(always)]
    fn started(&mut self, port: u32, free: u64, handle: Handle, inbox: u32, arrival: u64) {
        self.listed[(port - self.first) as usize] = false;
        self.lanes.started(port, free, handle, inbox, arrival);
    }

    fn waiting(&mut self, port: u32, free: u64) {
        let listed = &mut self.listed[(port - self.first) as usize];
        if *listed {
            return;
        }
        *listed = true;
        if free < self.end {
            self.departures.0.push(Reverse((free, port)));
        } else {
            self.lanes.waiting(port, free);
        }
    }

    fn turned(&mut self, handle: Handle, in_port: u16, inbox: u32, arrival: u64) {
        self.lanes.turned(handle, in_port, inbox, arrival);
    }
}

impl Exact {
    /// For switches of at most that many ports and windows of this width, ps.
    pub(super) fn new(most_ports: usize, width: u64) -> Self {
        Self {
            arrivals: Vec::new(),
            ports: Vec::new(),
            spans: Vec::new(),
            order: Vec::new(),
            by_time: ByUpperHalf::new(width),
            departures: Departures::default(),
            listed: vec![false; most_ports],
        }
    }

    /// Begins with another switch or window.
    pub(super) fn clear(&mut self) {
        self.arrivals.clear();
        self.ports.clear();
        self.spans.clear();
    }

    /// Adds a port and what arrives there, in order.
    pub(super) fn add(&mut self, port: u32, arrivals: &[Key]) {
        self.arrivals.extend_from_slice(arrivals);
        self.ports.resize(self.arrivals.len(), port);
        self.spans.push((port, self.arrivals.len()));
    }

    /// How many arrivals there are.
    pub(super) fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// The ports, each with its arrivals.
    pub(super) fn by_port(&self) -> impl Iterator<Item = (u32, &[Key])> {
        let mut from = 0;
        self.spans.iter().map(move |(port, to)| (*port, &self.arrivals[std::mem::replace(&mut from, *to)..*to]))
    }

    /// Runs the switch up to `end`.
    pub(super) fn run(&mut self, net: &mut Net, lanes: &mut Lanes, node: u32, end: u64) {
        net.buffers.enter_exact(node);
        let (first, last) = (net.first[node as usize], net.first[node as usize + 1]);
        let start = lanes.start();
        self.sort(net, node, start);
        self.departures.0.clear();
        self.listed.fill(false);
        let mut merged = Merged { lanes, departures: &mut self.departures, listed: &mut self.listed, first, end };
        for port in first..last {
            let p = &net.ports[port as usize];
            if p.pick().is_some() {
                merged.waiting(port, p.free);
            }
        }
        let mut arrivals = self.order.iter();
        loop {
            let arrival = arrivals.as_slice().first().map(|next| start + (next >> 32));
            match (merged.departures.next_at(), arrival) {
                (None, None) => break,
                // Of equal times departures come first.
                (Some(at), next) if next.is_none_or(|next| at <= next) => {
                    let rank = |port: u32, at| tie(net.draws.ties, node, (port - first) as u16, at) >> 2;
                    let Some(port) = merged.departures.pop(rank) else { break };
                    if net.ports[port as usize].free <= at {
                        // A port that shapes may have to be looked at again before it sends.
                        merged.listed[(port - first) as usize] &= net.special.is_none();
                        net.depart(port, at, &mut merged);
                    }
                }
                _ => {
                    let (Some(next), Some(at)) = (arrivals.next(), arrival) else { break };
                    let place = *next as u32 as usize;
                    net.arrive_at_switch(self.ports[place], self.arrivals[place] as Handle, at, &mut merged);
                }
            }
        }
    }

    /// Brings the arrivals into one order.
    fn sort(&mut self, net: &Net, node: u32, start: u64) {
        self.order.clear();
        self.order.extend((0..).zip(&self.arrivals).map(|(place, key)| key >> 32 << 32 | place));
        self.order.resize(self.arrivals.len().next_multiple_of(BLOCK), 0);
        self.by_time.sort(&mut self.order, self.arrivals.len());
        for equal in self.order.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|equal| equal.len() > 1) {
            let at = start + (equal[0] >> 32);
            equal.sort_by_key(|next| {
                let h = self.arrivals[*next as u32 as usize] as Handle;
                tie(net.draws.ties, node, net.arena[h].in_port, at) >> 2
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Departures come in order of time, those of one instant in order of their rank: else the two engines would serve ports of a full
        /// switch in different order.
        #[test]
        fn departures_in_order(times in prop::collection::vec(0u64..6, 0..20), salt in any::<u64>()) {
            let rank = |port: u32, at: u64| paceline_proto::rng::hash3(salt, u64::from(port), at);
            let mut expected: Vec<(u64, u64, u32)> = times.iter().zip(0..).map(|(at, port)| (*at, rank(port, *at), port)).collect();
            expected.sort_unstable();
            let mut departures = Departures(times.iter().zip(0..).map(|(at, port)| Reverse((*at, port))).collect());
            let found: Vec<u32> = std::iter::from_fn(|| departures.pop(rank)).collect();
            prop_assert_eq!(found, expected.iter().map(|e| e.2).collect::<Vec<_>>());
        }
    }
}

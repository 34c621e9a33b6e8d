//! A window of a switch that may be near a threshold: all its ports together, in exact order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::inbox::Key;
use super::lanes::Lanes;
use super::order::{Rank, key, tie};
use crate::net::{Net, Schedule};
use crate::packet::{Arena, Handle};

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
    order: Vec<u64>,
    departures: BinaryHeap<Reverse<(u64, u64, u32)>>,
    listed: Vec<bool>,
}

/// The schedule of one switch in exact order.
struct Merged<'a> {
    lanes: &'a mut Lanes,
    departures: &'a mut BinaryHeap<Reverse<(u64, u64, u32)>>,
    listed: &'a mut [bool],
    first: u32,
    node: u32,
    seed: u64,
    end: u64,
}

impl Schedule for Merged<'_> {
    fn idle(&self, _port: u32, free: u64, now: u64) -> bool {
        free <= now
    }

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
            let tie = tie(self.seed, self.node, (port - self.first) as u16, free);
            self.departures.push(Reverse((free, key(Rank::Departure, tie), port)));
        } else {
            self.lanes.waiting(port, free);
        }
    }

    fn turned(&mut self, handle: Handle, in_port: u16, inbox: u32, arrival: u64) {
        self.lanes.turned(handle, in_port, inbox, arrival);
    }
}

impl Exact {
    /// For switches of at most that many ports.
    pub(super) fn new(most_ports: usize) -> Self {
        Self {
            arrivals: Vec::new(),
            ports: Vec::new(),
            spans: Vec::new(),
            order: Vec::new(),
            departures: BinaryHeap::new(),
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

    /// Bytes of what arrives between two instants.
    pub(super) fn bytes(&self, arena: &Arena, between: &Range<Key>) -> u64 {
        let size = |key: &Key| if between.contains(key) { u64::from(arena[*key as Handle].size) } else { 0 };
        self.arrivals.iter().map(size).sum()
    }

    /// The ports, each with its arrivals.
    pub(super) fn by_port(&self) -> impl Iterator<Item = (u32, &[Key])> {
        let mut from = 0;
        self.spans.iter().map(move |(port, to)| (*port, &self.arrivals[std::mem::replace(&mut from, *to)..*to]))
    }

    /// Runs the switch up to `end`, with what arrives between two instants.
    pub(super) fn run(&mut self, net: &mut Net, lanes: &mut Lanes, node: u32, between: &Range<Key>, end: u64) {
        net.buffers.enter_exact(node);
        let (first, last) = (net.first[node as usize], net.first[node as usize + 1]);
        let start = lanes.start();
        self.sort(net, node, start, between);
        self.departures.clear();
        self.listed.fill(false);
        let mut merged = Merged {
            lanes,
            departures: &mut self.departures,
            listed: &mut self.listed,
            first,
            node,
            seed: net.draws.ties,
            end,
        };
        for port in first..last {
            let p = &net.ports[port as usize];
            if p.pick().is_some() {
                merged.waiting(port, p.free);
            }
        }
        let mut arrivals = self.order.iter();
        loop {
            let arrival = arrivals.as_slice().first().map(|next| start + (next >> 32));
            let departure = merged.departures.peek().map(|Reverse((at, _, _))| *at);
            match (departure, arrival) {
                (None, None) => break,
                // Of equal times departures come first.
                (Some(at), next) if next.is_none_or(|next| at <= next) => {
                    let Some(Reverse((_, _, port))) = merged.departures.pop() else { break };
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

    /// Brings the arrivals between two instants into one order.
    fn sort(&mut self, net: &Net, node: u32, start: u64, between: &Range<Key>) {
        self.order.clear();
        let within = (0..).zip(&self.arrivals).filter(|(_, key)| between.contains(key));
        self.order.extend(within.map(|(place, key)| key >> 32 << 32 | place));
        self.order.sort_unstable();
        for equal in self.order.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|equal| equal.len() > 1) {
            let at = start + (equal[0] >> 32);
            equal.sort_by_key(|next| {
                let h = self.arrivals[*next as u32 as usize] as Handle;
                tie(net.draws.ties, node, net.arena[h].in_port, at) >> 2
            });
        }
    }
}

//! Window by window, node by node, egress port by egress port: no event list.
//!
//! A window is as long as the shortest time in which one node can affect another (lookahead). Within it nodes are
//! independent, and within a switch so are its ports as long as no threshold of the shared buffer is in reach; where one
//! is, that switch runs that window in exact order of time across its ports. The results are those of the sequential
//! engine, byte for byte.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::inbox::{Inboxes, Key};
use super::order::{Rank, key, tie};
use super::{Ending, Observer, progress, report};
use crate::error::InputError;
use crate::net::{Lane, Net, Schedule};
use crate::packet::{Handle, NONE};
use crate::scenario::{Scenario, Stop};
use crate::workload::{FlowSource, FlowSpec};

const NEVER: u64 = u64::MAX;

/// Shortest time in which one node can affect another, ps: over all links the delay and the smallest frame.
pub fn lookahead(scenario: &Scenario) -> u64 {
    let f = &scenario.framing;
    let smallest = f.min_frame.min(f.pfc_frame).min(f.ack_header) + f.wire_overhead;
    let clock = if scenario.quirks.clock_1ns { crate::clock::Clock::TruncatedNs } else { crate::clock::Clock::Exact };
    scenario.graph.ports.iter().map(|p| p.delay.0 + clock.serialisation_ps(smallest, p.rate.0)).min().unwrap_or(0)
}

/// The engine's own schedule: where started packets go.
struct Lanes {
    inboxes: Inboxes,
}

impl Schedule for Lanes {
    #[inline(always)]
    fn idle(&self, _port: u32, free: u64, now: u64) -> bool {
        free <= now
    }

    #[inline(always)]
    fn started(&mut self, _port: u32, _free: u64, handle: Handle, inbox: u32, arrival: u64) {
        if handle != NONE {
            self.inboxes.push(inbox, arrival, handle);
        }
    }

    #[inline(always)]
    fn waiting(&mut self, port: u32, free: u64) {
        // A transmitter busy for longer than the ring is looked at again at the ring's end.
        if !self.inboxes.wake(port, free) {
            let last = self.inboxes.start() + (self.inboxes.slots() - 1) * self.inboxes.width();
            self.inboxes.wake(port, last);
        }
    }
}

impl Lane for Lanes {
    #[inline(always)]
    fn put(&mut self, inbox: u32, arrival: u64, handle: Handle) {
        self.inboxes.push(inbox, arrival, handle);
    }
}

/// The schedule of one switch in exact order.
struct Exact<'a> {
    lanes: &'a mut Lanes,
    departures: &'a mut BinaryHeap<Reverse<(u64, u64, u32)>>,
    listed: &'a mut [bool],
    first: u32,
    node: u32,
    seed: u64,
    end: u64,
}

impl Schedule for Exact<'_> {
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
}

/// The engine.
pub struct Windowed {
    net: Net,
    lanes: Lanes,
    width: u64,
    source: Box<dyn FlowSource>,
    next_flow: Option<FlowSpec>,
    next_id: u64,
    /// Flows starting in the present window, by NIC.
    starts: Vec<Vec<(u64, FlowSpec, u16)>>,
    /// (time, port) of wake-ups beyond the ring.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    keys: Vec<Key>,
    merged: Vec<(u64, u64, u32, Handle)>,
    departures: BinaryHeap<Reverse<(u64, u64, u32)>>,
    listed: Vec<bool>,
    windows: u64,
    exact_windows: u64,
}

impl Windowed {
    /// An engine for a scenario and its flows. The scenario must have a lookahead above 0 and no quirk of order.
    pub fn new(scenario: Arc<Scenario>, mut source: Box<dyn FlowSource>) -> Result<Self, InputError> {
        let width = lookahead(&scenario);
        if width == 0 || width > u64::from(u32::MAX) {
            return Err(InputError::new("the windowed engine needs a lookahead")
                .field("run.engine")
                .value("windowed")
                .allowed("links whose delay and smallest frame take 1 ps to 4 ms; or engine = \"sequential\""));
        }
        if scenario.quirks.insertion_order || scenario.quirks.nic_round_robin || scenario.quirks.reference_random {
            return Err(InputError::new("the windowed engine cannot follow the reference's event order")
                .field("run.engine")
                .value("windowed")
                .allowed(
                    "quirks insertion_order, nic_round_robin and reference_random off; or engine = \"sequential\"",
                ));
        }
        if let Some(rto) = scenario.host.rto.filter(|rto| rto.initial.0 < width) {
            // A timer that is set and runs out in one window would be seen too late.
            return Err(InputError::new("the windowed engine needs a timeout no shorter than the lookahead")
                .field("host.rto")
                .value(rto.initial)
                .allowed(format!("at least {}; or engine = \"sequential\"", paceline_proto::units::Duration(width))));
        }
        let mut net = Net::new(scenario)?;
        let largest = |p: &crate::port::Port| net.wires[usize::from(p.wire)].longest() + p.delay;
        let span = net.ports.iter().map(largest).max().unwrap_or(0) + width;
        if span / width > 4096 {
            return Err(InputError::new("link delays too unequal for the windowed engine")
                .field("run.engine")
                .value(format!("longest {span} ps, shortest {width} ps"))
                .allowed("a ratio of at most 4096; or engine = \"sequential\""));
        }
        for node in 0..net.graph.nodes() as u32 {
            let ports = net.graph.ports_of(node);
            let per_port = |p: &crate::graph::PortInfo| {
                (u128::from(p.rate.0) * u128::from(width) / 8_000_000_000_000) as u64 + u64::from(u16::MAX)
            };
            let burst = ports.iter().map(per_port).sum();
            net.buffers.set_burst(node, burst);
        }
        let most_ports = (0..net.graph.nodes() as u32).map(|n| net.graph.ports_of(n).len()).max().unwrap_or(0);
        Ok(Self {
            lanes: Lanes { inboxes: Inboxes::new(width, span, net.ports.len()) },
            width,
            next_flow: source.next_flow(),
            source,
            next_id: 0,
            starts: vec![Vec::new(); net.nics.len()],
            far: BinaryHeap::new(),
            keys: Vec::new(),
            merged: Vec::new(),
            departures: BinaryHeap::new(),
            listed: vec![false; most_ports],
            windows: 0,
            exact_windows: 0,
            net,
        })
    }

    /// The network as it stands.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The network as it stands, for records.
    pub fn net_mut(&mut self) -> &mut Net {
        &mut self.net
    }

    /// Runs to the end.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(Ending, u64), InputError> {
        let stop = match self.net.scenario.stop {
            Stop::Completed => NEVER,
            Stop::At(t) => t.0,
        };
        let stall = self.net.scenario.stall.0;
        let (mut last_progress, mut progress_at) = (0, 0);
        let mut now = 0;
        let mut window = self.next_window();
        while let Some(w) = window {
            let start = w * self.width;
            if start >= stop {
                report(&mut self.net, observer);
                return Ok((Ending::Stopped, stop));
            }
            self.net.sample_until(start);
            self.lanes.inboxes.enter(w);
            let end = (start + self.width).min(stop);
            self.run_window(end)?;
            now = end;
            self.windows += 1;
            if self.windows.is_multiple_of(64) {
                report(&mut self.net, observer);
                if !observer.progress(&progress(&self.net, now)) {
                    return Ok((Ending::Interrupted, now));
                }
            }
            if self.net.progress != last_progress || self.net.counters.active() == 0 {
                (last_progress, progress_at) = (self.net.progress, now);
            } else if crate::diagnosis::is_stuck(&self.net, progress_at, now, stall) {
                report(&mut self.net, observer);
                return Ok((Ending::Stalled(self.net.diagnose(now)), now));
            }
            if self.next_flow.is_none() && self.net.counters.active() == 0 && self.net.arena.live() == 0 {
                break;
            }
            window = self.next_window();
            // What is due in the rest of a window cut short would have it run again and again.
            if end == stop && window.is_some() {
                report(&mut self.net, observer);
                return Ok((Ending::Stopped, stop));
            }
        }
        report(&mut self.net, observer);
        if self.net.counters.active() > 0 {
            return Ok((Ending::Stalled(self.net.diagnose(now)), now));
        }
        Ok((Ending::Completed, now))
    }

    /// Windows run, and among the visits of switches those that needed exact order.
    pub fn windows(&self) -> (u64, u64) {
        (self.windows, self.exact_windows)
    }

    /// The next window in which anything happens.
    fn next_window(&self) -> Option<u64> {
        let flow = self.next_flow.map(|f| f.start.0 / self.width);
        let far = self.far.peek().map(|Reverse((at, _))| at / self.width);
        [self.lanes.inboxes.next_active(), flow, far].into_iter().flatten().min()
    }

    fn run_window(&mut self, end: u64) -> Result<(), InputError> {
        while let Some(Reverse((at, port))) = self.far.peek().copied() {
            if at >= end {
                break;
            }
            self.far.pop();
            self.lanes.inboxes.wake(port, at);
        }
        while let Some(spec) = self.next_flow.filter(|f| f.start.0 < end) {
            // A host with several NICs: the one the flow will use is known only when it starts, by its id.
            let port = self.net.nic_port(&spec, self.next_id);
            let sport = self.net.take_sport(&spec);
            self.starts[self.net.nic_of_port[port as usize] as usize].push((self.next_id, spec, sport));
            self.lanes.inboxes.wake(port, spec.start.0);
            self.next_id += 1;
            self.next_flow = self.source.next_flow();
        }
        for word in 0..self.lanes.inboxes.words() {
            let mut bits = self.lanes.inboxes.take_word(word);
            while bits != 0 {
                let port = (word as u32) << 6 | bits.trailing_zeros();
                bits &= bits - 1;
                let nic = self.net.nic_of_port[port as usize];
                if nic != NONE {
                    self.run_nic(nic, port, end)?;
                    continue;
                }
                let node = self.net.port_node[port as usize];
                if self.net.buffers.window_is_local(node) {
                    self.run_local(port, end);
                } else {
                    self.run_exact(node, port, word, &mut bits, end);
                }
            }
        }
        self.lanes.inboxes.leave();
        Ok(())
    }

    /// Arrivals of the present window at a port, in order, into `self.keys`.
    #[inline]
    fn sort_arrivals(&mut self, port: u32) {
        self.lanes.inboxes.drain(port, &mut self.keys);
        let keys = &mut self.keys[..];
        keys.sort_unstable();
        // Runs of equal times are rare: only they pay for the fair order.
        let tied = keys.windows(2).fold(0, |tied, k| tied | u64::from((k[0] ^ k[1]) >> 32 == 0));
        if tied != 0 {
            self.order_ties(port);
        }
    }

    /// Puts arrivals of the same instant into their fair order.
    #[cold]
    #[inline(never)]
    fn order_ties(&mut self, port: u32) {
        let keys = &mut self.keys[..];
        let mut i = 1;
        while i < keys.len() {
            if keys[i] >> 32 != keys[i - 1] >> 32 {
                i += 1;
                continue;
            }
            let from = i - 1;
            while i < keys.len() && keys[i] >> 32 == keys[from] >> 32 {
                i += 1;
            }
            self.net.counters.ties += (i - from - 1) as u64;
            let (net, now) = (&self.net, self.lanes.inboxes.start() + (keys[from] >> 32));
            let node = net.port_node[port as usize];
            keys[from..i].sort_by_key(|k| tie(net.draws.ties, node, net.arena[*k as u32].in_port, now) >> 2);
        }
    }

    /// A switch port whose window is local.
    #[inline]
    fn run_local(&mut self, port: u32, end: u64) {
        self.sort_arrivals(port);
        let start = self.lanes.inboxes.start();
        let keys = std::mem::take(&mut self.keys);
        // Only the last window of a run that is stopped can end before some of its arrivals.
        let within =
            if end - start < self.width { keys.partition_point(|k| start + (k >> 32) < end) } else { keys.len() };
        let arrivals = keys[..within].iter().map(|k| (start + (k >> 32), *k as Handle));
        self.net.run_local(port, arrivals, end, &mut self.lanes);
        self.net.counters.events += keys.len() as u64;
        self.keys = keys;
    }

    /// A switch in exact order: all its ports together. `bits` are the active ports left in `word`; those of this switch
    /// are taken out, here and in the words that follow.
    fn run_exact(&mut self, node: u32, port: u32, word: usize, bits: &mut u64, end: u64) {
        self.exact_windows += 1;
        self.net.buffers.enter_exact(node);
        let first = self.net.first[node as usize];
        let last = self.net.first[node as usize + 1];
        let start = self.lanes.inboxes.start();
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        self.departures.clear();
        self.listed.fill(false);
        let mut active = vec![port];
        while *bits != 0 {
            let next = (word as u32) << 6 | bits.trailing_zeros();
            if next >= last {
                break;
            }
            *bits &= *bits - 1;
            active.push(next);
        }
        for later in word + 1..(last as usize).div_ceil(64) {
            let mut more = self.lanes.inboxes.take_word(later);
            while more != 0 {
                let next = (later as u32) << 6 | more.trailing_zeros();
                if next >= last {
                    self.lanes.inboxes.put_back(later, more);
                    break;
                }
                more &= more - 1;
                active.push(next);
            }
        }
        for port in active {
            self.sort_arrivals(port);
            for k in &self.keys {
                let (at, h) = (start + (k >> 32), *k as Handle);
                if at < end {
                    let tie = tie(self.net.draws.ties, node, self.net.arena[h].in_port, at);
                    merged.push((at, key(Rank::Arrival, tie), port, h));
                }
            }
        }
        merged.sort_unstable();
        let mut exact = Exact {
            lanes: &mut self.lanes,
            departures: &mut self.departures,
            listed: &mut self.listed,
            first,
            node,
            seed: self.net.draws.ties,
            end,
        };
        for port in first..last {
            let p = &self.net.ports[port as usize];
            if p.pick().is_some() {
                exact.waiting(port, p.free);
            }
        }
        let mut arrivals = merged.iter().peekable();
        loop {
            let departure = exact.departures.peek().map(|Reverse((at, key, _))| (*at, *key));
            let arrival = arrivals.peek().map(|(at, key, _, _)| (*at, *key));
            match (departure, arrival) {
                (None, None) => break,
                (Some(d), a) if a.is_none_or(|a| d < a) => {
                    let Some(Reverse((at, _, port))) = exact.departures.pop() else { break };
                    if self.net.ports[port as usize].free <= at {
                        self.net.depart(port, at, &mut exact);
                    }
                }
                _ => {
                    let Some(&(at, _, port, h)) = arrivals.next() else { break };
                    self.net.switch_arrival(port, h, at, &mut exact);
                }
            }
        }
        self.net.counters.events += merged.len() as u64;
        self.merged = merged;
    }

    /// A NIC: arrivals, timers and flow starts in order, and what it sends in between.
    fn run_nic(&mut self, nic: u32, port: u32, end: u64) -> Result<(), InputError> {
        // They come over one wire, one after the other.
        self.lanes.inboxes.drain(port, &mut self.keys);
        let start = self.lanes.inboxes.start();
        let keys = std::mem::take(&mut self.keys);
        let mut starts = std::mem::take(&mut self.starts[nic as usize]);
        let mut flows = starts.drain(..).peekable();
        let (mut next, mut arrival) = (0, keys.first().map_or(NEVER, |k| start + (k >> 32)));
        loop {
            let flow = flows.peek().map_or(NEVER, |f| f.1.start.0);
            let timer = self.net.nics[nic as usize].timer_at;
            let now = arrival.min(flow).min(timer);
            if now >= end {
                let wake = self.net.nic_advance(nic, end, false, &mut self.lanes);
                if self.net.nics[nic as usize].timer_at < end {
                    continue;
                }
                self.wake_nic(nic, port, wake);
                break;
            }
            self.net.nic_advance(nic, now, true, &mut self.lanes);
            if arrival == now {
                self.net.host_arrival(nic, keys[next] as Handle, now, &mut self.lanes);
                next += 1;
                arrival = keys.get(next).map_or(NEVER, |k| start + (k >> 32));
            } else if self.net.nics[nic as usize].timer_at == now {
                self.net.nic_timeouts(nic, now);
            } else if flow == now
                && let Some((id, spec, sport)) = flows.next()
            {
                let slot = self.net.start_flow(id, spec, sport)?;
                self.net.begin_at(nic, now);
                self.net.add_to_nic(slot);
            }
        }
        drop(flows);
        self.net.counters.events += keys.len() as u64;
        self.starts[nic as usize] = starts;
        self.keys = keys;
        Ok(())
    }

    /// Has a NIC looked at again for its next departure and its timer.
    fn wake_nic(&mut self, nic: u32, port: u32, wake: u64) {
        if wake != NEVER && !self.lanes.inboxes.wake(port, wake) && self.net.nics[nic as usize].wake_at != wake {
            self.net.nics[nic as usize].wake_at = wake;
            self.far.push(Reverse((wake, port)));
        }
        let timer = self.net.nics[nic as usize].timer_at;
        if timer != NEVER && self.net.nics[nic as usize].timer_listed != timer {
            self.net.nics[nic as usize].timer_listed = timer;
            self.far.push(Reverse((timer, port)));
        }
    }
}

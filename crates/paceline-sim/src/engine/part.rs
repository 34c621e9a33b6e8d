//! A part of the network, window by window: the nodes one thread looks after.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use super::ahead::Ahead;
use super::close::{Close, Near};
use super::exact::Exact;
use super::inbox::{Inboxes, Key};
use super::lanes::{Lanes, Start};
use super::order::tie;
use super::ports::{Ports, border, inner, ports};
use super::sort::ByUpperHalf;
use super::steps::{Step, side_by_side};
use crate::error::InputError;
use crate::lookahead::Windows;
use crate::net::{Arrivals, Net, Schedule};
use crate::packet::NONE;
use crate::workload::FlowSpec;

const NEVER: u64 = u64::MAX;

/// A flow that starts in the present window: its id, what it is, its source port.
type Begin = (u64, FlowSpec, u16);

/// A part: all of the network when there is one thread.
pub(super) struct Part {
    pub(super) net: Net,
    pub(super) lanes: Lanes,
    /// Its nodes that are too close together for windows.
    pub(super) close: Option<Box<Close>>,
    /// The ports of these.
    close_ports: Ports,
    /// By part: its ports at which packets from here arrive. Empty when there is one.
    pub(super) across: Box<[Ports]>,
    /// By side: its ports whose nodes no other part sends to. Empty when there is one part, or one side.
    inner: Box<[Ports]>,
    /// Its nodes in the order in which both sides may be run together (`side_by_side`).
    steps: Box<[Step]>,
    /// Flows to start, in order.
    pub(super) pending: VecDeque<Start>,
    /// Flows starting in the present window, by NIC.
    starts: Vec<Vec<Begin>>,
    /// (time, port) of wake-ups of NICs beyond the ring.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    pub(super) keys: Vec<Key>,
    by_time: ByUpperHalf,
    /// Keys from this one on come after the end of a window that is cut short; they stay in the inboxes.
    beyond: Key,
    /// Arrivals at the ports of one switch.
    gathered: Exact,
    pub(super) exact_windows: u64,
    /// Packets sent to other parts.
    pub(super) crossed: u64,
}

impl Part {
    /// A part that looks after the nodes `net` says are its own. `span`: longest time from the start of a window to an
    /// arrival caused in it, ps.
    pub(super) fn new(net: Net, windows: &Windows, span: u64) -> Self {
        let most_ports = (0..net.graph.nodes() as u32).map(|n| net.graph.ports_of(n).len()).max().unwrap_or(0);
        let is_close = (0..).zip(&windows.close).map(|(node, close)| *close && net.share.elsewhere(node).is_none());
        let is_close: Vec<bool> = is_close.collect();
        let close_ports = ports(&net, |node| is_close.get(node as usize).is_some_and(|close| *close));
        let across: Box<[Ports]> = (0..net.notes.len()).map(|part| border(&net, part as u8)).collect();
        let inner = if across.is_empty() { Box::default() } else { inner(&net, &windows.sides) };
        let side_of = net.ports.iter().filter_map(|p| windows.sides.get(p.node as usize).copied()).collect();
        Self {
            lanes: Lanes { inboxes: Inboxes::new(windows.width, span, net.ports.len(), side_of) },
            close: (!windows.close.is_empty()).then(|| Box::new(Close::new(&net, &is_close))),
            close_ports,
            across,
            inner,
            steps: side_by_side(&net, &windows.sides),
            pending: VecDeque::new(),
            starts: vec![Vec::new(); net.nics.len()],
            far: BinaryHeap::new(),
            keys: Vec::new(),
            by_time: ByUpperHalf::new(windows.length()),
            beyond: Key::MAX,
            gathered: Exact::new(most_ports),
            exact_windows: 0,
            crossed: 0,
            net,
        }
    }

    /// The next window of each side in which anything happens here. Hosts are on the first.
    pub(super) fn next_windows(&mut self) -> Ahead {
        self.list_calls(0);
        let flow = self.pending.front().map(|f| f.spec.start.0);
        let far = self.far.peek().map(|Reverse((at, _))| *at);
        let close = self.close.as_ref().and_then(|c| c.next_at());
        let inboxes = &self.lanes.inboxes;
        let mut ahead = inboxes.next_active();
        if let Some(at) = [flow, far, close].into_iter().flatten().min() {
            ahead.add(0, inboxes.window_of(0, at), at);
        }
        ahead
    }

    /// The window of a side that an instant falls into.
    pub(super) fn window_of(&self, side: usize, at: u64) -> u64 {
        self.lanes.inboxes.window_of(side, at)
    }

    /// The side that a window is run for.
    pub(super) fn side(&self, window: u64) -> usize {
        self.lanes.inboxes.side(window)
    }

    /// When links change next.
    pub(super) fn next_link_change(&self) -> u64 {
        self.net.next_link_change()
    }

    /// Takes the samples due up to `now`, before which everything has happened. Returns when all nodes must be together next, for a
    /// sample or a change of links.
    pub(super) fn sample_until(&mut self, now: u64) -> u64 {
        self.net.sample_until(now);
        self.net.next_link_change().min(self.net.series.next)
    }

    /// Links change, now that everything before has happened. Returns when.
    #[cold]
    pub(super) fn change_links(&mut self) -> u64 {
        let at = self.net.next_link_change();
        self.lanes.inboxes.enter(self.window_of(0, at));
        let Some(close) = &mut self.close else {
            for port in self.net.change_links(&mut self.lanes) {
                self.lanes.waiting(port, at);
            }
            return at;
        };
        for port in self.net.change_links(&mut Near { close, lanes: &mut self.lanes }) {
            if close.has(port) {
                close.look_again(&mut self.net, &mut self.lanes, port, at);
            } else {
                self.lanes.waiting(port, at);
            }
        }
        self.bring_to_close_nodes();
        at
    }

    /// Runs window `w`, or what is left of it, as far as it lies before `limit`.
    pub(super) fn run_window(&mut self, w: u64, limit: u64) -> Result<(), InputError> {
        self.lanes.inboxes.enter(w);
        let start = self.lanes.inboxes.start();
        let end = self.lanes.inboxes.end_of(w).min(limit);
        let cut = end < self.lanes.inboxes.end_of(w);
        self.beyond = if cut { (end - start) << 32 } else { Key::MAX };
        if self.lanes.inboxes.side(w) == 0 {
            self.begin_flows(end);
        }
        if let Some(close) = &mut self.close {
            close.run(&mut self.net, &mut self.lanes, end)?;
            self.far.extend(close.take_calls().map(Reverse));
        }
        if self.lanes.inboxes.side(w) == 0 && self.lanes.inboxes.end_of(w + 1) <= limit {
            self.run_side_by_side(w)?;
        }
        self.run_active(end)?;
        self.bring_to_close_nodes();
        self.lanes.inboxes.leave(cut);
        Ok(())
    }

    /// Whether whole windows can be run in two goes, first what needs nothing of the last window of other parts.
    pub(super) fn has_inner(&self) -> bool {
        !self.inner.is_empty()
    }

    /// Begins the whole window `w` with the nodes that no other part sends to.
    pub(super) fn run_inner(&mut self, w: u64) -> Result<(), InputError> {
        self.lanes.inboxes.enter(w);
        let (end, side) = (self.lanes.inboxes.end_of(w), self.lanes.inboxes.side(w));
        self.beyond = Key::MAX;
        if side == 0 {
            self.begin_flows(end);
        }
        let inner = std::mem::take(&mut self.inner);
        for (word, mask) in &inner[side] {
            let bits = self.lanes.inboxes.take_some(*word, *mask);
            self.run_ports(*word, bits, end)?;
        }
        self.inner = inner;
        Ok(())
    }

    /// Runs what is left of a window that [`run_inner`](Self::run_inner) has begun.
    pub(super) fn run_rest(&mut self, w: u64) -> Result<(), InputError> {
        self.run_active(self.lanes.inboxes.end_of(w))?;
        self.lanes.inboxes.leave(false);
        Ok(())
    }

    /// Runs all ports that are still active in the present window, which ends at `end`.
    #[inline(always)]
    fn run_active(&mut self, end: u64) -> Result<(), InputError> {
        for word in 0..self.lanes.inboxes.words() {
            let bits = self.lanes.inboxes.take_word(word);
            self.run_ports(word, bits, end)?;
        }
        Ok(())
    }

    /// Runs the first side's window `w` step by step, and with each what can be of the other side's next one, neither cut short: what
    /// nodes send one another is looked at while it is near.
    fn run_side_by_side(&mut self, w: u64) -> Result<(), InputError> {
        let steps = std::mem::take(&mut self.steps);
        for step in &steps {
            for (window, ports) in (w..).zip(step) {
                self.lanes.inboxes.enter(window);
                let end = self.lanes.inboxes.end_of(window);
                for (word, mask) in ports {
                    let bits = self.lanes.inboxes.take_some(*word, *mask);
                    self.run_ports(*word, bits, end)?;
                }
            }
        }
        self.steps = steps;
        self.lanes.inboxes.enter(w);
        Ok(())
    }

    /// Runs ports that are active in the present window: `bits` of a word of it.
    #[inline(always)]
    fn run_ports(&mut self, word: usize, mut bits: u64, end: u64) -> Result<(), InputError> {
        // The last switch found to have a local window: that holds for all its ports, which come one after the other.
        let mut local = NONE;
        while bits != 0 {
            let port = (word as u32) << 6 | bits.trailing_zeros();
            bits &= bits - 1;
            if bits != 0 {
                self.lanes.inboxes.fetch((word << 6) + bits.trailing_zeros() as usize);
            }
            let nic = self.net.ports[port as usize].nic;
            if nic != NONE {
                self.run_nic(nic, port, end)?;
                continue;
            }
            let node = self.net.ports[port as usize].node;
            if node != local && !self.net.buffers.window_is_local(node) {
                self.run_together(node, port, word, &mut bits, end);
                continue;
            }
            local = node;
            self.run_local(port, end);
        }
        Ok(())
    }

    /// Tells NICs of the flows that start before `end`, and wakes those that are to look again.
    fn begin_flows(&mut self, end: u64) {
        self.list_calls(0);
        while let Some(Reverse((at, port))) = self.far.peek().copied() {
            if at >= end {
                break;
            }
            self.far.pop();
            self.lanes.inboxes.wake(port, at);
        }
        while let Some(start) = self.pending.front().copied().filter(|f| f.spec.start.0 < end) {
            self.pending.pop_front();
            let Start { id, spec, sport, port } = start;
            if let Some(close) = self.close.as_mut().filter(|close| close.has(port)) {
                close.expect(start);
                continue;
            }
            self.starts[self.net.ports[port as usize].nic as usize].push((id, spec, sport));
            self.lanes.inboxes.wake(port, spec.start.0);
        }
    }

    /// Brings the close nodes what the others have sent them in this window.
    fn bring_to_close_nodes(&mut self) {
        let Some(close) = &mut self.close else { return };
        self.lanes.inboxes.take_from(&self.close_ports, &mut self.keys, |_, start, port, keys| {
            close.deliver(&self.net.arena, port, start, keys);
        });
    }

    /// Arrivals of the present window at a port, in order, to the beginning of `self.keys`. Returns how many they are.
    #[inline]
    fn sort_arrivals(&mut self, port: u32) -> usize {
        let mut n = self.lanes.inboxes.drain(port, &mut self.keys);
        self.by_time.sort(&mut self.keys, n, |key| self.net.arena.fetch(key));
        if self.beyond != Key::MAX {
            n = self.keep_beyond(port, n);
        }
        let keys = &self.keys[..n];
        // Runs of equal times are rare: only they pay for the fair order. Equal halves less one have the top bit set.
        let next = keys.get(1..).unwrap_or_default();
        let tied = keys.iter().zip(next).fold(0, |tied, (a, b)| tied | ((a ^ b) >> 32).wrapping_sub(1));
        if tied >> 63 != 0 {
            self.order_ties(port, n);
        }
        n
    }

    /// Returns the arrivals after the end of a window cut short to the inbox. Returns how many of the `n` are left.
    #[cold]
    fn keep_beyond(&mut self, port: u32, n: usize) -> usize {
        let within = self.keys[..n].partition_point(|key| *key < self.beyond);
        for key in &self.keys[within..n] {
            self.lanes.inboxes.put_back_key(port, *key);
        }
        within
    }

    /// Puts arrivals of the same instant into their fair order.
    #[cold]
    #[inline(never)]
    fn order_ties(&mut self, port: u32, n: usize) {
        let keys = &mut self.keys[..n];
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
            let node = net.ports[port as usize].node;
            keys[from..i].sort_by_key(|k| tie(net.draws.ties, node, net.arena[*k as u32].in_port, now) >> 2);
        }
    }

    /// A switch port whose window is local.
    #[inline]
    fn run_local(&mut self, port: u32, end: u64) {
        let n = self.sort_arrivals(port);
        let start = self.lanes.inboxes.start();
        let keys = std::mem::take(&mut self.keys);
        let arrivals = Arrivals { start, keys: keys[..n].iter() };
        self.net.run_local(port, arrivals, end, &mut self.lanes);
        self.net.counters.events += n as u64;
        self.keys = keys;
    }

    /// A switch that may be near a threshold: all its ports together. `bits` are the active ports left in `word`; those of this
    /// switch are taken out, here and in the words that follow.
    #[inline(never)]
    fn run_together(&mut self, node: u32, port: u32, word: usize, bits: &mut u64, end: u64) {
        let last = self.net.first[node as usize + 1];
        self.gathered.clear();
        self.gather(port);
        while *bits != 0 {
            let next = (word as u32) << 6 | bits.trailing_zeros();
            if next >= last {
                break;
            }
            *bits &= *bits - 1;
            self.gather(next);
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
                self.gather(next);
            }
        }
        self.net.counters.events += self.gathered.len() as u64;
        let (start, middle) = (self.lanes.inboxes.start(), self.lanes.inboxes.middle());
        let half = (middle - start) << 32;
        // What does arrive is mostly far less than what could, and in half of a window it is less still.
        let in_halves = half > 0 && middle < end && self.net.buffers.is_local_with(node, 0);
        if !in_halves || self.is_local_with(node, &(0..Key::MAX)) {
            self.run_gathered(node, 0..Key::MAX, end);
            return;
        }
        self.run_gathered(node, 0..half, middle);
        // Its ports are looked at again anyway; where the window is cut short, what comes after that is also theirs.
        if self.beyond == Key::MAX {
            self.lanes.inboxes.forget(self.net.first[node as usize]..last);
        }
        self.run_gathered(node, half..Key::MAX, end);
    }

    /// Whether no threshold of a switch is in reach of what was gathered between two instants.
    fn is_local_with(&self, node: u32, between: &Range<Key>) -> bool {
        let buffers = &self.net.buffers;
        buffers.is_local_with(node, 0) && buffers.is_local_with(node, self.gathered.bytes(&self.net.arena, between))
    }

    /// Runs a switch whose arrivals have been gathered: what arrives between two instants, and what leaves up to `end`.
    fn run_gathered(&mut self, node: u32, between: Range<Key>, end: u64) {
        if !self.is_local_with(node, &between) {
            self.exact_windows += 1;
            self.gathered.run(&mut self.net, &mut self.lanes, node, &between, end);
            return;
        }
        let mut gathered = self.gathered.by_port().peekable();
        for port in self.net.first[node as usize]..self.net.first[node as usize + 1] {
            let keys = gathered.next_if(|(p, _)| *p == port).map_or(&[][..], |(_, keys)| keys);
            let [from, to] = [between.start, between.end].map(|at| keys.partition_point(|key| *key < at));
            if from < to || self.net.ports[port as usize].pick().is_some() {
                let arrivals = Arrivals { start: self.lanes.inboxes.start(), keys: keys[from..to].iter() };
                self.net.run_local(port, arrivals, end, &mut self.lanes);
            }
        }
    }

    /// Adds the arrivals at a port to those of its switch.
    fn gather(&mut self, port: u32) {
        let n = self.sort_arrivals(port);
        self.gathered.add(port, &self.keys[..n]);
    }

    /// A NIC: arrivals, timers and flow starts in order, and what it sends in between.
    fn run_nic(&mut self, nic: u32, port: u32, end: u64) -> Result<(), InputError> {
        let n = if self.net.rules.pfc_reaction == 0 {
            // They come over one wire, one after the other.
            let n = self.lanes.inboxes.drain(port, &mut self.keys);
            if self.beyond == Key::MAX { n } else { self.keep_beyond(port, n) }
        } else {
            self.sort_arrivals(port)
        };
        let all = std::mem::take(&mut self.keys);
        let keys = &all[..n];
        self.net.arena.fetch_telemetry(keys);
        let mut arrivals = Arrivals { start: self.lanes.inboxes.start(), keys: keys.iter() };
        let mut starts = std::mem::take(&mut self.starts[nic as usize]);
        let with_programs = self.net.programs.is_some();
        // Of the next flow or, where programs run, of what they are told next.
        let (mut started, mut start) = (0, starts.first().map_or(NEVER, |f| f.1.start.0));
        if with_programs {
            start = start.min(self.net.next_call(nic));
        }
        loop {
            if let Some(mut turn) = self.net.turn(nic) {
                turn.run(&mut arrivals, end.min(start.saturating_add(1)), &mut self.lanes);
            }
            let next = arrivals.clone().next();
            let arrival = next.map_or(NEVER, |(at, _)| at);
            let timer = self.net.nics[nic as usize].timer_at;
            let now = arrival.min(start).min(timer);
            if now >= end {
                let wake = self.net.nic_advance(nic, end, false, &mut self.lanes);
                if self.net.nics[nic as usize].timer_at < end {
                    continue;
                }
                self.wake_nic(nic, port, wake);
                break;
            }
            self.net.nic_advance(nic, now, true, &mut self.lanes);
            if let Some((_, h)) = next.filter(|_| arrival == now) {
                self.net.host_arrival(nic, h, now, &mut self.lanes);
                arrivals.next();
            } else if self.net.nics[nic as usize].timer_at == now {
                self.net.nic_timeouts(nic, now);
            } else if let Some((id, spec, sport)) = starts.get(started).copied().filter(|f| f.1.start.0 == now) {
                started += 1;
                start = starts.get(started).map_or(NEVER, |f| f.1.start.0);
                let slot = self.net.start_flow(id, spec, sport)?;
                self.net.begin_at(nic, now);
                self.net.add_to_nic(slot);
            } else {
                self.net.call_program(nic, now);
            }
            if with_programs {
                start = self.send_of_programs(nic, now, starts.get(started))?;
            }
        }
        if with_programs {
            self.list_calls(end);
        }
        starts.clear();
        self.net.counters.events += n as u64;
        self.starts[nic as usize] = starts;
        self.keys = all;
        Ok(())
    }

    /// Sends what programs want at a NIC. Returns when its next flow starts or a place there is told something.
    #[cold]
    #[inline(never)]
    fn send_of_programs(&mut self, nic: u32, now: u64, flow: Option<&Begin>) -> Result<u64, InputError> {
        while let Some(programs) = &mut self.net.programs
            && let Some(message) = programs.next_outgoing()
        {
            self.net.send_on_stream(message, now, &mut self.lanes)?;
        }
        Ok(flow.map_or(NEVER, |f| f.1.start.0).min(self.net.next_call(nic)))
    }

    /// Has NICs looked at when places of programs are to be told something. What was due before `done` has been told: it concerns the
    /// NIC that was run last, since others are told of by packets.
    fn list_calls(&mut self, done: u64) {
        while let Some(programs) = &mut self.net.programs
            && let Some((at, nic)) = programs.next_fresh()
        {
            let port = self.net.nics[nic as usize].port;
            match &mut self.close {
                Some(close) if close.has(port) => close.call(at, nic),
                _ if at >= done => self.far.push(Reverse((at, port))),
                _ => {}
            }
        }
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

//! A small network, event by event: hosts, switches, shaped ports. Eager where the engine is lazy, and nothing shared with it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::super::*;
use crate::port::credits::{CreditShaper, Next, ShaperParams};
use crate::port::selective_drop::SelectiveDrop;
use crate::rng::{Purpose, Stream};
use crate::transport::unscheduled::Unscheduled;
use crate::units::{BitsPerSec, NS, US};

pub const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy)]
enum Event {
    Arrive(usize, Header),
    Look(usize),
    SenderTimer(usize),
    ReceiverTimer(usize),
    Start(usize),
}

pub struct Port {
    from: usize,
    to: usize,
    ps_per_byte: u64,
    delay: u64,
    free: u64,
    shaper: CreditShaper,
    credits: VecDeque<Header>,
    data: VecDeque<Header>,
    low: VecDeque<Header>,
    credit_bytes: u32,
    data_bytes: u32,
}

pub struct Flow {
    pub tx: Sender,
    pub rx: Receiver,
    src: usize,
    dst: usize,
    pub start: u64,
    pub new_packets: u32,
    /// Payload packets per 0.1 ms.
    pub bins: Vec<u32>,
    armed: (u64, u64),
}

pub struct Net {
    pub c: Config,
    rate: BitsPerSec,
    delay: u64,
    /// Of the flows' random numbers.
    pub seed: u64,
    drop: SelectiveDrop,
    shaping: ShaperParams,
    pub ports: Vec<Port>,
    /// By node and destination host: the port to take.
    routes: Vec<Vec<usize>>,
    nodes: usize,
    hosts: usize,
    pub flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    what: Vec<Event>,
    now: u64,
    /// By host: its flows, the one to ask next for unscheduled packets first.
    senders: Vec<VecDeque<usize>>,
    /// Crossings that lose their packet.
    pub lose: Vec<bool>,
    /// Crossings that take longer by so much, ps.
    pub late: Vec<u64>,
    pub crossings: usize,
    pub credit_drops: u32,
    pub scheduled_drops: u32,
    pub unscheduled_drops: u32,
    pub largest_data_queue: u32,
    pub largest_credit_queue: u32,
}

impl Net {
    /// Hosts first, then switches, joined by links that are all alike.
    pub fn new(params: Params, hosts: usize, nodes: usize, links: &[(usize, usize)], rate: u64, delay: u64) -> Self {
        let rate = BitsPerSec(rate);
        let c = Config::new(params, rate).unwrap();
        let mut net = Self {
            c,
            rate,
            delay,
            seed: 1,
            drop: SelectiveDrop { limit: 500_000, ..SelectiveDrop::default() },
            shaping: ShaperParams::default(),
            ports: Vec::new(),
            routes: vec![vec![usize::MAX; hosts]; nodes],
            nodes,
            hosts,
            flows: Vec::new(),
            events: BinaryHeap::new(),
            what: Vec::new(),
            now: 0,
            senders: vec![VecDeque::new(); hosts],
            lose: Vec::new(),
            late: Vec::new(),
            crossings: 0,
            credit_drops: 0,
            scheduled_drops: 0,
            unscheduled_drops: 0,
            largest_data_queue: 0,
            largest_credit_queue: 0,
        };
        for (a, b) in links {
            net.add_port(*a, *b);
            net.add_port(*b, *a);
        }
        net.find_routes();
        net
    }

    /// Hosts 1 to `n` and host 0 at one switch.
    pub fn star(params: Params, n: usize, rate: u64, delay: u64) -> Self {
        let links: Vec<_> = (0..=n).map(|h| (h, n + 1)).collect();
        Self::new(params, n + 1, n + 2, &links, rate, delay)
    }

    /// Hosts 0 and 1, hosts 2 and 3, a link between their switches.
    pub fn dumbbell(params: Params, rate: u64, delay: u64) -> Self {
        Self::new(params, 4, 6, &[(0, 4), (1, 4), (4, 5), (5, 2), (5, 3)], rate, delay)
    }

    pub fn with_buffer(mut self, bytes: u32) -> Self {
        self.drop.limit = bytes;
        self
    }

    fn add_port(&mut self, from: usize, to: usize) {
        self.ports.push(Port {
            from,
            to,
            ps_per_byte: self.rate.serialisation(1).0,
            delay: self.delay,
            free: 0,
            shaper: CreditShaper::new(self.rate, &self.c.params.framing, self.shaping).unwrap(),
            credits: VecDeque::new(),
            data: VecDeque::new(),
            low: VecDeque::new(),
            credit_bytes: 0,
            data_bytes: 0,
        });
    }

    fn find_routes(&mut self) {
        for dst in 0..self.hosts {
            let mut reached = vec![dst];
            let mut seen = vec![false; self.nodes];
            seen[dst] = true;
            while let Some(node) = (!reached.is_empty()).then(|| reached.remove(0)) {
                for (i, p) in self.ports.iter().enumerate() {
                    if p.to == node && !seen[p.from] {
                        seen[p.from] = true;
                        self.routes[p.from][dst] = i;
                        reached.push(p.from);
                    }
                }
            }
        }
    }

    pub fn add_flow(&mut self, src: usize, dst: usize, bytes: u64, start: u64) {
        let slot = self.flows.len();
        self.flows.push(Flow {
            tx: Sender::new(slot as u32, bytes, &self.c),
            rx: Receiver::new(slot as u32, Stream::new(self.seed, Purpose::Transport, slot as u64)),
            src,
            dst,
            start,
            new_packets: 0,
            bins: Vec::new(),
            armed: (NEVER, NEVER),
        });
        self.senders[src].push_back(slot);
        self.at(start, Event::Start(slot));
    }

    fn at(&mut self, time: u64, event: Event) {
        self.what.push(event);
        self.events.push(Reverse((time, self.what.len() as u64 - 1)));
    }

    /// Runs until nothing is left to do; panics if that never happens.
    pub fn run(&mut self) {
        while let Some(Reverse((time, i))) = self.events.pop() {
            assert!(i < 4_000_000, "no end in sight");
            assert!(time >= self.now);
            self.now = time;
            let now = Time(time);
            match self.what[i as usize] {
                Event::Start(f) => {
                    self.flows[f].tx.start(now, &self.c);
                    self.after_sender(f);
                }
                Event::Arrive(node, h) if node >= self.hosts => {
                    let flow = &self.flows[h.slot as usize];
                    let dst = if h.kind.is_from_receiver() { flow.src } else { flow.dst };
                    self.enqueue(self.routes[node][dst], h);
                }
                Event::Arrive(_, h) => self.deliver(h),
                Event::Look(port) => self.look(port),
                Event::SenderTimer(f) => {
                    if self.flows[f].armed.0 == time {
                        self.flows[f].armed.0 = NEVER;
                        self.flows[f].tx.on_timeout(now, &self.c);
                        self.after_sender(f);
                    }
                }
                Event::ReceiverTimer(f) => {
                    if self.flows[f].armed.1 == time {
                        self.flows[f].armed.1 = NEVER;
                        self.flows[f].rx.on_timeout(now, &self.c);
                        self.after_receiver(f);
                    }
                }
            }
        }
    }

    fn deliver(&mut self, h: Header) {
        let (f, now) = (h.slot as usize, Time(self.now));
        let flow = &mut self.flows[f];
        if h.kind.is_from_receiver() {
            flow.tx.on_packet(now, &h, &self.c);
            self.after_sender(f);
        } else {
            if flow.rx.on_packet(now, &h, &self.c) {
                flow.new_packets += 1;
                let bin = (self.now / (100 * US)) as usize;
                flow.bins.resize(flow.bins.len().max(bin + 1), 0);
                flow.bins[bin] += 1;
            }
            self.after_receiver(f);
        }
    }

    fn after_sender(&mut self, f: usize) {
        let port = self.routes[self.flows[f].src][self.flows[f].dst];
        while let Some(h) = self.flows[f].tx.poll_transmit(Time(self.now), &self.c) {
            self.enqueue(port, h);
        }
        self.look(port);
        let due = self.flows[f].tx.next_timeout(&self.c).0.max(self.now);
        if due != NEVER && due < self.flows[f].armed.0 {
            self.flows[f].armed.0 = due;
            self.at(due, Event::SenderTimer(f));
        }
    }

    fn after_receiver(&mut self, f: usize) {
        let port = self.routes[self.flows[f].dst][self.flows[f].src];
        while let Some(h) = self.flows[f].rx.poll_transmit(Time(self.now), &self.c) {
            self.enqueue(port, h);
        }
        let due = self.flows[f].rx.next_timeout().0;
        if due != self.flows[f].armed.1 {
            self.flows[f].armed.1 = due;
            if due != NEVER {
                self.at(due, Event::ReceiverTimer(f));
            }
        }
    }

    fn enqueue(&mut self, port: usize, h: Header) {
        let policy = self.c.params.burst.policy;
        let p = &mut self.ports[port];
        if h.class == Class::Credit {
            self.largest_credit_queue = self.largest_credit_queue.max(p.credit_bytes);
            if !p.shaper.admits(p.credit_bytes, h.size) {
                self.credit_drops += 1;
                return;
            }
            p.credit_bytes += u32::from(h.size);
            p.credits.push_back(h);
        } else {
            let unscheduled = h.class == Class::Unscheduled;
            let selective = unscheduled && policy == Unscheduled::Aeolus;
            if !self.drop.admits(p.data_bytes, p.data_bytes, u32::from(h.size), selective) {
                if unscheduled {
                    self.unscheduled_drops += 1;
                } else {
                    self.scheduled_drops += 1;
                }
                return;
            }
            p.data_bytes += u32::from(h.size);
            self.largest_data_queue = self.largest_data_queue.max(p.data_bytes);
            if unscheduled && policy == Unscheduled::Plain { p.low.push_back(h) } else { p.data.push_back(h) }
        }
        self.look(port);
    }

    /// The place of the next flow of a host that has an unscheduled packet.
    fn next_burst(&self, host: usize) -> Option<usize> {
        self.senders.get(host)?.iter().position(|f| self.flows[*f].tx.has_unscheduled())
    }

    fn look(&mut self, port: usize) {
        let now = self.now;
        let host = self.ports[port].from;
        let burst = self.next_burst(host);
        let p = &mut self.ports[port];
        if p.free > now {
            return;
        }
        let data = !p.data.is_empty() || !p.low.is_empty() || burst.is_some();
        match p.shaper.next(Time(now), p.credits.front().map(|h| h.size), data) {
            Next::Credit(at) if at.0 > now => self.at(at.0, Event::Look(port)),
            Next::Credit(_) => {
                let h = p.credits.pop_front().unwrap();
                p.credit_bytes -= u32::from(h.size);
                p.shaper.sent(Time(now), h.size);
                self.launch(port, h);
            }
            Next::Data => {
                if let Some(h) = p.data.pop_front().or_else(|| p.low.pop_front()) {
                    p.data_bytes -= u32::from(h.size);
                    self.launch(port, h);
                } else if let Some(place) = burst {
                    let f = self.senders[host][place];
                    self.senders[host].rotate_left(place + 1);
                    let h = self.flows[f].tx.poll_unscheduled(Time(now), &self.c).unwrap();
                    self.launch(port, h);
                    self.after_sender(f);
                }
            }
            Next::Idle => {}
        }
    }

    fn launch(&mut self, port: usize, h: Header) {
        let p = &mut self.ports[port];
        let wire = u64::from(h.size + self.c.params.framing.wire_overhead) * p.ps_per_byte;
        p.free = self.now + wire;
        let (free, to, delay) = (p.free, p.to, p.delay);
        self.at(free, Event::Look(port));
        self.crossings += 1;
        if self.lose.get(self.crossings - 1) != Some(&true) {
            let late = self.late.get(self.crossings - 1).copied().unwrap_or(0);
            self.at(free + delay + late, Event::Arrive(to, h));
        }
    }

    /// Completion times, us: mean and largest.
    pub fn fct_us(&self) -> (f64, f64) {
        let fct = |f: &Flow| (f.rx.done_at().unwrap().0 - f.start) as f64 / US as f64;
        let mean = self.flows.iter().map(fct).sum::<f64>() / self.flows.len() as f64;
        (mean, self.flows.iter().map(fct).fold(0.0, f64::max))
    }

    /// Every flow delivered each packet once, and both ends know.
    pub fn assert_complete(&self) {
        for (i, f) in self.flows.iter().enumerate() {
            assert_eq!(f.new_packets, f.tx.packets(), "flow {i}");
            assert!(f.rx.done_at().is_some() && f.tx.is_finished(), "flow {i}: {:?} {:?}", f.tx, f.rx);
        }
    }

    /// Time of a packet of that many bytes over `links` links, store and forward, ps.
    pub fn one_way(&self, bytes: u64, links: u64) -> u64 {
        links * (self.rate.serialisation(bytes).0 + self.delay)
    }
}

/// 100 Gb/s and 1 us, as in the reference runs.
pub const G100: u64 = 100_000_000_000;
pub const US1: u64 = 1_000 * NS;

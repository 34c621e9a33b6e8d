//! A small network for tests: hosts around one switch, with the queues that message transports need, and an adversary.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::message::{End, Endpoint, Header, Kind, Message, TO_SENDER, TRIMMED, UNSCHEDULED};
use crate::port::selective_drop::SelectiveDrop;
use crate::port::trimming::{OnData, OnHeader, Queue, Service, TrimmingPort, returned, trimmed};
use crate::rng::hash3;
use crate::units::{BitsPerSec, Duration, Time};

/// How the switch's egress ports treat packets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queues {
    /// Eight priorities in strict order, so many bytes in all.
    Priorities(u32),
    /// Eight priorities in strict order, unscheduled packets dropped selectively.
    Selective(SelectiveDrop),
    /// NDP's.
    Trimming(TrimmingPort, u16),
}

/// What happens to a packet on its way to the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Pass,
    Lose,
    Duplicate,
    /// Arrives so much later.
    Delay(Duration),
    /// Loses its payload if it has one.
    Trim,
}

/// Owner of a slot that is free.
const NOBODY: usize = usize::MAX;

/// A packet between hosts.
#[derive(Clone, Copy, Debug)]
struct Flying {
    header: Header,
    message: usize,
    to: usize,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(usize),
    HostFree(usize),
    PortFree(usize),
    AtSwitch(Flying),
    AtHost(Flying),
    Timeout(usize),
}

/// A message of the test and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) src: usize,
    pub(super) dst: usize,
    pub(super) bytes: u64,
    pub(super) start: Time,
    src_slot: u32,
    dst_slot: u32,
    /// Payload bytes reported as new at the receiver.
    pub(super) fresh: u64,
    pub(super) delivered: Option<Time>,
    pub(super) finished: Option<Time>,
}

#[derive(Debug, Default)]
struct Port {
    queues: [VecDeque<Flying>; 8],
    bytes: [u32; 8],
    busy: bool,
    /// Bytes of the packet being sent, of the first two queues.
    sending: [u32; 2],
    service: Service,
}

/// What the switch saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Seen {
    pub(super) unscheduled_drops: u32,
    pub(super) scheduled_drops: u32,
    pub(super) control_drops: u32,
    pub(super) trims: u32,
    pub(super) returns: u32,
    pub(super) largest_queue: u32,
}

/// The network.
pub(super) struct Star<E> {
    pub(super) hosts: Vec<E>,
    pub(super) messages: Vec<Sent>,
    pub(super) seen: Seen,
    pub(super) now: Time,
    /// Everything hosts sent: when, host, header.
    pub(super) log: Vec<(Time, usize, Header)>,
    rate: BitsPerSec,
    delay: Duration,
    overhead: u32,
    queues: Queues,
    ports: Vec<Port>,
    nic_busy: Vec<bool>,
    timeout_at: Vec<Time>,
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    /// Bodies of the events; used places are not reused, tests are short.
    bodies: Vec<Event>,
    /// Per host, as sender and as receiver: the message of each slot, and the slots free to be used again.
    owners: Vec<[Vec<usize>; 2]>,
    free: Vec<[Vec<u32>; 2]>,
    count: u64,
}

impl<E: Endpoint> Star<E> {
    pub(super) fn new(hosts: Vec<E>, rate: BitsPerSec, delay: Duration, overhead: u32, queues: Queues) -> Self {
        let n = hosts.len();
        Self {
            hosts,
            messages: Vec::new(),
            seen: Seen::default(),
            now: Time(0),
            log: Vec::new(),
            rate,
            delay,
            overhead,
            queues,
            ports: (0..n).map(|_| Port::default()).collect(),
            nic_busy: vec![false; n],
            timeout_at: vec![Time::NEVER; n],
            events: BinaryHeap::new(),
            bodies: Vec::new(),
            owners: vec![Default::default(); n],
            free: vec![Default::default(); n],
            count: 0,
        }
    }

    /// Will send a message.
    pub(super) fn send(&mut self, start: Time, src: usize, dst: usize, bytes: u64) -> usize {
        let id = self.messages.len();
        // Slots are given at the start.
        let (src_slot, dst_slot) = (0, 0);
        let (fresh, delivered, finished) = (0, None, None);
        self.messages.push(Sent { src, dst, bytes, start, src_slot, dst_slot, fresh, delivered, finished });
        self.schedule(start, Event::Start(id));
        id
    }

    /// A slot for a message, a used one if there is one: the hardest test of what hosts forget.
    fn take_slot(&mut self, host: usize, side: usize, message: usize) -> u32 {
        let owners = &mut self.owners[host][side];
        let slot = self.free[host][side].pop().unwrap_or(owners.len() as u32);
        if slot as usize == owners.len() {
            owners.push(message);
        }
        owners[slot as usize] = message;
        slot
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.bodies.push(event);
        self.events.push(Reverse((at, self.bodies.len() as u64, self.bodies.len() - 1)));
    }

    /// Runs until nothing is left to happen or `until`; `fate` decides about each packet that a host sends.
    pub(super) fn run(&mut self, until: Time, mut fate: impl FnMut(&Header) -> Fate) {
        while let Some(&Reverse((at, _, body))) = self.events.peek() {
            if at > until {
                return;
            }
            self.events.pop();
            self.now = at;
            match self.bodies[body] {
                Event::Start(id) => {
                    let (src, dst) = (self.messages[id].src, self.messages[id].dst);
                    self.messages[id].src_slot = self.take_slot(src, 0, id);
                    self.messages[id].dst_slot = self.take_slot(dst, 1, id);
                    let m = self.messages[id];
                    let message = Message { peer: m.dst as u32, bytes: m.bytes, id: id as u64, scheme: 0 };
                    self.hosts[m.src].start(at, m.src_slot, message);
                    self.attend(m.src, &mut fate);
                }
                Event::HostFree(host) => {
                    self.nic_busy[host] = false;
                    self.attend(host, &mut fate);
                }
                Event::Timeout(host) => {
                    if self.timeout_at[host] == at {
                        self.timeout_at[host] = Time::NEVER;
                        self.hosts[host].on_timeout(at);
                        self.attend(host, &mut fate);
                    }
                }
                Event::AtHost(flying) => self.arrive(flying, &mut fate),
                Event::AtSwitch(flying) => self.at_switch(flying),
                Event::PortFree(port) => {
                    self.ports[port].busy = false;
                    self.ports[port].sending = [0; 2];
                    self.serve(port);
                }
            }
        }
    }

    fn arrive(&mut self, flying: Flying, fate: &mut impl FnMut(&Header) -> Fate) {
        let side = usize::from(!flying.header.is(TO_SENDER));
        if self.owners[flying.to][side][flying.header.flow as usize] != flying.message {
            // Left over from an ended message, as an engine tells by its generation.
            return;
        }
        let outcome = self.hosts[flying.to].on_packet(self.now, &flying.header);
        let m = &mut self.messages[flying.message];
        m.fresh += u64::from(outcome.fresh);
        match outcome.end {
            End::None => {}
            End::Delivered => assert_eq!(m.delivered.replace(self.now), None, "delivered twice"),
            End::Finished => {
                assert_eq!(m.finished.replace(self.now), None, "finished twice");
                let m = *m;
                self.hosts[m.dst].forget(m.dst_slot);
                (self.owners[m.src][0][m.src_slot as usize], self.owners[m.dst][1][m.dst_slot as usize]) =
                    (NOBODY, NOBODY);
                self.free[m.src][0].push(m.src_slot);
                self.free[m.dst][1].push(m.dst_slot);
            }
        }
        self.attend(flying.to, fate);
    }

    /// Lets a host send, and notes when it wants to be called.
    fn attend(&mut self, host: usize, fate: &mut impl FnMut(&Header) -> Fate) {
        if !self.nic_busy[host]
            && let Some(header) = self.hosts[host].poll_transmit(self.now)
        {
            self.log.push((self.now, host, header));
            self.nic_busy[host] = true;
            let end = self.now + self.rate.serialisation(u64::from(u32::from(header.size) + self.overhead));
            self.schedule(end, Event::HostFree(host));
            let message = self.owners[host][usize::from(header.is(TO_SENDER))][header.flow as usize];
            let m = self.messages[message];
            let (to, flow) = if header.is(TO_SENDER) { (m.src, m.src_slot) } else { (m.dst, m.dst_slot) };
            assert_eq!(header.peer as usize, to);
            let mut flying = Flying { header: Header { flow, peer: host as u32, ..header }, message, to };
            let at = end + self.delay;
            match fate(&header) {
                Fate::Lose => {}
                Fate::Pass => self.schedule(at, Event::AtSwitch(flying)),
                Fate::Delay(more) => self.schedule(at + more, Event::AtSwitch(flying)),
                Fate::Duplicate => {
                    self.schedule(at, Event::AtSwitch(flying));
                    self.schedule(at + Duration(1), Event::AtSwitch(flying));
                }
                Fate::Trim => {
                    if header.kind == Kind::Data {
                        flying.header = trimmed(flying.header, 64, 0);
                    }
                    self.schedule(at, Event::AtSwitch(flying));
                }
            }
        }
        let next = self.hosts[host].next_timeout();
        if next < self.timeout_at[host] {
            let at = next.max(self.now);
            self.timeout_at[host] = at;
            self.schedule(at, Event::Timeout(host));
        }
    }

    fn at_switch(&mut self, flying: Flying) {
        let h = flying.header;
        let size = u32::from(h.size);
        let port = &self.ports[flying.to];
        let total: u32 = port.bytes.iter().sum();
        match self.queues {
            Queues::Priorities(limit) => {
                if total + size > limit {
                    self.drop(&h);
                } else {
                    self.push(flying.to, usize::from(h.priority & 7), flying);
                }
            }
            Queues::Selective(rule) => {
                let queue = usize::from(h.priority & 7);
                if rule.admits(total, port.bytes[queue], size, h.is(UNSCHEDULED) && h.kind == Kind::Data) {
                    self.push(flying.to, queue, flying);
                } else {
                    self.drop(&h);
                }
            }
            Queues::Trimming(rule, control) => self.trimming(rule, control, flying),
        }
        self.serve(flying.to);
    }

    fn trimming(&mut self, rule: TrimmingPort, control: u16, flying: Flying) {
        let h = flying.header;
        if h.kind != Kind::Data || h.is(TRIMMED) {
            return self.offer_header(rule, flying);
        }
        self.count += 1;
        let coin = hash3(1, flying.to as u64, self.count);
        let port = &mut self.ports[flying.to];
        let tail = port.queues[1].back().map_or(0, |p| u32::from(p.header.size));
        match rule.on_data(port.bytes[1] + port.sending[1], tail, u32::from(h.size), coin) {
            OnData::Enqueue => self.push(flying.to, 1, flying),
            OnData::TrimArriving => self.trim(rule, control, flying),
            OnData::TrimTail => {
                let Some(victim) = port.queues[1].pop_back() else { unreachable!("no tail") };
                port.bytes[1] -= u32::from(victim.header.size);
                self.push(flying.to, 1, flying);
                self.trim(rule, control, victim);
            }
        }
    }

    fn trim(&mut self, rule: TrimmingPort, control: u16, flying: Flying) {
        self.seen.trims += 1;
        self.offer_header(rule, Flying { header: trimmed(flying.header, control, 0), ..flying });
    }

    fn offer_header(&mut self, rule: TrimmingPort, flying: Flying) {
        let port = &self.ports[flying.to];
        match rule.on_header(port.bytes[0] + port.sending[0], &flying.header) {
            OnHeader::Enqueue => self.push(flying.to, 0, flying),
            OnHeader::Drop => self.drop(&flying.header),
            OnHeader::ReturnToSender => {
                self.seen.returns += 1;
                let m = self.messages[flying.message];
                let header = Header { flow: m.src_slot, peer: m.dst as u32, ..returned(flying.header) };
                self.offer_header(rule, Flying { header, to: m.src, ..flying });
                self.serve(m.src);
            }
        }
    }

    fn drop(&mut self, h: &Header) {
        let counter = match h.kind {
            Kind::Data if h.is(UNSCHEDULED) => &mut self.seen.unscheduled_drops,
            Kind::Data => &mut self.seen.scheduled_drops,
            _ => &mut self.seen.control_drops,
        };
        *counter += 1;
    }

    fn push(&mut self, port: usize, queue: usize, flying: Flying) {
        let p = &mut self.ports[port];
        p.bytes[queue] += u32::from(flying.header.size);
        p.queues[queue].push_back(flying);
        self.seen.largest_queue = self.seen.largest_queue.max(p.bytes.iter().sum());
    }

    fn serve(&mut self, port: usize) {
        let p = &mut self.ports[port];
        if p.busy {
            return;
        }
        let queue = match self.queues {
            Queues::Trimming(rule, _) => {
                p.service.next(&rule, !p.queues[0].is_empty(), !p.queues[1].is_empty()).map(|q| match q {
                    Queue::Header => 0,
                    Queue::Data => 1,
                })
            }
            _ => p.queues.iter().position(|q| !q.is_empty()),
        };
        let Some((queue, flying)) = queue.and_then(|q| Some((q, p.queues[q].pop_front()?))) else { return };
        p.bytes[queue] -= u32::from(flying.header.size);
        p.sending = [0; 2];
        if let Some(sending) = p.sending.get_mut(queue) {
            *sending = u32::from(flying.header.size);
        }
        p.busy = true;
        let end = self.now + self.rate.serialisation(u64::from(u32::from(flying.header.size) + self.overhead));
        self.schedule(end, Event::PortFree(port));
        self.schedule(end + self.delay, Event::AtHost(flying));
    }

    /// Everything has been delivered once and finished, byte for byte.
    pub(super) fn assert_complete(&self) {
        for (i, m) in self.messages.iter().enumerate() {
            assert!(m.delivered.is_some() && m.finished.is_some(), "message {i}: {m:?} at {:?}", self.now);
            assert_eq!(m.fresh, m.bytes, "message {i}");
        }
    }

    /// Completion times at the receiver, ps.
    pub(super) fn fcts(&self) -> Vec<u64> {
        self.messages.iter().map(|m| m.delivered.map_or(u64::MAX, |t| t.0 - m.start.0)).collect()
    }
}

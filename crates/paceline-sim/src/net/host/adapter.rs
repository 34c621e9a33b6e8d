//! Hosts with a stack that takes time and an adapter with a buffer of its own, between message transports and the link.
//!
//! A frame leaves the stack as soon as the transport has one and the buffer room for it, whatever the link does; it takes its
//! time through stack and adapter, waits in the adapter behind a rate limiter (QCN) and leaves when the link is idle. What arrives
//! takes its time the other way. Frames keep their order, at each limiter also where PFC has paused the class of the first (*deviation*:
//! 802.1Qbb has a queue for each class). A full buffer holds the transport back; nothing is dropped.
//!
//! Source: the host model of `HotI` 2011 (stack delays, adapter buffer and delay; that they are delays, not service times, is
//! inferred: see the facts on converged Ethernet, sections 0 and 6.8) and, for the limiters, IEEE 802.1Qau.
//!
//! A NIC is looked at lazily, as all are: everything inside the host that is due comes in order of time, and at one instant in
//! the order arrivals, limiters' timers, frames out of the stack, the transport, the link.

use std::collections::{BTreeMap, VecDeque};

use paceline_proto::qcn::{Feedback, ReactionPoint};
use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::{BitsPerSec, Time};

use crate::net::packet::Handle;
use crate::net::port::Port;
use crate::net::{Net, Schedule};
use crate::scenario::{Adapter as Config, LimiterOf, Scenario};

/// Never.
const NEVER: u64 = u64::MAX;
/// No limiter.
const NOBODY: u32 = u32::MAX;

/// Frames for one limiter.
#[derive(Clone, Debug)]
struct Limiter {
    point: ReactionPoint,
    /// The instant before which it lets nothing go, ps; as its point says.
    departs_at: u64,
    frames: VecDeque<(Handle, u16, u8)>,
}

/// What happens next inside a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Arrival,
    Timer(u32),
    Lower,
    Poll,
    Send(u32),
    Nothing,
}

/// The adapter of one NIC.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    /// Frames on their way up to the stack, and when they are there, ps.
    up: VecDeque<(u64, Handle)>,
    /// Frames on their way down to the limiters, when they are there, and which limiter.
    down: VecDeque<(u64, Handle, u32)>,
    /// Bytes in the adapter: on their way down and at limiters.
    bytes: u64,
    /// When the transport may have something to send, ps.
    poll_at: u64,
    /// The transport was held back.
    is_full: bool,
    limiters: Vec<Limiter>,
    by_key: BTreeMap<u32, u32>,
    /// Limiters with frames, in order.
    busy: Vec<u32>,
    /// Limiter served last.
    last: u32,
    /// Earliest end of a limiter's timer, ps, and which limiter's: the first of several.
    timer: (u64, u32),
}

impl Adapter {
    /// A limiter's point has changed.
    fn note_change(&mut self, limiter: u32) {
        let l = &mut self.limiters[limiter as usize];
        l.departs_at = l.point.next_departure().0;
        let due = (l.point.next_timeout().0, limiter);
        if due < self.timer {
            self.timer = due;
        } else if limiter == self.timer.1 && due != self.timer {
            let all = self.limiters.iter().enumerate().map(|(i, l)| (l.point.next_timeout().0, i as u32));
            self.timer = all.min().unwrap_or((NEVER, NOBODY));
        }
    }

    /// The limiter whose frame goes next, and when; in turn from the one after the last among several at once.
    fn next_frame(&self, port: &Port) -> (u64, u32) {
        let mut best = (NEVER, NOBODY);
        let first = self.busy.partition_point(|i| *i <= self.last);
        for &i in self.busy[first..].iter().chain(&self.busy[..first]) {
            let l = &self.limiters[i as usize];
            let at = l.departs_at.max(port.free);
            if at < best.0 && l.frames.front().is_some_and(|f| port.paused & !1 & (1 << f.2) == 0) {
                best = (at, i);
            }
        }
        best
    }
}

/// All adapters of a run.
pub(crate) struct Adapters {
    config: Config,
    all: Vec<Adapter>,
    seed: u64,
    /// Rate of each NIC's link.
    rates: Vec<BitsPerSec>,
    /// What the wire adds to a frame.
    overhead: u32,
}

impl Adapters {
    /// The adapters of a scenario whose hosts have them.
    pub(crate) fn new(scenario: &Scenario, rates: &[BitsPerSec]) -> Option<Box<Self>> {
        let config = scenario.adapter.clone()?;
        let adapter = Adapter {
            up: VecDeque::new(),
            down: VecDeque::new(),
            bytes: 0,
            poll_at: NEVER,
            is_full: false,
            limiters: Vec::new(),
            by_key: BTreeMap::new(),
            busy: Vec::new(),
            last: 0,
            timer: (NEVER, NOBODY),
        };
        Some(Box::new(Self {
            config,
            all: vec![adapter; rates.len()],
            seed: scenario.seed,
            rates: rates.to_vec(),
            overhead: scenario.framing.wire_overhead,
        }))
    }

    /// Frames that a transport may have for the link from `at` on.
    pub(crate) fn poll(&mut self, nic: u32, at: u64) {
        let adapter = &mut self.all[nic as usize];
        adapter.poll_at = adapter.poll_at.min(at);
    }

    /// A frame has arrived over the link.
    pub(crate) fn arrived(&mut self, nic: u32, h: Handle, now: u64) {
        self.all[nic as usize].up.push_back((now + self.config.up.0, h));
    }

    /// The limiter of a key.
    fn limiter(&mut self, nic: u32, key: u32) -> u32 {
        let rate = self.rates[nic as usize];
        let adapter = &mut self.all[nic as usize];
        let next = adapter.limiters.len() as u32;
        let number = *adapter.by_key.entry(key).or_insert(next);
        if number == next {
            let stream = Stream::new(self.seed, Purpose::Qcn, 1 << 63 | u64::from(nic) << 32 | u64::from(key));
            let point = ReactionPoint::new(rate, stream);
            let departs_at = point.next_departure().0;
            adapter.limiters.push(Limiter { point, departs_at, frames: VecDeque::new() });
        }
        number
    }

    /// Feedback from a switch about frames for `key`.
    pub(crate) fn feedback(&mut self, nic: u32, key: u32, feedback: Feedback, now: u64) {
        let Some(params) = self.config.limiter.clone() else { return };
        let number = self.limiter(nic, key);
        let adapter = &mut self.all[nic as usize];
        adapter.limiters[number as usize].point.on_feedback(&params, Time(now), feedback);
        adapter.note_change(number);
    }

    /// Whether notifications shrink windows instead.
    pub(crate) fn to_window(&self) -> bool {
        self.config.to_window
    }

    /// What of a frame decides about its limiter: its receiver's NIC, its flow with its direction.
    pub(crate) fn key(&self, peer: u32, flow: u32, back: bool) -> u32 {
        if self.config.limiter.is_none() {
            return 0;
        }
        match self.config.limiter_of {
            LimiterOf::Destination => peer,
            LimiterOf::Flow => flow << 1 | u32::from(back),
            LimiterOf::Nic => 0,
        }
    }

    /// What is next at a NIC, whose transport's timers are not its business.
    fn next(&self, nic: u32, port: &Port) -> (u64, Next) {
        let a = &self.all[nic as usize];
        let mut first = (NEVER, Next::Nothing);
        // At one instant what is offered first comes first.
        let mut offer = |at: u64, next: Next| {
            if at < first.0 {
                first = (at, next);
            }
        };
        if let Some((at, _)) = a.up.front() {
            offer(*at, Next::Arrival);
        }
        offer(a.timer.0, Next::Timer(a.timer.1));
        if let Some((at, ..)) = a.down.front() {
            offer(*at, Next::Lower);
        }
        offer(a.poll_at, Next::Poll);
        if !a.busy.is_empty() {
            let (at, limiter) = a.next_frame(port);
            offer(at, Next::Send(limiter));
        }
        first
    }
}

impl Net {
    /// Lets everything happen inside a host before `end`, as `Net::message_work` does where there is no adapter.
    pub(crate) fn adapter_work<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        let port = self.nics[nic as usize].port;
        loop {
            let Some(adapters) = &self.adapters else { return NEVER };
            let (at, next) = adapters.next(nic, &self.ports[port as usize]);
            let timer = self.nics[nic as usize].timer_at;
            if timer < end && timer < at {
                self.message_timeout(nic, timer);
                continue;
            }
            if next == Next::Nothing || at > end || (at == end && !inclusive) {
                self.nics[nic as usize].next_at = at;
                return at;
            }
            self.inside_host(nic, port, at, next, s);
        }
    }

    fn inside_host<S: Schedule>(&mut self, nic: u32, port: u32, now: u64, next: Next, s: &mut S) {
        // Nothing that happens now lets a frame leave before now.
        self.begin_at(nic, now);
        let Some(adapters) = &mut self.adapters else { return };
        let adapter = &mut adapters.all[nic as usize];
        match next {
            Next::Arrival => {
                if let Some((_, h)) = adapter.up.pop_front() {
                    let packet = self.arena[h];
                    self.message_delivered(nic, h, &packet, now);
                }
            }
            Next::Timer(i) => {
                if let Some(params) = &adapters.config.limiter {
                    adapter.limiters[i as usize].point.on_timeout(params, Time(now));
                }
                adapter.note_change(i);
            }
            Next::Lower => {
                if let Some((_, h, key)) = adapter.down.pop_front() {
                    let limiter = adapters.limiter(nic, key);
                    let packet = &self.arena[h];
                    let adapter = &mut adapters.all[nic as usize];
                    adapter.limiters[limiter as usize].frames.push_back((h, packet.size, packet.class));
                    if let Err(place) = adapter.busy.binary_search(&limiter) {
                        adapter.busy.insert(place, limiter);
                    }
                }
            }
            Next::Poll => {
                adapter.poll_at = NEVER;
                self.fill_adapter(nic, now);
            }
            Next::Send(i) => {
                adapter.last = i;
                let limiter = &mut adapter.limiters[i as usize];
                let Some((h, size, _)) = limiter.frames.pop_front() else { return };
                adapter.bytes -= u64::from(size);
                if let Some(params) = &adapters.config.limiter {
                    let on_wire = u32::from(size) + adapters.overhead;
                    limiter.point.on_sent(params, Time(now), on_wire, limiter.frames.is_empty());
                }
                if limiter.frames.is_empty() {
                    adapter.busy.retain(|busy| *busy != i);
                }
                if adapters.config.limiter.is_some() {
                    adapter.note_change(i);
                }
                if std::mem::take(&mut adapter.is_full) {
                    adapter.poll_at = now;
                }
                self.nic_launch(port, h, now, s);
            }
            Next::Nothing => {}
        }
    }

    /// Takes frames from the transport while there is room.
    fn fill_adapter(&mut self, nic: u32, now: u64) {
        loop {
            let Some(adapters) = &mut self.adapters else { return };
            let adapter = &mut adapters.all[nic as usize];
            if adapter.bytes + u64::from(self.scenario.max_frame()) > adapters.config.buffer.0 {
                adapter.is_full = true;
                return;
            }
            let due = now + adapters.config.down.0;
            let Some((h, peer, _)) = self.next_message_packet(nic, now) else { return };
            let packet = &self.arena[h];
            let (flow, back, size) = (packet.flow, packet.kind.is_back(), packet.size);
            let opens = self.opens_connection(h);
            let Some(adapters) = &mut self.adapters else { return };
            // Those that pass by share a limiter that nobody notifies.
            let exempt = adapters.config.exempt_syn && opens;
            let key = if exempt { NOBODY } else { adapters.key(peer, flow, back) };
            let adapter = &mut adapters.all[nic as usize];
            adapter.down.push_back((due, h, key));
            adapter.bytes += u64::from(size);
        }
    }
}

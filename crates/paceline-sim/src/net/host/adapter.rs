//! Hosts with a stack that takes time and an adapter with a buffer of its own, between message transports and the link.
//!
//! A frame leaves the stack as soon as the transport has one and the buffer room for it, whatever the link does; it takes its
//! time through stack and adapter, waits in the adapter behind a rate limiter (QCN) and leaves when the link is idle. What arrives
//! takes its time the other way. Frames keep their order, at each limiter also where PFC has paused the class of the first (*deviation*:
//! 802.1Qbb has a queue for each class). A full buffer holds the transport back; nothing is dropped.
//!
//! Source: the host model of `HotI` 2011 (stack delays, adapter buffer and delay; that they are delays, not service times, is
//! inferred: see the facts on converged Ethernet, sections 0 and 6.8; *deviation*: a frame has its place in
//! the buffer from when it leaves the transport) and, for the limiters, IEEE 802.1Qau.
//!
//! A NIC is looked at lazily, as all are: everything inside the host that is due comes in order of time, and at one instant in
//! the order arrivals, limiters' timers, frames out of the stack, the transport, the link.

use std::collections::{BTreeMap, VecDeque};

use paceline_proto::qcn::{Feedback, ReactionPoint};
use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::{BitsPerSec, Duration, S, Time};

use crate::net::packet::Handle;
use crate::net::port::Port;
use crate::net::{Net, Schedule};
use crate::scenario::{Adapter as Config, LimiterOf, Scenario};

/// Never.
const NEVER: u64 = u64::MAX;
/// No limiter.
const NOBODY: u32 = u32::MAX;

/// A frame in an adapter's buffer.
#[derive(Clone, Copy, Debug)]
struct Frame {
    handle: Handle,
    size: u16,
    class: u8,
}

/// Frames for one limiter.
#[derive(Clone, Debug)]
struct Limiter {
    /// Of which frames.
    key: u64,
    point: ReactionPoint,
    /// The instant before which it lets nothing go, ps; as its point says.
    departs_at: u64,
    frames: VecDeque<Frame>,
}

/// Which frame goes next, as it was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// When it goes, ps, and from which limiter.
    next: (u64, u32),
    /// When the link was free, and the classes paused.
    free: u64,
    paused: u8,
}

impl Found {
    /// Whether it still holds, limiters being as they were: a link that is free later, but before anything goes, changes nothing.
    fn holds(&self, port: &Port) -> bool {
        self.paused == port.paused && (self.free..=self.next.0).contains(&port.free)
    }
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
    /// Frames on their way down to the limiters, when they are there, and the key of which limiter.
    down: VecDeque<(u64, u64, Frame)>,
    /// Bytes in the adapter: on their way down and at limiters.
    bytes: u64,
    /// When the transport may have something to send, ps.
    poll_at: u64,
    /// The transport was held back.
    is_full: bool,
    limiters: Vec<Limiter>,
    by_key: BTreeMap<u64, u32>,
    /// Limiters of no frames at present: those of flows rest when they neither limit nor hold anything.
    idle: Vec<u32>,
    /// Limiters of flows made so far, modulo 2^32.
    made: u32,
    /// Limiters with frames, in order.
    busy: Vec<u32>,
    /// Limiter served last.
    last: u32,
    /// Earliest end of a limiter's timer, ps, and which limiter's: the first of several.
    timer: (u64, u32),
    /// The frame that goes next, if it was looked for since limiters or their first frames last changed.
    found: Option<Found>,
}

impl Adapter {
    /// A limiter's point has changed.
    fn note_change(&mut self, limiter: u32) {
        self.found = None;
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

    /// A flow's limiter is done with if it is as a new one would be: flows come and go.
    fn release(&mut self, number: u32) {
        let l = &self.limiters[number as usize];
        if l.frames.is_empty() && l.point.is_at_rest() && self.by_key.remove(&l.key).is_some() {
            self.idle.push(number);
        }
    }

    /// The limiter whose frame goes next, and when; in turn from the one after the last among several at once.
    fn next_frame(&mut self, port: &Port) -> (u64, u32) {
        if let Some(found) = self.found.filter(|f| f.holds(port)) {
            return found.next;
        }
        let mut best = (NEVER, NOBODY);
        let first = self.busy.partition_point(|i| *i <= self.last);
        for &i in self.busy[first..].iter().chain(&self.busy[..first]) {
            let l = &self.limiters[i as usize];
            let at = l.departs_at.max(port.free);
            if at < best.0 && l.frames.front().is_some_and(|f| port.paused & !1 & (1 << f.class) == 0) {
                best = (at, i);
                if at == port.free {
                    break;
                }
            }
        }
        self.found = Some(Found { next: best, free: port.free, paused: port.paused });
        best
    }
}

/// Bytes that a link carries in a time.
fn carried(rate: BitsPerSec, time: Duration) -> u64 {
    let bits = u128::from(rate.0) * u128::from(time.0) / u128::from(S);
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// All adapters of a run.
pub(crate) struct Adapters {
    config: Config,
    all: Vec<Adapter>,
    seed: u64,
    /// The largest buffer that was asked for so far, bytes.
    asked: u64,
    /// Rate of each NIC's link.
    rates: Vec<BitsPerSec>,
    /// What each adapter holds at most, bytes: its buffer, and at least what the link carries while frames are on their way down, which
    /// have their room from the start. A slow stack would be a slow link otherwise.
    room: Vec<u64>,
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
            idle: Vec::new(),
            made: 0,
            busy: Vec::new(),
            last: 0,
            timer: (NEVER, NOBODY),
            found: None,
        };
        let two_frames = 2 * u64::from(scenario.max_frame());
        Some(Box::new(Self {
            all: vec![adapter; rates.len()],
            seed: scenario.seed,
            asked: 0,
            rates: rates.to_vec(),
            room: rates.iter().map(|rate| config.buffer.0.max(carried(*rate, config.down) + two_frames)).collect(),
            overhead: scenario.framing.wire_overhead,
            config,
        }))
    }

    /// No adapter's buffer held a transport back, and none of this size would have.
    pub(crate) fn had_room(&self, buffer: u64) -> bool {
        self.asked <= self.config.buffer.0.min(buffer)
    }

    /// Takes over what another part has seen, for records.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.asked = self.asked.max(other.asked);
    }

    /// Frames that a transport may have for the link from `at` on.
    pub(crate) fn poll(&mut self, nic: u32, at: u64) {
        let adapter = &mut self.all[nic as usize];
        adapter.poll_at = adapter.poll_at.min(at);
    }

    /// A frame has arrived over the link. Returns when it is at the transport, ps.
    pub(crate) fn arrived(&mut self, nic: u32, h: Handle, now: u64) -> u64 {
        let at = now + self.config.up.0;
        self.all[nic as usize].up.push_back((at, h));
        at
    }

    /// The limiter of a key.
    fn limiter(&mut self, nic: u32, key: u64) -> u32 {
        let adapter = &mut self.all[nic as usize];
        if let Some(&number) = adapter.by_key.get(&key) {
            return number;
        }
        // Destinations keep their limiters; a flow may have one after the other, each with draws of its own.
        let own = match self.config.limiter_of {
            LimiterOf::Flow => u64::from(adapter.made),
            LimiterOf::Destination | LimiterOf::Nic => key,
        };
        adapter.made = adapter.made.wrapping_add(1);
        let stream = Stream::new(self.seed, Purpose::Qcn, (1 << 63 | u64::from(nic) << 32) ^ own);
        let point = ReactionPoint::new(self.rates[nic as usize], stream);
        let departs_at = point.next_departure().0;
        let number = adapter.idle.pop().unwrap_or(adapter.limiters.len() as u32);
        match adapter.limiters.get_mut(number as usize) {
            Some(l) => (l.key, l.point, l.departs_at) = (key, point, departs_at),
            None => adapter.limiters.push(Limiter { key, point, departs_at, frames: VecDeque::new() }),
        }
        adapter.by_key.insert(key, number);
        number
    }

    /// After a frame has left a limiter, a timer or a notification has changed it.
    fn changed(&mut self, nic: u32, number: u32) {
        let adapter = &mut self.all[nic as usize];
        adapter.note_change(number);
        if self.config.limiter_of == LimiterOf::Flow {
            adapter.release(number);
        }
    }

    /// Feedback from a switch about frames for `key`.
    pub(crate) fn feedback(&mut self, nic: u32, key: u64, feedback: Feedback, now: u64) {
        while self.all[nic as usize].down.front().is_some_and(|(due, ..)| *due <= now) {
            self.lower(nic);
        }
        let number = self.limiter(nic, key);
        let Some(params) = &self.config.limiter else { return };
        self.all[nic as usize].limiters[number as usize].point.on_feedback(params, Time(now), feedback);
        self.changed(nic, number);
    }

    /// The first frame on its way down is at its limiter.
    fn lower(&mut self, nic: u32) {
        let Some((_, key, frame)) = self.all[nic as usize].down.pop_front() else { return };
        let number = self.limiter(nic, key);
        let adapter = &mut self.all[nic as usize];
        let limiter = &mut adapter.limiters[number as usize];
        if limiter.frames.is_empty() {
            adapter.found = None;
            if let Err(place) = adapter.busy.binary_search(&number) {
                adapter.busy.insert(place, number);
            }
        }
        limiter.frames.push_back(frame);
    }

    /// Whether notifications shrink windows instead.
    pub(crate) fn to_window(&self) -> bool {
        self.config.to_window
    }

    /// What of a frame decides about its limiter: its receiver's NIC, its flow with its direction.
    pub(crate) fn key(&self, peer: u32, flow: u32, back: bool) -> u64 {
        if self.config.limiter.is_none() {
            return 0;
        }
        match self.config.limiter_of {
            LimiterOf::Destination => u64::from(peer),
            LimiterOf::Flow => u64::from(flow) << 1 | u64::from(back),
            LimiterOf::Nic => 0,
        }
    }

    /// What is next at a NIC, whose transport's timers are not its business, and when the NIC must be looked at for it: a frame that
    /// comes to its limiter while the link is busy can go when that is free.
    fn next(&mut self, nic: u32, port: &Port) -> (u64, Next, u64) {
        let a = &mut self.all[nic as usize];
        let mut first = (NEVER, Next::Nothing);
        let mut look_at = NEVER;
        // At one instant what is offered first comes first.
        let mut offer = |at: u64, next: Next, matters_at: u64| {
            look_at = look_at.min(matters_at);
            if at < first.0 {
                first = (at, next);
            }
        };
        if let Some((at, _)) = a.up.front() {
            offer(*at, Next::Arrival, *at);
        }
        offer(a.timer.0, Next::Timer(a.timer.1), a.timer.0);
        if let Some((at, ..)) = a.down.front() {
            offer(*at, Next::Lower, port.free.max(*at));
        }
        offer(a.poll_at, Next::Poll, a.poll_at);
        if !a.busy.is_empty() {
            let (at, limiter) = a.next_frame(port);
            offer(at, Next::Send(limiter), at);
        }
        (first.0, first.1, look_at)
    }
}

impl Net {
    /// Lets everything happen inside a host before `end`, as `Net::message_work` does where there is no adapter.
    pub(crate) fn adapter_work<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        let port = self.nics[nic as usize].port;
        loop {
            let Some(adapters) = &mut self.adapters else { return NEVER };
            let (at, next, look_at) = adapters.next(nic, &self.ports[port as usize]);
            let timer = self.nics[nic as usize].timer_at;
            if timer < end && timer < at {
                self.message_timeout(nic, timer);
                continue;
            }
            if next == Next::Nothing || at > end || (at == end && !inclusive) {
                self.nics[nic as usize].next_at = look_at;
                return look_at;
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
                adapters.changed(nic, i);
            }
            Next::Lower => adapters.lower(nic),
            Next::Poll => {
                adapter.poll_at = NEVER;
                self.fill_adapter(nic, now);
            }
            Next::Send(i) => {
                adapter.last = i;
                let limiter = &mut adapter.limiters[i as usize];
                let Some(Frame { handle, size, .. }) = limiter.frames.pop_front() else { return };
                adapter.found = None;
                adapter.bytes -= u64::from(size);
                if let Some(params) = &adapters.config.limiter {
                    let drained = limiter.frames.is_empty();
                    limiter.point.on_sent(params, Time(now), u32::from(size), adapters.overhead, drained);
                }
                if limiter.frames.is_empty() {
                    adapter.busy.retain(|busy| *busy != i);
                }
                if std::mem::take(&mut adapter.is_full) {
                    adapter.poll_at = now;
                }
                if adapters.config.limiter.is_some() {
                    adapters.changed(nic, i);
                }
                self.nic_launch(port, handle, now, s);
            }
            Next::Nothing => {}
        }
    }

    /// Takes frames from the transport while there is room.
    fn fill_adapter(&mut self, nic: u32, now: u64) {
        loop {
            let Some(adapters) = &mut self.adapters else { return };
            let adapter = &mut adapters.all[nic as usize];
            let asked = adapter.bytes + u64::from(self.scenario.max_frame());
            adapters.asked = adapters.asked.max(asked);
            if asked > adapters.room[nic as usize] {
                adapter.is_full = true;
                return;
            }
            let due = now + adapters.config.down.0;
            let Some((h, peer, more)) = self.next_message_packet(nic, now) else { return };
            let packet = &self.arena[h];
            let (flow, back, size, class) = (packet.flow, packet.kind.is_back(), packet.size, packet.class);
            let opens = self.opens_connection(h);
            let Some(adapters) = &mut self.adapters else { return };
            // Those that pass by share a limiter that nobody notifies.
            let exempt = adapters.config.exempt_syn && opens;
            let key = if exempt { NOBODY.into() } else { adapters.key(peer, flow, back) };
            let adapter = &mut adapters.all[nic as usize];
            adapter.down.push_back((due, key, Frame { handle: h, size, class }));
            adapter.bytes += u64::from(size);
            if !more {
                return;
            }
        }
    }
}

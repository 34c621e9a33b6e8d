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

use crate::net::port::Port;
use crate::net::{Net, Schedule};
use crate::packet::Handle;
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

/// What is on its way through stack and adapter, which takes all of it the same time.
#[derive(Clone, Debug)]
struct Line<T> {
    /// When the first is there, ps.
    first: u64,
    items: VecDeque<(u64, T)>,
}

impl<T> Line<T> {
    fn new() -> Self {
        Self { first: NEVER, items: VecDeque::new() }
    }

    #[inline]
    fn push(&mut self, at: u64, item: T) {
        self.first = self.first.min(at);
        self.items.push_back((at, item));
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let (_, item) = self.items.pop_front()?;
        self.first = self.items.front().map_or(NEVER, |(at, _)| *at);
        Some(item)
    }
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
}

/// The adapter of one NIC.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    /// Frames on their way up to the stack.
    up: Line<Handle>,
    /// Frames on their way down to the limiters, with the key of which.
    down: Line<(u64, Frame)>,
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
    /// What limiters have used ([`ReactionPoint::used`]) that are others' now, or another part's.
    used: u8,
    /// Rate of each NIC's link.
    rates: Vec<BitsPerSec>,
    /// What each adapter holds at most, bytes: its buffer, and at least what the link carries while frames are on their way down, which
    /// have their room from the start. A slow stack would be a slow link otherwise.
    room: Vec<u64>,
    /// What the wire adds to a frame.
    overhead: u32,
    /// Bytes of the largest frame.
    largest: u64,
}

impl Adapters {
    /// The adapters of a scenario whose hosts have them.
    pub(crate) fn new(scenario: &Scenario, rates: &[BitsPerSec]) -> Option<Box<Self>> {
        let config = scenario.adapter.clone()?;
        let adapter = Adapter {
            up: Line::new(),
            down: Line::new(),
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
        let largest = u64::from(scenario.max_frame());
        Some(Box::new(Self {
            all: vec![adapter; rates.len()],
            seed: scenario.seed,
            asked: 0,
            used: 0,
            rates: rates.to_vec(),
            room: rates.iter().map(|rate| config.buffer.0.max(carried(*rate, config.down) + 2 * largest)).collect(),
            overhead: scenario.framing.wire_overhead,
            largest,
            config,
        }))
    }

    /// No adapter's buffer held a transport back, and none of this size would have.
    pub(crate) fn had_room(&self, buffer: u64) -> bool {
        self.asked <= self.config.buffer.0.min(buffer)
    }

    /// The frames that they hold.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.all.iter().flat_map(|a| {
            let down = a.down.items.iter().map(|(_, (_, frame))| frame);
            let limited = a.limiters.iter().flat_map(|l| &l.frames);
            a.up.items.iter().map(|(_, h)| *h).chain(down.chain(limited).map(|frame| frame.handle))
        })
    }

    /// Takes over what another part has seen, for records.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.asked = self.asked.max(other.asked);
        self.used |= other.used();
    }

    /// What limiters have used.
    pub(crate) fn used(&self) -> u8 {
        let limiters = self.all.iter().flat_map(|a| &a.limiters);
        limiters.fold(self.used, |used, l| used | l.point.used())
    }

    /// Frames that a transport may have for the link from `at` on.
    pub(crate) fn poll(&mut self, nic: u32, at: u64) {
        let adapter = &mut self.all[nic as usize];
        adapter.poll_at = adapter.poll_at.min(at);
    }

    /// A frame has arrived over the link. Returns when it is at the transport, ps.
    pub(crate) fn arrived(&mut self, nic: u32, h: Handle, now: u64) -> u64 {
        let at = now + self.config.up.0;
        self.all[nic as usize].up.push(at, h);
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
            Some(l) => {
                self.used |= l.point.used();
                (l.key, l.point, l.departs_at) = (key, point, departs_at);
            }
            None => adapter.limiters.push(Limiter { key, point, departs_at, frames: VecDeque::new() }),
        }
        adapter.by_key.insert(key, number);
        number
    }

    /// After a timer or a notification has changed a limiter.
    fn changed(&mut self, nic: u32, number: u32) {
        let adapter = &mut self.all[nic as usize];
        adapter.note_change(number);
        if self.config.limiter_of == LimiterOf::Flow {
            adapter.release(number);
        }
    }

    /// Feedback from a switch about frames for `key`.
    pub(crate) fn feedback(&mut self, nic: u32, key: u64, feedback: Feedback, now: u64) {
        self.lower_due(nic, now);
        let number = self.limiter(nic, key);
        let Some(params) = &self.config.limiter else { return };
        self.all[nic as usize].limiters[number as usize].point.on_feedback(params, Time(now), feedback);
        self.changed(nic, number);
    }

    /// The first frame on its way down is at its limiter.
    fn lower(&mut self, nic: u32) {
        let Some((key, frame)) = self.all[nic as usize].down.pop() else { return };
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

    /// Takes the first frame on its way down if it goes to the link `now`, without waiting at its limiter.
    fn pass(&mut self, nic: u32, port: &Port, now: u64) -> Option<Handle> {
        let a = &self.all[nic as usize];
        let &(_, (key, Frame { handle, size, class })) = a.down.items.front()?;
        // The transport comes before the link, and what it has may change whose turn it is.
        let is_alone = a.busy.is_empty() && now < a.poll_at;
        if !is_alone || port.free > now || port.paused & !1 & (1 << class) != 0 {
            return None;
        }
        let mut others = a.down.items.iter().skip(1).take_while(|(due, _)| *due <= now);
        let drained = match others.next() {
            None => true,
            Some((_, (next, _))) if *next == key && others.all(|(_, (next, _))| *next == key) => false,
            Some(_) => return None,
        };
        let number = self.limiter(nic, key);
        let a = &mut self.all[nic as usize];
        if a.limiters[number as usize].departs_at > now {
            return None;
        }
        a.down.pop();
        self.left(nic, number, size, drained, now);
        Some(handle)
    }

    /// A frame has left a limiter for the link. `drained`: no other frame waits for that.
    fn left(&mut self, nic: u32, number: u32, size: u16, drained: bool, now: u64) {
        let a = &mut self.all[nic as usize];
        a.last = number;
        a.bytes -= u64::from(size);
        if std::mem::take(&mut a.is_full) {
            a.poll_at = now;
        }
        if let Some(params) = &self.config.limiter {
            let point = &mut a.limiters[number as usize].point;
            point.on_sent(params, Time(now), u32::from(size), self.overhead, drained);
            a.note_change(number);
            if drained && self.config.limiter_of == LimiterOf::Flow {
                a.release(number);
            }
        }
    }

    /// All frames that are at their limiters by `now` are taken there.
    fn lower_due(&mut self, nic: u32, now: u64) {
        while self.all[nic as usize].down.first <= now {
            self.lower(nic);
        }
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

    /// What is next at a NIC, whose transport's timers are not its business, and when; [`NEVER`] if nothing is. At one instant what is asked for
    /// first comes first.
    #[inline]
    fn next(&mut self, nic: u32, port: &Port) -> (u64, Next) {
        let a = &mut self.all[nic as usize];
        let mut first = (a.up.first, Next::Arrival);
        let mut offer = |at: u64, next: Next| {
            if at < first.0 {
                first = (at, next);
            }
        };
        offer(a.timer.0, Next::Timer(a.timer.1));
        // While the link is busy nobody asks which frames are at their limiters.
        offer(port.free.max(a.down.first), Next::Lower);
        offer(a.poll_at, Next::Poll);
        if !a.busy.is_empty() {
            let (at, limiter) = a.next_frame(port);
            offer(at, Next::Send(limiter));
        }
        first
    }
}

impl Net {
    /// A packet of a message has arrived over a link, and takes its time to the transport. Returns when it is there, ps; nothing without
    /// adapters.
    #[inline]
    pub(crate) fn comes_up(&mut self, nic: u32, h: Handle, now: u64) -> Option<u64> {
        let at = self.adapters.as_mut()?.arrived(nic, h, now);
        self.books.receive(self.arena[h].kind, self.arena[h].size);
        let n = &mut self.nics[nic as usize];
        n.next_at = n.next_at.min(at);
        Some(at)
    }

    /// Lets everything happen inside a host before `end`, as `Net::message_work` does where there is no adapter.
    pub(crate) fn adapter_work<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        let port = self.nics[nic as usize].port;
        loop {
            let Some(adapters) = &mut self.adapters else { return NEVER };
            let (at, next) = adapters.next(nic, &self.ports[port as usize]);
            let timer = self.nics[nic as usize].timer_at;
            if timer < end && timer < at {
                self.message_timeout(nic, timer);
                continue;
            }
            if at > end || at == end && !inclusive || at == NEVER {
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
                if let Some(h) = adapter.up.pop() {
                    let packet = self.arena[h];
                    self.message_delivered(nic, h, &packet, now);
                }
            }
            Next::Timer(i) => {
                adapters.lower_due(nic, now);
                if let Some(params) = &adapters.config.limiter {
                    adapters.all[nic as usize].limiters[i as usize].point.on_timeout(params, Time(now));
                }
                adapters.changed(nic, i);
            }
            Next::Lower => match adapters.pass(nic, &self.ports[port as usize], now) {
                Some(h) => _ = self.nic_launch(port, h, now, s),
                None => adapters.lower(nic),
            },
            Next::Poll => {
                adapter.poll_at = NEVER;
                self.fill_adapter(nic, now);
            }
            Next::Send(i) => {
                let limiter = &mut adapter.limiters[i as usize];
                let Some(frame) = limiter.frames.pop_front() else { return };
                let drained = limiter.frames.is_empty();
                if drained {
                    adapter.busy.retain(|busy| *busy != i);
                }
                adapter.found = None;
                adapters.left(nic, i, frame.size, drained, now);
                self.nic_launch(port, frame.handle, now, s);
            }
        }
    }

    /// Takes frames from the transport while there is room.
    fn fill_adapter(&mut self, nic: u32, now: u64) {
        loop {
            let Some(adapters) = &mut self.adapters else { return };
            let adapter = &mut adapters.all[nic as usize];
            let asked = adapter.bytes + adapters.largest;
            adapters.asked = adapters.asked.max(asked);
            if asked > adapters.room[nic as usize] {
                adapter.is_full = true;
                return;
            }
            let (due, exempt) = (now + adapters.config.down.0, adapters.config.exempt_syn);
            let Some((h, peer, more)) = self.next_message_packet(nic, now) else { return };
            self.datagram_leaves(h, now);
            let packet = &self.arena[h];
            let (flow, back, size, class) = (packet.flow, packet.kind.is_back(), packet.size, packet.class);
            // Those that pass by share a limiter that nobody notifies.
            let exempt = exempt && self.opens_connection(h);
            let Some(adapters) = &mut self.adapters else { return };
            let key = if exempt { NOBODY.into() } else { adapters.key(peer, flow, back) };
            let adapter = &mut adapters.all[nic as usize];
            adapter.down.push(due, (key, Frame { handle: h, size, class }));
            adapter.bytes += u64::from(size);
            if !more {
                return;
            }
        }
    }
}

//! All of a host's TCP as one endpoint: a connection per message, and the queue in front of its link.
//!
//! A message is a connection of its own: handshake, bytes, and no more. It is over for its sender when every byte is
//! acknowledged, and nobody closes: what an application would keep open is simply not used again.
//! What connections send waits in one queue, as in a NIC.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{CacheEntry, Connection, Context, Flags, Params, SackBlocks, Segment, State, Timestamps};
use crate::cc::{FlowContext, hpcc};
use crate::telemetry::{IntHop, MAX_HOPS};
use crate::transport::message::{
    self, AGAIN, CE, Counters, End, Endpoint, Extra, Header, Kind, Message, Outcome, STREAM, Sizes, TO_SENDER,
};
use crate::transport::timers::Timers;
use crate::units::Time;

/// A message that is being sent.
#[derive(Clone, Debug)]
struct Outbound {
    connection: Connection,
    scheme: u16,
    peer: u32,
    bytes: u64,
    /// The number after that of its last packet in the host's queue.
    queued: u64,
}

/// A message that arrives.
#[derive(Clone, Debug)]
struct Inbound {
    connection: Connection,
    peer: u32,
    delivered: bool,
    /// As for what is sent.
    queued: u64,
    /// What the last probe has collected.
    collected: Extra,
}

/// The packets in front of a host's link, numbered from zero in the order they came.
#[derive(Clone, Debug, Default)]
struct Queue {
    packets: VecDeque<(Header, Extra)>,
    /// The number of the first, or of the next to come if there is none.
    first: u64,
}

impl Queue {
    /// The number of the packet after this one.
    fn push(&mut self, header: Header, extra: Extra) -> u64 {
        self.packets.push_back((header, extra));
        self.first + self.packets.len() as u64
    }

    fn pop(&mut self) -> Option<(Header, Extra)> {
        let packet = self.packets.pop_front()?;
        self.first += 1;
        Some(packet)
    }
}

/// A host's TCP.
#[derive(Clone, Debug)]
pub struct Host {
    params: Arc<Params>,
    /// By scheme.
    contexts: Arc<[FlowContext]>,
    sizes: Sizes,
    senders: Vec<Option<Outbound>>,
    receivers: Vec<Option<Inbound>>,
    queue: Queue,
    /// Of the packet sent last.
    extra: Extra,
    /// Senders have even numbers, receivers odd ones.
    timers: Timers,
    /// What connections left, by peer; nothing without the cache.
    cache: BTreeMap<u32, CacheEntry>,
    failed: Vec<u32>,
    counters: Counters,
}

impl Host {
    /// A host without connections. `contexts`: of each scheme's flows, at least one; their `mtu` is the segment size.
    pub fn new(params: Arc<Params>, contexts: Arc<[FlowContext]>, sizes: Sizes) -> Self {
        Self {
            params,
            contexts,
            sizes,
            senders: Vec::new(),
            receivers: Vec::new(),
            queue: Queue::default(),
            extra: Extra::default(),
            timers: Timers::default(),
            cache: BTreeMap::new(),
            failed: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// What the connections under way have counted, beside [`Endpoint::counters`].
    pub fn under_way(&self) -> Counters {
        let mut sum = Counters::default();
        self.senders.iter().flatten().for_each(|out| sum.add(&counted(&out.connection)));
        sum
    }

    /// Bytes acknowledged and window of a sender's slot, bytes.
    pub fn progress(&self, slot: u32) -> Option<(u64, u64)> {
        let out = self.senders.get(slot as usize)?.as_ref()?;
        Some((out.connection.acknowledged(), out.connection.cwnd()))
    }

    /// A datagram was sent beside the connections.
    pub(crate) fn count_datagram(&mut self) {
        self.counters.data += 1;
    }

    /// What a scheme's connections share; the first scheme's for a scheme there is none of.
    fn context<'a>(params: &'a Params, contexts: &'a [FlowContext], scheme: u16) -> Context<'a> {
        Context { tcp: params, cc: contexts.get(usize::from(scheme)).unwrap_or(&contexts[0]) }
    }

    /// Queues all that a sender has to send now.
    fn drain_sender(&mut self, now: Time, slot: u32) {
        let Some(out) = &mut self.senders[slot as usize] else { return };
        let cx = Self::context(&self.params, &self.contexts, out.scheme);
        loop {
            let again = out.connection.counters().retransmits;
            let Some(segment) = out.connection.poll_transmit(cx, now) else { break };
            let again = if out.connection.counters().retransmits > again { AGAIN } else { 0 };
            let kind = match segment.len {
                0 if segment.flags.has(Flags::PROBE) => Kind::Probe,
                0 => Kind::Ack,
                _ => Kind::Data,
            };
            self.counters.probes += u64::from(kind == Kind::Probe);
            self.counters.data += u64::from(segment.len > 0);
            self.counters.again += u64::from(again != 0);
            let header = frame(&self.sizes, kind, again, slot, out.peer, out.bytes, &segment);
            out.queued = self.queue.push(header, pack(&segment));
        }
        if let Some(at) = out.connection.next_timeout() {
            self.timers.arm(slot * 2, at);
        }
    }

    /// Queues all that a receiver has to send now.
    fn drain_receiver(&mut self, now: Time, slot: u32) {
        let Some(inbound) = &mut self.receivers[slot as usize] else { return };
        let cx = Self::context(&self.params, &self.contexts, 0);
        while let Some(segment) = inbound.connection.poll_transmit(cx, now) {
            let reply = segment.flags.has(Flags::PROBE_REPLY);
            let kind = if reply { Kind::ProbeAck } else { Kind::Ack };
            let header = frame(&self.sizes, kind, TO_SENDER, slot, inbound.peer, 0, &segment);
            inbound.queued = self.queue.push(header, if reply { inbound.collected } else { pack(&segment) });
        }
        if let Some(at) = inbound.connection.next_timeout() {
            self.timers.arm(slot * 2 + 1, at);
        }
    }

    /// A message is over for its sender.
    fn end_sender(&mut self, slot: u32) {
        let Some(out) = self.senders[slot as usize].take() else { return };
        self.counters.add(&counted(&out.connection));
        if self.params.host_cache
            && let Some(newer) = out.connection.cache_entry(Self::context(&self.params, &self.contexts, out.scheme))
        {
            self.cache.entry(out.peer).and_modify(|e| *e = e.merged(newer)).or_insert(newer);
        }
        self.discard(slot, false, out.queued);
    }

    /// Forgets what the queue holds of a sender's slot, or a receiver's, `queued` packets after its first. Mostly that is nothing, and then the
    /// others, which may be very many, are not looked at.
    fn discard(&mut self, slot: u32, from_receiver: bool, queued: u64) {
        if queued <= self.queue.first {
            return;
        }
        self.queue.packets.retain(|(h, _)| h.flow != slot || h.is(TO_SENDER) != from_receiver);
        for (number, (header, _)) in (self.queue.first + 1..).zip(&self.queue.packets) {
            let i = header.flow as usize;
            if header.is(TO_SENDER) {
                self.receivers[i].iter_mut().for_each(|inbound| inbound.queued = number);
            } else {
                self.senders[i].iter_mut().for_each(|out| out.queued = number);
            }
        }
    }

    fn at_sender(&mut self, now: Time, slot: u32, segment: &Segment, int: &[IntHop]) -> Outcome {
        let Some(Some(out)) = self.senders.get_mut(slot as usize) else { return Outcome::default() };
        let cx = Self::context(&self.params, &self.contexts, out.scheme);
        if out.connection.state() == State::SynSent {
            out.connection.recall(self.cache.get(&out.peer).copied());
        }
        let said = out.connection.on_segment(cx, now, segment, int);
        if said.acked > 0 && out.connection.acknowledged() >= out.bytes {
            self.end_sender(slot);
            return Outcome { fresh: 0, end: End::Finished };
        }
        self.drain_sender(now, slot);
        // Progress of the sender: bytes acknowledged.
        Outcome { fresh: said.acked.min(u64::from(u32::MAX)) as u32, end: End::None }
    }

    fn at_receiver(&mut self, now: Time, header: &Header, segment: &Segment, extra: &Extra) -> Outcome {
        let i = header.flow as usize;
        if self.receivers.len() <= i {
            self.receivers.resize_with(i + 1, || None);
        }
        let cx = Self::context(&self.params, &self.contexts, 0);
        let inbound = self.receivers[i].get_or_insert_with(|| Inbound {
            connection: Connection::listen(cx),
            peer: header.peer,
            delivered: false,
            queued: 0,
            collected: Extra::default(),
        });
        if header.kind == Kind::Probe {
            inbound.collected = *extra;
        }
        let said = inbound.connection.on_segment(cx, now, segment, &[]);
        let done = header.kind == Kind::Data && inbound.connection.delivered() >= header.ext;
        let end = if done && !inbound.delivered { End::Delivered } else { End::None };
        if end == End::Delivered {
            // The last segment stands for one with FIN.
            inbound.connection.acknowledge_now();
        }
        inbound.delivered |= done;
        self.counters.duplicates += u64::from(segment.len > 0 && said.delivered == 0);
        self.drain_receiver(now, header.flow);
        Outcome { fresh: said.delivered.min(u64::from(u32::MAX)) as u32, end }
    }
}

/// What a sender's connection has counted.
fn counted(connection: &Connection) -> Counters {
    let c = connection.counters();
    Counters {
        timeouts: c.timeouts,
        fast_retransmits: c.fast_retransmits,
        ignored_duplicates: c.ignored_duplicates,
        ecn_reductions: c.ecn_reductions,
        inherited: u64::from(connection.inherits()),
        largest_window: c.largest_window,
        longest_rtt: c.longest_rtt,
        lifted: c.lifted,
        ..Counters::default()
    }
}

/// The frame of a segment.
fn frame(sizes: &Sizes, kind: Kind, flags: u8, flow: u32, peer: u32, bytes: u64, segment: &Segment) -> Header {
    let telemetry = if matches!(kind, Kind::Probe | Kind::ProbeAck) { hpcc::HEADER_BYTES } else { 0 };
    let size = (segment.len + sizes.header + telemetry).clamp(sizes.control, u32::from(u16::MAX)) as u16;
    Header { kind, priority: 0, flags, size, flow, peer, seq: segment.seq, ext: bytes }
}

/// What of a segment a header does not say.
fn pack(segment: &Segment) -> Extra {
    let sack = segment.sack.as_slice();
    let times = segment.timestamps.unwrap_or_default();
    let mut extra = [
        u64::from(segment.ack) | u64::from(segment.window) << 32,
        u64::from(segment.len)
            | u64::from(segment.flags.0) << 32
            | (sack.len() as u64) << 48
            | u64::from(segment.timestamps.is_some()) << 56,
        u64::from(times.value) | u64::from(times.echo) << 32,
        0,
        0,
        0,
    ];
    for (word, (start, end)) in extra[3..].iter_mut().zip(sack) {
        *word = u64::from(*start) | u64::from(*end) << 32;
    }
    extra
}

/// The segment of a packet.
fn unpack(header: &Header, extra: &Extra) -> Segment {
    let halves = |word: u64| (word as u32, (word >> 32) as u32);
    let (ack, window) = halves(extra[0]);
    let (len, more) = halves(extra[1]);
    let mut sack = SackBlocks::default();
    for word in extra[3..].iter().take((more >> 16 & 0xff) as usize) {
        let (start, end) = halves(*word);
        sack.push(u64::from(start), u64::from(end));
    }
    let (value, echo) = halves(extra[2]);
    Segment {
        seq: header.seq,
        ack,
        len,
        window,
        flags: Flags(more as u16) | Flags::CE.when(header.is(CE)),
        timestamps: (more >> 24 != 0).then_some(Timestamps { value, echo }),
        sack,
    }
}

/// Whether a segment understands congestion marks, by the second word of what a packet carries of it ([`Extra`]).
pub fn is_ect(second: u64) -> bool {
    Flags((second >> 32) as u16).has(Flags::ECT)
}

/// Whether a segment opens a connection (SYN, or the answer to one), by the same word.
pub fn is_opening(second: u64) -> bool {
    Flags((second >> 32) as u16).has(Flags::SYN)
}

impl Endpoint for Host {
    const EXTRA: bool = true;

    fn start(&mut self, now: Time, slot: u32, message: Message) {
        let i = slot as usize;
        if self.senders.len() <= i {
            self.senders.resize_with(i + 1, || None);
        }
        // A connection without any byte would never be over.
        let bytes = message.bytes.max(1);
        let cx = Self::context(&self.params, &self.contexts, message.scheme);
        let mut connection = Connection::connect(cx);
        if bytes != STREAM {
            connection.write(bytes);
        }
        self.senders[i] = Some(Outbound { connection, scheme: message.scheme, peer: message.peer, bytes, queued: 0 });
        self.drain_sender(now, slot);
    }

    fn append(&mut self, now: Time, slot: u32, bytes: u64) {
        if let Some(Some(out)) = self.senders.get_mut(slot as usize) {
            out.connection.write(bytes);
            self.drain_sender(now, slot);
        }
    }

    fn on_packet(&mut self, now: Time, header: &Header) -> Outcome {
        self.on_packet_with(now, header, &Extra::default())
    }

    fn on_packet_with(&mut self, now: Time, header: &Header, extra: &Extra) -> Outcome {
        if header.flow >= message::MAX_SLOTS {
            return Outcome::default();
        }
        match header.kind {
            Kind::Probe => {
                let segment = Segment { seq: header.seq, flags: Flags::PROBE, ..Segment::default() };
                self.at_receiver(now, header, &segment, extra)
            }
            Kind::ProbeAck => {
                let segment = Segment { seq: header.seq, flags: Flags::PROBE_REPLY, ..Segment::default() };
                let hops = (extra[MAX_HOPS] as usize).min(MAX_HOPS);
                let int: [IntHop; MAX_HOPS] = std::array::from_fn(|i| IntHop(extra[i]));
                self.at_sender(now, header.flow, &segment, &int[..hops])
            }
            _ if header.is(TO_SENDER) => self.at_sender(now, header.flow, &unpack(header, extra), &[]),
            _ => self.at_receiver(now, header, &unpack(header, extra), extra),
        }
    }

    fn forget(&mut self, slot: u32) {
        if let Some(inbound) = self.receivers.get_mut(slot as usize).and_then(Option::take) {
            self.discard(slot, true, inbound.queued);
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Header> {
        let (header, extra) = self.queue.pop()?;
        self.extra = extra;
        Some(header)
    }

    #[inline]
    fn has_more(&self) -> bool {
        !self.queue.packets.is_empty()
    }

    fn congested(&mut self, now: Time, slot: u32) {
        if let Some(Some(out)) = self.senders.get_mut(slot as usize) {
            let cx = Self::context(&self.params, &self.contexts, out.scheme);
            out.connection.on_congestion(cx, now);
            self.drain_sender(now, slot);
        }
    }

    fn extra(&self) -> Extra {
        self.extra
    }

    fn next_timeout(&self) -> Time {
        self.timers.next()
    }

    fn on_timeout(&mut self, now: Time) {
        while let Some(number) = self.timers.pop_due(now) {
            let slot = number / 2;
            if number.is_multiple_of(2) {
                let Some(Some(out)) = self.senders.get_mut(slot as usize) else { continue };
                let cx = Self::context(&self.params, &self.contexts, out.scheme);
                if out.connection.next_timeout().is_some_and(|at| at <= now) {
                    out.connection.on_timeout(cx, now);
                }
                if out.connection.state() == State::Failed {
                    self.end_sender(slot);
                    self.failed.push(slot);
                } else {
                    self.drain_sender(now, slot);
                }
            } else {
                let Some(Some(inbound)) = self.receivers.get_mut(slot as usize) else { continue };
                let cx = Self::context(&self.params, &self.contexts, 0);
                if inbound.connection.next_timeout().is_some_and(|at| at <= now) {
                    let before = inbound.connection.counters();
                    inbound.connection.on_timeout(cx, now);
                    let after = inbound.connection.counters();
                    // Of the answer to a SYN: who receives has nothing else to repeat.
                    self.counters.timeouts += after.timeouts - before.timeouts;
                    self.counters.late_acks += after.late_acks - before.late_acks;
                }
                self.drain_receiver(now, slot);
            }
        }
    }

    fn take_failed(&mut self) -> Option<u32> {
        self.failed.pop()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, S};
    use proptest::prelude::*;

    /// What a host has to send goes to the other at once, and timers run, until nothing is due before `end`.
    fn run(hosts: &mut [Host; 2], from: Time, end: Time, lost: impl Fn(usize, u64) -> bool) {
        let (mut now, mut data) = (from, 0);
        while now <= end {
            let mut moved = false;
            for i in [0, 1] {
                while let Some(header) = hosts[i].poll_transmit(now) {
                    moved = true;
                    let extra = hosts[i].extra();
                    data += u64::from(header.kind == Kind::Data);
                    if header.kind != Kind::Data || !lost(i, data) {
                        // A microsecond a packet: there are round-trip times.
                        now = now + Duration::from_us(1);
                        hosts[1 - i].on_packet_with(now, &Header { peer: i as u32, ..header }, &extra);
                    }
                }
            }
            let next = hosts[0].next_timeout().min(hosts[1].next_timeout());
            if !moved {
                if next > end {
                    return;
                }
                now = now.max(next);
                for h in hosts.iter_mut() {
                    h.on_timeout(now);
                }
            }
        }
    }

    /// Only FreeBSD's stack begins in congestion avoidance because an earlier connection lost something: with the others a flow
    /// that is alone must not depend on what ended long ago (RFC 5681, section 3.1).
    #[test]
    fn only_the_cache_remembers_earlier_connections() {
        let off = Params { host_cache: false, ..Params::freebsd() };
        for (params, remembers) in
            [(Params::rfc(), false), (Params::user_space(), false), (off, false), (Params::freebsd(), true)]
        {
            let contexts: Arc<[FlowContext]> = Arc::new([super::super::testing::new_reno(1000)]);
            let host = || Host::new(Arc::new(params.clone()), Arc::clone(&contexts), Sizes::ETHERNET);
            let mut hosts = [host(), host()];
            let message = |bytes| Message { peer: 1, bytes, id: 0, scheme: 0 };
            hosts[0].start(Time(0), 0, message(100_000));
            let second = Time(10 * S);
            run(&mut hosts, Time(0), second, |from, n| from == 0 && n == 20);
            assert!(hosts[0].senders[0].is_none(), "the first is over");
            hosts[0].start(second, 1, message(1_000_000));
            run(&mut hosts, second, second + Duration::from_us(20), |_, _| false);
            let ssthresh = hosts[0].senders[1].as_ref().map(|out| out.connection.ssthresh());
            assert_eq!(ssthresh.is_some_and(|bytes| bytes < 100_000), remembers, "{ssthresh:?}");
        }
    }

    /// Flows are connections that close: a last segment that waited for the timer of delayed ACKs would make a flow of one or three
    /// segments take 10 or 40 ms more, and leave that as a round-trip time to all after it.
    #[test]
    fn the_last_segment_is_acknowledged_at_once() {
        for params in [Params::rfc(), Params::freebsd(), Params::user_space()] {
            for bytes in [1, 1000, 2001, 5000] {
                let contexts: Arc<[FlowContext]> = Arc::new([super::super::testing::new_reno(1000)]);
                let host = || Host::new(Arc::new(params.clone()), Arc::clone(&contexts), Sizes::ETHERNET);
                let mut hosts = [host(), host()];
                hosts[0].start(Time(0), 0, Message { peer: 1, bytes, id: 0, scheme: 0 });
                run(&mut hosts, Time(0), Time(0) + Duration::from_us(30), |_, _| false);
                assert!(hosts[0].senders[0].is_none(), "{bytes} bytes are not acknowledged");
            }
        }
    }

    /// By slot, and whether it is a receiver's: the number after that of a connection's last packet in the queue.
    type Numbers = BTreeMap<(u32, bool), u64>;

    /// By a host's queue, and by its connections.
    fn numbers(host: &Host) -> (Numbers, Numbers) {
        let packets = (host.queue.first + 1..).zip(&host.queue.packets);
        let seen = packets.map(|(number, (h, _))| ((h.flow, h.is(TO_SENDER)), number)).collect();
        let out = (0..).zip(&host.senders).filter_map(|(i, out)| Some(((i, false), out.as_ref()?.queued)));
        let inbound = (0..).zip(&host.receivers).filter_map(|(i, inbound)| Some(((i, true), inbound.as_ref()?.queued)));
        (seen, out.chain(inbound).filter(|(_, queued)| *queued > host.queue.first).collect())
    }

    proptest! {
        /// What has ended leaves nothing in its host's queue, where its number soon belongs to another connection, and takes nothing of others with
        /// it: hosts send late, lose packets and forget what they received whenever it is over.
        #[test]
        fn the_queue_holds_what_connections_under_way_have_sent(
            sizes in prop::collection::vec(1u64..20_000, 1..12), steps in prop::collection::vec((0usize..2, 0u8..8, any::<bool>()), 1..400),
        ) {
            let contexts: Arc<[FlowContext]> = Arc::new([super::super::testing::new_reno(1000)]);
            let host = || Host::new(Arc::new(Params::user_space()), Arc::clone(&contexts), Sizes::ETHERNET);
            let mut hosts = [host(), host()];
            let mut now = Time(0);
            for (slot, bytes) in (0..).zip(&sizes) {
                hosts[0].start(now, slot, Message { peer: 1, bytes: *bytes, id: 0, scheme: 0 });
            }
            for (i, what, lost) in steps {
                now = now + Duration::from_us(1);
                match what {
                    0 => {
                        now = now.max(hosts[i].next_timeout().min(now + Duration::from_us(50_000)));
                        hosts[i].on_timeout(now);
                    }
                    1 => {
                        let over = (0..).zip(&hosts[1].receivers).find(|(_, r)| r.as_ref().is_some_and(|r| r.delivered));
                        if let Some((slot, _)) = over {
                            hosts[1].forget(slot);
                        }
                    }
                    _ => {
                        if let Some(header) = hosts[i].poll_transmit(now) {
                            let extra = hosts[i].extra();
                            if !(lost && what == 2) {
                                hosts[1 - i].on_packet_with(now, &Header { peer: i as u32, ..header }, &extra);
                            }
                        }
                    }
                }
                for host in &hosts {
                    let (seen, said) = numbers(host);
                    prop_assert_eq!(seen, said);
                }
            }
        }

        /// What a connection says is what the other end's connection hears.
        #[test]
        fn segments_survive_the_packet(
            seq: u32, ack: u32, window: u32, len in 0u32..9000, flags in 0u16..2048,
            times: Option<(u32, u32)>, blocks in prop::collection::vec((any::<u32>(), any::<u32>()), 0..4),
        ) {
            let mut sack = SackBlocks::default();
            for (start, end) in &blocks {
                sack.push(u64::from(*start), u64::from(*end));
            }
            let timestamps = times.map(|(value, echo)| Timestamps { value, echo });
            let s = Segment { seq, ack, len, window, flags: Flags(flags), timestamps, sack };
            let header = frame(&Sizes::ETHERNET, Kind::Data, 0, 1, 2, 3, &s);
            prop_assert_eq!(unpack(&header, &pack(&s)), s);
            prop_assert_eq!(is_ect(pack(&s)[1]), s.flags.has(Flags::ECT));
            prop_assert_eq!(is_opening(pack(&s)[1]), s.flags.has(Flags::SYN));
            let marked = unpack(&Header { flags: CE, ..header }, &pack(&s));
            prop_assert!(marked.flags.has(Flags::CE));
        }
    }
}

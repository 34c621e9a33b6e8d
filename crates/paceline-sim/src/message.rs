//! Host-wide message transports (TCP, Homa, NDP, ExpressPass) at the NICs.
//!
//! A message is a flow whose sending and receiving state lives in its hosts' endpoints (`paceline_proto::transport::message`)
//! instead of [`crate::flow::Flow`] and [`crate::flow::Receiving`]. An endpoint knows messages by dense numbers of its own,
//! *places*; packets name the flow; this file translates. A NIC asks its endpoint for the next packet whenever its
//! transmitter is idle; what waits at a host waits in its endpoint, but for packets whose class is paused.
//!
//! What a header says beyond the packet's own fields travels in the packet's telemetry words: two, and six more for TCP.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use paceline_proto::cc::{FlowContext, Params};
use paceline_proto::rng::hash3;
use paceline_proto::telemetry::{IntHop, MAX_HOPS};
use paceline_proto::transport::message::{
    self as proto, AGAIN, Counters, End, Endpoint, Extra, Header, Outcome, TO_SENDER,
};
use paceline_proto::transport::{express_pass, homa, ndp, tcp, udp};
use paceline_proto::units::{BitsPerSec, MS, Time};

use crate::error::InputError;
use crate::failures::Carried;
use crate::flow::{FlowInfo, Receiving, SLOT_BITS, SLOT_MASK};
use crate::graph::NodeId;
use crate::net::parts::Note;
use crate::net::{Net, Schedule};
use crate::packet::{CE, Handle, INLINE_HOPS, INT, Kind, LONG, NONE, Packet, UNSCHEDULED};
use crate::record::Status;
use crate::routing::Address;
use crate::routing::spraying::Turn;
use crate::scenario::{PathChoice, Scenario, Scheme, Transport};

/// How long a flow's slot stays unused after its end, beside the lookahead, ps: packets of it may still come.
pub(crate) const REST: u64 = MS;
/// Never.
const NEVER: u64 = u64::MAX;
/// Timeouts in a row that may pass before a run counts as standing still.
const PATIENCE: u64 = 16;

/// The endpoints of all hosts.
enum Endpoints {
    Homa(Vec<homa::Host>),
    Ndp(Vec<ndp::Host>),
    ExpressPass(Vec<express_pass::Host>),
    /// And UDP.
    Tcp(Vec<udp::Host>),
}

/// Calls the endpoint of a NIC, whatever transport it speaks.
macro_rules! endpoint {
    ($endpoints:expr, $nic:expr, $host:ident => $call:expr) => {
        match $endpoints {
            Endpoints::Homa(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
            Endpoints::Ndp(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
            Endpoints::ExpressPass(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
            Endpoints::Tcp(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
        }
    };
}

/// A message at its sender's NIC.
#[derive(Clone, Copy, Debug)]
struct Outbound {
    /// The flow's slot.
    slot: u32,
    /// NIC of the receiver.
    peer: u32,
    /// Packets sent; numbers the draws of sprayed packets.
    sent: u32,
}

/// What a receiver's NIC must know before the first packet comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// Its place at the endpoint; [`NONE`] before the first packet.
    place: u32,
    /// NICs of the sender and of the receiver.
    from: u32,
    to: u32,
    /// The message's number.
    id: u64,
    /// Class of its flow.
    class: u8,
    /// Port numbers of its flow at sender and receiver.
    ports: [u16; 2],
}

/// A message at its receiver's NIC.
#[derive(Clone, Copy, Debug)]
struct Inbound {
    /// Flow field of its packets.
    flow: u32,
    /// NIC of the sender.
    peer: u32,
    id: u64,
    /// Class of the flow, and its port numbers at receiver and sender.
    class: u8,
    ports: [u16; 2],
    /// Way back.
    path: [u16; INLINE_HOPS],
    long: bool,
    /// Packets sent back.
    sent: u32,
}

/// The places of one NIC's endpoint.
#[derive(Clone, Debug, Default)]
struct Places {
    sending: Vec<Outbound>,
    free: Vec<u32>,
    receiving: Vec<Inbound>,
    /// Receivers' places whose messages are finished, and since when; the oldest first, in whatever order they are told of.
    resting: BinaryHeap<Reverse<(u64, u32)>>,
}

/// The message transport of a run.
pub(crate) struct Messages {
    endpoints: Endpoints,
    /// By NIC.
    places: Vec<Places>,
    /// By flow number.
    incoming: Vec<Incoming>,
    /// How long a receiver's place rests before another message gets it: by then nothing of the old one is under way.
    rest: u64,
    /// Longest timeout of the transport.
    patience: u64,
    spray: bool,
    /// Headers do not say all, and classes are the flows'.
    is_tcp: bool,
    /// What the hosts of other parts have counted.
    others: Counters,
}

impl Messages {
    /// Whether the transport is TCP, or UDP beside it.
    pub(crate) fn is_tcp(&self) -> bool {
        self.is_tcp
    }

    /// The endpoints of a scenario whose scheme is a message transport. `rates`: of the NICs' links; `contexts`: of each
    /// scheme's flows; `key`: of their random draws.
    pub(crate) fn new(
        scenario: &Scenario,
        rates: &[BitsPerSec],
        contexts: Arc<[FlowContext]>,
        key: u64,
    ) -> Result<Option<Box<Self>>, InputError> {
        let nics = rates.len();
        let scheme = scenario.schemes.iter().find(|s| s.transport != Transport::Rdma);
        let (endpoints, patience) = match scheme.map(|s| &s.transport) {
            None | Some(Transport::Rdma) => return Ok(None),
            Some(Transport::Homa(p)) => (
                Endpoints::Homa(vec![homa::Host::new(*p); nics]),
                p.resend_timeout.0.max(p.sender_timeout.0).max(p.done_timeout.0),
            ),
            Some(Transport::Ndp(p)) => {
                (Endpoints::Ndp((0..nics as u64).map(|nic| ndp::Host::new(*p, hash3(key, nic, 0))).collect()), p.rto.0)
            }
            Some(Transport::Tcp(params) | Transport::Udp(params)) => {
                let f = &scenario.framing;
                let control = f.ack_header.max(f.min_frame);
                let sizes = proto::Sizes { payload: f.payload, header: f.header, control, full_last: false };
                let tcp = tcp::Host::new(Arc::clone(params), contexts, sizes);
                let host = |line: &BitsPerSec| {
                    udp::Host::new(tcp.clone(), datagram_rates(scenario, *line), sizes, f.wire_overhead)
                };
                let slowest = rates.iter().flat_map(|line| datagram_rates(scenario, *line).to_vec()).flatten().min();
                let frame = u64::from(sizes.full() + f.wire_overhead);
                let gap = slowest.map_or(0, |rate| rate.serialisation(frame).0);
                (Endpoints::Tcp(rates.iter().map(host).collect()), params.rto.max.0.max(gap))
            }
            Some(Transport::ExpressPass { params, shaper }) => {
                let host = |(nic, rate): (usize, &BitsPerSec)| {
                    express_pass::Host::new(*params, *shaper, *rate, hash3(key, nic as u64, 0)).map_err(|e| {
                        let field = format!("schemes.{}.{}", scheme.map_or("", |s| &s.name), e.field);
                        InputError::new("ExpressPass cannot work so").field(field).value(e.value).allowed(e.allowed)
                    })
                };
                let hosts = rates.iter().enumerate().map(host).collect::<Result<_, _>>()?;
                let p = params;
                let patience = p.retransmit_timeout.max(p.credit_stop_timeout).max(p.credit_timeout);
                (Endpoints::ExpressPass(hosts), patience.max(p.rto_scheduled).max(p.rto_unscheduled).0)
            }
        };
        Ok(Some(Box::new(Self {
            places: vec![Places::default(); nics],
            incoming: Vec::new(),
            rest: REST + crate::engine::windowed::lookahead(scenario),
            patience: patience.saturating_mul(PATIENCE),
            is_tcp: matches!(endpoints, Endpoints::Tcp(_)),
            endpoints,
            spray: scenario.routing.choice == PathChoice::Spray,
            others: Counters::default(),
        })))
    }

    /// Longest time in which a run without progress may still help itself, ps.
    pub(crate) fn patience(&self) -> u64 {
        self.patience
    }

    /// How long a flow's slot stays unused after its end, ps.
    pub(crate) fn rest(&self) -> u64 {
        self.rest
    }

    /// What all hosts have counted.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = self.others;
        match &self.endpoints {
            Endpoints::Homa(hosts) => hosts.iter().for_each(|h| sum.add(h.counters())),
            Endpoints::Ndp(hosts) => hosts.iter().for_each(|h| sum.add(h.counters())),
            Endpoints::ExpressPass(hosts) => hosts.iter().for_each(|h| sum.add(h.counters())),
            Endpoints::Tcp(hosts) => hosts.iter().for_each(|h| {
                sum.add(h.counters());
                sum.add(&h.tcp().under_way());
            }),
        }
        sum
    }

    /// Bytes acknowledged and window of the flow at a sender's place, over TCP.
    pub(crate) fn progress(&self, nic: u32, place: u32) -> Option<(u64, u64)> {
        let Endpoints::Tcp(hosts) = &self.endpoints else { return None };
        hosts[nic as usize].tcp().progress(place)
    }

    /// Takes over what another part has counted.
    pub(crate) fn absorb(&mut self, other: &Messages) {
        self.others.add(&other.counters());
    }

    /// A flow has started: its receiver's NIC may hear of it.
    pub(crate) fn open(&mut self, number: u32, incoming: Incoming) {
        let i = number as usize;
        if self.incoming.len() <= i {
            let nobody = Incoming { place: NONE, from: NONE, to: NONE, id: 0, class: 0, ports: [0; 2] };
            self.incoming.resize(i + 1, nobody);
        }
        self.incoming[i] = incoming;
    }

    /// What a flow's receiver was told.
    pub(crate) fn opened(&self, number: u32) -> Incoming {
        self.incoming[number as usize]
    }

    /// A message has ended at its sender at `now`: its receiver's place may rest.
    pub(crate) fn finished(&mut self, flow: u32, now: u64) {
        let Incoming { place, to, .. } = self.incoming[(flow & SLOT_MASK) as usize];
        if place != NONE {
            let places = &mut self.places[to as usize];
            if places.receiving[place as usize].flow == flow {
                places.resting.push(Reverse((now, place)));
            }
        }
    }

    /// The place of a message at its receiver's NIC, given at its first packet.
    fn place(&mut self, nic: u32, flow: u32, receiving: &Receiving, now: u64) -> u32 {
        let number = flow & SLOT_MASK;
        let Incoming { place, from, id, class, ports: [sport, dport], .. } = self.incoming[number as usize];
        if place != NONE {
            return place;
        }
        let places = &mut self.places[nic as usize];
        let long = usize::from(receiving.switches) > INLINE_HOPS;
        let ports = [dport, sport];
        let inbound = Inbound { flow, peer: from, id, class, ports, path: receiving.path, long, sent: 0 };
        let rested = places.resting.peek().filter(|Reverse((since, _))| since + self.rest <= now);
        let rested = rested.map(|Reverse((_, place))| *place);
        let place = rested.unwrap_or(places.receiving.len() as u32);
        if rested.is_some() {
            places.resting.pop();
            places.receiving[place as usize] = inbound;
            endpoint!(&mut self.endpoints, nic, host => host.forget(place));
        } else {
            places.receiving.push(inbound);
        }
        self.incoming[number as usize].place = place;
        place
    }
}

/// By scheme, the rate of a flow's datagrams at a NIC of this rate; `None` for schemes over TCP.
fn datagram_rates(scenario: &Scenario, line: BitsPerSec) -> Arc<[Option<BitsPerSec>]> {
    let rate = |scheme: &Scheme| match (&scheme.transport, &scheme.params) {
        (Transport::Udp(_), Params::Fixed(p)) if p.rate > 0 => Some(BitsPerSec(p.rate.min(line.0))),
        (Transport::Udp(_), _) => Some(line),
        _ => None,
    };
    scenario.schemes.iter().map(rate).collect()
}

impl Net {
    /// The two ends of a message, and what its receiver's NIC must know.
    pub(crate) fn incoming(&self, src: Address, dst: Address, flow: &FlowInfo) -> Incoming {
        let nic = |a: Address| self.ports[self.graph.port_index(a.host, a.nic)].nic;
        let ports = [flow.sport, flow.spec.dport];
        Incoming { place: NONE, from: nic(src), to: nic(dst), id: flow.id, class: flow.spec.class, ports }
    }

    /// The address of a NIC.
    pub(crate) fn address_of(&self, nic: u32) -> Address {
        let port = self.nics[nic as usize].port;
        let host: NodeId = self.ports[port as usize].node;
        Address { host, nic: (port - self.first[host as usize]) as u16 }
    }

    /// Hands a started flow to the endpoint of its NIC.
    pub(crate) fn add_message(&mut self, slot: u32) -> u32 {
        let nic = self.ports[self.flows[slot as usize].nic as usize].nic;
        let number = self.number(slot);
        let Some(m) = &mut self.messages else { return nic };
        let info = &self.infos[slot as usize];
        let peer = m.opened(number).to;
        let places = &mut m.places[nic as usize];
        let outbound = Outbound { slot, peer, sent: 0 };
        let free = places.free.pop();
        let place = free.unwrap_or(places.sending.len() as u32);
        if free.is_some() {
            places.sending[place as usize] = outbound;
        } else {
            places.sending.push(outbound);
        }
        self.flows[slot as usize].place = place;
        let bytes = if info.spec.stream == 0 { info.spec.bytes } else { proto::STREAM };
        let message = proto::Message { peer, bytes, id: info.id, scheme: info.spec.scheme };
        endpoint!(&mut m.endpoints, nic, host => host.start(info.spec.start, place, message));
        self.message_changed(nic, self.infos[slot as usize].spec.start.0);
        self.begin_stream(nic, slot);
        nic
    }

    /// Something happened at a NIC's endpoint: it may want to send, and to be called.
    fn message_changed(&mut self, nic: u32, now: u64) {
        self.list_timer(nic);
        if let Some(adapters) = &mut self.adapters {
            adapters.poll(nic, now);
            self.nics[nic as usize].next_at = 0;
            return;
        }
        self.may_send(nic, 0);
    }

    /// The NIC's endpoint, or its clients, may want to be called at another time.
    fn list_timer(&mut self, nic: u32) {
        let queries = self.queries_due(nic);
        if let Some(m) = &mut self.messages {
            let endpoint = endpoint!(&mut m.endpoints, nic, host => host.next_timeout()).0;
            self.nics[nic as usize].timer_at = endpoint.min(queries);
        }
    }

    /// A message of `bytes` follows on a stream.
    pub(crate) fn append_message(&mut self, nic: u32, place: u32, bytes: u64, now: u64) {
        if let Some(m) = &mut self.messages {
            endpoint!(&mut m.endpoints, nic, host => host.append(Time(now), place, bytes));
        }
        self.message_changed(nic, now);
    }

    /// The timeouts due at `now`.
    pub(crate) fn message_timeout(&mut self, nic: u32, now: u64) {
        self.begin_at(nic, now);
        self.issue_due(nic, now);
        if let Some(m) = &mut self.messages {
            endpoint!(&mut m.endpoints, nic, host => host.on_timeout(Time(now)));
            while let Some(place) = self.failed_message(nic) {
                let slot = self.messages.as_ref().map_or(0, |m| m.places[nic as usize].sending[place as usize].slot);
                let flow = self.number(slot) | u32::from(self.flows[slot as usize].generation) << SLOT_BITS;
                self.end_message(nic, slot, flow, place, Status::Failed, now);
            }
        }
        self.message_changed(nic, now);
    }

    /// A sender's place whose message has just been given up.
    fn failed_message(&mut self, nic: u32) -> Option<u32> {
        let m = self.messages.as_mut()?;
        endpoint!(&mut m.endpoints, nic, host => host.take_failed())
    }

    /// Lets the NIC send everything that goes before `end`, as `Net::nic_advance` does. Timeouts that fall between are
    /// called; one at `end` itself is the engine's.
    pub(crate) fn message_work<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        if self.adapters.is_some() {
            return self.adapter_work(nic, end, inclusive, s);
        }
        let port = self.nics[nic as usize].port;
        loop {
            let free = self.ports[port as usize].free;
            let timer = self.nics[nic as usize].timer_at;
            if timer < free.min(end) {
                self.message_timeout(nic, timer);
                continue;
            }
            if free > end || (free == end && !inclusive) {
                self.nics[nic as usize].next_at = free;
                return free;
            }
            if self.message_send(nic, port, free, s) {
                continue;
            }
            let timer = self.nics[nic as usize].timer_at;
            if timer < end {
                self.message_timeout(nic, timer);
                continue;
            }
            self.nics[nic as usize].next_at = NEVER;
            return NEVER;
        }
    }

    /// Sends the next packet of an idle NIC. False when there is none.
    fn message_send<S: Schedule>(&mut self, nic: u32, port: u32, now: u64, s: &mut S) -> bool {
        let p = &mut self.ports[port as usize];
        if p.waiting != 0 {
            // Its class was paused when it was its turn.
            let Some(class) = p.pick() else { return false };
            let h = p.pop(self.arena.split().0, class);
            self.nic_launch(port, h, now, s);
            return true;
        }
        let Some((h, _)) = self.next_message_packet(nic, now) else { return false };
        let class = self.arena[h].class;
        let p = &mut self.ports[port as usize];
        if p.paused & !1 & (1 << class) != 0 {
            let size = self.arena[h].size;
            p.push(self.arena.split().0, h, class, size);
        } else {
            self.nic_launch(port, h, now, s);
        }
        true
    }

    /// The next packet of a NIC's endpoint, and the NIC that it is for.
    pub(crate) fn next_message_packet(&mut self, nic: u32, now: u64) -> Option<(Handle, u32)> {
        let m = self.messages.as_mut()?;
        let next = endpoint!(&mut m.endpoints, nic, host => host.poll_transmit(Time(now)));
        // Asking may have told it when to be asked again.
        self.list_timer(nic);
        let m = self.messages.as_mut()?;
        let header = next?;
        let extra = m.is_tcp.then(|| endpoint!(&mut m.endpoints, nic, host => host.extra()));
        let h = self.message_packet(nic, &header, extra);
        if header.kind == proto::Kind::Datagram && header.is(proto::LAST) {
            self.end_datagrams(nic, header.flow, now);
        }
        Some((h, header.peer))
    }

    /// The last datagram of a sender's place goes at `now`.
    fn end_datagrams(&mut self, nic: u32, place: u32, now: u64) {
        let Some(m) = &mut self.messages else { return };
        let places = &mut m.places[nic as usize];
        places.free.push(place);
        let slot = places.sending[place as usize].slot;
        self.datagrams_gone(slot, now);
    }

    /// The packet of a header.
    fn message_packet(&mut self, nic: u32, header: &Header, extra: Option<Extra>) -> Handle {
        let back = header.is(TO_SENDER);
        let mut packet = Packet {
            next: NONE,
            seq: header.seq,
            size: header.size,
            class: header.priority & 7,
            // An answer to an unscheduled packet is no burst of anybody's.
            flags: if header.kind == proto::Kind::Data && header.is(proto::UNSCHEDULED) { UNSCHEDULED } else { 0 },
            kind: match (header.kind, back) {
                (proto::Kind::Data | proto::Kind::Datagram, false) => Kind::Data,
                (_, false) => Kind::Control,
                (_, true) => Kind::Answer,
            },
            ..Packet::default()
        };
        let share = self.share.bits;
        let me = u32::from(self.share.me);
        let Some(m) = &mut self.messages else { return self.arena.alloc(packet) };
        let collects = m.is_tcp && header.kind == proto::Kind::Probe;
        if collects {
            // Switches write their records into data packets.
            packet.kind = Kind::Data;
            packet.flags |= INT;
        }
        let places = &mut m.places[nic as usize];
        let mut scheme = 0;
        let (peer, id, ports, sent) = if back {
            let inbound = &mut places.receiving[header.flow as usize];
            packet.flow = inbound.flow;
            packet.out = inbound.path;
            packet.flags |= if inbound.long { LONG } else { 0 };
            if m.is_tcp {
                packet.class = if self.ack_control_class { 0 } else { inbound.class };
            }
            inbound.sent = inbound.sent.wrapping_add(1);
            (inbound.peer, inbound.id, inbound.ports, inbound.sent)
        } else {
            let outbound = &mut places.sending[header.flow as usize];
            let flow = &self.flows[outbound.slot as usize];
            packet.flow = outbound.slot << share | me | u32::from(flow.generation) << SLOT_BITS;
            packet.out = flow.path;
            packet.flags |= flow.flags & LONG;
            if m.is_tcp {
                packet.class = flow.class;
            }
            outbound.sent = outbound.sent.wrapping_add(1);
            let info = &mut self.infos[outbound.slot as usize];
            scheme = info.spec.scheme;
            if packet.kind == Kind::Data && !collects {
                let traffic = &mut self.traffic[usize::from(scheme)];
                traffic.packets += 1;
                traffic.frame_bytes += u64::from(header.size);
                self.progress += u64::from(header.kind == proto::Kind::Datagram);
                info.datagrams.pending += u32::from(header.kind == proto::Kind::Datagram);
            }
            if packet.kind == Kind::Data {
                self.counters.data_made += 1;
                if header.is(AGAIN) {
                    info.retransmitted += 1;
                    self.counters.retransmitted += 1;
                }
            }
            (outbound.peer, info.id, [info.sport, info.spec.dport], outbound.sent)
        };
        let turn = m.spray.then(|| Turn::new(hash3(self.draws.spray, id, u64::from(back)), u64::from(sent) - 1));
        if let (Some(turn), None) = (turn, &self.failures) {
            self.spread(&mut packet, nic, peer, turn);
        }
        let h = self.arena.alloc(packet);
        if self.failures.is_some() {
            let carried = Carried::new([nic, peer].map(|nic| self.address_of(nic)), ports, id, turn);
            self.failures.iter_mut().for_each(|f| f.carry(h, carried));
        }
        let words = self.arena.int(h);
        let said = header.kind as u64 | u64::from(header.flags) << 8 | u64::from(nic) << 16;
        let said = IntHop(said | u64::from(scheme) << 48);
        if collects {
            words[0] = said;
            return h;
        }
        words[0] = IntHop(header.ext);
        words[1] = said;
        if let Some(extra) = extra {
            words[2..].iter_mut().zip(extra).for_each(|(word, e)| *word = IntHop(e));
        }
        h
    }

    /// A path for a packet from one NIC to another.
    fn spread(&mut self, packet: &mut Packet, from: u32, to: u32, mut turn: Turn) {
        let (from, to) = (self.address_of(from), self.address_of(to));
        let mut path = std::mem::take(&mut self.path);
        if self.routes.spray_path(from, to, &mut |n| turn.next(n), &mut path).is_ok() {
            Self::set_path(packet, &path[1..]);
        }
        self.path = path;
    }

    /// A packet arrives at the NIC of its message's sender or receiver.
    pub(crate) fn message_arrival(&mut self, nic: u32, h: Handle, packet: &Packet, now: u64) {
        if let Some(adapters) = &mut self.adapters {
            adapters.arrived(nic, h, now);
            self.nics[nic as usize].next_at = 0;
            return;
        }
        self.message_delivered(nic, h, packet, now);
    }

    /// Whether a packet opens a connection.
    pub(crate) fn opens_connection(&self, h: Handle) -> bool {
        // Where switches write records, the words say nothing else.
        let words = self.arena.words(h).filter(|_| self.arena[h].flags & INT == 0);
        self.messages.as_ref().is_some_and(|m| m.is_tcp) && words.is_some_and(|w| tcp::is_opening(w.0[3].0))
    }

    /// A switch has told of congestion that a packet of a flow met: its sender's window shrinks.
    pub(crate) fn congested(&mut self, nic: u32, flow: u32, now: u64) {
        let slot = (flow & SLOT_MASK) >> self.share.bits;
        let f = &self.flows[slot as usize];
        if f.alive && u32::from(f.generation) == flow >> SLOT_BITS {
            let place = f.place;
            if let Some(m) = &mut self.messages {
                endpoint!(&mut m.endpoints, nic, host => host.congested(Time(now), place));
            }
            self.message_changed(nic, now);
        }
    }

    /// The NICs of a packet's sender and receiver, where it is of a message.
    pub(crate) fn ends_of_packet(&self, packet: &Packet) -> Option<(u32, u32)> {
        let m = self.messages.as_ref()?;
        let Incoming { from, to, .. } = *m.incoming.get((packet.flow & SLOT_MASK) as usize)?;
        Some(if packet.kind.is_back() { (to, from) } else { (from, to) })
    }

    /// A packet has come to the endpoint of a NIC.
    pub(crate) fn message_delivered(&mut self, nic: u32, h: Handle, packet: &Packet, now: u64) {
        let words = *self.arena.int(h);
        let collected = packet.flags & INT != 0;
        let (ext, word) = if collected { (0, words[0].0) } else { (words[0].0, words[1].0) };
        self.arena.release(h);
        let marked = if packet.flags & CE != 0 { proto::CE } else { 0 };
        let flags = (word >> 8) as u8 | marked;
        let kind = proto::Kind::ALL.get((word & 0xff) as usize).copied().unwrap_or(proto::Kind::Data);
        if packet.kind == Kind::Data {
            self.counters.data_delivered += 1;
        }
        let back = flags & TO_SENDER != 0;
        let scheme = usize::from((word >> 48) as u16);
        if kind == proto::Kind::Datagram {
            let payload = u64::from(self.scenario.framing.payload);
            let fresh = ext.saturating_sub(u64::from(packet.seq) * payload).min(payload);
            self.traffic[scheme].delivered_bytes += fresh;
            self.progress += 1;
            self.datagram_over(packet.flow, Some(now));
            return;
        }
        let number = packet.flow & SLOT_MASK;
        let generation = packet.flow >> SLOT_BITS;
        let slot = number >> self.share.bits;
        let Some(m) = &mut self.messages else { return };
        let is_tcp = m.is_tcp;
        let (flow, peer) = if back {
            let f = &self.flows[slot as usize];
            if !f.alive || u32::from(f.generation) != generation {
                return;
            }
            (f.place, m.places[nic as usize].sending[f.place as usize].peer)
        } else {
            let receiving = &self.receiving[number as usize];
            if u32::from(receiving.generation) != generation {
                return;
            }
            let place = m.place(nic, packet.flow, receiving, now);
            let inbound = &m.places[nic as usize].receiving[place as usize];
            if inbound.flow != packet.flow {
                return;
            }
            (place, inbound.peer)
        };
        let (priority, size, seq) = (packet.class, packet.size, packet.seq);
        let header = Header { kind, priority, flags, size, flow, peer, seq, ext };
        let Outcome { fresh, end } = if m.is_tcp {
            let extra = if collected {
                // One record per switch, and how many there are.
                std::array::from_fn(|i| if i < MAX_HOPS { words[1 + i].0 } else { u64::from(packet.hop) })
            } else {
                std::array::from_fn(|i| words[2 + i].0)
            };
            endpoint!(&mut m.endpoints, nic, host => host.on_packet_with(Time(now), &header, &extra))
        } else {
            endpoint!(&mut m.endpoints, nic, host => host.on_packet(Time(now), &header))
        };
        self.progress += u64::from(fresh > 0);
        if !back && is_tcp {
            self.traffic[scheme].delivered_bytes += u64::from(fresh);
        }
        if fresh > 0 && self.streams.is_some() {
            self.stream_moved(number, slot, back, fresh, now);
        }
        match end {
            End::None => {}
            End::Delivered => {
                let state = &mut self.receiving[number as usize];
                state.done_at = now;
                if self.programs.is_some() {
                    self.program_flow_arrived(number, now);
                } else if self.share.bits != 0 {
                    self.announce_done(number, generation as u8, now);
                }
            }
            End::Finished => {
                self.progress += 1;
                self.end_message(nic, slot, packet.flow, flow, Status::Finished, now);
            }
        }
        self.message_changed(nic, now);
    }

    /// Bytes have newly arrived, or were acknowledged (`back`), where there are streams.
    fn stream_moved(&mut self, number: u32, slot: u32, back: bool, fresh: u32, now: u64) {
        if !back {
            if let Some(stream) = self.receiving[number as usize].stream.checked_sub(1) {
                self.stream_bytes(stream, fresh, now);
            }
        } else if let (Some(stream), Some(streams)) =
            (self.flows[slot as usize].stream.checked_sub(1), &mut self.streams)
        {
            streams.acked_bytes(stream, fresh);
        }
    }

    /// A message is over for its sender.
    fn end_message(&mut self, nic: u32, slot: u32, flow: u32, place: u32, status: Status, now: u64) {
        self.end_flow(slot, now, status);
        self.flows[slot as usize].progress_at = now;
        let Some(m) = &mut self.messages else { return };
        m.places[nic as usize].free.push(place);
        let to = m.opened(flow & SLOT_MASK).to;
        let node = self.ports[self.nics[to as usize].port as usize].node;
        match self.share.part_of.get(node as usize) {
            Some(&part) if part != self.share.me => self.tell(part, Note::Finished { flow, at: now }),
            _ => m.finished(flow, now),
        }
    }
}

//! The life of a flow: start, path, completion, record. State exists from start to end and is then reused.

use paceline_proto::cc::{CongestionControl, Controller, Params, Telemetry};
use paceline_proto::telemetry::IntHop;
use paceline_proto::transport::rdma::{Receiver, Sender};

use crate::clock::Clock;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::ideal::{self, Way};
use crate::net::host::datagrams::Datagrams;
use crate::net::parts::Note;
use crate::net::streams::{Carries, STREAMS};
use crate::net::{Net, Pinned};
use crate::packet::{Arena, Handle, INLINE_HOPS, INT, Kind, LAST, LONG, NONE, PINT, Packet, ROUTED, STAMP, TICKS};
use crate::record::{FlowEnds, FlowRecord, Status};
use crate::routing::flowlets::Flowlet;
use crate::routing::{Address, Routes, Tuple, ip_of};
use crate::scenario::{Framing, Scenario, Transport};
use crate::workload::FlowSpec;
use crate::workload::load::wire_bytes;

/// Bits of a packet's flow field that name the slot; the rest is the slot's generation.
pub(crate) const SLOT_BITS: u32 = 24;
/// Pairs of hosts whose flows are counted for their source ports: some 20 MB. All pairs of 1,024 hosts fit.
const MOST_PAIRS: usize = 1 << 20;
/// Source port of the first flow between two hosts, and of the first program's connections.
pub(crate) const FIRST_PORT: u16 = 10_000;
/// Sets the draws of connections' NICs apart from those of flows.
const CONNECTION: u64 = 1 << 63;
/// Mask of the slot.
pub(crate) const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

/// Sending state of a flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub(crate) tx: Sender,
    /// Place in its NIC's list.
    pub(crate) place: u32,
    /// The stream it is, plus one; 0 for a message of its own.
    pub(crate) stream: u32,
    /// Only an ACK for as many packets as this, or more, acknowledges a message wholly.
    pub(crate) whole_at: u32,
    /// Of a stream: payload by which the packets in flight fall short of full ones, since a window counts bytes. Of a message of its own 0:
    /// when its last packet is in flight there is nothing left to send.
    pub(crate) lack: u64,
    /// Not before this may the next packet go, ps.
    pub(crate) next_avail: u64,
    /// Pacing gap after a packet of `last_size` at the present rate, ps.
    pub(crate) gap: u64,
    pub(crate) rate: u64,
    pub(crate) cwnd: u64,
    /// Bytes of the last packet sent.
    pub(crate) last_size: u32,
    /// Bytes of a full packet and of the message's last.
    pub(crate) full_size: u16,
    pub(crate) short_size: u16,
    /// Global index of the NIC's port.
    pub(crate) nic: u32,
    /// Upper limit on the rate; 0 for none.
    pub(crate) rate_cap: u64,
    pub(crate) context: u16,
    pub(crate) generation: u8,
    pub(crate) class: u8,
    /// Flags of its data packets.
    pub(crate) flags: u8,
    /// Switches on the data path.
    pub(crate) switches: u8,
    pub(crate) alive: bool,
    /// Timeouts in a row.
    pub(crate) timeouts: u8,
    pub(crate) path: [u16; INLINE_HOPS],
    /// Last time something new was acknowledged or sent after idleness; the timeout counts from here.
    pub(crate) progress_at: u64,
    pub(crate) cc: Controller,
}

/// Receiving state of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiving {
    pub(crate) rx: Receiver,
    pub(crate) generation: u8,
    pub(crate) switches: u8,
    pub(crate) path: [u16; INLINE_HOPS],
    /// Bytes of an ACK.
    pub(crate) ack_size: u16,
    /// The stream that arrives, plus one; 0 for a message of its own.
    pub(crate) stream: u32,
    /// When the last byte arrived; 0 before.
    pub(crate) done_at: u64,
    /// From when on the receiver knows nothing of the flow ([`FreeSlots`](super::slots::FreeSlots)), ps.
    pub(crate) forgotten_at: u64,
}

/// What is needed again only when the flow ends.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    pub(crate) spec: FlowSpec,
    pub(crate) id: u64,
    pub(crate) sport: u16,
    pub(crate) retransmitted: u32,
    /// The packet that the last NACK asked for, plus one, and when one asked for it first, ps; 0 when there was none.
    pub(crate) asked_for: u32,
    pub(crate) asked_since: u64,
    pub(crate) ideal_sender: u64,
    pub(crate) ideal_receiver: u64,
    pub(crate) ideal_hpcc: u64,
    /// Of a flow over UDP.
    pub(crate) datagrams: Datagrams,
    /// Of a flow over RDMA.
    pub(crate) flowlet: Flowlet,
    /// What tells the path of the packet that the last ACK answers from others, over RDMA where packets may take several; 0 before the first.
    pub(crate) path: u64,
}

impl Flow {
    /// Makes the next data packet, its telemetry word set where it has one; charges window and pacing. `number`: the flow's in packets.
    #[inline(always)]
    pub(crate) fn send(&mut self, number: u32, now: u64, clock: Clock, arena: &mut Arena) -> Handle {
        let seq = self.tx.snd_nxt;
        let last = seq + 1 == self.tx.packets;
        let size = if last { self.short_size } else { self.full_size };
        if self.tx.in_flight() == 0 {
            self.progress_at = now;
        }
        self.tx.snd_nxt += 1;
        if self.last_size != u32::from(size) {
            self.last_size = u32::from(size);
            self.gap = clock.serialisation_ps(self.last_size, self.rate);
        }
        self.next_avail = now + self.gap;
        let (h, packet) = arena.take();
        *packet = Packet {
            next: NONE,
            flow: number | u32::from(self.generation) << SLOT_BITS,
            seq,
            size,
            in_port: 0,
            kind: Kind::Data,
            hop: 0,
            class: self.class,
            flags: self.flags | if last { LAST } else { 0 },
            out: self.path,
        };
        if self.flags & (STAMP | PINT) != 0 {
            arena.int(h)[0] = IntHop(if self.flags & STAMP != 0 { now } else { 0 });
        }
        h
    }

    /// What an ACK that asks for packet `seq` is worth where both ends go back to multiples of `chunk` packets.
    #[inline(always)]
    pub(crate) fn whole_chunks(&self, seq: u32, chunk: u32) -> u32 {
        if chunk > 1 { self.tx.whole_chunks(seq, chunk) } else { seq }
    }

    /// When the next packet may go, ps; [`u64::MAX`] when there is none or the window is closed. `mtu`: payload of a full packet.
    #[inline(always)]
    pub(crate) fn availability(&self, mtu: u64) -> u64 {
        if !self.tx.has_data() || self.in_flight(mtu) >= self.cwnd { u64::MAX } else { self.next_avail }
    }

    /// Bytes of payload in flight; of a message of its own short of its last packet. `mtu`: payload of a full packet.
    #[inline(always)]
    pub(crate) fn in_flight(&self, mtu: u64) -> u64 {
        u64::from(self.tx.in_flight()) * mtu - self.lack
    }

    /// Whether a stream has come to the end of a message, as far as it has been sent.
    #[inline(always)]
    pub(crate) fn ends_message(&self) -> bool {
        self.tx.snd_nxt == self.tx.packets && self.stream != 0
    }
}

impl Net {
    /// The NICs flow `id` uses where it asks for none: hosts with several spread their flows over those that reach the other end, by hashes
    /// that have the salt of the switches'.
    pub(crate) fn addresses(&self, src: NodeId, dst: NodeId, id: u64) -> (Address, Address) {
        if self.graph.ports_of(src).len() == 1 && self.graph.ports_of(dst).len() == 1 || self.by_node.is_some() {
            return (Address { host: src, nic: 0 }, Address { host: dst, nic: 0 });
        }
        let salt = u64::from(self.scenario.routing.salt) << 32;
        let draw = |host: NodeId, end| paceline_proto::rng::hash3(salt | u64::from(host), id, end);
        self.routes.choose_nics(src, dst, [draw(src, 1), draw(dst, 2)])
    }

    /// Global port index of the NIC from which flow `id` will be sent.
    pub(crate) fn nic_port(&self, spec: &FlowSpec, id: u64) -> u32 {
        self.graph.port_index(spec.src, self.ends(spec, id).0.nic) as u32
    }

    /// The NICs of flow `id` at its source and its destination: those of a connection are the same both ways.
    pub(crate) fn ends(&self, spec: &FlowSpec, id: u64) -> (Address, Address) {
        match spec.stream.checked_sub(1) {
            None => self.addresses(spec.src, spec.dst, id),
            Some(stream) => match self.streams.as_ref().map(|s| s.carries(stream)) {
                Some(Carries::Responses(_)) => {
                    let (client, server) = self.addresses(spec.dst, spec.src, CONNECTION | u64::from(stream - 1));
                    (server, client)
                }
                _ => match spec.nic {
                    Some(number) => self.routes.nics_numbered(spec.src, spec.dst, number.into()),
                    None => self.addresses(spec.src, spec.dst, CONNECTION | u64::from(stream)),
                },
            },
        }
    }

    /// The source port of a flow: 10000 and up for each pair of hosts, as the reference numbers them. To be asked in the
    /// order of the flow stream, since paths depend on it. Pairs that come when a million are counted already are not:
    /// their flows get ports by their ids.
    pub(crate) fn take_sport(&mut self, spec: &FlowSpec, id: u64) -> u16 {
        let pair = (spec.src, spec.dst);
        let full = self.next_sport.len() >= MOST_PAIRS && !self.scenario.quirks.insertion_order;
        if full && !self.next_sport.contains_key(&pair) {
            return FIRST_PORT + (paceline_proto::rng::mix(id) % 50_000) as u16;
        }
        let next = self.next_sport.entry(pair).or_insert(FIRST_PORT);
        let sport = *next;
        *next = next.wrapping_add(1);
        sport
    }

    /// Starts flow `id` at its start time. Returns the slot.
    pub(crate) fn start_flow(&mut self, id: u64, spec: FlowSpec, sport: u16) -> Result<u32, InputError> {
        let graph = std::sync::Arc::clone(&self.graph);
        let (src, dst) = self.ends(&spec, id);
        let mut forth = std::mem::take(&mut self.path);
        let mut reverse = Vec::with_capacity(forth.len());
        self.find_paths(&spec, [src, dst], sport, [&mut forth, &mut reverse])
            .map_err(|e| e.field(format!("flow {id}")))?;
        let nic = graph.port_index(spec.src, forth[0]) as u32;
        let line_rate = graph.ports[nic as usize].rate.0;
        let framing = self.scenario.framing;
        let pair = self.pair_rtt(src, dst)?;
        let (rtt, bdp) = self.assumed(&pair, line_rate);
        let context = self.context(spec.scheme, line_rate, rtt, bdp)?;
        let ctx = &self.contexts[usize::from(context)];
        let cc = Controller::new(ctx);
        let limits = cc.limits(ctx);
        let routed = if self.failures.is_some() || self.flowlet_gap.is_some() { ROUTED } else { 0 };
        let flags = flow_flags(&ctx.params) | routed;
        let rate = cap(limits.rate, spec.rate_cap);
        framing.fits(spec.bytes).map_err(|e| e.field(format!("flow {id}")))?;
        let (packets, last_payload) = framing.split(spec.bytes);
        let packets = packets as u32;
        let added = self.scenario.schemes[usize::from(spec.scheme)].added();
        let min_frame = if self.scenario.quirks.unpadded_data { 0 } else { framing.min_frame };
        let size = |payload: u32| (payload + framing.header + added.telemetry).max(min_frame) as u16;
        let [way, back] = self.fastest_ways(&spec, id, sport, [src, dst], [&forth, &reverse]);
        let line = way.ideal(spec.bytes, &framing, &back);
        let mut info = FlowInfo {
            spec,
            id,
            sport,
            retransmitted: 0,
            asked_for: 0,
            asked_since: 0,
            ideal_sender: line.sender.0,
            ideal_receiver: line.receiver.0,
            ideal_hpcc: self.standalone(&pair, spec.bytes),
            datagrams: Datagrams::default(),
            flowlet: Flowlet::default(),
            path: 0,
        };
        let (full_size, short_size) = (size(framing.payload), size(last_payload));
        if matches!(self.scenario.schemes[usize::from(spec.scheme)].transport, Transport::Udp(_)) {
            // Nothing comes back: it is over when the last bit has gone.
            let port = &self.ports[nic as usize];
            let full = port.wire_ps(full_size, &self.wires) * u64::from(packets - 1);
            info.ideal_sender = full + port.wire_ps(short_size, &self.wires);
        }
        let flow = Flow {
            // A stream has nothing to send yet.
            tx: Sender::new(if spec.stream == 0 { packets } else { 0 }),
            stream: spec.stream,
            whole_at: packets,
            lack: 0,
            place: 0,
            next_avail: spec.start.0,
            gap: 0,
            rate,
            cwnd: limits.cwnd,
            last_size: 0,
            full_size,
            short_size,
            nic,
            rate_cap: spec.rate_cap,
            context,
            generation: 0,
            class: spec.class,
            flags: flags | if forth.len() > INLINE_HOPS + 1 { LONG } else { 0 },
            switches: (forth.len() - 1) as u8,
            alive: true,
            timeouts: 0,
            path: inline(&forth[1..]),
            progress_at: spec.start.0,
            cc,
        };
        let ack_size = (framing.ack_header + added.telemetry).max(framing.min_frame) as u16;
        let receiving = Receiving {
            ack_size,
            switches: (reverse.len() - 1) as u8,
            path: inline(&reverse[1..]),
            stream: spec.stream,
            forgotten_at: u64::MAX,
            ..Receiving::default()
        };
        let slot = self.take_slot(flow, info, receiving)?;
        self.introduce(slot, [src, dst], &info, [&forth, &reverse]);
        let mut node = src.host;
        let directions = forth.iter().map(|port| {
            let index = graph.port_index(node, *port);
            node = graph.ports[index].peer;
            self.port_direction[index]
        });
        if let Some(stream) = spec.stream.checked_sub(1) {
            let directions = directions.collect();
            let ack = info.ideal_sender - info.ideal_receiver;
            self.stream_started(stream, slot, dst.host, (way, ack), directions);
        } else {
            if self.offers_flow(id) {
                let frames = wire_bytes(spec.bytes, &Framing { min_frame, ..framing }, added);
                for direction in directions {
                    self.offered[usize::from(direction)] += frames;
                }
                self.first_start = self.first_start.min(spec.start.0);
                self.last_start = self.last_start.max(spec.start.0);
            }
            self.counters.started += 1;
            // Of a run that is killed this is what remains of the flow.
            let record = self.record_of(slot, spec.start.0, Status::Running);
            self.news.flows.push(record);
        }
        self.path = forth;
        Ok(slot)
    }

    /// Base RTT in ns and bandwidth-delay product in bytes that a flow assumes whose NICs have these.
    fn assumed(&self, pair: &ideal::BaseRtt, line_rate: u64) -> (u64, u64) {
        let host = &self.scenario.host;
        let base = if host.own_base_rtt { pair } else { &self.network };
        host.base_rtt.map_or((base.rtt_ns, base.bdp), |given| {
            let bdp = u128::from(line_rate) * u128::from(given.0) / 8_000_000_000_000;
            (given.as_ns().max(1), bdp as u64)
        })
    }

    /// Tells all others that keep something of a flow by its slot or number of a new one.
    fn introduce(&mut self, slot: u32, [src, dst]: [Address; 2], info: &FlowInfo, [forth, reverse]: [&[u16]; 2]) {
        let generation = u32::from(self.flows[slot as usize].generation);
        let number = self.number(slot) | generation << SLOT_BITS;
        self.note_name(number, info.id);
        if let Some(stages) = &mut self.stages {
            let FlowInfo { spec: FlowSpec { src, dst, dport, bytes, .. }, sport, .. } = *info;
            stages.name(number, FlowEnds { src, dst, sport, dport, bytes });
        }
        if self.messages.is_some() {
            let (number, incoming) = (self.number(slot), self.incoming(src, dst, info));
            self.messages.iter_mut().for_each(|m| m.open(number, incoming));
        }
        if forth.len().max(reverse.len()) > INLINE_HOPS + 1 {
            self.set_long_paths(self.number(slot), [forth[1..].into(), reverse[1..].into()]);
        }
        self.announce(slot, dst.host);
    }

    /// The paths of a flow's data and of what answers them, as the egress ports of the nodes on the way.
    fn find_paths(
        &mut self,
        spec: &FlowSpec,
        [src, dst]: [Address; 2],
        sport: u16,
        [forth, reverse]: [&mut Vec<u16>; 2],
    ) -> Result<(), InputError> {
        let there =
            Tuple { src_ip: ip_of(src.host, src.nic), dst_ip: ip_of(dst.host, dst.nic), sport, dport: spec.dport };
        if let Some(Pinned { paths: [to, back], .. }) = &self.pinned {
            forth.clone_from(to);
            reverse.clone_from(back);
        } else if let Some(routes) = &mut self.by_node {
            routes.path([src.host, dst.host], &there, forth)?;
            routes.path([dst.host, src.host], &there.reversed(), reverse)?;
        } else {
            let symmetric = self.is_symmetric(spec);
            self.routes.both_ways([src, dst], &there, symmetric, [forth, reverse])?;
        }
        Ok(())
    }

    /// Base RTT and bandwidth-delay product of two NICs.
    fn pair_rtt(&mut self, src: Address, dst: Address) -> Result<ideal::BaseRtt, InputError> {
        let payload = self.scenario.framing.payload;
        match (&self.pinned, &mut self.by_node) {
            (Some(pinned), _) => Ok(pinned.pair),
            (None, Some(routes)) => {
                Ok(ideal::base_rtt_by_node(routes, [src.host, dst.host], payload).unwrap_or_default())
            }
            (None, None) => ideal::base_rtt(&mut self.routes, src, dst, payload),
        }
    }

    /// The ways that count for a flow's ideal: with all links up or, where that is faster, as they are at its start.
    fn fastest_ways(
        &mut self,
        spec: &FlowSpec,
        id: u64,
        sport: u16,
        ends: [Address; 2],
        paths: [&[u16]; 2],
    ) -> [Way; 2] {
        let framing = self.scenario.framing;
        let receiver = |of: &[Way; 2]| of[0].ideal(spec.bytes, &framing, &of[1]).receiver;
        let intact = self.ways(ends, paths);
        // No links fail, or none has yet: this is the usual case.
        let detour = self.detour(spec, id, sport, spec.start.0);
        detour.filter(|detour| receiver(detour) < receiver(&intact)).unwrap_or(intact)
    }

    /// The standalone FCT of the HPCC reference simulator for a flow of a pair, ps.
    pub(crate) fn standalone(&self, pair: &ideal::BaseRtt, bytes: u64) -> u64 {
        let payload = self.scenario.framing.payload;
        let wraps = self.scenario.quirks.clock_1ns;
        let ns = if wraps { ideal::reference_standalone } else { ideal::hpcc_standalone }(pair, bytes, payload);
        ns.saturating_mul(1000)
    }

    /// A slot for a flow: a used one, oldest first, else a new one.
    fn take_slot(&mut self, mut flow: Flow, info: FlowInfo, mut receiving: Receiving) -> Result<u32, InputError> {
        if let Some(slot) = self.free_flows.take(info.spec.start.0) {
            self.keep_used(slot);
            let i = slot as usize;
            flow.generation = self.flows[i].generation.wrapping_add(1);
            receiving.generation = flow.generation;
            self.flows[i] = flow;
            self.infos[i] = info;
            self.receiving.set(self.number(slot), receiving);
            return Ok(slot);
        }
        let slot = self.flows.len() as u32;
        let most = SLOT_MASK >> self.share.bits;
        if slot > most {
            return Err(InputError::new("too many flows at the same time").value(slot).allowed(format!(
                "at most {} running flows in the part of one thread; fewer threads have more room",
                most + 1
            )));
        }
        self.flows.push(flow);
        self.infos.push(info);
        self.receiving.set(self.number(slot), receiving);
        Ok(slot)
    }

    /// Ends a flow: writes its record and gives its slot back.
    pub(crate) fn end_flow(&mut self, slot: u32, now: u64, status: Status) {
        if let Some(stream) = self.flows[slot as usize].stream.checked_sub(1) {
            self.end_stream(stream, slot, now);
            return;
        }
        self.renew_ideal(slot, now);
        let record = self.record_of(slot, now, status);
        self.last_end = self.last_end.max(now);
        match status {
            Status::Finished => self.counters.finished += 1,
            Status::Failed => {
                self.counters.failed += 1;
                self.note_failure(slot, now);
            }
            _ => {}
        }
        self.judge_flow(&record, now);
        self.news.flows.push(record);
        self.flows[slot as usize].alive = false;
        // The reference's NIC still meets ended flows in its scans.
        if !self.scenario.quirks.nic_round_robin {
            let repeated = status != Status::Finished || self.infos[slot as usize].retransmitted > 0;
            self.free_flows.give_back(slot, now, repeated, self.is_long(slot));
            if repeated || self.messages.is_some() {
                let flow = self.number(slot) | u32::from(self.flows[slot as usize].generation) << SLOT_BITS;
                let at = self.free_flows.known_until(now, repeated);
                match self.share.elsewhere(self.infos[slot as usize].spec.dst) {
                    Some(part) => self.tell(part, Note::Forgotten { flow, at }),
                    None => self.forget(flow, at),
                }
            }
        }
    }

    /// The receiver of a flow, named as in its packets, knows nothing of it from `at` on, ps.
    pub(crate) fn forget(&mut self, flow: u32, at: u64) {
        let state = &mut self.receiving[flow & SLOT_MASK];
        if u32::from(state.generation) == flow >> SLOT_BITS {
            state.forgotten_at = at;
        }
    }

    /// Remembers the first flow that was given up.
    pub(crate) fn note_failure(&mut self, slot: u32, now: u64) {
        let id = self.infos[slot as usize].id;
        if self.first_failure.as_ref().is_none_or(|(at, first, _)| (now, id) < (*at, *first)) {
            self.first_failure = Some((now, id, self.given_up(slot, now)));
        }
    }

    /// How a flow was given up.
    fn given_up(&self, slot: u32, now: u64) -> String {
        let (flow, info) = (&self.flows[slot as usize], &self.infos[slot as usize]);
        let paused = self.ports[flow.nic as usize].paused & (1 << flow.class) != 0;
        let (at, id, [src, dst]) = (paceline_proto::units::Time(now), info.id, [info.spec.src, info.spec.dst]);
        let packet = if self.messages.is_some() {
            String::new()
        } else {
            format!(" to packet {} of {}", flow.tx.snd_una, flow.tx.packets)
        };
        let held = if paused { ", its NIC paused" } else { "" };
        let who = match id.checked_sub(STREAMS) {
            Some(number) => format!("connection {number} of a program"),
            None => format!("flow {id}"),
        };
        let was_asked =
            self.host.rto.is_some_and(|rto| u32::from(flow.timeouts) < rto.tries) && self.messages.is_none();
        let asked = if was_asked { ", which NACKs had asked for as long as so many take" } else { "" };
        format!("at {at:#} {who} ({src} -> {dst}) still waited for an answer{packet}{asked}{held}")
    }

    /// The ways of a flow's data and ACKs, of which these are the egress ports of one path, in the whole network.
    fn ways(&mut self, ends: [Address; 2], ports: [&[u16]; 2]) -> [Way; 2] {
        ways(&self.scenario, &mut self.routes, self.spray.then_some(self.uneven), ends, ports)
    }

    /// Whether what a flow's receiver sends back goes the way the flow came.
    pub(crate) fn is_symmetric(&self, spec: &FlowSpec) -> bool {
        self.scenario.schemes[usize::from(spec.scheme)].transport.is_symmetric()
    }

    /// The ways of a flow by the tables of `now`; `None` where they are those of the whole network, or lead nowhere.
    fn detour(&mut self, spec: &FlowSpec, id: u64, sport: u16, now: u64) -> Option<[Way; 2]> {
        self.failures.as_ref()?;
        let (src, dst) = self.ends(spec, id);
        let tuple =
            Tuple { src_ip: ip_of(src.host, src.nic), dst_ip: ip_of(dst.host, dst.nic), sport, dport: spec.dport };
        let symmetric = self.is_symmetric(spec);
        let routes = self.failures.as_mut()?.detours(now)?;
        let (mut forth, mut reverse) = (Vec::new(), Vec::new());
        routes.both_ways([src, dst], &tuple, symmetric, [&mut forth, &mut reverse]).ok()?;
        let spray = self.spray.then_some(self.uneven);
        Some(ways(&self.scenario, routes, spray, [src, dst], [&forth, &reverse]))
    }

    /// A flow that ends at `now` may have come to a faster way since it started: its ideals are those of that one then.
    pub(crate) fn renew_ideal(&mut self, slot: u32, now: u64) {
        let FlowInfo { spec, id, sport, .. } = self.infos[slot as usize];
        let Some([way, back]) = self.detour(&spec, id, sport, now) else { return };
        let line = way.ideal(spec.bytes, &self.scenario.framing, &back);
        let info = &mut self.infos[slot as usize];
        info.ideal_sender = info.ideal_sender.min(line.sender.0);
        info.ideal_receiver = info.ideal_receiver.min(line.receiver.0);
    }

    /// The record of a flow as it stands.
    pub(crate) fn record_of(&self, slot: u32, now: u64, status: Status) -> FlowRecord {
        let (flow, info) = (&self.flows[slot as usize], &self.infos[slot as usize]);
        let start = info.spec.start.0;
        // A flow given up: what its receiver has by now is another node's present, which engines see at different times.
        let done_at = if status == Status::Failed { 0 } else { self.receiving[self.number(slot)].done_at };
        FlowRecord {
            id: info.id,
            status,
            class: info.spec.class,
            scheme: info.spec.scheme,
            group: info.spec.group,
            hops: u16::from(flow.switches) + 1,
            src: info.spec.src,
            dst: info.spec.dst,
            sport: info.sport,
            dport: info.spec.dport,
            bytes: info.spec.bytes,
            start,
            fct_sender: if status == Status::Finished { now - start } else { 0 },
            fct_receiver: done_at.saturating_sub(start),
            failed_after: if status == Status::Failed { now - start } else { 0 },
            ideal_sender: info.ideal_sender,
            ideal_receiver: info.ideal_receiver,
            ideal_hpcc: info.ideal_hpcc,
            retransmitted: info.retransmitted,
            lost: info.datagrams.lost,
        }
    }

    /// Records of all flows that have started and not ended.
    pub(crate) fn running(&self, now: u64) -> Vec<FlowRecord> {
        let running = |flow: &Flow| flow.alive && flow.stream == 0;
        let alive = (0..self.flows.len() as u32).filter(|&s| running(&self.flows[s as usize]));
        let running = alive.map(|s| self.record_of(s, now, Status::Running));
        running.chain(self.under_way()).collect()
    }
}

/// The ways of data and ACKs between two ends, of which these are the egress ports of one path; time inside hosts is part of them.
/// `spray`: whether parallel links differ, where packets are sprayed.
fn ways(
    scenario: &Scenario,
    routes: &mut Routes,
    spray: Option<bool>,
    [src, dst]: [Address; 2],
    [forth, reverse]: [&[u16]; 2],
) -> [Way; 2] {
    [(src, dst, forth), (dst, src, reverse)].map(|(from, to, ports)| {
        let graph = routes.graph();
        let mut links = ideal::path_sides(graph, from.host, ports).0;
        if let Some(adapter) = &scenario.adapter {
            links.first_mut().into_iter().for_each(|link| link.delay.0 += adapter.down.0);
            links.last_mut().into_iter().for_each(|link| link.delay.0 += adapter.up.0);
        }
        let Some(uneven) = spray else { return Way::one(links) };
        let switch = |end: Address| graph.ports_of(end.host)[usize::from(end.nic)].peer;
        let ends = (switch(from), switch(to));
        Way::sprayed(links, routes, ends, uneven)
    })
}

/// Flags of a scheme's flows and of their data packets.
fn flow_flags(params: &Params) -> u8 {
    let telemetry = match params.profile().telemetry {
        Telemetry::None => 0,
        Telemetry::Int => INT,
        Telemetry::Pint => PINT,
        Telemetry::SendTime => STAMP,
    };
    telemetry | if params.profile().ticks { TICKS } else { 0 }
}

/// A rate under a cap; 0 means no cap.
pub(crate) fn cap(rate: u64, cap: u64) -> u64 {
    if cap == 0 { rate } else { rate.min(cap) }
}

/// The part of a path that packets carry.
fn inline(ports: &[u16]) -> [u16; INLINE_HOPS] {
    let mut out = [0; INLINE_HOPS];
    let n = ports.len().min(INLINE_HOPS);
    out[..n].copy_from_slice(&ports[..n]);
    out
}

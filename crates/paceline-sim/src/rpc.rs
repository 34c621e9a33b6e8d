//! Clients and servers at the hosts: queries, responses, and the streams that carry them.
//!
//! A stream is a flow that never ends by itself: messages are appended to what it has to send. Where one ends is known
//! to its sender and, as the content of a byte stream would say it, to its receiver: the note about it travels ahead of the
//! message's packets and is looked at only when they have arrived.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use paceline_proto::cc::Controller;
use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::transport::rdma::Acked;

use crate::flow::Flow;
use crate::graph::{NodeId, Side};
use crate::ideal;
use crate::net::Net;
use crate::net::parts::Note;
use crate::packet::NONE;
use crate::programs::Connections;
use crate::record::QueryRecord;
use crate::scenario::{Framing, PathChoice, Scenario, Transport};
use crate::workload::poisson::next_start;
use crate::workload::rpc::{Pick, Queries, Rpc, is_query};
use crate::workload::stream_id;

/// Never.
const NEVER: u64 = u64::MAX;

/// A query without response so far.
#[derive(Clone, Copy, Debug)]
struct Query {
    number: u32,
    issued: u64,
    bytes: u64,
}

/// The client of one connection.
#[derive(Clone, Debug)]
struct Client {
    rpc: u16,
    /// Queries issued so far; numbers them and their draws.
    issued: u32,
    outstanding: VecDeque<Query>,
    gaps: Stream,
    sizes: Stream,
    carry: f64,
    /// Nothing more will be issued.
    done: bool,
    /// It is over: all it will ever get has come, or its connection was given up.
    closed: bool,
    /// Links of the way to the server.
    way: Box<[Side]>,
    /// Least time of a response on the way its stream takes, ps; told by the server's end.
    response: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
struct StreamState {
    /// Slot of its flow at the sender.
    slot: u32,
    /// Tiers of the links on its way.
    tiers: Box<[u8]>,
    /// Position of the end of all messages so far: in packets over RDMA, in bytes over TCP.
    end: u64,
    /// At the sender: everything below has been acknowledged.
    acked: u64,
    /// At the sender, RDMA: end and last packet's size of the messages not wholly acknowledged.
    unacked: VecDeque<(u32, u16)>,
    /// At the receiver: ends of messages that have not arrived.
    expected: VecDeque<u64>,
    /// At the receiver, TCP: bytes that have arrived in order.
    arrived: u64,
}

/// All connections of a run.
pub(crate) struct Rpcs {
    workloads: Arc<[Arc<Rpc>]>,
    streams: Vec<StreamState>,
    clients: Vec<Client>,
    /// Streams whose sender is not told yet that all has arrived.
    unsettled: u64,
    /// By NIC: next queries of open-loop clients, and their connections.
    due: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// By NIC, workload and pair of hosts: connections, where queries go to idle ones.
    pools: BTreeMap<(u32, u16, NodeId, NodeId), Vec<u32>>,
    /// Queries over streams of bytes, not of packets.
    is_tcp: bool,
    sprayed: bool,
}

impl Rpcs {
    /// The connections of a scenario, where it has any.
    pub(crate) fn new(scenario: &Scenario, nics: usize) -> Option<Box<Self>> {
        let has_streams = scenario.programs.iter().any(|p| p.connections == Connections::Open);
        if scenario.rpcs.is_empty() && !has_streams {
            return None;
        }
        let mut clients = Vec::new();
        for (number, rpc) in scenario.rpcs.iter().enumerate() {
            for own in 0..rpc.count() {
                let stream = |purpose| Stream::new(scenario.seed, purpose, stream_id(rpc.workload, u64::from(own)));
                clients.push(Client {
                    rpc: number as u16,
                    issued: 0,
                    outstanding: VecDeque::new(),
                    gaps: stream(Purpose::Arrivals),
                    sizes: stream(Purpose::Sizes),
                    carry: 0.0,
                    done: false,
                    closed: false,
                    way: Box::default(),
                    response: 0,
                });
            }
        }
        Some(Box::new(Self {
            workloads: Arc::clone(&scenario.rpcs),
            streams: vec![StreamState { slot: NONE, ..StreamState::default() }; clients.len() * 2],
            clients,
            unsettled: 0,
            pools: BTreeMap::new(),
            due: vec![BinaryHeap::new(); nics],
            is_tcp: scenario.schemes.iter().any(|s| matches!(s.transport, Transport::Tcp(_))),
            sprayed: scenario.routing.choice == PathChoice::Spray,
        }))
    }

    /// When a client at a NIC issues its next query by itself, ps.
    #[inline]
    pub(crate) fn next_due(&self, nic: u32) -> u64 {
        self.due[nic as usize].peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// All of a stream up to a position has been acknowledged to its sender.
    fn acked(&mut self, stream: u32, upto: u64) {
        let state = &mut self.streams[stream as usize];
        let open = state.acked < state.end;
        state.acked = state.acked.max(upto);
        self.unsettled -= u64::from(open && state.acked == state.end);
    }

    /// Bytes of a stream over TCP have been acknowledged to its sender.
    pub(crate) fn acked_bytes(&mut self, stream: u32, fresh: u32) {
        let upto = self.streams[stream as usize].acked + u64::from(fresh);
        self.acked(stream, upto);
    }

    /// The slot of a stream's sender, and its packets so far (over RDMA).
    pub(crate) fn sender_of(&self, stream: u32) -> Option<(u32, u64)> {
        let state = self.streams.get(stream as usize).filter(|s| s.slot != NONE)?;
        Some((state.slot, if self.is_tcp { 0 } else { state.end }))
    }

    /// Streams whose sender is not told yet that all has arrived.
    pub(crate) fn unsettled(&self) -> u64 {
        self.unsettled
    }

    /// Whether clients wait for their next queries.
    pub(crate) fn has_due(&self) -> bool {
        self.due.iter().any(|d| !d.is_empty())
    }

    /// A stream's flow has started here: its slot, the links of its way and their tiers. Of a response's stream returns the least
    /// time of a response, ps, which its client must know.
    pub(crate) fn started(
        &mut self,
        stream: u32,
        slot: u32,
        way: Vec<Side>,
        tiers: Box<[u8]>,
        framing: &Framing,
    ) -> Option<u64> {
        if self.streams.len() <= stream as usize {
            // A program has opened it.
            self.streams.resize(stream as usize + 1, StreamState { slot: NONE, ..StreamState::default() });
        }
        let state = &mut self.streams[stream as usize];
        (state.slot, state.tiers) = (slot, tiers);
        let client = self.clients.get_mut(stream as usize / 2)?;
        if is_query(stream) {
            client.way = way.into_boxed_slice();
            return None;
        }
        let response = self.workloads[usize::from(client.rpc)].response;
        Some(self.least(response, framing, &way))
    }

    /// A connection's client learns the least time of a response, ps.
    pub(crate) fn learn_response(&mut self, connection: u32, least: u64) {
        self.clients[connection as usize].response = least;
    }

    /// The least time of a message: alone on its way, ps.
    fn least(&self, bytes: u64, framing: &Framing, way: &[Side]) -> u64 {
        ideal::least_time(bytes, framing, way, self.sprayed)
    }

    /// An acknowledgement of a stream over RDMA.
    pub(crate) fn on_ack(&mut self, flow: &mut Flow, seq: u32) -> Acked {
        let state = &mut self.streams[flow.stream as usize - 1];
        flow.tx.packets = state.end as u32;
        let acked = flow.tx.on_ack(seq);
        while state.unacked.front().is_some_and(|(end, _)| *end <= flow.tx.snd_una) {
            state.unacked.pop_front();
        }
        fit(state, flow);
        let upto = u64::from(flow.tx.snd_una);
        self.acked(flow.stream - 1, upto);
        if acked == Acked::Finished { Acked::Progress } else { acked }
    }

    /// The next packet of a stream over RDMA has moved: from here on its message decides where the end is.
    pub(crate) fn refit(&self, flow: &mut Flow) {
        fit(&self.streams[flow.stream as usize - 1], flow);
    }

    /// The connections at a NIC that share their queries with this one.
    fn pool_of(&self, nic: u32, connection: u32) -> (u32, u16, NodeId, NodeId) {
        let rpc = self.clients[connection as usize].rpc;
        let (client, server) = self.workloads[usize::from(rpc)].ends(connection);
        (nic, rpc, client, server)
    }

    /// The connection that gets a query whose turn it is on `connection`: that one, or the one with the fewest outstanding.
    fn pick(&self, nic: u32, connection: u32) -> u32 {
        let Some(pool) = self.pools.get(&self.pool_of(nic, connection)) else { return connection };
        let outstanding = |c: u32| self.clients[c as usize].outstanding.len();
        let open = pool.iter().copied().filter(|c| !self.clients[*c as usize].closed);
        // Its own first among equals, then the lowest number.
        open.min_by_key(|c| (outstanding(*c), *c != connection, *c)).unwrap_or(connection)
    }

    /// A record of a query; `answered` is when its response had arrived.
    fn record(&self, connection: u32, query: Query, answered: Option<u64>, framing: &Framing) -> QueryRecord {
        let of = &self.clients[connection as usize];
        let ideal = self.least(query.bytes, framing, &of.way).saturating_add(of.response);
        let rpc = &self.workloads[usize::from(of.rpc)];
        let (client, server) = rpc.ends(connection);
        QueryRecord {
            connection,
            number: query.number,
            group: rpc.flow.group,
            scheme: rpc.flow.scheme,
            client,
            server,
            bytes: query.bytes,
            response_bytes: rpc.response,
            start: query.issued,
            qct: answered.map_or(0, |at| at - query.issued),
            ideal,
        }
    }
}

/// Sets a stream's sender to the message its next packet belongs to.
fn fit(state: &StreamState, flow: &mut Flow) {
    let at = state.unacked.partition_point(|(end, _)| *end <= flow.tx.snd_nxt);
    match state.unacked.get(at) {
        Some((end, short)) => (flow.tx.packets, flow.short_size) = (*end, *short),
        None => flow.tx.packets = flow.tx.snd_nxt,
    }
}

impl Net {
    /// A stream's flow has been handed to its NIC at `now`: its client begins.
    pub(crate) fn open_stream(&mut self, nic: u32, stream: u32, now: u64) {
        if !is_query(stream) || self.is_program_stream(stream) {
            return;
        }
        let connection = stream / 2;
        self.counters.started += 1;
        self.counters.connections += 1;
        let Some(r) = &mut self.rpcs else { return };
        match r.workloads[usize::from(r.clients[connection as usize].rpc)].queries {
            Queries::Outstanding(n) => (0..n).for_each(|_| self.issue(connection, now)),
            Queries::Poisson(_, pick) => {
                if pick == Pick::Idle {
                    let key = r.pool_of(nic, connection);
                    r.pools.entry(key).or_default().push(connection);
                }
                self.plan(nic, connection, now);
            }
        }
    }

    /// Plans an open-loop client's next query after `now`.
    fn plan(&mut self, nic: u32, connection: u32, now: u64) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        let rpc = &r.workloads[usize::from(client.rpc)];
        let Queries::Poisson(mean, _) = rpc.queries else { return };
        match next_start(now, rpc.end.0, &mut client.gaps, mean, &mut client.carry) {
            Some(at) => {
                r.due[nic as usize].push(Reverse((at, connection)));
                let timer = &mut self.nics[nic as usize].timer_at;
                *timer = (*timer).min(at);
            }
            None => client.done = true,
        }
        self.settle_client(connection);
    }

    /// The queries due at a NIC by `now`.
    pub(crate) fn issue_due(&mut self, nic: u32, now: u64) {
        while let Some(r) = &mut self.rpcs
            && r.next_due(nic) <= now
            && let Some(Reverse((at, connection))) = r.due[nic as usize].pop()
        {
            let chosen = r.pick(nic, connection);
            self.issue(chosen, at);
            self.plan(nic, connection, at);
        }
    }

    /// A client issues its next query.
    fn issue(&mut self, connection: u32, now: u64) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        let bytes = r.workloads[usize::from(client.rpc)].sizes.draw(client.sizes.next_u64());
        client.outstanding.push_back(Query { number: client.issued, issued: now, bytes });
        client.issued += 1;
        self.counters.queries += 1;
        self.append(connection * 2, bytes, now);
    }

    /// A stream over RDMA that has been idle for so long that it is to begin as a new flow does so.
    fn restart_idle(&mut self, slot: u32, now: u64) {
        let Some(idle) = self.host.idle_restart else { return };
        let flow = &mut self.flows[slot as usize];
        if flow.tx.in_flight() == 0 && !flow.tx.has_data() && now.saturating_sub(flow.progress_at) > idle.0 {
            flow.cc = Controller::new(&self.contexts[usize::from(flow.context)]);
            self.apply_limits(slot);
            self.flows[slot as usize].next_avail = now;
        }
    }

    /// A message of `bytes` follows on a stream.
    pub(crate) fn append(&mut self, stream: u32, bytes: u64, now: u64) {
        let framing = self.scenario.framing;
        let Some(r) = &mut self.rpcs else { return };
        let is_tcp = r.is_tcp;
        let slot = r.streams[stream as usize].slot;
        // A connection that was given up takes nothing any more.
        if slot == NONE || !self.flows[slot as usize].alive {
            return;
        }
        if !is_tcp {
            self.restart_idle(slot, now);
        }
        let Some(r) = &mut self.rpcs else { return };
        let state = &mut r.streams[stream as usize];
        let flow = &mut self.flows[slot as usize];
        let (packets, last) = framing.split(bytes);
        r.unsettled += u64::from(state.acked == state.end);
        let telemetry = self.scenario.schemes[usize::from(self.infos[slot as usize].spec.scheme)].telemetry_bytes();
        if is_tcp {
            state.end += bytes;
        } else {
            state.end += packets;
            let min_frame = if self.scenario.quirks.unpadded_data { 0 } else { framing.min_frame };
            state.unacked.push_back((state.end as u32, (last + framing.header + telemetry).max(min_frame) as u16));
            fit(state, flow);
        }
        let end = state.end;
        let wire = crate::workload::load::wire_bytes(bytes, &framing, telemetry);
        for tier in &state.tiers {
            self.offered[usize::from(*tier)] += wire;
        }
        let (nic, place, dst) = (self.nic_of_port[flow.nic as usize], flow.place, self.infos[slot as usize].spec.dst);
        match self.share.part_of.get(dst as usize) {
            Some(&part) if part != self.share.me => self.notes.push((part, Note::Appended { stream, end })),
            _ => self.appended(stream, end),
        }
        if is_tcp {
            self.append_message(nic, place, bytes, now);
        } else {
            self.refresh(slot);
        }
    }

    /// A stream's receiver may expect a message up to this position.
    pub(crate) fn appended(&mut self, stream: u32, end: u64) {
        if let Some(r) = &mut self.rpcs {
            r.streams[stream as usize].expected.push_back(end);
        }
    }

    /// Bytes have newly arrived in order on a stream over TCP.
    pub(crate) fn stream_bytes(&mut self, stream: u32, fresh: u32, now: u64) {
        let Some(r) = &mut self.rpcs else { return };
        let state = &mut r.streams[stream as usize];
        state.arrived += u64::from(fresh);
        let upto = state.arrived;
        self.stream_arrived(stream, upto, now);
    }

    /// All of a stream up to a position has arrived.
    #[cold]
    pub(crate) fn stream_arrived(&mut self, stream: u32, upto: u64, now: u64) {
        while let Some(r) = &mut self.rpcs
            && let state = &mut r.streams[stream as usize]
            && state.expected.front().is_some_and(|end| *end <= upto)
        {
            state.expected.pop_front();
            if self.is_program_stream(stream) {
                self.program_stream_arrived(stream, now);
            } else if is_query(stream) {
                let Some(r) = &self.rpcs else { return };
                let response = r.workloads[usize::from(r.clients[stream as usize / 2].rpc)].response;
                self.append(stream + 1, response, now);
            } else {
                self.answered(stream / 2, now);
            }
        }
    }

    /// A response has arrived.
    fn answered(&mut self, connection: u32, now: u64) {
        let framing = self.scenario.framing;
        let Some(r) = &mut self.rpcs else { return };
        // Connections keep the order of their messages.
        let Some(query) = r.clients[connection as usize].outstanding.pop_front() else { return };
        let record = r.record(connection, query, Some(now), &framing);
        self.note_answer(record, now);
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        let rpc = &r.workloads[usize::from(client.rpc)];
        if let Queries::Outstanding(_) = rpc.queries {
            if now < rpc.end.0 {
                self.issue(connection, now);
            } else {
                client.done = true;
            }
        }
        self.settle_client(connection);
    }

    /// A query is done.
    pub(crate) fn note_answer(&mut self, record: QueryRecord, now: u64) {
        let quirks = &self.scenario.quirks;
        assert!(
            record.qct >= record.ideal || quirks.clock_1ns || quirks.unpadded_data || self.failures.is_some(),
            "a query was answered faster than its ideal: {record:?}"
        );
        self.queries.push(record);
        self.counters.answered += 1;
        self.last_end = self.last_end.max(now);
    }

    /// Whether a stream carries the messages of a program, not queries or responses.
    fn is_program_stream(&self, stream: u32) -> bool {
        self.programs.as_ref().is_some_and(|p| p.has_stream(stream))
    }

    /// Counts a connection as finished once its client is done and has all responses.
    fn settle_client(&mut self, connection: u32) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        if client.done && client.outstanding.is_empty() && !std::mem::replace(&mut client.closed, true) {
            self.counters.finished += 1;
            self.counters.connections_ended += 1;
        }
    }

    /// A stream's flow was given up: its connection is over.
    pub(crate) fn end_stream(&mut self, stream: u32, slot: u32, now: u64) {
        self.note_failure(slot, now);
        self.flows[slot as usize].alive = false;
        let connection = stream / 2;
        let is_program = self.is_program_stream(stream);
        let Some(r) = &mut self.rpcs else { return };
        r.acked(stream, r.streams[stream as usize].end);
        if is_program {
            return;
        }
        let client = &mut r.clients[connection as usize];
        if is_query(stream) && !std::mem::replace(&mut client.closed, true) {
            client.done = true;
            self.counters.failed += 1;
            self.counters.connections_ended += 1;
            self.counters.connections_failed += 1;
        }
    }

    /// Queries that have not been answered, as they stand.
    pub(crate) fn unanswered(&self) -> Vec<QueryRecord> {
        let Some(r) = &self.rpcs else { return Vec::new() };
        let open = |(i, client): (usize, &Client)| {
            let record = |query: &Query| r.record(i as u32, *query, None, &self.scenario.framing);
            client.outstanding.iter().map(record).collect::<Vec<_>>()
        };
        r.clients.iter().enumerate().flat_map(open).collect()
    }

    /// Takes over the clients of another part, for records.
    pub(crate) fn absorb_rpcs(&mut self, other: &mut Net) {
        let (Some(mine), Some(theirs)) = (&mut self.rpcs, &mut other.rpcs) else { return };
        for (mine, theirs) in mine.clients.iter_mut().zip(&mut theirs.clients) {
            if theirs.issued > 0 {
                std::mem::swap(mine, theirs);
            }
        }
    }

    /// Streams of this network whose sender is not told yet that all has arrived: their ACKs may be held back.
    pub(crate) fn unsettled(&self) -> u64 {
        self.rpcs.as_ref().map_or(0, |r| r.unsettled())
    }

    /// When a NIC's clients want to be called, ps.
    #[inline]
    pub(crate) fn queries_due(&self, nic: u32) -> u64 {
        self.rpcs.as_ref().map_or(NEVER, |r| r.next_due(nic))
    }
}

//! Streams: flows that never end by themselves. Messages are appended to what they have to send.
//!
//! Where a message ends is known to its sender and, as the content of a byte stream would say it, to its receiver: the
//! note about it travels ahead of the message's packets and is looked at only when they have arrived. Streams carry
//! the queries and responses of clients and servers ([`crate::net::rpc`]) and the messages of programs ([`crate::net::programs`]).

use std::collections::VecDeque;

use paceline_proto::cc::{CongestionControl, Controller};
use paceline_proto::transport::rdma::Acked;

use crate::error::InputError;
use crate::graph::NodeId;
use crate::ideal::Way;
use crate::net::Net;
use crate::net::flow::Flow;
use crate::net::parts::Note;
use crate::net::programs::Letter;
use crate::packet::NONE;
use crate::scenario::{Scenario, Transport};
use crate::workload::program::Connections;
use crate::workload::rpc::is_query;

/// Packets that a connection over RDMA may carry: half of what its numbers hold.
pub(crate) const MOST_PACKETS: u64 = (u32::MAX >> 1) as u64;

/// Numbers of the flows that are a program's streams, above those of all other flows.
pub(crate) const STREAMS: u64 = 1 << 48;

/// A connection over RDMA that would carry more than [`MOST_PACKETS`]; the caller adds place, value and remedy.
pub(crate) fn too_many_packets() -> InputError {
    InputError::new("too many packets on one connection over RDMA, which numbers them in 32 bits")
}

/// What a stream carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carries {
    /// The queries of a connection.
    Queries(u32),
    /// Its responses.
    Responses(u32),
    /// Messages of a program.
    Messages,
}

/// A message over RDMA that is not wholly acknowledged.
#[derive(Clone, Copy, Debug)]
struct Unacked {
    /// Position of its end, packets.
    end: u32,
    /// Size of its last packet.
    short: u16,
    /// Payload by which the last packets of the stream's messages, up to this one, fall short of full ones.
    lack: u64,
}

/// A stream at its ends.
#[derive(Clone, Debug, Default)]
struct StreamState {
    /// Slot of its flow at the sender.
    slot: u32,
    /// Tiers of the links on its way.
    directions: Box<[u8]>,
    /// Position of the end of all messages so far: in packets over RDMA, in bytes over TCP.
    end: u64,
    /// At the sender: all messages up to here have been acknowledged, and perhaps part of the next.
    acked: u64,
    /// At the sender, RDMA: the messages not wholly acknowledged, and what the last packets of those that are lack.
    unacked: VecDeque<Unacked>,
    acked_lack: u64,
    /// At the receiver: ends of messages that have not arrived.
    expected: VecDeque<u64>,
    /// At the receiver, TCP: bytes that have arrived in order.
    arrived: u64,
}

/// All streams of a run: two for each connection of clients and servers, then those that programs open.
pub(crate) struct Streams {
    all: Vec<StreamState>,
    /// Streams of clients and servers.
    of_clients: u32,
    /// Streams whose sender is not told yet that all has arrived.
    unsettled: u64,
    /// Streams of bytes, not of packets.
    is_tcp: bool,
}

impl Streams {
    /// The streams of a scenario, where it has any.
    pub(crate) fn new(scenario: &Scenario) -> Option<Box<Self>> {
        let programs = scenario.programs.iter().any(|p| p.connections == Connections::Open);
        if scenario.rpcs.is_empty() && !programs {
            return None;
        }
        let of_clients = scenario.rpcs.iter().map(|r| r.count() * 2).sum();
        Some(Box::new(Self {
            all: vec![StreamState { slot: NONE, ..StreamState::default() }; of_clients as usize],
            of_clients,
            unsettled: 0,
            is_tcp: scenario.schemes.iter().any(|s| matches!(s.transport, Transport::Tcp(_))),
        }))
    }

    /// What a stream carries.
    pub(crate) fn carries(&self, stream: u32) -> Carries {
        match stream {
            s if s >= self.of_clients => Carries::Messages,
            s if is_query(s) => Carries::Queries(s / 2),
            s => Carries::Responses(s / 2),
        }
    }

    /// All of a stream up to a position has been acknowledged to its sender.
    fn acked(&mut self, stream: u32, upto: u64) {
        let state = &mut self.all[stream as usize];
        let open = state.acked < state.end;
        state.acked = state.acked.max(upto);
        self.unsettled -= u64::from(open && state.acked == state.end);
    }

    /// Bytes of a stream over TCP have been acknowledged to its sender.
    pub(crate) fn acked_bytes(&mut self, stream: u32, fresh: u32) {
        let upto = self.all[stream as usize].acked + u64::from(fresh);
        self.acked(stream, upto);
    }

    /// The slot of a stream's sender, and its packets so far (over RDMA).
    pub(crate) fn sender_of(&self, stream: u32) -> Option<(u32, u64)> {
        let state = self.all.get(stream as usize).filter(|s| s.slot != NONE)?;
        Some((state.slot, if self.is_tcp { 0 } else { state.end }))
    }

    /// Whether all of a stream has been acknowledged to its sender.
    pub(crate) fn is_settled(&self, stream: u32) -> bool {
        self.all.get(stream as usize).is_none_or(|state| state.acked >= state.end)
    }

    /// Takes over how far the streams have come that another part sends; for records.
    pub(crate) fn absorb(&mut self, other: &Self) {
        if self.all.len() < other.all.len() {
            self.all.resize(other.all.len(), StreamState { slot: NONE, ..StreamState::default() });
        }
        for (mine, theirs) in self.all.iter_mut().zip(&other.all).filter(|(_, theirs)| theirs.slot != NONE) {
            (mine.end, mine.acked) = (theirs.end, theirs.acked);
        }
    }

    /// Tiers of the links on a stream's way.
    pub(crate) fn directions(&self, stream: u32) -> &[u8] {
        &self.all[stream as usize].directions
    }

    /// A stream's flow has started here: its slot, and the directions of the links on its way.
    fn started(&mut self, stream: u32, slot: u32, directions: Box<[u8]>) {
        let state = self.state(stream);
        (state.slot, state.directions) = (slot, directions);
    }

    /// A stream, which a program may have opened just now.
    fn state(&mut self, stream: u32) -> &mut StreamState {
        if self.all.len() <= stream as usize {
            self.all.resize(stream as usize + 1, StreamState { slot: NONE, ..StreamState::default() });
        }
        &mut self.all[stream as usize]
    }

    /// An acknowledgement of a stream over RDMA.
    pub(crate) fn on_ack(&mut self, flow: &mut Flow, seq: u32) -> Acked {
        let state = &mut self.all[flow.stream as usize - 1];
        flow.tx.packets = state.end as u32;
        let acked = flow.tx.on_ack(seq);
        while let Some(message) = state.unacked.front().filter(|m| m.end <= flow.tx.snd_una) {
            state.acked_lack = message.lack;
            state.unacked.pop_front();
        }
        fit(state, flow);
        let upto = u64::from(flow.tx.snd_una);
        self.acked(flow.stream - 1, upto);
        if acked == Acked::Finished { Acked::Progress } else { acked }
    }

    /// The next packet of a stream over RDMA is now one of another message.
    pub(crate) fn refit(&self, flow: &mut Flow) {
        fit(&self.all[flow.stream as usize - 1], flow);
    }
}

/// Sets a stream's sender to the message its next packet belongs to, and to what it has in flight.
fn fit(state: &StreamState, flow: &mut Flow) {
    let at = state.unacked.partition_point(|m| m.end <= flow.tx.snd_nxt);
    flow.lack = at.checked_sub(1).map_or(0, |last| state.unacked[last].lack - state.acked_lack);
    flow.whole_at = state.unacked.front().map_or(flow.tx.snd_una + 1, |m| m.end);
    match state.unacked.get(at) {
        Some(m) => (flow.tx.packets, flow.short_size) = (m.end, m.short),
        None => flow.tx.packets = flow.tx.snd_nxt,
    }
}

impl Net {
    /// A stream's flow to host `dst` has started here on links of these directions; an acknowledgement takes at least `ack` ps.
    pub(crate) fn stream_started(
        &mut self,
        stream: u32,
        slot: u32,
        dst: NodeId,
        (way, ack): (Way, u64),
        directions: Box<[u8]>,
    ) {
        let Some(streams) = &mut self.streams else { return };
        streams.started(stream, slot, directions);
        match (streams.carries(stream), &mut self.rpcs, &mut self.programs) {
            (Carries::Queries(connection), Some(rpcs), _) => rpcs.set_way(connection, way),
            (Carries::Responses(connection), Some(rpcs), _) => {
                let least = rpcs.least_response(connection, &self.scenario.framing, &way);
                // The client is where its responses go.
                match self.share.elsewhere(dst) {
                    Some(part) => self.tell(part, Note::Answers { connection, least }),
                    None => rpcs.learn_response(connection, least),
                }
            }
            (Carries::Messages, _, Some(programs)) => programs.opened(stream, way, ack),
            _ => {}
        }
    }

    /// A stream's flow has been handed to its NIC at `now`.
    pub(crate) fn open_stream(&mut self, nic: u32, stream: u32, now: u64) {
        if let Some(Carries::Queries(connection)) = self.streams.as_ref().map(|s| s.carries(stream)) {
            self.begin_client(nic, connection, now);
        }
    }

    /// A stream over RDMA that has been idle for so long that it is to begin as a new flow does so.
    fn restart_idle(&mut self, slot: u32, now: u64) {
        let Some(idle) = self.host.idle_restart else { return };
        let flow = &mut self.flows[slot as usize];
        if flow.tx.in_flight() == 0 && !flow.tx.has_data() && now.saturating_sub(flow.progress_at) > idle.0 {
            self.keep_used(slot);
            let flow = &mut self.flows[slot as usize];
            flow.cc = Controller::new(&self.contexts[usize::from(flow.context)]);
            flow.cc.begin_at(flow.tx.snd_nxt);
            self.apply_limits(slot);
            self.flows[slot as usize].next_avail = now;
        }
    }

    /// A message of `bytes` follows on a stream; `letter` is that of a program.
    pub(crate) fn append(&mut self, stream: u32, bytes: u64, letter: Option<Letter>, now: u64) {
        let framing = self.scenario.framing;
        let Some(streams) = &self.streams else { return };
        let (is_tcp, slot) = (streams.is_tcp, streams.all[stream as usize].slot);
        // A connection that was given up takes nothing any more.
        if slot == NONE || !self.flows[slot as usize].alive {
            return;
        }
        if !is_tcp {
            self.restart_idle(slot, now);
        }
        let Some(streams) = &mut self.streams else { return };
        let state = &mut streams.all[stream as usize];
        let flow = &mut self.flows[slot as usize];
        let (packets, last) = framing.split(bytes);
        streams.unsettled += u64::from(state.acked == state.end);
        let added = self.scenario.schemes[usize::from(self.infos[slot as usize].spec.scheme)].added();
        if is_tcp {
            state.end += bytes;
        } else {
            state.end += packets;
            let min_frame = if self.scenario.quirks.unpadded_data { 0 } else { framing.min_frame };
            let before = state.unacked.back().map_or(state.acked_lack, |m| m.lack);
            state.unacked.push_back(Unacked {
                end: state.end as u32,
                short: (last + framing.header + added.telemetry).max(min_frame) as u16,
                lack: before + u64::from(framing.payload - last),
            });
            fit(state, flow);
        }
        let end = state.end;
        let wire = crate::workload::load::wire_bytes(bytes, &framing, added);
        let (nic, place, dst) = (self.ports[flow.nic as usize].nic, flow.place, self.infos[slot as usize].spec.dst);
        match self.share.elsewhere(dst) {
            Some(part) => self.tell(part, Note::Appended { stream, end, letter }),
            None => self.appended(stream, end, letter),
        }
        self.offer_message(stream, wire, now);
        if is_tcp {
            self.append_message(nic, place, bytes, now);
        } else {
            self.refresh(slot);
        }
    }

    /// A stream's receiver may expect a message up to this position.
    pub(crate) fn appended(&mut self, stream: u32, end: u64, letter: Option<Letter>) {
        if let Some(streams) = &mut self.streams {
            streams.state(stream).expected.push_back(end);
        }
        if let (Some(programs), Some(letter)) = (&mut self.programs, letter) {
            programs.expect(stream, letter);
        }
    }

    /// Bytes have newly arrived in order on a stream over TCP.
    pub(crate) fn stream_bytes(&mut self, stream: u32, fresh: u32, now: u64) {
        let Some(streams) = &mut self.streams else { return };
        let state = &mut streams.all[stream as usize];
        state.arrived += u64::from(fresh);
        let upto = state.arrived;
        self.stream_arrived(stream, upto, now);
    }

    /// All of a stream up to a position has arrived.
    #[cold]
    pub(crate) fn stream_arrived(&mut self, stream: u32, upto: u64, now: u64) {
        while let Some(streams) = &mut self.streams
            && let state = &mut streams.all[stream as usize]
            && state.expected.front().is_some_and(|end| *end <= upto)
        {
            state.expected.pop_front();
            match streams.carries(stream) {
                Carries::Queries(connection) => self.asked(connection, now),
                Carries::Responses(connection) => self.answered(connection, now),
                Carries::Messages => self.program_stream_arrived(stream, now),
            }
        }
    }

    /// A stream's flow was given up.
    pub(crate) fn end_stream(&mut self, stream: u32, slot: u32, now: u64) {
        self.note_failure(slot, now);
        self.last_end = self.last_end.max(now);
        self.flows[slot as usize].alive = false;
        let Some(streams) = &mut self.streams else { return };
        streams.acked(stream, streams.all[stream as usize].end);
        if let Carries::Queries(connection) = streams.carries(stream) {
            self.lose_client(connection);
        }
    }

    /// Connections whose servers, here, have given their answers up.
    pub(crate) fn answers_given_up(&self) -> Vec<u32> {
        let (Some(streams), true) = (&self.streams, self.first_failure.is_some()) else { return Vec::new() };
        let ended = self.flows.iter().filter(|flow| !flow.alive).filter_map(|flow| flow.stream.checked_sub(1));
        let answers = ended.filter_map(|stream| match streams.carries(stream) {
            Carries::Responses(connection) => Some(connection),
            Carries::Queries(_) | Carries::Messages => None,
        });
        answers.collect()
    }

    /// What will still be sent by hosts although no flow is under way: streams of this network whose sender is not told yet that all has
    /// arrived (their ACKs may be held back), and packets that shapers hold back. Of the latter nothing while packets are on their way.
    pub(crate) fn unsettled(&self) -> u64 {
        let streams = self.streams.as_ref().map_or(0, |s| s.unsettled);
        let is_quiet = self.arena.live() == 0;
        let held_back = self.messages.as_ref().filter(|_| is_quiet).map_or(0, |m| m.held_back() as u64);
        streams + held_back
    }
}

//! What a run leaves behind: counters, queue histograms, pauses, finished flows.

use crate::graph::NodeId;
use crate::packet::{Kind as Frame, Packet};

/// Octaves of queue lengths that are told apart, from 64 bytes up.
const OCTAVES: usize = 26;

/// Bin of a queue of `bytes` (above 0). Bin 0 is that of an empty one.
#[inline(always)]
pub fn bin(bytes: u32) -> usize {
    let b = bytes.max(64);
    let octave = b.ilog2();
    let eighth = (b >> (octave - 3)) & 7;
    (1 + (octave - 6) * 8 + eighth) as usize
}

/// Time by queue length, ps: log-linear bins, eight per octave, which share a cache line. What is empty is not noted.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct QueueTime([u64; 8 * OCTAVES]);

impl Default for QueueTime {
    fn default() -> Self {
        Self([0; 8 * OCTAVES])
    }
}

impl QueueTime {
    /// A queue held `bytes` (above 0) for `time`.
    #[inline(always)]
    pub fn add(&mut self, bytes: u32, time: u64) {
        self.0[bin(bytes) - 1] += time;
    }

    /// Adds what was noted elsewhere.
    pub fn absorb(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Bins that have any time, and their times.
    pub fn bins(&self) -> impl Iterator<Item = (usize, u64)> + Clone {
        (1..).zip(self.0.iter().copied()).filter(|(_, time)| *time > 0)
    }
}

/// Byte range `[low, high)` of a bin.
pub fn bin_range(bin: usize) -> (u64, u64) {
    if bin == 0 {
        return (0, 1);
    }
    let (octave, eighth) = ((bin - 1) / 8 + 6, (bin - 1) % 8);
    let low = (1u64 << octave) + ((eighth as u64) << (octave - 3));
    (if bin == 1 { 1 } else { low }, low + (1u64 << (octave - 3)))
}

/// Queue lengths sampled at fixed instants, counted by whole kilobytes: the reference simulator's `qlen.txt`. Samples are
/// not taken one by one: a queue's level counts for all samples since it last changed.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    /// Samples taken so far.
    taken: u64,
    /// By global port: the sample count at its last change.
    since: Vec<u64>,
    /// By global port: samples by bytes / 1000.
    counts: Vec<Vec<u64>>,
}

impl Sampler {
    /// For that many ports.
    pub fn new(ports: usize) -> Self {
        Self { taken: 0, since: vec![0; ports], counts: vec![Vec::new(); ports] }
    }

    /// An instant to sample has come.
    pub fn sample(&mut self) {
        self.taken += 1;
    }

    /// The queue of `port` had `before` bytes until now.
    pub fn change(&mut self, port: u32, before: u32) {
        let i = port as usize;
        let new = self.taken - self.since[i];
        if new > 0 {
            let bin = (before / 1000) as usize;
            if self.counts[i].len() <= bin {
                self.counts[i].resize(bin + 1, 0);
            }
            self.counts[i][bin] += new;
            self.since[i] = self.taken;
        }
    }

    /// Samples of a port by kilobytes. Call [`Sampler::change`] with the present level first.
    pub fn counts(&self, port: u32) -> &[u64] {
        &self.counts[port as usize]
    }
}

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Status {
    /// Not started.
    #[default]
    NotStarted,
    /// Started, not finished.
    Running,
    /// Every byte acknowledged.
    Finished,
    /// Given up.
    Failed,
}

/// A flow's result. Times in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowRecord {
    /// Position in the flow stream.
    pub id: u64,
    /// How it ended.
    pub status: Status,
    /// Traffic class.
    pub class: u8,
    /// Index into the schemes.
    pub scheme: u16,
    /// Index into the groups.
    pub group: u16,
    /// Links on the data path.
    pub hops: u16,
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Port numbers of the tuple.
    pub sport: u16,
    /// Port numbers of the tuple.
    pub dport: u16,
    /// Payload.
    pub bytes: u64,
    /// Start.
    pub start: u64,
    /// Start to the last byte acknowledged at the sender; 0 if that never happened.
    pub fct_sender: u64,
    /// Start to the last byte received; 0 if that never happened or the flow was given up.
    pub fct_receiver: u64,
    /// Start to being given up; 0 for flows that were not.
    pub failed_after: u64,
    /// Line-rate ideal of `fct_sender`.
    pub ideal_sender: u64,
    /// Line-rate ideal of `fct_receiver`.
    pub ideal_receiver: u64,
    /// The reference simulator's standalone formula.
    pub ideal_hpcc: u64,
    /// Packets sent more than once.
    pub retransmitted: u32,
    /// Datagrams that never arrived, of flows over UDP whose last one has gone.
    pub lost: u32,
}

/// What a scheme has sent and what became of it. Data packets only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Packets sent, copies included.
    pub packets: u64,
    /// Bytes of their frames.
    pub frame_bytes: u64,
    /// Payload bytes that arrived for the first time.
    pub delivered_bytes: u64,
    /// Packets dropped or lost on their way.
    pub dropped_packets: u64,
    /// Bytes of their frames.
    pub dropped_bytes: u64,
}

impl Traffic {
    /// Adds that of another part of the network.
    pub fn add(&mut self, other: &Traffic) {
        let Traffic { packets, frame_bytes, delivered_bytes, dropped_packets, dropped_bytes } = other;
        self.packets += packets;
        self.frame_bytes += frame_bytes;
        self.delivered_bytes += delivered_bytes;
        self.dropped_packets += dropped_packets;
        self.dropped_bytes += dropped_bytes;
    }
}

/// A query and what became of it. Times in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueryRecord {
    /// Number of its connection in the run.
    pub connection: u32,
    /// Which query of its connection, from 0.
    pub number: u32,
    /// Index into the groups.
    pub group: u16,
    /// Index into the schemes.
    pub scheme: u16,
    /// Host that asks.
    pub client: NodeId,
    /// Host that answers.
    pub server: NodeId,
    /// Bytes of the query.
    pub bytes: u64,
    /// Bytes of the response.
    pub response_bytes: u64,
    /// When it was issued.
    pub start: u64,
    /// From then to the last byte of the response; 0 if that never came.
    pub qct: u64,
    /// Both messages alone in the network, back to back.
    pub ideal: u64,
}

/// A PFC frame taking effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfcEvent {
    /// When.
    pub now: u64,
    /// At which node (the one that stops or goes on).
    pub node: NodeId,
    /// At which of its ports.
    pub port: u16,
    /// Class.
    pub class: u8,
    /// Pause (else resume).
    pub pause: bool,
}

/// What a port did with a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PacketEvent {
    /// Cut its payload off.
    Trimmed,
    /// Began to send it.
    Sent,
    /// Had no room for it.
    DroppedBuffer,
    /// Sent it, but it was lost on the wire.
    DroppedWire,
    /// Lost it because a link is down.
    DroppedLinkDown,
    /// Had no room for a credit.
    DroppedCredit,
}

/// What a port did with a packet, and when.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PacketRecord {
    /// When, ps.
    pub at: u64,
    /// The port (global index).
    pub port: u32,
    /// What it did.
    pub event: PacketEvent,
    /// When all of the packet is at the other end, ps; 0 where it never is.
    pub arrival: u64,
    /// What the packet is.
    pub kind: PacketKind,
    /// Its flow: the number in packets ([`FlowName`]) until somebody puts the id in its place; `None` of a PFC frame.
    pub flow: Option<u64>,
    /// Its number among those of its kind, or its first byte over TCP.
    pub seq: Option<u32>,
    /// Next packet, or byte over TCP, that its sender expects.
    pub ack: Option<u32>,
    /// Bytes of the frame.
    pub size: u16,
    /// Traffic class; of a PFC frame the one concerned.
    pub class: u8,
    /// It met congestion; of an ACK over RDMA: what it acknowledges did.
    pub marked: bool,
    /// Bytes that wait at the port, without this packet.
    pub waiting: u32,
}

/// What a packet is, for a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PacketKind {
    /// Of RDMA, or made by a switch.
    Frame(Frame),
    /// Of a message transport: place of the kind in its list.
    Message(u8),
}

/// A flow has this number in packets from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowName {
    /// The number.
    pub number: u32,
    /// The flow's id.
    pub id: u64,
}

/// What a node does with a packet, as the reference simulator's packet trace has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It has arrived.
    Received,
    /// It joins a port's queue.
    Queued,
    /// The port begins to send it.
    Sent,
    /// It would arrive, but the link is down.
    Lost,
    /// It waited as the link went down.
    Discarded,
}

/// What is known of a flow by its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowEnds {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Port numbers of the tuple.
    pub sport: u16,
    /// Port numbers of the tuple.
    pub dport: u16,
    /// Payload.
    pub bytes: u64,
}

/// A stage of a packet's way through a node.
#[derive(Clone, Debug)]
pub struct StageRecord {
    /// When, ps.
    pub at: u64,
    /// The port (global index).
    pub port: u32,
    /// Which.
    pub stage: Stage,
    /// The port's queue concerned.
    pub queue: u8,
    /// Bytes in that queue, this packet not among them; 0 at hosts.
    pub waiting: u32,
    /// The packet.
    pub packet: Packet,
    /// It met congestion itself, which an ACK's own flag does not say.
    pub is_marked: bool,
    /// When its data was sent, ps, where packets carry that.
    pub stamp: Option<u64>,
    /// Its flow, unless it is a PFC frame.
    pub flow: Option<FlowEnds>,
}

/// What has happened since somebody last asked, each kind in the order in which its engine came to it.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Flows started (status running, as far as known then) or ended; of one flow the start comes first.
    pub flows: Vec<FlowRecord>,
    /// Queries answered.
    pub queries: Vec<QueryRecord>,
    /// PFC frames that took effect, where they are recorded.
    pub pfc: Vec<PfcEvent>,
    /// What ports did with packets, where that is recorded.
    pub packets: Vec<PacketRecord>,
    /// Flows that these may be of, by their starts.
    pub names: Vec<FlowName>,
}

impl News {
    /// Adds, and takes, what has happened elsewhere.
    pub fn append(&mut self, other: &mut News) {
        let News { flows, queries, pfc, packets, names } = other;
        self.flows.append(flows);
        self.queries.append(queries);
        self.pfc.append(pfc);
        self.packets.append(packets);
        self.names.append(names);
    }
}

/// Pauses of one port, all classes.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Pause frames received, by class.
    pub pauses: [u64; 8],
    /// Resume frames received, by class.
    pub resumes: [u64; 8],
    /// Time paused so far, by class; the current pause not counted.
    pub time: [u64; 8],
    /// Start of the current pause, by class.
    pub since: [u64; 8],
}

/// Rare things at one egress port.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounts {
    /// Congestion marks set.
    pub marks: u64,
    /// Packets dropped for lack of buffer on their way to this port.
    pub drops_buffer: u64,
    /// Of these, unscheduled packets of message transports.
    pub drops_unscheduled: u64,
    /// Of these, packets without payload.
    pub drops_control: u64,
    /// Packets lost on the wire behind it.
    pub drops_wire: u64,
    /// Packets lost because the link behind it was down, or because the switch it leads to had no route.
    pub drops_link_down: u64,
    /// Packets trimmed on their way to this port.
    pub trims: u64,
    /// Credits that its shaper dropped.
    pub drops_credit: u64,
}

impl PortCounts {
    /// Adds those that another part of the network has counted for the port.
    pub fn add(&mut self, other: &PortCounts) {
        self.marks += other.marks;
        self.drops_buffer += other.drops_buffer;
        self.drops_unscheduled += other.drops_unscheduled;
        self.drops_control += other.drops_control;
        self.drops_wire += other.drops_wire;
        self.drops_link_down += other.drops_link_down;
        self.trims += other.trims;
        self.drops_credit += other.drops_credit;
    }
}

/// Sums over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events handled (arrivals, departures, wake-ups).
    pub events: u64,
    /// Arrivals at the same egress port in the same picosecond.
    pub ties: u64,
    /// Packets dropped for lack of buffer.
    pub drops_buffer: u64,
    /// Of these, in a class that was to be lossless; without what selective dropping may take.
    pub lossless_drops: u64,
    /// Packets lost on a wire.
    pub drops_wire: u64,
    /// Packets lost because a link was down.
    pub drops_link_down: u64,
    /// Pause frames sent.
    pub pause_frames: u64,
    /// Resume frames sent.
    pub resume_frames: u64,
    /// Congestion notifications that switches have made (QCN).
    pub notifications: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Congestion marks set.
    pub marks: u64,
    /// Data packets made by senders.
    pub data_made: u64,
    /// Pauses after which an end of a flow took a path anew.
    pub flowlets: u64,
    /// Data packets delivered to receivers.
    pub data_delivered: u64,
    /// Of these over RDMA, those that receivers have thrown away.
    pub data_discarded: u64,
    /// Data packets dropped anywhere.
    pub data_dropped: u64,
    /// Data packets whose payload switches cut off.
    pub data_trimmed: u64,
    /// Trimmed packets sent back to their senders.
    pub returned: u64,
    /// Credits dropped by shapers of switch ports.
    pub drops_credit: u64,
    /// Of the packets dropped for lack of buffer, unscheduled ones of message transports.
    pub drops_unscheduled: u64,
    /// Flows started, and connections opened.
    pub started: u64,
    /// Flows finished, and connections over.
    pub finished: u64,
    /// Flows and connections given up.
    pub failed: u64,
    /// Of those started, connections.
    pub connections: u64,
    /// Of the connections, those that are over in either way.
    pub connections_ended: u64,
    /// Of the connections that are over, those given up.
    pub connections_failed: u64,
    /// Queries issued.
    pub queries: u64,
    /// Queries answered.
    pub answered: u64,
}

impl Counters {
    /// Adds those of another part of the network.
    pub fn add(&mut self, other: &Counters) {
        let Counters {
            events,
            ties,
            drops_buffer,
            lossless_drops,
            drops_wire,
            drops_link_down,
            pause_frames,
            resume_frames,
            notifications,
            retransmitted,
            marks,
            data_made,
            flowlets,
            data_delivered,
            data_discarded,
            data_dropped,
            data_trimmed,
            returned,
            drops_credit,
            drops_unscheduled,
            started,
            finished,
            failed,
            connections,
            connections_ended,
            connections_failed,
            queries,
            answered,
        } = other;
        self.events += events;
        self.ties += ties;
        self.drops_buffer += drops_buffer;
        self.lossless_drops += lossless_drops;
        self.drops_wire += drops_wire;
        self.drops_link_down += drops_link_down;
        self.pause_frames += pause_frames;
        self.resume_frames += resume_frames;
        self.notifications += notifications;
        self.retransmitted += retransmitted;
        self.marks += marks;
        self.data_made += data_made;
        self.flowlets += flowlets;
        self.data_delivered += data_delivered;
        self.data_discarded += data_discarded;
        self.data_dropped += data_dropped;
        self.data_trimmed += data_trimmed;
        self.returned += returned;
        self.drops_credit += drops_credit;
        self.drops_unscheduled += drops_unscheduled;
        self.started += started;
        self.finished += finished;
        self.failed += failed;
        self.connections += connections;
        self.connections_ended += connections_ended;
        self.connections_failed += connections_failed;
        self.queries += queries;
        self.answered += answered;
    }

    /// Flows that have started and not ended.
    pub fn active(&self) -> u64 {
        self.started - self.finished - self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every queue length lies in the range its bin claims: else the printed distribution is wrong.
        #[test]
        fn a_bin_contains_its_bytes(bytes in 1u32..u32::MAX) {
            let (low, high) = bin_range(bin(bytes));
            prop_assert!(low <= u64::from(bytes) && u64::from(bytes) < high, "{bytes} in [{low}, {high})");
        }
    }
}

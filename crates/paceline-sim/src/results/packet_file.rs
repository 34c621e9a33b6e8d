//! `packets.bin`: one record for each packet that a port sent, trimmed or lost, in order of time, those of an instant by port; written
//! while the run goes. And `packets.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use paceline_proto::transport::message;

use super::record_file::{Format, Record, RecordFile, records};
use crate::graph::Graph;
use crate::packet::Kind as Frame;
use crate::record::{FlowName, PacketKind, PacketRecord};

const FORMAT: Format = Format { magic: b"PACELPKT", name: "packet", version: 1 };

/// Columns of `packets.csv`.
pub const COLUMNS: &str =
    "time_ps,node,port,peer,event,arrival_ps,flow_id,kind,seq,ack,size_bytes,class,marked,queue_bytes";
/// Names of events, by their codes in the file.
const EVENTS: [&str; 6] = ["trimmed", "sent", "dropped_buffer", "dropped_wire", "dropped_link_down", "dropped_credit"];
/// Names of kinds, by their codes in the file: those of message transports come after those of frames.
const KINDS: [&str; 8 + message::Kind::ALL.len()] = [
    "data",
    "ack",
    "nack",
    "control",
    "control",
    "notification",
    "pause",
    "resume",
    "data",
    "ack",
    "nack",
    "pull",
    "grant",
    "resend",
    "busy",
    "need_ack",
    "done",
    "probe",
    "probe_ack",
    "credit_request",
    "credit",
    "credit_stop",
    "datagram",
];

/// Brings what engines and threads tell of packets, each in an order of its own, into one.
#[derive(Debug, Default)]
pub struct InOrder {
    /// Ids of flows by their numbers in packets.
    names: BTreeMap<u32, u64>,
    held: Vec<PacketRecord>,
}

impl InOrder {
    /// Takes records and names. Of those records that are `wanted` once their flows have ids, returns the ones before an instant, in
    /// order: all that ports did before has been told.
    pub fn take(
        &mut self,
        records: &mut Vec<PacketRecord>,
        names: &[FlowName],
        before: u64,
        mut wanted: impl FnMut(Option<u64>) -> bool,
    ) -> impl Iterator<Item = PacketRecord> {
        for FlowName { number, id } in names {
            // A number that an unwanted flow has now is nobody else's.
            if wanted(Some(*id)) {
                self.names.insert(*number, *id)
            } else {
                self.names.remove(number)
            };
        }
        for mut record in records.drain(..) {
            // A stream that a program opened has no id.
            record.flow = record.flow.and_then(|number| self.names.get(&(number as u32)).copied());
            if wanted(record.flow) {
                self.held.push(record);
            }
        }
        self.held.sort_unstable();
        let ready = self.held.partition_point(|record| record.at < before);
        self.held.drain(..ready)
    }
}

/// What a packet file holds in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Rows.
    pub rows: u64,
    /// Time of the first row that there was no room for, ps.
    pub cut: Option<u64>,
    /// Flows asked for of which there is no row.
    pub unmet: Vec<u64>,
}

/// The file while a run goes.
#[derive(Debug)]
pub struct PacketFile {
    out: RecordFile,
    graph: Arc<Graph>,
    /// Flows asked for; empty for all.
    flows: BTreeSet<u64>,
    met: BTreeSet<u64>,
    in_order: InOrder,
    most: u64,
    recorded: Recorded,
}

impl PacketFile {
    /// A new file with at most so many rows, of these flows, or of all if there are none.
    pub fn create(path: &Path, graph: &Arc<Graph>, most: u64, flows: &[u64]) -> io::Result<Self> {
        Ok(Self {
            out: RecordFile::create(path, FORMAT)?,
            graph: Arc::clone(graph),
            flows: flows.iter().copied().collect(),
            met: BTreeSet::new(),
            in_order: InOrder::default(),
            most,
            recorded: Recorded::default(),
        })
    }

    /// Takes records, as [`InOrder::take`] does. False once there is no room for more. An error is kept for [`PacketFile::flush`].
    pub fn add(&mut self, records: &mut Vec<PacketRecord>, names: &[FlowName], before: u64) -> bool {
        let Self { out, graph, flows, met, in_order, most, recorded } = self;
        if recorded.cut.is_some() {
            records.clear();
            return false;
        }
        let is_wanted = |flow: Option<u64>| flows.is_empty() || flow.is_some_and(|id| flows.contains(&id));
        for record in in_order.take(records, names, before, is_wanted) {
            if recorded.rows == *most {
                recorded.cut = Some(record.at);
                return false;
            }
            recorded.rows += 1;
            if !flows.is_empty() {
                met.extend(record.flow);
            }
            out.write(&encode(&record, graph));
        }
        true
    }

    /// Brings everything so far to the file. Reports the first error of all writes, a full disk for one.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The run is over.
    pub fn finish(mut self) -> io::Result<Recorded> {
        self.add(&mut Vec::new(), &[], u64::MAX);
        self.flush()?;
        self.recorded.unmet = self.flows.difference(&self.met).copied().collect();
        Ok(self.recorded)
    }
}

/// A number that does not exist.
const NONE: u64 = u64::MAX;

fn encode(r: &PacketRecord, graph: &Graph) -> Record {
    let port = &graph.ports[r.port as usize];
    let number = r.port - graph.first[port.node as usize];
    let kind = match r.kind {
        PacketKind::Frame(frame) => frame as u8,
        PacketKind::Message(place) => Frame::Resume as u8 + 1 + place,
    };
    let words = [r.at, r.arrival, r.flow.unwrap_or(NONE), r.seq.map_or(NONE, u64::from), r.ack.map_or(NONE, u64::from)];
    let mut out = [0; 64];
    let (long, rest) = out.split_at_mut(8 * words.len());
    long.chunks_exact_mut(8).zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    let ints = [port.node, port.peer, r.waiting, number | u32::from(r.size) << 16];
    rest.chunks_exact_mut(4).zip(ints).for_each(|(place, int)| place.copy_from_slice(&int.to_le_bytes()));
    rest[16..20].copy_from_slice(&[r.event as u8, kind, r.class, u8::from(r.marked)]);
    out
}

/// Writes `packets.csv` from `packets.bin`.
pub fn write_csv(bin: &Path, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for record in records(bin, FORMAT)? {
        let b = record?;
        let int = |i: usize| u32::from_le_bytes([b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]]);
        let word = |i: usize| u64::from(int(2 * i)) | u64::from(int(2 * i + 1)) << 32;
        let text = |word: u64, none: u64| if word == none { String::new() } else { word.to_string() };
        let [event, kind, class, marked] = int(14).to_le_bytes();
        let (time, arrival) = (word(0), text(word(1), 0));
        let [flow, seq, ack] = [2, 3, 4].map(|i| text(word(i), NONE));
        let (node, peer, waiting, port, size) = (int(10), int(11), int(12), int(13) & 0xffff, int(13) >> 16);
        let event = EVENTS.get(usize::from(event)).unwrap_or(&"?");
        let kind = KINDS.get(usize::from(kind)).unwrap_or(&"?");
        writeln!(
            out,
            "{time},{node},{port},{peer},{event},{arrival},{flow},{kind},{seq},{ack},{size},{class},{marked},{waiting}"
        )?;
    }
    Ok(())
}

//! `flows.bin`: one record of 80 bytes per flow, at an offset given by its id.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::record::{FlowRecord, Status};

/// Bytes before the first record.
const HEADER: u64 = 64;
/// Bytes of a record.
const RECORD: usize = 80;
const MAGIC: &[u8; 8] = b"PACELFLW";
const VERSION: u32 = 1;
/// Records collected before they are written, at least.
const BATCH: usize = 4096;

/// The file while a run goes.
#[derive(Debug)]
pub struct FlowFile {
    file: File,
    pending: Vec<(u64, [u8; RECORD])>,
    bytes: Vec<u8>,
    error: Option<io::Error>,
    /// Whether the disk has refused something: what would come behind it is not written, nor how many flows there are.
    is_cut: bool,
}

impl FlowFile {
    /// A new file with a header that says "unknown number of records".
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let this = Self { file, pending: Vec::with_capacity(BATCH), bytes: Vec::new(), error: None, is_cut: false };
        this.write_header(0)?;
        Ok(this)
    }

    fn write_header(&self, records: u64) -> io::Result<()> {
        let mut header = [0u8; HEADER as usize];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
        header[16..24].copy_from_slice(&records.to_le_bytes());
        self.file.write_all_at(&header, 0)
    }

    /// Adds flows that have started or ended. An error is kept for [`FlowFile::flush`].
    pub fn add(&mut self, records: &[FlowRecord]) {
        self.pending.extend(records.iter().map(|r| (r.id, encode(r))));
        // Not within what the engine tells at once: of flows that start in a window it tells in no order of their ids, and a kill would
        // leave holes.
        if self.pending.len() >= BATCH {
            let result = self.write_pending();
            self.keep(result);
        }
    }

    fn keep(&mut self, result: io::Result<()>) {
        if let Err(e) = result {
            self.is_cut = true;
            self.error.get_or_insert(e);
        }
    }

    /// Writes what is pending, neighbours together; of a flow that has started and ended its end.
    fn write_pending(&mut self) -> io::Result<()> {
        if self.is_cut {
            self.pending.clear();
            return Ok(());
        }
        self.pending.sort_by_key(|p| p.0);
        self.pending.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                *earlier = *later;
            }
            same
        });
        let pending = std::mem::take(&mut self.pending);
        let mut i = 0;
        let mut result = Ok(());
        while i < pending.len() && result.is_ok() {
            let first = pending[i].0;
            self.bytes.clear();
            while i < pending.len() && pending[i].0 == first + (self.bytes.len() / RECORD) as u64 {
                self.bytes.extend_from_slice(&pending[i].1);
                i += 1;
            }
            result = self.file.write_all_at(&self.bytes, HEADER + first * RECORD as u64);
        }
        self.pending = pending;
        self.pending.clear();
        result
    }

    /// Brings everything so far to the file. Reports the first error of all writes, a full disk for one.
    pub fn flush(&mut self) -> io::Result<()> {
        let result = self.write_pending();
        self.keep(result);
        self.error.take().map_or(Ok(()), Err)
    }

    /// The run is over and has `records` flows.
    pub fn finish(mut self, records: u64) -> io::Result<()> {
        self.flush()?;
        if self.is_cut {
            return Ok(());
        }
        self.file.set_len(HEADER + records * RECORD as u64)?;
        self.write_header(records)
    }
}

fn encode(r: &FlowRecord) -> [u8; RECORD] {
    let mut out = [0u8; RECORD];
    out[0] = r.status as u8;
    out[1] = r.class;
    out[2..4].copy_from_slice(&r.scheme.to_le_bytes());
    out[4..6].copy_from_slice(&r.group.to_le_bytes());
    out[6..8].copy_from_slice(&r.hops.to_le_bytes());
    out[8..12].copy_from_slice(&r.src.to_le_bytes());
    out[12..16].copy_from_slice(&r.dst.to_le_bytes());
    // A flow given up has no FCT: there stands its age at that instant.
    let sender = if r.status == Status::Failed { r.failed_after } else { r.fct_sender };
    let words = [r.bytes, r.start, sender, r.fct_receiver, r.ideal_sender, r.ideal_receiver, r.ideal_hpcc];
    for (i, word) in words.into_iter().enumerate() {
        out[16 + 8 * i..24 + 8 * i].copy_from_slice(&word.to_le_bytes());
    }
    out[72..76].copy_from_slice(&r.retransmitted.to_le_bytes());
    out[76..80].copy_from_slice(&r.lost.to_le_bytes());
    out
}

fn decode(b: &[u8; RECORD]) -> FlowRecord {
    let half = |at: usize| u16::from_le_bytes([b[at], b[at + 1]]);
    let int = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    let word = |i: usize| u64::from(int(16 + 8 * i)) | u64::from(int(20 + 8 * i)) << 32;
    let failed = b[0] == Status::Failed as u8;
    FlowRecord {
        id: 0,
        status: match b[0] {
            1 => Status::Running,
            2 => Status::Finished,
            3 => Status::Failed,
            _ => Status::NotStarted,
        },
        class: b[1],
        scheme: half(2),
        group: half(4),
        hops: half(6),
        src: int(8),
        dst: int(12),
        sport: 0,
        dport: 0,
        bytes: word(0),
        start: word(1),
        fct_sender: if failed { 0 } else { word(2) },
        failed_after: if failed { word(2) } else { 0 },
        fct_receiver: word(3),
        ideal_sender: word(4),
        ideal_receiver: word(5),
        ideal_hpcc: word(6),
        retransmitted: int(72),
        lost: int(76),
    }
}

/// Columns of `flows.csv`.
pub const COLUMNS: &str = "flow_id,group,scheme,class,src,dst,size_bytes,start_ps,fct_sender_ps,fct_receiver_ps,\
    ideal_sender_ps,ideal_receiver_ps,ideal_hpcc_ps,status,retransmitted_packets,hops,failed_after_ps,lost_packets";

/// The records of a flow file, by id. One cut short by a kill is left out.
pub struct Records {
    file: BufReader<File>,
    next: u64,
}

impl Records {
    /// Opens a flow file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        let mut header = [0u8; HEADER as usize];
        match file.read_exact(&mut header) {
            // Of a run that was killed, or found the disk full, before it could write that.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(Self { file, next: 0 }),
            read => read?,
        }
        if &header[..8] != MAGIC || header[8..16] != [VERSION.to_le_bytes(), (RECORD as u32).to_le_bytes()].concat() {
            return Err(io::Error::other(format!("{}: not a flow file of version {VERSION}", path.display())));
        }
        Ok(Self { file, next: 0 })
    }
}

impl Iterator for Records {
    type Item = io::Result<FlowRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = [0u8; RECORD];
        match self.file.read_exact(&mut record) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(e) => Some(Err(e)),
            Ok(()) => {
                self.next += 1;
                Some(Ok(FlowRecord { id: self.next - 1, ..decode(&record) }))
            }
        }
    }
}

/// The cell of a name.
pub(super) fn name_of(names: &[String], i: u16) -> String {
    names.get(usize::from(i)).map_or_else(|| i.to_string(), |n| quote(n))
}

/// The cell of a time that may not have come.
pub(super) fn optional(value: u64) -> String {
    if value == 0 { String::new() } else { value.to_string() }
}

/// Writes `flows.csv` from `flows.bin`. With `connections` records without flow are those of connections and left out.
pub fn write_csv(
    bin: &Path,
    schemes: &[String],
    groups: &[String],
    connections: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let records = Records::open(bin)?;
    writeln!(out, "{COLUMNS}")?;
    for record in records {
        let r = record?;
        if connections && r.status == Status::NotStarted {
            continue;
        }
        let id = r.id;
        let status = match r.status {
            Status::NotStarted => "not_started",
            Status::Running => "running",
            Status::Finished => "finished",
            Status::Failed => "failed",
        };
        writeln!(
            out,
            "{id},{},{},{},{},{},{},{},{},{},{},{},{},{status},{},{},{},{}",
            name_of(groups, r.group),
            name_of(schemes, r.scheme),
            r.class,
            r.src,
            r.dst,
            r.bytes,
            r.start,
            optional(r.fct_sender),
            optional(r.fct_receiver),
            r.ideal_sender,
            r.ideal_receiver,
            r.ideal_hpcc,
            r.retransmitted,
            r.hops,
            optional(r.failed_after),
            r.lost
        )?;
    }
    Ok(())
}

/// A text cell: quoted where CSV needs it (RFC 4180).
fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is read after a kill is what was written: otherwise restored results would be wrong.
        #[test]
        fn records_round_trip(words in prop::array::uniform7(any::<u64>()), small in any::<(u16, u16, u16, u32, u32, u8)>()) {
            let r = FlowRecord {
                status: Status::Finished, scheme: small.0, group: small.1, hops: small.2, src: small.3, dst: small.4,
                class: small.5, bytes: words[0], start: words[1], fct_sender: words[2], fct_receiver: words[3],
                ideal_sender: words[4], ideal_receiver: words[5], ideal_hpcc: words[6], retransmitted: small.4, lost: small.3,
                ..FlowRecord::default()
            };
            prop_assert_eq!(decode(&encode(&r)), r);
            let failed = FlowRecord { status: Status::Failed, fct_sender: 0, failed_after: words[2], ..r };
            prop_assert_eq!(decode(&encode(&failed)), failed);
        }
    }
}

//! `queries.bin`: one record per answered query, in the order of the answers, those of one instant by connection;
//! then, at the end of a run, one per query without answer, in the order of their start. And `queries.csv`.

use std::io::{self, Write};
use std::path::Path;

use super::flow_file::{name_of, optional};
use super::record_file::{Format, Record, RecordFile, records};
use crate::record::QueryRecord;

const FORMAT: Format = Format { magic: b"PACELQRY", name: "query", version: 1 };

/// Columns of `queries.csv`.
pub const COLUMNS: &str =
    "connection,query,group,scheme,client,server,size_bytes,response_bytes,start_ps,qct_ps,ideal_qct_ps";

/// The file while a run goes.
#[derive(Debug)]
pub struct QueryFile {
    out: RecordFile,
    /// Answered at the last instant there is word of, at which there may be more.
    held: Vec<QueryRecord>,
}

/// The order of answers. Engines and threads tell of those of an instant in orders of their own.
fn order(r: &QueryRecord) -> (u64, u32, u32, u16) {
    (r.start + r.qct, r.connection, r.number, r.group)
}

impl QueryFile {
    /// A new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { out: RecordFile::create(path, FORMAT)?, held: Vec::new() })
    }

    /// Adds answered queries; later ones are answered no earlier. An error is kept for [`QueryFile::flush`].
    pub fn add(&mut self, records: &[QueryRecord]) {
        self.held.extend_from_slice(records);
        let last = self.held.iter().map(|r| order(r).0).max().unwrap_or(0);
        self.write_before(last);
    }

    /// Writes what was answered before an instant.
    fn write_before(&mut self, end: u64) {
        self.held.sort_unstable_by_key(order);
        let ready = self.held.partition_point(|r| order(r).0 < end);
        let mut held = std::mem::take(&mut self.held);
        for record in held.drain(..ready) {
            self.out.write(&encode(&record));
        }
        self.held = held;
    }

    /// The run is over; these have no answer.
    pub fn finish(mut self, mut unanswered: Vec<QueryRecord>) -> io::Result<()> {
        self.write_before(u64::MAX);
        unanswered.sort_unstable_by_key(order);
        for record in &unanswered {
            self.out.write(&encode(record));
        }
        self.flush()
    }

    /// Brings everything so far to the file. Reports the first error of all writes, a full disk for one.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn encode(r: &QueryRecord) -> Record {
    let mut out = [0; 64];
    let small = [r.connection, r.number, u32::from(r.group) | u32::from(r.scheme) << 16, r.client, r.server];
    for (i, word) in small.into_iter().enumerate() {
        out[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
    }
    for (i, word) in [r.bytes, r.response_bytes, r.start, r.qct, r.ideal].into_iter().enumerate() {
        out[24 + 8 * i..32 + 8 * i].copy_from_slice(&word.to_le_bytes());
    }
    out
}

fn decode(b: &Record) -> QueryRecord {
    let int = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    let word = |i: usize| u64::from(int(24 + 8 * i)) | u64::from(int(28 + 8 * i)) << 32;
    QueryRecord {
        connection: int(0),
        number: int(4),
        group: int(8) as u16,
        scheme: (int(8) >> 16) as u16,
        client: int(12),
        server: int(16),
        bytes: word(0),
        response_bytes: word(1),
        start: word(2),
        qct: word(3),
        ideal: word(4),
    }
}

/// Writes `queries.csv` from `queries.bin`, in the order in which queries were issued. Needs memory for all records, 64 bytes each.
pub fn write_csv(bin: &Path, schemes: &[String], groups: &[String], out: &mut dyn Write) -> io::Result<()> {
    let mut records: Vec<_> = records(bin, FORMAT)?.map(|r| r.map(|r| decode(&r))).collect::<io::Result<_>>()?;
    records.sort_unstable_by_key(|r| (r.start, r.connection, r.number));
    writeln!(out, "{COLUMNS}")?;
    for r in &records {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{}",
            r.connection,
            r.number,
            name_of(groups, r.group),
            name_of(schemes, r.scheme),
            r.client,
            r.server,
            r.bytes,
            r.response_bytes,
            r.start,
            optional(r.qct),
            r.ideal
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is read after a kill is what was written: otherwise restored results would be wrong.
        #[test]
        fn records_round_trip(words in prop::array::uniform5(any::<u64>()), ints in prop::array::uniform4(any::<u32>()), small: (u16, u16)) {
            let r = QueryRecord {
                connection: ints[0], number: ints[1], client: ints[2], server: ints[3], group: small.0, scheme: small.1,
                bytes: words[0], response_bytes: words[1], start: words[2], qct: words[3], ideal: words[4],
            };
            prop_assert_eq!(decode(&encode(&r)), r);
        }
    }
}

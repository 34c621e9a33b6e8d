//! Files of records of 64 bytes, one after the other, behind a header as long: what they are, their version, the bytes of a record.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Bytes of the header and of a record.
pub(super) const RECORD: usize = 64;
/// A record as it is in the file.
pub(super) type Record = [u8; RECORD];

/// A kind of such files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// How the file begins.
    pub magic: &'static [u8; 8],
    /// What it is called in errors.
    pub name: &'static str,
    /// Of its records.
    pub version: u32,
}

impl Format {
    fn header(self) -> Record {
        let mut header = [0; RECORD];
        header[..8].copy_from_slice(self.magic);
        header[8..12].copy_from_slice(&self.version.to_le_bytes());
        header[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
        header
    }
}

/// A file while it is written.
#[derive(Debug)]
pub(super) struct RecordFile {
    out: BufWriter<File>,
    error: Option<io::Error>,
}

impl RecordFile {
    /// A new file.
    pub(super) fn create(path: &Path, format: Format) -> io::Result<Self> {
        let mut file = File::create(path)?;
        // At once: without it the file of a run that is killed before the first flush would be none.
        file.write_all(&format.header())?;
        Ok(Self { out: BufWriter::with_capacity(1 << 18, file), error: None })
    }

    /// Adds a record. An error is kept for [`RecordFile::flush`].
    pub(super) fn write(&mut self, record: &Record) {
        if let Err(e) = self.out.write_all(record) {
            self.error.get_or_insert(e);
        }
    }

    /// Brings everything so far to the file. Reports the first error of all writes, a full disk for one.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if let Some(e) = self.error.take() {
            return Err(e);
        }
        self.out.flush()
    }
}

/// The records of a file. One cut short by a kill is left out.
pub(super) fn records(path: &Path, format: Format) -> io::Result<impl Iterator<Item = io::Result<Record>>> {
    let mut file = BufReader::with_capacity(1 << 18, File::open(path)?);
    let mut next = move || {
        let mut record = [0; RECORD];
        match file.read_exact(&mut record) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => None,
            read => Some(read.map(|()| record)),
        }
    };
    // Of a run that was killed, or found the disk full, before it could write one there is no header either.
    if let Some(header) = next() {
        let (header, Format { name, version, .. }) = (header?, format);
        if header[..16] != format.header()[..16] {
            return Err(io::Error::other(format!("{}: not a {name} file of version {version}", path.display())));
        }
    }
    Ok(std::iter::from_fn(next))
}

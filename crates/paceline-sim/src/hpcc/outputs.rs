//! The reference's result files: none is touched before all can be written, and none is an input.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::InputError;
use crate::results::hold::try_take;

/// One result file.
pub(super) struct Output {
    /// As the configuration names it.
    name: String,
    out: BufWriter<File>,
}

impl Output {
    /// Writes with `write`; an error names the file.
    pub(super) fn put(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.out).map_err(|e| self.named(&e))
    }

    /// Brings everything to the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|e| self.named(&e))
    }

    fn named(&self, e: &io::Error) -> io::Error {
        io::Error::other(format!("{}: cannot be written: {e}", self.name))
    }
}

/// What tells a file from all others, however it is named: device and number. Pipes and devices are nobody's content.
fn identity(file: &fs::Metadata) -> Option<(u64, u64)> {
    file.is_file().then(|| (file.dev(), file.ino()))
}

/// Opens all result files, each given by its key and name, and empties them once it is sure that none is one of `inputs` or
/// another one of them. On an error nothing has changed.
pub(super) fn open<const N: usize>(
    folder: &Path,
    files: [(&str, &str); N],
    inputs: &[PathBuf],
) -> Result<[Output; N], InputError> {
    let mut made = Vec::new();
    let opened = open_all(folder, files, inputs, &mut made);
    if opened.is_err() {
        // Those that were not there before.
        for path in made {
            let _ = fs::remove_file(path);
        }
    }
    opened
}

fn open_all<const N: usize>(
    folder: &Path,
    files: [(&str, &str); N],
    inputs: &[PathBuf],
    made: &mut Vec<PathBuf>,
) -> Result<[Output; N], InputError> {
    let inputs: Vec<_> = inputs.iter().filter_map(|path| identity(&fs::metadata(path).ok()?)).collect();
    let mut known: Vec<(Option<(u64, u64)>, &str)> = Vec::new();
    let mut opened = Vec::new();
    for (key, name) in files {
        let path = folder.join(name);
        let fail = |e: io::Error| {
            InputError::new(format!("cannot be written: {e}")).field(key).value(name).allowed("a writable path")
        };
        let new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(fail)?;
        if new {
            made.push(path);
        }
        let itself = identity(&file.metadata().map_err(fail)?);
        let refuse = |problem: String| InputError::new(problem).field(key).value(name).allowed("a file of its own");
        if itself.is_some_and(|i| inputs.contains(&i)) {
            return Err(refuse("the run would write over its own input".into()));
        }
        if let Some((_, other)) = known.iter().find(|(i, _)| i.is_some() && *i == itself) {
            return Err(refuse(format!("is the file of {other} too")));
        }
        // Emptied by two, it would hold lines of both.
        if itself.is_some() && !try_take(&file).map_err(fail)? {
            return Err(refuse("another run is writing it".into()));
        }
        known.push((itself, key));
        opened.push((name, file, itself.is_some()));
    }
    let mut outputs = Vec::new();
    for ((key, _), (name, file, regular)) in files.into_iter().zip(opened) {
        if regular {
            file.set_len(0).map_err(|e| {
                InputError::new(format!("cannot be written: {e}")).field(key).value(name).allowed("a writable path")
            })?;
        }
        outputs.push(Output { name: name.to_string(), out: BufWriter::new(file) });
    }
    outputs.try_into().map_err(|_| InputError::new("not as many result files as asked for"))
}

//! Input files: opened only where they are regular ones, and read no further than is allowed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::InputError;

/// Why a file cannot be read, as Python says it: without the number that the system has for it.
fn unread(error: &std::io::Error) -> String {
    let text = error.to_string();
    format!("cannot be read: {}", text.split(" (os error").next().unwrap_or_default())
}

/// Opens an input file, or says why not. A pipe could keep a run waiting for ever, a device never ends.
///
/// # Errors
/// What is wrong with it, as a clause.
pub(crate) fn open(path: &Path) -> Result<File, String> {
    let found = std::fs::metadata(path).map_err(|e| unread(&e))?;
    if !found.is_file() {
        let kind = if found.is_dir() { "a folder" } else { "a pipe or a device" };
        return Err(format!("cannot be read: it is {kind}, not a file"));
    }
    File::open(path).map_err(|e| unread(&e))
}

/// Reads an input file of at most `most` bytes, or says why not.
///
/// # Errors
/// What is wrong with it, as a clause.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let file = open(path)?;
    let size = file.metadata().map_or(0, |m| m.len());
    let mut bytes = Vec::new();
    if size <= most {
        // With one more it is seen at once that there is no more.
        bytes.reserve_exact(size as usize + 1);
        // The file may grow meanwhile.
        file.take(most + 1).read_to_end(&mut bytes).map_err(|e| unread(&e))?;
    }
    let size = size.max(bytes.len() as u64);
    if size > most { Err(format!("too large: {size} B, more than {most} B")) } else { Ok(bytes) }
}

/// The text of a file's bytes.
///
/// # Errors
/// Bytes that are not UTF-8, with the line they are on.
pub(crate) fn utf8(bytes: Vec<u8>, file: &str) -> Result<String, InputError> {
    String::from_utf8(bytes).map_err(|e| {
        let (bytes, at) = (e.as_bytes(), e.utf8_error().valid_up_to());
        let line = bytes[..at].split(|b| *b == b'\n').count();
        InputError::new("not a text file")
            .file(file)
            .line(line)
            .value(format!("byte 0x{:02x}", bytes[at]))
            .allowed("UTF-8")
    })
}

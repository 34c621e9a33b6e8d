//! One run at a time fills a result folder, one writer at a time a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{InputError, RunError};

/// A folder of which nobody else holds anything, until this is dropped or its process ends, however it does.
///
/// The lock is on the folder itself, so that no file is left over. Reading the folder needs none.
#[derive(Debug)]
pub struct Hold {
    folder: File,
}

impl Hold {
    /// Takes hold of a folder that is there.
    ///
    /// # Errors
    /// [`RunError::Input`] where somebody else holds it, [`RunError::Io`] where it is no folder.
    pub fn take(path: &Path) -> Result<Self, RunError> {
        let folder = File::open(path)?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(InputError::new("another run is writing here")
                .field("out")
                .value(path.display())
                .allowed("a folder of its own for each run, or this one when the other run has ended")
                .into()),
            // NFS has no locks on folders: there nobody is kept apart, but runs go as ever.
            Ok(()) => Ok(Self { folder }),
            Err(e) if has_no_locks(e) => Ok(Self { folder }),
            Err(e) => Err(io::Error::from(e).into()),
        }
    }
}

impl Hold {
    /// Whether the folder is still at its path: somebody may have removed it, and another run may have made one there.
    pub fn is_at(&self, path: &Path) -> bool {
        is_at(&self.folder, path)
    }
}

/// Whether a lock failed because the file system has none.
fn has_no_locks(e: Errno) -> bool {
    matches!(e, Errno::BADF | Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// Takes hold of a file that others may want to write too; false where one of them has it.
///
/// # Errors
/// What the system says.
pub(crate) fn try_take(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(e) if !has_no_locks(e) => Err(e.into()),
        _ => Ok(true),
    }
}

/// A temporary file, empty, of which this process has hold until it is closed. It is to be renamed or removed before.
///
/// Waits for another writer of the same file: it would be renamed half written by the one that is done first.
///
/// # Errors
/// What the system says.
pub(crate) fn take_part(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        while let Err(e) = flock(&file, FlockOperation::LockExclusive) {
            if e != Errno::INTR {
                if has_no_locks(e) {
                    break;
                }
                return Err(e.into());
            }
        }
        if is_at(&file, path) {
            file.set_len(0)?;
            return Ok(file);
        }
        // The other one has renamed or removed it.
    }
}

/// Whether a file is the one that a path leads to.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let identity = |m: std::fs::Metadata| (m.dev(), m.ino());
    file.metadata().map(identity).ok() == std::fs::metadata(path).map(identity).ok()
}

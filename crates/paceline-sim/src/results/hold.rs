//! One run at a time fills a result folder.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{InputError, RunError};

/// A folder of which nobody else holds anything, until this is dropped or its process ends, however it does.
///
/// The lock is on the folder itself, so that no file is left over. Reading the folder needs none.
#[derive(Debug)]
pub struct Hold {
    _folder: File,
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
            Err(Errno::BADF | Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) | Ok(()) => {
                Ok(Self { _folder: folder })
            }
            Err(e) => Err(io::Error::from(e).into()),
        }
    }
}

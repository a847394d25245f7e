//! The disk: the one seam between the store and files, so that tests can tear, forget and refuse.
//!
//! Files are named by keys: relative paths with `/`, as in `2026-W47/00000007.seg`. A key is all that anything above knows, so
//! that segments could as well lie in an object store.

pub(crate) mod patient;
pub(crate) mod quarantine;
pub(crate) mod read_ahead;
pub(crate) mod real;
pub(crate) mod reserve;
pub(crate) mod watched;

use std::{fmt, io, sync::Arc};

use archive::Room;
use rustix::io::Errno;

pub use crate::disk::real::RealDisk;

/// Why a file cannot be read although its disk answers; none where the disk itself may be at fault, or is away.
pub(crate) fn fault_of_file(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::NotFound => Some("there is no such file"),
        io::ErrorKind::IsADirectory => Some("a folder lies in its place"),
        io::ErrorKind::NotADirectory => Some("a file lies in the place of its folder"),
        io::ErrorKind::PermissionDenied => Some("this program is not permitted to read it"),
        io::ErrorKind::UnexpectedEof => Some("it is shorter than it was when it was written"),
        _ => match Errno::from_io_error(error)? {
            Errno::LOOP => Some("it is a link that leads to itself"),
            Errno::SPIPE | Errno::NXIO => Some("something else than a file lies in its place"),
            _ => None,
        },
    }
}

/// Files that are whole: all that a segment asks for, and what an object store has as well.
pub trait Objects: fmt::Debug + Send + Sync + 'static {
    /// How long a file is.
    fn len(&self, key: &str) -> io::Result<u64>;
    /// Fills `bytes` from a file; an error if it ends before.
    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Fills several from as many places of a file.
    fn read_parts_at(&self, key: &str, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        parts.iter_mut().try_for_each(|(offset, bytes)| self.read_at(key, *offset, bytes))
    }
    /// Removes a file.
    fn remove(&self, key: &str) -> io::Result<()>;
    /// What was read is not what was written: where it came from a cache, it is to be read anew.
    fn doubt(&self) {}
}

/// Which file or folder something is, whatever its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// Its number there.
    pub number: u64,
}

/// How a file or folder is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the folder that the disk has open, wherever that lies by now.
    Within,
    /// By the path with which the disk was opened, which may lead elsewhere by now.
    ByPath,
}

/// Files, folders and what makes them durable. Written bytes are durable after `sync`, names after `sync_folder`.
pub trait Disk: Objects {
    /// Makes a folder and those above it; no error if it is there.
    fn create_folder(&self, folder: &str) -> io::Result<()>;
    /// Writes all bytes, creating the file if it is not there. After an error any part of them may be written.
    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file off or extends it with zeros, creating it if it is not there.
    fn set_len(&self, key: &str, len: u64) -> io::Result<()>;
    /// Makes a file at least so long and takes the room for it, so that no later write within finds the disk full. Bytes that
    /// were not written are zero. After an error a part of the room may be taken.
    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        self.set_len(key, len)
    }
    /// How much room there is, as far as anyone knows.
    fn room(&self) -> io::Result<Room> {
        Ok(Room { free: u64::MAX, total: u64::MAX })
    }
    /// Makes a file's bytes durable. After an error nobody knows which of them are, and trying again proves nothing.
    fn sync(&self, key: &str) -> io::Result<()>;
    /// Gives a file another name, replacing what has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// The names in a folder, files and folders, in no order.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &str) -> io::Result<()>;
    /// Locks a file, or the folder of the disk with an empty key, against everybody else; false if somebody has it. The lock goes with
    /// the file when it is renamed. What is locked already by this disk stays so.
    fn lock(&self, key: &str) -> io::Result<bool>;
    /// Gives the lock back.
    fn unlock(&self, key: &str);
    /// The process of this machine that has a file locked, as far as the system tells.
    fn locked_by(&self, _key: &str) -> Option<u32> {
        None
    }
    /// Which file a key leads to; the empty key is the folder of the disk. All are alike on a disk that cannot be moved.
    fn identity(&self, _key: &str, _found: Found) -> io::Result<Identity> {
        Ok(Identity::default())
    }
    /// A disk of what the path of this one leads to now.
    fn afresh(&self) -> io::Result<Arc<dyn Disk>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Goes on with what the path leads to now, if that is something else than before, and takes the locks there. Files that were
    /// written and not synced take nothing any more before they are begun anew: nobody knows what became of them.
    fn renew(&self) -> io::Result<()> {
        Ok(())
    }
    /// Whether the path leads to what is written; if not, nothing is written, and the error says why.
    fn at_home(&self) -> io::Result<()> {
        Ok(())
    }
}

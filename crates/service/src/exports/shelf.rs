//! The shelf: the folder in which exports lie, how much they may take there together, and how much room they leave to recording.
//!
//! ```text
//!   exports/12.export    what was ordered, and how far it is         exports/12.data    its bytes
//! ```
//! Nothing in it was recorded: all of it can be made again. The folder is held open, so that nothing is written where the path leads
//! when its disk is away.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Dir, Mode, OFlags, fstatvfs, fsync, mkdir, open, openat, renameat, unlinkat},
    io::Errno,
};

use super::ExportsConfig;
use crate::refusal::{Code, Refusal};

/// Without another word exports leave this part of the disk free.
const FREE_PART: u64 = 10;
/// Nobody else reads what somebody exports.
const FOR_US: Mode = Mode::RUSR.union(Mode::WUSR);

/// Neither a link nor a pipe that somebody has put there leads elsewhere or holds us up.
const A_FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The folder with its bounds.
#[derive(Debug)]
pub(super) struct Shelf {
    // fixed after start
    folder: OwnedFd,
    pub(super) path: PathBuf,
    bytes_max: u64,
    free_min: Option<u64>,
    // atomic
    taken: AtomicU64,
}

impl Shelf {
    /// Opens the folder, which is made if the one above it is there.
    pub(super) fn open(path: &Path, config: &ExportsConfig) -> io::Result<Shelf> {
        match mkdir(path, FOR_US | Mode::XUSR) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let (bytes_max, free_min, taken) = (config.bytes_max, config.free_min, AtomicU64::new(0));
        Ok(Shelf { folder, path: path.to_owned(), bytes_max, free_min, taken })
    }

    /// What lies there.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// A file to be written and read, which is made if it is not there.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        Ok(openat(&self.folder, name, OFlags::RDWR | OFlags::CREATE | A_FILE, FOR_US)?.into())
    }

    /// A file to be read.
    pub(super) fn read(&self, name: &str) -> io::Result<File> {
        Ok(openat(&self.folder, name, OFlags::RDONLY | A_FILE, Mode::empty())?.into())
    }

    /// A file that goes when it is closed, or its owner dies.
    pub(super) fn nameless(&self, name: &str) -> io::Result<File> {
        let file = self.create(name)?;
        self.remove(name)?;
        file.set_len(0)?;
        Ok(file)
    }

    /// Writes a small file whole or not at all, and makes it durable.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        let file = self.create(&new)?;
        file.set_len(0)?;
        file.write_all_at(bytes, 0)?;
        file.sync_all()?;
        renameat(&self.folder, &new, &self.folder, name)?;
        Ok(fsync(&self.folder)?)
    }

    /// Takes a file away, if it is there.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// How much all exports have.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// How much more they may have: of what they may have together, and of what the disk has beyond the room that is left to recording.
    pub(super) fn left(&self) -> u64 {
        let disk = fstatvfs(&self.folder).map_or(0, |disk| {
            let (free, total) =
                (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize));
            free.saturating_sub(self.free_min.unwrap_or(total / FREE_PART))
        });
        disk.min(self.bytes_max.saturating_sub(self.taken()))
    }

    /// Takes so much more, if there is room.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Refusal> {
        let left = self.left();
        if bytes > left {
            return Err(no_room(bytes, left));
        }
        self.note(bytes);
        Ok(())
    }

    /// Counts what is there already.
    pub(super) fn note(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Relaxed);
    }

    /// Gives so much back.
    pub(super) fn give_back(&self, bytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(bytes));
        let _always_some = self.taken.fetch_update(Relaxed, Relaxed, less);
    }
}

/// Exports find no room.
pub(super) fn no_room(bytes: u64, left: u64) -> Refusal {
    let message = format!("{bytes} more bytes are needed, and {left} are left to exports on this disk");
    Refusal::new(Code::Busy, message)
        .hint("remove exports that are not needed any more, ask for less, or raise megabytes_max in [exports]")
}

//! The disk: the one seam between the store and files, so that tests can tear, forget and refuse.
//!
//! Files are named by keys: relative paths with `/`, as in `2026-W47/00000007.seg`. A key is all that anything above knows, so
//! that segments could as well lie in an object store.

use std::{
    collections::HashMap,
    fmt,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// Files that are whole: all that a segment asks for, and what an object store has as well.
pub trait Objects: fmt::Debug + Send + Sync + 'static {
    /// How long a file is.
    fn len(&self, key: &str) -> io::Result<u64>;
    /// Fills `bytes` from a file; an error if it ends before.
    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, key: &str) -> io::Result<()>;
}

/// The room on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What can still be written.
    pub free: u64,
    /// All, of which others may have a part.
    pub total: u64,
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
    /// Locks a file against all other processes; false if one of them has it.
    fn lock(&self, key: &str) -> io::Result<bool>;
    /// Gives the lock back.
    fn unlock(&self, key: &str);
}

/// So many files stay open. A year of segments is more than a process may have.
const OPEN_FILES_MAX: usize = 256;

/// The files of a folder.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    open: Mutex<OpenFiles>,
}

#[derive(Debug, Default)]
struct OpenFiles {
    files: HashMap<String, OpenFile>,
    clock: u64,
}

#[derive(Debug)]
struct OpenFile {
    file: Arc<File>,
    used: u64,
    /// Written since the last sync, or locked: such a file stays open, because errors of writing back are told to it alone.
    pinned: bool,
}

impl RealDisk {
    /// The files below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> RealDisk {
        RealDisk { root: root.into(), open: Mutex::default() }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    fn open_files(&self) -> std::sync::MutexGuard<'_, OpenFiles> {
        self.open.lock().expect("no holder of this lock panics")
    }

    fn file(&self, key: &str, how: How) -> io::Result<Arc<File>> {
        let mut open = self.open_files();
        open.clock += 1;
        let now = open.clock;
        if let Some(entry) = open.files.get_mut(key) {
            entry.used = now;
            entry.pinned |= how == How::Write;
            return Ok(entry.file.clone());
        }
        let writable = OpenOptions::new().read(true).write(true).create(how == How::Write).open(self.path(key));
        let file = match writable {
            Err(error) if how == How::Read && error.kind() != io::ErrorKind::NotFound => File::open(self.path(key))?,
            file => file?,
        };
        let file = Arc::new(file);
        if open.files.len() >= OPEN_FILES_MAX {
            let idle = open.files.iter().filter(|(_, entry)| !entry.pinned);
            if let Some(oldest) = idle.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) {
                open.files.remove(&oldest);
            }
        }
        let entry = OpenFile { file: file.clone(), used: now, pinned: how == How::Write };
        open.files.insert(key.to_owned(), entry);
        Ok(file)
    }

    fn forget(&self, key: &str) {
        self.open_files().files.remove(key);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Read,
    Write,
}

impl Objects for RealDisk {
    fn len(&self, key: &str) -> io::Result<u64> {
        fs::metadata(self.path(key)).map(|metadata| metadata.len())
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file(key, How::Read)?.read_exact_at(bytes, offset)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.forget(key);
        fs::remove_file(self.path(key))
    }
}

impl Disk for RealDisk {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        fs::create_dir_all(self.path(folder))
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(key, How::Write)?.write_all_at(bytes, offset)
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.file(key, How::Write)?.set_len(len)
    }

    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        let file = self.file(key, How::Write)?;
        match rustix::fs::fallocate(&*file, rustix::fs::FallocateFlags::empty(), 0, len) {
            // Some file systems cannot take room beforehand; zeros can.
            Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(&file, len),
            result => result.map_err(io::Error::from),
        }
    }

    fn room(&self) -> io::Result<Room> {
        let found = rustix::fs::statvfs(&self.root)?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Room { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        let file = self.file(key, How::Read)?;
        let result = file.sync_data();
        let mut open = self.open_files();
        match (open.files.get_mut(key), &result) {
            (Some(entry), Ok(())) if Arc::ptr_eq(&entry.file, &file) => entry.pinned = false,
            _ => _ = open.files.remove(key),
        }
        result
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place, and callers sync the folder behind it")]
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.forget(from);
        self.forget(to);
        fs::rename(self.path(from), self.path(to))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let names = fs::read_dir(self.path(folder))?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        File::open(self.path(folder))?.sync_all()
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        match self.file(key, How::Write)?.try_lock() {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => {
                self.forget(key);
                Ok(false)
            }
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self, key: &str) {
        self.forget(key);
    }
}

/// Extends a file to `len` with zeros that take room.
fn write_zeros(file: &File, len: u64) -> io::Result<()> {
    let zeros = [0; 1 << 16];
    let mut at = file.metadata()?.len();
    while at < len {
        let some = zeros.len().min((len - at) as usize);
        file.write_all_at(&zeros[..some], at)?;
        at += some as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_may_be_open_are_all_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(folder.path());
        disk.create_folder("a/b").unwrap();
        let keys: Vec<String> = (0..OPEN_FILES_MAX + 20).map(|i| format!("a/b/{i}")).collect();
        for key in &keys {
            disk.write_at(key, 3, key.as_bytes()).unwrap();
            disk.sync(key).unwrap();
        }
        assert!(disk.open_files().files.len() <= OPEN_FILES_MAX);
        for key in &keys {
            let mut bytes = vec![0; key.len()];
            disk.read_at(key, 3, &mut bytes).unwrap();
            assert_eq!(bytes, key.as_bytes());
        }
        assert_eq!(disk.list("a/b").unwrap().len(), keys.len());
    }

    #[test]
    fn a_lock_excludes_others_until_it_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (RealDisk::new(folder.path()), RealDisk::new(folder.path()));
        assert!(one.lock("lock").unwrap());
        assert!(!other.lock("lock").unwrap());
        one.unlock("lock");
        assert!(other.lock("lock").unwrap());
    }
}

//! The files of a folder of this machine. The folder is opened once, and every file is found from there: one that was moved away, or over
//! which something else was mounted, never has its files in two places.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

use archive::Room;
use rustix::{
    fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, Stat},
    io::Errno,
};

use crate::disk::{Disk, Found, Identity, Objects};

/// So many files stay open. A year of segments is more than a process may have.
const OPEN_FILES_MAX: usize = 256;
/// A file that is replaced each time before it is locked is nobody's archive.
const LOCK_TRIES: usize = 20;

/// The files of a folder.
#[derive(Debug)]
pub struct RealDisk {
    path: PathBuf,
    open: Mutex<OpenFiles>,
    /// Each by a descriptor of its own: others come and go with reads and failed syncs.
    locks: Mutex<HashMap<String, File>>,
}

#[derive(Debug, Default)]
struct OpenFiles {
    /// The folder itself; none before it was needed and there.
    root: Option<Arc<File>>,
    files: HashMap<String, OpenFile>,
    /// What was written and not synced when the folder became another one.
    lost: HashSet<String>,
    clock: u64,
}

#[derive(Debug)]
struct OpenFile {
    file: Arc<File>,
    used: u64,
    /// Written since the last sync: such a file stays open, because errors of writing back are told to it alone.
    pinned: bool,
}

impl OpenFiles {
    fn root(&mut self, path: &PathBuf) -> io::Result<Arc<File>> {
        if self.root.is_none() {
            self.root = Some(Arc::new(open_folder(path)?));
        }
        Ok(self.root.clone().expect("it has just been put there"))
    }

    fn refuse_lost(&self, key: &str) -> io::Result<()> {
        match self.lost.contains(key) {
            true => Err(io::Error::other("its folder was replaced by another while it was written")),
            false => Ok(()),
        }
    }
}

impl RealDisk {
    /// The files below `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> RealDisk {
        RealDisk { path: path.into(), open: Mutex::default(), locks: Mutex::default() }
    }

    fn open_files(&self) -> MutexGuard<'_, OpenFiles> {
        self.open.lock().expect("no holder of this lock panics")
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<String, File>> {
        self.locks.lock().expect("no holder of this lock panics")
    }

    fn root(&self) -> io::Result<Arc<File>> {
        self.open_files().root(&self.path)
    }

    fn file(&self, key: &str, how: OpenFor) -> io::Result<Arc<File>> {
        let mut open = self.open_files();
        if how == OpenFor::Write {
            open.refuse_lost(key)?;
        }
        open.clock += 1;
        let now = open.clock;
        if let Some(entry) = open.files.get_mut(key) {
            entry.used = now;
            entry.pinned |= how == OpenFor::Write;
            return Ok(entry.file.clone());
        }
        let root = open.root(&self.path)?;
        let file = match open_file(&root, key, how) {
            Err(error) if how == OpenFor::Read && error.kind() != io::ErrorKind::NotFound => {
                open_at(&root, key, OFlags::RDONLY)?
            }
            file => file?,
        };
        if how == OpenFor::Read && file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into()); // and is not kept open: a file may take its place
        }
        let file = Arc::new(file);
        if open.files.len() >= OPEN_FILES_MAX {
            let idle = open.files.iter().filter(|(_, entry)| !entry.pinned);
            if let Some(oldest) = idle.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) {
                open.files.remove(&oldest);
            }
        }
        let entry = OpenFile { file: file.clone(), used: now, pinned: how == OpenFor::Write };
        open.files.insert(key.to_owned(), entry);
        Ok(file)
    }

    /// Closes a file that has another meaning from now on.
    fn forget(&self, key: &str) {
        let mut open = self.open_files();
        open.files.remove(key);
        open.lost.remove(key);
    }

    /// Whether an open file is still the one that has its name: what is synced into a file that was removed is gone with it.
    fn is_named(&self, key: &str, file: &File) -> io::Result<()> {
        let named = stat_at(&*self.root()?, key);
        let ours = of_file(&file.metadata()?);
        let is_same = named.is_ok_and(|named| identity(&named) == ours);
        if is_same {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "it was removed or replaced while it was written"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenFor {
    Read,
    Write,
}

fn open_folder(path: &PathBuf) -> io::Result<File> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// What of a key the system takes for a name: the folder itself has none.
fn name(key: &str) -> &str {
    if key.is_empty() { "." } else { key }
}

fn open_at(root: &File, key: &str, flags: OFlags) -> io::Result<File> {
    Ok(rustix::fs::openat(root, name(key), flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))?.into())
}

fn open_file(root: &File, key: &str, how: OpenFor) -> io::Result<File> {
    let create = if how == OpenFor::Write { OFlags::CREATE } else { OFlags::empty() };
    open_at(root, key, OFlags::RDWR | create)
}

fn stat_at(root: &File, key: &str) -> io::Result<Stat> {
    Ok(rustix::fs::statat(root, name(key), AtFlags::empty())?)
}

fn identity(stat: &Stat) -> Identity {
    Identity { device: stat.st_dev, number: stat.st_ino }
}

fn of_file(metadata: &fs::Metadata) -> Identity {
    Identity { device: metadata.dev(), number: metadata.ino() }
}

/// Locks a file or folder; none if another has it.
fn lock_at(root: &File, key: &str) -> io::Result<Option<File>> {
    for _ in 0..LOCK_TRIES {
        let file = if key.is_empty() {
            open_at(root, key, OFlags::RDONLY | OFlags::DIRECTORY)?
        } else {
            open_file(root, key, OpenFor::Write)?
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            // Network file systems lock files, and no folders.
            Err(error) if key.is_empty() => tracing::debug!("the folder cannot be locked: {error}"),
            Err(error) => return Err(error.into()),
        }
        // Whoever had it may have put another in its place at the end.
        if stat_at(root, key).is_ok_and(|named| file.metadata().is_ok_and(|ours| identity(&named) == of_file(&ours))) {
            return Ok(Some(file));
        }
    }
    Err(io::Error::other(format!("{} is replaced again and again", name(key))))
}

impl Objects for RealDisk {
    fn len(&self, key: &str) -> io::Result<u64> {
        Ok(stat_at(&*self.root()?, key)?.st_size as u64)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file(key, OpenFor::Read)?.read_exact_at(bytes, offset)
    }

    fn read_parts_at(&self, key: &str, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        let file = self.file(key, OpenFor::Read)?;
        parts.iter_mut().try_for_each(|(offset, bytes)| file.read_exact_at(bytes, *offset))
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.forget(key);
        Ok(rustix::fs::unlinkat(&*self.root()?, key, AtFlags::empty())?)
    }
}

impl Disk for RealDisk {
    /// The folder of the disk is made only if none was opened yet: later it has gone, and is to come back.
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let mut open = self.open_files();
        if open.root.is_none() {
            fs::create_dir_all(&self.path)?;
        }
        let root = open.root(&self.path)?;
        drop(open);
        let ends = folder.match_indices('/').map(|(at, _)| at).chain((!folder.is_empty()).then_some(folder.len()));
        for end in ends {
            match rustix::fs::mkdirat(&*root, &folder[..end], Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(key, OpenFor::Write)?.write_all_at(bytes, offset)
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        if len == 0 {
            self.open_files().lost.remove(key); // it is begun anew
        }
        self.file(key, OpenFor::Write)?.set_len(len)
    }

    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        let file = self.file(key, OpenFor::Write)?;
        match rustix::fs::fallocate(&*file, rustix::fs::FallocateFlags::empty(), 0, len) {
            // Some file systems cannot take room beforehand; zeros can.
            Err(Errno::OPNOTSUPP) => write_zeros(&file, len),
            result => result.map_err(io::Error::from),
        }
    }

    fn room(&self) -> io::Result<Room> {
        let found = rustix::fs::fstatvfs(&*self.root()?)?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Room { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.open_files().refuse_lost(key)?;
        let file = self.file(key, OpenFor::Read)?;
        let result = file.sync_data().and_then(|()| self.is_named(key, &file));
        let mut open = self.open_files();
        match (open.files.get_mut(key), &result) {
            (Some(entry), Ok(())) if Arc::ptr_eq(&entry.file, &file) => entry.pinned = false,
            _ => _ = open.files.remove(key),
        }
        result
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.open_files().refuse_lost(from)?;
        self.forget(from);
        self.forget(to);
        let root = self.root()?;
        let mut locks = self.locks();
        rustix::fs::renameat(&*root, from, &*root, to)?;
        if let Some(lock) = locks.remove(from) {
            locks.insert(to.to_owned(), lock);
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = open_at(&*self.root()?, folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        #[cfg(test)]
        tests::note_synced(self.path.join(folder));
        open_at(&*self.root()?, folder, OFlags::RDONLY | OFlags::DIRECTORY)?.sync_all()
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        let root = self.root()?;
        let is_held = |held: &File| Some(of_file(&held.metadata().ok()?) == identity(&stat_at(&root, key).ok()?));
        if self.locks().get(key).and_then(is_held) == Some(true) {
            return Ok(true);
        }
        let lock = lock_at(&root, key)?;
        let granted = lock.is_some();
        self.locks().extend(lock.map(|lock| (key.to_owned(), lock)));
        Ok(granted)
    }

    fn unlock(&self, key: &str) {
        self.locks().remove(key);
    }

    /// As Linux tells it: `7: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`, the file system in hexadecimal numbers.
    fn locked_by(&self, key: &str) -> Option<u32> {
        let stat = stat_at(&*self.root().ok()?, key).ok()?;
        let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
        let file = format!("{major:02x}:{minor:02x}:{}", stat.st_ino);
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let held = locks
            .lines()
            .map(words)
            .find(|words| words.contains(&file) && words.get(1).is_some_and(|w| w == "FLOCK"))?;
        held.get(4)?.parse().ok().filter(|process| *process != 0)
    }

    fn identity(&self, key: &str, found: Found) -> io::Result<Identity> {
        let stat = match found {
            Found::Within => stat_at(&*self.root()?, key)?,
            Found::ByPath => rustix::fs::stat(self.path.join(key))?,
        };
        Ok(identity(&stat))
    }

    fn afresh(&self) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(RealDisk::new(&self.path)))
    }

    fn renew(&self) -> io::Result<()> {
        let root = open_folder(&self.path)?;
        let mut locks = self.locks();
        let mut open = self.open_files();
        let is_same = match &open.root {
            Some(known) => of_file(&known.metadata()?) == of_file(&root.metadata()?),
            None => false,
        };
        if is_same {
            return Ok(());
        }
        let mut taken = HashMap::new();
        for key in locks.keys() {
            let lock = lock_at(&root, key)?.ok_or_else(|| {
                io::Error::new(io::ErrorKind::WouldBlock, format!("another process has {} locked", name(key)))
            })?;
            taken.insert(key.clone(), lock);
        }
        *locks = taken;
        let OpenFiles { files, lost, .. } = &mut *open;
        lost.extend(files.drain().filter(|(_, entry)| entry.pinned).map(|(key, _)| key));
        open.root = Some(Arc::new(root));
        Ok(())
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
#[expect(clippy::disallowed_methods, reason = "an operator renames folders by other means than the store's")]
pub(crate) mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        /// The folders that this thread has synced.
        static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn note_synced(folder: PathBuf) {
        SYNCED.with_borrow_mut(|synced| synced.push(folder));
    }

    /// Those since it was asked last.
    pub(crate) fn take_synced() -> Vec<PathBuf> {
        SYNCED.take()
    }

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
        for key in ["lock", ""] {
            assert!(one.lock(key).unwrap());
            assert!(!other.lock(key).unwrap());
            if cfg!(target_os = "linux") {
                assert_eq!(other.locked_by(key), Some(std::process::id()));
            }
            one.unlock(key);
            assert!(other.lock(key).unwrap());
        }
    }

    #[test]
    fn a_lock_goes_with_the_file_that_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (RealDisk::new(folder.path()), RealDisk::new(folder.path()));
        assert!(one.lock("old").unwrap() && one.lock("new").unwrap());
        one.rename("new", "old").unwrap();
        assert!(!other.lock("old").unwrap());
        one.unlock("old");
        assert!(other.lock("old").unwrap());
    }

    #[test]
    fn a_folder_that_was_moved_has_all_files_where_it_lies_now() {
        let above = tempfile::tempdir().unwrap();
        let (here, there) = (above.path().join("here"), above.path().join("there"));
        let disk = RealDisk::new(&here);
        disk.create_folder("a").unwrap();
        disk.write_at("a/1", 0, b"before").unwrap();
        fs::rename(&here, &there).unwrap();
        disk.create_folder("").unwrap();
        disk.create_folder("b").unwrap();
        disk.write_at("b/2", 0, b"after").unwrap();
        disk.sync("b/2").unwrap();
        disk.rename("a/1", "b/1").unwrap();
        assert!(!here.exists());
        assert_eq!(disk.list("b").unwrap().len(), 2);
        assert_eq!(fs::read(there.join("b/1")).unwrap(), b"before");
        assert_eq!(disk.identity("", Found::ByPath).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_not_synced() {
        let folder = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(folder.path());
        for replaced in [false, true] {
            disk.write_at("a", 0, b"ours").unwrap();
            fs::remove_file(folder.path().join("a")).unwrap();
            if replaced {
                fs::write(folder.path().join("a"), "theirs").unwrap();
            }
            assert_eq!(disk.sync("a").map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
        }
    }

    #[test]
    fn a_half_written_file_is_not_gone_on_with_in_another_folder() {
        let above = tempfile::tempdir().unwrap();
        let (here, there) = (above.path().join("here"), above.path().join("there"));
        let disk = RealDisk::new(&here);
        disk.create_folder("").unwrap();
        assert!(disk.lock("lock").unwrap());
        disk.write_at("a", 0, b"half").unwrap();
        fs::rename(&here, &there).unwrap();
        assert!(disk.renew().is_err(), "there is nothing");
        fs::create_dir(&here).unwrap();
        disk.renew().unwrap();
        assert!(disk.write_at("a", 4, b"more").is_err());
        assert!(disk.sync("a").is_err() && disk.rename("a", "b").is_err());
        assert!(!RealDisk::new(&here).lock("lock").unwrap(), "the lock is taken there");
        disk.set_len("a", 0).unwrap();
        disk.write_at("a", 0, b"all").unwrap();
        disk.sync("a").unwrap();
        assert_eq!(fs::read(here.join("a")).unwrap(), b"all");
    }
}

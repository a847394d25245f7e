//! A disk that forgets: unsynced bytes and names survive a crash only by luck, writes tear, and anything fails when told to.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod folder;
pub(crate) mod gate;
pub(crate) mod matrix;

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::{Condvar, Mutex, MutexGuard},
};

use archive::Room;
use store::disk::{Disk, Objects};

/// What a crash leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// All of it: only the process died.
    OfProcess,
    /// Nothing.
    Forgetful,
    /// Some writes, some halves of writes, some names, by a seed.
    Torn(u64),
}

/// A kind of call that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    CreateFolder,
    Len,
    Read,
    Write,
    SetLen,
    Sync,
    Rename,
    Remove,
    List,
    SyncFolder,
}

impl Call {
    pub(crate) const ALL: [Call; 10] = [
        Call::CreateFolder,
        Call::Len,
        Call::Read,
        Call::Write,
        Call::SetLen,
        Call::Sync,
        Call::Rename,
        Call::Remove,
        Call::List,
        Call::SyncFolder,
    ];
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It does nothing and gives EIO; a sync also loses what it should have kept.
    Eio,
    /// It does nothing and gives ENOSPC.
    NoSpace,
    /// It writes half and gives EIO.
    ShortEio,
    /// It writes half and gives ENOSPC.
    ShortNoSpace,
}

impl Failure {
    fn error(self) -> io::Error {
        match self {
            Failure::Eio | Failure::ShortEio => io::Error::from_raw_os_error(5),
            Failure::NoSpace | Failure::ShortNoSpace => io::ErrorKind::StorageFull.into(),
        }
    }
}

/// The call of its kind that fails, counted from 0, and whether all of its kind fail from then on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) call: Call,
    pub(crate) at: u64,
    pub(crate) failure: Failure,
    pub(crate) lasting: bool,
}

#[derive(Clone, Debug)]
enum Write {
    Bytes(u64, Vec<u8>),
    Len(u64),
}

#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    now: Vec<u8>,
    unsynced: Vec<Write>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<File>,
    /// Key to place in `files`.
    names: HashMap<String, usize>,
    durable_names: HashMap<String, usize>,
    folders: HashSet<String>,
    durable_folders: HashSet<String>,
    locked: HashSet<String>,
    changes: u64,
    crash_after: Option<u64>,
    full: bool,
    capacity: Option<u64>,
    failing_syncs: bool,
    calls: HashMap<Call, u64>,
    fault: Option<Fault>,
    failed: bool,
}

/// Files in memory.
#[derive(Debug, Default)]
pub(crate) struct SimDisk(Mutex<State>, Gate);

/// Holds one who reads, until it is let go.
#[derive(Debug, Default)]
struct Gate {
    stands: Mutex<Stands>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stands {
    #[default]
    Open,
    /// Whoever comes next is held.
    Shut,
    Holding,
}

impl Gate {
    fn set(&self, stands: Stands) {
        *self.stands.lock().unwrap() = stands;
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(Stands) -> bool) {
        drop(self.changed.wait_while(self.stands.lock().unwrap(), |stands| condition(*stands)).unwrap());
    }

    fn pass(&self) {
        let mut stands = self.stands.lock().unwrap();
        if *stands == Stands::Shut {
            *stands = Stands::Holding;
            drop(stands);
            self.changed.notify_all();
            self.wait_while(|stands| stands == Stands::Holding);
        }
    }
}

impl SimDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The next read waits until `let_go`; others do not.
    pub(crate) fn hold_a_read(&self) {
        self.1.set(Stands::Shut);
    }

    /// Until the read that is to wait does.
    pub(crate) fn wait_held(&self) {
        self.1.wait_while(|stands| stands != Stands::Holding);
    }

    /// The read that waits goes on.
    pub(crate) fn let_go(&self) {
        self.1.set(Stands::Open);
    }

    /// How many writes, syncs, renames and removals there were.
    pub(crate) fn changes(&self) -> u64 {
        self.state().changes
    }

    /// The power goes after so many changes; the last one is half done if it is a write.
    pub(crate) fn crash_after(&self, changes: u64) {
        self.state().crash_after = Some(changes);
    }

    pub(crate) fn has_crashed(&self) -> bool {
        let state = self.state();
        state.crash_after.is_some_and(|at| state.changes >= at)
    }

    /// So many bytes find room in all; from then on the disk is full.
    pub(crate) fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Bytes in all files.
    pub(crate) fn used(&self) -> u64 {
        self.state().used()
    }

    /// No write finds room any more, or all do again.
    pub(crate) fn set_full(&self, full: bool) {
        self.state().full = full;
    }

    /// Each sync fails, or works again. What a failed sync should have kept is lost in a crash even if a later one works.
    pub(crate) fn set_failing_syncs(&self, failing: bool) {
        self.state().failing_syncs = failing;
    }

    /// Makes a call fail; the calls are counted from now on.
    pub(crate) fn fail(&self, fault: Fault) {
        let mut state = self.state();
        state.calls.clear();
        state.fault = Some(fault);
    }

    /// Nothing fails any more.
    pub(crate) fn heal(&self) {
        self.state().fault = None;
    }

    /// Whether a call was made to fail.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().failed
    }

    /// How many calls of a kind there were.
    pub(crate) fn calls(&self, call: Call) -> u64 {
        self.state().calls.get(&call).copied().unwrap_or(0)
    }

    /// What the next boot finds.
    pub(crate) fn after(&self, crash: Crash) -> SimDisk {
        let state = self.state();
        let mut luck = match crash {
            Crash::Torn(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            _ => 1,
        };
        let mut lucky = || {
            luck ^= luck << 13;
            luck ^= luck >> 7;
            luck ^= luck << 17;
            match crash {
                Crash::OfProcess => true,
                Crash::Forgetful => false,
                Crash::Torn(_) => luck.is_multiple_of(2),
            }
        };
        let folders: HashSet<String> =
            state.folders.iter().filter(|f| state.durable_folders.contains(*f) || lucky()).cloned().collect();
        let mut names = HashMap::new();
        let mut keys: Vec<&String> = state.names.keys().chain(state.durable_names.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let (now, durable) = (state.names.get(key), state.durable_names.get(key));
            let kept = if now == durable || lucky() { now } else { durable };
            if let Some(file) = kept.filter(|_| folders.contains(folder_of(key))) {
                names.insert(key.clone(), *file);
            }
        }
        let mut files = Vec::new();
        for file in &state.files {
            let mut bytes = file.durable.clone();
            for write in &file.unsynced {
                match write {
                    Write::Len(len) if lucky() => bytes.resize(*len as usize, 0),
                    Write::Bytes(at, written) if lucky() => {
                        let half = if crash == Crash::OfProcess || lucky() { written.len() } else { written.len() / 2 };
                        put(&mut bytes, *at, &written[..half]);
                    }
                    _ => {}
                }
            }
            if crash == Crash::OfProcess {
                bytes.clone_from(&file.now); // the system still has all that was written
            }
            files.push(File { durable: bytes.clone(), now: bytes, unsynced: Vec::new() });
        }
        let state = State {
            files,
            durable_names: names.clone(),
            names,
            durable_folders: folders.clone(),
            folders,
            ..State::default()
        };
        SimDisk(Mutex::new(state), Gate::default())
    }

    /// Changes a byte of a file, as a failing disk does.
    pub(crate) fn damage(&self, key: &str, place: usize, flip: u8) {
        let mut state = self.state();
        let file = state.names[key];
        let File { now, durable, .. } = &mut state.files[file];
        now[place] ^= flip;
        durable.clone_from(now);
        state.files[file].unsynced.clear();
    }

    /// Puts a text into a file that need not be there.
    pub(crate) fn write(&self, text: &str, key: &str) {
        Disk::write_at(self, key, 0, text.as_bytes()).unwrap();
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }
}

fn folder_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn put(bytes: &mut Vec<u8>, at: u64, written: &[u8]) {
    let end = at as usize + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at as usize..end].copy_from_slice(written);
}

fn gone() -> io::Error {
    io::Error::other("the power is gone")
}

impl State {
    fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[*file].now.len() as u64).sum()
    }

    fn is_full_for(&self, key: &str, len: u64) -> bool {
        let now = self.names.get(key).map_or(0, |file| self.files[*file].now.len() as u64);
        self.full || len > now && self.capacity.is_some_and(|capacity| self.used() + len - now > capacity)
    }

    /// Counts a call and says how it is to fail, if it is.
    fn call(&mut self, call: Call) -> Result<(), Failure> {
        let number = self.calls.entry(call).or_default();
        *number += 1;
        match self.fault {
            Some(fault) if fault.call == call && (*number == fault.at + 1 || (fault.lasting && *number > fault.at)) => {
                self.failed = true;
                Err(fault.failure)
            }
            _ => Ok(()),
        }
    }

    /// Counts a change; an error if the power goes at it or went before.
    fn change(&mut self) -> io::Result<()> {
        self.changes += 1;
        if self.crash_after.is_some_and(|at| self.changes > at) { Err(gone()) } else { Ok(()) }
    }

    fn file(&mut self, key: &str) -> io::Result<&mut File> {
        let file = *self.names.get(key).ok_or(io::ErrorKind::NotFound)?;
        Ok(&mut self.files[file])
    }

    fn file_or_new(&mut self, key: &str) -> io::Result<&mut File> {
        if !self.folders.contains(folder_of(key)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !self.names.contains_key(key) {
            self.files.push(File::default());
            self.names.insert(key.to_owned(), self.files.len() - 1);
        }
        self.file(key)
    }
}

impl Objects for SimDisk {
    fn len(&self, key: &str) -> io::Result<u64> {
        let mut state = self.state();
        state.call(Call::Len).map_err(Failure::error)?;
        state.file(key).map(|file| file.now.len() as u64)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.1.pass();
        let mut state = self.state();
        state.call(Call::Read).map_err(Failure::error)?;
        let file = state.file(key)?;
        let found = file.now.get(offset as usize..offset as usize + bytes.len());
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::Remove).map_err(Failure::error)?;
        state.file(key)?;
        state.change()?;
        state.names.remove(key);
        state.locked.remove(key);
        Ok(())
    }
}

impl Disk for SimDisk {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::CreateFolder).map_err(Failure::error)?;
        if !state.folders.contains(folder) {
            state.change()?;
            state.folders.insert(folder.to_owned());
            if folder.is_empty() {
                state.durable_folders.insert(String::new());
            }
        }
        Ok(())
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let failed = state.call(Call::Write).err();
        if let Some(failure @ (Failure::Eio | Failure::NoSpace)) = failed {
            return Err(failure.error());
        }
        let alive = state.change();
        let dying = state.crash_after.is_some_and(|at| state.changes == at + 1);
        if alive.is_err() && !dying {
            return alive;
        }
        let full = state.is_full_for(key, offset + bytes.len() as u64);
        let half = if full || dying || failed.is_some() { bytes.len() / 2 } else { bytes.len() };
        let file = state.file_or_new(key)?;
        put(&mut file.now, offset, &bytes[..half]);
        file.unsynced.push(Write::Bytes(offset, bytes[..half].to_vec()));
        match failed {
            Some(failure) => Err(failure.error()),
            None if full => Err(io::ErrorKind::StorageFull.into()),
            None => alive,
        }
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::SetLen).map_err(Failure::error)?;
        state.change()?;
        let full = state.is_full_for(key, len);
        let file = state.file_or_new(key)?;
        if full && len > file.now.len() as u64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.now.resize(len as usize, 0);
        file.unsynced.push(Write::Len(len));
        Ok(())
    }

    fn room(&self) -> io::Result<Room> {
        let state = self.state();
        if let Some(total) = state.capacity {
            return Ok(Room { free: total.saturating_sub(state.used()), total });
        }
        Ok(Room { free: 1 << 20, total: u64::MAX }) // room for small files of the log beforehand, not for those of the usual size
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        let mut state = self.state();
        let failed = state.call(Call::Sync).err().map(Failure::error);
        state.change()?;
        let failing = state.failing_syncs.then(|| io::Error::other("the disk could not keep it"));
        let file = state.file(key)?;
        let unsynced = std::mem::take(&mut file.unsynced);
        if let Some(error) = failed.or(failing) {
            // The system has dropped what it could not write, and no longer knows that it was ever there: it is still read
            // until the power goes, and no later sync keeps it.
            return Err(error);
        }
        for write in &unsynced {
            match write {
                Write::Bytes(at, written) => put(&mut file.durable, *at, written),
                Write::Len(len) => file.durable.resize(*len as usize, 0),
            }
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::Rename).map_err(Failure::error)?;
        state.change()?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        if state.locked.remove(from) {
            state.locked.insert(to.to_owned());
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.call(Call::List).map_err(Failure::error)?;
        if !state.folders.contains(folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let files = state.names.keys().filter(|key| folder_of(key) == folder);
        let folders = state.folders.iter().filter(|f| !f.is_empty() && folder_of(f) == folder);
        Ok(files.chain(folders).map(|key| key.rsplit('/').next().unwrap().to_owned()).collect())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::SyncFolder).map_err(Failure::error)?;
        state.change()?;
        let State { names, durable_names, folders, durable_folders, .. } = &mut *state;
        durable_names.retain(|key, _| folder_of(key) != folder);
        durable_names
            .extend(names.iter().filter(|(key, _)| folder_of(key) == folder).map(|(key, file)| (key.clone(), *file)));
        durable_folders.extend(folders.iter().filter(|f| !f.is_empty() && folder_of(f) == folder).cloned());
        Ok(())
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        let mut state = self.state();
        if !key.is_empty() {
            state.file_or_new(key)?;
        }
        Ok(state.locked.insert(key.to_owned()))
    }

    fn unlock(&self, key: &str) {
        self.state().locked.remove(key);
    }
}

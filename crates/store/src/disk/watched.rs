//! A disk in front of the archive's disk that knows for how long a call has not come back: a disk that hangs gives no error, and
//! everything that waits for it looks as if there were nothing to do.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use crate::disk::{Disk, Found, Identity, Objects};
use archive::Room;

/// A sync of a busy disk may take so long; an operator is told of what takes longer.
const TOLD_FROM: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Watched {
    disk: Arc<dyn Disk>,
    calls: Mutex<Calls>,
}

/// The calls that have not come back, by the order in which they began.
#[derive(Debug, Default)]
struct Calls {
    next: u64,
    running: BTreeMap<u64, Call>,
}

#[derive(Debug)]
struct Call {
    since: Instant,
    doing: &'static str,
    key: String,
}

impl Watched {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Watched {
        Watched { disk, calls: Mutex::default() }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().expect("no holder of this lock panics")
    }

    /// For how long the oldest call has not come back.
    pub(crate) fn silence(&self) -> Duration {
        self.calls().running.values().next().map_or(Duration::ZERO, |call| call.since.elapsed())
    }

    /// What an operator must know; none while the disk answers.
    pub(crate) fn problem(&self) -> Option<String> {
        let calls = self.calls();
        let Call { since, doing, key } = calls.running.values().next()?;
        let seconds = since.elapsed();
        (seconds >= TOLD_FROM).then(|| {
            format!(
                "the disk has not answered for {} s, since it was to {doing} {key}; samples wait in memory while there is room",
                seconds.as_secs()
            )
        })
    }

    /// Runs what looks for the folder of the archive.
    pub(crate) fn looking<T>(&self, run: impl FnOnce() -> T) -> T {
        self.call("look for", "the folder of the archive", |_| run())
    }

    fn call<T>(&self, doing: &'static str, key: &str, run: impl FnOnce(&dyn Disk) -> T) -> T {
        let call = Call { since: Instant::now(), doing, key: key.to_owned() };
        let number = {
            let mut calls = self.calls();
            calls.next += 1;
            let number = calls.next;
            calls.running.insert(number, call);
            number
        };
        let result = run(&*self.disk);
        self.calls().running.remove(&number);
        result
    }
}

impl Objects for Watched {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.call("look at", key, |disk| disk.len(key))
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.call("read", key, |disk| disk.read_at(key, offset, bytes))
    }

    fn read_parts_at(&self, key: &str, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.call("read", key, |disk| disk.read_parts_at(key, parts))
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.call("remove", key, |disk| disk.remove(key))
    }
}

impl Disk for Watched {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.call("create", folder, |disk| disk.create_folder(folder))
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.call("write", key, |disk| disk.write_at(key, offset, bytes))
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.call("set the length of", key, |disk| disk.set_len(key, len))
    }

    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        self.call("take room for", key, |disk| disk.allocate(key, len))
    }

    fn room(&self) -> io::Result<Room> {
        self.call("tell", "how much is free", |disk| disk.room())
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.call("sync", key, |disk| disk.sync(key))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.call("rename", from, |disk| disk.rename(from, to))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.call("list", folder, |disk| disk.list(folder))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.call("sync the folder", folder, |disk| disk.sync_folder(folder))
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        self.disk.lock(key)
    }

    fn unlock(&self, key: &str) {
        self.disk.unlock(key);
    }

    fn locked_by(&self, key: &str) -> Option<u32> {
        self.disk.locked_by(key)
    }

    fn identity(&self, key: &str, found: Found) -> io::Result<Identity> {
        self.call("look for", key, |disk| disk.identity(key, found))
    }

    fn at_home(&self) -> io::Result<()> {
        self.call("look for", "the folder of the archive", |disk| disk.at_home())
    }
}

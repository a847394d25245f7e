//! A disk in front of a disk on which chosen calls do not come back until they are let go, or are refused.

use std::{
    collections::HashSet,
    fmt, io,
    sync::{Arc, Condvar, Mutex},
};

use archive::Room;
use store::disk::{Disk, Objects};

use super::Call;

/// Which calls are meant, by what they do and to which key. It is asked on the thread that calls.
type Which = Box<dyn Fn(Call, &str) -> bool + Send + Sync>;

/// What becomes of the calls that are meant.
enum Rule {
    Wait,
    Refuse(io::ErrorKind),
}

#[derive(Default)]
struct State {
    rule: Option<(Arc<Which>, Rule)>,
    waiting: usize,
    /// What was locked here stays so if it is locked again.
    locked: HashSet<String>,
}

pub(crate) struct Gate {
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
    opened: Condvar,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Gate {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Gate {
        Gate { disk, state: Mutex::default(), opened: Condvar::new() }
    }

    /// These calls wait from now on.
    pub(crate) fn shut(&self, which: impl Fn(Call, &str) -> bool + Send + Sync + 'static) {
        self.state.lock().unwrap().rule = Some((Arc::new(Box::new(which)), Rule::Wait));
    }

    /// These calls fail from now on.
    pub(crate) fn refuse(&self, kind: io::ErrorKind, which: impl Fn(Call, &str) -> bool + Send + Sync + 'static) {
        self.state.lock().unwrap().rule = Some((Arc::new(Box::new(which)), Rule::Refuse(kind)));
    }

    /// Every call that waits goes on, and none waits or fails any more.
    pub(crate) fn open(&self) {
        self.state.lock().unwrap().rule = None;
        self.opened.notify_all();
    }

    /// How many calls wait at this moment.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().unwrap().waiting
    }

    fn pass(&self, call: Call, key: &str) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        loop {
            match &state.rule {
                Some((which, Rule::Refuse(kind))) if which(call, key) => return Err((*kind).into()),
                Some((which, Rule::Wait)) if which(call, key) => {}
                _ => return Ok(()),
            }
            state.waiting += 1;
            state = self.opened.wait(state).unwrap();
            state.waiting -= 1;
        }
    }
}

impl Objects for Gate {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.pass(Call::Len, key).and_then(|()| self.disk.len(key))
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.pass(Call::Read, key).and_then(|()| self.disk.read_at(key, offset, bytes))
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.pass(Call::Remove, key).and_then(|()| self.disk.remove(key))
    }
}

impl Disk for Gate {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.pass(Call::CreateFolder, folder).and_then(|()| self.disk.create_folder(folder))
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.pass(Call::Write, key).and_then(|()| self.disk.write_at(key, offset, bytes))
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.pass(Call::SetLen, key).and_then(|()| self.disk.set_len(key, len))
    }

    fn room(&self) -> io::Result<Room> {
        self.pass(Call::Len, "").and_then(|()| self.disk.room())
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.pass(Call::Sync, key).and_then(|()| self.disk.sync(key))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.pass(Call::Rename, from).and_then(|()| self.disk.rename(from, to))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.pass(Call::List, folder).and_then(|()| self.disk.list(folder))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.pass(Call::SyncFolder, folder).and_then(|()| self.disk.sync_folder(folder))
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        let mut state = self.state.lock().unwrap();
        let granted = state.locked.contains(key) || self.disk.lock(key)?;
        if granted {
            state.locked.insert(key.to_owned());
        }
        Ok(granted)
    }

    fn unlock(&self, key: &str) {
        self.state.lock().unwrap().locked.remove(key);
        self.disk.unlock(key);
    }
}

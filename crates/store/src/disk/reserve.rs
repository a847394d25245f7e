//! The reserve: room on the disk that is taken beforehand and given back, piece by piece, when the disk is full.
//!
//! It is a disk in front of the disk. A write that finds no room gets some of the reserve and is tried again, so log, flushes and
//! catalogue go on; flushes even win room, because blocks take less than the log. Merges get none of it: they can wait. When
//! there is room again the reserve is filled up again. Nothing is ever deleted for want of room.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use archive::Room;
use sample::Timestamp;

use crate::disk::{Disk, Found, Identity, Objects};

/// The file whose only use is its size.
pub(crate) const KEY: &str = "reserve";
/// At most this part of what is free is taken as reserve.
const FREE_PART: u64 = 4;
/// Less is not worth a file.
const LEAST: u64 = 1 << 20;
/// How often it is looked whether there is room again.
const LOOK: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Reserve {
    disk: Arc<dyn Disk>,
    wanted: u64,
    /// Held while the file is made larger or smaller, which may take as long as the disk likes.
    changing: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    left: u64,
    /// The disk was full, and the reserve is not whole again. Since when, and how much there was then.
    used: Option<(Timestamp, u64)>,
    now: Timestamp,
    looked: Timestamp,
}

impl Reserve {
    /// Takes the reserve, or what there is room for.
    pub(crate) fn open(disk: Arc<dyn Disk>, wanted: u64, now: Timestamp) -> Reserve {
        let found = disk.len(KEY).ok();
        let left = found.unwrap_or(0);
        let used = found.is_some_and(|left| left < wanted).then_some((now, left));
        let state = State { left, used, now, looked: now };
        let reserve = Reserve { disk, wanted, changing: Mutex::default(), state: Mutex::new(state) };
        reserve.fill();
        reserve
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// To be called about once a second; never waits for the disk.
    pub(crate) fn tick(&self, now: Timestamp) {
        self.state().now = now;
    }

    /// Fills it up again if it is time to look whether there is room.
    pub(crate) fn look(&self) {
        let mut state = self.state();
        let is_time = state.left < self.wanted && state.now >= state.looked.saturating_add(LOOK);
        if is_time {
            state.looked = state.now;
            drop(state);
            self.fill();
        }
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().expect("no holder of this lock panics")
    }

    /// Takes room, as far as there is enough of it.
    fn fill(&self) {
        let _changing = self.changing();
        let left = self.state().left;
        let Ok(Room { free, .. }) = self.disk.room() else { return };
        let size = self.wanted.min(free.saturating_add(left) / FREE_PART);
        if size < LEAST || size <= left {
            return;
        }
        let taken = self.disk.allocate(KEY, size).and_then(|()| self.disk.sync(KEY));
        match taken {
            Ok(()) => {
                let mut state = self.state();
                if state.used.take().is_some() {
                    tracing::info!("there is room on the disk again; the reserve has {} MB", size >> 20);
                }
                state.left = size;
            }
            Err(error) => {
                tracing::warn!("cannot take room for the reserve: {error}");
                if let Err(error) = self.disk.set_len(KEY, left) {
                    tracing::warn!("cannot cut the reserve back: {error}");
                }
            }
        }
    }

    /// Gives some room back; false if none is left.
    fn release(&self) -> bool {
        let _changing = self.changing();
        let left = self.state().left;
        let step = (self.wanted / 32).max(LEAST).min(left);
        if step == 0 || self.disk.set_len(KEY, left - step).is_err() {
            return false;
        }
        let mut state = self.state();
        if state.used.is_none() {
            tracing::error!("the disk is full; the store lives on its reserve of {} MB", state.left >> 20);
            state.used = Some((state.now, state.left));
        }
        state.left -= step;
        true
    }

    fn with_room<T>(&self, key: &str, mut run: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        // The names of merged segments have a range of numbers.
        let can_wait = key.rsplit('/').next().is_some_and(|name| name.contains('-'));
        loop {
            match run() {
                Err(error) if is_full(&error) && !can_wait && self.release() => {}
                result => return result,
            }
        }
    }

    /// How much is left, and how much there should be.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.state().left, self.wanted)
    }

    /// What an operator must know; none while the reserve was not needed.
    pub(crate) fn problem(&self) -> Option<String> {
        let state = self.state();
        let (since, had) = state.used?;
        let (left, wanted) = (state.left >> 20, self.wanted >> 20);
        if state.left == 0 {
            return Some("the disk is full and the reserve is used up: make room".to_owned());
        }
        let spent = had.saturating_sub(state.left);
        let nanos = state.now.nanos().saturating_sub(since.nanos()).max(0);
        let minutes =
            (spent > 0).then(|| i128::from(nanos) * i128::from(state.left) / i128::from(spent) / 60_000_000_000);
        let lasts = minutes.map(|minutes| format!(", which last about {minutes} minutes as it went since then"));
        Some(format!(
            "the disk was full at {since}: of the reserve of {wanted} MB {left} MB are left{}; make room",
            lasts.unwrap_or_default()
        ))
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl Objects for Reserve {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(key)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(key, offset, bytes)
    }

    fn read_parts_at(&self, key: &str, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.disk.read_parts_at(key, parts)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.disk.remove(key)
    }
}

impl Disk for Reserve {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.with_room("", || self.disk.create_folder(folder))
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.with_room(key, || self.disk.write_at(key, offset, bytes))
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.with_room(key, || self.disk.set_len(key, len))
    }

    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        self.disk.allocate(key, len)
    }

    fn room(&self) -> io::Result<Room> {
        self.disk.room()
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.disk.sync(key)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.with_room(to, || self.disk.rename(from, to))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.sync_folder(folder)
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
        self.disk.identity(key, found)
    }

    fn at_home(&self) -> io::Result<()> {
        self.disk.at_home()
    }
}

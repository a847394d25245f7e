//! The disk of a place that may stop answering, as a network file system does whose server has gone: whoever asks waits so long and no
//! longer, and whoever asks while an earlier call has not come back at all is told at once.
//!
//! Calls run on threads of their own. One that hangs keeps its thread until the system lets it go; there are at most so many.

use std::{
    collections::VecDeque,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use crate::disk::{Disk, Objects};
use archive::Room;

/// So many calls run at the same time at most.
const THREADS_MAX: usize = 16;
/// Writing and syncing a large file may well take long: only who moves segments waits for that.
const WRITE_PATIENCE: Duration = Duration::from_secs(600);
/// Nobody waits longer once the archive is being closed.
const PATIENCE_AT_END: Duration = Duration::from_secs(1);

pub(crate) struct Patient {
    disk: Arc<dyn Disk>,
    patience: Duration,
    shared: Arc<Shared>,
    /// Makes a thread; another one in tests, where the system has none left.
    start: fn(Arc<Shared>) -> io::Result<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// With `state`: there is a call to make, one has come back, or the end has come.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Box<dyn FnOnce() + Send>>,
    threads: usize,
    idle: usize,
    /// Calls for which nobody waits any more and that have not come back; since when the first of them has not.
    late: usize,
    silent_since: Option<Instant>,
    ended: bool,
    closing: bool,
}

/// What has become of one call.
enum Outcome<T> {
    Running,
    Late,
    Back(io::Result<T>),
}

impl fmt::Debug for Patient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// Makes calls until there are none any more and the end has come.
    fn work(&self) {
        let mut state = self.state();
        loop {
            match state.calls.pop_front() {
                Some(call) => {
                    drop(state);
                    call();
                    state = self.state();
                }
                None if state.ended => return,
                None => {
                    state.idle += 1;
                    state = self.changed.wait(state).expect("no holder of this lock panics");
                    state.idle -= 1;
                }
            }
        }
    }
}

impl Patient {
    pub(crate) fn new(disk: Arc<dyn Disk>, patience: Duration) -> Patient {
        Patient { disk, patience, shared: Arc::default(), start }
    }

    /// Nobody waits long from now on.
    pub(crate) fn close(&self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
    }

    /// Makes a call on another thread and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        call: impl FnOnce(&dyn Disk) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let began = Instant::now();
        let outcome = Arc::new(Mutex::new(Outcome::Running));
        let mut state = self.shared.state();
        if let Some(since) = state.silent_since {
            return Err(no_answer(since));
        }
        let (disk, shared, theirs) = (self.disk.clone(), self.shared.clone(), outcome.clone());
        state.calls.push_back(Box::new(move || {
            let is_wanted = matches!(*lock(&theirs), Outcome::Running);
            // A panic that went further would leave a call that never comes back, and the place silent for ever.
            let made = || if is_wanted { call(&*disk) } else { Err(io::ErrorKind::TimedOut.into()) };
            let result =
                catch_unwind(AssertUnwindSafe(made)).unwrap_or_else(|_| Err(io::Error::other("a call panicked")));
            let mut state = shared.state();
            if matches!(std::mem::replace(&mut *lock(&theirs), Outcome::Back(result)), Outcome::Late) {
                state.late -= 1;
                state.silent_since = state.silent_since.filter(|_| state.late > 0);
            }
            drop(state);
            shared.changed.notify_all();
        }));
        if state.idle < state.calls.len() && state.threads < THREADS_MAX {
            match (self.start)(self.shared.clone()) {
                Ok(()) => state.threads += 1,
                // Nobody would make the call, or somebody who comes later would, of whom the caller knows nothing.
                Err(error) if state.threads == 0 => {
                    state.calls.pop_back();
                    return Err(error);
                }
                Err(_) => {} // those that are there will come to it
            }
        }
        self.shared.changed.notify_all();
        loop {
            if let Outcome::Back(result) = std::mem::replace(&mut *lock(&outcome), Outcome::Running) {
                return result;
            }
            let patience = if state.closing { patience.min(PATIENCE_AT_END) } else { patience };
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                *lock(&outcome) = Outcome::Late;
                state.late += 1;
                state.silent_since = Some(state.silent_since.map_or(began, |since| since.min(began)));
                return Err(no_answer(began));
            }
            state = self.shared.changed.wait_timeout(state, left).expect("no holder of this lock panics").0;
        }
    }

    fn read<T: Send + 'static>(&self, call: impl FnOnce(&dyn Disk) -> io::Result<T> + Send + 'static) -> io::Result<T> {
        self.ask(self.patience, call)
    }

    fn write<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Disk) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.ask(WRITE_PATIENCE.max(self.patience), call)
    }
}

/// Starts a thread that makes calls.
fn start(shared: Arc<Shared>) -> io::Result<()> {
    thread::Builder::new().name("place".to_owned()).spawn(move || shared.work()).map(drop)
}

fn lock<T>(outcome: &Mutex<Outcome<T>>) -> MutexGuard<'_, Outcome<T>> {
    outcome.lock().expect("no holder of this lock panics")
}

fn no_answer(since: Instant) -> io::Error {
    let text = format!("nothing has come back for {:.0} s", since.elapsed().as_secs_f64());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

impl Objects for Patient {
    fn len(&self, key: &str) -> io::Result<u64> {
        let key = key.to_owned();
        self.read(move |disk| disk.len(&key))
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let (key, len) = (key.to_owned(), bytes.len());
        let read = self.read(move |disk| {
            let mut read = vec![0; len];
            disk.read_at(&key, offset, &mut read).map(|()| read)
        })?;
        bytes.copy_from_slice(&read);
        Ok(())
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let key = key.to_owned();
        self.read(move |disk| disk.remove(&key))
    }
}

impl Disk for Patient {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let folder = folder.to_owned();
        self.write(move |disk| disk.create_folder(&folder))
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (key, bytes) = (key.to_owned(), bytes.to_vec());
        self.write(move |disk| disk.write_at(&key, offset, &bytes))
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        let key = key.to_owned();
        self.write(move |disk| disk.set_len(&key, len))
    }

    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        let key = key.to_owned();
        self.write(move |disk| disk.allocate(&key, len))
    }

    fn room(&self) -> io::Result<Room> {
        self.read(|disk| disk.room())
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        let key = key.to_owned();
        self.write(move |disk| disk.sync(&key))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.write(move |disk| disk.rename(&from, &to))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = folder.to_owned();
        self.read(move |disk| disk.list(&folder))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let folder = folder.to_owned();
        self.write(move |disk| disk.sync_folder(&folder))
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        let key = key.to_owned();
        self.read(move |disk| disk.lock(&key))
    }

    fn unlock(&self, key: &str) {
        self.disk.unlock(key);
    }

    fn locked_by(&self, key: &str) -> Option<u32> {
        let key = key.to_owned();
        self.read(move |disk| Ok(disk.locked_by(&key))).ok().flatten()
    }

    fn renew(&self) -> io::Result<()> {
        self.read(|disk| disk.renew())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn patient() -> Patient {
        Patient::new(Arc::new(RealDisk::new("nowhere")), PATIENCE)
    }

    #[test]
    fn a_call_that_panics_is_an_error_and_the_place_answers_on() {
        let patient = patient();
        let began = Instant::now();
        let result: io::Result<()> = patient.read(|_| panic!("what a test makes a disk do"));
        assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::Other));
        assert!(began.elapsed() < PATIENCE, "nobody waits for what will never come");
        assert_eq!(patient.read(|_| Ok(5)).ok(), Some(5));
    }

    #[test]
    fn a_call_that_no_thread_could_be_made_for_is_never_made() {
        let mut patient = patient();
        patient.start = |_| Err(io::ErrorKind::WouldBlock.into());
        let made = Arc::new(Mutex::new(0));
        let call = |made: &Arc<Mutex<i32>>| {
            let made = made.clone();
            move |_: &dyn Disk| {
                *made.lock().expect("no holder of this lock panics") += 1;
                Ok(())
            }
        };
        let refused = patient.read(call(&made));
        assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::WouldBlock));
        patient.start = start;
        assert!(patient.read(call(&made)).is_ok());
        assert_eq!(*made.lock().expect("no holder of this lock panics"), 1, "the refused one is not made later");
    }
}

//! Where answers are made: by the thread that has read the request while little is at work, by threads that may block otherwise.
//!
//! When all processors are busy, each hand-over from thread to thread waits for one of them, and a request that is handed over and
//! back takes twice as long as one that is not.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use tokio::task::{JoinHandle, block_in_place, spawn_blocking};

/// While less than this is at work, work is done where it was asked for, and another thread reads the requests meanwhile. There must be
/// one for that: what waits for a disk that does not answer keeps its thread. Where many ask, a hand-over is cheaper.
const LITTLE: usize = 2;
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Counts a piece of work until it is done.
struct AtWork;

impl AtWork {
    fn new() -> AtWork {
        AT_WORK.fetch_add(1, Relaxed);
        AtWork
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Relaxed);
    }
}

/// Why there is no result: the work panicked, and with which words.
#[derive(Debug)]
pub(crate) struct Panicked(String);

impl Panicked {
    fn with(panic: &(dyn Any + Send)) -> Panicked {
        let words =
            panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Panicked(words.unwrap_or("without a word").to_owned())
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

/// Does work that may have to wait for the store, here if little else is at work.
pub(crate) async fn done<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
    if AT_WORK.load(Relaxed) < LITTLE {
        let _at_work = AtWork::new();
        return block_in_place(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| Panicked::with(&*panic));
    }
    finished(begun(work)).await
}

/// Begins work that may have to wait for the store, on a thread of its own while this one goes on.
pub(crate) fn begun<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let at_work = AtWork::new();
    spawn_blocking(move || {
        let _at_work = at_work;
        work()
    })
}

/// What was begun, once it is there.
pub(crate) async fn finished<T>(begun: JoinHandle<T>) -> Result<T, Panicked> {
    begun.await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => Panicked::with(&*panic),
        Err(error) => Panicked(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    // One test, as what is at work is counted for the whole process.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_little_is_done_here_and_more_elsewhere_and_a_panic_is_told_of_and_counts_no_more() {
        let asked = thread::current().id();
        assert_eq!(done(|| thread::current().id()).await.unwrap(), asked);
        let held: Vec<_> = (0..LITTLE).map(|_| AtWork::new()).collect();
        assert_ne!(done(|| thread::current().id()).await.unwrap(), asked);
        drop(held);

        let words = |result: Result<(), Panicked>| result.unwrap_err().to_string();
        for number in 0..2 * LITTLE {
            assert_eq!(words(done(|| panic!("here")).await), "panicked: here");
            assert_eq!(
                words(finished(begun(move || panic!("there {number}"))).await),
                format!("panicked: there {number}")
            );
        }
        assert_eq!(done(|| thread::current().id()).await.unwrap(), asked);
    }
}

//! Where answers are made: by the thread that has read the request while little is at work, by a few threads that may block otherwise,
//! and by more of them while those wait for a disk.
//!
//! When all processors are busy, each hand-over from thread to thread waits for one of them, and a request that is handed over and
//! back takes twice as long as one that is not. And threads that share a processor are all late: for a crowd of 1,000, four on two
//! processors made half as many answers more in a time than 64 did, in half of the memory (`pvark-lab retrieval --only crowd`).

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        LazyLock, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::available_parallelism,
    time::{Duration, Instant},
};

use tokio::{
    sync::oneshot,
    task::{block_in_place, spawn_blocking},
    time::timeout,
};

use crate::delivery::crowd::is_crowded;

/// While less than this is at work, work is done where it was asked for, and another thread reads the requests meanwhile. There must be
/// one for that: what waits for a disk that does not answer keeps its thread. Where many ask, and in a crowd, a hand-over is cheaper.
const LITTLE: usize = 2;
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// So many threads have something to do for all processors, though some of them wait a little now and then.
static ENOUGH: LazyLock<usize> = LazyLock::new(|| 2 * available_parallelism().map_or(2, usize::from));

/// And so many are the most, however many of them wait for a disk that does not answer.
const MOST: usize = 64;

/// A thread that has been at one piece of work for so long may wait for a disk, and another takes its turn.
const SLOW: Duration = Duration::from_millis(25);

/// What waits for a thread, and the threads.
static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: VecDeque::new(), threads: Vec::new(), next: 0 });

type Piece = Box<dyn FnOnce() + Send>;

struct Queue {
    waiting: VecDeque<Piece>,
    threads: Vec<Busy>,
    /// The number of the next thread.
    next: u64,
}

/// A thread, and since when it has been at what it is at.
struct Busy {
    number: u64,
    since: Instant,
}

impl Busy {
    fn is_slow(&self, now: Instant) -> bool {
        now.duration_since(self.since) >= SLOW
    }
}

impl Queue {
    fn lock() -> MutexGuard<'static, Queue> {
        QUEUE.lock().expect("no holder of this lock panics")
    }

    fn has_enough_threads(&self, now: Instant) -> bool {
        self.threads.iter().filter(|thread| !thread.is_slow(now)).count() >= *ENOUGH
    }

    /// One thread more if something waits and too few are at work.
    fn thread_more(&mut self) -> Option<Thread> {
        let since = Instant::now();
        let is_one_more = !self.waiting.is_empty() && self.threads.len() < MOST && !self.has_enough_threads(since);
        is_one_more.then(|| {
            let number = self.next;
            self.next += 1;
            self.threads.push(Busy { number, since });
            Thread(number)
        })
    }

    /// The next piece for a thread; none if it is not needed any more, and then it is not counted on from here on.
    fn next(&mut self, number: u64) -> Option<Piece> {
        let now = Instant::now();
        let place = self.threads.iter().position(|thread| thread.number == number)?;
        // Another may have its place if it was slow.
        let is_needed = !self.threads[place].is_slow(now) || !self.has_enough_threads(now);
        let piece = self.waiting.pop_front_if(|_| is_needed);
        match piece {
            Some(_) => self.threads[place].since = now,
            None => drop(self.threads.swap_remove(place)),
        }
        piece
    }
}

/// A thread that may block, by its number, as long as it is in the list.
struct Thread(u64);

impl Thread {
    /// Sends for one more if it is needed.
    fn send_for_more() {
        // The queue is free by then: a runtime that is ending gives no thread, and this one is out of the list at once.
        let thread = Queue::lock().thread_more();
        if let Some(thread) = thread {
            spawn_blocking(move || while thread.works() {});
        }
    }

    /// Does one piece of work, if there is one for it.
    fn works(&self) -> bool {
        let piece = Queue::lock().next(self.0);
        piece.map(|piece| piece()).is_some()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        Queue::lock().threads.retain(|thread| thread.number != self.0);
    }
}

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
    if AT_WORK.load(Relaxed) < LITTLE && !is_crowded() {
        let _at_work = AtWork::new();
        return block_in_place(|| caught(work));
    }
    finished(begun(work)).await
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked::with(&*panic))
}

/// Work on another thread, or before it.
pub(crate) struct Begun<T>(oneshot::Receiver<Result<T, Panicked>>);

/// Begins work that may have to wait for the store, on another thread while this one goes on.
pub(crate) fn begun<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Begun<T> {
    let (sender, receiver) = oneshot::channel();
    let at_work = AtWork::new();
    let piece = move || {
        let result = caught(work);
        drop(at_work);
        // Nobody may want it any more.
        let _ = sender.send(result);
    };
    Queue::lock().waiting.push_back(Box::new(piece));
    Thread::send_for_more();
    Begun(receiver)
}

/// What was begun, once it is there.
pub(crate) async fn finished<T>(mut begun: Begun<T>) -> Result<T, Panicked> {
    loop {
        match timeout(SLOW, &mut begun.0).await {
            Ok(Ok(result)) => return result,
            Ok(Err(_)) => return Err(Panicked("was given up".to_owned())),
            Err(_) => Thread::send_for_more(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use tokio::task::JoinHandle;

    use super::*;

    /// Pieces of work that wait as long as the disk is held, and what they find in the end.
    fn waiting_for_disk(pieces: usize) -> (Vec<mpsc::Sender<()>>, Vec<JoinHandle<bool>>) {
        (0..pieces)
            .map(|_| {
                let (disk, answer) = mpsc::channel();
                let work = begun(move || answer.recv().is_err());
                (disk, tokio::spawn(async { finished(work).await.unwrap() }))
            })
            .unzip()
    }

    // One test, as what is at work is counted for the whole process.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_little_is_done_here_and_more_elsewhere_whatever_waits_and_a_panic_is_told_of_and_counts_no_more() {
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

        // All threads that are enough wait for a disk: what comes then is done all the same.
        let (disk, waits) = waiting_for_disk(*ENOUGH);
        assert_eq!(finished(begun(|| 1)).await.unwrap(), 1);
        drop(disk);
        for wait in waits {
            assert!(wait.await.unwrap());
        }

        // There is an end to it, and what has waited for that long is done in the end.
        let (disk, waits) = waiting_for_disk(MOST + 2 * *ENOUGH);
        while Queue::lock().threads.len() < MOST {
            tokio::time::sleep(SLOW).await;
        }
        tokio::time::sleep(4 * SLOW).await;
        assert_eq!(Queue::lock().threads.len(), MOST);
        drop(disk);
        for wait in waits {
            assert!(wait.await.unwrap());
        }
        while !Queue::lock().threads.is_empty() {
            tokio::time::sleep(SLOW).await;
        }

        // They are few when what comes is done at once, though the machine may be at something else now and then.
        let pieces: Vec<_> = (0..100 * *ENOUGH).map(|_| begun(|| Queue::lock().threads.len())).collect();
        let mut most = 0;
        for piece in pieces {
            most = most.max(finished(piece).await.unwrap());
        }
        assert!((1..=2 * *ENOUGH).contains(&most), "{most} threads");
        assert_eq!(done(|| thread::current().id()).await.unwrap(), asked);
    }
}

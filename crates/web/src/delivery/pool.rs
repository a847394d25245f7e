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
        Arc, Mutex, MutexGuard,
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

use super::crowd::Crowd;

/// While fewer pieces of work than this are under way, one is done by the thread that asked for it, and another thread reads requests
/// meanwhile. There must be one for that: work that waits for a disk that does not answer keeps its thread. Where many ask, and in a
/// crowd, a hand-over is cheaper.
const LITTLE: usize = 2;

/// With so many threads for each processor all processors have something to do, though some threads wait a little now and then.
const ENOUGH_EACH: usize = 2;

/// The most threads there may be, however many of them wait for a disk that does not answer.
const MOST: usize = 64;

/// A thread that has been at one piece of work for so long probably waits for a disk, and another takes its turn.
const SLOW: Duration = Duration::from_millis(25);

/// The threads that do what may block, and what waits for them.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    crowd: Crowd,
    /// How many pieces of work are under way or wait.
    at_work: AtomicUsize,
    /// So many threads that are not slow are enough.
    enough: usize,
    queue: Mutex<Queue>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} at work)", self.0.at_work.load(Relaxed))
    }
}

type Piece = Box<dyn FnOnce() + Send>;

/// What waits for a thread, and the threads.
#[derive(Default)]
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
    fn has_threads(&self, enough: usize, now: Instant) -> bool {
        self.threads.iter().filter(|thread| !thread.is_slow(now)).count() >= enough
    }

    /// The number of one thread more if something waits and fewer than enough are at work.
    fn thread_more(&mut self, enough: usize) -> Option<u64> {
        let since = Instant::now();
        let is_one_more = !self.waiting.is_empty() && self.threads.len() < MOST && !self.has_threads(enough, since);
        is_one_more.then(|| {
            let number = self.next;
            self.next += 1;
            self.threads.push(Busy { number, since });
            number
        })
    }

    /// The next piece for a thread; none if it is not needed any more, and then it is not counted on from here on.
    fn next(&mut self, number: u64, enough: usize) -> Option<Piece> {
        let now = Instant::now();
        let place = self.threads.iter().position(|thread| thread.number == number)?;
        // Another may have its place if it was slow.
        let is_needed = !self.threads[place].is_slow(now) || !self.has_threads(enough, now);
        let piece = self.waiting.pop_front_if(|_| is_needed);
        match piece {
            Some(_) => self.threads[place].since = now,
            None => drop(self.threads.swap_remove(place)),
        }
        piece
    }
}

/// A thread that may block, by its number, as long as it is in the list.
struct PoolThread {
    number: u64,
    pool: Pool,
}

impl PoolThread {
    /// Does one piece of work, if there is one for it.
    fn works(&self) -> bool {
        let piece = self.pool.queue().next(self.number, self.pool.0.enough);
        piece.map(|piece| piece()).is_some()
    }
}

impl Drop for PoolThread {
    fn drop(&mut self) {
        self.pool.queue().threads.retain(|thread| thread.number != self.number);
    }
}

/// Counts a piece of work until it is done.
struct AtWork(Pool);

impl AtWork {
    fn new(pool: &Pool) -> AtWork {
        pool.0.at_work.fetch_add(1, Relaxed);
        AtWork(pool.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.0.at_work.fetch_sub(1, Relaxed);
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

/// The result of work that may panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked::with(&*panic))
}

impl Pool {
    /// No threads yet; they come from the runtime on which work is asked for.
    pub(crate) fn new(crowd: Crowd) -> Pool {
        let enough = ENOUGH_EACH * available_parallelism().map_or(2, usize::from);
        Pool(Arc::new(Shared { crowd, at_work: AtomicUsize::new(0), enough, queue: Mutex::default() }))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().expect("no holder of this lock panics")
    }

    /// Sends for one thread more if it is needed.
    fn send_for_more(&self) {
        // The queue is free by then: a runtime that is ending gives no thread, and this one is out of the list at once.
        let number = self.queue().thread_more(self.0.enough);
        if let Some(number) = number {
            let thread = PoolThread { number, pool: self.clone() };
            spawn_blocking(move || while thread.works() {});
        }
    }

    /// Whether something waits for a thread, so that whoever could go on for long gives way.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.queue().waiting.is_empty()
    }

    /// Whether nothing is at work and nothing waits.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.0.at_work.load(Relaxed) == 0
    }

    /// Does work that may have to wait for the store, here if little else is at work.
    pub(crate) async fn done<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        if self.0.at_work.load(Relaxed) < LITTLE && !self.0.crowd.is_crowd() {
            let _at_work = AtWork::new(self);
            return block_in_place(|| caught(work));
        }
        self.begun(work).finished().await
    }

    /// Begins work that may have to wait for the store, on another thread while this one goes on.
    pub(crate) fn begun<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Begun<T> {
        let (sender, receiver) = oneshot::channel();
        let at_work = AtWork::new(self);
        let piece = move || {
            let result = caught(work);
            drop(at_work);
            // Nobody may want it any more.
            let _ = sender.send(result);
        };
        self.queue().waiting.push_back(Box::new(piece));
        self.send_for_more();
        Begun { receiver, pool: self.clone() }
    }
}

/// Work on another thread, or before it.
pub(crate) struct Begun<T> {
    receiver: oneshot::Receiver<Result<T, Panicked>>,
    pool: Pool,
}

impl<T> Begun<T> {
    /// What came of it, once it is done. Not to be asked for again then.
    pub(crate) async fn finished(&mut self) -> Result<T, Panicked> {
        loop {
            match timeout(SLOW, &mut self.receiver).await {
                Ok(result) => return result.unwrap_or_else(|_| Err(Panicked("was given up".to_owned()))),
                Err(_) => self.pool.send_for_more(),
            }
        }
    }

    /// The same if it is done.
    pub(crate) fn if_finished(&mut self) -> Option<Result<T, Panicked>> {
        match self.receiver.try_recv() {
            Ok(result) => Some(result),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Err(Panicked("was given up".to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use tokio::task::JoinHandle;

    use super::*;

    /// Pieces of work that wait as long as the disk is held, and what they find in the end.
    fn waiting_for_disk(pool: &Pool, pieces: usize) -> (Vec<mpsc::Sender<()>>, Vec<JoinHandle<bool>>) {
        (0..pieces)
            .map(|_| {
                let (disk, answer) = mpsc::channel();
                let mut work = pool.begun(move || answer.recv().is_err());
                (disk, tokio::spawn(async move { work.finished().await.unwrap() }))
            })
            .unzip()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_little_is_done_here_and_more_elsewhere() {
        let (pool, asked) = (Pool::new(Crowd::new()), thread::current().id());
        assert_eq!(pool.done(|| thread::current().id()).await.unwrap(), asked);
        let held: Vec<_> = (0..LITTLE).map(|_| AtWork::new(&pool)).collect();
        assert_ne!(pool.done(|| thread::current().id()).await.unwrap(), asked);
        drop(held);
        assert_eq!(pool.done(|| thread::current().id()).await.unwrap(), asked);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_panic_is_told_of_and_counts_no_more() {
        let (pool, asked) = (Pool::new(Crowd::new()), thread::current().id());
        let words = |result: Result<(), Panicked>| result.unwrap_err().to_string();
        for number in 0..2 * LITTLE {
            assert_eq!(words(pool.done(|| panic!("here")).await), "panicked: here");
            let mut there = pool.begun(move || panic!("there {number}"));
            assert_eq!(words(there.finished().await), format!("panicked: there {number}"));
        }
        assert_eq!(pool.done(|| thread::current().id()).await.unwrap(), asked);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_comes_while_enough_threads_wait_for_a_disk_is_done_all_the_same_and_there_is_an_end_to_it() {
        let pool = Pool::new(Crowd::new());
        let (disk, waits) = waiting_for_disk(&pool, pool.0.enough);
        assert_eq!(pool.begun(|| 1).finished().await.unwrap(), 1);
        drop(disk);
        for wait in waits {
            assert!(wait.await.unwrap());
        }

        let (disk, waits) = waiting_for_disk(&pool, MOST + 2 * pool.0.enough);
        while pool.queue().threads.len() < MOST {
            tokio::time::sleep(SLOW).await;
        }
        tokio::time::sleep(4 * SLOW).await;
        assert_eq!(pool.queue().threads.len(), MOST);
        drop(disk);
        for wait in waits {
            assert!(wait.await.unwrap());
        }
        while !pool.queue().threads.is_empty() {
            tokio::time::sleep(SLOW).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn threads_are_few_when_what_comes_is_done_at_once() {
        let pool = Pool::new(Crowd::new());
        let threads = || {
            let pool = pool.clone();
            move || pool.queue().threads.len()
        };
        let pieces: Vec<_> = (0..100 * pool.0.enough).map(|_| pool.begun(threads())).collect();
        let mut most = 0;
        for mut piece in pieces {
            most = most.max(piece.finished().await.unwrap());
        }
        // The machine may be at something else now and then.
        assert!((1..=2 * pool.0.enough).contains(&most), "{most} threads");
    }
}

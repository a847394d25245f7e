//! What is made of an answer before its client asks for it, while few answers are under way.
//!
//! ```text
//!   the chunks ──read──► to be made ──made──► finished, in order ──► the connection
//! ```
//! Each thread that is at it makes the oldest chunk that nobody makes, or else reads the next. So one reads while another makes, and
//! both make where reading is quick. None waits: when enough is finished, or nothing is left to do, it goes, and the connection sends
//! for one again when it has taken half. To hand over half a megabyte at a time took 240 wake-ups for an answer of 16 MB.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::body::Bytes;
use tokio::{sync::Notify, task::yield_now};

use crate::{
    answer::{Chunk, Chunks, ToMake},
    crowd::is_crowded,
    work::{self, Panicked},
};

/// So many bytes are read or finished ahead.
const BYTES_MAX: usize = 512 << 10;
/// The connection is told of what is finished when it waits and there are so many bytes, or no more will come.
const BYTES_TOLD: usize = 128 << 10;
/// A thread that has made so many bytes gives way to others that wait.
const BYTES_OF_TURN: usize = 512 << 10;
/// So many threads are at one answer.
const THREADS_MAX: usize = 2;

/// An answer that is being made. Whoever drops it ends that.
pub(crate) struct Ahead<C, E> {
    shared: Arc<Shared<C, E>>,
    is_begun: bool,
}

/// What has been taken from it.
pub(crate) enum Taken<C, E> {
    /// More comes.
    More,
    /// Many answers are under way now, and nothing more is made ahead: the rest.
    Rest(C),
    End,
    Failed(E),
    Panicked(Panicked),
}

struct Shared<C, E> {
    state: Mutex<State<C, E>>,
    told: Notify,
}

struct State<C, E> {
    /// Whence chunks come, unless a thread is reading or no more come.
    chunks: Option<C>,
    /// What has been read, in order, until the connection takes it.
    read: VecDeque<Slot>,
    /// The number of the first of these.
    first: u64,
    /// All before this one are being made, or have been.
    next: u64,
    /// Of all these.
    bytes: usize,
    /// How many of them are finished one after the other from the first, and their bytes.
    finished: (usize, usize),
    end: End<E>,
    threads: usize,
    is_awaited: bool,
}

enum Slot {
    ToMake(ToMake),
    /// By a thread, of about so many bytes.
    InHand(usize),
    Finished(Bytes),
}

impl Slot {
    fn bytes(&self) -> usize {
        match self {
            Slot::ToMake(to_make) => to_make.bytes,
            Slot::InHand(bytes) => *bytes,
            Slot::Finished(bytes) => bytes.len(),
        }
    }
}

/// Whether more chunks are read.
enum End<E> {
    NotYet,
    All,
    Failed(E),
    Panicked(Panicked),
    /// Nobody wants them any more.
    GivenUp,
}

/// What a thread is to do.
enum Task<C> {
    Make(u64, ToMake),
    Read(C),
}

impl<C: Chunks<E>, E: Send + 'static> Ahead<C, E> {
    /// Nothing is made before the first is to be taken.
    pub(crate) fn of(chunks: C) -> Ahead<C, E> {
        let state = State {
            chunks: Some(chunks),
            read: VecDeque::new(),
            first: 0,
            next: 0,
            bytes: 0,
            finished: (0, 0),
            end: End::NotYet,
            threads: 0,
            is_awaited: false,
        };
        Ahead { shared: Arc::new(Shared { state: Mutex::new(state), told: Notify::new() }), is_begun: false }
    }

    /// Waits until something is finished, and adds it to `made`.
    pub(crate) async fn take(&mut self, made: &mut VecDeque<Bytes>) -> Taken<C, E> {
        if !std::mem::replace(&mut self.is_begun, true) {
            // What was made before goes out first: threads that begin now would have the processor that is to send it.
            yield_now().await;
        }
        loop {
            let taken = self.shared.lock().take(made);
            if let Some(taken) = taken {
                if matches!(taken, Taken::More) {
                    self.shared.send_for_threads();
                }
                return taken;
            }
            self.shared.send_for_threads();
            work::awaited(self.shared.told.notified()).await;
        }
    }
}

impl<C, E> Drop for Ahead<C, E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.end = End::GivenUp;
        (state.chunks, state.next) = (None, u64::MAX);
        state.read.clear();
    }
}

impl<C, E> Shared<C, E> {
    fn lock(&self) -> MutexGuard<'_, State<C, E>> {
        self.state.lock().expect("no holder of this lock panics")
    }
}

impl<C: Chunks<E>, E: Send + 'static> Shared<C, E> {
    /// Sends for a thread if there is something to do for one more.
    fn send_for_threads(self: &Arc<Self>) {
        let mut state = self.lock();
        let is_one_more = match state.threads {
            0 => state.has_to_make() || state.has_task() && 2 * state.bytes <= BYTES_MAX,
            threads => threads < THREADS_MAX && state.has_task() && work::has_room() && !is_crowded(),
        };
        if is_one_more {
            state.threads += 1;
            drop(state);
            let shared = Arc::clone(self);
            drop(work::begun(move || shared.work()));
        }
    }

    /// Does what there is to do, until there is nothing or others wait for their turn.
    fn work(self: Arc<Self>) {
        let mut turn = 0;
        loop {
            let mut state = self.lock();
            let gives_way = turn >= BYTES_OF_TURN && work::is_wanted();
            let task = if gives_way { None } else { state.task() };
            let Some(task) = task else {
                state.threads -= 1;
                self.tell(state);
                if gives_way {
                    self.send_for_threads();
                }
                return;
            };
            drop(state);
            if matches!(task, Task::Make(..)) {
                self.send_for_threads();
            }
            let done = work::caught(|| match task {
                Task::Make(number, to_make) => Done::Made(number, (to_make.make)()),
                Task::Read(mut chunks) => {
                    let read = chunks.next_to_make();
                    Done::Read(chunks, read)
                }
            });
            let mut state = self.lock();
            match done {
                Ok(Done::Made(number, bytes)) => {
                    turn += bytes.len();
                    state.finish(number, bytes);
                }
                Ok(Done::Read(chunks, read)) => state.add(chunks, read),
                Err(panicked) => state.stop(End::Panicked(panicked)),
            }
            self.tell(state);
        }
    }

    /// Tells the connection if it waits for what there is.
    fn tell(&self, mut state: MutexGuard<'_, State<C, E>>) {
        if state.is_to_be_told() {
            state.is_awaited = false;
            drop(state);
            self.told.notify_one();
        }
    }
}

/// What a thread has done.
enum Done<C, E> {
    Made(u64, Bytes),
    Read(C, Option<Result<Chunk, E>>),
}

impl<C, E> State<C, E> {
    /// How much may be read ahead.
    fn bytes_max() -> usize {
        if is_crowded() { 1 } else { BYTES_MAX }
    }

    fn may_read(&self) -> bool {
        self.bytes < State::<C, E>::bytes_max() && matches!(self.end, End::NotYet)
    }

    /// Whether something has been read that nobody makes. Who gave way may have left it.
    fn has_to_make(&self) -> bool {
        self.next < self.first + self.read.len() as u64
    }

    fn has_task(&self) -> bool {
        self.has_to_make() || self.chunks.is_some() && self.may_read()
    }

    /// The next task of a thread; none if it is not needed any more.
    fn task(&mut self) -> Option<Task<C>> {
        while let Some(slot) = self.next.checked_sub(self.first).and_then(|place| self.read.get_mut(place as usize)) {
            let number = self.next;
            self.next += 1;
            let bytes = slot.bytes();
            match std::mem::replace(slot, Slot::InHand(bytes)) {
                Slot::ToMake(to_make) => return Some(Task::Make(number, to_make)),
                other => *slot = other,
            }
        }
        if self.may_read() { self.chunks.take().map(Task::Read) } else { None }
    }

    fn add(&mut self, chunks: C, read: Option<Result<Chunk, E>>) {
        match (read, &self.end) {
            (_, End::GivenUp | End::Panicked(_)) => {}
            (None, _) => self.end = End::All,
            (Some(Err(error)), _) => self.end = End::Failed(error),
            (Some(Ok(chunk)), _) => {
                self.chunks = Some(chunks);
                let slot = match chunk {
                    Chunk::Made(bytes) => Slot::Finished(bytes),
                    Chunk::ToMake(to_make) => Slot::ToMake(to_make),
                };
                self.bytes += slot.bytes();
                self.read.push_back(slot);
                self.count_finished();
            }
        }
    }

    fn finish(&mut self, number: u64, bytes: Bytes) {
        let place = number.checked_sub(self.first).map(|place| place as usize);
        let Some(slot) = place.and_then(|place| self.read.get_mut(place)) else { return };
        self.bytes = self.bytes - slot.bytes() + bytes.len();
        *slot = Slot::Finished(bytes);
        self.count_finished();
    }

    fn count_finished(&mut self) {
        while let Some(Slot::Finished(bytes)) = self.read.get(self.finished.0) {
            self.finished = (self.finished.0 + 1, self.finished.1 + bytes.len());
        }
    }

    /// Nothing more comes, not even what has been read.
    fn stop(&mut self, end: End<E>) {
        self.end = end;
        self.chunks = None;
        self.next = self.first + self.read.len() as u64;
    }

    /// Whether the connection waits for what there is.
    fn is_to_be_told(&self) -> bool {
        let is_all = self.finished.0 == self.read.len() && !matches!(self.end, End::NotYet);
        let is_enough = self.finished.1 >= BYTES_TOLD || self.finished.0 > 0 && (self.threads == 0 || !self.may_read());
        self.is_awaited && (is_all || is_enough || matches!(self.end, End::Panicked(_)))
    }

    /// Adds what is finished to `made`; none if nothing is.
    fn take(&mut self, made: &mut VecDeque<Bytes>) -> Option<Taken<C, E>> {
        if self.finished.0 > 0 {
            let (count, bytes) = std::mem::take(&mut self.finished);
            made.extend(self.read.drain(..count).filter_map(|slot| match slot {
                Slot::Finished(bytes) => Some(bytes),
                _ => None,
            }));
            self.first += count as u64;
            self.next = self.next.max(self.first);
            self.bytes -= bytes;
            return Some(Taken::More);
        }
        if matches!(self.end, End::Panicked(_)) || self.read.is_empty() {
            match std::mem::replace(&mut self.end, End::GivenUp) {
                End::NotYet => self.end = End::NotYet,
                End::All | End::GivenUp => return Some(Taken::End),
                End::Failed(error) => return Some(Taken::Failed(error)),
                End::Panicked(panicked) => return Some(Taken::Panicked(panicked)),
            }
            if is_crowded()
                && let Some(chunks) = self.chunks.take()
            {
                self.end = End::GivenUp;
                return Some(Taken::Rest(chunks));
            }
        }
        self.is_awaited = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    const CHUNK_BYTES: usize = 64 << 10;

    /// So many chunks, each of its own number, and what comes behind them.
    struct Numbered {
        next: u8,
        count: u8,
        panics_at: Option<u8>,
        fails: bool,
        read: Arc<Mutex<u8>>,
    }

    impl Numbered {
        fn new(count: u8) -> Numbered {
            Numbered { next: 0, count, panics_at: None, fails: false, read: Arc::default() }
        }
    }

    impl Chunks<&'static str> for Numbered {
        fn is_at_hand(&self) -> bool {
            true
        }

        fn next_to_make(&mut self) -> Option<Result<Chunk, &'static str>> {
            if self.next == self.count {
                return std::mem::take(&mut self.fails).then_some(Err("torn"));
            }
            let (number, panics) = (self.next, self.panics_at == Some(self.next));
            self.next += 1;
            *self.read.lock().unwrap() = self.next;
            let bytes = move || Bytes::from(vec![number; CHUNK_BYTES]);
            if number % 5 == 4 {
                return Some(Ok(Chunk::Made(bytes())));
            }
            Some(Ok(Chunk::to_make(CHUNK_BYTES / 2, move || {
                assert!(!panics, "number {number}");
                if number % 3 == 0 {
                    thread::sleep(Duration::from_millis(2));
                }
                bytes()
            })))
        }
    }

    impl Iterator for Numbered {
        type Item = Result<Bytes, &'static str>;

        fn next(&mut self) -> Option<Self::Item> {
            self.next_to_make().map(|chunk| chunk.map(Chunk::make))
        }
    }

    /// The numbers of all chunks that come, and how it ends.
    async fn taken(mut ahead: Ahead<Numbered, &'static str>) -> (Vec<u8>, String) {
        let (mut made, mut numbers) = (VecDeque::new(), Vec::new());
        loop {
            let taken = ahead.take(&mut made).await;
            numbers.extend(made.drain(..).map(|chunk| chunk[0]));
            match taken {
                Taken::More => {}
                Taken::Rest(_) => panic!("there is no crowd"),
                Taken::End => return (numbers, String::new()),
                Taken::Failed(error) => return (numbers, error.to_owned()),
                Taken::Panicked(panicked) => return (numbers, panicked.to_string()),
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn chunks_come_in_order_whoever_makes_them_and_then_the_end_or_the_failure() {
        let all: Vec<u8> = (0..200).collect();
        assert_eq!(taken(Ahead::of(Numbered::new(200))).await, (all.clone(), String::new()));
        let fails = Numbered { fails: true, ..Numbered::new(200) };
        assert_eq!(taken(Ahead::of(fails)).await, (all, "torn".to_owned()));
        assert_eq!(taken(Ahead::of(Numbered::new(0))).await, (Vec::new(), String::new()));
        let panics = Numbered { panics_at: Some(50), ..Numbered::new(200) };
        let (numbers, end) = taken(Ahead::of(panics)).await;
        assert_eq!((numbers.is_sorted(), end.as_str()), (true, "panicked: number 50"));
        assert!(numbers.len() <= 50);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_takes_nothing_has_half_a_megabyte_made_ahead_and_keeps_no_thread_and_who_goes_ends_it() {
        let numbered = Numbered::new(250);
        let read = Arc::clone(&numbered.read);
        let mut ahead = Ahead::of(numbered);
        let mut made = VecDeque::new();
        assert!(matches!(ahead.take(&mut made).await, Taken::More));
        let before = made.len();
        while ahead.shared.lock().threads > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (bytes, finished) = {
            let state = ahead.shared.lock();
            (state.bytes, state.finished.1)
        };
        assert!((BYTES_MAX..BYTES_MAX + 2 * THREADS_MAX * CHUNK_BYTES).contains(&bytes), "{bytes}");
        assert_eq!(finished, bytes);
        assert!(usize::from(*read.lock().unwrap()) <= BYTES_MAX / CHUNK_BYTES * 2);
        assert_eq!(before + taken(ahead).await.0.len(), 250);

        let numbered = Numbered::new(250);
        let read = Arc::clone(&numbered.read);
        let mut ahead = Ahead::of(numbered);
        assert!(matches!(ahead.take(&mut made).await, Taken::More));
        drop(ahead);
        while Arc::strong_count(&read) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(*read.lock().unwrap() < 250);
    }
}

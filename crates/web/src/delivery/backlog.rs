//! The backlog of an answer: what has been read of it and is not sent yet, in order.
//!
//! ```text
//!   store ──► the reader ──► │ rows │ rows │ rows │ made │ ──► the end
//!                                 ▲                    ▲
//!                  the sender makes the first         the reader makes the last, while few are answered
//! ```
//! Rows wait as they are read, which takes a third of the memory of their text, and are made into text where they are sent: what has
//! just been made is still in the processor's cache, and nothing goes from thread to thread but what was read. Where processors would
//! idle otherwise, the reader makes text as well, from the other end, so that the two meet once for each answer and not at each piece.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use axum::body::Bytes;

use super::chunk::{Chunk, Rows, TextRows};

/// The reader makes no text while fewer rows than this wait: the sender is to find some that nobody has begun.
const UNBEGUN_MIN: usize = 4096;

/// What one answer has waiting.
#[derive(Default)]
pub(crate) struct AnswerBacklog {
    state: Mutex<State>,
    /// What a row took of those that were made last.
    row_bytes: AtomicUsize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waits>,
    /// The memory of all that waits.
    bytes: usize,
    /// The rows of it that nobody has begun to make.
    unbegun: usize,
    /// How often the reader has begun to make some.
    begun: u64,
    /// The sender, while there is nothing that it could send.
    sender: Option<Waker>,
    is_abandoned: bool,
}

enum Waits {
    Made(Bytes),
    Rows(Rows),
    /// Being made by the reader.
    Begun(u64),
}

/// How far an answer is read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HowFarAhead {
    /// So much may wait when more is read.
    pub(crate) bytes: usize,
    /// Whether the reader makes text too.
    pub(crate) helps: bool,
}

/// What the reader does next.
pub(crate) enum Step {
    Read,
    /// Rows, and by which number the backlog knows them.
    Make(u64, Rows),
    /// Nothing: enough waits, or nobody wants it any more.
    End,
}

/// What the sender does next.
pub(crate) enum Next {
    Send(Bytes),
    Make(Rows),
    Wait,
}

impl AnswerBacklog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// Adds what was read.
    pub(crate) fn push(&self, chunk: Chunk) {
        let mut state = self.state();
        state.bytes += chunk.bytes();
        let waits = match chunk {
            Chunk::Made(bytes) => Waits::Made(bytes),
            Chunk::Rows(rows) => {
                state.unbegun += rows.len();
                Waits::Rows(rows)
            }
        };
        state.waiting.push_back(waits);
        state.call_sender();
    }

    /// The memory of all that waits.
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// What is to be done for what is sent next.
    pub(crate) fn next(&self, size: TextRows) -> Next {
        let mut state = self.state();
        let (next, is_over) = match state.waiting.front_mut() {
            Some(Waits::Made(bytes)) => (Next::Send(std::mem::take(bytes)), true),
            Some(Waits::Rows(rows)) => {
                let first = rows.take_first(size);
                (Next::Make(first), rows.is_empty())
            }
            Some(Waits::Begun(_)) | None => (Next::Wait, false),
        };
        if is_over {
            state.waiting.pop_front();
        }
        match &next {
            Next::Send(bytes) => state.bytes -= bytes.len(),
            Next::Make(rows) => {
                state.bytes -= rows.bytes();
                state.unbegun -= rows.len();
            }
            Next::Wait => {}
        }
        next
    }

    /// Ready when there is something to send, or rows to make for it.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.has_next() {
            return Poll::Ready(());
        }
        state.sender = Some(context.waker().clone());
        Poll::Pending
    }

    /// What the reader does next.
    pub(crate) fn step(&self, reach: HowFarAhead) -> Step {
        let mut state = self.state();
        if state.is_abandoned || state.bytes >= reach.bytes {
            return Step::End;
        }
        if !reach.helps || state.unbegun < UNBEGUN_MIN {
            return Step::Read;
        }
        let Some(place) = state.waiting.iter().rposition(|waits| matches!(waits, Waits::Rows(_))) else {
            return Step::Read;
        };
        state.begun += 1;
        let number = state.begun;
        let Some(Waits::Rows(rows)) = state.waiting.get_mut(place) else { return Step::Read };
        let last = rows.take_last();
        let is_over = rows.is_empty();
        state.bytes -= last.bytes();
        state.unbegun -= last.len();
        if is_over {
            state.waiting[place] = Waits::Begun(number);
        } else {
            state.waiting.insert(place + 1, Waits::Begun(number));
        }
        Step::Make(number, last)
    }

    /// Puts in place what was made of the rows of that number.
    pub(crate) fn put(&self, number: u64, made: Bytes) {
        let mut state = self.state();
        let is_it = |waits: &&mut Waits| matches!(waits, Waits::Begun(begun) if *begun == number);
        if let Some(place) = state.waiting.iter_mut().find(is_it) {
            let bytes = made.len();
            *place = Waits::Made(made);
            state.bytes += bytes;
        }
        state.call_sender();
    }

    /// The text of rows.
    pub(crate) fn made(&self, rows: Rows) -> Bytes {
        let each = self.row_bytes.load(Relaxed);
        let (count, made) = (rows.len(), rows.made(each));
        if let Some(each) = made.len().checked_div(count) {
            self.row_bytes.store(each + 2, Relaxed);
        }
        made
    }

    /// Nobody wants any more of it.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.is_abandoned = true;
        let waiting = std::mem::take(&mut state.waiting);
        (state.bytes, state.unbegun) = (0, 0);
        drop(state);
        drop(waiting);
    }
}

impl State {
    fn has_next(&self) -> bool {
        matches!(self.waiting.front(), Some(Waits::Made(_) | Waits::Rows(_)))
    }

    /// Wakes the sender if it waits for what is there now.
    fn call_sender(&mut self) {
        if self.has_next()
            && let Some(sender) = self.sender.take()
        {
            sender.wake();
        }
    }
}

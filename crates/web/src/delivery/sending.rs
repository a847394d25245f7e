//! An answer on its way: what is read ahead of it, by whom, and what is made where it is sent.

use std::{collections::VecDeque, fmt::Display, future::poll_fn, pin::pin, sync::Arc};

use axum::body::Bytes;
use futures_util::{
    future::{Either, select},
    stream::{self, Stream},
};
use tokio::task::yield_now;

use super::{
    Delivery,
    backlog::{AnswerBacklog, HowFarAhead, Next, Step},
    chunk::{Chunk, TextRows},
    crowd::UnderWay,
    pool::{Begun, caught},
};

/// So much is read ahead of what is sent while few answers are under way, and more is read when half of it is sent.
pub(super) const AHEAD_BYTES: usize = 512 << 10;

/// And so much for each client of a crowd, once it needs more. Of arrays twice that: a batch of them is no more than this, and each time that
/// an answer goes from thread to thread costs as much of the processor as the reading of one.
const CROWD_BYTES: usize = 64 << 10;
const CROWD_BYTES_OF_ARRAYS: usize = 2 * CROWD_BYTES;

/// After so many chunks that were made where they are sent, others come in between.
const IN_A_ROW: usize = 4;

/// An answer that is being sent.
pub(super) struct Sending<I, E> {
    first: VecDeque<Bytes>,
    backlog: Arc<AnswerBacklog>,
    rest: Rest<I, E>,
    in_a_row: usize,
    delivery: Delivery,
    _under_way: UnderWay,
}

/// What comes behind the backlog.
enum Rest<I, E> {
    /// More, which nobody reads at present.
    Unread(I),
    Reading(Begun<Read<I, E>>),
    Failed(String),
    Nothing,
}

/// How reading ended: with more to read, or at the end.
type Read<I, E> = Result<Option<I>, E>;

impl<I, T, E> Sending<I, E>
where
    I: Iterator<Item = Result<T, E>> + Send + 'static,
    T: Into<Chunk> + 'static,
    E: Display + Send + 'static,
{
    pub(super) fn new(delivery: &Delivery, first: VecDeque<Bytes>, backlog: AnswerBacklog, chunks: I) -> Sending<I, E> {
        let (delivery, _under_way) = (delivery.clone(), delivery.crowd.join());
        let (backlog, rest) = (Arc::new(backlog), Rest::Unread(chunks));
        // What was made before is sent before more is made.
        let mut sending = Sending { first, backlog, rest, in_a_row: IN_A_ROW, delivery, _under_way };
        sending.read_ahead();
        sending
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, String>> {
        stream::unfold(self, |mut sending| async { sending.chunk().await.transpose().map(|chunk| (chunk, sending)) })
    }

    /// Has more read if little waits. In a crowd nothing is read before it is needed.
    fn read_ahead(&mut self) {
        if let Rest::Reading(begun) = &mut self.rest
            && let Some(read) = begun.if_finished()
        {
            self.note(read);
        }
        if matches!(self.rest, Rest::Unread(_))
            && !self.delivery.crowd.is_crowd()
            && self.backlog.bytes() < AHEAD_BYTES / 2
        {
            self.read();
        }
    }

    /// Has more read, on a thread that may wait for the store.
    fn read(&mut self) {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Unread(chunks) => {
                let (backlog, delivery) = (Arc::clone(&self.backlog), self.delivery.clone());
                self.rest = Rest::Reading(self.delivery.pool.begun(move || read(chunks, &backlog, &delivery)));
            }
            other => self.rest = other,
        }
    }

    fn note<P: Display>(&mut self, read: Result<Read<I, E>, P>) {
        self.rest = match read {
            Ok(Ok(Some(chunks))) => Rest::Unread(chunks),
            Ok(Ok(None)) => Rest::Nothing,
            Ok(Err(error)) => Rest::Failed(error.to_string()),
            Err(panicked) => Rest::Failed(panicked.to_string()),
        };
    }

    /// The next chunk; none at the end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        if let Some(chunk) = self.first.pop_front() {
            return Ok(Some(chunk));
        }
        loop {
            self.read_ahead();
            let is_crowd = self.delivery.crowd.is_crowd();
            match self.backlog.next(if is_crowd { TextRows::Small } else { TextRows::Usual }) {
                Next::Send(chunk) => {
                    self.in_a_row = 0;
                    return Ok(Some(chunk));
                }
                Next::Make(rows) => {
                    // A socket takes megabytes: others that have something to send, or to ask, come in between.
                    self.in_a_row += 1;
                    if is_crowd || self.in_a_row > IN_A_ROW {
                        self.in_a_row = 0;
                        yield_now().await;
                    }
                    return match caught(|| self.backlog.made(rows)) {
                        Ok(made) => Ok(Some(made)),
                        Err(panicked) => {
                            self.rest = Rest::Nothing;
                            self.backlog.abandon();
                            Err(broken_off(&panicked))
                        }
                    };
                }
                Next::Wait => {}
            }
            match &mut self.rest {
                Rest::Unread(_) => self.read(),
                Rest::Reading(begun) => {
                    let ready = pin!(poll_fn(|context| self.backlog.poll(context)));
                    let read = match select(ready, pin!(begun.finished())).await {
                        Either::Left(_) => None,
                        Either::Right((read, _)) => Some(read),
                    };
                    if let Some(read) = read {
                        self.note(read);
                    }
                }
                Rest::Failed(why) => {
                    let why = std::mem::take(why);
                    self.rest = Rest::Nothing;
                    return Err(broken_off(&why));
                }
                _ => return Ok(None),
            }
        }
    }
}

impl<I, E> Drop for Sending<I, E> {
    fn drop(&mut self) {
        self.backlog.abandon();
    }
}

/// Reads until enough waits, nobody wants it any more, or another answer waits for a thread while there are few.
fn read<I, T, E>(mut chunks: I, backlog: &AnswerBacklog, delivery: &Delivery) -> Read<I, E>
where
    I: Iterator<Item = Result<T, E>>,
    T: Into<Chunk>,
{
    let mut is_begun = false;
    let (mut read_bytes, mut crowd_bytes) = (0, CROWD_BYTES);
    loop {
        let crowd = &delivery.crowd;
        let is_crowd = crowd.is_crowd();
        // In a crowd others always wait, and each reads so little that nobody waits long. What counts is what was read: the sender may
        // have taken some of it already.
        let is_enough = if is_crowd { read_bytes >= crowd_bytes } else { is_begun && delivery.pool.is_wanted() };
        if is_enough {
            return Ok(Some(chunks));
        }
        let reach =
            HowFarAhead { bytes: if is_crowd { crowd_bytes } else { AHEAD_BYTES }, helps: crowd.leaves_processors() };
        match backlog.step(reach) {
            Step::End => return Ok(Some(chunks)),
            Step::Make(number, rows) => backlog.put(number, backlog.made(rows)),
            Step::Read => match chunks.next() {
                Some(Ok(chunk)) => {
                    let chunk = chunk.into();
                    read_bytes += chunk.bytes();
                    crowd_bytes = if chunk.is_of_arrays() { CROWD_BYTES_OF_ARRAYS } else { CROWD_BYTES };
                    backlog.push(chunk);
                }
                Some(Err(error)) => return Err(error),
                None => return Ok(None),
            },
        }
        is_begun = true;
    }
}

fn broken_off(why: &dyn Display) -> String {
    tracing::error!("an answer was broken off: {why}");
    why.to_string()
}

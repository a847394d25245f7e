//! Answers: a JSON value, a text, or chunks that are made as fast as the client takes them.

use std::{collections::VecDeque, fmt::Display};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Serialize;
use tokio::task::yield_now;

use crate::{
    delivery::{
        crowd::{UnderWay, is_crowded},
        work::{self, Begun},
    },
    refusal::{Code, Refusal},
};

/// What the Appliance's clients compare with `==`: no charset may follow.
pub(crate) const JSON: &str = "application/json";
pub(crate) const CSV: &str = "text/csv";
pub(crate) const TEXT: &str = "text/plain";

pub(crate) type Answer = Result<Response, Refusal>;

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(value)
        .map_err(|error| Refusal::new(Code::Internal, format!("the answer cannot be written as JSON: {error}")))?;
    Ok(whole(JSON, body))
}

/// A body that is already there.
pub(crate) fn whole(content_type: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))], body.into()).into_response()
}

/// Chunks of an answer, some of which need nothing from the store.
pub(crate) trait Chunks<E>: Iterator<Item = Result<Bytes, E>> + Send + 'static {
    /// Whether the next chunk is a matter of a tenth of a millisecond, because its samples are in memory.
    fn is_at_hand(&self) -> bool;
}

/// Any chunks, each of which may have to wait for the store.
struct FromStore<C>(C);

impl<C: Iterator> Iterator for FromStore<C> {
    type Item = C::Item;

    fn next(&mut self) -> Option<C::Item> {
        self.0.next()
    }
}

impl<E, C: Iterator<Item = Result<Bytes, E>> + Send + 'static> Chunks<E> for FromStore<C> {
    fn is_at_hand(&self) -> bool {
        false
    }
}

/// Chunks, the first of which are made now: what fails at once is still a proper refusal, and a short answer is whole. What fails later
/// breaks the connection off, so that nobody takes a part for the whole.
pub(crate) fn chunks<C, E>(content_type: &'static str, chunks: C) -> Answer
where
    C: Iterator<Item = Result<Bytes, E>> + Send + 'static,
    E: Display + Into<Refusal> + Send + 'static,
{
    pieces(content_type, FromStore(chunks))
}

/// The same of chunks that, in a crowd, are made where they are sent as long as they are at hand: to hand small ones from thread to
/// thread took a third of the time.
pub(crate) fn pieces<C, E>(content_type: &'static str, mut chunks: C) -> Answer
where
    C: Chunks<E>,
    E: Display + Into<Refusal> + Send + 'static,
{
    let (mut first, mut len) = (VecDeque::new(), 0);
    while len < SHORT_BYTES_MAX && first.len() < SHORT_CHUNKS_MAX {
        let Some(chunk) = chunks.next().transpose().map_err(Into::into)? else {
            return Ok(whole(content_type, Vec::from(first).concat()));
        };
        len += chunk.len();
        first.push_back(chunk);
    }
    let mut answer = whole(content_type, Body::from_stream(polled(first, chunks)));
    answer.extensions_mut().insert(MadeAsRead);
    Ok(answer)
}

/// What is made before the first byte is sent. A short answer that is whole goes from thread to thread once less, each of which waits
/// for a core when all are busy.
const SHORT_BYTES_MAX: usize = 32 << 10;
const SHORT_CHUNKS_MAX: usize = 8;

/// Marks answers of which what has not come yet is being made; of others it has not happened yet.
#[derive(Clone, Copy)]
pub(crate) struct MadeAsRead;

/// So many bytes are made at a time when few answers are under way: at first, and at last, as each time is for twice as many as that
/// before. To go from thread to thread for less took more of the processor than to decode what was made.
const AHEAD_BYTES_MIN: usize = 64 << 10;
const AHEAD_BYTES_MAX: usize = 512 << 10;

/// What comes after the chunks that have been made.
enum Next<C, E> {
    AtHand(C),
    /// To be made when it is asked for.
    Later(C),
    Making(Begun<Made<C, E>>),
    Failed(E),
    Nothing,
}

/// What a thread that may block has made, and whence more comes; none at the end.
struct Made<C, E> {
    chunks: VecDeque<Bytes>,
    rest: Result<Option<C>, E>,
}

/// Makes chunks until they are as many bytes, one at least.
fn made<C: Chunks<E>, E>(mut chunks: C, bytes: usize) -> Made<C, E> {
    let (mut made, mut len) = (VecDeque::new(), 0);
    let rest = loop {
        match chunks.next() {
            None => break Ok(None),
            Some(Err(error)) => break Err(error),
            Some(Ok(chunk)) => {
                len += chunk.len();
                made.push_back(chunk);
            }
        }
        if len >= bytes {
            break Ok(Some(chunks));
        }
    };
    Made { chunks: made, rest }
}

/// An answer on its way.
struct Sending<C, E> {
    made: VecDeque<Bytes>,
    next: Next<C, E>,
    ahead_bytes: usize,
    _under_way: UnderWay,
}

impl<C: Chunks<E>, E: Display + Send + 'static> Sending<C, E> {
    fn new(made: VecDeque<Bytes>, chunks: C) -> Sending<C, E> {
        let _under_way = UnderWay::new();
        let mut sending = Sending { made, next: Next::Nothing, ahead_bytes: AHEAD_BYTES_MIN, _under_way };
        sending.go_on_with(chunks);
        sending
    }

    /// More is made on a thread that may block while what was made is sent. In a crowd only what was asked for is, and what is at
    /// hand where it is sent.
    fn go_on_with(&mut self, chunks: C) {
        self.next = match is_crowded() {
            true if chunks.is_at_hand() => Next::AtHand(chunks),
            true => Next::Later(chunks),
            false => self.making(chunks),
        };
    }

    fn making(&mut self, chunks: C) -> Next<C, E> {
        let bytes = if is_crowded() { 1 } else { self.ahead_bytes };
        self.ahead_bytes = AHEAD_BYTES_MAX.min(2 * self.ahead_bytes);
        Next::Making(work::begun(move || made(chunks, bytes)))
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            if let Some(chunk) = self.made.pop_front() {
                return Ok(Some(chunk));
            }
            let made = match std::mem::replace(&mut self.next, Next::Nothing) {
                Next::Nothing => return Ok(None),
                Next::Failed(error) => return Err(broken_off(&error)),
                Next::AtHand(chunks) => {
                    // A socket takes megabytes: others that have something to send, or to ask, come in between.
                    yield_now().await;
                    made(chunks, 1)
                }
                Next::Later(chunks) => {
                    self.next = self.making(chunks);
                    continue;
                }
                Next::Making(making) => work::finished(making).await.map_err(|panicked| broken_off(&panicked))?,
            };
            self.made = made.chunks;
            match made.rest {
                Ok(Some(chunks)) => self.go_on_with(chunks),
                Ok(None) => {}
                Err(error) => self.next = Next::Failed(error),
            }
        }
    }
}

/// The chunks as a stream.
fn polled<C, E>(first: VecDeque<Bytes>, chunks: C) -> impl stream::Stream<Item = Result<Bytes, String>>
where
    C: Chunks<E>,
    E: Display + Send + 'static,
{
    stream::unfold(Sending::new(first, chunks), |mut sending| async {
        sending.chunk().await.transpose().map(|chunk| (chunk, sending))
    })
}

fn broken_off(error: &dyn Display) -> String {
    tracing::error!("an answer was broken off: {error}");
    error.to_string()
}

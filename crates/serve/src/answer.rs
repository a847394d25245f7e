//! Answers: a JSON value, a text, or chunks that are made as fast as the client takes them.

use std::{
    fmt::Display,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Serialize;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::refusal::{Code, Refusal};

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

/// Chunks, the first of which is made now: what fails at once is still a proper refusal. What fails later breaks the
/// connection off, so that nobody takes a part for the whole.
pub(crate) fn chunks<C, E>(content_type: &'static str, chunks: C) -> Answer
where
    C: Iterator<Item = Result<Bytes, E>> + Send + 'static,
    E: Display + Into<Refusal> + Send + 'static,
{
    pieces(content_type, FromStore(chunks))
}

/// The same of chunks that are made where they are sent as long as they are at hand: to hand small ones from thread to thread took
/// a third of the time.
pub(crate) fn pieces<C, E>(content_type: &'static str, mut chunks: C) -> Answer
where
    C: Chunks<E>,
    E: Display + Into<Refusal> + Send + 'static,
{
    match chunks.next() {
        None => Ok(whole(content_type, Body::empty())),
        Some(Err(error)) => Err(error.into()),
        Some(Ok(first)) => {
            let mut answer = whole(content_type, Body::from_stream(polled(first, chunks)));
            answer.extensions_mut().insert(MadeAsRead);
            Ok(answer)
        }
    }
}

/// Marks answers of which what has not come yet is being made; of others it has not happened yet.
#[derive(Clone, Copy)]
pub(crate) struct MadeAsRead;

/// More answers than this at a time are a crowd.
const FEW: usize = 16;
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Whether so many answers are under way that none is made ahead: there is enough to do for all processors, and who does not read
/// holds less.
pub(crate) fn is_crowded() -> bool {
    UNDER_WAY.load(Relaxed) > FEW
}

/// Counts an answer as long as it is under way.
struct UnderWay;

impl UnderWay {
    fn new() -> UnderWay {
        UNDER_WAY.fetch_add(1, Relaxed);
        UnderWay
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Relaxed);
    }
}

/// Where the next chunk comes from.
enum Next<C, E> {
    AtHand(C),
    /// To be made when it is asked for.
    Later(C),
    Making(JoinHandle<(Option<Result<Bytes, E>>, C)>),
    Nothing,
}

impl<C: Chunks<E>, E: Send + 'static> Next<C, E> {
    /// What is not at hand is made on a thread that may block, while the chunk before it is sent.
    fn of(chunks: C) -> Next<C, E> {
        match chunks.is_at_hand() {
            true => Next::AtHand(chunks),
            false if is_crowded() => Next::Later(chunks),
            false => Next::made(chunks),
        }
    }

    fn made(mut chunks: C) -> Next<C, E> {
        Next::Making(spawn_blocking(move || (chunks.next(), chunks)))
    }

    async fn chunk(mut self) -> Result<Option<(Bytes, Next<C, E>)>, String>
    where
        E: Display,
    {
        if let Next::Later(chunks) = self {
            self = Next::made(chunks);
        }
        let (chunk, chunks) = match self {
            Next::Nothing | Next::Later(_) => return Ok(None),
            Next::AtHand(mut chunks) => (chunks.next(), chunks),
            Next::Making(made) => made.await.map_err(|error| broken_off(&error))?,
        };
        match chunk {
            None => Ok(None),
            Some(Ok(chunk)) => Ok(Some((chunk, Next::of(chunks)))),
            Some(Err(error)) => Err(broken_off(&error)),
        }
    }
}

/// The chunks as a stream, at most one of them ahead of what is sent.
fn polled<C, E>(first: Bytes, chunks: C) -> impl stream::Stream<Item = Result<Bytes, String>>
where
    C: Chunks<E>,
    E: Display + Send + 'static,
{
    let under_way = UnderWay::new();
    stream::unfold((Some(first), Next::of(chunks), under_way), |(first, next, under_way)| async {
        if let Some(first) = first {
            return Some((Ok(first), (None, next, under_way)));
        }
        match next.chunk().await {
            Ok(None) => None,
            Ok(Some((chunk, next))) => Some((Ok(chunk), (None, next, under_way))),
            Err(error) => Some((Err(error), (None, Next::Nothing, under_way))),
        }
    })
}

fn broken_off(error: &dyn Display) -> String {
    tracing::error!("an answer was broken off: {error}");
    error.to_string()
}

//! Answers: a JSON value, a text, or chunks that are made as fast as the client takes them.

use std::fmt::Display;

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Serialize;
use tokio::task::spawn_blocking;

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

/// Chunks, the first of which is made now: what fails at once is still a proper refusal. What fails later breaks the
/// connection off, so that nobody takes a part for the whole.
pub(crate) fn chunks<C, E>(content_type: &'static str, mut chunks: C) -> Answer
where
    C: Iterator<Item = Result<Bytes, E>> + Send + 'static,
    E: Display + Into<Refusal> + Send + 'static,
{
    match chunks.next() {
        None => Ok(whole(content_type, Body::empty())),
        Some(Err(error)) => Err(error.into()),
        Some(Ok(first)) => Ok(whole(content_type, Body::from_stream(polled(first, chunks)))),
    }
}

/// The chunks as a stream that makes each one on a thread that may block, and only when it is polled.
fn polled<C, E>(first: Bytes, chunks: C) -> impl stream::Stream<Item = Result<Bytes, String>>
where
    C: Iterator<Item = Result<Bytes, E>> + Send + 'static,
    E: Display + Send + 'static,
{
    stream::unfold((Some(first), Some(chunks)), |(first, chunks)| async {
        if let Some(first) = first {
            return Some((Ok(first), (None, chunks)));
        }
        let mut chunks = chunks?;
        let made = spawn_blocking(move || (chunks.next(), chunks)).await;
        match made {
            Ok((None, _)) => None,
            Ok((Some(Ok(chunk)), chunks)) => Some((Ok(chunk), (None, Some(chunks)))),
            Ok((Some(Err(error)), _)) => Some((Err(broken_off(&error)), (None, None))),
            Err(error) => Some((Err(broken_off(&error)), (None, None))),
        }
    })
}

fn broken_off(error: &dyn Display) -> String {
    tracing::error!("an answer was broken off: {error}");
    error.to_string()
}

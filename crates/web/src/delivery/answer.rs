//! Answers: a JSON value, a text, or chunks that are made as fast as the client takes them.

use std::{collections::VecDeque, fmt::Display};

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    Delivery,
    backlog::{AnswerBacklog, Next},
    chunk::{Chunk, TextRows},
    sending::Sending,
};
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

/// Chunks, the first of which are made now: what fails at once is still a proper refusal, and a short answer is whole. What fails later
/// breaks the connection off, so that nobody takes a part for the whole.
pub(crate) fn chunks<I, T, E>(delivery: &Delivery, content_type: &'static str, mut chunks: I) -> Answer
where
    I: Iterator<Item = Result<T, E>> + Send + 'static,
    T: Into<Chunk> + 'static,
    E: Display + Into<Refusal> + Send + 'static,
{
    let (backlog, mut first, mut len) = (AnswerBacklog::default(), VecDeque::new(), 0);
    while len < SHORT_BYTES_MAX && first.len() < SHORT_CHUNKS_MAX {
        let chunk = match backlog.next(TextRows::Small) {
            Next::Send(bytes) => bytes,
            Next::Make(rows) => backlog.made(rows),
            Next::Wait => match chunks.next().transpose().map_err(Into::into)? {
                Some(chunk) => {
                    backlog.push(chunk.into());
                    continue;
                }
                None => return Ok(whole(content_type, Vec::from(first).concat())),
            },
        };
        len += chunk.len();
        first.push_back(chunk);
    }
    let sending = Sending::new(delivery, first, backlog, chunks);
    let mut answer = whole(content_type, Body::from_stream(sending.into_stream()));
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

//! Answers that are made chunk by chunk: each ends after the chunk that says so, and after an error.

use axum::body::Bytes;

/// The next chunk of an answer, unless it has ended. `ended` is where the answer remembers that.
pub(crate) fn next_chunk<A, E>(
    answer: &mut A,
    ended: fn(&mut A) -> &mut bool,
    chunk: fn(&mut A) -> Result<Bytes, E>,
) -> Option<Result<Bytes, E>> {
    if *ended(answer) {
        return None;
    }
    let made = chunk(answer);
    *ended(answer) |= made.is_err();
    Some(made)
}

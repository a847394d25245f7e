//! What answers over HTTP take of the budget: the lease of a request goes with its answer until that has been sent.

use std::sync::Arc;

use axum::{body::HttpBody, response::Response};
use service::Lease;

/// Shorter answers carry no lease: they are gone with the packet.
const SHORT_BYTES: usize = 64 << 10;

/// Marks an answer whose bytes are the program's own: they take nothing.
#[derive(Clone, Copy)]
pub(crate) struct OfProgram;

/// An answer that has something of the budget until it has been sent, or nobody wants it any more: whoever sends it keeps the lease
/// that goes with it as long as its body.
pub(crate) fn leased(lease: Arc<Lease>, mut answer: Response) -> Response {
    let is_ours = answer.extensions().get::<OfProgram>().is_some();
    let whole = answer.body().size_hint().exact().filter(|_| !is_ours).unwrap_or(0);
    lease.note(usize::try_from(whole).unwrap_or(usize::MAX / 2));
    if lease.bytes() >= SHORT_BYTES {
        answer.extensions_mut().insert(lease);
    }
    answer
}

/// What reading a text takes at most: a place in a list for each piece, and a place with settings for each object in it. A piece of
/// JSON is a value of 32 bytes in a list that grows by doubling; a name of its own takes as much again.
const PIECE_BYTES: usize = 96;
const OBJECT_BYTES: usize = 448;

/// How often a text is there: as it came, decoded, taken apart, and as what is kept of it.
const COPIES: usize = 4;

/// The bytes of memory that what a client wrote may become, whatever it is: names, forms or JSON.
pub(crate) fn bytes_when_read(text: &[u8]) -> usize {
    let (mut pieces, mut objects) = (1_usize, 0_usize);
    for byte in text {
        pieces += usize::from(matches!(byte, b',' | b'&' | b'\n' | b'\r'));
        objects += usize::from(matches!(byte, b'{' | b'['));
    }
    COPIES * text.len() + pieces.saturating_mul(PIECE_BYTES).saturating_add(objects.saturating_mul(OBJECT_BYTES))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use service::Budget;

    use super::*;

    #[test]
    fn an_answer_gives_back_what_it_has_when_it_is_gone() {
        let budget = Budget::new(1 << 20);
        let lease = Arc::new(budget.lease());
        let answer = leased(lease, Response::new(Body::from(vec![0; SHORT_BYTES])));
        assert_eq!((budget.taken(), answer.body().size_hint().exact()), (SHORT_BYTES, Some(SHORT_BYTES as u64)));
        drop(answer);
        assert_eq!(budget.taken(), 0);
    }
}

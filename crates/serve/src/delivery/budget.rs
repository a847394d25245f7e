//! The budget: how many bytes all requests and answers together may take. What a request needs is charged before it is allocated, and
//! given back when the answer has been sent.
//!
//! ```text
//!   request ──► its body, as it arrives ──► what is read out of it ──► the PVs it means ──► the answer, as far as it is made
//!                       └────────────────── one lease, which the answer carries ──────────────────┘
//! ```
//! What would never find room is refused for good (413); what finds none now may come again (503 with `Retry-After`). What is
//! made while it is sent is bounded by itself and not charged: half a megabyte an answer, less in a crowd.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use axum::{body::HttpBody, response::Response};

use crate::refusal::{Code, Refusal};

/// What a request takes up to here comes out of a room of its own, so that large answers do not keep small ones waiting: a look at the
/// status is answered while others have all the rest.
const SMALL_BYTES: usize = 32 << 10;
/// That room is so small a part of the budget, and comes on top of it.
const SMALL_PART: usize = 32;

/// The budget of a server.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: usize,
    taken: AtomicUsize,
    /// What is taken of the room for small requests.
    small: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget { bytes_max, taken: AtomicUsize::new(0), small: AtomicUsize::new(0) })
    }

    /// How many bytes all together may take.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed) + self.small.load(Relaxed)
    }

    /// A lease of nothing, to be made larger.
    pub(crate) fn lease(self: &Arc<Budget>) -> Lease {
        Lease { budget: Arc::clone(self), held: Mutex::default() }
    }

    fn take_small(&self, bytes: usize) -> bool {
        let more = |small: usize| small.checked_add(bytes).filter(|small| *small <= self.bytes_max / SMALL_PART);
        self.small.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    fn take(&self, bytes: usize) -> Result<(), Refusal> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.bytes_max);
        self.taken.fetch_update(Relaxed, Relaxed, more).map(|_| ()).map_err(|taken| {
            let message =
                format!("{bytes} more bytes are needed for this, and other answers have {taken} of {}", self.bytes_max);
            Refusal::busy(message).hint("ask again in a second, or for less at a time")
        })
    }
}

/// What one request and its answer take of the budget.
#[derive(Debug)]
pub(crate) struct Lease {
    budget: Arc<Budget>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// All of it.
    bytes: usize,
    /// What of it comes out of the room for small requests.
    small: usize,
}

impl Lease {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder of this lock panics")
    }

    /// Takes so many bytes more, or refuses.
    pub(crate) fn grow(&self, more: usize) -> Result<(), Refusal> {
        let mut held = self.held();
        let (bytes, bytes_max) = (held.bytes.saturating_add(more), self.budget.bytes_max);
        if bytes > bytes_max {
            let message = format!("this takes {bytes} bytes, and all answers together may take {bytes_max}");
            return Err(
                Refusal::new(Code::TooLarge, message).hint("ask for less at a time, or raise answers_megabytes_max")
            );
        }
        if bytes <= SMALL_BYTES && self.budget.take_small(more) {
            held.small += more;
        } else {
            self.budget.take(more)?;
        }
        held.bytes = bytes;
        Ok(())
    }

    /// Room for so many things of a size.
    pub(crate) fn grow_by(&self, things: usize, bytes_each: usize) -> Result<(), Refusal> {
        self.grow(things.saturating_mul(bytes_each))
    }

    /// Counts bytes that are taken already, whether or not there is room for them: other requests wait instead.
    pub(crate) fn note(&self, more: usize) {
        self.budget.taken.fetch_add(more, Relaxed);
        self.held().bytes += more;
    }

    /// Gives so many bytes back, all if it has fewer.
    pub(crate) fn shrink(&self, less: usize) {
        let mut held = self.held();
        let less = less.min(held.bytes);
        let small = less.saturating_sub(held.bytes - held.small);
        held.bytes -= less;
        held.small -= small;
        self.budget.taken.fetch_sub(less - small, Relaxed);
        self.budget.small.fetch_sub(small, Relaxed);
    }

    fn bytes(&self) -> usize {
        self.held().bytes
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shrink(usize::MAX);
    }
}

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

    use super::*;

    #[test]
    fn what_finds_no_room_now_may_come_again_and_what_never_does_may_not() {
        let budget = Budget::new(1000);
        let (one, other) = (budget.lease(), budget.lease());
        one.grow(600).unwrap();
        assert_eq!(other.grow(500).unwrap_err().status().as_u16(), 503);
        assert_eq!(other.grow(1001).unwrap_err().status().as_u16(), 413);
        assert_eq!(one.grow(401).unwrap_err().status().as_u16(), 413);
        other.grow(400).unwrap();
        one.shrink(10_000);
        assert_eq!(budget.taken(), 400);
        other.note(5000);
        assert_eq!(one.grow(32).unwrap_err().status().as_u16(), 503);
        drop(other);
        one.grow(1000).unwrap();
        drop(one);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn a_small_request_finds_room_whatever_others_have_and_small_ones_together_are_bounded() {
        let budget = Budget::new(SMALL_PART * 100);
        let (greedy, small) = (budget.lease(), budget.lease());
        greedy.grow(SMALL_PART * 100).unwrap();
        greedy.note(1 << 20);
        small.grow(60).unwrap();
        small.note(7);
        assert_eq!(budget.lease().grow(60).unwrap_err().status().as_u16(), 503, "the room for small ones is full");
        small.shrink(10);
        assert_eq!(budget.taken(), SMALL_PART * 100 + (1 << 20) + 57);
        drop(small);
        budget.lease().grow(60).unwrap();
        drop(greedy);
        assert_eq!(budget.taken(), 0);
    }

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

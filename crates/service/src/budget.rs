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

use crate::refusal::{Code, Refusal};

/// What a request takes up to here comes out of a room of its own, so that large answers do not keep small ones waiting: a look at the
/// status is answered while others have all the rest.
const SMALL_BYTES: usize = 32 << 10;
/// That room is so small a part of the budget, and comes on top of it.
const SMALL_PART: usize = 32;

/// The budget of a server.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    taken: AtomicUsize,
    /// What is taken of the room for small requests.
    small: AtomicUsize,
}

impl Budget {
    /// Of so many bytes.
    pub fn new(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget { bytes_max, taken: AtomicUsize::new(0), small: AtomicUsize::new(0) })
    }

    /// How many bytes all together may take.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed) + self.small.load(Relaxed)
    }

    /// A lease of nothing, to be made larger.
    pub fn lease(self: &Arc<Budget>) -> Lease {
        self.lease_of(None)
    }

    /// A lease of nothing for a principal whose answers share a budget of their own.
    pub fn lease_of(self: &Arc<Budget>, share: Option<Arc<Share>>) -> Lease {
        Lease { budget: Arc::clone(self), share, held: Mutex::default() }
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

/// What all answers of one principal may take, out of what is there for all.
#[derive(Debug)]
pub struct Share {
    bytes_max: usize,
    taken: AtomicUsize,
}

impl Share {
    /// For answers that may take so much together.
    pub fn new(bytes_max: usize) -> Arc<Share> {
        Arc::new(Share { bytes_max, taken: AtomicUsize::new(0) })
    }

    /// How many bytes they may take.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn take(&self, bytes: usize) -> Result<(), Refusal> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.bytes_max);
        self.taken.fetch_update(Relaxed, Relaxed, more).map(|_| ()).map_err(|taken| {
            let message = format!(
                "{bytes} more bytes are needed for this, and your other answers have {taken} of {}",
                self.bytes_max
            );
            Refusal::busy(message).hint("wait for one of them to end, or ask for less at a time")
        })
    }
}

/// What one request and its answer take of the budget.
#[derive(Debug)]
pub struct Lease {
    budget: Arc<Budget>,
    share: Option<Arc<Share>>,
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
    /// Another lease of nothing of the same budget, for what stays behind when the answer was sent; no share pays for that.
    pub(crate) fn beside(&self) -> Lease {
        self.budget.lease()
    }

    /// Of which budget it is.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder of this lock panics")
    }

    /// Takes so many bytes more, or refuses.
    pub fn grow(&self, more: usize) -> Result<(), Refusal> {
        let mut held = self.held();
        let bytes = held.bytes.saturating_add(more);
        let too_large = |whose: &str, bytes_max: usize, setting: &str| {
            let message = format!("this takes {bytes} bytes, and {whose} together may take {bytes_max}");
            Err(Refusal::new(Code::TooLarge, message).hint(format!("ask for less at a time, or raise {setting}")))
        };
        match &self.share {
            Some(share) if bytes > share.bytes_max => {
                return too_large("your answers", share.bytes_max, "answers_megabytes in the limits of [access]");
            }
            _ if bytes > self.budget.bytes_max => {
                return too_large("all answers", self.budget.bytes_max, "answers_megabytes_max");
            }
            _ => {}
        }
        if let Some(share) = &self.share {
            share.take(more)?;
        }
        if bytes <= SMALL_BYTES && self.budget.take_small(more) {
            held.small += more;
        } else if let Err(refusal) = self.budget.take(more) {
            self.give_back(more);
            return Err(refusal);
        }
        held.bytes = bytes;
        Ok(())
    }

    /// Room for so many things of a size.
    pub fn grow_by(&self, things: usize, bytes_each: usize) -> Result<(), Refusal> {
        self.grow(things.saturating_mul(bytes_each))
    }

    /// Counts bytes that are taken already, whether or not there is room for them: other requests wait instead.
    pub fn note(&self, more: usize) {
        self.budget.taken.fetch_add(more, Relaxed);
        if let Some(share) = &self.share {
            share.taken.fetch_add(more, Relaxed);
        }
        self.held().bytes += more;
    }

    /// Gives so many bytes back, all if it has fewer.
    pub fn shrink(&self, less: usize) {
        let mut held = self.held();
        let less = less.min(held.bytes);
        let small = less.saturating_sub(held.bytes - held.small);
        held.bytes -= less;
        held.small -= small;
        self.budget.taken.fetch_sub(less - small, Relaxed);
        self.budget.small.fetch_sub(small, Relaxed);
        self.give_back(less);
    }

    /// Gives so many bytes back to the share.
    fn give_back(&self, less: usize) {
        if let Some(share) = &self.share {
            share.taken.fetch_sub(less, Relaxed);
        }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.held().bytes
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shrink(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_now_may_come_again_and_what_never_does_may_not() {
        let budget = Budget::new(1000);
        let (one, other) = (budget.lease(), budget.lease());
        one.grow(600).unwrap();
        assert_eq!(other.grow(500).unwrap_err().code(), Code::Busy);
        assert_eq!(other.grow(1001).unwrap_err().code(), Code::TooLarge);
        assert_eq!(one.grow(401).unwrap_err().code(), Code::TooLarge);
        other.grow(400).unwrap();
        one.shrink(10_000);
        assert_eq!(budget.taken(), 400);
        other.note(5000);
        assert_eq!(one.grow(32).unwrap_err().code(), Code::Busy);
        drop(other);
        one.grow(1000).unwrap();
        drop(one);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn the_answers_of_one_principal_have_a_share_and_others_are_not_held_up() {
        let budget = Budget::new(1000);
        let share = Share::new(300);
        let (one, two) = (budget.lease_of(Some(Arc::clone(&share))), budget.lease_of(Some(Arc::clone(&share))));
        one.grow(200).unwrap();
        assert_eq!(two.grow(101).unwrap_err().code(), Code::Busy);
        assert_eq!(one.grow(101).unwrap_err().code(), Code::TooLarge, "it will never find room");
        two.grow(100).unwrap();
        let other = budget.lease();
        other.grow(700).unwrap();
        one.shrink(100);
        other.note(1000);
        assert_eq!(one.grow(50).unwrap_err().code(), Code::Busy, "there is no room at all");
        drop(other);
        one.grow(100).unwrap();
        two.note(50);
        drop((one, two));
        assert_eq!((share.taken.load(Relaxed), budget.taken()), (0, 0));
    }

    #[test]
    fn a_small_request_finds_room_whatever_others_have_and_small_ones_together_are_bounded() {
        let budget = Budget::new(SMALL_PART * 100);
        let (greedy, small) = (budget.lease(), budget.lease());
        greedy.grow(SMALL_PART * 100).unwrap();
        greedy.note(1 << 20);
        small.grow(60).unwrap();
        small.note(7);
        assert_eq!(budget.lease().grow(60).unwrap_err().code(), Code::Busy, "the room for small ones is full");
        small.shrink(10);
        assert_eq!(budget.taken(), SMALL_PART * 100 + (1 << 20) + 57);
        drop(small);
        budget.lease().grow(60).unwrap();
        drop(greedy);
        assert_eq!(budget.taken(), 0);
    }
}

//! What the last values of all monitors may take together: updates carry only what changed, so that each monitor keeps its last value.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The bound that all circuits of a client share.
#[derive(Clone, Debug)]
pub struct Keep(Arc<Share>);

#[derive(Debug)]
struct Share {
    bytes_max: usize,
    bytes: AtomicUsize,
}

impl Keep {
    /// All last values together may take `bytes_max`.
    pub fn new(bytes_max: usize) -> Keep {
        Keep(Arc::new(Share { bytes_max, bytes: AtomicUsize::new(0) }))
    }

    /// A part of it, with nothing in it yet.
    pub(super) fn part(&self) -> Part {
        Part { keep: self.clone(), bytes: 0 }
    }
}

impl Default for Keep {
    fn default() -> Keep {
        Keep::new(256 << 20)
    }
}

/// What one value takes of it.
#[derive(Debug)]
pub(super) struct Part {
    keep: Keep,
    bytes: usize,
}

/// Whether there is room for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoomFor {
    Yes,
    /// Then it has no part in it any more.
    No,
}

impl Part {
    /// Another part of the same, with nothing in it yet.
    pub(super) fn another(&self) -> Part {
        self.keep.part()
    }

    /// The value takes so much now.
    pub(super) fn resize(&mut self, bytes: usize) -> RoomFor {
        if bytes == self.bytes {
            return RoomFor::Yes;
        }
        let share = &*self.keep.0;
        let others = share.bytes.fetch_sub(self.bytes, Relaxed).saturating_sub(self.bytes);
        self.bytes = 0;
        // Two that look at the same moment may both find room: the bound is for servers gone mad, and may be passed by a value or two.
        if others.saturating_add(bytes) > share.bytes_max {
            return RoomFor::No;
        }
        share.bytes.fetch_add(bytes, Relaxed);
        self.bytes = bytes;
        RoomFor::Yes
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.keep.0.bytes.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_value_gives_back_another_may_have() {
        let keep = Keep::new(100);
        let (mut one, mut other) = (keep.part(), keep.part());
        assert_eq!([one.resize(60), other.resize(60)], [RoomFor::Yes, RoomFor::No]);
        assert_eq!([one.resize(30), other.resize(60), one.resize(41)], [RoomFor::Yes, RoomFor::Yes, RoomFor::No]);
        drop(other);
        assert_eq!(one.resize(100), RoomFor::Yes);
    }
}

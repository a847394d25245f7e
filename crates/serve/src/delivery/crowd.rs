//! How many answers are on their way, and whether that is a crowd.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More answers than this at a time are a crowd.
const FEW: usize = 16;
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Whether so many answers are under way that none is made ahead: there is enough to do for all processors, and who does not read
/// holds less.
pub(crate) fn is_crowded() -> bool {
    UNDER_WAY.load(Relaxed) > FEW
}

/// Counts an answer as long as it is under way.
pub(crate) struct UnderWay;

impl UnderWay {
    pub(crate) fn new() -> UnderWay {
        UNDER_WAY.fetch_add(1, Relaxed);
        UnderWay
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Relaxed);
    }
}

//! How many answers are on their way, and whether that is a crowd.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::available_parallelism,
};

/// More answers than this at a time are a crowd.
pub(super) const FEW: usize = 16;

/// The answers that are under way.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    under_way: Arc<AtomicUsize>,
    processors: usize,
}

impl Crowd {
    pub(crate) fn new() -> Crowd {
        Crowd::on(available_parallelism().map_or(2, usize::from))
    }

    /// On a machine of so many processors.
    pub(super) fn on(processors: usize) -> Crowd {
        Crowd { under_way: Arc::default(), processors }
    }

    /// Whether so many answers are under way that none is read ahead: there is enough to do for all processors, and who does not
    /// read holds less.
    pub(crate) fn is_crowd(&self) -> bool {
        self.under_way.load(Relaxed) > FEW
    }

    /// Whether there are processors without an answer to send.
    pub(crate) fn leaves_processors(&self) -> bool {
        self.under_way.load(Relaxed) < self.processors
    }

    /// Counts one more as long as it is under way.
    pub(crate) fn join(&self) -> UnderWay {
        self.under_way.fetch_add(1, Relaxed);
        UnderWay(self.clone())
    }
}

/// An answer that is counted as being under way.
pub(crate) struct UnderWay(Crowd);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Relaxed);
    }
}

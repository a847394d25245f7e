//! The counters of a client, as its tasks share them.

use std::sync::{Mutex, PoisonError};

use crate::pva::Counters;

#[derive(Debug, Default)]
pub(super) struct SharedCounters(Mutex<Counters>);

impl SharedCounters {
    pub(super) fn snapshot(&self) -> Counters {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, more: Counters) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += more;
    }
}

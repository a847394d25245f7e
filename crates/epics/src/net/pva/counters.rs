//! The counters of a client, as its tasks share them.

use std::sync::{Mutex, PoisonError};

use crate::{pva::Counters, servers::Servers};

#[derive(Debug, Default)]
pub(super) struct SharedCounters {
    counters: Mutex<Counters>,
    pub(super) servers: Servers,
}

impl SharedCounters {
    pub(super) fn snapshot(&self) -> Counters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, more: Counters) {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) += more;
    }
}

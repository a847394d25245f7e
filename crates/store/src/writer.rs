//! The writer: takes what acquisition records. What it does to the list of PVs stands in `roster.rs`.

use std::sync::Arc;

use archive::{PvId, Record, Sink};
use sample::Timestamp;

use crate::{Error, engine::Engine, owned::Owned};

/// The store as a `Sink` and as who keeps the list of PVs: the work is in engine.rs and in roster.rs. Cheap to clone; all clones write to
/// the same log.
#[derive(Clone, Debug)]
pub struct Writer {
    pub(crate) engine: Arc<Engine>,
}

impl Writer {
    pub(crate) fn new(engine: Arc<Engine>) -> Writer {
        Writer { engine }
    }
}

impl Sink for Writer {
    type Error = Error;

    fn append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Error> {
        self.engine.append(records, now)
    }

    fn is_over(&self) -> bool {
        self.engine.owned.as_ref().is_some_and(Owned::is_fenced)
    }
}

//! What there is of a PV once an IOC has served it. Of the many that nobody serves there is nothing, and they take no room for it.

use std::{
    net::SocketAddr,
    ops::{Deref, DerefMut},
    sync::{Arc, LazyLock},
};

use epics::Description;
use sample::{Metadata, Timestamp};

use crate::{convert::Run, lag::Lag, ledger::LedgerMarks, status::Counters};

/// Empty until something is written into it.
#[derive(Debug, Default)]
pub(crate) struct ServedBy(Option<Box<Known>>);

/// See `Served`.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) counters: Counters,
    /// How far the ledger has told what was counted; none before there was anything to tell.
    pub(crate) marks: Option<Box<LedgerMarks>>,
    pub(crate) lag: Lag,
    pub(crate) first_connected: Option<Timestamp>,
    pub(crate) last_connected: Option<Timestamp>,
    pub(crate) reconnects: u64,
    pub(crate) last_sample: Option<Timestamp>,
    pub(crate) server: Option<SocketAddr>,
    /// Which run of the server it is, where that is known.
    pub(crate) run: Option<Run>,
    /// The run became known after the metadata was recorded.
    pub(crate) run_is_news: bool,
    /// The next update is the first of its connection.
    pub(crate) is_first: bool,
    /// The newest update had a time stamp: the record was processed.
    pub(crate) was_processed: bool,
    pub(crate) refusal: Option<String>,
    /// What the IOC said of the PV since metadata was last recorded.
    pub(crate) described: Option<Box<Description>>,
    /// The metadata recorded last, which the store shares as long as it has it in memory.
    pub(crate) recorded: Option<Arc<Metadata>>,
    /// Since when what was recorded last has nothing but the type: what the IOC says of the PV counts from there.
    pub(crate) undescribed: Option<Timestamp>,
}

impl ServedBy {
    /// To be changed only where there is anything.
    pub(crate) fn if_any(&mut self) -> Option<&mut Known> {
        self.0.as_deref_mut()
    }
}

impl Deref for ServedBy {
    type Target = Known;

    fn deref(&self) -> &Known {
        static NOTHING: LazyLock<Known> = LazyLock::new(Known::default);
        self.0.as_deref().unwrap_or_else(|| &NOTHING)
    }
}

impl DerefMut for ServedBy {
    fn deref_mut(&mut self) -> &mut Known {
        self.0.get_or_insert_default()
    }
}

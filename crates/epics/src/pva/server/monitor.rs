//! What waits for one monitor while its client is late: whole updates as long as there is room, then the newest.
//!
//! ```text
//!   post ─► queue empty, circuit has room, window open ─► sent at once
//!       └─► queue has room ─► a place of its own
//!       └─► queue full ─► joined with the last place: the value is the newest, fields that both
//!                          changed are marked as overrun, and one more update is counted as squashed
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::VecDeque, sync::Arc};

use pvdata::{BitSet, Tree};

use super::{pvs::ServerPv, selection::Selection};

/// A monitor of one client.
#[derive(Debug)]
pub(super) struct Monitor {
    // fixed after start
    pub(super) circuit: u32,
    pub(super) ioid: u32,
    pub(super) pv: ServerPv,
    pub(super) selection: Selection,

    pub(super) running: bool,
    /// How many updates the client takes before it acknowledges more; only with the pipeline.
    pub(super) window: u64,
    /// Whether its circuit knows that something waits.
    pub(super) in_backlog: bool,
    queue: VecDeque<Entry>,
}

/// An update that waits.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) changed: BitSet,
    pub(super) overrun: BitSet,
    pub(super) value: Arc<Tree>,
}

impl Monitor {
    pub(super) fn new(circuit: u32, ioid: u32, pv: ServerPv, selection: Selection, window: u32) -> Monitor {
        Monitor {
            circuit,
            ioid,
            pv,
            selection,
            running: false,
            window: u64::from(window),
            in_backlog: false,
            queue: VecDeque::new(),
        }
    }

    /// Whether the client may be sent an update.
    pub(super) fn is_open(&self) -> bool {
        self.running && (!self.selection.pipeline || self.window > 0)
    }

    /// Whether a further update would have a place of its own.
    pub(super) fn has_room(&self) -> bool {
        !self.running || self.queue.len() < self.selection.queue
    }

    /// How many updates wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Notes that an update was sent.
    pub(super) fn count_sent(&mut self) {
        if self.selection.pipeline {
            self.window = self.window.saturating_sub(1);
        }
    }

    /// Lets an update wait; returns whether it has to share its place.
    pub(super) fn push(&mut self, changed: BitSet, value: Arc<Tree>) -> bool {
        let full = self.queue.len() >= self.selection.queue;
        match self.queue.back_mut() {
            Some(last) if full => {
                last.overrun.insert_all(&last.changed.common(&changed));
                last.changed.insert_all(&changed);
                last.value = value;
                true
            }
            _ => {
                self.queue.push_back(Entry { changed, overrun: BitSet::default(), value });
                false
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.queue.pop_front()
    }

    /// Forgets what waits; returns how many updates that were.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.queue.len();
        self.queue.clear();
        count
    }
}

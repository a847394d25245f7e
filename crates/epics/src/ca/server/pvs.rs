//! The PVs of one server: what they hold now, and who listens.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{Counters, Settings, Source};

/// A subscription of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The number of the circuit.
    pub circuit: u32,
    /// The number of the subscription on it.
    pub subscription: u32,
}

/// What the circuits of one server share.
pub struct Pvs<S> {
    /// What is served.
    pub source: S,
    /// How it is served.
    pub settings: Settings,
    /// What was done.
    pub counters: Counters,
    newest: Vec<u64>,
    listeners: Vec<Vec<Listener>>,
}

impl<S: Source> Pvs<S> {
    /// All PVs of a source, at update 0.
    pub fn new(source: S, settings: Settings) -> Pvs<S> {
        let count = source.len() as usize;
        let listeners = (0..count).map(|_| Vec::new()).collect();
        Pvs { source, settings, counters: Counters::default(), newest: vec![0; count], listeners }
    }

    /// The number of the newest update.
    pub fn newest(&self, pv: u32) -> u64 {
        self.newest.get(pv as usize).copied().unwrap_or(0)
    }

    /// Notes an update and returns who wants to hear of it.
    pub fn advance(&mut self, pv: u32, number: u64) -> &[Listener] {
        if let Some(newest) = self.newest.get_mut(pv as usize) {
            *newest = number;
        }
        self.listeners.get(pv as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn listen(&mut self, pv: u32, listener: Listener) {
        if let Some(listeners) = self.listeners.get_mut(pv as usize) {
            listeners.push(listener);
        }
    }

    pub(super) fn forget(&mut self, pv: u32, listener: Listener) {
        if let Some(listeners) = self.listeners.get_mut(pv as usize) {
            listeners.retain(|other| *other != listener);
        }
    }
}

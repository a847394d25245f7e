//! The counters of a client, as its tasks share them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{
    ca::{Counters, circuit, search},
    servers::Servers,
};

#[derive(Debug, Default)]
pub(super) struct SharedCounters {
    searching: AtomicU64,
    searches: AtomicU64,
    search_datagrams: AtomicU64,
    search_replies: AtomicU64,
    late_replies: AtomicU64,
    beacon_anomalies: AtomicU64,
    circuits: AtomicU64,
    circuits_opened: AtomicU64,
    circuits_lost: AtomicU64,
    bytes: AtomicU64,
    messages: AtomicU64,
    updates: AtomicU64,
    protocol_errors: AtomicU64,
    pub(super) servers: Servers,
}

impl SharedCounters {
    pub(super) fn snapshot(&self) -> Counters {
        Counters {
            searching: self.searching.load(Relaxed),
            searches: self.searches.load(Relaxed),
            search_datagrams: self.search_datagrams.load(Relaxed),
            search_replies: self.search_replies.load(Relaxed),
            late_replies: self.late_replies.load(Relaxed),
            beacon_anomalies: self.beacon_anomalies.load(Relaxed),
            circuits: self.circuits.load(Relaxed),
            circuits_opened: self.circuits_opened.load(Relaxed),
            circuits_lost: self.circuits_lost.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            messages: self.messages.load(Relaxed),
            updates: self.updates.load(Relaxed),
            protocol_errors: self.protocol_errors.load(Relaxed),
        }
    }

    pub(super) fn add_search(&self, searching: usize, tally: search::Tally) {
        self.searching.store(searching as u64, Relaxed);
        if tally == search::Tally::default() {
            return;
        }
        self.searches.fetch_add(tally.searches, Relaxed);
        self.search_datagrams.fetch_add(tally.datagrams, Relaxed);
        self.search_replies.fetch_add(tally.replies, Relaxed);
        self.late_replies.fetch_add(tally.late_replies, Relaxed);
        self.protocol_errors.fetch_add(tally.protocol_errors, Relaxed);
    }

    pub(super) fn add_circuit(&self, bytes: usize, tally: circuit::Tally) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.messages.fetch_add(tally.messages, Relaxed);
        self.updates.fetch_add(tally.updates, Relaxed);
        self.protocol_errors.fetch_add(tally.protocol_errors, Relaxed);
    }

    pub(super) fn beacon_anomaly(&self) {
        self.beacon_anomalies.fetch_add(1, Relaxed);
    }

    pub(super) fn circuit_opened(&self) {
        self.circuits.fetch_add(1, Relaxed);
        self.circuits_opened.fetch_add(1, Relaxed);
    }

    pub(super) fn circuit_closed(&self) {
        self.circuits.fetch_sub(1, Relaxed);
    }

    pub(super) fn circuit_lost(&self) {
        self.circuits_lost.fetch_add(1, Relaxed);
    }
}

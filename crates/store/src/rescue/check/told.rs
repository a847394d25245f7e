//! The comparison of segments and log with the ledger, whose rows tell how many samples were stored.

use std::collections::{HashMap, HashSet};

use archive::{LedgerScale, PvId, Record};
use sample::{Column, Sample, Timestamp, Value};

use crate::{catalog::copy::Copy, segment::manifest::Manifest};

/// How many samples a row of minutes says were stored, of its bytes and its time; none if it is broken.
pub type StoredIn<'a> = &'a dyn Fn(&[u8], Timestamp) -> Option<u64>;

/// The sums, as they grow while everything is read.
pub(super) struct Told<'a> {
    stored_in: StoredIn<'a>,
    since: Timestamp,
    /// The PVs with rows of minutes.
    minutes: HashSet<PvId>,
    /// Samples that rows tell of, and the rows themselves.
    told: u64,
    /// Samples read, by the key of the segment.
    read: HashMap<String, u64>,
    /// Frames of the log and their samples.
    frames: Vec<(u64, u64)>,
}

impl<'a> Told<'a> {
    /// None if nothing can be said: the catalogue does not say what the segments should have.
    pub(super) fn new(copy: &Copy, stored_in: StoredIn<'a>) -> Option<Told<'a>> {
        let names: HashSet<String> = LedgerScale::Minute.names().collect();
        let is_minute = |pv: &&PvId| copy.names.get(pv).is_some_and(|name| names.contains(name.as_str()));
        Some(Told {
            stored_in,
            since: copy.balance?.from,
            minutes: copy.own.iter().filter(is_minute).copied().collect(),
            told: 0,
            read: HashMap::new(),
            frames: Vec::new(),
        })
    }

    /// A row of a segment that the catalogue names, or of the log.
    pub(super) fn row(&mut self, pv: PvId, row: &Sample) {
        let Value::Array(Column::U8(bytes)) = &row.value else { return };
        if row.time >= self.since {
            let stored = if self.minutes.contains(&pv) { (self.stored_in)(bytes, row.time) } else { None };
            self.told = self.told.saturating_add(1).saturating_add(stored.unwrap_or(0)); // and itself
        }
    }

    /// Notes how many samples of a segment were read.
    pub(super) fn segment(&mut self, key: &str, samples: u64) {
        self.read.insert(key.to_owned(), samples);
    }

    /// A record of the log that has rows.
    pub(super) fn record(&mut self, pv: PvId, record: &Record) {
        match record {
            Record::Sample(row) | Record::LedgerRow(row) => self.row(pv, row),
            Record::Samples(rows) => (0..rows.len()).for_each(|row| self.row(pv, &rows.get(row))),
            Record::Array(rows) => (0..rows.len()).for_each(|row| self.row(pv, &rows.get(row))),
            Record::Gap(_) | Record::Metadata(..) => {}
        }
    }

    /// A frame of the log that is not in segments, with so many samples.
    pub(super) fn frame(&mut self, frame: u64, samples: u64) {
        self.frames.push((frame, samples));
    }

    /// Says how many samples are gone, once everything was read. `before` has the segments of the catalogue at the beginning of the check,
    /// `after` is the catalogue at its end.
    pub(super) fn finding(self, before: &HashMap<String, Manifest>, after: &Copy) -> Option<String> {
        let balance = after.balance.filter(|balance| balance.from == self.since)?;
        let mut held = i128::from(balance.samples);
        for Manifest { key, samples, .. } in &after.segments {
            // One that was written meanwhile was not read.
            let read = if before.contains_key(key) { self.read.get(key).copied().unwrap_or(0) } else { *samples };
            held += i128::from(read.min(*samples));
        }
        let in_log = self.frames.iter().filter(|(frame, _)| *frame >= after.position.frame);
        held += in_log.map(|(_, samples)| i128::from(*samples)).sum::<i128>();
        let gone = i128::from(self.told) - held;
        (gone > 0).then(|| {
            format!(
                "since {} at least {} samples were stored, as the ledger tells, and {gone} of them are in neither the segments nor \
                 the log; `pvark repair --yes` takes note of what is gone, and the count begins anew",
                self.since, self.told
            )
        })
    }
}

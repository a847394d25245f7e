//! The newest sample before a time, from segments: looked for from the newest segment backwards.
//!
//! A PV that is dead for long would make every query look into all segments since. Once that was done, its newest sample is kept
//! in memory together with the segment in which it was found; then only segments written since are looked into.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
};

use archive::PvId;
use sample::{Batch, Sample, Timestamp};

use crate::{
    Error,
    catalog::deletion::Deletions,
    health::Counters,
    read::parts::Lookup,
    segment::{CachedPages, Segment},
};

/// From so many segments on that were looked into, the newest sample is worth keeping.
const LOOKS_MIN: usize = 8;
/// So many samples are kept at most, none of them larger than this.
const KEPT_MAX: usize = 100_000;
const KEPT_BYTES_MAX: usize = 1024;

/// Whoever asks for the values of all PVs at a time asks for one after the other, 46 of which are on a page.
const PAGES_BYTES_MAX: usize = 4 << 20;

/// The newest samples of PVs that were hard to find.
#[derive(Debug)]
pub(crate) struct Newest {
    kept: Mutex<HashMap<PvId, Kept>>,
    imports: AtomicU64,
    pages: CachedPages,
}

impl Default for Newest {
    fn default() -> Newest {
        Newest { kept: Mutex::default(), imports: AtomicU64::default(), pages: CachedPages::within(PAGES_BYTES_MAX) }
    }
}

/// What was found when all segments up to a number had been looked into.
#[derive(Clone, Debug)]
struct Kept {
    last: u64,
    found: Option<(Weak<Segment>, Found)>,
}

/// A sample, and its place in the order of writing.
#[derive(Clone, Debug)]
struct Found {
    order: (u64, u64),
    sample: Sample,
}

impl Newest {
    /// The newest sample at or before `time`; of equal times the one that was written last. `segments` are in the order of
    /// writing. What is damaged is passed over, and told by the counters.
    pub(crate) fn last_before(
        &self,
        pv: PvId,
        time: Timestamp,
        segments: &[Arc<Segment>],
        imports: u64,
        hidden: Option<&Deletions>,
        counters: &Arc<Counters>,
    ) -> Result<Option<Sample>, Error> {
        let mut search =
            Search { pv, time, counters, hidden, pages: &self.pages, looks: 0, passed_over: false, best: None };
        // What is kept does not know of deletions that come and go.
        match self.kept(pv, segments).filter(|_| hidden.is_none()) {
            Some(kept) if kept.found.as_ref().is_none_or(|(_, found)| found.sample.time <= time) => {
                // Not by their own numbers: what was written since may have been merged with what was there before.
                let since = segments.iter().filter(|segment| segment.manifest.last > kept.last).cloned();
                search.best = kept.found;
                search.look_into(&since.collect::<Vec<_>>())?;
            }
            _ => search.look_into(segments)?,
        }
        if search.looks >= LOOKS_MIN && hidden.is_none() {
            let mut newest = Search { time: Timestamp::MAX, looks: 0, best: search.best.clone(), ..search };
            let beyond = segments.iter().filter(|segment| segment.manifest.t1 > time).cloned();
            newest.look_into(&beyond.collect::<Vec<_>>())?;
            if !newest.passed_over {
                self.keep(pv, segments, imports, newest.best);
            }
        }
        Ok(search.best.map(|(_, found)| found.sample))
    }

    /// How many imports were entered; to be asked before the segments are.
    pub(crate) fn imports(&self) -> u64 {
        self.imports.load(Acquire)
    }

    /// Segments were entered whose numbers are not the highest: what is kept may be older than what they have.
    pub(crate) fn forget(&self) {
        let mut kept = self.lock();
        self.imports.fetch_add(1, Release);
        kept.clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PvId, Kept>> {
        self.kept.lock().expect("no holder of this lock panics")
    }

    /// What is kept of a PV, if the segment in which it was found is still there: what was merged or trimmed is looked for anew.
    fn kept(&self, pv: PvId, segments: &[Arc<Segment>]) -> Option<Kept> {
        let kept = self.lock().get(&pv)?.clone();
        let is_there = kept.found.as_ref().is_none_or(|(segment, found)| {
            let place = segments.partition_point(|other| other.manifest.sequence < found.order.0);
            let same = segments.iter().skip(place).take_while(|other| other.manifest.sequence == found.order.0);
            same.into_iter().any(|other| std::ptr::eq(Arc::as_ptr(other), segment.as_ptr()))
        });
        is_there.then_some(kept)
    }

    fn keep(&self, pv: PvId, segments: &[Arc<Segment>], imports: u64, found: Option<(Weak<Segment>, Found)>) {
        let size = found.as_ref().map_or(0, |(_, found)| Batch::of(&found.sample).byte_size());
        let Some(last) = segments.iter().map(|segment| segment.manifest.last).max() else { return };
        let mut kept = self.lock();
        if imports == self.imports() && size <= KEPT_BYTES_MAX && (kept.len() < KEPT_MAX || kept.contains_key(&pv)) {
            kept.insert(pv, Kept { last, found });
        }
    }
}

/// A search from the newest segment backwards.
struct Search<'a> {
    pv: PvId,
    time: Timestamp,
    counters: &'a Arc<Counters>,
    /// What of a segment nobody may see, if ranges of the PV were deleted.
    hidden: Option<&'a Deletions>,
    pages: &'a CachedPages,
    /// Segments whose directory was asked.
    looks: usize,
    /// A segment could not be read: what is found is not to be remembered.
    passed_over: bool,
    best: Option<(Weak<Segment>, Found)>,
}

impl Search<'_> {
    fn look_into(&mut self, segments: &[Arc<Segment>]) -> Result<(), Error> {
        let may_have = |segment: &&Arc<Segment>| segment.manifest.t0 <= self.time && segment.manifest.may_hold(self.pv);
        let mut segments: Vec<&Arc<Segment>> = segments.iter().filter(may_have).collect();
        segments.sort_by_key(|segment| Reverse(segment.manifest.t1.min(self.time)));
        for segment in segments {
            if self.best.as_ref().is_some_and(|(_, best)| segment.manifest.t1 < best.sample.time) {
                break;
            }
            self.looks += 1;
            match self.look_into_one(segment) {
                // As a damaged block is passed over, so is a segment, which may be put back.
                Err(error) if error.is_damage() => {
                    self.counters.problem(error.to_string());
                    self.passed_over = true;
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Whether samples up to a time may be newer than the best, or of the same time and written later.
    fn may_be_better(&self, time: Timestamp, order: (u64, u64)) -> bool {
        self.best.as_ref().is_none_or(|(_, best)| (time, order) > (best.sample.time, best.order))
    }

    fn look_into_one(&mut self, segment: &Arc<Segment>) -> Result<(), Error> {
        let sequence = segment.manifest.sequence;
        let record = segment.record_by(self.pv, self.pages)?.filter(|record| record.t0 <= self.time);
        let Some(record) = record.filter(|record| self.may_be_better(record.t1.min(self.time), (sequence, u64::MAX)))
        else {
            return Ok(());
        };
        let mut entries = segment.index(&record)?;
        entries.retain(|entry| entry.t0 <= self.time);
        entries.sort_by_key(|entry| Reverse((entry.t1.min(self.time), entry.offset)));
        let (pv, counters) = (self.pv, self.counters.clone());
        let hidden = self.hidden.map(|hidden| hidden.hidden_in(&segment.manifest)).unwrap_or_default();
        entries.retain(|entry| !hidden.covers(entry.t0, entry.t1));
        let lookup = Lookup::of_samples(pv, segment.clone(), counters, hidden);
        for entry in entries {
            let order = (sequence, entry.offset);
            if !self.may_be_better(entry.t1.min(self.time), order) {
                continue;
            }
            let found = match lookup.read_last(&entry, self.time, |time| self.may_be_better(time, order)) {
                Err(Error::CorruptBlock { .. }) => continue,
                found => found?,
            };
            if let Some(sample) = found {
                self.best = Some((Arc::downgrade(segment), Found { order, sample }));
            }
        }
        Ok(())
    }
}

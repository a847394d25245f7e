//! The reader: what was recorded, from one snapshot of heads and segments.

use std::sync::Arc;

use sample::{Batch, Gap, Metadata, PvEntry, PvId, Sample, TimeRange, Timestamp};

use crate::{
    Error, Health, Samples, Stretches, Watermark,
    merge::{Part, Source},
    store::Core,
};

/// Whether a gap is one PV's or the whole archiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapScope {
    /// Of this PV.
    Pv,
    /// Of all PVs, because the archiver was not running.
    Archiver,
}

/// Reads what the writer has appended. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reader {
    core: Arc<Core>,
}

impl Reader {
    pub(crate) fn new(core: Arc<Core>) -> Reader {
        Reader { core }
    }

    /// The PV of that name, if it is to be archived.
    pub fn find(&self, name: &str) -> Option<PvEntry> {
        self.core.registry().find(name).cloned()
    }

    /// The PV with that number, if it is to be archived.
    pub fn entry(&self, pv: PvId) -> Option<PvEntry> {
        self.core.registry().entry(pv).cloned()
    }

    /// All PVs that are to be archived, sorted by name.
    pub fn entries(&self) -> Arc<[PvEntry]> {
        self.core.registry().entries()
    }

    /// The samples with `t0 <= time < t1` in time order, in batches of one type and at most 8192 rows or about 1 MiB.
    /// Identical repeats are dropped; samples of equal time and different value keep the order of their arrival.
    pub fn samples(&self, pv: PvId, range: TimeRange) -> Samples {
        let mut parts = Vec::new();
        for head in self.core.snapshot().heads.iter().filter(|_| !self.core.registry().is_deleted(pv)) {
            parts.extend(head.pieces(pv, range).into_iter().map(rows));
        }
        for (order, part) in parts.iter_mut().enumerate() {
            part.order = order as u64;
        }
        Samples::new(range, parts, Vec::new())
    }

    /// The newest sample at or before `time`; of equal times the one that arrived last.
    pub fn last_before(&self, pv: PvId, time: Timestamp) -> Result<Option<Sample>, Error> {
        let snapshot = self.core.snapshot();
        let found = snapshot.heads.iter().filter_map(|head| head.last_before(pv, time));
        Ok(found.filter(|_| !self.core.registry().is_deleted(pv)).max_by_key(|sample| sample.time))
    }

    /// The same samples as `samples`, but a block that lies wholly between two neighbouring `edges` (sorted) and overlaps no
    /// other comes as its summary, unread.
    pub fn stretches(&self, pv: PvId, range: TimeRange, edges: Arc<[Timestamp]>) -> Stretches {
        Stretches::new(self.samples(pv, range), edges)
    }

    /// The gaps of a PV and of the archiver that overlap `range`, by beginning.
    pub fn gaps(&self, pv: PvId, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        let mut found = std::collections::BTreeMap::new();
        for head in &self.core.snapshot().heads {
            for ((owner, from, cause), gap) in head.facts().gaps.iter() {
                if *owner == pv {
                    found.insert((*from, *cause), *gap);
                }
            }
        }
        Ok(found.into_values().filter(|gap| gap.overlaps(range)).map(|gap| (GapScope::Pv, gap)).collect())
    }

    /// The metadata in force at the beginning of `range`, then each change within it.
    pub fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        let mut all = std::collections::BTreeMap::new();
        for head in &self.core.snapshot().heads {
            let facts = head.facts();
            let own = facts.metadata.range((pv, Timestamp::MIN)..=(pv, Timestamp::MAX));
            all.extend(own.map(|((_, since), metadata)| (*since, metadata.clone())));
        }
        let in_force = all.range(..=range.t0).next_back().map_or(range.t0, |(since, _)| *since);
        Ok(all
            .into_iter()
            .filter(|(since, _)| *since >= in_force && (*since < range.t1 || *since == in_force))
            .collect())
    }

    /// The first and last time of a PV's samples and their number, in which repeats may be counted.
    pub fn extent(&self, pv: PvId) -> Option<(Timestamp, Timestamp, u64)> {
        let snapshot = self.core.snapshot();
        let extents = snapshot.heads.iter().filter_map(|head| head.extent(pv));
        extents.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2))
    }

    /// How many samples were ever appended, and how many of them are safe.
    pub fn watermark(&self) -> Watermark {
        self.core.counters.watermark()
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        let snapshot = self.core.snapshot();
        Health {
            head_bytes: snapshot.heads.iter().map(|head| head.bytes() as u64).sum(),
            head_samples: snapshot.heads.iter().map(|head| head.samples()).sum(),
            ..self.core.counters.health()
        }
    }
}

fn rows(batch: Batch) -> Part {
    let (t0, t1) = (batch.times()[0], batch.times()[batch.len() - 1]);
    Part { t0, t1, order: 0, source: Source::Rows(batch) }
}

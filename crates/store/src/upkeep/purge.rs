//! The purge: what was deleted is given up, and the segments that hold it are written anew without it.
//!
//! ```text
//!   deleted, hidden ──order──► final (one transaction, audited) ──merging thread──► no segment holds it ──► done (audited)
//! ```
//! The order is all that cannot be undone; the work goes on in the background, after a crash too, one segment at a time.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use archive::{Action, AuditRecord, By, DataFate, Deletion, Purge, Purged, PvId, RemovedPv};
use sample::Timestamp;

use crate::{
    Error, Writer,
    block::rows::rows_within,
    catalog::deletion::{Deletions, Hidden, Hiding},
    engine::Engine,
    read::parts::Lookup,
    segment::{DirectoryRecord, Entry, Segment},
    upkeep::compact::Compaction,
};

/// First time, last time and number of samples.
pub(crate) type Extent = (Timestamp, Timestamp, u64);

/// Samples and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl Writer {
    /// What a purge would take.
    pub fn purgeable(&self, purge: Purge) -> Result<Purged, Error> {
        Ok(self.engine.due(purge)?.0)
    }

    /// Gives up what was deleted: it cannot come back, and its space is freed in the background.
    pub fn purge(&self, purge: Purge, by: &By) -> Result<Purged, Error> {
        self.engine.purge(purge, by)
    }
}

impl Engine {
    /// What a purge would take, and its ranges as segments are asked for them.
    fn due(&self, purge: Purge) -> Result<(Purged, Vec<Hiding>), Error> {
        let is_meant = |pv: PvId, by: &By| by.at <= purge.before && purge.pv.is_none_or(|only| only == pv);
        let (mut purged, mut hidings) = (Purged::default(), Vec::new());
        {
            let registry = self.registry();
            let removed = registry.removed().values().filter(|removed| removed.data == DataFate::Delete);
            purged.pvs = removed.filter(|removed| is_meant(removed.entry.id, &removed.by)).cloned().collect();
            let ranges = registry.deletions().filter(|range| !range.of.is_final && is_meant(range.of.pv, &range.of.by));
            let goes_anyway = |pv: PvId| purged.pvs.iter().any(|removed| removed.entry.id == pv);
            hidings.extend(ranges.filter(|range| !goes_anyway(range.of.pv)).cloned());
        }
        purged.ranges = hidings.iter().map(|range| range.of.clone()).collect();
        let sizes = purged.pvs.iter().map(|removed| self.size_of_pv(removed.entry.id));
        let ranges = hidings.iter().map(|range| self.size_of_range(range, &Deletions::default()));
        for size in sizes.chain(ranges).collect::<Vec<_>>() {
            let size = size?;
            purged.samples += size.samples;
            purged.bytes += size.bytes;
        }
        Ok((purged, hidings))
    }

    pub(crate) fn purge(&self, purge: Purge, by: &By) -> Result<Purged, Error> {
        let alive = self.alive();
        self.flush(alive.max(by.at))?; // what is to go is in segments then
        let (purged, hidings) = self.due(purge)?;
        // A flush that had begun would write gaps of a PV that is gone.
        let _flushing = self.flushing.lock().expect("no holder of this lock panics");
        self.change(|registry, change| {
            let still = |removed: &&RemovedPv| registry.removed().get(&removed.entry.id) == Some(removed);
            for removed in purged.pvs.iter().filter(still) {
                let Size { samples, bytes } = self.size_of_pv(removed.entry.id)?;
                let record = AuditRecord::of_pv(Action::PurgeOrdered, by, &removed.entry, "");
                change.audit.push(AuditRecord { samples, bytes, ..record });
                change.purged.push(removed.entry.clone());
            }
            let all: Vec<&Hiding> = registry.deletions().collect();
            for range in hidings.iter().filter(|range| all.contains(range)) {
                let Size { samples, bytes } = self.size_of_range(range, &Deletions::default())?;
                let record = range.line(Action::PurgeOrdered, registry.name_of(range.of.pv), by);
                change.audit.push(AuditRecord { samples, bytes, ..record });
                change.deleted.push(Hiding { of: Deletion { is_final: true, ..range.of.clone() }, ..*range });
            }
            Ok(())
        })?;
        Ok(purged)
    }

    /// Orders the purge of what was deleted so long ago as the config says.
    pub(crate) fn purge_old(&self, now: Timestamp) -> Result<(), Error> {
        let Some(after) = self.config.purge_after else { return Ok(()) };
        let before = now.saturating_sub(after);
        let is_due = {
            let registry = self.registry();
            let removed = registry.removed().values().filter(|removed| removed.data == DataFate::Delete);
            let mut times = removed.map(|removed| removed.by.at);
            times.any(|at| at <= before)
                || registry.deletions().any(|range| !range.of.is_final && range.of.by.at <= before)
        };
        if is_due {
            self.purge(Purge { pv: None, before }, &By::new("purge_after in the config", now))?;
        }
        Ok(())
    }

    /// Writes one segment anew without what is purged; when there is none left the purge is done.
    pub(crate) fn go_on_purging(&self, now: Timestamp, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let (pvs, ranges) = {
            let registry = self.registry();
            let ranges: Vec<Hiding> = registry.deletions().filter(|range| range.of.is_final).cloned().collect();
            (registry.purging().clone(), ranges)
        };
        if pvs.is_empty() && ranges.is_empty() {
            return Ok(Compaction::Nothing);
        }
        // An import may enter what it wrote before a deletion: to be asked before the segments are.
        let unentered = self.unentered.lock().expect("no holder of this lock panics").first().copied();
        let segments = self.snapshot().segments.clone();
        let waits = |range: &&Hiding| unentered.is_some_and(|first| first < range.below);
        let mut left_ranges: BTreeSet<u64> = ranges.iter().filter(waits).map(|range| range.of.number).collect();
        let mut left_pvs = BTreeSet::new();
        for segment in &*segments {
            let (held_pvs, held_ranges) = self.held(segment, &pvs, &ranges)?;
            let holds = !held_pvs.is_empty() || !held_ranges.is_empty();
            if holds && self.places.reach(&segment.manifest) && !segment.is_kept() {
                let done = self.rewrite_one(segment, go_on)?;
                return Ok(done);
            }
            left_pvs.extend(held_pvs); // of a segment that is damaged or out of reach, which nobody can write anew
            left_ranges.extend(held_ranges);
        }
        let left = !left_pvs.is_empty() || !left_ranges.is_empty();
        let is_done = self.change(|_, change| {
            let done = pvs.iter().filter(|pv| !left_pvs.contains(pv));
            change.purge_done.extend(done);
            let done = ranges.iter().map(|range| &range.of).filter(|range| !left_ranges.contains(&range.number));
            change.undeleted.extend(done.cloned());
            if change.is_empty() {
                return Ok(false);
            }
            let (samples, bytes) =
                (self.counters.purged_samples.swap(0, Relaxed), self.counters.purged_bytes.swap(0, Relaxed));
            let by = By::new("the archiver", now);
            change.audit.push(AuditRecord { samples, bytes, ..AuditRecord::new(Action::Purged, &by) });
            Ok(true)
        })?;
        Ok(if is_done && !left { Compaction::Done } else { Compaction::Nothing })
    }

    fn rewrite_one(&self, segment: &Arc<Segment>, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let before = (segment.manifest.samples, segment.manifest.bytes);
        let id = segment.manifest.id();
        let done = self.merge(std::slice::from_ref(segment), segment.manifest.level, go_on)?;
        if done == Compaction::Done && !segment.is_kept() {
            let after = self.snapshot();
            let after = after.segments.iter().find(|other| other.manifest.id() == id);
            let (samples, bytes) = after.map_or((0, 0), |after| (after.manifest.samples, after.manifest.bytes));
            self.counters.purged_samples.fetch_add(before.0.saturating_sub(samples), Relaxed);
            self.counters.purged_bytes.fetch_add(before.1.saturating_sub(bytes), Relaxed);
        }
        Ok(done)
    }

    /// How much is ordered and not done.
    pub(crate) fn purges_pending(&self) -> u64 {
        let registry = self.registry();
        registry.purging().len() as u64 + registry.deletions().filter(|hiding| hiding.of.is_final).count() as u64
    }

    /// First time, last time and number of what may be seen of a PV in a segment.
    pub(crate) fn extent_in(
        &self,
        segment: &Arc<Segment>,
        pv: PvId,
        deletions: &Deletions,
    ) -> Result<Option<Extent>, Error> {
        let hidden = deletions.hidden_in(&segment.manifest);
        let Some(record) = segment.record(pv)? else { return Ok(None) };
        if !hidden.overlaps(record.t0, record.t1) {
            return Ok(Some((record.t0, record.t1, record.samples)));
        }
        let (entries, counters) = (segment.index(&record)?, self.counters.clone());
        let lookup = Lookup::of_samples(pv, segment.clone(), counters, hidden.clone());
        let mut whole: Option<Extent> = None;
        for entry in entries.iter().filter(|entry| !hidden.covers(entry.t0, entry.t1)) {
            let mut seen = Some((entry.t0, entry.t1, u64::from(entry.count)));
            if hidden.overlaps(entry.t0, entry.t1) {
                let batch = lookup.read(entry)?;
                let ends = batch.times().first().zip(batch.times().last());
                seen = ends.map(|(first, last)| (*first, *last, batch.len() as u64));
            }
            whole = whole.into_iter().chain(seen).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2));
        }
        Ok(whole)
    }

    /// Which of these PVs and ranges a segment holds; all that it may hold if it is damaged or out of reach.
    fn held(
        &self,
        segment: &Arc<Segment>,
        pvs: &BTreeSet<PvId>,
        ranges: &[Hiding],
    ) -> Result<(Vec<PvId>, Vec<u64>), Error> {
        let manifest = &segment.manifest;
        let known = || -> Result<_, Error> {
            let mut held_ranges = Vec::new();
            for range in ranges {
                held_ranges.extend(self.holds(segment, range)?.then_some(range.of.number));
            }
            Ok((held_pvs(segment, pvs)?, held_ranges))
        };
        if self.places.reach(manifest) {
            match known() {
                Err(Error::CorruptSegment { .. }) => segment.keep(), // whoever reads it tells
                known => return known,
            }
        }
        let meant = ranges.iter().filter(|range| range.is_for(manifest) && manifest.may_hold(range.of.pv));
        let pvs = pvs.range(manifest.first_pv..=manifest.last_pv).copied();
        Ok((pvs.collect(), meant.map(|range| range.of.number).collect()))
    }

    /// Whether a segment has samples that a deletion is about.
    fn holds(&self, segment: &Arc<Segment>, deletion: &Hiding) -> Result<bool, Error> {
        Ok(self.size_in(segment, deletion, &Deletions::default())?.samples > 0)
    }

    pub(crate) fn size_of_pv(&self, pv: PvId) -> Result<Size, Error> {
        let mut size = Size::default();
        for segment in self.snapshot().segments.iter().filter(|segment| segment.manifest.may_hold(pv)) {
            let Some((record, entries)) = readable(segment, pv)? else { continue };
            size.samples += record.samples;
            size.bytes += entries.iter().map(|entry| u64::from(entry.len)).sum::<u64>();
        }
        Ok(size)
    }

    /// What a deletion hides besides what others hide.
    pub(crate) fn size_of_range(&self, deletion: &Hiding, others: &Deletions) -> Result<Size, Error> {
        let mut size = Size::default();
        for segment in &*self.snapshot().segments {
            let more = match self.size_in(segment, deletion, others) {
                Err(Error::CorruptSegment { .. } | Error::UnreadSegment { .. }) => continue, // as a damaged block
                more => more?,
            };
            size.samples += more.samples;
            size.bytes += more.bytes;
        }
        Ok(size)
    }

    /// What a deletion hides in a segment. Blocks that it covers in part only are read, and their bytes are not counted. Damaged
    /// ones count as having nothing: nobody sees what they hold.
    fn size_in(&self, segment: &Arc<Segment>, deletion: &Hiding, others: &Deletions) -> Result<Size, Error> {
        let hidden = Hidden::of(vec![deletion.of.range]);
        let (manifest, pv) = (&segment.manifest, deletion.of.pv);
        let may = deletion.is_for(manifest) && manifest.may_hold(pv);
        let Some(record) = (if may { segment.record(pv)? } else { None }) else { return Ok(Size::default()) };
        let already = others.hidden_in(manifest);
        let lookup = Lookup::of_samples(pv, segment.clone(), self.counters.clone(), already.clone());
        let mut size = Size::default();
        for entry in segment.index(&record)?.iter().filter(|entry| hidden.overlaps(entry.t0, entry.t1)) {
            if already.covers(entry.t0, entry.t1) {
                continue;
            }
            if hidden.covers(entry.t0, entry.t1) && !already.overlaps(entry.t0, entry.t1) {
                size.samples += u64::from(entry.count);
                size.bytes += u64::from(entry.len);
                continue;
            }
            match lookup.read(entry) {
                Ok(batch) => size.samples += rows_within(&batch, deletion.of.range).len() as u64,
                Err(Error::CorruptBlock { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(size)
    }
}

/// Where the samples of a PV lie in a segment; none if there are none or nobody can find them any more.
fn readable(segment: &Segment, pv: PvId) -> Result<Option<(DirectoryRecord, Vec<Entry>)>, Error> {
    let find = || segment.record(pv)?.map(|record| Ok((record, segment.index(&record)?))).transpose();
    match find() {
        Err(Error::CorruptSegment { .. } | Error::UnreadSegment { .. }) => Ok(None),
        found => found,
    }
}

fn held_pvs(segment: &Segment, pvs: &BTreeSet<PvId>) -> Result<Vec<PvId>, Error> {
    let manifest = &segment.manifest;
    let mut held = Vec::new();
    for pv in pvs.range(manifest.first_pv..=manifest.last_pv) {
        held.extend(segment.record(*pv)?.map(|_| *pv));
    }
    Ok(held)
}

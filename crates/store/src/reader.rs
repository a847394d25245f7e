//! The reader: what was recorded, from one snapshot of heads and segments.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use archive::{
    AuditRecord, BackupMade, Deletion, GapScope, Health, KeptFor, LookAtMemo, Named, Names, Outline, Partition,
    PvEntry, PvId, PvName, PvSize, RemovedPv, Touched, UndoPlan, Undoable, Watermark, WeekToGo, structure::paths,
};
use sample::{Gap, GapCause, Metadata, Sample, TimeRange, Timestamp, Value, ValueType};

use crate::{
    Error, Samples, Stretches,
    block::rows::overlap,
    catalog::{deletion::Deletions, undo},
    engine::{Engine, Snapshot},
    read::parts::{Binned, Lookup, Part, Summaries},
    rescue::backup::told::told,
    segment::manifest::Manifest,
    upkeep::{
        compact::views,
        merge_policy,
        partitions::{self},
    },
};

/// Of all stretches of which levels keep summaries: ten seconds.
const SHORTEST_STRETCH: u64 = 10_000_000_000;

/// A day.
const LONGEST_STRETCH: u64 = 86_400_000_000_000;

/// Reads what the writer has appended. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reader {
    engine: Arc<Engine>,
}

impl Reader {
    pub(crate) fn new(engine: Arc<Engine>) -> Reader {
        Reader { engine }
    }

    /// The PV of that name or alias, if it is to be archived.
    pub fn find(&self, name: &str) -> Option<PvEntry> {
        self.engine.registry().find(name).cloned()
    }

    /// The PV with that number, if it is to be archived.
    pub fn entry(&self, pv: PvId) -> Option<PvEntry> {
        self.engine.registry().entry(pv).cloned()
    }

    /// The PVs with these numbers, each in its place; none where there is none, or no number. For some hundred of them this is asked once.
    pub fn entries_of(&self, pvs: &[Option<PvId>]) -> Vec<Option<PvEntry>> {
        let registry = self.engine.registry();
        pvs.iter().map(|pv| registry.entry((*pv)?).cloned()).collect()
    }

    /// The outlines of the PVs whose own names these are; see `Directory`.
    pub fn outlines_of(&self, names: &[Named]) -> Vec<Option<Outline>> {
        let registry = self.engine.registry();
        let outline =
            |named: &Named| registry.entry(named.pv).filter(|entry| entry.name == named.name).map(Outline::from);
        names.iter().map(outline).collect()
    }

    /// Of which of these PVs there may be samples; of the others there are none. That of a million PVs hardly any has some is told
    /// in this way without a look for each.
    pub fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        let snapshot = self.engine.snapshot();
        let in_segments = |pv: &PvId| snapshot.segments.iter().any(|segment| segment.manifest.may_hold(*pv));
        let mut may_have: Vec<bool> = pvs.iter().map(in_segments).collect();
        snapshot.heads.iter().for_each(|head| head.note_present(pvs, &mut may_have));
        may_have
    }

    /// Of which of these PVs there is metadata, of whatever time.
    pub fn have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, Error> {
        let snapshot = self.engine.snapshot();
        let mut have = self.engine.catalog.have_metadata(pvs)?;
        for facts in snapshot.heads.iter().map(|head| head.facts()).filter(|facts| !facts.metadata.is_empty()) {
            for (pv, have) in pvs.iter().zip(&mut have) {
                let own = (*pv, Timestamp::MIN)..=(*pv, Timestamp::MAX);
                *have |= facts.metadata.range(own).next().is_some();
            }
        }
        Ok(have)
    }

    /// The PVs that were changed or described anew since this was asked last.
    pub fn touched(&self) -> Touched {
        self.engine.registry().touches.take()
    }

    /// All PVs that are to be archived, sorted by name. With a million PVs this takes a while; `names` does not.
    pub fn entries(&self) -> Vec<PvEntry> {
        self.engine.registry().entries()
    }

    /// The names and aliases of all PVs that are to be archived.
    pub fn names(&self) -> Names {
        self.engine.registry().names()
    }

    /// The PV that the archive keeps for itself under that name, if it has been made.
    pub fn own(&self, name: &str) -> Option<PvId> {
        let registry = self.engine.registry();
        registry.own().values().find(|entry| entry.name.as_str() == name).map(|entry| entry.id)
    }

    /// The other names of a PV.
    pub fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        self.engine.registry().aliases(pv).to_vec()
    }

    /// Every alias with its PV.
    pub fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        self.engine.registry().all_aliases()
    }

    /// The PVs that were removed and can come back.
    pub fn removed(&self) -> Vec<RemovedPv> {
        self.engine.registry().removed().values().cloned().collect()
    }

    /// The ranges that were deleted: those that can come back, and those that are being purged.
    pub fn deletions(&self) -> Vec<Deletion> {
        self.engine.registry().deletions().map(|hiding| hiding.of.clone()).collect()
    }

    /// Lines of the audit with lower numbers than `before`, the newest first, at most so many.
    pub fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, Error> {
        self.engine.catalog.audit(before, limit)
    }

    /// Shows memos to `look`, the newest first; see `Directory`.
    pub fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), Error> {
        self.engine.catalog.memos(before, look)
    }

    /// The orders that can be taken back, the newest first, those of more than a day ago perhaps among them.
    pub fn undoable(&self) -> Result<Vec<Undoable>, Error> {
        self.engine.catalog.undoable()
    }

    /// What taking back an order would do.
    pub fn undo_plan(&self, number: u64) -> Result<UndoPlan, Error> {
        undo::plan(&self.engine.catalog, &self.engine.registry(), number)?.ok_or(Error::NoOrder { number })
    }

    /// The samples with `t0 <= time < t1` in time order, in batches of one type and at most 8192 rows or about 1 MiB; of arrays that
    /// hardly change one of them, or about 256 KiB.
    /// Identical repeats are dropped; samples of equal time and different value keep the order of their arrival.
    ///
    /// A block that is damaged gives an error in its place and is counted in `health`; the next call goes on behind it.
    pub fn samples(&self, pv: PvId, range: TimeRange) -> Samples {
        self.engine.merged(pv, range, Summaries::Unread)
    }

    /// Tells an operator of a damaged segment.
    fn note(&self, error: Error) -> Error {
        self.engine.counters.problem(error.to_string());
        error
    }

    /// The newest sample at or before `time`; of equal times the one that arrived last. A damaged block or segment is passed
    /// over, and told in `health`.
    pub fn last_before(&self, pv: PvId, time: Timestamp) -> Result<Option<Sample>, Error> {
        self.engine.last_before(pv, time).map_err(|error| self.note(error))
    }

    /// The fields that the structure last recorded at or before `time` has, and the types of their samples; none if there is no
    /// structure.
    pub fn fields(&self, pv: PvId, time: Timestamp) -> Result<Vec<(String, ValueType)>, Error> {
        let last = self.last_before(pv, time)?.map(|sample| sample.value);
        let structure = last.and_then(|value| if let Value::Structure(bytes) = value { Some(bytes) } else { None });
        Ok(structure.map(|bytes| paths(&bytes)).unwrap_or_default())
    }

    /// The same samples as `samples`, but a block that lies wholly between two neighbouring `edges` (sorted) and overlaps no
    /// other comes as its summary, unread; of one that an edge cuts come those of its pieces. If all edges within the range lie at
    /// multiples of the stretches of a level, so do its rows.
    pub fn stretches(&self, pv: PvId, range: TimeRange, edges: Arc<[Timestamp]>) -> Stretches {
        let (width, memory) = (common_width(&edges, range), self.engine.memory.clone());
        let summaries = Summaries::Read(Binned { edges: edges.clone(), width, memory });
        Stretches::new(self.engine.merged(pv, range, summaries), edges)
    }

    /// The gaps of a PV and of the archiver that overlap `range`, by beginning.
    pub fn gaps(&self, pv: PvId, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        let snapshot = self.engine.snapshot();
        let mut own = self.engine.own_gaps(&snapshot, pv, range.t1)?;
        self.engine.catalog.turnovers()?.iter().for_each(|turnover| turnover.settle(&mut own));
        own.extend(self.engine.damaged(&snapshot, pv, range).map(|gap| ((gap.from, gap.cause), gap)));
        let mut gaps: Vec<(GapScope, Gap)> = own.into_values().map(|gap| (GapScope::Pv, gap)).collect();
        let archiver = self.engine.catalog.archiver_gaps(range.t1)?;
        gaps.extend(archiver.into_iter().map(|gap| (GapScope::Archiver, gap)));
        gaps.retain(|(_, gap)| gap.overlaps(range));
        gaps.sort_by_key(|(_, gap)| gap.from);
        Ok(gaps)
    }

    /// The same of one field of a PV, and where retention took it out of structures.
    pub fn gaps_of_field(&self, pv: PvId, path: &str, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        let mut gaps = self.gaps(pv, range)?;
        let taken = self.engine.catalog.field_gaps(pv, Some(path))?;
        gaps.extend(taken.iter().map(|taken| (GapScope::Pv, taken.gap())).filter(|(_, gap)| gap.overlaps(range)));
        gaps.sort_by_key(|(_, gap)| gap.from);
        Ok(gaps)
    }

    /// The paths of the fields that retention took out of structures of a PV.
    pub fn expired_fields(&self, pv: PvId) -> Result<Vec<String>, Error> {
        let mut paths: Vec<String> =
            self.engine.catalog.field_gaps(pv, None)?.into_iter().map(|taken| taken.path).collect();
        paths.dedup();
        Ok(paths)
    }

    /// The metadata in force at the beginning of `range`, then each change within it.
    pub fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        self.engine.metadata(pv, range)
    }

    /// The first and last time of a PV's samples and their number, in which repeats may be counted. A segment that cannot be
    /// read is left out, and told in `health`.
    pub fn extent(&self, pv: PvId) -> Option<(Timestamp, Timestamp, u64)> {
        let (snapshot, deletions) = self.engine.moment(pv)?;
        let records =
            snapshot.segments.iter().filter_map(|segment| match self.engine.extent_in(segment, pv, &deletions) {
                Ok(extent) => extent,
                Err(error) => {
                    self.note(error);
                    None
                }
            });
        let heads = snapshot.heads.iter().filter_map(|head| head.extent(pv));
        records.chain(heads).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2))
    }

    /// How many samples were ever appended, and how many of them are safe.
    pub fn watermark(&self) -> Watermark {
        self.engine.counters.watermark()
    }

    /// The size of every PV that has samples in segments. A segment that cannot be read is left out, and told in `health`.
    pub fn sizes(&self) -> HashMap<PvId, PvSize> {
        self.engine.sizes()
    }

    /// That of one PV, for which the segments alone are looked at that may have samples of it.
    pub fn size(&self, pv: PvId) -> Option<PvSize> {
        self.engine.size(pv)
    }

    /// The partitions, by week.
    pub fn partitions(&self) -> Vec<Partition> {
        self.engine.partitions()
    }

    /// How long what it has is kept: single PVs, then the rules in the order in which they decide, then all others.
    pub fn retention(&self) -> Vec<KeptFor> {
        self.engine.kept()
    }

    /// When it takes away the samples of the next week that are to be kept for so long.
    pub fn next_to_go(&self, keep: Duration) -> Option<WeekToGo> {
        self.engine.next_to_go(keep)
    }

    /// The backups that it was told of, the newest first; none where that cannot be read.
    pub fn backups(&self) -> Vec<BackupMade> {
        told(&*self.engine.disk).unwrap_or_else(|error| {
            tracing::warn!("it cannot be said which backups were made: {error}");
            Vec::new()
        })
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        let snapshot = self.engine.snapshot();
        let now = self.engine.alive();
        let manifests = || snapshot.segments.iter().map(|segment| &segment.manifest);
        let counted = self.engine.counters.health();
        let places = self.engine.place_health(&snapshot.segments, now);
        let troubles = places.iter().filter_map(|place| place.trouble.clone());
        Health {
            problems: (counted.problems.iter().cloned())
                .chain(troubles)
                .chain(self.engine.home.problem())
                .chain(self.engine.reserve.problem())
                .chain(self.engine.watched.problem())
                .chain(self.engine.owned.iter().flat_map(|owned| owned.problems()))
                .collect(),
            disk_silent_micros: self.engine.watched.silence().as_micros() as u64,
            reserve_bytes: self.engine.reserve.bytes().0,
            reserve_bytes_max: self.engine.reserve.bytes().1,
            block_bytes: manifests().map(|manifest| manifest.bytes).sum(),
            blocks: manifests().map(|manifest| manifest.blocks).sum(),
            segments: snapshot.segments.len() as u64,
            weeks_pending: merge_policy::pending(&views(&snapshot.segments, &self.engine.places), now) as u64,
            levels: partitions::levels(&snapshot.segments),
            places,
            head_bytes: snapshot.heads.iter().map(|head| head.bytes() as u64).sum(),
            head_samples: snapshot.heads.iter().map(|head| head.samples()).sum(),
            purging: self.engine.purges_pending(),
            shards: self.engine.owned.iter().map(|owned| owned.lag(self.engine.counters.watermark())).collect(),
            ..counted
        }
    }
}

impl Engine {
    /// The gaps of a PV that began before `before`, as its owners told them, by beginning and cause.
    pub(crate) fn own_gaps(
        &self,
        snapshot: &Snapshot,
        pv: PvId,
        before: Timestamp,
    ) -> Result<BTreeMap<(Timestamp, GapCause), Gap>, Error> {
        let catalog = self.catalog.gaps(pv, before)?.into_iter();
        let mut own: BTreeMap<_, _> = catalog.map(|gap| ((gap.from, gap.cause), gap)).collect();
        for head in &snapshot.heads {
            let facts = head.facts();
            let every = (pv, Timestamp::MIN, GapCause::ALL[0])..;
            let gaps = facts.gaps.range(every).take_while(|((owner, ..), _)| *owner == pv);
            own.extend(gaps.map(|((_, from, cause), gap)| ((*from, *cause), *gap)));
        }
        Ok(own)
    }

    pub(crate) fn last_before(&self, pv: PvId, time: Timestamp) -> Result<Option<Sample>, Error> {
        let imports = self.newest.imports();
        let Some((snapshot, deletions)) = self.moment(pv) else { return Ok(None) };
        // What is in the heads arrived after all that is in segments.
        let heads = snapshot.heads.iter().filter_map(|head| head.last_before(pv, time));
        let in_heads = heads.max_by_key(|sample| sample.time);
        let (newest, counters) = (&self.newest, &self.counters);
        let hidden = (!deletions.is_empty()).then_some(&deletions);
        let in_segments = newest.last_before(pv, time, &snapshot.segments, imports, hidden, counters)?;
        Ok(match (in_segments, in_heads) {
            (Some(earlier), Some(later)) => Some(if later.time >= earlier.time { later } else { earlier }),
            (one, other) => other.or(one),
        })
    }

    /// The samples of a PV, with the summaries that are wanted.
    pub(crate) fn merged(&self, pv: PvId, range: TimeRange, summaries: Summaries) -> Samples {
        let Some((snapshot, deletions)) = self.moment(pv) else { return Samples::new(range, Vec::new()) };
        let mut parts = Vec::new();
        for segment in &*snapshot.segments {
            let manifest = &segment.manifest;
            if manifest.may_hold(pv) && overlap(manifest.t0, manifest.t1, range) {
                let counters = self.counters.clone();
                let hidden = deletions.hidden_in(manifest);
                let (segment, memory) = (segment.clone(), Some(self.memory.clone()));
                let lookup =
                    Lookup { pv, segment, counters, summaries: summaries.clone(), memory, hidden, is_cold: false };
                parts.push(Part::segment(lookup, parts.len() as u64));
            }
        }
        for head in &snapshot.heads {
            for piece in head.pieces(pv, range) {
                parts.extend(Part::rows(piece, parts.len() as u64));
            }
        }
        Samples::new(range, parts)
    }

    /// Gaps where a segment that may hold samples of the PV is missing or damaged as a whole, or was given up by a repair. Of single
    /// blocks whoever reads them is told.
    fn damaged(&self, snapshot: &Snapshot, pv: PvId, range: TimeRange) -> impl Iterator<Item = Gap> {
        let concerns = |of: &Manifest| of.may_hold(pv) && overlap(of.t0, of.t1, range);
        let given_up = self.lost.iter().filter(|of| concerns(of)).cloned();
        let unread = snapshot.segments.iter().filter(|of| concerns(&of.manifest));
        let unread = unread.filter(|segment| segment.footer().is_err_and(|error| error.is_damage()));
        let unread: Vec<Manifest> = unread.map(|segment| segment.manifest.clone()).chain(given_up).collect();
        unread.into_iter().map(|of| {
            let to = of.t1.saturating_add(Duration::from_nanos(1));
            Gap { from: of.t0, to: Some(to), cause: GapCause::Damaged, lost: 0 }
        })
    }

    /// What there is of a PV at one moment, and what of it is hidden; none if all of it is.
    fn moment(&self, pv: PvId) -> Option<(Arc<Snapshot>, Deletions)> {
        // A purge changes the segments first and then forgets the deletion: what is deleted is never seen in between.
        let registry = self.registry();
        (!registry.is_deleted(pv)).then(|| (self.snapshot(), registry.deletions_of(pv)))
    }
}

/// The greatest number of nanoseconds since 1970 of which all edges within the range are multiples, a day if there are none; none
/// if no level has such stretches. What the ends of the range cut is read anyway.
fn common_width(edges: &[Timestamp], range: TimeRange) -> Option<i64> {
    let mut width = 0u64;
    for edge in edges.iter().filter(|edge| **edge > range.t0 && **edge < range.t1) {
        let mut rest = edge.nanos().unsigned_abs();
        while rest != 0 {
            (width, rest) = (rest, width % rest);
        }
        if !width.is_multiple_of(SHORTEST_STRETCH) {
            return None;
        }
    }
    let width = if width == 0 { LONGEST_STRETCH } else { width };
    i64::try_from(width).ok()
}

//! The copies of shards as a source beside the cluster: whoever reads a PV that is recorded twice reads both, merged as two archivers are
//! that record the same PVs. A node that dies meanwhile is waited for as that of a shard is.

use std::sync::Arc;

use archive::{
    Cost, Extent, GapScope, Key, KeyedBy, PvEntry, PvId, Role, SampleStream, Source, SourceError, StretchStream,
};
use sample::{Gap, GapCause, Metadata, Sample, TimeRange, Timestamp};

use crate::{numbers::split, whole::Whole};

/// What the copies of all shards recorded, by the numbers of the PVs in the cluster.
#[derive(Clone, Debug)]
pub struct CopiesOfShards(Whole);

impl CopiesOfShards {
    /// Of that cluster.
    pub fn of(whole: Whole) -> CopiesOfShards {
        CopiesOfShards(whole)
    }

    /// The number that a PV has in the copy of its shard, and what the list of the copy says of it; none if it was never recorded twice.
    fn twin(&self, key: Key<'_>) -> Option<(PvId, PvEntry)> {
        self.0.board().copied(key.number()?)
    }

    /// What the copy says, if the PV has one there. Of one that nobody has had for long nothing is waited for.
    fn ask<T>(
        &self,
        key: Key<'_>,
        ask: impl FnOnce(&Whole, Key<'_>) -> Result<T, SourceError>,
    ) -> Result<Option<T>, SourceError> {
        let Some((twin, _)) = self.twin(key) else { return Ok(None) };
        self.is_there(twin)?;
        ask(&self.0, Key::Number(twin)).map(Some)
    }

    fn is_there(&self, twin: PvId) -> Result<(), SourceError> {
        let (board, (copy, _)) = (self.0.board(), split(twin));
        if !board.is_lost(copy) {
            return Ok(());
        }
        Err(SourceError { cost: Cost::UntilBack, message: board.nobody_has(copy) })
    }

    fn stream(&self, key: Key<'_>, stream: impl FnOnce(&Whole, Key<'_>) -> SampleStream) -> SampleStream {
        match self.ask(key, |whole, key| Ok(stream(whole, key))) {
            Ok(None) => Box::new(std::iter::empty()),
            Ok(Some(samples)) => samples,
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }
}

impl Source for CopiesOfShards {
    fn name(&self) -> &str {
        "copies of shards"
    }

    fn role(&self) -> Role {
        Role::Copy
    }

    fn keyed_by(&self) -> KeyedBy {
        KeyedBy::Number
    }

    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream {
        self.stream(key, |whole, key| whole.samples(key, range))
    }

    fn samples_of_field(&self, key: Key<'_>, field: &str, range: TimeRange) -> SampleStream {
        self.stream(key, |whole, key| whole.samples_of_field(key, field, range))
    }

    fn stretches(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<StretchStream>, SourceError> {
        Ok(self.ask(key, |whole, key| whole.stretches(key, field, range, edges))?.flatten())
    }

    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        Ok(self.ask(key, |whole, key| whole.last_before(key, time))?.flatten())
    }

    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError> {
        Ok(self.ask(key, |whole, key| whole.extent(key))?.flatten())
    }

    fn metadata(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, SourceError> {
        Ok(self.ask(key, |whole, key| whole.metadata(key, range))?.unwrap_or_default())
    }

    fn gaps(&self, key: Key<'_>, field: Option<&str>, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, SourceError> {
        Ok(self.ask(key, |whole, key| whole.gaps(key, field, range))?.unwrap_or_default())
    }

    /// Its gaps, and the time before it was told to record the PV and had its first sample.
    fn lacks(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
    ) -> Result<Option<Vec<(GapScope, Gap)>>, SourceError> {
        let Some((_, entry)) = self.twin(key) else { return Ok(None) };
        let Some(mut lacks) = self.ask(key, |whole, key| whole.gaps(key, field, range))? else { return Ok(None) };
        let first = self.extent(key)?.map_or(Timestamp::MAX, |extent| extent.first);
        let since = entry.added.min(first);
        let before = Gap { from: Timestamp::MIN, to: Some(since), cause: GapCause::NotArchived, lost: 0 };
        if before.overlaps(range) {
            lacks.push((GapScope::Pv, before));
        }
        Ok(Some(lacks))
    }
}

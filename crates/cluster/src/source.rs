//! The samples of a cluster: those of a shard that is open here from its store, others from the node that has the shard. Should that node
//! die while it answers, the answer goes on at the one that takes the shard, exactly where it broke off, or is told to be broken
//! (`continued`).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use archive::{
    CarriedStream, Cost, Extent, GapScope, Key, KeyedBy, PvId, SampleStream, Source, SourceError, StretchStream,
};
use sample::{Gap, Metadata, Sample, TimeRange, Timestamp};

use crate::{continued, numbers::split, whole::Whole};

/// Who asks for something short waits so long for a shard whose node has died, and is told then.
const SHORT: Duration = Duration::from_secs(2);

/// The number by which a source is asked for a PV: that of the shard here, that of the cluster at another node.
pub(crate) fn asked_for(pv: PvId, is_here: bool) -> PvId {
    if is_here { split(pv).1 } else { pv }
}

impl Whole {
    /// The source that has a PV, and whether it is here; that is waited for, but not for ever.
    pub(crate) fn source_within(&self, pv: PvId, patience: Duration) -> Result<(Arc<dyn Source>, bool), SourceError> {
        if !self.is_here_only {
            return self.board.source_within(pv, patience);
        }
        let (shard, _) = split(pv);
        let open = self.board.open_here(shard).ok_or_else(|| self.board.nobody(shard))?;
        Ok((open.source.clone(), true))
    }

    /// What the source that has a PV answers.
    fn ask<T>(
        &self,
        key: Key<'_>,
        nothing: T,
        ask: impl Fn(&dyn Source, Key<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.ask_where(key, nothing, ask).map(|(answer, _)| answer)
    }

    /// The same, and whether that source is here.
    fn ask_where<T>(
        &self,
        key: Key<'_>,
        nothing: T,
        ask: impl Fn(&dyn Source, Key<'_>) -> Result<T, SourceError>,
    ) -> Result<(T, bool), SourceError> {
        let Some(pv) = key.number() else { return Ok((nothing, true)) };
        let begun = Instant::now();
        loop {
            let (source, is_here) = self.source_within(pv, SHORT)?;
            match ask(&*source, Key::Number(asked_for(pv, is_here))) {
                // The shard has just gone elsewhere.
                Err(error) if error.cost == Cost::UntilBack && !is_here && begun.elapsed() < SHORT => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                answer => return answer.map(|answer| (answer, is_here)),
            }
        }
    }

    /// Flags of PVs, asked shard by shard; what nobody can tell may be.
    fn flags(
        &self,
        pvs: &[PvId],
        ask: impl Fn(&dyn Source, &[PvId]) -> Result<Vec<bool>, SourceError>,
    ) -> Result<Vec<bool>, SourceError> {
        let mut flags = vec![true; pvs.len()];
        for shard in 0..self.board.all() {
            let places: Vec<usize> = (0..pvs.len()).filter(|place| split(pvs[*place]).0 == shard).collect();
            let Some(first) = places.first() else { continue };
            let (source, is_here) = self.source_within(pvs[*first], SHORT)?;
            let asked: Vec<PvId> = places.iter().map(|place| asked_for(pvs[*place], is_here)).collect();
            let found = ask(&*source, &asked)?;
            places.into_iter().zip(found).for_each(|(place, flag)| flags[place] = flag);
        }
        Ok(flags)
    }

    fn asked(&self, pv: PvId, field: Option<&str>, range: TimeRange) -> continued::Asked {
        continued::Asked { whole: self.clone(), pv, field: field.map(str::to_owned), range }
    }

    fn stream(&self, key: Key<'_>, field: Option<&str>, range: TimeRange) -> SampleStream {
        let Some(pv) = key.number() else { return Box::new(std::iter::empty()) };
        Box::new(continued::Samples::of(self.asked(pv, field, range)))
    }
}

impl Source for Whole {
    fn name(&self) -> &str {
        "the cluster"
    }

    fn keyed_by(&self) -> KeyedBy {
        KeyedBy::Number
    }

    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream {
        self.stream(key, None, range)
    }

    fn samples_of_field(&self, key: Key<'_>, field: &str, range: TimeRange) -> SampleStream {
        self.stream(key, Some(field), range)
    }

    fn stretches(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<StretchStream>, SourceError> {
        let begun = self.ask_where(key, None, |source, key| source.stretches(key, field, range, edges))?;
        let ((Some(stream), is_here), Some(pv)) = (begun, key.number()) else { return Ok(None) };
        let pieces = continued::Pieces::of(self.asked(pv, field, range), edges.clone(), (stream, is_here));
        Ok(Some(Box::new(pieces)))
    }

    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        self.ask(key, None, |source, key| source.last_before(key, time))
    }

    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError> {
        self.ask(key, None, |source, key| source.extent(key))
    }

    fn metadata(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, SourceError> {
        self.ask(key, Vec::new(), |source, key| source.metadata(key, range))
    }

    fn gaps(&self, key: Key<'_>, field: Option<&str>, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, SourceError> {
        self.ask(key, Vec::new(), |source, key| source.gaps(key, field, range))
    }

    fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        self.flags(pvs, |source, pvs| Ok(source.may_have_samples(pvs))).unwrap_or_else(|_| vec![true; pvs.len()])
    }

    fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, SourceError> {
        self.flags(pvs, |source, pvs| source.may_have_metadata(pvs))
    }

    fn carried(&self, key: Key<'_>, range: TimeRange, name: Option<&str>) -> CarriedStream {
        let asked = self.ask(key, None, |source, key| Ok(Some(source.carried(key, range, name))));
        match asked {
            Ok(stream) => stream.unwrap_or_else(|| Box::new(std::iter::empty())),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }
}

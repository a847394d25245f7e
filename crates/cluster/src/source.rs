//! The samples of a cluster: those of a shard that is open here from its store, others from the node that has the shard. Should that node
//! die while it answers, the answer goes on at the one that takes the shard, exactly where it broke off, or is told to be broken.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use archive::{
    CarriedStream, Cost, Extent, GapScope, Key, KeyedBy, PvId, SampleStream, Source, SourceError, StretchStream,
};
use sample::{Batch, Gap, Metadata, Sample, TimeRange, Timestamp};

use crate::{board::TAKEN_WITHIN, numbers::split, whole::Whole};

/// Who asks for something short waits so long for a shard whose node has died, and is told then.
const SHORT: Duration = Duration::from_secs(2);

/// The number by which a source is asked for a PV: that of the shard here, that of the cluster at another node.
fn asked_for(pv: PvId, is_here: bool) -> PvId {
    if is_here { split(pv).1 } else { pv }
}

impl Whole {
    /// The source that has a PV, and whether it is here; that is waited for, but not for ever.
    fn source_within(&self, pv: PvId, patience: Duration) -> Result<(Arc<dyn Source>, bool), SourceError> {
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
        let Some(pv) = key.number() else { return Ok(nothing) };
        let begun = Instant::now();
        loop {
            let (source, is_here) = self.source_within(pv, SHORT)?;
            match ask(&*source, Key::Number(asked_for(pv, is_here))) {
                // The shard has just gone elsewhere.
                Err(error) if error.cost == Cost::UntilBack && !is_here && begun.elapsed() < SHORT => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                answer => return answer,
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

    fn stream(&self, key: Key<'_>, field: Option<&str>, range: TimeRange) -> SampleStream {
        let Some(pv) = key.number() else { return Box::new(std::iter::empty()) };
        Box::new(Continued {
            whole: self.clone(),
            pv,
            field: field.map(str::to_owned),
            range,
            stream: None,
            given: Vec::new(),
            skips: false,
            over: false,
        })
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
        // A summary that was given stands for samples that nobody can take back: behind it no other node can go on.
        self.ask(key, None, |source, key| source.stretches(key, field, range, edges))
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

/// Samples that go on at another node when the one that gave them has died.
struct Continued {
    whole: Whole,
    pv: PvId,
    field: Option<String>,
    /// What is still to be given, and what was given of its first moment.
    range: TimeRange,
    stream: Option<(SampleStream, bool)>,
    given: Vec<Sample>,
    /// Samples of the first moment come that were given already.
    skips: bool,
    over: bool,
}

impl Continued {
    fn begin(&mut self) -> Result<(), SourceError> {
        let (source, is_here) = self.whole.source_within(self.pv, TAKEN_WITHIN)?;
        let key = Key::Number(asked_for(self.pv, is_here));
        let stream = match &self.field {
            Some(field) => source.samples_of_field(key, field, self.range),
            None => source.samples(key, self.range),
        };
        self.stream = Some((stream, is_here));
        Ok(())
    }

    /// Takes note of a batch that is given: where another node would have to go on.
    fn note(&mut self, batch: &Batch) {
        let Some(last) = batch.times().last().copied() else { return };
        if self.range.t0 < last || self.given.is_empty() {
            self.given.clear();
            self.range.t0 = last;
        }
        let first = batch.times().partition_point(|time| *time < last);
        self.given.extend((first..batch.len()).map(|row| batch.get(row)));
    }

    /// Without the samples that were given before.
    fn cut(&mut self, batch: Batch) -> Option<Batch> {
        if !self.skips {
            return Some(batch);
        }
        let end = batch.times().partition_point(|time| *time <= self.range.t0);
        self.skips = end == batch.len();
        let is_new = |row: &usize| *row >= end || !self.given.iter().any(|given| given.identical(&batch.get(*row)));
        let rows: Vec<usize> = (0..batch.len()).filter(is_new).collect();
        if rows.len() == batch.len() {
            return Some(batch);
        }
        let mut left = Batch::new(batch.value_type());
        rows.into_iter().for_each(|row| _ = left.extend_from(&batch, row..row + 1));
        (!left.is_empty()).then_some(left)
    }
}

impl Iterator for Continued {
    type Item = Result<Batch, SourceError>;

    fn next(&mut self) -> Option<Result<Batch, SourceError>> {
        let begun = Instant::now();
        while !self.over {
            if self.stream.is_none()
                && let Err(error) = self.begin()
            {
                self.over = true;
                return Some(Err(error));
            }
            let (stream, is_here) = self.stream.as_mut()?;
            match stream.next() {
                None => self.over = true,
                Some(Ok(batch)) => {
                    if let Some(batch) = self.cut(batch) {
                        self.note(&batch);
                        return Some(Ok(batch));
                    }
                }
                Some(Err(error)) if error.cost == Cost::Piece => return Some(Err(error)),
                Some(Err(error)) => {
                    let is_away = error.cost == Cost::UntilBack && !*is_here;
                    if !is_away || begun.elapsed() >= TAKEN_WITHIN {
                        self.over = true;
                        return Some(Err(error));
                    }
                    (self.stream, self.skips) = (None, !self.given.is_empty());
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
        None
    }
}

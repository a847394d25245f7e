//! The samples of a cluster: those of a shard that is open here from its store, others from the node that has the shard. Should that node
//! die while it answers, the answer goes on at the one that takes the shard, exactly where it broke off, or is told to be broken
//! (`continued`). Where nobody has the shard of a PV that is recorded twice, its copy answers, and that is said.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use archive::{
    CarriedStream, Cost, Extent, GapScope, Key, KeyedBy, LeavesOut, PvId, SampleStream, Source, SourceError,
    StretchStream,
};
use sample::{Gap, Metadata, Sample, TimeRange, Timestamp};

use crate::{continued, numbers::split, whole::Whole};

/// Who asks for something short waits so long for a shard whose node has died, and is told then.
const SHORT: Duration = Duration::from_secs(2);
/// How often it is looked whether another node answers.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The number by which a source is asked for a PV: that of the shard here, that of the cluster at another node.
fn asked_for(pv: PvId, is_here: bool) -> PvId {
    if is_here { split(pv).1 } else { pv }
}

/// Where a PV is answered.
pub(crate) struct Place {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) is_here: bool,
    /// Its number in the cluster: that of its shard, or of the copy that stands in for it.
    pv: PvId,
}

impl Place {
    pub(crate) fn key(&self) -> Key<'static> {
        Key::Number(asked_for(self.pv, self.is_here))
    }
}

impl Whole {
    /// Where a PV is answered, which is waited for, but not for ever. If nobody has its shard, or the shard gives no answer for a while,
    /// `failing` since then, its copy stands in where that can be asked, and the answer can say so.
    pub(crate) fn place(&self, pv: PvId, patience: Duration, failing: Option<Instant>) -> Result<Place, SourceError> {
        let begun = Instant::now();
        loop {
            match self.place_now(pv, failing) {
                Err(_) if begun.elapsed() < patience && !self.is_here_only => thread::sleep(LOOK_AGAIN),
                found => return found,
            }
        }
    }

    fn place_now(&self, pv: PvId, failing: Option<Instant>) -> Result<Place, SourceError> {
        if self.is_here_only {
            let (shard, _) = split(pv);
            let open = self.board.open_here(shard).ok_or_else(|| self.board.nobody(shard))?;
            return Ok(Place { source: open.source.clone(), is_here: true, pv });
        }
        match self.board.reached(pv) {
            Ok((source, is_here)) => {
                let is_failing = failing.is_some_and(|since| since.elapsed() >= SHORT);
                let copy = is_failing.then(|| self.stand_in(pv, "the node that has it does not answer")).flatten();
                Ok(copy.unwrap_or(Place { source, is_here, pv }))
            }
            Err(error) => self.stand_in(pv, &error.message).ok_or(error),
        }
    }

    /// The copy of the shard of a PV, if it can be asked in the shard's place and the answer can say so.
    fn stand_in(&self, pv: PvId, why: &str) -> Option<Place> {
        let notes = self.notes.as_ref()?;
        let twin = self.board.twin(pv)?;
        let (source, is_here) = self.board.reached(twin).ok()?;
        let (shard, _) = split(pv);
        let why = format!("{why}; what its copy recorded is told alone");
        let place = Place { source, is_here, pv: twin };
        notes.leave_out(&format!("shard {shard} of the cluster"), &why).then_some(place)
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
        let (begun, mut failing) = (Instant::now(), None);
        loop {
            let is_last = begun.elapsed() >= SHORT;
            let place = self.place(pv, SHORT.saturating_sub(begun.elapsed()), failing)?;
            match ask(&*place.source, place.key()) {
                // The shard has just gone elsewhere.
                Err(error) if error.cost == Cost::UntilBack && !place.is_here && !is_last => {
                    failing = Some(begun);
                    thread::sleep(LOOK_AGAIN);
                }
                answer => return answer.map(|answer| (answer, place.is_here)),
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
            // Of PVs that are recorded twice the copy knows as much, but it is asked for none of the others.
            let shard_alone = self.with(None);
            let Place { source, is_here, .. } = shard_alone.place(pvs[*first], SHORT, None)?;
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

    fn noting(&self, notes: Arc<dyn LeavesOut>) -> Option<Arc<dyn Source>> {
        Some(Arc::new(self.with(Some(notes))))
    }

    fn foresee(&self, key: Key<'_>) {
        if let Some(pv) = key.number()
            && let Err(error) = self.board.reached(pv)
        {
            self.stand_in(pv, &error.message); // which notes it
        }
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

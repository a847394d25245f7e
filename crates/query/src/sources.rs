//! Sources: what queries read, in the order in which they are believed.

use std::sync::Arc;

use archive::{
    CarriedStream, Extent, GapScope, Key, KeyedBy, KnownNames, PvId, PvName, Role, SampleStream, Source, SourceHealth,
};
use sample::{Batch, Gap, Metadata, Sample, TimeRange, Timestamp};

use crate::{
    Error, LeftOut, Series,
    arrivals::{Arrivals, is_arrival},
    copies::{Guard, Notes, Unsaid, in_both},
    merge::{GivenBy, MergedSamples},
};

/// Whatever holds samples. The first is the archive's own, whose numbers PVs have.
#[derive(Clone)]
pub(crate) struct Sources {
    own: Arc<dyn Source>,
    /// Who records the same PVs.
    copies: Arc<[Arc<dyn Source>]>,
    others: Arc<[Arc<dyn Source>]>,
    names: Arc<dyn KnownNames>,
    guard: Guard,
    notes: Option<Arc<Notes>>,
}

/// What is asked for one PV: each source under each key by which it may know it.
pub(crate) struct KeysOf<'a> {
    sources: &'a Sources,
    pv: PvId,
    /// Its names, if a source is there that goes by them.
    names: Vec<PvName>,
}

impl<'a> KeysOf<'a> {
    /// Each source with each key, in the order of belief.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'a Arc<dyn Source>, Key<'_>)> {
        self.own().chain(self.copies()).chain(self.others())
    }

    /// Whoever records the same PVs.
    pub(crate) fn copies(&self) -> impl Iterator<Item = (&'a Arc<dyn Source>, Key<'_>)> {
        self.sources.copies.iter().flat_map(|source| self.keys(source).map(move |key| (source, key)))
    }

    /// The archive's own.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&'a Arc<dyn Source>, Key<'_>)> {
        let own = &self.sources.own;
        self.keys(own).map(move |key| (own, key))
    }

    /// The others.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&'a Arc<dyn Source>, Key<'_>)> {
        self.sources.others.iter().flat_map(|source| self.keys(source).map(move |key| (source, key)))
    }

    fn keys(&self, source: &Arc<dyn Source>) -> impl Iterator<Item = Key<'_>> + use<'_, 'a> {
        let (number, names) = match source.keyed_by() {
            KeyedBy::Number => (Some(Key::Number(self.pv)), &[][..]),
            KeyedBy::Name => (None, self.names.as_slice()),
        };
        number.into_iter().chain(names.iter().map(Key::Name))
    }
}

impl Sources {
    pub(crate) fn new(own: Arc<dyn Source>, names: Arc<dyn KnownNames>) -> Sources {
        let (copies, others): (Arc<[_]>, Arc<[_]>) = (Arc::new([]), Arc::new([]));
        Sources { own, copies, others, names, guard: Guard::default(), notes: None }
    }

    pub(crate) fn with(self, others: Vec<Arc<dyn Source>>) -> Sources {
        let (copies, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|source| source.role() == Role::Copy);
        Sources { copies: copies.into(), others: others.into(), ..self }
    }

    /// The archive's own alone.
    pub(crate) fn alone(&self) -> Sources {
        Sources { copies: Arc::new([]), ..self.recorders() }
    }

    /// The archive's own, and whoever records the same PVs.
    pub(crate) fn recorders(&self) -> Sources {
        Sources { others: Arc::new([]), ..self.clone() }
    }

    /// The same for one answer, for which it is noted which copies were left out.
    pub(crate) fn noting(&self) -> Sources {
        if self.copies.is_empty() {
            return self.clone();
        }
        let notes = Arc::new(Notes::default());
        // Parts of an answer may be made when it is too late to say anything: what is known now is said.
        for copy in &*self.copies {
            if let Some(why) = copy.away() {
                notes.leave_copy_out(copy.name(), &why);
            }
        }
        let own = self.own.noting(notes.clone()).unwrap_or_else(|| self.own.clone());
        Sources { own, guard: Guard::noting(Arc::clone(&notes)), notes: Some(notes), ..self.clone() }
    }

    /// These sources, where whatever cannot be asked is left out and nobody is told.
    pub(crate) fn unsaid(&self) -> Sources {
        let own = self.own.noting(Arc::new(Unsaid)).unwrap_or_else(|| self.own.clone());
        Sources { own, ..self.clone() }
    }

    /// Announces that the answer will contain a PV.
    pub(crate) fn foresee(&self, pv: PvId) {
        // What goes by names leaves nothing out, and names are not looked for in vain.
        if self.own.keyed_by() == KeyedBy::Number {
            self.own.foresee(Key::Number(pv));
        }
    }

    /// Which copies were left out; no further ones will be.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        self.notes.as_ref().map(|notes| notes.say()).unwrap_or_default()
    }

    /// Each copy, with why it is away if it is.
    pub(crate) fn copies(&self) -> Vec<(String, Option<String>)> {
        self.copies.iter().map(|copy| (copy.name().to_owned(), copy.away())).collect()
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The samples of a series that one source has, and what kind of source it is.
    pub(crate) fn stream(
        &self,
        (source, key): (&Arc<dyn Source>, Key<'_>),
        series: &Series,
        range: TimeRange,
    ) -> (GivenBy, SampleStream) {
        if source.role() == Role::Copy {
            return (
                GivenBy::Recorder,
                Box::new(self.guard.stream(&**source, || samples_of(&**source, key, series, range))),
            );
        }
        let is_own = Arc::ptr_eq(source, &self.own);
        (if is_own { GivenBy::Recorder } else { GivenBy::Other }, samples_of(&**source, key, series, range))
    }

    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    pub(crate) fn asked(&self, pv: PvId) -> KeysOf<'_> {
        let by_name = |source: &Arc<dyn Source>| source.keyed_by() == KeyedBy::Name;
        let is_wanted = self.copies.iter().chain(&*self.others).any(by_name) || by_name(&self.own);
        KeysOf { sources: self, pv, names: if is_wanted { self.names.names_of(pv) } else { Vec::new() } }
    }

    /// The samples of all in order of time, each once. What the archive's own source has alone is passed on as it comes.
    pub(crate) fn samples(&self, series: &Series, range: TimeRange) -> Within {
        let asked = self.asked(series.pv);
        let of = |asked| self.stream(asked, series, range);
        let mut others = MergedSamples::of(asked.copies().chain(asked.others()).map(of));
        let is_alone = !others.has_any();
        let mut own: Vec<(GivenBy, SampleStream)> = asked.own().map(of).collect();
        match own.pop() {
            Some((_, only)) if is_alone && own.is_empty() => Within::One(only),
            last => Within::Merged(Box::new(others.behind(own.into_iter().chain(last)))),
        }
    }

    /// The newest of all; of equal times that of the first source. What one cannot read matters if no other has any.
    pub(crate) fn last_before(&self, pv: PvId, time: Timestamp) -> Result<Option<Sample>, Error> {
        let (mut newest, mut damage): (Option<Sample>, _) = (None, None);
        for (source, key) in self.asked(pv).each() {
            match self.ask(source, || source.last_before(key, time)).map(Option::flatten) {
                Ok(Some(sample)) if newest.as_ref().is_none_or(|newest| newest.time < sample.time) => {
                    newest = Some(sample);
                }
                Ok(_) => {}
                Err(error) if error.is_damage() => damage = damage.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match (newest, damage) {
            (None, Some(error)) => Err(error),
            // Of one update the recorder tells that heard of it first.
            (Some(newest), _) if !self.copies.is_empty() && is_arrival(&newest) => self.merged_last(pv, newest),
            (newest, _) => Ok(newest),
        }
    }

    /// The last of all samples up to that of one sample, as the merge gives it.
    fn merged_last(&self, pv: PvId, newest: Sample) -> Result<Option<Sample>, Error> {
        let behind = Timestamp::from_nanos(newest.time.nanos().saturating_add(1));
        let range = TimeRange { t0: Arrivals::begin_for(newest.time), t1: behind };
        let mut last = Some(newest);
        for batch in self.samples(&pv.into(), range) {
            match batch {
                Ok(batch) if !batch.is_empty() => last = Some(batch.get(batch.len() - 1)),
                Ok(_) => {}
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(last)
    }

    /// What a source answers; none if it is a copy without which the answer goes on.
    fn ask<T>(
        &self,
        source: &Arc<dyn Source>,
        ask: impl FnOnce() -> Result<T, archive::SourceError>,
    ) -> Result<Option<T>, Error> {
        match source.role() {
            Role::Copy => self.guard.or_without(&**source, ask),
            Role::Other => ask().map(Some).map_err(Error::from),
        }
    }

    /// What the archive's own source knows, and what is known elsewhere of the time before.
    pub(crate) fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        let asked = self.asked(pv);
        let mut history = Vec::new();
        for (source, key) in asked.own() {
            history.extend(source.metadata(key, range)?);
        }
        let begins = history.first().map(|(since, _)| *since);
        if begins.is_none_or(|begins| begins > range.t0) {
            let earlier = TimeRange { t1: begins.unwrap_or(range.t1), ..range };
            let mut newest: Vec<(Timestamp, Metadata)> = Vec::new();
            for (source, key) in asked.copies().chain(asked.others()) {
                let found = self.ask(source, || source.metadata(key, earlier))?.unwrap_or_default();
                if found.last().map(|(since, _)| *since) > newest.last().map(|(since, _)| *since) {
                    newest = found;
                }
            }
            history.splice(0..0, newest);
        }
        Ok(history)
    }

    /// The gaps that any source tells of, by beginning; what two tell alike once. A gap that a copy does not have is none.
    pub(crate) fn gaps(&self, series: &Series, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        let (asked, field) = (self.asked(series.pv), series.field.as_deref());
        let mut gaps = Vec::new();
        for (source, key) in asked.own() {
            gaps.extend(source.gaps(key, field, range)?);
        }
        for (source, key) in asked.copies() {
            if gaps.is_empty() {
                break;
            }
            if let Some(mut lacks) = self.ask(source, || source.lacks(key, field, range))?.flatten() {
                gaps = in_both(&gaps, &mut lacks);
            }
        }
        let mut told = Vec::new();
        for (source, key) in asked.others() {
            told.extend(source.gaps(key, field, range)?);
        }
        if !told.is_empty() {
            told.sort_by_key(|(_, gap)| (gap.from, gap.to));
            told.dedup();
            gaps.extend(told);
            gaps.sort_by_key(|(_, gap)| gap.from);
        }
        Ok(gaps)
    }

    /// From and to when any source has samples.
    pub(crate) fn extent(&self, pv: PvId) -> Result<Option<Extent>, Error> {
        let mut extent: Option<Extent> = None;
        for (source, key) in self.asked(pv).each() {
            if let Some(found) = self.extent_in(source, key)? {
                extent = Some(extent.map_or(found, |extent| extent.with(found)));
            }
        }
        Ok(extent)
    }

    /// The same in one source.
    pub(crate) fn extent_in(&self, source: &Arc<dyn Source>, key: Key<'_>) -> Result<Option<Extent>, Error> {
        Ok(self.ask(source, || source.extent(key))?.flatten())
    }

    /// What samples carry besides values, of each source but copies, who hear nothing but what this archive hears.
    pub(crate) fn carried(&self, pv: PvId, range: TimeRange, name: Option<&str>) -> Vec<CarriedStream> {
        let asked = self.asked(pv);
        asked.own().chain(asked.others()).map(|(source, key)| source.carried(key, range, name)).collect()
    }

    /// What the first header of a range says.
    pub(crate) fn headers(&self, pv: PvId, range: TimeRange) -> Result<Vec<(String, String)>, Error> {
        let asked = self.asked(pv);
        for (source, key) in asked.own().chain(asked.others()) {
            let headers = source.headers(key, range)?;
            if !headers.is_empty() {
                return Ok(headers);
            }
        }
        Ok(Vec::new())
    }

    pub(crate) fn configuration(&self, pv: PvId) -> Option<String> {
        let asked = self.asked(pv);
        asked.own().chain(asked.others()).find_map(|(source, key)| source.configuration(key))
    }

    pub(crate) fn health(&self) -> Vec<SourceHealth> {
        std::iter::once(&self.own).chain(&*self.others).filter_map(|source| source.health()).collect()
    }

    /// Copies are not asked: lists wait for no network, and what a copy has of a PV this archive has too, or will.
    pub(crate) fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        let mut may_have = self.own.may_have_samples(pvs);
        self.others.iter().for_each(|other| add(&mut may_have, other.may_have_samples(pvs)));
        may_have
    }

    pub(crate) fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, Error> {
        let mut may_have = self.own.may_have_metadata(pvs)?;
        for other in &*self.others {
            add(&mut may_have, other.may_have_metadata(pvs)?);
        }
        Ok(may_have)
    }
}

fn add(may_have: &mut [bool], others: Vec<bool>) {
    may_have.iter_mut().zip(others).for_each(|(may_have, other)| *may_have |= other);
}

/// Where samples come from.
pub(crate) enum Within {
    One(SampleStream),
    Merged(Box<MergedSamples>),
}

impl Iterator for Within {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        match self {
            Within::One(samples) => Some(samples.next()?.map_err(Error::from)),
            Within::Merged(merged) => merged.next(),
        }
    }
}

/// The samples of a series that one source has.
pub(crate) fn samples_of(source: &dyn Source, key: Key<'_>, series: &Series, range: TimeRange) -> SampleStream {
    match &series.field {
        Some(path) => source.samples_of_field(key, path, range),
        None => source.samples(key, range),
    }
}

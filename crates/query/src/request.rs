//! A request for samples, and the one type that answers requests.

use std::{fmt, sync::Arc};

use archive::{OldArchive, OldError, OldHealth, PvId};
use sample::{Batch, Gap, Metadata, Sample, TimeRange, Timestamp};
use store::{GapScope, Stretch};

use crate::{
    Bins, Operator, Ranges, Reduced, Span,
    ahead::Ahead,
    edges,
    fields::FieldSamples,
    losses::Losses,
    old::{Fields, Merged, Old, Stretches},
    operators,
    tally::Held,
};

/// The most bins that one request may ask for: a few for each pixel of the widest screen.
const BINS_MAX: usize = 100_000;

/// Whether the sample in force at the beginning of a range is wanted too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Only samples within the range.
    None,
    /// The last sample at or before the range's beginning comes first: the value that still holds there.
    Include,
}

/// How a range is cut into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Into so many bins of equal length, to the nanosecond.
    Equal(usize),
    /// Into at most so many bins that begin at multiples of a round length since 1970 and reach beyond the range at both ends.
    /// Whoever asks for neighbouring ranges gets the same bins, and the store answers from rows of its levels.
    Aligned(usize),
}

/// Whose samples: a PV's, or those of one field where its values are structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The PV.
    pub pv: PvId,
    /// The names of the fields that lead to the one that is wanted, with dots between them; none for whole values.
    pub field: Option<Arc<str>>,
}

impl From<PvId> for Series {
    fn from(pv: PvId) -> Series {
        Series { pv, field: None }
    }
}

impl Series {
    pub(crate) fn samples(&self, reader: &store::Reader, range: TimeRange) -> store::Samples {
        let whole = reader.samples(self.pv, range);
        match &self.field {
            Some(path) => whole.of_field(path),
            None => whole,
        }
    }

    pub(crate) fn stretches(
        &self,
        reader: &store::Reader,
        range: TimeRange,
        edges: Arc<[Timestamp]>,
    ) -> store::Stretches {
        let whole = reader.stretches(self.pv, range, edges);
        match &self.field {
            Some(path) => whole.of_field(path),
            None => whole,
        }
    }

    /// The newest sample at or before `time`; of a field none if that sample does not have it.
    fn last_before(&self, reader: &store::Reader, time: Timestamp) -> Result<Option<Sample>, Error> {
        let whole = reader.last_before(self.pv, time)?;
        Ok(match &self.field {
            Some(path) => whole.and_then(|sample| store::field_of(&sample, path)),
            None => whole,
        })
    }
}

/// Which samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose.
    pub series: Series,
    /// From when to when.
    pub range: TimeRange,
    /// Whether the one before belongs to the answer.
    pub before: Before,
}

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub enum Error {
    /// The store could not read.
    Store(store::Error),
    /// An old archive could not be read.
    Old(OldError),
    /// Bins that nobody can draw, or none at all.
    BinCount {
        /// How many were asked for.
        count: usize,
    },
    /// So few aligned bins cannot cover the range.
    TooFewBins {
        /// How many were asked for.
        count: usize,
    },
    /// A bin that holds more samples than its operator can deal with in sensible time.
    TooManySamples {
        /// How many it can deal with.
        max: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store(error) => write!(f, "{error}"),
            Error::Old(error) => write!(f, "{error}"),
            Error::BinCount { count } => write!(f, "{count} bins were asked for, 1 to {BINS_MAX} are possible"),
            Error::TooFewBins { count } => write!(
                f,
                "no {count} aligned bins cover the range, because it crosses 1970 or is too long; ask for more, or a shorter range"
            ),
            Error::TooManySamples { max } => {
                write!(
                    f,
                    "a bin holds more than {max} samples, which this operator cannot deal with; choose shorter bins"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(error) => Some(error),
            Error::Old(error) => Some(error),
            Error::BinCount { .. } | Error::TooFewBins { .. } | Error::TooManySamples { .. } => None,
        }
    }
}

impl Error {
    /// Whether it costs a block, a segment or an old archive only, so that the rest of the answer can be had.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Old(_)) || matches!(self, Error::Store(error) if error.is_damage())
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::Store(error)
    }
}

impl From<OldError> for Error {
    fn from(error: OldError) -> Error {
        Error::Old(error)
    }
}

/// Answers requests from what the store holds, and old archives beside it.
#[derive(Clone)]
pub struct Query {
    reader: store::Reader,
    old: Old,
}

impl Query {
    /// Answers from this store.
    pub fn over(reader: store::Reader) -> Query {
        Query { reader, old: Old::default() }
    }

    /// And from old archives. They know PVs by name, so each of their PVs must be in the store's list, if only as a paused one.
    pub fn with_old(self, archives: Vec<Arc<dyn OldArchive>>) -> Query {
        Query { old: Old::new(archives), ..self }
    }

    /// Whether old archives are read too.
    pub fn has_old(&self) -> bool {
        !self.old.is_empty()
    }

    /// How the old archives are doing.
    pub fn old_health(&self) -> Vec<OldHealth> {
        self.old.health()
    }

    /// The samples in order of time. Identical repeats are left out, different samples of equal time stay in order of arrival.
    pub fn samples(&self, request: &Request) -> Samples {
        let within = match self.old.merged(&self.reader, &request.series, request.range) {
            Some(merged) => Within::Merged(Box::new(merged)),
            None => Within::Own(Box::new(request.series.samples(&self.reader, request.range))),
        };
        let before = (request.before == Before::Include).then(|| request.clone());
        Samples { query: self.clone(), before, within, skips_damage: false }
    }

    /// The samples of a span, both ends included, reduced by an operator: from summaries where these are all it needs.
    pub fn reduced(&self, pv: PvId, span: Span, asked: &Operator) -> Result<Reduced, Error> {
        let range = TimeRange { t0: span.from, t1: span.after() };
        if let Some(operator) = asked.of_summaries(span) {
            let before = self.last_before(&pv.into(), span.from)?.filter(|sample| !range.contains(sample.time));
            if !self.has_samples(pv, range, operator.enough.saturating_sub(before.is_some().into()))? {
                return self.reduced_together(pv, &[span], span, asked);
            }
            let stretches = self.stretches(&pv.into(), range, operator.edges(span))?;
            let losses = self.losses(pv, range, asked)?;
            return Ok(Reduced::of_stretches(before, stretches, losses, operator, span));
        }
        self.reduced_together(pv, &[span], span, asked)
    }

    /// The samples of several spans, each with the one before it, reduced as if they were one from the first beginning to the
    /// last end, which is `whole`.
    pub fn reduced_together(
        &self,
        pv: PvId,
        spans: &[Span],
        whole: Span,
        operator: &Operator,
    ) -> Result<Reduced, Error> {
        let within = |span: &Span| {
            let range = TimeRange { t0: span.from, t1: span.after() };
            self.samples(&Request { series: pv.into(), range, before: Before::Include }).skipping_damage()
        };
        let losses = self.losses(pv, TimeRange { t0: whole.from, t1: whole.after() }, operator)?;
        Ok(Reduced::new(Ranges::new(spans.iter().map(within).collect()), losses, operator, whole))
    }

    /// The losses of a range, if they matter to an operator: old archives are read through for them.
    fn losses(&self, pv: PvId, range: TimeRange, operator: &Operator) -> Result<Losses, Error> {
        if !operator.looks_at_losses() {
            return Ok(Losses::default());
        }
        let own = self.reader.gaps(pv, range)?.into_iter().map(|(_, gap)| gap).collect::<Vec<_>>();
        Ok(Losses::new(own, self.fields(pv, range, Some("cnxregainedepsecs"))))
    }

    /// Whether there are so many samples with a number.
    fn has_samples(&self, pv: PvId, range: TimeRange, enough: u64) -> Result<bool, Error> {
        if enough == 0 {
            return Ok(true);
        }
        let mut count = 0;
        let mut stretches = self.stretches(&pv.into(), range, [range.t0, range.t1].into())?;
        while count < enough {
            match stretches.next().transpose() {
                Ok(None) => return Ok(false),
                Ok(Some(Stretch::Summary(summary))) => count += summary.count,
                Ok(Some(Stretch::Samples(batch))) => {
                    let numbers = (0..batch.len()).filter(|row| operators::number(&batch.values().get(*row)).is_some());
                    count += numbers.count() as u64;
                }
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The newest sample at or before `time`.
    pub fn last_before(&self, series: &Series, time: Timestamp) -> Result<Option<Sample>, Error> {
        let own = series.last_before(&self.reader, time)?;
        let old = match self.old.last_before(&self.reader, series, time) {
            Err(error) if own.is_some() && error.is_damage() => None,
            old => old?,
        };
        Ok(match (own, old) {
            (Some(own), Some(old)) => Some(if old.time > own.time { old } else { own }),
            (own, old) => own.or(old),
        })
    }

    fn stretches(&self, series: &Series, range: TimeRange, edges: Arc<[Timestamp]>) -> Result<Stretches, Error> {
        Stretches::of(&self.old, &self.reader, series, range, edges)
    }

    /// The metadata in force at the beginning of `range`, then each change within it that the store knows of.
    pub fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        let mut history = self.reader.metadata(pv, range)?;
        if history.first().is_none_or(|(since, _)| *since > range.t0) {
            let old = self.old.metadata(&self.reader, pv, history.first().map_or(range.t1, |(since, _)| *since))?;
            history.splice(0..0, old);
        }
        Ok(history)
    }

    /// What samples of old archives carry besides values, in order of time.
    pub fn fields(&self, pv: PvId, range: TimeRange, name: Option<&str>) -> Fields {
        self.old.fields(&self.reader, pv, range, name)
    }

    /// What the header of an old archive's file says of a PV in a range, as it stands there.
    pub fn headers(&self, pv: PvId, range: TimeRange) -> Result<Vec<(String, String)>, Error> {
        self.old.headers(&self.reader, pv, range)
    }

    /// How another archiver was told to archive a PV, in its own words.
    pub fn configuration(&self, pv: PvId) -> Option<String> {
        self.old.configuration(&self.reader, pv)
    }

    /// What a field of a PV's record said: each time that a sample of an old archive carries it, and each time that metadata
    /// came to the store.
    pub fn field_samples(&self, pv: PvId, range: TimeRange, name: &str) -> Result<FieldSamples, Error> {
        let own = self.reader.metadata(pv, range)?;
        Ok(FieldSamples::new(name, self.fields(pv, range, Some(name)), own))
    }

    /// The gaps of a PV, or of a field of it, and of the archiver that overlap `range`, by beginning.
    pub fn gaps(&self, series: &Series, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        let mut gaps = match &series.field {
            Some(path) => self.reader.gaps_of_field(series.pv, path, range)?,
            None => self.reader.gaps(series.pv, range)?,
        };
        let old = self.old.gaps(&self.reader, series.pv, range)?;
        if !old.is_empty() {
            gaps.extend(old.into_iter().map(|gap| (GapScope::Pv, gap)));
            gaps.sort_by_key(|(_, gap)| gap.from);
        }
        Ok(gaps)
    }

    /// Of which of these PVs there may be samples; of the others there are none.
    pub fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        if self.old.is_empty() { self.reader.may_have_samples(pvs) } else { vec![true; pvs.len()] }
    }

    /// Of which of these PVs there may be metadata; of the others there is none.
    pub fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, Error> {
        if self.old.is_empty() { Ok(self.reader.have_metadata(pvs)?) } else { Ok(vec![true; pvs.len()]) }
    }

    /// The first and last time of a PV's samples, and the number of those in the store, in which repeats may be counted.
    pub fn extent(&self, pv: PvId) -> Result<Option<(Timestamp, Timestamp, u64)>, Error> {
        let (own, old) = (self.reader.extent(pv), self.old.extent(&self.reader, pv)?);
        let old = old.map(|(t0, t1)| (t0, t1, 0));
        Ok(own.into_iter().chain(old).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2)))
    }

    /// The range cut into bins, with what the samples in each amount to.
    pub fn bins(&self, series: impl Into<Series>, range: TimeRange, cut: Cut) -> Result<Bins, Error> {
        let series = series.into();
        let (Cut::Equal(count) | Cut::Aligned(count)) = cut;
        if count == 0 || count > BINS_MAX {
            return Err(Error::BinCount { count });
        }
        let edges: Arc<[Timestamp]> = match cut {
            Cut::Equal(count) => edges::between(range, count),
            Cut::Aligned(count) => edges::aligned(range, count).ok_or(Error::TooFewBins { count })?,
        };
        Ok(self.bins_between(series.clone(), edges)?.made_by(Ahead::new(self.clone(), series)))
    }

    /// Those between neighbouring edges.
    pub(crate) fn bins_between(&self, series: Series, edges: Arc<[Timestamp]>) -> Result<Bins, Error> {
        let range = TimeRange { t0: edges[0], t1: edges[edges.len() - 1] };
        let before = match range.t0.nanos().checked_sub(1) {
            Some(before) => self.last_before(&series, Timestamp::from_nanos(before))?,
            None => None,
        };
        let held = before.and_then(|sample| Held::of(sample.time, sample.value.as_f64()));
        let stretches = self.stretches(&series, range, Arc::clone(&edges))?;
        Ok(Bins::new(stretches, edges, held))
    }
}

/// The samples that a request asks for. Where a block is damaged there is an error in place of its samples, and the next item
/// goes on behind it.
pub struct Samples {
    query: Query,
    before: Option<Request>,
    within: Within,
    skips_damage: bool,
}

/// Where samples come from.
enum Within {
    Own(Box<store::Samples>),
    Merged(Box<Merged>),
}

impl Within {
    fn next(&mut self) -> Option<Result<Batch, Error>> {
        match self {
            Within::Own(samples) => samples.next().map(|batch| batch.map_err(Error::from)),
            Within::Merged(samples) => samples.next(),
        }
    }
}

impl Samples {
    /// Without damaged blocks, for formats that have no place to tell of them. The store has logged and counted each.
    pub fn skipping_damage(self) -> Samples {
        Samples { skips_damage: true, ..self }
    }

    /// The sample in force at the beginning, unless the range holds it anyway.
    fn first(&self, request: &Request) -> Result<Option<Batch>, Error> {
        let sample = self.query.last_before(&request.series, request.range.t0)?;
        Ok(sample.filter(|sample| !request.range.contains(sample.time)).map(|sample| Batch::of(&sample)))
    }
}

impl Iterator for Samples {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        if let Some(request) = self.before.take()
            && let Some(first) = self.first(&request).transpose()
        {
            return Some(first);
        }
        loop {
            match self.within.next()? {
                Err(error) if self.skips_damage && error.is_damage() => {}
                item => return Some(item),
            }
        }
    }
}

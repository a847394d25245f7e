//! A request for samples, and the one type that answers requests.

use std::{fmt, sync::Arc};

use sample::{Batch, PvId, Sample, TimeRange, Timestamp};
use store::Stretch;

use crate::{Bins, Operator, Ranges, Reduced, Span, edges, operators, tally::Held};

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
    fn samples(&self, reader: &store::Reader, range: TimeRange) -> store::Samples {
        let whole = reader.samples(self.pv, range);
        match &self.field {
            Some(path) => whole.of_field(path),
            None => whole,
        }
    }

    fn stretches(&self, reader: &store::Reader, range: TimeRange, edges: Arc<[Timestamp]>) -> store::Stretches {
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
            Error::BinCount { .. } | Error::TooFewBins { .. } | Error::TooManySamples { .. } => None,
        }
    }
}

impl Error {
    /// Whether it costs a block or a segment only, so that the rest of the answer can be had.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Store(store::Error::CorruptBlock { .. } | store::Error::CorruptSegment { .. }))
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::Store(error)
    }
}

/// Answers requests from what the store holds.
#[derive(Clone)]
pub struct Query {
    reader: store::Reader,
}

impl Query {
    /// Answers from this store.
    pub fn over(reader: store::Reader) -> Query {
        Query { reader }
    }

    /// The samples in order of time. Identical repeats are left out, different samples of equal time stay in order of arrival.
    pub fn samples(&self, request: &Request) -> Samples {
        Samples {
            reader: self.reader.clone(),
            before: (request.before == Before::Include).then(|| request.clone()),
            within: request.series.samples(&self.reader, request.range),
            skips_damage: false,
        }
    }

    /// The samples of a span, both ends included, reduced by an operator: from summaries where these are all it needs.
    pub fn reduced(&self, pv: PvId, span: Span, operator: &Operator) -> Result<Reduced, Error> {
        let range = TimeRange { t0: span.from, t1: span.after() };
        if let Some(operator) = operator.of_summaries(span)
            && self.has_samples(pv, range, operator.enough)?
        {
            let before = self.last_before(&pv.into(), span.from)?.filter(|sample| !range.contains(sample.time));
            let stretches = self.reader.stretches(pv, range, operator.edges(span));
            return Ok(Reduced::of_stretches(before, stretches, operator, span));
        }
        Ok(self.reduced_together(pv, &[span], span, operator))
    }

    /// The samples of several spans, each with the one before it, reduced as if they were one from the first beginning to the
    /// last end, which is `whole`.
    pub fn reduced_together(&self, pv: PvId, spans: &[Span], whole: Span, operator: &Operator) -> Reduced {
        let within = |span: &Span| {
            let range = TimeRange { t0: span.from, t1: span.after() };
            self.samples(&Request { series: pv.into(), range, before: Before::Include }).skipping_damage()
        };
        Reduced::new(Ranges::new(spans.iter().map(within).collect()), operator, whole)
    }

    /// Whether there are so many samples with a number.
    fn has_samples(&self, pv: PvId, range: TimeRange, enough: u64) -> Result<bool, Error> {
        let mut count = 0;
        let mut stretches = self.reader.stretches(pv, range, [range.t0, range.t1].into());
        while count < enough {
            match stretches.next().transpose().map_err(Error::from) {
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
        series.last_before(&self.reader, time)
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
        let range = TimeRange { t0: edges[0], t1: edges[edges.len() - 1] };
        let before = match range.t0.nanos().checked_sub(1) {
            Some(before) => series.last_before(&self.reader, Timestamp::from_nanos(before))?,
            None => None,
        };
        let held = before.and_then(|sample| Held::of(sample.time, sample.value.as_f64()));
        Ok(Bins::new(series.stretches(&self.reader, range, Arc::clone(&edges)), edges, held))
    }
}

/// The samples that a request asks for. Where a block is damaged there is an error in place of its samples, and the next item
/// goes on behind it.
pub struct Samples {
    reader: store::Reader,
    before: Option<Request>,
    within: store::Samples,
    skips_damage: bool,
}

impl Samples {
    /// Without damaged blocks, for formats that have no place to tell of them. The store has logged and counted each.
    pub fn skipping_damage(self) -> Samples {
        Samples { skips_damage: true, ..self }
    }

    /// The sample in force at the beginning, unless the range holds it anyway.
    fn first(&self, request: &Request) -> Result<Option<Batch>, Error> {
        let sample = request.series.last_before(&self.reader, request.range.t0)?;
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
            match self.within.next()?.map_err(Error::from) {
                Err(error) if self.skips_damage && error.is_damage() => {}
                item => return Some(item),
            }
        }
    }
}

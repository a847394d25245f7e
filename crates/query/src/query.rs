//! The query: the one type that answers requests.

use std::sync::Arc;

use archive::{Extent, GapScope, KnownNames, PvId, Source, SourceHealth, structure::field_of};
use sample::{Batch, Gap, Metadata, Sample, Stretch, TimeRange, Timestamp};

use crate::{
    ArrayBins, Before, Bins, Cut, ELEMENTS_MAX, Error, LeftOut, Operator, Ranges, Reduced, Request, Series, Span,
    ahead::Ahead,
    carried::AllCarried,
    edges,
    error::BINS_MAX,
    fields::FieldSamples,
    losses::Losses,
    operators,
    sources::{Sources, Within},
    stretches::Stretches,
    tally::Held,
};

/// Answers requests from what sources hold.
#[derive(Clone)]
pub struct Query {
    sources: Sources,
}

impl Query {
    /// Answers from the archive's own source, which knows what PVs are called elsewhere.
    pub fn over(own: impl Source + KnownNames + Clone + 'static) -> Query {
        Query { sources: Sources::new(Arc::new(own.clone()), Arc::new(own)) }
    }

    /// And from others. Those that know PVs by name are asked for PVs of this archive's list only.
    pub fn with(self, others: Vec<Arc<dyn Source>>) -> Query {
        Query { sources: self.sources.with(others) }
    }

    /// The same without the others.
    pub fn alone(&self) -> Query {
        Query { sources: self.sources.alone() }
    }

    /// This query for rows and live updates, which never claim to be complete: it leaves out parts that cannot be asked, and tells nobody.
    pub fn unsaid(&self) -> Query {
        Query { sources: self.sources.unsaid() }
    }

    /// The same without what others recorded by themselves: the archive's own, and whoever records the same PVs.
    pub fn recorders(&self) -> Query {
        Query { sources: self.sources.recorders() }
    }

    /// The same for one answer, whoever makes which part of it: it is noted which copies it was made without.
    pub fn noting(&self) -> Query {
        Query { sources: self.sources.noting() }
    }

    /// Announces that the answer will contain a PV, so that what has to be left out of it is noted before `left_out` says so.
    pub fn foresee(&self, pv: PvId) {
        self.sources.foresee(pv);
    }

    /// Without which copies the answer is made. It is said now, so none may be left out from here on: if one fails, so does the answer.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.sources.left_out()
    }

    /// Each copy, with why it is away if it is.
    pub fn copies(&self) -> Vec<(String, Option<String>)> {
        self.sources.copies()
    }

    /// Whether there are other sources than the archive's own.
    pub fn has_others(&self) -> bool {
        self.sources.has_others()
    }

    /// How the sources are doing that have something to tell of it.
    pub fn health(&self) -> Vec<SourceHealth> {
        self.sources.health()
    }

    /// The samples in order of time. Identical repeats are left out, different samples of equal time stay in order of arrival.
    pub fn samples(&self, request: &Request) -> Samples {
        let within = self.sources.samples(&request.series, request.range);
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

    /// The losses of a range, if they matter to an operator: files of other archivers are read through for them.
    fn losses(&self, pv: PvId, range: TimeRange, operator: &Operator) -> Result<Losses, Error> {
        if !operator.looks_at_losses() {
            return Ok(Losses::default());
        }
        // Gaps of the others are made of what is carried, which tells the sample that came first.
        let own = self.recorders().gaps(&pv.into(), range)?.into_iter().map(|(_, gap)| gap);
        Ok(Losses::new(own, self.carried(pv, range, Some("cnxregainedepsecs"))))
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
        let whole = self.sources.last_before(series.pv, time)?;
        Ok(match &series.field {
            Some(path) => whole.and_then(|sample| field_of(&sample, path)),
            None => whole,
        })
    }

    /// Summaries and samples of a range in order of time. No edge cuts what a summary tells of.
    pub fn stretches(&self, series: &Series, range: TimeRange, edges: Arc<[Timestamp]>) -> Result<Stretches, Error> {
        Stretches::of(&self.sources, series, range, edges)
    }

    /// The metadata in force at the beginning of `range`, then each change within it that the archive's own source knows of.
    pub fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        self.sources.metadata(pv, range)
    }

    /// What samples carry besides values, in order of time.
    pub fn carried(&self, pv: PvId, range: TimeRange, name: Option<&str>) -> AllCarried {
        AllCarried::new(self.sources.carried(pv, range, name))
    }

    /// What the header of another archiver's file says of a PV in a range, as it stands there.
    pub fn headers(&self, pv: PvId, range: TimeRange) -> Result<Vec<(String, String)>, Error> {
        self.sources.headers(pv, range)
    }

    /// How another archiver was told to archive a PV, in its own words.
    pub fn configuration(&self, pv: PvId) -> Option<String> {
        self.sources.configuration(pv)
    }

    /// What a field of a PV's record said: each time that a sample carries it, and each time that metadata
    /// came to the archive.
    pub fn field_samples(&self, pv: PvId, range: TimeRange, name: &str) -> Result<FieldSamples, Error> {
        let own = self.alone().metadata(pv, range)?;
        Ok(FieldSamples::new(name, self.carried(pv, range, Some(name)), own))
    }

    /// The gaps of a PV, or of a field of it, and of the archiver that overlap `range`, by beginning.
    pub fn gaps(&self, series: &Series, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        self.sources.gaps(series, range)
    }

    /// Of which of these PVs there may be samples; of the others there are none.
    pub fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        self.sources.may_have_samples(pvs)
    }

    /// Of which of these PVs there may be metadata; of the others there is none.
    pub fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, Error> {
        self.sources.may_have_metadata(pvs)
    }

    /// Between which times the samples of a PV lie, and the number of those in sources that count.
    pub fn extent(&self, pv: PvId) -> Result<Option<Extent>, Error> {
        self.sources.extent(pv)
    }

    /// The range cut into bins, with what the samples in each amount to.
    pub fn bins(&self, series: impl Into<Series>, range: TimeRange, cut: Cut) -> Result<Bins, Error> {
        let series = series.into();
        let edges = edges_of(range, cut)?;
        Ok(self.bins_between(series.clone(), edges)?.made_by(Ahead::new(self.clone(), series)))
    }

    /// The range cut into bins, with what the elements of the arrays in each amount to, in at most so many rows a bin: each element
    /// by itself, or where arrays are longer some neighbouring ones together.
    pub fn array_bins(
        &self,
        series: impl Into<Series>,
        range: TimeRange,
        cut: Cut,
        rows_max: usize,
    ) -> Result<ArrayBins, Error> {
        let edges = edges_of(range, cut)?;
        if rows_max == 0 || rows_max > ELEMENTS_MAX {
            return Err(Error::ElementCount { count: rows_max });
        }
        Ok(ArrayBins::new(self.clone(), series.into(), edges, rows_max))
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

/// Where the bins of a range begin and end.
fn edges_of(range: TimeRange, cut: Cut) -> Result<Arc<[Timestamp]>, Error> {
    let count = cut.count(range);
    if count == 0 || count > BINS_MAX {
        return Err(Error::BinCount { count });
    }
    match cut {
        Cut::Equal(count) => Ok(edges::between(range, count)),
        Cut::Aligned(count) => edges::aligned(range, count).ok_or(Error::TooFewBins { count }),
        Cut::Wide(width) => edges::wide(range, width).ok_or(Error::TooFewBins { count }),
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

//! Reads: what was recorded, raw, reduced, at a time or together; all as lazy as the query underneath. What is not seen is refused.

use std::time::Duration;

use archive::{Extent, GapScope, PvEntry, PvId, structure::paths};
use query::{
    AlignRequest, AlignedTable, AllCarried, ArrayBins, Before, Bins, Change, Cut, FieldSamples, Operator, Reduced,
    Request, Rows, Samples, Series, Span,
};
use sample::{Gap, Metadata, Sample, TimeRange, Timestamp, Value, ValueType};

use crate::{
    account::{self, LedgerAnswer},
    ask::Ask,
    explain::{self, Explanation},
    proof::Counter,
    refusal::Refusal,
};

impl Ask {
    /// The samples in order of time.
    pub fn samples(&self, request: &Request) -> Result<Samples, Refusal> {
        Ok(self.recorded(request.series.pv)?.query.samples(request))
    }

    /// The newest sample at or before `time`.
    pub fn last_before(&self, series: &Series, time: Timestamp) -> Result<Option<Sample>, Refusal> {
        Ok(self.recorded(series.pv)?.query.last_before(series, time)?)
    }

    /// A range cut into bins.
    pub fn bins(&self, series: Series, range: TimeRange, cut: Cut) -> Result<Bins, Refusal> {
        Ok(self.recorded(series.pv)?.query.bins(series, range, cut)?)
    }

    /// A range cut into bins, with what the elements of the arrays in each amount to, in at most so many rows a bin.
    pub fn array_bins(
        &self,
        series: Series,
        range: TimeRange,
        cut: Cut,
        rows_max: usize,
    ) -> Result<ArrayBins, Refusal> {
        Ok(self.recorded(series.pv)?.query.array_bins(series, range, cut, rows_max)?)
    }

    /// What a PV was at two times, and what it did for so long before the first.
    pub(crate) fn change<'q>(
        &'q self,
        series: &'q Series,
        times: (Timestamp, Timestamp),
        usual: Duration,
    ) -> Result<Change<'q>, Refusal> {
        Ok(self.recorded(series.pv)?.query.change(series, times, usual)?)
    }

    /// Several PVs on the same times, with the type of each column.
    pub fn aligned(&self, request: &AlignRequest) -> Result<(Vec<ValueType>, AlignedTable), Refusal> {
        let of_times = match &request.rows {
            Rows::Of(series) => Some(series),
            Rows::Every(_) => None,
        };
        for series in request.series.iter().chain(of_times) {
            self.recorded(series.pv)?;
        }
        Ok(self.together().aligned(request)?)
    }

    /// The samples of a span, both ends included, reduced by an operator.
    pub fn reduced(&self, pv: PvId, span: Span, operator: &Operator) -> Result<Reduced, Refusal> {
        Ok(self.recorded(pv)?.query.reduced(pv, span, operator)?)
    }

    /// The samples of several spans reduced as if they were one, which is `whole`.
    pub fn reduced_together(
        &self,
        pv: PvId,
        spans: &[Span],
        whole: Span,
        operator: &Operator,
    ) -> Result<Reduced, Refusal> {
        Ok(self.recorded(pv)?.query.reduced_together(pv, spans, whole, operator)?)
    }

    /// The gaps of a PV, or of a field of it, and of the archiver, by beginning.
    pub fn gaps(&self, series: &Series, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Refusal> {
        Ok(self.recorded(series.pv)?.query.gaps(series, range)?)
    }

    /// Those of them that the archive itself knows of.
    pub fn own_gaps(&self, pv: PvId, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Refusal> {
        Ok(self.recorded(pv)?.archive_alone.gaps(&pv.into(), range)?)
    }

    /// The samples of a PV in the archive itself, whatever other sources have.
    pub(crate) fn own_samples(&self, pv: PvId, range: TimeRange) -> Result<Samples, Refusal> {
        Ok(self.recorded(pv)?.archive_alone.samples(&Request { series: pv.into(), range, before: Before::None }))
    }

    /// The newest of them at or before `time`.
    pub(crate) fn own_last_before(&self, pv: PvId, time: Timestamp) -> Result<Option<Sample>, Refusal> {
        Ok(self.recorded(pv)?.archive_alone.last_before(&pv.into(), time)?)
    }

    /// The metadata in the archive itself.
    pub(crate) fn own_metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Refusal> {
        Ok(self.recorded(pv)?.archive_alone.metadata(pv, range)?)
    }

    /// The metadata in force at the beginning of a range, then each change within it.
    pub fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Refusal> {
        Ok(self.recorded(pv)?.query.metadata(pv, range)?)
    }

    /// The metadata in force at the end of a range, and since when.
    pub fn metadata_at_end(&self, pv: PvId, range: TimeRange) -> Result<Option<(Timestamp, Metadata)>, Refusal> {
        Ok(self.metadata(pv, range)?.pop())
    }

    /// Between which times the samples of a PV lie, and how many are counted.
    pub fn extent(&self, pv: PvId) -> Result<Option<Extent>, Refusal> {
        Ok(self.recorded(pv)?.query.extent(pv)?)
    }

    /// What a field of a PV's record said, as samples.
    pub fn field_samples(&self, pv: PvId, range: TimeRange, name: &str) -> Result<FieldSamples, Refusal> {
        Ok(self.recorded(pv)?.query.field_samples(pv, range, name)?)
    }

    /// What samples carry besides values, in order of time.
    pub fn carried(&self, pv: PvId, range: TimeRange, name: Option<&str>) -> Result<AllCarried, Refusal> {
        Ok(self.recorded(pv)?.query.carried(pv, range, name))
    }

    /// What the header of another archiver's file says of a PV.
    pub fn headers(&self, pv: PvId, range: TimeRange) -> Result<Vec<(String, String)>, Refusal> {
        Ok(self.recorded(pv)?.query.headers(pv, range)?)
    }

    /// The fields that the structure last recorded has, and the types of their samples.
    pub(crate) fn fields(&self, pv: PvId) -> Result<Vec<(String, ValueType)>, Refusal> {
        let last = self.recorded(pv)?.archive_alone.last_before(&pv.into(), Timestamp::MAX)?.map(|sample| sample.value);
        let structure = last.and_then(|value| if let Value::Structure(bytes) = value { Some(bytes) } else { None });
        Ok(structure.map(|bytes| paths(&bytes)).unwrap_or_default())
    }

    /// Why there is no data, or not all, in a range.
    pub fn explain(
        &self,
        entry: &PvEntry,
        field: Option<&str>,
        range: TimeRange,
        counter: Option<Counter>,
    ) -> Result<Explanation, Refusal> {
        let recorders = self.recorded(entry.id)?.query.recorders();
        explain::explain(self.listed(), &recorders, entry, field, range, counter)
    }

    /// What became of every update of a range, in steps of so many seconds.
    pub fn ledger(&self, entry: &PvEntry, range: TimeRange, seconds: u64) -> Result<LedgerAnswer, Refusal> {
        self.recorded(entry.id)?;
        account::answer(self, entry, range, seconds)
    }
}

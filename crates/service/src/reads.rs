//! Reads: what was recorded, raw, reduced, at a time or together; all as lazy as the query underneath.

use archive::{Extent, GapScope, PvEntry, PvId};
use query::{
    AlignRequest, AlignedTable, AllCarried, Before, Bins, Cut, Error, FieldSamples, Operator, Reduced, Request,
    Samples, Series, Span,
};
use sample::{Gap, Metadata, Sample, TimeRange, Timestamp, ValueType};

use crate::{
    account::{self, LedgerAnswer},
    ask::Ask,
    explain::{self, Explanation},
    proof::Counter,
    refusal::Refusal,
};

impl Ask {
    /// The samples in order of time.
    pub fn samples(&self, request: &Request) -> Samples {
        self.service.query.samples(request)
    }

    /// The newest sample at or before `time`.
    pub fn last_before(&self, series: &Series, time: Timestamp) -> Result<Option<Sample>, Error> {
        self.service.query.last_before(series, time)
    }

    /// A range cut into bins.
    pub fn bins(&self, series: Series, range: TimeRange, cut: Cut) -> Result<Bins, Error> {
        self.service.query.bins(series, range, cut)
    }

    /// Several PVs on the same times, with the type of each column.
    pub fn aligned(&self, request: &AlignRequest) -> Result<(Vec<ValueType>, AlignedTable), Error> {
        self.service.query.aligned(request)
    }

    /// The samples of a span, both ends included, reduced by an operator.
    pub fn reduced(&self, pv: PvId, span: Span, operator: &Operator) -> Result<Reduced, Error> {
        self.service.query.reduced(pv, span, operator)
    }

    /// The samples of several spans reduced as if they were one, which is `whole`.
    pub fn reduced_together(
        &self,
        pv: PvId,
        spans: &[Span],
        whole: Span,
        operator: &Operator,
    ) -> Result<Reduced, Error> {
        self.service.query.reduced_together(pv, spans, whole, operator)
    }

    /// The gaps of a PV, or of a field of it, and of the archiver, by beginning.
    pub fn gaps(&self, series: &Series, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        self.service.query.gaps(series, range)
    }

    /// Those of them that the archive itself knows of.
    pub fn own_gaps(&self, pv: PvId, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, Error> {
        self.service.own.gaps(&pv.into(), range)
    }

    /// The samples of a PV in the archive itself, whatever other sources have.
    pub fn own_samples(&self, pv: PvId, range: TimeRange) -> Samples {
        self.service.own.samples(&Request { series: pv.into(), range, before: Before::None })
    }

    /// The newest of them at or before `time`.
    pub fn own_last_before(&self, pv: PvId, time: Timestamp) -> Result<Option<Sample>, Error> {
        self.service.own.last_before(&pv.into(), time)
    }

    /// The metadata in the archive itself.
    pub fn own_metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        self.service.own.metadata(pv, range)
    }

    /// The metadata in force at the beginning of a range, then each change within it.
    pub fn metadata(&self, pv: PvId, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, Error> {
        self.service.query.metadata(pv, range)
    }

    /// The metadata in force at the end of a range, and since when.
    pub fn metadata_at_end(&self, pv: PvId, range: TimeRange) -> Result<Option<(Timestamp, Metadata)>, Error> {
        Ok(self.metadata(pv, range)?.pop())
    }

    /// Between which times the samples of a PV lie, and how many are counted.
    pub fn extent(&self, pv: PvId) -> Result<Option<Extent>, Error> {
        self.service.query.extent(pv)
    }

    /// What a field of a PV's record said, as samples.
    pub fn field_samples(&self, pv: PvId, range: TimeRange, name: &str) -> Result<FieldSamples, Error> {
        self.service.query.field_samples(pv, range, name)
    }

    /// What samples carry besides values, in order of time.
    pub fn carried(&self, pv: PvId, range: TimeRange, name: Option<&str>) -> AllCarried {
        self.service.query.carried(pv, range, name)
    }

    /// What the header of another archiver's file says of a PV.
    pub fn headers(&self, pv: PvId, range: TimeRange) -> Result<Vec<(String, String)>, Error> {
        self.service.query.headers(pv, range)
    }

    /// Why there is no data, or not all, in a range.
    pub fn explain(
        &self,
        entry: &PvEntry,
        field: Option<&str>,
        range: TimeRange,
        counter: Option<Counter>,
    ) -> Result<Explanation, Refusal> {
        explain::explain(&self.service, entry, field, range, counter)
    }

    /// What became of every update of a range, in steps of so many seconds.
    pub fn ledger(&self, entry: &PvEntry, range: TimeRange, seconds: u64) -> Result<LedgerAnswer, Refusal> {
        account::answer(self, entry, range, seconds)
    }
}

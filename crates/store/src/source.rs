//! The store as a source: what queries ask of it, whatever else holds samples beside it.

use std::sync::Arc;

use archive::{Cost, Cuts, Extent, GapScope, Key, KeyedBy, PvId, SampleStream, Source, SourceError, StretchStream};
use sample::{Gap, Metadata, Sample, Stretch, TimeRange, Timestamp};

use crate::{Error, Reader, Stretches};

impl From<Error> for SourceError {
    fn from(error: Error) -> SourceError {
        let cost = match &error {
            away if away.is_away() => Cost::UntilBack,
            damage if damage.is_damage() => Cost::Piece,
            _ => Cost::Answer,
        };
        SourceError { cost, message: error.to_string() }
    }
}

impl Source for Reader {
    fn name(&self) -> &str {
        "the archive"
    }

    fn keyed_by(&self) -> KeyedBy {
        KeyedBy::Number
    }

    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream {
        let Some(pv) = key.number() else { return Box::new(std::iter::empty()) };
        Box::new(Reader::samples(self, pv, range).map(|batch| batch.map_err(SourceError::from)))
    }

    fn samples_of_field(&self, key: Key<'_>, field: &str, range: TimeRange) -> SampleStream {
        let Some(pv) = key.number() else { return Box::new(std::iter::empty()) };
        Box::new(Reader::samples(self, pv, range).of_field(field).map(|batch| batch.map_err(SourceError::from)))
    }

    fn stretches(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<StretchStream>, SourceError> {
        let Some(pv) = key.number() else { return Ok(None) };
        let whole = Reader::stretches(self, pv, range, Arc::clone(edges));
        let wanted = match field {
            Some(path) => whole.of_field(path),
            None => whole,
        };
        Ok(Some(Box::new(Told(wanted))))
    }

    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        let Some(pv) = key.number() else { return Ok(None) };
        Ok(Reader::last_before(self, pv, time)?)
    }

    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError> {
        let found = key.number().and_then(|pv| Reader::extent(self, pv));
        Ok(found.map(|(first, last, samples)| Extent { first, last, samples }))
    }

    fn metadata(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, SourceError> {
        let Some(pv) = key.number() else { return Ok(Vec::new()) };
        Ok(Reader::metadata(self, pv, range)?)
    }

    fn gaps(&self, key: Key<'_>, field: Option<&str>, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, SourceError> {
        let Some(pv) = key.number() else { return Ok(Vec::new()) };
        Ok(match field {
            Some(path) => self.gaps_of_field(pv, path, range)?,
            None => Reader::gaps(self, pv, range)?,
        })
    }

    fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        Reader::may_have_samples(self, pvs)
    }

    fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, SourceError> {
        Ok(self.have_metadata(pvs)?)
    }
}

/// What the store tells of a range.
struct Told(Stretches);

impl Iterator for Told {
    type Item = Result<Stretch, SourceError>;

    fn next(&mut self) -> Option<Result<Stretch, SourceError>> {
        Some(self.0.next()?.map_err(SourceError::from))
    }
}

impl archive::Stretches for Told {
    fn cuts(&self) -> Cuts {
        self.0.cuts()
    }
}

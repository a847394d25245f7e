//! Old archives beside the store: samples of both in one order of time, and what else old archives say of PVs.
//!
//! ```text
//!   store ────────────┐
//!   old archive ──────┼─► by time ──► batches        a sample that the store, or an archive before, has too comes once
//!   old archive ──────┘
//! ```

use crate::{Error, Series};
use archive::{Carried, OldArchive, OldError, OldFields, OldHealth, OldSamples, OldStretches, PvId, PvName};
use sample::{Batch, Gap, Metadata, Sample, TimeRange, Timestamp};
use std::{ops::Range, sync::Arc};
use store::{Reader, Stretch};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// A batch that has reached so many bytes is given out.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// The old archives that queries read too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Old {
    archives: Arc<[Arc<dyn OldArchive>]>,
}

impl Old {
    pub(crate) fn new(archives: Vec<Arc<dyn OldArchive>>) -> Old {
        Old { archives: archives.into() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.archives.is_empty()
    }

    /// The names under which they may know a PV: the present one and its aliases. None where there is nothing to ask.
    fn names(&self, reader: &Reader, pv: PvId) -> Vec<PvName> {
        if self.archives.is_empty() {
            return Vec::new();
        }
        let Some(entry) = reader.entry(pv) else { return Vec::new() };
        std::iter::once(entry.name).chain(reader.aliases_of(pv)).collect()
    }

    /// Each archive with each name.
    fn each<'a>(&'a self, names: &'a [PvName]) -> impl Iterator<Item = (&'a dyn OldArchive, &'a PvName)> {
        self.archives.iter().flat_map(move |archive| names.iter().map(move |name| (&**archive, name)))
    }

    /// From and to when there are samples.
    pub(crate) fn extent(&self, reader: &Reader, pv: PvId) -> Result<Option<(Timestamp, Timestamp)>, Error> {
        let mut extent: Option<(Timestamp, Timestamp)> = None;
        for (archive, name) in self.each(&self.names(reader, pv)) {
            if let Some((first, last)) = archive.extent(name)? {
                let (t0, t1) = extent.unwrap_or((first, last));
                extent = Some((t0.min(first), t1.max(last)));
            }
        }
        Ok(extent)
    }

    /// Its part in an answer, if there may be any.
    fn sources(&self, reader: &Reader, series: &Series, range: TimeRange) -> Vec<OldSamples> {
        let names = self.names(reader, series.pv);
        let of_field = |samples: OldSamples| -> OldSamples {
            match series.field.clone() {
                None => samples,
                Some(path) => Box::new(samples.flat_map(move |batch| fields_of(batch, &path))),
            }
        };
        self.each(&names).map(|(archive, name)| of_field(archive.samples(name, range))).collect()
    }

    /// The samples of both; none if there are no old ones, and the store's alone will do.
    pub(crate) fn merged(&self, reader: &Reader, series: &Series, range: TimeRange) -> Option<Merged> {
        let sources: Vec<OldSamples> = self.sources(reader, series, range);
        let mut heads: Vec<Head> = sources.into_iter().map(Head::old).collect();
        heads.retain_mut(|head| head.fill().is_some());
        if heads.is_empty() {
            return None;
        }
        heads.insert(0, Head::own(series.samples(reader, range)));
        Some(Merged { heads, recent: Vec::new(), out: None, failed: None })
    }

    pub(crate) fn last_before(
        &self,
        reader: &Reader,
        series: &Series,
        time: Timestamp,
    ) -> Result<Option<Sample>, Error> {
        let mut newest: Option<Sample> = None;
        for (archive, name) in self.each(&self.names(reader, series.pv)) {
            if let Some(sample) = archive.last_before(name, time)?
                && newest.as_ref().is_none_or(|newest| newest.time < sample.time)
            {
                newest = Some(sample);
            }
        }
        Ok(match &series.field {
            Some(path) => newest.and_then(|sample| store::field_of(&sample, path)),
            None => newest,
        })
    }

    pub(crate) fn metadata(
        &self,
        reader: &Reader,
        pv: PvId,
        time: Timestamp,
    ) -> Result<Option<(Timestamp, Metadata)>, Error> {
        let mut newest: Option<(Timestamp, Metadata)> = None;
        for (archive, name) in self.each(&self.names(reader, pv)) {
            if let Some(found) = archive.metadata(name, time)?
                && newest.as_ref().is_none_or(|(since, _)| *since < found.0)
            {
                newest = Some(found);
            }
        }
        Ok(newest)
    }

    pub(crate) fn gaps(&self, reader: &Reader, pv: PvId, range: TimeRange) -> Result<Vec<Gap>, Error> {
        let mut gaps = Vec::new();
        for (archive, name) in self.each(&self.names(reader, pv)) {
            gaps.extend(archive.gaps(name, range)?);
        }
        gaps.sort_by_key(|gap: &Gap| (gap.from, gap.to));
        gaps.dedup();
        Ok(gaps)
    }

    /// What samples of a range carry besides values.
    pub(crate) fn fields(&self, reader: &Reader, pv: PvId, range: TimeRange, name: Option<&str>) -> Fields {
        let names = self.names(reader, pv);
        Fields::new(self.each(&names).map(|(archive, known)| archive.fields(known, range, name)).collect())
    }

    /// What the first file of a range says of a PV in its header.
    pub(crate) fn headers(&self, reader: &Reader, pv: PvId, range: TimeRange) -> Result<Vec<(String, String)>, Error> {
        for (archive, name) in self.each(&self.names(reader, pv)) {
            let headers = archive.headers(name, range)?;
            if !headers.is_empty() {
                return Ok(headers);
            }
        }
        Ok(Vec::new())
    }

    pub(crate) fn configuration(&self, reader: &Reader, pv: PvId) -> Option<String> {
        self.each(&self.names(reader, pv)).find_map(|(archive, name)| archive.configuration(name))
    }

    pub(crate) fn health(&self) -> Vec<OldHealth> {
        self.archives.iter().map(|archive| archive.health()).collect()
    }
}

/// What samples of several old archives carry, in order of time. Of a sample that two have the first archive tells.
pub struct Fields {
    sources: Vec<std::iter::Peekable<OldFields>>,
    last: Option<Timestamp>,
}

impl Fields {
    pub(crate) fn new(sources: Vec<OldFields>) -> Fields {
        Fields { sources: sources.into_iter().map(Iterator::peekable).collect(), last: None }
    }
}

impl Iterator for Fields {
    type Item = Result<Carried, Error>;

    /// An archive that cannot be read on is an error in place of what it would have told.
    fn next(&mut self) -> Option<Result<Carried, Error>> {
        loop {
            // An error has no time, and comes first.
            let mut earliest: Option<(Option<Timestamp>, usize)> = None;
            for (index, source) in self.sources.iter_mut().enumerate() {
                let Some(carried) = source.peek() else { continue };
                let time = carried.as_ref().ok().map(|carried| carried.time);
                if earliest.is_none_or(|(earliest, _)| time < earliest) {
                    earliest = Some((time, index));
                }
            }
            match self.sources.get_mut(earliest?.1)?.next()? {
                Ok(looked) if looked.fields.is_empty() => return Some(Ok(looked)),
                Ok(carried) if self.last.replace(carried.time) == Some(carried.time) => {}
                carried => return Some(carried.map_err(Error::from)),
            }
        }
    }
}

/// One field of structures, each run of one type for itself.
fn fields_of(batch: Result<Batch, OldError>, path: &str) -> Vec<Result<Batch, OldError>> {
    let batch = match batch {
        Ok(batch) => batch,
        error => return vec![error],
    };
    let mut runs: Vec<Batch> = Vec::new();
    for sample in (0..batch.len()).filter_map(|row| store::field_of(&batch.get(row), path)) {
        let fits = runs.last_mut().is_some_and(|run| run.push(&sample));
        if !fits {
            runs.push(Batch::of(&sample));
        }
    }
    runs.into_iter().map(Ok).collect()
}

/// One of those that are merged.
struct Head {
    source: Box<dyn Iterator<Item = Result<Batch, Error>> + Send>,
    /// What is next, if it has been read: never empty, and a row of it.
    batch: Option<(Batch, usize)>,
    failed: Option<Error>,
}

impl Head {
    fn own(samples: store::Samples) -> Head {
        Head { source: Box::new(samples.map(|batch| batch.map_err(Error::from))), batch: None, failed: None }
    }

    fn old(samples: OldSamples) -> Head {
        Head { source: Box::new(samples.map(|batch| batch.map_err(Error::from))), batch: None, failed: None }
    }

    /// Reads until there is a row or an error; none at the end.
    fn fill(&mut self) -> Option<()> {
        while self.batch.is_none() && self.failed.is_none() {
            match self.source.next()? {
                Ok(batch) if batch.is_empty() => {}
                Ok(batch) => self.batch = Some((batch, 0)),
                Err(error) => self.failed = Some(error),
            }
        }
        Some(())
    }

    fn time(&self) -> Option<Timestamp> {
        self.batch.as_ref().map(|(batch, row)| batch.times()[*row])
    }
}

/// Samples of the store and of old archives in order of time.
pub(crate) struct Merged {
    /// The store's first: of equal samples its own is given out.
    heads: Vec<Head>,
    /// Those given out of the last time.
    recent: Vec<Sample>,
    out: Option<Batch>,
    failed: Option<Error>,
}

impl Merged {
    /// The rows of one head that come before all others, at least one of them.
    fn next_run(&self) -> Option<(usize, Range<usize>)> {
        let times = || self.heads.iter().enumerate().filter_map(|(index, head)| Some((head.time()?, index)));
        let (time, chosen) = times().min()?;
        let bound = times().filter(|(_, index)| *index != chosen).map(|(time, _)| time).min();
        let (batch, row) = self.heads[chosen].batch.as_ref()?;
        let rest = &batch.times()[*row..];
        let rows = match bound {
            None => rest.len(),
            Some(bound) if bound > time => rest.partition_point(|time| *time < bound),
            Some(_) => rest.partition_point(|other| *other <= time),
        };
        Some((chosen, *row..row + rows))
    }

    /// Moves a run to what is given out; what does not fit in type or size stays.
    fn take(&mut self, chosen: usize, run: Range<usize>) -> Taken {
        let Some((batch, row)) = &mut self.heads[chosen].batch else { return Taken::All };
        self.out.take_if(|out| out.is_empty()); // its type need not be that of what comes
        let is_all = run == (0..batch.len()) && batch.len() <= BATCH_ROWS_MAX;
        let is_new = self.recent.first().is_none_or(|recent| recent.time != batch.times()[0]);
        if self.out.is_none() && is_all && is_new {
            let last = batch.times()[batch.len() - 1];
            let first = batch.times().partition_point(|time| *time < last);
            self.recent = (first..batch.len()).map(|row| batch.get(row)).collect();
            self.out = self.heads[chosen].batch.take().map(|(batch, _)| batch);
            return Taken::All;
        }
        let out = self.out.get_or_insert_with(|| Batch::new(batch.value_type()));
        if out.value_type() != batch.value_type() || out.len() >= BATCH_ROWS_MAX || out.byte_size() >= BATCH_BYTES_MAX {
            return Taken::Nothing;
        }
        let mut start = run.start;
        while start < run.end && self.recent.first().is_some_and(|recent| recent.time == batch.times()[start]) {
            let sample = batch.get(start);
            if !self.recent.iter().any(|recent| is_same(recent, &sample)) {
                let fits = out.push(&sample);
                assert!(fits, "the types have just been compared");
                self.recent.push(sample);
            }
            start += 1;
        }
        let end = run.end.min(start + BATCH_ROWS_MAX);
        if start < end {
            let fits = out.extend_from(batch, start..end);
            assert!(fits, "the types have just been compared");
            let last = batch.times()[end - 1];
            let first = start + batch.times()[start..end].partition_point(|time| *time < last);
            self.recent = (first..end).map(|row| batch.get(row)).collect();
        }
        *row = end;
        if *row == batch.len() {
            self.heads[chosen].batch = None;
        }
        Taken::All
    }
}

/// What became of a run.
#[derive(PartialEq)]
enum Taken {
    All,
    Nothing,
}

/// Whether two archivers recorded one sample: what pvAccess tells besides need not be in both.
fn is_same(a: &Sample, b: &Sample) -> bool {
    a.time == b.time
        && a.alarm.severity == b.alarm.severity
        && a.alarm.status == b.alarm.status
        && a.value.identical(&b.value)
}

impl Iterator for Merged {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            self.heads.retain_mut(|head| head.fill().is_some());
            self.failed = self.heads.iter_mut().find_map(|head| head.failed.take());
            let is_over = self.failed.is_some() || self.heads.is_empty();
            let taken = match self.next_run().filter(|_| !is_over) {
                Some((chosen, run)) => self.take(chosen, run),
                None if self.failed.is_some() && self.out.is_none() => continue,
                None => Taken::Nothing,
            };
            if taken == Taken::Nothing {
                return self.out.take_if(|out| !out.is_empty()).map(Ok).or_else(|| self.failed.take().map(Err));
            }
        }
    }
}

/// What bins and operators are made of: summaries where the store, or one old archive that keeps some, alone has samples; samples where
/// several have.
pub(crate) struct Stretches {
    /// What comes first.
    old: Option<OldPart>,
    own: store::Stretches,
}

/// What old archives have in a range.
enum OldPart {
    /// Samples, with those of the store of that time.
    Merged(Box<Merged>),
    /// What one archive tells of its samples; nobody else has any of that time.
    Told(OldStretches),
}

impl Stretches {
    pub(crate) fn of(
        old: &Old,
        reader: &Reader,
        series: &Series,
        range: TimeRange,
        edges: Arc<[Timestamp]>,
    ) -> Result<Stretches, Error> {
        let names = old.names(reader, series.pv);
        let (mut last, mut sources) = (None, Vec::new());
        for (archive, name) in old.each(&names) {
            let extent = archive.extent(name)?;
            if let Some((_, t1)) = extent.filter(|(t0, t1)| *t0 < range.t1 && *t1 >= range.t0) {
                last = last.max(Some(t1));
                sources.push((archive, name));
            }
        }
        let Some(last) = last else { return Ok(Stretches { old: None, own: series.stretches(reader, range, edges) }) };
        let border = Timestamp::from_nanos(last.nanos().saturating_add(1)).min(range.t1);
        let before = TimeRange { t1: border, ..range };
        let old = match told(reader, series, &sources, before, &edges)? {
            Some(told) => Some(OldPart::Told(told)),
            None => old.merged(reader, series, before).map(|merged| OldPart::Merged(Box::new(merged))),
        };
        let rest = if old.is_some() { TimeRange { t0: border, ..range } } else { range };
        Ok(Stretches { old, own: series.stretches(reader, rest, edges) })
    }
}

/// What the only archive that has samples of a range tells of them; none if it does not, or the store has some too.
fn told(
    reader: &Reader,
    series: &Series,
    sources: &[(&dyn OldArchive, &PvName)],
    range: TimeRange,
    edges: &Arc<[Timestamp]>,
) -> Result<Option<OldStretches>, Error> {
    let [(archive, name)] = sources else { return Ok(None) };
    let own = reader.extent(series.pv).is_some_and(|(t0, t1, _)| t0 < range.t1 && t1 >= range.t0);
    if own || series.field.is_some() {
        return Ok(None);
    }
    Ok(archive.stretches(name, range, edges)?)
}

impl Stretches {
    /// How many blocks of the store were read so far because edges cut them.
    pub(crate) fn cuts(&self) -> store::Cuts {
        self.own.cuts()
    }
}

impl Iterator for Stretches {
    type Item = Result<Stretch, Error>;

    fn next(&mut self) -> Option<Result<Stretch, Error>> {
        let old = match &mut self.old {
            Some(OldPart::Merged(merged)) => merged.next().map(|batch| batch.map(Stretch::Samples)),
            Some(OldPart::Told(told)) => told.next().map(|stretch| stretch.map_err(Error::from)),
            None => None,
        };
        if old.is_some() {
            return old;
        }
        self.old = None;
        self.own.next().map(|stretch| stretch.map_err(Error::from))
    }
}

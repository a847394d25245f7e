//! The merge: samples of several sources in one order of time. A sample that a source before has too comes once.
//! Two recorders of one PV give samples that have the time of their arrival times of their own: these are paired by what the IOC said.
//!
//! ```text
//!   store ────────────┐
//!   files ────────────┼─► by time ──► batches of one type
//!   files ────────────┘
//! ```

use std::ops::Range;

use archive::SampleStream;
use sample::{Batch, Sample, Timestamp};

use crate::{
    Error,
    arrivals::{Arrivals, has_arrivals, is_arrival},
};

/// No batch has more rows.
pub(crate) const BATCH_ROWS_MAX: usize = 8192;
/// A batch that has reached so many bytes is given out.
pub(crate) const BATCH_BYTES_MAX: usize = 1 << 20;

/// Who gives samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenBy {
    /// Who listened to the IOC as this archive does.
    Recorder,
    /// Somebody else.
    Other,
}

/// One of those that are merged.
struct Head {
    by: GivenBy,
    /// Which of all it is.
    number: usize,
    samples: SampleStream,
    /// What is next, if it has been read: never empty, and a row of it.
    batch: Option<(Batch, usize)>,
    failed: Option<Error>,
}

impl Head {
    fn new((by, samples): (GivenBy, SampleStream), number: usize) -> Head {
        Head { by, number, samples, batch: None, failed: None }
    }

    /// Reads until there is a row or an error; none at the end.
    fn fill(&mut self) -> Option<()> {
        while self.batch.is_none() && self.failed.is_none() {
            match self.samples.next()? {
                Ok(batch) if batch.is_empty() => {}
                Ok(batch) => self.batch = Some((batch, 0)),
                Err(error) => self.failed = Some(error.into()),
            }
        }
        Some(())
    }

    fn time(&self) -> Option<Timestamp> {
        self.batch.as_ref().map(|(batch, row)| batch.times()[*row])
    }
}

/// Samples of several sources in order of time, each once.
pub(crate) struct MergedSamples {
    /// Of equal samples that of the first is given out.
    heads: Vec<Head>,
    /// Those given out of the last time.
    recent: Vec<Sample>,
    /// Those given out of late whose time is that of their arrival, if several recorded.
    arrivals: Option<Arrivals>,
    out: Option<Batch>,
    failed: Option<Error>,
}

impl MergedSamples {
    /// Of these streams, of which the first is believed most.
    pub(crate) fn of(streams: impl IntoIterator<Item = (GivenBy, SampleStream)>) -> MergedSamples {
        let merged = MergedSamples { heads: Vec::new(), recent: Vec::new(), arrivals: None, out: None, failed: None };
        merged.behind(streams)
    }

    /// The same with others in front.
    pub(crate) fn behind(mut self, first: impl IntoIterator<Item = (GivenBy, SampleStream)>) -> MergedSamples {
        let behind = self.heads.len();
        let first = first.into_iter().enumerate().map(|(index, stream)| Head::new(stream, behind + index));
        self.heads.splice(0..0, first);
        let recorders = self.heads.iter().filter(|head| head.by == GivenBy::Recorder).count();
        self.arrivals = (recorders > 1).then(Arrivals::default);
        self
    }

    /// Whether there is anything: reads until there is.
    pub(crate) fn has_any(&mut self) -> bool {
        self.heads.retain_mut(|head| head.fill().is_some());
        !self.heads.is_empty()
    }

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
        let Head { by, number, .. } = self.heads[chosen];
        let Some((batch, row)) = &mut self.heads[chosen].batch else { return Taken::All };
        // Who is no recorder knows nothing of arrivals.
        let arrivals = self.arrivals.as_mut().filter(|_| by == GivenBy::Recorder && has_arrivals(batch, &run));
        self.out.take_if(|out| out.is_empty()); // its type need not be that of what comes
        let is_all = run == (0..batch.len()) && batch.len() <= BATCH_ROWS_MAX;
        let is_new = self.recent.first().is_none_or(|recent| recent.time != batch.times()[0]);
        if self.out.is_none() && is_all && is_new && arrivals.is_none() {
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
        if let Some(arrivals) = arrivals {
            let end = run.end.min(run.start + BATCH_ROWS_MAX);
            for row in run.start..end {
                let sample = batch.get(row);
                self.recent.retain(|recent| recent.time == sample.time);
                let is_repeat = self.recent.iter().any(|recent| is_same(recent, &sample));
                let is_told = !is_repeat && is_arrival(&sample) && arrivals.is_told(number, &sample);
                if !is_repeat && !is_told {
                    let fits = out.push(&sample);
                    assert!(fits, "the types have just been compared");
                    self.recent.push(sample);
                }
            }
            *row = end;
            if *row == batch.len() {
                self.heads[chosen].batch = None;
            }
            return Taken::All;
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
    a.time == b.time && is_alike(a, b)
}

/// The same whatever the time.
pub(crate) fn is_alike(a: &Sample, b: &Sample) -> bool {
    (a.pulse == b.pulse || a.pulse == 0 || b.pulse == 0)
        && a.alarm.severity == b.alarm.severity
        && a.alarm.status == b.alarm.status
        && a.value.identical(&b.value)
}

impl Iterator for MergedSamples {
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

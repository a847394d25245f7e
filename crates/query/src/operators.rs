//! Operators: reductions with the names and rules of the Archiver Appliance, for clients that ask for `mean_60(PV)`.
//!
//! ```text
//!   samples   ──► Work::take, one by one ─┐
//!                                         ├──► reduced samples ──► the last one at or before `from`, then all later ones
//!   summaries ──► Work::take_summary ─────┘
//! ```
//! What needs no more than counts, extremes, means and deviations takes the summaries of blocks, of their pieces and of rows of
//! levels that lie in one bin, and samples where the store has no such. Among samples of equal time the first counts alone; a
//! summary counts them all.
//!
//! Bins begin at multiples of their length since 1970. The last sample before `from` counts as a bin of its own before the
//! first one. What has no number (texts, structures) gives nothing where numbers are needed; arrays give their first element.

mod flyers;
mod loess;
mod moments;
mod parse;
mod picks;
mod plot;
mod statistics;

use std::{collections::VecDeque, sync::Arc};

pub use parse::{Operator, OperatorError};
use sample::{Batch, Column, Element, Sample, Timestamp, Value, ValueType};
use sample::{Stretch, Summary};

use crate::{
    Error, Ranges, Samples,
    losses::{Losses, Since},
    stretches::Stretches,
};
use {
    flyers::Flyers,
    picks::{Counted, DeadBand, Nth, Picks},
    plot::{Optimized, PlotBins},
    statistics::{BinStatistics, SMOOTHED_MAX},
};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// So many batches are read for one step at most, so that nobody waits long for a reader who has gone.
const STEP_BATCHES_MAX: usize = 64;
/// So many summaries take about as long as a batch.
const STEP_SUMMARIES_MAX: usize = 1000;

/// From when to when samples count, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment.
    pub to: Timestamp,
}

impl Span {
    /// The first moment behind it.
    pub(crate) fn after(self) -> Timestamp {
        Timestamp::from_nanos(self.to.nanos().saturating_add(1))
    }

    fn bin(self, time: Timestamp, seconds: i64) -> i64 {
        time.seconds_and_nanos().0.div_euclid(seconds)
    }
}

/// What the alarm of a reduced sample says, where the connection was lost and came back in its bin.
pub const CONNECTION_CHANGE: &str = "connection change";

/// What an operator keeps while samples pass.
enum Work {
    Statistics(BinStatistics),
    Optimized(Optimized),
    Picks(Picks),
    Nth(Nth),
    Counted(Counted),
    DeadBand(DeadBand),
    Flyers(Flyers),
    PlotBins(Box<PlotBins>),
}

impl Work {
    fn take(&mut self, sample: &Sample, since: Since, out: &mut Vec<Sample>) {
        match self {
            Work::Statistics(work) => work.take(sample, since, out),
            Work::Optimized(work) => work.take(sample, since, out),
            Work::Picks(work) => work.take(sample, out),
            Work::Nth(work) => work.take(sample, out),
            Work::Counted(work) => work.take(sample),
            Work::DeadBand(work) => work.take(sample, since, out),
            Work::Flyers(work) => work.take(sample, out),
            Work::PlotBins(work) => work.take(sample, since, out),
        }
    }

    /// Only of those that `of_summaries` names.
    fn take_summary(&mut self, summary: &Summary, since: Since, out: &mut Vec<Sample>) {
        match self {
            Work::Statistics(work) => work.take_summary(summary, since, out),
            Work::Counted(work) => work.add(summary.count),
            _ => {}
        }
    }

    /// Whether there is more in a bin than can be dealt with.
    fn is_overfull(&self) -> bool {
        matches!(self, Work::Statistics(work) if work.is_overfull())
    }

    fn finish(&mut self, out: &mut Vec<Sample>) {
        match self {
            Work::Statistics(work) => work.finish(out),
            Work::Optimized(work) => work.finish(out),
            Work::Picks(work) => work.finish(out),
            Work::Counted(work) => work.finish(out),
            Work::Flyers(work) => work.finish(out),
            Work::PlotBins(work) => work.finish(out),
            Work::Nth(_) | Work::DeadBand(_) => {}
        }
    }
}

/// How an operator answers from summaries.
pub(crate) struct OfSummaries {
    work: Work,
    /// The length of its bins.
    seconds: i64,
    /// With fewer samples, the one before the span among them, it gives these, and wants no summaries.
    pub(crate) enough: u64,
}

impl OfSummaries {
    /// Where its bins begin within the span, and the ends of the span.
    pub(crate) fn edges(&self, span: Span) -> Arc<[Timestamp]> {
        let (first, last) = (span.bin(span.from, self.seconds), span.bin(span.to, self.seconds));
        let inner = (first + 1..=last).map(|bin| Timestamp::from_seconds(bin.saturating_mul(self.seconds), 0));
        let inner = inner.filter(|edge| *edge > span.from && *edge <= span.to);
        std::iter::once(span.from).chain(inner).chain([span.after()]).collect()
    }
}

/// What is reduced.
enum Source {
    Samples(Ranges<Samples>),
    Stretches { before: Option<Sample>, stretches: Box<Stretches> },
}

/// The reduced samples in order of time. A batch is empty where much was read and nothing came of it yet. Ends after the first
/// error.
pub struct Reduced {
    source: Source,
    work: Work,
    losses: Losses,
    from: Timestamp,
    /// The last reduced sample at or before `from`: only one of these is given out.
    held: Option<Sample>,
    ready: VecDeque<Sample>,
    ended: bool,
}

impl Reduced {
    /// `samples` are those of the span, or of ranges of it, with the one before.
    pub(crate) fn new(samples: Ranges<Samples>, losses: Losses, operator: &Operator, span: Span) -> Reduced {
        Reduced::of(Source::Samples(samples), losses, operator.work(span), span)
    }

    /// `before` is the sample before the span.
    pub(crate) fn of_stretches(
        before: Option<Sample>,
        stretches: Stretches,
        losses: Losses,
        operator: OfSummaries,
        span: Span,
    ) -> Reduced {
        Reduced::of(Source::Stretches { before, stretches: Box::new(stretches) }, losses, operator.work, span)
    }

    fn of(source: Source, losses: Losses, work: Work, span: Span) -> Reduced {
        Reduced { source, work, losses, from: span.from, held: None, ready: VecDeque::new(), ended: false }
    }

    /// Takes a batch, or as many summaries as come before the next one; false at the end.
    fn take(&mut self, out: &mut Vec<Sample>) -> Result<bool, Error> {
        let (work, losses) = (&mut self.work, &mut self.losses);
        let rows = |work: &mut Work, losses: &mut Losses, batch: &Batch, out: &mut Vec<Sample>| {
            for row in 0..batch.len() {
                let time = batch.times()[row];
                work.take(&batch.get(row), losses.since(time, time), out);
            }
        };
        match &mut self.source {
            Source::Samples(samples) => {
                let Some(batch) = samples.next().transpose()? else { return Ok(false) };
                rows(work, losses, &batch, out);
            }
            Source::Stretches { before, stretches } => {
                before.take().iter().for_each(|before| work.take(before, losses.since(before.time, before.time), out));
                for _ in 0..STEP_SUMMARIES_MAX {
                    match stretches.next().transpose() {
                        Ok(None) => return Ok(false),
                        Ok(Some(Stretch::Summary(summary))) => {
                            work.take_summary(&summary, losses.since(summary.t0, summary.t1), out);
                        }
                        Ok(Some(Stretch::Samples(batch))) => {
                            rows(work, losses, &batch, out);
                            break;
                        }
                        // It was logged and counted, and the answer has no place to tell of it.
                        Err(error) if error.is_damage() => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(true)
    }

    fn step(&mut self) -> Result<(), Error> {
        let mut out = Vec::new();
        let goes_on = self.take(&mut out)?;
        if self.work.is_overfull() {
            return Err(Error::TooManySamples { max: SMOOTHED_MAX });
        }
        if !goes_on {
            self.ended = true;
            self.work.finish(&mut out);
        }
        for sample in out {
            if sample.time <= self.from {
                self.held = Some(sample);
            } else {
                self.ready.extend(self.held.take());
                self.ready.push_back(sample);
            }
        }
        if self.ended {
            self.ready.extend(self.held.take());
        }
        Ok(())
    }
}

impl Iterator for Reduced {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        for _ in 0..STEP_BATCHES_MAX {
            if self.ended || self.ready.len() >= BATCH_ROWS_MAX {
                break;
            }
            if let Err(error) = self.step() {
                self.ended = true;
                self.ready.clear();
                return Some(Err(error));
            }
        }
        let Some(first) = self.ready.pop_front() else {
            return (!self.ended).then(|| Ok(Batch::new(ValueType::scalar(Element::F64))));
        };
        let mut batch = Batch::of(&first);
        while batch.len() < BATCH_ROWS_MAX
            && let Some(next) = self.ready.front()
            && batch.push(next)
        {
            self.ready.pop_front();
        }
        Some(Ok(batch))
    }
}

/// The number that a sample counts with, if it has one; that of an empty array is NaN.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Array(elements) if !elements.value_type().is_numeric_scalar() => None,
        Value::Array(elements) if elements.is_empty() => Some(f64::NAN),
        Value::Array(elements) => elements.f64_at(0),
        value => value.as_f64(),
    }
}

/// A sample without status: what reductions make.
fn made(time: Timestamp, value: Value, severity: sample::Severity, since: Since) -> Sample {
    let message = (since == Since::Loss).then(|| CONNECTION_CHANGE.into());
    Sample { time, value, alarm: sample::Alarm { severity, status: 0, message }, pulse: 0, stamp: None }
}

fn floats(values: &[f64]) -> Value {
    Value::Array(Column::F64(values.to_vec()))
}

//! Operators: reductions with the names and rules of the Archiver Appliance, for clients that ask for `mean_60(PV)`.
//!
//! ```text
//!   samples ──► Work::take, one by one ──► reduced samples ──► the last one at or before `from`, then all later ones
//! ```
//!
//! Bins begin at multiples of their length since 1970. The last sample before `from` counts as a bin of its own before the
//! first one. What has no number (texts, structures) gives nothing where numbers are needed; arrays give their first element.

mod flyers;
mod moments;
mod parse;
mod picks;
mod plot;
mod statistics;

use std::collections::VecDeque;

use sample::{Batch, Column, Element, Sample, Timestamp, Value, ValueType};

use crate::{Error, Samples};
pub use parse::{Operator, OperatorError};
use {
    flyers::Flyers,
    picks::{Counted, DeadBand, Nth, Picks},
    plot::{Optimized, PlotBins},
    statistics::Statistics,
};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;
/// So many batches are read for one step at most, so that nobody waits long for a reader who has gone.
const STEP_BATCHES_MAX: usize = 64;

/// From when to when samples count, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment.
    pub to: Timestamp,
}

impl Span {
    fn bin(self, time: Timestamp, seconds: i64) -> i64 {
        time.seconds_and_nanos().0.div_euclid(seconds)
    }
}

/// What an operator keeps while samples pass.
enum Work {
    Statistics(Statistics),
    Optimized(Optimized),
    Picks(Picks),
    Nth(Nth),
    Counted(Counted),
    DeadBand(DeadBand),
    Flyers(Flyers),
    PlotBins(Box<PlotBins>),
}

impl Work {
    fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        match self {
            Work::Statistics(work) => work.take(sample, out),
            Work::Optimized(work) => work.take(sample, out),
            Work::Picks(work) => work.take(sample, out),
            Work::Nth(work) => work.take(sample, out),
            Work::Counted(work) => work.take(sample),
            Work::DeadBand(work) => work.take(sample, out),
            Work::Flyers(work) => work.take(sample, out),
            Work::PlotBins(work) => work.take(sample, out),
        }
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

/// The reduced samples in order of time. A batch is empty where much was read and nothing came of it yet. Ends after the first
/// error.
pub struct Reduced {
    samples: Samples,
    work: Work,
    from: Timestamp,
    /// The last reduced sample at or before `from`: only one of these is given out.
    held: Option<Sample>,
    ready: VecDeque<Sample>,
    ended: bool,
}

impl Reduced {
    /// `samples` are those of the span with the one before.
    pub(crate) fn new(samples: Samples, operator: &Operator, span: Span) -> Reduced {
        let work = operator.work(span);
        Reduced { samples, work, from: span.from, held: None, ready: VecDeque::new(), ended: false }
    }

    fn step(&mut self) -> Result<(), Error> {
        let mut out = Vec::new();
        match self.samples.next().transpose()? {
            Some(batch) => (0..batch.len()).for_each(|row| self.work.take(&batch.get(row), &mut out)),
            None => {
                self.ended = true;
                self.work.finish(&mut out);
            }
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
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Array(elements) if !elements.value_type().is_numeric_scalar() => None,
        Value::Array(elements) if elements.is_empty() => Some(f64::NAN),
        Value::Array(elements) => elements.f64_at(0),
        value => value.as_f64(),
    }
}

/// A sample without status: what reductions make.
fn made(time: Timestamp, value: Value, severity: sample::Severity) -> Sample {
    Sample { time, value, alarm: sample::Alarm { severity, status: 0, message: None }, pulse: 0, stamp: None }
}

fn floats(values: &[f64]) -> Value {
    Value::Array(Column::F64(values.to_vec()))
}

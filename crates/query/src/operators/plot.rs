//! Reductions for drawing: raw samples where there are few, bins where there are many; and the bins of strip charts.

use sample::{Sample, Severity, Timestamp};

use super::{
    Span, made, number,
    statistics::{Fill, Statistic, Statistics},
};

/// Raw samples as long as they are fewer than `points`, otherwise statistics of bins.
pub(super) struct Optimized {
    points: usize,
    span: Span,
    /// All samples so far; none once they have become too many.
    waiting: Option<Vec<Sample>>,
    /// How many of these lie in the span.
    within: usize,
    bins: Statistics,
}

impl Optimized {
    /// How long its bins are.
    pub(super) fn seconds(points: usize, span: Span) -> i64 {
        let length = span.to.seconds_and_nanos().0.saturating_sub(span.from.seconds_and_nanos().0);
        (length / i64::try_from(points).unwrap_or(i64::MAX)).max(1)
    }

    /// The bins that it makes of many samples.
    pub(super) fn bins(points: usize, statistic: Statistic, span: Span) -> Statistics {
        Statistics::new(statistic, Optimized::seconds(points, span), Fill::Repeat, span)
    }

    pub(super) fn new(points: usize, statistic: Statistic, span: Span) -> Optimized {
        let bins = Optimized::bins(points, statistic, span);
        Optimized { points, span, waiting: Some(Vec::new()), within: 0, bins }
    }

    pub(super) fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        let Some(waiting) = &mut self.waiting else { return self.bins.take(sample, out) };
        if number(&sample.value).is_none() {
            return;
        }
        self.within += usize::from(sample.time >= self.span.from);
        waiting.push(sample.clone());
        if self.within >= self.points {
            for sample in self.waiting.take().unwrap_or_default() {
                self.bins.take(&sample, out);
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        match self.waiting.take() {
            Some(few) => out.extend(few),
            None => self.bins.finish(out),
        }
    }
}

/// Up to four samples a bin: first, least, greatest, last, at its quarters.
pub(super) struct PlotBins {
    seconds: i64,
    span: Span,
    current: Option<(i64, Bin)>,
}

struct Bin {
    first: (f64, Sample),
    min: (f64, Sample),
    max: (f64, Sample),
    last: (f64, Sample),
    severity: Severity,
    count: u64,
}

impl PlotBins {
    pub(super) fn new(seconds: i64, span: Span) -> PlotBins {
        PlotBins { seconds, span, current: None }
    }

    pub(super) fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        let Some(number) = number(&sample.value) else { return };
        if sample.time < self.span.from {
            return;
        }
        let index = self.span.bin(sample.time, self.seconds);
        let one = || (number, sample.clone());
        match &mut self.current {
            Some((current, bin)) if *current == index => {
                if number < bin.min.0 {
                    bin.min = one();
                }
                if number > bin.max.0 {
                    bin.max = one();
                }
                bin.last = one();
                bin.severity = bin.severity.max(sample.alarm.severity);
                bin.count += 1;
            }
            _ => {
                self.finish(out);
                let severity = sample.alarm.severity;
                let bin = Bin { first: one(), min: one(), max: one(), last: one(), severity, count: 1 };
                self.current = Some((index, bin));
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        let Some((index, bin)) = self.current.take() else { return };
        let whole = |sample: &Sample| {
            let time = Timestamp::from_seconds(sample.time.seconds_and_nanos().0, 0);
            Sample { time, ..sample.clone() }
        };
        match bin.count {
            1 => out.push(whole(&bin.first.1)),
            2 => out.extend([whole(&bin.first.1), whole(&bin.last.1)]),
            _ => {
                let quarter = |quarters: i64| {
                    let start = index.saturating_mul(self.seconds);
                    Timestamp::from_seconds(start.saturating_add(self.seconds * quarters / 4), 0)
                };
                for ((_, sample), quarters) in [(bin.first, 0), (bin.min, 1), (bin.max, 2), (bin.last, 3)] {
                    out.push(made(quarter(quarters), sample.value, bin.severity));
                }
            }
        }
    }
}

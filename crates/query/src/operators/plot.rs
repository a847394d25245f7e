//! Reductions for drawing: raw samples where there are few, bins where there are many; and the bins of strip charts.

use sample::{Sample, Severity, Timestamp, Value};

use super::{
    Since, Span, made, number,
    picks::whole_millis,
    statistics::{BinStatistics, EmptyBins, Statistic},
};

/// Raw samples, the one before the span among them, as long as they are not more than `points`, otherwise statistics of bins.
pub(super) struct Optimized {
    points: usize,
    /// All samples so far; none once they have become too many.
    waiting: Option<Vec<(Sample, Since)>>,
    bins: BinStatistics,
}

impl Optimized {
    /// How long its bins are. One of the two operators counts the seconds from end to end, the other those that began between.
    pub(super) fn seconds(points: usize, statistic: Statistic, span: Span) -> i64 {
        let length = if statistic == Statistic::StatsWithLast {
            whole_millis(span.to).nanos().saturating_sub(whole_millis(span.from).nanos()) / 1_000_000_000
        } else {
            span.to.seconds_and_nanos().0.saturating_sub(span.from.seconds_and_nanos().0)
        };
        (length / i64::try_from(points).unwrap_or(i64::MAX)).max(1)
    }

    /// The bins that it makes of many samples.
    pub(super) fn bins(points: usize, statistic: Statistic, fill: EmptyBins, span: Span) -> BinStatistics {
        BinStatistics::new(statistic, Optimized::seconds(points, statistic, span), fill, span)
    }

    pub(super) fn new(points: usize, statistic: Statistic, fill: EmptyBins, span: Span) -> Optimized {
        Optimized { points, waiting: Some(Vec::new()), bins: Optimized::bins(points, statistic, fill, span) }
    }

    pub(super) fn take(&mut self, sample: &Sample, since: Since, out: &mut Vec<Sample>) {
        let Some(waiting) = &mut self.waiting else { return self.bins.take(sample, since, out) };
        if number(&sample.value).is_none() {
            return;
        }
        waiting.push((sample.clone(), since));
        if waiting.len() > self.points {
            for (sample, since) in self.waiting.take().unwrap_or_default() {
                self.bins.take(&sample, since, out);
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        match self.waiting.take() {
            Some(few) if few.iter().any(|(sample, _)| self.bins.begins_with(sample)) => {
                out.extend(few.into_iter().map(|(sample, _)| sample));
            }
            Some(_) => {}
            None => self.bins.finish(out),
        }
    }
}

/// Up to four samples a bin: first, least, greatest, last, at its quarters. The sample before the span counts in the first bin
/// if it lies there, and otherwise comes before it if there is any other.
pub(super) struct PlotBins {
    seconds: i64,
    span: Span,
    before: Option<(f64, Timestamp)>,
    current: Option<(i64, Bin)>,
}

struct Bin {
    first: (f64, Timestamp),
    min: f64,
    max: f64,
    last: (f64, Timestamp),
    severity: Severity,
    since: Since,
    count: u64,
}

impl PlotBins {
    pub(super) fn new(seconds: i64, span: Span) -> PlotBins {
        PlotBins { seconds, span, before: None, current: None }
    }

    pub(super) fn take(&mut self, sample: &Sample, since: Since, out: &mut Vec<Sample>) {
        let Some(number) = number(&sample.value) else { return };
        let index = self.span.bin(sample.time, self.seconds);
        if index < self.span.bin(self.span.from, self.seconds) {
            self.before = Some((number, sample.time));
            return;
        }
        if let Some((number, time)) = self.before.take() {
            let whole = Timestamp::from_seconds(time.seconds_and_nanos().0, 0);
            out.push(made(whole, Value::F64(number), Severity::default(), Since::Nothing));
        }
        if self.current.as_ref().is_none_or(|(current, _)| *current != index) {
            self.finish(out);
        }
        let one = (number, sample.time);
        let (severity, count) = (Severity::default(), 0);
        let empty = || Bin { first: one, min: f64::NAN, max: f64::NAN, last: one, severity, since, count };
        let (_, bin) = self.current.get_or_insert_with(|| (index, empty()));
        // A number that is none is neither the least nor the greatest.
        (bin.min, bin.max) = (bin.min.min(number), bin.max.max(number));
        bin.last = one;
        bin.severity = bin.severity.max(sample.alarm.severity);
        bin.since = bin.since.max(since);
        bin.count += 1;
    }

    /// What is given out are floats without status, and all samples of a bin have its worst severity.
    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        let Some((index, bin)) = self.current.take() else { return };
        let Bin { first, min, max, last, severity, since, count } = bin;
        let at = |second: i64, number| made(Timestamp::from_seconds(second, 0), Value::F64(number), severity, since);
        let whole = |(number, time): (f64, Timestamp)| at(time.seconds_and_nanos().0, number);
        match count {
            1 => out.push(whole(first)),
            2 => out.extend([whole(first), whole(last)]),
            _ => {
                let start = index.saturating_mul(self.seconds);
                let numbers = [first.0, min, max, last.0].into_iter().zip(0..);
                out.extend(
                    numbers.map(|(number, quarters)| at(start.saturating_add(self.seconds * quarters / 4), number)),
                );
            }
        }
    }
}

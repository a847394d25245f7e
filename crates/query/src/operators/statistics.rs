//! Statistics of bins: one number, or a few, at the centre of each. Bins without samples repeat the one before.

use sample::Summary;
use sample::{Column, Sample, Severity, Timestamp, Value};

use super::{
    Since, Span, floats,
    loess::smoothed_at,
    made,
    moments::{BinMoments, kurtosis, skewness},
    number,
};

/// So many samples of a bin are smoothed at most: the work grows with their square.
pub(crate) const SMOOTHED_MAX: usize = 10_000;
/// Of so many numbers of a bin third and fourth powers are summed in a second pass, as exactly as in the Appliance.
const EXACT_MAX: usize = 100_000;

/// What is made of the numbers of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    /// Their mean.
    Mean,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// How many there are.
    Count,
    /// The standard deviation.
    Std,
    /// Standard deviation over mean.
    Jitter,
    /// The variance of a sample (n - 1).
    Variance,
    /// The variance of the whole (n).
    PopVariance,
    /// The skewness.
    Skewness,
    /// The kurtosis.
    Kurtosis,
    /// The one in the middle.
    Median,
    /// The value at the centre of the bin on straight lines between the samples.
    Linear,
    /// The value at the centre of the bin on a smooth curve through the samples.
    Loess,
    /// Mean and standard deviation.
    ErrorBar,
    /// Mean, standard deviation, least, greatest, count.
    Stats,
    /// The same and the last.
    StatsWithLast,
}

/// What becomes of bins without samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptyBins {
    /// They repeat the bin before; counts are 0.
    Repeat,
    /// They are left out.
    Nothing,
}

/// The bin that is being filled.
#[derive(Clone, Debug, Default)]
struct Bin {
    moments: BinMoments,
    /// Second and number of each sample, for statistics that need all of them.
    all: Vec<(f64, f64)>,
    /// What a straight line takes of them.
    line: Line,
    severity: Severity,
    since: Since,
}

pub(super) struct BinStatistics {
    statistic: Statistic,
    seconds: i64,
    fill: EmptyBins,
    span: Span,
    current: Option<(i64, Bin)>,
    /// What empty bins repeat.
    previous: Option<(Value, Severity, Since)>,
    /// The bin that was given out last.
    given: Option<i64>,
    last_time: Option<Timestamp>,
    /// The last number, of whatever bin.
    last: f64,
}

impl Statistic {
    /// Whether it can be had from summaries: not what needs more than count, extremes and two moments of the numbers.
    pub(super) fn is_in_summaries(self) -> bool {
        use Statistic::{Kurtosis, Linear, Loess, Median, Skewness, StatsWithLast};
        !matches!(self, Skewness | Kurtosis | Median | Linear | Loess | StatsWithLast)
    }
}

impl BinStatistics {
    pub(super) fn new(statistic: Statistic, seconds: i64, fill: EmptyBins, span: Span) -> BinStatistics {
        let (current, previous, given, last_time) = (None, None, None, None);
        BinStatistics { statistic, seconds, fill, span, current, previous, given, last_time, last: 0.0 }
    }

    pub(super) fn take(&mut self, sample: &Sample, since: Since, out: &mut Vec<Sample>) {
        let Some(number) = number(&sample.value) else { return };
        let (index, first) = (self.span.bin(sample.time, self.seconds), self.span.bin(self.span.from, self.seconds));
        // With the last sample among the statistics, the one before the span counts in the first bin if it lies there.
        if sample.time < self.span.from && (index < first || self.statistic != Statistic::StatsWithLast) {
            let mut bin = Bin::default();
            self.add(&mut bin, sample.time, number);
            self.give(first - 1, &bin, out);
            return;
        }
        if self.last_time.replace(sample.time) == Some(sample.time) {
            return;
        }
        self.close_other_than(index, out);
        let (_, mut bin) = self.current.take().unwrap_or_default();
        self.add(&mut bin, sample.time, number);
        bin.severity = bin.severity.max(sample.alarm.severity);
        bin.since = bin.since.max(since);
        self.current = Some((index, bin));
    }

    /// Many samples of one bin that lie in the span.
    pub(super) fn take_summary(&mut self, summary: &Summary, since: Since, out: &mut Vec<Sample>) {
        let index = self.span.bin(summary.t0, self.seconds);
        self.close_other_than(index, out);
        let (_, bin) = self.current.get_or_insert_with(|| (index, Bin::default()));
        bin.moments.add_summary(summary);
        bin.severity = bin.severity.max(summary.severity_max);
        bin.since = bin.since.max(since);
        self.last_time = Some(summary.t1);
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        if let Some((index, bin)) = self.current.take() {
            let is_first = self.previous.is_none();
            // As in the Appliance the bins before the last one that has numbers repeat all of the statistics.
            if bin.moments.count() == 0.0 {
                self.repeat_last(&bin);
            }
            self.close(index, &bin, out);
            if bin.moments.count() > 0.0 || !is_first {
                self.repeat_last(&bin);
            }
        }
        self.fill_before(self.span.bin(self.span.to, self.seconds) + 1, out);
    }

    /// Whether a sample alone makes an answer: with the last sample among the statistics, one that lies before all bins does not.
    pub(super) fn begins_with(&self, sample: &Sample) -> bool {
        let bin = |time| self.span.bin(time, self.seconds);
        self.statistic != Statistic::StatsWithLast || bin(sample.time) >= bin(self.span.from)
    }

    fn add(&mut self, bin: &mut Bin, time: Timestamp, number: f64) {
        let (holds_nan, holds_others) = match self.statistic {
            Statistic::Linear => {
                let middle = self.middle(self.span.bin(time, self.seconds));
                bin.line.add((time.seconds_f64(), number), middle);
                (false, false)
            }
            Statistic::Loess => (true, true),
            Statistic::Median => (false, true),
            Statistic::Skewness | Statistic::Kurtosis => (false, bin.all.len() <= EXACT_MAX),
            _ => (false, false),
        };
        if if number.is_nan() { holds_nan } else { holds_others } {
            bin.all.push((time.seconds_f64(), number));
        }
        if !number.is_nan() {
            bin.moments.add(number);
            self.last = number;
        }
    }

    fn close_other_than(&mut self, index: i64, out: &mut Vec<Sample>) {
        if let Some((current, bin)) = self.current.take_if(|(current, _)| *current != index) {
            self.repeat_last(&bin);
            self.close(current, &bin, out);
        }
    }

    fn close(&mut self, index: i64, bin: &Bin, out: &mut Vec<Sample>) {
        self.fill_before(index, out);
        self.give(index, bin, out);
    }

    /// With the last sample among the statistics, empty bins have it alone, and the severity of the bin behind them.
    fn repeat_last(&mut self, behind: &Bin) {
        if self.statistic == Statistic::StatsWithLast
            && let Some((value, severity, since)) = &mut self.previous
            && let Value::Array(Column::F64(numbers)) = value
            && let Some(last) = numbers.last().copied()
        {
            *value = floats(&[last, 0.0, last, last, 0.0, last]);
            (*severity, *since) = (behind.severity, behind.since);
        }
    }

    fn give(&mut self, index: i64, bin: &Bin, out: &mut Vec<Sample>) {
        let value = self.value(index, bin);
        // Nothing has no severity: where a count is repeated as 0, the alarm is not.
        let is_count = self.statistic == Statistic::Count;
        let (severity, since) = if is_count { Default::default() } else { (bin.severity, bin.since) };
        let repeated = if is_count { Value::F64(0.0) } else { value.clone() };
        self.previous = Some((repeated, severity, since));
        self.given = Some(index);
        out.push(made(centre(index, self.seconds), value, bin.severity, bin.since));
    }

    /// Gives out the empty bins up to `index`.
    fn fill_before(&mut self, index: i64, out: &mut Vec<Sample>) {
        let (Some(given), Some((value, severity, since)), EmptyBins::Repeat) = (self.given, &self.previous, self.fill)
        else {
            return;
        };
        let centres = (given + 1..index).map(|empty| centre(empty, self.seconds));
        out.extend(centres.map(|time| made(time, value.clone(), *severity, *since)));
        self.given = Some(given.max(index - 1));
    }

    /// Where in a bin curves are read off, which is at a whole second.
    fn middle(&self, index: i64) -> f64 {
        (index * self.seconds + self.seconds / 2) as f64
    }

    /// Whether a bin holds more samples than its statistic can be made of in sensible time.
    pub(super) fn is_overfull(&self) -> bool {
        let held = self.current.as_ref().map_or(0, |(_, bin)| bin.all.len());
        self.statistic == Statistic::Loess && held > SMOOTHED_MAX
    }

    fn value(&self, index: i64, bin: &Bin) -> Value {
        let moments = &bin.moments;
        let five = [moments.mean(), moments.deviation(), moments.min(), moments.max(), moments.count()];
        Value::F64(match self.statistic {
            Statistic::Mean => moments.mean(),
            Statistic::Min => moments.min(),
            Statistic::Max => moments.max(),
            Statistic::Count => moments.count(),
            Statistic::Std => moments.deviation(),
            Statistic::Jitter => moments.deviation() / moments.mean(),
            Statistic::Variance => moments.variance(),
            Statistic::PopVariance => moments.population_variance(),
            Statistic::Skewness if bin.all.len() <= EXACT_MAX => skewness(&bin.all),
            Statistic::Skewness => moments.skewness(),
            Statistic::Kurtosis if bin.all.len() <= EXACT_MAX => kurtosis(&bin.all, moments),
            Statistic::Kurtosis => moments.kurtosis(),
            Statistic::Median => median(&bin.all),
            Statistic::Linear => bin.line.at(self.middle(index)),
            Statistic::Loess => {
                let first = bin.all.first().map_or(f64::NAN, |(_, number)| *number);
                smoothed_at(&bin.all, self.middle(index)).unwrap_or(first)
            }
            Statistic::ErrorBar => return floats(&[moments.mean(), moments.deviation()]),
            Statistic::Stats => return floats(&five),
            Statistic::StatsWithLast => return floats(&[five.as_slice(), &[self.last]].concat()),
        })
    }
}

/// The middle of a bin, to half a second.
pub(super) fn centre(index: i64, seconds: i64) -> Timestamp {
    let start = index.saturating_mul(seconds);
    Timestamp::from_seconds(start.saturating_add(seconds / 2), if seconds % 2 == 0 { 0 } else { 500_000_000 })
}

fn median(all: &[(f64, f64)]) -> f64 {
    let mut numbers: Vec<f64> = all.iter().map(|(_, number)| *number).collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len().div_ceil(2);
    match numbers[middle.saturating_sub(1)..] {
        [] => f64::NAN,
        [only] => only,
        // An infinity above the middle makes it no number, as in the Appliance.
        [lower, upper, ..] => lower + (if numbers.len() % 2 == 1 { 0.0 } else { 0.5 }) * (upper - lower),
    }
}

/// The samples on both sides of the centre of a bin, however long that is.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    first: Option<f64>,
    /// The last two up to the centre, then the first behind it.
    up_to: [Option<(f64, f64)>; 2],
    behind: Option<(f64, f64)>,
    /// The time of the last, as a float.
    last: Option<f64>,
    /// Two were too close to tell their times as floats.
    is_broken: bool,
}

impl Line {
    fn add(&mut self, (second, number): (f64, f64), centre: f64) {
        self.first = self.first.or(Some(number));
        self.is_broken |= self.last.replace(second).is_some_and(|last| last >= second);
        if second <= centre {
            self.up_to = [self.up_to[1], Some((second, number))];
        } else {
            self.behind = self.behind.or(Some((second, number)));
        }
    }

    /// The first number where the centre lies outside of the samples, or two of them are too close.
    fn at(&self, centre: f64) -> f64 {
        // At the very last sample the line to it counts, not the sample.
        let piece = match self.behind {
            Some(behind) => self.up_to[1].zip(Some(behind)),
            None => self.up_to[0].zip(self.up_to[1]),
        };
        match piece {
            Some(((x0, y0), (x1, y1))) if !self.is_broken && centre <= x1 => y0 + (y1 - y0) / (x1 - x0) * (centre - x0),
            _ => self.first.unwrap_or(f64::NAN),
        }
    }
}

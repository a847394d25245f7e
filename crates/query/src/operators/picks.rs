//! Picks: some of the samples themselves, or how many there are.

use sample::{Sample, Timestamp, Value};

use super::{Since, Span, made, number};

/// Which sample of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The first.
    First,
    /// The last.
    Last,
}

/// When the picked sample is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// When it was.
    Own,
    /// At the centre of its bin; bins without samples repeat the one before.
    Centre,
}

pub(super) struct Picks {
    pick: Pick,
    moment: Moment,
    seconds: i64,
    span: Span,
    current: Option<(i64, Sample)>,
    given: Option<(i64, Sample)>,
}

impl Picks {
    pub(super) fn new(pick: Pick, moment: Moment, seconds: i64, span: Span) -> Picks {
        Picks { pick, moment, seconds, span, current: None, given: None }
    }

    pub(super) fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        let index = self.span.bin(sample.time, self.seconds);
        match &mut self.current {
            Some((current, kept)) if *current == index => {
                if self.pick == Pick::Last {
                    *kept = sample.clone();
                }
            }
            _ => {
                self.close(out);
                self.current = Some((index, sample.clone()));
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        self.close(out);
        self.fill_before(self.span.bin(self.span.to, self.seconds) + 1, out);
    }

    fn close(&mut self, out: &mut Vec<Sample>) {
        let Some((index, sample)) = self.current.take() else { return };
        self.fill_before(index, out);
        match self.moment {
            Moment::Own => out.push(sample),
            Moment::Centre => {
                out.push(Sample { time: self.centre(index), ..sample.clone() });
                self.given = Some((index, sample));
            }
        }
    }

    fn fill_before(&mut self, index: i64, out: &mut Vec<Sample>) {
        let Some((given, sample)) = self.given.clone() else { return };
        // The one bin before the span will do: what was before that nobody sees.
        let first = (given + 1).max(self.span.bin(self.span.from, self.seconds) - 1);
        out.extend((first..index).map(|empty| Sample { time: self.centre(empty), ..sample.clone() }));
        self.given = Some((given.max(index - 1), sample));
    }

    /// The middle of a bin in whole seconds.
    fn centre(&self, index: i64) -> Timestamp {
        Timestamp::from_seconds(index.saturating_mul(self.seconds).saturating_add(self.seconds / 2), 0)
    }
}

/// The millisecond of a time, which is how the Appliance compares where it takes or counts single samples.
pub(super) fn whole_millis(time: Timestamp) -> Timestamp {
    Timestamp::from_nanos(time.nanos().div_euclid(1_000_000).saturating_mul(1_000_000))
}

/// Every k-th sample.
pub(super) struct Nth {
    every: u64,
    span: Span,
    seen: u64,
}

impl Nth {
    pub(super) fn new(every: u64, span: Span) -> Nth {
        Nth { every, span, seen: 0 }
    }

    pub(super) fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        if sample.time < whole_millis(self.span.from) {
            return;
        }
        if self.seen.is_multiple_of(self.every) {
            out.push(sample.clone());
        }
        self.seen += 1;
    }
}

/// How many samples there are.
pub(super) struct Counted {
    span: Span,
    count: u64,
}

impl Counted {
    pub(super) fn new(span: Span) -> Counted {
        Counted { span, count: 0 }
    }

    /// So many samples that lie in the span.
    pub(super) fn add(&mut self, count: u64) {
        self.count += count;
    }

    pub(super) fn take(&mut self, sample: &Sample) {
        self.count += u64::from(sample.time >= whole_millis(self.span.from));
    }

    pub(super) fn finish(&self, out: &mut Vec<Sample>) {
        let count = i32::try_from(self.count).unwrap_or(i32::MAX);
        out.push(made(whole_millis(self.span.from), Value::I32(count), sample::Severity::None, Since::Nothing));
    }
}

/// The samples that differ enough from the last one given out.
pub(super) struct DeadBand {
    band: f64,
    last: Option<(f64, sample::Severity, Since)>,
}

impl DeadBand {
    pub(super) fn new(band: f64) -> DeadBand {
        DeadBand { band, last: None }
    }

    /// Where a connection came back the first two samples differ from what was before, as in the Appliance.
    pub(super) fn take(&mut self, sample: &Sample, since: Since, out: &mut Vec<Sample>) {
        let Some(number) = number(&sample.value) else { return };
        let severity = sample.alarm.severity;
        let is_new = self.last.is_none_or(|(last, last_severity, last_since)| {
            let is_far = !number.is_finite() || !last.is_finite() || (number - last).abs() > self.band;
            is_far || severity != last_severity || since != last_since
        });
        if is_new {
            self.last = Some((number, severity, since));
            out.push(sample.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_long_ago_fills_no_bins_before_the_span() {
        let at = |second| Timestamp::from_seconds(second, 0);
        let mut picks = Picks::new(Pick::Last, Moment::Centre, 1, Span { from: at(1_000_000), to: at(1_000_009) });
        let mut out = Vec::new();
        picks.take(&made(at(0), Value::F64(1.0), sample::Severity::None, Since::Nothing), &mut out);
        picks.finish(&mut out);
        assert_eq!(out.len(), 1 + 1 + 10);
    }
}

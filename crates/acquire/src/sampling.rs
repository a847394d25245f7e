//! Which updates become samples: each (monitor), or the newest once a period (scan).

use sample::{Method, Sample, Timestamp};

/// Decides for one PV. Time comes in as an argument.
#[derive(Debug)]
pub(crate) enum Sampler {
    Monitor,
    Scan(Scan),
}

/// The newest update waits here until its period is over.
#[derive(Debug)]
pub(crate) struct Scan {
    period: std::time::Duration,
    waiting: Option<Sample>,
    due: Timestamp,
}

impl Scan {
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }
}

/// What became of an update.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// It is a sample.
    Take(Sample),
    /// It waits for the end of the period.
    Wait,
    /// It waits, and the one that waited before is passed over.
    Replace,
}

impl Sampler {
    pub(crate) fn new(method: Method) -> Sampler {
        match method {
            Method::Monitor => Sampler::Monitor,
            Method::Scan { period } => Sampler::Scan(Scan { period, waiting: None, due: Timestamp::MIN }),
        }
    }

    /// An update arrived.
    pub(crate) fn offer(&mut self, sample: Sample, now: Timestamp) -> Decision {
        let Sampler::Scan(scan) = self else { return Decision::Take(sample) };
        if now >= scan.due && scan.waiting.is_none() {
            scan.due = now.saturating_add(scan.period);
            return Decision::Take(sample);
        }
        match scan.waiting.replace(sample) {
            None => Decision::Wait,
            Some(_) => Decision::Replace,
        }
    }

    /// The waiting update, if its period is over.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Sample> {
        let Sampler::Scan(scan) = self else { return None };
        if now < scan.due {
            return None;
        }
        let sample = scan.waiting.take()?;
        scan.due = now.saturating_add(scan.period);
        Some(sample)
    }

    /// The waiting update, whether or not its period is over.
    pub(crate) fn take_waiting(&mut self) -> Option<Sample> {
        let Sampler::Scan(scan) = self else { return None };
        scan.waiting.take()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sample::{Alarm, Value};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds, 0)
    }

    fn sample(seconds: i64) -> Sample {
        Sample { time: at(seconds), value: Value::I32(seconds as i32), alarm: Alarm::default(), pulse: 0, stamp: None }
    }

    #[test]
    fn a_monitor_takes_every_update() {
        let mut sampler = Sampler::new(Method::Monitor);
        for second in 0..3 {
            assert_eq!(sampler.offer(sample(second), at(second)), Decision::Take(sample(second)));
        }
    }

    #[test]
    fn a_scan_takes_the_newest_once_a_period_and_counts_the_others() {
        let mut sampler = Sampler::new(Method::Scan { period: Duration::from_secs(10) });
        assert_eq!(sampler.offer(sample(0), at(0)), Decision::Take(sample(0)));
        assert_eq!(sampler.offer(sample(1), at(1)), Decision::Wait);
        assert_eq!(sampler.offer(sample(2), at(2)), Decision::Replace);
        assert_eq!(sampler.take_due(at(9)), None);
        assert_eq!(sampler.take_due(at(10)), Some(sample(2)));
        assert_eq!(sampler.take_due(at(20)), None, "a value that did not change is not sampled again");
        assert_eq!(sampler.offer(sample(25), at(25)), Decision::Take(sample(25)));
    }
}

//! The dead band of one PV: what lies too near to the last sample is left out, unless its alarm is another or an hour begins.

use archive::Deadband;
use sample::{Sample, Severity, Timestamp};

use super::{alarm_state, hour, number};

/// A dead band and what it counts from.
#[derive(Debug)]
pub(super) struct Band {
    width: Deadband,
    /// The server applies it. Changes of alarm come by another subscription then, and may bring what was sent already.
    pub(super) at_server: bool,
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    time: Timestamp,
    number: f64,
    alarm: (Severity, u16),
}

impl Band {
    pub(super) fn new(width: Deadband) -> Band {
        Band { width, at_server: false, last: None }
    }

    /// The next update is beyond the band, whatever it is.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Whether an update is beyond the band. What is no number always is.
    pub(super) fn lets_pass(&mut self, sample: &Sample) -> bool {
        let Some(number) = number(&sample.value) else {
            self.last = None;
            return true;
        };
        let news = Last { time: sample.time, number, alarm: alarm_state(&sample.alarm) };
        let passes = match self.last {
            None => true,
            Some(last) if last.alarm != news.alarm => true,
            Some(last) if !self.at_server && hour(last.time) != hour(news.time) => true,
            Some(last) if self.at_server => last.time != news.time || last.number.to_bits() != number.to_bits(),
            Some(last) => is_beyond(self.width, last.number, number),
        };
        if passes {
            self.last = Some(news);
        }
        passes
    }
}

/// As EPICS records decide it: what becomes or ceases to be a finite number is always beyond.
fn is_beyond(width: Deadband, last: f64, number: f64) -> bool {
    if !last.is_finite() || !number.is_finite() {
        return !(last.is_nan() && number.is_nan()) && last != number;
    }
    let distance = (number - last).abs();
    match width {
        Deadband::Absolute(width) => distance > width,
        Deadband::Percent(percent) => distance > last.abs() * percent / 100.0,
    }
}

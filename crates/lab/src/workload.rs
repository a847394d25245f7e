//! Workloads: what PVs of an accelerator send, made from a seed, so that two runs differ by the machine alone.
//!
//! A `Signal` is one PV that goes on for ever: each call gives its next samples, with times of one `Pace` and values of one
//! `Kind`. Noise and drift are those of real signals as far as the sizes of blocks depend on them; each kind says what it has.

mod frames;
mod kind;
mod noise;
mod pace;

use sample::{Alarm, Batch, Runs, Severity};

pub(crate) use frames::{Frame, Frames};
pub(crate) use kind::Kind;
pub(crate) use noise::Noise;
pub(crate) use pace::Pace;

/// 2026-01-01, when all workloads begin.
pub(crate) const START: i64 = 1_767_225_600_000_000_000;

/// So many samples lie between two alarms, in the mean, and so many an alarm lasts.
const CALM_ROWS: f64 = 20_000.0;
const ALARM_ROWS: usize = 50;

/// A PV that sends.
#[derive(Clone)]
pub(crate) struct Signal {
    pace: Pace,
    kind: Kind,
    /// Of its values; times and alarms have their own, so that it does not matter how many samples are asked for at once.
    noise: Noise,
    pace_noise: Noise,
    alarm_noise: Noise,
    /// How many samples it has sent.
    row: u64,
    /// Where times that do not keep to a grid have come to.
    now: i64,
    /// Where in its drift it began, from 0 to 1.
    phase: f64,
    /// Where walks, counters and states have come to.
    level: f64,
    /// Until which row the level stays.
    level_until: u64,
    /// The next row at which an alarm begins.
    next_alarm: u64,
}

impl Signal {
    pub(crate) fn new(kind: Kind, pace: Pace, seed: u64) -> Signal {
        let mut noise = Noise::new(seed);
        let (pace_noise, mut alarm_noise) = (Noise::new(noise.bits()), Noise::new(noise.bits()));
        let phase = noise.unit();
        let next_alarm = alarm_noise.exponential(CALM_ROWS) as u64;
        let level = kind.first_level(&mut noise);
        let (row, now, level_until) = (0, START, 0);
        Signal { pace, kind, noise, pace_noise, alarm_noise, row, now, phase, level, level_until, next_alarm }
    }

    /// The next `count` samples.
    pub(crate) fn batch(&mut self, count: usize) -> Batch {
        let times = pace::times(self, count);
        let values = kind::values(self, count);
        let alarms = self.alarms(count);
        self.row += count as u64;
        let mut pulses = Runs::default();
        pulses.push(&0, count);
        Batch::from_columns(times, values, alarms, pulses).expect("all columns have that many rows")
    }

    /// Alarms are rare: a minor one for a while, once in 20,000 samples.
    fn alarms(&mut self, count: usize) -> Runs<Alarm> {
        let mut alarms = Runs::default();
        let end = self.row + count as u64;
        let mut row = self.row;
        while row < end {
            if row < self.next_alarm {
                let calm = self.next_alarm.min(end) - row;
                alarms.push(&Alarm::default(), calm as usize);
                row += calm;
                continue;
            }
            let until = self.next_alarm + ALARM_ROWS as u64;
            let lasting = until.min(end) - row;
            alarms.push(&Alarm { severity: Severity::Minor, status: 4, message: None }, lasting as usize);
            row += lasting;
            if row == until {
                self.next_alarm = until + 1 + self.alarm_noise.exponential(CALM_ROWS) as u64;
            }
        }
        alarms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 11] = [
        Kind::Adc,
        Kind::Decimal,
        Kind::Setpoint,
        Kind::Sine,
        Kind::Constant,
        Kind::Counter,
        Kind::Position,
        Kind::State,
        Kind::Vacuum,
        Kind::Text,
        Kind::Walk,
    ];
    const PACES: [Pace; 6] =
        [Pace::Late100us, Pace::Late10us, Pace::Evr, Pace::OnChange, Pace::Every(1_000_000_000), Pace::Millis];

    #[test]
    fn a_signal_is_the_same_however_its_samples_are_asked_for() {
        for kind in KINDS {
            for pace in PACES {
                let mut once = Signal::new(kind, pace, 7);
                let mut often = once.clone();
                let whole = once.batch(60_000);
                let mut parts = Batch::new(whole.value_type());
                for count in [1, 1, 10_000, 49_998] {
                    let part = often.batch(count);
                    assert!(parts.extend_from(&part, 0..part.len()));
                }
                assert_eq!(whole.times(), parts.times(), "{kind:?} {pace:?}");
                assert!(whole.values().identical(parts.values()), "{kind:?} {pace:?}");
                assert_eq!(whole.alarms(), parts.alarms(), "{kind:?} {pace:?}");
            }
        }
    }

    #[test]
    fn times_never_go_back() {
        for pace in PACES {
            assert!(Signal::new(Kind::Constant, pace, 1).batch(100_000).is_sorted(), "{pace:?}");
        }
    }
}

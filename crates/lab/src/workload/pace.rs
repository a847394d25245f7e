//! Times: how an IOC stamps its samples.

use sample::Timestamp;

use super::{START, Signal};

/// When samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A 10 Hz scan that is late by half a gaussian of 100 µs, to the nanosecond: an IOC on a busy host.
    Late100us,
    /// The same with 10 µs: an IOC on a quiet host.
    Late10us,
    /// 14 Hz stamped by an event receiver, in ticks of 11.357 ns, late by up to three.
    Evr,
    /// When the value changes: exponential gaps of a second in the mean.
    OnChange,
    /// A scan of that period in nanoseconds, late by half a gaussian of 100 µs.
    Every(i64),
    /// A 10 Hz scan stamped in whole milliseconds, early or late by a gaussian of 2 ms: HALF's test.
    Millis,
}

impl Pace {
    /// The time between two samples, in nanoseconds.
    pub(crate) fn period(self) -> i64 {
        match self {
            Pace::Late100us | Pace::Late10us | Pace::Millis => 100_000_000,
            Pace::Every(period) => period,
            Pace::Evr => 71_428_571,
            Pace::OnChange => 1_000_000_000,
        }
    }
}

/// A second has so many ticks of an event receiver at 88.0525 MHz.
const TICKS: u64 = 88_052_500;

pub(super) fn times(signal: &mut Signal, count: usize) -> Vec<Timestamp> {
    let row = signal.row;
    (row..row + count as u64).map(|row| Timestamp::from_nanos(time(signal, row))).collect()
}

fn time(signal: &mut Signal, row: u64) -> i64 {
    let noise = &mut signal.pace_noise;
    let grid = START + row as i64 * signal.pace.period();
    match signal.pace {
        Pace::Late100us | Pace::Every(_) => grid + (100_000.0 * noise.gauss().abs()) as i64,
        Pace::Late10us => grid + (10_000.0 * noise.gauss().abs()) as i64,
        Pace::Evr => {
            let (second, shot) = (row / 14, row % 14);
            let ticks = shot * TICKS / 14 + noise.below(4);
            START + second as i64 * 1_000_000_000 + (u128::from(ticks) * 1_000_000_000 / u128::from(TICKS)) as i64
        }
        Pace::OnChange => {
            signal.now += 1 + noise.exponential(1e9) as i64;
            signal.now
        }
        Pace::Millis => grid + (2.0 * noise.gauss()).round() as i64 * 1_000_000,
    }
}

//! Watches how late updates come after their stamps. When an IOC or a network cannot keep up, stamps fall behind the clock by
//! seconds, and what then overflows on the way says nothing; a clock that is merely wrong is behind all the time.

use std::time::Duration;

use sample::Timestamp;

/// By so much later than usual are updates late.
const LATE: i64 = 3_000_000_000;

/// What is usual is learnt from so many updates at least,
const USUAL_MIN: u32 = 10;

/// and anew after so long.
const LEARN: i64 = 60_000_000_000;

/// How late the updates of one PV are.
#[derive(Debug, Default)]
pub(crate) struct Lag {
    /// The least in the last stretch of learning; none before there was one.
    usual: Option<i64>,
    least: i64,
    noted: u32,
    learning_since: i64,
    last_arrival: i64,
}

impl Lag {
    /// An update arrived. If it is late, and those before were not for other reasons: for how long updates may have been lost.
    pub(crate) fn note(&mut self, stamp: Timestamp, arrival: Timestamp) -> Option<Duration> {
        let (arrival, lag) = (arrival.nanos(), arrival.nanos().saturating_sub(stamp.nanos()));
        let silence = arrival.saturating_sub(self.last_arrival);
        self.last_arrival = arrival;
        if self.noted == 0 {
            (self.least, self.learning_since) = (lag, arrival);
        }
        self.noted += 1;
        self.least = self.least.min(lag);
        if self.noted >= USUAL_MIN && arrival.saturating_sub(self.learning_since) >= LEARN {
            self.usual = Some(self.least);
            self.noted = 0;
        }
        let usual = self.usual.or_else(|| (self.noted > USUAL_MIN).then_some(self.least))?;
        let is_late = lag.saturating_sub(usual) > LATE;
        // A stamp may be older than the silence before it: a value that was set long ago says nothing about the way.
        (is_late && lag.saturating_sub(usual) <= silence.max(LEARN))
            .then(|| Duration::from_nanos(silence.max(0).cast_unsigned()))
    }

    /// The connection is lost: the first update of the next one may be old.
    pub(crate) fn forget(&mut self) {
        *self = Lag::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds.
    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_nanos(1_800_000_000_000_000_000 + milliseconds * 1_000_000)
    }

    fn usual(offset: i64) -> Lag {
        let mut lag = Lag::default();
        for n in 0..200 {
            assert_eq!(lag.note(at(n * 1000 + offset), at(n * 1000)), None);
        }
        lag
    }

    #[test]
    fn updates_that_come_late_after_a_silence_make_it_suspected_whatever_the_clock_of_the_ioc() {
        for offset in [-3_600_000, -5, 500] {
            let mut lag = usual(offset);
            assert_eq!(lag.note(at(200_000 + offset), at(212_000)), Some(Duration::from_secs(13)), "{offset}");
            assert_eq!(lag.note(at(205_000 + offset), at(212_001)), Some(Duration::from_millis(1)));
            assert_eq!(lag.note(at(212_000 + offset), at(212_002)), None, "it has caught up");
        }
    }

    #[test]
    fn the_first_values_of_a_connection_and_very_old_stamps_are_not_late() {
        let mut lag = Lag::default();
        assert_eq!(lag.note(at(-86_400_000), at(0)), None);
        let mut lag = usual(0);
        assert_eq!(lag.note(at(-86_400_000), at(201_000)), None);
        lag.forget();
        assert_eq!(lag.note(at(100_000), at(202_000)), None);
    }
}

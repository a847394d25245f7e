//! Time: nanoseconds since 1970, UTC, and half-open ranges of them.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jiff::tz::{Offset, TimeZone};

/// A moment: nanoseconds since 1970-01-01T00:00:00Z without leap seconds (years 1678 to 2261).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Why a text is not a time, or a range is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeError {
    /// Not an ISO 8601 date and time with zone.
    NotATime {
        /// The text.
        text: String,
        /// What the calendar library says.
        reason: String,
    },
    /// A year that nanoseconds in 64 bits do not reach.
    OutOfReach {
        /// The text.
        text: String,
    },
    /// The end lies before the beginning.
    Reversed {
        /// The beginning.
        t0: Timestamp,
        /// The end.
        t1: Timestamp,
    },
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeError::NotATime { text, reason } => {
                write!(
                    f,
                    "{text:?} is not a time like 2026-11-21T08:30:00Z, 2026-11-21 08:30, 8:00, yesterday or -8h ({reason})"
                )
            }
            TimeError::OutOfReach { text } => write!(f, "{text:?} lies outside the years 1678 to 2261"),
            TimeError::Reversed { t0, t1 } => write!(f, "the range ends ({t1}) before it begins ({t0})"),
        }
    }
}

impl std::error::Error for TimeError {}

impl Timestamp {
    /// The earliest moment.
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    /// The latest moment.
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// From nanoseconds since 1970.
    pub const fn from_nanos(nanos: i64) -> Timestamp {
        Timestamp(nanos)
    }

    /// From seconds since 1970 and nanoseconds within the second; beyond reach it is the nearest moment.
    pub fn from_seconds(seconds: i64, nanos: u32) -> Timestamp {
        Timestamp(seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(nanos)))
    }

    /// Nanoseconds since 1970.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down, and the nanoseconds beyond.
    pub fn seconds_and_nanos(self) -> (i64, u32) {
        (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000) as u32)
    }

    /// Seconds since 1970 as a float, good to about 0.2 µs: for drawing, not for keeping.
    pub fn seconds_f64(self) -> f64 {
        let (seconds, nanos) = self.seconds_and_nanos();
        seconds as f64 + f64::from(nanos) * 1e-9
    }

    /// Reads ISO 8601 with `Z` or an offset and up to nine digits of fraction. A blank where the offset's `+` should be
    /// is taken as `+`, because that is what URLs make of it. As in the Archiver Appliance the fraction may have no digits, and
    /// a day may end at 24:00:00.
    pub fn parse(text: &str) -> Result<Timestamp, TimeError> {
        i64::try_from(wide(text)?).map(Timestamp).map_err(|_| TimeError::OutOfReach { text: text.to_owned() })
    }

    /// Reads the same, and years before Christ, for the ends of a range: what lies out of reach is the first or the last moment.
    pub fn parse_nearest(text: &str) -> Result<Timestamp, TimeError> {
        let text = text.trim();
        // The calendar that reads them does not reach the last days of 9999, nor does it know years below 0 by four digits.
        let is_time = |far: &str| wide(far).is_ok();
        if text.strip_prefix('-').is_some_and(is_time) {
            return Ok(Timestamp::MIN);
        }
        if text.strip_prefix('9').is_some_and(|rest| is_time(&format!("2{rest}"))) {
            return Ok(Timestamp::MAX);
        }
        let nanos = wide(text)?.clamp(i64::MIN.into(), i64::MAX.into());
        Ok(Timestamp(nanos as i64))
    }

    /// The calendar year in UTC and the nanosecond at which it begins.
    pub fn year(self) -> (i16, Timestamp) {
        let civil = self.civil();
        let start = civil.first_of_year().date().at(0, 0, 0, 0);
        let nanos = TimeZone::UTC.to_timestamp(start).map_or(i128::MIN, |t| t.as_nanosecond());
        (civil.year(), Timestamp(i64::try_from(nanos).unwrap_or(i64::MIN)))
    }

    /// Later by `duration`; never beyond `MAX`.
    pub fn saturating_add(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// Earlier by `duration`; never before `MIN`.
    pub fn saturating_sub(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    pub(crate) fn civil(self) -> jiff::civil::DateTime {
        Offset::UTC.to_datetime(self.moment())
    }

    pub(crate) fn moment(self) -> jiff::Timestamp {
        jiff::Timestamp::from_nanosecond(i128::from(self.0))
            .expect("the calendar reaches further than 64 bits of nanoseconds")
    }
}

/// Nanoseconds since 1970 of a time as text.
fn wide(text: &str) -> Result<i128, TimeError> {
    const DAY: i128 = 86_400_000_000_000;
    let repaired = text.trim().replace(' ', "+").replace(".Z", "Z");
    let (repaired, later) = match repaired.split_once("T24:00:00") {
        Some((day, zone)) => (format!("{day}T00:00:00{zone}"), DAY),
        None => (repaired, 0),
    };
    let parsed: Result<jiff::Timestamp, _> = repaired.parse();
    let moment = parsed.map_err(|e| TimeError::NotATime { text: text.to_owned(), reason: e.to_string() })?;
    Ok(moment.as_nanosecond() + later)
}

impl From<SystemTime> for Timestamp {
    /// A clock that was never set stands before 1970; it counts as 1970.
    fn from(clock: SystemTime) -> Timestamp {
        let since = clock.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, nanos) = self.seconds_and_nanos();
        write!(f, "{}.{nanos:09}Z", self.civil().strftime("%Y-%m-%dT%H:%M:%S"))
    }
}

/// All moments from `t0` up to, not including, `t1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first moment.
    pub t0: Timestamp,
    /// The first moment after.
    pub t1: Timestamp,
}

impl TimeRange {
    /// Everything.
    pub const ALL: TimeRange = TimeRange { t0: Timestamp::MIN, t1: Timestamp::MAX };

    /// A range; refused if it ends before it begins. It may be empty.
    pub fn new(t0: Timestamp, t1: Timestamp) -> Result<TimeRange, TimeError> {
        if t1 < t0 { Err(TimeError::Reversed { t0, t1 }) } else { Ok(TimeRange { t0, t1 }) }
    }

    /// Whether `time` lies in it.
    pub fn contains(self, time: Timestamp) -> bool {
        self.t0 <= time && time < self.t1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_8601_is_read_with_every_offset_and_fraction_that_clients_send() {
        let expected = Timestamp::from_nanos(1_795_209_540_317_861_794);
        for text in [
            "2026-11-20T21:19:00.317861794Z",
            "2026-11-20T16:19:00.317861794-05:00",
            "2026-11-20T22:19:00.317861794 01:00",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap(), expected, "{text}");
        }
        assert_eq!(expected.to_string(), "2026-11-20T21:19:00.317861794Z");
        let midnight = Timestamp::from_seconds(1_795_219_200, 0);
        for text in
            ["2026-11-21T00:00:00Z", "2026-11-21T00:00:00.Z", "2026-11-20T24:00:00Z", "2026-11-20T24:00:00.000Z"]
        {
            assert_eq!(Timestamp::parse(text).unwrap(), midnight, "{text}");
        }
    }

    #[test]
    fn the_ends_of_a_range_may_lie_out_of_reach() {
        let nearest = |text| Timestamp::parse_nearest(text).unwrap();
        assert_eq!(nearest("0001-01-01T00:00:00Z"), Timestamp::MIN);
        assert_eq!(nearest("-0001-01-01T00:00:00Z"), Timestamp::MIN);
        assert_eq!(nearest("9999-12-31T24:00:00Z"), Timestamp::MAX);
        assert_eq!(nearest("1970-01-01T00:00:01Z"), Timestamp::from_seconds(1, 0));
        assert!(Timestamp::parse_nearest("-garbage").is_err());
    }

    #[test]
    fn what_is_no_time_is_refused_with_its_text() {
        for text in ["garbage", "", "2026-11-20", "1795209540"] {
            assert!(matches!(Timestamp::parse(text), Err(TimeError::NotATime { .. })), "{text}");
        }
        assert!(matches!(Timestamp::parse("9000-01-01T00:00:00Z"), Err(TimeError::OutOfReach { .. })));
    }

    #[test]
    fn every_moment_can_be_printed_and_has_a_year() {
        for nanos in [i64::MIN, -1, 0, i64::MAX] {
            let _ = Timestamp::from_nanos(nanos).to_string();
            let _ = Timestamp::from_nanos(nanos).year();
        }
        let (year, start) = Timestamp::parse("2026-01-01T00:00:00.000000001Z").unwrap().year();
        assert_eq!((year, start.to_string().as_str()), (2026, "2026-01-01T00:00:00.000000000Z"));
    }

    #[test]
    fn a_clock_gives_nanoseconds_and_one_before_1970_gives_1970() {
        let nanos = Duration::from_nanos(1_795_209_540_317_861_794);
        assert_eq!(Timestamp::from(UNIX_EPOCH + nanos), Timestamp::from_nanos(1_795_209_540_317_861_794));
        assert_eq!(Timestamp::from(UNIX_EPOCH - nanos), Timestamp::from_nanos(0));
    }

    #[test]
    fn a_reversed_range_is_refused_and_an_empty_one_is_not() {
        let (a, b) = (Timestamp::from_nanos(1), Timestamp::from_nanos(2));
        assert!(TimeRange::new(b, a).is_err());
        assert!(!TimeRange::new(a, a).unwrap().contains(a));
    }
}

//! The ISO week: segments lie in a folder for the week in which they were written, so that the folders of past weeks never
//! change and a backup copies each of them once.

use sample::Timestamp;

use crate::segment::manifest::Level;

const DAY_NANOS: i64 = 86_400_000_000_000;

/// Days from the first of January of the year 1 on.
const DAYS_TO_1970: i64 = 719_162;

/// As in `2026-W47`.
pub(crate) fn folder(time: Timestamp) -> String {
    let day = day(time);
    let weekday = (day + 3).rem_euclid(7); // 1970-01-01 was a Thursday; Monday is 0
    let thursday = Timestamp::from_nanos((day - weekday + 3).saturating_mul(DAY_NANOS));
    let (year, start) = thursday.year();
    let week = thursday.nanos().saturating_sub(start.nanos()).div_euclid(7 * DAY_NANOS) + 1;
    format!("{year:04}-W{week:02}")
}

/// The number of the day since 1970, in UTC.
pub(crate) fn day(time: Timestamp) -> i64 {
    time.nanos().div_euclid(DAY_NANOS)
}

/// The first moment after a day.
pub(crate) fn day_end(day: i64) -> Timestamp {
    Timestamp::from_nanos(day.saturating_add(1).saturating_mul(DAY_NANOS))
}

/// The first moment after the week of a folder; the end of time if the name is none of ours, so that nothing there is ever over.
pub(crate) fn end(folder: &str) -> Timestamp {
    let end = || {
        let (year, week) = folder.split_once("-W")?;
        let (before, week) = (i64::from(year.parse::<i16>().ok()?) - 1, i64::from(week.parse::<u8>().ok()?));
        let leap_days = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
        let january = 365 * before + leap_days - DAYS_TO_1970 + 3; // the 4th is always in the first week
        let monday = january - (january + 3).rem_euclid(7);
        Some(day_end(monday + 7 * week - 1))
    };
    end().unwrap_or(Timestamp::MAX)
}

/// Whether a folder's name is that of a week.
pub(crate) fn is_folder(name: &str) -> bool {
    name.split_once("-W").is_some_and(|(year, week)| year.parse::<i16>().is_ok() && week.parse::<u8>().is_ok())
}

/// How far the segments of a week have come when nothing but their files is known.
pub(crate) fn level(folder: &str, now: Timestamp) -> Level {
    if end(folder) <= now { Level::Week } else { Level::Minutes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_week_belongs_to_the_year_of_its_thursday() {
        for (time, expected) in [
            ("2026-11-21T10:00:00Z", "2026-W47"),
            ("2026-01-01T00:00:00Z", "2026-W01"),
            ("2027-01-03T23:59:59Z", "2026-W53"),
            ("2024-12-30T00:00:00Z", "2025-W01"),
            ("1970-01-01T00:00:00Z", "1970-W01"),
        ] {
            assert_eq!(folder(Timestamp::parse(time).unwrap()), expected, "{time}");
            assert!(is_folder(expected));
        }
        assert!(!is_folder("log"));
    }

    #[test]
    fn a_week_ends_where_the_next_one_begins() {
        for start in ["2020-12-20T12:00:00Z", "2024-12-20T12:00:00Z", "2026-12-20T12:00:00Z", "1969-12-20T12:00:00Z"] {
            for days in 0..30 {
                let time = Timestamp::from_nanos(Timestamp::parse(start).unwrap().nanos() + days * DAY_NANOS);
                let end = end(&folder(time));
                assert!(time < end && end.nanos() - time.nanos() <= 7 * DAY_NANOS, "{time} {end}");
                assert_eq!(folder(Timestamp::from_nanos(end.nanos() - 1)), folder(time));
                assert_ne!(folder(end), folder(time));
            }
        }
        assert_eq!(end("log"), Timestamp::MAX);
        assert_eq!(end("2026-W"), Timestamp::MAX);
    }
}

//! The ISO week: segments lie in a folder for the week in which they were written, so that the folders of past weeks never
//! change and a backup copies each of them once.

use sample::Timestamp;

const DAY_NANOS: i64 = 86_400_000_000_000;

/// As in `2026-W47`.
pub(crate) fn folder(time: Timestamp) -> String {
    let day = time.nanos().div_euclid(DAY_NANOS);
    let weekday = (day + 3).rem_euclid(7); // 1970-01-01 was a Thursday; Monday is 0
    let thursday = Timestamp::from_nanos((day - weekday + 3).saturating_mul(DAY_NANOS));
    let (year, start) = thursday.year();
    let week = thursday.nanos().saturating_sub(start.nanos()).div_euclid(7 * DAY_NANOS) + 1;
    format!("{year:04}-W{week:02}")
}

/// Whether a folder's name is that of a week.
pub(crate) fn is_folder(name: &str) -> bool {
    name.split_once("-W").is_some_and(|(year, week)| year.parse::<i16>().is_ok() && week.parse::<u8>().is_ok())
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
}

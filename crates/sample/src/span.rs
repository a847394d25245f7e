//! Spans of time as they stand in configurations: `20ms`, `10min`, `7d`.

use std::time::Duration;

/// A year in spans. No year is longer, so that nothing that is kept for one goes before it is over.
const YEAR_DAYS: u64 = 366;

/// `20ms`, `1s`, `10min`, `2h`, `7d`, `4w`, `10y` (a year has 366 days).
pub fn parse_span(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let milliseconds = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        "y" => YEAR_DAYS * 86_400_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).filter(|ms| *ms > 0).map(Duration::from_millis)
}

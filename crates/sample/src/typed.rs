//! Times as people type them: `2026-06-01 08:30`, `8:00`, `yesterday`, `-8h`, `±10min`. Page, URL, HTTP, command line and Python read
//! them alike; `testdata/times.json` lists the cases. A text without a zone is in that of who types it, UTC if none is said.

use jiff::Span;

use crate::{TimeError, TimeRange, Timestamp, Zone};

const SECOND: i128 = 1_000_000_000;
/// Days by the three letters with which they begin, from Monday.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Fewer digits than these are no seconds since 1970, but a year, or a slip.
const EPOCH_DIGITS_MIN: usize = 9;

/// A text that was read.
enum Typed {
    At(Timestamp),
    /// A length of time that counts back from now, or from the other end of a range.
    Before(Length),
    /// A length of time that counts on from the other end.
    After(Length),
    /// A length of time on both sides of the other end.
    Around(Length),
}

/// Months by the calendar, then what always takes the same time.
#[derive(Clone, Copy, Debug, Default)]
struct Length {
    months: i64,
    nanos: i128,
}

impl Timestamp {
    /// Reads a time as it is typed. Dates beyond the years that can be told are the first or the last moment.
    pub fn typed(text: &str, now: Timestamp) -> Result<Timestamp, TimeError> {
        Timestamp::typed_in(text, now, &Zone::utc())
    }

    /// The same by whoever lives in a zone.
    pub fn typed_in(text: &str, now: Timestamp, zone: &Zone) -> Result<Timestamp, TimeError> {
        match Typed::read(text, now, zone)? {
            Typed::At(time) => Ok(time),
            Typed::Before(length) => length.before(now, text, zone),
            Typed::After(_) | Typed::Around(_) => Err(refused(text, "it counts from the other end of a range")),
        }
    }
}

impl TimeRange {
    /// Reads the ends of a range as they are typed. An end that is not given is `usual.1`; a beginning that is not given lies `usual.0`
    /// before the end.
    pub fn typed(
        from: Option<&str>,
        to: Option<&str>,
        now: Timestamp,
        usual: (std::time::Duration, Timestamp),
    ) -> Result<TimeRange, TimeError> {
        TimeRange::typed_in(from, to, now, usual, &Zone::utc())
    }

    /// The same by whoever lives in a zone.
    pub fn typed_in(
        from: Option<&str>,
        to: Option<&str>,
        now: Timestamp,
        usual: (std::time::Duration, Timestamp),
        zone: &Zone,
    ) -> Result<TimeRange, TimeError> {
        let from = from.map(|text| Ok((text, Typed::read(text, now, zone)?))).transpose()?;
        let to = to.map(|text| Ok((text, Typed::read(text, now, zone)?))).transpose()?;
        let fixed = |(text, typed)| match typed {
            Typed::At(time) => Ok(time),
            Typed::Before(length) => length.before(now, text, zone),
            Typed::After(_) | Typed::Around(_) => {
                Err(refused(text, "one end has to say when, and what is after or around counts from that"))
            }
        };
        let (t0, t1) = match (from, to) {
            (Some((text, Typed::Around(length))), other) | (other, Some((text, Typed::Around(length)))) => {
                let middle = other.map_or(Ok(now), fixed)?;
                (length.before(middle, text, zone)?, length.after(middle, text, zone)?)
            }
            (Some(from), Some((text, Typed::After(length)))) => {
                let t0 = fixed(from)?;
                (t0, length.after(t0, text, zone)?)
            }
            (Some((text, Typed::Before(length))), Some((_, Typed::At(time)))) => {
                (length.before(time, text, zone)?, time)
            }
            (from, to) => {
                let t1 = to.map_or(Ok(usual.1), fixed)?;
                (from.map_or(Ok(t1.saturating_sub(usual.0)), fixed)?, t1)
            }
        };
        TimeRange::new(t0, t1)
    }
}

impl Typed {
    fn read(text: &str, now: Timestamp, zone: &Zone) -> Result<Typed, TimeError> {
        let typed = text.trim().to_lowercase();
        if let Some(time) = by_name(&typed, now, zone) {
            return Ok(Typed::At(time));
        }
        let signed: String = typed.split_whitespace().collect();
        let around = ["±", "+-", "+/-"].iter().find_map(|sign| signed.strip_prefix(sign));
        if let Some(length) = around.and_then(Length::read) {
            return Ok(Typed::Around(length));
        }
        if let Some(length) = signed.strip_prefix('-').and_then(Length::read) {
            return Ok(Typed::Before(length));
        }
        if let Some(length) = signed.strip_prefix('+').and_then(Length::read) {
            return Ok(Typed::After(length));
        }
        if let Some(clock) = clock(&typed) {
            return last_at(&clock, now, zone).map(Typed::At).ok_or_else(|| refused(text, "no day has such a moment"));
        }
        if let Some(nanos) = seconds(&typed) {
            let nanos = i64::try_from(nanos).map_err(|_| TimeError::OutOfReach { text: text.to_owned() })?;
            return Ok(Typed::At(Timestamp::from_nanos(nanos)));
        }
        let (whole, says_zone) = with_zone(&typed).unwrap_or_else(|| (text.to_owned(), SaysZone::Yes));
        let time = Timestamp::parse_nearest(&whole).map_err(|error| match error {
            TimeError::NotATime { reason, .. } => TimeError::NotATime { text: text.to_owned(), reason },
            other => other,
        })?;
        let here = match says_zone {
            SaysZone::Yes => None,
            // One beyond all calendars stays the first or the last moment.
            SaysZone::No => zone.time_of(time.civil()),
        };
        Ok(Typed::At(here.unwrap_or(time)))
    }
}

/// Whether a text says in which zone it is.
enum SaysZone {
    Yes,
    No,
}

fn refused(text: &str, reason: &str) -> TimeError {
    TimeError::NotATime { text: text.to_owned(), reason: reason.to_owned() }
}

/// `now`, and the first moments of days that have names.
fn by_name(name: &str, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let days = match name {
        "now" => return Some(now),
        "today" => 0,
        "yesterday" => 1,
        day => {
            let day = DAYS.iter().position(|known| *known == day)? as i64;
            let today = zone.civil(now).weekday().to_monday_zero_offset();
            (i64::from(today) - day).rem_euclid(7)
        }
    };
    let day = zone.civil(now).date().checked_sub(Span::new().days(days)).ok()?;
    zone.time_of(day.at(0, 0, 0, 0))
}

impl Length {
    /// `8h`, `1d4h`, `1.5h`: numbers with units, without blanks.
    fn read(text: &str) -> Option<Length> {
        let (mut length, mut rest) = (Length::default(), text);
        while !rest.is_empty() {
            let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
            let (number, behind) = rest.split_at_checked(digits)?;
            let letters = behind.find(|character: char| !character.is_ascii_lowercase()).unwrap_or(behind.len());
            let (unit, behind) = behind.split_at_checked(letters)?;
            let seconds = match unit {
                "s" => 1,
                "m" | "min" => 60,
                "h" => 3600,
                "d" => 86_400,
                "w" => 604_800,
                "mo" | "y" => {
                    let months: i64 = number.parse().ok()?;
                    let months = months.checked_mul(if unit == "y" { 12 } else { 1 })?;
                    length.months = length.months.checked_add(months)?;
                    rest = behind;
                    continue;
                }
                _ => return None,
            };
            length.nanos = length.nanos.checked_add(decimal(number)?.checked_mul(seconds)?)?;
            rest = behind;
        }
        (!text.is_empty()).then_some(length)
    }

    fn before(self, time: Timestamp, text: &str, zone: &Zone) -> Result<Timestamp, TimeError> {
        self.from(time, -1, zone).ok_or_else(|| TimeError::OutOfReach { text: text.to_owned() })
    }

    fn after(self, time: Timestamp, text: &str, zone: &Zone) -> Result<Timestamp, TimeError> {
        self.from(time, 1, zone).ok_or_else(|| TimeError::OutOfReach { text: text.to_owned() })
    }

    fn from(self, time: Timestamp, sign: i64, zone: &Zone) -> Option<Timestamp> {
        let months = Span::new().try_months(self.months * sign).ok()?;
        let moved = match self.months {
            0 => time,
            _ => zone.time_of(zone.civil(time).checked_add(months).ok()?)?,
        };
        let nanos = i128::from(moved.nanos()) + self.nanos * i128::from(sign);
        i64::try_from(nanos).ok().map(Timestamp::from_nanos)
    }
}

/// A number with at most nine digits behind the point, a thousand million times.
fn decimal(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 20 || fraction.len() > 9 || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let fraction: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(whole.parse::<i128>().ok()? * SECOND + fraction)
}

/// Seconds since 1970, as nanoseconds.
fn seconds(text: &str) -> Option<i128> {
    let digits = text.find('.').unwrap_or(text.len());
    decimal(text).filter(|_| digits >= EPOCH_DIGITS_MIN)
}

/// `8:00`, `08:00:30.5` as hours with two digits and seconds.
fn clock(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("00"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = seconds.split('.').next().unwrap_or_default();
    let fits = are_digits(hours) && hours.len() <= 2 && are_digits(minutes) && minutes.len() == 2 && are_digits(whole);
    fits.then(|| format!("{hours:0>2}:{minutes}:{seconds}"))
}

/// The last such moment before now, or now.
fn last_at(clock: &str, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let time: jiff::civil::Time = clock.parse().ok()?;
    let today = zone.civil(now).date();
    let at = zone.time_of(today.to_datetime(time))?;
    if at <= now { Some(at) } else { zone.time_of(today.yesterday().ok()?.to_datetime(time)) }
}

/// A date, perhaps with a time of day and a zone, as ISO 8601 has it; a blank stands for the `T`, or for the `+` of a zone. Without a zone it is
/// as in UTC, and that is told.
fn with_zone(text: &str) -> Option<(String, SaysZone)> {
    let (date, behind) = text.split_at_checked(10)?;
    if date.bytes().enumerate().any(|(at, byte)| (at == 4 || at == 7) != (byte == b'-')) {
        return None;
    }
    if behind.is_empty() {
        return Some((format!("{date}T00:00:00Z"), SaysZone::No));
    }
    let behind = behind.strip_prefix(['t', ' ', '+'])?.trim_start();
    let end = behind.find(['z', '+', '-', ' ']).unwrap_or(behind.len());
    let (time, zone) = behind.split_at_checked(end)?;
    let (zone, says_zone) = match zone.trim() {
        "" => ("Z".to_owned(), SaysZone::No),
        zone if zone.starts_with(|first: char| first.is_ascii_digit()) => (format!("+{zone}"), SaysZone::Yes),
        zone => (zone.to_uppercase(), SaysZone::Yes),
    };
    Some((format!("{date}T{}{zone}", clock(time)?), says_zone))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::*;
    use crate::ZoneName;

    fn cases() -> (Value, Timestamp) {
        let text = include_str!("../../../testdata/times.json");
        let cases: Value = serde_json::from_str(text).unwrap();
        let now = Timestamp::parse(cases["now"].as_str().unwrap()).unwrap();
        (cases, now)
    }

    #[test]
    fn times_are_read_as_the_list_of_cases_says() {
        let (cases, now) = cases();
        for case in cases["moments"].as_array().unwrap() {
            let expected = case["is"].as_str().map(|is| Timestamp::parse(is).unwrap());
            let zone = case["zone"].as_str().map_or_else(Zone::utc, |name| Zone::of(&ZoneName::new(name).unwrap()));
            assert_eq!(Timestamp::typed_in(case["text"].as_str().unwrap(), now, &zone).ok(), expected, "{case}");
        }
    }

    #[test]
    fn ranges_are_read_as_the_list_of_cases_says() {
        let (cases, now) = cases();
        let usual = (Duration::from_secs(3600), now);
        for case in cases["ranges"].as_array().unwrap() {
            let expected = case["is"].as_array().map(|ends| {
                let end = |index: usize| Timestamp::parse(ends[index].as_str().unwrap()).unwrap();
                TimeRange { t0: end(0), t1: end(1) }
            });
            let found = TimeRange::typed(case["from"].as_str(), case["to"].as_str(), now, usual);
            assert_eq!(found.ok(), expected, "{case}");
        }
    }

    #[test]
    fn what_lies_out_of_reach_is_the_nearest_moment_or_refused_and_never_a_panic() {
        let now = Timestamp::from_seconds(1_800_000_000, 0);
        assert_eq!(Timestamp::typed("0001-01-01", now), Ok(Timestamp::MIN));
        assert_eq!(Timestamp::typed("-0001-01-01T00:00:00Z", now), Ok(Timestamp::MIN));
        for text in
            ["-9999y", "-999999999999999999mo", "-99999999999999999999d", "±1y", "٣:٠٠", "2026-06-01Tü", "-½h", "1.2.3"]
        {
            assert!(Timestamp::typed(text, now).is_err(), "{text}");
        }
        for time in [Timestamp::MIN, Timestamp::MAX] {
            for text in ["today", "yesterday", "mon", "8:00", "-1s", "-1mo", "now"] {
                let _ = Timestamp::typed(text, time);
                let _ = TimeRange::typed(Some(text), Some("+1mo"), time, (Duration::MAX, time));
            }
        }
    }
}

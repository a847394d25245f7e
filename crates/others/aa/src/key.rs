//! Keys: where the files of a PV lie, and which time the name of a file stands for.
//!
//! ```text
//!   SR:PS-1:I    ──► SR/PS/1/I     the key: `:` and `-` part folders
//!   file         :=  key ":" partition ".pb"         SR/PS/1/I:2026_11_20.pb
//!   Parquet      :=  key ":" partition ".parquet"
//!   zip file     :=  key ".zip" or key ":_pb.zip"    the same, with `.pb` files in it
//!   tar file     :=  key ".tar", which holds files   SR/PS/1/I.tar ► I:2026_11_20.pb
//!   partition    :=  year _month _day _hour _minute, the last ones left out where partitions are longer; UTC
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::PvName;
use sample::{TimeRange, Timestamp};

use crate::header::year_start;

/// What stands between the key and the partition.
pub(crate) const TERMINATOR: char = ':';

/// The path of a PV's files below a root folder, without partition. None if it would lead out of the folder.
pub(crate) fn key_of(pv: &PvName) -> Option<String> {
    let key = pv.as_str().replace([':', '-'], "/");
    let leads_out = key.split('/').any(|part| part == ".." || part == ".");
    (!leads_out && !key.starts_with('/') && !key.ends_with('/')).then_some(key)
}

/// The time that a file's name stands for: `X:2026_11_20.pb` a day. None for all other files.
pub(crate) fn partition_of(file_name: &str) -> Option<(&str, TimeRange)> {
    let whole = file_name.strip_suffix(".pb").or_else(|| file_name.strip_suffix(".parquet"))?;
    let (stem, partition) = whole.rsplit_once(TERMINATOR)?;
    let mut numbers = [0, 1, 1, 0, 0];
    let mut count = 0;
    for (slot, (digits, width)) in numbers.iter_mut().zip(partition.split('_').zip([4, 2, 2, 2, 2])) {
        let is_number = digits.len() == width && digits.bytes().all(|digit| digit.is_ascii_digit());
        *slot = digits.parse().ok().filter(|_| is_number)?;
        count += 1;
    }
    if count != partition.split('_').count() {
        return None;
    }
    let [year, month, day, hour, minute] = numbers;
    let fits = (1970..=2261).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60;
    let start = |year, month| start_of(year, month);
    let t0 = start(year, month).saturating_add(seconds(((day - 1) * 24 + hour) * 3600 + minute * 60));
    let t1 = match count {
        1 => start(year + 1, 1),
        2 if month == 12 => start(year + 1, 1),
        2 => start(year, month + 1),
        3 => t0.saturating_add(seconds(86_400)),
        4 => t0.saturating_add(seconds(3600)),
        // The name does not say whether it is 5, 15 or 30 minutes.
        _ => t0.saturating_add(seconds(1800)),
    };
    fits.then_some((stem, TimeRange { t0, t1 }))
}

fn seconds(seconds: i32) -> std::time::Duration {
    std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// When a month begins.
fn start_of(year: i32, month: i32) -> Timestamp {
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month - 1).ok().and_then(|months| days.get(..months)).unwrap_or_default();
    year_start(year).saturating_add(seconds(before.iter().sum::<i32>() * 86_400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_folders_and_never_out_of_them() {
        let key = |name: &str| key_of(&PvName::new(name).expect("a name"));
        assert_eq!(key("SR:PS-1:I"), Some("SR/PS/1/I".to_owned()));
        assert_eq!(key("A.HIHI"), Some("A.HIHI".to_owned()));
        for wrong in ["..:..:etc:x", ":A", "A:.:B", "/etc/x", "A:"] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_of_files_say_which_time_they_hold() {
        let of = |name: &str| {
            partition_of(name)
                .map(|(stem, range)| format!("{stem} {} {}", &range.t0.to_string()[..19], &range.t1.to_string()[..19]))
        };
        for (name, expected) in [
            ("I:2026.pb", "I 2026-01-01T00:00:00 2027-01-01T00:00:00"),
            ("I:2026.parquet", "I 2026-01-01T00:00:00 2027-01-01T00:00:00"),
            ("I:2024_02.pb", "I 2024-02-01T00:00:00 2024-03-01T00:00:00"),
            ("I:2026_12.pb", "I 2026-12-01T00:00:00 2027-01-01T00:00:00"),
            ("I:2026_11_20.pb", "I 2026-11-20T00:00:00 2026-11-21T00:00:00"),
            ("I:2026_11_20_21.pb", "I 2026-11-20T21:00:00 2026-11-20T22:00:00"),
            ("I:2026_11_20_21_45.pb", "I 2026-11-20T21:45:00 2026-11-20T22:15:00"),
        ] {
            assert_eq!(of(name).as_deref(), Some(expected));
        }
        for wrong in [
            "I:2026.mean_3600.pb",
            "I.pb",
            "I:26.pb",
            "I:2026_13.pb",
            "I:2026_1.pb",
            "I:2026_11_20_21_45_00.pb",
            "I:2026.pbappend",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}

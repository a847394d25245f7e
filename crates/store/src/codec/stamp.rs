//! Stamps that are out of the ordinary, and what they are to be said of.
//!
//! ```text
//!   stamps := (rows:varint quality:u8)* integers      until the rows are covered; then other - time of each row whose quality is
//!                                                     not 0, one behind the other
//! ```
//! A block in which all stamps are ordinary has no such column.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::{Quality, Runs, Stamp, Stamps, Timestamp};

use super::{Effort, int};
use crate::bytes::{Cursor, Malformed, put_varint};

pub(crate) fn put(out: &mut Vec<u8>, times: &[Timestamp], stamps: &Stamps, effort: Effort) {
    let qualities = (0..times.len()).map(|row| stamps.get(row).map_or(0, |stamp| stamp.quality as u8));
    let mut runs = Runs::default();
    qualities.for_each(|quality| runs.push(&quality, 1));
    for (rows, quality) in runs.iter() {
        put_varint(out, rows.len() as u64);
        out.push(*quality);
    }
    let others = times.iter().enumerate().filter_map(|(row, time)| Some((time, stamps.get(row)?.other)));
    let others: Vec<i64> = others.map(|(time, other)| other.nanos().wrapping_sub(time.nanos())).collect();
    int::put(out, &others, effort);
}

pub(crate) fn take(cursor: &mut Cursor, times: &[Timestamp]) -> Result<Stamps, Malformed> {
    let mut qualities = Vec::with_capacity(times.len());
    while qualities.len() < times.len() {
        let rows = cursor.count(times.len() - qualities.len())?;
        let quality = match cursor.u8()? {
            0 => None,
            number => Some(Quality::from_number(number).ok_or(Malformed("no such quality of a stamp"))?),
        };
        if rows == 0 {
            return Err(Malformed("a run has no rows"));
        }
        qualities.resize(qualities.len() + rows, quality);
    }
    let odd = qualities.iter().flatten().count();
    let mut others = int::take(cursor, odd)?.into_iter();
    let mut runs = Runs::default();
    for (time, quality) in times.iter().zip(qualities) {
        let stamp = quality.and_then(|quality| {
            let other = Timestamp::from_nanos(time.nanos().wrapping_add(others.next()?));
            Some(Stamp { quality, other })
        });
        runs.push(&stamp, 1);
    }
    Ok(Stamps::from_runs(runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_every_habit_come_back_small() {
        let times: Vec<Timestamp> = (0..1000).map(|i| Timestamp::from_nanos(i * 1_000_003)).collect();
        let ahead = |i: i64| Stamp { quality: Quality::Ahead, other: Timestamp::from_nanos(i64::MAX - i) };
        let behind = |i: i64| Stamp { quality: Quality::Backward, other: Timestamp::from_nanos(i * 1_000_003 + 7_000) };
        let habits: [&dyn Fn(i64) -> Option<Stamp>; 3] =
            [&|i| (i == 500).then(|| ahead(i)), &|i| Some(behind(i)), &|i| (i % 2 == 0).then(|| behind(i))];
        for habit in habits {
            let mut runs = Runs::default();
            (0..1000).for_each(|i| runs.push(&habit(i), 1));
            let stamps = Stamps::from_runs(runs);
            let mut bytes = Vec::new();
            put(&mut bytes, &times, &stamps, Effort::Flush);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(take(&mut cursor, &times), Ok(stamps));
            assert!(cursor.is_empty() && bytes.len() < 3000, "{} bytes", bytes.len());
        }
    }
}

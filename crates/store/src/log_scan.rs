//! Reading the log back: whole frames, and the places where there are none.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::{Gap, PvId, Record, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    bytes::{Cursor, Malformed},
    catalog,
    log_format::{FRAME_LEN, GAP, HEADER_LEN, MAGIC, METADATA, SAMPLES, STAMPED, VERSION},
    plain,
};

/// A whole frame whose checksum is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) number: u64,
    pub(crate) appended: u64,
    pub(crate) now: Timestamp,
    /// Where its records lie in the file.
    pub(crate) records: Range<usize>,
}

/// What a file of the log consists of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) frames: Vec<Frame>,
    /// Bytes that are no frame, with frames behind them: damage.
    pub(crate) damaged: Vec<Range<usize>>,
    /// Bytes that are no frame, with nothing behind them: most likely torn off by a crash.
    pub(crate) tail: Option<Range<usize>>,
    /// The file was written by a newer program.
    pub(crate) newer: Option<u16>,
}

/// Takes a file of the log apart.
pub(crate) fn scan(bytes: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let mut at = match header_version(bytes) {
        Some(version) if version > VERSION => {
            scan.newer = Some(version);
            return scan;
        }
        Some(_) => HEADER_LEN,
        None => 0,
    };
    let mut bad: Option<usize> = None; // where the bytes began that are no frame
    while at < bytes.len() {
        let after = scan.frames.last().map(|frame| frame.number);
        match bytes.get(at..).and_then(|rest| frame_at(rest, at, after, bad.is_some())) {
            Some(frame) => {
                scan.damaged.extend(bad.take().map(|start| start..at));
                at = frame.records.end;
                scan.frames.push(frame);
            }
            None => {
                bad = bad.or(Some(at));
                at += 1;
            }
        }
    }
    scan.tail = bad.map(|start| start..bytes.len());
    scan
}

fn header_version(bytes: &[u8]) -> Option<u16> {
    let mut cursor = Cursor::new(bytes.get(..HEADER_LEN)?);
    (cursor.array().ok()? == MAGIC).then(|| cursor.u16().ok())?
}

/// The frame at the beginning of `bytes`. While searching behind damage the number must be a likely one before the checksum
/// is computed, so that the search takes no longer than one look at each byte.
fn frame_at(bytes: &[u8], at: usize, after: Option<u64>, searching: bool) -> Option<Frame> {
    let mut cursor = Cursor::new(bytes);
    let check = cursor.u64().ok()?;
    let len = cursor.u32().ok()? as usize;
    let number = cursor.u64().ok()?;
    let appended = cursor.u64().ok()?;
    let now = Timestamp::from_nanos(cursor.i64().ok()?);
    let likely = match after {
        Some(after) => number > after && number - after < 1 << 24,
        None => number < 1 << 48,
    };
    if (searching && !likely) || len > cursor.len() {
        return None;
    }
    let end = FRAME_LEN + len;
    let matches = bytes.get(8..end).is_some_and(|body| xxh3_64(body) == check);
    (matches && likely).then(|| Frame { number, appended, now, records: at + FRAME_LEN..at + end })
}

/// The records of a frame.
pub(crate) fn records(bytes: &[u8]) -> Result<Vec<(PvId, Record)>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut records = Vec::new();
    while !cursor.is_empty() {
        let kind = cursor.u8()?;
        let pv = u32::try_from(cursor.varint()?).map_err(|_| Malformed("a PV has a number of more than 32 bits"))?;
        let record = match kind {
            SAMPLES => Record::Samples(plain::take_batch(&mut cursor)?),
            STAMPED => {
                let batch = plain::take_batch(&mut cursor)?;
                let stamps = plain::take_stamps(&mut cursor, batch.len())?;
                Record::Samples(batch.with_stamps(stamps).ok_or(Malformed("stamps are for other rows"))?)
            }
            GAP => Record::Gap(take_gap(&mut cursor)?),
            METADATA => {
                let since = Timestamp::from_nanos(cursor.i64()?);
                let metadata = catalog::metadata(cursor.blob()?).ok_or(Malformed("metadata cannot be read"))?;
                Record::Metadata(since, metadata)
            }
            _ => return Err(Malformed("no such kind of record")),
        };
        records.push((PvId(pv), record));
    }
    Ok(records)
}

fn take_gap(cursor: &mut Cursor) -> Result<Gap, Malformed> {
    let from = cursor.i64()?;
    let cause = cursor.u8()?;
    let lost = cursor.varint()?;
    let to = match cursor.u8()? {
        0 => None,
        _ => Some(cursor.i64()?),
    };
    catalog::gap(from, to, cause, lost).ok_or(Malformed("no such cause of a gap"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        disk::{Disk, RealDisk},
        log::Log,
        log_format,
    };
    use sample::{Batch, Element, GapCause, Metadata, ValueType};
    use std::sync::Arc;

    /// A file with a few frames, one of them with records of each kind.
    fn file() -> (Vec<u8>, Vec<(PvId, Record)>) {
        let folder = tempfile::tempdir().expect("there is room for tests");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()));
        disk.create_folder(log_format::FOLDER).expect("there is room for tests");
        let mut log = Log::new(disk.clone(), 1, 10);
        let gap = |to| Gap { from: Timestamp::from_nanos(-1), to, cause: GapCause::QueueFull, lost: 300 };
        let stamp = sample::Stamp { quality: sample::Quality::Backward, other: Timestamp::from_nanos(9) };
        let odd = sample::Sample {
            time: Timestamp::from_nanos(4),
            value: sample::Value::I16(-3),
            alarm: sample::Alarm::default(),
            pulse: 0,
            stamp: Some(stamp),
        };
        let records = vec![
            (PvId(1), Record::Samples(Batch::new(ValueType::scalar(Element::F64)))),
            (PvId(7), Record::Samples(Batch::of(&odd))),
            (PvId(u32::MAX), Record::Gap(gap(None))),
            (PvId(2), Record::Gap(gap(Some(Timestamp::MAX)))),
            (PvId(3), Record::Metadata(Timestamp::MIN, Metadata { units: Some("mm".into()), ..Metadata::default() })),
        ];
        let now = Timestamp::from_nanos(77);
        log.append(&records, 5, now);
        log.append(&[], 6, now);
        log.append(&records, 6, now);
        log.write().expect("there is room for tests");
        let key = log_format::key(1);
        let mut bytes = vec![0; disk.len(&key).expect("it was written") as usize];
        disk.read_at(&key, 0, &mut bytes).expect("it was written");
        (bytes, records)
    }

    #[test]
    fn what_was_appended_is_found_again() {
        let (bytes, appended) = file();
        let scan = scan(&bytes);
        assert_eq!((scan.tail, scan.damaged.len(), scan.newer), (None, 0, None));
        let numbers: Vec<u64> = scan.frames.iter().map(|frame| frame.number).collect();
        assert_eq!(numbers, [10, 11, 12]);
        for (frame, (count, expected)) in scan.frames.iter().zip([(6, &appended[..]), (6, &[]), (7, &appended)]) {
            assert_eq!((frame.appended, frame.now.nanos()), (count, 77));
            let body = bytes.get(frame.records.clone()).expect("frames lie within the file");
            assert_eq!(records(body), Ok(expected.to_vec()));
        }
    }

    #[test]
    fn a_torn_frame_loses_only_itself() {
        let (bytes, _) = file();
        let whole = scan(&bytes);
        for end in 0..bytes.len() {
            let torn = scan(bytes.get(..end).expect("the end lies within"));
            let expected = whole.frames.iter().filter(|frame| frame.records.end <= end).count();
            assert_eq!((torn.frames.len(), torn.damaged.len()), (expected, 0), "cut at {end}");
        }
    }

    #[test]
    fn a_damaged_byte_costs_at_most_its_own_frame() {
        let (bytes, _) = file();
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged.get_mut(place).map(|byte| *byte ^= 0x40).expect("the place lies within");
            let found = scan(&damaged);
            assert!(found.newer.is_some() || found.frames.len() >= 2, "byte {place}");
            let all = found.frames.len() == 3;
            assert!(found.newer.is_some() || all || !found.damaged.is_empty() || found.tail.is_some(), "byte {place}");
        }
    }
}

//! Arrays in the log: as what changes from the one before it, where that is little.
//!
//! ```text
//!   record     := 6:u8 pv:varint before:varint batch difference*count [stamps]   of the batch with empty arrays
//!   difference := changes:varint (same:varint bytes:blob)*changes
//! ```
//! The first array of a PV in each file is there as a whole, and so are every 256th and those of which much changes. A
//! difference is to the last array of the PV before it, which stands `before` frames earlier in the same file: a reader who has
//! lost that frame knows that the difference must not be applied. So each file can be read without any other, and from its
//! beginning to its end with one array of each PV in memory.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashMap, ops::Range};

use archive::{PvId, Record};
use sample::{Batch, Column, Sample, Value};

use crate::{
    bytes::{Cursor, Malformed, put_varint},
    codec::{cells, frames, plain},
};

/// After so many differences an array is whole again, so that damage costs no more than these.
const DIFFERENCES_MAX: u32 = 255;

/// What changes in the arrays of some records, one behind the other in the order of their samples.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    bytes: Vec<u8>,
    /// Where each of them is; none for an array that is to be whole.
    places: Vec<Option<Range<usize>>>,
}

impl Differences {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Where the difference of the next array is to be written.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The next array differs by what was written since the last one.
    pub(crate) fn push(&mut self) {
        let start = self.places.iter().rev().find_map(|place| place.as_ref().map(|place| place.end)).unwrap_or(0);
        self.places.push(Some(start..self.bytes.len()));
    }

    /// The next array is to be whole.
    pub(crate) fn push_whole(&mut self) {
        self.places.push(None);
    }

    /// The difference of an array.
    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        self.bytes.get(self.places.get(index)?.clone()?)
    }
}

/// What a file of the log has of the arrays of each PV: the frame of the last one, and how many differences may follow it.
#[derive(Debug, Default)]
pub(crate) struct LoggedArrays {
    lasts: HashMap<PvId, (u64, u32)>,
    /// Single samples on their way; kept for its memory.
    single: Option<Batch>,
}

impl LoggedArrays {
    /// Another file begins.
    pub(crate) fn clear(&mut self) {
        self.lasts.clear();
    }

    /// A whole array of a PV is put into a frame.
    pub(crate) fn whole(&mut self, pv: PvId, frame: u64) -> Seen {
        match self.lasts.insert(pv, (frame, DIFFERENCES_MAX)) {
            None => Seen::First,
            Some(_) => Seen::Before,
        }
    }

    /// How many differences may follow the last array.
    pub(crate) fn room(&self, pv: PvId) -> usize {
        self.lasts.get(&pv).map_or(0, |(_, left)| *left as usize)
    }

    /// Writes samples as the differences of their arrays. The kind of the record stands there already.
    pub(crate) fn put<'a>(
        &mut self,
        out: &mut Vec<u8>,
        (pv, frame): (PvId, u64),
        record: &Record,
        rows: Range<usize>,
        differences: impl Iterator<Item = &'a [u8]>,
    ) {
        let (last, left) = self.lasts.entry(pv).or_default();
        *left = left.saturating_sub(rows.len() as u32);
        put_varint(out, u64::from(pv.0));
        put_varint(out, frame - std::mem::replace(last, frame));
        let divided;
        let samples = match record {
            Record::Sample(sample) => frames::single(&mut self.single, sample),
            _ => {
                divided = frames::without_arrays(record, rows);
                &divided
            }
        };
        plain::put_batch(out, samples);
        differences.for_each(|difference| out.extend_from_slice(difference));
        plain::put_stamps(out, samples.stamps(), samples.len());
    }
}

/// Whether a file had an array of a PV before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    First,
    Before,
}

/// Samples whose arrays are differences.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Following<'a> {
    before: u64,
    /// With empty arrays.
    samples: Batch,
    differences: &'a [u8],
}

impl<'a> Following<'a> {
    /// Reads what `Written::put` has written behind the PV.
    pub(crate) fn take(cursor: &mut Cursor<'a>) -> Result<Following<'a>, Malformed> {
        let before = cursor.varint()?;
        let samples = plain::take_batch(cursor)?;
        let Column::Array(arrays) = samples.values() else { return Err(Malformed("differences are of no arrays")) };
        if !frames::may_be(samples.value_type()) || !arrays.elements().is_empty() {
            return Err(Malformed("differences are of other values than numbers"));
        }
        let mut end = *cursor;
        (0..samples.len()).try_for_each(|_| cells::skip_difference(&mut end))?;
        let differences = cursor.take(cursor.len() - end.len())?;
        let stamps = plain::take_stamps(cursor, samples.len())?;
        let samples = samples.with_stamps(stamps).ok_or(Malformed("stamps are for other rows"))?;
        Ok(Following { before, samples, differences })
    }
}

/// A record as it stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Logged<'a> {
    Whole(Record),
    Following(Following<'a>),
}

/// The last array of each PV in a file that is read from its beginning, with the number of its frame. They take no more memory than
/// the file has bytes, as each has been whole in it.
#[derive(Debug, Default)]
pub(crate) struct Lasts(HashMap<PvId, (u64, Column)>);

impl Lasts {
    /// Gives out a record of a frame whole, one with differences sample by sample. If these follow an array that was not given
    /// out, nothing is.
    pub(crate) fn restore(
        &mut self,
        frame: u64,
        (pv, logged): (PvId, Logged),
        mut give: impl FnMut(PvId, Record),
    ) -> Result<(), Malformed> {
        match logged {
            Logged::Whole(record) => {
                self.remember(frame, pv, &record);
                give(pv, record);
            }
            Logged::Following(Following { before, samples, differences }) => {
                let last = self.0.get_mut(&pv).filter(|(last, _)| last.checked_add(before) == Some(frame));
                let lost = Malformed("arrays that follow others which are lost");
                let (last, array) = last.ok_or(lost)?;
                if array.value_type().element != samples.value_type().element {
                    return Err(lost);
                }
                *last = frame;
                let mut cursor = Cursor::new(differences);
                for row in 0..samples.len() {
                    if let Err(malformed) = cells::take_difference(&mut cursor, array) {
                        self.0.remove(&pv);
                        return Err(malformed);
                    }
                    let sample = Sample { value: Value::Array(array.clone()), ..samples.get(row) };
                    give(pv, Record::Sample(sample));
                }
            }
        }
        Ok(())
    }

    fn remember(&mut self, frame: u64, pv: PvId, record: &Record) {
        let array = match record {
            Record::Sample(Sample { value: Value::Array(array), .. }) => array.clone(),
            Record::Samples(batch) if frames::may_be(batch.value_type()) && !batch.is_empty() => {
                match batch.values().get(batch.len() - 1) {
                    Value::Array(array) => array,
                    _ => return,
                }
            }
            _ => return,
        };
        self.0.insert(pv, (frame, array));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::{Head, SlabPool},
        log::{Log, scan},
    };
    use sample::{Alarm, Quality, Stamp, Timestamp};

    const LEN: usize = 200;

    fn sample(row: usize) -> Sample {
        let array = (0..LEN).map(|i| if i == 0 { row as f64 } else { 0.5 * i as f64 }).collect();
        let stamp = Stamp { quality: Quality::Ahead, other: Timestamp::from_nanos(7) };
        Sample {
            time: Timestamp::from_nanos(row as i64),
            value: Value::Array(Column::F64(array)),
            alarm: Alarm { status: row as u16 % 5, ..Alarm::default() },
            pulse: row as u64,
            stamp: (row % 10 == 3).then_some(stamp),
        }
    }

    /// What a log has of so many samples of two PVs, that of the second in batches, and another type in between.
    fn log(rows: usize) -> (Vec<u8>, Vec<(PvId, Record)>) {
        let (mut log, head) = (Log::new(1, 10, u64::MAX), Head::new(&std::sync::Arc::new(SlabPool::new(0))));
        let (mut differences, mut all) = (Differences::default(), Vec::new());
        for row in 0..rows {
            let mut batch = Batch::of(&sample(2 * row));
            assert!(row % 3 == 0 || batch.push(&sample(2 * row + 1)));
            let one = sample(row);
            let one = if row % 2 == 0 { Record::Sample(one) } else { Record::Array(Batch::holding(one).into()) };
            let mut records = vec![(PvId(1), one), (PvId(2), Record::Samples(batch))];
            if row == rows / 2 {
                let other = Value::Array(Column::I16(vec![3; 2 * LEN]));
                records.insert(0, (PvId(2), Record::Sample(Sample { value: other, ..sample(2 * row) })));
            }
            head.append(&records, &mut differences);
            log.append(&records, &differences, 0, Timestamp::from_nanos(0));
            all.extend(records);
        }
        (log.take_pieces().into_iter().flat_map(|piece| piece.bytes).collect(), all)
    }

    fn samples(records: &[(PvId, Record)], pv: PvId) -> Vec<Sample> {
        let rows = |record: &Record| match record {
            Record::Sample(sample) => vec![sample.clone()],
            Record::Samples(batch) => (0..batch.len()).map(|row| batch.get(row)).collect(),
            Record::Array(batch) => vec![batch.get(0)],
            _ => Vec::new(),
        };
        records.iter().filter(|(of, _)| *of == pv).flat_map(|(_, record)| rows(record)).collect()
    }

    /// What can be read of a file, and from how many frames not all.
    fn restored(bytes: &[u8]) -> (Vec<(PvId, Record)>, usize) {
        let (mut lasts, mut all, mut lost) = (Lasts::default(), Vec::new(), 0);
        for frame in scan::scan(bytes).frames {
            let records = scan::records(bytes.get(frame.records.clone()).expect("frames lie within the file"));
            for record in records.expect("the checksum was right") {
                lost += usize::from(lasts.restore(frame.number, record, |pv, record| all.push((pv, record))).is_err());
            }
        }
        (all, lost)
    }

    #[test]
    fn arrays_come_back_from_a_log_that_holds_little_more_than_their_differences() {
        let (bytes, all) = log(600);
        let (back, lost) = restored(&bytes);
        assert_eq!(lost, 0);
        for pv in [PvId(1), PvId(2)] {
            assert!(samples(&back, pv) == samples(&all, pv), "{pv:?}");
        }
        let whole = 1600 * LEN * 8;
        assert!(bytes.len() * 15 < whole, "{} of {whole} bytes", bytes.len());
        assert!(bytes.len() > 600 * 2 * 20 + 8 * LEN * 8, "some are whole");
    }

    /// No PV has both today; if one had, what follows an array of the archive's own must be read as following that.
    #[test]
    fn arrays_that_the_archive_keeps_for_itself_are_followed_by_others() {
        let (mut log, head) = (Log::new(1, 10, u64::MAX), Head::new(&std::sync::Arc::new(SlabPool::new(0))));
        let (mut differences, mut all) = (Differences::default(), Vec::new());
        for row in 0..100 {
            let record = if row % 7 == 3 { Record::LedgerRow } else { Record::Sample };
            let records = [(PvId(1), record(sample(row)))];
            head.append(&records, &mut differences);
            log.append(&records, &differences, 0, Timestamp::from_nanos(0));
            all.push((PvId(1), Record::Sample(sample(row))));
        }
        let bytes: Vec<u8> = log.take_pieces().into_iter().flat_map(|piece| piece.bytes).collect();
        let (back, lost) = restored(&bytes);
        assert!(lost == 0 && samples(&back, PvId(1)) == samples(&all, PvId(1)), "{lost} are lost");
        assert!(bytes.len() < 40 * LEN * 8, "the others are differences");
    }

    #[test]
    fn a_lost_frame_loses_no_more_than_what_follows_it_until_the_next_whole_array() {
        let (bytes, all) = log(600);
        let frames = scan::scan(&bytes).frames;
        let mut damaged = bytes.clone();
        let place = frames.get(100).expect("there are 600").records.start + 50;
        damaged.get_mut(place).map(|byte| *byte ^= 1).expect("the place lies within");
        let (back, lost) = restored(&damaged);
        assert!((1..400).contains(&lost), "{lost}");
        let (before, now) = (samples(&all, PvId(1)), samples(&back, PvId(1)));
        assert!(now.iter().all(|sample| before.contains(sample)), "none is invented");
        let first = before.get(..100).expect("there are 600");
        let last = before.get(256..).expect("there are 600");
        assert!(now.starts_with(first) && now.ends_with(last) && now.len() == 100 + 600 - 256);
    }

    #[test]
    fn each_file_begins_with_whole_arrays() {
        let (mut log, head) = (Log::new(1, 10, 5000), Head::new(&std::sync::Arc::new(SlabPool::new(0))));
        let mut differences = Differences::default();
        for row in 0..1000 {
            let records = [(PvId(1), Record::Sample(sample(row)))];
            head.append(&records, &mut differences);
            log.append(&records, &differences, 0, Timestamp::from_nanos(0));
        }
        let mut files: Vec<(u64, Vec<u8>)> = Vec::new();
        for piece in log.take_pieces() {
            match files.last_mut() {
                Some((file, bytes)) if *file == piece.file => bytes.extend(piece.bytes),
                _ => files.push((piece.file, piece.bytes)),
            }
        }
        assert!(files.len() > 5, "{}", files.len());
        let back: Vec<Sample> = files.iter().flat_map(|(_, bytes)| samples(&restored(bytes).0, PvId(1))).collect();
        assert!(back == (0..1000).map(sample).collect::<Vec<_>>());
    }
}

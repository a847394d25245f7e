//! Reading the log back: whole frames, and the places where there are none.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{io, ops::Range};

use archive::{PvId, Record};
use sample::{Alarm, Element, Gap, Sample, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    bytes::{Cursor, Malformed},
    codec::plain,
    facts,
    log::{
        arrays::{Following, Logged},
        format::{FOLLOWING, FRAME_LEN, GAP, HEADER_LEN, MAGIC, METADATA, SAMPLE, SAMPLES, STAMPED, VERSION},
    },
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

impl Frame {
    /// Which frames are missing before this one, and how many samples have been lost up to its end, where `next` was the frame to
    /// follow, `appended` samples came before that, and `found` were read from this one. Nothing where `next` is 0: then nobody
    /// knows with which frame the log began.
    pub(crate) fn missing(&self, next: u64, appended: u64, found: u64) -> (Range<u64>, u64) {
        match next {
            0 => (0..0, 0),
            _ => (next..self.number, self.appended.saturating_sub(appended.saturating_add(found))),
        }
    }
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
    let read = |at: u64, to: &mut [u8]| {
        let found = bytes.get(at as usize..).and_then(|rest| rest.get(..to.len()));
        to.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    };
    let mut parts = Parts::new(bytes.len() as u64, read);
    while let Ok(Some(part)) = parts.next() {
        match part {
            Part::Frame(frame, _) => scan.frames.push(frame),
            Part::Damaged(range) => scan.damaged.push(range.start as usize..range.end as usize),
            Part::Torn(range) => scan.tail = Some(range.start as usize..range.end as usize),
            Part::Newer(version) => scan.newer = Some(version),
        }
    }
    scan
}

/// A part of a file.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// With the bytes of its records.
    Frame(Frame, &'a [u8]),
    /// Bytes that are no frame, with frames behind them.
    Damaged(Range<u64>),
    /// Bytes that are no frame, and not all zero, at the end.
    Torn(Range<u64>),
    /// The file was written by a newer program; no more comes.
    Newer(u16),
}

impl Part<'_> {
    /// Where it ends in the file.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Part::Frame(frame, _) => frame.records.end as u64,
            Part::Damaged(range) | Part::Torn(range) => range.end,
            Part::Newer(_) => u64::MAX,
        }
    }
}

/// At least so many bytes are read at a time.
const READ_BYTES: usize = 1 << 20;

/// A file, part by part, with no more of it in memory than its largest frame.
pub(crate) struct Parts<R> {
    len: u64,
    read: R,
    /// The bytes of the file from `start` on.
    window: Vec<u8>,
    start: u64,
    at: u64,
    begun: bool,
    after: Option<u64>,
    /// A frame that was found behind damage, to be given out next.
    found: Option<Frame>,
}

impl<R: FnMut(u64, &mut [u8]) -> io::Result<()>> Parts<R> {
    /// `read` fills a buffer from a place in the file, which has `len` bytes.
    pub(crate) fn new(len: u64, read: R) -> Parts<R> {
        Parts { len, read, window: Vec::new(), start: 0, at: 0, begun: false, after: None, found: None }
    }

    /// The next part; none at the end, which zeros may follow.
    pub(crate) fn next(&mut self) -> io::Result<Option<Part<'_>>> {
        if !self.begun {
            self.begun = true;
            match header_version(self.bytes(0, HEADER_LEN)?) {
                Some(version) if version > VERSION => {
                    self.at = self.len;
                    return Ok(Some(Part::Newer(version)));
                }
                Some(_) => self.at = HEADER_LEN as u64,
                None => {}
            }
        }
        if let Some(frame) = self.found.take() {
            return self.give(frame);
        }
        if self.at >= self.len {
            return Ok(None);
        }
        let from = self.at;
        if let Some(frame) = self.frame_at(from, false)? {
            return self.give(frame);
        }
        let only_zeros = self.skip_zeros(from)? == self.len;
        let mut at = from + 1;
        while at < self.len && !only_zeros {
            if let Some(frame) = self.frame_at(at, true)? {
                self.found = Some(frame);
                return Ok(Some(Part::Damaged(from..at)));
            }
            at += 1;
            if self.bytes(at, FRAME_LEN)?.iter().all(|byte| *byte == 0) {
                at = self.skip_zeros(at)?.saturating_sub(FRAME_LEN as u64).max(at);
            }
        }
        self.at = self.len;
        Ok((!only_zeros).then_some(Part::Torn(from..self.len)))
    }

    fn give(&mut self, frame: Frame) -> io::Result<Option<Part<'_>>> {
        self.at = frame.records.end as u64;
        self.after = Some(frame.number);
        let bytes = self.bytes(frame.records.start as u64, frame.records.len())?;
        Ok(Some(Part::Frame(frame, bytes)))
    }

    /// The frame at a place. While searching behind damage the number must be a likely one before the checksum is computed, so
    /// that the search takes no longer than one look at each byte.
    fn frame_at(&mut self, at: u64, searching: bool) -> io::Result<Option<Frame>> {
        let after = self.after;
        let left = self.len - at;
        let Ok(head) = take_head(&mut Cursor::new(self.bytes(at, FRAME_LEN)?)) else { return Ok(None) };
        let likely = match after {
            Some(after) => head.number > after && head.number - after < 1 << 24,
            None => head.number < 1 << 48,
        };
        let whole = FRAME_LEN as u64 + u64::from(head.len);
        if (searching && !likely) || whole > left {
            return Ok(None);
        }
        let checked = self.bytes(at, whole as usize)?;
        let matches = checked.get(8..).is_some_and(|body| xxh3_64(body) == head.check);
        let records = at as usize + FRAME_LEN..(at + whole) as usize;
        let Head { number, appended, now, .. } = head;
        Ok((matches && likely).then_some(Frame { number, appended, now, records }))
    }

    /// The first place from `at` on that is not zero.
    fn skip_zeros(&mut self, mut at: u64) -> io::Result<u64> {
        while at < self.len {
            let some = self.bytes(at, READ_BYTES)?;
            if let Some(place) = some.iter().position(|byte| *byte != 0) {
                return Ok(at + place as u64);
            }
            at += some.len() as u64;
        }
        Ok(self.len)
    }

    /// So many bytes of the file, or those until its end.
    fn bytes(&mut self, at: u64, len: usize) -> io::Result<&[u8]> {
        let len = (len as u64).min(self.len.saturating_sub(at)) as usize;
        let inside = at >= self.start && at + len as u64 <= self.start + self.window.len() as u64;
        if !inside {
            let size = (len.max(READ_BYTES) as u64).min(self.len - at.min(self.len)) as usize;
            self.window.resize(size, 0);
            self.start = at;
            if let Err(error) = (self.read)(at, &mut self.window) {
                self.window.clear();
                return Err(error);
            }
        }
        let place = (at - self.start) as usize;
        Ok(self.window.get(place..place + len).unwrap_or_default())
    }
}

/// The fields before the records of a frame.
struct Head {
    check: u64,
    len: u32,
    number: u64,
    appended: u64,
    now: Timestamp,
}

fn take_head(cursor: &mut Cursor) -> Result<Head, Malformed> {
    Ok(Head {
        check: cursor.u64()?,
        len: cursor.u32()?,
        number: cursor.u64()?,
        appended: cursor.u64()?,
        now: Timestamp::from_nanos(cursor.i64()?),
    })
}

fn header_version(bytes: &[u8]) -> Option<u16> {
    let mut cursor = Cursor::new(bytes.get(..HEADER_LEN)?);
    (cursor.array().ok()? == MAGIC).then(|| cursor.u16().ok())?
}

/// The records of a frame.
pub(crate) fn records(bytes: &[u8]) -> Result<Vec<(PvId, Logged<'_>)>, Malformed> {
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
                let metadata = facts::metadata(cursor.blob()?).ok_or(Malformed("metadata cannot be read"))?;
                Record::Metadata(since, metadata.into())
            }
            SAMPLE => Record::Sample(take_sample(&mut cursor)?),
            FOLLOWING => {
                records.push((PvId(pv), Logged::Following(Following::take(&mut cursor)?)));
                continue;
            }
            _ => return Err(Malformed("no such kind of record")),
        };
        records.push((PvId(pv), Logged::Whole(record)));
    }
    Ok(records)
}

fn take_sample(cursor: &mut Cursor) -> Result<Sample, Malformed> {
    let element = Element::from_number(cursor.u8()?).ok_or(Malformed("no such type of value"))?;
    let time = Timestamp::from_nanos(cursor.i64()?);
    let value = plain::take_number(cursor, element)?;
    Ok(Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None })
}

fn take_gap(cursor: &mut Cursor) -> Result<Gap, Malformed> {
    let from = cursor.i64()?;
    let cause = cursor.u8()?;
    let lost = cursor.varint()?;
    let to = match cursor.u8()? {
        0 => None,
        _ => Some(cursor.i64()?),
    };
    facts::gap(from, to, cause, lost).ok_or(Malformed("no such cause of a gap"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, arrays::Differences};
    use sample::{Batch, GapCause, Metadata, Value, ValueType};

    /// A file with a few frames, one of them with records of each kind.
    fn file() -> (Vec<u8>, Vec<(PvId, Record)>) {
        let mut log = Log::new(1, 10, u64::MAX);
        let gap = |to| Gap { from: Timestamp::from_nanos(-1), to, cause: GapCause::QueueFull, lost: 300 };
        let stamp = sample::Stamp { quality: sample::Quality::Backward, other: Timestamp::from_nanos(9) };
        let sample = |value| Sample {
            time: Timestamp::from_nanos(1 << 60),
            value,
            alarm: Alarm::default(),
            pulse: 0,
            stamp: None,
        };
        let odd = Sample { stamp: Some(stamp), ..sample(Value::I16(-3)) };
        let records = vec![
            (PvId(1), Record::Samples(Batch::new(ValueType::scalar(Element::F64)))),
            (PvId(7), Record::Samples(Batch::of(&odd))),
            (PvId(u32::MAX), Record::Gap(gap(None))),
            (PvId(2), Record::Gap(gap(Some(Timestamp::MAX)))),
            (
                PvId(3),
                Record::Metadata(Timestamp::MIN, Metadata { units: Some("mm".into()), ..Metadata::default() }.into()),
            ),
            (PvId(300), Record::Sample(sample(Value::I16(-2)))),
            (PvId(301), Record::Sample(sample(Value::F64(0.1)))),
        ];
        let now = Timestamp::from_nanos(77);
        log.append(&records, &Differences::default(), 5, now);
        log.append(&[], &Differences::default(), 5, now);
        log.append(&records, &Differences::default(), 5, now);
        let bytes = log.take_pieces().into_iter().flat_map(|piece| piece.bytes).collect();
        (bytes, records)
    }

    #[test]
    fn what_was_appended_is_found_again() {
        let (bytes, appended) = file();
        let scan = scan(&bytes);
        assert_eq!((scan.tail, scan.damaged.len(), scan.newer), (None, 0, None));
        let numbers: Vec<u64> = scan.frames.iter().map(|frame| frame.number).collect();
        assert_eq!(numbers, [10, 11, 12]);
        for (frame, expected) in scan.frames.iter().zip([&appended[..], &[], &appended]) {
            let samples = expected.iter().map(|(_, record)| record.samples() as u64).sum::<u64>();
            assert_eq!((frame.appended, frame.now.nanos()), (5 + samples, 77));
            let body = bytes.get(frame.records.clone()).expect("frames lie within the file");
            let expected = expected.iter().cloned().map(|(pv, record)| (pv, Logged::Whole(record)));
            assert_eq!(records(body), Ok(expected.collect()));
        }
    }

    #[test]
    fn a_torn_frame_loses_only_itself() {
        let (bytes, _) = file();
        let whole = scan(&bytes);
        for end in 0..bytes.len() {
            let expected = whole.frames.iter().filter(|frame| frame.records.end <= end).count();
            let mut torn = bytes.get(..end).expect("the end lies within").to_vec();
            for zeros in [0, 5000] {
                torn.resize(torn.len() + zeros, 0); // the room that the file had beforehand
                let found = scan(&torn);
                // A frame that ends with zeros is whole without them.
                assert!(found.frames.len() >= expected && found.damaged.is_empty(), "cut at {end}, {zeros} zeros");
                assert_eq!(found.frames, whole.frames.get(..found.frames.len()).expect("none is invented"));
            }
        }
    }

    #[test]
    fn zeros_behind_the_last_frame_are_no_damage() {
        let (mut bytes, _) = file();
        let whole = scan(&bytes);
        bytes.resize(3 * READ_BYTES, 0);
        assert_eq!(scan(&bytes), whole);
        bytes.push(1);
        assert_eq!(scan(&bytes).tail.map(|tail| tail.end), Some(bytes.len()));
        assert_eq!(scan(&[0; 100]), Scan::default());
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

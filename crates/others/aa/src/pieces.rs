//! Pieces: what bins are made of, from the digests of a PV's files. A row that no edge cuts tells what its samples amount to, of others
//! the lines are read.
//!
//! ```text
//!   file      │ row   │ row   │ row   │ row   │        a file whose digest turns out to be damaged is read from there on
//!   pieces    │ ───── │ ──┊── │ ──────────────│        ┊ an edge: the samples of this row alone are looked at
//! ```

use std::{collections::VecDeque, io, ops::Range, sync::Arc};

use archive::{PvName, SourceError};
use sample::{Batch, Stretch, Summary, TimeRange, Timestamp};

use crate::{
    PlainPb,
    digest::{Carries, Digest, Order, Row},
    file::{FileSamples, PbFile},
    folder::Part,
    rows::Damage,
    shelf::{Shelf, ShelfFile},
};

/// A request reads so much at most to make digests: that takes about as long as to read the samples of as many bytes, which it saves.
const READ_BYTES_MAX: u64 = 256 << 20;
/// And of one file no more than this, or so many times what the request itself has to read of it.
const FILE_BYTES_MIN: u64 = 8 << 20;
const FILE_TIMES_MAX: u64 = 8;
/// Of a row that cannot be a row of a file so much is not read.
const ROW_BYTES_MAX: u64 = 512 << 20;

/// The pieces of a range.
pub(crate) struct Pieces {
    archive: PlainPb,
    pv: PvName,
    range: TimeRange,
    edges: Arc<[Timestamp]>,
    /// The parts that are still to be read, the next one last, each with its digest if no shelf keeps it.
    parts: Vec<(Part, Option<Digest>)>,
    open: Option<Open>,
    ready: VecDeque<Stretch>,
    /// The newest time that was given.
    last: Option<Timestamp>,
}

/// A file.
enum Open {
    Digested(Box<Digested>),
    Plain(Box<FileSamples>),
}

/// One with its digest, and the number of the next row.
struct Digested {
    part: Part,
    file: PbFile,
    digest: Digest,
    next: usize,
}

impl Pieces {
    /// None if a file has no digest that can be used, after those that can be made at once have been made.
    pub(crate) fn new(
        archive: PlainPb,
        pv: PvName,
        range: TimeRange,
        edges: Arc<[Timestamp]>,
    ) -> Result<Option<Pieces>, SourceError> {
        let Some(shelf) = archive.shelf().cloned() else { return Ok(None) };
        let mut parts = archive.parts(&pv)?;
        parts.retain(|part| part.range.t0 < range.t1 && part.range.t1 > range.t0);
        let (mut left, mut last, mut looked_at) = (READ_BYTES_MAX, None, Vec::with_capacity(parts.len()));
        for part in parts {
            let Some(file) = archive.open(&part, &pv) else { continue };
            let looked = look(&shelf, &part, &file, range, &mut left);
            let Some(mut digest) = looked.map_err(|error| archive.failed(&part, &error))? else { return Ok(None) };
            match ends_of(&mut digest) {
                Ok(None) => {}
                Ok(Some((first, end))) if last < Some(first) => last = Some(end),
                Ok(Some(_)) => return Ok(None),
                Err(_) => {
                    shelf.drop_of(&part.place.path);
                    return Ok(None);
                }
            }
            looked_at.push((part, Some(digest).filter(|digest| !digest.is_kept())));
        }
        looked_at.reverse();
        let parts = looked_at;
        let (open, ready) = Default::default();
        Ok(Some(Pieces { archive, pv, range, edges, parts, open, ready, last: None }))
    }

    fn advance(&mut self) -> Result<Option<Stretch>, SourceError> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            match self.open.take() {
                None => {
                    let Some((part, digest)) = self.parts.pop() else { return Ok(None) };
                    self.open_part(part, digest)?;
                }
                Some(Open::Digested(digested)) => self.take_row(digested)?,
                Some(Open::Plain(samples)) => self.take_batch(samples)?,
            }
        }
    }

    fn open_part(&mut self, part: Part, known: Option<Digest>) -> Result<(), SourceError> {
        let Some(file) = self.archive.open(&part, &self.pv) else { return Ok(()) };
        let kept = || match self.archive.shelf()?.current(&file, &part.place.path, FILE_BYTES_MIN) {
            Ok(ShelfFile::Ready(digest)) => Some(digest),
            _ => None,
        };
        if let Some(mut digest) = known.or_else(kept)
            && digest.order() == Order::Rising
            && let Ok(next) = digest.first_from(self.range.t0)
        {
            self.open = Some(Open::Digested(Box::new(Digested { part, file, digest, next })));
            return Ok(());
        }
        self.read_plainly(&part, file)
    }

    /// Reads on in a file without its digest.
    fn read_plainly(&mut self, part: &Part, file: PbFile) -> Result<(), SourceError> {
        let after = self.last.map(|last| Timestamp::from_nanos(last.nanos().saturating_add(1)));
        let range = TimeRange { t0: after.map_or(self.range.t0, |after| after.max(self.range.t0)), ..self.range };
        let samples = file.samples(range).map_err(|error| self.archive.failed(part, &error))?;
        self.open = Some(Open::Plain(Box::new(samples)));
        Ok(())
    }

    fn take_row(&mut self, mut digested: Box<Digested>) -> Result<(), SourceError> {
        if digested.next >= digested.digest.len() {
            return Ok(());
        }
        let Ok(row) = digested.digest.row(digested.next) else {
            if let Some(shelf) = self.archive.shelf() {
                shelf.drop_of(&digested.part.place.path);
            }
            return self.read_plainly(&digested.part, digested.file);
        };
        if row.summary.t0 >= self.range.t1 {
            return Ok(());
        }
        self.archive.count(Damage { bad_lines: row.bad.into(), ..Damage::default() });
        if self.is_whole(&row.summary) {
            self.ready.push_back(Stretch::Summary(row.summary));
        } else {
            let batch = samples_of(&row, &digested.file);
            let Some(batch) = batch.map_err(|error| self.archive.failed(&digested.part, &error))? else {
                // The file has changed under our hands.
                return self.read_plainly(&digested.part, digested.file);
            };
            self.cut(&batch);
        }
        self.last = Some(row.summary.t1.min(self.range.t1));
        digested.next += 1;
        self.open = Some(Open::Digested(digested));
        Ok(())
    }

    fn take_batch(&mut self, mut samples: Box<FileSamples>) -> Result<(), SourceError> {
        match samples.next() {
            Err(error) => return Err(SourceError::piece(format!("cannot read the old archive: {error}"))),
            Ok(None) => self.archive.count(samples.damage),
            Ok(Some(batch)) => {
                self.last = batch.times().last().copied().or(self.last);
                if !batch.is_empty() {
                    self.ready.push_back(Stretch::Samples(batch));
                }
                self.open = Some(Open::Plain(samples));
            }
        }
        Ok(())
    }

    /// Whether the samples of a row all lie between two neighbouring edges, and their numbers say enough.
    fn is_whole(&self, summary: &Summary) -> bool {
        let behind = self.edges.partition_point(|edge| *edge <= summary.t0);
        let is_cut = self.edges.get(behind).is_some_and(|edge| *edge <= summary.t1);
        let is_within = summary.t0 >= self.range.t0 && summary.t1 < self.range.t1;
        is_within && !is_cut && says_enough(summary)
    }

    /// What the samples of a row amount to between edges.
    fn cut(&mut self, batch: &Batch) {
        let within = batch.rows_within(self.range);
        let times = batch.times();
        let mut start = within.start;
        while start < within.end {
            let edge = self.edges.partition_point(|edge| *edge <= times[start]);
            let rest = &times[start..within.end];
            let count = self.edges.get(edge).map_or(rest.len(), |edge| rest.partition_point(|time| time < edge));
            let rows = start..start + count;
            let summary = Summary::of(batch, rows.clone()).filter(says_enough);
            self.ready.push_back(summary.map_or_else(|| Stretch::Samples(batch.slice(rows)), Stretch::Summary));
            start += count;
        }
    }
}

impl archive::Stretches for Pieces {}

impl Iterator for Pieces {
    type Item = Result<Stretch, SourceError>;

    /// Ends with the first error.
    fn next(&mut self) -> Option<Result<Stretch, SourceError>> {
        let next = self.advance().transpose();
        if matches!(next, Some(Err(_))) {
            self.parts.clear();
            self.open = None;
        }
        next
    }
}

/// Whether a summary can stand for its samples: only numbers add up.
fn says_enough(summary: &Summary) -> bool {
    summary.value_type.is_numeric_scalar() && summary.is_finite()
}

/// The samples of a row; none if they are not what it says.
fn samples_of(row: &Row, file: &PbFile) -> io::Result<Option<Batch>> {
    if u64::from(row.len) > ROW_BYTES_MAX {
        return Ok(None);
    }
    let batch = file.samples_at(row.at..row.end())?;
    let (times, summary) = (batch.times(), &row.summary);
    let is_same = times.len() as u64 == summary.count
        && times.first() == Some(&summary.t0)
        && times.last() == Some(&summary.t1)
        && batch.is_sorted();
    Ok(is_same.then_some(batch))
}

/// The digest of a file; none if it has to be read as it is. If there is none, one is made, now or later.
fn look(
    shelf: &Arc<Shelf>,
    part: &Part,
    file: &PbFile,
    range: TimeRange,
    left: &mut u64,
) -> io::Result<Option<Digest>> {
    let path = &part.place.path;
    let mut found = shelf.current(file, path, 0)?;
    if let ShelfFile::Unread(bytes) = found {
        let is_cheap = bytes <= FILE_BYTES_MIN || bytes <= file.bytes_of(range)?.saturating_mul(FILE_TIMES_MAX);
        if !shelf.is_writable() {
            return Ok(None);
        }
        if !is_cheap || bytes > *left {
            shelf.read_later(&part.place);
            return Ok(None);
        }
        *left -= bytes;
        found = shelf.current(file, path, bytes)?;
    }
    Ok(match found {
        ShelfFile::Ready(digest) if digest.order() == Order::Rising => Some(digest),
        _ => None,
    })
}

/// The times of the first and the last sample.
fn ends_of(digest: &mut Digest) -> io::Result<Option<(Timestamp, Timestamp)>> {
    let Some(last) = digest.len().checked_sub(1) else { return Ok(None) };
    Ok(Some((digest.row(0)?.summary.t0, digest.row(last)?.summary.t1)))
}

/// Where in a file lines stand that carry more than a value, and the time of the last sample of the range or of a row behind it; none if
/// its digest does not tell.
pub(crate) fn places_of_fields(
    archive: &PlainPb,
    part: &Part,
    file: &PbFile,
    range: TimeRange,
) -> Option<(VecDeque<Range<u64>>, Option<Timestamp>)> {
    let mut left = READ_BYTES_MAX;
    let shelf = archive.shelf()?;
    let mut digest = look(shelf, part, file, range, &mut left).ok()??;
    let (mut places, mut last): (VecDeque<Range<u64>>, _) = Default::default();
    for index in digest.first_from(range.t0).ok()?..digest.len() {
        let row = digest.row(index).ok()?;
        if row.summary.t0 >= range.t1 {
            break;
        }
        last = Some(row.summary.t1.min(range.t1));
        if row.carries == Carries::Fields {
            match places.back_mut() {
                Some(last) if last.end == row.at => last.end = row.end(),
                _ => places.push_back(row.at..row.end()),
            }
        }
    }
    Some((places, last))
}

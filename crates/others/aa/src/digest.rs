//! A digest: rows that say what stretches of a file amount to, and the head that says of which file. Bytes of any origin.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{fs::File, io, os::unix::fs::FileExt};

use sample::{Severity, Summary, Timestamp, ValueType};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    digest_format::{MAGIC, PAGE_LEN, PAGE_ROWS, PATH_AT, PATH_BYTES_MAX, VERSION},
    payload::Payload,
    tape::Stamp,
};

/// A head or a page.
pub(crate) type Page = [u8; PAGE_LEN];

/// Whether a file can be answered from rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each sample is later than the one before.
    Rising,
    /// Some are not, or there are more rows than fit.
    Broken,
}

/// Of which file a digest is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) path: Vec<u8>,
    pub(crate) payload: Payload,
    pub(crate) order: Order,
    pub(crate) stamp: Stamp,
    /// Where the samples begin.
    pub(crate) begins: u64,
    /// How much of the file was read.
    pub(crate) covered: u64,
    pub(crate) first_check: u64,
    pub(crate) last_check: u64,
    pub(crate) rows: u64,
}

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    /// Where its first line begins.
    pub(crate) at: u64,
    /// How many bytes its lines have.
    pub(crate) len: u32,
    /// Lines in it that are no samples.
    pub(crate) bad: u32,
    /// Whether a sample in it carries more than a value.
    pub(crate) carries: Carries,
    pub(crate) summary: Summary,
}

/// What the samples of a row carry besides values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Nothing,
    Fields,
}

impl Head {
    /// None if the path is too long.
    pub(crate) fn encode(&self) -> Option<Page> {
        let path_len = u16::try_from(self.path.len()).ok().filter(|len| usize::from(*len) <= PATH_BYTES_MAX)?;
        let mut out = Vec::with_capacity(PAGE_LEN);
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.push(self.payload as i32 as u8);
        out.push(u8::from(self.order == Order::Broken));
        out.extend_from_slice(&path_len.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        let Stamp { inode, len, modified, changed } = self.stamp;
        let numbers = [inode, len, modified as u64, changed as u64, self.begins, self.covered];
        for number in numbers.into_iter().chain([self.first_check, self.last_check, self.rows]) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.path);
        Some(sealed(&out))
    }

    /// None if the bytes are no head, or one of another version.
    pub(crate) fn decode(page: &Page) -> Option<Head> {
        let mut bytes = Bytes(opened(page)?);
        if bytes.array::<8>()? != MAGIC || bytes.u16()? != VERSION {
            return None;
        }
        let payload = Payload::from_number(i32::from(bytes.u8()?))?;
        let order = match bytes.u8()? {
            0 => Order::Rising,
            1 => Order::Broken,
            _ => return None,
        };
        let path_len = usize::from(bytes.u16()?);
        bytes.u16()?;
        let stamp = Stamp { inode: bytes.u64()?, len: bytes.u64()?, modified: bytes.i64()?, changed: bytes.i64()? };
        let (begins, covered) = (bytes.u64()?, bytes.u64()?);
        let (first_check, last_check, rows) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        let path = page.get(PATH_AT..)?.get(..path_len)?.to_vec();
        let fits = begins <= covered && covered <= stamp.len && (order == Order::Rising || rows == 0);
        fits.then_some(Head { path, payload, order, stamp, begins, covered, first_check, last_check, rows })
    }
}

impl Row {
    fn put(&self, out: &mut Vec<u8>) {
        let s = &self.summary;
        out.extend_from_slice(&self.at.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        // A row has so few samples that their counts are small.
        out.extend_from_slice(&(s.count as u32).to_le_bytes());
        out.extend_from_slice(&s.t0.nanos().to_le_bytes());
        out.extend_from_slice(&s.t1.nanos().to_le_bytes());
        for count in [s.nan_count as u32, s.invalid_count as u32, self.bad] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&[s.severity_max as u8, u8::from(self.carries == Carries::Fields), 0, 0]);
        out.extend_from_slice(&s.covered.to_le_bytes());
        for number in [s.min, s.max, s.sum, s.squares, s.integral, s.first, s.last] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn take(bytes: &mut Bytes, value_type: ValueType) -> Option<Row> {
        let (at, len, count) = (bytes.u64()?, bytes.u32()?, u64::from(bytes.u32()?));
        let (t0, t1) = (Timestamp::from_nanos(bytes.i64()?), Timestamp::from_nanos(bytes.i64()?));
        let (nan_count, invalid_count, bad) = (u64::from(bytes.u32()?), u64::from(bytes.u32()?), bytes.u32()?);
        let severity_max = Severity::from_number(i64::from(bytes.u8()?));
        let carries = if bytes.u8()? == 0 { Carries::Nothing } else { Carries::Fields };
        bytes.u16()?;
        let covered = bytes.u64()?;
        let (min, max, sum, squares) = (bytes.f64()?, bytes.f64()?, bytes.f64()?, bytes.f64()?);
        let (integral, first, last) = (bytes.f64()?, bytes.f64()?, bytes.f64()?);
        let summary = Summary {
            value_type,
            t0,
            t1,
            count,
            nan_count,
            min,
            max,
            sum,
            squares,
            integral,
            covered,
            first,
            last,
            severity_max,
            invalid_count,
        };
        let is_sane = t0 <= t1 && count > 0 && nan_count <= count && invalid_count <= count;
        (is_sane && at.checked_add(u64::from(len)).is_some()).then_some(Row { at, len, bad, carries, summary })
    }

    /// Where its last line ends.
    pub(crate) fn end(&self) -> u64 {
        self.at + u64::from(self.len)
    }
}

/// At most as many rows as fit, as a page.
pub(crate) fn page_of(rows: &[Row]) -> Page {
    let mut out = Vec::with_capacity(PAGE_LEN);
    out.extend_from_slice(&[0; 8]);
    rows.iter().take(PAGE_ROWS).for_each(|row| row.put(&mut out));
    sealed(&out)
}

/// The rows of a page, so many of them; none if it is damaged, or they do not follow one another.
pub(crate) fn rows_of(page: &Page, count: usize, value_type: ValueType) -> Option<Vec<Row>> {
    let mut bytes = Bytes(opened(page)?);
    let mut rows: Vec<Row> = Vec::with_capacity(count.min(PAGE_ROWS));
    for _ in 0..count.min(PAGE_ROWS) {
        let row = Row::take(&mut bytes, value_type)?;
        let follows = rows.last().is_none_or(|last| last.end() == row.at && last.summary.t1 < row.summary.t0);
        rows.push(Some(row).filter(|_| follows)?);
    }
    Some(rows)
}

/// With zeros behind and its check in front, for which there is room.
fn sealed(bytes: &[u8]) -> Page {
    let mut page = [0; PAGE_LEN];
    page.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    if let Some((check, rest)) = page.split_first_chunk_mut::<8>() {
        *check = xxh3_64(rest).to_le_bytes();
    }
    page
}

/// With the check that its other bytes have.
pub(crate) fn resealed(page: &Page) -> Page {
    sealed(page)
}

/// What its check is of, if that is right.
fn opened(page: &Page) -> Option<&[u8]> {
    let (check, rest) = page.split_first_chunk::<8>()?;
    (xxh3_64(rest) == u64::from_le_bytes(*check)).then_some(rest)
}

/// Numbers as they come.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }
}

/// The digest of a file as it is at present: rows that are kept, and behind them those that were made just now.
#[derive(Debug)]
pub(crate) struct Digest {
    order: Order,
    value_type: ValueType,
    kept: Option<Kept>,
    made: Vec<Row>,
}

/// Rows on the disk.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    /// The rows that still hold, from the first on.
    rows: usize,
    /// All rows in the file.
    written: usize,
    /// The page that was read last.
    page: Option<(usize, Vec<Row>)>,
}

impl Kept {
    /// Those of a file whose head has just been read.
    pub(crate) fn new(file: File, head: &Head) -> Kept {
        let rows = usize::try_from(head.rows).unwrap_or(usize::MAX);
        Kept { file, rows, written: rows, page: None }
    }

    /// Without the last one.
    pub(crate) fn pop(&mut self) {
        self.rows = self.rows.saturating_sub(1);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The pages that are full of rows that count.
    pub(crate) fn whole_pages(&self) -> usize {
        self.rows / PAGE_ROWS
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// An error if the page is damaged.
    pub(crate) fn row(&mut self, index: usize, value_type: ValueType) -> io::Result<Row> {
        let (number, place) = (index / PAGE_ROWS, index % PAGE_ROWS);
        if self.page.as_ref().is_none_or(|(read, _)| *read != number) {
            let mut page = [0; PAGE_LEN];
            self.file.read_exact_at(&mut page, ((number + 1) * PAGE_LEN) as u64)?;
            let count = self.written.saturating_sub(number * PAGE_ROWS).min(PAGE_ROWS);
            self.page = Some((number, rows_of(&page, count, value_type).ok_or_else(damaged)?));
        }
        let row = self.page.as_ref().and_then(|(_, rows)| rows.get(place)).copied();
        row.ok_or_else(damaged)
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a page of a digest is damaged")
}

impl Digest {
    pub(crate) fn new(order: Order, payload: Payload, kept: Option<Kept>, made: Vec<Row>) -> Digest {
        Digest { order, value_type: payload.value_type(), kept, made }
    }

    /// Whether all of it can be read again from the disk.
    pub(crate) fn is_kept(&self) -> bool {
        self.made.is_empty()
    }

    pub(crate) fn order(&self) -> Order {
        self.order
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.as_ref().map_or(0, Kept::len) + self.made.len()
    }

    /// The row of that number, of which there is one.
    pub(crate) fn row(&mut self, index: usize) -> io::Result<Row> {
        match &mut self.kept {
            Some(kept) if index < kept.rows => kept.row(index, self.value_type),
            kept => {
                let before = kept.as_ref().map_or(0, Kept::len);
                self.made.get(index - before).copied().ok_or_else(damaged)
            }
        }
    }

    /// The number of the first row that ends at or behind a time.
    pub(crate) fn first_from(&mut self, time: Timestamp) -> io::Result<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle)?.summary.t1 < time { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

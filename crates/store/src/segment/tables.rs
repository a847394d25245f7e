//! Tables: what is known of many blocks, in columns encoded like those of blocks.
//!
//! ```text
//!   table     := rows:varint (column:blob)*       a reader ignores columns behind those that it knows
//!   index     := len rows type t0 span            type = element + 256 * shape; t1 = t0 + span
//!   summaries := severity_max nan_count invalid_count covered min max sum squares integral first last
//! ```
//! The first four columns of the summaries and all of the index are `integers`, the others `floats` of 64 bits. A block begins
//! where the one before it ends.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::{Element, Severity, Shape, Timestamp, ValueType};

use super::{DirectoryRecord, Entry};
use crate::{
    Summary,
    block::format::BLOCK_HEADER_LEN,
    bytes::{Cursor, Malformed, put_blob_of, put_varint},
    codec::{Effort, float, int, room::Room},
    free_lists,
};

/// Writes one table, column by column.
pub(crate) struct TableWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> TableWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, rows: usize) -> TableWriter<'a> {
        put_varint(out, rows as u64);
        TableWriter { out }
    }

    pub(crate) fn integers(&mut self, mut numbers: impl ExactSizeIterator<Item = i64>) {
        if numbers.len() == 1
            && let Some(number) = numbers.next()
        {
            return self.column(|column| int::put(column, &[number], Effort::Merge));
        }
        self.column(|column| int::put(column, Room::default().fill(numbers), Effort::Merge));
    }

    pub(crate) fn floats(&mut self, mut numbers: impl ExactSizeIterator<Item = f64>) {
        if numbers.len() == 1
            && let Some(number) = numbers.next()
        {
            return self.column(|column| float::put(column, &[number], Effort::Merge));
        }
        self.column(|column| float::put(column, &numbers.collect::<Vec<f64>>(), Effort::Merge));
    }

    pub(crate) fn column(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put_blob_of(self.out, put);
    }
}

/// A column that was read.
#[derive(Debug)]
pub(crate) enum Numbers<T> {
    /// The same in all rows.
    One(T),
    Each(Vec<T>),
}

impl<T: Default> Default for Numbers<T> {
    fn default() -> Numbers<T> {
        Numbers::Each(Vec::new())
    }
}

impl<T: Copy + Default> Numbers<T> {
    /// How many are held.
    pub(super) fn len(&self) -> usize {
        match self {
            Numbers::One(_) => 0,
            Numbers::Each(numbers) => numbers.len(),
        }
    }

    /// Of a row that there is.
    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> T {
        match self {
            Numbers::One(number) => *number,
            Numbers::Each(numbers) => numbers.get(row).copied().unwrap_or_default(),
        }
    }
}

/// Reads one table, column by column.
pub(crate) struct TableReader<'a> {
    cursor: Cursor<'a>,
    pub(crate) rows: usize,
}

impl<'a> TableReader<'a> {
    /// The caller states how many rows there can be at most: memory for so many is taken, whatever the bytes are.
    pub(crate) fn new(bytes: &'a [u8], rows_max: usize) -> Result<TableReader<'a>, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let rows = cursor.count(rows_max)?;
        Ok(TableReader { cursor, rows })
    }

    pub(crate) fn integers(&mut self) -> Result<Vec<i64>, Malformed> {
        self.column(int::take)
    }

    /// A column of integers, of which one is enough where all are the same.
    pub(super) fn integers_or_one(&mut self) -> Result<Numbers<i64>, Malformed> {
        self.column(|column, count| match column.first() {
            Some(int::CONSTANT) if count > 0 => column.u8().and_then(|_| column.zigzag()).map(Numbers::One),
            _ => int::take(column, count).map(Numbers::Each),
        })
    }

    /// The same of floats.
    pub(super) fn floats_or_one(&mut self) -> Result<Numbers<f64>, Malformed> {
        self.column(|column, count| match column.first() {
            Some(float::CONSTANT) if count > 0 => {
                Ok(float::take(column, 1)?.first().copied().map_or_else(Numbers::default, Numbers::One))
            }
            _ => float::take(column, count).map(Numbers::Each),
        })
    }

    /// A column of integers, each set in its row, where 0 is already.
    fn integers_into<R>(&mut self, rows: &mut [R], set: impl Fn(&mut R, i64)) -> Result<(), Malformed> {
        match self.integers_or_one()? {
            Numbers::One(0) => {}
            Numbers::One(number) => rows.iter_mut().for_each(|row| set(row, number)),
            Numbers::Each(numbers) => rows.iter_mut().zip(numbers).for_each(|(row, number)| set(row, number)),
        }
        Ok(())
    }

    fn floats_into<R>(&mut self, rows: &mut [R], set: impl Fn(&mut R, f64)) -> Result<(), Malformed> {
        let numbers = self.floats()?;
        rows.iter_mut().zip(numbers).for_each(|(row, number)| set(row, number));
        Ok(())
    }

    /// A column of one row, without the heap.
    fn integer(&mut self) -> Result<i64, Malformed> {
        self.column(|column, _| match column.first() {
            Some(int::CONSTANT) => column.u8().and_then(|_| column.zigzag()),
            _ => int::take(column, 1)?.first().copied().ok_or(Malformed("a column is empty")),
        })
    }

    pub(crate) fn floats(&mut self) -> Result<Vec<f64>, Malformed> {
        self.column(float::take)
    }

    pub(crate) fn column<T>(
        &mut self,
        take: impl FnOnce(&mut Cursor, usize) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        let mut column = Cursor::new(self.cursor.blob()?);
        let taken = take(&mut column, self.rows)?;
        if column.is_empty() { Ok(taken) } else { Err(Malformed("a column is longer than its content")) }
    }
}

pub(super) fn put_index(out: &mut Vec<u8>, entries: &[Entry]) {
    let mut table = TableWriter::new(out, entries.len());
    table.integers(entries.iter().map(|entry| i64::from(entry.len)));
    table.integers(entries.iter().map(|entry| i64::from(entry.count)));
    table.integers(entries.iter().map(|entry| type_number(entry.value_type)));
    table.integers(entries.iter().map(|entry| entry.t0.nanos()));
    table.integers(entries.iter().map(|entry| entry.t1.nanos().wrapping_sub(entry.t0.nanos())));
}

/// The blocks of a PV. `end` is where the blocks of the segment end: none reaches beyond it.
pub(crate) fn take_index(bytes: &[u8], record: &DirectoryRecord, end: u64) -> Result<Vec<Entry>, Malformed> {
    let room = end.checked_sub(record.blocks_at).ok_or(Malformed("its blocks lie beyond all blocks"))?;
    let rows_max = usize::try_from(room / BLOCK_HEADER_LEN as u64).unwrap_or(usize::MAX);
    let mut table = TableReader::new(bytes, rows_max)?;
    if table.rows != record.blocks as usize {
        return Err(Malformed("it has another number of blocks than the directory says"));
    }
    let mut offset = record.blocks_at;
    let mut entry = |(len, count, value_type, t0, span): (i64, i64, i64, i64, i64)| {
        let entry = Entry {
            offset,
            len: u32::try_from(len).map_err(|_| Malformed("a block has an impossible length"))?,
            count: u32::try_from(count).map_err(|_| Malformed("a block has an impossible number of samples"))?,
            value_type: value_type_of(value_type).ok_or(Malformed("a block has an unknown type"))?,
            t0: Timestamp::from_nanos(t0),
            t1: Timestamp::from_nanos(t0.wrapping_add(span)),
        };
        let next = offset.checked_add(u64::from(entry.len)).filter(|next| *next <= end);
        offset = next.ok_or(Malformed("a block reaches beyond all blocks"))?;
        Ok(entry)
    };
    if table.rows == 1 {
        let (len, count, value_type) = (table.integer()?, table.integer()?, table.integer()?);
        return Ok(vec![entry((len, count, value_type, table.integer()?, table.integer()?))?]);
    }
    let (lens, counts, types) = (table.integers()?, table.integers()?, table.integers()?);
    let (starts, spans) = (table.integers()?, table.integers()?);
    let rows = lens.into_iter().zip(counts).zip(types).zip(starts).zip(spans);
    let mut entries = free_lists::take();
    entries.reserve(table.rows);
    for ((((len, count), value_type), t0), span) in rows {
        entries.push(entry((len, count, value_type, t0, span))?);
    }
    Ok(entries)
}

pub(super) fn type_number(value_type: ValueType) -> i64 {
    value_type.element as i64 + 256 * i64::from(value_type.shape == Shape::Array)
}

pub(super) fn value_type_of(number: i64) -> Option<ValueType> {
    let element = Element::from_number(u8::try_from(number % 256).ok()?)?;
    match number / 256 {
        0 => Some(ValueType::scalar(element)),
        1 => Some(ValueType::array(element)),
        _ => None,
    }
}

pub(super) fn put_summaries(out: &mut Vec<u8>, summaries: &[Summary]) {
    put_columns(&mut TableWriter::new(out, summaries.len()), summaries);
}

/// The columns of summaries whose types, times and numbers of samples stand elsewhere.
pub(super) fn put_columns(table: &mut TableWriter, summaries: &[Summary]) {
    table.integers(summaries.iter().map(|summary| summary.severity_max as i64));
    table.integers(summaries.iter().map(|summary| summary.nan_count as i64));
    table.integers(summaries.iter().map(|summary| summary.invalid_count as i64));
    table.integers(summaries.iter().map(|summary| summary.covered as i64));
    let numbers: [fn(&Summary) -> f64; 7] =
        [|s| s.min, |s| s.max, |s| s.sum, |s| s.squares, |s| s.integral, |s| s.first, |s| s.last];
    numbers.iter().for_each(|number| table.floats(summaries.iter().map(number)));
}

/// The summaries of blocks whose index is known.
pub(crate) fn take_summaries(bytes: &[u8], entries: &[Entry]) -> Result<Vec<Summary>, Malformed> {
    let mut table = TableReader::new(bytes, entries.len())?;
    if table.rows != entries.len() {
        return Err(Malformed("it has another number of blocks than the index"));
    }
    let empty = |entry: &Entry| Summary::without_values(entry.value_type, entry.t0, entry.t1, u64::from(entry.count));
    let mut summaries = free_lists::take();
    summaries.extend(entries.iter().map(empty));
    take_columns(&mut table, &mut summaries)?;
    Ok(summaries)
}

/// Fills in what `put_columns` wrote.
pub(super) fn take_columns(table: &mut TableReader, summaries: &mut [Summary]) -> Result<(), Malformed> {
    table.integers_into(summaries, |s, number| s.severity_max = Severity::from_number(number))?;
    table.integers_into(summaries, |s, number| s.nan_count = number as u64)?;
    table.integers_into(summaries, |s, number| s.invalid_count = number as u64)?;
    table.integers_into(summaries, |s, number| s.covered = number as u64)?;
    table.floats_into(summaries, |s, number| s.min = number)?;
    table.floats_into(summaries, |s, number| s.max = number)?;
    table.floats_into(summaries, |s, number| s.sum = number)?;
    table.floats_into(summaries, |s, number| s.squares = number)?;
    table.floats_into(summaries, |s, number| s.integral = number)?;
    table.floats_into(summaries, |s, number| s.first = number)?;
    table.floats_into(summaries, |s, number| s.last = number)?;
    Ok(())
}

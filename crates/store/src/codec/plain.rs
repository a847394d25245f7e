//! Batches as plain bytes: the columns one behind the other, uncompressed, as the log keeps them.
//!
//! ```text
//!   batch   := element:u8 shape:u8 count:varint times values alarms pulses
//!   times   := i64[count]
//!   values  := number[count]                  bool and u8 take one byte each; everything is little-endian
//!            | length:varint[count] bytes     texts and structures
//!            | length:varint[count] values    arrays: their elements in one column
//!   alarms  := (rows:varint severity:u8 status:varint (0:u8 | 1:u8 message:blob))*      until the rows are covered
//!   pulses  := (rows:varint pulse:varint)*
//!   stamps  := (rows:varint (0:u8 | quality:u8 other:i64))*       apart from a batch, where any is out of the ordinary
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use sample::{
    Alarm, Arrays, Batch, Blobs, Column, Element, Quality, Runs, Sample, Severity, Shape, Stamp, Stamps, Strings,
    Timestamp, Value, ValueType,
};

use crate::bytes::{Cursor, Malformed, put_blob, put_varint};

/// Appends numbers as little-endian bytes; the loop compiles to a plain copy.
macro_rules! put_numbers {
    ($out:expr, $numbers:expr) => {{
        let numbers = $numbers;
        let size = size_of_val(numbers) / numbers.len().max(1);
        let start = $out.len();
        $out.resize(start + size_of_val(numbers), 0);
        let (_, room) = $out.split_at_mut(start);
        for (to, number) in room.chunks_exact_mut(size.max(1)).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
    }};
}

/// Takes `count` little-endian numbers of a type.
macro_rules! take_numbers {
    ($cursor:expr, $count:expr, $number:ty) => {{
        let size = size_of::<$number>();
        let bytes = $cursor.take($count.checked_mul(size).ok_or(Malformed("a count is too large"))?)?;
        let (chunks, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
        chunks.iter().map(|chunk| <$number>::from_le_bytes(*chunk)).collect::<Vec<$number>>()
    }};
}

pub(crate) fn put_batch(out: &mut Vec<u8>, batch: &Batch) {
    put_type(out, batch.value_type());
    put_varint(out, batch.len() as u64);
    let start = out.len();
    out.resize(start + 8 * batch.len(), 0);
    let (_, room) = out.split_at_mut(start);
    for (to, time) in room.chunks_exact_mut(8).zip(batch.times()) {
        to.copy_from_slice(&time.nanos().to_le_bytes());
    }
    put_column(out, batch.values());
    put_alarms(out, batch.alarms());
    put_pulses(out, batch.pulses());
}

/// A single sample as a batch of one row, without making one.
pub(crate) fn put_batch_of(out: &mut Vec<u8>, sample: &Sample) {
    put_type(out, sample.value.value_type());
    put_varint(out, 1);
    out.extend_from_slice(&sample.time.nanos().to_le_bytes());
    match &sample.value {
        Value::String(text) => put_blob(out, text.as_bytes()),
        Value::Structure(bytes) => put_blob(out, bytes),
        Value::Array(elements) => {
            put_varint(out, elements.len() as u64);
            put_column(out, elements);
        }
        number => {
            let (element, bits) = number.bits().unwrap_or((Element::Bool, 0));
            out.extend_from_slice(bits.to_le_bytes().get(..element.number_bytes()).unwrap_or_default());
        }
    }
    put_alarm(out, &sample.alarm, 1);
    put_varint(out, 1);
    put_varint(out, sample.pulse);
}

pub(crate) fn take_batch(cursor: &mut Cursor) -> Result<Batch, Malformed> {
    let value_type = take_type(cursor)?;
    let count = cursor.count(cursor.len() / 8)?;
    let times = take_numbers!(cursor, count, i64).into_iter().map(Timestamp::from_nanos).collect();
    let values = take_column(cursor, value_type, count)?;
    let alarms = take_alarms(cursor, count)?;
    let pulses = take_pulses(cursor, count)?;
    Batch::from_columns(times, values, alarms, pulses).ok_or(Malformed("the columns differ in length"))
}

/// A single number, from as many bytes as its type has.
pub(crate) fn take_number(cursor: &mut Cursor, element: Element) -> Result<Value, Malformed> {
    Ok(match element {
        Element::Bool => Value::Bool(cursor.u8()? != 0),
        Element::I8 => Value::I8(i8::from_le_bytes(cursor.array()?)),
        Element::U8 => Value::U8(cursor.u8()?),
        Element::I16 => Value::I16(i16::from_le_bytes(cursor.array()?)),
        Element::U16 => Value::U16(cursor.u16()?),
        Element::I32 => Value::I32(i32::from_le_bytes(cursor.array()?)),
        Element::U32 => Value::U32(cursor.u32()?),
        Element::I64 => Value::I64(cursor.i64()?),
        Element::U64 => Value::U64(cursor.u64()?),
        Element::F32 => Value::F32(f32::from_le_bytes(cursor.array()?)),
        Element::F64 => Value::F64(f64::from_le_bytes(cursor.array()?)),
        Element::Enum => Value::Enum(i32::from_le_bytes(cursor.array()?)),
        Element::String | Element::Structure => return Err(Malformed("a text or structure is no number")),
    })
}

pub(crate) fn put_type(out: &mut Vec<u8>, value_type: ValueType) {
    out.push(value_type.element as u8);
    out.push(u8::from(value_type.shape == Shape::Array));
}

pub(crate) fn take_type(cursor: &mut Cursor) -> Result<ValueType, Malformed> {
    let element = Element::from_number(cursor.u8()?).ok_or(Malformed("no such type of value"))?;
    match cursor.u8()? {
        0 => Ok(ValueType::scalar(element)),
        1 => Ok(ValueType::array(element)),
        _ => Err(Malformed("no such shape of value")),
    }
}

pub(crate) fn put_column(out: &mut Vec<u8>, column: &Column) {
    match column {
        Column::Bool(v) => out.extend(v.iter().map(|v| u8::from(*v))),
        Column::I8(v) => put_numbers!(out, v.as_slice()),
        Column::U8(v) => out.extend_from_slice(v),
        Column::I16(v) => put_numbers!(out, v.as_slice()),
        Column::U16(v) => put_numbers!(out, v.as_slice()),
        Column::I32(v) | Column::Enum(v) => put_numbers!(out, v.as_slice()),
        Column::U32(v) => put_numbers!(out, v.as_slice()),
        Column::I64(v) => put_numbers!(out, v.as_slice()),
        Column::U64(v) => put_numbers!(out, v.as_slice()),
        Column::F32(v) => put_numbers!(out, v.as_slice()),
        Column::F64(v) => put_numbers!(out, v.as_slice()),
        Column::String(v) => {
            v.iter().for_each(|text| put_varint(out, text.len() as u64));
            out.extend_from_slice(v.bytes());
        }
        Column::Structure(v) => {
            v.iter().for_each(|blob| put_varint(out, blob.len() as u64));
            out.extend_from_slice(v.bytes());
        }
        Column::Array(v) => {
            (0..v.len()).for_each(|index| put_varint(out, v.range(index).len() as u64));
            out.reserve(v.elements().byte_size());
            put_column(out, v.elements());
        }
    }
}

pub(crate) fn take_column(cursor: &mut Cursor, value_type: ValueType, count: usize) -> Result<Column, Malformed> {
    if value_type.shape == Shape::Array {
        let mut ends = Vec::with_capacity(count.min(cursor.len()));
        let mut end = 0usize;
        for _ in 0..count {
            end += cursor.count(cursor.len())?;
            ends.push(end);
        }
        let elements = take_column(cursor, ValueType::scalar(value_type.element), end)?;
        return Arrays::from_ends(ends, elements).map(Column::Array).ok_or(Malformed("array lengths do not add up"));
    }
    Ok(match value_type.element {
        Element::Bool => Column::Bool(cursor.take(count)?.iter().map(|byte| *byte != 0).collect()),
        Element::I8 => Column::I8(take_numbers!(cursor, count, i8)),
        Element::U8 => Column::U8(cursor.take(count)?.to_vec()),
        Element::I16 => Column::I16(take_numbers!(cursor, count, i16)),
        Element::U16 => Column::U16(take_numbers!(cursor, count, u16)),
        Element::I32 => Column::I32(take_numbers!(cursor, count, i32)),
        Element::U32 => Column::U32(take_numbers!(cursor, count, u32)),
        Element::I64 => Column::I64(take_numbers!(cursor, count, i64)),
        Element::U64 => Column::U64(take_numbers!(cursor, count, u64)),
        Element::F32 => Column::F32(take_numbers!(cursor, count, f32)),
        Element::F64 => Column::F64(take_numbers!(cursor, count, f64)),
        Element::Enum => Column::Enum(take_numbers!(cursor, count, i32)),
        Element::String => Column::String(take_strings(cursor, count)?),
        Element::Structure => Column::Structure(take_blobs(cursor, count)?),
    })
}

fn take_lengths(cursor: &mut Cursor, count: usize) -> Result<Vec<usize>, Malformed> {
    if count > cursor.len() {
        return Err(Malformed("it ends too early"));
    }
    (0..count).map(|_| cursor.count(cursor.len())).collect()
}

fn take_strings(cursor: &mut Cursor, count: usize) -> Result<Strings, Malformed> {
    let mut strings = Strings::default();
    for length in take_lengths(cursor, count)? {
        let text = std::str::from_utf8(cursor.take(length)?).map_err(|_| Malformed("a text is not UTF-8"))?;
        strings.push(text);
    }
    Ok(strings)
}

fn take_blobs(cursor: &mut Cursor, count: usize) -> Result<Blobs, Malformed> {
    let mut blobs = Blobs::default();
    for length in take_lengths(cursor, count)? {
        blobs.push(cursor.take(length)?);
    }
    Ok(blobs)
}

/// Only where any of them is out of the ordinary.
pub(crate) fn put_stamps(out: &mut Vec<u8>, stamps: &Stamps, count: usize) {
    let mut covered = 0;
    for (rows, stamp) in stamps.iter() {
        put_ordinary(out, rows.start - covered);
        put_stamp(out, stamp, rows.len());
        covered = rows.end;
    }
    put_ordinary(out, count - covered);
}

/// So many rows that have this one.
pub(crate) fn put_stamp(out: &mut Vec<u8>, stamp: Stamp, rows: usize) {
    put_varint(out, rows as u64);
    out.push(stamp.quality as u8);
    out.extend_from_slice(&stamp.other.nanos().to_le_bytes());
}

fn put_ordinary(out: &mut Vec<u8>, rows: usize) {
    if rows > 0 {
        put_varint(out, rows as u64);
        out.push(0);
    }
}

pub(crate) fn take_stamps(cursor: &mut Cursor, count: usize) -> Result<Stamps, Malformed> {
    let mut runs = Runs::default();
    while runs.len() < count {
        let rows = take_rows(cursor, count - runs.len())?;
        let stamp = match cursor.u8()? {
            0 => None,
            number => {
                let quality = Quality::from_number(number).ok_or(Malformed("no such quality of a stamp"))?;
                Some(Stamp { quality, other: Timestamp::from_nanos(cursor.i64()?) })
            }
        };
        runs.push(&stamp, rows);
    }
    Ok(Stamps::from_runs(runs))
}

pub(crate) fn put_alarms(out: &mut Vec<u8>, alarms: &Runs<Alarm>) {
    alarms.iter().for_each(|(rows, alarm)| put_alarm(out, alarm, rows.len()));
}

fn put_alarm(out: &mut Vec<u8>, alarm: &Alarm, rows: usize) {
    put_varint(out, rows as u64);
    out.push(alarm.severity as u8);
    put_varint(out, u64::from(alarm.status));
    out.push(u8::from(alarm.message.is_some()));
    if let Some(message) = &alarm.message {
        put_blob(out, message.as_bytes());
    }
}

pub(crate) fn take_alarms(cursor: &mut Cursor, count: usize) -> Result<Runs<Alarm>, Malformed> {
    take_alarms_in(Runs::default(), cursor, count)
}

/// The same in the memory of runs whose content nobody needs.
pub(crate) fn take_alarms_in(
    mut alarms: Runs<Alarm>,
    cursor: &mut Cursor,
    count: usize,
) -> Result<Runs<Alarm>, Malformed> {
    alarms.clear();
    while alarms.len() < count {
        let rows = take_rows(cursor, count - alarms.len())?;
        let severity = Severity::from_number(i64::from(cursor.u8()?));
        let status = u16::try_from(cursor.varint()?).map_err(|_| Malformed("an alarm status is too large"))?;
        let message = match cursor.u8()? {
            0 => None,
            _ => {
                let text = std::str::from_utf8(cursor.blob()?).map_err(|_| Malformed("a text is not UTF-8"))?;
                Some(text.into())
            }
        };
        alarms.push(&Alarm { severity, status, message }, rows);
    }
    Ok(alarms)
}

pub(crate) fn put_pulses(out: &mut Vec<u8>, pulses: &Runs<u64>) {
    for (rows, pulse) in pulses.iter() {
        put_varint(out, rows.len() as u64);
        put_varint(out, *pulse);
    }
}

pub(crate) fn take_pulses(cursor: &mut Cursor, count: usize) -> Result<Runs<u64>, Malformed> {
    take_pulses_in(Runs::default(), cursor, count)
}

/// The same in the memory of runs whose content nobody needs.
pub(crate) fn take_pulses_in(mut pulses: Runs<u64>, cursor: &mut Cursor, count: usize) -> Result<Runs<u64>, Malformed> {
    pulses.clear();
    while pulses.len() < count {
        let rows = take_rows(cursor, count - pulses.len())?;
        pulses.push(&cursor.varint()?, rows);
    }
    Ok(pulses)
}

fn take_rows(cursor: &mut Cursor, max: usize) -> Result<usize, Malformed> {
    cursor.count(max).and_then(|rows| if rows == 0 { Err(Malformed("a run has no rows")) } else { Ok(rows) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every type, with values that are easily damaged.
    fn batches() -> Vec<Batch> {
        let values = [
            vec![Value::Bool(true), Value::Bool(false)],
            vec![Value::I8(-1), Value::I8(i8::MIN)],
            vec![Value::U16(u16::MAX)],
            vec![Value::U64(u64::MAX), Value::U64(0)],
            vec![Value::F64(f64::NAN), Value::F64(-0.0)],
            vec![Value::Enum(-3)],
            vec![Value::String("µA".into()), Value::String("".into())],
            vec![Value::Structure([1, 2, 3].as_slice().into())],
            vec![Value::Array(Column::F32(vec![])), Value::Array(Column::F32(vec![1.0, f32::NAN]))],
            vec![Value::Array(Column::String(["a", "", "b"].into_iter().collect()))],
        ];
        let batch = |values: &Vec<Value>| {
            let mut batch = Batch::new(values.first().expect("no case is empty").value_type());
            for (index, value) in values.iter().enumerate() {
                let message = (index == 1).then(|| "off".into());
                let alarm = Alarm { severity: Severity::from_number(index as i64), status: 300, message };
                let time = Timestamp::from_nanos(index as i64 - 1);
                assert!(batch.push(&Sample { time, value: value.clone(), alarm, pulse: index as u64, stamp: None }));
            }
            batch
        };
        values.iter().map(batch).collect()
    }

    #[test]
    fn a_batch_of_every_type_comes_back_to_the_last_bit() {
        for batch in batches() {
            let mut bytes = Vec::new();
            put_batch(&mut bytes, &batch);
            let mut cursor = Cursor::new(&bytes);
            let back = take_batch(&mut cursor).expect("it was written just now");
            assert!(cursor.is_empty());
            let one = batch.get(batch.len() - 1);
            let (mut by_itself, mut as_batch) = (Vec::new(), Vec::new());
            put_batch(&mut as_batch, &Batch::of(&one));
            put_batch_of(&mut by_itself, &one);
            assert!(by_itself == as_batch, "{:?}", batch.value_type());
            assert!(back.values().identical(batch.values()));
            assert_eq!((back.times(), back.alarms(), back.pulses()), (batch.times(), batch.alarms(), batch.pulses()));
        }
    }

    #[test]
    fn stamps_come_back_and_cut_off_are_malformed() {
        let stamp = |nanos| Some(Stamp { quality: Quality::Ahead, other: Timestamp::from_nanos(nanos) });
        for rows in [vec![None, stamp(5), stamp(5), None], vec![stamp(i64::MIN)], vec![stamp(1), stamp(2), None]] {
            let mut runs = Runs::default();
            rows.iter().for_each(|row| runs.push(row, 1));
            let stamps = Stamps::from_runs(runs);
            let mut bytes = Vec::new();
            put_stamps(&mut bytes, &stamps, rows.len());
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(take_stamps(&mut cursor, rows.len()), Ok(stamps));
            assert!(cursor.is_empty());
            let short = bytes.split_last().expect("it is not empty").1;
            assert!(take_stamps(&mut Cursor::new(short), rows.len()).is_err());
        }
    }

    #[test]
    fn a_batch_that_ends_too_early_is_malformed() {
        for batch in batches() {
            let mut bytes = Vec::new();
            put_batch(&mut bytes, &batch);
            for end in 0..bytes.len() {
                let short = bytes.get(..end).expect("the end lies within");
                assert!(take_batch(&mut Cursor::new(short)).is_err(), "{:?} cut at {end}", batch.value_type());
            }
        }
    }
}

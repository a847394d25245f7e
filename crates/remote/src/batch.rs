//! A batch of samples on its way between nodes: column by column, packed where that makes it smaller.
//!
//! ```text
//!   packed  := 0 batch | 1 size:uint zstd(batch)
//!   batch   := element:u8 (128 more: arrays)  rows:uint  times  values  alarms  pulses  stamps
//!   times   := first:int, then what each step is longer than the one before:int
//!   values  := numbers little-endian | lengths:uint each, then all bytes | lengths:uint each, then the elements as values
//!   alarms, pulses, stamps := runs:uint, each rows:uint and what holds for them
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use std::io::Read;

use sample::{
    Alarm, Arrays, Batch, Blobs, Column, Element, Quality, Runs, Shape, Stamp, Stamps, Strings, Timestamp, ValueType,
};

use crate::{
    bytes_format::{In, Out},
    frame::BYTES_MAX,
};

/// Less is not worth packing.
const PACKED_MIN: usize = 512;
/// The fastest of its levels: between machines of one room the processor is scarcer than the line.
const LEVEL: i32 = 1;
/// Of the number of the element.
const IS_ARRAY: u8 = 0x80;

pub(crate) fn write(batch: &Batch, out: &mut Out) {
    let mut plain = Out::default();
    write_plain(batch, &mut plain);
    if plain.0.len() >= PACKED_MIN
        && let Ok(packed) = zstd::bulk::compress(&plain.0, LEVEL)
        && packed.len() < plain.0.len()
    {
        out.byte(1);
        out.size(plain.0.len());
        out.0.extend_from_slice(&packed);
        return;
    }
    out.byte(0);
    out.0.append(&mut plain.0);
}

pub(crate) fn read(mut bytes: In<'_>) -> Option<Batch> {
    match bytes.byte()? {
        0 => read_plain(bytes),
        1 => {
            let size = bytes.size().filter(|size| *size <= BYTES_MAX)?;
            // It grows as it is unpacked, whatever was announced.
            let mut plain = Vec::new();
            let unpack = zstd::stream::read::Decoder::new(bytes.0).ok()?;
            unpack.take(size as u64 + 1).read_to_end(&mut plain).ok()?;
            if plain.len() == size { read_plain(In(&plain)) } else { None }
        }
        _ => None,
    }
}

fn write_plain(batch: &Batch, out: &mut Out) {
    let of = batch.value_type();
    out.byte(of.element as u8 | if of.shape == Shape::Array { IS_ARRAY } else { 0 });
    out.size(batch.len());
    let (mut before, mut step) = (0_i64, 0_i64);
    for time in batch.times() {
        let next = time.nanos().wrapping_sub(before);
        out.int(next.wrapping_sub(step));
        (before, step) = (time.nanos(), next);
    }
    write_column(batch.values(), out);
    out.size(batch.alarms().iter().count());
    for (rows, alarm) in batch.alarms().iter() {
        out.size(rows.len());
        out.alarm(alarm);
    }
    out.size(batch.pulses().iter().count());
    for (rows, pulse) in batch.pulses().iter() {
        out.size(rows.len());
        out.uint(*pulse);
    }
    // Rows, and how many ordinary ones lie before them.
    out.size(batch.stamps().iter().count());
    let mut end = 0;
    for (rows, stamp) in batch.stamps().iter() {
        out.size(rows.start - end);
        out.size(rows.len());
        out.byte(stamp.quality as u8);
        out.time(stamp.other);
        end = rows.end;
    }
}

fn read_plain(mut bytes: In<'_>) -> Option<Batch> {
    let number = bytes.byte()?;
    let element = Element::from_number(number & !IS_ARRAY)?;
    let of = if number & IS_ARRAY == 0 { ValueType::scalar(element) } else { ValueType::array(element) };
    let rows = bytes.count(1)?;
    let (mut before, mut step) = (0_i64, 0_i64);
    let mut times = Vec::with_capacity(rows);
    for _ in 0..rows {
        step = step.wrapping_add(bytes.int()?);
        before = before.wrapping_add(step);
        times.push(Timestamp::from_nanos(before));
    }
    let values = read_column(of, rows, &mut bytes)?;
    let alarms: Runs<Alarm> = read_runs(rows, &mut bytes, In::alarm)?;
    let pulses: Runs<u64> = read_runs(rows, &mut bytes, In::uint)?;
    let stamps = read_stamps(rows, &mut bytes)?;
    if !bytes.is_empty() {
        return None;
    }
    Batch::from_columns(times, values, alarms, pulses)?.with_stamps(stamps)
}

fn read_runs<'a, T: PartialEq + Clone>(
    rows: usize,
    bytes: &mut In<'a>,
    read: impl Fn(&mut In<'a>) -> Option<T>,
) -> Option<Runs<T>> {
    let mut runs = Runs::default();
    for _ in 0..bytes.count(2)? {
        let of_run = bytes.size().filter(|of_run| *of_run > 0 && *of_run <= rows - runs.len())?;
        runs.push(&read(bytes)?, of_run);
    }
    (runs.len() == rows).then_some(runs)
}

fn read_stamps(rows: usize, bytes: &mut In<'_>) -> Option<Stamps> {
    let mut runs: Runs<Option<Stamp>> = Runs::default();
    let count = bytes.count(4)?;
    for _ in 0..count {
        let before = bytes.size().filter(|before| *before <= rows - runs.len())?;
        runs.push(&None, before);
        let of_run = bytes.size().filter(|of_run| *of_run > 0 && *of_run <= rows - runs.len())?;
        let quality = Quality::from_number(bytes.byte()?)?;
        runs.push(&Some(Stamp { quality, other: bytes.time()? }), of_run);
    }
    if count > 0 {
        runs.push(&None, rows - runs.len());
    }
    Some(Stamps::from_runs(runs))
}

fn write_column(column: &Column, out: &mut Out) {
    /// Their bytes one behind the other.
    macro_rules! numbers {
        ($values:expr) => {
            $values.iter().for_each(|value| out.0.extend_from_slice(&value.to_le_bytes()))
        };
    }
    match column {
        Column::Bool(values) => out.0.extend(values.iter().map(|value| u8::from(*value))),
        Column::I8(values) => numbers!(values),
        Column::U8(values) => out.0.extend_from_slice(values),
        Column::I16(values) => numbers!(values),
        Column::U16(values) => numbers!(values),
        Column::I32(values) | Column::Enum(values) => numbers!(values),
        Column::U32(values) => numbers!(values),
        Column::I64(values) => numbers!(values),
        Column::U64(values) => numbers!(values),
        Column::F32(values) => numbers!(values),
        Column::F64(values) => numbers!(values),
        Column::String(texts) => {
            texts.iter().for_each(|text| out.size(text.len()));
            out.0.extend_from_slice(texts.bytes());
        }
        Column::Structure(blobs) => {
            blobs.iter().for_each(|blob| out.size(blob.len()));
            out.0.extend_from_slice(blobs.bytes());
        }
        Column::Array(arrays) => {
            (0..arrays.len()).for_each(|index| out.size(arrays.range(index).len()));
            write_column(arrays.elements(), out);
        }
    }
}

/// Where each ends that has one of the lengths that follow.
fn read_ends(rows: usize, bytes: &mut In<'_>) -> Option<Vec<usize>> {
    if rows > bytes.0.len() {
        return None;
    }
    let mut ends = Vec::with_capacity(rows);
    let mut end = 0_usize;
    for _ in 0..rows {
        end = end.checked_add(bytes.size()?)?;
        ends.push(end);
    }
    Some(ends)
}

fn read_blobs(rows: usize, bytes: &mut In<'_>) -> Option<Blobs> {
    let ends = read_ends(rows, bytes)?;
    let all = bytes.take(ends.last().copied().unwrap_or(0))?;
    let (mut blobs, mut start) = (Blobs::default(), 0);
    for end in ends {
        blobs.push(all.get(start..end)?);
        start = end;
    }
    Some(blobs)
}

fn read_column(of: ValueType, rows: usize, bytes: &mut In<'_>) -> Option<Column> {
    if of.shape == Shape::Array {
        let ends = read_ends(rows, bytes)?;
        let elements = ends.last().copied().unwrap_or(0);
        let elements = read_column(ValueType::scalar(of.element), elements, bytes)?;
        return Arrays::from_ends(ends, elements).map(Column::Array);
    }
    /// Numbers of one type.
    macro_rules! numbers {
        ($type:ty) => {{
            let all = bytes.take(rows.checked_mul(size_of::<$type>())?)?;
            let (each, _) = all.as_chunks();
            each.iter().map(|of| <$type>::from_le_bytes(*of)).collect()
        }};
    }
    Some(match of.element {
        Element::Bool => {
            let flags = bytes.take(rows)?;
            if flags.iter().any(|flag| *flag > 1) {
                return None;
            }
            Column::Bool(flags.iter().map(|flag| *flag == 1).collect())
        }
        Element::I8 => Column::I8(numbers!(i8)),
        Element::U8 => Column::U8(bytes.take(rows)?.to_vec()),
        Element::I16 => Column::I16(numbers!(i16)),
        Element::U16 => Column::U16(numbers!(u16)),
        Element::I32 => Column::I32(numbers!(i32)),
        Element::U32 => Column::U32(numbers!(u32)),
        Element::I64 => Column::I64(numbers!(i64)),
        Element::U64 => Column::U64(numbers!(u64)),
        Element::F32 => Column::F32(numbers!(f32)),
        Element::F64 => Column::F64(numbers!(f64)),
        Element::Enum => Column::Enum(numbers!(i32)),
        Element::String => Column::String(Strings::from_blobs(read_blobs(rows, bytes)?)?),
        Element::Structure => Column::Structure(read_blobs(rows, bytes)?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sample::{Sample, Severity, Value};

    use super::*;

    fn back(batch: &Batch) -> Option<Batch> {
        let mut out = Out::default();
        write(batch, &mut out);
        read(In(&out.0))
    }

    fn values() -> impl Strategy<Value = Vec<Value>> {
        let texts = prop::collection::vec(".{0,5}", 0..40);
        prop_oneof![
            prop::collection::vec(any::<f64>().prop_map(Value::F64), 0..600),
            prop::collection::vec(any::<bool>().prop_map(Value::Bool), 0..40),
            prop::collection::vec(any::<i16>().prop_map(Value::I16), 0..40),
            prop::collection::vec(any::<u64>().prop_map(Value::U64), 0..40),
            prop::collection::vec(any::<i32>().prop_map(Value::Enum), 0..40),
            texts.clone().prop_map(|texts| texts.iter().map(|text| Value::String(text.as_str().into())).collect()),
            prop::collection::vec(prop::collection::vec(any::<f32>(), 0..9), 0..40)
                .prop_map(|arrays| arrays.into_iter().map(|array| Value::Array(Column::F32(array))).collect()),
            prop::collection::vec(texts, 0..9).prop_map(|arrays| {
                let column = |texts: &Vec<String>| Column::String(texts.iter().map(String::as_str).collect());
                arrays.iter().map(|texts| Value::Array(column(texts))).collect()
            }),
        ]
    }

    fn batches() -> impl Strategy<Value = Batch> {
        let besides = (any::<i64>(), 0..3_u16, 0..3_u64, prop::option::of((0..3_usize, any::<i64>())));
        (values(), prop::collection::vec(besides, 600)).prop_map(|(values, besides)| {
            let first = values.first().map_or(ValueType::scalar(Element::F64), Value::value_type);
            let mut batch = Batch::new(first);
            for (value, (time, status, pulse, stamp)) in values.into_iter().zip(besides) {
                let message = (status == 2).then(|| "it is hot".into());
                let alarm = Alarm { severity: Severity::from_number(status.into()), status, message };
                let stamp = stamp.map(|(quality, other)| Stamp {
                    quality: Quality::ALL[quality],
                    other: Timestamp::from_nanos(other),
                });
                assert!(batch.push(&Sample { time: Timestamp::from_nanos(time), value, alarm, pulse, stamp }));
            }
            batch
        })
    }

    proptest! {
        #[test]
        fn what_is_written_comes_back(batch in batches()) {
            let read = back(&batch).expect("it was written");
            prop_assert_eq!(read.len(), batch.len());
            for row in 0..batch.len() {
                prop_assert!(read.get(row).identical(&batch.get(row)));
                prop_assert_eq!(read.get(row).stamp, batch.get(row).stamp);
            }
        }

        #[test]
        fn no_part_of_a_batch_is_one(batch in batches()) {
            let mut out = Out::default();
            write_plain(&batch, &mut out);
            // Some hundred of them: each is read from its beginning.
            for size in (0..out.0.len()).step_by(1 + out.0.len() / 128) {
                prop_assert!(read_plain(In(&out.0[..size])).is_none());
            }
        }
    }

    #[test]
    fn a_second_of_a_steady_signal_takes_little_and_a_bomb_is_not_unpacked() {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for step in 0..8192_i64 {
            let time = Timestamp::from_nanos(1_800_000_000_000_000_000 + step * 100_000_000);
            let value = Value::F64((step % 100) as f64);
            assert!(batch.push(&Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
        }
        let mut out = Out::default();
        write(&batch, &mut out);
        assert!(out.0.len() < 8192, "{} bytes", out.0.len());
        let mut bomb = Out::default();
        bomb.byte(1);
        bomb.size(4096);
        bomb.0.extend(zstd::bulk::compress(&vec![0; 64 << 20], 1).expect("it is packed"));
        assert!(read(In(&bomb.0)).is_none());
    }
}

//! Blocks: batches become checked, compressed bytes and come back to the last bit.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

pub(crate) mod cut;
pub(crate) mod field;
pub(crate) mod format;
#[cfg(test)]
mod golden;
pub(crate) mod outline;
#[cfg(test)]
pub(crate) mod played;
pub(crate) mod repeats;
pub(crate) mod rows;
pub(crate) mod sections;

use std::ops::Range;

use archive::PvId;
use sample::{Alarm, Batch, Column, Runs, Stamps, Timestamp, ValueType};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    block::{field::Found, format::BLOCK_HEADER_LEN, sections::Section},
    bytes::{Cursor, Malformed, put_blob_of, put_varint},
    codec::{
        Effort, array,
        frames::{self, Frames, Player},
        int,
        limits::BLOCK_ROWS_MAX,
        plain, stamp, structure, time, values,
    },
};

/// Appends a block. The batch is sorted, not empty and within the limits of a block.
pub(crate) fn put(out: &mut Vec<u8>, pv: PvId, batch: &Batch, effort: Effort) {
    put_with(out, pv, batch, effort, |column| values::put(column, batch.values(), effort));
}

/// Appends a block of frames.
pub(crate) fn put_frames(out: &mut Vec<u8>, pv: PvId, frames: &Frames, effort: Effort) {
    put_with(out, pv, frames.samples(), effort, |column| array::put_frames(column, frames, effort));
}

/// Appends a block whose values `put_values` writes.
pub(crate) fn put_with(
    out: &mut Vec<u8>,
    pv: PvId,
    batch: &Batch,
    effort: Effort,
    put_values: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; BLOCK_HEADER_LEN]);
    out.extend_from_slice(&pv.0.to_le_bytes());
    plain::put_type(out, batch.value_type());
    put_varint(out, batch.len() as u64);
    put_blob_of(out, |out| time::put(out, batch.times(), effort));
    put_blob_of(out, put_values);
    put_blob_of(out, |out| plain::put_alarms(out, batch.alarms()));
    put_blob_of(out, |out| put_pulses(out, batch.pulses(), effort));
    let sections = sections::of(batch);
    if !batch.stamps().is_ordinary() {
        put_blob_of(out, |out| stamp::put(out, batch.times(), batch.stamps(), effort));
    } else if sections.is_some() {
        put_varint(out, 0);
    }
    if let Some(sections) = sections {
        put_varint(out, 0); // no quarters
        put_blob_of(out, |out| sections::put(out, &sections));
    }
    let (_, block) = out.split_at_mut(start);
    seal(block);
}

/// Writes length and checksum at the head of a block.
fn seal(block: &mut [u8]) {
    let Some((check, rest)) = block.split_first_chunk_mut::<8>() else { return };
    let len = (rest.len() - 4) as u32;
    if let Some(place) = rest.first_chunk_mut::<4>() {
        *place = len.to_le_bytes();
    }
    *check = xxh3_64(rest).to_le_bytes();
}

/// Reads a block whose checksum is verified first. Gives the PV it was written for, too.
pub(crate) fn take(bytes: &[u8]) -> Result<(PvId, Batch), Malformed> {
    take_body(&mut verified(bytes)?)
}

/// The same in the memory of a batch whose content nobody needs.
pub(crate) fn take_in(room: Batch, bytes: &[u8]) -> Result<(PvId, Batch), Malformed> {
    Columns::of(bytes)?.all_in(room)
}

/// What is in a block.
#[derive(Debug)]
pub(crate) enum Opened {
    /// All of its samples.
    Whole(Batch),
    /// Frames, of which one array after the other is to be made: all of them may take forty megabytes.
    Frames(Box<Player>),
}

impl Opened {
    /// Its samples, if they are frames without their arrays.
    pub(crate) fn samples(&self) -> &Batch {
        match self {
            Opened::Whole(batch) => batch,
            Opened::Frames(player) => player.samples(),
        }
    }
}

/// The same as `take`, but frames are not made yet.
pub(crate) fn open(bytes: &[u8]) -> Result<(PvId, Opened), Malformed> {
    Columns::of(bytes)?.opened()
}

/// What the checksum protects, if it does.
fn verified(bytes: &[u8]) -> Result<Cursor<'_>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let check = cursor.u64()?;
    if xxh3_64(cursor.rest()) != check {
        return Err(Malformed("its checksum does not match"));
    }
    let mut cursor = Cursor::new(bytes);
    cursor.u64()?;
    if cursor.u32()? as usize != cursor.len() {
        return Err(Malformed("it has another length than the index says"));
    }
    Ok(cursor)
}

/// What the checksum protects. Apart, so that fuzzers reach it.
pub(crate) fn take_body(cursor: &mut Cursor) -> Result<(PvId, Batch), Malformed> {
    let columns = Columns::take(cursor)?;
    columns.all_in(Batch::new(columns.value_type))
}

/// A block whose columns are decoded when they are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) pv: PvId,
    pub(crate) value_type: ValueType,
    pub(crate) count: usize,
    times: Cursor<'a>,
    values: Cursor<'a>,
    alarms: Cursor<'a>,
    pulses: Cursor<'a>,
    /// Empty where all stamps are ordinary.
    stamps: Cursor<'a>,
    /// Empty where there are none.
    quarters: Cursor<'a>,
    sections: Cursor<'a>,
}

impl<'a> Columns<'a> {
    /// Of a block whose checksum is verified first.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Columns<'a>, Malformed> {
        Columns::take(&mut verified(bytes)?)
    }

    /// Of what the checksum protects.
    pub(crate) fn take(cursor: &mut Cursor<'a>) -> Result<Columns<'a>, Malformed> {
        let pv = PvId(cursor.u32()?);
        let value_type = plain::take_type(cursor)?;
        let count = cursor.count(BLOCK_ROWS_MAX)?;
        let mut column = || cursor.blob().map(Cursor::new);
        let (times, values, alarms, pulses) = (column()?, column()?, column()?, column()?);
        let mut column = || if cursor.is_empty() { Ok(Cursor::new(&[])) } else { cursor.blob().map(Cursor::new) };
        let (stamps, quarters, sections) = (column()?, column()?, column()?);
        if !cursor.is_empty() {
            return Err(Malformed("something follows its last column"));
        }
        Ok(Columns { pv, value_type, count, times, values, alarms, pulses, stamps, quarters, sections })
    }

    /// All rows, in the memory of a batch whose content nobody needs, and whose they are.
    fn all_in(&self, room: Batch) -> Result<(PvId, Batch), Malformed> {
        let (times, values, alarms, pulses) = room.into_columns();
        let values = whole(self.values, |column| match self.value_type.is_numeric_scalar() {
            true => values::take_numbers(values, column, self.value_type.element, self.count, 0..self.count),
            false => values::take(column, self.value_type, self.count),
        })?;
        Ok((self.pv, self.with_in((times, alarms, pulses), values)?))
    }

    /// What is in it, and whose it is.
    pub(crate) fn opened(&self) -> Result<(PvId, Opened), Malformed> {
        match self.frames()? {
            Some(player) => Ok((self.pv, Opened::Frames(Box::new(player)))),
            None => self.all_in(Batch::new(self.value_type)).map(|(pv, batch)| (pv, Opened::Whole(batch))),
        }
    }

    /// Its arrays, to be made one after the other; none if they are no frames, or differ in length.
    fn frames(&self) -> Result<Option<Player>, Malformed> {
        let mut column = self.values;
        let frames = match frames::may_be(self.value_type) && self.count > 0 {
            true => array::take_frames(&mut column, self.count, self.value_type.element)?,
            false => None,
        };
        let Some((first, changes)) = frames else { return Ok(None) };
        whole(column, |_| Ok(()))?;
        let samples = self.with(frames::empty_arrays(self.value_type.element, self.count))?;
        Ok(Some(Player::of_block(samples, first, changes)))
    }

    /// All rows, with these values.
    fn with(&self, values: Column) -> Result<Batch, Malformed> {
        self.with_in((Vec::new(), Runs::default(), Runs::default()), values)
    }

    fn with_in(&self, room: (Vec<Timestamp>, Runs<Alarm>, Runs<u64>), values: Column) -> Result<Batch, Malformed> {
        let Columns { count, times, alarms, pulses, stamps, .. } = *self;
        let times = whole(times, |column| time::take_in(room.0, column, count))?;
        let alarms = whole(alarms, |column| plain::take_alarms_in(room.1, column, count))?;
        let pulses = whole(pulses, |column| take_pulses(room.2, column, count))?;
        let stamps = match stamps.is_empty() {
            true => Stamps::default(),
            false => whole(stamps, |column| stamp::take(column, &times))?,
        };
        let batch = Batch::from_columns(times, values, alarms, pulses).and_then(|batch| batch.with_stamps(stamps));
        batch.ok_or(Malformed("the columns differ in length"))
    }

    /// All rows, with one field of their structures as values, without decoding the other fields.
    pub(crate) fn field(&self, path: &str) -> Result<Found, Malformed> {
        let mut values = self.values;
        match structure::take_field(&mut values, self.count, path)? {
            structure::Field::Column(column) => self.with(column).map(Found::Field),
            structure::Field::Absent => Ok(Found::Absent),
            structure::Field::Whole => {
                let values = whole(self.values, |column| values::take(column, self.value_type, self.count))?;
                self.with(values).map(Found::Whole)
            }
        }
    }

    /// Its times, to be looked for.
    pub(crate) fn times(&self) -> Result<time::Lookup<'a>, Malformed> {
        time::Lookup::take(self.times, self.count)
    }

    /// The alarms of all rows.
    pub(crate) fn alarms(&self) -> Result<Runs<Alarm>, Malformed> {
        plain::take_alarms(&mut { self.alarms }, self.count)
    }

    /// What its sections amount to, if that stands in it.
    pub(crate) fn sections(&self) -> Result<Option<Vec<Section>>, Malformed> {
        let Columns { count, quarters, sections, .. } = *self;
        match (sections.is_empty(), quarters.is_empty()) {
            (false, _) => whole(sections, |column| sections::take(column, count)).map(Some),
            (true, false) => whole(quarters, |column| sections::take_quarters(column, count)).map(Some),
            (true, true) => Ok(None),
        }
    }

    /// Whether its sections, if it has any, are those of its samples.
    pub(crate) fn has_sections_of(&self, batch: &Batch) -> Result<bool, Malformed> {
        Ok(self.sections()?.is_none_or(|sections| sections::are_of(&sections, batch)))
    }

    /// Times and numbers of some rows, without their alarms and pulses.
    pub(crate) fn numbers(&self, rows: Range<usize>) -> Result<Numbers, Malformed> {
        if !self.value_type.is_numeric_scalar() || rows.end > self.count {
            return Err(Malformed("it has no such numbers"));
        }
        let times = time::take_rows(&mut { self.times }, self.count, rows.clone())?;
        let room = Column::new(self.value_type);
        let values = values::take_numbers(room, &mut { self.values }, self.value_type.element, self.count, rows)?;
        Ok(Numbers { times, values })
    }

    /// The columns of its times and of its values, encoded.
    pub(crate) fn encoded(&self) -> (Cursor<'a>, Cursor<'a>) {
        (self.times, self.values)
    }
}

/// Times, and a number of each.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) times: Vec<Timestamp>,
    pub(crate) values: Column,
}

/// Reads a column that must take all of its bytes.
fn whole<T>(mut column: Cursor, take: impl FnOnce(&mut Cursor) -> Result<T, Malformed>) -> Result<T, Malformed> {
    let taken = take(&mut column)?;
    if column.is_empty() { Ok(taken) } else { Err(Malformed("a column is longer than its content")) }
}

/// Pulses come in long runs of 0, or differ in each row.
const RUNS: u8 = 0;
const INTEGERS: u8 = 1;

fn put_pulses(out: &mut Vec<u8>, pulses: &Runs<u64>, effort: Effort) {
    if pulses.iter().count() * 4 <= pulses.len() {
        out.push(RUNS);
        plain::put_pulses(out, pulses);
    } else {
        out.push(INTEGERS);
        int::put(out, &pulses.rows().map(|pulse| *pulse as i64).collect::<Vec<i64>>(), effort);
    }
}

fn take_pulses(room: Runs<u64>, cursor: &mut Cursor, count: usize) -> Result<Runs<u64>, Malformed> {
    match cursor.u8()? {
        RUNS => plain::take_pulses_in(room, cursor, count),
        INTEGERS => {
            let mut pulses = Runs::default();
            int::take(cursor, count)?.into_iter().for_each(|pulse| pulses.push(&(pulse as u64), 1));
            Ok(pulses)
        }
        _ => Err(Malformed("no such codec of pulses")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::structure::{Layout, example};
    use sample::{Element, Quality, Sample, Severity, Stamp, Timestamp, Value};

    fn batch(values: impl Iterator<Item = Value>) -> Batch {
        let mut batch: Option<Batch> = None;
        for (index, value) in values.enumerate() {
            let severity = Severity::from_number(index as i64 / 100 % 5);
            let alarm = Alarm { severity, status: 3, message: index.is_multiple_of(7).then(|| "why".into()) };
            let time = Timestamp::from_nanos(index as i64 * 1_000 + (index as i64 * 37) % 100);
            let stamp =
                (index % 100 == 7).then(|| Stamp { quality: Quality::Backward, other: Timestamp::from_nanos(5) });
            let sample = Sample { time, value, alarm, pulse: index as u64 / 3, stamp };
            let fits = batch.get_or_insert_with(|| Batch::new(sample.value.value_type())).push(&sample);
            assert!(fits);
        }
        batch.expect("no case is empty")
    }

    #[test]
    fn a_block_of_every_type_comes_back_and_any_flipped_bit_is_noticed() {
        for element in Element::ALL {
            for array in [false, true] {
                let scalar = |i: usize| match element {
                    Element::Bool => Value::Bool(i.is_multiple_of(3)),
                    Element::I8 => Value::I8(i as i8),
                    Element::U8 => Value::U8(i as u8),
                    Element::I16 => Value::I16(i as i16 - 100),
                    Element::U16 => Value::U16(i as u16),
                    Element::I32 => Value::I32(-(i as i32)),
                    Element::U32 => Value::U32(u32::MAX - i as u32),
                    Element::I64 => Value::I64(i64::MIN + i as i64),
                    Element::U64 => Value::U64(u64::MAX - i as u64),
                    Element::F32 => Value::F32(i as f32 / 3.0),
                    Element::F64 => Value::F64(i as f64 / 3.0),
                    Element::Enum => Value::Enum(i as i32 % 2),
                    Element::String => Value::String(format!("s{i}").into()),
                    Element::Structure => Value::Structure(vec![i as u8; i % 5].into()),
                };
                let value = |i: usize| {
                    if !array {
                        return scalar(i);
                    }
                    let mut column = Column::new(ValueType::scalar(element));
                    (0..i % 4).for_each(|j| assert!(column.push(&scalar(i + j))));
                    Value::Array(column)
                };
                for count in [1, 50, 700] {
                    let batch = batch((0..count).map(value));
                    let mut bytes = Vec::new();
                    put(&mut bytes, PvId(9), &batch, Effort::Flush);
                    let (pv, back) = take(&bytes).expect("it was written just now");
                    assert_eq!(pv, PvId(9));
                    assert!(back.values().identical(batch.values()), "{}", batch.value_type());
                    assert_eq!((back.times(), back.alarms()), (batch.times(), batch.alarms()));
                    assert_eq!((back.pulses(), back.stamps()), (batch.pulses(), batch.stamps()));
                    for place in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
                        let mut flipped = bytes.clone();
                        *flipped.get_mut(place).expect("the place lies within") ^= 0x10;
                        assert!(take(&flipped).is_err(), "{} at {place}", batch.value_type());
                    }
                }
            }
        }
    }

    #[test]
    fn sections_of_other_samples_are_told_from_those_of_the_block() {
        let of = |odd: usize| batch((0..5000).map(|i| Value::F64(if i == odd { 0.5 } else { i as f64 })));
        let mut bytes = Vec::new();
        put(&mut bytes, PvId(9), &of(4000), Effort::Merge);
        let columns = Columns::of(&bytes).expect("it was written just now");
        assert_eq!(columns.has_sections_of(&of(4000)), Ok(true));
        assert_eq!(columns.has_sections_of(&of(4001)), Ok(false));
        assert_eq!(columns.has_sections_of(&batch((0..700).map(Value::I32))), Ok(false), "it has none");
    }

    #[test]
    fn one_field_is_read_although_the_columns_of_others_are_no_columns() {
        let whole = batch((0..700).map(|i| Value::Structure(example(i).into())));
        let mut bytes = Vec::new();
        put(&mut bytes, PvId(9), &whole, Effort::Flush);
        let layout = Layout::read(&example(0)).expect("it is a structure");
        let leaf = layout.leaf("alarm.severity").expect("it has this field");
        let mut before = Columns::of(&bytes).expect("it was written just now").values;
        before.u8().and_then(|_| before.blob()).expect("a tag and a description come first");
        let mut broken = bytes.clone();
        for other in 0..layout.leaves.len() {
            let column = before.blob().expect("there is a column for each leaf");
            if other != leaf {
                let place = column.as_ptr() as usize - bytes.as_ptr() as usize;
                broken.get_mut(place..place + column.len()).expect("it lies within").fill(0xff);
            }
        }
        seal(&mut broken);
        assert!(take(&broken).is_err(), "the other columns are broken");
        let columns = Columns::of(&broken).expect("the checksum is right");
        let field = columns.field("alarm.severity").expect("its own column is whole");
        let Found::Field(field) = field else { panic!("there is such a field: {field:?}") };
        let expected = layout.project(leaf, (0..700).map(example).collect::<Vec<_>>().iter().map(Vec::as_slice));
        assert!(field.values().identical(&expected.expect("all are of one type")));
        assert_eq!((field.times(), field.alarms(), field.pulses()), (whole.times(), whole.alarms(), whole.pulses()));
        assert!(matches!(columns.field("alarm"), Ok(Found::Absent)), "nothing of it is read");
    }
}

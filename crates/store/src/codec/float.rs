//! Floats of 64 and 32 bits, to the last bit.
//!
//! ```text
//!   0 constant    bits
//!   1 plain       bits[count]
//!   2 pco         len:varint pco of f64[count] or f32[count]
//!   3 scaled      digits:u8 integers              value = integer / 10^digits: what devices send in decimal
//!   4 dictionary  distinct:varint bits[distinct] integers (indices)                             read, no longer written
//!   5 grid        least:f64 step:f64 m:varint integers[m] (corrections) integers (codes)        m codes, or 0
//!                                                        value = the float of least + code * step, moved by its correction
//!   6 ordered     integers                               value = the float that has this place among all floats
//!   7 sorted dictionary  distinct:varint integers[distinct] (places, ascending) integers (indices)
//! ```
//! `bits` are the 8 or 4 bytes of a float, `integers` is a column of `int.rs`. The *place* of a float among all floats is its
//! bits as a signed number, with all but the sign inverted if they are negative: so -0 has place -1 and 0 has place 0.
//!
//! Which of them is written: decimals and grids if the values are such, because what remains of them are small integers; then
//! the smallest, but pco only where it saves a quarter of a byte (see `int.rs`). Noise in every bit goes to pco.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

mod rule;

use std::ops::Range;

use pco::data_types::Number;

use super::{Best, Effort, PCO_SAVES_MIN, grid, int, room::Room};
use crate::bytes::{Cursor, Malformed, put_blob, put_varint};

pub(crate) use self::rule::Rule;

pub(crate) const CONSTANT: u8 = 0;
const PLAIN: u8 = 1;
const PCO: u8 = 2;
const SCALED: u8 = 3;
const DICTIONARY: u8 = 4;
const GRID: u8 = 5;
const ORDERED: u8 = 6;
const SORTED: u8 = 7;

/// More distinct values than this are no dictionary.
const DISTINCT_MAX: usize = 256;
/// No grid has more codes that are corrected.
const CODES_MAX: usize = 1 << 24;
/// A flush does not look for a dictionary or a grid of fewer values: they save little, and a merge comes soon.
const FLUSHED_ROWS_MIN: usize = 32;
/// Below this the first that is found serves, in a merge too.
const SEARCHED_ROWS_MIN: usize = 2048;
/// Decimals beyond these digits are not what a device sends.
const DIGITS_MAX: u8 = 6;
/// Integers beyond this are not exact in a float.
const SCALED_MAX: u64 = 1 << 52;

/// A float that this file can write and read.
pub(crate) trait Bits: Copy + Default + Number {
    const BYTES: usize;
    fn to_bits64(self) -> u64;
    fn from_bits64(bits: u64) -> Self;
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
}

/// The place of a float among all floats: greater floats have greater places.
#[inline(always)]
pub(crate) fn ordered<F: Bits>(value: F) -> i64 {
    let bits = if F::BYTES == 8 { value.to_bits64() as i64 } else { i64::from(value.to_bits64() as u32 as i32) };
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The float at a place.
#[inline(always)]
fn at_place<F: Bits>(place: i64) -> F {
    F::from_bits64((place ^ ((place >> 63) as u64 >> 1) as i64) as u64)
}

impl Bits for f64 {
    const BYTES: usize = 8;
    fn to_bits64(self) -> u64 {
        self.to_bits()
    }
    fn from_bits64(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn wide(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

impl Bits for f32 {
    const BYTES: usize = 4;
    fn to_bits64(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn from_bits64(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

pub(crate) fn put<F: Bits>(out: &mut Vec<u8>, values: &[F], effort: Effort) {
    let Some(first) = values.first().map(|value| value.to_bits64()) else { return };
    if values.iter().all(|value| value.to_bits64() == first) {
        if values.len() == 1 && put_whole(out, F::from_bits64(first)) {
            return;
        }
        out.push(CONSTANT);
        put_bits::<F>(out, first);
        return;
    }
    let plain = 1 + values.len() * F::BYTES;
    let mut best = Best { start: out.len(), len: plain };
    if best.replace_if(out, 0, |out| put_scaled(out, values, effort)) {
        return;
    }
    if effort == Effort::Merge && values.len() >= SEARCHED_ROWS_MIN {
        best.replace_if(out, 0, |out| put_dictionary(out, values, effort));
        best.replace_if(out, 0, |out| put_grid(out, values, effort));
    } else if values.len() >= FLUSHED_ROWS_MIN {
        // A grid takes what a dictionary does, or a little more, for half the time.
        let _found = best.replace_if(out, 0, |out| put_grid(out, values, effort))
            || best.replace_if(out, 0, |out| put_dictionary(out, values, effort));
    }
    if best.len == plain {
        let mut room = Room::default();
        let places = room.fill(values.iter().map(|value| ordered(*value)));
        best.replace_if(out, 0, |out| put_places(out, places));
        if int::pco_promises_for(places, best.len, effort) {
            best.replace_if(out, (values.len() as f64 * PCO_SAVES_MIN) as usize, |out| put_pco(out, values, effort));
        }
    }
    if best.len == plain {
        out.push(PLAIN);
        values.iter().for_each(|value| put_bits::<F>(out, value.to_bits64()));
    }
}

/// Writes one small whole number as such: tables have many. A column of more would take longer to read.
fn put_whole<F: Bits>(out: &mut Vec<u8>, value: F) -> bool {
    let whole = value.wide() as i32;
    let is_whole = F::BYTES == 8 && value.to_bits64() == f64::from(whole).to_bits();
    if is_whole {
        out.extend_from_slice(&[SCALED, 0]);
        int::put(out, &[i64::from(whole)], Effort::Flush);
    }
    is_whole
}

fn put_grid<F: Bits>(out: &mut Vec<u8>, values: &[F], effort: Effort) -> bool {
    let Some(grid) = grid::find(values) else { return false };
    out.push(GRID);
    out.extend_from_slice(&grid.least.to_le_bytes());
    out.extend_from_slice(&grid.step.to_le_bytes());
    put_varint(out, grid.corrections.len() as u64);
    int::put(out, &grid.corrections, effort);
    int::put(out, &grid.codes, effort);
    true
}

fn put_places(out: &mut Vec<u8>, places: &[i64]) -> bool {
    out.push(ORDERED);
    int::put_packed(out, places);
    true
}

fn put_pco<F: Bits>(out: &mut Vec<u8>, values: &[F], effort: Effort) -> bool {
    let Ok(pco) = pco::standalone::simple_compress(values, &effort.pco()) else { return false };
    out.push(PCO);
    put_blob(out, &pco);
    true
}

fn put_scaled<F: Bits>(out: &mut Vec<u8>, values: &[F], effort: Effort) -> bool {
    // Most values that are no decimals are known by the first.
    let integer = |value: &F, scale: f64| {
        // Through the integer, so that NaN and -0, which it cannot hold, are noticed.
        let integer = (value.wide() * scale + 0.5f64.copysign(value.wide())) as i64;
        let back = F::narrow(integer as f64 / scale);
        (integer.unsigned_abs() <= SCALED_MAX && back.to_bits64() == value.to_bits64()).then_some(integer)
    };
    let scale_of = |digits: u8| 10f64.powi(i32::from(digits));
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return false };
    for digits in 0..=DIGITS_MAX {
        let scale = scale_of(digits);
        if integer(first, scale).is_none() || integer(last, scale).is_none() {
            continue;
        }
        let (mut all, mut room) = (true, Room::default());
        let integers = room.fill(values.iter().map(|value| {
            let integer = integer(value, scale);
            all &= integer.is_some();
            integer.unwrap_or(0)
        }));
        if all {
            out.extend_from_slice(&[SCALED, digits]);
            int::put(out, integers, effort);
            return true;
        }
    }
    false
}

fn put_dictionary<F: Bits>(out: &mut Vec<u8>, values: &[F], effort: Effort) -> bool {
    let most = DISTINCT_MAX.min(values.len() / 4);
    if are_many(values, most) {
        return false;
    }
    let mut distinct: Vec<i64> = Vec::new();
    let mut last = None;
    for value in values {
        let place = ordered(*value);
        if last != Some(place)
            && let Err(index) = distinct.binary_search(&place)
        {
            if distinct.len() == most {
                return false;
            }
            distinct.insert(index, place);
        }
        last = Some(place);
    }
    let (mut last, mut index) = (None, 0);
    let indices = values.iter().map(|value| {
        let place = ordered(*value);
        if last != Some(place) {
            index = distinct.partition_point(|other| *other < place) as i64;
            last = Some(place);
        }
        index
    });
    let mut room = Room::default();
    let indices = room.fill(indices);
    out.push(SORTED);
    put_varint(out, distinct.len() as u64);
    int::put_flat(out, &distinct, effort);
    int::put_flat(out, indices, effort);
    true
}

/// Whether the values are surely more than so many different ones. One bit for each of 512 hashes tells that in most cases.
fn are_many<F: Bits>(values: &[F], most: usize) -> bool {
    let mut seen = [0u64; 8];
    for values in values.chunks(64) {
        for value in values {
            let hash = value.to_bits64().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
            seen.iter_mut().skip(hash as usize / 64).take(1).for_each(|bits| *bits |= 1 << (hash % 64));
        }
        if seen.iter().map(|bits| bits.count_ones()).sum::<u32>() as usize > most {
            return true;
        }
    }
    false
}

fn put_bits<F: Bits>(out: &mut Vec<u8>, bits: u64) {
    out.extend_from_slice(bits.to_le_bytes().get(..F::BYTES).unwrap_or_default());
}

fn take_bits<F: Bits>(cursor: &mut Cursor) -> Result<F, Malformed> {
    let bits = if F::BYTES == 8 { cursor.u64()? } else { u64::from(cursor.u32()?) };
    Ok(F::from_bits64(bits))
}

/// The caller vouches for `count`: the memory for so many numbers is taken, whatever the bytes are.
pub(crate) fn take<F: Bits>(cursor: &mut Cursor, count: usize) -> Result<Vec<F>, Malformed> {
    take_rows(cursor, count, 0..count)
}

/// The same for some of the rows, all below `count`. The others are decoded only where there is no other way.
pub(crate) fn take_rows<F: Bits>(cursor: &mut Cursor, count: usize, rows: Range<usize>) -> Result<Vec<F>, Malformed> {
    take_rows_in(Vec::new(), cursor, count, rows)
}

/// The same in the memory of a list whose content nobody needs.
pub(crate) fn take_rows_in<F: Bits>(
    mut room: Vec<F>,
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
) -> Result<Vec<F>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    match cursor.u8()? {
        CONSTANT => {
            let value = take_bits(cursor)?;
            room.clear();
            room.resize(rows.len(), value);
            Ok(room)
        }
        PLAIN => {
            cursor.take(rows.start * F::BYTES)?;
            let mut values = Cursor::new(cursor.take(rows.len() * F::BYTES)?);
            room.clear();
            room.extend(rows.map_while(|_| take_bits::<F>(&mut values).ok()));
            Ok(room)
        }
        PCO => {
            let mut values = take_pco(cursor, count)?;
            values.truncate(rows.end);
            values.drain(..rows.start.min(values.len()));
            Ok(values)
        }
        SCALED => {
            let digits = cursor.u8()?;
            if digits > DIGITS_MAX {
                return Err(Malformed("a scale has too many digits"));
            }
            let scale = 10f64.powi(i32::from(digits));
            int::take_rows_in(room, cursor, count, rows, move |_, integer| F::narrow(integer as f64 / scale), |_| true)
        }
        DICTIONARY => {
            let len = cursor.count(DISTINCT_MAX)?;
            let distinct: Vec<F> = (0..len).map(|_| take_bits(cursor)).collect::<Result<_, _>>()?;
            gather(cursor, count, rows, &distinct)
        }
        GRID => take_grid(cursor, count, rows),
        ORDERED => int::take_rows_in(room, cursor, count, rows, |_, place| at_place(place), |_| true),
        SORTED => {
            let len = cursor.count(DISTINCT_MAX)?;
            let distinct = int::take_as(cursor, len, |_, place| at_place(place), |_| true)?;
            gather(cursor, count, rows, &distinct)
        }
        _ => Err(Malformed("no such codec of floats")),
    }
}

/// The float of each code of a grid.
fn take_codes<F: Bits>(cursor: &mut Cursor, least: f64, step: f64, len: usize) -> Result<Vec<F>, Malformed> {
    int::take_as(cursor, len, move |code, correction| corrected(least, step, code as i64, correction), |_| true)
}

fn take_grid<F: Bits>(cursor: &mut Cursor, count: usize, rows: Range<usize>) -> Result<Vec<F>, Malformed> {
    let (least, step) = (f64::from_bits(cursor.u64()?), f64::from_bits(cursor.u64()?));
    // There are no more codes than values.
    let len = cursor.count(CODES_MAX.min(count))?;
    if len == 0 {
        return int::take_rows_as(cursor, count, rows, move |_, code| grid::value(least, step, code), |_| true);
    }
    if rows.len() < len {
        // Few rows are corrected one by one in less time than all codes.
        let corrections = int::take(cursor, len)?;
        let last = len - 1;
        let value = move |corrections: &[i64], code: i64| {
            let correction = corrections.get((code as usize).min(last)).copied().unwrap_or_default();
            corrected(least, step, code, correction)
        };
        let corrections = corrections.as_slice();
        let fits = move |code: i64| code as u64 <= last as u64;
        return int::take_rows_as(cursor, count, rows, move |_, code| value(corrections, code), fits);
    }
    let table: Vec<F> = take_codes(cursor, least, step, len)?;
    gather(cursor, count, rows, &table)
}

/// The float of a code of a grid, moved by so many places.
#[inline(always)]
fn corrected<F: Bits>(least: f64, step: f64, code: i64, correction: i64) -> F {
    at_place(ordered(grid::value::<F>(least, step, code)).wrapping_add(correction))
}

/// Takes indices as what they point to.
fn gather<F: Bits>(cursor: &mut Cursor, count: usize, rows: Range<usize>, table: &[F]) -> Result<Vec<F>, Malformed> {
    let last = table.len().checked_sub(1).ok_or(Malformed("a dictionary is empty"))?;
    let value = move |index: i64| table.get((index as usize).min(last)).copied().unwrap_or_default();
    int::take_rows_as(cursor, count, rows, move |_, index| value(index), move |index| index as u64 <= last as u64)
}

pub(super) fn take_pco<T: Number + Default>(cursor: &mut Cursor, count: usize) -> Result<Vec<T>, Malformed> {
    let bytes = cursor.blob()?;
    let mut values = vec![T::default(); count];
    let progress = pco::standalone::simple_decompress_into(bytes, &mut values)
        .map_err(|_| Malformed("a column of pco cannot be decoded"))?;
    if progress.n_processed != count || !progress.finished {
        return Err(Malformed("a column of pco has another length"));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(count: i64) -> Vec<(&'static str, Vec<f64>)> {
        let noise = |i: i64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 50) as f64;
        vec![
            ("constant", vec![-0.0; count as usize]),
            ("decimal", (0..count).map(|i| (23_000.0 + noise(i)).round() / 1000.0).collect()),
            ("adc", (0..count).map(|i| noise(i) * 20.0 / 65535.0).collect()),
            ("setpoint", (0..count).map(|i| (i / 700) as f64 * 1.7).collect()),
            ("sine", (0..count).map(|i| (i as f64 / 50.0).sin()).collect()),
            ("not finite", [f64::NAN, f64::INFINITY, 0.0, -0.0].into_iter().cycle().take(count as usize).collect()),
            ("adc with offset", (0..count).map(|i| noise(i) * 20.0 / 65535.0 - 10.0).collect()),
            ("denormal", (0..count).map(|i| f64::from_bits(noise(i) as i64 as u64 & 0xffff)).collect()),
            (
                "both zeros on a grid",
                (0..count).map(|i| if i % 5 == 0 { -0.0 } else { noise(i).abs() % 4.0 }).collect(),
            ),
            (
                "extremes",
                [f64::MAX, f64::MIN, 0.0, f64::MIN_POSITIVE].into_iter().cycle().take(count as usize).collect(),
            ),
            ("few steps of a converter", (0..count).map(|i| noise(i) % 50.0 * 20.0 / 65535.0 - 10.0).collect()),
            ("nan among a grid", (0..count).map(|i| if i == 99 { f64::NAN } else { noise(i) / 3.0 }).collect()),
            ("vacuum", (0..count).map(|i| 1e-9 * (1.0 + noise(i) * 1e-4)).collect()),
            ("nan with a payload", (0..count).map(|i| f64::from_bits(0x7ff8_0000_0000_0000 | i as u64)).collect()),
        ]
    }

    #[test]
    fn floats_of_every_habit_come_back_to_the_last_bit() {
        for count in [1, 3, 100, 511, 512, 5000] {
            for (name, values) in cases(count) {
                let mut bytes = Vec::new();
                put(&mut bytes, &values, Effort::Flush);
                let back: Vec<f64> = take(&mut Cursor::new(&bytes), values.len()).expect("it was written just now");
                assert!(values.iter().map(|v| v.to_bits()).eq(back.iter().map(|v| v.to_bits())), "{name} of {count}");
                for rows in [0..0, 0..1, 0..back.len() / 3, back.len() / 3..back.len(), back.len() - 1..back.len()] {
                    let taken: Vec<f64> = take_rows(&mut Cursor::new(&bytes), back.len(), rows.clone()).expect(name);
                    let wanted = back.get(rows.clone()).expect("they lie within").iter().map(|v| v.to_bits());
                    assert!(taken.iter().map(|v| v.to_bits()).eq(wanted), "{name}: {rows:?} of {count}");
                }

                let narrow: Vec<f32> = values.iter().map(|value| *value as f32).collect();
                let mut bytes = Vec::new();
                put(&mut bytes, &narrow, Effort::Merge);
                let back: Vec<f32> = take(&mut Cursor::new(&bytes), values.len()).expect("it was written just now");
                assert!(narrow.iter().map(|v| v.to_bits()).eq(back.iter().map(|v| v.to_bits())), "{name} of {count}");
            }
        }
    }
}

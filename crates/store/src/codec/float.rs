//! Floats of 64 and 32 bits, to the last bit.
//!
//! ```text
//!   0 constant    bits
//!   1 plain       bits[count]
//!   2 pco         len:varint pco of f64[count] or f32[count]
//!   3 scaled      digits:u8 integers              value = integer / 10^digits: what devices send in decimal
//!   4 dictionary  distinct:varint bits[distinct] integers (indices)
//! ```
//! `bits` are the 8 or 4 bytes of a float, `integers` is a column of `int.rs`.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;

use pco::data_types::Number;

use super::{Effort, PCO_ROWS_MIN, int};
use crate::bytes::{Cursor, Malformed, put_blob, put_varint};

const CONSTANT: u8 = 0;
const PLAIN: u8 = 1;
const PCO: u8 = 2;
const SCALED: u8 = 3;
const DICTIONARY: u8 = 4;

/// More distinct values than this are no dictionary.
const DISTINCT_MAX: usize = 256;
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
        out.push(CONSTANT);
        put_bits::<F>(out, first);
        return;
    }
    let mut best = dictionary(values, effort);
    if values.len() >= PCO_ROWS_MIN {
        // Below a bit a value there is nothing left to win.
        if best.as_ref().is_none_or(|best| best.len() > values.len() / 8) {
            best = smaller(best, pco(values, effort));
        }
    } else {
        best = smaller(best, scaled(values, effort));
    }
    match best {
        Some(best) if best.len() < values.len() * F::BYTES => out.extend_from_slice(&best),
        _ => {
            out.push(PLAIN);
            values.iter().for_each(|value| put_bits::<F>(out, value.to_bits64()));
        }
    }
}

fn smaller(a: Option<Vec<u8>>, b: Option<Vec<u8>>) -> Option<Vec<u8>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.len() < a.len() { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn pco<F: Bits>(values: &[F], effort: Effort) -> Option<Vec<u8>> {
    let pco = pco::standalone::simple_compress(values, &effort.pco()).ok()?;
    let mut out = vec![PCO];
    put_blob(&mut out, &pco);
    Some(out)
}

fn scaled<F: Bits>(values: &[F], effort: Effort) -> Option<Vec<u8>> {
    'digits: for digits in 0..=DIGITS_MAX {
        let scale = 10f64.powi(i32::from(digits));
        let mut integers = Vec::with_capacity(values.len());
        for value in values {
            // Through the integer, so that NaN and -0, which it cannot hold, are noticed.
            let integer = (value.wide() * scale).round() as i64;
            let back = F::narrow(integer as f64 / scale);
            if integer.unsigned_abs() > SCALED_MAX || back.to_bits64() != value.to_bits64() {
                continue 'digits;
            }
            integers.push(integer);
        }
        let mut out = vec![SCALED, digits];
        int::put(&mut out, &integers, effort);
        return Some(out);
    }
    None
}

fn dictionary<F: Bits>(values: &[F], effort: Effort) -> Option<Vec<u8>> {
    let mut places: HashMap<u64, i64> = HashMap::new();
    let mut distinct = Vec::new();
    let mut indices = Vec::with_capacity(values.len());
    let most = DISTINCT_MAX.min(values.len() / 4);
    let mut last = None;
    for value in values {
        let bits = value.to_bits64();
        if let Some((last, index)) = last
            && last == bits
        {
            indices.push(index);
            continue;
        }
        let index = *places.entry(bits).or_insert_with(|| {
            distinct.push(bits);
            distinct.len() as i64 - 1
        });
        if distinct.len() > most {
            return None;
        }
        last = Some((bits, index));
        indices.push(index);
    }
    let mut out = vec![DICTIONARY];
    put_varint(&mut out, distinct.len() as u64);
    distinct.iter().for_each(|bits| put_bits::<F>(&mut out, *bits));
    int::put(&mut out, &indices, effort);
    Some(out)
}

fn put_bits<F: Bits>(out: &mut Vec<u8>, bits: u64) {
    out.extend(bits.to_le_bytes().into_iter().take(F::BYTES));
}

fn take_bits<F: Bits>(cursor: &mut Cursor) -> Result<F, Malformed> {
    let bits = if F::BYTES == 8 { cursor.u64()? } else { u64::from(cursor.u32()?) };
    Ok(F::from_bits64(bits))
}

/// The caller vouches for `count`: the memory for so many numbers is taken, whatever the bytes are.
pub(crate) fn take<F: Bits>(cursor: &mut Cursor, count: usize) -> Result<Vec<F>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    match cursor.u8()? {
        CONSTANT => Ok(vec![take_bits(cursor)?; count]),
        PLAIN => (0..count).map(|_| take_bits(cursor)).collect(),
        PCO => take_pco(cursor, count),
        SCALED => {
            let digits = cursor.u8()?;
            if digits > DIGITS_MAX {
                return Err(Malformed("a scale has too many digits"));
            }
            let scale = 10f64.powi(i32::from(digits));
            int::take_as(cursor, count, |_, integer| F::narrow(integer as f64 / scale), |_| true)
        }
        DICTIONARY => {
            let len = cursor.count(DISTINCT_MAX)?;
            let distinct: Vec<F> = (0..len).map(|_| take_bits(cursor)).collect::<Result<_, _>>()?;
            gather(cursor, count, &distinct)
        }
        _ => Err(Malformed("no such codec of floats")),
    }
}

/// Takes indices as what they point to.
fn gather<F: Bits>(cursor: &mut Cursor, count: usize, table: &[F]) -> Result<Vec<F>, Malformed> {
    let last = table.len().checked_sub(1).ok_or(Malformed("a dictionary is empty"))?;
    let value = |index: i64| table.get((index as usize).min(last)).copied().unwrap_or_default();
    int::take_as(cursor, count, |_, index| value(index), |index| index as u64 <= last as u64)
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

                let narrow: Vec<f32> = values.iter().map(|value| *value as f32).collect();
                let mut bytes = Vec::new();
                put(&mut bytes, &narrow, Effort::Merge);
                let back: Vec<f32> = take(&mut Cursor::new(&bytes), values.len()).expect("it was written just now");
                assert!(narrow.iter().map(|v| v.to_bits()).eq(back.iter().map(|v| v.to_bits())), "{name} of {count}");
            }
        }
    }
}

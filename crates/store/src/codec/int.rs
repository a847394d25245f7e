//! Integers of every width, as signed 64-bit numbers (unsigned ones of 64 bits keep their bits).
//!
//! ```text
//!   0 constant  value:zigzag
//!   1 packed    least:zigzag width:u8 (value - least):bits[count]
//!   2 delta     first:zigzag least:zigzag width:u8 (step - least):bits[count-1]
//!   3 runs      (rows:varint value:zigzag)*
//!   4 pco       len:varint pco of i64[count]
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{Effort, PCO_ROWS_MIN, bits};
use crate::bytes::{Cursor, Malformed, put_blob, put_varint, put_zigzag};

const CONSTANT: u8 = 0;
const PACKED: u8 = 1;
const DELTA: u8 = 2;
const RUNS: u8 = 3;
const PCO: u8 = 4;

pub(crate) fn put(out: &mut Vec<u8>, values: &[i64], effort: Effort) {
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return };
    let runs = 1 + values.windows(2).filter(|pair| pair.first() != pair.last()).count();
    if runs == 1 {
        out.push(CONSTANT);
        put_zigzag(out, *first);
        return;
    }
    let (mut least, mut greatest) = (*last, *last);
    let (mut step_least, mut step_greatest) = (i64::MAX, i64::MIN);
    for (value, next) in values.iter().zip(values.iter().skip(1)) {
        least = least.min(*value);
        greatest = greatest.max(*value);
        let step = next.wrapping_sub(*value);
        step_least = step_least.min(step);
        step_greatest = step_greatest.max(step);
    }
    let width = bits::width(greatest.wrapping_sub(least) as u64);
    let step_width = bits::width(step_greatest.wrapping_sub(step_least) as u64);
    let packed = bits::packed_len(values.len(), width);
    let stepped = bits::packed_len(values.len() - 1, step_width) + 3;
    let run_bytes = runs * (2 + width.div_ceil(7) as usize);
    let smallest = packed.min(stepped).min(run_bytes);

    // Few runs beat everything; a packed column below two bits a value is not worth the time of pco either.
    if values.len() >= PCO_ROWS_MIN
        && run_bytes > values.len() / 16
        && smallest > values.len() / 8
        && let Ok(pco) = pco::standalone::simple_compress(values, &effort.pco())
        && pco.len() < smallest
    {
        out.push(PCO);
        put_blob(out, &pco);
        return;
    }
    if run_bytes == smallest {
        put_runs(out, values);
    } else if packed == smallest {
        out.push(PACKED);
        put_zigzag(out, least);
        out.push(width as u8);
        bits::pack(out, values.iter().map(|value| value.wrapping_sub(least) as u64), width);
    } else {
        out.push(DELTA);
        put_zigzag(out, *first);
        put_zigzag(out, step_least);
        out.push(step_width as u8);
        let steps = values.iter().zip(values.iter().skip(1)).map(|(value, next)| next.wrapping_sub(*value));
        bits::pack(out, steps.map(|step| step.wrapping_sub(step_least) as u64), step_width);
    }
}

fn put_runs(out: &mut Vec<u8>, values: &[i64]) {
    out.push(RUNS);
    for run in values.chunk_by(|a, b| a == b) {
        put_varint(out, run.len() as u64);
        put_zigzag(out, run.first().copied().unwrap_or(0));
    }
}

/// The caller vouches for `count`: the memory for so many numbers is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Vec<i64>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    match cursor.u8()? {
        CONSTANT => Ok(vec![cursor.zigzag()?; count]),
        PACKED => {
            let least = cursor.zigzag()?;
            let width = u32::from(cursor.u8()?);
            let numbers = bits::unpack(cursor, count, width)?;
            Ok(numbers.into_iter().map(|number| least.wrapping_add(number as i64)).collect())
        }
        DELTA => {
            let mut value = cursor.zigzag()?;
            let least = cursor.zigzag()?;
            let width = u32::from(cursor.u8()?);
            let mut values = Vec::with_capacity(count);
            values.push(value);
            for step in bits::unpack(cursor, count - 1, width)? {
                value = value.wrapping_add(least.wrapping_add(step as i64));
                values.push(value);
            }
            Ok(values)
        }
        RUNS => {
            let mut values = Vec::with_capacity(count);
            while values.len() < count {
                let rows = cursor.count(count - values.len())?.max(1);
                let value = cursor.zigzag()?;
                values.resize(values.len() + rows, value);
            }
            Ok(values)
        }
        PCO => super::float::take_pco(cursor, count),
        _ => Err(Malformed("no such codec of integers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_habit_come_back() {
        let noise = |i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40;
        for count in [1i64, 2, 100, 511, 512, 3000] {
            let cases: [(&str, Vec<i64>); 6] = [
                ("constant", vec![i64::MIN; count as usize]),
                ("counter", (0..count).map(|i| 1_000_000 + 7 * i).collect()),
                ("noise", (0..count).map(noise).collect()),
                ("states", (0..count).map(|i| i / 300).collect()),
                ("extremes", (0..count).map(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }).collect()),
                (
                    "walk",
                    (0..count)
                        .scan(0, |sum, i| {
                            *sum += noise(i) % 8;
                            Some(*sum)
                        })
                        .collect(),
                ),
            ];
            for (name, values) in cases {
                let mut bytes = Vec::new();
                put(&mut bytes, &values, Effort::Flush);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(take(&mut cursor, values.len()), Ok(values), "{name} of {count}");
                assert!(cursor.is_empty(), "{name} of {count}");
            }
        }
    }
}

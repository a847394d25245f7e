//! The grid: values of a converter lie at equal distances, `least + code * step`, but for the rounding of the last bit.
//!
//! A 16-bit converter behind a slope and an offset gives floats whose 52 bits look like noise to every other codec. On the grid
//! each is a small integer, and what the rounding did to each code is kept once a code, not once a sample.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::float::{Bits, ordered};

/// Values looked at to find the step.
const LOOKED_AT: usize = 64;
/// More codes than this are noise, not a converter.
const CODES_MAX: f64 = (1u64 << 24) as f64;
/// What rounding may do to a distance, as a share of the largest value.
const ROUNDING: f64 = 1.0 / (1u64 << 48) as f64;
const ROUNDING_F32: f64 = 1.0 / (1u64 << 21) as f64;

/// Values as codes. The float of code `c` is that of `least + c * step`, moved by `corrections[c]` places among all floats; none
/// is moved if there are no corrections.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) least: f64,
    pub(crate) step: f64,
    pub(crate) corrections: Vec<i64>,
    pub(crate) codes: Vec<i64>,
}

/// The float of a code before it is corrected.
#[inline(always)]
pub(crate) fn value<F: Bits>(least: f64, step: f64, code: i64) -> F {
    F::narrow(least + code as f64 * step)
}

/// The grid on which all values lie; none if there is none.
pub(crate) fn find<F: Bits>(values: &[F]) -> Option<Grid> {
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        let value = value.wide();
        // A NaN makes the comparison false, and the range not finite or the codes wrong, which is noticed below.
        min = if value < min { value } else { min };
        max = if value > max { value } else { max };
    }
    let span = max - min;
    if !span.is_finite() || span <= 0.0 || values.iter().any(|value| value.wide().is_nan()) {
        return None;
    }
    let rounding = if F::BYTES == 8 { ROUNDING } else { ROUNDING_F32 } * min.abs().max(max.abs());
    let step = common_step(values, rounding)?;
    let count = (span / step).round();
    if !(1.0..=CODES_MAX).contains(&count) {
        return None;
    }
    let step = span / count;
    let per_step = 1.0 / step;
    let codes: Vec<i64> = values.iter().map(|value| ((value.wide() - min) * per_step + 0.5) as i64).collect();
    let corrections = corrections(values, &codes, min, step, count as usize + 1)?;
    Some(Grid { least: min, step, corrections, codes })
}

/// The distance of which all distances between some of the values are multiples, but for rounding.
fn common_step<F: Bits>(values: &[F], rounding: f64) -> Option<f64> {
    let stride = values.len().div_ceil(LOOKED_AT) | 1; // odd, so that it does not go along with what repeats itself
    let mut some: Vec<f64> = values.iter().step_by(stride).map(|value| value.wide()).collect();
    some.sort_unstable_by(f64::total_cmp);
    some.dedup();
    let gaps = || some.iter().zip(some.iter().skip(1)).map(|(low, high)| high - low);
    let mut step = gaps().fold(f64::INFINITY, f64::min);
    let least = some.first().copied().unwrap_or(0.0);
    // Multiples that are near make the step exact enough for those that are far.
    for gap in gaps() {
        let mut rest = gap;
        while rest > step * 0.125 {
            rest = (rest - nearest(rest / step) * step).abs();
            if rest <= rounding * 4.0 || rest <= step * 0.125 {
                break;
            }
            (step, rest) = (rest, step); // not a multiple: Euclid goes on with what is left
        }
        if step <= rounding * 4.0 {
            return None;
        }
    }
    for value in &some {
        let multiples = nearest((value - least) / step);
        if multiples > 0.0 {
            step = (value - least) / multiples;
        }
    }
    step.is_finite().then_some(step)
}

/// The nearest whole number to one that is not negative. Processors of any age do this without a call.
fn nearest(number: f64) -> f64 {
    (number + 0.5) as i64 as f64
}

/// How far each code's float lies from where the grid has it; none if a code has two floats. If all lie where they should,
/// there are no corrections, else one for each code.
fn corrections<F: Bits>(values: &[F], codes: &[i64], least: f64, step: f64, count: usize) -> Option<Vec<i64>> {
    let correction = |value: &F, code: i64| ordered(*value).wrapping_sub(ordered(self::value::<F>(least, step, code)));
    let mut rows = values.iter().zip(codes);
    if count > values.len() {
        // A table of corrections would be larger than what it saves.
        return rows.all(|(value, code)| correction(value, *code) == 0).then(Vec::new);
    }
    const UNSEEN: i64 = i64::MIN;
    let mut table = vec![UNSEEN; count];
    for (value, code) in rows {
        let own = ordered(*value);
        let place = table.get_mut(usize::try_from(*code).ok()?)?;
        if *place == UNSEEN {
            *place = own;
        } else if *place != own {
            return None;
        }
    }
    let mut last = 0;
    for (code, place) in table.iter_mut().enumerate() {
        if *place != UNSEEN {
            last = place.wrapping_sub(ordered(self::value::<F>(least, step, code as i64)));
        }
        *place = last; // codes that do not occur go along with their neighbour, so that they cost nothing
    }
    if table.iter().all(|correction| *correction == 0) { Some(Vec::new()) } else { Some(table) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: i64) -> i64 {
        (i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as u64 >> 57) as i64
    }

    #[test]
    fn a_converter_behind_any_slope_and_offset_lies_on_a_grid() {
        for (slope, offset) in
            [(20.0 / 65535.0, 0.0), (20.0 / 65535.0, -10.0), (1.0 / 3.0, 1e3), (2.5e-7, 0.0), (1e6, 7.7)]
        {
            let codes: Vec<i64> = (0..3000).map(|i| 30_000 + noise(i) + i / 100).collect();
            let values: Vec<f64> = codes.iter().map(|code| *code as f64 * slope + offset).collect();
            let grid = find(&values).unwrap_or_else(|| panic!("slope {slope}, offset {offset}"));
            let least = codes.iter().min().expect("there are some");
            assert!(grid.codes.iter().zip(&codes).all(|(found, code)| found + least == *code), "{slope} {offset}");
            assert!(grid.corrections.iter().all(|correction| correction.abs() < 1 << 12), "{slope} {offset}");
        }
    }

    #[test]
    fn noise_in_every_bit_lies_on_no_grid() {
        let values: Vec<f64> = (0..3000).map(|i| (f64::from(i) * 0.37).sin()).collect();
        assert_eq!(find(&values), None);
        assert_eq!(find(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!(find(&[1.0, f64::INFINITY, 2.0]), None);
        assert_eq!(find::<f64>(&[]), None);
    }
}

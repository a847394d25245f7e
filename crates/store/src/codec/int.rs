//! Integers of every width, as signed 64-bit numbers (unsigned ones of 64 bits keep their bits).
//!
//! ```text
//!   0 constant       value:zigzag
//!   1 packed         least:zigzag width:u8 (value - least):bits[count]
//!   2 delta          first:zigzag least:zigzag width:u8 (step - least):bits[count-1]
//!   3 runs           (rows:varint value:zigzag)*
//!   4 pco            len:varint pco of i64[count]
//!   5 patched        as packed, then patches
//!   6 patched delta  as delta, then patches to the steps
//!   7 dictionary     distinct:varint integers (values) integers (indices)         neither of them by dictionary
//!
//!   patches := m:varint (gap:varint high:zigzag)[m]         the number `gap` after the one patched before it gets high << width
//! ```
//! Which of them is written: the smallest, but pco only where it saves a quarter of a byte a number. It takes 2 to 4 ns to read
//! a number of pco and 0.4 to 0.8 ns to read a packed one; a quarter of a byte is what a read of a cold disk takes in that time.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

mod laid;
mod patches;
mod read;
mod tags;

use self::tags::{DELTA, DICTIONARY, PACKED, PATCHED, PATCHED_DELTA, PCO, RUNS};
use super::{
    Best, Effort, PCO_ROWS_MIN, PCO_SAVES_MIN, bits,
    room::Room,
    window::{self, Window, WindowLook},
};
use crate::bytes::{put_blob, put_varint, put_zigzag};

pub(crate) use self::{
    laid::{Laid, Lookup},
    read::{take, take_as, take_rows_as, take_rows_in},
    tags::CONSTANT,
};

/// More distinct integers than this are no dictionary.
const DISTINCT_MAX: usize = 64;
/// Below so many numbers nothing is gained by patches.
const PATCHED_ROWS_MIN: usize = 24;

/// The window of noise is so many times as wide as the mean of what its steps differ by: 5 to 7 of its standard deviations, and 1.13.
const NOISE_WIDTH: f64 = 5.0;

pub(crate) fn put(out: &mut Vec<u8>, values: &[i64], effort: Effort) {
    put_by(out, values, Choice::All(effort));
}

/// Without a dictionary, for what is one already.
pub(crate) fn put_flat(out: &mut Vec<u8>, values: &[i64], effort: Effort) {
    put_by(out, values, Choice::Flat(effort));
}

/// By the packer alone, for columns that have a better way to pco.
pub(crate) fn put_packed(out: &mut Vec<u8>, values: &[i64]) {
    put_by(out, values, Choice::Packed);
}

/// Which codecs may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    All(Effort),
    /// All but the dictionary, whose columns may not be one.
    Flat(Effort),
    /// Neither dictionary nor pco.
    Packed,
}

/// The same choice for numbers so few that there is nothing to look at, in one pass: that is what most columns of blocks with ten
/// samples are, and a flush of 150,000 PVs has millions of them.
fn put_few(out: &mut Vec<u8>, values: &[i64]) {
    let Some(first) = values.first().copied() else { return };
    let (mut min, mut max, mut least, mut most) = (first, first, i64::MAX, i64::MIN);
    let (mut last, mut changes) = (first, 0);
    for value in values.iter().skip(1).copied() {
        let step = value.wrapping_sub(last);
        (min, max, least, most) = (min.min(value), max.max(value), least.min(step), most.max(step));
        changes += usize::from(value != last);
        last = value;
    }
    if changes == 0 {
        out.push(CONSTANT);
        return put_zigzag(out, first);
    }
    let start = out.len();
    let width = bits::width(max.wrapping_sub(min) as u64);
    let step_width = bits::width(most.wrapping_sub(least) as u64);
    if step_width < width {
        out.push(DELTA);
        put_zigzag(out, first);
        put_zigzag(out, least);
        out.push(step_width as u8);
        bits::pack(out, steps(values).map(|step| step.wrapping_sub(least) as u64), step_width);
    } else {
        out.push(PACKED);
        put_zigzag(out, min);
        out.push(width as u8);
        bits::pack(out, values.iter().map(|value| value.wrapping_sub(min) as u64), width);
    }
    if (changes + 1) * 2 < values.len() / 2 {
        Best::written(out, start).replace_if(out, 0, |out| put_runs(out, values));
    }
}

fn put_by(out: &mut Vec<u8>, values: &[i64], choice: Choice) {
    if values.len() < PATCHED_ROWS_MIN {
        return put_few(out, values);
    }
    put_as_planned(out, values, choice, None);
}

/// The same for numbers whose plan is known, and whose steps are wider than themselves.
pub(super) fn put_planned(out: &mut Vec<u8>, values: &[i64], plan: Plan, effort: Effort) {
    put_as_planned(out, values, Choice::All(effort), Some(plan));
}

fn put_as_planned(out: &mut Vec<u8>, values: &[i64], choice: Choice, known: Option<Plan>) {
    let Some(first) = values.first() else { return };
    let changes = values.iter().zip(values.iter().skip(1)).filter(|(value, next)| value != next).count();
    if changes == 0 {
        out.push(CONSTANT);
        put_zigzag(out, *first);
        return;
    }
    // A run takes two bytes at least; nothing else is below an eighth of a byte.
    if changes < values.len() / 64 {
        put_runs(out, values);
        return;
    }
    let mut room = Room::default();
    let (plain, stepped) = match known {
        Some(plan) => (plan, None),
        None => {
            let plain = Plan::of(values);
            let steps = room.fill(steps(values));
            let stepped = Plan::of_steps(steps, plain.cost).filter(|stepped| stepped.cost < plain.cost);
            (plain, stepped.map(|plan| (plan, &*steps)))
        }
    };
    let start = out.len();
    let plan = match &stepped {
        Some((plan, steps)) => {
            plan.put(out, steps, Some(*first));
            plan
        }
        None => {
            plain.put(out, values, None);
            &plain
        }
    };
    let mut best = Best::written(out, start);
    if (changes + 1) * 2 < values.len() / 2 {
        best.replace_if(out, 0, |out| put_runs(out, values));
    }
    if let Choice::All(effort) = choice
        && plain.look.is_some()
        && plain.distinct <= DISTINCT_MAX / 2
        && f64::from(bits::width(plain.distinct as u64 - 1)) + dictionary_saves_min(effort) < plan.cost
    {
        best.replace_if(out, 0, |out| put_dictionary(out, values, effort));
    }
    let bits = (out.len() - start) as f64 * 8.0 / values.len() as f64;
    if let Choice::All(effort) | Choice::Flat(effort) = choice
        && values.len() >= PCO_ROWS_MIN
        && plan.look.as_ref().is_some_and(|look| pco_promises(look, bits, effort))
    {
        best.replace_if(out, (values.len() as f64 * PCO_SAVES_MIN) as usize, |out| put_pco(out, values, effort));
    }
}

/// So many bits a number a dictionary must promise to save, to be tried: as many different numbers as are numbered without a gap
/// need none.
fn dictionary_saves_min(effort: Effort) -> f64 {
    match effort {
        Effort::Flush => 1.0,
        Effort::Merge => 0.0,
    }
}

/// How a list of numbers is packed.
pub(super) struct Plan {
    window: Window,
    /// Bits that a number takes, about.
    pub(super) cost: f64,
    look: Option<WindowLook>,
    distinct: usize,
}

impl Plan {
    pub(super) fn of(numbers: &[i64]) -> Plan {
        let (min, max) = window::extremes(numbers);
        let whole = Window { least: min, width: bits::width(max.wrapping_sub(min) as u64) };
        let cost = f64::from(whole.width);
        // A look at a few numbers takes as long as packing them: for those it must promise something.
        let promising = || numbers.len() >= PCO_ROWS_MIN || window::has_outliers(numbers, min, max);
        if whole.width < 2 || !promising() {
            return Plan { window: whole, cost, look: None, distinct: usize::MAX };
        }
        let look = WindowLook::at(numbers, min, max);
        let (window, cost) = look.best();
        let distinct = look.distinct();
        Plan { window, cost, look: Some(look), distinct }
    }

    /// Of the steps between numbers that take so many bits each; none if these are surely wider, as those of noise are. A look at
    /// them takes longer than packing.
    pub(super) fn of_steps(steps: &[i64], cost: f64) -> Option<Plan> {
        let mean = steps.iter().fold(0, |sum: i64, step| sum.wrapping_add(*step)) / steps.len().max(1) as i64;
        let distance = |step: &i64| step.wrapping_sub(mean).unsigned_abs() as f64;
        let distances: f64 = steps.iter().map(distance).sum();
        (distances * NOISE_WIDTH < cost.exp2() * steps.len() as f64).then(|| Plan::of(steps))
    }

    /// Packs the numbers; with `first` they are the steps from there.
    pub(super) fn put(&self, out: &mut Vec<u8>, numbers: &[i64], first: Option<i64>) {
        let Window { least, width } = self.window;
        let mut patches = Vec::new();
        let mut count = 0;
        let mut patched = 0;
        let may_leave_out = self.look.is_some();
        for (row, number) in numbers.iter().enumerate().filter(|_| may_leave_out) {
            let high = high(number.wrapping_sub(least), width);
            if high != 0 {
                put_varint(&mut patches, (row - patched) as u64);
                put_zigzag(&mut patches, high);
                patched = row;
                count += 1;
            }
        }
        out.push(match (first, count) {
            (None, 0) => PACKED,
            (None, _) => PATCHED,
            (Some(_), 0) => DELTA,
            (Some(_), _) => PATCHED_DELTA,
        });
        first.into_iter().for_each(|first| put_zigzag(out, first));
        put_zigzag(out, least);
        out.push(width as u8);
        bits::pack(out, numbers.iter().map(|number| number.wrapping_sub(least) as u64), width);
        if count > 0 {
            put_varint(out, count);
            out.extend_from_slice(&patches);
        }
    }
}

/// Whether pco may save so much, where a number takes so many bits without it, that it is worth a try.
fn pco_promises(look: &WindowLook, bits: f64, effort: Effort) -> bool {
    let sure = match effort {
        Effort::Flush => PCO_SAVES_MIN * 8.0,
        Effort::Merge => PCO_SAVES_MIN * 6.0, // the estimate is one by one, and pco sees some order, too
    };
    bits - look.entropy() > sure
}

/// The same for a column that is not one of integers, given their places.
pub(crate) fn pco_promises_for(places: &[i64], bytes: usize, effort: Effort) -> bool {
    let bits = bytes as f64 * 8.0 / places.len().max(1) as f64;
    let promises = |numbers: &[i64]| {
        let (min, max) = window::extremes(numbers);
        pco_promises(&WindowLook::at(numbers, min, max), bits, effort)
    };
    places.len() >= PCO_ROWS_MIN && (promises(places) || promises(Room::default().fill(steps(places))))
}

fn steps(values: &[i64]) -> impl ExactSizeIterator<Item = i64> {
    values.iter().zip(values.iter().skip(1)).map(|(value, next)| next.wrapping_sub(*value))
}

/// What of a number lies above its lowest bits.
fn high(number: i64, width: u32) -> i64 {
    if width >= 64 { 0 } else { number >> width }
}

fn put_pco(out: &mut Vec<u8>, values: &[i64], effort: Effort) -> bool {
    let Ok(pco) = pco::standalone::simple_compress(values, &effort.pco()) else { return false };
    out.push(PCO);
    put_blob(out, &pco);
    true
}

fn put_dictionary(out: &mut Vec<u8>, values: &[i64], effort: Effort) -> bool {
    let mut distinct: Vec<i64> = Vec::new();
    for value in values.chunk_by(|a, b| a == b).filter_map(|run| run.first()) {
        if let Err(place) = distinct.binary_search(value) {
            distinct.insert(place, *value);
            if distinct.len() > DISTINCT_MAX {
                return false;
            }
        }
    }
    let index = |value: &i64| distinct.binary_search(value).map_or(0, |place| place as i64);
    let mut room = Room::default();
    let indices = room.fill(values.iter().map(index));
    out.push(DICTIONARY);
    put_varint(out, distinct.len() as u64);
    put_by(out, &distinct, Choice::Flat(effort));
    put_by(out, indices, Choice::Flat(effort));
    true
}

fn put_runs(out: &mut Vec<u8>, values: &[i64]) -> bool {
    out.push(RUNS);
    for run in values.chunk_by(|a, b| a == b) {
        put_varint(out, run.len() as u64);
        put_zigzag(out, run.first().copied().unwrap_or(0));
    }
    true
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::bytes::Cursor;

    fn some_rows(count: usize) -> Vec<Range<usize>> {
        let places: Vec<usize> = [0, 1, 5, 63, 64, 65, 300, 511, count].into_iter().filter(|p| *p <= count).collect();
        places
            .iter()
            .flat_map(|start| places.iter().map(move |end| *start..*end))
            .filter(|r| r.start <= r.end)
            .collect()
    }

    #[test]
    fn integers_of_every_habit_come_back() {
        let noise = |i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40;
        for count in [1i64, 2, 100, 511, 512, 3000] {
            let cases: [(&str, Vec<i64>); 9] = [
                ("constant", vec![i64::MIN; count as usize]),
                ("counter", (0..count).map(|i| 1_000_000 + 7 * i).collect()),
                ("noise", (0..count).map(noise).collect()),
                ("states", (0..count).map(|i| i / 300).collect()),
                ("extremes", (0..count).map(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }).collect()),
                (
                    "outliers",
                    (0..count)
                        .map(|i| if i % 97 == 5 { noise(i).wrapping_mul(noise(i * 3)) } else { noise(i) % 50 })
                        .collect(),
                ),
                ("a counter that starts again", (0..count).map(|i| i % 500 * 1_000_003 + noise(i) % 9).collect()),
                (
                    "few values far apart",
                    (0..count).map(|i| [i64::MAX, 0, -77, 1 << 40][(noise(i) & 3) as usize]).collect(),
                ),
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
                assert_eq!(take(&mut cursor, values.len()).as_ref(), Ok(&values), "{name} of {count}");
                assert!(cursor.is_empty(), "{name} of {count}");
                let lookup = Lookup::take(&mut Cursor::new(&bytes), values.len()).expect("it was written just now");
                assert!((0..values.len()).all(|row| lookup.get(row) == values[row]), "{name} of {count}");
                for rows in some_rows(values.len()) {
                    let mut cursor = Cursor::new(&bytes);
                    let taken = take_rows_as(&mut cursor, values.len(), rows.clone(), |row, n| (row, n), |_| true);
                    let expected: Vec<(usize, i64)> = rows.clone().map(|row| (row, values[row])).collect();
                    assert_eq!(taken, Ok(expected), "{name}: {rows:?} of {count}");
                }
            }
        }
    }
    #[test]
    fn steps_are_packed_where_they_are_smaller() {
        let noise = |i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40;
        let jump = |i: i64| if i % 50 == 7 { noise(i * 3) % 1000 } else { 0 };
        let walk = |i: i64| (0..=i).map(|i| noise(i) % 3 + jump(i)).sum::<i64>();
        for count in [100, 640, 3000] {
            let bits = |value: &dyn Fn(i64) -> i64| {
                let mut bytes = Vec::new();
                put(&mut bytes, &(0..count).map(value).collect::<Vec<i64>>(), Effort::Merge);
                (bytes.len() - 12) as f64 * 8.0 / count as f64
            };
            let counter = bits(&|i| 1000 * i + noise(i) % 14);
            assert!(counter < 6.0, "a counter of {count} takes {counter} bits");
            let walk = bits(&walk);
            assert!(walk < 6.0, "a walk that jumps, of {count}, takes {walk} bits");
            let noise = bits(&|i| noise(i) % 100_000);
            assert!(noise < 18.0, "noise of {count} takes {noise} bits");
        }
    }
}

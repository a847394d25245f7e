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

use std::ops::Range;

use super::{
    Best, Effort, PCO_ROWS_MIN, PCO_SAVES_MIN,
    bits::{self, Packed},
    room::Room,
    window::{self, Window, WindowLook},
};
use crate::bytes::{Cursor, Malformed, put_blob, put_varint, put_zigzag};

pub(crate) const CONSTANT: u8 = 0;
const PACKED: u8 = 1;
const DELTA: u8 = 2;
const RUNS: u8 = 3;
const PCO: u8 = 4;
const PATCHED: u8 = 5;
const PATCHED_DELTA: u8 = 6;
const DICTIONARY: u8 = 7;

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

/// The caller vouches for `count`: the memory for so many numbers is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Vec<i64>, Malformed> {
    take_as(cursor, count, |_, value| value, |_| true)
}

/// Takes integers as what `make` makes of each row and its number, without a column in between. Each must fit.
pub(crate) fn take_as<T>(
    cursor: &mut Cursor,
    count: usize,
    make: impl Fn(usize, i64) -> T + Copy,
    fits: impl Fn(i64) -> bool + Copy,
) -> Result<Vec<T>, Malformed> {
    take_rows_as(cursor, count, 0..count, make, fits)
}

/// The same of some of the rows, without decoding the others where that can be avoided. They must lie below `count`.
pub(crate) fn take_rows_as<T>(
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
    make: impl Fn(usize, i64) -> T + Copy,
    fits: impl Fn(i64) -> bool + Copy,
) -> Result<Vec<T>, Malformed> {
    take_rows_in(Vec::new(), cursor, count, rows, make, fits)
}

/// The same in the memory of a list whose content nobody needs.
pub(crate) fn take_rows_in<T>(
    room: Vec<T>,
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
    make: impl Fn(usize, i64) -> T + Copy,
    fits: impl Fn(i64) -> bool + Copy,
) -> Result<Vec<T>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let codec = cursor.u8()?;
    if codec != DICTIONARY {
        return take_flat(cursor, codec, count, Made::new(room, rows, make, fits));
    }
    let len = cursor.count(DISTINCT_MAX)?;
    let last = len.checked_sub(1).ok_or(Malformed("a dictionary is empty"))?;
    let codec = cursor.u8()?;
    let distinct = take_flat(cursor, codec, len, Made::new(Vec::new(), 0..len, |_, value| value, fits))?;
    let codec = cursor.u8()?;
    let distinct = distinct.as_slice();
    let value = move |index: i64| distinct.get((index as usize).min(last)).copied().unwrap_or_default();
    let made =
        Made::new(room, rows, move |row, index| make(row, value(index)), move |index| index as u64 <= last as u64);
    take_flat(cursor, codec, count, made)
}

/// What is made of the numbers that were read.
struct Made<T, M, F> {
    rows: Range<usize>,
    out: Vec<T>,
    make: M,
    fits: F,
    all_fit: bool,
}

impl<T, M: Fn(usize, i64) -> T + Copy, F: Fn(i64) -> bool + Copy> Made<T, M, F> {
    fn new(mut out: Vec<T>, rows: Range<usize>, make: M, fits: F) -> Made<T, M, F> {
        out.clear();
        out.reserve(rows.len() + 1); // times that are given by their steps are one more
        Made { out, rows, make, fits, all_fit: true }
    }

    /// Whether all fit is gathered in a variable of this function, and so are copies of the closures: what others may see must
    /// be written to memory and read again for each number, and twice the time would be spent on that.
    #[inline(always)]
    fn extend(&mut self, values: impl Iterator<Item = i64>) {
        let (make, fits, first) = (self.make, self.fits, self.rows.start + self.out.len());
        let mut all_fit = true;
        self.out.extend(values.enumerate().map(|(place, value)| {
            all_fit &= fits(value);
            make(first + place, value)
        }));
        self.all_fit &= all_fit;
    }

    fn end(self) -> Result<Vec<T>, Malformed> {
        if self.all_fit { Ok(self.out) } else { Err(Malformed("a number is too large for its type or its dictionary")) }
    }
}

/// All codecs but those that are made of others, so that no bytes make this call itself without end.
fn take_flat<T, M: Fn(usize, i64) -> T + Copy, F: Fn(i64) -> bool + Copy>(
    cursor: &mut Cursor,
    codec: u8,
    count: usize,
    mut made: Made<T, M, F>,
) -> Result<Vec<T>, Malformed> {
    let rows = made.rows.clone();
    match codec {
        CONSTANT => {
            let value = cursor.zigzag()?;
            made.extend(rows.map(|_| value));
        }
        PACKED | PATCHED => {
            let least = cursor.zigzag()?;
            let (packed, mut patches) = take_packed(cursor, count, codec == PATCHED)?;
            patches.skip_to(rows.start);
            let end = rows.end;
            packed.each(rows, |row, group| {
                patches.apply(row, group);
                made.extend(group.iter().map(|number| least.wrapping_add(*number as i64)));
            });
            patches.end_behind(cursor, end, count)?;
        }
        DELTA | PATCHED_DELTA => {
            let mut value = cursor.zigzag()?;
            let least = cursor.zigzag()?;
            let (packed, mut patches) = take_packed(cursor, count - 1, codec == PATCHED_DELTA)?;
            if rows.contains(&0) {
                made.extend(std::iter::once(value));
            }
            // A number is the sum of all steps before it.
            packed.each(0..rows.end.saturating_sub(1), |step, group| {
                patches.apply(step, group);
                for step in group.iter_mut() {
                    value = value.wrapping_add(least.wrapping_add(*step as i64));
                    *step = value as u64;
                }
                let before = rows.start.saturating_sub(step + 1);
                made.extend(group.iter().skip(before).map(|value| *value as i64));
            });
            patches.skip_to(count - 1);
            *cursor = patches.end()?;
        }
        RUNS => {
            let mut row = 0;
            while row < count {
                let end = row + cursor.count(count - row)?.max(1);
                let value = cursor.zigzag()?;
                made.extend((row.max(rows.start)..end.min(rows.end)).map(|_| value));
                row = end;
            }
        }
        PCO => {
            let values = super::float::take_pco(cursor, count)?;
            made.extend(values.get(rows).unwrap_or_default().iter().copied());
        }
        _ => return Err(Malformed("no such codec of integers")),
    }
    made.end()
}

/// Integers that lie packed, one behind the other: the numbers themselves, or the steps between them.
#[derive(Clone)]
pub(crate) struct Laid<'a> {
    /// The number before the first step; none where there are no steps.
    pub(crate) first: Option<i64>,
    pub(crate) least: i64,
    pub(crate) packed: Packed<'a>,
    /// The place of each packed integer that takes more bits, and how much is added to it.
    pub(crate) patches: Vec<(usize, i64)>,
}

impl<'a> Laid<'a> {
    /// None of numbers that lie in another way.
    pub(crate) fn take(cursor: &mut Cursor<'a>, count: usize) -> Result<Option<Laid<'a>>, Malformed> {
        let Some(codec @ (PACKED | PATCHED | DELTA | PATCHED_DELTA)) = cursor.first().filter(|_| count > 0) else {
            return Ok(None);
        };
        cursor.u8()?;
        let first = if matches!(codec, DELTA | PATCHED_DELTA) { Some(cursor.zigzag()?) } else { None };
        let least = cursor.zigzag()?;
        let count = count - usize::from(first.is_some());
        let (packed, mut patches) = take_packed(cursor, count, matches!(codec, PATCHED | PATCHED_DELTA))?;
        let mut found = Vec::with_capacity(patches.left + 1);
        while patches.next < count {
            found.push((patches.next, patches.high));
            patches.step(patches.next);
        }
        *cursor = patches.end()?;
        Ok(Some(Laid { first, least, packed, patches: found }))
    }

    /// What is packed at a place.
    fn get(&self, place: usize) -> i64 {
        let first = self.patches.partition_point(|(patched, _)| *patched < place);
        let here = self.patches.get(first..).unwrap_or_default().iter().take_while(|(patched, _)| *patched == place);
        let high = here.fold(0i64, |sum, (_, high)| sum.wrapping_add(*high));
        self.least.wrapping_add(self.packed.get(place) as i64).wrapping_add(high)
    }
}

/// Integers that are looked at one by one, in place where they are packed.
pub(crate) enum Lookup<'a> {
    Packed(Laid<'a>),
    All(Vec<i64>),
}

impl<'a> Lookup<'a> {
    pub(crate) fn take(cursor: &mut Cursor<'a>, count: usize) -> Result<Lookup<'a>, Malformed> {
        let is_packed = matches!(cursor.first(), Some(PACKED | PATCHED));
        match is_packed.then(|| Laid::take(cursor, count)).transpose()?.flatten() {
            Some(laid) => Ok(Lookup::Packed(laid)),
            None => take(cursor, count).map(Lookup::All),
        }
    }

    /// The number of a row; 0 beyond them all.
    pub(crate) fn get(&self, row: usize) -> i64 {
        match self {
            Lookup::Packed(laid) => laid.get(row),
            Lookup::All(numbers) => numbers.get(row).copied().unwrap_or_default(),
        }
    }
}

/// Width, packed numbers and the patches to them.
fn take_packed<'a>(
    cursor: &mut Cursor<'a>,
    count: usize,
    patched: bool,
) -> Result<(Packed<'a>, Patches<'a>), Malformed> {
    let width = u32::from(cursor.u8()?);
    let packed = Packed::take(cursor, count, width)?;
    let left = if patched { cursor.count(count)? } else { 0 };
    let mut patches = Patches { cursor: *cursor, left, width, next: usize::MAX, high: 0, broken: None };
    patches.step(0);
    Ok((packed, patches))
}

/// Patches that are read as the numbers come along.
struct Patches<'a> {
    cursor: Cursor<'a>,
    left: usize,
    width: u32,
    /// The number that is patched next; none if it lies beyond all.
    next: usize,
    high: i64,
    broken: Option<Malformed>,
}

impl<'a> Patches<'a> {
    /// Reads the next patch.
    fn step(&mut self, before: usize) {
        self.next = usize::MAX;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let patch = self.cursor.varint().and_then(|gap| Ok((gap, self.cursor.zigzag()?)));
        match patch {
            Ok((gap, high)) => {
                self.next = before.saturating_add(usize::try_from(gap).unwrap_or(usize::MAX));
                self.high = high.checked_shl(self.width).unwrap_or(0);
            }
            Err(malformed) => (self.broken, self.left) = (Some(malformed), 0),
        }
    }

    /// Patches a group whose first number is that of `row`.
    fn apply(&mut self, row: usize, group: &mut [u64]) {
        while let Some(number) = self.next.checked_sub(row).and_then(|place| group.get_mut(place)) {
            *number = number.wrapping_add(self.high as u64);
            self.step(self.next);
        }
    }

    /// Passes over the patches of the numbers before `row`.
    fn skip_to(&mut self, row: usize) {
        while self.next < row {
            self.step(self.next);
        }
    }

    /// Goes on behind the patches, if each has found its number. Who wants no rows up to the end has no use for what follows.
    fn end_behind(mut self, cursor: &mut Cursor<'a>, end: usize, count: usize) -> Result<(), Malformed> {
        if end == count || self.broken.is_some() {
            self.skip_to(count);
            *cursor = self.end()?;
        }
        Ok(())
    }

    /// What follows the patches, if each has found its number.
    fn end(self) -> Result<Cursor<'a>, Malformed> {
        match self.broken {
            Some(malformed) => Err(malformed),
            None if self.left > 0 || self.next != usize::MAX => Err(Malformed("a patch lies beyond the numbers")),
            None => Ok(self.cursor),
        }
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use super::*;

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

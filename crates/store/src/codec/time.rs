//! Times, ascending.
//!
//! ```text
//!   0 step    first:i64 step:zigzag                       all steps are equal
//!   1 linear  first:i64 period:i64 integers (residuals)   time[i] = first + (i * period >> 16) + residual[i]
//!   2 delta   first:i64 integers (steps, count-1)
//!   3 ticks   first:i64 tick:varint (1:u8 period:i64 integers | 2:u8 integers)
//!                                                         time[i] = first + tick * (linear or delta, from 0)
//! ```
//! `linear` suits a record that is scanned at a period: the scan's jitter does not add up, so residuals are smaller than steps
//! (2.27 against 2.38 bytes a sample at 100 µs of jitter). `delta` suits what comes when it comes. `ticks` suits clocks of whole
//! microseconds or milliseconds, whose numbers would otherwise carry ten to twenty bits that are always the same.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;

use sample::Timestamp;

use super::{
    Effort,
    int::{self, Plan},
    room::Room,
};
use crate::bytes::{Cursor, Malformed, put_varint, put_zigzag};

const STEP: u8 = 0;
const LINEAR: u8 = 1;
const DELTA: u8 = 2;
const TICKS: u8 = 3;

/// Fraction bits of the period: over 8192 samples the rounding adds up to less than 0.2 ns.
const PERIOD_BITS: u32 = 16;
/// For fewer times a period takes more bytes than it saves.
const LINEAR_ROWS_MIN: usize = 128;
/// Shorter ticks save too little to be looked for.
const TICK_MIN: u64 = 100;

pub(crate) fn put(out: &mut Vec<u8>, times: &[Timestamp], effort: Effort) {
    let Some(first) = times.first().map(|time| time.nanos()) else { return };
    let pairs = times.iter().zip(times.iter().skip(1));
    let mut room = Room::default();
    let steps = room.fill(pairs.map(|(time, next)| next.nanos().wrapping_sub(time.nanos())));
    let step = steps.first().copied().unwrap_or(0);
    if steps.iter().all(|other| *other == step) {
        out.push(STEP);
        out.extend_from_slice(&first.to_le_bytes());
        put_zigzag(out, step);
        return;
    }
    let tick = common_tick(steps);
    if tick > 1 {
        out.push(TICKS);
        out.extend_from_slice(&first.to_le_bytes());
        put_varint(out, tick as u64);
        steps.iter_mut().for_each(|step| *step /= tick);
    }
    if times.len() < LINEAR_ROWS_MIN {
        return put_delta(out, first, tick, steps, effort);
    }
    let mut room = Room::default();
    let since = room.fill(times.iter().map(|time| time.nanos().wrapping_sub(first)));
    if tick > 1 {
        since.iter_mut().for_each(|time| *time /= tick);
    }
    let period = period(since);
    since.iter_mut().enumerate().for_each(|(i, time)| *time = time.wrapping_sub(predicted(period, i)));
    let by_line = Plan::of(since);
    let by_steps = Plan::of_steps(steps, by_line.cost).filter(|by_steps| by_steps.cost < by_line.cost);
    let (codec, numbers, plan) = match by_steps {
        Some(by_steps) => (DELTA, steps, by_steps),
        None => (LINEAR, since, by_line),
    };
    out.push(codec);
    if tick == 1 {
        out.extend_from_slice(&first.to_le_bytes());
    }
    if codec == LINEAR {
        out.extend_from_slice(&period.to_le_bytes());
    }
    match effort {
        // What is left is noise, nearly always; a merge looks closer.
        Effort::Flush => plan.put(out, numbers, None),
        Effort::Merge => int::put_planned(out, numbers, plan, effort),
    }
}

fn put_delta(out: &mut Vec<u8>, first: i64, tick: i64, steps: &[i64], effort: Effort) {
    out.push(DELTA);
    if tick == 1 {
        out.extend_from_slice(&first.to_le_bytes());
    }
    int::put(out, steps, effort);
}

/// The longest tick of which all steps are multiples; 1 if it is too short to be worth anything, or if the times lie so far
/// apart that their difference is no number.
fn common_tick(steps: &[i64]) -> i64 {
    let mut tick = 0u64;
    for step in steps {
        let (mut a, mut b) = (step.unsigned_abs(), tick);
        if *step < 0 {
            return 1;
        }
        while b != 0 {
            (a, b) = (b, a % b);
        }
        tick = a;
        if tick != 0 && tick < TICK_MIN {
            return 1;
        }
    }
    let span = steps.iter().try_fold(0i64, |sum, step| sum.checked_add(*step));
    if span.is_some() { i64::try_from(tick).unwrap_or(1).max(1) } else { 1 }
}

/// The period, in units of 2^-16, of the line that fits best: that from the first to the last time, turned so that what is left
/// neither rises nor falls. A line through the two ends alone would follow their jitter.
fn period(since: &[i64]) -> i64 {
    let last = since.last().copied().unwrap_or(0);
    let steps = since.len().saturating_sub(1).max(1) as i128;
    let ends = i64::try_from((i128::from(last) << PERIOD_BITS) / steps).unwrap_or(0);
    let middle = steps as f64 / 2.0;
    let residual = |(i, time): (usize, &i64)| (i as f64 - middle) * time.wrapping_sub(predicted(ends, i)) as f64;
    let moment: f64 = since.iter().enumerate().map(residual).sum();
    let count = since.len() as f64;
    let slope = moment * 12.0 / (count * (count * count - 1.0)).max(1.0);
    ends.saturating_add((slope * f64::from(1 << PERIOD_BITS)) as i64)
}

/// `index * period >> 16`, rounded down, wrapping. The fraction has 16 bits, so that 64 are enough for any index.
#[inline(always)]
fn predicted(period: i64, index: usize) -> i64 {
    let (whole, fraction) = (period >> PERIOD_BITS, period & ((1 << PERIOD_BITS) - 1));
    let index = index as i64;
    index.wrapping_mul(whole).wrapping_add((index.wrapping_mul(fraction)) >> PERIOD_BITS)
}

/// The caller vouches for `count`: the memory for so many times is taken, whatever the bytes are.
pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Vec<Timestamp>, Malformed> {
    take_in(Vec::new(), cursor, count)
}

/// The same in the memory of a list whose content nobody needs.
pub(crate) fn take_in(room: Vec<Timestamp>, cursor: &mut Cursor, count: usize) -> Result<Vec<Timestamp>, Malformed> {
    take_rows_in(room, cursor, count, 0..count)
}

/// The same of some of the rows, without decoding the others where that can be avoided. They must lie below `count`.
pub(crate) fn take_rows(cursor: &mut Cursor, count: usize, rows: Range<usize>) -> Result<Vec<Timestamp>, Malformed> {
    take_rows_in(Vec::new(), cursor, count, rows)
}

fn take_rows_in(
    mut room: Vec<Timestamp>,
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
) -> Result<Vec<Timestamp>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let codec = cursor.u8()?;
    let first = cursor.i64()?;
    let times: Vec<Timestamp> = match codec {
        STEP => {
            let step = cursor.zigzag()?;
            room.clear();
            room.extend(rows.map(|row| Timestamp::from_nanos(stepped(first, step, row))));
            room
        }
        LINEAR => take_linear(cursor, count, rows, first, |rest| rest)?,
        DELTA => take_delta(room, cursor, count, rows, first, 1)?,
        TICKS => {
            let tick = cursor.varint()? as i64;
            match cursor.u8()? {
                LINEAR => take_linear(cursor, count, rows, first, move |ticks| ticks.wrapping_mul(tick))?,
                DELTA => take_delta(room, cursor, count, rows, first, tick)?,
                _ => return Err(Malformed("no such codec of times")),
            }
        }
        _ => return Err(Malformed("no such codec of times")),
    };
    if times.is_sorted() { Ok(times) } else { Err(Malformed("its times go backwards")) }
}

fn stepped(first: i64, step: i64, row: usize) -> i64 {
    first.wrapping_add((row as i64).wrapping_mul(step))
}

fn take_linear(
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
    first: i64,
    scaled: impl Fn(i64) -> i64 + Copy,
) -> Result<Vec<Timestamp>, Malformed> {
    let period = cursor.i64()?;
    let time = move |i, rest: i64| first.wrapping_add(scaled(predicted(period, i).wrapping_add(rest)));
    int::take_rows_as(cursor, count, rows, move |i, rest| Timestamp::from_nanos(time(i, rest)), |_| true)
}

fn take_delta(
    room: Vec<Timestamp>,
    cursor: &mut Cursor,
    count: usize,
    rows: Range<usize>,
    first: i64,
    tick: i64,
) -> Result<Vec<Timestamp>, Malformed> {
    let steps = 0..count - 1;
    let mut times = int::take_rows_in(room, cursor, count - 1, steps, |_, step| Timestamp::from_nanos(step), |_| true)?;
    let mut time = first;
    for next in &mut times {
        let step = next.nanos().wrapping_mul(tick);
        *next = Timestamp::from_nanos(time);
        time = time.wrapping_add(step);
    }
    times.push(Timestamp::from_nanos(time));
    times.truncate(rows.end);
    times.drain(..rows.start.min(times.len()));
    Ok(times)
}

/// Times that are looked for, in place where they are packed.
pub(crate) struct Lookup<'a> {
    count: usize,
    first: i64,
    form: Form<'a>,
}

enum Form<'a> {
    Step(i64),
    Linear { line: Line, rests: int::Lookup<'a> },
    All(Vec<Timestamp>),
}

/// What a column of times begins with.
struct Header {
    /// That of what follows.
    codec: u8,
    first: i64,
    /// The nanoseconds of a tick.
    tick: i64,
}

impl Header {
    fn take(cursor: &mut Cursor) -> Result<Header, Malformed> {
        let (codec, first) = (cursor.u8()?, cursor.i64()?);
        if codec != TICKS {
            return Ok(Header { codec, first, tick: 1 });
        }
        let tick = cursor.varint()? as i64;
        Ok(Header { codec: cursor.u8()?, first, tick })
    }
}

/// How times are made of integers that lie packed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// Of what is left of each; nothing where no integers are told.
    Line(Line),
    /// Of the steps between them, in ticks of so many nanoseconds.
    Steps(i64),
}

/// Times along a line, from each of which an integer is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    first: i64,
    tick: i64,
    period: i64,
}

impl Line {
    /// The time of a row of which so much is left.
    #[inline(always)]
    pub(crate) fn time(&self, row: usize, rest: i64) -> Timestamp {
        let ticks = predicted(self.period, row).wrapping_add(rest);
        Timestamp::from_nanos(self.first.wrapping_add(ticks.wrapping_mul(self.tick)))
    }
}

impl<'a> Lookup<'a> {
    /// What is looked for is only found if the times ascend, as those of a block do that is as it was written.
    pub(crate) fn take(column: Cursor<'a>, count: usize) -> Result<Lookup<'a>, Malformed> {
        let mut cursor = column;
        let Header { codec, first, tick } = Header::take(&mut cursor)?;
        let form = match codec {
            STEP => Form::Step(cursor.zigzag()?),
            LINEAR => {
                let line = Line { first, tick, period: cursor.i64()? };
                Form::Linear { line, rests: int::Lookup::take(&mut cursor, count)? }
            }
            _ => Form::All(take(&mut { column }, count)?),
        };
        Ok(Lookup { count, first, form })
    }

    pub(crate) fn get(&self, row: usize) -> Timestamp {
        match &self.form {
            Form::Step(step) => Timestamp::from_nanos(stepped(self.first, *step, row)),
            Form::Linear { line, rests } => line.time(row, rests.get(row)),
            Form::All(times) => times.get(row).copied().unwrap_or_default(),
        }
    }

    /// How they are made of integers, and of which, if these lie packed or are not needed. The column is that of the times.
    pub(crate) fn laid(&self, mut column: Cursor<'a>) -> Result<Option<(Clock, Option<int::Laid<'a>>)>, Malformed> {
        match &self.form {
            Form::Step(step) => {
                // A step is a period without a fraction, if it is not too long for that.
                let line = |period| Line { first: self.first, tick: 1, period };
                return Ok(step.checked_mul(1 << PERIOD_BITS).map(|period| (Clock::Line(line(period)), None)));
            }
            Form::Linear { line, rests: int::Lookup::Packed(laid) } => {
                return Ok(Some((Clock::Line(*line), Some(laid.clone()))));
            }
            Form::Linear { .. } => return Ok(None),
            Form::All(_) => {}
        }
        let Header { codec, tick, .. } = Header::take(&mut column)?;
        if codec != DELTA {
            return Ok(None);
        }
        let laid = int::Laid::take(&mut column, self.count.saturating_sub(1))?.filter(|laid| laid.first.is_none());
        Ok(laid.map(|laid| (Clock::Steps(tick), Some(laid))))
    }

    /// How many rows lie before a time.
    pub(crate) fn rows_before(&self, time: Timestamp) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds each of some times, and takes rows without the others.
    #[expect(clippy::indexing_slicing, reason = "a test may panic")]
    fn look_up(bytes: &[u8], times: &[Timestamp], name: &str) {
        let lookup = Lookup::take(Cursor::new(bytes), times.len()).expect("it was written just now");
        for row in (0..times.len()).step_by(1 + times.len() / 97) {
            assert_eq!(lookup.get(row), times[row], "{name}: row {row}");
            for time in [-1, 0, 1].map(|off| Timestamp::from_nanos(times[row].nanos().saturating_add(off))) {
                let before = times.partition_point(|other| *other < time);
                assert_eq!(lookup.rows_before(time), before, "{name}: {time} of {}", times.len());
            }
            for rows in [0..row, row..times.len(), row / 3..row] {
                let taken = take_rows(&mut Cursor::new(bytes), times.len(), rows.clone());
                assert_eq!(taken.as_deref(), Ok(&times[rows]), "{name}");
            }
        }
    }

    #[test]
    fn times_of_every_habit_come_back() {
        let noise = |i: i64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as u64 >> 45) as i64;
        for count in [1i64, 2, 3, 100, 600, 8192] {
            let cases: [(&str, Vec<i64>); 7] = [
                ("equal", vec![7; count as usize]),
                ("exact", (0..count).map(|i| i * 100_000_000).collect()),
                ("jitter", (0..count).map(|i| 1_795_209_540_317_861_794 + i * 100_000_000 + noise(i)).collect()),
                ("ticks", (0..count).map(|i| i * 71_428_571 + i / 3 * 11).collect()),
                ("milliseconds", (0..count).map(|i| (i * 100 + noise(i) % 9) * 1_000_000 - 1_000).collect()),
                ("microseconds, on change", (0..count).map(|i| (i * i * 977 + noise(i) % 1000) * 1_000).collect()),
                (
                    "far apart",
                    (0..count).map(|i| if i * 2 < count { i64::MIN + i } else { i64::MAX - count + i }).collect(),
                ),
            ];
            for (name, nanos) in cases {
                let times: Vec<Timestamp> = nanos.into_iter().map(Timestamp::from_nanos).collect();
                let mut bytes = Vec::new();
                put(&mut bytes, &times, Effort::Flush);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(take(&mut cursor, times.len()).as_ref(), Ok(&times), "{name} of {count}");
                assert!(cursor.is_empty(), "{name} of {count}");
                look_up(&bytes, &times, name);
            }
        }
    }
}

//! Arrays: formulas that are computed element by element, at each moment at which one of their PVs changes.
//!
//! ```text
//!   A       [1 2 3]────────[1 2 4]──────────[1 2]───    what each holds, from sample to sample
//!   B       ──[9 9 9]───────────────[8 8 8]─────────
//!   A - B     [-8 -7 -6] [-8 -7 -5] [-7 -6 -4] ✗        ✗: their lengths differ, and nothing is known
//! ```
//! A number counts for each element of an array. Of each PV one batch is in memory, and of results one: whoever asks for the next says
//! how large they may be.

use std::ops::Range;

use query::{Before, Query, Request, Samples, Series};
use sample::{Batch, Column, TimeRange, Timestamp};

use crate::{
    formula::IsWanted,
    pairs::Side,
    program::{Kind, Program, Step},
    search::gaps_of,
    steps::{DAMAGE_TOLD, Gaps, READ_MAX, StepError, amounts},
    track::Track,
};

/// What a number takes as text, in which results are sent.
const TEXT_BYTES: usize = 24;

/// An expression that computes with arrays.
#[derive(Clone, Debug)]
pub struct ArrayProgram {
    pub(crate) program: Program,
    pub(crate) arrays: Vec<Series>,
}

impl ArrayProgram {
    /// Whether arrays come out of it, or numbers that they amount to.
    pub fn kind(&self) -> Kind {
        self.program.kind
    }

    /// In which units; none if that is not known.
    pub fn units(&self) -> Option<&str> {
        self.program.units()
    }

    /// How many step functions of numbers it has beside the arrays.
    pub fn tracks(&self) -> usize {
        self.program.tracks()
    }

    /// How many bytes the windows of its moving averages take at most.
    pub fn window_bytes(&self) -> usize {
        self.program.window_bytes()
    }

    /// With how many PVs' arrays it computes.
    pub fn arrays(&self) -> usize {
        self.arrays.len()
    }
}

/// What an expression is at a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayValue {
    /// It is not known.
    Unknown,
    /// Arrays of these lengths do not go together.
    Unequal(usize, usize),
    /// A number, NaN if it is not known.
    Number(f64),
    /// Numbers.
    Array(Vec<f64>),
}

/// The values of an expression, from each moment to the next.
pub struct ArrayResults {
    program: ArrayProgram,
    lanes: Vec<ArrayLane>,
    sides: Vec<Side>,
    /// The next moment.
    at: Option<i64>,
    to: i64,
    is_wanted: IsWanted,
}

/// One PV with arrays, as it is gone through.
struct ArrayLane {
    samples: Samples,
    batch: Batch,
    /// The first row that is later than the present moment.
    next: usize,
    /// The row that holds, if it is not of the batch any more.
    held: Option<Batch>,
    /// From when on it does not hold any more, as what came next is damaged.
    unknown_from: Option<i64>,
    is_over: bool,
    gaps: Gaps,
    read: u64,
    damage: Vec<String>,
}

impl ArrayLane {
    fn of(query: &Query, series: &Series, range: TimeRange) -> Result<ArrayLane, StepError> {
        let before = match range.t0.nanos().checked_sub(1) {
            Some(before) => query.last_before(series, Timestamp::from_nanos(before))?,
            None => None,
        };
        let request = Request { series: series.clone(), range, before: Before::None };
        Ok(ArrayLane {
            samples: query.samples(&request),
            batch: Batch::new(sample::ValueType::array(sample::Element::F64)),
            next: 0,
            held: before.as_ref().map(Batch::of),
            unknown_from: None,
            is_over: false,
            gaps: gaps_of(query, series, range.t1)?,
            read: 0,
            damage: Vec::new(),
        })
    }

    /// Has a row at hand that is later than the present moment, unless there is none.
    fn fill(&mut self) -> Result<(), StepError> {
        while !self.is_over && self.next == self.batch.len() {
            let more = match self.samples.next() {
                None => {
                    self.is_over = true;
                    return Ok(());
                }
                Some(Err(error)) if error.is_damage() => {
                    // What is not there may have changed at once after the last that is.
                    self.hold_last();
                    let last = self.held.as_ref().and_then(|held| held.times().last());
                    self.unknown_from = last.map(|time| time.nanos().saturating_add(1));
                    (self.batch, self.next) = (Batch::new(self.batch.value_type()), 0);
                    if self.damage.len() < DAMAGE_TOLD {
                        self.damage.push(error.to_string());
                    }
                    continue;
                }
                Some(more) => more?,
            };
            self.hold_last();
            let elements = if let Column::Array(arrays) = more.values() { arrays.elements().len() } else { 0 };
            self.read += (more.len() + elements) as u64;
            (self.batch, self.next) = (more, 0);
        }
        Ok(())
    }

    /// Keeps the last row of the batch, which holds until the next one.
    fn hold_last(&mut self) {
        if let Some(last) = self.batch.len().checked_sub(1) {
            (self.held, self.unknown_from) = (Some(self.batch.slice(last..last + 1)), None);
        }
    }

    /// Goes on to a moment: of samples of equal time the last counts.
    fn advance(&mut self, at: i64) -> Result<(), StepError> {
        loop {
            self.fill()?;
            match self.batch.times().get(self.next) {
                Some(time) if time.nanos() <= at => self.next += 1,
                _ => return Ok(()),
            }
        }
    }

    /// When it changes next behind a moment to which it has gone on.
    fn changes_after(&self, at: i64) -> Option<i64> {
        let sample = self.batch.times().get(self.next).map(|time| time.nanos());
        let gap = self.gaps.get(self.gaps.partition_point(|gap| gap.1 <= at));
        let edge = gap.map(|(from, to)| if *from > at { *from } else { *to });
        let unknown = self.unknown_from.filter(|from| self.next == 0 && *from > at);
        [sample, edge, unknown].into_iter().flatten().min()
    }

    /// What holds, as rows of a batch.
    fn holds(&self, at: i64) -> Option<(&Batch, usize)> {
        let gap = self.gaps.get(self.gaps.partition_point(|gap| gap.1 <= at));
        if gap.is_some_and(|gap| gap.0 <= at) {
            return None;
        }
        match self.next.checked_sub(1) {
            Some(row) => Some((&self.batch, row)),
            None if self.unknown_from.is_some_and(|from| from <= at) => None,
            None => self.held.as_ref().map(|held| (held, 0)),
        }
    }
}

/// The numbers of a value, and whether it is an array.
enum Elements<'b> {
    Array(&'b Column, Range<usize>),
    Number(f64),
    Unknown,
}

fn elements_of(held: Option<(&Batch, usize)>) -> Elements<'_> {
    match held {
        None => Elements::Unknown,
        Some((batch, row)) => match batch.values() {
            Column::Array(arrays) => Elements::Array(arrays.elements(), arrays.range(row)),
            column => column.f64_at(row).map_or(Elements::Unknown, Elements::Number),
        },
    }
}

impl ArrayResults {
    /// Of a range, for as long as they are wanted.
    pub fn of(
        query: &Query,
        program: ArrayProgram,
        range: TimeRange,
        is_wanted: IsWanted,
    ) -> Result<ArrayResults, StepError> {
        let lane = |series: &Series| ArrayLane::of(query, series, range);
        let lanes = program.arrays.iter().map(lane).collect::<Result<_, StepError>>()?;
        let alone = |track: &Track| {
            let tracks = vec![track.clone()];
            let of = Program { steps: vec![Step::Track(0)], tracks, kind: Kind::Number, dwell: None, units: None };
            Side::of(query, &of, range, &is_wanted)
        };
        let sides = program.program.tracks.iter().map(alone).collect::<Result<_, StepError>>()?;
        let at = (range.t0 < range.t1).then_some(range.t0.nanos());
        Ok(ArrayResults { program, lanes, sides, at, to: range.t1.nanos(), is_wanted })
    }

    /// How many numbers were read.
    pub fn read(&self) -> u64 {
        let arrays: u64 = self.lanes.iter().map(|lane| lane.read).sum();
        arrays + self.sides.iter().map(|side| side.results.read()).sum::<u64>()
    }

    /// Sentences about what is damaged.
    pub fn take_damage(&mut self) -> Vec<String> {
        let arrays = self.lanes.iter_mut().flat_map(|lane| std::mem::take(&mut lane.damage));
        let numbers = self.sides.iter_mut().flat_map(|side| side.results.take_damage());
        arrays.chain(numbers).collect()
    }

    /// The next moment and its value; none at the end. `may` is asked before a value is made that takes so many bytes while it is.
    pub fn next<E: From<StepError>>(
        &mut self,
        may: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<(Timestamp, ArrayValue)>, E> {
        let Some(at) = self.at else { return Ok(None) };
        if !(self.is_wanted)() {
            return Err(StepError::Unwanted.into());
        }
        if self.read() > READ_MAX {
            return Err(StepError::TooMany(READ_MAX).into());
        }
        let mut after = i64::MAX;
        for lane in &mut self.lanes {
            lane.advance(at)?;
            after = after.min(lane.changes_after(at).unwrap_or(i64::MAX));
        }
        let mut numbers = Vec::with_capacity(self.sides.len());
        for side in &mut self.sides {
            let piece = side.at(at)?;
            after = after.min(piece.map_or(i64::MAX, |piece| piece.to));
            numbers.push(piece.map_or(f64::NAN, |piece| piece.number));
        }
        self.at = (after < self.to).then_some(after);
        let lengths = self.lanes.iter().map(|lane| match elements_of(lane.holds(at)) {
            Elements::Array(_, range) => range.len(),
            _ => 0,
        });
        let longest = lengths.max().unwrap_or(0);
        // No more arrays than there are operands lie on the stack.
        let operands = self.program.program.steps.iter().filter(|step| matches!(step, Step::Array(_))).count();
        let bytes_each = size_of::<f64>() * operands.max(1) + TEXT_BYTES;
        may(longest.saturating_mul(bytes_each))?;
        Ok(Some((Timestamp::from_nanos(at), self.value(at, &numbers))))
    }

    fn value(&self, at: i64, numbers: &[f64]) -> ArrayValue {
        let mut stack: Vec<ArrayValue> = Vec::new();
        for step in &self.program.program.steps {
            let made = match step {
                Step::Number(number) => ArrayValue::Number(*number),
                Step::Track(track) => ArrayValue::Number(numbers[*track]),
                Step::Array(lane) => match elements_of(self.lanes[*lane].holds(at)) {
                    Elements::Unknown => ArrayValue::Unknown,
                    Elements::Number(number) => ArrayValue::Number(number),
                    Elements::Array(column, range) => {
                        ArrayValue::Array(range.map(|index| column.f64_at(index).unwrap_or(f64::NAN)).collect())
                    }
                },
                Step::Amounts(what) => match stack.pop().expect(BEFORE) {
                    ArrayValue::Array(array) => ArrayValue::Number(amounts(what, array.into_iter())),
                    ArrayValue::Number(number) => ArrayValue::Number(amounts(what, std::iter::once(number))),
                    other => other,
                },
                Step::One(how) => match stack.pop().expect(BEFORE) {
                    ArrayValue::Number(number) => ArrayValue::Number(how.of(number)),
                    ArrayValue::Array(mut array) => {
                        array.iter_mut().for_each(|number| *number = how.of(*number));
                        ArrayValue::Array(array)
                    }
                    other => other,
                },
                Step::Two(how) => {
                    let b = stack.pop().expect(BEFORE);
                    together(stack.pop().expect(BEFORE), b, |a, b| how.of(a, b))
                }
            };
            stack.push(made);
        }
        match stack.pop().expect("a program has a result") {
            ArrayValue::Number(number) if self.program.kind() == Kind::Array && !number.is_nan() => {
                ArrayValue::Array(vec![number])
            }
            ArrayValue::Number(number) if number.is_nan() => ArrayValue::Unknown,
            value => value,
        }
    }
}

/// What stands before a step.
const BEFORE: &str = "the binder puts what a step takes before it";

/// Element by element; a number counts for each element. What is not known leaves nothing known.
fn together(a: ArrayValue, b: ArrayValue, of: impl Fn(f64, f64) -> f64) -> ArrayValue {
    match (a, b) {
        (ArrayValue::Number(a), ArrayValue::Number(b)) => ArrayValue::Number(of(a, b)),
        (ArrayValue::Array(_), ArrayValue::Number(number)) | (ArrayValue::Number(number), ArrayValue::Array(_))
            if number.is_nan() =>
        {
            ArrayValue::Unknown
        }
        (ArrayValue::Array(mut array), ArrayValue::Number(b)) => {
            array.iter_mut().for_each(|a| *a = of(*a, b));
            ArrayValue::Array(array)
        }
        (ArrayValue::Number(a), ArrayValue::Array(mut array)) => {
            array.iter_mut().for_each(|b| *b = of(a, *b));
            ArrayValue::Array(array)
        }
        (ArrayValue::Array(a), ArrayValue::Array(b)) if a.len() != b.len() => ArrayValue::Unequal(a.len(), b.len()),
        (ArrayValue::Array(mut a), ArrayValue::Array(b)) => {
            a.iter_mut().zip(&b).for_each(|(a, b)| *a = of(*a, *b));
            ArrayValue::Array(a)
        }
        (unequal @ ArrayValue::Unequal(..), _) | (_, unequal @ ArrayValue::Unequal(..)) => unequal,
        (ArrayValue::Unknown, _) | (_, ArrayValue::Unknown) => ArrayValue::Unknown,
    }
}

//! A program: an expression whose names are tracks. It is run on columns of numbers, or on bounds of them.
//!
//! Conditions are numbers, too: 1 is true, 0 is false, and NaN means that it is not known (Kleene, 1938): what is false whatever the rest
//! may be is false.

use query::{Series, processors};

use crate::{
    bounds::Bounds,
    steps::WINDOW_BYTES_MAX,
    text::{Arithmetic, Dwell, NumberComparison},
    track::{Track, What},
};

/// What comes out of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// True, false, or not known.
    Condition,
    /// Numbers, a changing count of them.
    Array,
}

/// An expression whose PVs are known.
#[derive(Clone, Debug)]
pub struct Program {
    /// In the order in which they are done: each takes what it needs from a stack, and puts its result there.
    pub(crate) steps: Vec<Step>,
    pub(crate) tracks: Vec<Track>,
    pub(crate) kind: Kind,
    pub(crate) dwell: Option<Dwell>,
    /// In which units the number is, where that is known.
    pub(crate) units: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Number(f64),
    Track(usize),
    /// The array that a PV holds, which only `arrays` runs.
    Array(usize),
    /// What the array before amounts to, likewise.
    Amounts(What),
    One(Unary),
    Two(Binary),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negative,
    Not,
    Abs,
    Sqrt,
    Exp,
    Log,
    Log10,
    Sin,
    Cos,
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Counts(Arithmetic),
    Compares(NumberComparison),
    And,
    Or,
    Min,
    Max,
}

impl Unary {
    pub(crate) fn of(self, a: f64) -> f64 {
        match self {
            Unary::Negative => -a,
            Unary::Not => 1.0 - a,
            Unary::Abs => a.abs(),
            Unary::Sqrt => a.sqrt(),
            Unary::Exp => a.exp(),
            Unary::Log => a.ln(),
            Unary::Log10 => a.log10(),
            Unary::Sin => a.sin(),
            Unary::Cos => a.cos(),
            Unary::Round => a.round(),
        }
    }
}

impl Binary {
    pub(crate) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Counts(arithmetic) => arithmetic.of(a, b),
            Binary::Compares(_) if a.is_nan() || b.is_nan() => f64::NAN,
            Binary::Compares(compare) => f64::from(u8::from(compare.holds(a, b))),
            Binary::And if a == 0.0 || b == 0.0 => 0.0,
            Binary::Or if a == 1.0 || b == 1.0 => 1.0,
            Binary::And | Binary::Or | Binary::Min | Binary::Max if a.is_nan() || b.is_nan() => f64::NAN,
            Binary::And | Binary::Min => a.min(b),
            Binary::Or | Binary::Max => a.max(b),
        }
    }
}

impl Arithmetic {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::Remainder => a % b,
            Arithmetic::Power if a.is_nan() || b.is_nan() => f64::NAN, // 1 to the power of what is not known, too
            Arithmetic::Power => a.powf(b),
        }
    }
}

impl NumberComparison {
    pub(crate) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            NumberComparison::Equal => a == b,
            NumberComparison::Unequal => a != b,
            NumberComparison::Less => a < b,
            NumberComparison::LessOrEqual => a <= b,
            NumberComparison::Greater => a > b,
            NumberComparison::GreaterOrEqual => a >= b,
        }
    }
}

/// Where a program is run on numbers.
const NO_ARRAYS: &str = "a program with arrays is one of arrays";

/// Columns that are made and no longer needed, for the next ones.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    stack: Vec<Vec<f64>>,
    free: Vec<Vec<f64>>,
}

impl Program {
    /// The kind of value that the program gives.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// In which units a number that comes out of it is; none if that is not known.
    pub fn units(&self) -> Option<&str> {
        self.units.as_deref()
    }

    /// The PV whose numbers it is as they are, if it is no more than that.
    pub(crate) fn plain(&self) -> Option<&Series> {
        match (&*self.steps, &*self.tracks) {
            ([Step::Track(0)], [Track { series, what: What::Value }]) => Some(series),
            _ => None,
        }
    }

    /// How many step functions of PVs it is made of, each of which has a batch or two in memory.
    pub fn tracks(&self) -> usize {
        self.tracks.len()
    }

    /// How many bytes the windows of its moving averages take at most.
    pub fn window_bytes(&self) -> usize {
        self.tracks.iter().filter(|track| matches!(track.what, What::Average(_))).count() * WINDOW_BYTES_MAX
    }

    /// How many threads are worth it to run it on several stretches of time: each has its batches, and no two have large windows.
    pub fn threads(&self) -> usize {
        if self.window_bytes() > 0 { 1 } else { processors() }
    }

    /// Whether anything in it may come out otherwise for 0 than for -0.
    pub(crate) fn divides(&self) -> bool {
        let divides = |step: &Step| {
            matches!(step, Step::Two(Binary::Counts(Arithmetic::Divide | Arithmetic::Remainder | Arithmetic::Power)))
        };
        self.steps.iter().any(divides)
    }

    /// The result for each row of the columns of its tracks.
    pub(crate) fn run(&self, columns: &[Vec<f64>], rows: usize, scratch: &mut Scratch) -> Vec<f64> {
        for step in &self.steps {
            match step {
                Step::Number(number) => {
                    let mut column = scratch.empty();
                    column.resize(rows, *number);
                    scratch.stack.push(column);
                }
                Step::Track(track) => {
                    let mut column = scratch.empty();
                    column.extend_from_slice(&columns[*track][..rows]);
                    scratch.stack.push(column);
                }
                Step::Array(_) | Step::Amounts(_) => unreachable!("{NO_ARRAYS}"),
                Step::One(how) => {
                    let column = scratch.stack.last_mut().expect("the binder puts what a step takes before it");
                    column.iter_mut().for_each(|number| *number = how.of(*number));
                }
                Step::Two(how) => {
                    let others = scratch.stack.pop().expect("the binder puts what a step takes before it");
                    let column = scratch.stack.last_mut().expect("the binder puts what a step takes before it");
                    apply(*how, column, &others);
                    scratch.free.push(others);
                }
            }
        }
        scratch.stack.pop().expect("a program has a result")
    }

    /// What the result may be where the tracks lie within bounds.
    pub(crate) fn bounds(&self, tracks: impl Fn(usize) -> Bounds) -> Bounds {
        let mut stack: Vec<Bounds> = Vec::new();
        for step in &self.steps {
            let made = match step {
                Step::Number(number) => Bounds::one(*number),
                Step::Track(track) => tracks(*track),
                Step::Array(_) | Step::Amounts(_) => unreachable!("{NO_ARRAYS}"),
                Step::One(how) => stack.pop().expect("the binder puts what a step takes before it").one_of(*how),
                Step::Two(how) => {
                    let b = stack.pop().expect("the binder puts what a step takes before it");
                    stack.pop().expect("the binder puts what a step takes before it").two_of(*how, b)
                }
            };
            stack.push(made);
        }
        stack.pop().expect("a program has a result")
    }
}

/// Where nothing has to be looked at but two numbers, the loop is one for each sign, which a processor does for several rows at once.
fn apply(how: Binary, column: &mut [f64], others: &[f64]) {
    let rows = column.iter_mut().zip(others);
    match how {
        Binary::Counts(Arithmetic::Add) => rows.for_each(|(a, b)| *a += b),
        Binary::Counts(Arithmetic::Subtract) => rows.for_each(|(a, b)| *a -= b),
        Binary::Counts(Arithmetic::Multiply) => rows.for_each(|(a, b)| *a *= b),
        Binary::Compares(NumberComparison::Greater) => rows.for_each(|(a, b)| *a = known(*a, *b, *a > *b)),
        Binary::Compares(NumberComparison::Less) => rows.for_each(|(a, b)| *a = known(*a, *b, *a < *b)),
        Binary::Compares(NumberComparison::Equal) => rows.for_each(|(a, b)| *a = known(*a, *b, *a == *b)),
        how => rows.for_each(|(a, b)| *a = how.of(*a, *b)),
    }
}

#[inline]
fn known(a: f64, b: f64, holds: bool) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { f64::from(u8::from(holds)) }
}

impl Scratch {
    fn empty(&mut self) -> Vec<f64> {
        let mut column = self.free.pop().unwrap_or_default();
        column.clear();
        column
    }

    /// Gives back what `run` gave.
    pub(crate) fn give(&mut self, column: Vec<f64>) {
        self.free.push(column);
    }
}

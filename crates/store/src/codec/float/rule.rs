//! By which rule floats are made of integers, for whoever looks at a few of them.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{
    Bits, CODES_MAX, CONSTANT, DICTIONARY, DIGITS_MAX, DISTINCT_MAX, GRID, ORDERED, SCALED, SORTED, at_place,
    corrected, take_bits,
};
use crate::{
    bytes::{Cursor, Malformed},
    codec::{grid, int},
};

/// How each float of a column comes of an integer, where this takes no more than the integer.
#[derive(Debug)]
pub(crate) enum Rule<F> {
    /// There are no integers.
    Constant(F),
    Scaled(f64),
    Grid {
        least: f64,
        step: f64,
    },
    Corrected {
        least: f64,
        step: f64,
        corrections: Box<[i16]>,
    },
    Ordered,
    Table(Box<[F]>),
}

impl<F: Bits> Rule<F> {
    /// That of a column of so many floats, the integers of which are what is left of it; none of other columns.
    pub(crate) fn take(cursor: &mut Cursor, count: usize) -> Result<Option<Rule<F>>, Malformed> {
        Ok(match cursor.u8()? {
            CONSTANT => Some(Rule::Constant(take_bits(cursor)?)),
            SCALED => {
                let digits = cursor.u8()?;
                (digits <= DIGITS_MAX).then(|| Rule::Scaled(10f64.powi(i32::from(digits))))
            }
            GRID => {
                let (least, step) = (f64::from_bits(cursor.u64()?), f64::from_bits(cursor.u64()?));
                let len = cursor.count(CODES_MAX.min(count))?;
                if len == 0 {
                    return Ok(Some(Rule::Grid { least, step }));
                }
                let corrections: Option<Box<[i16]>> =
                    int::take(cursor, len)?.into_iter().map(|correction| i16::try_from(correction).ok()).collect();
                corrections.map(|corrections| Rule::Corrected { least, step, corrections })
            }
            ORDERED => Some(Rule::Ordered),
            DICTIONARY => {
                let len = cursor.count(DISTINCT_MAX)?;
                Some(Rule::Table((0..len).map(|_| take_bits(cursor)).collect::<Result<_, _>>()?))
            }
            SORTED => {
                let len = cursor.count(DISTINCT_MAX)?;
                let table = int::take_as(cursor, len, |_, place| at_place(place), |_| true)?;
                Some(Rule::Table(table.into()))
            }
            _ => None,
        })
    }

    /// The float of each integer; none if there is none for one of them.
    pub(crate) fn floats(&self, integers: &[i64]) -> Option<Vec<F>> {
        let integers = integers.iter().copied();
        match self {
            Rule::Constant(float) => Some(integers.map(|_| *float).collect()),
            Rule::Scaled(scale) => Some(integers.map(|integer| F::narrow(integer as f64 / scale)).collect()),
            Rule::Grid { least, step } => Some(integers.map(|code| grid::value(*least, *step, code)).collect()),
            Rule::Corrected { least, step, corrections } => {
                let correction = |code: i64| usize::try_from(code).ok().and_then(|code| corrections.get(code));
                let float = |code| Some(corrected(*least, *step, code, i64::from(*correction(code)?)));
                integers.map(float).collect()
            }
            Rule::Ordered => Some(integers.map(at_place).collect()),
            Rule::Table(table) => integers.map(|index| table.get(usize::try_from(index).ok()?).copied()).collect(),
        }
    }

    /// What it takes of memory beside itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Rule::Corrected { corrections, .. } => size_of_val(&**corrections),
            Rule::Table(table) => size_of_val(&**table),
            Rule::Constant(_) | Rule::Scaled(_) | Rule::Grid { .. } | Rule::Ordered => 0,
        }
    }
}

//! A request for samples.

use sample::TimeRange;

use crate::Series;

/// Whether the sample in force at the beginning of a range is wanted too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Only samples within the range.
    None,
    /// The last sample at or before the range's beginning comes first: the value that still holds there.
    Include,
}

/// How a range is cut into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Into so many bins of equal length, to the nanosecond.
    Equal(usize),
    /// Into at most so many bins that begin at multiples of a round length since 1970 and reach beyond the range at both ends.
    /// Whoever asks for neighbouring ranges gets the same bins, and the store answers from rows of its levels.
    Aligned(usize),
    /// Into bins of so many nanoseconds that begin at multiples of that since 1970: those of a view that was asked for before.
    Wide(i64),
}

impl Cut {
    /// How many bins a range is cut into at most.
    pub fn count(self, range: TimeRange) -> usize {
        match self {
            Cut::Equal(count) | Cut::Aligned(count) => count,
            Cut::Wide(width) => {
                let (t0, t1) = (i128::from(range.t0.nanos()), i128::from(range.t1.nanos()));
                let width = i128::from(width.max(1));
                let bins = (t1 - 1).max(t0).div_euclid(width) - t0.div_euclid(width) + 1;
                usize::try_from(bins).unwrap_or(usize::MAX)
            }
        }
    }
}

/// Which samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose.
    pub series: Series,
    /// From when to when.
    pub range: TimeRange,
    /// Whether the one before belongs to the answer.
    pub before: Before,
}

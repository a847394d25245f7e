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

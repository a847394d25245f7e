//! A track: a step function of time that a PV gives. Its number holds from one step to the next; NaN means that it is not known.

use std::sync::Arc;

use query::Series;
use sample::Timestamp;

/// Which step function of which PV.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Track {
    pub(crate) series: Series,
    pub(crate) what: What,
}

/// What is made of the samples of a PV. Of samples of equal time the last counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// Their numbers.
    Value,
    /// 1 where the value is a state, or a text, of that name, and 0 where it is not.
    Is(State),
    /// Their alarm severity, 0 to 4.
    Severity,
    /// 1 in gaps and before the first sample, and 0 otherwise: always known.
    Missing,
    /// 1 where the number is NaN.
    IsNan,
    /// 1 where the newest sample is at least so many nanoseconds old, or there was none: always known.
    Silent(i64),
    /// The number before.
    Previous,
    /// How much it differs from the one before.
    Change,
    /// The same by the seconds between both.
    Derivative,
    /// The number times seconds, since the beginning of the range.
    Integral,
    /// The mean over so many nanoseconds before the newest sample, each number counting for as long as it held.
    Average(i64),
    /// What the number was so many nanoseconds before.
    Shift(i64),
    /// That element of an array, counted from 0.
    Element(usize),
    /// How many elements an array has.
    Length,
    /// What the elements of an array amount to.
    Sum,
    Mean,
    Least,
    Greatest,
}

impl What {
    /// Whether what came before a range matters to it, however long ago.
    pub(crate) fn is_of_whole_range(&self) -> bool {
        matches!(self, What::Integral)
    }

    /// Whether it is made of arrays.
    pub(crate) fn is_of_arrays(&self) -> bool {
        matches!(self, What::Element(_) | What::Length | What::Sum | What::Mean | What::Least | What::Greatest)
    }
}

/// A state by its name, which is a number that may change with the metadata of the PV.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) name: Arc<str>,
    /// From when on it has which number; none if no state is called so.
    pub(crate) numbers: Arc<[(Timestamp, Option<f64>)]>,
}

impl State {
    /// Its number at a time. Before anything was known of the PV it is the first that was.
    pub(crate) fn number_at(&self, time: Timestamp) -> Option<f64> {
        let after = self.numbers.partition_point(|(since, _)| *since <= time);
        self.numbers.get(after.saturating_sub(1)).and_then(|(_, number)| *number)
    }

    /// Whether it has the same number at both times and all between.
    pub(crate) fn is_constant(&self, from: Timestamp, to: Timestamp) -> bool {
        let number = self.number_at(from);
        self.numbers.iter().filter(|(since, _)| *since > from && *since <= to).all(|(_, other)| *other == number)
    }
}

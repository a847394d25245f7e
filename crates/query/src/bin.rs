//! A bin: what was recorded in a stretch of time, in a few numbers.

use sample::{Severity, Timestamp};

/// The samples from `t0` up to, not including, `t1`, in a few numbers.
///
/// Numbers come from numeric scalars (booleans and enum indices too); texts, arrays and structures only count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Where it begins.
    pub t0: Timestamp,
    /// Where it ends.
    pub t1: Timestamp,
    /// How many samples there are.
    pub count: u64,
    /// How many of them are NaN.
    pub nan_count: u64,
    /// How many of them are of severity INVALID.
    pub invalid_count: u64,
    /// The smallest number; NaN where there is none.
    pub min: f64,
    /// The largest number; NaN where there is none.
    pub max: f64,
    /// The mean of the finite numbers; NaN where there is none.
    pub mean: f64,
    /// The standard deviation of the finite numbers as a sample of a larger whole (n - 1); 0 for a single one, NaN where there is
    /// none, infinite where the squares have no float.
    pub std: f64,
    /// The mean over time: each finite number counts for as long as it was held. NaN where none was.
    pub time_weighted_mean: f64,
    /// For so many nanoseconds a finite number was held.
    pub covered: u64,
    /// The first number, which may itself be NaN; NaN where there is none.
    pub first: f64,
    /// The last number, which may itself be NaN; NaN where there is none.
    pub last: f64,
    /// The worst severity.
    pub severity_max: Severity,
}

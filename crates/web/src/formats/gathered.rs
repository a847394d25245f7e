//! Samples gathered before they are written, for formats that need to know how many there are, or between what they lie.

use sample::{Column, Element, Shape, Timestamp};
use service::Lease;

use super::bars::Bars;
use crate::{
    formats::span_samples::InSpans,
    refusal::{Code, Refusal},
};

/// So many numbers at most: 32 MB of them.
const NUMBERS_MAX: usize = 1 << 22;

/// What a number takes, with its time and what is written of both.
const NUMBER_BYTES: usize = 56;

/// Times with one number each, or with as many as the longest array has.
#[derive(Default)]
pub(crate) struct GatheredNumbers {
    pub(crate) times: Vec<Timestamp>,
    rows: Vec<f64>,
    ends: Vec<usize>,
}

impl GatheredNumbers {
    /// All samples, if they are numbers and not too many.
    pub(crate) fn of(samples: InSpans, has_bars: bool, room: &Lease) -> Result<GatheredNumbers, Refusal> {
        let mut gathered = GatheredNumbers::default();
        for batch in samples {
            let (batch, _) = Bars::split(batch?, has_bars);
            let value_type = batch.value_type();
            let numbers = batch.byte_size() / size_of::<f64>();
            room.grow_by(batch.len().max(numbers), NUMBER_BYTES)?;
            if matches!(value_type.element, Element::String | Element::Structure) {
                let message = format!("samples of type {value_type} cannot be had in this format, only numbers can");
                return Err(Refusal::new(Code::BadRequest, message).hint("json and raw have every type"));
            }
            for row in 0..batch.len() {
                match batch.values() {
                    Column::Array(arrays) if value_type.shape == Shape::Array => {
                        let numbers = arrays.range(row).map(|index| arrays.elements().f64_at(index));
                        gathered.rows.extend(numbers.map(|number| number.unwrap_or(f64::NAN)));
                    }
                    column => gathered.rows.push(column.f64_at(row).unwrap_or(f64::NAN)),
                }
                gathered.ends.push(gathered.rows.len());
            }
            gathered.times.extend(batch.times());
            if gathered.rows.len().max(gathered.times.len()) > NUMBERS_MAX {
                let message = format!("there are more than {NUMBERS_MAX} numbers, which this format cannot hold");
                return Err(Refusal::new(Code::TooLarge, message).hint("ask for a shorter range, or for csv or raw"));
            }
        }
        Ok(gathered)
    }

    /// The numbers of a row.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(row).and_then(|end| self.rows.get(start..*end)).unwrap_or_default()
    }

    /// The first number of a row, NaN if it has none.
    pub(crate) fn number(&self, row: usize) -> f64 {
        self.row(row).first().copied().unwrap_or(f64::NAN)
    }

    /// The same for a matrix with a row for each sample, as long as the longest, if that is not too large either.
    pub(crate) fn into_matrix(self) -> Result<GatheredNumbers, Refusal> {
        if self.times.len().saturating_mul(self.width()) <= NUMBERS_MAX {
            return Ok(self);
        }
        let (rows, width) = (self.times.len(), self.width());
        let message = format!("a matrix of {rows} rows of {width} numbers is too large, {NUMBERS_MAX} are possible");
        Err(Refusal::new(Code::TooLarge, message).hint("ask for a shorter range, or for csv or raw"))
    }

    /// How many numbers the longest row has, at least one.
    pub(crate) fn width(&self) -> usize {
        (0..self.times.len()).map(|row| self.row(row).len()).max().unwrap_or(1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_array_among_many_short_ones_is_no_matrix() {
        let mut gathered = GatheredNumbers::default();
        for row in 0..10_000 {
            gathered.rows.resize(gathered.rows.len() + if row == 0 { 100_000 } else { 1 }, 0.0);
            gathered.ends.push(gathered.rows.len());
            gathered.times.push(Timestamp::from_nanos(row));
        }
        assert_eq!((gathered.row(0).len(), gathered.row(1).len(), gathered.width()), (100_000, 1, 100_000));
        assert!(gathered.into_matrix().is_err());
        assert!(GatheredNumbers::default().into_matrix().is_ok());
    }
}

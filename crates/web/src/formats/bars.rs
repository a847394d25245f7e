//! Means with error bars: the operator gives pairs, the formats show the mean as the value and the deviation as a field.

use query::CONNECTION_CHANGE;
use sample::{Alarm, Batch, Column};

use crate::formats::appliance_values::java_double;

/// The field in which the deviation stands.
const FIELD: &str = "stdz";

/// The deviations of the rows of a batch; none where the rows are no pairs.
#[derive(Default)]
pub(crate) struct Bars(Vec<f64>);

impl Bars {
    /// Takes pairs apart: the batch of means, and the deviations.
    pub(crate) fn split(batch: Batch, has_bars: bool) -> (Batch, Bars) {
        let numbers = |batch: &Batch| match batch.values() {
            Column::Array(pairs) if has_bars => {
                let Column::F64(numbers) = pairs.elements() else { return None };
                let pair =
                    |row: usize| numbers.get(pairs.range(row)).and_then(|pair| Some((*pair.first()?, *pair.get(1)?)));
                (0..batch.len()).map(pair).collect::<Option<(Vec<f64>, Vec<f64>)>>()
            }
            _ => None,
        };
        let Some((means, deviations)) = numbers(&batch) else { return (batch, Bars::default()) };
        let means = batch.with_values(Column::F64(means)).expect("there is a mean for each row");
        (means, Bars(deviations))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name and text of the field of a row.
    pub(crate) fn field(&self, row: usize) -> Option<(String, String)> {
        self.0.get(row).map(|deviation| (FIELD.to_owned(), java_double(*deviation)))
    }
}

/// The field of a reduced sample in whose bin the connection was lost and came back.
pub(crate) fn connection_change(alarm: &Alarm) -> Option<(String, String)> {
    let is_told = alarm.message.as_deref() == Some(CONNECTION_CHANGE);
    is_told.then(|| ("connectionChange".to_owned(), "true".to_owned()))
}

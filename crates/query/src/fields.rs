//! Fields of a record as samples: `PV.HIHI` where it was not archived as a PV of its own.

use std::iter::Peekable;

use sample::{Alarm, Batch, Carried, Limits, Metadata, Sample, Timestamp, Value};

use crate::{Error, old::Fields};

/// No batch has more rows.
const BATCH_ROWS_MAX: usize = 8192;

/// What metadata says of a field that has a number: limits by their names, and the precision.
pub fn number_in(metadata: &Metadata, name: &str) -> Option<f64> {
    let low = |limits: Option<Limits>| limits.map(|limits| limits.low);
    let high = |limits: Option<Limits>| limits.map(|limits| limits.high);
    match name {
        "LOPR" => low(metadata.display),
        "HOPR" => high(metadata.display),
        "DRVL" => low(metadata.control),
        "DRVH" => high(metadata.control),
        "LOW" => low(metadata.warning),
        "HIGH" => high(metadata.warning),
        "LOLO" => low(metadata.alarm),
        "HIHI" => high(metadata.alarm),
        "PREC" => metadata.precision.map(f64::from),
        _ => None,
    }
}

/// The values of a field in order of time: those that samples of old archives carry, and those of the store's metadata.
pub struct FieldSamples {
    name: String,
    carried: Peekable<Fields>,
    own: Peekable<std::vec::IntoIter<(Timestamp, Metadata)>>,
}

impl FieldSamples {
    pub(crate) fn new(name: &str, carried: Fields, own: Vec<(Timestamp, Metadata)>) -> FieldSamples {
        FieldSamples { name: name.to_owned(), carried: carried.peekable(), own: own.into_iter().peekable() }
    }

    /// The next; none at its end. What is no number says nothing.
    fn next_sample(&mut self) -> Option<Sample> {
        loop {
            let own = self.own.peek().map(|(time, _)| *time);
            let carried = self.carried.peek().map(|carried| carried.time);
            let is_own = own.is_some_and(|own| carried.is_none_or(|carried| own < carried));
            let (time, number, alarm) = if is_own {
                let (time, metadata) = self.own.next()?;
                (time, number_in(&metadata, &self.name), Alarm::default())
            } else {
                let Carried { time, alarm, fields } = self.carried.next()?;
                let text = fields.into_iter().find(|(name, _)| *name == self.name);
                (time, text.and_then(|(_, text)| text.trim().parse().ok()), alarm)
            };
            if let Some(number) = number {
                return Some(Sample { time, value: Value::F64(number), alarm, pulse: 0, stamp: None });
            }
        }
    }
}

impl Iterator for FieldSamples {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        let mut batch = Batch::of(&self.next_sample()?);
        while batch.len() < BATCH_ROWS_MAX
            && let Some(sample) = self.next_sample()
        {
            let fits = batch.push(&sample);
            assert!(fits, "all of them are floats");
        }
        Some(Ok(batch))
    }
}

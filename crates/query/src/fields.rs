//! Fields of a record as samples: `PV.HIHI` where it was not archived as a PV of its own.

use std::iter::Peekable;

use archive::Carried;
use sample::{Alarm, Batch, Limits, Metadata, Sample, Timestamp, Value};

use crate::{Error, carried::AllCarried};

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
    carried: Peekable<AllCarried>,
    own: Peekable<std::vec::IntoIter<(Timestamp, Metadata)>>,
    /// What comes behind the batch that was given.
    failed: Option<Error>,
}

impl FieldSamples {
    pub(crate) fn new(name: &str, carried: AllCarried, own: Vec<(Timestamp, Metadata)>) -> FieldSamples {
        FieldSamples {
            name: name.to_owned(),
            carried: carried.peekable(),
            own: own.into_iter().peekable(),
            failed: None,
        }
    }

    /// The next; none at its end, nor where an old archive cannot be read on. What is no number says nothing.
    fn next_sample(&mut self) -> Option<Sample> {
        loop {
            if self.failed.is_some() {
                return None;
            }
            let own = self.own.peek().map(|(time, _)| *time);
            let carried = self.carried.peek().map(|carried| carried.as_ref().ok().map(|carried| carried.time));
            let is_own = own.is_some_and(|own| carried.is_none_or(|carried| Some(own) < carried));
            let (time, number, alarm) = if is_own {
                let (time, metadata) = self.own.next()?;
                (time, number_in(&metadata, &self.name), Alarm::default())
            } else {
                let Carried { time, alarm, fields, .. } = match self.carried.next()? {
                    Ok(carried) => carried,
                    Err(error) => {
                        self.failed = Some(error);
                        return None;
                    }
                };
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
        let Some(first) = self.failed.is_none().then(|| self.next_sample()).flatten() else {
            return self.failed.take().map(Err);
        };
        let mut batch = Batch::of(&first);
        while batch.len() < BATCH_ROWS_MAX
            && let Some(sample) = self.next_sample()
        {
            let fits = batch.push(&sample);
            assert!(fits, "all of them are floats");
        }
        Some(Ok(batch))
    }
}

#[cfg(test)]
mod tests {
    use archive::SourceError;

    use super::*;

    fn carried(seconds: i64, text: &str) -> Carried {
        let fields = vec![("HIHI".to_owned(), text.to_owned())];
        Carried { time: Timestamp::from_seconds(seconds, 0), alarm: Alarm::default(), fields, is_change: false }
    }

    #[test]
    fn an_archive_that_cannot_be_read_on_is_an_error_between_what_the_others_tell() {
        let broken = || Err(SourceError::piece("a file is damaged"));
        let first = vec![Ok(carried(1, "10")), broken(), Ok(carried(5, "50"))];
        let second = vec![Ok(carried(1, "10")), Ok(carried(3, "30")), Ok(carried(4, "no number"))];
        let fields = AllCarried::new(vec![Box::new(first.into_iter()), Box::new(second.into_iter())]);
        let told: Vec<String> = FieldSamples::new("HIHI", fields, Vec::new())
            .map(|item| item.map_or_else(|error| error.to_string(), |batch| format!("{:?}", batch.values())))
            .collect();
        assert_eq!(told, ["F64([10.0])", "a file is damaged", "F64([30.0, 50.0])"]);
    }
}

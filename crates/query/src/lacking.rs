//! What one recorder of a PV lacks and another one has: just that is taken over when the two become one archive.
//!
//! ```text
//!   own     ──●──●─────●──            ● the same sample, or one update that arrived twice
//!   other   ──●──○──○──●──   ──► ○○
//! ```

use std::{collections::VecDeque, mem};

use archive::{SampleStream, SourceError};
use sample::{Batch, Sample, Timestamp};

use crate::{
    arrivals::{APART_MAX, BYTES_MAX, SAMPLES_MAX, is_arrival, is_one_update},
    merge::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, is_alike},
};

/// The samples that `other` has and `own` lacks, in about the order of time. Of two arrivals of one update that of `own` stays, whichever
/// was first. `own` is to reach twenty seconds further to both sides than `other`. Behind an error nothing more comes.
pub fn lacking(own: SampleStream, other: SampleStream) -> SampleStream {
    Box::new(Lacking {
        own: Rows::of(own),
        other: Rows::of(other),
        own_arrivals: Waiting::default(),
        waiting: Waiting::default(),
        lacking: Waiting::default(),
        is_over: false,
    })
}

/// A stream, sample by sample.
struct Rows {
    samples: SampleStream,
    batch: Option<(Batch, usize)>,
}

impl Rows {
    fn of(samples: SampleStream) -> Rows {
        Rows { samples, batch: None }
    }

    /// The time of the next one; none at the end.
    fn time(&mut self) -> Result<Option<Timestamp>, SourceError> {
        loop {
            if let Some((batch, row)) = self.batch.as_ref().filter(|(batch, row)| *row < batch.len()) {
                return Ok(Some(batch.times()[*row]));
            }
            match self.samples.next() {
                None => return Ok(None),
                Some(batch) => self.batch = Some((batch?, 0)),
            }
        }
    }

    /// All samples of a time that is that of the next one.
    fn at(&mut self, time: Timestamp) -> Result<Vec<Sample>, SourceError> {
        let mut samples = Vec::new();
        while self.time()? == Some(time) {
            if let Some((batch, row)) = &mut self.batch {
                samples.push(batch.get(*row));
                *row += 1;
            }
        }
        Ok(samples)
    }
}

/// Samples in a row, and what their values take.
#[derive(Default)]
struct Waiting {
    samples: VecDeque<Sample>,
    bytes: usize,
}

impl Waiting {
    fn put(&mut self, sample: Sample) {
        self.bytes += sample.value.byte_size();
        self.samples.push_back(sample);
    }

    /// Takes the first if this says so.
    fn take_first_if(&mut self, is_wanted: impl FnOnce(&mut Sample) -> bool) -> Option<Sample> {
        let first = self.samples.pop_front_if(is_wanted)?;
        self.bytes -= first.value.byte_size();
        Some(first)
    }

    /// Takes the one that arrived because of the same update, if there is one.
    fn take_like(&mut self, sample: &Sample) -> Option<Sample> {
        let found = self.samples.iter().position(|other| is_one_update(other, sample))?;
        let found = self.samples.remove(found)?;
        self.bytes -= found.value.byte_size();
        Some(found)
    }

    /// Takes the oldest if no sample of that time can be its like, or if too many wait: it counts as an update that one recorder alone heard.
    fn take_old(&mut self, time: Timestamp) -> Option<Sample> {
        let is_too_much = self.samples.len() > SAMPLES_MAX || self.bytes > BYTES_MAX;
        self.take_first_if(|oldest| is_too_much || oldest.time <= time.saturating_sub(APART_MAX))
    }
}

struct Lacking {
    own: Rows,
    other: Rows,
    /// Own arrivals that the other one may have later, the oldest first.
    own_arrivals: Waiting,
    /// Arrivals of the other one that may be own ones later, the oldest first.
    waiting: Waiting,
    /// Samples that `own` certainly lacks and that have not been given out yet.
    lacking: Waiting,
    is_over: bool,
}

impl Lacking {
    /// Looks at the samples of the next time; false at the end.
    fn look(&mut self) -> Result<bool, SourceError> {
        let (own, other) = (self.own.time()?, self.other.time()?);
        let Some(time) = own.into_iter().chain(other).min() else { return Ok(false) };
        while self.own_arrivals.take_old(time).is_some() {}
        while let Some(alone) = self.waiting.take_old(time) {
            self.lacking.put(alone);
        }
        let mut own = self.own.at(time)?;
        let mut left = Vec::new();
        for sample in self.other.at(time)? {
            match own.iter().position(|own| is_alike(own, &sample)) {
                // It is no arrival of another update either, but a repeat may come with it.
                Some(same) if is_arrival(&sample) => _ = own.remove(same),
                Some(_) => {}
                None => left.push(sample),
            }
        }
        for sample in left {
            if !is_arrival(&sample) {
                self.lacking.put(sample);
            } else if self.own_arrivals.take_like(&sample).is_none() {
                self.waiting.put(sample);
            }
        }
        for sample in own.into_iter().filter(is_arrival) {
            if self.waiting.take_like(&sample).is_none() {
                self.own_arrivals.put(sample);
            }
        }
        Ok(true)
    }

    /// The next samples that `own` lacks, as many as have one type.
    fn batch(&mut self) -> Option<Batch> {
        let mut batch = Batch::of(&self.lacking.take_first_if(|_| true)?);
        while batch.len() < BATCH_ROWS_MAX
            && batch.byte_size() < BATCH_BYTES_MAX
            && self.lacking.take_first_if(|next| batch.push(next)).is_some()
        {}
        Some(batch)
    }
}

impl Iterator for Lacking {
    type Item = Result<Batch, SourceError>;

    fn next(&mut self) -> Option<Result<Batch, SourceError>> {
        while !self.is_over && self.lacking.samples.len() < BATCH_ROWS_MAX && self.lacking.bytes < BATCH_BYTES_MAX {
            match self.look() {
                Ok(true) => {}
                Ok(false) => {
                    self.is_over = true;
                    let alone = mem::take(&mut self.waiting);
                    alone.samples.into_iter().for_each(|sample| self.lacking.put(sample));
                }
                Err(error) => {
                    self.is_over = true;
                    self.lacking = Waiting::default();
                    return Some(Err(error));
                }
            }
        }
        self.batch().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Quality, Stamp, Value};

    use super::*;

    fn stamped(seconds: f64, value: f64) -> Sample {
        let time = Timestamp::from_nanos((seconds * 1e9) as i64);
        Sample { time, value: Value::F64(value), alarm: Alarm::default(), pulse: 0, stamp: None }
    }

    fn arrived(seconds: f64, value: f64) -> Sample {
        let stamp = Stamp { quality: Quality::NeverSet, other: Timestamp::from_nanos(0) };
        Sample { stamp: Some(stamp), ..stamped(seconds, value) }
    }

    fn stream(samples: &[Sample]) -> SampleStream {
        let batches: Vec<_> = samples.iter().map(|sample| Ok(Batch::of(sample))).collect();
        Box::new(batches.into_iter())
    }

    fn lacks(own: &[Sample], other: &[Sample]) -> Vec<(f64, f64)> {
        let batches = lacking(stream(own), stream(other)).map(|batch| batch.unwrap());
        let samples = batches.flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)).collect::<Vec<_>>());
        samples.map(|sample| (sample.time.nanos() as f64 / 1e9, sample.value.as_f64().unwrap())).collect()
    }

    #[test]
    fn what_the_other_one_alone_has_is_lacking_and_nothing_else() {
        let own = [stamped(1.0, 1.0), stamped(2.0, 2.0), stamped(5.0, 5.0)];
        let other = [stamped(0.0, 0.0), stamped(1.0, 1.0), stamped(2.0, 7.0), stamped(2.0, 2.0), stamped(3.0, 3.0)];
        assert_eq!(lacks(&own, &other), [(0.0, 0.0), (2.0, 7.0), (3.0, 3.0)]);
        assert_eq!(lacks(&own, &own), []);
        assert_eq!(lacks(&[], &own).len(), 3);
    }

    #[test]
    fn one_update_that_arrived_at_both_is_not_lacking_and_a_second_one_is() {
        let own = [arrived(1.0, 4.0), arrived(30.0, 4.0)];
        // The first was there earlier, the second later; of the third only the other one heard.
        assert_eq!(lacks(&own, &[arrived(0.5, 4.0), arrived(39.0, 4.0), arrived(39.5, 4.0)]), [(39.5, 4.0)]);
        assert_eq!(lacks(&own, &[arrived(20.0, 4.0), arrived(40.0, 4.0)]), [(20.0, 4.0), (40.0, 4.0)]);
        assert_eq!(lacks(&own, &[arrived(1.5, 5.0)]), [(1.5, 5.0)]);
    }

    #[test]
    fn what_was_taken_over_once_is_not_lacking_the_second_time() {
        let (own, other) = ([arrived(7.0, 4.0)], [arrived(1.0, 4.0), arrived(5.0, 4.0)]);
        assert_eq!(lacks(&own, &other), [(5.0, 4.0)]);
        assert_eq!(lacks(&[arrived(5.0, 4.0), arrived(7.0, 4.0)], &other), []);
    }

    #[test]
    fn behind_an_error_nothing_comes() {
        let failing: SampleStream = Box::new(
            [Ok(Batch::of(&stamped(0.0, 0.0))), Err(SourceError::piece("damaged")), Ok(Batch::of(&stamped(1.0, 1.0)))]
                .into_iter(),
        );
        let mut told = lacking(stream(&[]), failing);
        assert!(told.next().is_some_and(|first| first.is_err()));
        assert!(told.next().is_none());
    }
}

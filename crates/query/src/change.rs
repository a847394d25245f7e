//! Change: what a PV was at two times, and how much its numbers usually vary, by those that came before. Very many PVs are asked for it at
//! once, and most of these have few samples, which are read once then instead of once for each of the three.

use std::time::Duration;

use sample::{Batch, Sample, Shape, TimeRange, Timestamp};

use crate::{Before, Bins, Error, Query, Request, Series, tally::Tally};

/// What is read at once of a PV at most.
const FEW_ROWS: usize = 2048;
const FEW_BYTES: usize = 256 << 10;

/// What became of a PV between two times.
pub struct Change<'q> {
    /// What held at the first; none if nothing did.
    pub before: Option<Sample>,
    /// And at the second.
    pub after: Option<Sample>,
    query: &'q Query,
    series: &'q Series,
    /// The range that ends at the first time.
    usual: TimeRange,
    /// All samples from the beginning of that range up to the second time, if they are few.
    few: Option<Vec<Batch>>,
}

impl Query {
    /// What a PV was at two times. What it usually does is what it did for so long before the first.
    pub fn change<'q>(
        &'q self,
        series: &'q Series,
        (before, after): (Timestamp, Timestamp),
        usual: Duration,
    ) -> Result<Change<'q>, Error> {
        let usual = TimeRange { t0: before.saturating_sub(usual), t1: before };
        let behind = after.nanos().checked_add(1).map(Timestamp::from_nanos);
        let few = behind.and_then(|behind| self.few(series, TimeRange { t0: usual.t0, t1: behind }));
        let last = |time: Timestamp| {
            let in_batch = |batch: &Batch| {
                let row = batch.times().partition_point(|own| *own <= time).checked_sub(1)?;
                Some(batch.get(row))
            };
            match few.iter().flatten().rev().find_map(in_batch) {
                None => self.last_before(series, time),
                found => Ok(found),
            }
        };
        let after = last(after)?;
        // What held at the first time already is what held at both.
        let held = after.as_ref().is_none_or(|after| after.time <= before);
        let before = if held { after.clone() } else { last(before)? };
        Ok(Change { before, after, query: self, series, usual, few })
    }

    /// The samples of a range; none if they are many, or some are damaged, which is passed over where one is looked for.
    fn few(&self, series: &Series, range: TimeRange) -> Option<Vec<Batch>> {
        if series.field.is_some() {
            return None; // of a structure without the field there is no sample, but a last one
        }
        let (mut few, mut rows, mut bytes) = (Vec::new(), 0, 0);
        for batch in self.samples(&Request { series: series.clone(), range, before: Before::None }) {
            let batch = batch.ok()?;
            rows += batch.len();
            bytes += batch.byte_size();
            if rows > FEW_ROWS || bytes > FEW_BYTES || batch.value_type().shape != Shape::Scalar {
                return None;
            }
            few.push(batch);
        }
        Some(few)
    }
}

impl Change<'_> {
    /// The standard deviation of what was recorded before the first time; none if that was nothing, or no numbers.
    pub fn spread(&self) -> Result<Option<f64>, Error> {
        let TimeRange { t0, t1 } = self.usual;
        if t0 >= t1 {
            return Ok(None);
        }
        let bin = match &self.few {
            Some(batches) => {
                let mut tally = Tally::default();
                for batch in batches {
                    let rows = batch.rows_within(self.usual);
                    if !rows.is_empty() {
                        tally.add_rows(batch, rows);
                    }
                }
                Some(tally.bin(t0, t1))
            }
            None => {
                let stretches = self.query.stretches(self.series, self.usual, [t0, t1].into())?;
                Bins::new(stretches, [t0, t1].into(), None).next().transpose()?
            }
        };
        Ok(bin.map(|bin| bin.std).filter(|std| std.is_finite()))
    }
}

//! Every frame of every PV, read back from the archive and compared with what the farm sent.

use std::path::Path;

use epics::{Array, Value};
use sample::{Arrays, Batch, Column, TimeRange};

use crate::{
    farm::Plan,
    store_bench::{self, Outcome},
};

/// What the archive holds.
#[derive(Default)]
pub(super) struct Frames {
    /// PVs that have any frame.
    pub(super) pvs: u64,
    pub(super) stored: u64,
    /// Frames with other elements, another time or another place than the farm's.
    pub(super) wrong: u64,
}

/// Reads an archive that nobody else has open.
pub(super) fn check(plan: &Plan, folder: &Path) -> Outcome<Frames> {
    let store = store_bench::open(folder, store_bench::now(), |_| {})?;
    let reader = store.reader();
    let mut frames = Frames::default();
    for pv in 0..plan.len() {
        let name = plan.name(pv);
        let entry = reader.find(&name).ok_or_else(|| format!("the archive does not know {name}"))?;
        let mut expected = Expected::new(plan, pv);
        let before = frames.stored;
        for batch in reader.samples(entry.id, TimeRange::ALL) {
            let batch = batch?;
            frames.stored += batch.len() as u64;
            frames.wrong += expected.compare(&batch)?;
        }
        frames.pvs += u64::from(frames.stored > before);
    }
    drop(reader);
    store.close(store_bench::now())?;
    Ok(frames)
}

/// The frames of one PV, of which only element 0 changes.
struct Expected<'a> {
    plan: &'a Plan,
    pv: u32,
    frame: Array,
    next: u64,
}

impl Expected<'_> {
    fn new(plan: &Plan, pv: u32) -> Expected<'_> {
        let frame = match plan.value(pv, 0) {
            Value::Array(array) => array,
            _ => Array::F64(Vec::new()),
        };
        Expected { plan, pv, frame, next: 0 }
    }

    /// How many frames of a batch are wrong.
    fn compare(&mut self, batch: &Batch) -> Outcome<u64> {
        let Column::Array(arrays) = batch.values() else { return Err("the archive holds no arrays".into()) };
        let mut wrong = 0;
        for (row, time) in batch.times().iter().enumerate() {
            let number = self.number(arrays, row);
            let stamp = self.plan.stamp(self.pv, number.unwrap_or(0));
            let nanos = stamp.seconds * 1_000_000_000 + i64::from(stamp.nanos);
            let is_right = number.is_some_and(|number| number >= self.next) && time.nanos() == nanos;
            wrong += u64::from(!is_right);
            self.next = number.map_or(self.next, |number| number + 1);
        }
        Ok(wrong)
    }

    /// The number of a frame; none if anything but element 0 is not as it should be.
    fn number(&mut self, arrays: &Arrays, row: usize) -> Option<u64> {
        let range = arrays.range(row);
        match (arrays.elements(), &mut self.frame) {
            (Column::I32(all), Array::I32(frame)) => {
                let found = all.get(range)?;
                *frame.first_mut()? = *found.first()?;
                (found == frame.as_slice()).then_some(u64::try_from(frame[0]).ok()?)
            }
            (Column::F64(all), Array::F64(frame)) => {
                let found = all.get(range)?;
                *frame.first_mut()? = *found.first()?;
                (found == frame.as_slice()).then_some(frame[0] as u64)
            }
            _ => None,
        }
    }
}

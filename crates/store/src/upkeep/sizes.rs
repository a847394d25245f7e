//! How much of the archive each PV takes: one walk through the directories of all segments, which reads no blocks.

use std::collections::HashMap;

use archive::{PvId, PvSize};

use crate::{Error, engine::Engine, segment::Segment};

impl Engine {
    /// The size of every PV that has samples in segments. A segment that cannot be read is left out, and told in `health`.
    pub(crate) fn sizes(&self) -> HashMap<PvId, PvSize> {
        let mut sizes = HashMap::new();
        for segment in &*self.snapshot().segments {
            if let Err(error) = add(segment, &mut sizes, |_| true) {
                self.counters.problem(error.to_string());
            }
        }
        sizes
    }

    /// The size of one PV, by the directories of the segments that may have samples of it.
    pub(crate) fn size(&self, pv: PvId) -> Option<PvSize> {
        let mut sizes = HashMap::new();
        for segment in self.snapshot().segments.iter().filter(|segment| segment.manifest.may_hold(pv)) {
            if let Err(error) = add(segment, &mut sizes, |of| of == pv) {
                self.counters.problem(error.to_string());
            }
        }
        sizes.remove(&pv)
    }
}

/// Adds what a segment has of the PVs that are wanted.
fn add(segment: &Segment, sizes: &mut HashMap<PvId, PvSize>, is_wanted: impl Fn(PvId) -> bool) -> Result<(), Error> {
    let records = segment.records()?;
    // The blocks of a PV lie together, and those of the next PV behind them.
    let ends = records.iter().skip(1).map(|record| record.blocks_at).chain([segment.manifest.tables_at]);
    for (record, end) in records.iter().zip(ends).filter(|(record, _)| is_wanted(record.pv)) {
        let bytes = end.saturating_sub(record.blocks_at) + record.tables_len();
        let (samples, first, last) = (record.samples, record.t0, record.t1);
        let size = sizes.entry(record.pv).or_insert(PvSize { samples: 0, bytes: 0, first, last });
        size.samples += samples;
        size.bytes += bytes;
        size.first = size.first.min(first);
        size.last = size.last.max(last);
    }
    Ok(())
}

//! The head: what was appended lately, in memory, readable at once, not yet in blocks.
//!
//! ```text
//!   sealed chunks (sorted, shared with readers) … ► pages of plain numbers, or one open batch
//! ```
//! The newest samples of a PV, at most a thousand, lie in pages if they are single numbers without pulses (head/pages.rs) and in
//! a growing batch if not. When there are enough of them, and when the type changes, they are sealed: sorted, freed from
//! repeats, and from then on shared with readers instead of copied. A PV's chunks stand in the order of arrival.

mod chunk;
mod films;
mod lanes;
mod pages;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use archive::{PvId, Record};
use sample::{Sample, TimeRange, Timestamp};

pub(crate) use chunk::{Chunk, Piece};
use lanes::{Lanes, Taken};
pub(crate) use pages::SlabPool;

use crate::{codec::frames, facts::Facts, log::arrays::Differences};

/// What a gap or metadata takes.
const FACT_BYTES: usize = 400;
/// Records taken while readers wait.
const RECORDS_AT_ONCE: usize = 256;

/// What is appended between two flushes.
#[derive(Debug)]
pub(crate) struct Head {
    /// PVs whose first record here was an array lie apart: arrays take long, and whoever asks for numbers does not wait for them.
    numbers: Half,
    arrays: Half,
    facts: Mutex<Facts>,
    bytes: AtomicUsize,
    samples: AtomicU64,
    repeats: AtomicU64,
}

#[derive(Debug)]
struct Half {
    /// Held by who waits for the lanes. Whoever appends has these nearly all the time where there is much to do, and would take
    /// them again before a reader that was woken has moved.
    turn: Mutex<()>,
    lanes: Mutex<Lanes>,
}

impl Half {
    fn new(pool: &Arc<SlabPool>) -> Half {
        Half { turn: Mutex::default(), lanes: Mutex::new(Lanes::new(pages::Pages::new(pool.clone()))) }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        let _turn = self.turn.lock().expect("no holder of this lock panics");
        self.lanes.lock().expect("no holder of this lock panics")
    }
}

impl Head {
    /// An empty one, with memory from the pool.
    pub(crate) fn new(pool: &Arc<SlabPool>) -> Head {
        Head {
            numbers: Half::new(pool),
            arrays: Half::new(pool),
            facts: Mutex::default(),
            bytes: AtomicUsize::new(0),
            samples: AtomicU64::new(0),
            repeats: AtomicU64::new(0),
        }
    }

    /// Takes records, and tells what changes in their arrays from those before. Only ever called under the writer's lock, so that
    /// no record gets into a head that is being flushed.
    pub(crate) fn append(&self, records: &[(PvId, Record)], differences: &mut Differences) {
        differences.clear();
        for some in records.chunks(RECORDS_AT_ONCE) {
            let mut taken = Taken::default();
            let mut numbers = None;
            for (pv, record) in some {
                let bare = record.bare();
                if bare.is_none() && frames::are(record) {
                    // Where arrays follow one another, who asks for numbers finds them free.
                    numbers = None;
                    let mut arrays = self.arrays.lanes();
                    if arrays.has(*pv) {
                        arrays.take(*pv, record, &mut taken, differences);
                        continue;
                    }
                }
                let lanes = numbers.get_or_insert_with(|| self.numbers.lanes());
                if let Some(bare) = bare
                    && lanes.push_bare(*pv, bare, &mut taken)
                {
                    continue;
                }
                match record {
                    Record::Gap(gap) => {
                        if self.facts().gaps.insert((*pv, gap.from, gap.cause), *gap).is_none() {
                            taken.bytes += FACT_BYTES as isize;
                        }
                    }
                    Record::Metadata(since, metadata) => {
                        self.facts().metadata.insert((*pv, *since), metadata.clone());
                        taken.bytes += FACT_BYTES as isize;
                    }
                    samples if lanes.leave_to_arrays(*pv, samples, &mut taken) => {
                        numbers = None;
                        self.arrays.lanes().take(*pv, samples, &mut taken, differences);
                    }
                    samples => lanes.take(*pv, samples, &mut taken, differences),
                }
            }
            drop(numbers);
            self.bytes.fetch_add(taken.bytes as usize, Relaxed); // less than nothing wraps around, and so adds up
            self.samples.fetch_add(taken.samples, Relaxed);
            self.repeats.fetch_add(taken.repeats, Relaxed);
        }
    }

    /// The samples of a PV within `range`, in the order of arrival.
    pub(crate) fn pieces(&self, pv: PvId, range: TimeRange) -> Vec<Piece> {
        let within = |chunk: &&Chunk| !chunk.rows_within(range).is_empty();
        let (sealed, open) = self
            .read(pv, |lanes| (lanes.sealed(pv).iter().filter(within).cloned().collect::<Vec<_>>(), lanes.open(pv)));
        let open = open.map(|chunk| chunk.sorted().without_repeats());
        let pieces = sealed.into_iter().chain(open).map(|chunk| Piece { rows: chunk.rows_within(range), chunk });
        pieces.filter(|piece| !piece.rows.is_empty()).collect()
    }

    /// All samples of a PV, in the order of arrival; each chunk is sorted.
    pub(crate) fn chunks(&self, pv: PvId) -> Vec<Chunk> {
        let (mut chunks, open) = self.read(pv, |lanes| (lanes.sealed(pv).to_vec(), lanes.open(pv)));
        chunks.extend(open.map(Chunk::sorted));
        chunks
    }

    /// The newest sample at or before `time`; of equal times the last that arrived.
    pub(crate) fn last_before(&self, pv: PvId, time: Timestamp) -> Option<Sample> {
        let mut best: Option<(Timestamp, Chunk, usize)> = None;
        for chunk in self.chunks(pv) {
            let Some(row) = chunk.times().partition_point(|t| *t <= time).checked_sub(1) else { continue };
            let t = chunk.times()[row];
            if best.as_ref().is_none_or(|(newest, ..)| t >= *newest) {
                best = Some((t, chunk, row));
            }
        }
        best.map(|(_, chunk, row)| chunk.get(row))
    }

    /// First time, last time and number of samples of a PV.
    pub(crate) fn extent(&self, pv: PvId) -> Option<(Timestamp, Timestamp, u64)> {
        let chunks = self.chunks(pv);
        let t0 = chunks.iter().filter_map(|chunk| chunk.times().first()).min()?;
        let t1 = chunks.iter().filter_map(|chunk| chunk.times().last()).max()?;
        Some((*t0, *t1, chunks.iter().map(|chunk| chunk.len() as u64).sum()))
    }

    /// Says yes in the places of those PVs of which it may have samples.
    pub(crate) fn note_present(&self, pvs: &[PvId], may_have: &mut [bool]) {
        let numbers = self.numbers.lanes();
        for (pv, may_have) in pvs.iter().zip(may_have) {
            *may_have |= numbers.may_have(*pv);
        }
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().expect("no holder of this lock panics")
    }

    /// The PVs that have samples, by number.
    pub(crate) fn pvs(&self) -> Vec<PvId> {
        let mut pvs = self.numbers.lanes().pvs();
        pvs.extend(self.arrays.lanes().pvs());
        pvs.sort_unstable();
        pvs
    }

    /// Memory taken, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples.load(Relaxed)
    }

    /// The repeats that were dropped since this was last asked.
    pub(crate) fn take_repeats(&self) -> u64 {
        self.repeats.swap(0, Relaxed)
    }

    /// Reads the half in which a PV lies.
    fn read<T>(&self, pv: PvId, read: impl FnOnce(&Lanes) -> T) -> T {
        let numbers = self.numbers.lanes();
        if !numbers.is_left_to_arrays(pv) {
            return read(&numbers);
        }
        drop(numbers);
        read(&self.arrays.lanes())
    }
}

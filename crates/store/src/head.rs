//! The head: what was appended lately, in memory, readable at once, not yet in blocks.
//!
//! Samples of a PV lie in chunks in the order of arrival; a change of type begins a new chunk. Chunks are sorted only when they
//! are read or flushed, because nearly all samples arrive in order and then sorting costs nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use sample::{Batch, Gap, GapCause, Metadata, PvId, Record, Sample, TimeRange, Timestamp};

use crate::{merge::rows_within, repeats::without_repeats};

/// Readers lock one of so many parts of the head, so that they hardly ever meet the writer.
const SHARDS: usize = 64;

/// A chunk that has so many rows or bytes is closed: this bounds what a reader copies and what a growing vector moves.
const CHUNK_ROWS_MAX: usize = 8192;
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// What the vectors of a first chunk take, besides the samples.
const PV_BYTES: usize = 400;

/// What is appended between two flushes.
#[derive(Debug)]
pub(crate) struct Head {
    /// PV n is entry n / SHARDS of shard n % SHARDS: numbers of PVs are dense, and an index is cheaper than a hash.
    shards: Vec<Mutex<Vec<Vec<Batch>>>>,
    facts: Mutex<Facts>,
    bytes: AtomicUsize,
    samples: AtomicU64,
}

/// Gaps and metadata, newest version of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) gaps: BTreeMap<(PvId, Timestamp, GapCause), Gap>,
    pub(crate) metadata: BTreeMap<(PvId, Timestamp), Metadata>,
}

impl Facts {
    pub(crate) fn is_empty(&self) -> bool {
        self.gaps.is_empty() && self.metadata.is_empty()
    }

    /// What is not of these PVs.
    pub(crate) fn without(mut self, is_one: impl Fn(PvId) -> bool) -> Facts {
        self.gaps.retain(|(pv, ..), _| !is_one(*pv));
        self.metadata.retain(|(pv, _), _| !is_one(*pv));
        self
    }
}

impl Head {
    pub(crate) fn new() -> Head {
        Head {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            facts: Mutex::default(),
            bytes: AtomicUsize::new(0),
            samples: AtomicU64::new(0),
        }
    }

    /// Takes one record. Only ever called under the writer's lock, so that no record gets into a head that is being flushed.
    pub(crate) fn append(&self, pv: PvId, record: &Record) {
        match record {
            Record::Samples(batch) => self.append_samples(pv, batch),
            Record::Gap(gap) => {
                self.facts().gaps.insert((pv, gap.from, gap.cause), *gap);
                self.bytes.fetch_add(PV_BYTES, Relaxed);
            }
            Record::Metadata(since, metadata) => {
                self.facts().metadata.insert((pv, *since), metadata.clone());
                self.bytes.fetch_add(PV_BYTES, Relaxed);
            }
        }
    }

    fn append_samples(&self, pv: PvId, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        let mut bytes = batch.byte_size();
        self.samples.fetch_add(batch.len() as u64, Relaxed);
        let mut shard = self.shard(pv);
        let place = pv.0 as usize / SHARDS;
        if shard.len() <= place {
            shard.resize_with(place + 1, Vec::new);
        }
        let chunks = &mut shard[place];
        if chunks.is_empty() {
            bytes += PV_BYTES;
        }
        match chunks.last_mut() {
            Some(last)
                if last.value_type() == batch.value_type()
                    && last.len() + batch.len() <= CHUNK_ROWS_MAX
                    && last.byte_size() + bytes <= CHUNK_BYTES_MAX =>
            {
                let fits = last.extend_from(batch, 0..batch.len());
                assert!(fits, "the types were compared above");
            }
            _ => chunks.push(batch.clone()),
        }
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// The samples of a PV within `range`, as sorted batches in the order of arrival.
    pub(crate) fn pieces(&self, pv: PvId, range: TimeRange) -> Vec<Batch> {
        let shard = self.shard(pv);
        chunks(&shard, pv).iter().map(|chunk| piece(chunk, range)).filter(|piece| !piece.is_empty()).collect()
    }

    /// All samples of a PV, in the order of arrival.
    pub(crate) fn chunks(&self, pv: PvId) -> Vec<Batch> {
        chunks(&self.shard(pv), pv).to_vec()
    }

    /// The newest sample at or before `time`; of equal times the last that arrived.
    pub(crate) fn last_before(&self, pv: PvId, time: Timestamp) -> Option<Sample> {
        let shard = self.shard(pv);
        let chunks = chunks(&shard, pv);
        let mut best: Option<(Timestamp, usize, usize)> = None;
        for (chunk, batch) in chunks.iter().enumerate() {
            for (row, t) in batch.times().iter().enumerate() {
                if *t <= time && best.is_none_or(|(newest, ..)| *t >= newest) {
                    best = Some((*t, chunk, row));
                }
            }
        }
        best.map(|(_, chunk, row)| chunks[chunk].get(row))
    }

    /// First time, last time and number of samples of a PV.
    pub(crate) fn extent(&self, pv: PvId) -> Option<(Timestamp, Timestamp, u64)> {
        let shard = self.shard(pv);
        let chunks = chunks(&shard, pv);
        let times = || chunks.iter().flat_map(|chunk| chunk.times().iter().copied());
        Some((times().min()?, times().max()?, chunks.iter().map(|chunk| chunk.len() as u64).sum()))
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().expect("no holder of this lock panics")
    }

    /// The PVs that have samples, by number.
    pub(crate) fn pvs(&self) -> Vec<PvId> {
        let mut pvs: Vec<PvId> = Vec::new();
        for (number, shard) in self.shards.iter().enumerate() {
            let shard = shard.lock().expect("no holder of this lock panics");
            let filled = shard.iter().enumerate().filter(|(_, chunks)| !chunks.is_empty());
            pvs.extend(filled.map(|(place, _)| PvId((place * SHARDS + number) as u32)));
        }
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

    fn shard(&self, pv: PvId) -> MutexGuard<'_, Vec<Vec<Batch>>> {
        self.shards[pv.0 as usize % SHARDS].lock().expect("no holder of this lock panics")
    }
}

/// The chunks of a PV in its shard.
fn chunks(shard: &[Vec<Batch>], pv: PvId) -> &[Batch] {
    shard.get(pv.0 as usize / SHARDS).map_or(&[], Vec::as_slice)
}

/// The rows of a chunk within `range`, sorted, without repeats.
fn piece(chunk: &Batch, range: TimeRange) -> Batch {
    let sorted = if chunk.is_sorted() {
        chunk.slice(rows_within(chunk, range))
    } else {
        let sorted = chunk.clone().sorted();
        let rows = rows_within(&sorted, range);
        sorted.slice(rows)
    };
    without_repeats(sorted).0
}

//! A chunk of a head: samples of a PV of one type.

use std::{ops::Range, sync::Arc};

use sample::{Batch, Sample, TimeRange, Timestamp};

use crate::{
    block::{repeats::without_repeats, rows::rows_within},
    codec::frames::Frames,
};

/// Samples of a PV of one type, sorted by time once they are sealed.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    Rows(Arc<Batch>),
    Frames(Arc<Frames>),
}

impl Chunk {
    pub(crate) fn len(&self) -> usize {
        self.times().len()
    }

    pub(crate) fn times(&self) -> &[Timestamp] {
        match self {
            Chunk::Rows(batch) => batch.times(),
            Chunk::Frames(frames) => frames.times(),
        }
    }

    pub(crate) fn get(&self, row: usize) -> Sample {
        match self {
            Chunk::Rows(batch) => batch.get(row),
            Chunk::Frames(frames) => frames.get(row),
        }
    }

    /// Where the samples of `range` lie.
    pub(super) fn rows_within(&self, range: TimeRange) -> Range<usize> {
        match self {
            Chunk::Rows(batch) => rows_within(batch, range),
            Chunk::Frames(frames) => rows_within(frames.samples(), range),
        }
    }

    /// Sorted by time.
    pub(super) fn sorted(self) -> Chunk {
        match self {
            Chunk::Rows(batch) => Chunk::from(Arc::unwrap_or_clone(batch).sorted()),
            frames @ Chunk::Frames(_) => frames,
        }
    }

    pub(super) fn without_repeats(self) -> Chunk {
        match self {
            Chunk::Rows(batch) => Chunk::from(without_repeats(Arc::unwrap_or_clone(batch)).0),
            frames @ Chunk::Frames(_) => frames,
        }
    }
}

impl From<Batch> for Chunk {
    fn from(batch: Batch) -> Chunk {
        Chunk::Rows(Arc::new(batch))
    }
}

/// Rows of a sorted chunk without repeats.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) chunk: Chunk,
    pub(crate) rows: Range<usize>,
}

//! Where a copy stands, frames of epochs that have ended, and what parts of imports brought, as nodes write them.

use archive::{ImportedPart, Mark, PvId};
use minicbor::{Decode, Encode};
use sample::Timestamp;

/// Where a copy stands, in which epoch.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct MarkRow {
    #[n(0)]
    pub(crate) epoch: u64,
    #[n(1)]
    before: i64,
    #[n(2)]
    below: u64,
    #[n(3)]
    deletion: u64,
    #[n(4)]
    hidden: Vec<u32>,
}

impl MarkRow {
    pub(crate) fn of(epoch: u64, mark: &Mark) -> MarkRow {
        let Mark { before, below, deletion, hidden } = mark;
        let hidden = hidden.iter().map(|pv| pv.0).collect();
        MarkRow { epoch, before: before.nanos(), below: *below, deletion: *deletion, hidden }
    }

    pub(crate) fn mark(&self) -> Mark {
        let before = Timestamp::from_nanos(self.before);
        Mark { before, below: self.below, deletion: self.deletion, hidden: locals(&self.hidden) }
    }
}

/// Frames of an epoch of a shard, and which node holds them.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct PartRow {
    #[n(0)]
    pub(crate) shard: u32,
    #[n(1)]
    pub(crate) epoch: u64,
    #[n(2)]
    pub(crate) first: u64,
    #[n(3)]
    pub(crate) end: u64,
    #[n(4)]
    pub(crate) holder: String,
}

#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) struct FramesRow {
    #[n(0)]
    pub(crate) first: u64,
    #[n(1)]
    pub(crate) end: u64,
    #[n(2)]
    pub(crate) file: u64,
    #[n(3)]
    pub(crate) at: u64,
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn locals(numbers: &[u32]) -> Vec<PvId> {
    numbers.iter().map(|number| PvId(*number)).collect()
}

/// What a part of an import brought.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct ImportedRow {
    #[n(0)]
    samples: u64,
    #[n(1)]
    bytes: u64,
    #[n(2)]
    gaps: u64,
    #[n(3)]
    metadata: u64,
}

impl From<&ImportedPart> for ImportedRow {
    fn from(part: &ImportedPart) -> ImportedRow {
        let ImportedPart { samples, bytes, gaps, metadata } = *part;
        ImportedRow { samples, bytes, gaps, metadata }
    }
}

impl ImportedRow {
    pub(crate) fn part(&self) -> ImportedPart {
        let ImportedRow { samples, bytes, gaps, metadata } = *self;
        ImportedPart { samples, bytes, gaps, metadata }
    }
}

//! The seam between acquisition and the store: facts about PVs go in, in the order in which they became known.

use std::{error::Error, sync::Arc};

use sample::{Bare, Batch, Gap, Metadata, Sample, Timestamp};

use crate::PvId;

/// No array, text or structure with more bytes is archived.
pub const VALUE_BYTES_MAX: usize = 128 << 20;

/// One fact about one PV.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Samples of one type, in order of arrival.
    Samples(Batch),
    /// One sample: what most PVs send most of the time, and without columns it costs nothing to make.
    Sample(Sample),
    /// One array, in a batch of its own, that is so large that the store keeps it as it is rather than copy it.
    Array(Arc<Batch>),
    /// A row of the ledger: a sample of a PV that the archive keeps for itself, and counts nowhere.
    LedgerRow(Sample),
    /// A time without samples; replaces the gap with the same beginning and cause.
    Gap(Gap),
    /// What the IOC says about the PV from this time on.
    Metadata(Timestamp, Arc<Metadata>),
}

impl Record {
    /// Its only sample, if that is a bare one, as most are.
    #[inline]
    pub fn bare(&self) -> Option<Bare> {
        match self {
            Record::Sample(sample) => sample.bare(),
            Record::Samples(batch) => batch.bare(),
            Record::Array(_) | Record::LedgerRow(_) | Record::Gap(_) | Record::Metadata(..) => None,
        }
    }

    /// How many samples it has.
    pub fn samples(&self) -> usize {
        match self {
            Record::Samples(batch) => batch.len(),
            Record::Array(batch) => batch.len(),
            Record::Sample(_) => 1,
            Record::LedgerRow(_) | Record::Gap(_) | Record::Metadata(..) => 0,
        }
    }
}

/// Where acquisition puts what it records: the store, or a list in a test.
pub trait Sink: Send + Sync + 'static {
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Takes records in order. When it returns they are readable; they are durable when the sink's watermark has passed them.
    /// An error means that none of them was taken: the caller keeps them and may offer them again. Metadata that adds nothing
    /// to what is in force is not recorded again.
    fn append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Self::Error>;

    /// Whether it takes nothing ever again: what it refuses need not be offered another time.
    fn is_over(&self) -> bool {
        false
    }
}

//! The seam between acquisition and the store: facts about PVs go in, in the order in which they became known.

use std::error::Error;

use crate::{Batch, Gap, Metadata, PvEntry, PvId, PvName, PvSettings, Timestamp};

/// One fact about one PV.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Samples of one type, in order of arrival.
    Samples(Batch),
    /// A time without samples; replaces the gap with the same beginning and cause.
    Gap(Gap),
    /// What the IOC says about the PV from this time on.
    Metadata(Timestamp, Metadata),
}

/// Where acquisition puts what it records: the store, or a list in a test.
pub trait Sink: Send + Sync + 'static {
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Adds PVs, or changes the settings of those that are there; durable when it returns. Gives their entries in order.
    fn register(&self, pvs: &[(PvName, PvSettings)], now: Timestamp) -> Result<Vec<PvEntry>, Self::Error>;

    /// Forgets a PV's name. Its data stays for `DataFate::Keep` and comes back if the name is registered again.
    fn remove(&self, pv: PvId, data: DataFate) -> Result<(), Self::Error>;

    /// All PVs that are to be archived.
    fn entries(&self) -> Vec<PvEntry>;

    /// Takes records in order. When it returns they are readable; they are durable when the sink's watermark has passed them.
    /// An error means that none of them was taken: the caller keeps them and may offer them again. Metadata equal to what is in
    /// force already is not recorded again.
    fn append(&self, records: &[(PvId, Record)], now: Timestamp) -> Result<(), Self::Error>;
}

/// What becomes of the data of a PV that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFate {
    /// It stays, hidden until the PV is registered again.
    Keep,
    /// It can never be reached again, and its space is freed in time.
    Delete,
}

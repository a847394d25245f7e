//! PVs by how much comes and how much it takes: rates of samples and bytes, and sizes.

use std::{cmp::Ordering, collections::HashMap};

use archive::{Brief, PvEntry, PvId, PvName, PvSize};
use sample::Timestamp;

use super::{active, each, ranked};
use crate::{
    ask::Ask,
    clock::now,
    refusal::Refusal,
    seen::{Look, Sight},
};

/// What the size of a PV takes while all are looked at.
const SIZE_BYTES: usize = 64;

/// Samples a second of a PV in this run.
#[derive(Clone, Debug)]
pub struct EventRateRow {
    /// Which.
    pub name: PvName,
    /// Samples a second.
    pub samples_per_second: f64,
}

/// What the samples of a PV in this run will take, by the size of those that are packed already.
#[derive(Clone, Debug)]
pub struct StorageRateRow {
    /// Which.
    pub name: PvName,
    /// Bytes a second.
    pub bytes_per_second: f64,
}

/// What a PV has in segments.
#[derive(Clone, Debug)]
pub struct ConsumedRow {
    /// Which.
    pub name: PvName,
    /// How many bytes.
    pub bytes: u64,
}

impl Ask {
    /// The PVs that are not paused by samples a second in this run, the fastest first.
    pub fn event_rates(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<EventRateRow, Refusal>> + Send + use<>, Refusal> {
        let rate = |of: &Sight<'_>| Some((Rate(rate_of(of.brief?)?), ()));
        let rows = ranked(self, limit, Look::Fares, active, rate)?;
        let row = |(name, Rate(samples_per_second), ())| EventRateRow { name, samples_per_second };
        Ok(rows.map(move |one| one.map(row)))
    }

    /// The PVs that are not paused by what their samples will take, the most first.
    pub fn storage_rates(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<StorageRateRow, Refusal>> + Send + use<>, Refusal> {
        let sizes = sizes(self)?;
        let rate = |of: &Sight<'_>| {
            let samples_per_second = rate_of(of.brief?)?;
            Some((Rate(samples_per_second * bytes_per_sample(sizes.get(&of.pv)?)), ()))
        };
        let rows = ranked(self, limit, Look::Fares, active, rate)?;
        let row = |(name, Rate(bytes_per_second), ())| StorageRateRow { name, bytes_per_second };
        Ok(rows.map(move |one| one.map(row)))
    }

    /// The PVs by their bytes in segments, the most first.
    pub fn storage_consumed(
        &self,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<ConsumedRow, Refusal>> + Send + use<>, Refusal> {
        let sizes = sizes(self)?;
        let bytes = |of: &Sight<'_>| Some((sizes.get(&of.pv)?.bytes, ()));
        let rows = ranked(self, limit, Look::Outline, each, bytes)?;
        Ok(rows.map(|one| one.map(|(name, bytes, ())| ConsumedRow { name, bytes })))
    }

    /// Samples a second since a PV was first connected in this run; none before that.
    pub fn rate(&self, entry: &PvEntry) -> Option<f64> {
        rate_of(&self.brief(entry.id)?)
    }
}

/// What the PVs have in segments, as long as it is looked at.
fn sizes(ask: &Ask) -> Result<HashMap<PvId, PvSize>, Refusal> {
    ask.needs_answers()?;
    ask.room_for_each_name(SIZE_BYTES)?;
    let sizes = ask.sizes();
    ask.needs_answers()?; // a node may have gone meanwhile
    Ok(sizes)
}

/// A number by which PVs are sorted.
#[derive(Clone, Copy)]
struct Rate(f64);

impl Ord for Rate {
    fn cmp(&self, other: &Rate) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Rate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rate {
    fn eq(&self, other: &Rate) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rate {}

fn rate_of(brief: &Brief) -> Option<f64> {
    let seconds = seconds_since(brief.first_connected?);
    Some(if seconds > 0.0 { brief.received as f64 / seconds } else { 0.0 })
}

fn seconds_since(time: Timestamp) -> f64 {
    now().nanos().saturating_sub(time.nanos()) as f64 / 1e9
}

/// What a sample of a PV takes in segments, on average.
fn bytes_per_sample(size: &PvSize) -> f64 {
    size.bytes as f64 / size.samples.max(1) as f64
}

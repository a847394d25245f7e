//! The Archiver Appliance's reports on how much comes and how much it takes: rates of samples and bytes, and sizes.

use std::{cmp::Ordering, collections::HashMap};

use acquire::Brief;
use archive::{PvEntry, PvId, PvState};
use sample::Timestamp;
use service::{Ask, Look, PvSize, Seen, now};

use super::reports::ranked;
use crate::{call::Call, delivery::answer::Answer, formats::object::Object, refusal::Refusal};

const SECONDS_OF_HOUR: f64 = 3600.0;
const SECONDS_OF_DAY: f64 = 86_400.0;
const SECONDS_OF_YEAR: f64 = 365.0 * SECONDS_OF_DAY;
/// What the size of a PV takes while all are looked at.
const SIZE_BYTES: usize = 64;
const KILO: f64 = 1024.0;

/// `GET /mgmt/bpl/getEventRateReport`: samples a second in this run, the fastest first.
pub(crate) fn event_rates(call: &Call) -> Answer {
    let of = |seen: &Seen| active(&seen.entry).then(|| rate_of(&seen.brief?)).flatten().map(Rate);
    ranked(call, (Look::Fares, Look::Entry), of, |out, seen, Rate(rate)| {
        Object::begin(out).text("eventRate", &format!("{rate:?}")).text("pvName", seen.entry.name.as_str()).end();
    })
}

/// `GET /mgmt/bpl/getStorageRateReport`: what the samples of this run will take, by the size of those that are packed already.
pub(crate) fn storage_rates(call: &Call) -> Answer {
    let sizes = sizes(&call.ask)?;
    let of = |seen: &Seen| Some(Rate(rate_of(&seen.brief?)? * bytes_per_sample(sizes.get(&seen.entry.id)?)));
    let of_active = |seen: &Seen| active(&seen.entry).then(|| of(seen)).flatten();
    ranked(call, (Look::Fares, Look::Entry), of_active, |out, seen, Rate(rate)| {
        let [hour, day, year] = storage_rates_of(rate).map(|(_, amount)| format!("{amount:?}"));
        let row = Object::begin(out).text("pvName", seen.entry.name.as_str()).text("storageRate_GBperyear", &year);
        row.text("storageRate_KBperhour", &hour).text("storageRate_MBperday", &day).end();
    })
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

/// What the PVs have in segments, as long as it is looked at.
fn sizes(ask: &Ask) -> Result<HashMap<PvId, PvSize>, Refusal> {
    ask.lease.grow_by(ask.service.names().len(), SIZE_BYTES)?;
    Ok(ask.service.sizes())
}

/// Bytes a second in the Appliance's units.
pub(super) fn storage_rates_of(bytes_per_second: f64) -> [(&'static str, f64); 3] {
    [
        ("KB/hour", bytes_per_second * SECONDS_OF_HOUR / KILO),
        ("MB/day", bytes_per_second * SECONDS_OF_DAY / KILO.powi(2)),
        ("GB/year", bytes_per_second * SECONDS_OF_YEAR / KILO.powi(3)),
    ]
}

/// `GET /mgmt/bpl/getPVsByStorageConsumed`: bytes in segments, the most first.
pub(crate) fn storage_consumed(call: &Call) -> Answer {
    let sizes = sizes(&call.ask)?;
    let identity = call.identity().to_owned();
    let bytes = |seen: &Seen| Some(sizes.get(&seen.entry.id)?.bytes);
    ranked(call, (Look::Entry, Look::Entry), bytes, move |out, seen, bytes| {
        let row = Object::begin(out).text("instance", &identity).text("pvName", seen.entry.name.as_str());
        let row = row.text("storageConsumed", &bytes.to_string());
        row.text("storageConsumedInMB", &format!("{:.2}", bytes as f64 / KILO.powi(2))).end();
    })
}

/// Samples a second since a PV was first connected in this run; none before that.
pub(crate) fn rate(ask: &Ask, entry: &PvEntry) -> Option<f64> {
    rate_of(&ask.service.briefs(&[entry.id]).pop()??)
}

fn rate_of(brief: &Brief) -> Option<f64> {
    let seconds = seconds_since(brief.first_connected?);
    Some(if seconds > 0.0 { brief.received as f64 / seconds } else { 0.0 })
}

pub(crate) fn seconds_since(time: Timestamp) -> f64 {
    now().nanos().saturating_sub(time.nanos()) as f64 / 1e9
}

/// What a sample of a PV takes in segments, on average.
pub(crate) fn bytes_per_sample(size: &PvSize) -> f64 {
    size.bytes as f64 / size.samples.max(1) as f64
}

fn active(entry: &PvEntry) -> bool {
    entry.settings.state == PvState::Active
}

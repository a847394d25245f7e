//! The Archiver Appliance's reports on how much comes and how much it takes: rates of samples and bytes, and sizes.

use sample::{PvEntry, PvState, Timestamp};
use serde_json::json;
use store::PvSize;

use super::reports::limited;
use crate::{
    answer::{Answer, json},
    app::now,
    call::Call,
};

const SECONDS_OF_HOUR: f64 = 3600.0;
const SECONDS_OF_DAY: f64 = 86_400.0;
const SECONDS_OF_YEAR: f64 = 365.0 * SECONDS_OF_DAY;
const KILO: f64 = 1024.0;

/// `GET /mgmt/bpl/getEventRateReport`: samples a second in this run, the fastest first.
pub(crate) fn event_rates(call: &Call) -> Answer {
    let mut rates: Vec<(f64, PvEntry)> = active(call).filter_map(|entry| Some((rate(call, &entry)?, entry))).collect();
    sort_by_falling(&mut rates);
    let rows =
        rates.iter().map(|(rate, entry)| json!({ "pvName": entry.name.as_str(), "eventRate": format!("{rate:?}") }));
    json(&limited(call, rows)?)
}

/// `GET /mgmt/bpl/getStorageRateReport`: what the samples of this run will take, by the size of those that are packed already.
pub(crate) fn storage_rates(call: &Call) -> Answer {
    let sizes = call.app.reader.sizes();
    let rate = |entry: PvEntry| Some((rate(call, &entry)? * bytes_per_sample(sizes.get(&entry.id)?), entry));
    let mut rates: Vec<(f64, PvEntry)> = active(call).filter_map(rate).collect();
    sort_by_falling(&mut rates);
    let rows = rates.iter().map(|(rate, entry)| {
        let mut row = json!({ "pvName": entry.name.as_str() });
        for (unit, amount) in storage_rates_of(*rate) {
            row[format!("storageRate_{}", unit.replace('/', "per"))] = format!("{amount:?}").into();
        }
        row
    });
    json(&limited(call, rows)?)
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
    let sizes = call.app.reader.sizes();
    let mut consumed: Vec<(u64, PvEntry)> =
        call.app.reader.entries().into_iter().filter_map(|entry| Some((sizes.get(&entry.id)?.bytes, entry))).collect();
    consumed.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let rows = consumed.iter().map(|(bytes, entry)| {
        json!({
            "pvName": entry.name.as_str(),
            "instance": call.identity(),
            "storageConsumed": bytes.to_string(),
            "storageConsumedInMB": format!("{:.2}", *bytes as f64 / KILO.powi(2)),
        })
    });
    json(&limited(call, rows)?)
}

/// Samples a second since a PV was first connected in this run; none before that.
pub(crate) fn rate(call: &Call, entry: &PvEntry) -> Option<f64> {
    let status = call.app.control.status(entry.id)?;
    let seconds = seconds_since(status.first_connected?);
    Some(if seconds > 0.0 { status.counters.received as f64 / seconds } else { 0.0 })
}

pub(crate) fn seconds_since(time: Timestamp) -> f64 {
    now().nanos().saturating_sub(time.nanos()) as f64 / 1e9
}

/// What a sample of a PV takes in segments, on average.
pub(crate) fn bytes_per_sample(size: &PvSize) -> f64 {
    size.bytes as f64 / size.samples.max(1) as f64
}

fn active(call: &Call) -> impl Iterator<Item = PvEntry> {
    call.app.reader.entries().into_iter().filter(|entry| entry.settings.state == PvState::Active)
}

fn sort_by_falling(rates: &mut [(f64, PvEntry)]) {
    rates.sort_by(|(a, _), (b, _)| b.total_cmp(a));
}

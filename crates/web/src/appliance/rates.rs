//! The Archiver Appliance's reports on how much comes and how much it takes: rates of samples and bytes, and sizes.

use super::names::limit;
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON},
    formats::{list::Frame, object::put_object},
};

const SECONDS_OF_HOUR: f64 = 3600.0;
const SECONDS_OF_DAY: f64 = 86_400.0;
const SECONDS_OF_YEAR: f64 = 365.0 * SECONDS_OF_DAY;
const KILO: f64 = 1024.0;

/// `GET /mgmt/bpl/getEventRateReport`: samples a second in this run, the fastest first.
pub(crate) fn event_rates(call: &Call) -> Answer {
    let rows = call.ask.event_rates(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, |out, row| {
        let rate = format!("{:?}", row.samples_per_second);
        put_object!(out, { "eventRate": word(&rate), "pvName": text(row.name.as_str()) });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getStorageRateReport`: what the samples of this run will take, by the size of those that are packed already.
pub(crate) fn storage_rates(call: &Call) -> Answer {
    let rows = call.ask.storage_rates(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, |out, of| {
        let [hour, day, year] = storage_rates_of(of.bytes_per_second).map(|(_, amount)| format!("{amount:?}"));
        put_object!(out, {
            "pvName": text(of.name.as_str()),
            "storageRate_GBperyear": word(&year),
            "storageRate_KBperhour": word(&hour),
            "storageRate_MBperday": word(&day),
        });
        Ok(())
    })
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
    let identity = call.identity().to_owned();
    let rows = call.ask.storage_consumed(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        put_object!(out, {
            "instance": text(&identity),
            "pvName": text(of.name.as_str()),
            "storageConsumed": word(&of.bytes.to_string()),
            "storageConsumedInMB": word(&format!("{:.2}", of.bytes as f64 / KILO.powi(2))),
        });
        Ok(())
    })
}

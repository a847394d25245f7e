//! The Archiver Appliance's measures of itself: how many PVs, how much comes, how much room there is. Numbers are texts, as there;
//! what the Appliance measures of parts that are not here is left out.

use archive::Totals;
use sample::Timestamp;
use serde_json::{Map, Value, json};
use service::{Ask, now};

use super::words::row;
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    process,
};

const SECONDS_OF_DAY: f64 = 86_400.0;
const GIGA: f64 = (1u64 << 30) as f64;

/// What comes in, over this run of the archiver.
struct Flow {
    totals: Totals,
    samples_per_second: f64,
    bytes_per_second: f64,
}

impl Flow {
    fn of(ask: &Ask) -> Flow {
        let totals = ask.totals();
        let seconds = seconds_since(ask.started()).max(1e-9);
        let samples_per_second = totals.counters.received as f64 / seconds;
        let weeks = ask.weeks();
        let (samples, bytes) =
            weeks.iter().fold((0, 0), |(samples, bytes), week| (samples + week.samples, bytes + week.bytes));
        let bytes_per_second = samples_per_second * bytes as f64 / samples.max(1) as f64;
        Flow { totals, samples_per_second, bytes_per_second }
    }

    fn gigabytes_per_day(&self) -> f64 {
        self.bytes_per_second * SECONDS_OF_DAY / GIGA
    }

    fn gigabytes_per_year(&self) -> f64 {
        self.gigabytes_per_day() * 365.0
    }
}

/// `GET /mgmt/bpl/getInstanceMetrics` and `getApplianceMetrics`: one member, which is this program.
pub(crate) fn instances(call: &Call) -> Answer {
    let flow = Flow::of(&call.ask);
    json(&[json!({
        "instance": call.identity(),
        "status": "Working",
        "MGMT_uptime": uptime(seconds_since(call.ask.started())),
        "pvCount": flow.totals.pvs().to_string(),
        "connectedPVCount": flow.totals.connected.to_string(),
        "disconnectedPVCount": (flow.totals.disconnected + flow.totals.searching).to_string(),
        "eventRate": number(flow.samples_per_second),
        "dataRate": number(flow.bytes_per_second),
        "dataRateGBPerDay": number(flow.gigabytes_per_day()),
        "dataRateGBPerYear": number(flow.gigabytes_per_year()),
    })])
}

/// `GET /mgmt/bpl/getInstanceMetricsForAppliance`, `getApplianceMetricsForAppliance`: the same, row by row.
pub(crate) fn of_instance(call: &Call) -> Answer {
    let flow = Flow::of(&call.ask);
    let totals = &flow.totals;
    json(&[
        row("mgmt", "Appliance Identity", call.identity().to_owned()),
        row("mgmt", "Uptime", uptime(seconds_since(call.ask.started()))),
        row("engine", "Total PV count", totals.pvs().to_string()),
        row("engine", "Connected PV count", totals.connected.to_string()),
        row("engine", "Disconnected PV count", (totals.disconnected + totals.searching).to_string()),
        row("engine", "Paused PV count", totals.paused.to_string()),
        row("engine", "Event Rate (in events/sec)", number(flow.samples_per_second)),
        row("engine", "Data Rate (in bytes/sec)", number(flow.bytes_per_second)),
        row("engine", "Data Rate in (GB/day)", number(flow.gigabytes_per_day())),
        row("engine", "Data Rate in (GB/year)", number(flow.gigabytes_per_year())),
    ])
}

/// `GET /mgmt/bpl/getAggregatedApplianceInfo`
pub(crate) fn aggregated(call: &Call) -> Answer {
    let flow = Flow::of(&call.ask);
    json(&json!({
        "totalStorageRate": format!("{:?}", flow.bytes_per_second),
        "totalPVCount": flow.totals.pvs().to_string(),
        "totalEventRate": format!("{:?}", flow.samples_per_second),
        "totalStorageImpact": { call.identity(): call.ask.store_health().block_bytes.to_string() },
    }))
}

/// `GET /mgmt/bpl/getStorageMetrics`: what each place of the archive holds.
pub(crate) fn storage(call: &Call) -> Answer {
    let flow = Flow::of(&call.ask);
    let mut row = json!({
        "instance": call.identity(),
        "status": "Working",
        "pvCount": flow.totals.pvs().to_string(),
        "eventRate": number(flow.samples_per_second),
        "dataRateGBPerDay": number(flow.gigabytes_per_day()),
        "capacityUtilized": "N/A",
    });
    for place in call.ask.store_health().places {
        row[place_name(&call.ask, &place.name)] = place.bytes.to_string().into();
    }
    json(&[row])
}

/// `GET /mgmt/bpl/getStorageMetricsForAppliance` and `/etl/bpl/getStorageMetricsForAppliance`
pub(crate) fn storage_of_instance(call: &Call) -> Answer {
    let places = call.ask.store_health().places;
    json(&places.iter().map(|place| storage_of_place(&call.ask, place)).collect::<Vec<Value>>())
}

fn storage_of_place(ask: &Ask, place: &archive::PlaceHealth) -> Value {
    let mut row = json!({
        "name": place_name(ask, &place.name),
        "consumed_space": gigabytes(place.bytes),
        "segments": place.segments.to_string(),
    });
    if let Some(room) = place.room {
        row["total_space"] = gigabytes(room.total).into();
        row["available_space"] = gigabytes(room.free).into();
        row["available_space_percent"] = number(100.0 * room.free as f64 / room.total.max(1) as f64).into();
    }
    row
}

/// The folder of the archive has no name in the configuration.
fn place_name<'a>(ask: &'a Ask, name: &'a str) -> &'a str {
    if name.is_empty() { ask.identity() } else { name }
}

/// `GET /mgmt/bpl/getConnectedPVCountForAppliance` and `/engine/bpl/…`
pub(crate) fn connected(call: &Call) -> Answer {
    let totals = call.ask.totals();
    json(&json!({
        "appliance": call.identity(),
        "total": totals.pvs().to_string(),
        "connected": totals.connected.to_string(),
        "disconnected": (totals.disconnected + totals.searching).to_string(),
        "paused": totals.paused.to_string(),
    }))
}

/// `GET /mgmt/bpl/getProcessMetrics` and the like: how busy the machine is now. What is said of a Java heap is the share of the
/// machine's memory that the program has. All parts are one process.
pub(crate) fn process(call: &Call) -> Answer {
    let mut metrics = Map::new();
    let now = json!([{
        "timeInEpochSeconds": now().seconds_and_nanos().0.to_string(),
        "systemLoadAverage": process::load_average().map(|load| load.to_string()),
        "heapUsedPercent": process::memory_percent().map(|percent| percent.to_string()),
    }]);
    for part in ["MGMT", "ENGINE", "ETL", "RETRIEVAL"] {
        metrics.insert(format!("{part}_uptime"), (seconds_since(call.ask.started()).max(0.0) as u64).into());
        metrics.insert(format!("{part}_metrics"), now.clone());
    }
    json(&metrics)
}

/// `GET /mgmt/bpl/getProcessMetricsDataForAppliance`: the same as lines of a chart, of points in milliseconds and percent.
pub(crate) fn process_chart(_: &Call) -> Answer {
    let milliseconds = now().nanos().div_euclid(1_000_000);
    let line = |label: &str, value: Option<f64>| {
        let points: Vec<Value> = value.map(|value| json!([milliseconds, value])).into_iter().collect();
        json!({ "label": label, "data": points })
    };
    let mut lines = vec![line("system_load (%)", process::load_average())];
    let memory = process::memory_percent();
    lines.extend(["engine", "etl", "retrieval"].map(|part| line(&format!("{part}_heap (%)"), memory)));
    json(&lines)
}

fn seconds_since(time: Timestamp) -> f64 {
    now().nanos().saturating_sub(time.nanos()) as f64 / 1e9
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / GIGA)
}

/// Two digits behind the point and commas between thousands, as the Appliance writes numbers for people.
fn number(number: f64) -> String {
    let text = format!("{:.2}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "00"));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{}{grouped}.{fraction}", if number < 0.0 { "-" } else { "" })
}

/// Hours, minutes and seconds, as in `26:03:09`.
fn uptime(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_written_as_pages_show_them() {
        assert_eq!(
            [0.0, 12.345, 2937.26, 1_234_567.0, -1000.5].map(number),
            ["0.00", "12.35", "2,937.26", "1,234,567.00", "-1,000.50"]
        );
        assert_eq!(uptime(93_789.9), "26:03:09");
    }
}

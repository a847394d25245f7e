//! What the Archiver Appliance's clients ask about one PV: its type, its settings, how it fares. What is not known here is left
//! out, rather than filled with a number that means nothing.

use archive::{Connection, FieldName, Protocol, PvEntry, PvState, Status};
use sample::{Limits, Shape};
use serde_json::{Map, Value, json};
use service::{Ask, Configured};

use super::{
    metadata::facts,
    names::named,
    rates::storage_rates_of,
    rules::DEFAULT,
    status::last_sample,
    whose::owner,
    words::{method_name, period_seconds, row},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::appliance_values::{date, dbr_type, instant, java_double},
    refusal::Refusal,
    url::Params,
};

/// What the store is called where the Appliance names its stores.
pub(super) const STORE: &str = "pvark";

/// `GET /mgmt/bpl/getPVTypeInfo`
pub(crate) fn type_info(call: &Call) -> Answer {
    let configured = call.ask.configured(named(&call.ask, &call.query)?)?;
    json(&type_info_of(call.identity(), &configured))
}

/// `GET /retrieval/bpl/getMetadata`: the same, and the fields of the record.
pub(crate) fn all_metadata(call: &Call) -> Answer {
    let configured = call.ask.configured(named(&call.ask, &call.query)?)?;
    let metadata = call.ask.described(&configured.entry, configured.metadata.clone());
    let mut all = type_info_of(call.identity(), &configured);
    all.extend(facts(&metadata, true).into_iter().map(|(name, text)| (name, Value::from(text))));
    all.extend(metadata.element_count.map(|count| ("NELM".to_owned(), Value::from(count.to_string()))));
    json(&all)
}

/// `GET /mgmt/bpl/getStoresForPV`: one, for there are no tiers, and those of the Appliance if its files are read in place.
pub(crate) fn stores(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    let mut stores = Map::new();
    for url in data_stores(&in_json(call.ask.configuration(entry.id).as_deref())) {
        let parameters = Params::parse(url.split_once('?').map_or("", |(_, parameters)| parameters));
        stores.insert(parameters.get("name").unwrap_or("").to_owned(), url.into());
    }
    json(&stores)
}

/// What the Appliance's configuration says of a PV whose files are read in place; empty for all others.
fn in_json(configuration: Option<&str>) -> Map<String, Value> {
    configuration.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The URLs of the stores: those of the Appliance, and then this archive's own.
fn data_stores(configuration: &Map<String, Value>) -> Vec<String> {
    let said = configuration.get("dataStores").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut stores: Vec<String> = said.iter().filter_map(|url| Some(url.as_str()?.to_owned())).collect();
    if stores.is_empty() {
        stores.push(format!("{STORE}://localhost?name={STORE}"));
    }
    stores
}

/// `GET /retrieval/bpl/areWeArchivingPV`
pub(crate) fn is_archived(call: &Call) -> Answer {
    let name = call.query.needed("pv")?;
    json(&json!({ "status": owner(&call.ask, name).is_some().to_string() }))
}

/// How a PV is configured in an archive of that name, as the Appliance tells it.
pub(super) fn type_info_of(identity: &str, of: &Configured) -> Map<String, Value> {
    let (Configured { entry, metadata, .. }, mut info) = (of, Map::new());
    let mut put = |key: &str, text: String| info.insert(key.to_owned(), Value::String(text));
    put("pvName", entry.name.to_string());
    put("applianceIdentity", identity.to_owned());
    put("creationTime", instant(entry.added));
    put("modificationTime", instant(of.changed));
    put("paused", (entry.settings.state == PvState::Paused).to_string());
    put("samplingMethod", method_name(entry.settings.method).to_owned());
    put("samplingPeriod", format!("{:?}", period_seconds(entry.settings.method)));
    let rules = entry.settings.rules();
    put("policyName", rules.origin.policy.as_ref().map_or_else(|| DEFAULT.to_owned(), ToString::to_string));
    put("usePVAccess", (entry.settings.protocol == Protocol::Pva).to_string());
    if let Some(server) = of.server {
        put("hostName", server.ip().to_string());
    }
    if let Some(value_type) = metadata.value_type {
        put("DBRType", dbr_type(value_type));
        put("scalar", (value_type.shape == Shape::Scalar).to_string());
    }
    if let Some(count) = metadata.element_count {
        put("elementCount", count.to_string());
    }
    if let Some(units) = &metadata.units {
        put("units", units.clone());
    }
    if let Some(precision) = metadata.precision {
        put("precision", java_double(f64::from(precision)));
    }
    let limits: [(&str, Option<Limits>); 4] = [
        ("DisplayLimit", metadata.display),
        ("CtrlLimit", metadata.control),
        ("WarningLimit", metadata.warning),
        ("AlarmLimit", metadata.alarm),
    ];
    for (name, limits) in limits {
        if let Some(limits) = limits {
            put(&format!("lower{name}"), java_double(limits.low));
            put(&format!("upper{name}"), java_double(limits.high));
        }
    }
    let fields: Vec<&str> = rules.fields.iter().map(FieldName::as_str).collect();
    if let Some(controlling) = &of.controlling_pv {
        info.insert("controllingPV".to_owned(), controlling.as_str().into());
    }
    info.insert("archiveFields".to_owned(), fields.into());
    info.insert("dataStores".to_owned(), data_stores(&Map::new()).into());
    info.insert("chunkKey".to_owned(), format!("{}:", entry.name.as_str().replace([':', '-'], "/")).into());
    with_configuration(info, of, in_json(of.elsewhere.as_deref()))
}

/// Of a PV whose files are read in place the Appliance's words count, but for what is decided here: its name, whether it is
/// paused and, once that is not so or somebody has said so here, how it is sampled.
fn with_configuration(own: Map<String, Value>, of: &Configured, mut said: Map<String, Value>) -> Map<String, Value> {
    let is_decided_here = of.entry.settings.state == PvState::Active || of.changed > of.entry.added;
    let is_taken = |key: &str| match key {
        "pvName" | "paused" => true,
        "samplingMethod" | "samplingPeriod" | "usePVAccess" | "modificationTime" => is_decided_here,
        _ => false,
    };
    for (key, value) in own {
        if is_taken(&key) || !said.contains_key(&key) {
            said.insert(key, value);
        }
    }
    said
}

/// `GET /mgmt/bpl/getPVDetails`
pub(crate) fn details(call: &Call) -> Answer {
    json(&details_of(&call.ask, call.ask.configured(named(&call.ask, &call.query)?)?)?)
}

fn details_of(ask: &Ask, of: Configured) -> Result<Vec<Value>, Refusal> {
    let Configured { entry, metadata, changed, controlling_pv, .. } = of;
    let status = ask.pv_status(entry.id);
    let last = last_sample(ask, &entry, status.as_ref());
    let settings = &entry.settings;
    let mut rows = vec![
        row("mgmt", "PV Name", entry.name.to_string()),
        row("mgmt", "Instance archiving PV", ask.identity().to_owned()),
        row("mgmt", "Archival params creation time:", date(Some(entry.added))),
        row("mgmt", "Archival params modification time:", date(Some(changed))),
        row("mgmt", "Is this PV paused:", yes_or_no(settings.state == PvState::Paused)),
        row("mgmt", "Sampling method:", method_name(settings.method).to_owned()),
        row("mgmt", "Sampling period:", format!("{:?}", period_seconds(settings.method))),
        row("mgmt", "Are we using PVAccess?", yes_or_no(settings.protocol == Protocol::Pva)),
    ];
    let rules = settings.rules();
    rows.extend(rules.origin.policy.as_ref().map(|policy| row("mgmt", "Policy name:", policy.to_string())));
    rows.extend(controlling_pv.map(|controlling| row("mgmt", "Controlling PV", controlling.to_string())));
    if !rules.fields.is_empty() {
        let fields: Vec<&str> = rules.fields.iter().map(FieldName::as_str).collect();
        rows.push(row("mgmt", "Archive Fields", fields.join(",")));
    }
    if let Some(value_type) = metadata.value_type {
        rows.push(row("mgmt", "Archiver DBR type (from typeinfo):", dbr_type(value_type)));
        rows.push(row("mgmt", "Is this a scalar:", yes_or_no(value_type.shape == Shape::Scalar)));
    }
    let known = [
        ("Number of elements:", metadata.element_count.map(|count| count.to_string())),
        ("Precision:", metadata.precision.map(|precision| java_double(f64::from(precision)))),
        ("Units:", metadata.units),
    ];
    rows.extend(known.into_iter().filter_map(|(name, text)| Some(row("mgmt", name, text?))));
    rows.push(row("pv", "Channel Name", entry.name.to_string()));
    rows.push(row("pv", "When did we receive the last event?", date(last)));
    rows.extend(status.iter().flat_map(how_it_fares));
    rows.extend(what_it_takes(ask, &entry)?);
    Ok(rows)
}

/// Rates over this run, and of storage as far as samples are packed already.
fn what_it_takes(ask: &Ask, entry: &PvEntry) -> Result<Vec<Value>, Refusal> {
    let Some(rate) = ask.rate(entry) else { return Ok(Vec::new()) };
    let mut rows = vec![row("pv", "Estimated event rate (events/sec)", two_digits(rate))];
    if let Some(size) = ask.size(entry.id)? {
        let bytes = size.bytes as f64 / size.samples.max(1) as f64;
        rows.push(row("pv", "Average bytes per event", two_digits(bytes)));
        for (unit, amount) in storage_rates_of(rate * bytes) {
            rows.push(row("pv", &format!("Estimated storage rate ({unit})"), two_digits(amount)));
        }
    }
    Ok(rows)
}

/// Without commas between thousands: clients compare these.
fn two_digits(number: f64) -> String {
    format!("{number:.2}")
}

/// The counts are those of this run.
fn how_it_fares(status: &Status) -> Vec<Value> {
    let lost = status.counters.queue_full + status.counters.store_refused;
    let mut rows = vec![
        row("pv", "Is engine currently archiving this?", yes_or_no(status.connection != Connection::Paused)),
        row("pv", "Is this PV currently connected?", yes_or_no(status.connection == Connection::Connected)),
        row("pv", "When did we first establish a connection to this PV?", date(status.first_connected)),
        row("pv", "How many times have we lost and regained the connection to this PV?", status.reconnects.to_string()),
        row("pv", "How many events so far?", status.counters.received.to_string()),
        row("pv", "How many events lost because the sample buffer is full so far?", lost.to_string()),
        row("pv", "How many events lost totally so far?", lost.to_string()),
    ];
    rows.extend(status.server.map(|server| row("pv", "Host name", server.ip().to_string())));
    rows
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "Yes" } else { "No" }.to_owned()
}

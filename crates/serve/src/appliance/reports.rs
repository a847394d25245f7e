//! The Archiver Appliance's lists of PVs in a certain state: paused, without connection, new.

use acquire::{Connection, Status};
use sample::{PvEntry, PvState, TimeRange};
use serde_json::{Map, Value, json};

use super::{
    details::IDENTITY,
    status::{date, last_sample},
};
use crate::{
    answer::{Answer, json},
    call::Call,
    refusal::Refusal,
};

/// `GET /mgmt/bpl/getAllExpandedPVNames`: every name and alias, and the other one under which its PV is found.
pub(crate) fn expanded_names(call: &Call) -> Answer {
    let names = call.app.reader.names();
    let names = names.iter().flat_map(|named| [named.name.to_string(), format!("{}.VAL", named.name)]);
    json(&names.collect::<Vec<_>>())
}

/// `GET /mgmt/bpl/getPausedPVsReport`
pub(crate) fn paused(call: &Call) -> Answer {
    let entries = call.app.reader.entries();
    let paused = entries.iter().filter(|entry| entry.settings.state == PvState::Paused);
    let rows = paused.map(|entry| json!({ "pvName": entry.name.as_str(), "instance": IDENTITY }));
    json(&limited(call, rows)?)
}

/// `GET /mgmt/bpl/getRecentlyAddedPVs`: the newest first.
pub(crate) fn recently_added(call: &Call) -> Answer {
    let entries = call.app.reader.entries();
    let mut newest: Vec<&PvEntry> = entries.iter().collect();
    newest.sort_by_key(|entry| std::cmp::Reverse(entry.added));
    let rows = newest.into_iter().map(
        |entry| json!({ "pvName": entry.name.as_str(), "instance": IDENTITY, "creationTime": date(Some(entry.added)) }),
    );
    json(&limited(call, rows)?)
}

/// `GET /mgmt/bpl/getNeverConnectedPVs`
pub(crate) fn never_connected(call: &Call) -> Answer {
    let mut rows = Vec::new();
    for entry in call.app.reader.entries().iter() {
        if is_never_connected(call, entry)? {
            rows.push(json!({
                "pvName": entry.name.as_str(),
                "requestTime": date(Some(entry.added)),
                "currentState": "METAINFO_REQUESTED",
                "appliance": IDENTITY,
            }));
        }
    }
    json(&rows)
}

/// Whether nobody has ever answered for a PV: no IOC does now, and nothing was recorded in earlier runs either.
pub(crate) fn is_never_connected(call: &Call, entry: &PvEntry) -> Result<bool, Refusal> {
    let is_searching = entry.settings.state == PvState::Active
        && call.app.control.status(entry.id).is_none_or(|status| status.connection == Connection::Searching);
    Ok(is_searching
        && call.app.reader.extent(entry.id).is_none()
        && call.metadata_at_end(entry.id, TimeRange::ALL)?.is_none())
}

/// `GET /mgmt/bpl/getCurrentlyDisconnectedPVs`: those that were connected once, in this run or before it.
pub(crate) fn disconnected(call: &Call) -> Answer {
    let mut rows = Vec::new();
    for entry in call.app.reader.entries().iter() {
        let Some(status) = call.app.control.status(entry.id) else { continue };
        let is_lost = match status.connection {
            Connection::Disconnected => true,
            Connection::Searching => !is_never_connected(call, entry)?,
            Connection::Connected | Connection::Paused => false,
        };
        if is_lost {
            rows.push(disconnected_row(call, entry, &status));
        }
    }
    json(&rows)
}

/// When the connection was lost is known only if that was in this run.
fn disconnected_row(call: &Call, entry: &PvEntry, status: &Status) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |key: &str, text: String| row.insert(key.to_owned(), Value::String(text));
    put("pvName", entry.name.to_string());
    put("instance", IDENTITY.to_owned());
    put("lastKnownEvent", date(last_sample(call, entry, Some(status))));
    if status.connection == Connection::Disconnected {
        put("connectionLostAt", date(Some(status.since)));
        put("noConnectionAsOfEpochSecs", status.since.seconds_and_nanos().0.to_string());
    }
    row
}

/// As many rows as `limit=` says, all without it.
fn limited(call: &Call, rows: impl Iterator<Item = Value>) -> Result<Vec<Value>, Refusal> {
    let limit = call.number("limit")?.and_then(|limit: i64| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    Ok(rows.take(limit).collect())
}

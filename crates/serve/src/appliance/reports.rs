//! The Archiver Appliance's lists of PVs in a certain state: paused, without connection, new.

use acquire::{Connection, Status};
use sample::{PvEntry, PvState, Shape, TimeRange, Timestamp};
use serde_json::{Map, Value, json};

use super::{
    changes::last_changes,
    details::{dbr_type, method_name, period_seconds},
    status::{date, last_sample},
};
use crate::{
    answer::{Answer, json},
    call::Call,
    names::Pattern,
    refusal::Refusal,
};

/// `GET /mgmt/bpl/getAllExpandedPVNames`: every name and alias, and the other one under which its PV is found.
pub(crate) fn expanded_names(call: &Call) -> Answer {
    let names = call.app.reader.names();
    let names = names.iter().flat_map(|named| [named.name.to_string(), format!("{}.VAL", named.name)]);
    json(&names.collect::<Vec<_>>())
}

/// `GET /mgmt/bpl/getPausedPVsReport`: when they were changed last is known as far back as the audit is looked at.
pub(crate) fn paused(call: &Call) -> Answer {
    let (entries, changed) = (call.app.reader.entries(), last_changes(call)?);
    let paused = entries.iter().filter(|entry| entry.settings.state == PvState::Paused);
    let rows = paused.map(|entry| {
        let changed = changed.of(entry);
        let (name, time) = (entry.name.as_str(), date(Some(changed)));
        json!({ "pvName": name, "instance": call.identity(), "modificationTime": time })
    });
    json(&limited(call, rows)?)
}

/// `GET /mgmt/bpl/getTypeInfoKeys`, `getPVsForThisAppliance`: the names of all PVs, without aliases.
pub(crate) fn own_names(call: &Call) -> Answer {
    json(&call.app.reader.entries().iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>())
}

/// `GET /mgmt/bpl/getPausedPVsForThisAppliance`
pub(crate) fn paused_names(call: &Call) -> Answer {
    let entries = call.app.reader.entries();
    let paused = entries.iter().filter(|entry| entry.settings.state == PvState::Paused);
    json(&paused.map(|entry| entry.name.as_str()).collect::<Vec<_>>())
}

/// `GET /mgmt/bpl/getRecentlyAddedPVs`: the newest first.
pub(crate) fn recently_added(call: &Call) -> Answer {
    let entries = call.app.reader.entries();
    let mut newest: Vec<&PvEntry> = entries.iter().collect();
    newest.sort_by_key(|entry| std::cmp::Reverse(entry.added));
    let rows = newest.into_iter().map(
        |entry| json!({ "pvName": entry.name.as_str(), "instance": call.identity(), "creationTime": date(Some(entry.added)) }),
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
                "startOfWorkflow": date(Some(entry.added)),
                "currentState": "METAINFO_REQUESTED",
                "appliance": call.identity(),
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
        && call.app.query.extent(entry.id)?.is_none()
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

/// Of a connection that was lost before this run it is told since when this run has been looking for the PV; scripts reckon with it.
fn disconnected_row(call: &Call, entry: &PvEntry, status: &Status) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |key: &str, text: String| row.insert(key.to_owned(), Value::String(text));
    put("pvName", entry.name.to_string());
    put("instance", call.identity().to_owned());
    put("lastKnownEvent", date(last_sample(call, entry, Some(status))));
    put("connectionLostAt", date(Some(status.since)));
    put("noConnectionAsOfEpochSecs", seconds(status.since));
    put("hostName", status.server.map_or_else(|| "N/A".to_owned(), |server| server.ip().to_string()));
    put("commandThreadID", "0".to_owned()); // a client takes its absence for a fault
    row
}

/// `GET /mgmt/bpl/getArchivedWaveforms`: PVs whose values are arrays.
pub(crate) fn waveforms(call: &Call) -> Answer {
    let mut rows = Vec::new();
    for entry in call.app.reader.entries().iter() {
        let Some((_, metadata)) = call.metadata_at_end(entry.id, TimeRange::ALL)? else { continue };
        let Some(value_type) = metadata.value_type.filter(|value_type| value_type.shape == Shape::Array) else {
            continue;
        };
        rows.push(json!({
            "pvName": entry.name.as_str(),
            "samplingmethod": method_name(entry.settings.method),
            "samplingperiod": format!("{:?}", period_seconds(entry.settings.method)),
            "dbrtype": dbr_type(value_type),
            "elementCount": metadata.element_count.unwrap_or(0).to_string(),
        }));
    }
    json(&rows)
}

/// `GET /mgmt/bpl/getTimeSpanReport`: when each PV was added and when its newest sample was, in seconds since 1970.
pub(crate) fn time_spans(call: &Call) -> Answer {
    let mut rows = Map::new();
    for entry in fitting(call)? {
        let status = call.app.control.status(entry.id);
        let last = last_sample(call, &entry, status.as_ref());
        let row = json!({
            "pvName": entry.name.as_str(),
            "paused": (entry.settings.state == PvState::Paused).to_string(),
            "creationTS": seconds(entry.added),
            "lastEvent": last.map_or_else(|| "0".to_owned(), seconds),
        });
        rows.insert(entry.name.to_string(), row);
    }
    json(&rows)
}

/// `GET /mgmt/bpl/getCreationReportForAppliance`: when each PV was added, in seconds since 1970.
pub(crate) fn creations(call: &Call) -> Answer {
    let row = |entry: &PvEntry| {
        json!({
            "pvName": entry.name.as_str(),
            "creationTS": seconds(entry.added),
            "paused": (entry.settings.state == PvState::Paused).to_string(),
        })
    };
    json(&fitting(call)?.iter().map(row).collect::<Vec<_>>())
}

/// `GET /engine/bpl/getLastKnownTimeStampReport`
pub(crate) fn last_stamps(call: &Call) -> Answer {
    let row = |entry: PvEntry| {
        let last = last_sample(call, &entry, call.app.control.status(entry.id).as_ref())?;
        Some(json!({ "pvName": entry.name.as_str(), "lastEvent": seconds(last) }))
    };
    json(&fitting(call)?.into_iter().filter_map(row).collect::<Vec<_>>())
}

/// The PVs whose names `regex=` fits; all of them without it. Aliases are not told apart.
fn fitting(call: &Call) -> Result<Vec<PvEntry>, Refusal> {
    let Some(regex) = call.query.get("regex") else { return Ok(call.app.reader.entries()) };
    let names = call.app.reader.names();
    let fitting = Pattern::whole_regex(regex)?.among(&names).into_iter();
    Ok(fitting.filter_map(|named| call.app.reader.entry(named.pv).filter(|pv| pv.name == named.name)).collect())
}

/// `GET /mgmt/bpl/getRecentlyModifiedPVs`: those that were added, paused, resumed, renamed or restored, the newest change first.
pub(crate) fn recently_modified(call: &Call) -> Answer {
    let changed = last_changes(call)?;
    let mut newest: Vec<(Timestamp, PvEntry)> =
        call.app.reader.entries().into_iter().map(|entry| (changed.of(&entry), entry)).collect();
    newest.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
    let rows = newest.into_iter().map(|(changed, entry)| {
        json!({ "pvName": entry.name.as_str(), "instance": call.identity(), "modificationTime": date(Some(changed)) })
    });
    json(&limited(call, rows)?)
}

fn seconds(time: Timestamp) -> String {
    time.seconds_and_nanos().0.to_string()
}

/// As many rows as `limit=` says, all without it.
pub(super) fn limited(call: &Call, rows: impl Iterator<Item = Value>) -> Result<Vec<Value>, Refusal> {
    let limit = call.number("limit")?.and_then(|limit: i64| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    Ok(rows.take(limit).collect())
}

//! The Archiver Appliance's lists of PVs in a certain state: paused, without connection, new.

use acquire::{Connection, Status};
use sample::{PvEntry, PvState, Shape, TimeRange, Timestamp};
use serde_json::{Map, Value, json};

use super::{
    changes::last_changes,
    details::{dbr_type, method_name, period_seconds},
    search::pattern,
    status::{date, last_sample},
};
use crate::{
    answer::Answer,
    call::Call,
    formats::list::{Frame, json_members, json_rows},
    lists::{all_names, all_pvs},
    names::Pattern,
    refusal::Refusal,
};

/// What a PV takes in a list that is sorted before it is sent.
const PLACE_BYTES: usize = 32;

/// Calls `row` for each PV while the answer is sent, and leaves out the PVs for which it gives nothing.
pub(super) fn report(
    call: &Call,
    mut row: impl FnMut(&Call, &PvEntry) -> Result<Option<Value>, Refusal> + Send + 'static,
) -> Answer {
    let (left, asked) = (limit(call)?, call.without_body());
    let rows = all_pvs(&call.app.reader).map(move |entry| row(&asked, &entry)).filter(|row| !matches!(row, Ok(None)));
    json_rows(call, Frame::list(), rows.take(left))
}

/// The PVs by what `key` says of them, the largest first, each with a row; those of which it says nothing are left out.
pub(super) fn ranked<K: Ord + Copy + Send + 'static>(
    call: &Call,
    key: impl Fn(&PvEntry) -> Option<K>,
    row: impl Fn(&Call, &PvEntry, K) -> Value + Send + 'static,
) -> Answer {
    let left = limit(call)?;
    call.lease.grow_by(call.app.reader.names().len(), PLACE_BYTES + size_of::<K>())?;
    let mut places = Vec::new();
    for (index, entry) in all_pvs(&call.app.reader).enumerate() {
        if index % 1024 == 0 {
            call.go_on()?;
        }
        places.extend(key(&entry).map(|key| (key, entry.id)));
    }
    places.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
    let asked = call.without_body();
    let rows = places.into_iter().take(left);
    let rows = rows.map(move |(key, pv)| Ok(asked.app.reader.entry(pv).map(|entry| row(&asked, &entry, key))));
    json_rows(call, Frame::list(), rows)
}

/// The names of those PVs that are meant, without aliases.
pub(super) fn names_of(call: &Call, is_meant: impl Fn(&PvEntry) -> bool + Send + 'static) -> Answer {
    let names = all_pvs(&call.app.reader).map(move |entry| Ok(is_meant(&entry).then(|| entry.name.to_string())));
    json_rows(call, Frame::list(), names)
}

/// `GET /mgmt/bpl/getAllExpandedPVNames`: every name and alias, and the other one under which its PV is found.
pub(crate) fn expanded_names(call: &Call) -> Answer {
    let names = all_names(&call.app.reader).flat_map(|named| {
        let with_value = format!("{}.VAL", named.name);
        [Ok(Some(named.name.to_string())), Ok(Some(with_value))]
    });
    json_rows(call, Frame::list(), names)
}

/// `GET /mgmt/bpl/getPausedPVsReport`: when they were changed last is known as far back as the audit is looked at.
pub(crate) fn paused(call: &Call) -> Answer {
    last_changes(call)?;
    report(call, |call, entry| {
        if entry.settings.state != PvState::Paused {
            return Ok(None);
        }
        let (name, time) = (entry.name.as_str(), date(Some(call.app.last_change(entry))));
        Ok(Some(json!({ "pvName": name, "instance": call.identity(), "modificationTime": time })))
    })
}

/// `GET /mgmt/bpl/getTypeInfoKeys`, `getPVsForThisAppliance`: the names of all PVs, without aliases.
pub(crate) fn own_names(call: &Call) -> Answer {
    names_of(call, |_| true)
}

/// `GET /mgmt/bpl/getPausedPVsForThisAppliance`
pub(crate) fn paused_names(call: &Call) -> Answer {
    names_of(call, |entry| entry.settings.state == PvState::Paused)
}

/// `GET /mgmt/bpl/getRecentlyAddedPVs`: the newest first.
pub(crate) fn recently_added(call: &Call) -> Answer {
    ranked(
        call,
        |entry| Some(entry.added),
        |call, entry, added| json!({ "pvName": entry.name.as_str(), "instance": call.identity(), "creationTime": date(Some(added)) }),
    )
}

/// `GET /mgmt/bpl/getNeverConnectedPVs`
pub(crate) fn never_connected(call: &Call) -> Answer {
    report(call, |call, entry| {
        let row = || {
            json!({
                "pvName": entry.name.as_str(),
                "requestTime": date(Some(entry.added)),
                "startOfWorkflow": date(Some(entry.added)),
                "currentState": "METAINFO_REQUESTED",
                "appliance": call.identity(),
            })
        };
        Ok(is_never_connected(call, entry)?.then(row))
    })
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
    report(call, |call, entry| {
        let Some(status) = call.app.control.status(entry.id) else { return Ok(None) };
        let is_lost = match status.connection {
            Connection::Disconnected => true,
            Connection::Searching => !is_never_connected(call, entry)?,
            Connection::Connected | Connection::Paused => false,
        };
        Ok(is_lost.then(|| disconnected_row(call, entry, &status).into()))
    })
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
    report(call, |call, entry| {
        let Some((_, metadata)) = call.metadata_at_end(entry.id, TimeRange::ALL)? else { return Ok(None) };
        let value_type = metadata.value_type.filter(|value_type| value_type.shape == Shape::Array);
        Ok(value_type.map(|value_type| {
            json!({
                "pvName": entry.name.as_str(),
                "samplingmethod": method_name(entry.settings.method),
                "samplingperiod": format!("{:?}", period_seconds(entry.settings.method)),
                "dbrtype": dbr_type(value_type),
                "elementCount": metadata.element_count.unwrap_or(0).to_string(),
            })
        }))
    })
}

/// `GET /mgmt/bpl/getTimeSpanReport`: when each PV was added and when its newest sample was, in seconds since 1970.
pub(crate) fn time_spans(call: &Call) -> Answer {
    let asked = call.without_body();
    let rows = fitting(call)?.map(move |entry| {
        let status = asked.app.control.status(entry.id);
        let last = last_sample(&asked, &entry, status.as_ref());
        let row = json!({
            "pvName": entry.name.as_str(),
            "paused": (entry.settings.state == PvState::Paused).to_string(),
            "creationTS": seconds(entry.added),
            "lastEvent": last.map_or_else(|| "0".to_owned(), seconds),
        });
        Ok(Some((entry.name.to_string(), row)))
    });
    json_members(call, rows)
}

/// `GET /mgmt/bpl/getCreationReportForAppliance`: when each PV was added, in seconds since 1970.
pub(crate) fn creations(call: &Call) -> Answer {
    let row = |entry: PvEntry| {
        Ok(Some(json!({
            "pvName": entry.name.as_str(),
            "creationTS": seconds(entry.added),
            "paused": (entry.settings.state == PvState::Paused).to_string(),
        })))
    };
    json_rows(call, Frame::list(), fitting(call)?.map(row))
}

/// `GET /engine/bpl/getLastKnownTimeStampReport`
pub(crate) fn last_stamps(call: &Call) -> Answer {
    let asked = call.without_body();
    let row = move |entry: PvEntry| {
        let last = last_sample(&asked, &entry, asked.app.control.status(entry.id).as_ref());
        Ok(last.map(|last| json!({ "pvName": entry.name.as_str(), "lastEvent": seconds(last) })))
    };
    json_rows(call, Frame::list(), fitting(call)?.map(row))
}

/// The PVs whose names `regex=` fits; all of them without it. Aliases are not told apart.
fn fitting(call: &Call) -> Result<Box<dyn Iterator<Item = PvEntry> + Send>, Refusal> {
    let pattern = pattern(call)?;
    if matches!(pattern, Pattern::Everything) {
        return Ok(Box::new(all_pvs(&call.app.reader)));
    }
    let (found, reader) = (crate::lists::fitting(call, &pattern)?, call.app.reader.clone());
    let is_own =
        move |item: crate::lists::Item| reader.entry(item.pv?).filter(|pv| pv.name.as_str() == item.name.as_str());
    Ok(Box::new(found.into_iter().filter_map(is_own)))
}

/// `GET /mgmt/bpl/getRecentlyModifiedPVs`: those that were added, paused, resumed, renamed or restored, the newest change first.
pub(crate) fn recently_modified(call: &Call) -> Answer {
    last_changes(call)?;
    ranked(
        call,
        |entry| Some(call.app.last_change(entry)),
        |call, entry, changed| json!({ "pvName": entry.name.as_str(), "instance": call.identity(), "modificationTime": date(Some(changed)) }),
    )
}

fn seconds(time: Timestamp) -> String {
    time.seconds_and_nanos().0.to_string()
}

/// How many rows `limit=` asks for, all without it.
pub(super) fn limit(call: &Call) -> Result<usize, Refusal> {
    Ok(call.number("limit")?.and_then(|limit: i64| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
}

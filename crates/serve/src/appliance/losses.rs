//! The Archiver Appliance's reports on what is missing: samples it dropped, connections that were lost, PVs that are silent.

use acquire::{Connection, Status};
use sample::{PvEntry, PvState, Timestamp};
use serde_json::{Value, json};

use super::{
    reports::limited,
    status::{date, last_sample},
};
use crate::{
    answer::{Answer, json},
    call::Call,
};

/// `GET /mgmt/bpl/getPVsByDroppedEventsBuffer`: samples of this run for which there was no room, the most first.
pub(crate) fn dropped_for_room(call: &Call) -> Answer {
    let lost = |status: &Status| status.counters.dropped_queue + status.counters.dropped_store;
    let mut losses: Vec<(u64, PvEntry)> =
        acquired(call).map(|(entry, status)| (lost(&status), entry)).filter(|(lost, _)| *lost > 0).collect();
    losses.sort_by_key(|(lost, _)| std::cmp::Reverse(*lost));
    let rows =
        losses.iter().map(|(lost, entry)| json!({ "pvName": entry.name.as_str(), "eventsDropped": lost.to_string() }));
    json(&limited(call, rows)?)
}

/// `GET /mgmt/bpl/getPVsByDroppedEventsTimestamp` and `getPVsByDroppedEventsTypeChange`: nobody, because samples are kept
/// whatever their stamp and whatever their type.
pub(crate) fn dropped_never(_: &Call) -> Answer {
    json(&Vec::<Value>::new())
}

/// `GET /mgmt/bpl/getLostConnectionsReport`: how often a connection was lost in this run, the most often first.
pub(crate) fn lost_connections(call: &Call) -> Answer {
    let mut losses: Vec<(u64, bool, PvEntry)> = acquired(call)
        .map(|(entry, status)| {
            let is_lost_now = status.connection == Connection::Disconnected;
            (status.reconnects + u64::from(is_lost_now), status.connection == Connection::Connected, entry)
        })
        .collect();
    losses.sort_by_key(|(lost, ..)| std::cmp::Reverse(*lost));
    let rows = losses.iter().map(|(lost, is_connected, entry)| {
        json!({
            "pvName": entry.name.as_str(),
            "instance": call.identity(),
            "currentlyConnected": if *is_connected { "Yes" } else { "No" },
            "lostConnections": lost.to_string(),
        })
    });
    json(&limited(call, rows)?)
}

/// `GET /mgmt/bpl/getSilentPVsReport`: by their newest samples, those that have been silent for longest first.
pub(crate) fn silent(call: &Call) -> Answer {
    let mut lasts: Vec<(Option<Timestamp>, PvEntry)> =
        acquired(call).map(|(entry, status)| (last_sample(call, &entry, Some(&status)), entry)).collect();
    lasts.sort_by_key(|(last, _)| *last);
    let rows = lasts.iter().map(
        |(last, entry)| json!({ "pvName": entry.name.as_str(), "instance": call.identity(), "lastKnownEvent": date(*last) }),
    );
    json(&limited(call, rows)?)
}

/// The PVs that are not paused, and how they fare.
fn acquired(call: &Call) -> impl Iterator<Item = (PvEntry, Status)> {
    let entries = call.app.reader.entries().into_iter().filter(|entry| entry.settings.state == PvState::Active);
    entries.filter_map(|entry| Some((entry.clone(), call.app.control.status(entry.id)?)))
}

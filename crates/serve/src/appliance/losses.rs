//! The Archiver Appliance's reports on what is missing: samples it dropped, connections that were lost, PVs that are silent.

use std::cmp::Reverse;

use acquire::{Connection, Status};
use sample::{PvEntry, PvState};
use serde_json::{Value, json};

use super::{
    reports::ranked,
    status::{date, last_sample},
};
use crate::{
    answer::{Answer, json},
    call::Call,
};

/// `GET /mgmt/bpl/getPVsByDroppedEventsBuffer`: samples of this run for which there was no room, the most first.
pub(crate) fn dropped_for_room(call: &Call) -> Answer {
    let lost = |status: Status| status.counters.dropped_queue + status.counters.dropped_store;
    ranked(
        call,
        |entry| acquired(call, entry).map(lost).filter(|lost| *lost > 0),
        |_, entry, lost| json!({ "pvName": entry.name.as_str(), "eventsDropped": lost.to_string() }),
    )
}

/// `GET /mgmt/bpl/getPVsByDroppedEventsTimestamp` and `getPVsByDroppedEventsTypeChange`: nobody, because samples are kept
/// whatever their stamp and whatever their type.
pub(crate) fn dropped_never(_: &Call) -> Answer {
    json(&Vec::<Value>::new())
}

/// `GET /mgmt/bpl/getLostConnectionsReport`: how often a connection was lost in this run, the most often first.
pub(crate) fn lost_connections(call: &Call) -> Answer {
    let losses = |status: Status| status.reconnects + u64::from(status.connection == Connection::Disconnected);
    ranked(
        call,
        |entry| acquired(call, entry).map(losses),
        |call, entry, lost| {
            let status = call.app.control.status(entry.id);
            let is_connected = status.is_some_and(|status| status.connection == Connection::Connected);
            json!({
                "pvName": entry.name.as_str(),
                "instance": call.identity(),
                "currentlyConnected": if is_connected { "Yes" } else { "No" },
                "lostConnections": lost.to_string(),
            })
        },
    )
}

/// `GET /mgmt/bpl/getSilentPVsReport`: by their newest samples, those that have been silent for longest first.
pub(crate) fn silent(call: &Call) -> Answer {
    let last = |entry: &PvEntry| acquired(call, entry).map(|status| Reverse(last_sample(call, entry, Some(&status))));
    ranked(
        call,
        last,
        |call, entry, Reverse(last)| json!({ "pvName": entry.name.as_str(), "instance": call.identity(), "lastKnownEvent": date(last) }),
    )
}

/// How a PV fares, if it is not paused.
fn acquired(call: &Call, entry: &PvEntry) -> Option<Status> {
    (entry.settings.state == PvState::Active).then(|| call.app.control.status(entry.id)).flatten()
}

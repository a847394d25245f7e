//! The Archiver Appliance's reports on what is missing: samples it dropped, connections that were lost, PVs that are silent.

use std::cmp::Reverse;

use acquire::{Brief, Connection};
use archive::PvState;
use serde_json::Value;
use service::{Look, Seen};

use super::{dates::Dates, reports::ranked};
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::object::Object,
};

/// `GET /mgmt/bpl/getPVsByDroppedEventsBuffer`: samples of this run for which there was no room, the most first.
pub(crate) fn dropped_for_room(call: &Call) -> Answer {
    let dropped = |seen: &Seen| acquired(seen).map(|brief| brief.dropped).filter(|dropped| *dropped > 0);
    ranked(call, (Look::Fares, Look::Entry), dropped, |out, seen, dropped| {
        Object::begin(out).text("eventsDropped", &dropped.to_string()).text("pvName", seen.entry.name.as_str()).end();
    })
}

/// `GET /mgmt/bpl/getPVsByDroppedEventsTimestamp` and `getPVsByDroppedEventsTypeChange`: nobody, because samples are kept
/// whatever their stamp and whatever their type.
pub(crate) fn dropped_never(_: &Call) -> Answer {
    json(&Vec::<Value>::new())
}

/// `GET /mgmt/bpl/getLostConnectionsReport`: how often a connection was lost in this run, the most often first.
pub(crate) fn lost_connections(call: &Call) -> Answer {
    let identity = call.identity().to_owned();
    let losses = |brief: Brief| brief.reconnects + u64::from(brief.connection == Connection::Disconnected);
    let lost = move |seen: &Seen| acquired(seen).map(losses);
    ranked(call, (Look::Fares, Look::Fares), lost, move |out, seen, lost| {
        let is_connected = seen.brief.is_some_and(|brief| brief.connection == Connection::Connected);
        let row = Object::begin(out).text("currentlyConnected", if is_connected { "Yes" } else { "No" });
        let row = row.text("instance", &identity).digits("lostConnections", i64::try_from(lost).unwrap_or(i64::MAX));
        row.text("pvName", seen.entry.name.as_str()).end();
    })
}

/// `GET /mgmt/bpl/getSilentPVsReport`: by their newest samples, those that have been silent for longest first.
pub(crate) fn silent(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let last = |seen: &Seen| acquired(seen).map(|_| Reverse(seen.last_sample(&call.ask)));
    ranked(call, (Look::Samples, Look::Entry), last, move |out, seen, Reverse(last)| {
        let row = Object::begin(out).text("instance", &identity).text("lastKnownEvent", dates.of(last));
        row.text("pvName", seen.entry.name.as_str()).end();
    })
}

/// How a PV fares, if it is not paused.
fn acquired(seen: &Seen) -> Option<Brief> {
    seen.brief.filter(|_| seen.entry.settings.state == PvState::Active)
}

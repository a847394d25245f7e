//! The Archiver Appliance's reports on what is missing: samples it dropped, connections that were lost, PVs that are silent.

use archive::Connection;
use serde_json::Value;

use super::{dates::Dates, names::limit};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON, json},
    formats::{list::Frame, object::JsonObject},
};

/// `GET /mgmt/bpl/getPVsByDroppedEventsBuffer`: samples of this run for which there was no room, the most first.
pub(crate) fn dropped_for_room(call: &Call) -> Answer {
    let rows = call.ask.dropped_for_room(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, |out, row| {
        JsonObject::begin(out).word("eventsDropped", &row.samples.to_string()).text("pvName", row.name.as_str()).end();
        Ok(())
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
    let rows = call.ask.lost_connections(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        let is_connected = of.connection == Some(Connection::Connected);
        let row = JsonObject::begin(out).word("currentlyConnected", if is_connected { "Yes" } else { "No" });
        let row = row.text("instance", &identity);
        let row = row.digits("lostConnections", i64::try_from(of.lost).unwrap_or(i64::MAX));
        row.text("pvName", of.name.as_str()).end();
        Ok(())
    })
}

/// `GET /mgmt/bpl/getSilentPVsReport`: by their newest samples, those that have been silent for longest first.
pub(crate) fn silent(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let rows = call.ask.silent(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        let row = JsonObject::begin(out).text("instance", &identity).word("lastKnownEvent", dates.of(of.last_sample));
        row.text("pvName", of.name.as_str()).end();
        Ok(())
    })
}

//! The Archiver Appliance's reports on what is missing: samples it dropped, connections that were lost, PVs that are silent.

use archive::Connection;
use serde_json::Value;

use super::{dates::Dates, names::limit};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON, json},
    formats::{list::Frame, object::put_object},
};

/// `GET /mgmt/bpl/getPVsByDroppedEventsBuffer`: samples of this run for which there was no room, the most first.
pub(crate) fn dropped_for_room(call: &Call) -> Answer {
    let rows = call.ask.dropped_for_room(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, |out, row| {
        put_object!(out, { "eventsDropped": word(&row.samples.to_string()), "pvName": text(row.name.as_str()) });
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
        put_object!(out, {
            "currentlyConnected": word(if is_connected { "Yes" } else { "No" }),
            "instance": text(&identity),
            "lostConnections": digits(i64::try_from(of.lost).unwrap_or(i64::MAX)),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    })
}

/// `GET /mgmt/bpl/getSilentPVsReport`: by their newest samples, those that have been silent for longest first.
pub(crate) fn silent(call: &Call) -> Answer {
    let (identity, mut dates) = (call.identity().to_owned(), Dates::default());
    let rows = call.ask.silent(limit(&call.query)?)?.map(|row| row.map(Some));
    call.list(JSON, Frame::list(), rows, move |out, of| {
        put_object!(out, {
            "instance": text(&identity),
            "lastKnownEvent": word(dates.of(of.last_sample)),
            "pvName": text(of.name.as_str()),
        });
        Ok(())
    })
}

//! `/api/v1/iocs`: the IOCs from which PVs come, how many of them are connected, and what is known of the connections.

use sample::Timestamp;
use serde_json::{Map, Value, json};
use service::{IocRow, IocsWanted};

use super::pv_row::incomplete;
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    refusal::Code,
};

/// `GET /iocs`
pub(crate) fn list(call: &Call) -> Answer {
    let state = call.query.word("state", &["any", "disconnected"], Code::BadRequest)?;
    let wanted = IocsWanted { address: call.query.get("match").map(str::to_owned), lossy: state == "disconnected" };
    let rows: Vec<Value> = call.ask.iocs(&wanted)?.iter().map(row).collect();
    let mut told = Map::from_iter([("iocs".to_owned(), rows.into())]);
    told.extend(incomplete(&call.ask));
    json(&told)
}

fn row(of: &IocRow) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    let connection = of.connection.as_ref();
    let mut row = json!({
        "address": of.address,
        "protocols": of.protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>(),
        "pvs": of.pvs,
        "connected": of.connected,
        "disconnected": of.disconnected,
        "searching": of.searching,
        "paused": of.paused,
        "rate": of.rate,
        "circuits": connection.map(|of| of.circuits),
        "since": time(connection.map(|of| of.since)),
        "circuits_opened": connection.map(|of| of.opened),
        "circuits_lost": connection.map(|of| of.lost),
        "restarts": connection.map(|of| of.restarts),
        "restarted": time(connection.and_then(|of| of.restarted)),
        "last_beacon": time(connection.and_then(|of| of.last_beacon)),
    });
    if of.unknown > 0 {
        row["unknown"] = of.unknown.into();
    }
    row
}

//! What lists and details of PVs have in common: the row of a PV, and the states to which a list is narrowed.

use archive::{Connection, Method};
use sample::Value;
use serde_json::{Map, json};
use service::{Ask, PvRow};

use crate::{
    formats::{missing, value},
    refusal::{Code, Refusal},
    url::Params,
};

/// The most rows of a page.
pub(super) const LIMIT_MAX: usize = 10_000;
/// The states that a list may be narrowed to.
const STATES: [&str; 6] = ["any", "connected", "searching", "disconnected", "paused", "unknown"];
/// Longer arrays are left out of lists; `GET …/samples` has them.
const LISTED_ELEMENTS_MAX: usize = 16;
/// Where PVs stand to which a list is narrowed; any without it.
pub(super) fn state(query: &Params) -> Result<Option<Connection>, Refusal> {
    let word = query.word("state", &STATES, Code::BadRequest)?;
    let all = [
        Connection::Connected,
        Connection::Searching,
        Connection::Disconnected,
        Connection::Paused,
        Connection::Unknown,
    ];
    Ok(all.into_iter().find(|state| state.name() == word))
}

/// What a list is made without, if it is: beside its rows, which say of such PVs what the list of PVs has.
pub(super) fn incomplete(ask: &Ask) -> Option<(String, serde_json::Value)> {
    missing::parts(&ask.unanswered())
}

/// What a list says about a PV.
pub(super) fn row(of: &PvRow) -> Map<String, serde_json::Value> {
    let (method, period) = match of.settings.method {
        Method::Monitor => ("monitor", None),
        Method::Scan { period } => ("scan", Some(period.as_secs_f64())),
    };
    let object = json!({
        "name": of.name.as_str(),
        "protocol": of.settings.protocol.name(),
        "method": method,
        "period": period,
        "state": of.connection.name(),
        "since": of.since.to_string(),
        "type": of.value_type.map(|t| t.to_string()),
        "units": of.units,
        "last": of.last.as_ref().map(|sample| json!({
            "time": sample.time.to_string(),
            "value": listed(&sample.value),
            "severity": sample.alarm.severity.name(),
            "status": sample.alarm.status,
        })),
    });
    match object {
        serde_json::Value::Object(mut map) => {
            map.extend(of.unanswered.as_ref().map(|why| ("unanswered".to_owned(), why.as_str().into())));
            map
        }
        _ => unreachable!("it has just been written as an object"),
    }
}

/// The value, unless it is too long for a list.
fn listed(value: &Value) -> serde_json::Value {
    match value {
        Value::Array(elements) if elements.len() > LISTED_ELEMENTS_MAX => serde_json::Value::Null,
        value => value::as_json(value),
    }
}

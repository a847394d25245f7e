//! Metadata as a JSON object, the same wherever it appears.

use sample::{Limits, Metadata, Timestamp};
use serde_json::{Value, json};

/// With the time since which it holds.
pub(crate) fn as_json(since: Timestamp, metadata: &Metadata) -> Value {
    json!({
        "since": since.to_string(),
        "type": metadata.value_type.map(|t| t.to_string()),
        "element_count": metadata.element_count,
        "units": metadata.units,
        "precision": metadata.precision,
        "display": limits(metadata.display),
        "control": limits(metadata.control),
        "warning": limits(metadata.warning),
        "alarm": limits(metadata.alarm),
        "labels": metadata.labels,
        "description": metadata.description,
        "server": metadata.server,
        "server_run": metadata.server_run,
    })
}

/// Limits that the IOC does not set are null.
fn limits(limits: Option<Limits>) -> Value {
    limits.map_or(Value::Null, |limits| json!({ "low": finite(limits.low), "high": finite(limits.high) }))
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

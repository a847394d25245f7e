//! Metadata as a JSON object, the same wherever it appears.

use std::collections::HashMap;

use sample::{Limits, Metadata, TimeRange, Timestamp};
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

/// What stands beside the samples of a PV in files of columns, as texts.
pub(crate) fn facts(pv: &str, range: TimeRange, newest: Option<(Timestamp, &Metadata)>) -> HashMap<String, String> {
    let mut facts = HashMap::from([
        ("pv".to_owned(), pv.to_owned()),
        ("from".to_owned(), range.t0.to_string()),
        ("to".to_owned(), range.t1.to_string()),
    ]);
    if let Some((since, newest)) = newest {
        facts.insert("metadata".to_owned(), as_json(since, newest).to_string());
        facts.extend(newest.units.clone().map(|units| ("units".to_owned(), units)));
        if !newest.labels.is_empty() {
            facts.insert("labels".to_owned(), Value::from(newest.labels.clone()).to_string());
        }
    }
    facts
}

/// Limits that the IOC does not set are null.
fn limits(limits: Option<Limits>) -> Value {
    limits.map_or(Value::Null, |limits| json!({ "low": finite(limits.low), "high": finite(limits.high) }))
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

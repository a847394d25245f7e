//! The words and rows in which the Appliance tells of settings.

use archive::Method;
use serde_json::{Value, json};

pub(crate) fn method_name(method: Method) -> &'static str {
    match method {
        Method::Monitor => "MONITOR",
        Method::Scan { .. } => "SCAN",
    }
}

/// The Appliance gives monitors a period of one second unless somebody asks for another.
pub(crate) fn period_seconds(method: Method) -> f64 {
    match method {
        Method::Monitor => 1.0,
        Method::Scan { period } => period.as_secs_f64(),
    }
}

/// A row of the answers that list what is known by name.
pub(crate) fn row(source: &str, name: &str, value: String) -> Value {
    json!({ "source": source, "name": name, "value": value })
}

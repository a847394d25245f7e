//! `PVTypeInfo`: what the Appliance's configuration says of a PV, from its JSON.

use archive::{Method, Protocol, PvName, PvState};
use sample::{Limits, Metadata, Timestamp};
use serde_json::Value;

use crate::payload::Payload;

/// What is of use of a PV's entry.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeInfo {
    /// The PV.
    pub name: PvName,
    /// By which protocol it was archived.
    pub protocol: Protocol,
    /// When samples were taken.
    pub method: Method,
    /// Whether they were.
    pub state: PvState,
    /// Units, precision and limits.
    pub metadata: Metadata,
    /// The policy that it was archived by.
    pub policy: Option<String>,
    /// Fields that were archived with it.
    pub fields: Vec<String>,
    /// The PV that switched it on and off.
    pub controlling_pv: Option<String>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Its stores.
    pub stores: Vec<String>,
    /// The whole entry.
    pub text: String,
}

impl TypeInfo {
    /// All of a text: one entry, or a list of them as `exportConfig` gives it. Texts that are not PV names are told.
    pub fn read_all(text: &str) -> Result<Vec<TypeInfo>, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let entries = match value {
            Value::Array(entries) => entries,
            one => vec![one],
        };
        entries.iter().map(TypeInfo::read).collect()
    }

    /// One entry.
    pub fn read(entry: &Value) -> Result<TypeInfo, String> {
        let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty());
        let number = |key: &str| text(key).and_then(|text| text.parse::<f64>().ok());
        let texts = |key: &str| -> Vec<String> {
            let list = entry[key].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let name = text("pvName").ok_or("an entry has no pvName")?;
        let (prefix, name) = PvName::parse(name).map_err(|error| format!("pvName {name:?}: {error}"))?;
        let protocol = if text("usePVAccess") == Some("true") { Protocol::Pva } else { Protocol::Ca };
        let period = number("samplingPeriod").filter(|period| *period > 0.0 && *period < 1e6);
        let method = match (text("samplingMethod"), period) {
            (Some("SCAN"), Some(period)) => Method::Scan { period: std::time::Duration::from_secs_f64(period) },
            _ => Method::Monitor,
        };
        let limits = |low: &str, high: &str| {
            let (low, high) = (number(low), number(high));
            let limits = Limits { low: low.unwrap_or(f64::NAN), high: high.unwrap_or(f64::NAN) };
            // Where the Appliance knows nothing it says 0 and 0.
            (limits.low != limits.high && !(limits.low.is_nan() && limits.high.is_nan())).then_some(limits)
        };
        let metadata = Metadata {
            value_type: text("DBRType").and_then(Payload::from_name).map(Payload::value_type),
            units: text("units").map(str::to_owned),
            precision: number("precision").map(|digits| digits as i32),
            element_count: number("elementCount").map(|count| count as u64),
            display: limits("lowerDisplayLimit", "upperDisplayLimit"),
            control: limits("lowerCtrlLimit", "upperCtrlLimit"),
            warning: limits("lowerWarningLimit", "upperWarningLimit"),
            alarm: limits("lowerAlarmLimit", "upperAlarmLimit"),
            ..Metadata::default()
        };
        Ok(TypeInfo {
            protocol: prefix.unwrap_or(protocol),
            method,
            state: if text("paused") == Some("true") { PvState::Paused } else { PvState::Active },
            metadata,
            policy: text("policyName").map(str::to_owned),
            fields: texts("archiveFields"),
            controlling_pv: text("controllingPV").map(str::to_owned),
            created: text("creationTime").and_then(|time| Timestamp::parse(time).ok()),
            stores: texts("dataStores"),
            text: entry.to_string(),
            name,
        })
    }

    /// Fills in what a file does not say.
    pub fn complete(&self, said: Metadata) -> Metadata {
        let own = self.metadata.clone();
        Metadata {
            value_type: said.value_type.or(own.value_type),
            units: said.units.or(own.units),
            precision: said.precision.or(own.precision),
            element_count: said.element_count.or(own.element_count),
            display: said.display.or(own.display),
            control: said.control.or(own.control),
            warning: said.warning.or(own.warning),
            alarm: said.alarm.or(own.alarm),
            ..said
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_reference_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/aa/typeinfo");
        let text = std::fs::read_to_string(folder.join("REF_ALARMS.json")).unwrap();
        let infos = TypeInfo::read_all(&text).unwrap();
        let info = &infos[0];
        assert_eq!((info.name.as_str(), info.state, info.method), ("REF:ALARMS", PvState::Paused, Method::Monitor));
        assert_eq!((info.metadata.units.as_deref(), info.metadata.precision), (Some("mA"), Some(0)));
        assert_eq!((info.metadata.display, info.stores.len()), (None, 3));
        assert!(TypeInfo::read_all("[{}]").is_err_and(|error| error.contains("pvName")));
    }
}

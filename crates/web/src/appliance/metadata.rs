//! What the metadata of a PV says, under the names that the Appliance gives its parts.

use sample::Metadata;

use crate::formats::appliance_values::java_double;

/// What headers and meta objects say of the metadata: units and precision always, the rest when it is asked for.
pub(crate) fn facts(metadata: &Metadata, all: bool) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, text: Option<String>| facts.extend(text.map(|text| (name.to_owned(), text)));
    add("EGU", metadata.units.clone().filter(|units| !units.is_empty()));
    add("PREC", Some(metadata.precision.unwrap_or(0).to_string()));
    if all {
        let limits = [
            ("LOPR", "HOPR", metadata.display),
            ("DRVL", "DRVH", metadata.control),
            ("LOW", "HIGH", metadata.warning),
            ("LOLO", "HIHI", metadata.alarm),
        ];
        for (low, high, limits) in limits {
            add(low, limits.map(|limits| java_double(limits.low)));
            add(high, limits.map(|limits| java_double(limits.high)));
        }
        for (index, label) in metadata.labels.iter().enumerate() {
            add(&format!("ENUM_{index}"), Some(label.clone()));
        }
        add("DESC", metadata.description.clone().filter(|text| !text.is_empty()));
    }
    facts
}

//! What samples and headers carry besides values: texts with names, for metadata and for connections that were lost.

use sample::{Gap, GapCause, Limits, Metadata, Timestamp};

/// A text with its name: `EGU`, `HIHI`, `cnxlostepsecs` …
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue {
    /// The name.
    pub name: String,
    /// The text.
    pub value: String,
}

/// The loss of connection that a sample tells of, if it is the first one after.
pub fn loss(fields: &[FieldValue]) -> Option<Gap> {
    let seconds = |name: &str| find(fields, name)?.parse::<i64>().ok().filter(|seconds| *seconds > 0);
    let to = Timestamp::from_seconds(seconds("cnxregainedepsecs")?, 0);
    let startup = find(fields, "startup").is_some();
    let cause = if startup { GapCause::ArchiverStopped } else { GapCause::Disconnected };
    // A first start has no loss before it, but begins somewhere all the same.
    let from = seconds("cnxlostepsecs").map_or(to, |lost| Timestamp::from_seconds(lost, 0));
    Some(Gap { from: from.min(to), to: Some(to), cause, lost: 0 })
}

/// Puts what fields say of a PV into its metadata; says whether anything in it changed.
pub fn metadata_of(fields: &[FieldValue], metadata: &mut Metadata) -> bool {
    let before = metadata.clone();
    for FieldValue { name, value } in fields {
        match name.as_str() {
            "EGU" => metadata.units = Some(value.clone()),
            "PREC" => metadata.precision = number(value).map(|digits| digits as i32),
            "DESC" => metadata.description = Some(value.clone()),
            "LOPR" => low(&mut metadata.display, value),
            "HOPR" => high(&mut metadata.display, value),
            "DRVL" => low(&mut metadata.control, value),
            "DRVH" => high(&mut metadata.control, value),
            "LOW" => low(&mut metadata.warning, value),
            "HIGH" => high(&mut metadata.warning, value),
            "LOLO" => low(&mut metadata.alarm, value),
            "HIHI" => high(&mut metadata.alarm, value),
            name => label(name, value, &mut metadata.labels),
        }
    }
    before != *metadata
}

fn find<'f>(fields: &'f [FieldValue], name: &str) -> Option<&'f str> {
    fields.iter().find(|field| field.name == name).map(|field| field.value.as_str())
}

/// What a field says, if that is a number.
pub(crate) fn number_of(fields: &[FieldValue], name: &str) -> Option<f64> {
    number(find(fields, name)?)
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn low(limits: &mut Option<Limits>, text: &str) {
    if let Some(low) = number(text) {
        limits.get_or_insert(Limits { low, high: f64::NAN }).low = low;
    }
}

fn high(limits: &mut Option<Limits>, text: &str) {
    if let Some(high) = number(text) {
        limits.get_or_insert(Limits { low: f64::NAN, high }).high = high;
    }
}

/// `ENUM_3` is the name of the state 3.
fn label(name: &str, value: &str, labels: &mut Vec<String>) {
    // No enum of EPICS has more states than a byte can count.
    let state = name.strip_prefix("ENUM_").and_then(|digits| digits.parse::<u8>().ok()).map(usize::from);
    let Some(state) = state else { return };
    if labels.len() <= state {
        labels.resize(state + 1, String::new());
    }
    if let Some(label) = labels.get_mut(state) {
        value.clone_into(label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(texts: &[(&str, &str)]) -> Vec<FieldValue> {
        texts.iter().map(|(name, value)| FieldValue { name: (*name).into(), value: (*value).into() }).collect()
    }

    #[test]
    fn a_loss_is_told_by_the_first_sample_after_it() {
        let at = |seconds| Timestamp::from_seconds(seconds, 0);
        let gap = |from, to, cause| Some(Gap { from: at(from), to: Some(at(to)), cause, lost: 0 });
        let lost = fields(&[("cnxlostepsecs", "10"), ("cnxregainedepsecs", "20")]);
        assert_eq!(loss(&lost), gap(10, 20, GapCause::Disconnected));
        let started = fields(&[("cnxlostepsecs", "0"), ("startup", "true"), ("cnxregainedepsecs", "20")]);
        assert_eq!(loss(&started), gap(20, 20, GapCause::ArchiverStopped));
        assert_eq!(loss(&fields(&[("HIHI", "5")])), None);
        assert_eq!(loss(&fields(&[("cnxregainedepsecs", "soon")])), None);
    }

    #[test]
    fn fields_change_metadata_once() {
        let mut metadata = Metadata::default();
        let said = fields(&[("HIHI", "41"), ("EGU", "mA"), ("PREC", "3.0"), ("ENUM_1", "On"), ("ENUM_300", "x")]);
        assert!(metadata_of(&said, &mut metadata));
        assert!(!metadata_of(&said, &mut metadata));
        assert_eq!((metadata.precision, metadata.units.as_deref()), (Some(3), Some("mA")));
        assert_eq!(metadata.labels, ["", "On"]);
        assert!(metadata.alarm.is_some_and(|limits| limits.high == 41.0 && limits.low.is_nan()));
    }
}

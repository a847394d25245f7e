//! `GET /api/v1/pvs/{pv}/samples`: every sample of a range, in the format that the client wants.

use std::collections::HashMap;

use query::{Before, Request};
use sample::{Element, Metadata, PvEntry, TimeRange, Timestamp, ValueType};
use serde_json::{Map, Value};

use crate::{
    answer::{Answer, CSV, JSON, chunks},
    call::Call,
    formats::{
        arrow::{self, SamplesArrow},
        csv::SamplesCsv,
        json::SamplesJson,
        metadata,
    },
    refusal::Code,
};

/// The formats of samples and bins.
pub(crate) const FORMATS: [&str; 3] = ["json", "csv", "arrow"];

/// `GET /pvs/{pv}/samples`
pub(crate) fn show(call: &Call) -> Answer {
    let ((entry, series), range) = (call.pv_or_field()?, call.range()?);
    let format = call.word("format", &FORMATS, Code::UnknownFormat)?;
    let before = match call.word("before", &["true", "false"], Code::BadRequest)? {
        "true" => Before::Include,
        _ => Before::None,
    };
    let limit: Option<u64> = call.number("limit")?;
    let newest = call.metadata_at_end(entry.id, range)?;
    let samples = call.app.query.samples(&Request { series: series.clone(), range, before });
    match format {
        "csv" => chunks(CSV, SamplesCsv::new(samples, limit)),
        "arrow" => {
            let usual = match series.field {
                None => newest.as_ref().and_then(|(_, metadata)| metadata.value_type),
                Some(_) => call.app.query.last_before(&series, range.t1)?.map(|sample| sample.value.value_type()),
            };
            let usual = usual.unwrap_or(ValueType::scalar(Element::F64));
            let stream = SamplesArrow::new(samples, usual, facts(&entry, range, newest.as_ref()), limit)?;
            chunks(arrow::CONTENT_TYPE, stream)
        }
        _ => {
            let mut head = head(&entry, range, newest.as_ref());
            head.extend(series.field.as_deref().map(|path| ("field".to_owned(), path.into())));
            chunks(JSON, SamplesJson::new(head, samples, limit))
        }
    }
}

/// What an answer says before its data.
pub(crate) fn head(entry: &PvEntry, range: TimeRange, newest: Option<&(Timestamp, Metadata)>) -> Map<String, Value> {
    let members = [
        ("pv", Value::from(entry.name.as_str())),
        ("from", range.t0.to_string().into()),
        ("to", range.t1.to_string().into()),
        ("metadata", newest.map(|(since, newest)| metadata::as_json(*since, newest)).into()),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// The same as texts, for the schema of an Arrow stream.
pub(crate) fn facts(
    entry: &PvEntry,
    range: TimeRange,
    newest: Option<&(Timestamp, Metadata)>,
) -> HashMap<String, String> {
    let mut facts = HashMap::from([
        ("pv".to_owned(), entry.name.to_string()),
        ("from".to_owned(), range.t0.to_string()),
        ("to".to_owned(), range.t1.to_string()),
    ]);
    if let Some((since, newest)) = newest {
        facts.insert("metadata".to_owned(), metadata::as_json(*since, newest).to_string());
        facts.extend(newest.units.clone().map(|units| ("units".to_owned(), units)));
        if !newest.labels.is_empty() {
            facts.insert("labels".to_owned(), Value::from(newest.labels.clone()).to_string());
        }
    }
    facts
}

//! `GET /api/v1/pvs/{pv}/samples`: every sample of a range, in the format that the client wants.

use std::collections::HashMap;

use archive::PvEntry;
use query::{Before, Request, Series};
use sample::{Element, Metadata, TimeRange, Timestamp, ValueType};
use serde_json::{Map, Value};
use service::Ask;

use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        arrow::{self, SamplesArrow},
        csv::SamplesCsv,
        json::SamplesJson,
        metadata, npy,
        parquet_file::{self, SamplesParquet},
    },
    refusal::{Code, Refusal},
};

/// What a group of rows takes that Parquet wants together, with what is written of it.
const PARQUET_BYTES: usize = 32 << 20;

/// The formats of bins, and of answers for several PVs.
pub(crate) const FORMATS: [&str; 3] = ["json", "csv", "arrow"];
/// The formats of samples.
const FORMATS_OF_SAMPLES: [&str; 5] = ["json", "csv", "arrow", "npy", "parquet"];

/// `GET /pvs/{pv}/samples`
pub(crate) fn show(call: &Call) -> Answer {
    let ((entry, series), range) = (call.pv_or_field()?, call.query.range()?);
    let format = call.query.word("format", &FORMATS_OF_SAMPLES, Code::UnknownFormat)?;
    let before = match call.query.word("before", &["true", "false"], Code::BadRequest)? {
        "true" => Before::Include,
        _ => Before::None,
    };
    let limit: Option<u64> = call.query.number("limit")?;
    let newest = call.ask.metadata_at_end(entry.id, range)?;
    let request = Request { series: series.clone(), range, before };
    let samples = call.ask.samples(&request)?;
    match format {
        "csv" => call.chunks(CSV, SamplesCsv::new(samples, limit)),
        "arrow" => {
            let usual = usual(&call.ask, &series, range, newest.as_ref())?;
            let stream = SamplesArrow::new(samples, usual, facts(&entry, range, newest.as_ref()), limit)?;
            call.chunks(arrow::CONTENT_TYPE, stream)
        }
        "npy" => {
            let usual = usual(&call.ask, &series, range, newest.as_ref())?;
            let count = npy::Count::of(samples, usual, limit, || call.ask.is_abandoned())?;
            call.chunks(npy::CONTENT_TYPE, npy::SamplesNpy::new(call.ask.samples(&request)?, count))
        }
        "parquet" => {
            call.ask.lease.grow(PARQUET_BYTES)?;
            let usual = usual(&call.ask, &series, range, newest.as_ref())?;
            let file = SamplesParquet::new(samples, usual, facts(&entry, range, newest.as_ref()), limit)?;
            call.chunks(parquet_file::CONTENT_TYPE, file)
        }
        _ => {
            let mut head = head(&entry, range, newest.as_ref());
            head.extend(series.field.as_deref().map(|path| ("field".to_owned(), path.into())));
            call.chunks(JSON, SamplesJson::new(head, samples, limit))
        }
    }
}

/// The type to announce where there are no samples.
fn usual(
    ask: &Ask,
    series: &Series,
    range: TimeRange,
    newest: Option<&(Timestamp, Metadata)>,
) -> Result<ValueType, Refusal> {
    let known = match series.field {
        None => newest.and_then(|(_, metadata)| metadata.value_type),
        Some(_) => ask.last_before(series, range.t1)?.map(|sample| sample.value.value_type()),
    };
    Ok(known.unwrap_or(ValueType::scalar(Element::F64)))
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
    metadata::facts(entry.name.as_str(), range, newest.map(|(since, newest)| (*since, newest)))
}

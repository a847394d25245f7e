//! `/retrieval/data/getData.*`: the samples of a PV as the Archiver Appliance gives them.
//!
//! The last sample at or before `from` comes first, then those after `from` up to and including `to`.

use std::time::Duration;

use axum::http::StatusCode;
use query::{Before, Operator, Request, Span};
use sample::{Batch, Element, Metadata, PvEntry, Shape, TimeRange, Timestamp, ValueType};
use serde_json::Value;

use super::{manage::names_in, reconnects::Reconnects, source::Source};
use crate::{
    answer::{Answer, CSV, JSON, chunks, whole},
    app::now,
    call::Call,
    formats::{
        lines::{Form, LinesCsv, LinesJson},
        pb::{Heading, SamplesPb},
        pb_messages::FieldValue,
        value::{Dialect, put, put_json},
    },
    refusal::{Code, Refusal},
};

const PROTOBUF: &str = "application/x-protobuf";
/// What `usereduced=true` asks for.
const USUAL_REDUCTION: &str = "firstSample_900";
const FORMATS: [&str; 4] = ["json", "csv", "raw", "qw"];

/// `GET /retrieval/data/{call}`
pub(crate) fn get_data(call: &Call) -> Answer {
    let extension = extension_of(call.path_part("call"))?;
    let name = call.query.get("pv").ok_or_else(|| Refusal::new(Code::BadRequest, "pv= is missing"))?;
    let asked = Asked::of(name);
    let entry = find(call, asked.pv)?;
    let format = format_of(extension)?;
    let operator = operator(call, &asked)?;
    let span = span(call)?;
    let range = TimeRange { t0: span.from, t1: after(span.to) };
    let samples = source(call, &entry, span, operator.as_ref())?;
    let (_, metadata) = call.metadata_at_end(entry.id, range)?.unwrap_or_default();
    let facts = facts(&metadata, call.query.switch("fetchLatestMetadata"));
    let gaps = if operator.is_some() { Vec::new() } else { call.app.reader.gaps(entry.id, range)? };
    let reconnects = Reconnects::of(gaps.into_iter().map(|(_, gap)| gap));
    match format {
        "json" | "qw" => {
            let mut meta = vec![("name".to_owned(), Value::from(entry.name.as_str()))];
            meta.extend(facts.into_iter().map(|(name, text)| (name, Value::from(text))));
            let form = if format == "qw" { Form::Quick } else { Form::Full };
            if form == Form::Quick {
                let waveform = metadata.value_type.is_some_and(|value_type| value_type.shape == Shape::Array);
                meta.push(("waveform".to_owned(), waveform.into()));
            }
            chunks(JSON, LinesJson::new(form, &meta, samples, reconnects))
        }
        "csv" => chunks(CSV, LinesCsv::new(samples)),
        _ => {
            let headers = facts.into_iter().map(|(name, val)| FieldValue { name, val }).collect();
            let value_type = metadata.value_type.unwrap_or(ValueType::scalar(Element::F64));
            let heading = Heading {
                pv_name: entry.name.to_string(),
                element_count: metadata.element_count.filter(|_| operator.is_none()),
                headers,
                usual: (value_type, span.from),
            };
            chunks(PROTOBUF, SamplesPb::new(heading, samples, reconnects))
        }
    }
}

/// `POST /retrieval/data/{call}`
pub(crate) fn post_data(call: &Call) -> Answer {
    match call.path_part("call") {
        "getDataAtTime" => data_at_time(call),
        name => Err(Refusal::new(Code::BadRequest, format!("{name} takes its parameters in the URL: use GET"))),
    }
}

/// The value that each of the named PVs had at a moment, by default now. Those that had none are left out.
fn data_at_time(call: &Call) -> Answer {
    let at = call.time("at")?.unwrap_or_else(now);
    let mut out = b"{".to_vec();
    for name in names_in(call)? {
        let Ok(entry) = find(call, &name) else { continue };
        let Some(sample) = call.app.reader.last_before(entry.id, at)? else { continue };
        if out.len() > 1 {
            out.extend_from_slice(b",\n");
        }
        put_json(&mut out, &entry.name.as_str());
        let (seconds, nanos) = sample.time.seconds_and_nanos();
        out.extend_from_slice(format!(":{{\"secs\":{seconds},\"nanos\":{nanos},\"val\":").as_bytes());
        put(&mut out, Batch::of(&sample).values(), 0, Dialect::Appliance);
        let (severity, status) = (sample.alarm.severity as u8, sample.alarm.status);
        out.extend_from_slice(format!(",\"severity\":{severity},\"status\":{status}}}").as_bytes());
    }
    out.extend_from_slice(b"}\n");
    Ok(whole(JSON, out))
}

/// `getData.json` and the like; what follows a second point does not count.
fn extension_of(call: &str) -> Result<&str, Refusal> {
    let mut parts = call.split('.');
    match (parts.next(), parts.next()) {
        (Some("getData"), extension) => Ok(extension.unwrap_or("")),
        _ => Err(Refusal::new(Code::BadRequest, format!("{call:?} is not a valid API method, getData is"))),
    }
}

fn format_of(extension: &str) -> Result<&'static str, Refusal> {
    FORMATS.into_iter().find(|format| *format == extension).ok_or_else(|| {
        let message = format!("getData.{extension} is not known, expected one of {}", FORMATS.join(", "));
        Refusal::new(Code::UnknownFormat, message)
    })
}

/// What stands in `pv=`: a name, or an operator with a name and perhaps arguments in parentheses.
#[derive(Debug, PartialEq)]
struct Asked<'a> {
    operator: Option<&'a str>,
    pv: &'a str,
    arguments: Vec<&'a str>,
}

impl Asked<'_> {
    fn of(text: &str) -> Asked<'_> {
        let Some((operator, rest)) = text.split_once('(') else {
            return Asked { operator: None, pv: text, arguments: Vec::new() };
        };
        let mut parts = rest.trim_end_matches(')').split(',').map(str::trim);
        Asked { operator: Some(operator.trim()), pv: parts.next().unwrap_or(""), arguments: parts.collect() }
    }
}

/// The operator by which samples are to be reduced, wherever it stands. One that does not exist is refused: to answer with
/// samples that are not reduced would mislead.
fn operator(call: &Call, asked: &Asked) -> Result<Option<Operator>, Refusal> {
    if call.query.get("timeranges").is_some() {
        return Err(
            Refusal::new(Code::BadRequest, "timeranges= is not served").with_status(StatusCode::NOT_IMPLEMENTED)
        );
    }
    let usual = call.query.switch("usereduced").then_some(USUAL_REDUCTION);
    let named = asked.operator.or(call.query.get("pp")).or(usual);
    Ok(named.map(|named| Operator::parse(named, &asked.arguments)).transpose()?)
}

/// A PV by any of the names that clients use for it: with protocol prefix, with `.VAL`.
pub(crate) fn find(call: &Call, name: &str) -> Result<PvEntry, Refusal> {
    let bare = name.strip_prefix("ca://").or_else(|| name.strip_prefix("pva://")).unwrap_or(name);
    let known = |name: &str| call.app.reader.find(name);
    known(bare).or_else(|| known(bare.strip_suffix(".VAL")?)).ok_or_else(|| Refusal::unknown_pv(bare))
}

/// By default up to an hour from now, from a day before that, as the Appliance has it.
fn span(call: &Call) -> Result<Span, Refusal> {
    let to = call.time("to")?.unwrap_or_else(|| now().saturating_add(Duration::from_secs(3600)));
    let from = call.time("from")?.unwrap_or_else(|| to.saturating_sub(Duration::from_secs(86_400)));
    TimeRange::new(from, to)?;
    Ok(Span { from, to })
}

/// Damaged blocks are passed over, as the Appliance passes over damaged lines: its formats have no place to tell of them.
fn source(call: &Call, entry: &PvEntry, span: Span, operator: Option<&Operator>) -> Result<Source, Refusal> {
    let query = &call.app.query;
    if let Some(operator) = operator {
        operator.check(span)?;
        return Ok(Source::Reduced(Box::new(query.reduced(entry.id, span, operator))));
    }
    let range = TimeRange { t0: span.from, t1: after(span.to) };
    let request = Request { pv: entry.id, range, before: Before::Include };
    Ok(Source::Recorded(Box::new(query.samples(&request).skipping_damage())))
}

/// The moment after, because the Appliance's ranges include their end.
fn after(time: Timestamp) -> Timestamp {
    time.saturating_add(Duration::from_nanos(1))
}

/// What headers and meta objects say of the metadata: units and precision always, the rest when it is asked for.
fn facts(metadata: &Metadata, all: bool) -> Vec<(String, String)> {
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
        add("DESC", metadata.description.clone());
    }
    facts
}

/// A number that `Double.parseDouble` reads.
fn java_double(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_extension_counts_and_only_known_ones_pass() {
        assert_eq!(extension_of("getData.json.gz").unwrap(), "json");
        for call in ["getData", "getData.", "getData.JSON", "getData.xyz", "getDatum.json"] {
            assert!(extension_of(call).and_then(format_of).is_err(), "{call}");
        }
    }

    #[test]
    fn operators_and_their_arguments_are_found_in_every_spelling() {
        let none = Vec::<&str>::new();
        assert_eq!(Asked::of("A:B"), Asked { operator: None, pv: "A:B", arguments: none.clone() });
        assert_eq!(Asked::of("mean_60( A:B )"), Asked { operator: Some("mean_60"), pv: "A:B", arguments: none });
        assert_eq!(Asked::of("mean(A:B,60)"), Asked { operator: Some("mean"), pv: "A:B", arguments: vec!["60"] });
    }
}

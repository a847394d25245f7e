//! `/api/v1/when`: when a condition over PVs held, found while it is sent.

use analysis::Units;

use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        arrow,
        intervals::{self, IntervalsArrow, IntervalsCsv, IntervalsJson, IntervalsLines, Wanted},
    },
    refusal::{Code, Refusal},
    url::Params,
};

/// In which formats.
const FORMATS: [&str; 4] = ["json", "csv", "arrow", "lines"];

/// `GET` or `POST /when`
pub(crate) fn show(call: &Call) -> Answer {
    let (text, range) = (expression(call)?, call.query.range()?);
    let format = call.query.word("format", &FORMATS, Code::UnknownFormat)?;
    let limit = call.query.number("limit")?;
    let when = call.ask.when(&text, range, units(&call.query)?)?;
    let wanted = Wanted { text, limit };
    match format {
        "csv" => call.chunks(CSV, IntervalsCsv::new(when, wanted)),
        "arrow" => call.chunks(arrow::CONTENT_TYPE, IntervalsArrow::new(when, wanted)?),
        "lines" => call.chunks(intervals::LINES, IntervalsLines::new(when, wanted)),
        _ => call.chunks(JSON, IntervalsJson::new(when, wanted)),
    }
}

/// The expression in the URL, or in the body of a POST, as text or as JSON.
pub(crate) fn expression(call: &Call) -> Result<String, Refusal> {
    if call.body.is_empty() {
        return call.query.needed("expression").map(str::to_owned);
    }
    let unread = |why: &str| {
        let refusal = Refusal::new(Code::BadRequest, format!("the body is no expression: {why}"));
        refusal.hint(r#"{"expression":"SR:CURRENT > 3"}, or the text alone"#)
    };
    let text = std::str::from_utf8(&call.body).map_err(|error| unread(&error.to_string()))?.trim();
    if !text.starts_with('{') {
        return Ok(text.to_owned());
    }
    let body: serde_json::Value = serde_json::from_str(text).map_err(|error| unread(&error.to_string()))?;
    body["expression"].as_str().map(str::to_owned).ok_or_else(|| unread("it has no text called expression"))
}

/// Whether numbers of different units may be added and compared.
pub(crate) fn units(query: &Params) -> Result<Units, Refusal> {
    let given = query.word("units", &["same", "any"], Code::BadRequest)?;
    Ok(if given == "any" { Units::Any } else { Units::Same })
}

//! `/api/v1/at`: the values that many PVs had at one time, as they are found.

use service::now;

use super::many::meant;
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        arrow,
        at_time::{AtArrow, AtCsv, AtJson, Values, WANTED_BYTES, Wanted},
    },
    refusal::Code,
};

/// `GET` or `POST /at`
pub(crate) fn show(call: &Call) -> Answer {
    let time = call.query.time("time")?.unwrap_or_else(now);
    let format = call.query.word("format", &super::samples::FORMATS, Code::UnknownFormat)?;
    let (names, meant) = meant(call)?;
    call.ask.lease.grow_by(names.len(), WANTED_BYTES)?;
    let wanted = names.into_iter().zip(meant).map(|(name, meant)| Wanted { name, meant });
    let values = Values::new(call.ask.clone(), time, wanted.collect());
    match format {
        "csv" => call.chunks(CSV, AtCsv::new(values)),
        "arrow" => call.chunks(arrow::CONTENT_TYPE, AtArrow::new(values)?),
        _ => call.chunks(JSON, AtJson::new(values)),
    }
}

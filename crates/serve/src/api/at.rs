//! `/api/v1/at`: the values that many PVs had at one time, as they are found.

use super::many::names;
use crate::{
    answer::{Answer, CSV, JSON, chunks},
    call::Call,
    formats::{
        arrow,
        at_time::{AtArrow, AtCsv, AtJson, Values, WANTED_BYTES, Wanted},
    },
    refusal::Code,
};

use service::now;

/// `GET` or `POST /at`
pub(crate) fn show(call: &Call) -> Answer {
    let time = call.time("time")?.unwrap_or_else(now);
    let format = call.word("format", &super::samples::FORMATS, Code::UnknownFormat)?;
    let names = names(call)?;
    call.ask.lease.grow_by(names.len(), WANTED_BYTES)?;
    let wanted = names.into_iter().map(|name| {
        let series = call.ask.series(&name, None).ok().map(|(_, series)| series);
        Wanted { name, series }
    });
    let values = Values::new(call.ask.clone(), time, wanted.collect());
    match format {
        "csv" => chunks(CSV, AtCsv::new(values)),
        "arrow" => chunks(arrow::CONTENT_TYPE, AtArrow::new(values)?),
        _ => chunks(JSON, AtJson::new(values)),
    }
}

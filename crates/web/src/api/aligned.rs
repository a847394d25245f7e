//! `/api/v1/aligned`: several PVs on the same times, a row for each time.

use std::time::Duration;

use query::{ALIGNED_PVS_MAX, ALIGNED_ROWS_MAX, AlignRequest, Alignment, Rows};
use sample::{Shape, TimeRange, ValueType};
use service::Ask;

use super::many::{Named, known, names};
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        arrow,
        rows::{RowsArrow, RowsCsv, RowsHeading, RowsJson},
    },
    refusal::{Code, Refusal},
    url::Params,
};

/// Without a period there are so many rows.
const ROWS_DEFAULT: u64 = 1000;
/// What a PV takes: a batch of its samples, or those around a row.
const BATCH_BYTES: usize = 200 << 10;
const WINDOW_BYTES: usize = 1 << 20;
/// How far from each other samples of one pulse may be stamped, if nothing else is said.
pub(super) const PULSE_TOLERANCE: Duration = Duration::from_secs(1);

/// `GET` or `POST /aligned`
pub(crate) fn show(call: &Call) -> Answer {
    let (pvs, range) = (known(&call.ask, names(&call.ask, &call.query, &call.body)?)?, call.query.range()?);
    let format = call.query.word("format", &super::samples::FORMATS, Code::UnknownFormat)?;
    let with_severity = call.query.word("severity", &["false", "true"], Code::BadRequest)? == "true";
    refuse_too_many(&pvs)?;
    let alignment = alignment(&call.query)?;
    let tolerance = tolerance(&call.query, alignment)?;
    let rows = rows(&call.ask, &call.query, range, alignment)?;
    call.ask.lease.grow_by(pvs.len(), if alignment == Alignment::Pulse { WINDOW_BYTES } else { BATCH_BYTES })?;
    let series = pvs.iter().map(|pv| pv.series.clone()).collect();
    let (types, table) = call.ask.aligned(&AlignRequest { series, range, rows, alignment, tolerance })?;
    refuse_what_is_no_column(&pvs, &types)?;
    if alignment == Alignment::Linear {
        refuse_texts(&call.ask, &pvs, range)?;
    }
    let names = pvs.into_iter().map(|pv| pv.name).collect();
    let heading = RowsHeading { names, types, range, with_severity };
    match format {
        "csv" => call.chunks(CSV, RowsCsv::new(heading, table)),
        "arrow" => call.chunks(arrow::CONTENT_TYPE, RowsArrow::new(heading, table)?),
        _ => call.chunks(JSON, RowsJson::new(heading, table)),
    }
}

/// Which value a row takes.
pub(super) fn alignment(query: &Params) -> Result<Alignment, Refusal> {
    Ok(match query.word("method", &["previous", "linear", "nearest", "pulse"], Code::BadRequest)? {
        "linear" => Alignment::Linear,
        "nearest" => Alignment::Nearest,
        "pulse" => Alignment::Pulse,
        _ => Alignment::Previous,
    })
}

/// How far from a row a sample may lie.
pub(super) fn tolerance(query: &Params, alignment: Alignment) -> Result<Option<Duration>, Refusal> {
    let tolerance = duration(query, "tolerance")?;
    Ok(if alignment == Alignment::Pulse { tolerance.or(Some(PULSE_TOLERANCE)) } else { tolerance })
}

pub(super) fn refuse_too_many(pvs: &[Named]) -> Result<(), Refusal> {
    let count = pvs.len();
    if count > ALIGNED_PVS_MAX {
        let message = format!("{count} PVs were asked for, at most {ALIGNED_PVS_MAX} can be aligned in one answer");
        return Err(Refusal::new(Code::TooLarge, message).hint("ask for fewer at a time"));
    }
    Ok(())
}

/// On which times.
pub(super) fn rows(ask: &Ask, query: &Params, range: TimeRange, alignment: Alignment) -> Result<Rows, Refusal> {
    let (period, times_of) = (duration(query, "period")?, query.get("times_of"));
    match (period, times_of) {
        (Some(_), Some(_)) => Err(Refusal::new(Code::BadRequest, "give either period= or times_of=, not both")),
        (None, Some(name)) => Ok(Rows::Of(ask.series(name, None)?.1)),
        _ if alignment == Alignment::Pulse => {
            let message = "method=pulse needs times_of=, the PV whose pulse ids are looked for";
            Err(Refusal::new(Code::BadRequest, message))
        }
        (period, None) => {
            let length = range.t1.nanos().abs_diff(range.t0.nanos());
            let period = period.unwrap_or(Duration::from_nanos((length / ROWS_DEFAULT).max(1)));
            let count = u128::from(length) / period.as_nanos().max(1);
            if count > u128::from(ALIGNED_ROWS_MAX) {
                let message = format!("{count} rows were asked for, at most {ALIGNED_ROWS_MAX} are possible");
                return Err(Refusal::new(Code::TooLarge, message).hint("take a longer period, or a shorter range"));
            }
            Ok(Rows::Every(period))
        }
    }
}

/// A length of time in seconds, to the nanosecond.
pub(super) fn duration(query: &Params, name: &str) -> Result<Option<Duration>, Refusal> {
    let Some(seconds) = query.number::<f64>(name)? else { return Ok(None) };
    let length = Duration::try_from_secs_f64(seconds).ok().filter(|length| !length.is_zero());
    let refusal = || Refusal::new(Code::BadRequest, format!("{name} is {seconds}, expected seconds, at least 1e-9"));
    length.map(Some).ok_or_else(refusal)
}

pub(super) fn refuse_what_is_no_column(pvs: &[Named], types: &[ValueType]) -> Result<(), Refusal> {
    for (pv, value_type) in pvs.iter().zip(types) {
        if value_type.shape == Shape::Array || value_type.element == sample::Element::Structure {
            let message = format!("{} holds {value_type}, of which there is no value for each row", pv.name);
            return Err(Refusal::new(Code::BadRequest, message).hint("leave it out, or name one of its fields"));
        }
    }
    Ok(())
}

pub(super) fn refuse_texts(ask: &Ask, pvs: &[Named], range: TimeRange) -> Result<(), Refusal> {
    for pv in pvs {
        let newest = ask.last_before(&pv.series, range.t1)?.map(|sample| sample.value.value_type());
        if let Some(value_type) = newest.filter(|value_type| !value_type.is_numeric_scalar()) {
            let message = format!("{} holds {value_type}, between which no lines are drawn", pv.name);
            return Err(Refusal::new(Code::BadRequest, message).hint("take method=previous or nearest"));
        }
    }
    Ok(())
}

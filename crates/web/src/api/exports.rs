//! `/api/v1/exports`: many PVs for long ranges as one file. It is ordered, made while nobody waits, and fetched when it is there, from
//! wherever a connection broke off.

use std::{fs::File, os::unix::fs::FileExt};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use query::{Alignment, Before, Rows};
use sample::{Element, TimeRange, ValueType};
use serde_json::{Value, json};
use service::{
    ExportFile, ExportJob, ExportPlan, ExportPv, ExportRows, ExportState, ExportWanted, Form, RowTimes, now,
};

use super::{
    aligned::{self, alignment, tolerance},
    many::{Named, known, names},
};
use crate::{
    call::Call,
    delivery::{
        answer::{Answer, json},
        compress::AsItIs,
    },
    refusal::{Code, Refusal},
};

/// What a PV takes in an order.
const PV_BYTES: usize = 256;
/// So much of a file is read at a time.
const PIECE_BYTES: u64 = 128 << 10;

/// `POST /exports`
pub(crate) fn order(call: &Call) -> Answer {
    let wanted = wanted(call)?;
    if call.query.switch("plan") {
        let plan = call.app.exports.plan(&call.ask, &wanted)?;
        return json(&plan_json(&wanted, &plan));
    }
    let job = call.app.exports.order(&call.ask, wanted)?;
    let mut answer = json(&job_json(&job))?;
    *answer.status_mut() = StatusCode::CREATED;
    let location = HeaderValue::from_str(&format!("/api/v1/exports/{}", job.number));
    answer.headers_mut().extend(location.ok().map(|location| (header::LOCATION, location)));
    Ok(answer)
}

/// `GET /exports`
pub(crate) fn list(call: &Call) -> Answer {
    let exports = &call.app.exports;
    let jobs = exports.list(&call.ask)?;
    let config = exports.config()?;
    json(&json!({
        "exports": jobs.iter().map(job_json).collect::<Vec<_>>(),
        "limits": {
            "jobs_max": config.jobs_max,
            "jobs_each_max": config.jobs_each_max,
            "bytes_max": config.bytes_max,
            "bytes_taken": exports.bytes_taken()?,
            "keep_seconds": config.keep.as_secs(),
        },
    }))
}

/// `GET /exports/{number}`
pub(crate) fn show(call: &Call) -> Answer {
    json(&job_json(&call.app.exports.job(&call.ask, number(call)?)?))
}

/// `DELETE /exports/{number}`
pub(crate) fn remove(call: &Call) -> Answer {
    json(&job_json(&call.app.exports.remove(&call.ask, number(call)?)?))
}

fn number(call: &Call) -> Result<u64, Refusal> {
    call.path_number("number", "an export").map_err(|refusal| refusal.hint("GET /api/v1/exports lists them"))
}

/// What a request orders.
fn wanted(call: &Call) -> Result<ExportWanted, Refusal> {
    let query = &call.query;
    let form = query.word("format", &Form::ALL.map(Form::name), Code::UnknownFormat)?;
    let form = Form::from_name(form).unwrap_or(Form::Csv);
    let is_raw = query.word("rows", &["raw", "aligned"], Code::BadRequest)? == "raw";
    let range = past(query.range()?)?;
    let pvs = known(&call.ask, names(&call.ask, query, &call.body)?)?;
    let rows = if is_raw { raw(call)? } else { rows(call, range, &pvs)? };
    call.ask.lease.grow_by(pvs.len(), PV_BYTES)?;
    let pvs: Vec<ExportPv> = pvs.into_iter().map(|Named { name, series, .. }| ExportPv { name, series }).collect();
    let wanted = ExportWanted { pvs, range, rows, form };
    match wanted.pvs.len() {
        0 => Err(Refusal::new(Code::UnknownPv, "no PV fits").hint("GET /api/v1/pvs?match= finds names")),
        count if count > wanted.pvs_max() => {
            let message =
                format!("{count} PVs were asked for, at most {} are possible in one export", wanted.pvs_max());
            Err(Refusal::new(Code::TooLarge, message).hint("order several"))
        }
        _ => Ok(wanted),
    }
}

/// What lies beyond now is left off: nobody knows it, and the same order later would be another file.
fn past(range: TimeRange) -> Result<TimeRange, Refusal> {
    let now = now();
    let range = TimeRange { t0: range.t0, t1: range.t1.min(now) };
    if range.t0 >= range.t1 {
        let message = format!("there is no time between {} and {}, as far as it has passed", range.t0, range.t1);
        return Err(Refusal::new(Code::BadRange, message).hint("from= comes before to=, and before now"));
    }
    Ok(range)
}

fn raw(call: &Call) -> Result<ExportRows, Refusal> {
    for name in ["method", "period", "times_of", "tolerance", "severity"] {
        if call.query.get(name).is_some() {
            let message = format!("{name}= is for rows of all PVs on the same times");
            return Err(Refusal::new(Code::BadRequest, message).hint("say rows=aligned with it"));
        }
    }
    let before = match call.query.word("before", &["true", "false"], Code::BadRequest)? {
        "true" => Before::Include,
        _ => Before::None,
    };
    Ok(ExportRows::Raw { before })
}

fn rows(call: &Call, range: TimeRange, pvs: &[Named]) -> Result<ExportRows, Refusal> {
    let query = &call.query;
    if query.get("before").is_some() {
        return Err(Refusal::new(Code::BadRequest, "before= is for samples as they are").hint("say rows=raw with it"));
    }
    let with_severity = query.word("severity", &["false", "true"], Code::BadRequest)? == "true";
    let alignment = alignment(query)?;
    let tolerance = tolerance(query, alignment)?;
    let times = match aligned::rows(&call.ask, query, range, alignment)? {
        Rows::Every(period) => RowTimes::Every(period),
        Rows::Of(series) => {
            RowTimes::Of(ExportPv { name: query.get("times_of").unwrap_or_default().to_owned(), series })
        }
    };
    aligned::refuse_too_many(pvs)?;
    let mut types = Vec::with_capacity(pvs.len());
    for pv in pvs {
        let newest = call.ask.last_before(&pv.series, range.t1)?;
        types.push(newest.map_or(ValueType::scalar(Element::F64), |sample| sample.value.value_type()));
    }
    aligned::refuse_what_is_no_column(pvs, &types)?;
    if alignment == Alignment::Linear {
        aligned::refuse_texts(&call.ask, pvs, range)?;
    }
    Ok(ExportRows::Aligned { alignment, times, tolerance, with_severity })
}

fn rows_name(wanted: &ExportWanted) -> &'static str {
    if matches!(wanted.rows, ExportRows::Raw { .. }) { "raw" } else { "aligned" }
}

fn content_type(wanted: &ExportWanted) -> &'static str {
    match wanted.form {
        _ if wanted.is_zip() => "application/zip",
        Form::Csv => "text/csv",
        Form::Parquet => "application/vnd.apache.parquet",
        Form::Arrow => "application/vnd.apache.arrow.file",
        Form::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        Form::Mat => "application/x-matlab-data",
    }
}

fn refusal_json(refusal: &Refusal) -> Value {
    json!({ "code": refusal.code().name(), "message": refusal.message(), "hint": refusal.what_to_do() })
}

/// The members that say what was ordered, followed by `more`.
fn wanted_json(wanted: &ExportWanted, more: Value) -> Value {
    let mut whole = json!({
        "format": wanted.form.name(),
        "rows": rows_name(wanted),
        "from": wanted.range.t0.to_string(),
        "to": wanted.range.t1.to_string(),
        "file": wanted.file_name(),
        "content_type": content_type(wanted),
        "pvs": wanted.pvs.len(),
    });
    if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
        whole.extend(more);
    }
    whole
}

fn plan_json(wanted: &ExportWanted, plan: &ExportPlan) -> Value {
    let more = json!({
        "samples": plan.samples,
        "rows_count": plan.rows,
        "bytes": plan.bytes,
        "bytes_free": plan.bytes_left,
        "notes": plan.notes,
        "refused": plan.refused.as_ref().map(refusal_json),
    });
    wanted_json(wanted, more)
}

fn job_json(job: &ExportJob) -> Value {
    let (wanted, tally) = (&job.wanted, &job.tally);
    let (state, ended, error) = match &job.state {
        ExportState::Waiting => ("waiting", None, None),
        ExportState::Running => ("running", None, None),
        ExportState::Done { since } => ("done", Some(*since), None),
        ExportState::Failed { since, why } => ("failed", Some(*since), Some(refusal_json(why))),
    };
    let is_done = matches!(job.state, ExportState::Done { .. });
    let more = json!({
        "number": job.number,
        "state": state,
        "owner": job.owner,
        "pvs_done": tally.pvs_done,
        "samples": tally.samples,
        "bytes": tally.bytes,
        "bytes_estimated": job.bytes_planned,
        "progress": if is_done { 1.0 } else { tally.progress },
        "ordered": job.ordered.to_string(),
        "ended": ended.map(|ended| ended.to_string()),
        "expires": job.expires.map(|expires| expires.to_string()),
        "resumed": job.resumed,
        "without": tally.without,
        "without_count": tally.without_count,
        "gaps": tally.gaps,
        "damage": tally.damage,
        "damage_count": tally.damage_count,
        "notes": tally.notes,
        "error": error,
        "etag": is_done.then(|| etag(job)),
        "url": is_done.then(|| format!("/api/v1/exports/{}/file", job.number)),
    });
    wanted_json(wanted, more)
}

/// A number is given once, and a file that is there does not change; it ended once.
fn etag(job: &ExportJob) -> String {
    let ended = match job.state {
        ExportState::Done { since } => since.nanos(),
        _ => 0,
    };
    format!("\"{}-{ended:x}\"", job.number)
}

/// `GET /exports/{number}/file`
pub(crate) fn file(call: &Call) -> Answer {
    let ExportFile { file, len, job } = call.app.exports.file(&call.ask, number(call)?)?;
    let etag = etag(&job);
    let sent = |name: HeaderName| call.headers.get(name).and_then(|value| value.to_str().ok());
    if sent(header::IF_NONE_MATCH).is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == etag)) {
        return told(StatusCode::NOT_MODIFIED.into_response(), &job, &etag, None);
    }
    // What a part was taken of must be what is there; else all of it is sent.
    let is_same = sent(header::IF_RANGE).is_none_or(|tag| tag == etag);
    let part = match sent(header::RANGE).filter(|_| is_same).map(|range| Part::of(range, len)) {
        None | Some(Part::Unclear) => None,
        Some(Part::Within(from, to)) => Some((from, to)),
        Some(Part::Beyond) => {
            let message = format!("the file has {len} bytes, and the range lies beyond them");
            let refused = Refusal::new(Code::BadRequest, message).hint("leave Range out, or ask for bytes=0-");
            let mut answer = crate::refusal::refused_with(StatusCode::RANGE_NOT_SATISFIABLE, refused);
            let beyond = HeaderValue::from_str(&format!("bytes */{len}"));
            answer.headers_mut().extend(beyond.ok().map(|beyond| (header::CONTENT_RANGE, beyond)));
            return Ok(answer);
        }
    };
    let (from, to) = part.unwrap_or((0, len));
    let mut answer = match from == to {
        true => Response::new(Body::empty()),
        false => call.chunks(content_type(&job.wanted), Pieces { file, from, to })?,
    };
    if part.is_some() {
        *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    let range = part.map(|(from, to)| format!("bytes {from}-{}/{len}", to.saturating_sub(1)));
    answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(to - from));
    told(answer, &job, &etag, range)
}

/// With what is said of the whole file.
fn told(mut answer: Response, job: &ExportJob, etag: &str, range: Option<String>) -> Answer {
    answer.extensions_mut().insert(AsItIs);
    let headers = answer.headers_mut();
    let name = format!("attachment; filename=\"{}\"", job.wanted.file_name());
    let said = [
        (header::CONTENT_TYPE, Some(content_type(&job.wanted).to_owned())),
        (header::ETAG, Some(etag.to_owned())),
        (header::ACCEPT_RANGES, Some("bytes".to_owned())),
        (header::CONTENT_DISPOSITION, Some(name)),
        (header::CACHE_CONTROL, Some("private, no-cache".to_owned())),
        (header::CONTENT_RANGE, range),
    ];
    for (name, value) in said {
        headers.extend(value.and_then(|value| HeaderValue::from_str(&value).ok()).map(|value| (name, value)));
    }
    Ok(answer)
}

/// Which part of a file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// From there up to, not including, there.
    Within(u64, u64),
    Beyond,
    /// Several, or nothing that is known: all of it may be sent then.
    Unclear,
}

impl Part {
    /// By the header `Range`.
    fn of(range: &str, len: u64) -> Part {
        let Some((from, to)) = range.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
            return Part::Unclear;
        };
        let number =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().unwrap_or(u64::MAX));
        let (Some(first), Some(last)) = (number(from.trim()), number(to.trim())) else { return Part::Unclear };
        match (from.trim(), to.trim()) {
            ("", "") => Part::Unclear,
            ("", _) if last == 0 || len == 0 => Part::Beyond,
            ("", _) => Part::Within(len.saturating_sub(last), len),
            _ if first >= len => Part::Beyond,
            (_, "") => Part::Within(first, len),
            _ if last < first => Part::Unclear,
            _ => Part::Within(first, last.saturating_add(1).min(len)),
        }
    }
}

/// The bytes of a file, some at a time.
struct Pieces {
    file: File,
    from: u64,
    to: u64,
}

impl Iterator for Pieces {
    type Item = Result<Vec<u8>, Refusal>;

    fn next(&mut self) -> Option<Result<Vec<u8>, Refusal>> {
        if self.from >= self.to {
            return None;
        }
        let mut piece = vec![0; (self.to - self.from).min(PIECE_BYTES) as usize];
        let read = self.file.read_exact_at(&mut piece, self.from);
        self.from += piece.len() as u64;
        let failed = |error| Refusal::new(Code::Internal, format!("the file of the export cannot be read: {error}"));
        Some(read.map(|()| piece).map_err(failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file_are_those_of_the_standard() {
        for (range, part) in [
            ("bytes=0-", Part::Within(0, 10)),
            ("bytes=3-", Part::Within(3, 10)),
            ("bytes=3-5", Part::Within(3, 6)),
            ("bytes=9-9", Part::Within(9, 10)),
            ("bytes=3-99999999999999999999999", Part::Within(3, 10)),
            ("bytes=-4", Part::Within(6, 10)),
            ("bytes=-99", Part::Within(0, 10)),
            ("bytes=10-", Part::Beyond),
            ("bytes=99999999999999999999999-", Part::Beyond),
            ("bytes=-0", Part::Beyond),
            ("bytes=5-3", Part::Unclear),
            ("bytes=0-1,3-4", Part::Unclear),
            ("bytes=-", Part::Unclear),
            ("bytes=a-b", Part::Unclear),
            ("bytes=+1-2", Part::Unclear),
            ("lines=0-", Part::Unclear),
            ("", Part::Unclear),
        ] {
            assert_eq!(Part::of(range, 10), part, "{range}");
        }
        assert_eq!(Part::of("bytes=0-", 0), Part::Beyond);
    }
}

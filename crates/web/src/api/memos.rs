//! `/api/v1/notes`, `/api/v1/views` and `/v/{number}`: what people write beside the samples. An answer that lists them is a body that writes
//! them, here or in another archive.

use std::time::Duration;

use archive::{Memo, MemoKind, MemoText, PvName};
use axum::{
    http::{StatusCode, header},
    response::IntoResponse,
};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use sample::{TimeRange, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{MEMOS_AT_ONCE, MemosWanted, check_len, now};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

const LIMIT_MAX: usize = 10_000;
/// From here on notes are looked for where only the end is said.
const BEGINNING: &str = "1970-01-01";
/// Characters that a link percent-encodes, so that the query stays behind the `?`.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\\');

/// A memo as it is written, or as an answer lists it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default)]
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    query: String,
    #[serde(default)]
    pvs: Vec<String>,
    from: Option<String>,
    to: Option<String>,
    #[serde(default)]
    origin: String,
    /// Of one that is listed.
    by: Option<String>,
    time: Option<String>,
    #[serde(rename = "number")]
    _number: Option<u64>,
    #[serde(rename = "changed")]
    _changed: Option<String>,
    #[serde(rename = "changed_by")]
    _changed_by: Option<String>,
    #[serde(rename = "link")]
    _link: Option<String>,
}

/// Many of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManyMemos {
    #[serde(alias = "views")]
    notes: Vec<Body>,
}

impl Body {
    fn memo(self, kind: MemoKind) -> Result<MemoText, Refusal> {
        let time = |text: Option<String>| text.map(|text| Timestamp::typed(&text, now())).transpose();
        // One that comes out of another archive keeps who wrote it there.
        let origin = match (self.by, self.time) {
            (Some(by), Some(time)) if self.origin.is_empty() => format!("{by}, {time}"),
            _ => self.origin,
        };
        Ok(MemoText {
            kind,
            name: self.name,
            text: self.text,
            query: self.query,
            pvs: self.pvs.iter().map(|pv| PvName::new(pv)).collect::<Result<_, _>>()?,
            from: time(self.from)?,
            to: time(self.to)?,
            origin,
        })
    }
}

fn example(kind: MemoKind) -> &'static str {
    match kind {
        MemoKind::Note => {
            r#"{"text":"beam lost","pvs":["SR:CURRENT"],"from":"2026-11-21T08:30:00Z"}, or {"notes":[...]}"#
        }
        MemoKind::View => r#"{"name":"operation/trip","query":"pv=SR:CURRENT&from=-8h"}, or {"views":[...]}"#,
    }
}

fn unread(kind: MemoKind, error: &serde_json::Error) -> Refusal {
    let message = format!("the body is not what is expected: {error}");
    Refusal::new(Code::BadRequest, message).hint(format!("send {}", example(kind)))
}

/// `GET /notes`
pub(crate) fn notes(call: &Call) -> Answer {
    list(call, MemoKind::Note)
}

/// `GET /views`
pub(crate) fn views(call: &Call) -> Answer {
    list(call, MemoKind::View)
}

fn list(call: &Call, kind: MemoKind) -> Answer {
    let query = &call.query;
    let text = |name: &str| query.get(name).map(str::to_owned);
    let range = match (query.get("from"), query.get("to")) {
        (None, None) => None,
        (from, to) => {
            let from = from.unwrap_or(BEGINNING);
            Some(TimeRange::typed(Some(from), to, now(), (Duration::ZERO, Timestamp::MAX))?)
        }
    };
    let wanted = MemosWanted {
        words: query.get("match").unwrap_or("").split_whitespace().map(str::to_owned).collect(),
        pv: text("pv"),
        range,
        name: text("name"),
        folder: text("folder"),
        before: query.number("before")?.unwrap_or(u64::MAX),
        limit: query.limit(LIMIT_MAX)?,
        ..MemosWanted::all(kind)
    };
    let rows = call.ask.memos(&wanted)?.into_iter().map(|memo| Ok(Some(row(&memo))));
    call.rows(Frame::member(&format!("{}s", kind.name()), &Map::new())?, rows)
}

/// `POST /notes`
pub(crate) fn write_notes(call: &Call) -> Answer {
    write(call, MemoKind::Note)
}

/// `POST /views`
pub(crate) fn save_views(call: &Call) -> Answer {
    write(call, MemoKind::View)
}

fn write(call: &Call, kind: MemoKind) -> Answer {
    let body: Value = serde_json::from_slice(&call.body).map_err(|error| unread(kind, &error))?;
    let is_many = body.get("notes").is_some() || body.get("views").is_some();
    let bodies = match is_many {
        true => serde_json::from_value::<ManyMemos>(body).map(|many| many.notes),
        false => serde_json::from_value::<Body>(body).map(|one| vec![one]),
    };
    let bodies = bodies.map_err(|error| unread(kind, &error))?;
    check_len(bodies.len(), MEMOS_AT_ONCE, "memos")?;
    let texts = bodies.into_iter().map(|body| body.memo(kind)).collect::<Result<_, _>>()?;
    let rows: Vec<Value> = call.ask.write_memos(texts)?.iter().map(row).collect();
    json(&Map::from_iter([(format!("{}s", kind.name()), rows.into())]))
}

/// `PUT /notes/{number}`
pub(crate) fn change_note(call: &Call) -> Answer {
    change(call, MemoKind::Note)
}

/// `PUT /views/{number}`
pub(crate) fn change_view(call: &Call) -> Answer {
    change(call, MemoKind::View)
}

fn change(call: &Call, kind: MemoKind) -> Answer {
    let body: Body = serde_json::from_slice(&call.body).map_err(|error| unread(kind, &error))?;
    json(&row(&call.ask.change_memo(number(call, kind)?, body.memo(kind)?)?))
}

/// `GET /notes/{number}`
pub(crate) fn note(call: &Call) -> Answer {
    json(&row(&call.ask.memo(MemoKind::Note, number(call, MemoKind::Note)?)?))
}

/// `GET /views/{number}`
pub(crate) fn view(call: &Call) -> Answer {
    json(&row(&call.ask.memo(MemoKind::View, number(call, MemoKind::View)?)?))
}

/// `DELETE /notes/{number}`
pub(crate) fn remove_note(call: &Call) -> Answer {
    json(&row(&call.ask.remove_memo(MemoKind::Note, number(call, MemoKind::Note)?)?))
}

/// `DELETE /views/{number}`
pub(crate) fn remove_view(call: &Call) -> Answer {
    json(&row(&call.ask.remove_memo(MemoKind::View, number(call, MemoKind::View)?)?))
}

/// `GET /v/{number}`: a short link leads to what the view shows.
pub(crate) fn follow(call: &Call) -> Answer {
    let view = call.ask.memo(MemoKind::View, number(call, MemoKind::View)?)?;
    let to = format!("/?{}", utf8_percent_encode(&view.text.query, QUERY));
    Ok((StatusCode::FOUND, [(header::LOCATION, to)]).into_response())
}

fn number(call: &Call, kind: MemoKind) -> Result<u64, Refusal> {
    let number = call.path_number("number", &format!("a {}", kind.name()));
    number.map_err(|refusal| refusal.hint(format!("GET /api/v1/{}s lists them", kind.name())))
}

fn row(memo: &Memo) -> Value {
    let Memo { number, text, made, changed } = memo;
    let mut row = json!({
        "number": number,
        "text": text.text,
        "pvs": text.pvs.iter().map(PvName::as_str).collect::<Vec<_>>(),
        "from": text.from.map(|time| time.to_string()),
        "to": text.to.map(|time| time.to_string()),
        "by": made.who.to_string(),
        "time": made.at.to_string(),
        "changed": changed.as_ref().map(|by| by.at.to_string()),
        "changed_by": changed.as_ref().map(|by| by.who.to_string()),
        "origin": text.origin,
    });
    if text.kind == MemoKind::View {
        row["name"] = text.name.as_str().into();
        row["query"] = text.query.as_str().into();
        row["link"] = format!("/v/{number}").into();
    }
    row
}

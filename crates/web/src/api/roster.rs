//! `/api/v1/pvs/{pv}/rename`, `/aliases`, `/audit`: the names of PVs, and who changed what.

use archive::{Action, AuditRecord, How, OldName, PvEntry, PvId, PvName};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Ask, AuditWanted, EveryName, Pattern};

use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, json},
    formats::{csv, list::Frame},
    refusal::{Code, Refusal},
};

const LIMIT_MAX: usize = 10_000;
/// What an alias or a line of the audit takes until it is sent.
const ROW_BYTES: usize = 400;
/// A line of the audit names at most this many of its PVs.
const NAMES_MAX: usize = 100;
/// The columns of the audit as CSV.
const AUDIT_COLUMNS: [&str; 14] = [
    "number",
    "time",
    "by",
    "principal",
    "how",
    "address",
    "action",
    "name",
    "pvs",
    "names",
    "detail",
    "from",
    "to",
    "samples",
];

#[derive(Deserialize)]
struct RenameBody {
    to: String,
    alias: Option<bool>,
}

/// `POST /pvs/{pv}/rename`
pub(crate) fn rename(call: &Call) -> Answer {
    let entry = call.pv()?;
    let body: RenameBody = serde_json::from_slice(&call.body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}"))
            .hint(r#"send {"to":"NEW","alias":true}"#)
    })?;
    let old = if body.alias.unwrap_or(true) { OldName::Alias } else { OldName::Free };
    let renamed = call.ask.rename(entry.id, &PvName::new(&body.to)?, old)?;
    json(&json!({ "name": renamed.name.as_str(), "status": "renamed" }))
}

/// `PUT /pvs/{pv}/aliases/{alias}`
pub(crate) fn add_alias(call: &Call) -> Answer {
    let entry = call.pv()?;
    let alias = PvName::new(call.path_part("alias"))?;
    call.ask.add_alias(entry.id, &alias)?;
    json(&json!({ "name": entry.name.as_str(), "status": "alias_added" }))
}

/// `DELETE /pvs/{pv}/aliases/{alias}`
pub(crate) fn remove_alias(call: &Call) -> Answer {
    let entry = call.pv()?;
    let alias = PvName::recorded(call.path_part("alias"))?;
    call.ask.remove_alias(entry.id, &alias)?;
    json(&json!({ "name": entry.name.as_str(), "status": "alias_removed" }))
}

/// `GET /aliases`
pub(crate) fn aliases(call: &Call) -> Answer {
    call.rows(Frame::member("aliases", &Map::new())?, all_aliases(&call.ask, "alias", "name")?)
}

/// Every alias with its PV, under names of the caller's choice.
pub(crate) fn all_aliases(
    ask: &Ask,
    alias: &'static str,
    of: &'static str,
) -> Result<impl Iterator<Item = Result<Option<Value>, Refusal>> + Send + use<>, Refusal> {
    let aliases = ask.aliases();
    ask.lease.grow_by(aliases.len(), ROW_BYTES)?;
    let row = move |(name, entry): (PvName, PvEntry)| json!({ alias: name.as_str(), of: entry.name.as_str() });
    Ok(aliases.into_iter().map(move |found| Ok(Some(row(found)))))
}

/// `GET /audit`
pub(crate) fn audit(call: &Call) -> Answer {
    let query = &call.query;
    let limit = query.limit(LIMIT_MAX)?;
    call.ask.lease.grow_by(limit, ROW_BYTES)?;
    let page = call.ask.audit(&AuditWanted {
        before: query.number("before")?.unwrap_or(u64::MAX),
        limit,
        pv: query.get("pv").map(|text| Pattern::search(text, &call.ask.lease)).transpose()?,
        by: query.get("who").map(str::to_owned),
        action: query
            .get("action")
            .map(|_| query.word("action", &Action::ALL.map(Action::name), Code::BadRequest))
            .transpose()?
            .and_then(action_of),
        from: query.time("from")?,
        to: query.time("to")?,
    })?;
    let format = query.word("format", &["json", "csv"], Code::BadRequest)?;
    let pvs = page.lines.iter().map(|record| record.pvs.len()).sum();
    call.ask.lease.grow_by(pvs, size_of::<PvId>())?;
    let names = if pvs > 0 { Some(call.ask.every_name()?) } else { None };
    let rows = page.lines.into_iter().map(move |record| Ok(Some(audit_row(&record, names.as_ref()))));
    if format == "csv" {
        return call.list(CSV, Frame::headed(&format!("{}\n", AUDIT_COLUMNS.join(","))), rows, |out, row| {
            put_csv(out, &row);
            Ok(())
        });
    }
    let head = Map::from_iter([("next".to_owned(), page.next.into())]);
    call.rows(Frame::member("audit", &head)?, rows)
}

fn action_of(name: &str) -> Option<Action> {
    Action::ALL.into_iter().find(|action| action.name() == name)
}

/// A line of the audit as a line of CSV: of several PVs the first, with blanks between their names.
fn put_csv(out: &mut Vec<u8>, row: &Value) {
    for (index, column) in AUDIT_COLUMNS.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match &row[*column] {
            Value::Null => {}
            Value::String(text) => csv::put_field(out, text),
            Value::Array(names) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                csv::put_field(out, &names.join(" "));
            }
            other => out.extend_from_slice(other.to_string().as_bytes()),
        }
    }
    out.push(b'\n');
}

/// The names of the first PVs of a line about several.
fn first_names(record: &AuditRecord, names: Option<&EveryName>) -> Vec<String> {
    let first = record.pvs.iter().take(NAMES_MAX);
    first.filter_map(|pv| names?.name(*pv)).map(|name| name.to_string()).collect()
}

fn audit_row(record: &AuditRecord, names: Option<&EveryName>) -> Value {
    let (who, way) = (&record.by.who, record.by.who.way());
    json!({
        "number": record.number,
        "time": record.by.at.to_string(),
        "by": who.to_string(),
        "principal": who.established(),
        "how": who.how().map(How::name),
        "said": who.claimed(),
        "address": way.and_then(|way| way.address).map(|address| address.to_string()),
        "listener": way.map(|way| &way.listener),
        "request": way.map(|way| &way.request),
        "action": record.action.name(),
        "pv": record.pv.map(|pv| pv.0),
        "name": record.name,
        "pvs": (!record.pvs.is_empty()).then_some(record.pvs.len()),
        "names": (!record.pvs.is_empty()).then(|| first_names(record, names)),
        "detail": record.detail,
        "from": record.range.map(|range| range.t0.to_string()),
        "to": record.range.map(|range| range.t1.to_string()),
        "samples": record.samples,
        "bytes": record.bytes,
    })
}

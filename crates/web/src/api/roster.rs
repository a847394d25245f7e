//! `/api/v1/pvs/{pv}/rename`, `/aliases`, `/audit`: the names of PVs, and who changed what.

use archive::{AuditRecord, How, OldName, PvEntry, PvId, PvName};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Ask, EveryName};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

const LIMIT_MAX: usize = 10_000;
/// What an alias or a line of the audit takes until it is sent.
const ROW_BYTES: usize = 400;
/// A line of the audit names at most this many of its PVs.
const NAMES_MAX: usize = 100;

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
    let limit = call.query.limit(LIMIT_MAX)?;
    let before = call.query.number("before")?.unwrap_or(u64::MAX);
    call.ask.lease.grow_by(limit, ROW_BYTES)?;
    let records = call.ask.audit(before, limit)?;
    let pvs = records.iter().map(|record| record.pvs.len()).sum();
    call.ask.lease.grow_by(pvs, size_of::<PvId>())?;
    let names = if pvs > 0 { Some(call.ask.every_name()?) } else { None };
    let rows = records.into_iter().map(move |record| Ok(Some(audit_row(&record, names.as_ref()))));
    call.rows(Frame::member("audit", &Map::new())?, rows)
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

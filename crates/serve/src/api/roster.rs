//! `/api/v1/pvs/{pv}/…`, `/aliases`, `/removed`, `/audit`: the commands over the list of PVs, and what became of them.

use acquire::Change;
use sample::{DataFate, OldName, PvEntry, PvName};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::{AuditRecord, RemovedPv};

use crate::{
    answer::{Answer, json},
    call::Call,
    formats::list::{Frame, json_rows},
    refusal::{Code, Refusal},
};

const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 10_000;
/// What an alias, a removed PV or a line of the audit takes until it is sent.
const ROW_BYTES: usize = 400;

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
    let renamed = call.app.control.rename(entry.id, &PvName::new(&body.to)?, old, &call.by())?;
    json(&json!({ "name": renamed.name.as_str(), "status": "renamed" }))
}

/// `PUT /pvs/{pv}/aliases/{alias}`
pub(crate) fn add_alias(call: &Call) -> Answer {
    let entry = call.pv()?;
    let alias = PvName::new(call.path_part("alias"))?;
    call.app.control.roster().add_alias(entry.id, &alias, &call.by())?;
    json(&json!({ "name": entry.name.as_str(), "status": "alias_added" }))
}

/// `DELETE /pvs/{pv}/aliases/{alias}`
pub(crate) fn remove_alias(call: &Call) -> Answer {
    let entry = call.pv()?;
    let alias = PvName::recorded(call.path_part("alias"))?;
    call.app.control.roster().remove_alias(entry.id, &alias, &call.by())?;
    json(&json!({ "name": entry.name.as_str(), "status": "alias_removed" }))
}

/// `GET /aliases`
pub(crate) fn aliases(call: &Call) -> Answer {
    all_aliases(call, Frame::member("aliases", &Map::new())?, "alias", "name")
}

/// Every alias with its PV, under names of the caller's choice.
pub(crate) fn all_aliases(call: &Call, frame: Frame, alias: &'static str, of: &'static str) -> Answer {
    let aliases = call.app.reader.aliases();
    call.lease.grow_by(aliases.len(), ROW_BYTES)?;
    let row = move |(name, entry): (PvName, PvEntry)| json!({ alias: name.as_str(), of: entry.name.as_str() });
    json_rows(call, frame, aliases.into_iter().map(move |found| Ok(Some(row(found)))))
}

/// `DELETE /pvs/{pv}`
pub(crate) fn remove(call: &Call) -> Answer {
    let fate = match call.word("data", &["keep", "delete"], Code::BadRequest)? {
        "delete" => DataFate::Delete,
        _ => DataFate::Keep,
    };
    let entry = match call.pv() {
        Ok(entry) => entry,
        Err(unknown) => return remove_again(call, fate, unknown),
    };
    match call.app.control.remove(&[entry.id], fate, &call.by())?.as_slice() {
        [Change::Done] => json(&json!({ "name": entry.name.as_str(), "status": "removed" })),
        _ => Err(Refusal::unknown_pv(entry.name.as_str())),
    }
}

/// Decides anew upon the data of a PV that was removed already.
fn remove_again(call: &Call, fate: DataFate, unknown: Refusal) -> Answer {
    let removed = removed_named(call).pop().ok_or(unknown)?;
    let is_news = fate == DataFate::Delete && removed.data == DataFate::Keep; // the other way is `restore`
    if is_news {
        call.app.control.roster().remove(&[removed.entry.id], fate, &call.by())?;
    }
    let status = if is_news { "removed" } else { "already_removed" };
    json(&json!({ "name": removed.entry.name.as_str(), "status": status }))
}

/// The removed PVs that had the name in the path, the last removed one last.
fn removed_named(call: &Call) -> Vec<RemovedPv> {
    let mut removed = call.app.reader.removed();
    removed.retain(|removed| removed.entry.name.as_str() == call.path_part("pv"));
    removed.sort_by_key(|removed| removed.since);
    removed
}

/// `GET /removed`
pub(crate) fn removed(call: &Call) -> Answer {
    let removed = call.app.reader.removed();
    call.lease.grow_by(removed.len(), ROW_BYTES)?;
    let rows = removed.into_iter().map(|removed| Ok(Some(removed_row(&removed))));
    json_rows(call, Frame::member("removed", &Map::new())?, rows)
}

fn removed_row(removed: &RemovedPv) -> Value {
    json!({
        "number": removed.entry.id.0,
        "name": removed.entry.name.as_str(),
        "aliases": removed.aliases.iter().map(PvName::as_str).collect::<Vec<_>>(),
        "data": match removed.data {
            DataFate::Keep => "kept",
            DataFate::Delete => "deleted",
        },
        "since": removed.since.to_string(),
        "decided": removed.by.at.to_string(),
        "by": removed.by.who,
    })
}

/// `POST /pvs/{pv}/restore`: of several of that name the one that was removed last, unless `number=` says which.
pub(crate) fn restore(call: &Call) -> Answer {
    let number: Option<u32> = call.number("number")?;
    let mut candidates = removed_named(call);
    candidates.retain(|removed| number.is_none_or(|number| removed.entry.id.0 == number));
    let removed = candidates.pop().ok_or_else(|| {
        let name = call.path_part("pv");
        Refusal::new(Code::UnknownPv, format!("no removed PV is called {name:?}"))
            .hint("GET /api/v1/removed lists them")
    })?;
    let name = call.query.get("as").map(PvName::new).transpose()?;
    let restored: PvEntry = call.app.control.restore(removed.entry.id, name.as_ref(), &call.by())?;
    json(&json!({ "name": restored.name.as_str(), "status": "restored" }))
}

/// `GET /audit`
pub(crate) fn audit(call: &Call) -> Answer {
    let limit = call.number("limit")?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let before = call.number("before")?.unwrap_or(u64::MAX);
    call.lease.grow_by(limit, ROW_BYTES)?;
    let rows = call.app.reader.audit(before, limit)?.into_iter().map(|record| Ok(Some(audit_row(&record))));
    json_rows(call, Frame::member("audit", &Map::new())?, rows)
}

fn audit_row(record: &AuditRecord) -> Value {
    json!({
        "number": record.number,
        "time": record.by.at.to_string(),
        "by": record.by.who,
        "action": record.action.name(),
        "pv": record.pv.map(|pv| pv.0),
        "name": record.name,
        "detail": record.detail,
        "from": record.range.map(|range| range.t0.to_string()),
        "to": record.range.map(|range| range.t1.to_string()),
        "samples": record.samples,
        "bytes": record.bytes,
    })
}

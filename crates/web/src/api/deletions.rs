//! `/api/v1/pvs/{pv}/samples` (DELETE), `/deletions`, `/purge`: what was recorded is hidden, comes back, or goes for good.

use archive::{Purge, Purged, PvName};
use serde_json::{Map, Value, json};
use service::{Ask, DeletedRange, now};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
    url::Params,
};

/// `DELETE /pvs/{pv}/samples`: both ends must be given, because what is not meant would be hidden.
pub(crate) fn delete(call: &Call) -> Answer {
    let (entry, series) = call.pv_or_field()?;
    if let Some(path) = series.field {
        let message = format!("samples of {} can only be deleted whole, not those of its field {path}", entry.name);
        let hint = "a rule of [retention] for a field takes it out of structures that are old enough";
        return Err(Refusal::new(Code::BadRequest, message).hint(hint));
    }
    let missing =
        || Refusal::new(Code::BadRequest, "from= and to= must both be given, so that nothing else is deleted");
    if call.query.get("from").is_none() || call.query.get("to").is_none() {
        return Err(missing());
    }
    let deletion = call.ask.delete_range(entry.id, call.query.range()?)?;
    json(&row(&call.ask.every_name()?.of(deletion)))
}

/// `GET /deletions`
pub(crate) fn list(call: &Call) -> Answer {
    let deletions = call.ask.deletions();
    call.ask.lease.grow_by(deletions.len(), ROW_BYTES)?;
    let names = call.ask.every_name()?;
    let rows = deletions.into_iter().map(move |deletion| Ok(Some(row(&names.of(deletion)))));
    call.rows(Frame::member("deletions", &Map::new())?, rows)
}

/// `POST /deletions/{number}/undo`
pub(crate) fn undo(call: &Call) -> Answer {
    let deletion = call.ask.restore_range(call.path_number("number", "a deletion")?)?;
    json(&row(&call.ask.every_name()?.of(deletion)))
}

/// What a deletion takes until it is sent.
const ROW_BYTES: usize = 400;
/// And what it, or a removed PV, does as a value of JSON.
const SAID_BYTES: usize = 2000;

fn row(DeletedRange { deletion, name }: &DeletedRange) -> Value {
    json!({
        "number": deletion.number,
        "name": name.as_ref().map(PvName::as_str),
        "from": deletion.range.t0.to_string(),
        "to": deletion.range.t1.to_string(),
        "deleted": deletion.by.at.to_string(),
        "by": deletion.by.who.to_string(),
        "final": deletion.is_final,
    })
}

/// `GET /purge`: what would go.
pub(crate) fn preview(call: &Call) -> Answer {
    let purged = call.ask.purgeable(asked(&call.ask, &call.query)?)?;
    json(&said(&call.ask, &purged, "not_ordered")?)
}

/// `POST /purge`: what goes, if it is confirmed.
pub(crate) fn purge(call: &Call) -> Answer {
    let asked = asked(&call.ask, &call.query)?;
    if !call.query.switch("confirm") {
        let Purged { samples, bytes, .. } = call.ask.purgeable(asked)?;
        let message = format!("{samples} samples in {bytes} bytes would go for good, which must be confirmed");
        return Err(Refusal::new(Code::Conflict, message).hint("GET /api/v1/purge lists them; add confirm=true"));
    }
    let purged = call.ask.purge(asked)?;
    json(&said(&call.ask, &purged, "ordered")?)
}

/// What was deleted before `before=`, of the PV `pv=` alone if it is given: a name that it has or had, or `#` and its number.
fn asked(ask: &Ask, query: &Params) -> Result<Purge, Refusal> {
    let before = query.time("before")?.unwrap_or_else(now);
    ask.purge_of(query.get("pv"), before)
}

fn said(ask: &Ask, purged: &Purged, status: &str) -> Result<Value, Refusal> {
    ask.lease.grow_by(purged.pvs.len() + purged.ranges.len(), SAID_BYTES)?;
    Ok(json!({
        "status": status,
        "pvs": purged.pvs.iter().map(|removed| removed.entry.name.as_str()).collect::<Vec<_>>(),
        "ranges": ask.purged_ranges(purged)?.iter().map(row).collect::<Vec<_>>(),
        "samples": purged.samples,
        "bytes": purged.bytes,
    }))
}

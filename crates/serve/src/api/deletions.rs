//! `/api/v1/pvs/{pv}/samples` (DELETE), `/deletions`, `/purge`: what was recorded is hidden, comes back, or goes for good.

use std::collections::HashMap;

use archive::{PvId, PvName};
use serde_json::{Map, Value, json};
use service::{Ask, Deletion, Purge, Purged, now};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
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
    let deletion = call.ask.delete_range(entry.id, call.range()?)?;
    json(&row(&call.ask, &names_of_removed(&call.ask)?, &deletion))
}

/// `GET /deletions`
pub(crate) fn list(call: &Call) -> Answer {
    let deletions = call.ask.service.deletions();
    call.ask.lease.grow_by(deletions.len(), ROW_BYTES)?;
    let names = names_of_removed(&call.ask)?;
    let asked = call.ask.clone();
    let rows = deletions.into_iter().map(move |deletion| Ok(Some(row(&asked, &names, &deletion))));
    call.rows(Frame::member("deletions", &Map::new())?, rows)
}

/// `POST /deletions/{number}/undo`
pub(crate) fn undo(call: &Call) -> Answer {
    let number = call.path_part("number");
    let parsed = number.parse::<u64>();
    let parsed =
        parsed.map_err(|_| Refusal::new(Code::BadRequest, format!("{number:?} is no number of a deletion")))?;
    let deletion = call.ask.restore_range(parsed)?;
    json(&row(&call.ask, &names_of_removed(&call.ask)?, &deletion))
}

/// The names of PVs that were removed, by their numbers.
type RemovedNames = HashMap<PvId, PvName>;

/// What a deletion or a removed PV takes until it is sent.
const ROW_BYTES: usize = 400;
/// And what it does as a value of JSON.
const SAID_BYTES: usize = 2000;

fn names_of_removed(ask: &Ask) -> Result<RemovedNames, Refusal> {
    let removed = ask.service.removed();
    ask.lease.grow_by(removed.len(), ROW_BYTES)?;
    Ok(removed.into_iter().map(|removed| (removed.entry.id, removed.entry.name)).collect())
}

fn row(ask: &Ask, removed: &RemovedNames, deletion: &Deletion) -> Value {
    let entry = ask.service.entry(deletion.pv);
    let name = entry.as_ref().map(|entry| &entry.name).or_else(|| removed.get(&deletion.pv));
    json!({
        "number": deletion.number,
        "name": name.map(PvName::as_str),
        "from": deletion.range.t0.to_string(),
        "to": deletion.range.t1.to_string(),
        "deleted": deletion.by.at.to_string(),
        "by": deletion.by.who.to_string(),
        "final": deletion.is_final,
    })
}

/// `GET /purge`: what would go.
pub(crate) fn preview(call: &Call) -> Answer {
    let purged = call.ask.purgeable(asked(call)?)?;
    said(&call.ask, &purged, "not_ordered")
}

/// `POST /purge`: what goes, if it is confirmed.
pub(crate) fn purge(call: &Call) -> Answer {
    let asked = asked(call)?;
    if !call.query.switch("confirm") {
        let Purged { samples, bytes, .. } = call.ask.purgeable(asked)?;
        let message = format!("{samples} samples in {bytes} bytes would go for good, which must be confirmed");
        return Err(Refusal::new(Code::Conflict, message).hint("GET /api/v1/purge lists them; add confirm=true"));
    }
    let purged = call.ask.purge(asked)?;
    said(&call.ask, &purged, "ordered")
}

/// What was deleted before `before=`, of the PV `pv=` alone if it is given: a name that it has or had, or `#` and its number.
fn asked(call: &Call) -> Result<Purge, Refusal> {
    let before = call.time("before")?.unwrap_or_else(now);
    let pv = call.query.get("pv").map(|name| named(&call.ask, name)).transpose()?;
    Ok(Purge { pv, before })
}

fn named(ask: &Ask, name: &str) -> Result<PvId, Refusal> {
    let number = name.strip_prefix('#').and_then(|number| number.parse().ok()).map(PvId);
    let present = || ask.service.find(name).map(|entry| entry.id);
    let removed = || {
        let all = ask.service.removed().into_iter();
        let alike: Vec<PvId> = all.map(|pv| pv.entry).filter(|pv| pv.name.as_str() == name).map(|pv| pv.id).collect();
        if let [only] = alike.as_slice() { Some(*only) } else { None }
    };
    number.or_else(removed).or_else(present).ok_or_else(|| {
        Refusal::unknown_pv(name)
            .hint("several removed PVs of one name are told apart as pv=%23NUMBER; see /api/v1/removed")
    })
}

fn said(ask: &Ask, purged: &Purged, status: &str) -> Answer {
    ask.lease.grow_by(purged.pvs.len() + purged.ranges.len(), SAID_BYTES)?;
    let names = names_of_removed(ask)?;
    json(&json!({
        "status": status,
        "pvs": purged.pvs.iter().map(|removed| removed.entry.name.as_str()).collect::<Vec<_>>(),
        "ranges": purged.ranges.iter().map(|range| row(ask, &names, range)).collect::<Vec<_>>(),
        "samples": purged.samples,
        "bytes": purged.bytes,
    }))
}

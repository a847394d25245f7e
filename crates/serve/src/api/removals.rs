//! `/api/v1/pvs/{pv}` and `/restore`, `/api/v1/remove`, `/restore`, `/removed`: PVs taken out of the archive and brought back, one or
//! many at a time. Many are one change of the catalogue.

use std::collections::{BTreeMap, HashMap, HashSet};

use acquire::Change;
use archive::{DataFate, PvEntry, PvId, PvName};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Ask, RemovedPv, check_len};

use super::pvs::{ADD_MAX, AllTold, Told};
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

/// What a removed PV takes until it is sent.
const ROW_BYTES: usize = 400;
/// What a PV takes on its way out of the list, or back.
const MOVED_BYTES: usize = 1000;

/// PVs by their names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Many {
    pvs: Vec<String>,
    data: Option<Data>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Data {
    Keep,
    Delete,
}

fn many(call: &Call, example: &str) -> Result<Many, Refusal> {
    let many: Many = serde_json::from_slice(&call.body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}"))
            .hint(format!("send {example}"))
    })?;
    check_len(many.pvs.len(), ADD_MAX, "PVs")?;
    call.ask.lease.grow_by(many.pvs.len(), MOVED_BYTES)?;
    Ok(many)
}

/// `POST /remove`
pub(crate) fn remove_many(call: &Call) -> Answer {
    let Many { pvs, data } = many(call, r#"{"pvs":["A","B"],"data":"keep"}"#)?;
    let fate = match data {
        Some(Data::Delete) => DataFate::Delete,
        Some(Data::Keep) | None => DataFate::Keep,
    };
    let gone = last_removed(&call.ask);
    let (mut out, mut again, mut told) = (Vec::new(), Vec::new(), Vec::with_capacity(pvs.len()));
    let mut seen: HashSet<PvId> = HashSet::new();
    for name in pvs {
        let found = call.ask.service.find(&name).map(|entry| entry.id);
        let status = match (found, gone.get(name.as_str())) {
            (Some(pv), _) if !seen.insert(pv) => "removed", // it is asked for twice, perhaps by another of its names
            (Some(pv), _) => {
                out.push(pv);
                "removed"
            }
            (None, Some(removed)) if fate == DataFate::Delete && removed.data == DataFate::Keep => {
                again.push(removed.entry.id);
                "removed"
            }
            (None, Some(_)) => "already_removed",
            (None, None) => "unknown",
        };
        let message = (status == "unknown").then(|| format!("no PV is called {name:?}"));
        told.push(Told { message, name, status });
    }
    if !out.is_empty() {
        call.ask.remove(&out, fate)?;
    }
    if !again.is_empty() {
        call.ask.decide_upon_removed(&again, fate)?;
    }
    json(&AllTold { pvs: told })
}

/// `POST /restore`: of several that had the same name the one that was removed last.
pub(crate) fn restore_many(call: &Call) -> Answer {
    let Many { pvs, data: None } = many(call, RESTORE_EXAMPLE)? else {
        return Err(Refusal::new(Code::BadRequest, "data= is for removing").hint(format!("send {RESTORE_EXAMPLE}")));
    };
    let gone = last_removed(&call.ask);
    let number = |name: &String| gone.get(name.as_str()).map(|removed| removed.entry.id);
    let mut asked = HashSet::new();
    let wanted: Vec<(PvId, Option<PvName>)> =
        pvs.iter().filter_map(number).filter(|pv| asked.insert(*pv)).map(|pv| (pv, None)).collect();
    let done = if wanted.is_empty() { Vec::new() } else { call.ask.restore_all(&wanted)? };
    let outcomes: HashMap<PvId, Option<String>> = wanted
        .iter()
        .zip(done)
        .map(|((pv, _), done)| (*pv, done.err().map(|error| error.message().to_owned())))
        .collect();
    let told = |name: String| match number(&name).and_then(|pv| outcomes.get(&pv)) {
        None if call.ask.service.find(&name).is_some() => Told { message: None, name, status: "already_archived" },
        None => Told { message: Some(format!("no removed PV is called {name:?}")), name, status: "unknown" },
        Some(None) => Told { message: None, name, status: "restored" },
        Some(Some(why)) => Told { message: Some(why.clone()), name, status: "refused" },
    };
    json(&AllTold { pvs: pvs.into_iter().map(told).collect() })
}

const RESTORE_EXAMPLE: &str = r#"{"pvs":["A","B"]}"#;

/// Of the removed PVs of each name the one that was removed last.
fn last_removed(ask: &Ask) -> BTreeMap<String, RemovedPv> {
    let mut removed = ask.service.removed();
    removed.sort_by_key(|removed| removed.since);
    removed.into_iter().map(|removed| (removed.entry.name.as_str().to_owned(), removed)).collect()
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
    match call.ask.remove(&[entry.id], fate)?.as_slice() {
        [Change::Done] => json(&json!({ "name": entry.name.as_str(), "status": "removed" })),
        _ => Err(Refusal::unknown_pv(entry.name.as_str())),
    }
}

/// Decides anew upon the data of a PV that was removed already.
fn remove_again(call: &Call, fate: DataFate, unknown: Refusal) -> Answer {
    let removed = removed_named(call).pop().ok_or(unknown)?;
    let is_news = fate == DataFate::Delete && removed.data == DataFate::Keep; // the other way is `restore`
    if is_news {
        call.ask.decide_upon_removed(&[removed.entry.id], fate)?;
    }
    let status = if is_news { "removed" } else { "already_removed" };
    json(&json!({ "name": removed.entry.name.as_str(), "status": status }))
}

/// The removed PVs that had the name in the path, the last removed one last.
fn removed_named(call: &Call) -> Vec<RemovedPv> {
    let mut removed = call.ask.service.removed();
    removed.retain(|removed| removed.entry.name.as_str() == call.path_part("pv"));
    removed.sort_by_key(|removed| removed.since);
    removed
}

/// `GET /removed`
pub(crate) fn removed(call: &Call) -> Answer {
    let removed = call.ask.service.removed();
    call.ask.lease.grow_by(removed.len(), ROW_BYTES)?;
    let rows = removed.into_iter().map(|removed| Ok(Some(removed_row(&removed))));
    call.rows(Frame::member("removed", &Map::new())?, rows)
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
        "by": removed.by.who.to_string(),
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
    let restored: PvEntry = call.ask.restore(removed.entry.id, name.as_ref())?;
    json(&json!({ "name": restored.name.as_str(), "status": "restored" }))
}

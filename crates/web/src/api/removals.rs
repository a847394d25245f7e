//! `/api/v1/pvs/{pv}` and `/restore`, `/api/v1/remove`, `/restore`, `/removed`, `/pause`, `/resume`: PVs taken out of the archive and brought
//! back, one or many at a time, and many paused. Many are one change of the catalogue, and with `plan=true` none.

use archive::{DataFate, PvName, PvState, RemovedPv};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Ask, Carry, Removal, Restoration, Switched, check_len};

use super::told::{ADD_MAX, AllTold, Told, carry};
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
    data: Option<DataChoice>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DataChoice {
    Keep,
    Delete,
}

fn many(ask: &Ask, body: &[u8], example: &str) -> Result<Many, Refusal> {
    let many: Many = serde_json::from_slice(body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}"))
            .hint(format!("send {example}"))
    })?;
    check_len(many.pvs.len(), ADD_MAX, "PVs")?;
    ask.lease.grow_by(many.pvs.len(), MOVED_BYTES)?;
    Ok(many)
}

fn told_all(carry: Carry, told: impl Iterator<Item = Told>) -> Answer {
    json(&AllTold::of(told.collect(), carry))
}

/// `POST /pause`
pub(crate) fn pause_many(call: &Call) -> Answer {
    switch_many(call, PvState::Paused, "paused", "already_paused")
}

/// `POST /resume`
pub(crate) fn resume_many(call: &Call) -> Answer {
    switch_many(call, PvState::Active, "resumed", "already_active")
}

fn switch_many(call: &Call, to: PvState, done: &'static str, already: &'static str) -> Answer {
    let Many { pvs, data: None } = many(&call.ask, &call.body, NAMES_EXAMPLE)? else {
        return Err(Refusal::new(Code::BadRequest, "data= is for removing").hint(format!("send {NAMES_EXAMPLE}")));
    };
    let told = |(name, switched): (String, Switched)| match switched {
        Switched::Done => Told { message: None, name, status: done },
        Switched::Already => Told { message: None, name, status: already },
        Switched::Unknown => Told { message: Some(format!("no PV is called {name:?}")), name, status: "unknown" },
    };
    let carry = carry(&call.query);
    told_all(carry, call.ask.switch_named(pvs, to, carry)?.into_iter().map(told))
}

/// `POST /remove`
pub(crate) fn remove_many(call: &Call) -> Answer {
    let Many { pvs, data } = many(&call.ask, &call.body, r#"{"pvs":["A","B"],"data":"keep"}"#)?;
    let fate = match data {
        Some(DataChoice::Delete) => DataFate::Delete,
        Some(DataChoice::Keep) | None => DataFate::Keep,
    };
    let told = |(name, removal): (String, Removal)| {
        let message = (removal == Removal::Unknown).then(|| format!("no PV is called {name:?}"));
        Told { message, name, status: removal_name(removal) }
    };
    let carry = carry(&call.query);
    told_all(carry, call.ask.remove_named(pvs, fate, carry)?.into_iter().map(told))
}

fn removal_name(removal: Removal) -> &'static str {
    match removal {
        Removal::Removed => "removed",
        Removal::Already => "already_removed",
        Removal::Unknown => "unknown",
    }
}

/// `POST /restore`: of several that had the same name the one that was removed last.
pub(crate) fn restore_many(call: &Call) -> Answer {
    let Many { pvs, data: None } = many(&call.ask, &call.body, NAMES_EXAMPLE)? else {
        return Err(Refusal::new(Code::BadRequest, "data= is for removing").hint(format!("send {NAMES_EXAMPLE}")));
    };
    let told = |(name, restoration): (String, Restoration)| match restoration {
        Restoration::Already => Told { message: None, name, status: "already_archived" },
        Restoration::Unknown => {
            Told { message: Some(format!("no removed PV is called {name:?}")), name, status: "unknown" }
        }
        Restoration::Restored => Told { message: None, name, status: "restored" },
        Restoration::Refused(why) => Told { message: Some(why), name, status: "refused" },
    };
    let carry = carry(&call.query);
    told_all(carry, call.ask.restore_named(pvs, carry)?.into_iter().map(told))
}

const NAMES_EXAMPLE: &str = r#"{"pvs":["A","B"]}"#;

/// `DELETE /pvs/{pv}`
pub(crate) fn remove(call: &Call) -> Answer {
    let fate = match call.query.word("data", &["keep", "delete"], Code::BadRequest)? {
        "delete" => DataFate::Delete,
        _ => DataFate::Keep,
    };
    let (name, removal) = call.ask.remove_one(call.path_part("pv"), fate)?;
    json(&json!({ "name": name.as_str(), "status": removal_name(removal) }))
}

/// `GET /removed`
pub(crate) fn removed(call: &Call) -> Answer {
    let removed = call.ask.removed();
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
    let number: Option<u32> = call.query.number("number")?;
    let removed = call.ask.last_removed(call.path_part("pv"), number)?;
    let under = call.query.get("as").map(PvName::new).transpose()?;
    let restored = call.ask.restore(removed.entry.id, under.as_ref())?;
    json(&json!({ "name": restored.name.as_str(), "status": "restored" }))
}

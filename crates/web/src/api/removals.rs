//! `/api/v1/pvs/{pv}` and `/restore`, `/api/v1/remove`, `/restore`, `/removed`: PVs taken out of the archive and brought back, one or
//! many at a time. Many are one change of the catalogue.

use archive::{DataFate, PvName, RemovedPv};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Ask, Removal, Restoration, check_len};

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

fn many(ask: &Ask, body: &[u8], example: &str) -> Result<Many, Refusal> {
    let many: Many = serde_json::from_slice(body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}"))
            .hint(format!("send {example}"))
    })?;
    check_len(many.pvs.len(), ADD_MAX, "PVs")?;
    ask.lease.grow_by(many.pvs.len(), MOVED_BYTES)?;
    Ok(many)
}

/// `POST /remove`
pub(crate) fn remove_many(call: &Call) -> Answer {
    let Many { pvs, data } = many(&call.ask, &call.body, r#"{"pvs":["A","B"],"data":"keep"}"#)?;
    let fate = match data {
        Some(Data::Delete) => DataFate::Delete,
        Some(Data::Keep) | None => DataFate::Keep,
    };
    let told = |(name, removal): (String, Removal)| {
        let message = (removal == Removal::Unknown).then(|| format!("no PV is called {name:?}"));
        Told { message, name, status: removal_name(removal) }
    };
    json(&AllTold { pvs: call.ask.remove_named(pvs, fate)?.into_iter().map(told).collect() })
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
    let Many { pvs, data: None } = many(&call.ask, &call.body, RESTORE_EXAMPLE)? else {
        return Err(Refusal::new(Code::BadRequest, "data= is for removing").hint(format!("send {RESTORE_EXAMPLE}")));
    };
    let told = |(name, restoration): (String, Restoration)| match restoration {
        Restoration::Already => Told { message: None, name, status: "already_archived" },
        Restoration::Unknown => {
            Told { message: Some(format!("no removed PV is called {name:?}")), name, status: "unknown" }
        }
        Restoration::Restored => Told { message: None, name, status: "restored" },
        Restoration::Refused(why) => Told { message: Some(why), name, status: "refused" },
    };
    json(&AllTold { pvs: call.ask.restore_named(pvs)?.into_iter().map(told).collect() })
}

const RESTORE_EXAMPLE: &str = r#"{"pvs":["A","B"]}"#;

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

//! `/retrieval/bpl`, `/retrieval/ping` and `getAllPVs`: which names there are.

use std::collections::HashSet;

use archive::PvId;
use serde_json::json;
use service::{Pattern, fitting, resolve};

use super::{
    names::{find, names_in, pattern, split},
    reports::names_of,
};
use crate::{
    call::Call,
    delivery::answer::{Answer, TEXT, json, whole},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

/// How many names an answer holds when nobody says; -1 stands for all.
const LIMIT_DEFAULT: i64 = 500;

/// What a PV takes in a set of them.
const PLACE_BYTES: usize = 16;

/// `GET /retrieval/ping`
pub(crate) fn ping(_: &Call) -> Answer {
    Ok(whole(TEXT, "Pong"))
}

/// `GET /mgmt/bpl/ping` and the like, which the Appliance writes otherwise.
pub(crate) fn pong(_: &Call) -> Answer {
    Ok(whole(TEXT, "pong\n"))
}

/// `GET /retrieval/bpl/getVersion`
pub(crate) fn version(call: &Call) -> Answer {
    json(&json!({ "version": call.app.config.appliance.version }))
}

/// `GET /retrieval/bpl/searchForPVsRegex`
pub(crate) fn search_for_pvs_regex(call: &Call) -> Answer {
    let regex = call.query.get("regex").ok_or_else(|| Refusal::new(Code::BadRequest, "regex= is missing"))?;
    let found = fitting(&call.ask, &Pattern::whole_regex(regex, &call.ask.lease)?)?;
    let lines = found.into_iter().map(|item| Ok(Some(item.name)));
    call.list(TEXT, Frame::bare(), lines, |out, name| {
        out.extend_from_slice(name.as_str().as_bytes());
        out.push(b'\n');
        Ok(())
    })
}

/// `GET /retrieval/bpl/getMatchingPVs` and `GET /mgmt/bpl/getAllPVs`: by `regex=` or `pv=` (globs), all without either.
pub(crate) fn matching_pvs(call: &Call) -> Answer {
    let limit = call.number("limit")?.unwrap_or(LIMIT_DEFAULT);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let globs = call.query.get("pv").filter(|_| call.query.get("regex").is_none());
    let found = match globs {
        // A name is a glob that fits itself, if there is one of that name.
        Some(globs) => {
            let own = |name: &str| call.ask.service.find(name).map(|entry| entry.id);
            let mut found = resolve(&call.ask, split(globs), own)?;
            found.retain(|item| item.pv.is_some());
            found
        }
        None => fitting(&call.ask, &pattern(call)?)?,
    };
    call.rows(Frame::list(), found.into_iter().take(limit).map(|item| Ok(Some(item.name.to_string()))))
}

/// `POST /mgmt/bpl/archivedPVs` and `/retrieval/bpl/filterArchivedPVs`: those of the given names under which a PV is found.
pub(crate) fn archived(call: &Call) -> Answer {
    those_that_are(call, true)
}

/// `POST /mgmt/bpl/unarchivedPVs`: those under which none is found. Aliases and names with `.VAL` count as archived.
pub(crate) fn unarchived(call: &Call) -> Answer {
    those_that_are(call, false)
}

fn those_that_are(call: &Call, archived: bool) -> Answer {
    let (names, asked) = (names_in(call)?, call.ask.clone());
    let is_meant = move |name: &String| find(&asked, name).is_ok() == archived;
    call.rows(Frame::list(), names.into_iter().map(move |name| Ok(is_meant(&name).then_some(name))))
}

/// `POST /mgmt/bpl/archivedPVsNotInList`: the PVs that none of the given names means.
pub(crate) fn archived_not_in_list(call: &Call) -> Answer {
    let names = names_in(call)?;
    call.ask.lease.grow_by(names.len(), PLACE_BYTES)?;
    let listed: HashSet<PvId> = names.iter().filter_map(|name| Some(find(&call.ask, name).ok()?.id)).collect();
    names_of(call, move |entry| !listed.contains(&entry.id))
}

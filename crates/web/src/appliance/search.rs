//! `/retrieval/bpl`, `/retrieval/ping` and `getAllPVs`: which names there are.

use std::collections::HashSet;

use archive::PvId;
use serde_json::json;
use service::Pattern;

use super::{
    names::{find, names_in, pattern, split},
    reports::{names_of, put_name},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON, TEXT, json, whole},
    formats::list::Frame,
    refusal::Refusal,
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
    let regex = call.query.needed("regex")?;
    let found = call.ask.fitting(&Pattern::whole_regex(regex, &call.ask.lease)?)?;
    let lines = found.into_iter().map(|item| Ok(Some(item.name)));
    call.list(TEXT, Frame::bare(), lines, |out, name| {
        out.extend_from_slice(name.as_str().as_bytes());
        out.push(b'\n');
        Ok(())
    })
}

/// `GET /retrieval/bpl/getMatchingPVs` and `GET /mgmt/bpl/getAllPVs`: by `regex=` or `pv=` (globs), all without either.
pub(crate) fn matching_pvs(call: &Call) -> Answer {
    let limit = call.query.number("limit")?.unwrap_or(LIMIT_DEFAULT);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let globs = call.query.get("pv").filter(|_| call.query.get("regex").is_none());
    let found = match globs {
        // A name is a glob that fits itself, if there is one of that name.
        Some(globs) => {
            let own = |name: &str| call.ask.find(name).map(|entry| entry.id);
            let mut found = call.ask.resolve(split(globs), own)?;
            found.retain(|item| item.pv.is_some());
            found
        }
        None => call.ask.fitting(&pattern(&call.ask, &call.query)?)?,
    };
    call.rows(Frame::list(), found.into_iter().take(limit).map(|item| Ok(Some(item.name.to_string()))))
}

/// `POST /mgmt/bpl/archivedPVs` and `/retrieval/bpl/filterArchivedPVs`: those of the given names under which a PV is found.
pub(crate) fn archived(call: &Call) -> Answer {
    let (names, asked) = (names_in(&call.query, call.sent())?, call.ask.clone());
    call.rows(Frame::list(), those(names, move |name| find(&asked, name).is_ok()))
}

/// `POST /mgmt/bpl/unarchivedPVs`: those under which none is found. Aliases and names with `.VAL` count as archived.
pub(crate) fn unarchived(call: &Call) -> Answer {
    let (names, asked) = (names_in(&call.query, call.sent())?, call.ask.clone());
    call.rows(Frame::list(), those(names, move |name| find(&asked, name).is_err()))
}

fn those(
    names: Vec<String>,
    are_meant: impl Fn(&str) -> bool + Send + 'static,
) -> impl Iterator<Item = Result<Option<String>, Refusal>> + Send + 'static {
    names.into_iter().map(move |name| Ok(are_meant(&name).then_some(name)))
}

/// `POST /mgmt/bpl/archivedPVsNotInList`: the PVs that none of the given names means.
pub(crate) fn archived_not_in_list(call: &Call) -> Answer {
    let names = names_in(&call.query, call.sent())?;
    call.ask.lease.grow_by(names.len(), PLACE_BYTES)?;
    let listed: HashSet<PvId> = names.iter().filter_map(|name| Some(find(&call.ask, name).ok()?.id)).collect();
    call.list(JSON, Frame::list(), names_of(&call.ask, move |entry| !listed.contains(&entry.id)), put_name)
}

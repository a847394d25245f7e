//! `/retrieval/bpl`, `/retrieval/ping` and `getAllPVs`: which names there are.

use std::collections::HashSet;

use sample::PvId;
use serde_json::json;

use super::{
    manage::{names_in, split},
    retrieval::find,
};
use crate::{
    answer::{Answer, TEXT, json, whole},
    call::Call,
    names::Pattern,
    refusal::{Code, Refusal},
};

/// How many names an answer holds when nobody says; -1 stands for all.
const LIMIT_DEFAULT: i64 = 500;

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
    let mut text = String::new();
    for name in names(call, &Pattern::whole_regex(regex)?, -1) {
        text.push_str(&name);
        text.push('\n');
    }
    Ok(whole(TEXT, text))
}

/// `GET /retrieval/bpl/getMatchingPVs` and `GET /mgmt/bpl/getAllPVs`: by `regex=` or `pv=` (globs), all without either.
pub(crate) fn matching_pvs(call: &Call) -> Answer {
    let limit = call.number("limit")?.unwrap_or(LIMIT_DEFAULT);
    let globs = call.query.get("pv").filter(|_| call.query.get("regex").is_none());
    let Some(globs) = globs else { return json(&names(call, &pattern(call)?, limit)) };
    let mut found = Vec::new();
    for glob in split(globs) {
        found.extend(names(call, &Pattern::glob(&glob)?, limit));
    }
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    json(&found)
}

/// What `regex=` says, or else everything.
pub(super) fn pattern(call: &Call) -> Result<Pattern, Refusal> {
    call.query.get("regex").map_or(Ok(Pattern::Everything), Pattern::whole_regex)
}

/// `POST /mgmt/bpl/archivedPVs` and `/retrieval/bpl/filterArchivedPVs`: those of the given names under which a PV is found.
pub(crate) fn archived(call: &Call) -> Answer {
    let names = names_in(call)?;
    json(&names.iter().filter(|name| find(call, name).is_ok()).collect::<Vec<_>>())
}

/// `POST /mgmt/bpl/unarchivedPVs`: those under which none is found. Aliases and names with `.VAL` count as archived.
pub(crate) fn unarchived(call: &Call) -> Answer {
    let names = names_in(call)?;
    json(&names.iter().filter(|name| find(call, name).is_err()).collect::<Vec<_>>())
}

/// `POST /mgmt/bpl/archivedPVsNotInList`: the PVs that none of the given names means.
pub(crate) fn archived_not_in_list(call: &Call) -> Answer {
    let listed: HashSet<PvId> = names_in(call)?.iter().filter_map(|name| Some(find(call, name).ok()?.id)).collect();
    let entries = call.app.reader.entries();
    let others = entries.iter().filter(|entry| !listed.contains(&entry.id));
    json(&others.map(|entry| entry.name.as_str()).collect::<Vec<_>>())
}

fn names(call: &Call, pattern: &Pattern, limit: i64) -> Vec<String> {
    let names = call.app.reader.names();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    pattern.among(&names).into_iter().take(limit).map(|named| named.name.to_string()).collect()
}

//! Which PVs a request of the Appliance's clients names, and how many it wants.

use std::collections::HashSet;

use archive::PvEntry;
use serde::Deserialize;
use service::{Ask, Item, NAMES_MAX, Pattern, check_len};

use crate::{
    form::{Kind, Sent},
    refusal::{Code, Refusal},
    url::Params,
};

/// The names that a request gives, each once, of which there must be some.
pub(crate) fn names_in(query: &Params, body: Sent) -> Result<Vec<String>, Refusal> {
    let names = list_in(query, body)?.filter(|names| !names.is_empty());
    let mut names = names.ok_or_else(|| Refusal::new(Code::BadRequest, "pv= is missing"))?;
    check_len(names.len(), NAMES_MAX, "names")?;
    let is_news: Vec<bool> = {
        let mut seen = HashSet::with_capacity(names.len());
        names.iter().map(|name| seen.insert(name.as_str())).collect()
    };
    let mut is_news = is_news.into_iter();
    names.retain(|_| is_news.next().unwrap_or(true));
    Ok(names)
}

/// A PV in a list: its name, or an object that has it, as the Appliance's page sends them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Name(String),
    Object { pv: String },
}

/// `pv=a,b` in URL or form, a JSON list, or lines of text; none where a request gives none of them. Some clients announce a body
/// that they do not send, others send names without announcing them.
pub(crate) fn list_in(query: &Params, Sent { kind, body }: Sent) -> Result<Option<Vec<String>>, Refusal> {
    let mut names: Vec<String> = query.all("pv").flat_map(split).collect();
    if !body.is_empty() && kind == Kind::Json {
        let listed: Vec<Listed> = serde_json::from_slice(body)
            .map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not a list of names: {error}")))?;
        names.extend(listed.into_iter().map(|listed| match listed {
            Listed::Name(pv) | Listed::Object { pv } => pv,
        }));
        return Ok(Some(names));
    }
    names.extend(split(&String::from_utf8_lossy(body)));
    Ok(Some(names).filter(|names| !names.is_empty()))
}

/// The elements of a list. Commas within parentheses belong to the arguments of an operator.
pub(crate) fn split(list: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let is_border = |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == '\n' || character == '\r' || (character == ',' && depth == 0)
    };
    list.split(is_border).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// What the names mean; a glob stands for all names and aliases that it fits.
pub(crate) fn resolved(ask: &Ask, names: Vec<String>) -> Result<Vec<Item>, Refusal> {
    ask.resolve(names, |name| Some(find(ask, name).ok()?.id))
}

/// A PV by any of the names that clients use for it: with protocol prefix, with `.VAL`.
pub(crate) fn find(ask: &Ask, name: &str) -> Result<PvEntry, Refusal> {
    let bare = bare(name);
    let known = |name: &str| ask.find(name);
    known(bare).or_else(|| known(bare.strip_suffix(".VAL")?)).ok_or_else(|| ask.unknown(bare))
}

/// A name without protocol prefix.
pub(crate) fn bare(name: &str) -> &str {
    name.strip_prefix("ca://").or_else(|| name.strip_prefix("pva://")).unwrap_or(name)
}

/// The PV that `pv=` names.
pub(crate) fn named(ask: &Ask, query: &Params) -> Result<PvEntry, Refusal> {
    find(ask, query.needed("pv")?)
}

/// What `regex=` says, or else everything.
pub(crate) fn pattern(ask: &Ask, query: &Params) -> Result<Pattern, Refusal> {
    query.get("regex").map_or(Ok(Pattern::Everything), |regex| Pattern::whole_regex(regex, &ask.lease))
}

/// How many rows `limit=` asks for, all without it.
pub(crate) fn limit(query: &Params) -> Result<usize, Refusal> {
    Ok(query.number("limit")?.and_then(|limit: i64| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_outside_of_parentheses() {
        assert_eq!(split("A, mean(B,60),\r\nC,,"), ["A", "mean(B,60)", "C"]);
    }
}

//! `GET /api/v1/tree`: one level of the tree that the names make, with how many there are in each branch.

use serde_json::{Map, Value, json};
use service::TreeWanted;

use super::pv_row::{LIMIT_MAX, incomplete};
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
};

/// `GET /tree`
pub(crate) fn level(call: &Call) -> Answer {
    let query = &call.query;
    let text = |name: &str| query.get(name).map(str::to_owned);
    let wanted =
        TreeWanted { prefix: text("prefix").unwrap_or_default(), after: text("after"), limit: query.limit(LIMIT_MAX)? };
    let separators = &call.app.config.separators;
    let level = call.ask.tree(&wanted, separators)?;
    let next = level.children.last().filter(|_| level.has_more).map(|last| last.name.clone());
    let children: Vec<Value> = level
        .children
        .iter()
        .map(|child| match child.names {
            Some(names) => json!({ "prefix": child.name, "names": names }),
            None => json!({ "name": child.name }),
        })
        .collect();
    let mut told = Map::from_iter([
        ("prefix".to_owned(), wanted.prefix.into()),
        ("separators".to_owned(), separators.as_str().into()),
        ("names".to_owned(), level.names.into()),
        ("next".to_owned(), next.into()),
        ("children".to_owned(), children.into()),
    ]);
    told.extend(incomplete(&call.ask));
    json(&told)
}

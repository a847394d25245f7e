//! `GET /api/v1/pvs` with an order, with words or with a narrowing: a page of a list that is sorted and counted.

use serde_json::{Map, Value, json};
use service::{Count, Facets, ListWanted, ListedRow, Pattern, SortBy};

use super::pv_row::{LIMIT_MAX, incomplete, row, state};
use crate::{
    call::Call,
    delivery::answer::Answer,
    formats::list::Frame,
    refusal::{Code, Refusal},
    url::Params,
};

/// The parameters that ask for such a list.
const ITS_OWN: [&str; 8] = ["words", "sort", "order", "cursor", "policy", "group", "ioc", "added_by"];

/// Whether such a list is asked for.
pub(super) fn is_meant(query: &Params) -> bool {
    query.names().any(|name| ITS_OWN.contains(&name))
}

pub(super) fn show(call: &Call) -> Answer {
    let query = &call.query;
    let offset = query.number("offset")?;
    if offset.is_some() && query.get("cursor").is_some() {
        let refusal = Refusal::new(Code::BadRequest, "cursor says where a page begins, and offset says it otherwise");
        return Err(refusal.hint("give one of them: cursor for page after page, offset for one in the middle"));
    }
    let text = |name: &str| query.get(name).map(str::to_owned);
    let names = SortBy::ALL.map(|(name, ..)| name);
    let sort = query.word("sort", &names, Code::BadRequest)?;
    let (_, sort, is_descending) =
        SortBy::ALL.into_iter().find(|(name, ..)| *name == sort).expect("it is one of these");
    let order = query.get("order").map(|_| query.word("order", &["asc", "desc"], Code::BadRequest)).transpose()?;
    let compiled = |text: String| Pattern::search(&text, &call.ask.lease).map(|pattern| (text, pattern));
    let page = call.ask.list(&ListWanted {
        words: query.get("words").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        pattern: text("match").map(compiled).transpose()?,
        state: state(query)?,
        policy: text("policy"),
        group: text("group"),
        ioc: text("ioc"),
        added_by: text("added_by"),
        sort,
        descending: order.map_or(is_descending, |order| order == "desc"),
        cursor: text("cursor"),
        offset: offset.unwrap_or(0),
        limit: query.limit(LIMIT_MAX)?,
    })?;
    let mut head = Map::new();
    head.insert("total".to_owned(), page.total.into());
    head.insert("as_of".to_owned(), page.at.to_string().into());
    head.insert("next".to_owned(), page.next.clone().into());
    head.insert("facets".to_owned(), facets(&page.facets));
    if page.undescribed > 0 {
        head.insert("undescribed".to_owned(), page.undescribed.into());
    }
    if page.is_audit_unread {
        head.insert("audit_unread".to_owned(), true.into());
    }
    head.extend(incomplete(&call.ask));
    if page.total == 0 {
        head.insert("near".to_owned(), page.near.clone().into());
    }
    call.rows(Frame::member("pvs", &head)?, page.map(|row| Ok(Some(listed(&row?)))))
}

fn listed(of: &ListedRow) -> Map<String, Value> {
    let mut object = row(&of.row);
    let rules = of.row.settings.rules();
    object.extend([
        ("description".to_owned(), of.row.description.clone().into()),
        ("added".to_owned(), of.added.to_string().into()),
        ("added_by".to_owned(), of.added_by.clone().into()),
        ("policy".to_owned(), rules.origin.policy.as_ref().map(|policy| policy.as_str()).into()),
        ("groups".to_owned(), rules.groups.iter().map(|group| group.as_str()).collect::<Vec<_>>().into()),
        ("ioc".to_owned(), of.ioc.clone().into()),
        ("rate".to_owned(), of.rate.into()),
        ("bytes_per_day".to_owned(), of.bytes_per_day.into()),
        ("bytes".to_owned(), of.bytes.into()),
    ]);
    object
}

fn facets(of: &Facets) -> Value {
    let counts = |counts: &[Count]| {
        counts.iter().map(|Count { name, pvs }| json!({ "name": name, "pvs": pvs })).collect::<Vec<_>>()
    };
    let states: Map<String, Value> =
        of.states.iter().map(|(state, pvs)| (state.name().to_owned(), (*pvs).into())).collect();
    json!({
        "state": states,
        "policy": counts(&of.policies),
        "group": counts(&of.groups),
        "ioc": counts(&of.iocs),
        "added_by": counts(&of.adders),
    })
}

//! `/api/v1/access/explain`: why somebody may do something or not.

use access::Explanation;
use archive::Right;
use serde_json::json;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    needed::{explained, somebody},
    refusal::{Code, Refusal},
};

/// `GET /access/explain`
pub(crate) fn show(call: &Call) -> Answer {
    let bad = |message| Refusal::new(Code::BadRequest, message);
    let (access, query) = (&call.app.access, &call.query);
    let who = somebody(access, query.needed("user")?).map_err(bad)?;
    let groups: Vec<Box<str>> = query.all("group").map(Box::from).collect();
    // Everybody may ask about themselves; what others may is for administrators.
    let is_oneself = who == call.asker.who && groups.iter().all(|group| call.asker.groups.contains(group));
    if !is_oneself {
        call.ask.needs_all(Right::Administer)?;
    }
    let needed = (call.app.needed)(query.needed("method")?, query.needed("what")?).map_err(bad)?;
    let tells_others = call.ask.may_with_all(Right::Administer);
    let groups = if groups.is_empty() && is_oneself { call.asker.groups.to_vec() } else { groups };
    let Explanation { is_allowed, text } =
        explained(access, &who, &groups, &needed, (call.origin.ceiling(), tells_others));
    json(&json!({ "who": who.to_string(), "allowed": is_allowed, "why": text.lines().collect::<Vec<_>>() }))
}

//! `POST /api/v1/names`: which PVs a list, a database of an IOC or an export of the Archiver Appliance names, and what adding them would
//! do. Nothing is changed by it.

use std::borrow::Cow;

use archive::PvName;
use serde_json::{Map, Value, json};
use service::check_len;

use super::{
    name_list::{self, Named},
    pv_row::incomplete,
    told::ADD_MAX,
};
use crate::{
    call::Call,
    delivery::answer::Answer,
    formats::list::Frame,
    refusal::{Code, Refusal},
};

/// What a name takes until it is sent.
const ROW_BYTES: usize = 600;

/// `POST /names`
pub(crate) fn read(call: &Call) -> Answer {
    let text = String::from_utf8_lossy(&call.body);
    if text.trim().is_empty() {
        let refusal = Refusal::new(Code::BadRequest, "the body is empty");
        return Err(
            refusal.hint("send a list of names, a .db file, or what the Appliance's exportConfig gives, as text")
        );
    }
    call.ask.lease.grow(4 * text.len())?;
    let (form, found) = name_list::read(&text);
    if let Cow::Owned(_) = text {
        let refusal = Refusal::new(Code::BadRequest, "the text is not UTF-8");
        return Err(refusal.hint("names of PVs are; save the file as UTF-8"));
    }
    check_len(found.len(), ADD_MAX, "PVs")?;
    call.ask.lease.grow_by(found.len(), ROW_BYTES)?;
    let policies = call.ask.policies_in_force();
    let ask = call.ask.clone();
    let told = move |named: Named| {
        if named.refused.is_some() {
            return row(&named, "refused", None);
        }
        let bare = PvName::parse(&named.name).map(|(_, name)| name);
        let known = bare.as_ref().is_ok_and(|name| ask.find(name.as_str()).is_some());
        // A policy of another archiver counts where there is one of its name here.
        let taken = named.policy.as_ref().and_then(|policy| policies.named(policy));
        let fits = bare.ok().and_then(|name| policies.for_name(name.as_str()));
        let policy = taken.or(fits).map(|policy| policy.name.to_string());
        let mut row = row(&named, if known { "known" } else { "new" }, policy);
        if let Some(taken) = taken {
            row["pv"]["policy"] = taken.name.to_string().into();
        }
        row
    };
    let mut head = Map::from_iter([("form".to_owned(), form.name().into()), ("total".to_owned(), found.len().into())]);
    head.extend(incomplete(&call.ask));
    call.rows(Frame::member("names", &head)?, found.into_iter().map(move |named| Ok(Some(told(named)))))
}

/// `pv` is what `POST /pvs` takes to add it just so.
fn row(named: &Named, status: &str, policy: Option<String>) -> Value {
    let mut pv = json!({ "name": named.name });
    if let Some(period) = named.period {
        (pv["method"], pv["period"]) = ("scan".into(), period.into());
    } else if named.is_monitored {
        pv["method"] = "monitor".into();
    }
    if !named.fields.is_empty() {
        pv["fields"] = named.fields.clone().into();
    }
    json!({
        "line": named.line,
        "name": named.name,
        "status": status,
        "message": named.refused,
        "policy": policy,
        "paused": named.is_paused,
        "pv": if named.refused.is_none() { pv } else { Value::Null },
    })
}

//! `/api/v1/groups`: PVs that are recorded only while others say so.

use archive::{Change, Group, Keeper, PvName, RuleName, Sense, Switch};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{GroupRow, check_len};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

/// The most switches of a group: each is a subscription.
const SWITCHES_MAX: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupBody {
    #[serde(default)]
    enabled_by: Vec<String>,
    #[serde(default)]
    disabled_by: Vec<String>,
}

/// `GET /groups`: those that have switches, and those that PVs are in without.
pub(crate) fn list(call: &Call) -> Answer {
    let rows = call.ask.groups()?.into_iter().map(|group| Ok(Some(row(&group))));
    call.rows(Frame::member("groups", &Map::new())?, rows)
}

fn row(GroupRow { name, status, pvs }: &GroupRow) -> Value {
    let Some(of) = status else {
        let nothing: [&str; 0] = [];
        return json!({
            "name": name.as_str(), "enabled": true, "pvs": pvs, "kept_by": null,
            "enabled_by": nothing, "disabled_by": nothing, "disabled_now_by": nothing, "unheard": nothing,
        });
    };
    let switches = |sense| {
        let those = of.group.switches.iter().filter(move |switch| switch.sense == sense);
        those.map(|switch| match switch.protocol {
            Some(protocol) => format!("{}://{}", protocol.name(), switch.pv),
            None => switch.pv.to_string(),
        })
    };
    json!({
        "name": name.as_str(),
        "enabled": of.disabled_by.is_empty(),
        "pvs": pvs,
        "kept_by": if of.keeper == Keeper::Config { "config" } else { "archive" },
        "enabled_by": switches(Sense::Enables).collect::<Vec<_>>(),
        "disabled_by": switches(Sense::Disables).collect::<Vec<_>>(),
        "disabled_now_by": of.disabled_by.iter().map(PvName::as_str).collect::<Vec<_>>(),
        "unheard": of.unheard.iter().map(PvName::as_str).collect::<Vec<_>>(),
    })
}

fn named(group: &str) -> Result<RuleName, Refusal> {
    RuleName::new(group).map_err(|error| Refusal::new(Code::BadRequest, error.to_string()))
}

/// `PUT /groups/{group}`
pub(crate) fn set(call: &Call) -> Answer {
    let name = named(call.path_part("group"))?;
    let hint = r#"send {"enabled_by":["PV"],"disabled_by":["PV"]}"#;
    let body: GroupBody = serde_json::from_slice(&call.body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}")).hint(hint)
    })?;
    check_len(body.enabled_by.len() + body.disabled_by.len(), SWITCHES_MAX, "switches")?;
    let switches = [(&body.enabled_by, Sense::Enables), (&body.disabled_by, Sense::Disables)];
    let switches = switches.iter().flat_map(|(pvs, sense)| pvs.iter().map(move |pv| (pv, *sense)));
    let switches = switches.map(|(pv, sense)| {
        let (protocol, pv) = PvName::parse(pv)?;
        Ok(Switch { pv, protocol, sense })
    });
    let switches = switches.collect::<Result<Vec<Switch>, Refusal>>()?;
    if switches.is_empty() {
        return Err(Refusal::new(Code::BadRequest, "a group needs enabled_by or disabled_by").hint(hint));
    }
    let group = Group { name: name.clone(), switches };
    call.ask.set_group(&group)?.ok_or_else(|| of_config(&name))?;
    json(&json!({ "name": name.as_str(), "status": "set" }))
}

/// `DELETE /groups/{group}`
pub(crate) fn remove(call: &Call) -> Answer {
    let name = named(call.path_part("group"))?;
    match call.ask.remove_group(&name)?.ok_or_else(|| of_config(&name))? {
        Change::Done | Change::Already => json(&json!({ "name": name.as_str(), "status": "removed" })),
        Change::Unknown => {
            Err(Refusal::new(Code::UnknownPv, format!("no group called {name:?} has switches", name = name.as_str()))
                .hint("GET /api/v1/groups lists them"))
        }
    }
}

fn of_config(name: &RuleName) -> Refusal {
    Refusal::new(Code::Conflict, format!("the group {name} stands in the config file"))
        .hint("change it there and run `pvark policy apply`")
}

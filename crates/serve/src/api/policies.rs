//! `/api/v1/policies`: how PVs are archived by their names, and what applying the file's policies anew would change.

use acquire::{Manual, Plan, Planned, Policies, Policy};
use archive::RuleName;
use serde_json::{Value, json};
use service::{Ask, FileRules};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 100_000;
/// What a PV takes while policies are compared with it.
const PLANNED_BYTES: usize = 400;

/// `GET /policies`: those by which PVs are added now.
pub(crate) fn list(call: &Call) -> Answer {
    let policies = call.ask.service.policies_in_force();
    let plan = planned_by(&call.ask, &policies, Manual::Include)?;
    let row = |policy: &Policy| {
        json!({
            "name": policy.name.as_str(),
            "match": policy.fits.iter().map(|fits| fits.as_str()).collect::<Vec<_>>(),
            "settings": policy.wishes.to_string(),
            "pvs": plan.policies.get(policy.name.as_str()).map_or(0, |reach| reach.pvs),
        })
    };
    json(&json!({ "policies": policies.iter().map(row).collect::<Vec<_>>() }))
}

/// `POST /policies/plan`
pub(crate) fn plan(call: &Call) -> Answer {
    let file = of_file(&call.ask)?;
    let plan = planned_by(&call.ask, &file.policies, manual(call))?;
    answer(call, plan, &call.ask.service.groups_that_differ(&file.groups))
}

/// `POST /policies/apply`
pub(crate) fn apply(call: &Call) -> Answer {
    let file = of_file(&call.ask)?;
    call.ask.lease.grow_by(call.ask.service.names().len(), PLANNED_BYTES)?;
    let plan = call.ask.apply(&file.policies, manual(call))?;
    let groups = call.ask.apply_groups(&file.groups);
    answer(call, plan, &groups)
}

/// What these policies would change.
fn planned_by(ask: &Ask, policies: &Policies, manual: Manual) -> Result<Plan, Refusal> {
    ask.lease.grow_by(ask.service.names().len(), PLANNED_BYTES)?;
    Ok(ask.plan(policies, manual))
}

/// The policies and groups of the config file as it is now.
fn of_file(ask: &Ask) -> Result<FileRules, Refusal> {
    ask.service.policies.read().map_err(|wrong| Refusal::new(Code::BadRequest, wrong))
}

fn manual(call: &Call) -> Manual {
    if call.query.switch("include_manual") { Manual::Include } else { Manual::Leave }
}

fn answer(call: &Call, plan: Plan, groups: &[RuleName]) -> Answer {
    let limit = call.number("limit")?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let policies = plan.policies.iter().map(|(name, reach)| {
        let name = (!name.is_empty()).then_some(name);
        json!({ "name": name, "pvs": reach.pvs, "changes": reach.changes })
    });
    let head = [
        ("total", plan.changes.len().into()),
        ("by_hand", plan.by_hand.into()),
        ("policies", policies.collect::<Vec<_>>().into()),
        ("groups", groups.iter().map(RuleName::as_str).collect::<Vec<_>>().into()),
    ];
    let head = head.map(|(name, value): (&str, Value)| (name.to_owned(), value)).into_iter().collect();
    let changes = plan.changes.into_iter().take(limit).map(|change| Ok(Some(planned(&change))));
    call.rows(Frame::member("changes", &head)?, changes)
}

fn planned(planned: &Planned) -> Value {
    json!({
        "name": planned.entry.name.as_str(),
        "policy": planned.to.rules().origin.policy.as_ref().map(RuleName::as_str),
        "from": planned.entry.settings.to_string(),
        "to": planned.to.to_string(),
    })
}

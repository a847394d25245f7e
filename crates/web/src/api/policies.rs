//! `/api/v1/policies`: how PVs are archived by their names, and what applying the file's policies anew would change.

use archive::{Manual, Planned, Policy, RuleName};
use serde_json::{Value, json};
use service::{PolicyReach, RulesPlan};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::Refusal,
    url::Params,
};

const LIMIT_MAX: usize = 100_000;

/// `GET /policies`: those by which PVs are added now.
pub(crate) fn list(call: &Call) -> Answer {
    let row = |PolicyReach { policy, pvs }: &PolicyReach| {
        let mut row = said(policy);
        row["pvs"] = (*pvs).into();
        row
    };
    json(&json!({ "policies": call.ask.policy_reaches()?.iter().map(row).collect::<Vec<_>>() }))
}

/// What a policy says.
fn said(policy: &Policy) -> Value {
    json!({
        "name": policy.name.as_str(),
        "match": policy.fits.iter().map(|fits| fits.as_str()).collect::<Vec<_>>(),
        "settings": policy.wishes.to_string(),
    })
}

/// `POST /policies/plan`
pub(crate) fn plan(call: &Call) -> Answer {
    let plan = call.ask.plan_rules(manual(&call.query))?;
    let (frame, changes) = written(plan, &call.query)?;
    call.rows(frame, changes)
}

/// `POST /policies/apply`
pub(crate) fn apply(call: &Call) -> Answer {
    let plan = call.ask.apply_rules(manual(&call.query))?;
    let (frame, changes) = written(plan, &call.query)?;
    call.rows(frame, changes)
}

fn manual(query: &Params) -> Manual {
    if query.switch("include_manual") { Manual::Include } else { Manual::Leave }
}

/// What stands before the changes of PVs, and these.
fn written(
    RulesPlan { plan, groups, file }: RulesPlan,
    query: &Params,
) -> Result<(Frame, impl Iterator<Item = Result<Option<Value>, Refusal>> + Send + use<>), Refusal> {
    let limit = query.limit(LIMIT_MAX)?;
    let policies = plan.policies.iter().map(|(name, reach)| {
        let name = (!name.is_empty()).then_some(name);
        json!({ "name": name, "pvs": reach.pvs, "changes": reach.changes })
    });
    let head = [
        ("total", plan.changes.len().into()),
        ("by_hand", plan.by_hand.into()),
        ("policies", policies.collect::<Vec<_>>().into()),
        ("groups", groups.iter().map(RuleName::as_str).collect::<Vec<_>>().into()),
        ("file", file.iter().map(said).collect::<Vec<_>>().into()),
    ];
    let head = head.map(|(name, value): (&str, Value)| (name.to_owned(), value)).into_iter().collect();
    let changes = plan.changes.into_iter().take(limit).map(|change| Ok(Some(planned(&change))));
    Ok((Frame::member("changes", &head)?, changes))
}

fn planned(planned: &Planned) -> Value {
    json!({
        "name": planned.entry.name.as_str(),
        "policy": planned.to.rules().origin.policy.as_ref().map(RuleName::as_str),
        "from": planned.entry.settings.to_string(),
        "to": planned.to.to_string(),
    })
}

//! `/mgmt/bpl`: the Archiver Appliance's commands. What they refuse is, as there, an answer with `validation` in it.

use std::collections::BTreeSet;

use acquire::{AddRequest, Added, Change};
use axum::http::header;
use sample::{DataFate, Group, Method, PvEntry, PvId, PvName, PvState, RuleName, Sense, Switch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    details::{named, period_seconds},
    reports::is_never_connected,
    retrieval::find,
    rules::DEFAULT,
};
use crate::{
    answer::{Answer, json},
    api::pvs::{Asked, request},
    call::Call,
    names::{Pattern, is_glob},
    refusal::{Code, Refusal},
    server::Ports,
    url::Params,
};

/// `GET /mgmt/bpl/getVersions`
pub(crate) fn versions(call: &Call) -> Answer {
    let version = &call.app.config.appliance.version;
    json(&json!({
        "mgmt_version": version,
        "engine_version": version,
        "etl_version": version,
        "retrieval_version": version,
    }))
}

/// `GET /mgmt/bpl/getApplianceInfo`: where the parts are, which here is one place, under the name by which the client came.
pub(crate) fn appliance_info(call: &Call) -> Answer {
    json(&appliance(call))
}

/// `GET /mgmt/bpl/getAppliancesInCluster`
pub(crate) fn appliances(call: &Call) -> Answer {
    json(&[appliance(call)])
}

fn appliance(call: &Call) -> Value {
    let host = call.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let sound = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".:-[]".contains(c));
    let came = if sound { format!("http://{host}") } else { format!("http://{}", call.app.address) };
    let told = &call.app.config.appliance;
    let base = told.url.clone().unwrap_or(came);
    let of = |part: u16| match told.ports {
        Ports::One => base.clone(),
        Ports::Four => with_port(&base, call.app.address.port().saturating_add(part)),
    };
    json!({
        "identity": told.identity,
        "mgmtURL": format!("{}/mgmt/bpl", of(0)),
        "engineURL": format!("{}/engine/bpl", of(1)),
        "retrievalURL": format!("{}/retrieval/bpl", of(3)),
        "etlURL": format!("{}/etl/bpl", of(2)),
        "dataRetrievalURL": format!("{}/retrieval", of(3)),
        "clusterInetPort": told.cluster_inetport,
        "version": told.version,
    })
}

/// The URL of a host with another port.
fn with_port(url: &str, port: u16) -> String {
    let host = match url.rsplit_once(':') {
        Some((host, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => url,
    };
    format!("{host}:{port}")
}

/// One PV of a request to archive.
#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    pub(super) pv: String,
    pub(super) samplingperiod: Option<Loose>,
    pub(super) samplingmethod: Option<String>,
    pub(super) policy: Option<String>,
    #[serde(rename = "controllingPV")]
    pub(super) controlling_pv: Option<String>,
    pub(super) alias: Option<String>,
}

/// A number, or a text that holds one: clients send either.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Loose {
    Number(f64),
    Text(String),
}

impl Wanted {
    /// The PV that switches it on and off.
    pub(super) fn controlling_pv(&self) -> Option<&str> {
        self.controlling_pv.as_deref().map(str::trim).filter(|pv| !pv.is_empty())
    }
}

impl Loose {
    fn number(&self) -> Option<f64> {
        match self {
            Loose::Number(number) => Some(*number),
            Loose::Text(text) => text.parse().ok(),
        }
    }
}

/// `GET` and `POST /mgmt/bpl/archivePV`. Appliances are not known here. All PVs of a request are added at once, because the
/// catalogue is synced for each addition.
pub(crate) fn archive(call: &Call) -> Answer {
    let wanted = wanted(call)?;
    let controlling: BTreeSet<&str> = wanted.iter().filter_map(Wanted::controlling_pv).collect();
    controlling.into_iter().try_for_each(|pv| switch_group(call, pv))?;
    let judged: Vec<(String, Result<AddRequest, Refusal>)> = wanted.iter().map(|wanted| judge(call, wanted)).collect();
    let granted = judged.iter().filter_map(|(_, judgement)| judgement.as_ref().ok().cloned()).collect();
    let mut added = call.app.control.add(granted)?.into_iter();
    let refused = |name: &str, why: &str| json!({ "pvName": name, "status": "Exception occured", "validation": why });
    let row = |((name, judgement), wanted): ((String, Result<AddRequest, Refusal>), &Wanted)| {
        let (entry, added) = match judgement.map(|_| added.next()) {
            Err(refusal) => return refused(&name, refusal.message()),
            Ok(None) => return refused(&name, "it was taken and is not there"),
            Ok(Some(added)) => added,
        };
        let alias = wanted.alias.as_deref().filter(|alias| !alias.is_empty());
        if let Some(Err(refusal)) = alias.map(|alias| add_alias(call, entry.id, alias)) {
            return refused(
                &name,
                &format!("it is archived, but not as {}: {}", alias.unwrap_or(""), refusal.message()),
            );
        }
        match added {
            Added::Already => json!({ "pvName": name, "status": "Already submitted" }),
            _ => json!({ "pvName": name, "status": "Archive request submitted" }),
        }
    };
    json(&judged.into_iter().zip(&wanted).map(row).collect::<Vec<Value>>())
}

fn add_alias(call: &Call, pv: PvId, alias: &str) -> Result<(), Refusal> {
    Ok(call.app.control.roster().add_alias(pv, &PvName::new(alias)?, &call.by())?)
}

/// The group that a controlling PV switches has its name. There may be one already.
pub(super) fn switch_group(call: &Call, controlling: &str) -> Result<(), Refusal> {
    let (protocol, pv) = PvName::parse(controlling)?;
    let name = group_of(controlling)?;
    if call.app.control.groups().iter().all(|known| known.group.name != name) {
        let group = Group { name, switches: vec![Switch { pv, protocol, sense: Sense::Enables }] };
        call.app.control.set_group(&group, &call.by())?;
    }
    Ok(())
}

fn group_of(controlling: &str) -> Result<RuleName, Refusal> {
    let (_, pv) = PvName::parse(controlling)?;
    RuleName::new(pv.as_str()).map_err(|error| {
        let message = format!("{pv} cannot be a controlling PV, because no group can be called so: {error}");
        Refusal::new(Code::BadRequest, message).hint("make a group with another name: PUT /api/v1/groups/{group}")
    })
}

/// The name as it was given, and the request that acquisition understands.
pub(super) fn judge(call: &Call, wanted: &Wanted) -> (String, Result<AddRequest, Refusal>) {
    let name = wanted.pv.trim();
    let method = wanted.samplingmethod.as_deref().map(str::to_ascii_lowercase);
    // The Appliance gives monitors a period too, for its buffers; here a monitor takes every update.
    let period = match method.as_deref() {
        Some("scan") => wanted.samplingperiod.as_ref().and_then(Loose::number).or(Some(1.0)),
        _ => None,
    };
    let is_default = |policy: &str| policy == DEFAULT && call.app.control.policies().named(DEFAULT).is_none();
    let policy = wanted.policy.clone().filter(|policy| !policy.is_empty() && !is_default(policy));
    let groups = wanted.controlling_pv().map(|pv| group_of(pv).map(|name| vec![name.to_string()])).transpose();
    let request = groups.and_then(|groups| {
        request(call, &Asked { name: name.to_owned(), method, period, policy, groups, ..Asked::default() })
    });
    (name.to_owned(), request)
}

/// The PVs of a request: JSON objects, or a list of names with settings that hold for all of them.
fn wanted(call: &Call) -> Result<Vec<Wanted>, Refusal> {
    if content_type(call).contains("json") {
        return serde_json::from_slice(&call.body)
            .map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not a list of PVs: {error}")));
    }
    let form = form(call);
    let get = |name: &str| form.get(name).or_else(|| call.query.get(name)).map(str::to_owned);
    let names = names_in(call)?.into_iter();
    let method = get("samplingmethod");
    let period = get("samplingperiod");
    let (policy, controlling_pv) = (get("policy"), get("controllingPV"));
    let wanted = names.map(|pv| Wanted {
        pv,
        samplingmethod: method.clone(),
        samplingperiod: period.clone().map(Loose::Text),
        policy: policy.clone(),
        controlling_pv: controlling_pv.clone(),
        alias: None,
    });
    Ok(wanted.collect())
}

/// `GET` and `POST /mgmt/bpl/pauseArchivingPV`
pub(crate) fn pause(call: &Call) -> Answer {
    for_each(call, "already paused", |pvs| Ok(call.app.control.pause(pvs, &call.by())?))
}

/// `GET` and `POST /mgmt/bpl/resumeArchivingPV`
pub(crate) fn resume(call: &Call) -> Answer {
    for_each(call, "not paused", |pvs| Ok(call.app.control.resume(pvs, &call.by())?))
}

/// Does it to all PVs that the request names, at once. A single name is answered by an object, several by a list of them.
fn for_each(call: &Call, already: &str, act: impl Fn(&[PvId]) -> Result<Vec<Change>, Refusal>) -> Answer {
    let names = names_in(call)?;
    let single = matches!(names.as_slice(), [name] if !is_glob(name));
    let resolved = resolve(call, &names)?;
    if single && let [(name, None)] = resolved.as_slice() {
        return Err(Refusal::unknown_pv(name));
    }
    let pvs: Vec<PvId> = resolved.iter().filter_map(|(_, found)| Some(found.as_ref()?.id)).collect();
    let mut changes = act(&pvs)?.into_iter();
    let row = |(name, found): &(String, Option<PvEntry>)| {
        let objection = match found.as_ref().and_then(|_| changes.next()) {
            Some(Change::Done) => return json!({ "pvName": name, "status": "ok" }),
            Some(Change::Already) => already,
            Some(Change::Unknown) | None => "not being archived",
        };
        json!({ "pvName": name, "validation": format!("PV {name} is {objection}") })
    };
    let rows: Vec<Value> = resolved.iter().map(row).collect();
    if single { json(&rows.first()) } else { json(&rows) }
}

/// `GET` and `POST /mgmt/bpl/deletePV`: only paused PVs, as the Appliance insists.
pub(crate) fn delete(call: &Call) -> Answer {
    let names = names_in(call)?;
    let fate = if call.query.switch("deleteData") || form(call).switch("deleteData") {
        DataFate::Delete
    } else {
        DataFate::Keep
    };
    let mut rows = Vec::with_capacity(names.len());
    let mut paused = Vec::new();
    for name in &names {
        let entry = find(call, name).map_err(|refusal| refusal.with_status(axum::http::StatusCode::BAD_REQUEST))?;
        if entry.settings.state != PvState::Paused {
            let objection =
                format!("We will not stop archiving PV {name} if it is not paused. Please pause recording first.");
            rows.push(json!({ "validation": objection }));
            continue;
        }
        paused.push(entry.id);
        rows.push(json!({ "validation": "", "status": "ok" }));
    }
    // At once, because the catalogue is synced for each removal.
    call.app.control.remove(&paused, fate, &call.by())?;
    if let [row] = rows.as_slice() { json(row) } else { json(&rows) }
}

/// `GET /mgmt/bpl/abortArchivingPV`: takes a PV out for which no IOC has answered yet. What its data is worth is not ours to
/// judge should some arrive meanwhile: it is kept.
pub(crate) fn abort(call: &Call) -> Answer {
    let entry = named(call)?;
    let name = &entry.name;
    if !is_never_connected(call, &entry)? {
        return json(
            &json!({ "status": "no", "desc": format!("PV {name} is being archived, there is no request to abort") }),
        );
    }
    call.app.control.remove(&[entry.id], DataFate::Keep, &call.by())?;
    json(&json!({ "status": "ok", "desc": format!("Aborted request for archiving PV {name}") }))
}

/// `GET /mgmt/bpl/changeArchivalParameters`: what the request leaves open stays as it is.
pub(crate) fn change(call: &Call) -> Answer {
    let entry = named(call)?;
    let period: Option<f64> = call.number("samplingperiod")?;
    let present = match entry.settings.method {
        Method::Monitor => "monitor",
        Method::Scan { .. } => "scan",
    };
    let wanted = Wanted {
        pv: entry.name.to_string(),
        samplingperiod: Some(Loose::Number(period.unwrap_or(period_seconds(entry.settings.method)))),
        samplingmethod: Some(call.query.get("samplingmethod").unwrap_or(present).to_owned()),
        ..Wanted::default()
    };
    let (name, request) = judge(call, &wanted);
    call.app.control.add(vec![request?])?;
    json(&json!({ "status": "ok", "desc": format!("Successfully changed the archival parameters for {name}") }))
}

/// The names that a request gives: `pv=a,b` in URL or form, a JSON list, or lines of text.
pub(crate) fn names_in(call: &Call) -> Result<Vec<String>, Refusal> {
    let content_type = content_type(call);
    let mut names: Vec<String> = call.query.all("pv").flat_map(split).collect();
    if content_type.contains("json") {
        let listed: Vec<String> = serde_json::from_slice(&call.body)
            .map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not a list of names: {error}")))?;
        names.extend(listed);
    } else if content_type.starts_with("text/") {
        names.extend(split(&String::from_utf8_lossy(&call.body)));
    } else {
        names.extend(form(call).all("pv").flat_map(split));
    }
    if names.is_empty() { Err(Refusal::new(Code::BadRequest, "pv= is missing")) } else { Ok(names) }
}

/// The elements of a list. Commas within parentheses belong to the arguments of an operator.
fn split(list: &str) -> Vec<String> {
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

fn content_type(call: &Call) -> String {
    let value = call.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or("").to_ascii_lowercase()
}

fn form(call: &Call) -> Params {
    Params::parse(&String::from_utf8_lossy(&call.body))
}

/// Each name with the PV behind it; a glob stands for all that it fits.
pub(crate) fn resolve(call: &Call, names: &[String]) -> Result<Vec<(String, Option<PvEntry>)>, Refusal> {
    let mut found = Vec::new();
    for name in names {
        if is_glob(name) {
            let names = call.app.reader.names();
            let fitting = Pattern::glob(name)?.among(&names).into_iter();
            let entries =
                fitting.filter_map(|named| call.app.reader.entry(named.pv).filter(|pv| pv.name == named.name));
            found.extend(entries.map(|entry| (entry.name.to_string(), Some(entry))));
        } else {
            found.push((name.clone(), find(call, name).ok()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_parts_have_ports_of_their_own() {
        assert_eq!(with_port("http://host:17665", 17668), "http://host:17668");
        assert_eq!(with_port("http://host", 17666), "http://host:17666");
        assert_eq!(with_port("http://[::1]:80", 81), "http://[::1]:81");
    }

    #[test]
    fn lists_are_split_outside_of_parentheses() {
        assert_eq!(split("A, mean(B,60),\r\nC,,"), ["A", "mean(B,60)", "C"]);
    }
}

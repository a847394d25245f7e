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
    retrieval::{bare, find},
    rules::DEFAULT,
};
use crate::{
    answer::{Answer, json},
    api::pvs::{Asked, PERIOD_MIN, request},
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
    #[serde(alias = "samplingPeriod")] // as older ChannelFinders write both
    pub(super) samplingperiod: Option<Loose>,
    #[serde(alias = "samplingMethod")]
    pub(super) samplingmethod: Option<String>,
    pub(super) policy: Option<String>,
    #[serde(rename = "controllingPV")]
    pub(super) controlling_pv: Option<String>,
    pub(super) alias: Option<String>,
    /// Of its record, archived with it; those of its policy if nothing is said. Only a type info says it.
    #[serde(skip)]
    pub(super) fields: Option<Vec<String>>,
}

/// A number, or a text that holds one: clients send either.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Loose {
    Number(f64),
    Text(String),
}

impl Wanted {
    /// As the Appliance takes it: `.VAL` names the record itself, and a period that is too short becomes the shortest.
    fn taken(mut self) -> Wanted {
        if let Some(record) = self.pv.trim().strip_suffix(".VAL") {
            self.pv = record.to_owned();
        }
        let period = self.samplingperiod.as_ref().and_then(Loose::number);
        self.samplingperiod = period.map(|period| Loose::Number(period.max(PERIOD_MIN)));
        self
    }

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
    let wanted: Vec<Wanted> = wanted(call)?.into_iter().map(Wanted::taken).collect();
    let controlling: BTreeSet<&str> = wanted.iter().filter_map(Wanted::controlling_pv).collect();
    controlling.into_iter().try_for_each(|pv| switch_group(call, pv))?;
    let judged: Vec<(String, Result<AddRequest, Refusal>)> = wanted.iter().map(|wanted| judge(call, wanted)).collect();
    let granted = judged.iter().filter_map(|(_, judgement)| judgement.as_ref().ok().cloned()).collect();
    let mut added = call.app.control.add(granted, &call.by())?.into_iter();
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

/// The name without its protocol, and the request that acquisition understands.
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
        let fields = wanted.fields.clone();
        request(call, &Asked { name: name.to_owned(), method, period, policy, groups, fields, ..Asked::default() })
    });
    (bare(name).to_owned(), request)
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
        fields: None,
    });
    Ok(wanted.collect())
}

/// `GET /mgmt/bpl/pauseArchivingPV`
pub(crate) fn pause(call: &Call) -> Answer {
    one_or_all(call, paused(call)?)
}

/// `POST /mgmt/bpl/pauseArchivingPV`: a list always.
pub(crate) fn pause_listed(call: &Call) -> Answer {
    json(&paused(call)?)
}

/// `GET /mgmt/bpl/resumeArchivingPV`
pub(crate) fn resume(call: &Call) -> Answer {
    one_or_all(call, resumed(call)?)
}

/// `POST /mgmt/bpl/resumeArchivingPV`: a list always.
pub(crate) fn resume_listed(call: &Call) -> Answer {
    json(&resumed(call)?)
}

fn paused(call: &Call) -> Result<Vec<Value>, Refusal> {
    for_each(call, "already paused", |pvs| Ok(call.app.control.pause(pvs, &call.by())?))
}

fn resumed(call: &Call) -> Result<Vec<Value>, Refusal> {
    for_each(call, "not paused", |pvs| Ok(call.app.control.resume(pvs, &call.by())?))
}

/// A single name is answered by an object, several by a list of them.
fn one_or_all(call: &Call, rows: Vec<Value>) -> Answer {
    let is_single = matches!(names_in(call)?.as_slice(), [name] if !is_glob(name));
    if is_single { json(&rows.first()) } else { json(&rows) }
}

/// Does it to all PVs that the request names, at once.
fn for_each(
    call: &Call,
    already: &str,
    act: impl Fn(&[PvId]) -> Result<Vec<Change>, Refusal>,
) -> Result<Vec<Value>, Refusal> {
    let resolved = resolve_once(call)?;
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
    Ok(resolved.iter().map(row).collect())
}

/// `GET` and `POST /mgmt/bpl/deletePV`: only paused PVs, as the Appliance insists; what it objects to is a line each. An unknown name
/// spoils the whole request.
pub(crate) fn delete(call: &Call) -> Answer {
    let fate = if call.query.switch("deleteData") || form(call).switch("deleteData") {
        DataFate::Delete
    } else {
        DataFate::Keep
    };
    let (mut paused, mut objections) = (BTreeSet::new(), Vec::new());
    for (name, found) in resolve_once(call)? {
        let entry = found.ok_or_else(|| Refusal::unknown_pv(&name).with_status(axum::http::StatusCode::BAD_REQUEST))?;
        if entry.settings.state == PvState::Paused {
            paused.insert(entry.id);
        } else {
            objections.push(format!(
                "We will not stop archiving PV {name} if it is not paused. Please pause recording first."
            ));
        }
    }
    // At once, because the catalogue is synced for each removal.
    call.app.control.remove(&Vec::from_iter(paused), fate, &call.by())?;
    let mut answer = json!({ "validation": objections.join("\n") });
    if objections.is_empty() {
        answer["status"] = "ok".into();
    }
    json(&answer)
}

/// `GET /mgmt/bpl/abortArchivingPV`: takes a PV out for which no IOC has answered yet. What its data is worth is not ours to
/// judge should some arrive meanwhile: it is kept.
pub(crate) fn abort(call: &Call) -> Answer {
    let entry = match named(call) {
        Err(refusal) if call.query.get("pv").is_some() => {
            return json(&json!({ "status": "no", "desc": refusal.message() }));
        }
        found => found?,
    };
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
    let entry = match named(call) {
        Err(refusal) if call.query.get("pv").is_some() => return json(&json!({ "validation": refusal.message() })),
        found => found?,
    };
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
    call.app.control.add(vec![request?], &call.by())?;
    json(&json!({ "status": "ok", "desc": format!("Successfully changed the archival parameters for {name}") }))
}

/// The names that a request gives, of which there must be some.
pub(crate) fn names_in(call: &Call) -> Result<Vec<String>, Refusal> {
    let names = list_in(call)?.filter(|names| !names.is_empty());
    names.ok_or_else(|| Refusal::new(Code::BadRequest, "pv= is missing"))
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
pub(crate) fn list_in(call: &Call) -> Result<Option<Vec<String>>, Refusal> {
    let content_type = content_type(call);
    let mut names: Vec<String> = call.query.all("pv").flat_map(split).collect();
    if content_type.contains("json") && !call.body.is_empty() {
        let listed: Vec<Listed> = serde_json::from_slice(&call.body)
            .map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not a list of names: {error}")))?;
        names.extend(listed.into_iter().map(|listed| match listed {
            Listed::Name(pv) | Listed::Object { pv } => pv,
        }));
        return Ok(Some(names));
    }
    let form = form(call);
    if content_type.starts_with("text/") || (content_type.is_empty() && form.get("pv").is_none()) {
        names.extend(split(&String::from_utf8_lossy(&call.body)));
    } else {
        names.extend(form.all("pv").flat_map(split));
    }
    Ok(Some(names).filter(|names| !names.is_empty()))
}

/// The elements of a list. Commas within parentheses belong to the arguments of an operator.
pub(super) fn split(list: &str) -> Vec<String> {
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

/// Names, each with the PV behind it.
pub(crate) type Resolved = Vec<(String, Option<PvEntry>)>;

/// Each name with the PV behind it; a glob stands for all names and aliases that it fits.
pub(crate) fn resolve(call: &Call, names: &[String]) -> Result<Resolved, Refusal> {
    let mut found = Vec::new();
    for name in names {
        if is_glob(name) {
            found.extend(fitting(call, &Pattern::glob(name)?));
        } else {
            found.push((name.clone(), find(call, name).ok()));
        }
    }
    Ok(found)
}

/// All names and aliases that fit, each with the PV behind it.
pub(crate) fn fitting(call: &Call, pattern: &Pattern) -> Resolved {
    let names = call.app.reader.names();
    let fitting = pattern.among(&names).into_iter();
    fitting.filter_map(|named| Some((named.name.to_string(), Some(call.app.reader.entry(named.pv)?)))).collect()
}

/// The PVs that a request names, to each of which something is to be done: where a glob fits a PV's name, its aliases do not count.
fn resolve_once(call: &Call) -> Result<Resolved, Refusal> {
    let Some(names) = list_in(call)? else { return Err(Refusal::new(Code::BadRequest, "pv= is missing")) };
    let mut resolved = resolve(call, &names)?;
    if names.iter().any(|name| is_glob(name)) {
        let is_own = |name: &str, found: &PvEntry| found.name.as_str() == name;
        let own: BTreeSet<PvId> = resolved
            .iter()
            .filter_map(|(name, found)| found.as_ref().filter(|found| is_own(name, found)).map(|found| found.id))
            .collect();
        resolved
            .retain(|(name, found)| found.as_ref().is_none_or(|found| is_own(name, found) || !own.contains(&found.id)));
    }
    Ok(resolved)
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

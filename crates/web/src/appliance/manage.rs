//! `/mgmt/bpl`: the Archiver Appliance's commands. What they refuse is, as there, an answer with `validation` in it.

use std::collections::{BTreeSet, HashSet};

use archive::{
    AddRequest, Added, Change, DataFate, Group, Method, PvId, PvName, PvState, Right, RuleName, Sense, Switch,
    settings::{Given, Givens, PERIOD_MIN},
};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use service::{Ask, Item, ItemName, check_len, is_glob};

use super::{
    names::{bare, list_in, named, names_in, resolved},
    rules::DEFAULT,
    words::period_seconds,
};
use crate::{
    api::{pvs::request, settings::Asked, told::ADD_MAX},
    app::App,
    bodies::Loose,
    call::Call,
    config::Ports,
    delivery::answer::{Answer, json},
    form::{Kind, Sent},
    formats::list::Frame,
    host::Scheme,
    refusal::{Code, Refusal, refused_with, shortened},
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
    json(&appliance(&call.app, call.scheme, call.host()))
}

/// `GET /mgmt/bpl/getAppliancesInCluster`
pub(crate) fn appliances(call: &Call) -> Answer {
    json(&[appliance(&call.app, call.scheme, call.host())])
}

/// As it is seen by who came to it under a name.
fn appliance(app: &App, scheme: Scheme, host: &str) -> Value {
    let sound = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".:-[]".contains(c));
    let scheme = if scheme == Scheme::Https { "https" } else { "http" };
    let came = if sound { format!("{scheme}://{host}") } else { format!("{scheme}://{}", app.address) };
    let told = &app.config.appliance;
    let base = told.url.clone().unwrap_or(came);
    let of = |part: u16| match told.ports {
        Ports::One => base.clone(),
        Ports::Four => with_port(&base, app.address.port().saturating_add(part)),
    };
    json!({
        "identity": told.identity,
        "mgmtURL": format!("{}/mgmt/bpl", of(0)),
        "engineURL": format!("{}/engine/bpl", of(1)),
        "retrievalURL": format!("{}/retrieval/bpl", of(3)),
        "etlURL": format!("{}/etl/bpl", of(2)),
        "dataRetrievalURL": format!("{}/retrieval", of(3)),
        // Archivers share nothing, but a client that takes this apart at its colon finds one.
        "clusterInetPort": told.cluster_inetport.as_deref().unwrap_or_else(|| host_and_port(&base)),
        "version": told.version,
    })
}

/// What stands in a URL between its scheme and its path.
fn host_and_port(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind.split('/').next().unwrap_or(behind)
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

impl Wanted {
    /// As the Appliance takes it: `.VAL` names the record itself, and a period that is too short becomes the shortest.
    fn taken(mut self) -> Wanted {
        if let Some(record) = self.pv.trim().strip_suffix(".VAL") {
            self.pv = record.to_owned();
        }
        let period = self.samplingperiod.as_ref().and_then(Loose::number);
        self.samplingperiod = period.map(|period| Loose::Number(period.max(PERIOD_MIN.as_secs_f64())));
        self
    }

    /// The PV that switches it on and off.
    pub(super) fn controlling_pv(&self) -> Option<&str> {
        self.controlling_pv.as_deref().map(str::trim).filter(|pv| !pv.is_empty())
    }
}

/// What a PV that is to be archived takes on its way into the list.
pub(super) const ADDED_BYTES: usize = 1000;

/// `GET` and `POST /mgmt/bpl/archivePV`. Appliances are not known here. All PVs of a request are added at once, and so are their
/// aliases and the groups that switch them, because the catalogue is synced for each change.
pub(crate) fn archive(call: &Call) -> Answer {
    let wanted: Vec<Wanted> = wanted(&call.query, call.sent())?.into_iter().map(Wanted::taken).collect();
    check_len(wanted.len(), ADD_MAX, "PVs")?;
    call.ask.lease.grow_by(wanted.len(), ADDED_BYTES)?;
    // Before anything is done: all that is ordered may be.
    let may_all = call.ask.may_with_all(Right::Administer);
    for wanted in wanted.iter().filter(|_| !may_all) {
        let Ok((_, name)) = PvName::parse(&wanted.pv) else { continue }; // its row says what is wrong with it
        let name = name.as_str();
        match wanted.alias.as_deref().filter(|alias| !alias.is_empty()) {
            Some(alias) => call.ask.may_give_alias(name, alias)?,
            None => call.ask.may_order(Right::Operate, name)?,
        }
    }
    let controlling: BTreeSet<&str> = wanted.iter().filter_map(Wanted::controlling_pv).collect();
    make_groups(&call.ask, controlling)?;
    let (mut told, mut granted) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    for wanted in &wanted {
        let (name, judgement) = judge(&call.ask, wanted);
        told.push((name, judgement.map(|request| granted.push(request)).err()));
    }
    let added = call.ask.add(granted)?;
    let mut entries = added.iter();
    let mut rows = Vec::with_capacity(told.len());
    let mut aliases = Vec::new();
    for ((name, refusal), wanted) in told.into_iter().zip(&wanted) {
        let told = match (refusal, entries.next()) {
            (Some(refusal), _) => Submitted::Refused(refusal.message().to_owned()),
            (None, None) => Submitted::Refused("it was taken and is not there".to_owned()),
            (None, Some((entry, added))) => {
                let alias = wanted.alias.as_deref().filter(|alias| !alias.is_empty());
                aliases.extend(alias.map(|alias| (rows.len(), entry.id, alias)));
                Submitted::Taken(*added)
            }
        };
        rows.push((name, told));
    }
    for (row, alias, refusal) in add_aliases(&call.ask, aliases)? {
        rows[row].1 = Submitted::Refused(format!("it is archived, but not as {alias}: {refusal}"));
    }
    call.rows(Frame::list(), rows.into_iter().map(|(name, told)| Ok(Some(told.row(&name)))))
}

/// What became of a PV that was to be archived.
enum Submitted {
    Taken(Added),
    Refused(String),
}

impl Submitted {
    fn row(&self, name: &str) -> Value {
        match self {
            Submitted::Refused(why) => json!({ "pvName": name, "status": "Exception occured", "validation": why }),
            Submitted::Taken(Added::Already) => json!({ "pvName": name, "status": "Already submitted" }),
            Submitted::Taken(_) => json!({ "pvName": name, "status": "Archive request submitted" }),
        }
    }
}

/// Gives PVs one more name each, and says which rows cannot have theirs, and why.
fn add_aliases<'a>(ask: &Ask, wanted: Vec<(usize, PvId, &'a str)>) -> Result<Vec<(usize, &'a str, String)>, Refusal> {
    let (mut refused, mut places, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for (row, pv, alias) in wanted {
        match PvName::new(alias) {
            Ok(name) => {
                places.push((row, alias));
                named.push((pv, name));
            }
            Err(error) => refused.push((row, alias, error.to_string())),
        }
    }
    if !named.is_empty() {
        let each = ask.add_aliases(&named)?;
        let failed = each.into_iter().zip(places).filter_map(|(each, place)| Some((each.err()?, place)));
        refused.extend(failed.map(|(error, (row, alias))| (row, alias, error.to_string())));
    }
    Ok(refused)
}

/// Makes the groups that these PVs switch, which have their names, all at once. There may be some already.
pub(super) fn make_groups<'a>(ask: &Ask, controlling: impl IntoIterator<Item = &'a str>) -> Result<(), Refusal> {
    let group = |controlling: &str| {
        let (protocol, pv) = PvName::parse(controlling)?;
        Ok(Group { name: group_of(controlling)?, switches: vec![Switch { pv, protocol, sense: Sense::Enables }] })
    };
    let groups = controlling.into_iter().map(group).collect::<Result<Vec<_>, Refusal>>()?;
    ask.make_groups(groups)
}

fn group_of(controlling: &str) -> Result<RuleName, Refusal> {
    let (_, pv) = PvName::parse(controlling)?;
    RuleName::new(pv.as_str()).map_err(|error| {
        let message = format!("{pv} cannot be a controlling PV, because no group can be called so: {error}");
        Refusal::new(Code::BadRequest, message).hint("make a group with another name: PUT /api/v1/groups/{group}")
    })
}

/// The name without its protocol, and the request that acquisition understands.
pub(super) fn judge(ask: &Ask, wanted: &Wanted) -> (String, Result<AddRequest, Refusal>) {
    let name = wanted.pv.trim();
    let method = wanted.samplingmethod.as_deref().map(str::to_ascii_lowercase);
    // The Appliance gives monitors a period too, for its buffers; here a monitor takes every update.
    let period = match method.as_deref() {
        Some("scan") => wanted.samplingperiod.as_ref().and_then(Loose::number).or(Some(1.0)),
        _ => None,
    };
    let is_default = |policy: &str| policy == DEFAULT && ask.policies_in_force().named(DEFAULT).is_none();
    let policy = wanted.policy.clone().filter(|policy| !policy.is_empty() && !is_default(policy));
    let groups =
        wanted.controlling_pv().map(|pv| group_of(pv).map(|name| Given::Texts(vec![name.to_string()]))).transpose();
    let request = groups.and_then(|groups| {
        let settings = Givens::default()
            .with("method", method.map(Given::Text))
            .with("period", period.map(Given::Number))
            .with("fields", wanted.fields.clone().map(Given::Texts))
            .with("groups", groups);
        request(ask, &Asked { name: name.to_owned(), policy, settings })
    });
    (bare(name).to_owned(), request)
}

/// The PVs of a request: JSON objects, or a list of names with settings that hold for all of them.
fn wanted(query: &Params, sent: Sent) -> Result<Vec<Wanted>, Refusal> {
    if sent.kind == Kind::Json {
        return serde_json::from_slice(sent.body)
            .map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not a list of PVs: {error}")));
    }
    let get = |name: &str| query.get(name).map(str::to_owned);
    let names = names_in(query, sent)?.into_iter();
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

/// `GET` and `POST /mgmt/bpl/pauseArchivingPV`
pub(crate) fn pause(call: &Call) -> Answer {
    let items = resolve_once(&call.ask, &call.query, call.sent())?;
    let done = for_each(&call.ask, items, "already paused", |pvs| call.ask.pause(pvs))?;
    call.rows(one_or_all(&done), done.into_iter().map(|done| Ok(Some(done_row(done)))))
}

/// `GET` and `POST /mgmt/bpl/resumeArchivingPV`
pub(crate) fn resume(call: &Call) -> Answer {
    let items = resolve_once(&call.ask, &call.query, call.sent())?;
    let done = for_each(&call.ask, items, "not paused", |pvs| call.ask.resume(pvs))?;
    call.rows(one_or_all(&done), done.into_iter().map(|done| Ok(Some(done_row(done)))))
}

/// A name, and what is said against doing it to the PV.
type ItemOutcome = (ItemName, Option<&'static str>);

fn done_row((name, objection): ItemOutcome) -> Value {
    match objection {
        None => json!({ "pvName": name.as_str(), "status": "ok" }),
        Some(objection) => {
            json!({ "pvName": name.as_str(), "validation": format!("PV {} is {objection}", shortened(name.as_str())) })
        }
    }
}

/// One PV is answered by an object, several by a list of them, however they were named.
fn one_or_all(done: &[ItemOutcome]) -> Frame {
    if done.len() == 1 { Frame::bare() } else { Frame::list() }
}

/// What a PV takes while its settings are changed.
const CHANGED_BYTES: usize = 500;

/// Does it to all PVs that the request names, at once.
fn for_each(
    ask: &Ask,
    items: Vec<Item>,
    already: &'static str,
    act: impl Fn(&[PvId]) -> Result<Vec<Change>, Refusal>,
) -> Result<Vec<ItemOutcome>, Refusal> {
    ask.lease.grow_by(items.len(), CHANGED_BYTES)?;
    let pvs: Vec<PvId> = items.iter().filter_map(|item| item.pv).collect();
    let mut changes = act(&pvs)?.into_iter();
    let objection = |item: &Item| match item.pv.and_then(|_| changes.next()) {
        Some(Change::Done) => None,
        Some(Change::Already) => Some(already),
        Some(Change::Unknown) | None => Some("not being archived"),
    };
    let objections: Vec<_> = items.iter().map(objection).collect();
    Ok(items.into_iter().map(|item| item.name).zip(objections).collect())
}

/// `GET` and `POST /mgmt/bpl/deletePV`: only paused PVs, as the Appliance insists; what it objects to is a line each. An unknown name
/// spoils the whole request.
pub(crate) fn delete(call: &Call) -> Answer {
    let fate = if call.query.switch("deleteData") { DataFate::Delete } else { DataFate::Keep };
    let (mut paused, mut objections) = (BTreeSet::new(), Vec::new());
    let items = resolve_once(&call.ask, &call.query, call.sent())?;
    call.ask.lease.grow_by(items.len(), CHANGED_BYTES)?;
    for Item { name, pv } in items {
        let Some(entry) = pv.and_then(|pv| call.ask.entry(pv)) else {
            return Ok(refused_with(StatusCode::BAD_REQUEST, Refusal::unknown_pv(name.as_str())));
        };
        if entry.settings.state == PvState::Paused {
            paused.insert(entry.id);
        } else {
            objections.push(format!(
                "We will not stop archiving PV {name} if it is not paused. Please pause recording first."
            ));
        }
    }
    // At once, because the catalogue is synced for each removal.
    call.ask.remove(&Vec::from_iter(paused), fate)?;
    let mut answer = json!({ "validation": objections.join("\n") });
    if objections.is_empty() {
        answer["status"] = "ok".into();
    }
    json(&answer)
}

/// `GET /mgmt/bpl/abortArchivingPV`: takes a PV out for which no IOC has answered yet. What its data is worth is not ours to
/// judge should some arrive meanwhile: it is kept.
pub(crate) fn abort(call: &Call) -> Answer {
    let entry = match named(&call.ask, &call.query) {
        Err(refusal) if call.query.get("pv").is_some() => {
            return json(&json!({ "status": "no", "desc": refusal.message() }));
        }
        found => found?,
    };
    let name = &entry.name;
    if !call.ask.is_never_connected(&entry)? {
        return json(
            &json!({ "status": "no", "desc": format!("PV {name} is being archived, there is no request to abort") }),
        );
    }
    call.ask.remove(&[entry.id], DataFate::Keep)?;
    json(&json!({ "status": "ok", "desc": format!("Aborted request for archiving PV {name}") }))
}

/// `GET /mgmt/bpl/changeArchivalParameters`: what the request leaves open stays as it is.
pub(crate) fn change(call: &Call) -> Answer {
    let entry = match named(&call.ask, &call.query) {
        Err(refusal) if call.query.get("pv").is_some() => return json(&json!({ "validation": refusal.message() })),
        found => found?,
    };
    let period: Option<f64> = call.query.number("samplingperiod")?;
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
    let (name, request) = judge(&call.ask, &wanted);
    call.ask.add(vec![request?])?;
    json(&json!({ "status": "ok", "desc": format!("Successfully changed the archival parameters for {name}") }))
}

/// The PVs that a request names, to each of which something is to be done: where a glob fits a PV's name, its aliases do not count.
fn resolve_once(ask: &Ask, query: &Params, sent: Sent) -> Result<Vec<Item>, Refusal> {
    let Some(names) = list_in(query, sent)? else { return Err(Refusal::new(Code::BadRequest, "pv= is missing")) };
    let has_globs = names.iter().any(|name| is_glob(name));
    let mut items = resolved(ask, names)?;
    if has_globs {
        let is_own =
            |item: &Item| item.pv.and_then(|pv| ask.entry(pv)).is_some_and(|pv| pv.name.as_str() == item.name.as_str());
        let own: Vec<bool> = items.iter().map(is_own).collect();
        let of_own: HashSet<PvId> =
            items.iter().zip(&own).filter_map(|(item, is_own)| item.pv.filter(|_| *is_own)).collect();
        let mut own = own.into_iter();
        items.retain(|item| own.next() == Some(true) || item.pv.is_none_or(|pv| !of_own.contains(&pv)));
    }
    Ok(items)
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
}

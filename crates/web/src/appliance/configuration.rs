//! The Archiver Appliance's configuration as it goes out and comes in: a type info for each PV, in JSON.

use std::collections::BTreeSet;

use archive::{AddRequest, FieldName, PvId, PvState, Right};
use serde::Deserialize;
use serde_json::{Value, json};
use service::{Ask, NAMES_MAX, check_len};

use super::{
    details::type_info_of,
    manage::{ADDED_BYTES, Wanted, judge, make_groups},
    names::named,
};
use crate::{
    bodies::{Few, JsonScalar, Loose, each},
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal, shortened},
};

/// What is understood of a type info. Where the samples lie and which member takes them has no meaning here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenTypeInfo {
    pv_name: String,
    sampling_method: Option<String>,
    sampling_period: Option<Loose>,
    #[serde(default)]
    paused: Switch,
    #[serde(rename = "controllingPV")]
    controlling_pv: Option<String>,
    archive_fields: Option<Few<String>>,
    #[serde(default, rename = "usePVAccess")]
    use_pv_access: Switch,
}

/// `true` and `"true"` both occur.
#[derive(Default, Deserialize)]
#[serde(from = "JsonScalar")]
struct Switch(bool);

impl From<JsonScalar> for Switch {
    fn from(said: JsonScalar) -> Switch {
        Switch(match said {
            JsonScalar::Flag(flag) => flag,
            JsonScalar::Text(text) => text.eq_ignore_ascii_case("true"),
            JsonScalar::Number(_) | JsonScalar::Nothing => false,
        })
    }
}

impl Switch {
    fn is_on(&self) -> bool {
        self.0
    }
}

impl GivenTypeInfo {
    /// The PV that switches it on and off.
    fn controlling_pv(&self) -> Option<&str> {
        self.controlling_pv.as_deref().map(str::trim).filter(|pv| !pv.is_empty())
    }

    fn request(self, ask: &Ask) -> (String, bool, Result<AddRequest, Refusal>) {
        let prefix = if self.use_pv_access.is_on() { "pva://" } else { "ca://" };
        let wanted = Wanted {
            pv: format!("{prefix}{}", self.pv_name),
            samplingperiod: self.sampling_period,
            samplingmethod: self.sampling_method,
            controlling_pv: self.controlling_pv,
            fields: self.archive_fields.and_then(|Few(named)| fields(ask, &self.pv_name, named)),
            ..Wanted::default()
        };
        (self.pv_name, self.paused.is_on(), judge(ask, &wanted).1)
    }
}

/// The fields that a type info names, but those that no record can have. None where none are named and none are archived: a policy that
/// is applied later may give it some.
fn fields(ask: &Ask, pv: &str, mut named: Vec<String>) -> Option<Vec<String>> {
    named.retain(|field| FieldName::new(field).is_ok());
    let has_some = || ask.find(pv).is_some_and(|entry| !entry.settings.rules().fields.is_empty());
    (!named.is_empty() || has_some()).then_some(named)
}

/// `GET /mgmt/bpl/exportConfig`: the type infos of all PVs, a line each.
pub(crate) fn export(call: &Call) -> Answer {
    call.ask.needs_answers()?;
    let identity = call.identity().to_owned();
    let infos = call.ask.all_configured()?.map(move |of| Ok(Some(type_info_of(&identity, &of?))));
    call.rows(Frame::lines(), infos)
}

/// `POST /mgmt/bpl/importConfig`: what each member of the Appliance has to say of it, in a list.
pub(crate) fn import(call: &Call) -> Answer {
    json(&[imported(&call.ask, &call.body)?])
}

/// `POST /mgmt/bpl/importConfigForAppliance`: what this one has.
pub(crate) fn import_here(call: &Call) -> Answer {
    json(&imported(&call.ask, &call.body)?)
}

/// Archives the PVs of an export as they are set there, those that were paused paused. All are taken or, if one is not right, none.
fn imported(ask: &Ask, body: &[u8]) -> Result<Value, Refusal> {
    // One text in it may be as long as all of it.
    ask.lease.grow(body.len())?;
    let (mut requests, mut are_paused, mut controlling) = (Vec::new(), Vec::new(), BTreeSet::new());
    each(body, "type infos", |info: GivenTypeInfo| {
        check_len(requests.len() + 1, NAMES_MAX, "PVs")?;
        ask.lease.grow(ADDED_BYTES)?;
        controlling.extend(info.controlling_pv().map(str::to_owned));
        let (name, is_paused, request) = info.request(ask);
        let request = request.map_err(|refusal| {
            let name = shortened(&name);
            Refusal::new(Code::BadRequest, format!("{name} cannot be taken: {}", refusal.message()))
        })?;
        requests.push(AddRequest { state: if is_paused { PvState::Paused } else { PvState::Active }, ..request });
        are_paused.push(is_paused);
        Ok(())
    })?;
    requests.iter().try_for_each(|request| ask.may_order(Right::Operate, request.name.as_str()))?;
    make_groups(ask, controlling.iter().map(String::as_str))?;
    let added = ask.add(requests)?;
    let paused: Vec<PvId> =
        added.iter().zip(are_paused).filter_map(|((entry, _), is_paused)| is_paused.then_some(entry.id)).collect();
    ask.pause(&paused)?;
    let desc = format!("Imported {} PVs, {} of them paused", added.len(), paused.len());
    Ok(json!({ "appliance": ask.identity(), "errorPVs": [], "status": "ok", "desc": desc }))
}

/// `POST /mgmt/bpl/putPVTypeInfo`: changes a PV with `override=true`, adds one with `createnew=true`, which is paused at first.
pub(crate) fn put_type_info(call: &Call) -> Answer {
    let name = call.query.needed("pv")?;
    let info: GivenTypeInfo = serde_json::from_slice(&call.body)
        .map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not a type info: {error}")))?;
    if info.pv_name != name {
        let message = format!("the type info is of {:?}, not of {name:?}", info.pv_name);
        return Err(Refusal::new(Code::BadRequest, message));
    }
    let known = call.ask.find(name);
    let (permission, objection) = match known {
        None => ("createnew", "is not archived"),
        Some(_) => ("override", "is archived already"),
    };
    if !call.query.switch(permission) {
        let refusal = Refusal::new(Code::Conflict, format!("PV {name} {objection}"));
        return Err(refusal.hint(format!("{permission}=true allows it all the same")));
    }
    call.ask.may_order(Right::Operate, name)?;
    make_groups(&call.ask, info.controlling_pv())?;
    let (_, is_paused, request) = info.request(&call.ask);
    // A new one is paused at first.
    let added = call.ask.add(vec![AddRequest { state: PvState::Paused, ..request? }])?;
    let Some((entry, _)) = added.first() else {
        return Err(Refusal::new(Code::Internal, format!("{name} was taken and is not there")));
    };
    match (known, is_paused) {
        (None, _) | (Some(_), true) => call.ask.pause(&[entry.id])?,
        (Some(_), false) => call.ask.resume(&[entry.id])?,
    };
    let entry = call.ask.entry(entry.id).unwrap_or_else(|| entry.clone());
    json(&type_info_of(call.identity(), &call.ask.configured(entry)?))
}

/// `GET /mgmt/bpl/consolidateDataForPV` and `/etl/bpl/consolidateDataForPV`: there is nothing to do, for samples are packed
/// and merged by themselves; scripts that order it before they go on may go on.
pub(crate) fn consolidate(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    if entry.settings.state != PvState::Paused {
        let objection = format!("Cannot consolidate unless PV {} is paused.", entry.name);
        return json(&json!({ "validation": objection }));
    }
    json(&json!({ "status": "ok", "desc": format!("The samples of PV {} are in one place already", entry.name) }))
}

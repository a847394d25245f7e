//! `/mgmt/bpl`: what else can be changed of a PV, and what stages of storage and members of a cluster would do, which are not here.

use archive::{AddRequest, FieldName, PvState, Wishes};
use serde_json::{Value, json};

use super::names::{find, named, names_in};
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
    refusal::{Code, Refusal, shortened},
};

/// `GET /mgmt/bpl/modifyMetaFields`: one `command=` after the other, `add,ADEL,MDEL`, `remove,ADEL` or `clear`.
pub(crate) fn fields(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    let mut fields = entry.settings.rules().fields.clone();
    let commands: Vec<&str> = call.query.all("command").collect();
    if commands.is_empty() {
        return Err(Refusal::new(Code::BadRequest, "command= is missing, expected add,FIELD or remove,FIELD or clear"));
    }
    for command in commands {
        let mut words = command.split(',').map(str::trim);
        let verb = words.next().unwrap_or_default();
        let named = words.filter(|name| !name.is_empty()).map(FieldName::new).collect::<Result<Vec<_>, _>>();
        let named = named.map_err(|error| Refusal::new(Code::BadRequest, error.to_string()))?;
        match verb {
            "add" => fields.extend(named),
            "remove" => fields.retain(|field| !named.contains(field)),
            "clear" => fields.clear(),
            _ => {
                let message = format!("command is {verb:?}, expected add, remove or clear");
                return Err(Refusal::new(Code::BadRequest, message));
            }
        }
    }
    fields.sort();
    fields.dedup();
    let listed = fields.iter().map(FieldName::as_str).collect::<Vec<_>>().join(",");
    let wishes = Wishes { fields: Some(fields), ..Wishes::default() };
    call.ask.add(vec![AddRequest { wishes, ..AddRequest::new(entry.name.clone()) }])?;
    let desc = format!("Successfully modified the fields of PV {}", entry.name);
    json(&json!({ "status": "ok", "desc": desc, "pvName": entry.name.as_str(), "fields": listed }))
}

/// `GET /mgmt/bpl/appendAndAliasPV`: the samples of the older PV go to the newer one, beside which it stays as an alias. What was
/// recorded of the older one is kept where it is until it is purged.
pub(crate) fn append(call: &Call) -> Answer {
    let (older, newer) =
        (find(&call.ask, call.query.needed("olderpv")?)?, find(&call.ask, call.query.needed("newerpv")?)?);
    if older.id == newer.id {
        let objection = format!("{} is {} already.", older.name, newer.name);
        return json(&json!({ "validation": objection }));
    }
    for entry in [&older, &newer] {
        if entry.settings.state != PvState::Paused {
            let objection = format!("PV {} is not paused. Please pause it before appending.", entry.name);
            return json(&json!({ "validation": objection }));
        }
    }
    let samples = call.ask.append_pv(&older, &newer)?;
    done(format!("Appended {samples} samples of PV {} to PV {}, of which it is an alias now", older.name, newer.name))
}

/// `GET /mgmt/bpl/skipAliasCheck`
pub(crate) fn skip_alias_check(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    done(format!("PV {} is archived by the name that was given, whatever its record says", entry.name))
}

/// `GET /mgmt/bpl/changeTypeForPV`
pub(crate) fn change_type(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    done(format!("PV {} may change its type at any time; what was recorded stays as it was", entry.name))
}

/// `GET /mgmt/bpl/resetFailoverCaches`
pub(crate) fn reset_failover(_: &Call) -> Answer {
    done("There are no caches of other members".to_owned())
}

/// `GET /mgmt/bpl/modifyStoreURLForPV`, `changeStore`: places of storage are those of the config file, for all PVs.
pub(crate) fn move_store(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    let objection = format!(
        "PV {} lies in the one store that there is. [[storage]] of the config file says where its segments go later.",
        entry.name
    );
    json(&json!({ "validation": objection }))
}

/// `GET /mgmt/bpl/reshardPV`, `reassignAppliance`, `mergeInData`: there are no other members.
pub(crate) fn move_member(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    let objection = format!("PV {} belongs to {}, which is the only member.", entry.name, call.identity());
    json(&json!({ "validation": objection }))
}

/// `POST /mgmt/bpl/reassignAppliance`
pub(crate) fn move_members(call: &Call) -> Answer {
    let asked = call.ask.clone();
    let objection = move |name: String| {
        let name = shortened(&name);
        let why = format!("PV {name} stays with {}, which is the only member.", asked.identity());
        Ok(Some(json!({ "pvName": name, "validation": why })))
    };
    call.rows(Frame::list(), names_in(&call.query, call.sent())?.into_iter().map(objection))
}

/// `GET /mgmt/bpl/getMetaGets`, `getExternalArchiverServers`: PVs are archived at once, and no other archiver is asked.
pub(crate) fn none(_: &Call) -> Answer {
    json(&Vec::<Value>::new())
}

fn done(desc: String) -> Answer {
    json(&json!({ "status": "ok", "desc": desc }))
}

//! `/mgmt/bpl`: other names of PVs, and new ones.

use archive::{OldName, PvName, PvState};
use serde_json::json;

use super::names::named;
use crate::{
    api::roster::all_aliases,
    call::Call,
    delivery::answer::{Answer, json},
    formats::list::Frame,
};

/// `GET /mgmt/bpl/getAllAliases`
pub(crate) fn all(call: &Call) -> Answer {
    call.rows(Frame::list(), all_aliases(&call.ask, "aliasName", "srcPVName")?)
}

/// `GET /mgmt/bpl/addAlias`
pub(crate) fn add(call: &Call) -> Answer {
    let (entry, alias) = (named(&call.ask, &call.query)?, PvName::new(call.query.needed("aliasname")?)?);
    call.ask.add_alias(entry.id, &alias)?;
    json(&json!({ "status": "ok", "desc": format!("Added an alias {alias} for PV {}", entry.name) }))
}

/// `GET /mgmt/bpl/removeAlias`
pub(crate) fn remove(call: &Call) -> Answer {
    let (entry, alias) = (named(&call.ask, &call.query)?, PvName::new(call.query.needed("aliasname")?)?);
    call.ask.remove_alias(entry.id, &alias)?;
    json(&json!({ "status": "ok", "desc": format!("Removed the alias {alias} for PV {}", entry.name) }))
}

/// `GET /mgmt/bpl/renamePV`: only of a paused PV, as the Appliance insists. It copies the samples and leaves the old PV where it
/// is; here the old name stays as an alias, under which the same samples are found.
pub(crate) fn rename(call: &Call) -> Answer {
    let (entry, to) = (named(&call.ask, &call.query)?, PvName::new(call.query.needed("newname")?)?);
    if entry.settings.state != PvState::Paused {
        let objection = format!("PV {} is not paused. Please pause it before renaming it.", entry.name);
        return json(&json!({ "status": "error", "validation": objection }));
    }
    if call.ask.find(to.as_str()).is_some() {
        let objection = format!("PV {} cannot be renamed to {to}, which is taken.", entry.name);
        return json(&json!({ "status": "error", "validation": objection }));
    }
    call.ask.rename(entry.id, &to, OldName::Alias)?;
    json(&json!({ "status": "ok", "desc": format!("Successfully renamed PV {} to {to}", entry.name) }))
}

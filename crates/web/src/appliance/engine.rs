//! `/engine/bpl` and `/etl/bpl`: what clients ask of the inner parts of the Archiver Appliance.

use archive::{PvState, settings::PERIOD_MIN};
use sample::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    metadata::facts,
    names::named,
    reports::{names_of, put_name},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, JSON, json},
    formats::list::Frame,
    refusal::{Code, Refusal},
};

/// `GET /engine/bpl/getMetadata`: the newest fields of a PV, as texts.
pub(crate) fn fields(call: &Call) -> Answer {
    let (ask, entry) = (&call.ask, named(&call.ask, &call.query)?);
    let facts = facts(&ask.described(&entry, ask.newest_metadata(&entry)?), true).into_iter();
    json(&facts.map(|(name, text)| (name, Value::from(text))).collect::<Map<_, _>>())
}

/// `GET /engine/bpl/listAllChannels`: the names of all PVs that are not paused.
pub(crate) fn channels(call: &Call) -> Answer {
    call.list(JSON, Frame::list(), names_of(&call.ask, |entry| entry.settings.state == PvState::Active), put_name)
}

/// `GET /etl/bpl/getLastKnownEvent`: when the newest sample of a PV was.
pub(crate) fn last_known(call: &Call) -> Answer {
    let entry = named(&call.ask, &call.query)?;
    let last = call
        .ask
        .last_before(&entry.id.into(), Timestamp::MAX)?
        .ok_or_else(|| Refusal::new(Code::UnknownPv, format!("there is no sample of {} yet", entry.name)))?;
    json(&json!({ "timestamp": last.time.to_string() }))
}

/// `GET /mgmt/bpl/webAppReady`: whoever gets an answer can go on.
pub(crate) fn ready(_: &Call) -> Answer {
    json(&json!({ "status": "ok" }))
}

/// `GET /mgmt/bpl/startupState` and the like, by which those who start the Appliance see that a part of it is ready.
pub(crate) fn startup_state(_: &Call) -> Answer {
    json(&json!({ "status": "STARTUP_COMPLETE" }))
}

/// `GET /mgmt/bpl/getApplianceProperties`
pub(crate) fn properties(_: &Call) -> Answer {
    json(&json!({ "minimum_sampling_period": format!("{:?}", PERIOD_MIN.as_secs_f64()) }))
}

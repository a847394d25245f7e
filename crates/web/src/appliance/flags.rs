//! Named flags: the Archiver Appliance's scripts set them and read them. They last until the program ends, as there, and nothing
//! here looks at them, because what they steer there (stores that are skipped, and when data moves) is not here.

use archive::Right;
use serde_json::json;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    refusal::{Code, Refusal},
};

/// So many flags are kept at most.
const FLAGS_MAX: usize = 1000;
/// The longest name of a flag.
const NAME_BYTES_MAX: usize = 255;

/// `GET /mgmt/bpl/getNamedFlag`: one that nobody has set is false.
pub(crate) fn show(call: &Call) -> Answer {
    let name = call.query.needed("name")?;
    let is_on = call.app.flags().get(name).copied().unwrap_or(false);
    json(&json!({ name: is_on }))
}

/// `GET /mgmt/bpl/getAllNamedFlags`
pub(crate) fn all(call: &Call) -> Answer {
    json(&*call.app.flags())
}

/// `GET /mgmt/bpl/setNamedFlag`
pub(crate) fn set(call: &Call) -> Answer {
    // A flag is for no PV, and so for all.
    call.ask.needs_all(Right::Operate)?;
    let (name, value) = (call.query.needed("name")?, call.query.needed("value")?);
    let mut flags = call.app.flags();
    if name.len() > NAME_BYTES_MAX || (flags.len() >= FLAGS_MAX && !flags.contains_key(name)) {
        let message = format!("at most {FLAGS_MAX} flags are kept, with names of at most {NAME_BYTES_MAX} bytes");
        return Err(Refusal::new(Code::TooLarge, message));
    }
    flags.insert(name.to_owned(), value.eq_ignore_ascii_case("true"));
    json(&json!({ "status": "ok" }))
}

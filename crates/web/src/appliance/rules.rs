//! `/mgmt/bpl`: the policies by which PVs are archived, as the Archiver Appliance's clients list them.

use std::fmt::Write;

use archive::Policy;
use serde_json::{Map, Value};

use crate::{
    call::Call,
    delivery::answer::{Answer, TEXT, json, whole},
};

/// By which PVs are archived that no policy fits.
pub(super) const DEFAULT: &str = "Default";

/// `GET /mgmt/bpl/getPolicyList`: each name with what it says.
pub(crate) fn list(call: &Call) -> Answer {
    let policies = call.ask.policies_in_force();
    let mut list: Map<String, Value> =
        policies.iter().map(|policy| (policy.name.to_string(), said(policy).into())).collect();
    list.entry(DEFAULT).or_insert_with(|| "every update of PVs that no policy fits".into());
    json(&list)
}

/// `GET /mgmt/bpl/getPolicyText`: the same as text. There is no program that decides, as the Appliance's `policies.py`.
pub(crate) fn text(call: &Call) -> Answer {
    let mut text = "# The policies of the config file; the first that fits the name of a PV decides.\n".to_owned();
    for policy in call.ask.policies_in_force().iter() {
        writeln!(text, "{}: {}", policy.name, said(policy)).expect("a string takes every text");
    }
    Ok(whole(TEXT, text))
}

fn said(policy: &Policy) -> String {
    let patterns: Vec<&str> = policy.fits.iter().map(|fits| fits.as_str()).collect();
    format!("{}: {}", patterns.join(", "), policy.wishes)
}

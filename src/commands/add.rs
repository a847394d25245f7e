//! `pvark add`: tells a running archiver to archive PVs.

use serde_json::Value;

use super::{
    http::{ANSWER_BYTES_MAX, agent, checked},
    print::print_line,
    typed::names,
};
use crate::{cli::Add, failure::Failure};

pub(crate) fn run(command: &Add) -> Result<(), Failure> {
    let pvs: Vec<Value> = names(&command.names)?.iter().map(|name| wanted_pv(command, name)).collect();
    let url = format!("{}/api/v1/pvs", command.server.url);
    let sent = agent().post(&url).send_json(serde_json::json!({ "pvs": pvs }));
    let answer =
        checked(sent, &command.server.url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json::<Value>()?;
    let mut refused = 0;
    for pv in answer["pvs"].as_array().into_iter().flatten() {
        let (name, status) = (pv["name"].as_str().unwrap_or("?"), pv["status"].as_str().unwrap_or("?"));
        match pv["message"].as_str() {
            Some(message) => print_line(&format!("{name}  {status}: {message}"))?,
            None => print_line(&format!("{name}  {status}"))?,
        }
        refused += usize::from(status == "refused");
    }
    if refused > 0 { Err(format!("{refused} of {} PVs were refused", pvs.len()).into()) } else { Ok(()) }
}

/// What is said of a PV; what is not said is left out.
fn wanted_pv(command: &Add, name: &str) -> Value {
    let mut pv = serde_json::json!({ "name": name });
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            pv[key] = value;
        }
    };
    put("method", command.scan.map(|_| "scan".into()));
    put("period", command.scan.map(Value::from));
    put("policy", command.policy.clone().map(Value::from));
    put("deadband", command.deadband.clone().map(Value::from));
    put("rate_cap", command.rate_cap.map(Value::from));
    put("fields", (!command.fields.is_empty()).then(|| command.fields.clone().into()));
    put("only", (!command.only.is_empty()).then(|| command.only.clone().into()));
    put("groups", (!command.groups.is_empty()).then(|| command.groups.clone().into()));
    pv
}

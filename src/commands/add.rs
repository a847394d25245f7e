//! `pvark add`: tells a running archiver to archive PVs.

use archive::settings::Given;
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
    if let Some(policy) = &command.policy {
        pv["policy"] = policy.as_str().into();
    }
    for (key, given) in command.settings.0.iter() {
        pv[key] = plain(given);
    }
    pv
}

/// A value of a setting as JSON.
fn plain(given: &Given) -> Value {
    match given {
        Given::Nothing => Value::Null,
        Given::Switch(is_on) => (*is_on).into(),
        Given::Number(number) => (*number).into(),
        Given::Count(count) => (*count).into(),
        Given::Text(text) => text.as_str().into(),
        Given::Texts(texts) => texts.clone().into(),
        Given::Burst { rate, .. } => plain(rate),
        Given::Members(members) => members.iter().map(|(name, given)| ((*name).to_owned(), plain(given))).collect(),
    }
}

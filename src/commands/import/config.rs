//! `pvark import config`: configurations of other archivers become PVs, a config file, and notes on what could not be carried over.

use std::{fs, path::Path};

use aa::{read_appliances, read_policies, read_properties};
use archive::{Method, Protocol};
use chanarch::{read_engine_config, read_list};
use foreign::{CarriedOver, read_channels};
use serde_json::{Map, Value, json};

use crate::{
    cli::{FromConfig, Server},
    commands::{
        http::{ANSWER_BYTES_MAX, agent, checked, encoded},
        print::print_line,
    },
    failure::Failure,
    host::process,
    texts,
};

/// So many PVs are added in one request.
const PVS_AT_ONCE: usize = 1000;
/// So many channels are asked for at a time.
const CHANNELS_AT_ONCE: usize = 5000;

pub(crate) fn import(command: &FromConfig) -> Result<(), Failure> {
    let mut all = CarriedOver::default();
    for file in &command.files {
        all.join(read(command, file)?);
    }
    if let Some(url) = &command.channel_finder {
        all.join(channels(url, &command.property)?);
    }
    let toml = all.toml();
    match &command.output {
        Some(path) if !toml.is_empty() => {
            fs::write(path, &toml).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            eprintln!("{}: {} lines", path.display(), toml.lines().count());
        }
        Some(path) => eprintln!("{} is not written: nothing was found that belongs there", path.display()),
        None => print_line(toml.trim_end())?,
    }
    for note in &all.notes {
        match note.line {
            0 => eprintln!("{}: {}", note.file, note.text),
            line => eprintln!("{}:{line}: {}", note.file, note.text),
        }
    }
    eprintln!(
        "{} PVs, {} policies, {} groups, {} old stores; {} notes on what could not be carried over",
        all.pvs.len(),
        all.policies.len(),
        all.groups.len(),
        all.stores.len(),
        all.notes.len()
    );
    if command.add { add(&command.server, &all) } else { Ok(()) }
}

/// By its name and what it holds.
fn read(command: &FromConfig, file: &Path) -> Result<CarriedOver, Failure> {
    let text = |path: &Path| texts::read(path).map_err(|error| error.to_string());
    let (said, name) = (text(file)?, file.display().to_string());
    Ok(match file.extension().and_then(|extension| extension.to_str()) {
        Some("py") => read_policies(&name, &said, &process::env),
        Some("properties") => read_properties(&name, &said),
        Some("xml") if said.contains("<appliances>") => read_appliances(&name, &said, command.identity.as_deref()),
        Some("xml") => read_engine_config(&name, &said),
        _ => {
            let folder = file.parent().unwrap_or(Path::new(""));
            read_list(&name, &said, &mut |other| text(&folder.join(other)))
        }
    })
}

/// All channels that have the property, some thousand at a time.
fn channels(url: &str, property: &str) -> Result<CarriedOver, Failure> {
    let mut all = CarriedOver::default();
    for page in 0.. {
        let from = page * CHANNELS_AT_ONCE;
        let resources = format!("{}/resources/channels", url.trim_end_matches('/'));
        let query = format!("~name=*&{}=*&~size={CHANNELS_AT_ONCE}&~from={from}", encoded(property));
        let sent = agent().get(format!("{resources}?{query}")).header("accept", "application/json").call();
        let text = checked(sent, url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string()?;
        let (some, channels) = read_channels(url, &text, property)?;
        let news = some.pvs.iter().filter(|pv| all.pvs.iter().all(|known| known.name != pv.name)).count();
        all.join(some);
        // An old ChannelFinder knows no pages and gives all of them each time.
        if channels < CHANNELS_AT_ONCE || news == 0 {
            break;
        }
    }
    Ok(all)
}

/// Adds the PVs to a running archiver.
fn add(server: &Server, all: &CarriedOver) -> Result<(), Failure> {
    let (mut added, mut refused) = (0, 0);
    for some in all.pvs.chunks(PVS_AT_ONCE) {
        let pvs: Vec<Value> = some.iter().map(wanted).collect();
        let url = format!("{}/api/v1/pvs", server.url);
        let sent = agent().post(&url).send_json(json!({ "pvs": pvs }));
        let answer: Value = checked(sent, &server.url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
        for pv in answer["pvs"].as_array().into_iter().flatten() {
            match pv["message"].as_str() {
                Some(message) => {
                    refused += 1;
                    eprintln!("{}: {message}", pv["name"].as_str().unwrap_or("?"));
                }
                None => added += 1,
            }
        }
    }
    eprintln!("{added} PVs are archived by {}", server.url);
    if refused > 0 { Err(format!("{refused} PVs were refused").into()) } else { Ok(()) }
}

/// What is asked for a PV.
fn wanted(pv: &foreign::Pv) -> Value {
    let mut object = Map::from_iter([("name".to_owned(), Value::from(pv.name.as_str()))]);
    let mut put = |key: &str, value: Value| _ = object.insert(key.to_owned(), value);
    match pv.method {
        None => {}
        Some(Method::Monitor) => put("method", "monitor".into()),
        Some(Method::Scan { period }) => {
            put("method", "scan".into());
            put("period", period.as_secs_f64().into());
        }
    }
    if let Some(protocol) = pv.protocol {
        put("protocol", if protocol == Protocol::Pva { "pva" } else { "ca" }.into());
    }
    if let Some(policy) = &pv.policy {
        put("policy", policy.as_str().into());
    }
    if !pv.groups.is_empty() {
        put("groups", pv.groups.clone().into());
    }
    object.into()
}

//! Channels of ChannelFinder with a property that says how they are archived, as IOCs give it by `info(archive, "monitor@1")`.
//!
//! `GET /ChannelFinder/resources/channels?~name=*&archive=*` answers
//! `[{"name": …, "owner": …, "properties": [{"name": "archive", "value": "monitor@1", …}], "tags": […]}]`.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::{Method, PvName};
use serde_json::Value;

use crate::carried::{CarriedOver, Pv, period};

/// Reads an answer; says too how many channels it holds.
pub fn read_channels(from: &str, text: &str, property: &str) -> Result<(CarriedOver, usize), String> {
    let channels: Vec<Value> =
        serde_json::from_str(text).map_err(|error| format!("{from} answers no list: {error}"))?;
    let mut carried = CarriedOver::default();
    for channel in &channels {
        let Some(name) = channel["name"].as_str() else { continue };
        let property_of = |wanted: &str| {
            let all = channel["properties"].as_array().map(Vec::as_slice).unwrap_or_default();
            let found = all.iter().find(|one| one["name"] == wanted).and_then(|one| one["value"].as_str());
            found.map(str::to_owned)
        };
        let Some(hint) = property_of(property) else { continue };
        let (prefixed, parsed) = match PvName::parse(name) {
            Ok(parsed) => parsed,
            Err(error) => {
                carried.note(from, 0, format!("{name:?} is left out: {error}"));
                continue;
            }
        };
        match wish(&hint) {
            Ok(Wish::Not) => {}
            Ok(wish) => {
                let (method, policy) = match wish {
                    Wish::Method(method) => (Some(method), None),
                    Wish::Policy(policy) => (None, Some(policy)),
                    Wish::Usual | Wish::Not => (None, None),
                };
                carried.add(Pv { name: parsed, protocol: prefixed, method, groups: Vec::new(), policy });
            }
            Err(wrong) => carried.note(from, 0, format!("{name}: {property} is {hint:?}: {wrong}")),
        }
    }
    Ok((carried, channels.len()))
}

enum Wish {
    Usual,
    Not,
    Method(Method),
    Policy(String),
}

/// `monitor`, `monitor@1`, `scan@10`, `policy:NAME`, `default`, `off`.
fn wish(hint: &str) -> Result<Wish, String> {
    let hint = hint.trim();
    let (word, rest) = hint.split_once('@').map_or((hint, None), |(word, rest)| (word.trim(), Some(rest.trim())));
    let seconds = || {
        let text = rest.unwrap_or_default();
        let seconds = text.parse::<f64>().ok().and_then(period);
        seconds.ok_or_else(|| format!("{text:?} is no period in seconds"))
    };
    if let Some(policy) = word.strip_prefix("policy:") {
        return Ok(Wish::Policy(policy.trim().to_owned()));
    }
    match word.to_ascii_lowercase().as_str() {
        // The period of a monitor sizes a buffer of the Appliance, and means nothing here.
        "monitor" => Ok(Wish::Method(Method::Monitor)),
        "scan" => seconds().map(|period| Wish::Method(Method::Scan { period })),
        "" | "default" | "true" | "yes" | "1" => Ok(Wish::Usual),
        "false" | "no" | "0" | "off" | "none" => Ok(Wish::Not),
        other => Err(format!("{other:?} is not understood, expected monitor@1, scan@10, policy:NAME or default")),
    }
}

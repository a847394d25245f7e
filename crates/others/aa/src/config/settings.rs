//! `archappl.properties` and `appliances.xml` of the Archiver Appliance.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use foreign::{CarriedOver, Mark, marks};

const PREFIX: &str = "org.epics.archiverappliance.";

/// Reads properties: `key = value` or `key: value`, a line each.
pub fn read_properties(file: &str, text: &str) -> CarriedOver {
    let mut carried = CarriedOver::default();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            carried.note(file, number, format!("{line:?} is no property"));
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        property(&mut carried, (file, number), key.strip_prefix(PREFIX).unwrap_or(key), value);
    }
    carried
}

fn property(carried: &mut CarriedOver, at: (&str, usize), key: &str, value: &str) {
    let (file, line) = at;
    match (key, value) {
        ("mgmt.bpl.ArchivePVAction.defaultAccessProtocol" | "defaultAccessProtocol", "CA" | "PVA") => {
            carried.keys.insert("default_protocol".to_owned(), format!("\"{}\"", value.to_lowercase()));
        }
        ("config.ConvertPVNameToKey.siteNameSpaceSeparators", r"[\\:\\-]" | r"[\:\-]") => {}
        ("config.ConvertPVNameToKey.siteNameSpaceTerminator", ":") => {}
        (
            "config.ConvertPVNameToKey.siteNameSpaceSeparators" | "config.ConvertPVNameToKey.siteNameSpaceTerminator",
            _,
        ) => {
            carried.note(file, line, format!("{key} is {value}: only the usual names of files are read in place"));
        }
        ("config.PVTypeInfo.secondsToBuffer" | "config.PVTypeInfo.sampleBufferCapacityAdjustment", _) => {
            carried.note(
                file,
                line,
                format!("{key} is not needed: no sample is dropped for the size of a PV's buffer"),
            );
        }
        ("mgmt.bpl.ArchivePVAction.minimumSamplingPeriod", _) => {
            carried.note(file, line, format!("{key} {value}: the shortest scan here is 0.01 s; limit PVs by rate_cap"));
        }
        ("engine.epics.server_ioc_drift_seconds" | "server_ioc_drift_seconds", _) => {
            carried.note(file, line, format!("{key}: samples with such stamps are kept and marked here"));
        }
        _ => carried.note(file, line, format!("{key} has no counterpart")),
    }
}

/// Reads the list of appliances: where this one listens is that of the first, or of the one with that identity.
pub fn read_appliances(file: &str, text: &str, identity: Option<&str>) -> CarriedOver {
    let (marks, broken) = marks(text);
    let mut carried = CarriedOver::default();
    let (mut names, mut name, mut ours) = (Vec::new(), String::new(), false);
    for (line, mark) in marks {
        let Mark::End(element, text) = mark else { continue };
        match element.as_str() {
            "identity" => {
                ours = identity.map_or(names.is_empty(), |identity| identity == text);
                names.push(text.clone());
                name = text;
            }
            "data_retrieval_url" if ours => match port(&text) {
                Some(port) => {
                    carried.keys.insert("listen".to_owned(), format!("\"0.0.0.0:{port}\""));
                    carried.keys.insert("access".to_owned(), "{ anonymous = \"read\" }".to_owned());
                    let who = "anybody may do everything there, and may read here: docs/access.md says who may do more";
                    carried.note(file, line, format!("data_retrieval_url of {name}: {who}"));
                }
                None => carried.note(file, line, format!("the data_retrieval_url of {name} has no port: {text:?}")),
            },
            "mgmt_url" | "engine_url" | "etl_url" | "retrieval_url" | "data_retrieval_url" | "appliance"
            | "appliances" => {}
            "cluster_inetport" => {
                carried.note(
                    file,
                    line,
                    format!("cluster_inetport of {name}: archivers share nothing, each is one process"),
                );
            }
            other => carried.note(file, line, format!("<{other}> is not known")),
        }
    }
    if names.len() > 1 {
        let text =
            format!("{} appliances ({}): start an archiver for each, with its own PVs", names.len(), names.join(", "));
        carried.note(file, 0, text);
    }
    if let Some((line, text)) = broken {
        carried.note(file, line, format!("the file is not XML from here on: {text}"));
    }
    carried
}

fn port(url: &str) -> Option<u16> {
    let host = url.split_once("://")?.1.split('/').next()?;
    host.rsplit_once(':')?.1.parse().ok()
}

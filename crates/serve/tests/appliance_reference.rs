//! Answers to the URLs of the Archiver Appliance against those that an Archiver Appliance gave for the same samples.
//!
//! `testdata/aa` holds its files and its answers. Compared is what they mean: samples, not bytes.

mod appliance;
mod archive;

use std::{fs, path::PathBuf};

use appliance::{answers, files};
use archive::{Archive, Connection};
use serde::Deserialize;
use serde_json::Value;

/// One recorded request and its answer.
#[derive(Deserialize)]
struct Recorded {
    id: Value,
    cat: String,
    method: String,
    path: String,
    body: Option<String>,
    ctype: Option<String>,
    status: u16,
    text: Option<String>,
    b64: Option<String>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/aa")
}

/// Answers of the Appliance that are not worth repeating.
const QUIRKS: [(&str, &str); 2] = [
    ("a067", "it reads each year by itself, so that the last sample of the old year stands alone in the new one"),
    ("a117", "it counts 0 texts where there is one"),
];

/// The kinds of requests that are served.
fn is_served(recorded: &Recorded) -> bool {
    const KINDS: [&str; 12] = [
        "plain",
        "names",
        "time",
        "error",
        "attime",
        "op",
        "op-form",
        "op-type",
        "op-weeks",
        "usereduced",
        "timeranges",
        "multi",
    ];
    let is_quirk = QUIRKS.iter().any(|(id, _)| recorded.id == *id);
    !is_quirk && KINDS.contains(&recorded.cat.as_str())
}

#[test]
fn answers_from_the_store_mean_what_the_archiver_appliances_mean() {
    compare_all(&Archive::start(|store| files::load(&folder(), store), |config| config));
}

/// Nothing is in the store but the names: all samples come from the Appliance's files.
#[test]
fn answers_from_the_appliances_own_files_mean_the_same() {
    let old = files::in_place(&folder());
    let names = old.clone();
    let archive = Archive::start_with_old(|store| files::register(&names, store), |config| config, old);
    assert_eq!(archive.store.reader().watermark().appended, 0);
    compare_all(&archive);
}

/// What is in both, as after an import, comes once.
#[test]
fn answers_from_store_and_files_together_mean_the_same() {
    let old = files::in_place(&folder());
    compare_all(&Archive::start_with_old(|store| files::load(&folder(), store), |config| config, old));
}

fn compare_all(archive: &Archive) {
    let text = fs::read_to_string(folder().join("queries.jsonl")).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        if !is_served(&recorded) {
            continue;
        }
        let body = recorded.body.clone().unwrap_or_default();
        let headers: Vec<(&str, &str)> = recorded.ctype.iter().map(|ctype| ("content-type", ctype.as_str())).collect();
        let answer = Connection::to(archive.address).ask(&recorded.method, &recorded.path, &headers, body.as_bytes());
        let place = format!("{}: {} {}", recorded.id, recorded.method, recorded.path);
        assert_eq!(answer.status, recorded.status, "{place}: {}", answer.text());
        if answer.status == 200 {
            let expected = match (&recorded.text, &recorded.b64) {
                (Some(text), _) => text.clone().into_bytes(),
                (None, Some(b64)) => answers::from_base64(b64),
                (None, None) => Vec::new(),
            };
            answers::assert_same_meaning(&recorded.path, &answer.body, &expected, &place);
        }
        compared += 1;
    }
    assert!(compared > 120, "only {compared} answers were compared");
}

//! Answers to the URLs of the Archiver Appliance against those that an Archiver Appliance gave for the same samples.
//!
//! `testdata/aa` holds its files and its answers. Compared is what they mean: samples, not bytes.

use crate::appliance;
use crate::served;

use std::{fs, path::PathBuf};

use appliance::{answers, files};
use serde::Deserialize;
use serde_json::{Value, json};
use served::{Archive, Connection};

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
const QUIRKS: [(&str, &str); 1] = [("a117", "it counts 0 texts where there is one")];

/// The kinds of requests that are served.
fn is_served(recorded: &Recorded) -> bool {
    const KINDS: [&str; 13] = [
        "meta",
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
    compare_configuration(&archive);
}

/// Everything came by the import that a program sends, which leaves the files behind.
#[test]
fn answers_after_an_import_mean_the_same() {
    let archive = Archive::start(|_| {}, |config| config);
    files::import(&folder(), &archive);
    compare_all(&archive);
}

/// What the Appliance's configuration says of a PV is said of it here.
fn compare_configuration(archive: &Archive) {
    let text = fs::read_to_string(folder().join("queries.jsonl")).unwrap();
    let recorded = text.lines().map(|line| serde_json::from_str::<Recorded>(line).unwrap());
    let mut compared = 0;
    for recorded in recorded.filter(|recorded| recorded.cat == "mgmt") {
        let answer = Connection::to(archive.address).ask(&recorded.method, &recorded.path, &[], b"");
        let answer: Value = serde_json::from_str(&answer.text()).unwrap();
        let expected: Value = serde_json::from_str(recorded.text.as_deref().unwrap()).unwrap();
        assert_eq!(answer, expected, "{}: {}", recorded.id, recorded.path);
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} answers were compared");
}

/// A field that was not archived as a PV of its own is found in what samples carry, and so is what else they carry.
#[test]
fn fields_are_read_from_the_samples_that_carry_them() {
    let old = files::in_place(&folder());
    let names = old.clone();
    let archive = Archive::start_with_old(|store| files::register(&names, store), |config| config, old);
    let ask = |query: &str| {
        let path = format!("/retrieval/data/{query}&from=2025-12-31T20:00:00Z&to=2025-12-31T21:10:00Z");
        let answer = Connection::to(archive.address).ask("GET", &path, &[], b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_str::<Value>(
            &answer.text().replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null"),
        )
        .unwrap()[0]
            .clone()
    };
    let plain = ask("getData.json?pv=REF:ALARMS.HIHI");
    let values = |answer: &Value| -> Vec<(i64, f64)> {
        let rows = answer["data"].as_array().unwrap();
        rows.iter().map(|row| (row["secs"].as_i64().unwrap(), row["val"].as_f64().unwrap())).collect()
    };
    assert_eq!(values(&plain), [(1_767_212_600, 41.0), (1_767_215_200, 40.0)]);
    assert_eq!(plain["meta"]["name"], "REF:ALARMS.HIHI");
    assert_eq!(ask("getData.json?pv=mean_600(REF:ALARMS.HIHI)")["data"], plain["data"], "fields are never reduced");
    let behind = Connection::to(archive.address).ask(
        "GET",
        "/retrieval/data/getData.csv?pv=REF:ALARMS.HIHI&from=2025-12-31T20:23:21Z&to=2025-12-31T20:24:00Z",
        &[],
        b"",
    );
    assert_eq!(behind.text(), "1767212600,41.0,0,0,504209182\n\n", "the last sample before the range carries it");
    let raw = ask("getData.json?pv=REF:ALARMS");
    let rows = raw["data"].as_array().unwrap();
    let carrying: Vec<&Value> = rows.iter().filter(|row| row.get("fields").is_some()).collect();
    assert_eq!(
        carrying[0]["fields"],
        json!({"cnxlostepsecs": "0", "startup": "true", "cnxregainedepsecs": "1767211198"})
    );
    assert!(carrying.iter().any(|row| row["secs"] == 1_767_212_600 && row["fields"]["HIHI"] == "41"), "{carrying:?}");
    let bins = ask("getData.json?pv=mean_600(REF:ALARMS)");
    let told = bins["data"].as_array().unwrap().iter().filter(|row| row["fields"]["connectionChange"] == "true");
    assert_eq!(told.map(|row| row["secs"].as_i64().unwrap()).collect::<Vec<_>>(), [1_767_211_500, 1_767_213_300]);
}

/// Viewers draw by what the answer says of its values: an operator makes single numbers of arrays, or arrays of numbers.
#[test]
fn quick_answers_say_whether_their_values_are_arrays() {
    let archive = Archive::start(|store| files::load(&folder(), store), |config| config);
    let ask = |pv: &str, day: u32| {
        let path =
            format!("/retrieval/data/getData.qw?pv={pv}&from=2026-01-{day}T00:00:00Z&to=2026-01-{day}T02:00:00Z");
        let answer = Connection::to(archive.address).ask("GET", &path, &[], b"");
        let answer: Value = serde_json::from_str(&answer.text().replace("NaN", "null")).unwrap();
        assert!(!answer[0]["data"].as_array().unwrap().is_empty(), "{path}");
        answer[0]["meta"]["waveform"].clone()
    };
    for single in ["mean_900(REF:WFD)", "errorbar_900(REF:WFD)", "ncount(REF:WFD)", "caplotbinning_900(REF:WFD)"] {
        assert_eq!(ask(single, 22), false, "{single}");
    }
    for array in ["REF:WFD", "firstSample_900(REF:WFD)", "lastFill_900(REF:WFD)", "stats_900(REF:WFD)"] {
        assert_eq!(ask(array, 22), true, "{array}");
    }
    assert_eq!(ask("optimized_10(REF:ENUM)", 20), true);
    assert_eq!(ask("optimized_1000(REF:ENUM)", 20), false);
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

/// A header may say anything of a PV, and a sample whether its fields changed: clients of the Appliance get both as they stand there.
#[test]
fn what_a_file_says_in_its_own_words_is_passed_on() {
    let place = tempfile::tempdir().unwrap();
    // The header says EGU and OWNER; the sample carries HIHI, which changed. 1B 02 is a line feed within a line.
    let header = b"\x08\x06\x12\x01A\x18\xea\x0f\x7a\x09\x1b\x02\x03EGU\x12\x02mA\x7a\x0b\x1b\x02\x05OWNER\x12\x02RF\n";
    let carried = b"\x3a\x1b\x02\x1b\x02\x04HIHI\x12\x0241\x40\x01";
    let sample = [&b"\x08\x01\x10\x00\x19"[..], &1.0f64.to_le_bytes(), b"\x28\x00", carried, b"\n"].concat();
    fs::write(place.path().join("A:2026.pb"), [&header[..], &sample].concat()).unwrap();
    let old: Vec<std::sync::Arc<dyn archive::Source>> =
        vec![std::sync::Arc::new(aa::PlainPb::new(place.path().to_owned(), []))];
    let names = old.clone();
    let archive = Archive::start_with_old(|store| files::register(&names, store), |config| config, old);
    let range = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z";
    let json = archive.get(&format!("/retrieval/data/getData.json?pv=A&{range}")).text();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["meta"], json!({"name": "A", "EGU": "mA", "PREC": "0", "OWNER": "RF"}));
    assert_eq!(json[0]["data"][0]["fields"], json!({"HIHI": "41"}));
    let raw = archive.get(&format!("/retrieval/data/getData.raw?pv=A&{range}")).body;
    let has = |bytes: &[u8]| raw.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(b"\x05OWNER\x12\x02RF") && has(carried), "{}", raw.escape_ascii());
}

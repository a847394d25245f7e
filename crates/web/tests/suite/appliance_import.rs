//! What an import from the Archiver Appliance makes of fields: those that samples carry, and those that were PVs of their own.

use crate::appliance;
use crate::served;

use std::{fs, path::PathBuf};

use appliance::files;
use serde_json::{Value, json};
use served::Archive;

const RANGE: &str = "from=2025-12-31T20:00:00Z&to=2025-12-31T21:10:00Z";

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/aa")
}

fn alarms_info(change: impl FnOnce(&mut Value)) -> Value {
    let text = fs::read_to_string(testdata().join("typeinfo/REF_ALARMS.json")).unwrap();
    let mut info: Value = serde_json::from_str(&text).unwrap();
    change(&mut info);
    info
}

fn import(archive: &Archive, infos: &Value, files: &[Vec<u8>]) {
    let sent = archive.post("/api/v1/import/type-info?import=aa", "application/json", infos.to_string().as_bytes());
    assert_eq!(sent.status, 200, "{}", sent.text());
    for (number, file) in files.iter().enumerate() {
        let sent = archive.post(&format!("/api/v1/import?import=aa&part={number}"), "application/x-protobuf", file);
        assert_eq!(sent.status, 200, "{}", sent.text());
        let told: Value = serde_json::from_str(&sent.text()).unwrap();
        assert_eq!((&told["missing"], &told["verified"]), (&json!(0), &told["received"]), "{told}");
    }
}

fn samples(archive: &Archive, pv: &str) -> Vec<(i64, f64)> {
    let answer = archive.get(&format!("/retrieval/data/getData.json?pv={pv}&{RANGE}"));
    assert_eq!(answer.status, 200, "{pv}: {}", answer.text());
    let answer: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(answer[0]["meta"]["name"], pv);
    let rows = answer[0]["data"].as_array().unwrap();
    rows.iter().map(|row| (row["secs"].as_i64().unwrap(), row["val"].as_f64().unwrap())).collect()
}

fn listed(archive: &Archive) -> Vec<String> {
    serde_json::from_str(&archive.get("/mgmt/bpl/getAllPVs?limit=-1").text()).unwrap()
}

/// Its samples tell of all six fields that its type info names, and of none that is added here.
#[test]
fn a_field_that_samples_carry_is_read_after_an_import_as_it_is_in_place() {
    let imported = Archive::start(|_| {}, |config| config);
    let files: Vec<Vec<u8>> =
        [2025, 2026].map(|year| fs::read(testdata().join(format!("lts/REF/ALARMS:{year}.pb"))).unwrap()).into();
    let more = |info: &mut Value| info["archiveFields"].as_array_mut().unwrap().push(json!("ADEL"));
    import(&imported, &json!([alarms_info(more)]), &files);
    let old = files::in_place(&testdata());
    let names = old.clone();
    let in_place = Archive::start_with_old(|store| files::register(&names, store), |config| config, old);
    let expected = [(1_767_212_600, 41.0), (1_767_215_200, 40.0)];
    assert_eq!(samples(&in_place, "REF:ALARMS.HIHI"), expected);
    assert_eq!(samples(&imported, "REF:ALARMS.HIHI"), expected);
    let fields = ["HIGH", "HIHI", "HOPR", "LOLO", "LOPR", "LOW"].map(|field| format!("REF:ALARMS.{field}"));
    assert_eq!(listed(&imported)[1..], fields, "no name stands there without samples");
    for field in &fields {
        assert_eq!(samples(&imported, field), samples(&in_place, field), "{field}");
    }
    // It is a PV as others are: with bins and a page of its own, and it goes on when its PV does.
    let detail = imported.get("/api/v1/pvs/REF:ALARMS.HIHI").text();
    let all = "/retrieval/data/getData.csv?pv=REF:ALARMS.HIHI&from=2025-01-01T00:00:00Z&to=2027-01-01T00:00:00Z";
    let all = in_place.get(all).text().lines().filter(|line| !line.is_empty()).count();
    assert_eq!(serde_json::from_str::<Value>(&detail).unwrap()["extent"]["samples"], all, "{detail}");
    let resumed = imported.post("/mgmt/bpl/resumeArchivingPV", "text/plain", b"REF:ALARMS");
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    let status: Value = serde_json::from_str(&imported.get("/mgmt/bpl/getPVStatus?pv=REF:ALARMS.*").text()).unwrap();
    let told: Vec<_> = status.as_array().unwrap().iter().map(|row| (&row["pvName"], &row["status"])).collect();
    assert_eq!(told.len(), 7, "ADEL comes when it is recorded: {told:?}");
    assert!(told.iter().all(|(_, status)| **status == "Being archived"), "{told:?}");
    assert_eq!(samples(&imported, "REF:ALARMS.HIHI"), expected);
}

/// Without the Appliance's configuration nobody knows which fields were archived, and what metadata says of one is its history.
#[test]
fn without_type_infos_a_field_is_what_metadata_says() {
    let archive = Archive::start(|_| {}, |config| config);
    import(&archive, &json!([]), &[fs::read(testdata().join("lts/REF/ALARMS:2025.pb")).unwrap()]);
    assert_eq!(listed(&archive), ["REF:ALARMS"]);
    assert_eq!(samples(&archive, "REF:ALARMS.HIHI"), [(1_767_212_600, 41.0), (1_767_215_200, 40.0)]);
}

/// The Appliance archives a field that no stream carries as a PV with a type info and files of its own.
#[test]
fn a_field_that_was_a_pv_of_its_own_is_imported_as_one() {
    let info = alarms_info(|info| info["archiveFields"] = json!(["HIHI", "RBV"]));
    let own = alarms_info(|info| {
        info["pvName"] = json!("REF:ALARMS.RBV");
        info["archiveFields"] = json!([]);
    });
    let file = fs::read(testdata().join("lts/REF/ALARMS:2025.pb")).unwrap();
    // The length of the name is a line feed, and escaped.
    assert!(file.starts_with(b"\x08\x06\x12\x1b\x02REF:ALARMS"));
    let renamed = [b"\x08\x06\x12\x0eREF:ALARMS.RBV", &file[5 + "REF:ALARMS".len()..]].concat();
    let archive = Archive::start(|_| {}, |config| config);
    import(&archive, &json!([info, own]), &[file, renamed]);
    assert_eq!(listed(&archive), ["REF:ALARMS", "REF:ALARMS.HIHI", "REF:ALARMS.RBV"]);
    let count = |pv: &str| {
        let answer = archive.get(&format!("/retrieval/data/getData.csv?pv={pv}&{RANGE}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().lines().count()
    };
    assert_eq!(count("REF:ALARMS.RBV"), count("REF:ALARMS"));
    assert!(count("REF:ALARMS") > 100);
}

/// The type info was made anew long after the samples were taken; it tells what the file does not.
#[test]
fn a_file_is_believed_before_the_type_info() {
    let info = json!({"pvName": "A", "DBRType": "DBR_SCALAR_INT", "elementCount": "1", "units": "V", "precision": "1.0",
        "creationTime": "2026-06-01T00:00:00.000Z", "paused": "true"});
    let header = b"\x08\x06\x12\x01A\x18\xea\x0f\x7a\x09\x1b\x02\x03EGU\x12\x02mA\n";
    let sample = [&b"\x08\x01\x10\x00\x19"[..], &1.0f64.to_le_bytes(), b"\n"].concat();
    let archive = Archive::start(|_| {}, |config| config);
    import(&archive, &json!([info]), &[[&header[..], &sample].concat()]);
    let range = "from=2026-01-01T00:00:00Z&to=2026-12-01T00:00:00Z";
    let answer = archive.get(&format!("/retrieval/data/getData.json?pv=A&{range}")).text();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer[0]["data"].as_array().unwrap().len(), 1, "{answer}");
    let meta = &answer[0]["meta"];
    assert_eq!((&meta["EGU"], &meta["PREC"]), (&json!("mA"), &json!("1")), "{meta}");
    let info: Value = serde_json::from_str(&archive.get("/mgmt/bpl/getPVTypeInfo?pv=A").text()).unwrap();
    assert_eq!((&info["DBRType"], &info["units"]), (&json!("DBR_SCALAR_DOUBLE"), &json!("mA")), "{info}");
}

/// A configuration that comes in by the Appliance's own URL enters no more either.
#[test]
fn a_paused_pv_of_a_configuration_comes_without_its_fields() {
    let archive = Archive::start(|_| {}, |config| config);
    let infos = json!([
        alarms_info(|_| {}),
        alarms_info(|info| {
            info["pvName"] = json!("REF:ON");
            info["paused"] = json!("false");
        })
    ]);
    let sent = archive.post("/mgmt/bpl/importConfig", "application/json", infos.to_string().as_bytes());
    assert_eq!(sent.status, 200, "{}", sent.text());
    let names = listed(&archive);
    assert_eq!(names.iter().filter(|name| name.starts_with("REF:ALARMS")).count(), 1, "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("REF:ON")).count(), 7, "{names:?}");
    let put = archive.post(
        "/mgmt/bpl/putPVTypeInfo?pv=REF:PUT&createnew=true",
        "application/json",
        alarms_info(|info| info["pvName"] = json!("REF:PUT")).to_string().as_bytes(),
    );
    assert_eq!(put.status, 200, "{}", put.text());
    assert_eq!(listed(&archive).len(), 9);
}

//! What the Archiver Appliance's own pages, ChannelFinder and the scripts of facilities send to `/mgmt/bpl`, and what they read.

use crate::served;

use std::io::Write;

use serde_json::{Value, json};
use served::{Archive, Connection};

/// Four PVs that nobody serves, beside those with history, one of which is also called `N:ALIAS`.
fn archive() -> Archive {
    let archive = Archive::with_history();
    let wanted: Vec<Value> = (0..4).map(|index| json!({ "pv": format!("N:{index}") })).collect();
    let answer = post(&archive, "/mgmt/bpl/archivePV", &json!(wanted));
    assert_eq!(answer.as_array().map(Vec::len), Some(4), "{answer}");
    archive.get("/mgmt/bpl/addAlias?pv=T:DOUBLE&aliasname=N:ALIAS");
    archive
}

fn post(archive: &Archive, target: &str, body: &Value) -> Value {
    let answer = archive.post(target, "application/json", body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{target} {body}: {}", answer.text());
    answer.json()
}

fn get(archive: &Archive, target: &str) -> Value {
    let answer = archive.get(target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    answer.json()
}

/// The texts under one key of all rows.
fn column<'a>(rows: &'a Value, key: &str) -> Vec<&'a str> {
    rows.as_array()
        .unwrap_or_else(|| panic!("{rows} is no list"))
        .iter()
        .map(|row| row[key].as_str().unwrap())
        .collect()
}

/// The Appliance's page sends every list as objects.
#[test]
fn lists_of_objects_name_pvs_as_lists_of_names_do() {
    let archive = archive();
    let listed = json!([{ "pv": "N:1" }, "N:2", { "pv": "N:NOSUCH" }]);
    let status = post(&archive, "/mgmt/bpl/getPVStatus?reporttype=short", &listed);
    assert_eq!(column(&status, "pvName"), ["N:1", "N:2", "N:NOSUCH"]);
    assert_eq!(column(&status, "status"), ["Being archived", "Being archived", "Not being archived"]);
    let paused = post(&archive, "/mgmt/bpl/pauseArchivingPV", &json!([{ "pv": "N:1" }]));
    assert_eq!(paused, json!({ "pvName": "N:1", "status": "ok" }), "one PV is answered by an object");
    assert_eq!(get(&archive, "/mgmt/bpl/resumeArchivingPV?pv=N:1*")["status"], "ok", "by a pattern as well");
    assert_eq!(post(&archive, "/mgmt/bpl/unarchivedPVs", &listed), json!(["N:NOSUCH"]));
    assert_eq!(post(&archive, "/mgmt/bpl/resumeArchivingPV", &json!([])), json!([]));
}

/// An older ChannelFinder names the PVs in the URL and sends no body, but says that it is JSON.
#[test]
fn an_announced_body_may_be_missing() {
    let archive = archive();
    let status = archive.post("/mgmt/bpl/getPVStatus?pv=N:1&pv=N:2", "application/json", b"").json();
    assert_eq!(column(&status, "pvName"), ["N:1", "N:2"]);
    // And one client sends a bare list of names that it does not announce.
    let bare = Connection::to(archive.address).ask("POST", "/mgmt/bpl/pauseArchivingPV", &[], b"N:1,N:2");
    assert_eq!(column(&bare.json(), "status"), ["ok", "ok"]);
}

/// Lists of PVs for the Appliance name motors as `M1.VAL`, and ask for periods that it does not take.
#[test]
fn a_record_is_archived_by_whatever_name_its_value_has() {
    let archive = archive();
    let wanted = json!([{ "pv": "pva://N:MOTOR.VAL", "samplingmethod": "SCAN", "samplingperiod": "0" }]);
    let submitted = post(&archive, "/mgmt/bpl/archivePV", &wanted);
    assert_eq!(
        (&submitted[0]["pvName"], &submitted[0]["status"]),
        (&"N:MOTOR".into(), &"Archive request submitted".into())
    );
    assert_eq!(
        get(&archive, "/mgmt/bpl/getPVTypeInfo?pv=N:MOTOR")["samplingPeriod"],
        "0.01",
        "the shortest that there is"
    );
    assert_eq!(get(&archive, "/mgmt/bpl/archivePV?pv=N:1.VAL")[0]["status"], "Already submitted");
    assert_eq!(get(&archive, "/mgmt/bpl/getAllPVs?pv=N:*"), json!(["N:0", "N:1", "N:2", "N:3", "N:ALIAS", "N:MOTOR"]));
    let unknown = get(&archive, "/mgmt/bpl/changeArchivalParameters?pv=N:NOSUCH&samplingperiod=1");
    assert!(unknown["validation"].is_string(), "{unknown}");
}

/// Older ChannelFinders name their settings in another way than the Appliance, and mean the same.
#[test]
fn settings_of_channel_finder_are_understood() {
    let archive = archive();
    let wanted = json!([{ "pv": "pva://N:SLOW", "samplingMethod": "SCAN", "samplingPeriod": "5.0" }]);
    post(&archive, "/mgmt/bpl/archivePV", &wanted);
    let status = post(&archive, "/mgmt/bpl/getPVStatus", &json!(["pva://N:SLOW"]));
    assert_eq!(status[0]["pvName"], "pva://N:SLOW", "it looks its PVs up by the names that it gave");
    assert_eq!((&status[0]["samplingPeriod"], &status[0]["isMonitored"]), (&"5.0".into(), &"false".into()));
}

#[test]
fn the_status_of_all_is_told_if_none_is_named() {
    let archive = archive();
    let all = get(&archive, "/mgmt/bpl/getPVStatus");
    assert_eq!(column(&all, "pvName").len(), 9 + 4 + 1, "PVs and aliases: {all}");
    assert_eq!(all, get(&archive, "/mgmt/bpl/getPVStatus?pv=*"), "whether it is all or all that a glob fits");
    assert_eq!(all, get(&archive, "/mgmt/bpl/getPVStatus?regex=.*"));
    assert_eq!(column(&get(&archive, "/mgmt/bpl/getPVStatus?limit=3"), "pvName"), column(&all, "pvName")[..3]);
    assert_eq!(column(&get(&archive, "/mgmt/bpl/getPVStatus?regex=N:[12]"), "pvName"), ["N:1", "N:2"]);
    assert_eq!(column(&get(&archive, "/mgmt/bpl/getPVStatus?pv=N:*&limit=2"), "pvName"), ["N:0", "N:1"]);
    let aliases = get(&archive, "/mgmt/bpl/getPVStatus?pv=*ALIAS");
    assert_eq!((&aliases[0]["pvName"], &aliases[0]["pvNameOnly"]), (&"N:ALIAS".into(), &"T:DOUBLE".into()));
}

#[test]
fn several_globs_find_what_each_of_them_does() {
    let archive = archive();
    assert_eq!(
        get(&archive, "/mgmt/bpl/getAllPVs?pv=N:?,T:D*,T:ENUM"),
        json!(["N:0", "N:1", "N:2", "N:3", "T:DOUBLE", "T:ENUM"])
    );
    assert_eq!(get(&archive, "/retrieval/bpl/getMatchingPVs?pv=N:?,T:D*&limit=2"), json!(["N:0", "N:1"]));
    let wanted = json!([{ "pv": "N:LED", "controllingPV": "N:SWITCH" }]);
    post(&archive, "/mgmt/bpl/archivePV", &wanted);
    let details = get(&archive, "/mgmt/bpl/getPVDetails?pv=N:LED");
    let row = details.as_array().unwrap().iter().find(|row| row["name"] == "Controlling PV");
    assert_eq!(row.unwrap()["value"], "N:SWITCH");
    let changed = details.as_array().unwrap().iter().any(|row| row["name"] == "Archival params modification time:");
    assert!(changed, "{details}");
}

/// What is refused of a single PV stands in `validation`, where pages and scripts look for it.
#[test]
fn what_cannot_be_done_to_an_unknown_pv_is_said_in_the_answer() {
    let archive = archive();
    for verb in ["pause", "resume"] {
        let answer = get(&archive, &format!("/mgmt/bpl/{verb}ArchivingPV?pv=N:NOSUCH"));
        assert!(answer["validation"].as_str().is_some_and(|text| text.contains("N:NOSUCH")), "{answer}");
    }
    assert_eq!(get(&archive, "/mgmt/bpl/abortArchivingPV?pv=N:NOSUCH")["status"], "no");
    get(&archive, "/mgmt/bpl/pauseArchivingPV?pv=N:1");
    let taken = get(&archive, "/mgmt/bpl/renamePV?pv=N:1&newname=N:2");
    assert!(taken["validation"].as_str().is_some_and(|text| text.contains("N:2")), "{taken}");
}

#[test]
fn many_are_deleted_by_one_request_with_one_answer() {
    let archive = archive();
    post(&archive, "/mgmt/bpl/pauseArchivingPV", &json!(["N:1", "N:2", "N:3"]));
    let some = post(&archive, "/mgmt/bpl/deletePV", &json!([{ "pv": "N:0" }, { "pv": "N:1" }]));
    assert!(
        some["status"].is_null() && some["validation"].as_str().unwrap().contains("N:0 if it is not paused"),
        "{some}"
    );
    assert_eq!(get(&archive, "/mgmt/bpl/deletePV?pv=N:2,N:3"), json!({ "validation": "", "status": "ok" }));
    assert_eq!(get(&archive, "/mgmt/bpl/getAllPVs?pv=N:*"), json!(["N:0", "N:ALIAS"]));
    get(&archive, "/mgmt/bpl/pauseArchivingPV?pv=N:0");
    assert_eq!(get(&archive, "/mgmt/bpl/deletePV?pv=N:?")["status"], "ok");
    assert_eq!(archive.get("/mgmt/bpl/deletePV?pv=N:NOSUCH").status, 400);
}

/// By these it is seen from outside that the Appliance has started.
#[test]
fn every_part_tells_that_it_is_there() {
    let archive = archive();
    for part in ["mgmt", "engine", "etl", "retrieval"] {
        assert_eq!(archive.get(&format!("/{part}/bpl/ping")).text(), "pong\n");
        assert_eq!(get(&archive, &format!("/{part}/bpl/startupState"))["status"], "STARTUP_COMPLETE");
    }
    for part in ["engine", "etl", "retrieval"] {
        assert_eq!(get(&archive, &format!("/{part}/bpl/getVersion")).as_object().unwrap().len(), 1);
    }
}

/// A script pauses what has been disconnected for long, and reckons with every row.
#[test]
fn every_pv_without_connection_tells_since_when() {
    let archive = archive();
    get(&archive, "/mgmt/bpl/resumeArchivingPV?pv=T:DOUBLE");
    let lost = get(&archive, "/mgmt/bpl/getCurrentlyDisconnectedPVs");
    assert_eq!(column(&lost, "pvName"), ["T:DOUBLE"], "those that never connected are in another report");
    let since: i64 = column(&lost, "noConnectionAsOfEpochSecs")[0].parse().unwrap();
    assert!(since >= archive.started.seconds_and_nanos().0, "{lost}");
    assert_eq!((column(&lost, "hostName"), column(&lost, "commandThreadID")), (vec!["N/A"], vec!["0"]));
    assert!(column(&lost, "connectionLostAt")[0].ends_with("UTC"));
}

/// The Appliance's page and those that publish its measures as PVs read these.
#[test]
fn measures_have_the_form_in_which_they_are_drawn() {
    let archive = archive();
    let chart = get(&archive, "/mgmt/bpl/getProcessMetricsDataForAppliance?appliance=appliance0");
    let labels = ["system_load (%)", "engine_heap (%)", "etl_heap (%)", "retrieval_heap (%)"];
    assert_eq!(column(&chart, "label"), labels);
    assert!(chart[1]["data"][0][0].as_i64() > Some(1_700_000_000_000) && chart[1]["data"][0][1].is_number(), "{chart}");
    while archive.store.reader().health().places[0].room.is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1)); // a thread of the store looks as soon as it runs
    }
    let place = &get(&archive, "/etl/bpl/getStorageMetricsForAppliance")[0];
    let of = |key: &str| place[key].as_str().unwrap().replace(',', "").parse::<f64>().unwrap();
    assert!(of("available_space") > 0.0 && of("available_space") <= of("total_space"), "{place}");
    let percent = 100.0 * of("available_space") / of("total_space");
    assert!((of("available_space_percent") - percent).abs() < 1.0, "{place}");
    let storage = &get(&archive, "/mgmt/bpl/getStorageMetrics")[0];
    assert_eq!((&storage["status"], &storage["pvCount"]), (&"Working".into(), &"13".into()), "{storage}");
    let refused = post(&archive, "/mgmt/bpl/reassignAppliance?appliance=appliance1", &json!(["N:1"]));
    assert!(refused[0]["validation"].as_str().unwrap().contains("only member"), "{refused}");
}

#[test]
fn a_change_of_sampling_is_told_with_who_ordered_it_and_when() {
    let archive = archive();
    let info = || get(&archive, "/mgmt/bpl/getPVTypeInfo?pv=N:1");
    assert_eq!(info()["modificationTime"], info()["creationTime"]);
    let change = "/mgmt/bpl/changeArchivalParameters?pv=N:1&samplingperiod=2&samplingmethod=SCAN&by=ann";
    assert_eq!(get(&archive, change)["status"], "ok");
    assert_ne!(info()["modificationTime"], info()["creationTime"]);
    assert_eq!(get(&archive, "/mgmt/bpl/getRecentlyModifiedPVs?limit=1")[0]["pvName"], "N:1");
    let line = &get(&archive, "/api/v1/audit")["audit"][0];
    assert_eq!((&line["action"], &line["name"]), (&"changed".into(), &"N:1".into()), "{line}");
    assert_eq!(line["detail"], "ca, monitor → ca, scan 2s");
    assert!(line["by"].as_str().unwrap().ends_with(" (calls itself ann)"), "{line}");
}

/// A program that publishes reports reads all members of every row.
#[test]
fn reports_have_all_members_in_every_row() {
    let archive = archive();
    let paused = get(&archive, "/mgmt/bpl/getPausedPVsReport");
    assert_eq!(column(&paused, "modificationTime").len(), 9);
    let waiting = get(&archive, "/mgmt/bpl/getNeverConnectedPVs");
    assert_eq!(column(&waiting, "startOfWorkflow"), column(&waiting, "requestTime"));
}

#[test]
fn changed_fields_are_listed_in_the_answer() {
    let archive = archive();
    let changed =
        get(&archive, "/mgmt/bpl/modifyMetaFields?pv=N:1&command=add,LOLO,HIHI&command=remove,LOLO&command=add,ADEL");
    assert_eq!((&changed["pvName"], &changed["fields"]), (&"N:1".into(), &"ADEL,HIHI".into()), "{changed}");
}

/// What an archive of many PVs exports is longer than other bodies may be.
#[test]
fn a_long_configuration_comes_in() {
    let archive = Archive::start(|_| (), |config| web::Config { body_bytes_max: 1000, ..config });
    let list: Vec<Value> = (0..100).map(|index| json!({ "pvName": format!("N:{index}"), "paused": "true" })).collect();
    let imported = post(&archive, "/mgmt/bpl/importConfig", &json!(list));
    assert!(imported[0]["desc"].as_str().unwrap().contains("Imported 100 PVs"), "{imported}");
    let refused = archive.post("/mgmt/bpl/deletePV", "application/json", json!(list).to_string().as_bytes());
    assert_eq!(refused.status, 413, "a list that is no configuration: {}", refused.text());
}

/// One long body at a time is in memory, and the wait for it begins with what makes it long.
#[test]
fn who_announces_a_long_configuration_and_sends_little_holds_up_nobody() {
    let archive = Archive::start(|_| (), |config| web::Config { body_bytes_max: 1000, ..config });
    let mut slow: Vec<Connection> = (0..5).map(|_| Connection::to(archive.address)).collect();
    for connection in &mut slow {
        let head = "POST /mgmt/bpl/importConfig HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n";
        connection.stream.get_mut().write_all(head.as_bytes()).unwrap();
        connection.stream.get_mut().write_all(&[b' '; 1000]).unwrap();
    }
    // They have been read once others have answers.
    archive.get("/retrieval/ping");
    let begun = std::time::Instant::now();
    let list: Vec<Value> = (0..100).map(|index| json!({ "pvName": format!("N:{index}"), "paused": "true" })).collect();
    let imported = post(&archive, "/mgmt/bpl/importConfig", &json!(list));
    assert!(imported[0]["desc"].as_str().unwrap().contains("Imported 100 PVs"), "{imported}");
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

/// Each of so many would be a change of its own, which is synced: that took longer than a minute.
#[test]
fn many_controlling_pvs_and_aliases_are_two_changes_of_the_list() {
    const PVS: usize = 20_000;
    let archive = archive();
    let wanted = |index: usize| json!({ "pv": format!("C:{index}"), "controllingPV": format!("C:{index}:ON"), "alias": format!("A:{index}") });
    let wanted: Vec<Value> = (0..PVS).map(wanted).collect();
    let begun = std::time::Instant::now();
    let submitted = post(&archive, "/mgmt/bpl/archivePV", &json!(wanted));
    let seconds = begun.elapsed().as_secs_f64();
    assert!(column(&submitted, "status").iter().all(|status| *status == "Archive request submitted"));
    eprintln!("{PVS} PVs with a group and an alias each in {seconds:.1} s");
    assert_eq!(get(&archive, "/api/v1/groups")["groups"].as_array().map(Vec::len), Some(PVS));
    assert_eq!(get(&archive, "/mgmt/bpl/getPVStatus?pv=A:19999")[0]["pvNameOnly"], "C:19999");
    let exported = get(&archive, "/mgmt/bpl/exportConfig");
    let one = exported.as_array().unwrap().iter().find(|one| one["pvName"] == "C:7").unwrap();
    assert_eq!(one["controllingPV"], "C:7:ON");
    // What another has already is refused alone.
    let mixed =
        json!([{ "pv": "C:0", "alias": "A:1" }, { "pv": "C:1", "alias": "B:1" }, { "pv": "C:2", "alias": "a b" }]);
    let mixed = post(&archive, "/mgmt/bpl/archivePV", &mixed);
    assert_eq!(mixed[1]["status"], "Already submitted", "{mixed}");
    for (index, why) in [(0, "A:1"), (2, "blanks")] {
        assert!(mixed[index]["validation"].as_str().is_some_and(|text| text.contains(why)), "{mixed}");
    }
    let imported = post(&archive, "/mgmt/bpl/importConfig", &exported);
    assert_eq!(imported[0]["status"], "ok", "{imported}");
}

/// Of every list each name counts once, however often it is given and by whatever it is meant.
#[test]
fn what_is_named_twice_is_answered_once() {
    let archive = archive();
    let twice = get(&archive, "/mgmt/bpl/getPVStatus?pv=N:*,N:1,N:*,N:NOSUCH,N:NOSUCH");
    assert_eq!(column(&twice, "pvName"), ["N:0", "N:1", "N:2", "N:3", "N:ALIAS", "N:NOSUCH"]);
    assert_eq!(get(&archive, "/mgmt/bpl/getAllPVs?pv=*,N:?&limit=-1").as_array().map(Vec::len), Some(9 + 4 + 1));
    let data = get(&archive, "/retrieval/data/getDataForPVs.json?pv=T:LONG,T:LONG,T:BYTE&from=2025-12-31T23:00:00Z");
    assert_eq!(data.as_array().map(Vec::len), Some(2));
    assert_eq!(post(&archive, "/mgmt/bpl/archivedPVs", &json!(["N:1", "N:1"])), json!(["N:1"]));
}

/// A list that is too long is refused with what is possible, and nothing of it is done.
#[test]
fn lists_have_a_longest_length() {
    let archive = archive();
    let globs: Vec<String> = (0..101).map(|index| format!("N:*{index}")).collect();
    for (path, method) in
        [("/mgmt/bpl/getPVStatus", "GET"), ("/mgmt/bpl/getAllPVs", "GET"), ("/engine/bpl/status", "GET")]
    {
        let answer = archive.ask(method, &format!("{path}?pv={}", globs.join(",")));
        assert_eq!(answer.status, 413, "{path}: {}", answer.text());
        assert_eq!(answer.json()["error"]["code"], "too_large");
        assert!(answer.text().contains("at most 100"), "{}", answer.text());
    }
    let names: Vec<String> = (0..250_001).map(|index| format!("{index}")).collect();
    for path in [
        "/mgmt/bpl/getPVStatus",
        "/mgmt/bpl/archivedPVs",
        "/retrieval/data/getDataForPVs.json",
        "/mgmt/bpl/pauseArchivingPV",
        "/api/v1/at",
    ] {
        let answer = archive.post(path, "application/json", json!(names).to_string().as_bytes());
        assert_eq!(answer.status, 413, "{path}: {}", answer.text());
        assert!(answer.text().contains("at most 250000"), "{path}: {}", answer.text());
    }
    let wanted: Vec<Value> = names.iter().take(100_001).map(|name| json!({ "pv": name })).collect();
    let answer = archive.post("/mgmt/bpl/archivePV", "application/json", json!(wanted).to_string().as_bytes());
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert_eq!(archive.get("/api/v1/status").json()["pvs"]["total"], 9 + 4);
}

/// Wherever a name comes in: none may be ours, or one that no URL can hold.
#[test]
fn names_that_are_ours_or_mean_folders_are_refused_wherever_they_come_in() {
    let archive = archive();
    let total = || archive.get("/api/v1/status").json()["pvs"]["total"].clone();
    let before = total();
    let line = |name: &str| format!("{{\"pvName\":{},\"samplingMethod\":\"MONITOR\"}}", json!(name));
    for name in [".", "..", "ledger:minute:00", "ledger:hour:63", "a\tb", "a\u{0}b", "\u{7f}", ""] {
        let in_url: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let added = post(&archive, "/api/v1/pvs", &json!({ "pvs": [name] }));
        assert_eq!(added["pvs"][0]["status"], "refused", "{name:?}: {added}");
        let with_switch = post(&archive, "/mgmt/bpl/archivePV", &json!([{ "pv": name }]));
        assert!(with_switch[0]["validation"].is_string(), "{name:?}: {with_switch}");
        for (path, body) in [
            ("/mgmt/bpl/importConfig", format!("[{}]", line(name))),
            ("/api/v1/import/type-info?import=i", format!("[{}]", line(name))),
            ("/api/v1/pvs/N:1/rename", json!({ "to": name }).to_string()),
        ] {
            let answer = archive.post(path, "application/json", body.as_bytes());
            assert_eq!(answer.status, 400, "{path} {name:?}: {}", answer.text());
        }
        let group = json!({ "enabled_by": [name] }).to_string();
        let group = Connection::to(archive.address).ask("PUT", "/api/v1/groups/g", &[], group.as_bytes());
        assert_eq!(group.status, 400, "{name:?}: {}", group.text());
        if !name.is_empty() {
            archive.get("/mgmt/bpl/pauseArchivingPV?pv=N:2");
            for path in [
                format!("/mgmt/bpl/addAlias?pv=N:1&aliasname={in_url}"),
                format!("/mgmt/bpl/renamePV?pv=N:2&newname={in_url}"),
                format!("/mgmt/bpl/putPVTypeInfo?pv={in_url}&createnew=true"),
            ] {
                let method = if path.contains("putPV") { "POST" } else { "GET" };
                let answer = Connection::to(archive.address).ask(method, &path, &[], line(name).as_bytes());
                assert_eq!(answer.status, 400, "{path}: {}", answer.text());
            }
        }
        let switched = json!([{ "pv": "N:NEW", "controllingPV": name }]).to_string();
        let switched = archive.post("/mgmt/bpl/archivePV", "application/json", switched.as_bytes());
        assert_eq!(switched.status == 400, !name.is_empty(), "{name:?}: {}", switched.text());
        archive.get("/mgmt/bpl/pauseArchivingPV?pv=N:NEW");
        archive.get("/mgmt/bpl/deletePV?pv=N:NEW");
    }
    assert_eq!(total(), before);
}

#[test]
fn names_of_a_database_are_read_with_what_adding_them_would_do() {
    let archive = Archive::with_history();
    let db = "record(ai, \"T:DOUBLE\") {}\nrecord(ai, \"N:1\") { field(DESC, \"new\") alias(\"N:2\") }\nrecord(ai, \"$(P)X\") {}\n";
    let answer = archive.post("/api/v1/names", "text/plain", db.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert_eq!((&told["form"], &told["total"]), (&json!("database"), &json!(4)));
    let rows: Vec<_> =
        told["names"].as_array().unwrap().iter().map(|row| (&row["line"], &row["name"], &row["status"])).collect();
    let expected = json!([[1, "T:DOUBLE", "known"], [2, "N:1", "new"], [2, "N:2", "new"], [3, "$(P)X", "refused"]]);
    assert_eq!(serde_json::to_value(&rows).unwrap(), expected);
    assert!(told["names"][3]["message"].as_str().unwrap().contains("macro that is not resolved"));
    assert_eq!(archive.get("/api/v1/pvs/N:1").status, 404, "nothing is added by it");
    let export = r#"[{"pvName":"N:3","samplingMethod":"SCAN","samplingPeriod":"2.5","paused":"true"}]"#;
    let row = archive.post("/api/v1/names", "application/json", export.as_bytes()).json()["names"][0].clone();
    assert_eq!(
        (&row["pv"], &row["paused"]),
        (&json!({ "name": "N:3", "method": "scan", "period": 2.5 }), &json!(true))
    );
    let body = json!({ "pvs": [row["pv"]] }).to_string();
    assert_eq!(archive.post("/api/v1/pvs", "application/json", body.as_bytes()).json()["pvs"][0]["status"], "added");
    assert_eq!(archive.get("/api/v1/pvs/N:3").json()["period"], 2.5, "with the settings of the export");
    let empty = archive.post("/api/v1/names", "text/plain", b" \n");
    assert!(empty.status == 400 && empty.text().contains("the body is empty"));
}

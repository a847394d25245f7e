//! Orders taken back over HTTP: said beforehand, done once, refused by name where somebody was there again, and by whoever may give them.

use std::sync::Arc;

use archive::{DataFate, Principal, PvId, Right};
use serde_json::{Value, json};
use service::{Ask, AuditWanted, Budget, Code, Rights};

use crate::served::{Answer, Archive};

const THREE: &str = r#"{"pvs":["T:LONG","T:BYTE","T:DOUBLE"]}"#;

fn post(archive: &Archive, target: &str, body: &str) -> Answer {
    archive.post(target, "application/json", body.as_bytes())
}

fn states(archive: &Archive) -> Vec<String> {
    let state = |name: &str| archive.get(&format!("/api/v1/pvs/{name}")).json()["state"].as_str().unwrap().to_owned();
    ["T:LONG", "T:BYTE", "T:DOUBLE"].into_iter().map(state).collect()
}

fn newest(archive: &Archive) -> Value {
    archive.get("/api/v1/undo").json()["orders"][0].clone()
}

#[test]
fn an_order_is_said_beforehand_given_taken_back_and_given_again() {
    let archive = Archive::with_history();
    assert_eq!(post(&archive, "/api/v1/resume", THREE).status, 200);
    let before = states(&archive);
    assert!(!before.contains(&"paused".to_owned()));
    let plan = post(&archive, "/api/v1/pause?plan=true", THREE).json();
    assert_eq!((&plan["changes"], &plan["plan"]), (&json!(3), &json!(true)));
    assert_eq!(states(&archive), before, "a plan changes nothing");
    let twice = r#"{"pvs":["T:LONG","T:LONG","T:BYTE"]}"#;
    assert_eq!(
        post(&archive, "/api/v1/pause?plan=true", twice).json()["changes"],
        2,
        "what is named twice counts once"
    );
    let done = post(&archive, "/api/v1/pause", THREE).json();
    assert_eq!((&done["pvs"], &done["plan"]), (&plan["pvs"], &json!(false)), "it does what the plan said");
    assert_eq!(states(&archive), ["paused"; 3]);
    let line = archive.get("/api/v1/audit?limit=1").json()["audit"][0].clone();
    assert_eq!((&line["action"], &line["pvs"], &line["pv"]), (&json!("paused"), &json!(3), &Value::Null));
    assert_eq!(line["names"].as_array().unwrap().len(), 3);

    let order = newest(&archive);
    assert_eq!((&order["number"], &order["pvs"], &order["right"]), (&line["number"], &json!(3), &json!("operate")));
    let target = format!("/api/v1/undo/{}", order["number"]);
    let plan = archive.get(&target).json();
    assert_eq!((&plan["changes"], &plan["refused"]), (&json!(3), &json!(0)));
    assert_eq!(states(&archive), ["paused"; 3]);
    assert_eq!(post(&archive, &target, "").json(), plan);
    assert_eq!(states(&archive), before);
    assert_eq!(post(&archive, &target, "").status, 404, "it was taken back");
    let undone = newest(&archive);
    assert_eq!(undone["action"], "undone");
    assert_eq!(post(&archive, &format!("/api/v1/undo/{}", undone["number"]), "").status, 200);
    assert_eq!(states(&archive), ["paused"; 3]);
}

#[test]
fn removed_pvs_are_back_with_their_samples_but_for_those_that_another_got_to() {
    let archive = Archive::with_history();
    let samples = |name: &str| archive.get(&format!("/api/v1/pvs/{name}/samples?from=2026-01-01&format=csv"));
    let before = samples("T:LONG").text();
    assert!(before.lines().count() > 2, "{before}");
    let plan = post(&archive, "/api/v1/remove?plan=true", THREE).json();
    assert_eq!(plan["changes"], 3);
    assert_eq!(samples("T:LONG").text(), before);
    post(&archive, "/api/v1/remove", r#"{"pvs":["T:LONG","T:BYTE","T:DOUBLE"],"data":"delete"}"#);
    assert_eq!(samples("T:LONG").status, 404);
    let order = newest(&archive);
    assert_eq!(order["right"], "administer");
    assert_eq!(post(&archive, "/api/v1/restore?plan=true", r#"{"pvs":["T:BYTE"]}"#).json()["changes"], 1);
    assert_eq!(post(&archive, "/api/v1/restore", r#"{"pvs":["T:BYTE"]}"#).status, 200);
    let undone = post(&archive, &format!("/api/v1/undo/{}", order["number"]), "").json();
    assert_eq!((&undone["changes"], &undone["refused"]), (&json!(2), &json!(1)));
    let refused = undone["pvs"].as_array().unwrap().iter().find(|row| row["status"] == "refused").unwrap();
    assert_eq!(refused["message"], "T:BYTE was changed again since");
    assert_eq!(samples("T:LONG").text(), before);
}

#[test]
fn other_settings_are_said_beforehand() {
    let archive = Archive::with_history();
    let body = r#"{"pvs":["T:NEW",{"name":"T:LONG","deadband":0.5},"T:BYTE"]}"#;
    let plan = post(&archive, "/api/v1/pvs?plan=true", body).json();
    let statuses: Vec<&str> =
        plan["pvs"].as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!((statuses, &plan["changes"]), (vec!["added", "changed", "already_archived"], &json!(2)));
    assert_eq!(archive.get("/api/v1/pvs/T:NEW").status, 404);
    let done = post(&archive, "/api/v1/pvs", body).json();
    assert_eq!((&done["pvs"], &done["changes"]), (&plan["pvs"], &plan["changes"]));
}

fn ask(archive: &Archive, rights: Rights) -> Ask {
    let lease = Arc::new(Budget::new(64 << 20).lease());
    Ask::new(Arc::clone(&archive.service), Principal::here("somebody"), lease, || false).with_rights(rights)
}

#[test]
fn who_may_give_an_order_may_take_it_back_and_nobody_else() {
    let archive = Archive::with_history();
    let all = ask(&archive, Rights::everywhere(Some(Right::Administer)));
    let pvs: Vec<PvId> = ["T:LONG", "T:BYTE"].iter().map(|name| all.pv(name).unwrap().id).collect();
    all.resume(&pvs).unwrap();
    all.pause(&pvs).unwrap();
    let paused = all.undoable().unwrap()[0].number;
    all.remove(&pvs, DataFate::Keep).unwrap();
    let removed = all.undoable().unwrap()[0].number;
    let numbers = |ask: &Ask| -> Vec<u64> { ask.undoable().unwrap().iter().map(|order| order.number).collect() };
    let refused = |ask: &Ask, number: u64| ask.undo(number).unwrap_err().code();
    let audit = || all.audit(&AuditWanted::newest(1)).unwrap().lines[0].number;
    let before = audit();

    let reader = ask(&archive, Rights::everywhere(Some(Right::Read)));
    assert!(numbers(&reader).contains(&removed));
    assert_eq!((refused(&reader, removed), refused(&reader, paused)), (Code::RightMissing, Code::RightMissing));
    let operator = ask(&archive, Rights::everywhere(Some(Right::Operate)));
    assert_eq!(refused(&operator, removed), Code::RightMissing);
    // Who does not see one of its PVs knows nothing of the order.
    let one = |right| Rights::everywhere(None).or_by_name(move |name| (name == "T:LONG").then_some(right));
    let few = ask(&archive, one(Right::Administer));
    assert!(numbers(&few).is_empty());
    assert_eq!((refused(&few, removed), refused(&few, 99)), (Code::UnknownPv, Code::UnknownPv));
    assert_eq!(audit(), before, "nothing was changed by who may not");

    all.undo(removed).unwrap();
    assert_eq!(operator.undo(paused).unwrap().steps.len(), 2);
    assert!(operator.pv("T:LONG").is_ok());
}

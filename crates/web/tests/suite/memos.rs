//! Notes and views over HTTP: written, found, changed, taken away, brought to another archive, bounded, and never more than text.

use std::sync::Arc;

use archive::{MemoKind, MemoText, Principal, PvName, Right};
use serde_json::{Value, json};
use service::{Ask, Budget, Code, MemosWanted, Rights};

use crate::served::{Answer, Archive, Connection};

fn send(archive: &Archive, method: &str, target: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let headers = [("content-type", "application/json"), ("content-length", &*body.len().to_string())];
    Connection::to(archive.address).ask(method, target, &headers, body.as_bytes())
}

fn post(archive: &Archive, target: &str, body: &Value) -> Answer {
    archive.post(target, "application/json", body.to_string().as_bytes())
}

/// The numbers that a list has.
fn numbers(archive: &Archive, target: &str) -> Vec<u64> {
    let kind = if target.contains("/notes") { "notes" } else { "views" };
    let answer = archive.get(target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    answer.json()[kind].as_array().unwrap().iter().map(|memo| memo["number"].as_u64().unwrap()).collect()
}

#[test]
fn notes_are_found_by_words_pvs_and_times_and_can_be_changed_and_taken_away() {
    let archive = Archive::with_history();
    let notes = json!({ "notes": [
        { "text": "Beam lost after the water alarm", "pvs": ["T:LONG"], "from": "2026-01-01T08:00:00Z" },
        { "text": "shutdown", "from": "2026-01-02T00:00:00Z", "to": "2026-01-05T00:00:00Z" },
        { "text": "whatever" },
    ] });
    let kept = post(&archive, "/api/v1/notes", &notes).json();
    assert_eq!(kept["notes"].as_array().unwrap().len(), 3);
    for (query, expected) in [
        ("", vec![3, 2, 1]),
        ("?match=WATER%20beam", vec![1]),
        ("?match=beam%20wine", vec![]),
        ("?match=t%3Along", vec![1]),
        ("?pv=T:LONG", vec![1]),
        ("?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", vec![1]),
        ("?from=2026-01-04T00:00:00Z&to=2026-01-09T00:00:00Z", vec![2]),
        ("?from=2026-01-05T00:00:00Z&to=2026-01-09T00:00:00Z", vec![]),
        ("?limit=2", vec![3, 2]),
        ("?before=2", vec![1]),
    ] {
        assert_eq!(numbers(&archive, &format!("/api/v1/notes{query}")), expected, "{query}");
    }
    let changed = send(&archive, "PUT", "/api/v1/notes/3", &json!({ "text": "said better" })).json();
    assert_eq!((&changed["text"], changed["changed"].is_string()), (&json!("said better"), true));
    assert_eq!(archive.ask("DELETE", "/api/v1/notes/2").json()["text"], "shutdown");
    assert_eq!(numbers(&archive, "/api/v1/notes"), [3, 1]);
    let again = archive.ask("DELETE", "/api/v1/notes/2");
    assert_eq!(
        (again.status, again.json()["error"]["message"].clone()),
        (404, json!("there is no note with the number 2"))
    );
    let audit = archive.get("/api/v1/audit?limit=2").json();
    assert_eq!(audit["audit"][0]["detail"], "note 2: shutdown");
    assert_eq!(
        (&audit["audit"][0]["action"], &audit["audit"][1]["action"]),
        (&json!("note_removed"), &json!("note_written"))
    );
    // A number is not used again.
    assert_eq!(post(&archive, "/api/v1/notes", &json!({ "text": "new" })).json()["notes"][0]["number"], 4);
}

#[test]
fn views_have_names_in_folders_and_short_links_that_lead_to_the_page_alone() {
    let archive = Archive::with_history();
    let save = |name: &str, query: &str| post(&archive, "/api/v1/views", &json!({ "name": name, "query": query }));
    let kept = save("operation/trip", "pv=T:LONG&from=-8h").json();
    assert_eq!(kept["views"][0]["link"], "/v/1");
    save("operation/night/water", "pv=T:BYTE");
    save("operations", "pv=T:BYTE");
    assert_eq!(numbers(&archive, "/api/v1/views?folder=operation"), [2, 1]);
    assert_eq!(numbers(&archive, "/api/v1/views?name=operations"), [3]);
    let link = |number: u64| archive.get(&format!("/v/{number}")).header("location").map(str::to_owned);
    assert_eq!(link(1).as_deref(), Some("/?pv=T:LONG&from=-8h"));
    // The same name is the same view.
    assert_eq!(save("operation/trip", "pv=T:BYTE").json()["views"][0]["number"], 1);
    assert_eq!(link(1).as_deref(), Some("/?pv=T:BYTE"));
    let taken = send(&archive, "PUT", "/api/v1/views/2", &json!({ "name": "operations", "query": "pv=A" }));
    assert_eq!((taken.status, taken.json()["error"]["code"].clone()), (409, json!("conflict")));
    // Nothing that is saved leads anywhere else, or into the headers.
    save("evil", "//evil.example/\"><script>\\");
    assert_eq!(link(4).as_deref(), Some("/?//evil.example/%22%3E%3Cscript%3E%5C"));
    assert_eq!(save("evil", "a\r\nSet-Cookie: x=y").status, 400);
    assert_eq!(archive.get("/v/99").status, 404);
    for name in ["", "a//b", "/a", "a/", "..", "a/../b", "a\nb"] {
        assert_eq!(save(name, "pv=A").status, 400, "{name:?}");
    }
    assert_eq!(archive.ask("DELETE", "/api/v1/views/1").status, 200);
    assert_eq!(save("operation/trip", "pv=A").json()["views"][0]["number"], 5, "a name is free again");
}

#[test]
fn an_export_is_an_import_elsewhere_and_keeps_who_wrote_it() {
    let (one, other) = (Archive::with_history(), Archive::with_history());
    post(
        &one,
        "/api/v1/notes?by=jo",
        &json!({ "text": "it tripped", "pvs": ["T:LONG"], "from": "2026-01-01T08:00:00Z" }),
    );
    post(&one, "/api/v1/views", &json!({ "name": "a/b", "query": "pv=T:LONG" }));
    for kind in ["notes", "views"] {
        let target = format!("/api/v1/{kind}");
        let exported = one.get(&target).json();
        assert_eq!(post(&other, &target, &exported).status, 200);
        let brought = other.get(&target).json();
        for member in ["text", "pvs", "from", "to"] {
            assert_eq!(brought[kind][0][member], exported[kind][0][member], "{member}");
        }
        let told = |answer: &Value, member: &str| answer[kind][0][member].as_str().unwrap().to_owned();
        assert_eq!(told(&brought, "origin"), format!("{}, {}", told(&exported, "by"), told(&exported, "time")));
        // Brought on, it keeps whom it came from first.
        let third = Archive::with_history();
        post(&third, &target, &brought);
        assert_eq!(told(&third.get(&target).json(), "origin"), told(&brought, "origin"));
    }
}

#[test]
fn what_is_too_long_is_refused_and_scripts_are_text() {
    let archive = Archive::with_history();
    let script = "<script>alert(1)</script> \u{1b}]0;x\u{7} ${jndi:ldap://x} '; drop table pvs; --";
    let kept = post(&archive, "/api/v1/notes", &json!({ "text": script }));
    assert_eq!(
        (kept.header("content-type"), kept.json()["notes"][0]["text"].clone()),
        (Some("application/json"), json!(script))
    );
    assert_eq!(archive.get("/api/v1/notes/1").json()["text"], script);
    let refused = |target: &str, body: &Value, expected: u16| {
        let answer = post(&archive, target, body);
        let error = answer.json()["error"].clone();
        assert_eq!(answer.status, expected, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        error["message"].as_str().unwrap().to_owned()
    };
    let long = refused("/api/v1/notes", &json!({ "text": "x".repeat(65_537) }), 413);
    assert_eq!(long, "the text, in bytes, has 65537, at most 65536 are taken");
    refused("/api/v1/notes", &json!({ "text": "x".repeat(100 << 20) }), 413);
    refused("/api/v1/notes", &json!({ "text": "x", "pvs": vec!["A"; 1001] }), 413);
    refused("/api/v1/notes", &json!({ "notes": vec![json!({ "text": "x" }); 10_001] }), 413);
    refused("/api/v1/views", &json!({ "name": "x".repeat(256), "query": "" }), 413);
    for body in [
        json!({ "text": " " }),
        json!({ "text": "x", "name": "y" }),
        json!({ "text": "x", "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z" }),
        json!({ "text": "x", "to": "2026-01-01T00:00:00Z" }),
        json!({ "text": "x", "from": "soon" }),
        json!({ "text": "x", "pvs": ["a b"] }),
        json!({ "text": 7 }),
        json!({ "text": "x", "colour": "red" }),
        json!([]),
    ] {
        refused("/api/v1/notes", &body, 400);
    }
    // Of several of which one is wrong none is written.
    refused("/api/v1/notes", &json!({ "notes": [{ "text": "right" }, { "text": "" }] }), 400);
    assert_eq!(numbers(&archive, "/api/v1/notes"), [1]);
}

fn ask(archive: &Archive, who: &'static str, rights: Rights) -> Ask {
    let lease = Arc::new(Budget::new(64 << 20).lease());
    Ask::new(Arc::clone(&archive.service), Principal::here(who), lease, || false).with_rights(rights)
}

fn note(text: &str, pvs: &[&str]) -> MemoText {
    MemoText {
        kind: MemoKind::Note,
        name: String::new(),
        text: text.to_owned(),
        query: String::new(),
        pvs: pvs.iter().map(|pv| PvName::new(pv).unwrap()).collect(),
        from: None,
        to: None,
        origin: String::new(),
    }
}

#[test]
fn who_does_not_see_a_pv_sees_no_note_about_it_and_changes_none_of_others() {
    let archive = Archive::with_history();
    let all = ask(&archive, "boss", Rights::everywhere(Some(Right::Administer)));
    all.write_memos(vec![note("of all", &[]), note("of both", &["T:LONG", "T:DOUBLE"]), note("of one", &["T:LONG"])])
        .unwrap();
    let one = |right| Rights::everywhere(None).or_by_name(move |name| (name == "T:LONG").then_some(right));
    let few = ask(&archive, "few", one(Right::Operate));
    let texts = |ask: &Ask| -> Vec<String> {
        ask.memos(&MemosWanted::all(MemoKind::Note)).unwrap().into_iter().map(|memo| memo.text.text).collect()
    };
    assert_eq!((texts(&all).len(), texts(&few)), (3, vec!["of one".to_owned()]));
    let code = |refused: service::Refusal| refused.code();
    assert_eq!(code(few.memo(MemoKind::Note, 2).unwrap_err()), Code::UnknownPv);
    assert_eq!(code(few.remove_memo(MemoKind::Note, 2).unwrap_err()), Code::UnknownPv);
    assert_eq!(code(few.remove_memo(MemoKind::Note, 3).unwrap_err()), Code::RightMissing);
    assert_eq!(code(few.change_memo(3, note("mine now", &["T:LONG"])).unwrap_err()), Code::RightMissing);
    assert_eq!(code(few.write_memos(vec![note("of all", &[])]).unwrap_err()), Code::RightMissing);
    assert_eq!(code(few.write_memos(vec![note("of both", &["T:DOUBLE"])]).unwrap_err()), Code::RightMissing);
    let own = few.write_memos(vec![note("my own", &["T:LONG"])]).unwrap().remove(0);
    let reader = ask(&archive, "reader", Rights::everywhere(Some(Right::Read)));
    assert_eq!(texts(&reader).len(), 4);
    assert_eq!(code(reader.write_memos(vec![note("x", &["T:LONG"])]).unwrap_err()), Code::RightMissing);
    few.change_memo(own.number, note("my own, better", &["T:LONG"])).unwrap();
    all.remove_memo(MemoKind::Note, own.number).unwrap();
}

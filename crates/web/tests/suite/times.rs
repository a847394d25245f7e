//! Times in URLs are read as the list of cases says that page, command line and Python read, too.

use crate::served;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sample::Timestamp;
use serde_json::Value;
use served::{Archive, clock};

fn cases() -> Value {
    serde_json::from_str(include_str!("../../../../testdata/times.json")).unwrap()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// What a text means lies between what it means before and after the server has read it.
#[test]
fn moments_in_urls_are_read_as_the_list_of_cases_says() {
    let archive = Archive::with_history();
    let cases = cases();
    for case in cases["moments"].as_array().unwrap().iter().filter(|case| case["zone"].is_null()) {
        let text = case["text"].as_str().unwrap();
        if text.is_empty() {
            continue; // a parameter without value counts as absent
        }
        let before = Timestamp::typed(text, clock());
        let answer = archive.get(&format!("/api/v1/at?pv=T:DOUBLE&time={}", encoded(text)));
        assert_eq!(answer.status, if before.is_ok() { 200 } else { 400 }, "{text}: {}", answer.text());
        if let Ok(before) = before {
            let json: Value = serde_json::from_str(&answer.text()).unwrap();
            let read = Timestamp::parse(json["time"].as_str().unwrap()).unwrap();
            let after = Timestamp::typed(text, clock()).unwrap();
            assert!((before..=after).contains(&read), "{text}: {read}");
            let is_fixed = text.starts_with("20") || text.starts_with("17");
            assert!(!is_fixed || Timestamp::parse(case["is"].as_str().unwrap()) == Ok(before), "{case}");
        }
    }
}

#[test]
fn ranges_in_urls_are_read_as_the_list_of_cases_says() {
    let archive = Archive::with_history();
    for case in cases()["ranges"].as_array().unwrap() {
        let end = |name: &str| case[name].as_str().map(|text| format!("&{name}={}", encoded(text))).unwrap_or_default();
        let target = format!("/api/v1/pvs/T:DOUBLE/gaps?{}{}", end("from"), end("to"));
        let answer = archive.get(&target);
        assert_eq!(answer.status, if case["is"].is_null() { 400 } else { 200 }, "{target}: {}", answer.text());
    }
}

/// What a form says counts like the URL, and JSON is taken for it whatever it is called.
#[test]
fn a_form_is_asked_for_its_own_time_and_range() {
    let archive = Archive::with_history();
    let form = "application/x-www-form-urlencoded";
    let at = |target: &str, kind: &str, body: &str| archive.post(target, kind, body.as_bytes()).text();
    let then = at("/retrieval/data/getDataAtTime?pv=T:DOUBLE&at=2026-01-01T00:00:30Z", form, "");
    assert!(then.contains("\"secs\""), "{then}");
    assert_eq!(at("/retrieval/data/getDataAtTime", form, "pv=T:DOUBLE&at=2026-01-01T00%3A00%3A30Z"), then);
    assert_eq!(at("/retrieval/data/getDataAtTime?at=2026-01-01T00:00:30Z", form, "[\"T:DOUBLE\"]"), then);
    let bare = served::Connection::to(archive.address);
    let mut bare = bare;
    let bare = bare.ask("POST", "/retrieval/data/getDataAtTime?at=2026-01-01T00:00:30Z", &[], b"[\"T:DOUBLE\"]");
    assert_eq!(bare.text(), then);

    // A period reaches another 31 days back, as the files of a month do.
    let later = "/retrieval/data/getDataAtTime?pv=T:DOUBLE&at=2026-03-01T00:00:00Z&searchPeriod=";
    for (period, is_found) in [("P1M", true), ("P30D", true), ("P1W", false), ("p1d", false), ("P1Y", true)] {
        let found = at(&format!("{later}{period}"), form, "");
        assert_eq!(found.contains("\"secs\""), is_found, "{period}: {found}");
    }
    assert_eq!(archive.post(&format!("{later}PT1H"), form, b"").status, 400);

    let range = "from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:20Z";
    let listed = archive.get(&format!("/retrieval/data/getDataForPVs.json?pv=T:DOUBLE&{range}")).text();
    assert!(listed.contains("\"secs\""), "{listed}");
    assert_eq!(at("/retrieval/data/getDataForPVs.json", form, &format!("pv=T:DOUBLE&{range}")), listed);
}

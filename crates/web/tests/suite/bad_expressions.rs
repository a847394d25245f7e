//! Expressions that are wrong, too long or too deep, or that divide by zero, and names that nobody has: each URL that takes them says what is
//! wrong, where, and what may have been meant, after little work.

use crate::served::Archive;

use serde_json::Value;

const RANGE: &str = "from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z";
/// Whatever takes an expression.
const TAKERS: [&str; 5] = ["formula", "stats", "when", "histogram", "fft"];

/// What is said to an expression in a body.
fn said(archive: &Archive, taker: &str, expression: &[u8]) -> (u16, Value) {
    let answer = archive.post(&format!("/api/v1/{taker}?{RANGE}"), "text/plain", expression);
    (answer.status, answer.json())
}

#[test]
fn what_does_not_parse_says_where_and_why() {
    let archive = Archive::with_history();
    for (expression, why, character) in [
        ("T:DOUBLE +", "the end was found", 11),
        ("(T:DOUBLE", "the end was found", 10),
        ("T:DOUBLE $ 1", "means nothing here", 10),
        ("2 * fumble(T:DOUBLE)", "there is no function", 5),
        ("2 * derivative()", "takes one PV, not 0", 5),
        ("", "expression", 0),
    ] {
        for taker in TAKERS {
            let (status, answer) = said(&archive, taker, expression.as_bytes());
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert_eq!(
                (status, &answer["error"]["code"]),
                (400, &"bad_request".into()),
                "{taker} {expression}: {message}"
            );
            assert!(message.contains(why), "{taker} {expression}: {message}");
            let place = format!("at character {character}");
            assert!(character == 0 || message.ends_with(&place), "{taker} {expression}: {message}");
        }
    }
    for taker in TAKERS {
        let (status, answer) = said(&archive, taker, b"\xff\xfe");
        assert_eq!(status, 400, "{answer}");
        assert_eq!(said(&archive, taker, b"{\"formula\": \"T:DOUBLE\"}").0, 400);
    }
}

#[test]
fn a_million_terms_and_deep_nests_are_refused_before_any_work() {
    let archive = Archive::with_history();
    let long = format!("T:DOUBLE{}", "+1".repeat(1_000_000));
    let deep = format!("{}T:DOUBLE{}", "(".repeat(8000), ")".repeat(8000));
    let signs = format!("{}T:DOUBLE", "-".repeat(16_000));
    let wide = format!("T:DOUBLE{}", "+1".repeat(8000));
    for expression in [long, deep, signs, wide] {
        for taker in TAKERS {
            let (status, answer) = said(&archive, taker, expression.as_bytes());
            assert_eq!((status, &answer["error"]["code"]), (413, &"too_large".into()), "{taker} {answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.len() < 200 && message.contains("at character"), "{message}");
        }
    }
}

#[test]
fn a_division_by_zero_is_no_number_and_no_error() {
    let archive = Archive::with_history();
    for taker in ["formula", "stats", "histogram"] {
        for expression in ["T:DOUBLE / 0", "0 / 0 * T:DOUBLE", "T:DOUBLE / (T:DOUBLE - T:DOUBLE)"] {
            let (status, answer) = said(&archive, taker, expression.as_bytes());
            assert_eq!(status, 200, "{taker} {expression}: {answer}");
        }
    }
    let (_, answer) = said(&archive, "formula", b"0 / 0 * T:DOUBLE");
    let steps = answer["steps"].as_array().unwrap();
    assert!(!steps.is_empty() && steps.iter().all(|step| step["value"].is_null()), "{answer}");
}

#[test]
fn a_wrong_name_is_told_with_those_that_are_near() {
    let archive = Archive::with_history();
    let hints = |answer: &Value| answer["error"]["hint"].as_str().unwrap_or_default().contains("did you mean T:DOUBLE");
    for taker in TAKERS {
        let (status, answer) = said(&archive, taker, b"T:DOUBEL > 1");
        assert!(status == 404 && hints(&answer), "{taker}: {answer}");
    }
    let answer = archive.get(&format!("/api/v1/view?pv=T:DOUBEL&{RANGE}"));
    assert!(answer.status == 404 && hints(&answer.json()), "{}", answer.text());
    // Of many that are compared those are told that nobody knows.
    let answer = archive.get("/api/v1/diff?pv=T:DOUBEL&pv=T:DOUBLE&before=2026-01-01").json();
    assert_eq!(answer["unknown"], Value::from(vec!["T:DOUBEL"]));
}

/// What is sent comes back short.
#[test]
fn long_values_are_not_told_whole() {
    let archive = Archive::with_history();
    let many = vec!["x"; 3000].join(",");
    let answer = archive.get(&format!("/api/v1/stats?expression=T:DOUBLE&{RANGE}&percentiles={many}"));
    assert!(answer.status == 400 && answer.body.len() < 1500, "{} bytes", answer.body.len());
    let answer = archive.get(&format!("/api/v1/formula?expression=shift(T:DOUBLE,1e300%20s)&{RANGE}"));
    assert!(answer.status == 400 && answer.body.len() < 200, "{}", answer.text());
}

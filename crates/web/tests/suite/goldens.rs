//! Every answer as a text: `testdata/http/*.txt` hold requests and, below a line of dashes, what the server says to them.
//! `UPDATE_GOLDEN=1 cargo test -p web` writes the answers anew; `git diff` then shows what changed.

use crate::served;

use std::{
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;
use sample::Timestamp;
use served::{Answer, Archive, Connection};

const LINE: &str = "----\n";

#[test]
fn answers_are_those_that_are_written_down() {
    let archive = Archive::with_history();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/http");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut differing = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (request, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let answered = ask(&archive, request);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, format!("{request}{LINE}{answered}")).unwrap();
        } else if answered != expected {
            differing.push(format!("{}\n--- expected\n{expected}\n--- answered\n{answered}", file.display()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

/// Sends the request that a file holds: lines of comment, `METHOD TARGET`, headers, an empty line, the body.
fn ask(archive: &Archive, request: &str) -> String {
    let request: String =
        request.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let (head, body) = request.split_once("\n\n").unwrap_or((request.trim_end(), ""));
    let mut lines = head.lines();
    let (method, target) = lines.next().and_then(|line| line.split_once(' ')).expect("a request begins with its line");
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let answer = Connection::to(archive.address).ask(method, target, &headers, body.trim_end().as_bytes());
    shown(archive, &answer)
}

/// Status, the headers that matter and the body, without what differs from run to run.
fn shown(archive: &Archive, answer: &Answer) -> String {
    assert!(answer.whole, "the answer broke off: {answer:?}");
    let mut shown = format!("{}\n", answer.status);
    for name in ["content-type", "content-encoding", "allow", "cache-control"] {
        if let Some(value) = answer.header(name) {
            shown.push_str(&format!("{name}: {value}\n"));
        }
    }
    shown.push('\n');
    let body = match std::str::from_utf8(&answer.body) {
        Ok(text) if answer.header("content-type") != Some("application/x-protobuf") => text.to_owned(),
        _ => answer.body.escape_ascii().to_string().replace("\\n", "\\n\n"),
    };
    shown.push_str(&without_now(&body, archive.started));
    // Requests are numbered in the order in which connections come, behind the time of the start.
    let request = Regex::new(r#""request":"[0-9a-f]+-[0-9]+""#).expect("it is one");
    let shown = request.replace_all(&shown, r#""request":"REQUEST""#);
    shown.replace(&archive.address.to_string(), "ADDRESS").replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// Times of this run become `NOW`.
fn without_now(body: &str, started: Timestamp) -> String {
    const TIME: &str = "2026-11-21T00:00:00.000000000Z";
    let mut kept = String::new();
    let mut rest = body;
    while let Some(character) = rest.chars().next() {
        let time = rest.get(..TIME.len()).filter(|text| text.ends_with('Z')).map(Timestamp::parse);
        if let Some(Ok(time)) = time
            && time >= started
        {
            kept.push_str("NOW");
            rest = &rest[TIME.len()..];
        } else {
            kept.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    kept
}

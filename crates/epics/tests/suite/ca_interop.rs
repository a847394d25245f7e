//! Compares the client with libca on a real IOC; skipped, with the reason, where the EPICS libraries for Python are not installed.
//!
//! The Python is `PVARK_PYTHON`, or that of the repository's own environment, or `python3`.

use std::{env, path::Path, process::Command};

/// What the script exits with where it has nothing to compare with.
const SKIPPED: i32 = 77;

#[test]
fn every_value_stamp_alarm_limit_and_label_is_that_of_libca() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = here.join("../../.venv/bin/python");
    let python = env::var_os("PVARK_PYTHON").unwrap_or_else(|| match own.exists() {
        true => own.into(),
        false => "python3".into(),
    });
    let test = env::current_exe().expect("this program has a path");
    let camonitor = test.ancestors().nth(2).expect("tests lie in target/*/deps").join("examples/camonitor");
    if !camonitor.exists() {
        return eprintln!("skipped: the example camonitor is built by `cargo test` only without `--test`");
    }
    let script = here.join("tests/ca_interop.py");
    let output = match Command::new(&python).arg(script).arg(camonitor).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: {} cannot be run ({error})", python.display()),
    };
    let (words, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => eprintln!("{words}"),
        Some(SKIPPED) => eprintln!("skipped: {} has no EPICS libraries ({})", python.display(), words.trim()),
        _ => panic!("{words}{errors}"),
    }
}

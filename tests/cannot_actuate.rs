//! The program cannot write to an IOC: the encoders of puts, which it could not do without, are not in it.

use std::{fs, path::Path, process::Command};

/// Texts that the encoders of puts carry with them, one for each protocol.
const MARKS: [&str; 2] = ["pvark-ca-put-encoder", "pvark-pva-put-encoder"];

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo, which runs this test, can be run");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn holds(program: &Path, mark: &str) -> bool {
    let bytes = fs::read(program).expect("the program was built");
    bytes.windows(mark.len()).any(|window| window == mark.as_bytes())
}

#[test]
fn the_program_asks_neither_for_the_feature_that_writes_nor_for_servers() {
    let tree = cargo(&["tree", "--package", "pvark", "--edges", "features,normal", "--invert", "epics", "--offline"]);
    assert!(tree.contains("epics v"), "cargo tree was not understood: {tree}");
    for feature in ["put", "server"] {
        assert!(
            !tree.contains(&format!("feature \"{feature}\"")),
            "something in the program asks for {feature}: {tree}"
        );
    }
}

#[test]
fn the_program_holds_no_encoder_of_puts_where_a_program_that_writes_does() {
    let program = Path::new(env!("CARGO_BIN_EXE_pvark"));
    for mark in MARKS {
        assert!(!holds(program, mark), "{} holds {mark}", program.display());
    }
    // Without this, the test would pass as well if the marks were gone from the encoders.
    cargo(&["build", "--package", "epics", "--features", "put", "--example", "put", "--offline"]);
    let writer = program.with_file_name("examples").join("put");
    for mark in MARKS {
        assert!(holds(&writer, mark), "{} writes without {mark}", writer.display());
    }
}

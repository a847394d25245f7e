//! What ARCHITECTURE.md says is checked as far as a program can: the crates know each other exactly as it draws them, the files and
//! functions that it names exist, and the state machines of the protocols own no socket.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Which crate may import which of ours. A new edge is a decision record in docs/decisions.
const EDGES: [(&str, &[&str]); 21] = [
    ("sample", &[]),
    ("shared", &[]),
    ("s3", &["shared"]),
    ("cql", &["shared"]),
    ("cluster", &["archive", "sample", "shared"]),
    ("archive", &["pvdata", "sample"]),
    ("access", &["archive", "sample"]),
    ("pvdata", &[]),
    ("epics", &["pvdata"]),
    ("store", &["archive", "pvdata", "sample", "shared"]),
    ("foreign", &["archive"]),
    ("aa", &["archive", "foreign", "pvdata", "sample"]),
    ("chanarch", &["archive", "foreign"]),
    ("query", &["archive", "sample"]),
    ("analysis", &["archive", "query", "sample"]),
    ("acquire", &["archive", "epics", "sample"]),
    ("remote", &["archive", "sample"]),
    ("service", &["access", "analysis", "archive", "query", "sample"]),
    ("web", &["aa", "access", "analysis", "archive", "pvdata", "query", "sample", "service"]),
    (
        "pvark",
        &[
            "aa", "access", "acquire", "archive", "chanarch", "cluster", "cql", "epics", "foreign", "query", "remote",
            "s3", "sample", "shared", "web", "service", "store",
        ],
    ),
    (
        "lab",
        &[
            "aa", "access", "acquire", "analysis", "archive", "epics", "pvdata", "query", "sample", "shared", "web",
            "service", "store",
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn crates_know_each_other_only_as_drawn() {
    let metadata = MetadataCommand::new().no_deps().current_dir(root()).exec().expect("cargo describes the workspace");
    let ours: BTreeSet<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let allowed: BTreeMap<&str, &[&str]> = EDGES.into();
    assert_eq!(ours, allowed.keys().map(|name| (*name).to_owned()).collect(), "a crate that the picture does not show");

    for package in &metadata.packages {
        let name = package.name.as_str();
        for dependency in package.dependencies.iter().filter(|d| ours.contains(&d.name)) {
            let drawn = allowed[name].contains(&dependency.name.as_str());
            // Tests may look further down the flow, but nothing may ever need the laboratory.
            let tolerated = dependency.kind == DependencyKind::Development && dependency.name != "lab";
            assert!(drawn || tolerated, "{name} imports {}, which ARCHITECTURE.md does not draw", dependency.name);
        }
    }
}

/// All crates of ours that one knows, by whatever way.
fn known_to<'a>(name: &'a str, edges: &BTreeMap<&'a str, &'a [&'a str]>, known: &mut BTreeSet<&'a str>) {
    for other in edges[name] {
        if known.insert(other) {
            known_to(other, edges, known);
        }
    }
}

#[test]
fn those_who_ask_and_order_know_neither_the_store_nor_the_network() {
    let edges: BTreeMap<&str, &[&str]> = EDGES.into();
    for name in ["query", "service", "web"] {
        let mut known = BTreeSet::new();
        known_to(name, &edges, &mut known);
        let behind: Vec<&str> = ["store", "acquire", "epics"].into_iter().filter(|back| known.contains(back)).collect();
        assert_eq!(behind, Vec::<&str>::new(), "{name} knows what stands behind it by name");
    }
}

#[test]
fn the_files_that_the_architecture_follows_a_sample_through_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let named: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|word| word.contains('/') && word.contains('.'))
        .collect();
    assert!(named.len() >= 8, "the table of files in ARCHITECTURE.md was not understood: {named:?}");
    for file in named {
        assert!(root().join(file).is_file(), "ARCHITECTURE.md names {file}, which does not exist");
    }
}

/// The words in backticks of the table's second column, row by row.
fn rows_of_the_table(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with('|'));
    rows.filter_map(|line| line.split('|').nth(2)).map(|cell| cell.split('`').skip(1).step_by(2).collect()).collect()
}

/// What is wrong with the functions of a row: each is to be in one of the row's files.
fn functions_that_are_not_there(row: &[&str]) -> Vec<String> {
    let (files, functions): (Vec<&str>, Vec<&str>) = row.iter().partition(|word| word.contains('/'));
    let sources: Vec<String> = files.iter().filter_map(|file| fs::read_to_string(root().join(file)).ok()).collect();
    let is_there = |function: &str| {
        let (plain, generic) = (format!("fn {function}("), format!("fn {function}<"));
        sources.iter().any(|source| source.contains(&plain) || source.contains(&generic))
    };
    functions.iter().filter(|name| !is_there(name)).map(|name| format!("{files:?} have no fn {name}")).collect()
}

#[test]
fn the_functions_that_the_architecture_names_are_in_the_files_beside_them() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let rows = rows_of_the_table(&text);
    let functions = rows.iter().flatten().filter(|word| !word.contains('/')).count();
    assert!(functions >= 10, "the table of functions in ARCHITECTURE.md was not understood: {rows:?}");
    let missing: Vec<String> = rows.iter().flat_map(|row| functions_that_are_not_there(row)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// The source files below a folder.
fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { sources_below(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn the_state_machines_of_the_protocols_know_no_socket() {
    let source = root().join("crates/epics/src");
    let below: Vec<PathBuf> = ["ca", "pva"].iter().flat_map(|protocol| sources_below(&source.join(protocol))).collect();
    assert!(below.len() > 30, "the files of the protocols were not found: {below:?}");
    // The server's file is a front door as well: it says where the one with the sockets is.
    let doors = ["ca.rs", "pva.rs", "ca/server.rs", "pva/server.rs"].map(|door| source.join(door));
    for file in below.iter().chain(&doors) {
        let text = fs::read_to_string(file).expect("sources are UTF-8");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|line| !(doors.contains(file) && line.starts_with("pub use crate::"))) {
            let socket = ["crate::net", "tokio", "mio::", "socket2", "UdpSocket", "TcpStream", "TcpListener"];
            let found = socket.iter().find(|word| line.contains(**word));
            assert_eq!(found, None, "{} knows the network: {line}", file.display());
        }
    }
}

#[test]
fn what_nodes_share_knows_no_network_and_no_clock() {
    let sources = sources_below(&root().join("crates/shared/src"));
    assert!(sources.len() > 15, "the files of shared were not found: {sources:?}");
    for file in sources {
        let text = fs::read_to_string(&file).expect("sources are UTF-8");
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let outside = ["tokio", "std::net", "Instant", "SystemTime"];
            let found = outside.iter().find(|word| line.contains(**word));
            assert_eq!(found, None, "{}: {line}", file.display());
        }
    }
}

//! ARCHITECTURE.md cannot lie: the crates know each other exactly as it draws them, and the files it names exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Which crate may import which of ours. A new edge is a decision record in docs/decisions.
const EDGES: [(&str, &[&str]); 11] = [
    ("sample", &[]),
    ("pvdata", &[]),
    ("epics", &["pvdata"]),
    ("store", &["pvdata", "sample"]),
    ("foreign", &["sample"]),
    ("plainpb", &["pvdata", "sample"]),
    ("query", &["sample", "store"]),
    ("acquire", &["epics", "sample"]),
    ("serve", &["acquire", "plainpb", "pvdata", "query", "sample", "store"]),
    ("pvark", &["acquire", "epics", "foreign", "plainpb", "query", "sample", "serve", "store"]),
    ("lab", &["acquire", "epics", "plainpb", "pvdata", "query", "sample", "serve", "store"]),
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

#[test]
fn the_files_that_the_architecture_follows_a_sample_through_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
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

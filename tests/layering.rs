//! ARCHITECTURE.md cannot lie: the crates know each other exactly as it draws them, rooms within a crate know only those below, and
//! the files it names exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use cargo_metadata::{DependencyKind, MetadataCommand};
use syn::visit::Visit;

/// Which crate may import which of ours. A new edge is a decision record in docs/decisions.
const EDGES: [(&str, &[&str]); 12] = [
    ("sample", &[]),
    ("archive", &["sample"]),
    ("pvdata", &[]),
    ("epics", &["pvdata"]),
    ("store", &["archive", "pvdata", "sample"]),
    ("foreign", &["archive"]),
    ("plainpb", &["archive", "pvdata", "sample"]),
    ("query", &["archive", "sample", "store"]),
    ("acquire", &["archive", "epics", "sample"]),
    ("serve", &["acquire", "archive", "plainpb", "pvdata", "query", "sample", "store"]),
    ("pvark", &["acquire", "archive", "epics", "foreign", "plainpb", "query", "sample", "serve", "store"]),
    ("lab", &["acquire", "archive", "epics", "pvdata", "query", "sample", "serve", "store"]),
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

/// The rooms of a crate (folders and files of `src`) from the lowest to the highest. Rooms of one tier do not know each other.
type Tiers = &'static [&'static [&'static str]];

const STORE: Tiers = &[
    &["bytes", "cache", "config", "error", "facts", "free_lists"],
    &["disk"],
    &["codec", "health"],
    &["block"],
    &["log", "segment", "bench"],
    &["head", "catalog", "fuzz"],
    &["places", "read"],
    &["engine", "rescue"],
    &["writer"],
    &["upkeep"],
    &["reader"],
    &["roster", "store"],
];

#[test]
fn rooms_know_only_the_rooms_below() {
    for (name, tiers) in [("store", STORE)] {
        let source = root().join("crates").join(name).join("src");
        let found = Rooms::of(&source);
        let tier: BTreeMap<&str, usize> =
            tiers.iter().enumerate().flat_map(|(tier, rooms)| rooms.iter().map(move |room| (*room, tier))).collect();
        let drawn: BTreeSet<&str> = tier.keys().copied().collect();
        let there: BTreeSet<&str> = found.rooms.iter().map(String::as_str).collect();
        assert_eq!(there, drawn, "rooms of {name} that are there, and those that are drawn");
        assert!(found.imports.len() > 2 * drawn.len(), "the imports of {name} were not understood");
        for Import { file, from, to } in &found.imports {
            assert!(tier[&**to] < tier[&**from], "{name}: {file} in {from} imports from {to}, which is not below it");
        }
    }
}

/// That a file in one room imports something from another.
struct Import {
    file: String,
    from: String,
    to: String,
}

/// What was read of a crate.
struct Rooms {
    rooms: BTreeSet<String>,
    imports: Vec<Import>,
}

impl Rooms {
    /// Reads a crate's source; modules for tests are left out.
    fn of(source: &Path) -> Rooms {
        let mut files: BTreeMap<PathBuf, syn::File> = BTreeMap::new();
        let mut folders = vec![source.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder of the source") {
                let path = entry.expect("an entry of that folder").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).expect("a file of the source");
                    files.insert(path, syn::parse_file(&text).expect("it compiles"));
                }
            }
        }
        let tests: BTreeSet<PathBuf> = files.iter().flat_map(|(path, file)| test_modules(path, file)).collect();
        let exports = exports(&files[&source.join("lib.rs")]);
        let mut found = Rooms { rooms: BTreeSet::new(), imports: Vec::new() };
        for (path, file) in files.iter().filter(|(path, _)| !tests.contains(*path)) {
            let within = path.strip_prefix(source).expect("it lies there").with_extension("");
            let from = within.iter().next().expect("it has a name").to_string_lossy().into_owned();
            if from == "lib" {
                continue;
            }
            let mut seen = Seen::default();
            seen.visit_file(file);
            for name in seen.names {
                let to = exports.get(&name).unwrap_or(&name).clone();
                if to != from {
                    found.imports.push(Import { file: within.display().to_string(), from: from.clone(), to });
                }
            }
            found.rooms.insert(from);
        }
        found
    }
}

/// The files of the modules that a file declares for tests alone.
fn test_modules(path: &Path, file: &syn::File) -> Vec<PathBuf> {
    let folder = if path.file_stem().is_some_and(|stem| stem == "lib") {
        path.parent().expect("a file lies in a folder").to_owned()
    } else {
        path.with_extension("")
    };
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => Some(&module.ident),
        _ => None,
    });
    modules.map(|name| folder.join(format!("{name}.rs"))).collect()
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |list: &syn::MetaList| list.path.is_ident("cfg") && list.tokens.to_string() == "test";
        attribute.path().is_ident("test") || attribute.meta.require_list().is_ok_and(is_test)
    })
}

/// Which room each name comes from that the crate gives away at its root.
fn exports(root: &syn::File) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for item in &root.items {
        if let syn::Item::Use(of) = item {
            for path in paths(&of.tree) {
                exports.insert(path.last().expect("no path is empty").clone(), path[0].clone());
            }
        }
    }
    exports
}

/// `a::{b, c::D}` as `a::b` and `a::c::D`.
fn paths(tree: &syn::UseTree) -> Vec<Vec<String>> {
    match tree {
        syn::UseTree::Path(path) => {
            let below = paths(&path.tree).into_iter();
            below.map(|rest| std::iter::once(path.ident.to_string()).chain(rest).collect()).collect()
        }
        syn::UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        syn::UseTree::Rename(rename) => vec![vec![rename.ident.to_string()]],
        syn::UseTree::Glob(_) => vec![vec!["*".to_owned()]],
        syn::UseTree::Group(group) => group.items.iter().flat_map(paths).collect(),
    }
}

/// The first words behind `crate::` in a file, but for its tests.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
}

impl<'a> Visit<'a> for Seen {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let ours = paths(&item.tree).into_iter().filter(|path| path.len() > 1 && path[0] == "crate");
        self.names.extend(ours.map(|mut path| path.swap_remove(1)));
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let mut words = path.segments.iter().map(|segment| segment.ident.to_string());
        if words.next().is_some_and(|first| first == "crate") {
            self.names.extend(words.next());
        }
        syn::visit::visit_path(self, path);
    }
}

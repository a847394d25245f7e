//! The rooms of a crate know only those below: the order that is drawn here is held against the imports.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use syn::visit::Visit;

/// The rooms of a crate (folders and files of `src`) from the lowest to the highest. Rooms of one tier do not know each other.
type Tiers = &'static [&'static [&'static str]];

const STORE: Tiers = &[
    &["bytes", "cache", "config", "error", "facts", "free_lists"],
    &["disk"],
    &["codec", "health"],
    &["block"],
    &["log", "segment", "bench", "outbox"],
    &["head", "catalog", "fuzz"],
    &["places", "read", "owned"],
    &["engine", "rescue"],
    &["writer"],
    &["upkeep"],
    &["reader"],
    &["directory", "source"],
    &["follower", "memos", "roster", "store", "tokens"],
    &["shard_backup"],
];

const SERVICE: Tiers = &[
    &["changes", "clock", "ledger", "policy_source", "proof", "refusal", "rights", "without"],
    &["losses", "budget"],
    &["table"],
    &["service"],
    &["ask", "explain"],
    &["account", "find", "unanswered"],
    &["facts", "meant", "names", "orders"],
    &["cluster", "history", "lists", "policies", "reads", "status"],
    &["configured", "import", "iocs", "live", "memos", "near", "removals", "seen", "tree", "undo"],
    &["pvs", "reports", "when"],
    &["computed", "diff", "exports", "list"],
    &["pairs", "spectrum"],
];

const WEB: Tiers = &[
    &["stream"],
    &["form", "method", "peer", "process", "refusal"],
    &["bodies", "host", "url"],
    &["slow"],
    &["browser", "listener", "needed"],
    &["config", "delivery", "ear", "tls"],
    &["door"],
    &["auth", "formats"],
    &["metrics"],
    &["app"],
    &["call"],
    &["api", "ui"],
    &["appliance"],
    &["routes"],
    &["parameters"],
    &["dispatch"],
    &["server"],
];

#[test]
fn rooms_know_only_the_rooms_below() {
    for (name, tiers) in [("store", STORE), ("web", WEB), ("service", SERVICE)] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("src");
        let found = Rooms::of(&source);
        let tier: BTreeMap<&str, usize> =
            tiers.iter().enumerate().flat_map(|(tier, rooms)| rooms.iter().map(move |room| (*room, tier))).collect();
        let drawn: BTreeSet<&str> = tier.keys().copied().collect();
        let there: BTreeSet<&str> = found.rooms.iter().map(String::as_str).collect();
        assert_eq!(there, drawn, "rooms of {name} that are there, and those that are drawn");
        assert!(found.imports.len() > drawn.len(), "the imports of {name} were not understood");
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
                let Some(to) = exports.get(&name).map_or(Some(name), Clone::clone) else { continue };
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

/// Which room each name comes from that the crate gives away at its root; none if it is of another crate.
fn exports(root: &syn::File) -> BTreeMap<String, Option<String>> {
    let module =
        |item: &syn::Item| if let syn::Item::Mod(module) = item { Some(module.ident.to_string()) } else { None };
    let modules: BTreeSet<String> = root.items.iter().filter_map(module).collect();
    let mut exports = BTreeMap::new();
    for item in &root.items {
        if let syn::Item::Use(of) = item {
            for path in paths(&of.tree) {
                let room = modules.get(&path[0]).cloned();
                exports.insert(path.last().expect("no path is empty").clone(), room);
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

//! Store URLs of the Archiver Appliance: `pb://localhost?name=LTS&rootFolder=${ARCHAPPL_LONG_TERM_FOLDER}&…`.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use foreign::{CarriedOver, OldStore};

/// Before a folder whose files lie within others.
const PACKING: [&str; 4] = ["tar://", "gztar://", "zip://", "jar:file://"];

/// Takes a URL over as a folder of old files. `env` looks up a variable.
pub(crate) fn carry(carried: &mut CarriedOver, at: (&str, usize), url: &str, env: &dyn Fn(&str) -> Option<String>) {
    let (file, line) = at;
    let Some((scheme, rest)) = url.split_once("://") else {
        return carried.note(file, line, format!("{url:?} is no store URL"));
    };
    if !["pb", "parquet"].contains(&scheme) {
        return carried.note(file, line, format!("a store of the kind {scheme}:// is not read here: {url}"));
    }
    let (mut name, mut root, mut others) = ("", None, Vec::new());
    for (key, value) in rest.split_once('?').map_or("", |(_, query)| query).split('&').filter_map(|p| p.split_once('='))
    {
        match key {
            "name" => name = value,
            "rootFolder" => root = Some(value),
            "partitionGranularity" => {} // the names of the files tell it
            _ => others.push(format!("{key}={value}")),
        }
    }
    let Some(root) = root else { return carried.note(file, line, format!("the store {name} has no rootFolder")) };
    let root = PACKING.into_iter().find_map(|scheme| root.strip_prefix(scheme)).unwrap_or(root);
    let (root, unknown) = expanded(root, env);
    for variable in unknown {
        carried.note(file, line, format!("{variable} is not set: put the folder of the store {name} into its path"));
    }
    if !others.is_empty() {
        let text =
            "has no counterpart: segments are sealed by the week, and [[storage]] and [retention] say where they go";
        carried.note(file, line, format!("{} of the store {name} {text}", others.join(", ")));
    }
    if carried.stores.iter().all(|store| store.path != root) {
        carried.stores.push(OldStore { name: name.to_owned(), path: root });
    }
}

/// `${X}` replaced where `X` is known, and those that are not.
fn expanded(text: &str, env: &dyn Fn(&str) -> Option<String>) -> (String, Vec<String>) {
    let (mut out, mut unknown, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match env(name) {
            Some(value) => out.push_str(&value),
            None => {
                out.push_str(&format!("${{{name}}}"));
                unknown.push(name.to_owned());
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    (out, unknown)
}

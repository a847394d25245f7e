//! What compilers do not see: each source file says what it is, formats are documented, nothing is left to be fixed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that git knows and that still exists.
fn files() -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists its files");
    let names = String::from_utf8(output.stdout).expect("our file names are UTF-8");
    names.split('\0').filter(|name| !name.is_empty()).map(|name| root().join(name)).filter(|p| p.is_file()).collect()
}

fn with_extension<'a>(files: &'a [PathBuf], extensions: &'a [&str]) -> impl Iterator<Item = &'a PathBuf> {
    files.iter().filter(move |file| {
        file.extension().and_then(|e| e.to_str()).is_some_and(|extension| extensions.contains(&extension))
    })
}

/// The first line that says something, without the shebang.
fn first_words(text: &str) -> &str {
    text.lines().find(|line| !line.is_empty() && !line.starts_with("#!")).unwrap_or_default()
}

#[test]
fn every_source_file_begins_with_a_sentence_that_says_what_it_is() {
    let files = files();
    assert!(files.len() > 50, "git listed {} files only", files.len());
    for file in with_extension(&files, &["rs", "py", "ts", "sh", "db"]) {
        let text = fs::read_to_string(file).expect("sources are UTF-8");
        let first = first_words(&text);
        let starts: &[&str] = match file.extension().and_then(|e| e.to_str()) {
            Some("rs") => &["//! "],
            Some("py") => &["\"\"\""],
            Some("ts") => &["// ", "/** ", "/* "],
            _ => &["# "],
        };
        let words =
            starts.iter().find_map(|start| first.strip_prefix(start)).map_or(0, |s| s.split_whitespace().count());
        assert!(words >= 2, "{} does not begin with a sentence that says what it is: {first:?}", file.display());
    }
}

#[test]
fn nothing_is_left_to_be_fixed() {
    // Taken apart, so that this file does not find itself.
    let marks = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("X", "XX:")];
    let files = files();
    for file in with_extension(&files, &["rs", "py", "ts", "sh", "toml", "md"]) {
        let text = fs::read_to_string(file).expect("sources are UTF-8");
        for (number, line) in text.lines().enumerate() {
            let mark = marks.iter().find(|mark| line.contains(**mark));
            assert_eq!(mark, None, "{}:{}: {line}", file.display(), number + 1);
        }
    }
}

#[test]
fn every_format_on_disk_has_its_section_in_the_docs() {
    let files = files();
    // `room/format.rs`
    let formats: Vec<String> = with_extension(&files, &["rs"])
        .filter(|file| file.ends_with("format.rs"))
        .filter_map(|file| Some(format!("{}/format.rs", file.parent()?.file_name()?.to_str()?)))
        .collect();
    assert!(formats.len() >= 3, "the store keeps its formats in files called format.rs: {formats:?}");
    let text = fs::read_to_string(root().join("docs/format.md")).expect("docs/format.md is there");
    for name in formats {
        assert!(text.contains(&name), "docs/format.md does not mention {name}");
    }
}

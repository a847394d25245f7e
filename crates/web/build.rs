//! Embeds the web page: writes a table of the files in `ui/dist`, or of one plain page where the page was not built.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::xxh3_64;

/// What is served until somebody builds the page; the API works without it.
const PLAIN_PAGE: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>pvark</title></head>
<body>
<h1>pvark</h1>
<p>This archiver was built without its web page. Run <code>make ui</code> and build it again to have one.</p>
<p>The API is here: <a href="/api/v1/status">status</a>, <a href="/api/v1/pvs">PVs</a>,
<a href="/api/v1/openapi.json">description</a>, <a href="/metrics">metrics</a>.</p>
</body>
</html>
"#;

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let dist = crate_folder.join("../../ui/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo can watch only what is there. Watching the folder above instead would walk through node_modules at every build.
    if !dist.exists() && dist.parent().is_some_and(Path::exists) {
        fs::create_dir(&dist)?;
    }
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.join("index.html").exists() {
        collect(&dist, &dist, &mut files)?;
    } else {
        let page = out.join("index.html");
        fs::write(&page, PLAIN_PAGE)?;
        files.push(("index.html".to_owned(), page));
    }
    files.sort();
    fs::write(out.join("files.rs"), table(&files)?)
}

/// All files below a folder as (path in URLs, path on disk), without the compressed ones.
fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_none_or(|extension| extension != "gz") {
            let name = path.strip_prefix(root).expect("it was found below the root").display().to_string();
            files.push((name.replace('\\', "/"), path));
        }
    }
    Ok(())
}

fn table(files: &[(String, PathBuf)]) -> io::Result<String> {
    let mut rows = String::new();
    for (name, path) in files {
        let etag = format!("\"{:016x}\"", xxh3_64(&fs::read(path)?));
        let gzip = PathBuf::from(format!("{}.gz", path.display()));
        let gzip = if gzip.exists() { format!("Some(include_bytes!({gzip:?}))") } else { "None".to_owned() };
        rows.push_str(&format!(
            "    File {{ path: {name:?}, bytes: include_bytes!({path:?}), gzip: {gzip}, etag: {etag:?} }},\n"
        ));
    }
    Ok(format!("/// Sorted by path.\nstatic FILES: &[File] = &[\n{rows}];\n"))
}

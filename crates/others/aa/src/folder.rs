//! A root folder: which files of which PV there are. Lists of folders are kept for some seconds at most.

use std::{
    collections::HashMap,
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use archive::PvName;
use sample::TimeRange;

use crate::{
    key::{TERMINATOR, key_of, partition_of},
    tape::{Content, Member, Place, Tape},
    tar, zip,
};

/// A file of a PV, and the time that its name stands for.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) place: Place,
    pub(crate) range: TimeRange,
}

/// How the names of files end that hold all of a PV; the longer ending first, which the shorter one is the end of.
const PACKED: [&str; 3] = [".tar", ":_pb.zip", ".zip"];
/// So many lists of folders are kept.
const LISTS_MAX: usize = 10_000;
/// Two changes may bear one time, so that the second cannot be seen by it.
const KEPT: Duration = Duration::from_secs(10);
/// No tree of folders is deeper: names have at most 255 characters.
const DEPTH_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    lists: Mutex<HashMap<PathBuf, List>>,
}

/// The names of the files of a folder that may hold samples, sorted, as of a time of its last change.
#[derive(Clone, Debug)]
struct List {
    changed: Option<SystemTime>,
    read: Instant,
    names: Arc<[String]>,
}

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Folder {
        Folder { root, lists: Mutex::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The files of a PV, in order of time.
    pub(crate) fn parts(&self, pv: &PvName) -> io::Result<Vec<Part>> {
        let Some(key) = key_of(pv) else { return Ok(Vec::new()) };
        let path = self.root.join(&key);
        let (Some(folder), Some(stem)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Ok(Vec::new());
        };
        let names = self.names(folder)?;
        let prefix = format!("{stem}{TERMINATOR}");
        let begin = names.partition_point(|name| name.as_str() < prefix.as_str());
        let own = names[begin..].iter().take_while(|name| name.starts_with(&prefix));
        let mut parts: Vec<Part> = own.filter_map(|name| part(name, stem, || Place::of(&folder.join(name)))).collect();
        for name in PACKED.map(|ending| format!("{stem}{ending}")) {
            if names.binary_search(&name).is_ok() {
                let path = folder.join(&name);
                match members(&path, stem) {
                    Ok(found) => parts.extend(found),
                    // What was moved to another store since the folder was listed is found there.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
                }
            }
        }
        parts.sort_by_key(|part| (part.range.t0, part.range.t1));
        Ok(parts)
    }

    /// The names of the files in a folder, read again only if it has changed.
    fn names(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        let changed = match fs::metadata(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            metadata => metadata?.modified().ok(),
        };
        let mut lists = self.lists.lock().expect("no holder of this lock panics");
        if let Some(list) =
            lists.get(folder).filter(|list| changed.is_some() && list.changed == changed && list.read.elapsed() < KEPT)
        {
            return Ok(list.names.clone());
        }
        drop(lists); // reading takes its time
        let read = Instant::now();
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            names.extend(name.into_string().ok().filter(|name| partition_of(name).is_some() || packed(name).is_some()));
        }
        names.sort_unstable();
        let names: Arc<[String]> = names.into();
        lists = self.lists.lock().expect("no holder of this lock panics");
        if lists.len() >= LISTS_MAX {
            lists.clear();
        }
        lists.insert(folder.to_owned(), List { changed, read, names: names.clone() });
        Ok(names)
    }

    /// Shows the files of each key, the newest first, in the order of folders, until told to stop. Links to folders are followed.
    pub(crate) fn walk(&self, see: &mut dyn FnMut(&[Part]) -> ControlFlow<()>) -> io::Result<()> {
        let mut waiting = vec![(self.root.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            let mut by_key: HashMap<String, Vec<Part>> = HashMap::new();
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                if fs::metadata(entry.path()).is_ok_and(|of| of.is_dir()) {
                    if depth < DEPTH_MAX {
                        waiting.push((entry.path(), depth + 1));
                    }
                    continue;
                }
                let found = match packed(&name) {
                    Some(stem) => match members(&entry.path(), stem) {
                        Ok(parts) => parts,
                        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                        Err(error) => vec![Part {
                            place: Place { path: entry.path(), content: Content::Unreadable(error.to_string().into()) },
                            range: TimeRange::ALL,
                        }],
                    },
                    None => partition_of(&name)
                        .map(|(_, range)| Part { place: Place::of(&entry.path()), range })
                        .into_iter()
                        .collect(),
                };
                let stem = packed(&name).or(name.rsplit_once(TERMINATOR).map(|(stem, _)| stem));
                if !found.is_empty() {
                    by_key.entry(stem.unwrap_or(&name).to_owned()).or_default().extend(found);
                }
            }
            for mut parts in by_key.into_values() {
                parts.sort_by_key(|part| std::cmp::Reverse(part.range.t0));
                if see(&parts).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// A file by its name, if it is one of this stem.
fn part(name: &str, stem: &str, place: impl FnOnce() -> Place) -> Option<Part> {
    let (own, range) = partition_of(name)?;
    (own == stem).then(|| Part { place: place(), range })
}

/// The stem of a file that holds others.
fn packed(name: &str) -> Option<&str> {
    PACKED.into_iter().find_map(|ending| name.strip_suffix(ending))
}

/// The files of a stem within another file, with those that cannot be read, so that they are told when they are wanted.
fn members(path: &Path, stem: &str) -> io::Result<Vec<Part>> {
    let tape = Tape::open(&Place::of(path))?;
    let found = match path.extension().is_some_and(|extension| extension == "zip") {
        true => zip::members(&tape)?,
        false => tar::members(&tape)?,
    };
    let place = |name: &str, content: &Content| {
        // Parquet files within are not read: they must be whole to be found one's way in.
        let is_parquet = name.ends_with(".parquet");
        let why = || format!("{name} in it is a Parquet file, which is not read from within another file");
        let content = if is_parquet { Content::Unreadable(why().into()) } else { content.clone() };
        Place { path: path.to_owned(), content }
    };
    Ok(found.iter().filter_map(|Member { name, content }| part(name, stem, || place(name, content))).collect())
}

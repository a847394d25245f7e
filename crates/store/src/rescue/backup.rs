//! The backup: a copy of an archive that opens as one, taken beside a running archiver, file by file, going on where it was
//! interrupted.
//!
//! ```text
//!   list the log ► copy the catalogue (in memory) ► copy segments that are not there, and verify them ► write the catalogue and the
//!                  log ► the catalogue takes its place ► so does the log ► what the catalogue does not name goes
//! ```
//! A flush removes files of the log, a merge removes segments, both after the catalogue knows better: when a file has gone, a
//! newer catalogue is taken. Files get their names only when they are whole, synced and read back; until the catalogue is
//! replaced the folder holds the backup before.
//!
//! A file is whole when each checksum in it is right. A damaged one never takes the place of a good one, nor lets one go: what it may
//! have been merged from goes to `quarantine/`. An unchanged file is known by its name, its length, its beginning and its end, and by
//! having been verified when it was copied (`backup/state.rs`).

pub(crate) mod folder;
mod log;
pub(crate) mod segment;
mod state;
pub(crate) mod told;

use std::{
    collections::{BTreeMap, HashSet},
    io,
    path::Path,
    sync::Arc,
};

use folder::NEW;
pub(crate) use folder::backup_of;
pub use folder::take_over;
use state::{PART, State};
pub use told::tell_backup;

use crate::{
    Error, Progress,
    catalog::{
        copy::{self, Copy},
        tables::CATALOGUE,
    },
    disk::{Disk, RealDisk, fault_of_file},
    log::{files::Listed, format},
    places::locks,
    rescue::repair::set_aside,
    segment::week,
};

/// So often a newer catalogue is taken because files have gone. Only the first time takes long.
const ATTEMPTS_MAX: usize = 50;

/// What becomes of segments that an earlier backup has copied and verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// They are not read again.
    Trusted,
    /// They are verified again, and copied anew if they are damaged.
    Verified,
}

/// What a backup did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// Segments that were copied.
    pub copied: u64,
    /// Segments that an earlier backup had copied.
    pub kept: u64,
    /// Bytes of segments and log that were copied.
    pub copied_bytes: u64,
    /// Bytes of the backup.
    pub bytes: u64,
    /// Files that were removed from the backup because the archive has merged them into others.
    pub removed: u64,
    /// Files that went to the backup's quarantine, because what has taken their place is damaged or another file of that name.
    pub set_aside: u64,
    /// What is damaged in the archive, and what the backup has of it, in sentences.
    pub damage: Vec<String>,
}

/// Copies the archive in `from` to `to`: a new folder, an empty one, or that of an earlier backup of the same archive.
/// What lies in other places is in the backup's folder like all else.
pub fn backup(from: &Path, to: &Path, kept: Kept, progress: impl FnMut(Progress)) -> Result<Backup, Error> {
    let source: Arc<dyn Disk> = Arc::new(RealDisk::new(from));
    if source.len(CATALOGUE).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(Error::NotAStore { folder: from.to_owned(), found: format!("it holds no {CATALOGUE}") });
    }
    let target: Arc<dyn Disk> = Arc::new(RealDisk::new(to));
    folder::take(&*target, from, to)?;
    let run = || {
        let mut state = State::read(&*target)?;
        if kept == Kept::Verified {
            state.forget();
        }
        let done = Backup::default();
        let mut run = Run {
            source,
            target: target.clone(),
            to,
            state,
            done,
            is_lossy: false,
            given_up: BTreeMap::new(),
            bytes: 0,
            bytes_total: 0,
            progress,
        };
        run.attempts().map(|()| run.done)
    };
    let result = run();
    locks::give_back(&*target);
    result
}

/// Why an attempt did not end.
enum Unfinished {
    /// A file has gone: the catalogue knows better by now.
    Changed(String),
    /// A file cannot be read, and why.
    Lost(String, &'static str),
    Failed(Error),
}

impl From<Error> for Unfinished {
    fn from(error: Error) -> Unfinished {
        Unfinished::Failed(error)
    }
}

/// A backup under way.
struct Run<'a, P> {
    source: Arc<dyn Disk>,
    target: Arc<dyn Disk>,
    to: &'a Path,
    state: State,
    done: Backup,
    /// Of a segment there is no whole file, neither in the archive nor in the backup.
    is_lossy: bool,
    /// Segments that the archive does not have though it names them, and why.
    given_up: BTreeMap<String, &'static str>,
    /// Bytes that were copied or verified, of so many.
    bytes: u64,
    bytes_total: u64,
    progress: P,
}

impl<P: FnMut(Progress)> Run<'_, P> {
    fn attempts(&mut self) -> Result<(), Error> {
        let (mut gone, mut attempts) = (String::new(), 0);
        while attempts < ATTEMPTS_MAX {
            self.done.damage.clear();
            match self.attempt() {
                Ok(()) => return Ok(()),
                // A newer catalogue names it, too: it was not merged.
                Err(Unfinished::Changed(key)) if key == gone && key.ends_with(".seg") => {
                    self.given_up.insert(key, "it is in the catalogue, but there is no such file");
                }
                Err(Unfinished::Changed(key)) => {
                    gone = key;
                    attempts += 1;
                }
                Err(Unfinished::Lost(key, reason)) => _ = self.given_up.insert(key, reason),
                Err(Unfinished::Failed(error)) => return Err(error),
            }
        }
        let reason = format!("{gone} vanishes again and again; run `pvark check`, then `pvark repair`");
        Err(Error::CannotDo { doing: "back up", reason })
    }

    fn attempt(&mut self) -> Result<(), Unfinished> {
        let io = |source| Error::Io { doing: "list the log of", path: "the archive".to_owned(), source };
        // Before the catalogue: of what is durable now, everything is in these files or in what the catalogue will name.
        let Listed { keys: logs, strangers } = Listed::of(&*self.source).map_err(io)?;
        let copy = copy::read_copy(&*self.source)?.map_err(|reason| Error::CannotDo {
            doing: "back up",
            reason: format!("{CATALOGUE} cannot be read ({reason}); run `pvark check`, then `pvark repair`"),
        })?;
        self.refuse(&copy)?;
        // What has another name is not among the files that are copied.
        self.done
            .damage
            .extend(strangers.into_iter().map(|(name, is)| format!("{}; the backup goes without", is.finding(&name))));
        let log_bytes: u64 = logs.iter().map(|key| self.source.len(key).unwrap_or(0)).sum();
        let unknown = copy.segments.iter().filter(|manifest| !self.state.is_verified(&manifest.key));
        self.bytes_total = self.bytes + log_bytes + unknown.map(|manifest| manifest.bytes).sum::<u64>();
        let mut missing = Vec::new();
        (self.done.kept, self.done.bytes) = (0, 0);
        for manifest in &copy.segments {
            if let Some(reason) = self.given_up.get(&manifest.key).copied() {
                self.go_without(manifest, reason, &copy)?;
                continue;
            }
            self.done.bytes += manifest.bytes;
            match self.origin(&copy, manifest) {
                Ok(source) if self.is_there(&source, manifest, &copy)? => self.done.kept += 1,
                Ok(source) => missing.push((source, manifest)),
                Err(away) if self.is_kept(manifest, &copy)? => {
                    tracing::warn!("{away}; the backup has it");
                    self.done.kept += 1;
                }
                Err(away) => return Err(Error::CannotDo { doing: "back up", reason: away }.into()),
            }
        }
        self.done.kept -= self.done.copied.min(self.done.kept);
        self.done.bytes += log_bytes;
        for (source, manifest) in missing {
            self.segment(&source, manifest, &copy)?;
        }
        self.catalogue(&copy)?;
        for key in &logs {
            self.log_file(key, Some(key) == logs.last())?;
        }
        Ok(self.finish(&copy, &logs)?)
    }

    /// What is in the backup must not go for an archive that is not the one it was made of.
    fn refuse(&self, copy: &Copy) -> Result<(), Error> {
        copy.places.values().try_for_each(|place| folder::refuse_nested(Path::new(place), self.to))?;
        let Some(why) = self.state.refusal(copy) else { return Ok(()) };
        let reason = format!("the backup in {} is not replaced: {why}; choose another folder", self.to.display());
        Err(Error::CannotDo { doing: "back up", reason })
    }

    /// So much more was copied or verified.
    fn told(&mut self, bytes: u64) {
        self.bytes += bytes;
        (self.progress)(Progress { bytes: self.bytes, bytes_total: self.bytes_total.max(self.bytes) });
    }

    /// Writes the catalogue of the backup, which takes its place at the end. It is there before the files of the log are, which
    /// follow it.
    fn catalogue(&self, copy: &Copy) -> Result<(), Error> {
        let (target, part) = (&self.target, format!("{CATALOGUE}.{PART}"));
        let bytes = copy::at_home(copy)?;
        let write = || {
            target.set_len(&part, 0)?;
            target.write_at(&part, 0, &bytes)?;
            target.sync(&part)?;
            target.sync_folder("")
        };
        write().map_err(|error| unwritten(&part, error))
    }

    /// Everything is there: the catalogue takes its place, then the log, and what is not named any more goes.
    fn finish(&mut self, copy: &Copy, logs: &[String]) -> Result<(), Error> {
        let failed = |source| Error::Io { doing: "finish", path: "the backup".to_owned(), source };
        let target = self.target.clone();
        let replace = || -> io::Result<()> {
            target.rename(&format!("{CATALOGUE}.{PART}"), CATALOGUE)?;
            target.sync_folder("")?;
            folder::settle(&*target)
        };
        replace().map_err(failed)?;
        self.state.finish(&*target, copy).map_err(failed)?;
        let named: HashSet<&str> = copy.segments.iter().map(|manifest| manifest.key.as_str()).collect();
        let folders = target.list("").map_err(failed)?.into_iter().filter(|name| week::is_folder(name));
        for folder in folders.chain([format::FOLDER.to_owned()]) {
            for file in target.list(&folder).map_err(failed)? {
                let key = format!("{folder}/{file}");
                if named.contains(&*key) || logs.contains(&key) {
                    continue;
                }
                let is_segment = file.ends_with(".seg");
                if is_segment && self.is_lossy {
                    // What is damaged may have been merged from it.
                    set_aside(&*target, &key)?;
                    self.done.set_aside += 1;
                    continue;
                }
                target.remove(&key).map_err(failed)?;
                self.done.removed += u64::from(is_segment);
            }
        }
        Ok(())
    }
}

fn has_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
}

fn unread(key: &str, source: io::Error) -> Unfinished {
    match fault_of_file(&source) {
        _ if has_gone(&source) => Unfinished::Changed(key.to_owned()),
        Some(reason) if key.ends_with(".seg") => Unfinished::Lost(key.to_owned(), reason),
        _ => Unfinished::Failed(Error::Io { doing: "read", path: key.to_owned(), source }),
    }
}

pub(crate) fn unwritten(key: &str, source: io::Error) -> Error {
    Error::Io { doing: "write to the backup", path: key.to_owned(), source }
}

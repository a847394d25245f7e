//! The backup: a copy of an archive that opens as one, taken beside a running archiver, file by file, going on where it was
//! interrupted.
//!
//! ```text
//!   list the log ► copy the catalogue (in memory) ► copy segments that are not there ► copy the log
//!                ► replace the catalogue ► replace the log ► remove what the new catalogue does not name
//! ```
//! A flush removes files of the log, a merge removes segments, both after the catalogue knows better: when a file has gone, a
//! newer catalogue is taken. Files get their names only when they are whole, synced and read back; until the catalogue is
//! replaced the folder holds the backup before.

use std::{io, path::Path, sync::Arc};

use xxhash_rust::xxh3::Xxh3;

use crate::{
    Error, Progress,
    catalog::{
        self, CATALOGUE,
        copy::{self, Copy},
    },
    disk::{Disk, RealDisk},
    log_files, log_format,
    manifest::Manifest,
    week,
};

/// Marks a folder as a backup, and says of what.
const MARK: &str = "backup-of";
const LOCK: &str = "lock";
/// What is not whole yet.
const PART: &str = "part";
const CHUNK_BYTES: usize = 1 << 20;
/// So much of the end of two files of one name and length is compared: footer, names and the last pages of the directory.
const END_BYTES: u64 = 16 << 10;
/// So often a newer catalogue is taken because files have gone. Only the first time takes long.
const ATTEMPTS_MAX: usize = 50;

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
}

/// Copies the archive in `from` to `to`: a new folder, an empty one, or that of an earlier backup of the same archive.
/// What lies in other places is in the backup's folder like all else.
pub fn backup(from: &Path, to: &Path, progress: impl FnMut(Progress)) -> Result<Backup, Error> {
    let source: Arc<dyn Disk> = Arc::new(RealDisk::new(from));
    if source.len(CATALOGUE).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(Error::NotAStore { folder: from.to_owned(), found: format!("it holds no {CATALOGUE}") });
    }
    let target: Arc<dyn Disk> = Arc::new(RealDisk::new(to));
    take_target(&*target, from, to)?;
    let mut run = Run { source, target: target.clone(), done: Backup::default(), bytes_total: 0, progress };
    let result = run.attempts();
    target.unlock(LOCK);
    result.map(|()| run.done)
}

/// Makes sure that the folder is empty or a backup of this archive, marks it, and locks it.
fn take_target(target: &dyn Disk, from: &Path, to: &Path) -> Result<(), Error> {
    let io = |doing| move |source| Error::Io { doing, path: to.display().to_string(), source };
    let refused = |reason: String| Err(Error::CannotDo { doing: "back up", reason });
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let from = real(from);
    let inside = real(to);
    if inside.starts_with(&from) || from.starts_with(&inside) {
        return refused(format!(
            "{} and {} lie in each other; choose a folder elsewhere",
            from.display(),
            to.display()
        ));
    }
    target.create_folder("").map_err(io("make the folder"))?;
    let names = target.list("").map_err(io("read the folder"))?;
    let mark = format!("{}\n", from.display());
    if names.iter().any(|name| name == MARK) {
        let found = copy::read_file(target, MARK)?.unwrap_or_default();
        if found != mark.as_bytes() {
            return refused(format!(
                "{} is a backup of {}; choose another folder, or remove its file {MARK} if that archive was moved to {}",
                to.display(),
                String::from_utf8_lossy(&found).trim_end(),
                from.display()
            ));
        }
    } else if let Some(foreign) = names.iter().find(|name| *name != "lost+found" && !name.starts_with('.')) {
        return refused(format!(
            "{} holds {foreign} and is no backup of an archive; choose an empty folder",
            to.display()
        ));
    }
    if !target.lock(LOCK).map_err(io("write into"))? {
        return Err(Error::Locked { folder: to.to_owned() });
    }
    let write = || {
        target.write_at(MARK, 0, mark.as_bytes())?;
        target.sync(MARK)?;
        target.create_folder(log_format::FOLDER)?;
        target.sync_folder("")
    };
    write().map_err(io("write into"))
}

/// Why an attempt did not end.
enum Unfinished {
    /// A file has gone: the catalogue knows better by now.
    Changed(String),
    Failed(Error),
}

impl From<Error> for Unfinished {
    fn from(error: Error) -> Unfinished {
        Unfinished::Failed(error)
    }
}

/// A backup under way.
struct Run<P> {
    source: Arc<dyn Disk>,
    target: Arc<dyn Disk>,
    done: Backup,
    bytes_total: u64,
    progress: P,
}

impl<P: FnMut(Progress)> Run<P> {
    fn attempts(&mut self) -> Result<(), Error> {
        let mut gone = String::new();
        for _ in 0..ATTEMPTS_MAX {
            match self.attempt() {
                Ok(()) => return Ok(()),
                Err(Unfinished::Changed(key)) => gone = key,
                Err(Unfinished::Failed(error)) => return Err(error),
            }
        }
        let reason =
            format!("{gone} is in the catalogue, but there is no such file; run `pvark check`, then `pvark repair`");
        Err(Error::CannotDo { doing: "back up", reason })
    }

    fn attempt(&mut self) -> Result<(), Unfinished> {
        let io = |source| Error::Io { doing: "list the log of", path: "the archive".to_owned(), source };
        // Before the catalogue: of what is durable now, everything is in these files or in what the catalogue will name.
        let logs: Vec<String> = log_files::files(&*self.source).map_err(io)?.into_iter().map(log_format::key).collect();
        let copy = copy::read_copy(&*self.source)?.map_err(|reason| Error::CannotDo {
            doing: "back up",
            reason: format!("{CATALOGUE} cannot be read ({reason}); run `pvark check`, then `pvark repair`"),
        })?;
        let mut missing = Vec::new();
        (self.done.kept, self.done.bytes) = (0, 0);
        for manifest in &copy.segments {
            let source = self.place(&copy, manifest)?;
            self.done.bytes += manifest.bytes;
            match self.is_there(&*source, manifest)? {
                true => self.done.kept += 1,
                false => missing.push((source, manifest)),
            }
        }
        self.done.kept -= self.done.copied.min(self.done.kept);
        let left: u64 = missing.iter().map(|(_, manifest)| manifest.bytes).sum();
        let log_bytes: u64 = logs.iter().map(|key| self.source.len(key).unwrap_or(0)).sum();
        self.bytes_total = self.done.copied_bytes + left + log_bytes;
        self.done.bytes += log_bytes;
        for (source, manifest) in missing {
            self.segment(&*source, &manifest.key)?;
        }
        for key in &logs {
            self.log_file(key)?;
        }
        Ok(self.finish(&copy, &logs)?)
    }

    /// The disk on which the blocks of a segment lie: the catalogue remembers the folder of each place.
    fn place(&self, copy: &Copy, manifest: &Manifest) -> Result<Arc<dyn Disk>, Error> {
        let Some(name) = &manifest.place else { return Ok(self.source.clone()) };
        if let Some(folder) = copy.places.get(name)
            && Path::new(folder).is_dir()
        {
            return Ok(Arc::new(RealDisk::new(folder)));
        }
        let reason = format!("{} lies in the place {name:?}, which is not there; mount it", manifest.key);
        Err(Error::CannotDo { doing: "back up", reason })
    }

    /// Whether an earlier backup has a segment: its key is given once, and its end names all that is in it.
    fn is_there(&self, source: &dyn Disk, manifest: &Manifest) -> Result<bool, Unfinished> {
        let key = &manifest.key;
        if self.target.len(key).ok() != Some(manifest.bytes) {
            return Ok(false);
        }
        let end = |disk: &dyn Disk| {
            let len = manifest.bytes.min(END_BYTES);
            let mut bytes = vec![0; len as usize];
            disk.read_at(key, manifest.bytes - len, &mut bytes).map(|()| bytes)
        };
        let there = end(source).map_err(|error| unread(key, error))?;
        Ok(end(&*self.target).is_ok_and(|here| here == there))
    }

    /// Copies a segment under an unfinished name, going on behind what an interrupted backup left there, and reads it back.
    fn segment(&mut self, source: &dyn Disk, key: &str) -> Result<(), Unfinished> {
        let folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
        let part = format!("{key}.{PART}");
        self.target.create_folder(folder).map_err(|error| unwritten(folder, error))?;
        for fresh in [false, true] {
            if fresh {
                self.target.set_len(&part, 0).map_err(|error| unwritten(&part, error))?;
            }
            let read = self.copy(source, key, &part)?;
            self.target.sync(&part).map_err(|error| unwritten(&part, error))?;
            if check(&*self.target, &part).map_err(|error| unwritten(&part, error))? == read {
                let named = self.target.rename(&part, key).and_then(|()| self.target.sync_folder(folder));
                named.map_err(|error| unwritten(key, error))?;
                self.done.copied += 1;
                return Ok(());
            }
            tracing::warn!("{part} is not what was copied to it; it is copied anew");
        }
        let reason = format!("{key} cannot be read back from the backup as it was written; look at that disk");
        Err(Error::CannotDo { doing: "back up", reason }.into())
    }

    /// Writes what the target does not have of a file, and gives the check of the whole file as it was read.
    fn copy(&mut self, source: &dyn Disk, key: &str, part: &str) -> Result<u64, Unfinished> {
        let len = source.len(key).map_err(|error| unread(key, error))?;
        let there = self.target.len(part).unwrap_or(0);
        let (mut at, mut hash, mut chunk) = (0, Xxh3::new(), Vec::new());
        while at < len {
            chunk.resize(CHUNK_BYTES.min((len - at) as usize), 0);
            source.read_at(key, at, &mut chunk).map_err(|error| unread(key, error))?;
            hash.update(&chunk);
            let end = at + chunk.len() as u64;
            if end > there {
                self.target.write_at(part, at, &chunk).map_err(|error| unwritten(part, error))?;
            }
            self.done.copied_bytes += chunk.len() as u64;
            let bytes_total = self.bytes_total.max(self.done.copied_bytes);
            (self.progress)(Progress { bytes: self.done.copied_bytes, bytes_total });
            at = end;
        }
        if there > len {
            self.target.set_len(part, len).map_err(|error| unwritten(part, error))?;
        }
        Ok(hash.digest())
    }

    /// Copies a file of the log as it is now; it may grow meanwhile.
    fn log_file(&mut self, key: &str) -> Result<(), Unfinished> {
        let part = format!("{key}.{PART}");
        let (bytes, end) = log_files::read_beside_writer(&*self.source, key).map_err(|error| unread(key, error))?;
        let target = &self.target;
        let write = || {
            target.set_len(&part, 0)?;
            target.write_at(&part, 0, &bytes[..end])?;
            target.set_len(&part, bytes.len() as u64)?; // a frame may end with zeros
            target.sync(&part)
        };
        write().map_err(|error| unwritten(&part, error))?;
        self.done.copied_bytes += bytes.len() as u64;
        let bytes_total = self.bytes_total.max(self.done.copied_bytes);
        (self.progress)(Progress { bytes: self.done.copied_bytes, bytes_total });
        Ok(())
    }

    /// Everything is there: the catalogue takes its place, then the log, and what is not named any more goes.
    fn finish(&mut self, copy: &Copy, logs: &[String]) -> Result<(), Error> {
        let part = format!("{CATALOGUE}.{PART}");
        let target = self.target.clone();
        let folder = |name: &str| if name.is_empty() { String::new() } else { format!("{name}/") };
        let mut finish = || -> io::Result<()> {
            target.set_len(&part, 0)?;
            target.write_at(&part, 0, &copy.bytes)?;
            target.sync(&part)?;
            target.rename(&part, CATALOGUE)?;
            target.sync_folder("")?;
            for key in logs {
                target.rename(&format!("{key}.{PART}"), key)?;
            }
            target.sync_folder(log_format::FOLDER)?;
            let weeks = target.list("")?.into_iter().filter(|name| week::is_folder(name));
            for name in weeks.chain([log_format::FOLDER.to_owned()]) {
                for file in target.list(&name)? {
                    let key = format!("{}{file}", folder(&name));
                    if !logs.contains(&key) && !copy.segments.iter().any(|manifest| manifest.key == key) {
                        target.remove(&key)?;
                        self.done.removed += u64::from(file.ends_with(".seg"));
                    }
                }
            }
            Ok(())
        };
        finish().map_err(|source| Error::Io { doing: "finish", path: "the backup".to_owned(), source })?;
        if copy.segments.iter().any(|manifest| manifest.place.is_some()) {
            catalog::Catalog::open(self.target.clone())?.bring_home(&copy.segments)?;
        }
        Ok(())
    }
}

/// The check of a whole file.
fn check(disk: &dyn Disk, key: &str) -> io::Result<u64> {
    let (len, mut at, mut hash, mut chunk) = (disk.len(key)?, 0, Xxh3::new(), Vec::new());
    while at < len {
        chunk.resize(CHUNK_BYTES.min((len - at) as usize), 0);
        disk.read_at(key, at, &mut chunk)?;
        hash.update(&chunk);
        at += chunk.len() as u64;
    }
    Ok(hash.digest())
}

fn unread(key: &str, source: io::Error) -> Unfinished {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => Unfinished::Changed(key.to_owned()),
        _ => Unfinished::Failed(Error::Io { doing: "read", path: key.to_owned(), source }),
    }
}

fn unwritten(key: &str, source: io::Error) -> Error {
    Error::Io { doing: "write to the backup", path: key.to_owned(), source }
}

//! The backup of a shard of a cluster: an archive of one machine with all that the journal of the shard has, taken while a node records.
//!
//! ```text
//!   journal, pieces of the log ─► taken over aside, replayed, closed ─► 17.new: catalogue, the newest segments
//!   segments in the shared store, or in the backup before ────────────► 17.new: all others ─► 17
//!                                        └► 17.tried, for the next attempt
//! ```
//! While that is done, the owner goes on, and what it merges goes from the shared store. So the newest segments are fetched first, which are
//! merged soon, and what was fetched in vain once is not fetched again.
//!
//! The shared store is only read: what a taker writes into it stays in memory (`shared::Aside`). Nothing has its place before all is there
//! and verified.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use sample::Timestamp;
use shared::{Aside, Image, Object, Owner, Settings, Shard, Shared};

use crate::{
    Config, Error, Shipping, Store,
    catalog::copy,
    disk::{Disk, Objects, RealDisk},
    owned::far,
    rescue::backup::{
        folder::{self, MARK},
        segment::hash,
        unwritten,
    },
    segment::{manifest::Manifest, week},
};

/// The owner may have done without something just when it was fetched: then a newer journal is read, so often. Only the first time takes
/// long.
const ATTEMPTS_MAX: usize = 50;

/// What the backup of a shard did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardBackup {
    /// Segments that were copied.
    pub copied: u64,
    /// Segments that the backup before had, and that were read again.
    pub kept: u64,
    /// Bytes of all segments.
    pub bytes: u64,
}

/// Makes an archive of one machine in the folder `name` of `to` of what a shard has durably, or brings the one of the backup before up to
/// date; `of` says of what it is a backup. Nothing if no node ever had the shard.
pub fn backup_shard(
    shared: &Arc<dyn Shared>,
    shard: &Shard,
    (to, name, of): (&Path, &str, &str),
    config: &Config,
    now: Timestamp,
) -> Result<Option<ShardBackup>, Error> {
    fs::create_dir_all(to).map_err(|source| unwritable(to, source))?;
    let disk = RealDisk::new(to);
    // Two that make the same folder would give its name to what only one of them has finished.
    if !disk.lock("").map_err(|source| unwritable(to, source))? {
        return Err(Error::Locked { folder: to.to_owned(), holder: "another backup".to_owned() });
    }
    let done = back_up_locked(shared, shard, (&disk, to, name, of), config, now);
    disk.unlock("");
    done
}

fn unwritable(to: &Path, source: io::Error) -> Error {
    Error::Io { doing: "back up into", path: to.display().to_string(), source }
}

fn back_up_locked(
    shared: &Arc<dyn Shared>,
    shard: &Shard,
    (disk, to, name, of): (&RealDisk, &Path, &str, &str),
    config: &Config,
    now: Timestamp,
) -> Result<Option<ShardBackup>, Error> {
    let io = |source| unwritable(to, source);
    let (old, new) = (to.join(name), to.join(format!("{name}.new")));
    // A run before broke off between two names.
    if !old.exists() && to.join(format!("{name}.old")).exists() {
        disk.rename(&format!("{name}.old"), name).map_err(io)?;
    }
    refuse_foreign(&old, of)?;
    let tried = to.join(format!("{name}.tried"));
    let mut gone = String::new();
    for attempt in 1.. {
        remove(&new).map_err(io)?;
        match attempted(shared, shard, (&old, &tried, &new), config, now) {
            // What a newer journal names as well is damaged, and was not merged.
            Err(error) if is_damage(&error) && attempt < ATTEMPTS_MAX && error.to_string() != gone => {
                gone = error.to_string();
            }
            Err(error) => {
                remove(&new).and_then(|()| remove(&tried)).map_err(io)?;
                return Err(error);
            }
            Ok(None) => return Ok(None),
            Ok(Some(done)) => {
                let place = || {
                    let mark = RealDisk::new(&new);
                    sync_weeks(&mark)?;
                    mark.write_at(MARK, 0, format!("{of}\n").as_bytes())?;
                    mark.sync(MARK)?;
                    mark.sync_folder("")?;
                    remove(&to.join(format!("{name}.old")))?;
                    if old.exists() {
                        disk.rename(name, &format!("{name}.old"))?;
                    }
                    disk.rename(&format!("{name}.new"), name)?;
                    disk.sync_folder("")?;
                    remove(&tried)?;
                    remove(&to.join(format!("{name}.old")))
                };
                return place().map_err(io).map(|()| Some(done));
            }
        }
    }
    unreachable!("an attempt ends it")
}

/// Only a backup of the same shard is replaced: in an archive that was taken over there may be more.
fn refuse_foreign(folder: &Path, of: &str) -> Result<(), Error> {
    let refused = |why: String| {
        let reason = format!("{} {why}; choose another folder", folder.display());
        Err(Error::CannotDo { doing: "back up", reason })
    };
    let disk = RealDisk::new(folder);
    let names = match disk.list("") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.map_err(|source| Error::Io {
            doing: "read the folder",
            path: folder.display().to_string(),
            source,
        })?,
    };
    match folder::backup_of(&disk)? {
        Some(found) if found == of => Ok(()),
        Some(found) => refused(format!("is a backup of {found}, and not of {of}")),
        None if names.is_empty() => Ok(()),
        None => refused("is no backup".to_owned()),
    }
}

/// Whether something was not there, or not what the journal says.
fn is_damage(error: &Error) -> bool {
    let is = |source: &shared::Error| matches!(source, shared::Error::Damaged { .. });
    match error {
        Error::Shared { source } => is(source),
        Error::Io { source, .. } => {
            source.get_ref().and_then(|source| source.downcast_ref()).is_some_and(|error: &shared::Error| is(error))
        }
        _ => false,
    }
}

fn attempted(
    shared: &Arc<dyn Shared>,
    shard: &Shard,
    (old, tried, new): (&Path, &Path, &PathBuf),
    config: &Config,
    now: Timestamp,
) -> Result<Option<ShardBackup>, Error> {
    let aside: Arc<dyn Shared> = Arc::new(Aside::new(shared.clone()));
    let image = Image::read(&*aside, shard, &mut ())?;
    if image.next().0 == 0 {
        return Ok(None);
    }
    let far = far(&image);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(new));
    let config = Config { folder: new.clone(), reserve_bytes: 0, places: Vec::new(), ..config.clone() };
    let owner = Owner::take(aside, shard.clone(), "backup", 0, 1, Settings::default())?;
    let store = Store::open_shard(disk.clone(), config, owner, Shipping::default(), now)?;
    store.replay()?;
    store.close(now)?;
    let copy = copy::read_copy(&*disk)?.map_err(|reason| Error::CannotDo { doing: "back up", reason })?;
    let mut done = ShardBackup::default();
    for manifest in copy.segments.iter().rev() {
        done.bytes += manifest.bytes;
        let Some(object) = far.get(&manifest.key) else { continue };
        if keep(old, new, manifest, object) {
            done.kept += 1;
            continue;
        }
        if !keep(tried, new, manifest, object) {
            fetch(&**shared, shard, &*disk, &manifest.key, object)?;
            spare(new, tried, &manifest.key);
        }
        done.copied += 1;
    }
    Ok(Some(done))
}

/// Makes the names of segments durable, before the backup goes from which some of them were taken.
fn sync_weeks(disk: &dyn Disk) -> io::Result<()> {
    disk.list("")?.iter().filter(|name| week::is_folder(name)).try_for_each(|week| disk.sync_folder(week))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Takes a segment from the backup before, if it is there and every byte of it is right; what cannot be taken from there is fetched.
fn keep(old: &Path, new: &Path, manifest: &Manifest, object: &Object) -> bool {
    let (from, to) = (old.join(&manifest.key), new.join(&manifest.key));
    let is_right = || -> io::Result<bool> {
        let disk = RealDisk::new(old);
        Ok(disk.len(&manifest.key)? == object.len && hash(&disk, &manifest.key)? == object.check)
    };
    let take = || -> io::Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(new))?;
        fs::hard_link(&from, &to)
    };
    is_right().unwrap_or(false) && take().is_ok()
}

/// Fetches a segment from the shared store.
fn fetch(shared: &dyn Shared, shard: &Shard, disk: &dyn Disk, key: &str, object: &Object) -> Result<(), Error> {
    let part = format!("{key}.part");
    let failed = |source| unwritten(key, source);
    if let Some((folder, _)) = key.rsplit_once('/') {
        disk.create_folder(folder).map_err(failed)?;
    }
    disk.set_len(&part, 0).map_err(failed)?;
    shared::copy(shared, shard, object, &mut FileAt { disk, key: &part, at: 0 })?;
    let place = || {
        disk.sync(&part)?;
        disk.rename(&part, key)?;
        disk.sync_folder(key.rsplit_once('/').map_or("", |(folder, _)| folder))
    };
    place().map_err(failed)
}

/// Leaves a segment to the next attempt as well, which fetches it again where that cannot be.
fn spare(new: &Path, tried: &Path, key: &str) {
    let to = tried.join(key);
    let link = || -> io::Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(tried))?;
        match fs::remove_file(&to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::hard_link(new.join(key), &to),
        }
    };
    if let Err(error) = link() {
        tracing::debug!("{} is not left to another attempt: {error}", to.display());
    }
}

/// A file that is written from its beginning on.
struct FileAt<'a> {
    disk: &'a dyn Disk,
    key: &'a str,
    at: u64,
}

impl io::Write for FileAt<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_at(self.key, self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
    use sample::{Alarm, Sample, Value};
    use shared::twin::Memory;
    use tempfile::TempDir;

    use super::*;
    use crate::disk::real::tests::take_synced;

    #[test]
    fn what_is_taken_from_the_backup_before_is_durable_before_that_goes() {
        let (at, to, of) = (Timestamp::from_nanos, TempDir::new().unwrap(), TempDir::new().unwrap());
        let shared: Arc<dyn Shared> = Arc::new(Memory::default());
        let (shard, config) = (Shard::new(3, 'a').unwrap(), Config { reserve_bytes: 0, ..Config::new(of.path()) });
        let owner = Owner::take(shared.clone(), shard.clone(), "node", 1, 1, Settings::default()).unwrap();
        let disk = Arc::new(RealDisk::new(of.path()));
        let store = Store::open_shard(disk, config.clone(), owner, Shipping::default(), at(0)).unwrap();
        store.replay().unwrap();
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let pv = store.writer().register(&[(PvName::new("A").unwrap(), settings)], &By::new("test", at(0))).unwrap();
        let sample = Sample { time: at(1), value: Value::F64(1.0), alarm: Alarm::default(), pulse: 0, stamp: None };
        store.writer().append(&[(pv[0].id, Record::Sample(sample))], at(1)).unwrap();
        store.close(at(2)).unwrap();

        let back_up = || backup_shard(&shared, &shard, (to.path(), "shard-3", "a test"), &config, at(3)).unwrap();
        back_up();
        take_synced();
        let again = back_up().unwrap();
        assert_eq!((again.copied, again.kept), (0, 1));
        let week = to.path().join("shard-3.new/1970-W01");
        assert!(take_synced().contains(&week), "{}", week.display());
    }
}

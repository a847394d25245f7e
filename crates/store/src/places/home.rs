//! A disk in front of the archive's disk that sees when the folder is not where it is looked for any more: moved, deleted, unmounted, or
//! with something else in its place. Then nothing is written until the same archive is there again.
//!
//! ```text
//!   home ──the path leads elsewhere──► away ──the same folder is back──────────────────► home
//!                                       └────another folder with the same mark, in which
//!                                            the catalogue and all segments are the same► home, with everything opened anew
//! ```
//! It is looked at about once a second, before a file or folder is made, and before anything is called durable. What is written between
//! two looks goes into the folder that was opened, wherever that lies, so that the archive is never in two folders.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::{Duration, Instant},
};

use crate::{
    Error,
    catalog::{
        copy::{Copy, read_copy},
        tables::CATALOGUE,
    },
    disk::{Disk, Found, Identity, Objects},
    error::Away,
    log::format,
    places::{locks, mark},
};
use archive::Room;
use shared::Object;

/// A catalogue that is not in the right state is read again after so long, unless it is replaced before.
const READ_AGAIN: Duration = Duration::from_secs(10);

/// What must be the same files and folders as before, with the folder of the archive itself.
const WATCHED: [&str; 2] = [CATALOGUE, format::FOLDER];

/// How a folder came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// It is the same one.
    Same,
    /// Another one has what it had; everything must be opened anew.
    Other,
}

/// What lies in the folder that was opened.
#[derive(Debug, Default)]
struct Known {
    files: HashMap<&'static str, Identity>,
    /// What was at the path, and which catalogue in it, when that was found to be in another state, and when.
    wrong: Option<(Identity, Identity, Instant)>,
}

#[derive(Debug)]
pub(crate) struct Home {
    disk: Arc<dyn Disk>,
    /// The path, for messages.
    folder: String,
    /// Known when the archive is open; before, nothing is looked at.
    archive: OnceLock<u64>,
    /// Segments that the catalogue names, and that lie in the store that the nodes of a cluster share.
    far: OnceLock<Arc<HashMap<String, Object>>>,
    /// Held while something of `WATCHED` is replaced or looked at.
    looking: Mutex<Known>,
    away: Mutex<Option<Away>>,
}

impl Home {
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: String) -> Home {
        let (archive, far) = (OnceLock::new(), OnceLock::new());
        Home { disk, folder, archive, far, looking: Mutex::default(), away: Mutex::default() }
    }

    /// From now on it is looked at. The archive has this number, and some of its segments may lie elsewhere.
    pub(crate) fn settle(&self, archive: u64, far: Arc<HashMap<String, Object>>) -> io::Result<()> {
        self.far.get_or_init(|| far);
        let mut known = self.looking();
        for key in WATCHED {
            known.files.insert(key, self.disk.identity(key, Found::Within)?);
        }
        self.archive.get_or_init(|| archive);
        Ok(())
    }

    /// The number of the archive.
    pub(crate) fn archive(&self) -> u64 {
        self.archive.get().copied().unwrap_or_default()
    }

    fn looking(&self) -> MutexGuard<'_, Known> {
        self.looking.lock().expect("no holder of this lock panics")
    }

    fn state(&self) -> MutexGuard<'_, Option<Away>> {
        self.away.lock().expect("no holder of this lock panics")
    }

    /// What an operator must know; none while all is where it belongs.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state().as_ref().map(|away| {
            format!("{away}; nothing is written before it is back, samples wait in memory while there is room")
        })
    }

    pub(crate) fn is_away(&self) -> bool {
        self.state().is_some()
    }

    fn refuse(&self) -> io::Result<()> {
        self.state().clone().map_or(Ok(()), |away| Err(io::Error::other(away)))
    }

    /// Looks, and keeps what is found: whoever is away stays so until `come_back`.
    fn look(&self) -> io::Result<()> {
        if self.archive.get().is_none() {
            return Ok(());
        }
        self.refuse()?;
        let known = self.looking();
        if let Some(reason) = self.reason(&known) {
            tracing::error!("{reason}; nothing is written before it is back");
            self.state().get_or_insert(Away(reason));
        }
        drop(known);
        self.refuse()
    }

    /// Why the folder is not where it belongs.
    fn reason(&self, known: &Known) -> Option<String> {
        let folder = &self.folder;
        let gone = |what: &str, error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => format!("{what} is gone"),
            _ => format!("{what} cannot be reached: {error}"),
        };
        match (self.disk.identity("", Found::ByPath), self.disk.identity("", Found::Within)) {
            (Err(error), _) | (_, Err(error)) => {
                return Some(gone(&format!("the folder of the archive {folder}"), error));
            }
            (Ok(there), Ok(ours)) if there != ours => {
                return Some(format!("{folder} is another folder than the one that was opened"));
            }
            _ => {}
        }
        WATCHED.iter().find_map(|key| match self.disk.identity(key, Found::ByPath) {
            Err(error) => Some(gone(&format!("{folder}/{key}"), error)),
            Ok(there) => (known.files.get(key) != Some(&there))
                .then(|| format!("{folder}/{key} was replaced by another; put back the one that was there")),
        })
    }

    /// Looks whether a folder that was away is back. Its catalogue had one of these last changes.
    pub(crate) fn come_back(&self, changes: [u64; 2]) -> Option<Back> {
        let mut known = self.looking();
        let at_path = |key| self.disk.identity(key, Found::ByPath).unwrap_or_default();
        let there = (at_path(""), at_path(CATALOGUE));
        let is_wrong = |(folder, catalogue, when): &(Identity, Identity, Instant)| {
            (*folder, *catalogue) == there && when.elapsed() < READ_AGAIN
        };
        if known.wrong.as_ref().is_some_and(is_wrong) {
            return None;
        }
        let is_other = match (self.disk.identity("", Found::ByPath), self.disk.identity("", Found::Within)) {
            (Ok(there), Ok(ours)) => there != ours,
            (there, _) => there.is_ok(),
        };
        let (missing, folder) = (self.reason(&known), &self.folder);
        let was_read = missing.is_none() || is_other;
        let (back, reason) = match (missing, is_other) {
            (Some(reason), false) => (None, reason),
            (Some(reason), true) => match self.take_other(changes) {
                Ok(()) => (Some(Back::Other), String::new()),
                Err(difference) => (None, format!("{reason}: {difference}")),
            },
            // Another state may have been copied over it.
            (None, _) => match has_state(&*self.disk, changes) {
                Ok(_) => (Some(Back::Same), String::new()),
                Err(difference) => (None, format!("the folder of the archive {folder} is back, but {difference}")),
            },
        };
        if back == Some(Back::Other) {
            let renewed = WATCHED.map(|key| Some((key, self.disk.identity(key, Found::Within).ok()?)));
            known.files.extend(renewed.into_iter().flatten());
        }
        known.wrong = (was_read && back.is_none()).then(|| (there.0, there.1, Instant::now()));
        let mut state = self.state();
        if back.is_some() {
            tracing::warn!("the folder of the archive {folder} is back");
            *state = None;
        } else if state.as_ref().is_some_and(|away| away.0 != reason) {
            tracing::error!("{reason}");
            *state = Some(Away(reason));
        }
        back
    }

    /// Goes on with another folder if it has the state of the one that is away, to the last change; or says why not.
    fn take_other(&self, changes: [u64; 2]) -> Result<(), String> {
        let told = |error: io::Error| format!("it cannot be read: {error}");
        let there = self.disk.afresh().map_err(told)?;
        let mark = mark::of_archive(self.archive());
        if let Some(reason) = mark::look(&*there, mark::ARCHIVE, &mark, mark::Use::Later).map_err(told)? {
            return Err(reason);
        }
        locks::take(&*there, &self.folder, None).map_err(|error| error.to_string())?;
        let looked = has_all(&*there, changes, |key| self.far.get().is_some_and(|far| far.contains_key(key)));
        let identity = there.identity("", Found::Within);
        locks::give_back(&*there);
        looked?;
        self.disk.renew().map_err(told)?;
        match (self.disk.identity("", Found::Within), identity) {
            (Ok(taken), Ok(looked_at)) if taken == looked_at => Ok(()),
            _ => Err("it was replaced while it was looked at".to_owned()),
        }
    }
}

/// The catalogue, if it is in the state in which the archiver has left it.
fn has_state(disk: &dyn Disk, changes: [u64; 2]) -> Result<Copy, String> {
    let copy = read_copy(disk).map_err(|error: Error| error.to_string())?;
    let copy = copy.map_err(|reason| format!("its catalogue cannot be read: {reason}"))?;
    if changes.contains(&copy.transactions) {
        return Ok(copy);
    }
    Err("it holds an older or a newer state of this archive, as a copy does; put back the folder that was there, or end the \
         archiver and start it on this one"
        .to_owned())
}

/// Whether a folder holds all that the catalogue in that state names, but for what lies elsewhere.
fn has_all(disk: &dyn Disk, changes: [u64; 2], is_far: impl Fn(&str) -> bool) -> Result<(), String> {
    let copy = has_state(disk, changes)?;
    let near = copy.segments.iter().filter(|segment| segment.place.is_none() && !is_far(&segment.key));
    match near.into_iter().find(|segment| disk.len(&segment.key).ok() != Some(segment.bytes)) {
        Some(missing) => Err(format!("{} is missing in it, or not whole", missing.key)),
        None => disk.list(format::FOLDER).map(drop).map_err(|error| format!("its log is missing: {error}")),
    }
}

impl Objects for Home {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(key)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(key, offset, bytes)
    }

    fn read_parts_at(&self, key: &str, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.disk.read_parts_at(key, parts)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.refuse()?;
        self.disk.remove(key)
    }
}

impl Disk for Home {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.look()?;
        self.disk.create_folder(folder)
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // It may be the first write of a new file.
        if offset == 0 {
            self.look()?
        } else {
            self.refuse()?
        }
        self.disk.write_at(key, offset, bytes)
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        if len == 0 {
            self.look()?
        } else {
            self.refuse()?
        }
        self.disk.set_len(key, len)
    }

    fn allocate(&self, key: &str, len: u64) -> io::Result<()> {
        self.look()?;
        self.disk.allocate(key, len)
    }

    fn room(&self) -> io::Result<Room> {
        self.disk.room()
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.refuse()?;
        self.disk.sync(key)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.look()?;
        let mut known = self.looking();
        self.disk.rename(from, to)?;
        if let Some(key) = WATCHED.iter().find(|key| **key == to)
            && known.files.contains_key(key)
        {
            known.files.insert(key, self.disk.identity(key, Found::Within)?);
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.refuse()?;
        self.disk.sync_folder(folder)
    }

    fn lock(&self, key: &str) -> io::Result<bool> {
        self.disk.lock(key)
    }

    fn unlock(&self, key: &str) {
        self.disk.unlock(key);
    }

    fn locked_by(&self, key: &str) -> Option<u32> {
        self.disk.locked_by(key)
    }

    fn identity(&self, key: &str, found: Found) -> io::Result<Identity> {
        self.disk.identity(key, found)
    }

    fn at_home(&self) -> io::Result<()> {
        self.look()
    }
}

//! Places: where the blocks of sealed segments lie, when they do not lie in the folder of the archive.
//!
//! ```text
//!   folder of the archive (near)                 another place (far)
//!   2026-W47/….seg      of what was not moved        2026-W47/….seg      the whole file, under the same key
//!   2026-W47/….tables   of a moved segment: its tables, directory, names and footer
//! ```
//! Whoever reads lists, bins or summaries of a moved segment does not touch the far place. A place carries a mark with the number of
//! the archive: an empty folder to which nothing is mounted, or that of another archive, is not taken for it.

pub(crate) mod home;
pub(crate) mod locks;
pub(crate) mod mark;

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::Room;
use rustix::io::Errno;

use crate::{
    config,
    disk::{Disk, Objects, patient::Patient},
    segment::manifest::Manifest,
};

/// The trouble of a place in the first moment.
const NOT_LOOKED_AT: &str = "it has not been looked at yet";

/// A place besides the folder of the archive.
#[derive(Debug)]
pub(crate) struct Place {
    // fixed after start
    pub(crate) name: String,
    pub(crate) after: Duration,
    /// So many bytes a second are copied there at most.
    pub(crate) bytes_per_second: Option<u64>,
    /// None for a place that holds segments but is not configured any more.
    disk: Option<Arc<dyn Disk>>,
    /// The same.
    patient: Option<Arc<Patient>>,
    pub(crate) folder: String,
    // atomic
    /// Left-over files were looked for since the start.
    tidied: AtomicBool,
    // guarded by lock
    /// Why it cannot be used; it is looked at again and again.
    trouble: Mutex<Option<String>>,
    pub(crate) room: LastRoom,
}

/// How much room a disk had when it was looked at last.
#[derive(Debug, Default)]
pub(crate) struct LastRoom(Mutex<Option<Room>>);

impl LastRoom {
    pub(crate) fn look(&self, disk: &dyn Disk) {
        let room = disk.room().ok();
        *self.0.lock().expect("no holder of this lock panics") = room;
    }

    pub(crate) fn get(&self) -> Option<Room> {
        *self.0.lock().expect("no holder of this lock panics")
    }
}

impl Place {
    fn new(config: &config::Place, disk: Arc<dyn Disk>) -> Place {
        let patient = Arc::new(Patient::new(disk, config.answers_within));
        Place {
            name: config.name.clone(),
            after: config.after,
            bytes_per_second: config.megabytes_per_second.map(|rate| u64::from(rate.max(1)) << 20),
            disk: Some(patient.clone()),
            patient: Some(patient),
            folder: config.folder.display().to_string(),
            tidied: AtomicBool::new(false),
            room: LastRoom::default(),
            trouble: Mutex::new(Some(NOT_LOOKED_AT.to_owned())),
        }
    }

    fn unknown(name: &str) -> Place {
        Place {
            name: name.to_owned(),
            after: Duration::MAX,
            bytes_per_second: None,
            disk: None,
            patient: None,
            folder: String::new(),
            tidied: AtomicBool::new(false),
            room: LastRoom::default(),
            trouble: Mutex::new(Some(format!(
                "the place {name:?} holds segments but is not configured; put it back into the configuration"
            ))),
        }
    }

    pub(crate) fn disk(&self) -> io::Result<&Arc<dyn Disk>> {
        self.disk.as_ref().ok_or_else(|| io::Error::other("it is not configured"))
    }

    fn state(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().expect("no holder of this lock panics")
    }

    /// Why it cannot be used, for an operator.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.state().clone().filter(|trouble| trouble != NOT_LOOKED_AT)
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.state().is_none()
    }

    /// Looks whether the place is there and ours; a place that was never used is made.
    pub(crate) fn look(&self, archive: u64, first_use: bool) {
        if self.disk.is_none() {
            return;
        }
        let folder = &self.folder;
        let trouble = match self.look_at_mark(archive, first_use) {
            Ok(None) => None,
            Ok(Some(reason)) => Some(format!("the place {:?} ({folder}) is not used: {reason}", self.name)),
            Err(error) => Some(format!("the place {:?} ({folder}) cannot be reached: {error}", self.name)),
        };
        if trouble.is_none()
            && let Some(disk) = &self.disk
        {
            self.room.look(&**disk);
        }
        let mut state = self.state();
        if *state != trouble {
            match &trouble {
                Some(trouble) => tracing::error!("{trouble}"),
                None => tracing::info!("the place {:?} ({folder}) is in use", self.name),
            }
        }
        *state = trouble;
    }

    /// Whether it is to be tidied: once, before anything is moved there.
    pub(crate) fn is_untidied(&self) -> bool {
        self.is_usable() && !self.tidied.swap(true, Relaxed)
    }

    fn look_at_mark(&self, archive: u64, first_use: bool) -> io::Result<Option<String>> {
        let disk = self.disk()?;
        let which = if first_use { mark::Use::First } else { mark::Use::Later };
        // Another file system may be mounted there by now.
        match disk.renew() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && which == mark::Use::Later => {
                return Ok(Some("there is no such folder; is everything mounted?".to_owned()));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match mark::look(&**disk, mark::PLACE, &mark::of_place(archive), which)? {
            None => lock(&**disk),
            reason => Ok(reason),
        }
    }

    /// Gives it back to whoever wants to use it. One that cannot be reached may not answer to that either.
    pub(crate) fn unlock(&self) {
        if let Some(disk) = self.disk.as_ref().filter(|_| self.is_usable()) {
            disk.unlock(mark::PLACE);
        }
    }

    /// Something failed there.
    pub(crate) fn fail(&self, doing: &str, error: &io::Error) {
        let Place { name, folder, .. } = self;
        let trouble = format!("the place {name:?} ({folder}) is not used for now: cannot {doing}: {error}");
        tracing::error!("{trouble}");
        *self.state() = Some(trouble);
    }
}

/// Why a place cannot be locked; none if it is. The copy of an archive has the same number, and each would take the files of the
/// other for left-over ones.
fn lock(disk: &dyn Disk) -> io::Result<Option<String>> {
    match disk.lock(mark::PLACE) {
        Ok(true) => Ok(None),
        Ok(false) => {
            let holder = disk.locked_by(mark::PLACE).map(|process| format!(", process {process} of this machine,"));
            let holder = holder.unwrap_or_default();
            Ok(Some(format!(
                "another archiver{holder} uses it, of an archive with the same number: one of the two is a copy and needs a place of \
                 its own"
            )))
        }
        // Some file systems have no locks, and where nothing can be written nobody needs one.
        Err(error) if has_no_locks(&error) => {
            tracing::debug!("a place cannot be locked: {error}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn has_no_locks(error: &io::Error) -> bool {
    let unsupported = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS, Errno::ROFS, Errno::ACCESS, Errno::PERM];
    error.kind() == io::ErrorKind::Unsupported
        || Errno::from_io_error(error).is_some_and(|errno| unsupported.contains(&errno))
}

/// All places, in the order in which segments go through them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    places: Vec<Arc<Place>>,
}

impl Places {
    /// Those of the configuration, and those that hold segments but are not in it.
    pub(crate) fn new(configured: &[config::Place], disks: Vec<Arc<dyn Disk>>, manifests: &[Manifest]) -> Places {
        let known = configured.iter().zip(disks).map(|(place, disk)| Arc::new(Place::new(place, disk)));
        let mut places: Vec<Arc<Place>> = known.collect();
        for name in manifests.iter().filter_map(|manifest| manifest.place.as_deref()) {
            if !places.iter().any(|place| place.name == name) {
                places.push(Arc::new(Place::unknown(name)));
            }
        }
        Places { places }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Place>> {
        self.places.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The archive is being closed: nobody waits long for a place any more.
    pub(crate) fn close(&self) {
        self.iter().filter_map(|place| place.patient.as_ref()).for_each(|patient| patient.close());
    }

    /// The place with that name, and how far on the way it is.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Arc<Place>)> {
        self.places.iter().enumerate().find(|(_, place)| place.name == name)
    }

    /// Where the blocks of a segment lie; none: in the folder of the archive.
    pub(crate) fn of(&self, manifest: &Manifest) -> Option<&Arc<Place>> {
        self.find(manifest.place.as_deref()?).map(|(_, place)| place)
    }

    /// With what a segment is read.
    pub(crate) fn disk_for(&self, near: &Arc<dyn Disk>, manifest: &Manifest) -> Arc<dyn Objects> {
        match self.of(manifest) {
            None => near.clone(),
            Some(place) => Arc::new(Moved { near: near.clone(), far: place.clone(), tables_at: manifest.tables_at }),
        }
    }

    /// Whether a segment can be read and removed at this moment, as far as known.
    pub(crate) fn reach(&self, manifest: &Manifest) -> bool {
        self.of(manifest).is_none_or(|place| place.is_usable())
    }
}

/// The key of the near part of a moved segment.
pub(crate) fn tables_key(key: &str) -> String {
    format!("{}.tables", key.strip_suffix(".seg").unwrap_or(key))
}

/// The disk of one moved segment, which is only read and removed: its near part answers for what lies behind the blocks.
#[derive(Debug)]
struct Moved {
    near: Arc<dyn Disk>,
    far: Arc<Place>,
    tables_at: u64,
}

impl Moved {
    fn far<T>(&self, result: io::Result<T>) -> io::Result<T> {
        let Place { name, folder, .. } = &*self.far;
        result.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                if self.far.is_usable() {
                    self.far.fail("read", &error);
                }
                io::Error::new(error.kind(), format!("the place {name:?} at {folder} does not answer: {error}"))
            }
            // A place that is not there has no file, and that is no fault of the file.
            _ if !self.far.is_usable() => {
                io::Error::other(format!("it lies in the place {name:?}, which is not in use, and says: {error}"))
            }
            kind => io::Error::new(kind, format!("it lies in the place {name:?}, which says: {error}")),
        })
    }
}

impl Objects for Moved {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.far(self.far.disk().and_then(|disk| disk.len(key)))
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if let Some(offset) = offset.checked_sub(self.tables_at) {
            match self.near.read_at(&tables_key(key), offset, bytes) {
                // The far file is whole: without the near part reading is slower, nothing else.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => return result,
            }
        }
        self.far(self.far.disk().and_then(|disk| disk.read_at(key, offset, bytes)))
    }

    /// Removes the far file alone: when a segment moves on, the near part stays.
    fn remove(&self, key: &str) -> io::Result<()> {
        self.far(self.far.disk().and_then(|disk| disk.remove(key)))
    }
}

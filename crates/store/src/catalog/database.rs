//! The catalogue as it is open: its file, and what becomes of it when that fails.

use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use redb::{Database, ReadableDatabase};

use super::{
    file::open_database,
    mend::{repair, replace},
    new::{VERSION, create},
    tables::{CATALOGUE, Tables},
};
use crate::{
    Error,
    disk::Disk,
    outbox::{Changes, Outbox},
};

/// The open catalogue.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(super) disk: Arc<dyn Disk>,
    /// Shared by those who use it and held alone by who opens or gives it up: opened a second time while somebody still uses
    /// the first, two of them would write to one file.
    opened: RwLock<OpenedFile>,
    /// Held by whoever writes.
    pub(super) doubt: Mutex<Doubt>,
    /// The number of the last change.
    pub(super) transactions: AtomicU64,
    /// The number of one that may hold or not; 0 if there is none.
    pub(super) unsure: AtomicU64,
    /// Up to, not including, which line of the audit the log says where it ends.
    pub(super) audit_told: AtomicU64,
    /// What takes changes on their way into the journal of the shard, in a cluster.
    pub(super) outbox: OnceLock<Arc<Outbox>>,
}

/// What somebody wants of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CatalogUse {
    Read,
    Write,
}

#[derive(Debug, Default)]
struct OpenedFile {
    /// None after a failure: redb then wants to be opened anew.
    database: Option<Database>,
    /// It is a copy that cannot be written to the disk, for those who read.
    in_memory: bool,
    /// Whether the file is still the one that was opened; if not, what has it open does not get to it any more.
    is_ours: Arc<AtomicBool>,
    /// How often it was opened, so that nobody gives up another than the one that failed.
    times: u64,
}

/// What is known of the last transaction.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The number of one that may hold or not.
    pub(super) unsure: Option<u64>,
    /// One that was told as failed was found to hold.
    pub(super) held_late: bool,
    /// What it changes, for the journal.
    pub(super) changes: Option<Changes>,
}

impl Catalog {
    /// Opens the catalogue, or makes an empty one if `create` and there is none. A half-made one never has the final name.
    pub(crate) fn open(disk: Arc<dyn Disk>) -> Result<Catalog, Error> {
        match disk.len(CATALOGUE) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(&disk)?,
            Err(source) => return Err(Error::Io { doing: "open", path: CATALOGUE.to_owned(), source }),
        }
        let (opened, doubt) = (RwLock::default(), Mutex::default());
        let zero = || AtomicU64::new(0);
        let catalog = Catalog {
            disk,
            opened,
            doubt,
            transactions: zero(),
            unsure: zero(),
            audit_told: zero(),
            outbox: OnceLock::new(),
        };
        let version = catalog.read(|tables| tables.meta("version"))?.unwrap_or(0) as u16;
        if version > VERSION {
            return Err(Error::TooNew { path: CATALOGUE.to_owned(), version, supported: VERSION });
        }
        let made = catalog.read(|tables| tables.meta("transactions"))?;
        catalog.transactions.store(made.unwrap_or(0), Relaxed);
        Ok(catalog)
    }

    /// From now on each change goes into a journal as well.
    pub(crate) fn journal_to(&self, outbox: Arc<Outbox>) {
        self.outbox.get_or_init(|| outbox);
    }

    /// Makes a change that somebody ordered: in a cluster they are told when the journal has it.
    pub(super) fn ordered<T>(&self, write: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Some(outbox) = self.outbox.get() else { return write() };
        outbox.takes_orders()?;
        let made = write()?;
        outbox.wait()?;
        Ok(made)
    }

    /// The number of the last change, and of one besides that may hold or not. Never waits for the disk.
    pub(crate) fn last_changes(&self) -> [u64; 2] {
        let last = self.transactions.load(Relaxed);
        let unsure = self.unsure.load(Relaxed);
        [last, if unsure == 0 { last } else { unsure }]
    }

    /// The folder is another one that has the same catalogue: it is opened anew when it is needed.
    pub(crate) fn reopen(&self) {
        let mut opened = self.opened.write().expect("no holder of this lock panics");
        opened.is_ours.store(false, Relaxed);
        opened.database = None;
    }

    /// An error while the folder is away. redb would take one of the disk for its end.
    pub(super) fn at_home(&self) -> Result<(), Error> {
        self.disk.at_home().map_err(|error| Error::Away { reason: error.to_string() })
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Tables) -> Result<T, redb::Error>) -> Result<T, Error> {
        self.with_database(CatalogUse::Read, |database| read(&Tables(database.begin_read()?)))
    }

    /// After a failure redb refuses everything. The next use then makes a new file: see `repair`.
    pub(super) fn with_database<T>(
        &self,
        how: CatalogUse,
        run: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        let opened = self.opened(how)?;
        let (result, times) = (run(opened.database.as_ref().expect("it has just been opened")), opened.times);
        drop(opened);
        result.map_err(|error| {
            let mut opened = self.opened.write().expect("no holder of this lock panics");
            if opened.times == times {
                opened.database = None;
            }
            let doing = if how == CatalogUse::Read { "read" } else { "write" };
            Error::Catalogue { doing, source: error.into() }
        })
    }

    fn opened(&self, how: CatalogUse) -> Result<RwLockReadGuard<'_, OpenedFile>, Error> {
        loop {
            let opened = self.opened.read().expect("no holder of this lock panics");
            let serves =
                |opened: &OpenedFile| opened.database.is_some() && (how == CatalogUse::Read || !opened.in_memory);
            if serves(&opened) {
                return Ok(opened);
            }
            drop(opened);
            let mut opened = self.opened.write().expect("no holder of this lock panics");
            if !serves(&opened) {
                self.open_anew(&mut opened, how)?;
            }
        }
    }

    fn open_anew(&self, opened: &mut OpenedFile, how: CatalogUse) -> Result<(), Error> {
        let failed = |error: redb::Error| Error::Catalogue { doing: "repair", source: error.into() };
        opened.in_memory = false;
        if opened.times > 0 {
            self.at_home()?; // or another catalogue would be taken for this one
            opened.database = None;
            let repaired = repair(&self.disk)?;
            if let Err(error) = replace(&self.disk, &repaired) {
                if how == CatalogUse::Write {
                    return Err(error);
                }
                // Reading goes on without a disk that works.
                let database = Database::builder().create_with_backend(repaired);
                opened.database = Some(database.map_err(|error| failed(error.into()))?);
                opened.in_memory = true;
            }
        }
        if !opened.in_memory {
            opened.is_ours = Arc::new(AtomicBool::new(true));
            opened.database = Some(open_database(&self.disk, CATALOGUE, opened.is_ours.clone())?);
        }
        opened.times += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{RecvTimeoutError, channel},
        time::Duration,
    };

    use super::*;
    use crate::{catalog::tables::unreadable, disk::RealDisk};

    /// Two open databases on one file would both write to it. One that failed is opened anew only when nobody is in it.
    #[test]
    fn a_catalogue_that_failed_is_not_opened_anew_while_somebody_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(Arc::new(RealDisk::new(folder.path()))).unwrap();
        let (reopened, told) = channel();
        std::thread::scope(|scope| {
            let using = catalog.read(|_| {
                scope.spawn(|| {
                    assert!(catalog.read(|_| Err::<(), _>(unreadable("what a test damages"))).is_err());
                    catalog.position().unwrap();
                    reopened.send(()).unwrap();
                });
                Ok(told.recv_timeout(Duration::from_millis(200)))
            });
            assert_eq!(using.unwrap(), Err(RecvTimeoutError::Timeout), "it was opened a second time");
            told.recv_timeout(Duration::from_secs(20)).expect("it is opened when nobody uses it");
        });
    }
}

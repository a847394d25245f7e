//! The store as a whole: opened, ticked once a second, closed.

use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sample::Timestamp;

use crate::{Config, Error, Reader, Writer, head::Head, health::Counters, registry::Registry};

/// An open archive. One process at a time can have it open.
#[derive(Debug)]
pub struct Store {
    core: Arc<Core>,
}

/// What reader, writer and the threads share.
#[derive(Debug)]
pub(crate) struct Core {
    // fixed after start
    #[expect(dead_code, reason = "the folder is not used before the log is there")]
    config: Config,
    // guarded by lock
    pub(crate) ingest: Mutex<()>,
    registry: RwLock<Registry>,
    snapshot: RwLock<Arc<Snapshot>>,
    // atomic
    pub(crate) counters: Counters,
}

/// What readers see at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// In the order in which they were filled; the last one is written to.
    pub(crate) heads: Vec<Arc<Head>>,
}

impl Store {
    /// Opens the archive in `config.folder` or begins one, recovering what a crash left: there is no other way to open.
    ///
    /// Gaps that were left open are closed at the last sign of life, and a gap of the whole archiver is recorded from then to
    /// `now`.
    pub fn open(config: Config, _now: Timestamp) -> Result<Store, Error> {
        let core = Core {
            config,
            ingest: Mutex::default(),
            registry: RwLock::default(),
            snapshot: RwLock::new(Arc::new(Snapshot { heads: vec![Arc::new(Head::new())] })),
            counters: Counters::default(),
        };
        Ok(Store { core: Arc::new(core) })
    }

    /// Something that appends.
    pub fn writer(&self) -> Writer {
        Writer::new(self.core.clone())
    }

    /// Something that reads.
    pub fn reader(&self) -> Reader {
        Reader::new(self.core.clone())
    }

    /// To be called about once a second: records that the archiver is alive, and flushes a head that has become old.
    pub fn tick(&self, _now: Timestamp) {}

    /// Puts everything into blocks, syncs, and records that the archiver was alive until now.
    pub fn close(self, _now: Timestamp) -> Result<(), Error> {
        Ok(())
    }
}

impl Core {
    pub(crate) fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().expect("no holder of this lock panics")
    }

    pub(crate) fn registry_mut(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().expect("no holder of this lock panics")
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().expect("no holder of this lock panics").clone()
    }
}

//! The file of the catalogue: redb's storage on the disk of the archive.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use redb::{Database, StorageBackend};

use super::tables::NEW_KEY;
use crate::{Error, disk::Disk};

/// Pages of the catalogue kept in memory.
const CACHE_BYTES: usize = 32 << 20;

/// Locks a catalogue before it has its name.
pub(super) fn lock_new(disk: &Arc<dyn Disk>) -> io::Result<()> {
    match disk.lock(NEW_KEY)? {
        true => Ok(()),
        false => Err(io::Error::other("another process makes one, too")),
    }
}

pub(super) fn open_database(
    disk: &Arc<dyn Disk>,
    key: &'static str,
    is_ours: Arc<AtomicBool>,
) -> Result<Database, Error> {
    Database::builder()
        .set_cache_size(CACHE_BYTES)
        .create_with_backend(CatalogueFile { disk: disk.clone(), key, is_ours })
        .map_err(|error| Error::Catalogue { doing: "open", source: redb::Error::from(error).into() })
}

/// redb's file, on the store's disk.
struct CatalogueFile {
    disk: Arc<dyn Disk>,
    key: &'static str,
    is_ours: Arc<AtomicBool>,
}

impl CatalogueFile {
    fn ours(&self) -> io::Result<&dyn Disk> {
        match self.is_ours.load(Relaxed) {
            true => Ok(&*self.disk),
            false => Err(io::Error::other("its folder was replaced by another")),
        }
    }
}

impl fmt::Debug for CatalogueFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

impl StorageBackend for CatalogueFile {
    fn len(&self) -> Result<u64, io::Error> {
        match self.disk.len(self.key) {
            // One that has gone must not be taken for one that is to be made: its archive would be empty without a word.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.key == NEW_KEY => Ok(0),
            len => len,
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.disk.read_at(self.key, offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.ours()?.set_len(self.key, len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.ours()?.sync(self.key)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.ours()?.write_at(self.key, offset, data)
    }
}

//! What becomes of a catalogue whose file failed: a copy of what can be read of it, repaired in memory, then a new file.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use redb::{Database, StorageBackend};

use super::{
    file::lock_new,
    tables::{CATALOGUE, NEW_KEY},
};
use crate::{Error, disk::Disk};

/// What can be read of a catalogue that failed, repaired in memory.
///
/// After a failed sync the system's memory may hold pages that never reached the disk and that it will never write again: a
/// file opened anew would read them, build on them, and be torn after a power cut. So nothing is ever written to that file
/// again; a crash finds it as its last good sync left it, until `replace` has put the copy in its place.
pub(super) fn repair(disk: &Arc<dyn Disk>) -> Result<Memory, Error> {
    let io = |source| Error::Io { doing: "read", path: CATALOGUE.to_owned(), source };
    let mut bytes = vec![0; disk.len(CATALOGUE).map_err(io)? as usize];
    disk.read_at(CATALOGUE, 0, &mut bytes).map_err(io)?;
    let repaired = Memory(Arc::new(Mutex::new(bytes)));
    let run = || -> Result<bool, redb::Error> {
        let mut database = Database::builder().create_with_backend(repaired.clone())?;
        Ok(database.check_integrity()?)
    };
    run().map_err(|error| Error::Catalogue { doing: "repair", source: error.into() })?;
    Ok(repaired)
}

/// Writes a copy to a new file and puts it in the place of the old one.
pub(super) fn replace(disk: &Arc<dyn Disk>, copy: &Memory) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        match disk.remove(NEW_KEY) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        disk.write_at(NEW_KEY, 0, &copy.bytes())?;
        disk.sync(NEW_KEY)?;
        lock_new(disk)?;
        disk.rename(NEW_KEY, CATALOGUE)?;
        disk.sync_folder("")
    };
    write().map_err(|source| Error::Io { doing: "make a fresh copy of", path: CATALOGUE.to_owned(), source })?;
    tracing::warn!("the catalogue failed and was replaced by a fresh copy of itself");
    Ok(())
}

/// A catalogue in memory, whose bytes are there when redb is done with them.
#[derive(Clone, Debug)]
pub(super) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub(super) fn new(bytes: Vec<u8>) -> Memory {
        Memory(Arc::new(Mutex::new(bytes)))
    }

    pub(super) fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

impl StorageBackend for Memory {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let bytes = self.bytes();
        let found = bytes.get(offset as usize..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.bytes().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let mut bytes = self.bytes();
        let end = offset as usize + data.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(data);
        Ok(())
    }
}

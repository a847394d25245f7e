//! The catalogue of a shard as its journal tells it: made out of a copy of all rows and the changes behind it.

use std::{
    io::{self, Read},
    sync::{Arc, atomic::AtomicBool},
};

use redb::{Database, Durability, ReadableDatabase};
use shared::Seq;

use super::{
    changes::{self, Failed},
    database::{Catalog, CatalogUse},
    file::open_database,
    new::{begin_new, end_new},
    tables::{META, NEW_KEY},
};
use crate::{Error, disk::Disk};

/// The name in `meta` of the number that the next row of the journal had when the catalogue was made of it.
const JOURNAL: &str = "journal";

/// A catalogue that is being made; it has its name when all is in it.
pub(crate) struct Restoring<'d> {
    disk: &'d Arc<dyn Disk>,
    database: Option<Database>,
}

impl<'d> Restoring<'d> {
    pub(crate) fn new(disk: &'d Arc<dyn Disk>) -> Restoring<'d> {
        Restoring { disk, database: None }
    }

    /// It is what the journal says before the row `next`.
    pub(crate) fn finish(self, next: Seq) -> Result<(), Error> {
        let failed = |error: redb::Error| Error::Catalogue { doing: "create", source: error.into() };
        let database = self.database.as_ref().ok_or(redb::Error::Corrupted("nothing was restored".into()));
        let write = || -> Result<(), redb::Error> {
            let transaction = database?.begin_write()?;
            transaction.open_table(META)?.insert(JOURNAL, next.0)?;
            Ok(transaction.commit()?)
        };
        write().map_err(failed)?;
        drop(self.database);
        end_new(self.disk)
    }

    fn write(&self, changes: &[u8], durability: Durability) -> io::Result<()> {
        let database = self.database.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let run = || -> Result<(), Failed> {
            let mut transaction = database.begin_write().map_err(redb::Error::from)?;
            transaction.set_durability(durability).map_err(redb::Error::from)?;
            changes::apply(&transaction, changes)?;
            Ok(transaction.commit().map_err(redb::Error::from)?)
        };
        run().map_err(told)
    }
}

fn told(failed: Failed) -> io::Error {
    match failed {
        Failed::Malformed(malformed) => io::Error::new(io::ErrorKind::InvalidData, malformed.0),
        Failed::Newer(version) => {
            io::Error::other(format!("it is of version {version}, which this program does not know: update it"))
        }
        Failed::Catalogue(error) => io::Error::other(error),
    }
}

impl shared::Catalogue for Restoring<'_> {
    fn restore(&mut self, copy: Option<&mut dyn Read>) -> io::Result<()> {
        self.database = None;
        begin_new(self.disk, |_| Ok(())).map_err(io::Error::other)?;
        let database = open_database(self.disk, NEW_KEY, Arc::new(AtomicBool::new(true)));
        self.database = Some(database.map_err(io::Error::other)?);
        if let Some(copy) = copy {
            let mut rows = Vec::new();
            copy.read_to_end(&mut rows)?;
            self.write(&rows, Durability::Immediate)?;
        }
        Ok(())
    }

    fn apply(&mut self, _seq: Seq, change: &[u8]) -> io::Result<()> {
        self.write(change, Durability::None)
    }
}

impl Catalog {
    /// Makes the changes of a transaction that the owner of the shard made elsewhere.
    pub(crate) fn take(&self, changes: &[u8]) -> Result<(), Error> {
        let mut malformed = None;
        self.with_database(CatalogUse::Write, |database| {
            let transaction = database.begin_write()?;
            match changes::apply(&transaction, changes) {
                Ok(()) => Ok(transaction.commit()?),
                Err(Failed::Catalogue(error)) => Err(error),
                Err(other) => {
                    malformed = Some(told(other));
                    Ok(transaction.abort()?)
                }
            }
        })?;
        let path = || super::tables::CATALOGUE.to_owned();
        malformed
            .map_or(Ok(()), |source| Err(Error::Io { doing: "apply a change of the journal to", path: path(), source }))
    }

    /// All rows, if `quiet` holds while nobody writes.
    pub(crate) fn rows_when(&self, quiet: impl FnOnce() -> bool) -> Result<Option<Vec<u8>>, Error> {
        let mut doubt = self.doubt.lock().expect("no holder of this lock panics");
        self.look(&mut doubt)?;
        if !quiet() {
            return Ok(None);
        }
        self.with_database(CatalogUse::Read, |database| changes::all_rows(&database.begin_read()?)).map(Some)
    }
}

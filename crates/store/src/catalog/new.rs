//! A catalogue that is made: it has its name only when all is in it.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

use archive::PvId;

use super::{
    changes::{Transaction, put_position},
    file::{lock_new, open_database},
    tables::{
        ALIASES, ARCHIVER_GAPS, AUDIT, CATALOGUE, DELETIONS, GAPS, IMPORTS, LEDGER, META, METADATA, METADATA_TIDIED,
        NEW_KEY, OPEN_GAPS, PLACES, PVS, Position, SEGMENTS, UNTOLD,
    },
    unfinished::Untold,
    wire,
};
use crate::{Error, disk::Disk, segment::manifest::Manifest};

/// Of the catalogue's format.
pub(super) const VERSION: u16 = 1;

/// Makes a catalogue of rows and segments that were found without one. It has the final name only when all is in it.
pub(crate) fn create_from(
    disk: &Arc<dyn Disk>,
    rows: &[(PvId, Vec<u8>)],
    segments: &[Manifest],
    position: Position,
) -> Result<(), Error> {
    begin_new(disk, |transaction| {
        let mut pvs = transaction.open_table(PVS)?;
        for (pv, row) in rows {
            pvs.insert(pv.0, row.as_slice())?;
        }
        let mut table = transaction.open_table(SEGMENTS)?;
        for manifest in segments {
            table.insert(manifest.id(), wire::manifest_bytes(manifest).as_slice())?;
        }
        let unknown = wire::untold_bytes(&Untold::new(false), position.frame);
        transaction.open_table(LEDGER)?.insert(UNTOLD, unknown.as_slice())?;
        put_position(transaction, position)
    })?;
    end_new(disk)
}

/// Makes an empty catalogue.
pub(super) fn create(disk: &Arc<dyn Disk>) -> Result<(), Error> {
    begin_new(disk, |_| Ok(()))?;
    end_new(disk)
}

/// Makes a catalogue that does not have its name yet.
pub(super) fn begin_new(
    disk: &Arc<dyn Disk>,
    fill: impl FnOnce(&Transaction) -> Result<(), redb::Error>,
) -> Result<(), Error> {
    let io = |doing, source| Error::Io { doing, path: CATALOGUE.to_owned(), source };
    match disk.remove(NEW_KEY) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io("replace a half-made", error)),
        _ => {}
    }
    let database = open_database(disk, NEW_KEY, Arc::new(AtomicBool::new(true)))?;
    let run = || -> Result<(), redb::Error> {
        let writing = database.begin_write()?;
        let transaction = Transaction::plain(&writing);
        transaction.open_table(META)?.insert("version", u64::from(VERSION))?;
        transaction.open_table(META)?.insert(METADATA_TIDIED, 1)?;
        transaction.open_table(PVS)?;
        transaction.open_table(ALIASES)?;
        transaction.open_table(DELETIONS)?;
        transaction.open_table(AUDIT)?;
        transaction.open_table(IMPORTS)?;
        transaction.open_table(METADATA)?;
        transaction.open_table(GAPS)?;
        transaction.open_table(OPEN_GAPS)?;
        transaction.open_table(ARCHIVER_GAPS)?;
        transaction.open_table(SEGMENTS)?;
        transaction.open_table(PLACES)?;
        transaction.open_table(LEDGER)?;
        fill(&transaction)?;
        Ok(writing.commit()?)
    };
    run().map_err(|error| Error::Catalogue { doing: "create", source: error.into() })
}

/// Gives a catalogue that is made its name.
pub(super) fn end_new(disk: &Arc<dyn Disk>) -> Result<(), Error> {
    let io = |doing, source| Error::Io { doing, path: CATALOGUE.to_owned(), source };
    disk.sync(NEW_KEY).map_err(|error| io("sync", error))?;
    lock_new(disk).map_err(|error| io("lock", error))?;
    disk.rename(NEW_KEY, CATALOGUE).map_err(|error| io("create", error))?;
    disk.sync_folder("").map_err(|error| io("make durable the name of", error))
}

//! Segments that a repair gave up: what the catalogue knew of them, from which readers see a gap where their samples were.

use redb::ReadableTable;

use super::{
    changes::Transaction,
    database::Catalog,
    tables::{LOST, unreadable},
    wire,
};
use crate::{Error, segment::manifest::Manifest};

impl Catalog {
    /// The segments that were given up.
    pub(crate) fn lost(&self) -> Result<Vec<Manifest>, Error> {
        self.read(|tables| {
            let table = match tables.0.open_table(LOST) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()), // none ever was
                Err(error) => return Err(error.into()),
            };
            let mut lost = Vec::new();
            for row in table.iter()? {
                let (id, bytes) = row?;
                lost.push(wire::manifest(id.value(), bytes.value()).ok_or(unreadable("the entry of a lost segment"))?);
            }
            Ok(lost)
        })
    }
}

pub(super) fn put(transaction: &Transaction, lost: &[Manifest]) -> Result<(), redb::Error> {
    if lost.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(LOST)?;
    for manifest in lost {
        table.insert(manifest.id(), wire::manifest_bytes(manifest).as_slice())?;
    }
    Ok(())
}

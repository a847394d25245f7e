//! What retention took of single fields of structures: rows of the catalogue that readers of these fields see as gaps.

use archive::PvId;
use redb::ReadableTable;
use sample::{Gap, GapCause, Timestamp};

use super::{changes::Transaction, database::Catalog, tables::FIELD_GAPS};
use crate::Error;

/// A range in which retention took a field out of the structures of a PV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldGap {
    pub(crate) pv: PvId,
    pub(crate) path: String,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// How many samples had it.
    pub(crate) samples: u64,
}

impl FieldGap {
    /// Grows to reach over another one and what is between.
    pub(crate) fn join(&mut self, other: &FieldGap) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
        self.samples += other.samples;
    }

    pub(crate) fn gap(&self) -> Gap {
        Gap { from: self.from, to: Some(self.to), cause: GapCause::Expired, lost: self.samples }
    }
}

impl Catalog {
    /// What was taken of one field of a PV, or of all, by path and time.
    pub(crate) fn field_gaps(&self, pv: PvId, path: Option<&str>) -> Result<Vec<FieldGap>, Error> {
        self.read(|tables| {
            let table = match tables.0.open_table(FIELD_GAPS) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()), // nothing was ever taken
                Err(error) => return Err(error.into()),
            };
            let mut found = Vec::new();
            for row in table.range((pv.0, path.unwrap_or_default(), i64::MIN)..)? {
                let (key, value) = row?;
                let ((owner, of, from), (to, samples)) = (key.value(), value.value());
                if owner != pv.0 || path.is_some_and(|path| path != of) {
                    break;
                }
                let (from, to) = (Timestamp::from_nanos(from), Timestamp::from_nanos(to));
                found.push(FieldGap { pv, path: of.to_owned(), from, to, samples });
            }
            Ok(found)
        })
    }
}

/// Enters gaps in the place of those that they reach over.
pub(super) fn put(transaction: &Transaction, gaps: &[FieldGap]) -> Result<(), redb::Error> {
    if gaps.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(FIELD_GAPS)?;
    for FieldGap { pv, path, from, to, samples } in gaps {
        let path = path.as_str();
        table.retain_in((pv.0, path, from.nanos())..=(pv.0, path, to.nanos()), |_, _| false)?;
        table.insert((pv.0, path, from.nanos()), (to.nanos(), *samples))?;
    }
    Ok(())
}

/// Forgets a PV.
pub(super) fn forget(transaction: &Transaction, pv: PvId) -> Result<(), redb::Error> {
    // Opened for writing, a table is made if there is none: older archives stay as they are.
    match transaction.has_table("field_gaps")? {
        false => {}
        true => {
            let mut table = transaction.open_table(FIELD_GAPS)?;
            let paths: Vec<(String, i64)> = {
                let rows = table.range((pv.0, "", i64::MIN)..(pv.0 + 1, "", i64::MIN))?;
                rows.map(|row| row.map(|(key, _)| (key.value().1.to_owned(), key.value().2)))
                    .collect::<Result<_, _>>()?
            };
            for (path, from) in &paths {
                table.remove((pv.0, path.as_str(), *from))?;
            }
        }
    }
    Ok(())
}

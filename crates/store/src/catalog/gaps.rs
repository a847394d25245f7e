//! The gaps of PVs and of the whole archiver.

use archive::PvId;
use redb::ReadableTable;
use sample::{Gap, Timestamp};

use super::{
    changes::Transaction,
    database::Catalog,
    metadata_rows,
    tables::{ARCHIVER_GAPS, GAPS, OPEN_GAPS},
};
use crate::{
    Error,
    facts::{self, Facts},
};

impl Catalog {
    /// The gaps of a PV that began before `before`.
    pub(crate) fn gaps(&self, pv: PvId, before: Timestamp) -> Result<Vec<Gap>, Error> {
        self.read(|tables| {
            let range = (pv.0, i64::MIN, u8::MIN)..(pv.0, before.nanos(), u8::MIN);
            let mut gaps = Vec::new();
            for row in tables.0.open_table(GAPS)?.range(range.clone())? {
                let (key, value) = row?;
                let ((_, from, cause), (to, lost)) = (key.value(), value.value());
                gaps.extend(facts::gap(from, Some(to), cause, lost));
            }
            for row in tables.0.open_table(OPEN_GAPS)?.range(range)? {
                let (key, lost) = row?;
                let (_, from, cause) = key.value();
                gaps.extend(facts::gap(from, None, cause, lost.value()));
            }
            Ok(gaps)
        })
    }

    /// The gaps of the whole archiver that began before `before`.
    pub(crate) fn archiver_gaps(&self, before: Timestamp) -> Result<Vec<Gap>, Error> {
        self.read(|tables| {
            let mut gaps = Vec::new();
            for row in tables.0.open_table(ARCHIVER_GAPS)?.range(..(before.nanos(), u8::MIN))? {
                let (key, value) = row?;
                let ((from, cause), (to, lost)) = (key.value(), value.value());
                gaps.extend(facts::gap(from, Some(to), cause, lost));
            }
            Ok(gaps)
        })
    }
}

/// Enters what a flush or an import brings besides samples: metadata, and gaps, of which one that has an end takes the place of the same one
/// without.
pub(super) fn put_facts(transaction: &Transaction, facts: &Facts) -> Result<(), redb::Error> {
    metadata_rows::put(transaction, facts)?;
    let mut gaps = transaction.open_table(GAPS)?;
    let mut open = transaction.open_table(OPEN_GAPS)?;
    for ((pv, from, cause), gap) in &facts.gaps {
        let key = (pv.0, from.nanos(), facts::cause_number(*cause));
        match gap.to {
            Some(to) => {
                gaps.insert(key, (to.nanos(), gap.lost))?;
                open.remove(key)?;
            }
            None => {
                open.insert(key, gap.lost)?;
                gaps.remove(key)?;
            }
        }
    }
    Ok(())
}

/// Ends each gap that is open at the last sign of life.
pub(super) fn end_open(transaction: &Transaction, alive: Timestamp) -> Result<(), redb::Error> {
    let mut open = transaction.open_table(OPEN_GAPS)?;
    let mut gaps = transaction.open_table(GAPS)?;
    for row in open.iter()? {
        let (key, lost) = row?;
        gaps.insert(key.value(), (alive.nanos().max(key.value().1), lost.value()))?;
    }
    open.retain(|_, _| false)
}

//! The audit: who changed what.

use std::sync::atomic::Ordering::Relaxed;

use archive::AuditRecord;

use super::{
    chain::{self, AUDIT_HEAD},
    changes::Transaction,
    database::Catalog,
    pvs_wire,
    tables::{AUDIT, unreadable},
};
use crate::Error;

impl Catalog {
    /// Makes a change that the audit has lines of, and says in the log where the audit then ends.
    pub(super) fn write_audited<T>(
        &self,
        write: impl FnOnce(&Transaction) -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        let made = self.write(write)?;
        // The change holds, whether this can be said or not.
        match self.read(|tables| chain::head(&tables.0)) {
            Ok(Some(head)) if self.audit_told.swap(head.number + 1, Relaxed) != head.number + 1 => {
                tracing::info!("{AUDIT_HEAD}{head}");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("the end of the audit cannot be told: {error}"),
        }
        Ok(made)
    }

    /// The newest lines of the audit with lower numbers than `before`, the newest first.
    pub(crate) fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, Error> {
        self.read(|tables| {
            let table = tables.0.open_table(AUDIT)?;
            let mut records = Vec::new();
            for row in table.range(..before)?.rev().take(limit) {
                let (number, bytes) = row?;
                let record = pvs_wire::audit(number.value(), bytes.value());
                records.push(record.ok_or(unreadable("a line of the audit"))?);
            }
            Ok(records)
        })
    }
}

/// Writes lines of the audit behind those that there are.
pub(super) fn put_audit(transaction: &Transaction, records: &[AuditRecord]) -> Result<(), redb::Error> {
    if records.is_empty() {
        return Ok(());
    }
    let next = chain::next_number(transaction)?;
    let mut audit = transaction.open_table(AUDIT)?;
    for (number, record) in (next..).zip(records) {
        audit.insert(number, pvs_wire::audit_bytes(record).as_slice())?;
    }
    drop(audit);
    chain::extend(transaction)
}

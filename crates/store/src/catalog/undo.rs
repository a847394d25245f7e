//! Orders that can be taken back: beside the line of the audit stands, for a day, what each row about a PV was before, and what it became.
//! They are written in the transaction that changes the rows, so that there is neither without the other.

use std::collections::{BTreeMap, HashSet};

use archive::{AuditRecord, PvId, PvName, UNDO_FOR, UndoPlan, UndoStep, UndoTo, Undoable};
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError};
use sample::Timestamp;

use super::{
    chain,
    changes::Transaction,
    database::Catalog,
    pvs_wire::{self as wire, Pv},
    tables::{AUDIT, BEFORE, ORDERS, unreadable},
};
use crate::{
    Error,
    catalog::{change::Undone, registry::Registry},
};

/// A row about a PV: what it was before an order, and what that made of it.
pub(crate) struct Row {
    pv: PvId,
    before: Pv,
    after: Vec<u8>,
}

/// The rows about PVs that a transaction changes, as they were and as they are.
#[derive(Default)]
pub(super) struct Former(BTreeMap<u32, (Vec<u8>, Vec<u8>)>);

impl Former {
    /// A row was another one before. One that is new, or that changes twice, has nothing but the first that was there.
    pub(super) fn note(&mut self, pv: PvId, before: Option<&[u8]>, after: Vec<u8>) {
        match (self.0.get_mut(&pv.0), before) {
            (Some(row), _) => row.1 = after,
            (None, Some(before)) => _ = self.0.insert(pv.0, (before.to_vec(), after)),
            (None, None) => {}
        }
    }

    /// Writes them down beside the lines of the audit that come next, and forgets what was ordered more than a day before.
    pub(super) fn put(mut self, transaction: &Transaction, lines: &[AuditRecord]) -> Result<(), redb::Error> {
        self.0.retain(|_, (before, after)| before != after);
        let Some(line) = lines.first().filter(|_| !self.0.is_empty()) else { return Ok(()) };
        forget_old(transaction, line.by.at)?;
        let number = chain::next_number(transaction)?;
        let is_out = |row: &[u8]| !matches!(wire::pv(PvId(0), row), Some(Pv::Archived(_)));
        let moves = self.0.values().any(|(before, after)| is_out(before) || is_out(after));
        transaction.open_table(ORDERS)?.insert(number, (self.0.len() as u64, u8::from(moves)))?;
        let mut rows = transaction.open_table(BEFORE)?;
        for (pv, (before, after)) in &self.0 {
            rows.insert((number, *pv), (before.as_slice(), after.as_slice()))?;
        }
        Ok(())
    }
}

/// Forgets the orders that cannot be taken back any more. They stand in the order of their numbers, and so of their times.
fn forget_old(transaction: &Transaction, now: Timestamp) -> Result<(), redb::Error> {
    let mut old = Vec::new();
    {
        let (orders, audit) = (transaction.open_table(ORDERS)?, transaction.open_table(AUDIT)?);
        for row in orders.iter()? {
            let number = row?.0.value();
            let line = audit.get(number)?.and_then(|line| wire::audit(number, line.value()));
            if line.is_some_and(|line| !is_old(&line, now)) {
                break;
            }
            old.push(number);
        }
    }
    old.into_iter().try_for_each(|number| forget(transaction, number))
}

fn is_old(line: &AuditRecord, now: Timestamp) -> bool {
    line.by.at.saturating_add(UNDO_FOR) < now
}

fn forget(transaction: &Transaction, number: u64) -> Result<(), redb::Error> {
    transaction.open_table(ORDERS)?.remove(number)?;
    transaction.open_table(BEFORE)?.retain_in((number, 0)..=(number, u32::MAX), |_, _| false)
}

/// An order was taken back, as far as it was possible: what is left of it are PVs that were changed again.
pub(super) fn put_undone(transaction: &Transaction, undone: &Undone) -> Result<(), redb::Error> {
    if undone.pvs.is_empty() {
        return Ok(());
    }
    let mut rows = transaction.open_table(BEFORE)?;
    for pv in &undone.pvs {
        rows.remove((undone.number, pv.0))?;
    }
    let left = rows.range((undone.number, 0)..=(undone.number, u32::MAX))?.count() as u64;
    drop(rows);
    let mut orders = transaction.open_table(ORDERS)?;
    let moves = orders.get(undone.number)?.map_or(0, |row| row.value().1);
    match left {
        0 => _ = orders.remove(undone.number)?,
        left => _ = orders.insert(undone.number, (left, moves))?,
    }
    Ok(())
}

impl Catalog {
    /// The orders that can be taken back, the newest first.
    pub(crate) fn undoable(&self) -> Result<Vec<Undoable>, Error> {
        self.read(|tables| {
            let Some(orders) = opened(&tables.0, ORDERS)? else { return Ok(Vec::new()) };
            let audit = tables.0.open_table(AUDIT)?;
            let mut found = Vec::new();
            for row in orders.iter()?.rev() {
                let (number, order) = row?;
                found.extend(undoable(&audit, number.value(), order.value())?);
            }
            Ok(found)
        })
    }

    /// One of them, with its rows; none if there is none of that number.
    pub(crate) fn order(&self, number: u64) -> Result<Option<(Undoable, Vec<Row>)>, Error> {
        self.read(|tables| {
            let Some(orders) = opened(&tables.0, ORDERS)? else { return Ok(None) };
            let Some(order) = orders.get(number)?.map(|order| order.value()) else { return Ok(None) };
            let Some(order) = undoable(&tables.0.open_table(AUDIT)?, number, order)? else { return Ok(None) };
            let mut rows = Vec::new();
            for row in tables.0.open_table(BEFORE)?.range((number, 0)..=(number, u32::MAX))? {
                let (key, value) = row?;
                let (pv, (before, after)) = (PvId(key.value().1), value.value());
                let before = wire::pv(pv, before).ok_or(unreadable("what a PV was before an order"))?;
                rows.push(Row { pv, before, after: after.to_vec() });
            }
            Ok(Some((order, rows)))
        })
    }
}

/// A table that is not in every archive.
fn opened<K: redb::Key + 'static, V: redb::Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<'static, K, V>,
) -> Result<Option<redb::ReadOnlyTable<K, V>>, redb::Error> {
    match transaction.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn undoable(
    audit: &impl ReadableTable<u64, &'static [u8]>,
    number: u64,
    (pvs, moves): (u64, u8),
) -> Result<Option<Undoable>, redb::Error> {
    let line = audit.get(number)?.and_then(|line| wire::audit(number, line.value()));
    Ok(line.map(|AuditRecord { by, action, name, detail, .. }| {
        // Of one PV the audit says the name beside it.
        let detail = [name, detail].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        Undoable { number, by, action, detail, pvs, moves: moves != 0 }
    }))
}

/// What taking an order back would do to the PVs that there are; none if there is none of that number.
pub(crate) fn plan(catalog: &Catalog, registry: &Registry, number: u64) -> Result<Option<UndoPlan>, Error> {
    let Some((order, rows)) = catalog.order(number)? else { return Ok(None) };
    let mut names = HashSet::new();
    let steps = rows.into_iter().map(|row| step(registry, row, &mut names)).collect();
    Ok(Some(UndoPlan { order, steps }))
}

/// What becomes of a PV, where these names are given to others that come back.
fn step(registry: &Registry, row: Row, names: &mut HashSet<PvName>) -> UndoStep {
    let (archived, removed) = (registry.entry(row.pv), registry.removed().get(&row.pv));
    let now = archived.map(wire::archived_bytes).or_else(|| removed.map(wire::removed_bytes));
    let entry = archived.or(removed.map(|removed| &removed.entry));
    let name = entry.unwrap_or(row.before.entry()).name.clone();
    let to = match row.before {
        _ if now.as_deref() != Some(&*row.after) => UndoTo::Refused(changed_again(registry, row.pv, &name)),
        Pv::Archived(entry) if archived.is_some() => UndoTo::Settings(entry),
        Pv::Archived(entry) => match registry.find(entry.name.as_str()) {
            None if names.insert(entry.name.clone()) => UndoTo::Back(entry),
            _ => UndoTo::Refused(format!("another PV is called {name} by now; rename that one first")),
        },
        Pv::Removed(removed) => UndoTo::Out(removed.data),
        Pv::Purging(_) | Pv::Purged(_) | Pv::Own(_) => UndoTo::Refused(format!("{name} was no PV that can be changed")),
    };
    UndoStep { pv: row.pv, name, to }
}

/// What became of a PV after an order that is to be taken back.
fn changed_again(registry: &Registry, pv: PvId, name: &PvName) -> String {
    match () {
        () if registry.is_purged(pv) => format!("{name} was purged since, and is gone for good"),
        () if registry.entry(pv).is_none() => format!("{name} was removed since"),
        () => format!("{name} was changed again since"),
    }
}

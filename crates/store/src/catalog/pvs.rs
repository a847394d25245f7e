//! The catalogue of PVs: names, aliases, what was removed or deleted, and the audit. Every change is one transaction.

use std::collections::BTreeSet;

use archive::{AuditRecord, ImportedPart, PvId, PvName};
use redb::ReadableTable;

use super::{
    audit::put_audit,
    balance,
    changes::Transaction,
    database::Catalog,
    field_gaps, gaps, pvs_wire as wire, rules_wire,
    tables::{
        ALIASES, DELETIONS, GAPS, GROUPS, IMPORTED_FACTS, IMPORTED_UNVERIFIED, IMPORTS, META, METADATA, OPEN_GAPS, PVS,
        unreadable,
    },
    undo::{Former, put_undone},
};
use crate::{
    Error,
    catalog::{
        change::Change,
        imports::Proof,
        registry::{Registry, Rows},
    },
    facts::{self, Facts},
    segment::manifest::Manifest,
};

impl Catalog {
    /// All PVs, present and removed.
    pub(crate) fn registry(&self) -> Result<Registry, Error> {
        self.read(|tables| {
            let mut rows = Rows::default();
            for row in tables.0.open_table(PVS)?.iter()? {
                let (id, bytes) = row?;
                let pv = PvId(id.value());
                match wire::pv(pv, bytes.value()).ok_or(unreadable("the entry of a PV"))? {
                    wire::Pv::Archived(entry) => rows.entries.push(entry),
                    wire::Pv::Removed(removed) => rows.removed.push(removed),
                    wire::Pv::Own(entry) => rows.own.push(entry),
                    wire::Pv::Purging(_) => _ = rows.purging.insert(pv),
                    wire::Pv::Purged(_) => _ = rows.purged.insert(pv),
                }
            }
            for row in tables.0.open_table(ALIASES)?.iter()? {
                let (alias, pv) = row?;
                let alias = PvName::recorded(alias.value()).map_err(|_| unreadable("an alias"))?;
                rows.aliases.push((alias, PvId(pv.value())));
            }
            for row in tables.0.open_table(DELETIONS)?.iter()? {
                let (number, bytes) = row?;
                let deletion = wire::deletion(number.value(), bytes.value());
                rows.deletions.push(deletion.ok_or(unreadable("a deletion"))?);
            }
            match tables.0.open_table(GROUPS) {
                Ok(table) => {
                    for row in table.iter()? {
                        let (name, bytes) = row?;
                        let group = rules_wire::group(name.value(), bytes.value());
                        rows.groups.push(group.ok_or(unreadable("a group"))?);
                    }
                }
                Err(redb::TableError::TableDoesNotExist(_)) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(Registry::new(rows))
        })
    }

    /// One change of the list of PVs, with all that belongs to it.
    pub(crate) fn commit_change(&self, change: &Change) -> Result<(), Error> {
        self.ordered(|| self.write_change(change))
    }

    fn write_change(&self, change: &Change) -> Result<(), Error> {
        self.write_audited(|transaction| {
            let mut pvs = transaction.open_table(PVS)?;
            let mut former = Former::default();
            let removed = change.removed.iter().map(|removed| (removed.entry.id, wire::removed_bytes(removed)));
            let put = change.put.iter().map(|entry| (entry.id, wire::archived_bytes(entry)));
            for (pv, row) in removed.chain(put) {
                let before = pvs.insert(pv.0, row.as_slice())?;
                if change.can_be_undone {
                    former.note(pv, before.as_ref().map(|before| before.value()), row);
                }
            }
            for entry in &change.own {
                pvs.insert(entry.id.0, wire::own_bytes(entry).as_slice())?;
            }
            for entry in &change.purged {
                pvs.insert(entry.id.0, wire::purging_bytes(entry).as_slice())?;
                forget(transaction, entry.id)?;
            }
            for pv in &change.purge_done {
                let row = pvs.get(pv.0)?.and_then(|row| wire::pv(*pv, row.value()));
                let entry = row.ok_or(unreadable("the entry of a PV"))?.into_entry();
                pvs.insert(pv.0, wire::purged_bytes(&entry).as_slice())?;
            }
            let mut aliases = transaction.open_table(ALIASES)?;
            for alias in change.removed.iter().flat_map(|removed| &removed.aliases).chain(&change.aliases_removed) {
                aliases.remove(alias.as_str())?;
            }
            for (alias, pv) in &change.aliases_added {
                aliases.insert(alias.as_str(), pv.0)?;
            }
            let mut gaps = transaction.open_table(GAPS)?;
            for (pv, gap) in &change.gaps {
                let to = gap.to.unwrap_or(gap.from).nanos();
                gaps.insert((pv.0, gap.from.nanos(), facts::cause_number(gap.cause)), (to, gap.lost))?;
            }
            put_deletions(transaction, change)?;
            put_groups(transaction, change)?;
            put_undone(transaction, &change.undone)?;
            former.put(transaction, &change.audit)?;
            put_audit(transaction, &change.audit)
        })
    }

    /// The number of the next deletion.
    pub(crate) fn next_deletion(&self) -> Result<u64, Error> {
        self.read(|tables| Ok(tables.meta("next_deletion")?.unwrap_or(1)))
    }

    /// What a part of an import brought; none if it was not entered, or not found whole.
    pub(crate) fn imported(&self, import: &str, part: &str) -> Result<Option<ImportedPart>, Error> {
        self.read(|tables| {
            match tables.0.open_table(IMPORTED_UNVERIFIED) {
                Ok(unverified) if unverified.get((import, part))?.is_some() => return Ok(None),
                Ok(_) | Err(redb::TableError::TableDoesNotExist(_)) => {}
                Err(error) => return Err(error.into()),
            }
            let row = tables.0.open_table(IMPORTS)?.get((import, part))?.map(|row| row.value());
            let facts = match tables.0.open_table(IMPORTED_FACTS) {
                Ok(facts) => facts.get((import, part))?.map(|row| row.value()),
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(error.into()),
            };
            Ok(row.map(|row| imported_part(row, facts)))
        })
    }

    /// The end of a part of an import: its segments and facts are there, and it is known by its name. If it is known already
    /// nothing is done, and what it brought then is given. One that is still to be verified is not known yet.
    pub(crate) fn commit_import(
        &self,
        name: (&str, &str),
        proof: Proof,
        imported: ImportedPart,
        segments: &[Manifest],
        facts: &Facts,
        record: &AuditRecord,
    ) -> Result<Option<ImportedPart>, Error> {
        self.ordered(|| self.write_import(name, proof, imported, segments, facts, record))
    }

    fn write_import(
        &self,
        name: (&str, &str),
        proof: Proof,
        imported: ImportedPart,
        segments: &[Manifest],
        facts: &Facts,
        record: &AuditRecord,
    ) -> Result<Option<ImportedPart>, Error> {
        self.write_audited(|transaction| {
            let mut imports = transaction.open_table(IMPORTS)?;
            let mut with_facts = transaction.open_table(IMPORTED_FACTS)?;
            let mut unverified = transaction.open_table(IMPORTED_UNVERIFIED)?;
            let was_unverified = unverified.remove(name)?.is_some();
            let known = imports.get(name)?.map(|row| row.value());
            if let Some(known) = known.filter(|_| !was_unverified) {
                return Ok(Some(imported_part(known, with_facts.get(name)?.map(|row| row.value()))));
            }
            if proof == Proof::Waits {
                unverified.insert(name, ())?;
            }
            imports.insert(name, (imported.samples, imported.bytes))?;
            if (imported.gaps, imported.metadata) != (0, 0) {
                with_facts.insert(name, (imported.gaps, imported.metadata))?;
            }
            let brought = balance::put_segments(transaction, &[], segments)?;
            balance::add(transaction, brought.saturating_neg())?;
            gaps::put_facts(transaction, facts)?;
            let mut meta = transaction.open_table(META)?;
            let next = meta.get("next_segment")?.map_or(0, |next| next.value());
            let own = segments.iter().map(|manifest| manifest.sequence + 1).max().unwrap_or(0);
            meta.insert("next_segment", next.max(own))?;
            put_audit(transaction, std::slice::from_ref(record))?;
            Ok(None)
        })
    }

    /// All that a part brought was found.
    pub(crate) fn verified(&self, name: (&str, &str)) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.open_table(IMPORTED_UNVERIFIED)?.remove(name)?;
            Ok(())
        })
    }
}

fn imported_part((samples, bytes): (u64, u64), facts: Option<(u64, u64)>) -> ImportedPart {
    let (gaps, metadata) = facts.unwrap_or_default();
    ImportedPart { samples, bytes, gaps, metadata }
}

/// Takes out what there is of a PV besides its samples.
fn forget(transaction: &Transaction, pv: PvId) -> Result<(), redb::Error> {
    let all = (pv.0, i64::MIN, u8::MIN)..=(pv.0, i64::MAX, u8::MAX);
    transaction.open_table(METADATA)?.retain_in((pv.0, i64::MIN)..=(pv.0, i64::MAX), |_, _| false)?;
    transaction.open_table(GAPS)?.retain_in(all.clone(), |_, _| false)?;
    transaction.open_table(OPEN_GAPS)?.retain_in(all, |_, _| false)?;
    field_gaps::forget(transaction, pv)
}

fn put_deletions(transaction: &Transaction, change: &Change) -> Result<(), redb::Error> {
    let mut deletions = transaction.open_table(DELETIONS)?;
    let mut meta = transaction.open_table(META)?;
    for deletion in &change.deleted {
        deletions.insert(deletion.of.number, wire::deletion_bytes(deletion).as_slice())?;
        // A number that was undone is not used again, or a late command would undo another deletion.
        let next = meta.get("next_deletion")?.map_or(1, |next| next.value()).max(deletion.of.number + 1);
        meta.insert("next_deletion", next)?;
        // The numbers of segments below it are used up, though an import that was given up may have used the last of them.
        let next = meta.get("next_segment")?.map_or(0, |next| next.value()).max(deletion.below);
        meta.insert("next_segment", next)?;
    }
    for deletion in &change.undeleted {
        deletions.remove(deletion.number)?;
    }
    let purged: BTreeSet<PvId> = change.purged.iter().map(|entry| entry.id).collect();
    if !purged.is_empty() {
        let is_left = |bytes: &[u8]| wire::deletion(0, bytes).is_none_or(|deletion| !purged.contains(&deletion.of.pv));
        deletions.retain(|_, bytes| is_left(bytes))?;
    }
    Ok(())
}

fn put_groups(transaction: &Transaction, change: &Change) -> Result<(), redb::Error> {
    if change.groups_set.is_empty() && change.groups_removed.is_empty() {
        return Ok(());
    }
    let mut groups = transaction.open_table(GROUPS)?;
    for group in &change.groups_set {
        groups.insert(group.name.as_str(), rules_wire::group_bytes(group).as_slice())?;
    }
    for name in &change.groups_removed {
        groups.remove(name.as_str())?;
    }
    Ok(())
}

//! The seam to the list of PVs, as those read it who ask. This archive's own store keeps one; another node, or a cluster, may stand in its
//! place.
//!
//! ```text
//!   store, another node ──Directory──► which PVs there are, what was removed, who changed what
//! ```
//! What goes through here goes a PV, a list or a page at a time, never a sample at a time, and is a copy of one moment.

use std::fmt;

use crate::{
    AuditRecord, Deletion, LookAtMemo, Named, Names, Outline, PvEntry, PvId, PvName, RemovedPv, Touched, UndoPlan,
    Undoable,
};

/// The list of PVs as those see it who ask. Only the PVs and their names are owed; one that knows nothing of aliases, deletions or an
/// audit has none.
///
/// Everything but `audit`, `undoable`, `undo_plan`, `memos`, `look_again` and `expired_fields` is answered from memory. It waits for no
/// disk, and for no network.
pub trait Directory: Send + Sync {
    /// The PV of that name or alias, if it is to be archived.
    fn find(&self, name: &str) -> Option<PvEntry>;

    /// The PV with that number, if it is to be archived.
    fn entry(&self, pv: PvId) -> Option<PvEntry>;

    /// The PVs with these numbers, each in its place; none where there is none, or no number. Asked for some hundred at a time, so that
    /// for each of a million nothing is locked.
    fn entries_of(&self, pvs: &[Option<PvId>]) -> Vec<Option<PvEntry>> {
        pvs.iter().map(|pv| self.entry((*pv)?)).collect()
    }

    /// The outlines of the PVs whose own names these are, each in its place; none where a name is an alias, or no PV is called so any
    /// more. Asked for some hundred at a time, so that for each of a million nothing is locked or copied that its row does not need.
    fn outlines_of(&self, names: &[Named]) -> Vec<Option<Outline>> {
        let pvs: Vec<Option<PvId>> = names.iter().map(|named| Some(named.pv)).collect();
        let outline = |(named, entry): (&Named, Option<PvEntry>)| {
            entry.filter(|entry| entry.name == named.name).map(|entry| Outline::from(&entry))
        };
        names.iter().zip(self.entries_of(&pvs)).map(outline).collect()
    }

    /// The names and aliases of all PVs that are to be archived: a snapshot, which is as cheap for a million of them as for one.
    fn names(&self) -> Names;

    /// The PVs that were added, removed, renamed, set or described anew since this was asked last. One alone asks, who keeps something of all
    /// of them.
    fn touched(&self) -> Touched {
        Touched::All
    }

    /// The other names of a PV; none if there is no such PV.
    fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        let _ = pv;
        Vec::new()
    }

    /// Every alias with its PV, in no particular order.
    fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        Vec::new()
    }

    /// The PVs that were removed and can come back.
    fn removed(&self) -> Vec<RemovedPv> {
        Vec::new()
    }

    /// The ranges that were deleted: those that can come back, and those that are being purged.
    fn deletions(&self) -> Vec<Deletion> {
        Vec::new()
    }

    /// Lines of the audit with lower numbers than `before`, the newest first, at most so many. May read a disk.
    fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, DirectoryError> {
        let _ = (before, limit);
        Ok(Vec::new())
    }

    /// The orders that can be taken back, the newest first, those of more than a day ago perhaps among them. May read a disk.
    fn undoable(&self) -> Result<Vec<Undoable>, DirectoryError> {
        Ok(Vec::new())
    }

    /// What taking back the order of that number would do. May read a disk.
    fn undo_plan(&self, number: u64) -> Result<UndoPlan, DirectoryError> {
        Err(DirectoryError::no_order(number))
    }

    /// Shows memos to `look`, the newest first, those alone that have lower numbers than `before`, until it says no. May read a disk.
    fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), DirectoryError> {
        let _ = (before, look);
        Ok(())
    }

    /// Learns what other nodes were ordered until now of something that has a number. May wait for a network; where one archive has all there
    /// is nothing to learn.
    fn look_again(&self, at: Numbered) -> Result<(), DirectoryError> {
        let _ = at;
        Ok(())
    }

    /// Why PVs may be missing from the list; none while all of it is known.
    fn lacks(&self) -> Option<String> {
        None
    }

    /// The PV that the archive keeps for itself under that name, such as a share of the ledger, if it has been made.
    fn own(&self, name: &str) -> Option<PvId> {
        let _ = name;
        None
    }

    /// The PV that holds rows of the ledger about a PV, as it is called where that one is recorded, and the number by which these rows know
    /// it. Where several archives stand behind the list, each has a ledger and numbers of its own.
    fn ledger_of(&self, pv: PvId, name: &str) -> Option<(PvId, PvId)> {
        Some((self.own(name)?, pv))
    }

    /// The paths of the fields that retention took out of structures of a PV. May read a disk.
    fn expired_fields(&self, pv: PvId) -> Result<Vec<String>, DirectoryError> {
        let _ = pv;
        Ok(Vec::new())
    }
}

/// What an archive has given a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// Some note or view: all of them are kept in one place.
    Memo,
    /// The order of that number, which can be taken back.
    Order(u64),
    /// The deletion of that number.
    Deletion(u64),
}

/// Why the list of PVs could not be read or changed, or an order not be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryError {
    /// What whoever asked can make of it.
    pub fault: Fault,
    /// What went wrong, as a sentence for an operator.
    pub message: String,
}

impl DirectoryError {
    /// That no order of that number could be undone.
    pub fn no_order(number: u64) -> DirectoryError {
        let message = format!("there is no order with the number {number} that could be undone");
        DirectoryError { fault: Fault::NothingThere, message }
    }
}

/// What whoever asked can make of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is right, and nothing is taken at present: it may come again.
    NotNow,
    /// A name is wanted that belongs to another PV.
    NameTaken,
    /// What it names is not there.
    NothingThere,
    /// It is more than is kept.
    NoRoom,
    /// What is there does not let it be done.
    InTheWay,
    /// Something failed.
    Failed,
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DirectoryError {}

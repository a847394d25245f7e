//! A change of the list of PVs: what one transaction of the catalogue has of it.

use archive::{AuditRecord, Deletion, Group, PvEntry, PvId, PvName, RemovedPv, RuleName};
use sample::Gap;

use crate::catalog::deletion::Hiding;

/// A change of the list of PVs: one transaction of the catalogue, then taken over by the registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// Taken out, or given another fate.
    pub(crate) removed: Vec<RemovedPv>,
    /// Added, changed or brought back.
    pub(crate) put: Vec<PvEntry>,
    /// Those that the archive keeps for itself, when they are made.
    pub(crate) own: Vec<PvEntry>,
    pub(crate) aliases_removed: Vec<PvName>,
    pub(crate) aliases_added: Vec<(PvName, PvId)>,
    /// Removed PVs that cannot come back from now on.
    pub(crate) purged: Vec<PvEntry>,
    /// Those of which no segment holds anything any more.
    pub(crate) purge_done: Vec<PvId>,
    /// New deletions, and those that become final.
    pub(crate) deleted: Vec<Hiding>,
    /// Deletions that are undone, or purged.
    pub(crate) undeleted: Vec<Deletion>,
    pub(crate) gaps: Vec<(PvId, Gap)>,
    /// Groups that get their switches.
    pub(crate) groups_set: Vec<Group>,
    pub(crate) groups_removed: Vec<RuleName>,
    /// An order that is taken back.
    pub(crate) undone: Undone,
    /// It is an order that can be taken back.
    pub(crate) can_be_undone: bool,
    pub(crate) audit: Vec<AuditRecord>,
}

/// An order that is taken back, and for which PVs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undone {
    /// The number of the order.
    pub(crate) number: u64,
    pub(crate) pvs: Vec<PvId>,
}

impl Change {
    pub(crate) fn is_empty(&self) -> bool {
        let Change {
            removed,
            put,
            own,
            aliases_removed,
            aliases_added,
            purged,
            purge_done,
            deleted,
            undeleted,
            gaps,
            groups_set,
            groups_removed,
            undone,
            can_be_undone: _,
            audit,
        } = self;
        let nothing_of_pvs =
            removed.is_empty() && put.is_empty() && own.is_empty() && purged.is_empty() && purge_done.is_empty();
        let nothing_of_names = aliases_removed.is_empty() && aliases_added.is_empty();
        let nothing_of_ranges = deleted.is_empty() && undeleted.is_empty() && gaps.is_empty();
        let nothing_of_groups = groups_set.is_empty() && groups_removed.is_empty();
        let nothing_else = undone.pvs.is_empty() && audit.is_empty();
        nothing_of_pvs && nothing_of_names && nothing_of_ranges && nothing_of_groups && nothing_else
    }
}

//! The seam for changes of the list of PVs of which acquisition need not know: other names, what was deleted, the past.

use sample::{TimeRange, Timestamp};

use crate::{
    Action, By, DataFate, Deletion, DirectoryError, Fault, Intake, Mark, Memo, MemoText, Purge, Purged, PvId, PvName,
};

/// Changes of the list of PVs without acquisition. Each is durable when it returns, and stands in the audit. Each may wait for a disk.
pub trait Curator: Send + Sync {
    /// Decides anew what becomes of the data of PVs that were removed already, all in one change.
    fn decide_upon(&self, removed: &[PvId], data: DataFate, by: &By) -> Result<(), DirectoryError>;

    /// Gives PVs one more name each, those that are free in one change, and says of each what became of it.
    fn add_aliases(
        &self,
        wanted: &[(PvId, PvName)],
        by: &By,
    ) -> Result<Vec<Result<(), DirectoryError>>, DirectoryError>;

    /// Refuses a name that a PV could not have even if it were free.
    fn may_be_alias(&self, pv: PvId, alias: &PvName) -> Result<(), DirectoryError> {
        let _ = (pv, alias);
        Ok(())
    }

    /// Takes one of its other names from a PV.
    fn remove_alias(&self, pv: PvId, alias: &PvName, by: &By) -> Result<(), DirectoryError>;

    /// Hides what was recorded of a PV in a range until now; what comes later stays visible. Gives what it hides, which ends with the
    /// last sample. It can be undone until it is purged.
    fn delete_range(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, DirectoryError>;

    /// Deletes exactly this range, even where this archive has no samples in it: another archive records the PV too, and may have some.
    fn delete_range_as_given(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, DirectoryError> {
        self.delete_range(pv, range, by)
    }

    /// Undoes the deletion of that number.
    fn restore_range(&self, number: u64, by: &By) -> Result<Deletion, DirectoryError>;

    /// What a purge would take. It may read as much as there was deleted.
    fn purgeable(&self, purge: Purge) -> Result<Purged, DirectoryError>;

    /// Gives up what was deleted: it cannot come back, and its space is freed in the background.
    fn purge(&self, purge: Purge, by: &By) -> Result<Purged, DirectoryError>;

    /// Keeps memos, each in the place of the one that is given with it, or as a new one, all in one change. A view of which another one has
    /// the name already is refused, and so is all that is more than there is room for.
    fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Vec<Memo>, DirectoryError> {
        let _ = (memos, by);
        Err(DirectoryError { fault: Fault::Failed, message: "this archive keeps no notes and views".to_owned() })
    }

    /// Takes a memo away.
    fn remove_memo(&self, memo: &Memo, by: &By) -> Result<(), DirectoryError> {
        let _ = (memo, by);
        Err(DirectoryError { fault: Fault::Failed, message: "this archive keeps no notes and views".to_owned() })
    }

    /// Writes down in the audit what was done to something that the list does not know.
    fn note(&self, action: Action, detail: &str, by: &By) -> Result<(), DirectoryError>;

    /// Where this archive stands: of what is older than `before`, all that can be read now is what `give_up` is about later. Only the last
    /// mark holds.
    fn mark(&self, before: Timestamp) -> Result<Mark, DirectoryError> {
        let _ = before;
        Err(gives_nothing_up())
    }

    /// Gives up for good what was here of these PVs when the mark was made, as another archive has it by now. Nothing is given up if
    /// anything was deleted since.
    fn give_up(&self, pvs: &[PvId], mark: &Mark, by: &By) -> Result<(), DirectoryError> {
        let _ = (pvs, mark, by);
        Err(gives_nothing_up())
    }

    /// Begins an import, or goes on with the one of that name. Nothing is written before it is given a part.
    fn import(&self, name: &str, by: &By) -> Result<Box<dyn Intake>, DirectoryError>;
}

fn gives_nothing_up() -> DirectoryError {
    DirectoryError { fault: Fault::Failed, message: "this archive gives nothing up to another one".to_owned() }
}

//! The store as the list of PVs, and as what holds the samples, for those who ask the archive.

use std::{collections::HashMap, time::Duration};

use archive::{
    Action, AuditRecord, BackupMade, By, Curator, DataFate, Deletion, Directory, DirectoryError, Fault, Health,
    ImportedPart, Intake, KeptFor, LookAtMemo, Mark, Memo, MemoText, Named, Names, Outline, Partition, Purge, Purged,
    PvEntry, PvId, PvName, PvSize, Record, RemovedPv, Storage, Touched, UndoPlan, Undoable, Watermark, WeekToGo,
};
use sample::{TimeRange, Timestamp};

use crate::{Error, Import, Reader, Writer};

impl From<Error> for DirectoryError {
    fn from(error: Error) -> DirectoryError {
        let fault = match &error {
            Error::Refused { .. } | Error::Busy | Error::Detached => Fault::NotNow,
            away if away.is_away() => Fault::NotNow,
            Error::NameTaken { .. } | Error::ViewTaken { .. } => Fault::NameTaken,
            Error::NothingThere { .. } | Error::NoOrder { .. } | Error::UnknownPv { .. } => Fault::NothingThere,
            Error::NoRoomForMemos => Fault::NoRoom,
            _ => Fault::Failed,
        };
        DirectoryError { fault, message: error.to_string() }
    }
}

impl Directory for Reader {
    fn find(&self, name: &str) -> Option<PvEntry> {
        Reader::find(self, name)
    }

    fn entry(&self, pv: PvId) -> Option<PvEntry> {
        Reader::entry(self, pv)
    }

    fn entries_of(&self, pvs: &[Option<PvId>]) -> Vec<Option<PvEntry>> {
        Reader::entries_of(self, pvs)
    }

    fn outlines_of(&self, names: &[Named]) -> Vec<Option<Outline>> {
        Reader::outlines_of(self, names)
    }

    fn names(&self) -> Names {
        Reader::names(self)
    }

    fn touched(&self) -> Touched {
        Reader::touched(self)
    }

    fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        Reader::aliases_of(self, pv)
    }

    fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        Reader::aliases(self)
    }

    fn removed(&self) -> Vec<RemovedPv> {
        Reader::removed(self)
    }

    fn deletions(&self) -> Vec<Deletion> {
        Reader::deletions(self)
    }

    fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, DirectoryError> {
        Ok(Reader::audit(self, before, limit)?)
    }

    fn undoable(&self) -> Result<Vec<Undoable>, DirectoryError> {
        Ok(Reader::undoable(self)?)
    }

    fn undo_plan(&self, number: u64) -> Result<UndoPlan, DirectoryError> {
        Ok(Reader::undo_plan(self, number)?)
    }

    fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), DirectoryError> {
        Ok(Reader::memos(self, before, look)?)
    }

    fn own(&self, name: &str) -> Option<PvId> {
        Reader::own(self, name)
    }

    fn expired_fields(&self, pv: PvId) -> Result<Vec<String>, DirectoryError> {
        Ok(Reader::expired_fields(self, pv)?)
    }
}

impl Storage for Reader {
    fn health(&self) -> Health {
        Reader::health(self)
    }

    fn watermark(&self) -> Watermark {
        Reader::watermark(self)
    }

    fn partitions(&self) -> Vec<Partition> {
        Reader::partitions(self)
    }

    fn sizes(&self) -> HashMap<PvId, PvSize> {
        Reader::sizes(self)
    }

    fn size(&self, pv: PvId) -> Option<PvSize> {
        Reader::size(self, pv)
    }

    fn retention(&self) -> Vec<KeptFor> {
        Reader::retention(self)
    }

    fn next_to_go(&self, keep: Duration) -> Option<WeekToGo> {
        Reader::next_to_go(self, keep)
    }

    fn backups(&self) -> Vec<BackupMade> {
        Reader::backups(self)
    }
}

impl Curator for Writer {
    fn decide_upon(&self, removed: &[PvId], data: DataFate, by: &By) -> Result<(), DirectoryError> {
        Ok(self.remove(removed, data, by)?)
    }

    fn add_aliases(
        &self,
        wanted: &[(PvId, PvName)],
        by: &By,
    ) -> Result<Vec<Result<(), DirectoryError>>, DirectoryError> {
        let each = Writer::add_aliases(self, wanted, by)?;
        Ok(each.into_iter().map(|one| one.map_err(DirectoryError::from)).collect())
    }

    fn remove_alias(&self, pv: PvId, alias: &PvName, by: &By) -> Result<(), DirectoryError> {
        Ok(Writer::remove_alias(self, pv, alias, by)?)
    }

    fn delete_range(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, DirectoryError> {
        Ok(Writer::delete_range(self, pv, range, by)?)
    }

    fn delete_range_as_given(&self, pv: PvId, range: TimeRange, by: &By) -> Result<Deletion, DirectoryError> {
        Ok(Writer::delete_range_as_given(self, pv, range, by)?)
    }

    fn restore_range(&self, number: u64, by: &By) -> Result<Deletion, DirectoryError> {
        Ok(Writer::restore_range(self, number, by)?)
    }

    fn purgeable(&self, purge: Purge) -> Result<Purged, DirectoryError> {
        Ok(Writer::purgeable(self, purge)?)
    }

    fn purge(&self, purge: Purge, by: &By) -> Result<Purged, DirectoryError> {
        Ok(Writer::purge(self, purge, by)?)
    }

    fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Vec<Memo>, DirectoryError> {
        Ok(Writer::put_memos(self, memos, by)?)
    }

    fn remove_memo(&self, memo: &Memo, by: &By) -> Result<(), DirectoryError> {
        Ok(Writer::remove_memo(self, memo, by)?)
    }

    fn note(&self, action: Action, detail: &str, by: &By) -> Result<(), DirectoryError> {
        Ok(Writer::note(self, action, detail, by)?)
    }

    fn mark(&self, before: Timestamp) -> Result<Mark, DirectoryError> {
        Ok(Writer::mark(self, before)?)
    }

    fn give_up(&self, pvs: &[PvId], mark: &Mark, by: &By) -> Result<(), DirectoryError> {
        Ok(Writer::give_up(self, pvs, mark, by)?)
    }

    fn import(&self, name: &str, by: &By) -> Result<Box<dyn Intake>, DirectoryError> {
        Ok(Box::new(Writer::import(self, name, by)))
    }
}

impl Intake for Import {
    fn part(&self, part: &str) -> Result<Option<ImportedPart>, DirectoryError> {
        Ok(Import::part(self, part)?)
    }

    fn takes_over(&mut self) -> Result<Vec<PvId>, DirectoryError> {
        Ok(Import::takes_over(self)?)
    }

    fn append(&mut self, records: &[(PvId, Record)]) -> Result<(), DirectoryError> {
        Ok(Import::append(self, records)?)
    }

    fn write_out(&mut self) -> Result<(), DirectoryError> {
        Ok(Import::write_out(self)?)
    }

    fn finish_part(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        Ok(Import::finish_part(self, part)?)
    }

    fn finish_part_unverified(&mut self, part: &str) -> Result<ImportedPart, DirectoryError> {
        Ok(Import::finish_part_unverified(self, part)?)
    }

    fn verified(&self, part: &str) -> Result<(), DirectoryError> {
        Ok(Import::verified(self, part)?)
    }
}

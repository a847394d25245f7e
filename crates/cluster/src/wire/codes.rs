//! Numbers that stand for words among nodes.

use archive::{Action, Added, Change, DataFate, DirectoryError, Fault, OldName};

const ADDED: [Added; 3] = [Added::New, Added::Already, Added::Changed];

const CHANGES: [Change; 3] = [Change::Done, Change::Already, Change::Unknown];

pub(super) const FAULTS: [Fault; 6] =
    [Fault::NotNow, Fault::NameTaken, Fault::NothingThere, Fault::Failed, Fault::NoRoom, Fault::InTheWay];

pub(super) fn place<T: PartialEq>(of: &[T], wanted: &T) -> u8 {
    of.iter().position(|one| one == wanted).unwrap_or(0) as u8
}

pub(crate) fn added_row(added: Added) -> u8 {
    place(&ADDED, &added)
}

pub(crate) fn added(row: u8) -> Option<Added> {
    ADDED.get(usize::from(row)).copied()
}

pub(crate) fn changes_rows(changes: &[Change]) -> Vec<u8> {
    changes.iter().map(|change| place(&CHANGES, change)).collect()
}

pub(crate) fn changes(rows: &[u8]) -> Option<Vec<Change>> {
    rows.iter().map(|row| CHANGES.get(usize::from(*row)).copied()).collect()
}

pub(crate) fn action_row(action: Action) -> u8 {
    place(&Action::ALL, &action)
}

pub(crate) fn added_rows(added: &[Added]) -> Vec<u8> {
    added.iter().map(|added| added_row(*added)).collect()
}

pub(crate) fn all_added(rows: &[u8]) -> Option<Vec<Added>> {
    rows.iter().map(|row| added(*row)).collect()
}

pub(crate) fn fault(row: u8, message: String) -> DirectoryError {
    DirectoryError { fault: FAULTS.get(usize::from(row)).copied().unwrap_or(Fault::Failed), message }
}

pub(crate) fn fate(deletes: bool) -> DataFate {
    if deletes { DataFate::Delete } else { DataFate::Keep }
}

pub(crate) fn old_name(stays: bool) -> OldName {
    if stays { OldName::Alias } else { OldName::Free }
}

//! When each PV was changed last: read from the audit once, and from then on what is new there.

use std::collections::HashMap;

use archive::{Action, Directory, DirectoryError, PvEntry, PvId};
use sample::Timestamp;

/// So far back the audit is looked at.
const LINES_MAX: u64 = 100_000;
/// And so many lines of it are in memory.
const LINES_AT_ONCE: u64 = 4096;

/// What counts as a change.
const SETTINGS: [Action; 8] = [
    Action::Renamed,
    Action::AliasAdded,
    Action::AliasRemoved,
    Action::Restored,
    Action::Paused,
    Action::Resumed,
    Action::Changed,
    Action::Undone,
];

/// The last change of each PV that was changed since it was added.
#[derive(Default)]
pub(crate) struct LastChanges {
    changed: HashMap<PvId, Timestamp>,
    /// The first line of the audit that is not in it.
    next: u64,
}

impl LastChanges {
    /// When a PV was changed last, or added.
    pub(crate) fn of(&self, entry: &PvEntry) -> Timestamp {
        self.changed.get(&entry.id).map_or(entry.added, |changed| *changed.max(&entry.added))
    }

    /// Takes over what is new in the audit.
    pub(crate) fn catch_up(&mut self, directory: &dyn Directory) -> Result<(), DirectoryError> {
        let end = directory.audit(u64::MAX, 1)?.first().map_or(0, |last| last.number + 1);
        self.next = self.next.max(end.saturating_sub(LINES_MAX));
        while self.next < end {
            let until = end.min(self.next + LINES_AT_ONCE);
            let lines = directory.audit(until, (until - self.next) as usize)?.into_iter().rev();
            let changes = lines.filter(|line| line.number >= self.next && SETTINGS.contains(&line.action));
            for line in changes {
                self.changed.extend(line.each_pv().map(|pv| (pv, line.by.at)));
            }
            self.next = until;
        }
        Ok(())
    }
}

//! When each PV was changed last: read from the audit once, and from then on what is new there.

use std::{collections::HashMap, sync::Arc};

use archive::{Action, Directory, DirectoryError, PvId};
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

/// The last change of each PV that was changed since it was added. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct LastChanges {
    changed: Arc<HashMap<PvId, Timestamp>>,
    /// The first line of the audit that is not in it.
    next: u64,
}

impl LastChanges {
    /// When a PV was changed last, if not when it was added.
    pub(crate) fn of(&self, pv: PvId, added: Timestamp) -> Timestamp {
        self.changed.get(&pv).map_or(added, |changed| *changed.max(&added))
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
                Arc::make_mut(&mut self.changed).extend(line.each_pv().map(|pv| (pv, line.by.at)));
            }
            self.next = until;
        }
        Ok(())
    }
}

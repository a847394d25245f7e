//! Orphans: objects that no row of the journal names, put by an owner that was stopped before it could say so.

use std::{collections::BTreeMap, time::Duration};

use crate::{error::Result, keys, owner::Owner, settle};

/// An object has to be an orphan for so long before it is removed: by then nobody reads by an image that was older.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// So many keys are asked for at a time.
const KEYS: usize = 1000;

/// So many orphans are remembered; those behind them have their turn when these are gone.
const REMEMBERED: usize = 100_000;

/// The orphans of a shard that were seen, and when each was seen first.
#[derive(Debug, Default)]
pub struct Orphans {
    seen: BTreeMap<String, Duration>,
}

/// What one look brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects' pieces that are named, or too young to tell.
    pub kept: u64,
    /// Pieces of orphans that wait.
    pub waiting: u64,
    /// Pieces of orphans that were removed.
    pub removed: u64,
}

impl Orphans {
    /// Looks through all keys of the shard of an owner that has read the journal. Only what older epochs put is touched: no row can name
    /// it any more that does not do so now. `now` is as in [`Owner::advance`].
    pub fn sweep(&mut self, owner: &Owner, now: Duration) -> Result<Swept> {
        let mut swept = Swept::default();
        let Some(image) = owner.image() else { return Ok(swept) };
        let (shard, shared) = (&owner.shard, &*owner.shared);
        let prefix = shard.full("");
        let mut after = prefix.clone();
        let mut still = BTreeMap::new();
        loop {
            let keys = settle::read(|| shared.list(&prefix, &after, KEYS))?;
            let Some(last) = keys.last() else { break };
            after.clone_from(last);
            for key in keys {
                let old = keys::object_of(shard, &key).filter(|(epoch, _)| *epoch < owner.epoch);
                if old.is_none_or(|(_, object)| image.names(object)) {
                    swept.kept += 1;
                    continue;
                }
                let since = self.seen.get(&key).copied().unwrap_or(now);
                if now.saturating_sub(since) >= GRACE {
                    settle::remove(shared, &key)?;
                    swept.removed += 1;
                } else {
                    swept.waiting += 1;
                    if still.len() < REMEMBERED {
                        still.insert(key, since);
                    }
                }
            }
        }
        self.seen = still;
        Ok(swept)
    }
}

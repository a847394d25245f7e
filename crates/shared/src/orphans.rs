//! Orphans: objects that no row of the journal names, put by an owner that was stopped before it could say so.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    error::Result,
    ids::Epoch,
    image::Image,
    keys::{self, Shard},
    owner::Owner,
    seam::Shared,
    settle,
};

/// An object has to be an orphan for so long before it is removed: by then nobody reads by an image that was older.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// How many keys one question brings.
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
        let mut still = BTreeMap::new();
        each_key(shared, shard, |key| {
            if !is_orphan(shard, image, owner.epoch, &key) {
                swept.kept += 1;
                return Ok(());
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
            Ok(())
        })?;
        self.seen = still;
        Ok(swept)
    }
}

/// Looks at each key of a shard.
pub(crate) fn each_key(shared: &dyn Shared, shard: &Shard, mut look: impl FnMut(String) -> Result<()>) -> Result<()> {
    let prefix = shard.full("");
    let mut after = prefix.clone();
    loop {
        let keys = settle::read(|| shared.list(&prefix, &after, KEYS))?;
        let Some(last) = keys.last() else { return Ok(()) };
        after.clone_from(last);
        keys.into_iter().try_for_each(&mut look)?;
    }
}

/// Whether a key was put by an epoch before that one, and no row names it.
pub(crate) fn is_orphan(shard: &Shard, image: &Image, before: Epoch, key: &str) -> bool {
    keys::object_of(shard, key).is_some_and(|(epoch, object)| epoch < before && !image.names(object))
}

//! Orphans: objects that no row of the journal names, put by an owner that was stopped before it could say so.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    error::Result,
    ids::Epoch,
    image::Image,
    keys::{self, Shard},
    seam::Shared,
    settle,
};

/// An object has to be an orphan for so long before it is removed: by then nobody reads by an image that was older.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// How many keys one question brings. For each of them a database looks through all its partitions.
const KEYS: usize = 20_000;

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

/// What an owner has of its shard at one moment. A look goes on with it for long, and the owner with its work.
#[derive(Debug)]
pub struct Inventory {
    pub(crate) shared: Arc<dyn Shared>,
    pub(crate) shard: Shard,
    pub(crate) epoch: Epoch,
    pub(crate) image: Image,
}

impl Orphans {
    /// Looks through all keys of a shard. Only what older epochs put is touched, and nothing that is read here: no row can name it any more
    /// that does not do so in the inventory. `now` is as in [`Owner::advance`](crate::Owner::advance). It ends early if that is asked for.
    pub fn sweep(
        &mut self,
        inventory: &Inventory,
        now: Duration,
        is_read: &dyn Fn(&str) -> bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Swept> {
        let Inventory { shared, shard, epoch, image } = inventory;
        let (mut swept, mut still) = (Swept::default(), BTreeMap::new());
        let seen = &self.seen;
        let ended = each_key(&**shared, shard, go_on, |key| {
            if !is_orphan(shard, image, *epoch, &key) {
                swept.kept += 1;
                return Ok(());
            }
            let since = seen.get(&key).copied().unwrap_or(now);
            let in_use = keys::object_of(shard, &key).is_some_and(|(_, object)| is_read(object));
            if now.saturating_sub(since) >= GRACE && !in_use {
                settle::remove(&**shared, &key)?;
                swept.removed += 1;
            } else {
                swept.waiting += 1;
                if still.len() < REMEMBERED {
                    still.insert(key, since);
                }
            }
            Ok(())
        })?;
        if ended {
            self.seen = still;
        }
        Ok(swept)
    }
}

/// Looks at each key of a shard, and says whether it came to the last before it was told to stop.
pub(crate) fn each_key(
    shared: &dyn Shared,
    shard: &Shard,
    go_on: &dyn Fn() -> bool,
    mut look: impl FnMut(String) -> Result<()>,
) -> Result<bool> {
    let prefix = shard.full("");
    let mut after = prefix.clone();
    while go_on() {
        let keys = settle::read(|| shared.list(&prefix, &after, KEYS))?;
        let Some(last) = keys.last() else { return Ok(true) };
        after.clone_from(last);
        keys.into_iter().try_for_each(&mut look)?;
    }
    Ok(false)
}

/// Whether a key was put by an epoch before that one, and no row names it.
pub(crate) fn is_orphan(shard: &Shard, image: &Image, before: Epoch, key: &str) -> bool {
    keys::object_of(shard, key).is_some_and(|(epoch, object)| epoch < before && !image.names(object))
}

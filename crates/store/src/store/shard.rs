//! A store that has a shard of a cluster: what it does beyond one of an archive of one machine.

use std::{sync::Arc, time::Instant};

use sample::Timestamp;
use shared::{Owner, OwnerStanding, Part};

use super::{Store, refuse_for_shard, take_folder};
use crate::{Config, Error, Offer, ShardHealth, Shipping, disk::Disk, owned::Owned, places::locks};

impl Store {
    /// Opens a shard of a cluster that this node has just taken, in an empty folder. What its journal names can be read at once; what epochs
    /// before have in their logs only when [`Store::replay`] is done. Samples are taken meanwhile.
    pub fn open_shard(
        disk: Arc<dyn Disk>,
        config: Config,
        owner: Owner,
        shipping: Shipping,
        now: Timestamp,
    ) -> Result<Store, Error> {
        let folder = config.folder.clone();
        take_folder(&*disk, &folder, now)?;
        let opened = refuse_for_shard(&*disk, &config);
        let opened =
            opened.and_then(|()| Store::open_locked(disk.clone(), Vec::new(), config, Some((owner, shipping)), now));
        if opened.is_err() {
            locks::give_back(&*disk);
        }
        opened
    }

    /// Puts into segments what epochs before have committed of their logs. Until it is done, readers do not see that, and no head is
    /// flushed. To be called again after an error.
    pub fn replay(&self) -> Result<(), Error> {
        self.engine.replay()
    }

    /// Ships what there is; for who does not let the store do it by itself.
    pub fn ship(&self) {
        self.engine.ship();
    }

    /// How the shard stands; none for an archive of one machine.
    pub fn shard(&self) -> Option<ShardHealth> {
        self.engine.owned.as_ref().map(Owned::health)
    }

    /// The next owner of the shard records: this one may end, a little later, if it was replaced.
    pub fn relieve(&self) {
        self.engine.owned.iter().for_each(|owned| _ = owned.relieved.get_or_init(Instant::now));
    }

    /// Closes a shard. Another owner that has it by now is to be handed what is in the log here, and flushes and ships it; what did not get
    /// into the log is an error all the same.
    pub fn close_shard(mut self, now: Timestamp) -> Result<Closed, Error> {
        let (flushed, synced) = self.end(now);
        let is_in_log = synced.is_ok();
        let shipped = self.ship_rest(flushed.and(synced));
        match self.shard() {
            // An owner that has learnt it already takes nothing any more, and has synced its log then.
            Some(ShardHealth { standing: OwnerStanding::Taken { .. }, is_over, .. }) if is_in_log || is_over => {
                Ok(Closed::Replaced { left: self.left_over(), has_last_copy: self.has_last_copy() })
            }
            _ => shipped.map(|()| Closed::Whole),
        }
    }

    /// What is to be handed over to the next owner, if there is one and anything is left.
    pub fn left_over(&self) -> Option<Part> {
        self.engine.left_over()
    }

    /// Whether some samples are in segments here alone: the log had been given up when they came, as the folder was away, and no journal knows
    /// the segments. They cannot be handed over, and the folder must stay.
    pub fn has_last_copy(&self) -> bool {
        self.engine.owned.as_ref().is_some_and(Owned::has_last_copy)
    }

    /// Takes what a node holds of an epoch of this shard that has ended, as far as it is due. True when all of it is in segments that the
    /// journal knows: then nobody needs to hold it any more. False when it is to be offered again later.
    pub fn take_part(&self, part: &Part, offer: &dyn Offer) -> Result<bool, Error> {
        self.engine.take_part(part, offer)
    }
}

/// How a shard was closed.
#[derive(Debug)]
pub enum Closed {
    /// All of it is in the shared store.
    Whole,
    /// Another owner has it by now.
    Replaced {
        /// What the new owner is to be handed, if anything is left.
        left: Option<Part>,
        /// See [`Store::has_last_copy`].
        has_last_copy: bool,
    },
}

#[cfg(test)]
pub(crate) mod fixture {
    use std::{path::Path, sync::Arc, time::Duration};

    use sample::Timestamp;
    use shared::{Owner, Settings, Shard, twin::Memory};

    use crate::{Config, Durable, Shipping, Store, disk::RealDisk};

    /// The store of a shard that is taken into an empty folder, and ships only when it is told to.
    pub(crate) fn taken(folder: &Path, memory: &Arc<Memory>) -> Store {
        let shard = Shard::new(3, 'a').unwrap();
        let owner = Owner::take(memory.clone(), shard, "node", 1, 1, Settings::default()).unwrap();
        let millisecond = Duration::from_millis(1);
        let shipping =
            Shipping { every: None, patience: millisecond, grace: Duration::ZERO, unrelieved: Duration::ZERO };
        let config = Config { reserve_bytes: 0, durable: Durable::Every(millisecond), ..Config::new(folder) };
        let disk = Arc::new(RealDisk::new(folder));
        let store = Store::open_shard(disk, config, owner, shipping, Timestamp::from_nanos(0)).unwrap();
        store.replay().unwrap();
        store
    }
}

//! The opening of a shard that was taken: its catalogue is made of the journal, and from then on every change goes there.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use sample::Timestamp;
use shared::Owner;
use xxhash_rust::xxh3::xxh3_64;

use super::{Begun, LogFrames, Owned, Shipping, far};
use crate::{
    Error,
    catalog::{Catalog, image::Restoring},
    disk::Disk,
    outbox::Outbox,
};

/// A shard on its way to being open.
pub(crate) struct Opening {
    owner: Owner,
    shipping: Shipping,
    outbox: Arc<Outbox>,
    far: Arc<std::collections::HashMap<String, shared::Object>>,
    /// The number of the first frame of the own log.
    pub(crate) first: u64,
}

impl Opening {
    /// Makes the catalogue in an empty folder.
    pub(crate) fn begin(disk: &Arc<dyn Disk>, mut owner: Owner, shipping: Shipping) -> Result<Opening, Error> {
        let mut restoring = Restoring::new(disk);
        let epoch = owner.epoch();
        let image = owner.read_image(&mut restoring)?;
        let first = image.positions().get(&epoch).map(|own| own.first).filter(|first| *first > 0);
        let first = first.ok_or(Error::CannotDo {
            doing: "open a shard of a cluster",
            reason: "the frames of an epoch are numbered from 1 on".into(),
        })?;
        let (far, next) = (Arc::new(far(image)), image.next());
        restoring.finish(next)?;
        let outbox = Arc::new(Outbox::new(epoch, far.clone(), shipping.patience));
        Ok(Opening { owner, shipping, outbox, far, first })
    }

    /// Lets changes of the catalogue go into the journal; the first is the number of an archive that has none.
    pub(crate) fn journal(&self, catalog: &Catalog, now: Timestamp) -> Result<(), Error> {
        catalog.journal_to(self.outbox.clone());
        if catalog.archive()?.is_none() {
            // Shards that are made in one moment are different archives.
            let seed = format!("{} {}", self.owner.shard(), now.nanos());
            catalog.put_archive(xxh3_64(seed.as_bytes()))?;
        }
        Ok(())
    }

    /// How many files of logs of epochs before are not in segments: at most so many segments come of them.
    pub(crate) fn files(&self) -> u64 {
        let positions = self.owner.image().into_iter().flat_map(|image| image.positions());
        let older = positions.filter(|(epoch, _)| **epoch < self.owner.epoch());
        let files = older.flat_map(|(epoch, position)| position.runs.iter().map(move |run| (*epoch, run.file())));
        files.collect::<BTreeSet<_>>().len() as u64
    }

    pub(crate) fn owned(self, disk: &Arc<dyn Disk>, reserved: Range<u64>, appended: u64, opened: Timestamp) -> Owned {
        let Opening { owner, shipping, outbox, far, first } = self;
        let (shared, frames) = (owner.shared().clone(), LogFrames::new(disk.clone()));
        Owned::new(Begun { owner, shared, shipping, opened, far, outbox, reserved, frames }, first, appended)
    }
}

//! What a replaced owner hands over: frames that it recorded and that no row of the journal covers, each taken once.

use crate::{
    error::{Error, Result},
    ids::{Epoch, Frames},
    image::{EpochPosition, Image},
    keys::Shard,
    owner::Owner,
};

/// Frames that a node holds of an epoch that has ended. Its name says what it is, so that one that is told again is the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Of which shard.
    pub shard: Shard,
    /// The epoch that recorded them.
    pub epoch: Epoch,
    /// Which.
    pub frames: Frames,
}

/// What an owner wants of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: all of it is in segments.
    Nothing,
    /// These frames, with a change that says that they are flushed.
    Frames(Frames),
    /// Nothing yet: those from this number on come first, from the committed log or from another part.
    NotYet(u64),
}

impl Part {
    /// The name under which the ledger of imports knows it.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.shard, self.epoch, self.frames)
    }

    /// What a node that has frames of an older epoch up to `end` on its disk has to hand over, given what the journal says of it; none
    /// if all of it is safe.
    pub fn of_old_log(image: &Image, shard: &Shard, epoch: Epoch, end: u64) -> Result<Option<Part>> {
        let frames = Frames { first: position(image, shard, epoch)?.durable(), end };
        Ok((frames.first < end).then(|| Part { shard: shard.clone(), epoch, frames }))
    }
}

impl Owner {
    /// What of a part is to be taken. Every frame of an epoch gets into segments once: the journal says up to which one they are, and
    /// parts are taken where that ends.
    /// Nothing is wanted while rows are on their way that may say something else.
    pub fn wanted(&self, part: &Part) -> Result<Wanted> {
        if part.shard != self.shard || part.epoch >= self.epoch {
            return Err(Error::damaged(format!("part {}", part.name()), "it is not of an older epoch of this shard"));
        }
        let Some(image) = self.image() else { return Ok(Wanted::NotYet(0)) };
        let position = position(image, &self.shard, part.epoch)?;
        let Frames { first, end } = part.frames;
        if end <= position.flushed {
            return Ok(Wanted::Nothing);
        }
        if first > position.flushed || !self.is_quiet() {
            return Ok(Wanted::NotYet(position.flushed));
        }
        Ok(Wanted::Frames(Frames { first: position.flushed, end }))
    }
}

fn position<'a>(image: &'a Image, shard: &Shard, epoch: Epoch) -> Result<&'a EpochPosition> {
    let what = || format!("epoch {epoch} of shard {shard}");
    image.positions().get(&epoch).ok_or_else(|| Error::damaged(what(), "the journal has no seal of it"))
}

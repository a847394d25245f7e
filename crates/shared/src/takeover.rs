//! A takeover: the lease, then the seal, behind which nothing of an older epoch can come.

use std::sync::Arc;

use crate::{
    error::{Error, Result},
    ids::{Epoch, Seq},
    journal::{Body, Entry, Row, Seal},
    keys::Shard,
    lease::Lease,
    owner::{Owner, Settings},
    seam::{Created, Shared, Swapped},
    settle,
};

/// So many rows the owner before may append while the seal is on its way: a hundred would be more than a minute of commits.
const ROWS_BEFORE_SEAL: usize = 100;

impl Owner {
    /// Takes a shard, whoever has it: swaps the lease, and seals the journal. `first` is the number of the first frame that this node
    /// will record in the new epoch, `node` and `incarnation` are the name of the node and which start of it this is. Recording may
    /// begin at once; what was recorded before is found by [`Owner::read_image`].
    ///
    /// [`Error::Taken`] says that somebody else was faster. After [`Error::Unknown`] the whole may be tried again.
    pub fn take(
        shared: Arc<dyn Shared>,
        shard: Shard,
        node: &str,
        incarnation: u64,
        first: u64,
        settings: Settings,
    ) -> Result<Owner> {
        let place = Place::find(&*shared, &shard)?;
        let epoch = lease(&*shared, &shard, node, incarnation, place.epoch)?;
        let (next, checkpoint) = seal(&*shared, &shard, epoch, Seal { first, owner: node.to_owned() }, place)?;
        Ok(Owner::sealed(shared, shard, epoch, first, next, checkpoint, settings))
    }
}

/// Where the journal ends.
#[derive(Clone, Copy, Default)]
struct Place {
    next: Seq,
    epoch: Epoch,
    checkpoint: Option<Seq>,
}

impl Place {
    fn find(shared: &dyn Shared, shard: &Shard) -> Result<Place> {
        match settle::read(|| shared.last(shard.journal(), None))? {
            None => Ok(Place::default()),
            Some((seq, bytes)) => Ok(Place::behind(seq, &Row::decode(shard, seq, &bytes)?)),
        }
    }

    fn behind(seq: Seq, row: &Row) -> Place {
        Place { next: seq.next(), epoch: row.epoch, checkpoint: row.newest_checkpoint(seq) }
    }
}

/// Takes the lease for an epoch that is higher than all before, also should the lease have been lost.
fn lease(shared: &dyn Shared, shard: &Shard, node: &str, incarnation: u64, journalled: Epoch) -> Result<Epoch> {
    let name = shard.lease();
    let old = settle::read(|| shared.value(&name))?;
    let leased = old.as_deref().map(|bytes| Lease::decode(shard, bytes)).transpose()?.map(|lease| lease.epoch);
    let epoch = Epoch(leased.unwrap_or_default().max(journalled).0 + 1);
    let new = Lease { epoch, owner: node.to_owned(), incarnation }.encode();
    match settle::swap(shared, &name, old.as_deref(), &new)? {
        Swapped::Done => Ok(epoch),
        Swapped::Differs => Err(Error::Taken { shard: shard.to_string(), epoch }),
    }
}

/// Appends the seal behind all that owners before have appended by then. What is before it is final.
fn seal(shared: &dyn Shared, shard: &Shard, epoch: Epoch, seal: Seal, from: Place) -> Result<(Seq, Option<Seq>)> {
    let entry = Entry::Seal(seal);
    let mut place = from;
    for _ in 0..ROWS_BEFORE_SEAL {
        let Place { next, checkpoint, .. } = place;
        let row = Row { epoch, id: 0, checkpoint, kind: entry.kind(), body: Body::Inline(entry.encode()) };
        match settle::append(shared, shard.journal(), next, &row.encode())? {
            Created::Done => return Ok((next.next(), checkpoint)),
            Created::Taken(found) => place = Place::behind(next, &Row::decode(shard, next, &found)?),
        }
        if place.epoch >= epoch {
            return Err(Error::Taken { shard: shard.to_string(), epoch: place.epoch });
        }
    }
    let doing = format!("seal the journal of shard {shard}");
    Err(Error::Unknown { doing, reason: "its owner appends faster than this node can".into() })
}

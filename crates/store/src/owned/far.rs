//! Where segments of a shard are read: the files of this epoch on the own disk, those of epochs before in the shared store.

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, Mutex},
};

use shared::{Object, Shard, Shared, doubt, read_at};

use super::Leaving;
use crate::{
    disk::{Disk, Objects},
    outbox::Outbox,
};

/// The segments of epochs before that readers may still use, by their keys within the shard.
pub(crate) type InUse = Arc<Mutex<BTreeSet<String>>>;

/// A segment in the shared store.
#[derive(Debug)]
pub(crate) struct Far {
    shared: Arc<dyn Shared>,
    shard: Shard,
    object: Object,
    in_use: InUse,
}

impl Far {
    pub(crate) fn new(shared: Arc<dyn Shared>, shard: Shard, object: Object, in_use: InUse) -> Far {
        Far { shared, shard, object, in_use }
    }
}

impl Objects for Far {
    fn len(&self, _: &str) -> io::Result<u64> {
        Ok(self.object.len)
    }

    fn read_at(&self, _: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if offset.saturating_add(bytes.len() as u64) > self.object.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_at(&*self.shared, &self.shard, &self.object, offset, bytes).map_err(io::Error::other)
    }

    /// Its last reader is done with it. It goes from the shared store when the journal has the change that does without it as well.
    fn remove(&self, _: &str) -> io::Result<()> {
        self.in_use.lock().expect("no holder of this lock panics").remove(&self.object.key);
        Ok(())
    }

    fn doubt(&self) {
        doubt(&*self.shared, &self.shard, &self.object);
    }
}

/// A segment on the own disk.
#[derive(Debug)]
pub(crate) struct NearSegment {
    disk: Arc<dyn Disk>,
    outbox: Arc<Outbox>,
    leaving: Arc<Mutex<Vec<(u64, Leaving)>>>,
}

impl NearSegment {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        outbox: Arc<Outbox>,
        leaving: Arc<Mutex<Vec<(u64, Leaving)>>>,
    ) -> NearSegment {
        NearSegment { disk, outbox, leaving }
    }
}

impl Objects for NearSegment {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(key)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(key, offset, bytes)
    }

    fn read_parts_at(&self, key: &str, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        self.disk.read_parts_at(key, parts)
    }

    /// It may be on its way into the shared store: it goes when the journal has all that was changed until now.
    fn remove(&self, key: &str) -> io::Result<()> {
        let leaving = (self.outbox.made(), Leaving::Segment(key.to_owned()));
        self.leaving.lock().expect("no holder of this lock panics").push(leaving);
        Ok(())
    }
}

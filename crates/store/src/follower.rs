//! The list of PVs of a shard that another node records: made of its journal, and kept up to date with it.
//!
//! ```text
//!   journal of the shard ──► its catalogue, in a folder of this node ──► the list of PVs, in memory
//! ```
//! What the folder holds is worth nothing: it is begun anew each time. It is begun in another folder when that must be after an error, as
//! whoever asks is answered from what was known before, until all is read.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
};

use archive::{
    AuditRecord, Deletion, Directory, DirectoryError, Fault, LookAtMemo, Names, PvEntry, PvId, PvName, RemovedPv,
    UndoPlan, Undoable,
};
use shared::{Follow, Seq, Shard, Shared};

use crate::{
    Error,
    catalog::{Catalog, image::Restoring, registry::Registry, tables::CATALOGUE, undo},
    disk::Disk,
};

/// What another node's shard has of PVs, as its journal tells it.
#[derive(Debug)]
pub struct Follower {
    state: Mutex<State>,
    known: RwLock<Arc<Known>>,
}

#[derive(Debug)]
struct State {
    /// The folder of the catalogue of the moment, and the one in which the next is begun.
    disks: [Arc<dyn Disk>; 2],
    /// A catalogue in the second that somebody may still read.
    before: Option<Weak<Catalog>>,
    follow: Follow,
}

impl State {
    /// Empties the second folder; an error while somebody reads there.
    fn clear(&mut self) -> io::Result<()> {
        let Some(before) = &self.before else { return Ok(()) };
        if before.strong_count() > 0 {
            return Err(io::Error::other("the list that was known before is still read"));
        }
        match self.disks[1].remove(CATALOGUE) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.before = None;
        Ok(())
    }
}

/// What is known at one moment.
#[derive(Debug, Default)]
struct Known {
    registry: Registry,
    /// None until the journal was read once.
    catalog: Option<Arc<Catalog>>,
}

/// The catalogue while rows of the journal are taken.
struct Kept<'a> {
    /// Where one is begun, and why that cannot be.
    disk: &'a Arc<dyn Disk>,
    is_clear: io::Result<()>,
    begun: Option<Restoring<'a>>,
    catalog: Option<Arc<Catalog>>,
}

impl shared::Catalogue for Kept<'_> {
    fn restore(&mut self, copy: Option<&mut dyn Read>) -> io::Result<()> {
        std::mem::replace(&mut self.is_clear, Ok(()))?;
        self.catalog = None;
        self.disk.create_folder("")?;
        let mut begun = Restoring::new(self.disk);
        begun.restore(copy)?;
        self.begun = Some(begun);
        Ok(())
    }

    fn apply(&mut self, seq: Seq, change: &[u8]) -> io::Result<()> {
        match (&mut self.begun, &self.catalog) {
            (Some(begun), _) => begun.apply(seq, change),
            (None, Some(catalog)) => catalog.take(change).map_err(io::Error::other),
            (None, None) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Follower {
    /// Of a shard, in two folders that belong to it alone. Nothing is known before it has caught up.
    pub fn new(disks: [Arc<dyn Disk>; 2], shared: Arc<dyn Shared>, shard: Shard) -> Follower {
        let state = State { disks, before: None, follow: Follow::new(shared, shard) };
        Follower { state: Mutex::new(state), known: RwLock::default() }
    }

    /// Takes what the journal has by now.
    pub fn catch_up(&self) -> Result<(), Error> {
        // Whoever panicked here has left nothing that counts: the next one begins anew.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_clear = state.clear();
        let State { disks, before, follow } = &mut *state;
        let old = self.known().catalog.clone();
        let mut kept = Kept { disk: &disks[1], is_clear, begun: None, catalog: old.clone() };
        if !follow.catch_up(&mut kept)? {
            return Ok(());
        }
        let Kept { begun, catalog, .. } = kept;
        let is_another = begun.is_some();
        let next = follow.image().map(shared::Image::next).unwrap_or_default();
        let read = || -> Result<Known, Error> {
            let catalog = match begun {
                None => catalog,
                Some(begun) => {
                    begun.finish(next)?;
                    Some(Arc::new(Catalog::open(disks[1].clone())?))
                }
            };
            let registry = catalog.as_ref().map(|catalog| catalog.registry()).transpose()?.unwrap_or_default();
            Ok(Known { registry, catalog })
        };
        let known = read().inspect_err(|_| follow.forget())?;
        *self.known.write().expect("no holder of this lock panics") = Arc::new(known);
        if is_another {
            disks.swap(0, 1);
            *before = old.map(|old| Arc::downgrade(&old));
        }
        Ok(())
    }

    fn known(&self) -> Arc<Known> {
        self.known.read().expect("no holder of this lock panics").clone()
    }
}

impl Known {
    fn catalog(&self) -> Result<&Catalog, DirectoryError> {
        let unread = || DirectoryError { fault: Fault::NotNow, message: "the journal was not read yet".to_owned() };
        self.catalog.as_deref().ok_or_else(unread)
    }
}

impl Directory for Follower {
    fn find(&self, name: &str) -> Option<PvEntry> {
        self.known().registry.find(name).cloned()
    }

    fn entry(&self, pv: PvId) -> Option<PvEntry> {
        self.known().registry.entry(pv).cloned()
    }

    fn entries_of(&self, pvs: &[Option<PvId>]) -> Vec<Option<PvEntry>> {
        let known = self.known();
        pvs.iter().map(|pv| known.registry.entry((*pv)?).cloned()).collect()
    }

    fn names(&self) -> Names {
        self.known().registry.names()
    }

    fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        self.known().registry.aliases(pv).to_vec()
    }

    fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        self.known().registry.all_aliases()
    }

    fn removed(&self) -> Vec<RemovedPv> {
        self.known().registry.removed().values().cloned().collect()
    }

    fn deletions(&self) -> Vec<Deletion> {
        self.known().registry.deletions().map(|hiding| hiding.of.clone()).collect()
    }

    fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, DirectoryError> {
        Ok(self.known().catalog()?.audit(before, limit)?)
    }

    fn undoable(&self) -> Result<Vec<Undoable>, DirectoryError> {
        Ok(self.known().catalog()?.undoable()?)
    }

    fn undo_plan(&self, number: u64) -> Result<UndoPlan, DirectoryError> {
        let known = self.known();
        undo::plan(known.catalog()?, &known.registry, number)?.ok_or_else(|| DirectoryError::no_order(number))
    }

    fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), DirectoryError> {
        Ok(self.known().catalog()?.memos(before, look)?)
    }

    fn own(&self, name: &str) -> Option<PvId> {
        let known = self.known();
        known.registry.own().values().find(|entry| entry.name.as_str() == name).map(|entry| entry.id)
    }
}

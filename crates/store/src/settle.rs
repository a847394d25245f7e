//! When the catalogue has what was told as failed: what is in memory of it is made anew, so that everybody sees what the next
//! start would find.

use std::sync::{MutexGuard, atomic::Ordering::Relaxed};

use crate::{Error, engine::Engine, manifest::Manifest};

impl Engine {
    /// Takes over what was told as failed and holds. An error while nobody knows whether it does.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        if !self.catalog.is_in_doubt() {
            return Ok(());
        }
        let _registering = self.registering.lock().expect("no holder of this lock panics");
        let _arranging = self.arranging.lock().expect("no holder of this lock panics");
        if !self.catalog.has_held_late()? {
            return Ok(());
        }
        let read_anew = || -> Result<(), Error> {
            // In the order in which readers look: what a purge has ended is gone from segments before it is not hidden any more.
            self.read_segments_anew()?;
            let registry = self.catalog.registry()?;
            self.registry_mut().replace(registry);
            Ok(())
        };
        tracing::warn!("a change of the catalogue that was told as failed holds; it is taken over");
        read_anew().inspect_err(|_| self.catalog.hold_late())
    }

    /// A lock under which the catalogue and what is in memory of it say the same.
    pub(crate) fn settled<'a, T>(&self, lock: impl Fn() -> MutexGuard<'a, T>) -> Result<MutexGuard<'a, T>, Error> {
        loop {
            self.settle()?;
            let guard = lock();
            if !self.catalog.is_in_doubt() {
                return Ok(guard);
            }
        }
    }

    fn read_segments_anew(&self) -> Result<(), Error> {
        let current = self.snapshot().segments.clone();
        let manifests = self.catalog.segments()?;
        let old: Vec<_> = current.iter().filter(|segment| !manifests.contains(&segment.manifest)).cloned().collect();
        let flushing = self.flushing_segment.load(Relaxed); // its samples are in a head as yet
        let is_known = |manifest: &Manifest| current.iter().any(|segment| segment.manifest == *manifest);
        let is_new = |manifest: &Manifest| manifest.sequence != flushing && !is_known(manifest);
        self.take_over(&old, manifests.into_iter().filter(is_new).collect());
        self.newest.forget();
        Ok(())
    }

    /// Segments that an import has written and that are entered now, or never.
    pub(crate) fn release(&self, numbers: &mut Vec<u64>) {
        if let Err(error) = self.settle() {
            tracing::warn!("a purge waits for an import of which nobody knows whether it holds: {error}");
            return;
        }
        let mut unentered = self.unentered.lock().expect("no holder of this lock panics");
        numbers.drain(..).for_each(|number| _ = unentered.remove(&number));
    }
}

//! When a transaction was reported as failed and the catalogue has it all the same: what memory holds of the catalogue is made anew, so
//! that everybody sees what the next start would find.

use std::sync::{Arc, MutexGuard, atomic::Ordering::Acquire};

use crate::{
    Error,
    engine::Engine,
    segment::{Segment, manifest::Manifest},
};

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
        self.take_over_found(&current, self.catalog.segments()?);
        self.newest.forget();
        Ok(())
    }

    /// Takes over the segments that the catalogue was found to have; `current` are those that readers had before it was asked.
    fn take_over_found(&self, current: &[Arc<Segment>], manifests: Vec<Manifest>) {
        let old: Vec<_> = current.iter().filter(|segment| !manifests.contains(&segment.manifest)).cloned().collect();
        let flushing = self.flushing_segment.load(Acquire); // its samples are in a head as yet
        // A flush that ended since the catalogue was asked has shown its segment itself.
        let current = self.snapshot().segments.clone();
        let is_known = |manifest: &Manifest| current.iter().any(|segment| segment.manifest == *manifest);
        let is_new = |manifest: &Manifest| manifest.sequence != flushing && !is_known(manifest);
        self.take_over(&old, manifests.into_iter().filter(is_new).collect());
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

#[cfg(test)]
mod tests {
    use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
    use sample::{Alarm, Sample, TimeRange, Timestamp, Value};

    use crate::{Config, Store};

    #[test]
    fn a_segment_that_is_flushed_meanwhile_is_taken_over_once() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_nanos(0);
        let store = Store::open(Config::new(folder.path()), now).unwrap();
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let pv =
            store.writer().register(&[(PvName::new("S").unwrap(), settings)], &By::new("test", now)).unwrap()[0].id;
        let sample = Sample { time: now, value: Value::F64(1.0), alarm: Alarm::default(), pulse: 0, stamp: None };
        store.writer().append(&[(pv, Record::Sample(sample))], now).unwrap();
        let engine = &store.engine;
        let before = engine.snapshot().segments.clone();
        engine.flush(now).unwrap();
        engine.take_over_found(&before, engine.catalog.segments().unwrap());
        assert_eq!(engine.snapshot().segments.len(), 1);
        let samples = store.reader().samples(pv, TimeRange::ALL).map(|batch| batch.unwrap().len());
        assert_eq!(samples.sum::<usize>(), 1);
    }
}

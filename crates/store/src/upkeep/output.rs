//! What a merge writes: segments, one after the other, under keys that no file has.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use archive::PvId;
use sample::Timestamp;

use crate::{
    Error,
    engine::Engine,
    segment::{
        Segment, SegmentWriter,
        manifest::{Level, Manifest},
    },
    upkeep::{merge_policy::SEGMENT_BYTES_MAX, trim::Trimmings},
};

/// What the merged segments are to be.
pub(crate) struct Plan<'a> {
    pub(crate) run: &'a [Arc<Segment>],
    pub(crate) level: Level,
    /// Rules of retention by which PVs are left out, as a number; they are chosen by `leave_out`.
    pub(crate) trimmed: u64,
    pub(crate) leave_out: &'a dyn Fn(PvId) -> bool,
    /// PVs of which only some fields are left out.
    pub(crate) trimmings: &'a Trimmings,
}

pub(super) fn unfinished(key: &str) -> String {
    format!("{key}.tmp")
}

/// The segments that a merge writes, one after the other.
pub(super) struct Output<'a> {
    engine: &'a Engine,
    /// What they have in common, with the key of the one that is being written.
    manifest: Manifest,
    now: Timestamp,
    /// Parts that other segments of the same sequence have.
    taken: Vec<u32>,
    writer: Option<SegmentWriter>,
    pub(super) written: Vec<Manifest>,
}

impl<'a> Output<'a> {
    pub(super) fn new(engine: &'a Engine, plan: &Plan) -> Result<Output<'a>, Error> {
        let manifests = || plan.run.iter().map(|segment| &segment.manifest);
        let first = manifests().next().expect("a run has segments");
        let ids: Vec<_> = manifests().map(Manifest::id).collect();
        let snapshot = engine.snapshot();
        let others = snapshot.segments.iter().map(|segment| segment.manifest.id());
        let taken = others.filter(|id| id.0 == first.sequence && !ids.contains(id)).map(|(_, part)| part).collect();
        let manifest = Manifest {
            last: manifests().map(|manifest| manifest.last).max().unwrap_or(first.last),
            level: plan.level,
            written: (
                manifests().map(|manifest| manifest.written.0).min().unwrap_or(first.written.0),
                manifests().map(|manifest| manifest.written.1).max().unwrap_or(first.written.1),
            ),
            place: None,
            trimmed: plan.trimmed,
            ..first.clone()
        };
        let now = engine.alive();
        Ok(Output { engine, manifest, now, taken, writer: None, written: Vec::new() })
    }

    /// What to write the next PV with.
    pub(super) fn writer(&mut self) -> Result<&mut SegmentWriter, Error> {
        if self.writer.as_ref().is_some_and(|writer| writer.offset() >= SEGMENT_BYTES_MAX) {
            self.finish()?;
        }
        if self.writer.is_none() {
            self.name_next()?;
        }
        let (disk, key) = (self.engine.disk.clone(), unfinished(&self.manifest.key));
        let (sequence, now, archive) = (self.manifest.sequence, self.now, self.engine.home.archive());
        let begin = || SegmentWriter::new(disk, key, sequence, now).identified(archive, &self.manifest.key);
        Ok(self.writer.get_or_insert_with(begin))
    }

    /// Finds a key that no file has and no segment had, near or elsewhere: one that was replaced may still be read, and goes when its reader
    /// is done. Its part may be free all the same, when all that it had was taken away.
    fn name_next(&mut self) -> Result<(), Error> {
        let next = self.written.last().map_or(0, |last| last.part + 1);
        let mut free = (next..).filter(|part| !self.taken.contains(part));
        self.manifest.part = free.next().expect("parts do not end");
        loop {
            self.manifest.generation = self.engine.merges.fetch_add(1, Relaxed).wrapping_add(1);
            let Manifest { sequence, last, generation, part, .. } = self.manifest;
            let folder = self.manifest.folder();
            let key = format!("{folder}/{sequence:012}-{last:012}-{generation}-{part:03}.seg");
            match self.engine.disk.len(&key) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let create = self.engine.make_week(folder);
                    create.map_err(|source| Error::Io { doing: "create the folder of", path: key.clone(), source })?;
                    self.manifest.key = key;
                    return Ok(());
                }
                Err(source) => return Err(Error::Io { doing: "look for", path: key, source }),
                Ok(_) => {} // of a merge before the start
            }
        }
    }

    /// Ends the segment that is being written, if there is one.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let key = self.manifest.key.clone();
        let finished = writer.finish_with(&|pvs| self.engine.names_of(pvs)).map_err(|source| Error::Io {
            doing: "write the segment",
            path: key.clone(),
            source,
        });
        let Some(found) = finished? else { return Ok(()) };
        let Manifest { sequence, part, last, generation, level, written, trimmed, .. } = self.manifest;
        self.written.push(Manifest { key, sequence, part, last, generation, level, written, trimmed, ..found });
        Ok(())
    }

    /// Removes what was written.
    pub(super) fn abandon(self) {
        let current = self.writer.as_ref().map(|_| unfinished(&self.manifest.key));
        let finished = self.written.iter().map(|manifest| unfinished(&manifest.key));
        finished.chain(current).for_each(|key| self.engine.remove_unfinished(&key));
    }
}

impl Engine {
    pub(crate) fn remove_unfinished(&self, key: &str) {
        if let Err(error) = self.disk.remove(key)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove the unfinished {key}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
    use sample::{Alarm, Batch, Sample, TimeRange, Value};
    use shared::{Owner, OwnerStanding, Settings, Shard, twin::Memory};
    use tempfile::TempDir;

    use super::*;
    use crate::{
        Config, Shipping, Store, catalog::Told, codec::Effort, disk::RealDisk, segment::fill::write_blocks,
        upkeep::compact::Compaction,
    };

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn batch() -> Batch {
        let sample = |time| Sample {
            time: at(time),
            value: Value::F64(time as f64),
            alarm: Alarm::default(),
            pulse: 0,
            stamp: None,
        };
        let mut batch = Batch::of(&sample(0));
        (1..100).for_each(|time| assert!(batch.push(&sample(time))));
        batch
    }

    fn config(folder: &TempDir) -> Config {
        Config { reserve_bytes: 0, ..Config::new(folder.path()) }
    }

    /// A store with two PVs whose samples are in two parts of one merge.
    fn in_two_parts(store: &Store) -> [PvId; 2] {
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let names = ["A", "B"].map(|name| (PvName::new(name).unwrap(), settings.clone()));
        let entries = store.writer().register(&names, &By::new("test", at(0))).unwrap();
        let pvs = [entries[0].id, entries[1].id];
        let records = pvs.map(|pv| (pv, Record::Samples(batch())));
        store.writer().append(&records, at(100)).unwrap();
        let engine = &store.engine;
        engine.flush(at(100)).unwrap();
        let run = engine.snapshot().segments.to_vec();
        let (leave_out, trimmings) = (|_| false, Trimmings::default());
        let plan = Plan { run: &run, level: Level::Minutes, trimmed: 0, leave_out: &leave_out, trimmings: &trimmings };
        let mut output = Output::new(engine, &plan).unwrap();
        for pv in pvs {
            write_blocks(output.writer().unwrap(), pv, &batch(), Effort::Merge, &mut None).unwrap();
            output.finish().unwrap(); // as when it has become large
        }
        engine.enter(&run, output.written, Told::default()).unwrap();
        assert_eq!(parts(store), [(0, 0), (0, 1)]);
        pvs
    }

    fn parts(store: &Store) -> Vec<(u64, u32)> {
        store.engine.snapshot().segments.iter().map(|segment| segment.manifest.id()).collect()
    }

    /// The segment that has a PV.
    fn of(store: &Store, pv: PvId) -> Arc<Segment> {
        let snapshot = store.engine.snapshot();
        snapshot.segments.iter().find(|segment| segment.manifest.may_hold(pv)).unwrap().clone()
    }

    fn write_anew(store: &Store, pv: PvId) -> String {
        let done = store.engine.merge(&[of(store, pv)], Level::Minutes, &|| true).unwrap();
        assert_eq!(done, Compaction::Done);
        of(store, pv).manifest.key.clone()
    }

    fn take_away(store: &Store, pv: PvId) {
        let done = store.engine.replace_segments(&[of(store, pv)], Vec::new(), Told::default()).unwrap();
        assert_eq!(done, Compaction::Done);
    }

    fn samples(store: &Store, pv: PvId) -> usize {
        store.reader().samples(pv, TimeRange::ALL).map(|batch| batch.unwrap().len()).sum()
    }

    #[test]
    fn a_key_is_not_given_again_when_the_part_that_had_it_is_gone() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(config(&folder), at(0)).unwrap();
        let [a, b] = in_two_parts(&store);
        let mut keys = BTreeSet::from([a, b].map(|pv| of(&store, pv).manifest.key.clone()));
        assert!(keys.insert(write_anew(&store, a)));
        take_away(&store, a);
        let again = write_anew(&store, b);
        assert_eq!(parts(&store), [(0, 0)], "it has the part that is free");
        assert!(keys.insert(again), "{keys:?}");
        assert_eq!(samples(&store, b), 100);
    }

    fn open_shard(memory: &Arc<Memory>, folder: &TempDir, now: i64) -> Store {
        let settings = Settings { commit_every: Duration::ZERO, keep_unnamed: Duration::ZERO, ..Settings::default() };
        let owner = Owner::take(memory.clone(), Shard::new(3, 'a').unwrap(), "node", 1, 1, settings).unwrap();
        let shipping = Shipping { every: None, ..Shipping::default() };
        let disk = Arc::new(RealDisk::new(folder.path()));
        let store = Store::open_shard(disk, config(folder), owner, shipping, at(now)).unwrap();
        store.replay().unwrap();
        store
    }

    #[test]
    fn a_segment_never_gets_the_key_of_one_that_an_epoch_before_has_written() {
        let (memory, folders) = (Arc::new(Memory::default()), [(); 3].map(|()| TempDir::new().unwrap()));
        let store = open_shard(&memory, &folders[0], 0);
        let [a, b] = in_two_parts(&store);
        let before = write_anew(&store, a);
        store.close(at(200)).unwrap();

        let store = open_shard(&memory, &folders[1], 300);
        assert_eq!(of(&store, a).manifest.key, before);
        take_away(&store, a);
        assert_ne!(write_anew(&store, b), before);
        assert_eq!(samples(&store, b), 100);
        write_anew(&store, b);
        store.engine.ship_all().unwrap();
        let health = store.shard().unwrap();
        assert_eq!((health.standing, health.trouble), (OwnerStanding::Owning, None));
        store.close(at(400)).unwrap();

        let store = open_shard(&memory, &folders[2], 500);
        assert_eq!((samples(&store, a), samples(&store, b)), (0, 100));
    }
}

//! The import: samples of long ago come in beside live data, straight into segments of the weeks in which they were taken.
//!
//! ```text
//!   part ──► memory, 64 MiB ──sorted, cut by week──► segments (not entered yet) ──finish──► one transaction
//!                                                                      {segments, gaps, metadata, the part's name, audit}
//! ```
//! An import has a name and so have its parts: one that was entered is known for ever and skipped when it comes again, so an
//! import that broke off is begun anew and goes on where it was. What a crash leaves of an unfinished part goes when the archive
//! is opened. A part counts as written when its segments were, for the order among samples of equal time and for deletions.

use std::{
    collections::BTreeMap,
    io, mem,
    sync::{Arc, MutexGuard, atomic::Ordering::Relaxed},
};

use archive::{Action, AuditRecord, By, ImportedPart, PvId, Record};
use sample::Batch;

use crate::{
    Error, Writer,
    block::repeats::without_repeats,
    catalog::imports::Proof,
    codec::Effort,
    engine::{Engine, too_large},
    facts::Facts,
    segment::{
        SegmentWriter,
        fill::write_blocks,
        manifest::{Level, Manifest},
        week,
    },
};

/// So many bytes of samples are gathered before they are written.
const GATHER_BYTES_MAX: usize = 64 << 20;

/// Something that takes samples of the past, part by part. Dropped before the end of a part it leaves nothing of it.
#[derive(Debug)]
pub struct Import {
    engine: Arc<Engine>,
    name: String,
    by: By,
    /// In the order in which they came, each run of one type for itself.
    gathered: BTreeMap<PvId, Vec<Batch>>,
    gathered_bytes: usize,
    facts: Facts,
    /// Written, but not entered.
    written: Vec<Manifest>,
    /// The numbers of what was written, for purges that must wait for it.
    unentered: Vec<u64>,
    /// Something of the part is lost: it cannot be entered any more.
    failed: bool,
    /// It brings what was recorded before: it is entered only if the next deletion still gets this number.
    next_deletion: Option<u64>,
}

/// Why a part cannot be entered after a failure.
const FAILED: &str = "something of this part could not be written before; abandon it and import the part again";

/// Why a part that brings what was recorded before is not entered.
const DELETED: &str = "something was deleted meanwhile, which would come back; take it over again";

impl Writer {
    /// Begins an import, or goes on with the one of that name.
    pub fn import(&self, name: &str, by: &By) -> Import {
        Import {
            engine: self.engine.clone(),
            name: name.to_owned(),
            by: by.clone(),
            gathered: BTreeMap::new(),
            gathered_bytes: 0,
            facts: Facts::default(),
            written: Vec::new(),
            unentered: Vec::new(),
            failed: false,
            next_deletion: None,
        }
    }
}

impl Import {
    /// What comes now was recorded before by another archive; see `Intake`.
    pub fn takes_over(&mut self) -> Result<Vec<PvId>, Error> {
        let engine = &self.engine;
        let _registering = engine.settled(|| engine.registering.lock().expect("no holder of this lock panics"))?;
        self.next_deletion = Some(engine.catalog.next_deletion()?);
        Ok(engine.hidden_pvs())
    }

    /// What a part brought that was entered before; none: it is to be imported.
    pub fn part(&self, part: &str) -> Result<Option<ImportedPart>, Error> {
        self.engine.settle()?;
        self.engine.catalog.imported(&self.name, part)
    }

    /// Takes samples, in any order, gaps and metadata into the part that is being gathered.
    pub fn append(&mut self, records: &[(PvId, Record)]) -> Result<(), Error> {
        let next = self.engine.registry().next();
        for (pv, record) in records {
            if pv.0 >= next {
                return Err(Error::UnknownPv { pv: *pv });
            }
            if let Some(bytes) = too_large(record) {
                return Err(Error::TooLarge { pv: *pv, bytes });
            }
            match record {
                Record::Samples(batch) => self.gather(*pv, batch)?,
                Record::Array(batch) => self.gather(*pv, batch)?,
                Record::Sample(sample) | Record::LedgerRow(sample) => self.gather(*pv, &Batch::of(sample))?,
                Record::Gap(gap) => _ = self.facts.gaps.insert((*pv, gap.from, gap.cause), *gap),
                Record::Metadata(since, metadata) => {
                    self.facts.metadata.insert((*pv, *since), metadata.clone());
                }
            }
        }
        Ok(())
    }

    fn gather(&mut self, pv: PvId, batch: &Batch) -> Result<(), Error> {
        let runs = self.gathered.entry(pv).or_default();
        let fits = runs.last_mut().is_some_and(|run| run.extend_from(batch, 0..batch.len()));
        if !fits {
            runs.push(batch.clone());
        }
        self.gathered_bytes += batch.byte_size();
        if self.gathered_bytes >= GATHER_BYTES_MAX { self.write() } else { Ok(()) }
    }

    /// Writes what was gathered so far, which is not entered by that.
    pub fn write_out(&mut self) -> Result<(), Error> {
        self.write()
    }

    /// Enters what was appended since the last part: all of it is there and durable when this returns, or nothing.
    pub fn finish_part(&mut self, part: &str) -> Result<ImportedPart, Error> {
        self.enter(part, Proof::None)
    }

    /// As `finish_part`, but the part is not known by its name until `verified` is called. If it comes again before, it is entered
    /// again: what is there already is a repeat.
    pub fn finish_part_unverified(&mut self, part: &str) -> Result<ImportedPart, Error> {
        self.enter(part, Proof::Waits)
    }

    /// All of a part that was finished unverified has been found: it is known from now on.
    pub fn verified(&self, part: &str) -> Result<(), Error> {
        self.engine.refuse_if_closed()?;
        self.engine.catalog.verified((&self.name, part))
    }

    fn enter(&mut self, part: &str, proof: Proof) -> Result<ImportedPart, Error> {
        if let Some(known) = self.part(part)? {
            self.abandon();
            return Ok(known);
        }
        if self.failed {
            return Err(Error::CannotDo { doing: "enter the part of an import", reason: FAILED.to_owned() });
        }
        self.write()?;
        self.engine.refuse_if_closed()?;
        let engine = self.engine.clone();
        let facts = mem::take(&mut self.facts).without(|pv| engine.registry().is_purged(pv));
        let imported = ImportedPart {
            samples: self.written.iter().map(|manifest| manifest.samples).sum(),
            bytes: self.written.iter().map(|manifest| manifest.bytes).sum(),
            gaps: facts.gaps.len() as u64,
            metadata: facts.metadata.len() as u64,
        };
        let record = self.line(part, imported);
        let commit = |_registering| {
            engine.catalog.commit_import((&self.name, part), proof, imported, &self.written, &facts, &record)
        };
        match self.in_turn().map(commit) {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(known))) => {
                self.abandon();
                return Ok(known);
            }
            Ok(Err(error)) => {
                // The next start removes or sets aside what was not entered; what holds after all is taken over.
                self.written.clear();
                self.failed = true;
                return Err(error);
            }
            Err(error) => {
                self.abandon();
                return Err(error);
            }
        }
        self.next_deletion = None;
        self.show();
        let registry = engine.registry();
        facts.metadata.keys().for_each(|(pv, _)| registry.touches.note(*pv));
        Ok(imported)
    }

    /// For a part that brings what was recorded before: deletions come before it or after it, and know which. One that began before and ends
    /// after it is for it too.
    fn in_turn(&self) -> Result<Option<MutexGuard<'_, ()>>, Error> {
        let Some(next_deletion) = self.next_deletion else { return Ok(None) };
        let engine = &self.engine;
        let registering = engine.settled(|| engine.registering.lock().expect("no holder of this lock panics"))?;
        if engine.catalog.next_deletion()? != next_deletion {
            let doing = "take over what another archive has";
            return Err(Error::CannotDo { doing, reason: DELETED.to_owned() });
        }
        let end = self.unentered.last().map_or(0, |last| last + 1);
        engine.taken_over_below.fetch_max(end, Relaxed);
        Ok(Some(registering))
    }

    /// The line of the audit about a part.
    fn line(&self, part: &str, imported: ImportedPart) -> AuditRecord {
        let ImportedPart { samples, bytes, gaps, metadata } = imported;
        let mut detail = format!("{}, part {part}", self.name);
        if (gaps, metadata) != (0, 0) {
            let plural = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
            let gaps = plural(gaps, "gap", "gaps");
            let metadata = plural(metadata, "change of metadata", "changes of metadata");
            detail.push_str(&format!(", with {gaps} and {metadata}"));
        }
        AuditRecord { detail, samples, bytes, ..AuditRecord::new(Action::Imported, &self.by) }
    }

    /// Lets readers see what was entered.
    fn show(&mut self) {
        let engine = self.engine.clone();
        let written = mem::take(&mut self.written);
        engine.change_snapshot(|snapshot| {
            let known = snapshot.segments.clone();
            let is_new = |of: &Manifest| known.iter().all(|segment| segment.manifest.id() != of.id());
            written.into_iter().filter(is_new).for_each(|manifest| engine.show(snapshot, manifest));
        });
        engine.newest.forget();
        engine.release(&mut self.unentered);
    }

    /// Writes what was gathered, a segment for each week.
    fn write(&mut self) -> Result<(), Error> {
        let mut weeks: BTreeMap<String, Vec<(PvId, Batch)>> = BTreeMap::new();
        self.gathered_bytes = 0;
        for (pv, runs) in mem::take(&mut self.gathered) {
            for run in runs {
                let (run, repeats) = without_repeats(run.sorted());
                self.engine.counters.repeats_dropped.fetch_add(repeats, Relaxed);
                let mut start = 0;
                while start < run.len() {
                    let folder = week::folder(run.times()[start]);
                    let end = week::end(&folder);
                    let rows = run.times()[start..].partition_point(|time| *time < end).max(1);
                    weeks.entry(folder).or_default().push((pv, run.slice(start..start + rows)));
                    start += rows;
                }
            }
        }
        for (folder, batches) in weeks {
            let written = self.write_week(&folder, batches);
            self.failed |= written.is_err();
            self.written.extend(written?);
        }
        Ok(())
    }

    fn write_week(&mut self, folder: &str, batches: Vec<(PvId, Batch)>) -> Result<Option<Manifest>, Error> {
        let engine = self.engine.clone();
        let now = engine.alive();
        let sequence = {
            let mut flushing = engine.flushing.lock().expect("no holder of this lock panics");
            flushing.next_segment += 1;
            // Known before any deletion that is for it.
            let mut unentered = engine.unentered.lock().expect("no holder of this lock panics");
            unentered.insert(flushing.next_segment - 1);
            flushing.next_segment - 1
        };
        self.unentered.push(sequence);
        // A key as of what was merged: a file of this kind that the catalogue does not know is removed at the next start.
        let key = format!("{folder}/{sequence:012}-{sequence:012}-0-000.seg");
        let unfinished = format!("{key}.tmp");
        let write = || -> io::Result<Option<Manifest>> {
            engine.make_week(folder)?;
            let writer = SegmentWriter::new(engine.disk.clone(), unfinished.clone(), sequence, now);
            let mut writer = writer.identified(engine.home.archive(), &key);
            let mut room = None;
            for (pv, batch) in batches {
                write_blocks(&mut writer, pv, &batch, Effort::Flush, &mut room)?;
            }
            let Some(manifest) = writer.finish(&|pv| engine.named(pv))? else { return Ok(None) };
            engine.disk.rename(&unfinished, &key)?;
            engine.disk.sync_folder(folder)?;
            engine.disk.sync_folder("")?;
            Ok(Some(Manifest { key: key.clone(), level: Level::Minutes, written: (now, now), ..manifest }))
        };
        write().map_err(|source| {
            engine.remove_unfinished(&unfinished);
            Error::Io { doing: "write the segment", path: key.clone(), source }
        })
    }

    /// Forgets the part that is being gathered.
    pub fn abandon(&mut self) {
        self.gathered.clear();
        self.gathered_bytes = 0;
        self.facts = Facts::default();
        self.failed = false;
        self.next_deletion = None;
        for manifest in mem::take(&mut self.written) {
            self.engine.remove_unfinished(&manifest.key);
        }
        self.engine.clone().release(&mut self.unentered);
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        self.abandon();
    }
}

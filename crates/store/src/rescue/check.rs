//! The check: reads every byte of an archive and says what is damaged, beside a running archiver.

mod absent;
mod log;
mod report;
mod told;

use std::{
    collections::{HashMap, HashSet},
    io,
    path::Path,
    sync::Arc,
};

use absent::{Absent, absent};
use archive::{PvId, PvName};
use log::Frames;
pub use report::{BadBlock, Progress, Report};
use sample::{Batch, TimeRange};
pub use told::StoredIn;
use told::Told;

use crate::{
    Error, Summary,
    catalog::{
        copy::{self, Copy, read_file},
        tables::CATALOGUE,
    },
    disk::{Disk, RealDisk},
    log::{files::Listed, format},
    places::tables_key,
    segment::{
        DirectoryRecord, Entry, LevelsCheck, Segment, Table, format::HEADER_LEN, manifest::Manifest, week, whose::Whose,
    },
};

/// Reads everything in `folder` and verifies every checksum, each index against its data, each summary and each level against its
/// samples. Needs no lock: it works while an archiver writes there, and says nothing of files that vanish meanwhile.
pub fn check(folder: &Path, progress: impl FnMut(Progress)) -> Result<Report, Error> {
    check_with_ledger(folder, &|_, _| None, progress)
}

/// The same, and holds what is there against what the rows of the ledger say was stored.
pub fn check_with_ledger(folder: &Path, stored_in: StoredIn, progress: impl FnMut(Progress)) -> Result<Report, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder));
    let failed = |source| Error::Io { doing: "list", path: folder.display().to_string(), source };
    let names = disk.list("").map_err(failed)?;
    if !names.iter().any(|name| name == CATALOGUE) {
        let found = format!("it holds no {CATALOGUE}");
        return Err(Error::NotAStore { folder: folder.to_owned(), found });
    }
    let (copy, unreadable) = match copy::read_copy(&*disk)? {
        Ok(copy) => (copy, None),
        Err(reason) => (Copy::default(), Some(reason)),
    };
    let (mut segments, mut unlisted) = (Vec::new(), Vec::new());
    for week in names.iter().filter(|name| week::is_folder(name)) {
        match disk.list(week) {
            Ok(files) => {
                segments.extend(files.iter().filter(|of| of.ends_with(".seg")).map(|of| format!("{week}/{of}")))
            }
            Err(error) => unlisted.push(format!("{week} cannot be listed: {error}")),
        }
    }
    segments.sort_unstable();
    let Listed { keys: logs, strangers } = Listed::of(&*disk).unwrap_or_else(|error| {
        unlisted.push(format!("{} cannot be listed, and nothing in it was read: {error}", format::FOLDER));
        Listed::default()
    });
    let far: u64 = copy.segments.iter().filter(|of| of.place.is_some()).map(|of| of.bytes).sum();
    let bytes_total = segments.iter().chain(&logs).map(|key| disk.len(key).unwrap_or(0)).sum::<u64>() + far;
    let rows = copy.segments.iter().map(|of| (of.key.clone(), of.clone())).collect();
    let (told, position) = (Told::new(&copy, stored_in), copy.position);
    let Copy { archive, names, places, segments: known, own, .. } = copy;
    let mut check = Check { disk, names, own, archive, rows, report: Report::default(), bytes_total, told, progress };
    unlisted.into_iter().for_each(|problem| check.problem(problem));
    if let Some(reason) = unreadable {
        check.problem(format!("{CATALOGUE} cannot be read, PVs are told by their numbers: {reason}"));
    }
    check.absent(&known, &segments, &places)?;
    for moved in known.iter().filter(|of| of.place.is_some()) {
        check.moved(moved, &places);
    }
    for key in &segments {
        check.segment(key);
    }
    strangers.iter().for_each(|(name, is)| check.problem(is.finding(name)));
    let mut frames = Frames::behind(position);
    for key in &logs {
        if let Err(error) = check.log(key, Some(key) == logs.last(), &mut frames) {
            check.problem(error.to_string());
        }
    }
    check.totals(frames)?;
    Ok(check.report)
}

/// Reads one segment and says what is wrong with it. `wanted` is what the catalogue says of it, if there is one.
pub(crate) fn segment(
    disk: &Arc<dyn Disk>,
    key: &str,
    (archive, wanted): (Option<u64>, Option<&Manifest>),
    progress: impl FnMut(Progress),
) -> Report {
    let (names, bytes_total) = (HashMap::new(), disk.len(key).unwrap_or(0));
    let rows = wanted.map(|of| (key.to_owned(), of.clone())).into_iter().collect();
    let mut check = Check {
        disk: disk.clone(),
        names,
        own: HashSet::new(),
        archive,
        rows,
        report: Report::default(),
        bytes_total,
        told: None,
        progress,
    };
    check.segment(key);
    check.report
}

/// What is wrong with a file that is to be the segment of a manifest, in sentences that call it by the manifest's key.
pub(crate) fn findings(
    disk: &Arc<dyn Disk>,
    key: &str,
    wanted: &Manifest,
    Copy { names, archive, .. }: &Copy,
) -> Result<Vec<String>, Error> {
    let Report { bad_blocks, problems, .. } = segment(disk, key, (*archive, Some(wanted)), |_| {});
    if let Some(newer) = problems.iter().find(|problem| problem.contains("use the newer program")) {
        return Err(Error::CannotDo { doing: "verify a segment", reason: newer.clone() });
    }
    let named = |bad: BadBlock| BadBlock { file: wanted.key.clone(), name: names.get(&bad.pv).cloned(), ..bad };
    let blocks = bad_blocks.into_iter().map(|bad| named(bad).to_string());
    Ok(problems.into_iter().map(|problem| problem.replace(key, &wanted.key)).chain(blocks).collect())
}

/// Whether a file can be the segment of a manifest: its length and its end are those.
pub(crate) fn is_segment(disk: &Arc<dyn Disk>, key: &str, wanted: &Manifest) -> bool {
    disk.len(key).is_ok_and(|bytes| bytes == wanted.bytes)
        && Segment::of_file(disk.clone(), key).is_ok_and(|found| wanted.differs(&found.manifest).is_none())
}

/// A check under way.
struct Check<'a, P> {
    disk: Arc<dyn Disk>,
    names: HashMap<PvId, PvName>,
    /// The PVs that the archive keeps for itself.
    own: HashSet<PvId>,
    /// The number of the archive, if it has one.
    archive: Option<u64>,
    /// What the catalogue says of each segment, by where it is looked for.
    rows: HashMap<String, Manifest>,
    report: Report,
    bytes_total: u64,
    /// The sums that are compared with the ledger; none where the catalogue has no balance.
    told: Option<Told<'a>>,
    progress: P,
}

impl<P: FnMut(Progress)> Check<'_, P> {
    fn problem(&mut self, sentence: String) {
        self.report.problems.push(sentence);
    }

    fn read(&mut self, bytes: u64) {
        self.report.bytes += bytes;
        (self.progress)(Progress { bytes: self.report.bytes, bytes_total: self.bytes_total.max(self.report.bytes) });
    }

    /// Says which of the known segments are lost.
    fn absent(&mut self, known: &[Manifest], near: &[String], places: &HashMap<String, String>) -> Result<(), Error> {
        for Absent { of, finding } in absent(&*self.disk.clone(), known, near, places)? {
            if finding.is_none() || of.place.is_some() {
                self.counted(&of.key, of.samples); // it may be whole
            }
            finding.into_iter().for_each(|finding| self.problem(finding));
        }
        Ok(())
    }

    /// Checks a segment whose blocks lie in another place, and what of it is kept near.
    fn moved(&mut self, manifest: &Manifest, places: &HashMap<String, String>) {
        let Manifest { key, bytes, tables_at, .. } = manifest;
        let name = manifest.place.as_deref().unwrap_or_default();
        let Some(folder) = places.get(name) else { return };
        let far: Arc<dyn Disk> = Arc::new(RealDisk::new(folder));
        if far.len(key).ok() != Some(*bytes) {
            return;
        }
        let mut tables = vec![0; bytes.saturating_sub(*tables_at) as usize];
        let near = read_file(&*self.disk, &tables_key(key)).unwrap_or_default();
        if far.read_at(key, *tables_at, &mut tables).is_ok() && near.is_none_or(|near| near != tables) {
            self.problem(format!("{} is not what it is in the place {name:?} ({folder})", tables_key(key)));
        }
        self.segment_on(&far, key);
    }

    fn segment(&mut self, key: &str) {
        self.segment_on(&self.disk.clone(), key);
    }

    fn segment_on(&mut self, disk: &Arc<dyn Disk>, key: &str) {
        self.report.segments += 1;
        let before = self.report.samples;
        let read = Segment::of_file(disk.clone(), key).and_then(|segment| {
            self.identity(&segment)?;
            self.segment_content(&segment)
        });
        self.counted(key, self.report.samples - before);
        let Err(error) = read else { return };
        // One that is merged meanwhile vanishes, and is no finding.
        let has_gone = disk.len(key).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if !has_gone {
            self.problem(error.to_string());
        } else if let Some(samples) = self.rows.get(key).map(|row| row.samples) {
            self.counted(key, samples); // it may have been moved, as a whole
        }
    }

    /// Notes how many samples of a segment were read, for the comparison with the ledger.
    fn counted(&mut self, key: &str, samples: u64) {
        if let Some(told) = &mut self.told {
            told.segment(key, samples);
        }
    }

    /// Compares what was read with the catalogue and the ledger. The catalogue is read again: an archiver may have flushed meanwhile.
    fn totals(&mut self, frames: Frames) -> Result<(), Error> {
        if let Ok(after) = copy::read_copy(&*self.disk)? {
            self.report.problems.extend(frames.findings(after.position));
            let finding = self.told.take().and_then(|told| told.finding(&self.rows, &after));
            self.report.problems.extend(finding);
        }
        Ok(())
    }

    /// Looks whether a segment is the one that belongs there.
    fn identity(&mut self, segment: &Segment) -> Result<(), Error> {
        let key = &segment.manifest.key;
        let wanted = self.rows.get(key).cloned();
        let right = wanted.as_ref().map_or(key.as_str(), |wanted| wanted.key.as_str());
        let whose = Whose::of(segment, right, self.archive, self.rows.keys().map(String::as_str))?;
        let differs = || wanted.as_ref()?.differs(&segment.manifest);
        let differs = || Some(format!("is another segment than the catalogue means by {}", differs()?));
        if let Some(finding) = whose.finding().or_else(differs) {
            self.problem(format!("{key} {finding}"));
        }
        Ok(())
    }

    /// Reads everything in a segment and looks whether its parts fit together.
    fn segment_content(&mut self, segment: &Segment) -> Result<(), Error> {
        let key = &segment.manifest.key;
        let footer = segment.footer()?;
        let before = (self.report.blocks, self.report.samples);
        let problems = self.report.problems.len();
        let (mut blocks_end, mut tables_end) = (Some(HEADER_LEN as u64), footer.tables_at);
        for record in segment.records()? {
            if blocks_end.is_some_and(|end| end != record.blocks_at) || tables_end != record.tables_at {
                self.problem(format!("the segment {key} has bytes that nothing points to, before PV {}", record.pv.0));
            }
            tables_end = record.tables_at + record.tables_len();
            blocks_end = self.pv(segment, &record)?;
        }
        if let Err(error) = segment.names() {
            self.problem(error.to_string());
        }
        let found = (self.report.blocks - before.0, self.report.samples - before.1);
        let unread = self.report.problems.len() > problems || self.report.bad_blocks.iter().any(|bad| bad.file == *key);
        if !unread && found != (footer.blocks, footer.samples) {
            self.problem(format!("the segment {key} holds other blocks than its footer counts"));
        }
        if !unread && (blocks_end, tables_end) != (Some(footer.tables_at), footer.pages_at) {
            self.problem(format!("the segment {key} has bytes that nothing points to"));
        }
        Ok(())
    }

    /// Reads the blocks of a PV and gives the byte at which they end; none if the index cannot be read.
    fn pv(&mut self, segment: &Segment, record: &DirectoryRecord) -> Result<Option<u64>, Error> {
        let tables = segment.tables(record, Table::Index, Table::Levels)?;
        let entries = match tables.index() {
            Ok(entries) => entries,
            Err(error @ Error::CorruptSegment { .. }) => {
                self.problem(error.to_string());
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let summaries = tables.summaries(&entries).unwrap_or_else(|error| {
            self.problem(error.to_string());
            Vec::new()
        });
        let mut levels = tables.levels_check().unwrap_or_else(|error| {
            self.problem(error.to_string());
            LevelsCheck::default()
        });
        drop(tables);
        let mut whole = true;
        for (index, entry) in entries.iter().enumerate() {
            match self.block(segment, record.pv, entry, summaries.get(index))? {
                Some(batch) => levels.add(&batch),
                None => whole = false,
            }
        }
        // What a damaged block held is not known, and so neither what the rows should be.
        for width in if whole { levels.finish() } else { Vec::new() } {
            let (key, pv, seconds) = (&segment.manifest.key, record.pv.0, width / 1_000_000_000);
            self.problem(format!("the segment {key}: the level of {seconds} s of PV {pv} is not that of its samples"));
        }
        Ok(entries.last().map(|entry| entry.offset + u64::from(entry.len)))
    }

    /// Reads a block and gives its samples, if they can be had.
    fn block(
        &mut self,
        segment: &Segment,
        pv: PvId,
        entry: &Entry,
        expected: Option<&Summary>,
    ) -> Result<Option<Batch>, Error> {
        let read = segment.read(pv, entry);
        let read = read.and_then(|batch| Ok((segment.is_summed_up(pv, entry, &batch, expected)?, batch)));
        let (batch, reason) = match read {
            Ok((agrees, batch)) => {
                self.report.samples += batch.len() as u64;
                if self.own.contains(&pv)
                    && self.rows.contains_key(&segment.manifest.key)
                    && let Some(told) = &mut self.told
                {
                    (0..batch.len()).for_each(|row| told.row(pv, &batch.get(row)));
                }
                (Some(batch), (!agrees).then(|| "its summary is not that of its samples".to_owned()))
            }
            Err(Error::CorruptBlock { reason, .. }) => (None, Some(reason)),
            Err(error) => return Err(error),
        };
        self.report.blocks += 1;
        self.read(u64::from(entry.len));
        self.report.bad_blocks.extend(reason.map(|reason| BadBlock {
            file: segment.manifest.key.clone(),
            offset: entry.offset,
            pv,
            name: self.names.get(&pv).cloned(),
            range: TimeRange { t0: entry.t0, t1: entry.t1 },
            reason,
        }));
        Ok(batch)
    }
}

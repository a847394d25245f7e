//! The archive: all files below one root folder, read in place as a source.

use crate::{
    fields::{FieldValue, loss},
    file::{FileSamples, PbFile},
    folder::{Folder, Part},
    key::key_of,
    pieces::{Pieces, places_of_fields},
    rows::Damage,
    shelf::Shelf,
    tape::Content,
    type_info::TypeInfo,
};
use archive::{
    Carried, CarriedStream, Extent, GapScope, Key, PvName, SampleStream, Source, SourceError, SourceHealth,
    StretchStream,
};
use sample::{Alarm, Gap, Metadata, Sample, TimeRange, Timestamp};
use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    fmt, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

/// How a field begins in the line of a sample: number 7, and bytes.
const FIELD_TAG: u8 = 7 << 3 | 2;

/// A root folder of the Appliance: its short, medium or long term store.
#[derive(Clone)]
pub struct PlainPb {
    shared: Arc<Shared>,
    /// Where digests are kept.
    shelf: Option<Arc<Shelf>>,
}

struct Shared {
    name: String,
    folder: Folder,
    type_infos: HashMap<PvName, TypeInfo>,
    health: Mutex<SourceHealth>,
}

/// The folder in which is kept what samples of files amount to, of several archives.
#[derive(Clone, Debug)]
pub struct Digests(Arc<Shelf>);

impl Digests {
    /// The folder, which is made if it is not there; the one in which it lies must be there.
    pub fn open(folder: &Path) -> io::Result<Digests> {
        Ok(Digests(Arc::new(Shelf::open(folder.to_owned())?)))
    }
}

impl fmt::Debug for PlainPb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlainPb({})", self.shared.name)
    }
}

impl PlainPb {
    /// The files below `root`, with what the Appliance's configuration says of PVs; they are not looked at yet.
    pub fn new(root: PathBuf, type_infos: impl IntoIterator<Item = TypeInfo>) -> PlainPb {
        let name = root.display().to_string();
        let health = Mutex::new(SourceHealth { name: name.clone(), ..SourceHealth::default() });
        let type_infos = type_infos.into_iter().map(|info| (info.name.clone(), info)).collect();
        PlainPb { shared: Arc::new(Shared { name, folder: Folder::new(root), type_infos, health }), shelf: None }
    }

    /// What samples of files amount to is kept there, and read from there the second time.
    pub fn with_digests(self, digests: &Digests) -> PlainPb {
        PlainPb { shelf: Some(Arc::clone(&digests.0)), ..self }
    }

    /// How it is doing.
    pub fn health(&self) -> SourceHealth {
        self.shared.health().clone()
    }

    pub(crate) fn shelf(&self) -> Option<&Arc<Shelf>> {
        self.shelf.as_ref()
    }

    pub(crate) fn failed(&self, part: &Part, error: &io::Error) -> SourceError {
        self.shared.failed(&part.place.path.display().to_string(), error)
    }

    pub(crate) fn count(&self, damage: Damage) {
        self.shared.count(damage);
    }

    pub(crate) fn parts(&self, pv: &PvName) -> Result<Vec<Part>, SourceError> {
        let shared = &self.shared;
        shared.folder.parts(pv).map_err(|error| shared.failed(&shared.name, &error))
    }

    pub(crate) fn open(&self, part: &Part, pv: &PvName) -> Option<PbFile> {
        self.shared.open(part, pv)
    }
}

impl Shared {
    fn health(&self) -> MutexGuard<'_, SourceHealth> {
        self.health.lock().expect("no holder of this lock panics")
    }

    fn failed(&self, path: &str, error: &io::Error) -> SourceError {
        let text = format!("cannot read the old archive at {path}: {error}");
        self.health().problem = Some(text.clone());
        SourceError::piece(text)
    }

    /// Opens a file of a PV. One that has no header, or another PV's, is told and left out.
    fn open(&self, part: &Part, pv: &PvName) -> Option<PbFile> {
        let path = part.place.path.display();
        let problem = match PbFile::open(&part.place) {
            // Names that differ only in what parts folders share files, and the header says whose these are.
            Ok(Some(file)) if file.header.pv_name == pv.as_str() => return Some(file),
            Ok(Some(file)) => format!("{path} is the file of {}, not of {pv}", file.header.pv_name),
            Ok(None) => format!("{path} has no header and is left out"),
            // A file that was moved to another store since it was listed is found there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => format!("cannot read {path}: {error}"),
        };
        let mut health = self.health();
        if health.problem.as_ref() != Some(&problem) {
            tracing::warn!("{problem}");
            health.files_bad += 1;
            health.problem = Some(problem);
        }
        None
    }

    fn count(&self, damage: Damage) {
        if !damage.is_none() {
            let mut health = self.health();
            health.lines_bad += damage.bad_lines + damage.torn_tails;
            health.out_of_order += damage.out_of_order;
        }
    }
}

impl Source for PlainPb {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn pvs(&self, found: &mut dyn FnMut(PvName) -> ControlFlow<()>) -> Result<(), SourceError> {
        let shared = &self.shared;
        {
            let mut health = shared.health();
            (health.pvs, health.files) = (0, 0);
        }
        let (mut stopped, mut without_files) = (false, self.shared.type_infos.keys().collect::<BTreeSet<_>>());
        let mut see = |parts: &[Part]| {
            // Where the newest file has no header, because it was being written, an older one has.
            let mut files_bad = 0;
            let mut name = None;
            for part in parts {
                let path = part.place.path.display();
                let problem = match &part.place.content {
                    Content::Unreadable(why) => format!("cannot read {path}: {why}"),
                    _ if name.is_some() => continue,
                    _ => {
                        name = name_in(part, shared.folder.root());
                        if name.is_some() {
                            continue;
                        }
                        format!("{path} has no header, or one of a PV that does not belong there")
                    }
                };
                files_bad += 1;
                shared.health().problem = Some(problem);
            }
            {
                let mut health = shared.health();
                health.files += parts.len() as u64;
                health.files_bad += files_bad;
                health.pvs += u64::from(name.is_some());
            }
            if let Some(name) = name {
                without_files.remove(&name);
                stopped |= found(name).is_break();
            }
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        shared.folder.walk(&mut see).map_err(|error| shared.failed(&shared.name, &error))?;
        shared.health().scanned |= !stopped;
        // What the configuration names has perhaps never been written, and is archived nevertheless.
        let mut names = without_files.into_iter().take_while(|_| !stopped);
        let _ = names.try_for_each(|name| found(name.clone()));
        Ok(())
    }

    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream {
        let Some(pv) = key.name() else { return Box::new(std::iter::empty()) };
        Box::new(FilesInTurn::new(self.clone(), pv.clone(), range))
    }

    fn stretches(
        &self,
        key: Key<'_>,
        field: Option<&str>,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<StretchStream>, SourceError> {
        let Some(pv) = key.name().filter(|_| field.is_none()) else { return Ok(None) };
        let pieces = Pieces::new(self.clone(), pv.clone(), range, Arc::clone(edges))?;
        Ok(pieces.map(|pieces| -> StretchStream { Box::new(pieces) }))
    }

    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        let Some(pv) = key.name() else { return Ok(None) };
        let parts = self.parts(pv)?;
        for part in parts.iter().rev().filter(|part| part.range.t0 <= time) {
            let Some(file) = self.open(part, pv) else { continue };
            match file.last_before(time) {
                Ok(Some(sample)) => return Ok(Some(sample)),
                Ok(None) => {}
                Err(error) => return Err(self.shared.failed(&part.place.path.display().to_string(), &error)),
            }
        }
        Ok(None)
    }

    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError> {
        let Some(pv) = key.name() else { return Ok(None) };
        let parts = self.parts(pv)?;
        let first = parts.iter().find_map(|part| self.open(part, pv)?.first().ok()?);
        let last = self.last_before(key, Timestamp::MAX)?.map(|sample| sample.time);
        Ok(first.zip(last).map(|(first, last)| Extent { first, last, samples: 0 }))
    }

    fn metadata(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, SourceError> {
        let Some(pv) = key.name() else { return Ok(Vec::new()) };
        let time = range.t1;
        let parts = self.parts(pv)?;
        let chosen = parts.iter().rev().find(|part| part.range.t0 <= time).or(parts.first());
        let Some((part, file)) = chosen.and_then(|part| Some((part, self.open(part, pv)?))) else {
            let info = self.shared.type_infos.get(pv);
            return Ok(info
                .map(|info| (Timestamp::default(), info.complete(Metadata::default())))
                .into_iter()
                .collect());
        };
        let said = file.metadata();
        let said = said.map_err(|error| self.shared.failed(&part.place.path.display().to_string(), &error))?;
        Ok(vec![(part.range.t0, self.shared.type_infos.get(pv).map_or(said.clone(), |info| info.complete(said)))])
    }

    /// The losses of connection that end in the range. They are those of the whole PV, whichever field of it is asked for.
    fn gaps(&self, key: Key<'_>, _field: Option<&str>, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, SourceError> {
        let mut gaps: Vec<Gap> = Vec::new();
        for carried in self.carried(key, range, Some("cnxregainedepsecs")) {
            let fields = carried?.fields.into_iter().map(|(name, value)| FieldValue { name, value });
            gaps.extend(loss(&fields.collect::<Vec<_>>()));
        }
        gaps.sort_by_key(|gap| gap.from);
        Ok(gaps.into_iter().map(|gap| (GapScope::Pv, gap)).collect())
    }

    fn carried(&self, key: Key<'_>, range: TimeRange, name: Option<&str>) -> CarriedStream {
        let Some(pv) = key.name() else { return Box::new(std::iter::empty()) };
        // A line without the name, or without the tag of a field, is passed over unread.
        let only: Arc<[u8]> = name.map_or(&[FIELD_TAG][..], str::as_bytes).into();
        let reading = FilesInTurn { only: Some(only), ..FilesInTurn::new(self.clone(), pv.clone(), range) };
        Box::new(CarriedFields { reading, name: name.map(str::to_owned), ready: VecDeque::new(), told: None })
    }

    fn headers(&self, key: Key<'_>, range: TimeRange) -> Result<Vec<(String, String)>, SourceError> {
        let Some(pv) = key.name() else { return Ok(Vec::new()) };
        let parts = self.parts(pv)?;
        let mut within = parts.iter().filter(|part| part.range.t0 < range.t1 && part.range.t1 > range.t0);
        let header = within.find_map(|part| Some(self.open(part, pv)?.header));
        let fields = header.map(|header| header.fields).unwrap_or_default();
        Ok(fields.into_iter().map(|field| (field.name, field.value)).collect())
    }

    fn configuration(&self, key: Key<'_>) -> Option<String> {
        Some(self.shared.type_infos.get(key.name()?)?.text.clone())
    }

    fn health(&self) -> Option<SourceHealth> {
        Some(PlainPb::health(self))
    }
}

/// What the samples of a PV carry, a batch of them after the other.
struct CarriedFields {
    reading: FilesInTurn,
    name: Option<String>,
    ready: VecDeque<Carried>,
    /// The time of the last one that was given out.
    told: Option<Timestamp>,
}

impl CarriedFields {
    /// Those of the samples of a batch that carry any, or how far has been looked in vain.
    fn take(&mut self, batch: &sample::Batch) {
        let changes: HashSet<Timestamp> = self.reading.changes().iter().copied().collect();
        let mut carried = self.reading.fields();
        carried.sort_by_key(|(time, _)| *time);
        for (time, fields) in carried {
            let row = batch.times().partition_point(|other| *other < time);
            let is_wanted = self.name.as_ref().is_none_or(|wanted| fields.iter().any(|field| field.name == *wanted));
            if batch.times().get(row) == Some(&time) && is_wanted {
                let fields = fields.into_iter().map(|field| (field.name, field.value)).collect();
                let (alarm, is_change) = (batch.alarms().get(row).clone(), changes.contains(&time));
                self.ready.push_back(Carried { time, alarm, fields, is_change });
            }
        }
        if self.ready.is_empty() {
            let looked = self.reading.open.as_ref().and_then(FileSamples::looked_until);
            let news = looked.filter(|looked| self.told < Some(*looked));
            let nothing = |time| Carried { time, alarm: Alarm::default(), fields: Vec::new(), is_change: false };
            self.ready.extend(news.map(nothing));
        }
        self.told = self.ready.back().map(|carried| carried.time).or(self.told);
    }
}

impl Iterator for CarriedFields {
    type Item = Result<Carried, SourceError>;

    fn next(&mut self) -> Option<Result<Carried, SourceError>> {
        loop {
            if let Some(carried) = self.ready.pop_front() {
                return Some(Ok(carried));
            }
            match self.reading.next()? {
                Ok(batch) => self.take(&batch),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// One file after the other. Files of different lengths may hold samples of one time; what comes again is left out.
struct FilesInTurn {
    archive: PlainPb,
    pv: PvName,
    range: TimeRange,
    /// The parts that are still to be read, the next one last; none before the first.
    parts: Option<Vec<Part>>,
    open: Option<FileSamples>,
    /// The newest time that was given, and the one that was when the present file was opened.
    last: Option<Timestamp>,
    before: Option<Timestamp>,
    /// What lines must hold to be read.
    only: Option<Arc<[u8]>>,
}

/// The PV whose samples a file holds. One that lies where its PV's name does not lead is found by no query, and has none.
fn name_in(part: &Part, root: &Path) -> Option<PvName> {
    let file = PbFile::open(&part.place).ok().flatten()?;
    let name = PvName::new(&file.header.pv_name).ok()?;
    let key = key_of(&name).map(|key| root.join(key))?;
    part.place.path.to_string_lossy().starts_with(&*key.to_string_lossy()).then_some(name)
}

impl FilesInTurn {
    fn new(archive: PlainPb, pv: PvName, range: TimeRange) -> FilesInTurn {
        FilesInTurn { archive, pv, range, parts: None, open: None, last: None, before: None, only: None }
    }

    /// The fields that the samples of the last batch carried.
    fn fields(&mut self) -> Vec<(Timestamp, Vec<FieldValue>)> {
        self.open.as_mut().map(FileSamples::fields).unwrap_or_default()
    }

    /// The times of those samples among them whose fields changed then.
    fn changes(&self) -> &[Timestamp] {
        self.open.as_ref().map(FileSamples::changes).unwrap_or_default()
    }

    fn parts(&mut self) -> Result<&mut Vec<Part>, SourceError> {
        if self.parts.is_none() {
            let mut parts = self.archive.parts(&self.pv)?;
            parts.retain(|part| part.range.t0 < self.range.t1 && part.range.t1 > self.range.t0);
            parts.reverse();
            self.parts = Some(parts);
        }
        Ok(self.parts.as_mut().expect("it has just been made"))
    }

    fn advance(&mut self) -> Result<Option<sample::Batch>, SourceError> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(part) = self.parts()?.pop() else { return Ok(None) };
                let Some(file) = self.archive.open(&part, &self.pv) else { continue };
                let places = self.only.as_ref().and_then(|_| places_of_fields(&self.archive, &part, &file, self.range));
                let opened = file.samples(self.range);
                let path = part.place.path.display().to_string();
                let opened = opened.map_err(|error| self.archive.shared.failed(&path, &error))?;
                self.before = self.last;
                self.open = Some(match &self.only {
                    Some(text) => opened.only(Arc::clone(text)),
                    None => opened,
                });
                if let Some((places, last)) = places {
                    self.open = self.open.take().map(|open| open.at(places));
                    self.last = self.last.max(last);
                }
                continue;
            };
            let shared = &self.archive.shared;
            let Some(batch) = open.next().map_err(|error| shared.failed(&shared.name, &error))? else {
                shared.count(open.damage);
                self.open = None;
                continue;
            };
            if batch.is_empty() {
                return Ok(Some(batch));
            }
            let again = self.before.map_or(0, |last| batch.times().partition_point(|time| *time <= last));
            if again < batch.len() {
                self.last = self.last.max(batch.times().last().copied());
                return Ok(Some(if again == 0 { batch } else { batch.slice(again..batch.len()) }));
            }
        }
    }
}

impl Iterator for FilesInTurn {
    type Item = Result<sample::Batch, SourceError>;

    fn next(&mut self) -> Option<Result<sample::Batch, SourceError>> {
        let next = self.advance().transpose();
        if matches!(next, Some(Err(_))) {
            (self.parts, self.open) = (Some(Vec::new()), None); // it ends with the first error
        }
        next
    }
}

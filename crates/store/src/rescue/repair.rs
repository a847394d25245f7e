//! The repair: keeps every block that can be read, of damaged segments and under a damaged or missing catalogue. Nothing is
//! deleted: what was damaged goes to `quarantine/`.
//!
//! ```text
//!   misplaced segment ► under the key for which it was written, as its header says
//!   foreign segment   ► aside: it was written for another archive
//!   damaged segment   ► its readable blocks in a new segment ► the catalogue names that ► the old file aside
//!   missing segment   ► the catalogue keeps it as lost: readers see a gap
//!   renamed log       ► under its name
//!   moved segment     ► as a damaged one, from the place in which it lies; its near tables are copied anew
//!   no catalogue      ► one from the segments: their footers and names; all of the log is replayed at the next start
//! ```
//! Blocks are found one behind the other, by their checksums alone; behind damage each byte is tried as the first of one.

mod misplaced;
mod salvage;

use std::{collections::BTreeSet, io, path::Path, sync::Arc};

use archive::PvId;
use sample::Timestamp;

use crate::{
    Error, Progress,
    catalog::{
        self, Catalog, Told,
        copy::{self, Copy},
        tables::CATALOGUE,
    },
    disk::{Disk, RealDisk, quarantine},
    places::{locks, mark, tables_key},
    rescue::rebuild,
    segment::{Segment, manifest::Manifest, week, whose},
};

/// What the name of a segment ends with on its way to its own key. A repair that was interrupted then is gone on with by the next.
const MISPLACED: &str = ".misplaced";

/// Whether a repair only looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairing {
    /// Nothing is changed.
    Look,
    /// It is done.
    Do,
}

/// What a repair did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// Each step, in sentences.
    pub steps: Vec<String>,
    /// Blocks of damaged segments that are kept.
    pub kept_blocks: u64,
    /// Blocks that cannot be read, as far as the catalogue or a footer counted them.
    pub lost_blocks: u64,
}

/// Repairs the archive in `folder`, which no archiver may have open.
pub fn repair(
    folder: &Path,
    how: Repairing,
    now: Timestamp,
    mut progress: impl FnMut(Progress),
) -> Result<Repair, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder));
    let io = |source| Error::Io { doing: "read the folder", path: folder.display().to_string(), source };
    let names = disk.list("").map_err(io)?;
    let is_ours = |name: &String| name == CATALOGUE || week::is_folder(name);
    if !names.iter().any(is_ours) {
        let found = format!("it holds neither {CATALOGUE} nor segments");
        return Err(Error::NotAStore { folder: folder.to_owned(), found });
    }
    locks::take(&*disk, &folder.display().to_string(), Some(now))?;
    let mut work = Work {
        disk: disk.clone(),
        how,
        now,
        done: Repair::default(),
        progress: &mut progress,
        read: (0, 0),
        salvaged: BTreeSet::new(),
        archive: None,
        unseen: BTreeSet::new(),
    };
    let result = work.run(&names);
    locks::give_back(&*disk);
    result.map(|()| work.done)
}

/// A repair under way.
struct Work<'a> {
    disk: Arc<dyn Disk>,
    how: Repairing,
    now: Timestamp,
    done: Repair,
    progress: &'a mut dyn FnMut(Progress),
    /// Bytes read, of so many.
    read: (u64, u64),
    /// PVs whose blocks were salvaged.
    salvaged: BTreeSet<PvId>,
    /// The number of the archive, if it is known.
    archive: Option<u64>,
    /// Keys of segments that would get their names back: they are not looked at before they have.
    unseen: BTreeSet<String>,
}

impl Work<'_> {
    fn run(&mut self, names: &[String]) -> Result<(), Error> {
        let mut files = self.files(names)?;
        self.read.1 = files.iter().map(|key| self.disk.len(key).unwrap_or(0)).sum();
        let known = match names.iter().any(|name| name == CATALOGUE) {
            true => copy::read_copy(&*self.disk)?,
            false => Err("there is none".to_owned()),
        };
        let archive = known.as_ref().ok().and_then(|copy| copy.archive);
        let marked = mark::number(&*self.disk).unwrap_or_default();
        // By another archive's catalogue every segment here would be a foreign one.
        if let Some(archive) = archive.filter(|archive| marked.is_some_and(|marked| marked != *archive)) {
            let reason = format!("its file {} says that it belongs to another archive", mark::ARCHIVE);
            return Err(mark::disagrees("repair the archive", &reason, archive));
        }
        self.archive = archive.or(marked).or_else(|| whose::carried(&self.disk, &files));
        self.names_of_log()?;
        match known {
            Ok(copy) => {
                let named: Vec<String> = copy.segments.iter().map(|manifest| manifest.key.clone()).collect();
                self.misplaced(&named, &mut files)?;
                self.segments(&copy, &files)?;
                match self.how {
                    Repairing::Look => Ok(()),
                    Repairing::Do => Catalog::open(self.disk.clone())?.forget_balance(),
                }
            }
            Err(reason) => {
                self.misplaced(&files.clone(), &mut files)?;
                self.catalogue(&reason, files)
            }
        }
    }

    fn files(&self, names: &[String]) -> Result<Vec<String>, Error> {
        let mut files = Vec::new();
        for week in names.iter().filter(|name| week::is_folder(name)) {
            let list = self.disk.list(week);
            let list = list.map_err(|source| Error::Io { doing: "list", path: week.clone(), source })?;
            let is_segment = |name: &&String| name.ends_with(".seg") || name.ends_with(MISPLACED);
            files.extend(list.iter().filter(is_segment).map(|name| format!("{week}/{name}")));
        }
        files.sort_unstable();
        Ok(files)
    }

    fn step(&mut self, sentence: String) {
        tracing::info!("{sentence}");
        self.done.steps.push(sentence);
    }

    /// The catalogue can be read: each segment that it names is looked at.
    fn segments(&mut self, copy: &Copy, files: &[String]) -> Result<(), Error> {
        let catalog = match self.how {
            Repairing::Look => None,
            Repairing::Do => Some(Catalog::open(self.disk.clone())?),
        };
        for manifest in copy.segments.iter().filter(|manifest| manifest.place.is_some()) {
            self.moved(copy, manifest, catalog.as_ref())?;
        }
        for manifest in copy.segments.iter().filter(|manifest| manifest.place.is_none()) {
            let key = &manifest.key;
            if !files.contains(key) {
                self.step(format!(
                    "{key} is in the catalogue, but there is no such file: its {} samples of {} to {} are lost, unless you put \
                     it back from a backup before you repair; a gap tells of them",
                    manifest.samples, manifest.t0, manifest.t1
                ));
                self.done.lost_blocks += manifest.blocks;
                if let Some(catalog) = &catalog {
                    let told = Told { lost: std::slice::from_ref(manifest), ..Told::default() };
                    catalog.replace_segments(&[manifest.id()], &[], told)?;
                }
                continue;
            }
            if self.unseen.contains(key) {
                continue;
            }
            let disk = self.disk.clone();
            self.segment(&disk, copy, manifest, catalog.as_ref())?;
        }
        Ok(())
    }

    /// Looks at one segment, and keeps what can be read of it if it is damaged. Whether it was.
    fn segment(
        &mut self,
        disk: &Arc<dyn Disk>,
        copy: &Copy,
        manifest: &Manifest,
        catalog: Option<&Catalog>,
    ) -> Result<bool, Error> {
        let key = &manifest.key;
        let Some(reason) = self.damage(disk, key, Some(manifest))? else { return Ok(false) };
        let names = |pv: PvId| copy.named(pv);
        let lost_before = self.done.lost_blocks;
        let new = self.salvage(disk, manifest, &reason, manifest.blocks, &names)?;
        if let Some(catalog) = catalog {
            let lost = if self.done.lost_blocks > lost_before { std::slice::from_ref(manifest) } else { &[] };
            catalog.replace_segments(&[manifest.id()], new.as_slice(), Told { lost, ..Told::default() })?;
            set_aside(&**disk, key)?;
        }
        Ok(true)
    }

    /// The same with one that lies in another place: what is kept of it comes home, and moves again in time.
    fn moved(&mut self, copy: &Copy, manifest: &Manifest, catalog: Option<&Catalog>) -> Result<(), Error> {
        let (key, place) = (&manifest.key, manifest.place.as_deref().unwrap_or_default());
        let far = copy.places.get(place).map(|folder| -> Arc<dyn Disk> { Arc::new(RealDisk::new(folder)) });
        let Some(far) = far.filter(|far| far.len(key).is_ok()) else {
            self.step(format!(
                "{key} is not in the place {place:?}, and nothing is done about that: is it mounted? If the file is lost, put it \
                 back there from a backup"
            ));
            return Ok(());
        };
        let tables = tables_key(key);
        if self.segment(&far, copy, manifest, catalog)? {
            if catalog.is_some() && self.disk.len(&tables).is_ok() {
                set_aside(&*self.disk, &tables)?;
            }
            return Ok(());
        }
        let mut whole = vec![0; manifest.bytes.saturating_sub(manifest.tables_at) as usize];
        let read = far.read_at(key, manifest.tables_at, &mut whole);
        read.map_err(|source| Error::Io { doing: "read", path: key.clone(), source })?;
        if copy::read_file(&*self.disk, &tables)?.is_some_and(|near| near == whole) {
            return Ok(());
        }
        self.step(format!("{tables} is missing or damaged: it is copied anew from the place {place:?}"));
        if catalog.is_none() {
            return Ok(());
        }
        let unfinished = format!("{tables}.tmp");
        let write = || -> io::Result<()> {
            self.disk.create_folder(manifest.folder())?;
            self.disk.set_len(&unfinished, 0)?;
            self.disk.write_at(&unfinished, 0, &whole)?;
            self.disk.sync(&unfinished)?;
            self.disk.rename(&unfinished, &tables)?;
            self.disk.sync_folder(manifest.folder())
        };
        write().map_err(|source| Error::Io { doing: "write", path: tables.clone(), source })
    }

    /// Near parts of segments that were moved away.
    fn moved_away(&self, segments: &[Manifest]) -> Result<Vec<String>, Error> {
        let list = |folder: &str| {
            self.disk.list(folder).map_err(|source| Error::Io { doing: "list", path: folder.to_owned(), source })
        };
        let mut found = Vec::new();
        for week in list("")?.iter().filter(|name| week::is_folder(name)) {
            let keys = list(week)?.into_iter().map(|name| format!("{week}/{name}"));
            found.extend(keys.filter(|key| key.ends_with(".tables")));
        }
        found.retain(|tables| segments.iter().all(|manifest| tables_key(&manifest.key) != *tables));
        found.sort_unstable();
        Ok(found)
    }

    /// There is no catalogue, or none that can be read: one is made from the segments.
    fn catalogue(&mut self, reason: &str, files: Vec<String>) -> Result<(), Error> {
        let mut found = rebuild::Found::default();
        let mut aside = Vec::new();
        for key in files {
            let mut manifest = rebuild::manifest(&self.disk, &key, self.now);
            let mut names =
                Segment::of_file(self.disk.clone(), &key).and_then(|segment| segment.names()).unwrap_or_default();
            let disk = self.disk.clone();
            if self.unseen.contains(&key) {
                continue;
            }
            let damage = self.damage(&disk, &key, None)?;
            if let Some(reason) = &damage {
                let counted = manifest.blocks;
                let new = self.salvage(&disk, &manifest, reason, counted, &|_| None)?;
                aside.push(key);
                match (new, self.how) {
                    (Some(new), _) => manifest = new,
                    (None, Repairing::Look) => {}
                    (None, Repairing::Do) => continue,
                }
            }
            names.sort_by_key(|named| named.pv);
            found.add(manifest, damage.is_none(), names);
        }
        found.drop_merged();
        rebuild::add_nameless(&*self.disk, &mut found, &self.salvaged)?;
        let rows = found.rows();
        self.step(format!(
            "{CATALOGUE} cannot be read ({reason}): a new one is made of {} segments, with {} PVs; their gaps, metadata, aliases \
             and deletions are lost but for what the log has, and samples of the log that are in segments already are read \
             once",
            found.segments.len(),
            rows.len()
        ));
        self.done.steps.append(&mut found.remarks);
        for tables in self.moved_away(&found.segments)? {
            self.step(format!(
                "{tables} belongs to a segment in another place, which only the old catalogue knew: its samples are not found \
                 unless you copy its file from there back beside it before you repair"
            ));
        }
        if self.how == Repairing::Look {
            return Ok(());
        }
        if self.disk.len(CATALOGUE).is_ok() {
            set_aside(&*self.disk, CATALOGUE)?;
        }
        catalog::create_from(&self.disk, &rows, &found.segments, found.position())?;
        aside.iter().try_for_each(|key| set_aside(&*self.disk, key))
    }
}

/// Puts a file where it is in nobody's way.
pub(crate) fn set_aside(disk: &dyn Disk, key: &str) -> Result<(), Error> {
    let aside = quarantine::set_aside(disk, key);
    aside.map(|_| ()).map_err(|source| Error::Io { doing: "set aside", path: key.to_owned(), source })
}

//! A segment that is read: from its end to its directory, from there to the tables of a PV, from there to its blocks.
//!
//! Nothing in the file is believed before its checksum is right, and no length makes memory be taken beyond the file's own.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

mod blocks;

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use archive::PvId;
use sample::{TimeRange, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    DirectoryRecord, Entry, Manifest, Named, Stream, Table,
    directory::{self, Footer},
    file::{Identity, corrupt, io_error, read_bytes, read_footer, take_header, within},
    levels::Level,
    levels_check::LevelsCheck,
    names,
    pyramid::{Pyramid, rows_between},
    tables,
};
use crate::{
    Error, Summary,
    bytes::{Cursor, Malformed},
    cache::{Place, Remember, Remembered},
    disk::Objects,
    free_lists,
    segment::format::{HEADER_LEN, PAGE_LEN, PAGE_RECORDS, RECORD_LEN, TAIL_LEN},
};

/// So much of the levels of a PV is read at once: those of long stretches, which come first, and if others are wanted, all that some
/// weeks at 10 Hz have.
const COARSE_BYTES: u32 = 16 << 10;
const LEVELS_BYTES: u32 = 256 << 10;
/// Two hours, in nanoseconds.
const COARSE_WIDTH: i64 = 7_200_000_000_000;

/// A segment that readers use.
#[derive(Debug)]
pub(crate) struct Segment {
    // fixed after start
    pub(crate) manifest: Manifest,
    file: Arc<File>,
    /// No other that this process opens has it.
    number: u64,
    // read when first needed
    footer: OnceLock<Footer>,
    // atomic
    kept: AtomicBool,
    stays: AtomicBool,
}

/// The file of a segment, which goes when the last reader is done with it, if it was replaced meanwhile. What the catalogue says of it may
/// change: the segment that readers see from then on shares the file with the one that was seen before.
#[derive(Debug)]
struct File {
    disk: Arc<dyn Objects>,
    key: String,
    replaced: AtomicBool,
}

/// The records of a page of a directory, as they were verified.
#[derive(Debug)]
pub(crate) struct Page(Box<[u8]>);

/// Such pages, by the number of the segment and theirs in it.
pub(crate) type CachedPages = Remembered<Page, (u64, usize)>;

impl Remember for Page {
    fn bytes(&self) -> usize {
        self.0.len()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.replaced.load(Relaxed)
            && let Err(error) = self.disk.remove(&self.key)
        {
            tracing::warn!("cannot remove {}, which was merged into another segment: {error}", self.key);
        }
    }
}

impl Segment {
    pub(crate) fn new(disk: Arc<dyn Objects>, manifest: Manifest) -> Segment {
        let key = manifest.key.clone();
        Segment::of(Arc::new(File { disk, key, replaced: AtomicBool::new(false) }), manifest)
    }

    /// The same file, of which the catalogue says something else now.
    pub(crate) fn told_anew(&self, manifest: Manifest) -> Segment {
        Segment::of(self.file.clone(), manifest)
    }

    fn of(file: Arc<File>, manifest: Manifest) -> Segment {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Segment {
            manifest,
            file,
            number: NUMBERS.fetch_add(1, Relaxed),
            footer: OnceLock::new(),
            kept: AtomicBool::new(false),
            stays: AtomicBool::new(false),
        }
    }

    /// What was read of it is not what was written: it is to come from no cache the next time.
    pub(crate) fn doubt(&self) {
        self.file.disk.doubt();
    }

    /// A file whose manifest is not at hand: it is made from the file's own footer.
    pub(crate) fn of_file(disk: Arc<dyn Objects>, key: &str) -> Result<Segment, Error> {
        let io = |source| Error::Io { doing: "read", path: key.to_owned(), source };
        let bytes = disk.len(key).map_err(io)?;
        let footer = read_footer(&*disk, key, bytes, 0)?;
        let manifest = footer.manifest(key.to_owned(), bytes);
        let segment = Segment::new(disk, manifest);
        segment.footer.get_or_init(|| footer);
        Ok(segment)
    }

    /// The catalogue no longer names it: its file is removed when nobody reads it any more.
    pub(crate) fn replace(&self) {
        self.file.replaced.store(true, Relaxed);
    }

    /// Whether others have taken its place.
    pub(crate) fn is_replaced(&self) -> bool {
        self.file.replaced.load(Relaxed)
    }

    /// It is damaged and is not to be merged.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Relaxed);
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Relaxed)
    }

    /// Its file is missing or cannot be read: it is not to be moved.
    pub(crate) fn stay(&self) {
        self.stays.store(true, Relaxed);
    }

    pub(crate) fn stays(&self) -> bool {
        self.stays.load(Relaxed)
    }

    /// Whether there is no file for it.
    pub(crate) fn is_missing(&self) -> bool {
        self.file.disk.len(&self.manifest.key).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    pub(crate) fn footer(&self) -> Result<&Footer, Error> {
        if let Some(footer) = self.footer.get() {
            return Ok(footer);
        }
        let Manifest { key, bytes, tables_at, .. } = &self.manifest;
        let footer = read_footer(&*self.file.disk, key, *bytes, *tables_at)?;
        if let Some(reason) = self.manifest.differs(&footer.manifest(key.clone(), *bytes)) {
            return Err(self.corrupt(format!("it is another segment than the catalogue means by {reason}")));
        }
        Ok(self.footer.get_or_init(|| footer))
    }

    /// The whole directory.
    pub(crate) fn records(&self) -> Result<Vec<DirectoryRecord>, Error> {
        let mut records = Vec::new();
        for page in 0..self.footer()?.first_pvs.len() {
            records.extend(self.page(page)?);
        }
        Ok(records)
    }

    /// The records of one page of the directory.
    pub(crate) fn page(&self, page: usize) -> Result<Vec<DirectoryRecord>, Error> {
        self.with_page(page, directory::take_records)
    }

    /// What the directory says about a PV.
    pub(crate) fn record(&self, pv: PvId) -> Result<Option<DirectoryRecord>, Error> {
        let Some(page) = self.page_of(pv)? else { return Ok(None) };
        self.with_page(page, |records| directory::find_record(records, pv))
    }

    /// The page on which a PV stands, if it stands anywhere.
    fn page_of(&self, pv: PvId) -> Result<Option<usize>, Error> {
        if !self.manifest.may_hold(pv) {
            return Ok(None);
        }
        Ok(self.footer()?.first_pvs.partition_point(|first| *first <= pv.0).checked_sub(1))
    }

    /// The same for whoever asks for many PVs, most of which share their page with the one before.
    pub(crate) fn record_by(&self, pv: PvId, pages: &CachedPages) -> Result<Option<DirectoryRecord>, Error> {
        let Some(page) = self.page_of(pv)? else { return Ok(None) };
        let place = (self.number, page);
        let known = match pages.get(place) {
            Some(known) => known,
            None => {
                let read = self.with_page(page, |records| Ok(Arc::new(Page(records.into()))))?;
                pages.put(place, Arc::clone(&read));
                read
            }
        };
        directory::find_record(&known.0, pv).map_err(|Malformed(reason)| self.corrupt_page(page, reason))
    }

    fn corrupt_page(&self, page: usize, reason: &str) -> Error {
        self.corrupt(format!("page {page} of the directory: {reason}"))
    }

    fn with_page<T>(&self, page: usize, take: impl FnOnce(&[u8]) -> Result<T, Malformed>) -> Result<T, Error> {
        let footer = self.footer()?;
        let records = (footer.pvs as usize).saturating_sub(page * PAGE_RECORDS).min(PAGE_RECORDS);
        let offset = footer.pages_at.saturating_add((page * PAGE_LEN) as u64);
        let bytes = self.read_bytes(offset, (8 + records * RECORD_LEN) as u64)?;
        let taken = directory::checked_page(&bytes).and_then(take);
        taken.map_err(|Malformed(reason)| self.corrupt_page(page, reason))
    }

    /// The tables of a PV from one to another, in one read; each is verified when it is taken from them.
    pub(crate) fn tables(&self, record: &DirectoryRecord, first: Table, last: Table) -> Result<PvTables<'_>, Error> {
        let (start, ..) = record.table(first);
        let (last_at, last_len, _) = record.table(last);
        let len = (last_at + u64::from(last_len)).saturating_sub(start);
        let mut bytes = free_lists::take();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > 0 {
            self.read_into(record.tables_at.saturating_add(start), len, &mut bytes)?;
        }
        Ok(PvTables { segment: self, record: *record, start, bytes })
    }

    /// Rows of levels that tell of all samples of a range, the fewest that no edge within it cuts; none if there is no level of whose
    /// stretches `width` nanoseconds are a multiple, as all edges are.
    pub(crate) fn rows(
        &self,
        record: &DirectoryRecord,
        (edges, width): (&[Timestamp], i64),
        range: TimeRange,
        remembered: &Remembered<Pyramid>,
    ) -> Result<Option<Vec<Summary>>, Error> {
        if record.table(Table::Levels).1 == 0 {
            return Ok(None);
        }
        let place = self.place(record.pv);
        let has_all = |known: &Arc<Pyramid>| known.needs(width).is_none_or(|needed| needed <= known.rows.len());
        let pyramid = match remembered.get(place).filter(has_all) {
            Some(known) => known,
            None => {
                let read = Arc::new(self.pyramid(record, width)?);
                remembered.put(place, read.clone());
                read
            }
        };
        let levels = pyramid.needs(width).and_then(|needed| pyramid.rows.get(..needed));
        Ok(levels.map(|levels| rows_between(levels, edges, range)))
    }

    /// Where what is known of a PV in this segment is remembered.
    pub(crate) fn place(&self, pv: PvId) -> Place {
        (self.number, pv)
    }

    /// The levels of a PV, down to the one that serves.
    fn pyramid(&self, record: &DirectoryRecord, width: i64) -> Result<Pyramid, Error> {
        let (at, len, _) = record.table(Table::Levels);
        let malformed = |Malformed(reason)| self.corrupt(format!("the levels of PV {}: {reason}", record.pv.0));
        let at = record.tables_at.saturating_add(at);
        let at_once = len.min(if width % COARSE_WIDTH == 0 { COARSE_BYTES } else { LEVELS_BYTES });
        let mut bytes = self.read_bytes(at, u64::from(at_once))?;
        let mut pyramid = Pyramid { levels: Level::all(&bytes).map_err(malformed)?, rows: Vec::new() };
        let needed = pyramid.needs(width).and_then(|needed| pyramid.levels.get(..needed)).unwrap_or_default();
        let missing = needed.last().map_or(0, |finest| finest.end().saturating_sub(bytes.len() as u64));
        if missing > 0 {
            bytes.extend(self.read_bytes(at.saturating_add(u64::from(at_once)), missing)?);
        }
        let rows: Result<_, Malformed> = needed.iter().map(|level| level.rows(&bytes, record.samples)).collect();
        pyramid.rows = rows.map_err(malformed)?;
        Ok(pyramid)
    }

    /// The blocks of a PV, in the order of their writing.
    pub(crate) fn index(&self, record: &DirectoryRecord) -> Result<Vec<Entry>, Error> {
        self.tables(record, Table::Index, Table::Index)?.index()
    }

    /// The only block of a PV that has no index.
    pub(crate) fn only(&self, record: &DirectoryRecord) -> Result<Option<Entry>, Error> {
        let only = record.only(self.footer()?.tables_at);
        only.map_err(|Malformed(reason)| self.corrupt(format!("the record of PV {}: {reason}", record.pv.0)))
    }

    /// The blocks of a PV with an index, for a merge, which reads the tables of all PVs one behind the other.
    pub(crate) fn index_by(&self, record: &DirectoryRecord, tables: &mut Stream) -> Result<Vec<Entry>, Error> {
        let (at, len, check) = record.table(Table::Index);
        let end = self.footer()?.tables_at;
        let bytes = tables.bytes(self, record.tables_at.saturating_add(at), len as usize)?;
        let whole = if xxh3_64(bytes) == check { Ok(bytes) } else { Err(Malformed("it has another checksum")) };
        let entries = whole.and_then(|bytes| tables::take_index(bytes, record, end));
        entries.map_err(|Malformed(reason)| {
            self.corrupt(format!("the {} of PV {}: {reason}", Table::Index.name(), record.pv.0))
        })
    }

    /// Reads some of its bytes; what is read is not verified. After an error there are none.
    pub(super) fn read_into(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let Manifest { key, bytes: file_len, .. } = &self.manifest;
        let read = within(key, *file_len, offset, len as u64).and_then(|()| {
            bytes.resize(len, 0);
            self.file.disk.read_at(key, offset, bytes).map_err(|error| io_error(key, error))
        });
        read.inspect_err(|_| bytes.clear())
    }

    /// The names of its PVs, as far as they were known when it was written.
    pub(crate) fn names(&self) -> Result<Vec<Named>, Error> {
        let footer = self.footer()?;
        let end = self.manifest.bytes.saturating_sub((TAIL_LEN + directory::footer_len(footer)) as u64);
        let len =
            end.checked_sub(footer.names_at).ok_or_else(|| self.corrupt("its names lie behind its end".to_owned()))?;
        let bytes = self.read_bytes(footer.names_at, len)?;
        if xxh3_64(&bytes) != footer.names_check {
            return Err(self.corrupt("its names have another checksum".to_owned()));
        }
        names::take_names(&bytes, footer.pvs).map_err(|Malformed(reason)| self.corrupt(format!("its names: {reason}")))
    }

    /// Nobody needs the header to read. A check looks whether it is whole, and for which archive and under which key the file was
    /// written; none in a file of an older program.
    pub(crate) fn header(&self) -> Result<Option<Identity>, Error> {
        let bytes = self.read_bytes(0, HEADER_LEN as u64)?;
        let sequence = self.footer()?.sequence;
        let whole = || -> Result<Option<Identity>, Malformed> {
            let mut cursor = Cursor::new(&bytes);
            let fields = cursor.take(HEADER_LEN - 8)?;
            let check = cursor.u64()?;
            let (of, identity) = take_header(fields)?;
            if of != sequence || xxh3_64(fields) != check {
                return Err(Malformed("it is damaged"));
            }
            Ok(identity)
        };
        whole().map_err(|Malformed(_)| self.corrupt("its header is damaged".to_owned()))
    }

    /// Reads what lies within the file; a place beyond it is damage, not a reason to take memory.
    fn read_bytes(&self, offset: u64, len: u64) -> Result<Vec<u8>, Error> {
        read_bytes(&*self.file.disk, &self.manifest.key, self.manifest.bytes, offset, len)
    }

    fn corrupt(&self, reason: String) -> Error {
        corrupt(&self.manifest.key, reason)
    }
}

/// Tables of one PV that were read together.
pub(crate) struct PvTables<'a> {
    segment: &'a Segment,
    record: DirectoryRecord,
    /// Where the first that was read begins among them.
    start: u64,
    bytes: Vec<u8>,
}

impl Drop for PvTables<'_> {
    fn drop(&mut self) {
        free_lists::give(std::mem::take(&mut self.bytes));
    }
}

impl PvTables<'_> {
    /// The blocks of the PV, in the order of their writing.
    pub(crate) fn index(&self) -> Result<Vec<Entry>, Error> {
        if let Some(only) = self.segment.only(&self.record)? {
            return Ok(vec![only]);
        }
        let end = self.segment.footer()?.tables_at;
        let entries = self.table(Table::Index).map(|bytes| tables::take_index(bytes, &self.record, end))?;
        entries.map_err(|Malformed(reason)| self.corrupt(Table::Index, reason))
    }

    /// The summary of each block of the index; none at all if the PV has no such table.
    pub(crate) fn summaries(&self, entries: &[Entry]) -> Result<Vec<Summary>, Error> {
        if self.record.table(Table::Summaries).1 == 0 {
            return Ok(Vec::new());
        }
        let summaries = self.table(Table::Summaries).map(|bytes| tables::take_summaries(bytes, entries))?;
        summaries.map_err(|Malformed(reason)| self.corrupt(Table::Summaries, reason))
    }

    /// The levels, to be compared with the blocks.
    pub(crate) fn levels_check(&self) -> Result<LevelsCheck, Error> {
        let check = self.table(Table::Levels).map(|bytes| LevelsCheck::new(bytes, self.record.samples))?;
        check.map_err(|Malformed(reason)| self.corrupt(Table::Levels, reason))
    }

    /// The bytes of a table, if they are as they were written; none at all if the PV has no such table.
    fn table(&self, table: Table) -> Result<&[u8], Error> {
        let (at, len, check) = self.record.table(table);
        let start = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(start..start.saturating_add(len as usize)).unwrap_or_default();
        let whole = bytes.len() == len as usize && (len == 0 || xxh3_64(bytes) == check);
        if whole { Ok(bytes) } else { Err(self.corrupt(table, "it has another checksum")) }
    }

    fn corrupt(&self, table: Table, reason: &str) -> Error {
        self.segment.corrupt(format!("the {} of PV {}: {reason}", table.name(), self.record.pv.0))
    }
}

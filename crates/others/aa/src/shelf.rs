//! The shelf: the folder of digests, one for each file of an old archive that was asked for. It is a cache: what is missing, damaged or
//! out of date there is made anew, and where nothing can be written everything goes on without.
//!
//! ```text
//!   FOLDER/7f/7f3a….digest          the hash of a file's path, which stands in the digest itself too
//! ```

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime},
};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::{
    digest::{Digest, Head, Kept, Order, Page, Row, page_of},
    digest_format::{ENDS_LEN, PAGE_LEN, PAGE_ROWS},
    file::PbFile,
    maker::{Maker, Step},
    tape::{Place, Stamp},
};

/// All digests together have so many bytes at most: a hundredth of the files, or less.
const BYTES_MAX: u64 = 2 << 30;
/// When they have more, the oldest go until this much is left.
const BYTES_LEFT: u64 = BYTES_MAX / 4 * 3;
/// Digests leave at least this much of the disk free.
const FREE_BYTES_MIN: u64 = 1 << 30;
/// A file with more rows is read as it is.
const ROWS_MAX: usize = 1 << 20;
/// Rows that are not written are held in memory, up to so many.
const ROWS_IN_MEMORY_MAX: usize = 1 << 16;
/// Two changes of a file within this time may bear one time: what is of such a file is not kept yet.
const UNSURE: Duration = Duration::from_millis(50);
/// What a file grew by is written down if it is so much, or this part of it.
const GREW_BYTES_MIN: u64 = 64 << 10;
const GREW_PART: u64 = 8;
/// After a failure to write so long passes before the next attempt.
const TRIED_AGAIN: Duration = Duration::from_secs(60);
/// So many files wait at most to be read in the background.
const WAITING_MAX: usize = 1000;

/// The folder.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    /// Which folder it was when it was opened: on a disk that is not there nothing is made in its stead.
    identity: (u64, u64),
    /// How many bytes the digests have, once that is known.
    bytes: Mutex<Option<u64>>,
    background: Mutex<Background>,
    /// When nothing could be written.
    failed: Mutex<Option<Instant>>,
    numbers: AtomicU64,
}

/// What is read without being waited for.
#[derive(Debug, Default)]
struct Background {
    waiting: VecDeque<Place>,
    is_running: bool,
}

/// What there is of a file.
pub(crate) enum ShelfFile {
    /// Its digest.
    Ready(Digest),
    /// So much would have to be read for it.
    Unread(u64),
    /// None can be had.
    None,
}

/// Where rows go.
enum Rows<'a> {
    Memory(Vec<Row>),
    Draft(Draft<'a>),
}

impl Shelf {
    /// The folder, made if it is not there; its own folder must be.
    pub(crate) fn open(folder: PathBuf) -> io::Result<Shelf> {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let identity = identity(&folder)?;
        let (bytes, background, failed, numbers) = Default::default();
        Ok(Shelf { folder, identity, bytes, background, failed, numbers })
    }

    /// Whether it is worth while to make digests: not where they could not be written lately.
    pub(crate) fn is_writable(&self) -> bool {
        self.failed.lock().expect("no holder of this lock panics").is_none_or(|failed| failed.elapsed() > TRIED_AGAIN)
    }

    fn tell(&self, error: &io::Error) {
        let before = self.failed.lock().expect("no holder of this lock panics").replace(Instant::now());
        if before.is_none() {
            tracing::warn!("what files of old archives amount to cannot be kept in {}: {error}", self.folder.display());
        }
    }

    fn path_of(&self, source: &Path) -> PathBuf {
        let hash = format!("{:032x}", xxh3_128(source.as_os_str().as_bytes()));
        self.folder.join(&hash[..2]).join(format!("{hash}.digest"))
    }

    /// The digest that is kept of a file, whatever has become of the file.
    fn read(&self, source: &Path) -> Option<(Head, Kept)> {
        let file = File::open(self.path_of(source)).ok()?;
        let mut page: Page = [0; PAGE_LEN];
        file.read_exact_at(&mut page, 0).ok()?;
        let head = Head::decode(&page).filter(|head| head.path == source.as_os_str().as_bytes())?;
        let kept = Kept::new(file, &head);
        Some((head, kept))
    }

    /// The digest of a file as it is now, for which no more than so much is read.
    pub(crate) fn current(&self, file: &PbFile, source: &Path, bytes_max: u64) -> io::Result<ShelfFile> {
        let Some(stamp) = file.stamp() else { return Ok(ShelfFile::None) };
        let found = self.read(source).filter(|(head, _)| head.payload == file.header.payload);
        let found = match found.filter(|(head, _)| head.begins == file.begins()) {
            Some((head, kept)) if head.stamp == stamp => {
                return Ok(ShelfFile::Ready(Digest::new(head.order, head.payload, Some(kept), Vec::new())));
            }
            Some((head, kept)) if grew(file, stamp, &head)? => Some((head, kept)),
            _ => None,
        };
        let known = found.as_ref().map_or(0, |(head, _)| head.covered);
        let is_broken = found.as_ref().is_some_and(|(head, _)| head.order == Order::Broken);
        if is_broken {
            return Ok(ShelfFile::Ready(Digest::new(Order::Broken, file.header.payload, None, Vec::new())));
        }
        let unread = stamp.len.saturating_sub(known);
        if unread > bytes_max {
            return Ok(ShelfFile::Unread(unread));
        }
        let grew_little = found.is_some() && unread < GREW_BYTES_MIN.max(known / GREW_PART);
        self.make(file, source, found.map(|(_, kept)| kept), if grew_little { Keep::No } else { Keep::Yes })
    }

    /// Reads a file from its last row on, or from its beginning.
    fn make(&self, file: &PbFile, source: &Path, kept: Option<Kept>, keep: Keep) -> io::Result<ShelfFile> {
        let value_type = file.header.payload.value_type();
        let mut kept = kept.filter(|kept| kept.len() > 0);
        let (mut at, mut before) = (file.begins(), None);
        if let Some(known) = &mut kept {
            // A page that is damaged is found here or later, and then all is read again.
            match known.row(known.len() - 1, value_type) {
                Ok(last) => at = last.at,
                Err(_) => return self.make(file, source, None, keep),
            }
            known.pop();
            if known.len() > 0 {
                before = known.row(known.len() - 1, value_type).ok();
            }
        }
        let mut maker = Maker::new(at, before.as_ref());
        let mut rows = Rows::Memory(Vec::new());
        loop {
            let (step, covered) = match maker.step(file)? {
                Step::Broken => {
                    return self.finish(file, source, None, Rows::Memory(Vec::new()), Order::Broken, maker.at());
                }
                Step::Some(step) => (step, None),
                Step::Last(step, covered) => (step, Some(covered)),
            };
            rows = match rows {
                Rows::Memory(mut held) => {
                    held.extend(step);
                    if held.len() < ROWS_IN_MEMORY_MAX {
                        Rows::Memory(held)
                    } else {
                        match self.draft(source, stamp_of(file), kept.as_mut(), &held) {
                            Ok(Some(draft)) => Rows::Draft(draft),
                            _ => return Ok(ShelfFile::None),
                        }
                    }
                }
                Rows::Draft(mut draft) if draft.rows < ROWS_MAX => {
                    draft.put(&step)?;
                    Rows::Draft(draft)
                }
                Rows::Draft(_) => {
                    return self.finish(file, source, None, Rows::Memory(Vec::new()), Order::Broken, maker.at());
                }
            };
            if let Some(covered) = covered {
                let is_wanted = keep == Keep::Yes || matches!(rows, Rows::Draft(_));
                return match rows {
                    Rows::Memory(held) if !is_wanted => {
                        Ok(ShelfFile::Ready(Digest::new(Order::Rising, file.header.payload, kept, held)))
                    }
                    rows => self.finish(file, source, kept, rows, Order::Rising, covered),
                };
            }
        }
    }

    /// Keeps what was made, if that can be done.
    fn finish(
        &self,
        file: &PbFile,
        source: &Path,
        mut kept: Option<Kept>,
        rows: Rows,
        order: Order,
        covered: u64,
    ) -> io::Result<ShelfFile> {
        let payload = file.header.payload;
        let (draft, held) = match rows {
            Rows::Draft(draft) => (Some(draft), None),
            Rows::Memory(held) => {
                let draft = self.draft(source, stamp_of(file), kept.as_mut(), &held);
                (draft.inspect_err(|error| self.tell(error)).ok().flatten(), Some(held))
            }
        };
        let written = draft.and_then(|draft| {
            let (first_check, last_check) = ends(file, covered).ok()?;
            let head = Head {
                path: source.as_os_str().as_bytes().to_vec(),
                payload,
                order,
                stamp: stamp_of(file),
                begins: file.begins(),
                covered,
                first_check,
                last_check,
                rows: draft.rows as u64,
            };
            let told = draft.finish(&head);
            let written = told.inspect_err(|error| self.tell(error)).ok()?;
            Some(Kept::new(written, &head))
        });
        Ok(match (written, held) {
            (Some(written), _) => ShelfFile::Ready(Digest::new(order, payload, Some(written), Vec::new())),
            (None, Some(held)) => ShelfFile::Ready(Digest::new(order, payload, kept, held)),
            (None, None) => ShelfFile::None,
        })
    }

    /// A file with the rows so far, which takes more. None if the source has just changed.
    fn draft(
        &self,
        source: &Path,
        stamp: Stamp,
        kept: Option<&mut Kept>,
        made: &[Row],
    ) -> io::Result<Option<Draft<'_>>> {
        if identity(&self.folder)? != self.identity {
            return Err(io::Error::other("the folder of digests is not the one that was opened"));
        }
        let wanted = (kept.as_ref().map_or(0, |kept| kept.len()) + made.len()) * PAGE_LEN / PAGE_ROWS;
        self.make_room(wanted as u64)?;
        let path = self.path_of(source);
        let folder = path.parent().unwrap_or(&self.folder);
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let number = self.numbers.fetch_add(1, Relaxed);
        let temporary = path.with_extension(format!("{number}.tmp"));
        let file = File::options().read(true).write(true).create_new(true).open(&temporary)?;
        let mut draft = Draft { shelf: self, file, temporary, path, rows: 0, waiting: Vec::new(), bytes: Vec::new() };
        if draft.file.metadata()?.modified()? < time_of(stamp) + UNSURE {
            return Ok(None);
        }
        draft.file.write_all(&[0; PAGE_LEN])?;
        if let Some(kept) = kept {
            let pages = kept.whole_pages();
            let mut from = kept.file();
            io::Seek::seek(&mut from, io::SeekFrom::Start(PAGE_LEN as u64))?;
            io::copy(&mut from.take((pages * PAGE_LEN) as u64), &mut draft.file)?;
            draft.rows = pages * PAGE_ROWS;
            let value_type = made.first().map(|row| row.summary.value_type);
            for index in draft.rows..kept.len() {
                let row = kept.row(index, value_type.unwrap_or(sample::ValueType::scalar(sample::Element::F64)))?;
                draft.put(&[row])?;
            }
        }
        draft.put(made)?;
        Ok(Some(draft))
    }

    /// Sees that so many bytes may be written.
    fn make_room(&self, wanted: u64) -> io::Result<()> {
        let disk = rustix::fs::statvfs(&self.folder)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < FREE_BYTES_MIN.saturating_add(wanted) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the disk of the digests is nearly full"));
        }
        let mut bytes = self.bytes.lock().expect("no holder of this lock panics");
        if bytes.is_none_or(|bytes| bytes.saturating_add(wanted) > BYTES_MAX) {
            *bytes = Some(self.clean(bytes.is_none())?);
        }
        Ok(())
    }

    /// Removes the oldest digests if there are too many bytes, and at first what a crash left half-written; says how much there is.
    fn clean(&self, is_first: bool) -> io::Result<u64> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for folder in fs::read_dir(&self.folder)? {
            let folder = folder?;
            if !folder.file_type()?.is_dir() {
                continue;
            }
            for entry in fs::read_dir(folder.path())? {
                let entry = entry?;
                if is_first && entry.file_name().as_bytes().ends_with(b".tmp") {
                    fs::remove_file(entry.path())?;
                    continue;
                }
                let about = entry.metadata()?;
                bytes += about.len();
                found.push((about.modified()?, about.len(), entry.path()));
            }
        }
        if bytes > BYTES_LEFT {
            found.sort();
            for (_, len, path) in found {
                if bytes <= BYTES_LEFT {
                    break;
                }
                fs::remove_file(path)?;
                bytes = bytes.saturating_sub(len);
            }
        }
        Ok(bytes)
    }

    /// Drops what is kept of a file, because it is damaged.
    pub(crate) fn drop_of(&self, source: &Path) {
        if let Err(error) = fs::remove_file(self.path_of(source)) {
            tracing::debug!("a damaged digest stays: {error}");
        }
    }

    /// Has a file read in the background.
    pub(crate) fn read_later(self: &Arc<Shelf>, place: &Place) {
        let mut background = self.background.lock().expect("no holder of this lock panics");
        if background.waiting.len() >= WAITING_MAX || background.waiting.contains(place) {
            return;
        }
        background.waiting.push_back(place.clone());
        if !background.is_running {
            let shelf = Arc::clone(self);
            let begun = std::thread::Builder::new().name("digests".to_owned()).spawn(move || shelf.read_waiting());
            background.is_running = begun.is_ok();
        }
    }

    fn read_waiting(&self) {
        loop {
            let next = {
                let mut background = self.background.lock().expect("no holder of this lock panics");
                let next = background.waiting.front().cloned();
                background.is_running = next.is_some();
                next
            };
            let Some(place) = next else { return };
            if let Ok(Some(file)) = PbFile::open(&place)
                && let Err(error) = self.current(&file, &place.path, u64::MAX)
            {
                tracing::debug!("{} is not digested: {error}", place.path.display());
            }
            self.background.lock().expect("no holder of this lock panics").waiting.pop_front();
        }
    }
}

/// Whether what was made is written down.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Yes,
    No,
}

/// A digest that is being written. It is removed if it does not come to its end.
struct Draft<'a> {
    shelf: &'a Shelf,
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    rows: usize,
    /// What fills no page yet.
    waiting: Vec<Row>,
    bytes: Vec<u8>,
}

impl Draft<'_> {
    fn put(&mut self, rows: &[Row]) -> io::Result<()> {
        self.rows += rows.len();
        self.waiting.extend_from_slice(rows);
        let (pages, rest) = self.waiting.as_chunks::<PAGE_ROWS>();
        pages.iter().for_each(|page| self.bytes.extend_from_slice(&page_of(page)));
        let rest = rest.to_vec();
        self.waiting = rest;
        self.file.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// The head comes last, and the file under its name when all of it is safe.
    #[expect(clippy::disallowed_methods, reason = "of a cache nothing is lost if the folder is not synced")]
    fn finish(mut self, head: &Head) -> io::Result<File> {
        if !self.waiting.is_empty() {
            self.file.write_all(&page_of(&self.waiting))?;
        }
        let page = head.encode().ok_or_else(|| io::Error::other("the path of its file is too long"))?;
        self.file.write_all_at(&page, 0)?;
        self.file.sync_data()?;
        let len = self.file.metadata()?.len();
        let before = fs::metadata(&self.path).map_or(0, |about| about.len());
        fs::rename(&self.temporary, &self.path)?;
        self.temporary.clear();
        if let Some(bytes) = &mut *self.shelf.bytes.lock().expect("no holder of this lock panics") {
            *bytes = (*bytes + len).saturating_sub(before);
        }
        self.file.try_clone()
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary); // what stays is removed after the next start
        }
    }
}

fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    let about = fs::metadata(folder)?;
    Ok((about.dev(), about.ino()))
}

/// Only files that have one are read here.
fn stamp_of(file: &PbFile) -> Stamp {
    file.stamp().unwrap_or_default()
}

fn time_of(stamp: Stamp) -> SystemTime {
    let newest = stamp.modified.max(stamp.changed);
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(newest).unwrap_or(0))
}

/// Whether a file is what it was, and more.
fn grew(file: &PbFile, stamp: Stamp, head: &Head) -> io::Result<bool> {
    Ok(stamp.inode == head.stamp.inode
        && stamp.len > head.stamp.len
        && ends(file, head.covered)? == (head.first_check, head.last_check))
}

/// The checks of the first and the last of so many bytes.
fn ends(file: &PbFile, covered: u64) -> io::Result<(u64, u64)> {
    let check = |at: u64| {
        let mut bytes = vec![0; ENDS_LEN.min(usize::try_from(covered).unwrap_or(ENDS_LEN))];
        let read = file.read_at(&mut bytes, at)?;
        bytes.truncate(read);
        Ok::<u64, io::Error>(xxh3_64(&bytes))
    };
    Ok((check(0)?, check(covered.saturating_sub(ENDS_LEN as u64))?))
}

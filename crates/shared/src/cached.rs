//! A shared store of whose segments the pieces that were read lie on the own disk, too: a database answers hundreds of times slower.
//!
//! ```text
//!   folder/0123456789abcdef0123456789abcdef := the bytes of a piece, XXH3-64 of key and bytes       named by XXH3-128 of its key
//! ```
//! Nobody ever puts other bytes under the key of a piece, so what is kept need never be asked for again. A file is believed when its
//! checksum was right once while the program runs; whoever finds what it read of it damaged says so by [`Shared::doubt`], and it is fetched
//! anew. All else goes straight through. Files may be removed at any time; those that were not used for longest go when there are too
//! many, or when less is free on the disk than all of them take.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use crate::{
    error::{Error, Result},
    ids::Seq,
    keys,
    pieces::PIECE_LEN_MAX,
    seam::{Created, Shared, Swapped},
};

const CHECK_LEN: u64 = 8;

/// Another shared store, with a folder for what was read of it.
#[derive(Debug)]
pub struct Cached {
    shared: Arc<dyn Shared>,
    folder: PathBuf,
    bytes_max: u64,
    // guarded by lock
    kept: Mutex<Kept>,
    // atomic
    found: AtomicU64,
    fetched: AtomicU64,
}

/// What lies in the folder, and how it serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Bytes that its files take.
    pub bytes: u64,
    /// Reads that it answered since the program began.
    pub found: u64,
    /// Pieces that were fetched as it did not have them.
    pub fetched: u64,
}

/// The files, by the numbers of their keys.
#[derive(Debug, Default)]
struct Kept {
    files: HashMap<u128, Piece>,
    /// By when each was used.
    used: BTreeMap<u64, u128>,
    uses: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Of the file, with the checksum.
    len: u64,
    used: u64,
    is_verified: bool,
}

impl Kept {
    fn put(&mut self, number: u128, len: u64, is_verified: bool) {
        self.take_out(number);
        self.uses += 1;
        self.used.insert(self.uses, number);
        self.files.insert(number, Piece { len, used: self.uses, is_verified });
        self.bytes += len;
    }

    fn touch(&mut self, number: u128) -> Option<Piece> {
        let piece = self.files.get_mut(&number)?;
        self.uses += 1;
        self.used.remove(&piece.used);
        self.used.insert(self.uses, number);
        piece.used = self.uses;
        Some(*piece)
    }

    /// Whether it was there.
    fn take_out(&mut self, number: u128) -> bool {
        let Some(piece) = self.files.remove(&number) else { return false };
        self.used.remove(&piece.used);
        self.bytes -= piece.len;
        true
    }

    /// Takes out what was not used for longest until no more than so much is left.
    fn shrink(&mut self, bytes_max: u64) -> Vec<u128> {
        let mut gone = Vec::new();
        while self.bytes > bytes_max
            && let Some((_, number)) = self.used.first_key_value().map(|(used, number)| (*used, *number))
        {
            self.take_out(number);
            gone.push(number);
        }
        gone
    }
}

impl Cached {
    /// Of a store, with a folder of its own that may be there already, for at most so many bytes; with none, nothing is kept.
    pub fn new(shared: Arc<dyn Shared>, folder: &Path, bytes_max: u64) -> Result<Cached> {
        let found = found_in(folder).map_err(|source| {
            let doing = format!("look into the folder {} for what was read of the shared store", folder.display());
            Error::Local { doing, source }
        })?;
        let cached = Cached { folder: folder.to_owned(), bytes_max, ..Cached::without(shared) };
        found.into_iter().for_each(|(number, len)| cached.kept().put(number, len, false));
        cached.leave_free(free(folder));
        Ok(cached)
    }

    /// Of a store of which nothing is kept.
    pub fn without(shared: Arc<dyn Shared>) -> Cached {
        Cached {
            shared,
            folder: PathBuf::new(),
            bytes_max: 0,
            kept: Mutex::default(),
            found: AtomicU64::new(0),
            fetched: AtomicU64::new(0),
        }
    }

    /// What lies in the folder, and how it serves.
    pub fn usage(&self) -> CacheUse {
        let bytes = self.kept().bytes;
        CacheUse { bytes, found: self.found.load(Relaxed), fetched: self.fetched.load(Relaxed) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no holder of this lock panics")
    }

    fn path(&self, number: u128) -> PathBuf {
        self.folder.join(format!("{number:032x}"))
    }

    /// Removes files until there are no more than may be, given how much is free on the disk.
    fn leave_free(&self, free: u64) {
        let gone = {
            let mut kept = self.kept();
            // As much goes as is lacking for that which stays to be no more than what is free then.
            let lacking = kept.bytes.saturating_sub(free).div_ceil(2);
            let bytes_max = self.bytes_max.min(kept.bytes - lacking);
            kept.shrink(bytes_max)
        };
        gone.into_iter().for_each(|number| self.remove_file(number));
    }

    fn remove_file(&self, number: u128) {
        drop(fs::remove_file(self.path(number))); // one that is not there is gone; one that stays is found at the next start
    }

    fn remove_piece(&self, number: u128) {
        let was_there = self.kept().take_out(number);
        if was_there {
            self.remove_file(number);
        }
    }

    /// What of a piece lies here; none if it does not, or is not what it was.
    fn near(&self, number: u128, range: &Range<u64>) -> Option<Vec<u8>> {
        let piece = self.kept().touch(number)?;
        let read = || -> io::Result<Vec<u8>> {
            let file = File::open(self.path(number))?;
            let len = piece.len - CHECK_LEN;
            if piece.is_verified {
                let (start, end) = (range.start.min(len), range.end.min(len));
                let mut bytes = vec![0; end.saturating_sub(start) as usize];
                file.read_exact_at(&mut bytes, start)?;
                return Ok(bytes);
            }
            let mut bytes = vec![0; piece.len as usize];
            file.read_exact_at(&mut bytes, 0)?;
            let check = bytes.split_off(len as usize);
            if check != check_of(number, &bytes) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if let Some(piece) = self.kept().files.get_mut(&number) {
                piece.is_verified = true;
            }
            Ok(within(bytes, range))
        };
        let bytes = read();
        if bytes.is_err() {
            self.remove_piece(number);
        }
        bytes.ok()
    }

    /// Keeps a piece, where there is room. It goes without where the disk does not take it.
    #[expect(
        clippy::disallowed_methods,
        reason = "what is not whole after a loss of power has another checksum, and is fetched anew"
    )]
    fn keep(&self, number: u128, bytes: &[u8]) {
        let len = bytes.len() as u64 + CHECK_LEN;
        let free = free(&self.folder);
        if len > self.bytes_max || len + self.kept().bytes > free {
            self.leave_free(free);
            return;
        }
        let (path, new) = (self.path(number), self.folder.join(format!("{number:032x}.new")));
        let write = || -> io::Result<()> {
            let file = File::create(&new)?;
            file.write_all_at(bytes, 0)?;
            file.write_all_at(&check_of(number, bytes), bytes.len() as u64)?;
            fs::rename(&new, &path)
        };
        match write() {
            Ok(()) => self.kept().put(number, len, true),
            Err(_) => drop(fs::remove_file(&new)),
        }
        self.leave_free(u64::MAX);
    }
}

/// The files of a folder that are pieces, the oldest first. What was left unfinished is removed.
fn found_in(folder: &Path) -> io::Result<Vec<(u128, u64)>> {
    fs::create_dir_all(folder)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, about) = (entry.file_name(), entry.metadata()?);
        let number = name.to_str().filter(|name| name.len() == 32).and_then(|name| u128::from_str_radix(name, 16).ok());
        let is_piece = about.is_file() && (CHECK_LEN..=CHECK_LEN + PIECE_LEN_MAX).contains(&about.len());
        match number.filter(|_| is_piece) {
            Some(number) => found.push((about.modified()?, number, about.len())),
            None if name.to_string_lossy().ends_with(".new") => fs::remove_file(entry.path())?,
            None => {}
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, number, len)| (number, len)).collect())
}

/// How much is free on the disk of a folder; nothing where that cannot be told.
fn free(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn check_of(number: u128, bytes: &[u8]) -> [u8; 8] {
    xxh3_64_with_seed(bytes, number as u64).to_le_bytes()
}

fn within(mut bytes: Vec<u8>, range: &Range<u64>) -> Vec<u8> {
    let len = bytes.len() as u64;
    bytes.truncate(range.end.min(len) as usize);
    bytes.drain(..range.start.min(bytes.len() as u64) as usize);
    bytes
}

impl Shared for Cached {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.shared.put(key, bytes)
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        if !keys::is_piece_of_segment(key) {
            return self.shared.get(key, range);
        }
        let number = xxh3_128(key.as_bytes());
        if let Some(bytes) = self.near(number, &range) {
            self.found.fetch_add(1, Relaxed);
            return Ok(Some(bytes));
        }
        let Some(bytes) = self.shared.get(key, 0..PIECE_LEN_MAX)? else { return Ok(None) };
        self.fetched.fetch_add(1, Relaxed);
        self.keep(number, &bytes);
        Ok(Some(within(bytes, &range)))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.shared.len(key)
    }

    fn remove(&self, key: &str) -> Result<()> {
        if keys::is_piece_of_segment(key) {
            self.remove_piece(xxh3_128(key.as_bytes()));
        }
        self.shared.remove(key)
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.shared.list(prefix, after, max)
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        self.shared.create(journal, seq, row)
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.shared.row(journal, seq)
    }

    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        self.shared.last(journal, known)
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        self.shared.rows(journal, from, max)
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.shared.value(name)
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        self.shared.swap(name, old, new)
    }

    /// Once a second: room is given back to whoever records, too.
    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        self.leave_free(free(&self.folder));
        self.shared.beat(node, beat)
    }

    fn forget(&self, node: &str) -> Result<()> {
        self.shared.forget(node)
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.shared.beats()
    }

    fn caveats(&self) -> Result<Vec<String>> {
        self.shared.caveats()
    }

    fn doubt(&self, key: &str) {
        self.remove_piece(xxh3_128(key.as_bytes()));
        self.shared.doubt(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counted, conformance, ids::Epoch, keys::segment_key, twin::Memory};

    const KEY: &str = "17.a/seg/00000000000000e5/2026-W47/000000000007.seg/000003";

    /// A folder of a test, which goes with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("pvark-cached-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn key(piece: u64) -> String {
        format!("17.a/{}/{piece:06}", segment_key(Epoch(0xe5), "2026-W47/000000000007.seg"))
    }

    fn read(counted: &Counted) -> u64 {
        counted.traffic().read
    }

    #[test]
    fn it_does_all_that_a_shared_store_has_to() {
        let folder = Folder::new("all");
        let cached: Arc<dyn Shared> = Arc::new(Cached::new(Arc::new(Memory::default()), &folder.0, 1 << 20).unwrap());
        conformance::all(&cached, "cached");
    }

    #[test]
    fn a_piece_of_a_segment_is_fetched_once_and_kept_beyond_the_end_of_the_program() {
        let folder = Folder::new("once");
        let counted = Arc::new(Counted::new(Arc::new(Memory::default())));
        counted.put(KEY, b"0123456789").unwrap();
        counted.put("17.a/body/1/2/000000", b"row").unwrap();
        for run in 0..2 {
            let cached = Cached::new(counted.clone(), &folder.0, 1 << 20).unwrap();
            for _ in 0..2 {
                assert_eq!(cached.get(KEY, 2..5).unwrap().unwrap(), b"234", "{run}");
                assert_eq!(cached.get(KEY, 8..99).unwrap().unwrap(), b"89");
                assert_eq!(cached.get(KEY, 50..99).unwrap().unwrap(), b"");
                assert_eq!(cached.get(&key(4), 0..9).unwrap(), None);
            }
            assert_eq!(read(&counted), 10, "{run}");
            assert_eq!(
                cached.usage(),
                CacheUse { bytes: 18, found: 6 - u64::from(run == 0), fetched: u64::from(run == 0) }
            );
        }
        let cached = Cached::new(counted.clone(), &folder.0, 1 << 20).unwrap();
        cached.get("17.a/body/1/2/000000", 0..9).unwrap();
        cached.get("17.a/body/1/2/000000", 0..9).unwrap();
        assert_eq!(read(&counted), 16, "what is no segment is fetched each time");
    }

    #[test]
    fn what_is_damaged_on_the_own_disk_or_was_removed_there_is_fetched_anew() {
        let folder = Folder::new("damaged");
        let counted = Arc::new(Counted::new(Arc::new(Memory::default())));
        counted.put(KEY, b"0123456789").unwrap();
        let open = || Cached::new(counted.clone(), &folder.0, 1 << 20).unwrap();
        open().get(KEY, 0..10).unwrap();
        let path = open().path(xxh3_128(KEY.as_bytes()));
        for place in 0..18 {
            let mut bytes = fs::read(&path).unwrap();
            bytes[place] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            assert_eq!(open().get(KEY, 0..10).unwrap().unwrap(), b"0123456789", "byte {place}");
        }
        assert_eq!(read(&counted), 190);
        fs::write(&path, b"short").unwrap();
        assert_eq!(open().get(KEY, 0..10).unwrap().unwrap(), b"0123456789");
        let cached = open();
        fs::remove_file(&path).unwrap();
        assert_eq!(cached.get(KEY, 0..10).unwrap().unwrap(), b"0123456789");
        // It was right, and is not any more: whoever reads it finds out, and says so.
        fs::write(&path, b"012345678X________").unwrap();
        assert_eq!(cached.get(KEY, 0..10).unwrap().unwrap(), b"012345678X");
        cached.doubt(KEY);
        assert_eq!(cached.get(KEY, 0..10).unwrap().unwrap(), b"0123456789");
        cached.remove(KEY).unwrap();
        assert_eq!(cached.get(KEY, 0..10).unwrap(), None);
        assert_eq!(cached.usage().bytes, 0);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_when_there_is_no_room() {
        let folder = Folder::new("room");
        let counted = Arc::new(Counted::new(Arc::new(Memory::default())));
        (0..9).for_each(|piece| counted.put(&key(piece), &[piece as u8; 92]).unwrap());
        let cached = Cached::new(counted.clone(), &folder.0, 450).unwrap();
        let is_here = |piece: u64| cached.path(xxh3_128(key(piece).as_bytes())).exists();
        let here = || (0..9).filter(|piece| is_here(*piece)).collect::<Vec<_>>();
        (0..4).for_each(|piece| assert!(cached.get(&key(piece), 0..1).unwrap().is_some()));
        cached.get(&key(0), 0..1).unwrap();
        (4..6).for_each(|piece| assert!(cached.get(&key(piece), 0..1).unwrap().is_some()));
        assert_eq!(here(), [0, 3, 4, 5]);
        // Of 400 bytes 100 go where 200 are free: then 300 are.
        cached.leave_free(200);
        assert_eq!(here(), [0, 4, 5]);
        cached.leave_free(300);
        assert_eq!(here(), [0, 4, 5]);
        cached.leave_free(0);
        assert_eq!(here(), [5], "what stays is no more than what is free then");
        assert_eq!(cached.usage().bytes, 100);
        let smaller = Cached::new(counted.clone(), &folder.0, 0).unwrap();
        assert_eq!((here(), smaller.usage().bytes), (vec![], 0));
        let without = Cached::without(counted.clone());
        for none in [smaller, without] {
            assert_eq!(none.get(&key(7), 0..1).unwrap().unwrap(), [7]);
            none.doubt(&key(7));
            assert_eq!((here(), none.usage().bytes), (vec![], 0));
        }
    }

    #[test]
    fn what_lies_in_the_folder_otherwise_stays_and_what_was_not_finished_goes() {
        let folder = Folder::new("strange");
        fs::create_dir_all(folder.0.join("0123456789abcdef0123456789abcdef")).unwrap();
        fs::write(folder.0.join("readme"), b"mine").unwrap();
        fs::write(folder.0.join("0123456789abcdef0123456789abcdee.new"), b"half").unwrap();
        let cached = Cached::new(Arc::new(Memory::default()), &folder.0, 1 << 20).unwrap();
        assert_eq!(cached.usage().bytes, 0);
        let mut names: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|of| of.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["0123456789abcdef0123456789abcdef", "readme"]);
        let error = Cached::new(Arc::new(Memory::default()), &folder.0.join("readme"), 1).unwrap_err().to_string();
        assert!(error.contains("readme"), "{error}");
    }
}

//! What this node holds of epochs that have ended: files of logs with samples that no journal may have. They are offered to whoever has the
//! shard, until that one says that all of it is in the journal. Folders that a kill or a power cut has left are offered as well.
//! One that nobody needs any more stays while answers that were begun before read its segments.
//!
//! ```text
//!   data/shards/17/00000000000000e5/      a folder for each epoch of each shard that this node ever had
//!                                 kept    it has samples that nobody else has, and that cannot be handed over: it stays, whatever becomes of its log
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use cluster::{Board, Held, Pairs};
use shared::{Epoch, Frames, Part};
use store::{
    LogFrames,
    disk::{Disk, RealDisk},
};

/// A folder of no use that is still read goes after so long all the same: an answer that nobody fetches must not keep room for ever. In the
/// shared store, segments that were merged stay as long.
const READ_WITHIN: Duration = Duration::from_secs(600);

/// The file that says so, in words.
const KEPT: &str = "kept";
const WHY_KEPT: &[u8] = b"Segments in this folder have samples that no other node has: they came while it was away, and another node had its shard \
    before they were shipped. Remove it when they are of no use.\n";

/// The folders of epochs that have ended.
#[derive(Debug)]
pub(super) struct Folders {
    root: PathBuf,
    held: Mutex<Vec<Arc<HandedFolder>>>,
    /// Those of no use any more that answers may read, and since when.
    spent: Mutex<Vec<(EpochFolder, Instant)>>,
}

/// The folder of an epoch.
#[derive(Clone, Debug)]
pub(super) struct EpochFolder {
    pub(super) path: PathBuf,
    /// With what its store reads, and every answer that has begun with that.
    pub(super) disk: Weak<RealDisk>,
}

/// One that is held.
#[derive(Debug)]
pub(super) struct HandedFolder {
    shard: u32,
    epoch: u64,
    folder: EpochFolder,
    frames: Frames,
    log: LogFrames,
}

impl HandedFolder {
    pub(super) fn new(shard: u32, epoch: u64, folder: EpochFolder, frames: Frames) -> HandedFolder {
        let log = LogFrames::new(Arc::new(RealDisk::new(&folder.path)));
        HandedFolder { shard, epoch, folder, frames, log }
    }

    fn part(&self, pairs: Pairs) -> Option<Part> {
        Some(Part { shard: pairs.archive(self.shard)?, epoch: Epoch(self.epoch), frames: self.frames })
    }
}

impl Held for HandedFolder {
    fn beginning_of(&self, frame: u64) -> io::Result<u64> {
        self.log.beginning_of(frame)
    }

    fn read(&self, from: u64, below: u64, max: usize) -> io::Result<Option<shared::LogRun>> {
        self.log.read(from, below, max)
    }
}

impl Folders {
    /// Those in the data folder, with what starts before this one have left.
    pub(super) fn find(data: &Path) -> io::Result<Folders> {
        let folders = Folders { root: data.join("shards"), held: Mutex::default(), spent: Mutex::default() };
        fs::create_dir_all(&folders.root)?;
        for shard in fs::read_dir(&folders.root)? {
            let shard = shard?.path();
            let Some(number) = name(&shard).and_then(|name| name.parse::<u32>().ok()) else { continue };
            for epoch in fs::read_dir(&shard)? {
                let path = epoch?.path();
                let Some(epoch) = name(&path).and_then(|name| u64::from_str_radix(name, 16).ok()) else { continue };
                match LogFrames::new(Arc::new(RealDisk::new(&path))).extent() {
                    Ok(Some(frames)) => {
                        let folder = EpochFolder { path, disk: Weak::new() };
                        folders.hold(HandedFolder::new(number, epoch, folder, frames));
                    }
                    Ok(None) => remove(&path),
                    Err(error) => tracing::error!("what {} holds of a shard cannot be read: {error}", path.display()),
                }
            }
        }
        Ok(folders)
    }

    /// The folder of an epoch of a shard.
    pub(super) fn of(&self, shard: u32, epoch: u64) -> PathBuf {
        self.root.join(shard.to_string()).join(format!("{epoch:016x}"))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<HandedFolder>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a folder until it is taken.
    pub(super) fn hold(&self, folder: HandedFolder) {
        self.all().push(Arc::new(folder));
    }

    /// What no other node has taken yet, one sentence's subject for each folder.
    pub(super) fn waiting(&self) -> Vec<String> {
        let told = |of: &Arc<HandedFolder>| format!("what {} holds of shard {}", of.folder.path.display(), of.shard);
        self.all().iter().map(told).collect()
    }

    /// What is held of an epoch of a shard.
    pub(super) fn held(&self, shard: u32, epoch: u64) -> Option<Arc<dyn Held>> {
        let found = self.all().iter().find(|folder| folder.shard == shard && folder.epoch == epoch).cloned();
        found.map(|folder| folder as Arc<dyn Held>)
    }

    /// A folder has samples that nobody else has and that cannot be handed over: it is removed by who runs the node, and nobody else.
    pub(super) fn keep(&self, shard: u32, path: &Path) {
        let (told, disk) = (path.display(), RealDisk::new(path));
        tracing::error!(
            "{told} has samples of shard {shard} that came while it was away, and that no other node has: it stays"
        );
        let mark = || {
            disk.write_at(KEPT, 0, WHY_KEPT)?;
            disk.sync(KEPT)?;
            disk.sync_folder("")
        };
        if let Err(error) = mark() {
            tracing::error!("{told} is not marked as one that stays, and will be removed: {error}");
        }
    }

    /// Nobody needs a folder any more: it goes when the last answer that reads it is done.
    pub(super) fn let_go(&self, folder: EpochFolder) {
        let now = Instant::now();
        self.spent().push((folder, now));
        self.remove_spent(now);
    }

    fn spent(&self) -> MutexGuard<'_, Vec<(EpochFolder, Instant)>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what nobody reads any more, or for too long.
    fn remove_spent(&self, now: Instant) {
        let is_over = |(folder, since): &mut (EpochFolder, Instant)| {
            folder.disk.strong_count() == 0 || now.saturating_duration_since(*since) >= READ_WITHIN
        };
        let over: Vec<_> = self.spent().extract_if(.., is_over).collect();
        over.iter().for_each(|(folder, _)| remove(&folder.path));
    }

    /// Offers each of them once, the oldest epochs first, and lets go what was taken. To be called about once a second.
    pub(super) fn offer(&self, board: &Board) {
        self.remove_spent(Instant::now());
        let mut held = self.all().clone();
        held.sort_by_key(|folder| (folder.shard, folder.epoch));
        for folder in held {
            let Some(part) = folder.part(board.pairs()) else { continue };
            match board.offer(&part, &*folder) {
                Ok(true) => {
                    tracing::info!(
                        "what was held of epoch {} of shard {} is in the journal",
                        folder.epoch,
                        folder.shard
                    );
                    self.all().retain(|other| !Arc::ptr_eq(other, &folder));
                    self.let_go(folder.folder.clone());
                }
                Ok(false) => {}
                Err(error) => tracing::debug!("what is held of shard {} is not taken yet: {error}", folder.shard),
            }
        }
    }
}

fn remove(path: &Path) {
    if path.join(KEPT).exists() {
        return tracing::warn!(
            "{} has samples that no other node has: it stays until it is removed by hand",
            path.display()
        );
    }
    if let Err(error) = fs::remove_dir_all(path) {
        tracing::warn!("{} is of no use any more and cannot be removed: {error}", path.display());
    }
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_read_for_ever_goes_after_ten_minutes() {
        let data = tempfile::tempdir().unwrap();
        let folders = Folders::find(data.path()).unwrap();
        let path = folders.of(3, 1);
        fs::create_dir_all(&path).unwrap();
        let read = Arc::new(RealDisk::new(&path));
        folders.let_go(EpochFolder { path: path.clone(), disk: Arc::downgrade(&read) });
        let now = Instant::now();
        folders.remove_spent(now + READ_WITHIN / 2);
        assert!(path.exists());
        folders.remove_spent(now + READ_WITHIN);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_with_samples_that_nobody_else_has_is_never_removed() {
        let data = tempfile::tempdir().unwrap();
        let folders = Folders::find(data.path()).unwrap();
        let [kept, other] = [1, 2].map(|epoch| folders.of(3, epoch));
        for path in [&kept, &other] {
            fs::create_dir_all(path.join("log")).unwrap();
        }
        folders.keep(3, &kept);
        for path in [&kept, &other] {
            folders.let_go(EpochFolder { path: path.clone(), disk: Weak::new() });
        }
        assert!(kept.exists() && !other.exists());
        Folders::find(data.path()).unwrap();
        assert!(kept.exists(), "nor by the next start");
    }
}

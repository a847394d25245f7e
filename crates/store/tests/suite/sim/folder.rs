//! A folder of a simulated disk as a disk of its own, for places.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
};

use store::disk::{Disk, Objects};

use super::SimDisk;

/// A folder of a simulated disk, so that one power cut meets all places.
#[derive(Debug)]
pub(crate) struct Folder {
    disk: Arc<SimDisk>,
    name: &'static str,
    pub(crate) reads: AtomicU64,
    pub(crate) unplugged: AtomicBool,
    /// Nothing is mounted: the folder is empty.
    pub(crate) empty: AtomicBool,
    pub(crate) lies: AtomicBool,
}

impl Folder {
    pub(crate) fn new(disk: &Arc<SimDisk>, name: &'static str) -> Arc<Folder> {
        let (disk, reads) = (disk.clone(), AtomicU64::new(0));
        let [unplugged, empty, lies] = Default::default();
        Arc::new(Folder { disk, name, reads, unplugged, empty, lies })
    }

    fn key(&self, key: &str) -> io::Result<String> {
        if self.unplugged.load(SeqCst) {
            return Err(io::Error::other("the network is unreachable"));
        }
        if self.empty.load(SeqCst) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(format!("{}/{key}", self.name).trim_end_matches('/').to_owned())
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self
            .disk
            .keys()
            .iter()
            .filter_map(|key| key.strip_prefix(self.name)?.strip_prefix('/').map(str::to_owned))
            .collect();
        keys.sort();
        keys
    }
}

impl Objects for Folder {
    fn len(&self, key: &str) -> io::Result<u64> {
        self.disk.len(&self.key(key)?)
    }

    fn read_at(&self, key: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if key.ends_with(".seg") {
            self.reads.fetch_add(1, SeqCst);
        }
        self.disk.read_at(&self.key(key)?, offset, bytes)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.disk.remove(&self.key(key)?)
    }
}

impl Disk for Folder {
    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.create_folder(&self.key(folder)?)?;
        self.disk.sync_folder("")
    }

    fn write_at(&self, key: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut bytes = bytes.to_vec();
        if self.lies.load(SeqCst) && key.ends_with(".seg.tmp") {
            bytes[7] ^= 1;
        }
        self.disk.write_at(&self.key(key)?, offset, &bytes)
    }

    fn set_len(&self, key: &str, len: u64) -> io::Result<()> {
        self.disk.set_len(&self.key(key)?, len)
    }

    fn sync(&self, key: &str) -> io::Result<()> {
        self.disk.sync(&self.key(key)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(&self.key(from)?, &self.key(to)?)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(&self.key(folder)?)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.sync_folder(&self.key(folder)?)
    }

    fn lock(&self, _: &str) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn unlock(&self, _: &str) {}
}

//! A shared store that counts what goes over it: what a network and a database have to carry for a node.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::{
    error::Result,
    ids::Seq,
    seam::{Created, Shared, Swapped},
};

/// Another shared store, counted.
#[derive(Debug)]
pub struct Counted {
    shared: Arc<dyn Shared>,
    written: AtomicU64,
    read: AtomicU64,
}

/// Bytes since the program began: of objects, rows of journals, values and what nodes say of themselves; without their keys and without
/// what a protocol adds, and once, however many copies the store keeps of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// What the node has sent to be written, whatever the answer was.
    pub written: u64,
    /// What came as an answer.
    pub read: u64,
}

impl Counted {
    /// Of a store.
    pub fn new(shared: Arc<dyn Shared>) -> Counted {
        Counted { shared, written: AtomicU64::new(0), read: AtomicU64::new(0) }
    }

    /// How much went over it so far.
    pub fn traffic(&self) -> Traffic {
        Traffic { written: self.written.load(Relaxed), read: self.read.load(Relaxed) }
    }

    fn write(&self, bytes: &[u8]) {
        self.written.fetch_add(bytes.len() as u64, Relaxed);
    }

    fn read<'a>(&self, bytes: impl IntoIterator<Item = &'a Vec<u8>>) {
        let len = bytes.into_iter().map(|bytes| bytes.len() as u64).sum();
        self.read.fetch_add(len, Relaxed);
    }
}

impl Shared for Counted {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.write(bytes);
        self.shared.put(key, bytes)
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.shared.get(key, range).inspect(|bytes| self.read(bytes))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.shared.len(key)
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.shared.remove(key)
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.shared.list(prefix, after, max)
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        self.write(row);
        self.shared.create(journal, seq, row).inspect(|created| {
            if let Created::Taken(found) = created {
                self.read([found]);
            }
        })
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.shared.row(journal, seq).inspect(|row| self.read(row))
    }

    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        self.shared.last(journal, known).inspect(|last| self.read(last.iter().map(|(_, row)| row)))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        self.shared.rows(journal, from, max).inspect(|rows| self.read(rows))
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.shared.value(name).inspect(|value| self.read(value))
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        self.write(new);
        self.shared.swap(name, old, new)
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        self.write(beat);
        self.shared.beat(node, beat)
    }

    fn forget(&self, node: &str) -> Result<()> {
        self.shared.forget(node)
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.shared.beats().inspect(|beats| self.read(beats.iter().map(|(_, beat)| beat)))
    }

    fn caveats(&self) -> Result<Vec<String>> {
        self.shared.caveats()
    }

    fn doubt(&self, key: &str) {
        self.shared.doubt(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{conformance, twin::Memory};

    #[test]
    fn it_does_all_that_a_shared_store_has_to() {
        let counted: Arc<dyn Shared> = Arc::new(Counted::new(Arc::new(Memory::default())));
        conformance::all(&counted, "counted");
    }

    #[test]
    fn what_is_sent_and_what_comes_is_counted_once() {
        let counted = Counted::new(Arc::new(Memory::default()));
        let traffic = |written, read| Traffic { written, read };
        counted.put("o", b"12345").unwrap();
        counted.create("j", Seq(0), b"row").unwrap();
        assert_eq!(counted.traffic(), traffic(8, 0));
        assert_eq!(counted.create("j", Seq(0), b"late").unwrap(), Created::Taken(b"row".to_vec()));
        assert_eq!(counted.traffic(), traffic(12, 3));
        counted.get("o", 1..3).unwrap();
        counted.get("none", 0..9).unwrap();
        counted.rows("j", Seq(0), 10).unwrap();
        counted.last("j", None).unwrap();
        assert_eq!(counted.traffic(), traffic(12, 11));
        counted.swap("n", None, b"12").unwrap();
        counted.value("n").unwrap();
        counted.beat("a", b"123").unwrap();
        counted.beats().unwrap();
        assert_eq!(counted.traffic(), traffic(17, 16));
    }
}

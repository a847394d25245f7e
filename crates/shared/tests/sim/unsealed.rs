//! A shared store in which the seal does not compete with the rows of the owner before: it is noted where all readers see it, and an owner
//! that does not know of it appends its rows as ever. That is how a cluster would be that had epochs and no fencing.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex},
};

use shared::{Created, Entry, Result, Row, Seq, Shard, Shared, Swapped};

/// The seals that were noted.
#[derive(Debug, Default)]
pub(crate) struct Unsealed(Mutex<BTreeMap<Seq, Vec<u8>>>);

impl Unsealed {
    pub(crate) fn over(self: &Arc<Unsealed>, inner: Arc<dyn Shared>) -> Overlay {
        Overlay { seals: self.clone(), inner }
    }
}

#[derive(Debug)]
pub(crate) struct Overlay {
    seals: Arc<Unsealed>,
    inner: Arc<dyn Shared>,
}

impl Shared for Overlay {
    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        let shard = Shard::new(17, 'a').expect("a shard");
        let entry = Row::decode(&shard, seq, row)?.open(&*self.inner, &shard, seq)?;
        if !matches!(entry, Entry::Seal(_)) {
            return self.inner.create(journal, seq, row);
        }
        if let Some(other) = self.row(journal, seq)? {
            return Ok(Created::Taken(other));
        }
        self.seals.0.lock().expect("a lock").insert(seq, row.to_vec());
        Ok(Created::Done)
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        let row = self.inner.row(journal, seq)?;
        let seal = self.seals.0.lock().expect("a lock").get(&seq).cloned();
        Ok(seal.or(row))
    }

    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.inner.put(key, bytes)
    }
    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.inner.get(key, range)
    }
    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.inner.len(key)
    }
    fn remove(&self, key: &str) -> Result<()> {
        self.inner.remove(key)
    }
    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.inner.list(prefix, after, max)
    }
    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.inner.value(name)
    }
    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        self.inner.swap(name, old, new)
    }
    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        self.inner.beat(node, beat)
    }
    fn forget(&self, node: &str) -> Result<()> {
        self.inner.forget(node)
    }
    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.inner.beats()
    }
}

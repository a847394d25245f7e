//! A shared store in memory, which keeps every promise of the seam and tells who broke one.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::{Bound, Range},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::{Error, Result},
    ids::Seq,
    keys::is_key,
    seam::{Created, MAX_ROW_LEN, MAX_VALUE_LEN, Shared, Swapped},
};

/// Objects, journals, names and beats in memory.
#[derive(Debug, Default)]
pub struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Vec<u8>>,
    journals: BTreeMap<String, BTreeMap<u64, Vec<u8>>>,
    names: BTreeMap<String, Vec<u8>>,
    beats: BTreeMap<String, Vec<u8>>,
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All rows of a journal, by their numbers.
    pub fn journal(&self, journal: &str) -> BTreeMap<u64, Vec<u8>> {
        self.state().journals.get(journal).cloned().unwrap_or_default()
    }
}

fn refused(doing: String, reason: &str) -> Error {
    Error::Refused { doing, reason: reason.into() }
}

fn checked(doing: &str, key: &str) -> Result<()> {
    if is_key(key) { Ok(()) } else { Err(refused(format!("{doing} {key:?}"), "no key has such characters")) }
}

impl Shared for Memory {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        checked("put", key)?;
        match self.state().objects.entry(key.to_owned()) {
            Entry::Vacant(place) => {
                place.insert(bytes.to_vec());
                Ok(())
            }
            Entry::Occupied(place) if place.get() == bytes => Ok(()),
            Entry::Occupied(_) => Err(refused(format!("put {key}"), "other bytes have that key already")),
        }
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        checked("get", key)?;
        let state = self.state();
        let Some(bytes) = state.objects.get(key) else { return Ok(None) };
        let end = range.end.min(bytes.len() as u64);
        let start = range.start.min(end);
        Ok(Some(bytes[start as usize..end as usize].to_vec()))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        checked("measure", key)?;
        Ok(self.state().objects.get(key).map(|bytes| bytes.len() as u64))
    }

    fn remove(&self, key: &str) -> Result<()> {
        checked("remove", key)?;
        self.state().objects.remove(key);
        Ok(())
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        let state = self.state();
        let from = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
        let keys = state.objects.range::<str, _>((from, Bound::Unbounded)).map(|(key, _)| key);
        Ok(keys.take_while(|key| key.starts_with(prefix)).take(max).cloned().collect())
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        checked("append to", journal)?;
        if row.len() > MAX_ROW_LEN {
            return Err(refused(format!("append row {seq} to {journal}"), "it is too long"));
        }
        let mut state = self.state();
        match state.journals.entry(journal.to_owned()).or_default().entry(seq.0) {
            Entry::Occupied(place) => Ok(Created::Taken(place.get().clone())),
            Entry::Vacant(place) => {
                place.insert(row.to_vec());
                Ok(Created::Done)
            }
        }
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        checked("read", journal)?;
        Ok(self.state().journals.get(journal).and_then(|rows| rows.get(&seq.0)).cloned())
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        checked("read", journal)?;
        let state = self.state();
        let Some(rows) = state.journals.get(journal) else { return Ok(Vec::new()) };
        let numbered = (from.0..).zip(rows.range(from.0..)).take(max);
        Ok(numbered.take_while(|(number, (seq, _))| number == *seq).map(|(_, (_, row))| row.clone()).collect())
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        checked("read", name)?;
        Ok(self.state().names.get(name).cloned())
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        checked("swap", name)?;
        if new.len() > MAX_VALUE_LEN {
            return Err(refused(format!("swap {name}"), "the value is too long"));
        }
        let mut state = self.state();
        if state.names.get(name).map(Vec::as_slice) != old {
            return Ok(Swapped::Differs);
        }
        state.names.insert(name.to_owned(), new.to_vec());
        Ok(Swapped::Done)
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        checked("beat as", node)?;
        self.state().beats.insert(node.to_owned(), beat.to_vec());
        Ok(())
    }

    fn forget(&self, node: &str) -> Result<()> {
        checked("forget", node)?;
        self.state().beats.remove(node);
        Ok(())
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        Ok(self.state().beats.clone().into_iter().collect())
    }
}

//! A shared store that is looked at and not touched: what is written to it stays in memory, and each journal ends where it ended when it
//! was first asked for. Whoever takes a shard by it has a copy of the shard, while its owner goes on and notices nothing.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::{Error, Result},
    ids::Seq,
    seam::{Created, Shared, Swapped},
};

/// Another shared store, aside.
#[derive(Debug)]
pub struct Aside {
    shared: Arc<dyn Shared>,
    written: Mutex<Written>,
}

/// What was written here, which nobody else sees.
#[derive(Debug, Default)]
struct Written {
    journals: BTreeMap<String, Journal>,
    values: BTreeMap<String, Vec<u8>>,
}

/// A journal: its rows below `end` are those of the other store.
#[derive(Clone, Debug, Default)]
struct Journal {
    end: u64,
    rows: Vec<Vec<u8>>,
}

impl Aside {
    /// Of a store.
    pub fn new(shared: Arc<dyn Shared>) -> Aside {
        Aside { shared, written: Mutex::default() }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a journal ends in the other store, for this one.
    fn end(&self, journal: &str) -> Result<u64> {
        if let Some(known) = self.written().journals.get(journal) {
            return Ok(known.end);
        }
        let end = self.shared.last(journal, None)?.map_or(0, |(seq, _)| seq.0 + 1);
        Ok(self.written().journals.entry(journal.to_owned()).or_insert(Journal { end, rows: Vec::new() }).end)
    }

    fn row_behind(&self, journal: &str, seq: Seq) -> Option<Vec<u8>> {
        let written = self.written();
        let journal = written.journals.get(journal)?;
        journal.rows.get(usize::try_from(seq.0.checked_sub(journal.end)?).ok()?).cloned()
    }
}

impl Shared for Aside {
    /// It is not kept: an owner reads what it has put itself from its own disk.
    fn put(&self, _: &str, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.shared.get(key, range)
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.shared.len(key)
    }

    fn remove(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.shared.list(prefix, after, max)
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        if let Some(found) = self.row(journal, seq)? {
            return Ok(Created::Taken(found));
        }
        let mut written = self.written();
        let rows = written.journals.entry(journal.to_owned()).or_default();
        if seq.0 != rows.end + rows.rows.len() as u64 {
            let reason = format!("it ends before row {}", rows.end + rows.rows.len() as u64);
            return Err(Error::Refused { doing: format!("append row {seq} to {journal}"), reason });
        }
        rows.rows.push(row.to_vec());
        Ok(Created::Done)
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        if seq.0 < self.end(journal)? { self.shared.row(journal, seq) } else { Ok(self.row_behind(journal, seq)) }
    }

    fn last(&self, journal: &str, _: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        let end = self.end(journal)?;
        let behind = self.written().journals.get(journal).map_or(0, |journal| journal.rows.len() as u64);
        let Some(last) = (end + behind).checked_sub(1).map(Seq) else { return Ok(None) };
        Ok(self.row(journal, last)?.map(|row| (last, row)))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        let end = self.end(journal)?;
        let before = usize::try_from(end.saturating_sub(from.0)).unwrap_or(max).min(max);
        let mut rows = if before > 0 { self.shared.rows(journal, from, before)? } else { Vec::new() };
        if rows.len() == before {
            let behind = (from.0 + before as u64..).map_while(|seq| self.row_behind(journal, Seq(seq)));
            rows.extend(behind.take(max - before));
        }
        Ok(rows)
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let written = self.written().values.get(name).cloned();
        if written.is_some() { Ok(written) } else { self.shared.value(name) }
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        if self.value(name)?.as_deref() != old {
            return Ok(Swapped::Differs);
        }
        self.written().values.insert(name.to_owned(), new.to_vec());
        Ok(Swapped::Done)
    }

    fn beat(&self, _: &str, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn forget(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.shared.beats()
    }

    fn caveats(&self) -> Result<Vec<String>> {
        self.shared.caveats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Owner, Settings, Shard, twin::Memory};

    #[test]
    fn what_is_written_aside_nobody_else_sees_and_what_others_write_later_is_not_seen_there() {
        let memory = Arc::new(Memory::default());
        for number in 0..3 {
            memory.create("j", Seq(number), &[number as u8]).unwrap();
        }
        let aside = Aside::new(memory.clone());
        assert_eq!(aside.last("j", None).unwrap(), Some((Seq(2), vec![2])));
        memory.create("j", Seq(3), b"theirs").unwrap();
        assert_eq!(aside.row("j", Seq(3)).unwrap(), None);
        assert_eq!(aside.create("j", Seq(2), b"mine").unwrap(), Created::Taken(vec![2]));
        assert!(aside.create("j", Seq(4), b"mine").is_err(), "there is none before it");
        assert_eq!(aside.create("j", Seq(3), b"mine").unwrap(), Created::Done);
        assert_eq!(aside.create("j", Seq(3), b"again").unwrap(), Created::Taken(b"mine".to_vec()));
        assert_eq!(aside.last("j", None).unwrap(), Some((Seq(3), b"mine".to_vec())));
        let all: Vec<Vec<u8>> = vec![vec![0], vec![1], vec![2], b"mine".to_vec()];
        for (from, max) in (0..5).flat_map(|from| (0..6).map(move |max| (from, max))) {
            let expected: Vec<_> = all.iter().skip(from).take(max).cloned().collect();
            assert_eq!(aside.rows("j", Seq(from as u64), max).unwrap(), expected, "{max} from {from} on");
        }
        assert_eq!(memory.row("j", Seq(3)).unwrap(), Some(b"theirs".to_vec()));
        assert_eq!(aside.swap("n", None, b"1").unwrap(), Swapped::Done);
        assert_eq!(aside.swap("n", None, b"2").unwrap(), Swapped::Differs);
        assert_eq!((aside.value("n").unwrap(), memory.value("n").unwrap()), (Some(b"1".to_vec()), None));
        assert_eq!(aside.last("empty", None).unwrap(), None);
    }

    #[test]
    fn an_owner_that_is_copied_goes_on_as_the_owner() {
        let (memory, shard) = (Arc::new(Memory::default()), Shard::new(1, 'a').unwrap());
        let take = |shared: Arc<dyn Shared>, node: &str| {
            Owner::take(shared, shard.clone(), node, 1, 1, Settings::default()).unwrap()
        };
        let owner = take(memory.clone(), "owner");
        let before = (memory.journal("1.a"), memory.value("lease/1.a").unwrap());
        let copier = take(Arc::new(Aside::new(memory.clone())), "copier");
        assert!(copier.epoch() > owner.epoch());
        assert_eq!((memory.journal("1.a"), memory.value("lease/1.a").unwrap()), before);
    }
}

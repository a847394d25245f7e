//! The seam to the shared store: all that a back end has to offer, and what it has to promise.

use std::{fmt, ops::Range};

use crate::{
    error::{Error, Result},
    ids::Seq,
};

/// No row of a journal is longer than this; what is longer is put beside it.
pub const MAX_ROW_LEN: usize = 64 << 10;

/// No value of a name is longer than this.
pub const MAX_VALUE_LEN: usize = 4 << 10;

/// What became of the creation of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// The row stands there.
    Done,
    /// Another row stood there already: this one.
    Taken(Vec<u8>),
}

/// What became of the exchange of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// The name has the new value.
    Done,
    /// The name had another value than the old one, and keeps it.
    Differs,
}

/// A store that all nodes of a cluster reach. Every call blocks, and each may end as [`Error::Unknown`]: then it may have happened, may
/// happen later, or never. What a caller does about that stands in [`crate::settle`], once for all back ends; so a back end tries once
/// and says what it knows. It says [`Error::Refused`] only of what was not and will not be done.
///
/// Keys, names and journals are texts for which [`crate::is_key`] holds. None is another one's folder: where there is `a/b` there is no
/// object `a`.
pub trait Shared: fmt::Debug + Send + Sync + 'static {
    /// Puts an object. Nobody ever puts other bytes under the same key, so that it does no harm to put it twice.
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()>;

    /// The bytes of an object in a range, as far as it has them; none if there is no such object. What was put is there for everyone
    /// from the moment when `put` was answered.
    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>>;

    /// How long an object is; none if there is no such object.
    fn len(&self, key: &str) -> Result<Option<u64>>;

    /// Removes an object; no error if it is not there.
    fn remove(&self, key: &str) -> Result<()>;

    /// The keys that begin with `prefix` and come behind `after`, in the order of their bytes, `max` at most. A key whose `put` was
    /// answered may be missing for a while, as nothing is ever found by a list but what is to be removed.
    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>>;

    /// Creates a row of a journal if there is none of that number: linearizable, so that of all who try for one number exactly one
    /// ever has it. Rows stay.
    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created>;

    /// The row of that number, linearizable: a row whose creation was answered, to anyone, is seen.
    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>>;

    /// The last row of a journal, linearizable, given that there is no row behind one that is missing. A row with the number `known` is
    /// there, if that is not none: where a search can begin.
    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        last_by_halving(self, journal, known)
    }

    /// Rows from a number on, until one is missing, `max` at most.
    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        let mut rows = Vec::new();
        while rows.len() < max
            && let Some(row) = self.row(journal, Seq(from.0 + rows.len() as u64))?
        {
            rows.push(row);
        }
        Ok(rows)
    }

    /// The value of a name, linearizable; none if it has none.
    fn value(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// Gives a name a new value if it has the old one (or has none, if that is none): linearizable.
    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped>;

    /// Says that a node lives; what it says replaces what it said before. No promise beyond that.
    fn beat(&self, node: &str, beat: &[u8]) -> Result<()>;

    /// Takes away what a node said last; no error if it said nothing.
    fn forget(&self, node: &str) -> Result<()>;

    /// What each node said last, in the order of their names.
    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>>;

    /// In which way the store as it is set up keeps less than it promises here, in sentences for who runs it.
    fn caveats(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// A reader found an object damaged: a cache that holds a copy of it drops the copy.
    fn doubt(&self, _key: &str) {}
}

/// Finds the last row by steps that double, then by halving what is left: about twice as many reads as the number has bits.
fn last_by_halving(
    shared: &(impl Shared + ?Sized),
    journal: &str,
    known: Option<Seq>,
) -> Result<Option<(Seq, Vec<u8>)>> {
    let start = known.unwrap_or_default();
    let Some(row) = shared.row(journal, start)? else {
        return match known {
            None => Ok(None),
            Some(seq) => Err(Error::damaged(format!("journal {journal}"), format!("row {seq} was there, and is not"))),
        };
    };
    let (mut there, mut step) = ((start, row), 1);
    let mut missing = loop {
        let further = Seq(there.0.0 + step);
        match shared.row(journal, further)? {
            Some(row) => there = (further, row),
            None => break further,
        }
        step *= 2;
    };
    while there.0.next() < missing {
        let middle = Seq(there.0.0 + (missing.0 - there.0.0) / 2);
        match shared.row(journal, middle)? {
            Some(row) => there = (middle, row),
            None => missing = middle,
        }
    }
    Ok(Some(there))
}

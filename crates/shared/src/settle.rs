//! What is done about a call whose outcome is not known: the one place where that is decided, for every back end.
//!
//! A creation that gave no answer is followed by a look at its number. The own row there means that it happened, another's that it never
//! will; where there is nothing it is tried again, which cannot do harm, since even an earlier attempt that still arrives creates the same
//! row under the same number. All else may be repeated as it is: objects never change, and values of names are not used twice.

use crate::{
    error::Result,
    ids::Seq,
    seam::{Created, Shared, Swapped},
};

/// So often is something tried of which no outcome is known, before the caller hears of it. Each try has taken the time that the back end
/// waits for an answer.
const ATTEMPTS: usize = 3;

/// Creates a row that no other node could write, so that it is known again. After [`crate::Error::Unknown`] the caller has to come back
/// with the same row before it appends anything else, as it may stand there or get there yet.
pub fn append(shared: &dyn Shared, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
    let verdict = |found: Vec<u8>| if found == row { Created::Done } else { Created::Taken(found) };
    let mut unknown = None;
    for _ in 0..ATTEMPTS {
        match shared.create(journal, seq, row) {
            Ok(Created::Done) => return Ok(Created::Done),
            Ok(Created::Taken(found)) => return Ok(verdict(found)),
            Err(error) if error.is_unknown() => unknown = Some(error),
            Err(error) => return Err(error),
        }
        match shared.row(journal, seq) {
            Ok(Some(found)) => return Ok(verdict(found)),
            Ok(None) => {}
            Err(error) if error.is_unknown() => {}
            Err(error) => return Err(error),
        }
    }
    Err(unknown.expect("each attempt was unknown"))
}

/// Gives a name a new value that it never had, so that the own value is known again.
pub fn swap(shared: &dyn Shared, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
    let mut unknown = None;
    for _ in 0..ATTEMPTS {
        match shared.swap(name, old, new) {
            Ok(Swapped::Done) => return Ok(Swapped::Done),
            // An earlier attempt may have happened after all.
            Ok(Swapped::Differs) => {}
            Err(error) if error.is_unknown() => unknown = Some(error),
            Err(error) => return Err(error),
        }
        match shared.value(name) {
            Ok(found) if found.as_deref() == Some(new) => return Ok(Swapped::Done),
            Ok(found) if found.as_deref() != old => return Ok(Swapped::Differs),
            Ok(_) => {}
            Err(error) if error.is_unknown() => unknown = Some(error),
            Err(error) => return Err(error),
        }
    }
    // The name has the old value whenever it is looked at, and another one whenever it is to be changed.
    unknown.map_or(Ok(Swapped::Differs), Err)
}

/// Puts an object.
pub fn put(shared: &dyn Shared, key: &str, bytes: &[u8]) -> Result<()> {
    repeated(|| shared.put(key, bytes))
}

/// Removes an object.
pub fn remove(shared: &dyn Shared, key: &str) -> Result<()> {
    repeated(|| shared.remove(key))
}

/// Takes away what a node said last.
pub fn forget(shared: &dyn Shared, node: &str) -> Result<()> {
    repeated(|| shared.forget(node))
}

/// Asks for something, again if no answer came.
pub fn read<T>(ask: impl Fn() -> Result<T>) -> Result<T> {
    repeated(ask)
}

fn repeated<T>(call: impl Fn() -> Result<T>) -> Result<T> {
    let mut result = call();
    for _ in 1..ATTEMPTS {
        match &result {
            Err(error) if error.is_unknown() => result = call(),
            _ => break,
        }
    }
    result
}

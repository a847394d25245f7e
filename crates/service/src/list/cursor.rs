//! Cursors: where the next page of a list begins, as a text that a client sends back as it is.

use std::{
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
};

use archive::PvId;

use crate::refusal::{Code, Refusal};

/// A name, twice as long, with the numbers before it.
const CURSOR_BYTES_MAX: usize = 4096;
/// What is said of a cursor that nobody gave out.
const UNKNOWN: &str = "the cursor is none that this archive gives";

/// By what a row stands where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Number(u64),
    Name(String),
}

/// Behind which row a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// In which table.
    pub(super) table: u64,
    /// Of which list: a digest of what was asked.
    pub(super) list: u64,
    pub(super) key: Key,
    pub(super) pv: PvId,
}

impl Cursor {
    pub(super) fn text(&self) -> String {
        let Cursor { table, list, pv, key } = self;
        let mut text = format!("{table:x}.{list:x}.{:x}.", pv.0);
        match key {
            Key::Number(number) => text.push_str(&format!("n{number:x}")),
            Key::Name(name) => {
                text.push('t');
                name.bytes()
                    .for_each(|byte| write!(text, "{byte:02x}").expect("a text takes all that is written to it"));
            }
        }
        text
    }

    /// Reads one that was given out for that list.
    pub(super) fn read(text: &str, list: u64) -> Result<Cursor, Refusal> {
        let cursor = (text.len() <= CURSOR_BYTES_MAX).then(|| Cursor::parse(text)).flatten();
        let cursor = cursor.ok_or_else(|| refused(UNKNOWN))?;
        if cursor.list != list {
            return Err(refused("the cursor belongs to a list that was asked for otherwise"));
        }
        Ok(cursor)
    }

    /// The number by which a row was sorted, and its PV.
    pub(super) fn by_number(self) -> Result<(u64, PvId), Refusal> {
        match self.key {
            Key::Number(number) => Ok((number, self.pv)),
            Key::Name(_) => Err(refused(UNKNOWN)),
        }
    }

    /// The name by which a row was sorted, and its PV.
    pub(super) fn by_name(self) -> Result<(String, PvId), Refusal> {
        match self.key {
            Key::Name(name) => Ok((name, self.pv)),
            Key::Number(_) => Err(refused(UNKNOWN)),
        }
    }

    fn parse(text: &str) -> Option<Cursor> {
        let mut parts = text.split('.');
        let mut part = || parts.next().filter(|part| part.is_ascii());
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (table, list) = (number(part()?)?, number(part()?)?);
        let (pv, key) = (u32::try_from(number(part()?)?).ok()?, part()?);
        let (kind, key) = (key.get(..1)?, key.get(1..)?);
        let key = match kind {
            "n" => Key::Number(number(key)?),
            "t" if key.len().is_multiple_of(2) => {
                let byte = |place: usize| u8::from_str_radix(key.get(place..place + 2)?, 16).ok();
                let bytes: Option<Vec<u8>> = (0..key.len()).step_by(2).map(byte).collect();
                Key::Name(String::from_utf8(bytes?).ok()?)
            }
            _ => return None,
        };
        parts.next().is_none().then_some(Cursor { table, list, pv: PvId(pv), key })
    }
}

fn refused(message: &str) -> Refusal {
    let refusal = Refusal::new(Code::BadRequest, message);
    refusal.hint("send back what stands as next in an answer, with all else as it was asked for")
}

/// What tells lists apart.
pub(super) fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = Cursor { table: 7, list: 9, key: Key::Number(u64::MAX), pv: PvId(3) };
        assert_eq!(Cursor::read(&cursor.text(), 9).unwrap(), cursor);
        assert!(Cursor::read(&cursor.text(), 8).is_err());
    }

    proptest! {
        #[test]
        fn cursors_come_back_as_they_were(table: u64, list: u64, pv: u32, name in ".{0,40}") {
            let cursor = Cursor { table, list, key: Key::Name(name), pv: PvId(pv) };
            prop_assert_eq!(Cursor::read(&cursor.text(), list).unwrap(), cursor);
        }

        #[test]
        fn whatever_comes_as_a_cursor_is_read_or_refused(text in "[0-9a-f.nt+é-]{0,40}|.{0,20}", list: u64) {
            _ = Cursor::read(&text, list);
        }
    }
}

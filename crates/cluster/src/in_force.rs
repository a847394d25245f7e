//! The format of what nodes share: journals, pieces, and what they ask of each other. A node reads all up to the newest that its program
//! knows, and writes the one in force, so that nodes of two versions work together. An operator raises it when the last one is updated.
//!
//! ```text
//!   format ──► the number in force, in digits; 1 where there is none       a name of the shared store
//! ```

use shared::{Error, Result, Shared, Swapped, settle};

/// The newest format that this program reads and writes.
pub const FORMAT: u32 = 1;

const NAME: &str = "format";

/// Why the format stays as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotRaised(pub(crate) String);

/// The format in force.
pub fn in_force(shared: &dyn Shared) -> Result<u32> {
    read(shared).map(|format| format.unwrap_or(1))
}

fn read(shared: &dyn Shared) -> Result<Option<u32>> {
    let Some(value) = settle::read(|| shared.value(NAME))? else { return Ok(None) };
    let number = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
    let damaged = || Error::Damaged { what: "the format in force".into(), reason: "its value is no number".into() };
    number.map(Some).ok_or_else(damaged)
}

/// The newest format that this program and all nodes read, if it is newer than the one in force.
pub(crate) fn newest(in_force: u32, own: u32, nodes: &[(String, u32)]) -> std::result::Result<u32, NotRaised> {
    let oldest = nodes.iter().min_by_key(|(_, format)| *format).filter(|(_, format)| *format < own);
    let (to, why) = match oldest {
        Some((node, format)) => {
            (*format, format!("node {node} reads no newer one: update it, or forget it if it is gone"))
        }
        None => (own, "no newer one is known to its nodes".to_owned()),
    };
    if to > in_force { Ok(to) } else { Err(NotRaised(format!("format {in_force} is in force, and {why}"))) }
}

/// Puts a format in force, unless a newer one is.
pub(crate) fn raise(shared: &dyn Shared, to: u32) -> Result<()> {
    loop {
        let before = read(shared)?;
        if before.unwrap_or(1) >= to {
            return Ok(());
        }
        let old = before.map(|format| format.to_string());
        if settle::swap(shared, NAME, old.as_deref().map(str::as_bytes), to.to_string().as_bytes())? == Swapped::Done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::twin::Memory;

    use super::*;

    fn nodes(formats: &[(&str, u32)]) -> Vec<(String, u32)> {
        formats.iter().map(|(node, format)| ((*node).to_owned(), *format)).collect()
    }

    #[test]
    fn the_oldest_node_decides_what_is_written() {
        assert_eq!(newest(1, 3, &nodes(&[("a", 3), ("b", 2)])), Ok(2));
        assert_eq!(newest(1, 3, &nodes(&[("a", 3), ("b", 4)])), Ok(3), "one that knows more says nothing against it");
        let NotRaised(why) = newest(2, 3, &nodes(&[("a", 3), ("b", 2)])).unwrap_err();
        assert!(why.starts_with("format 2 is in force, and node b reads no newer one"), "{why}");
        let NotRaised(why) = newest(1, 1, &nodes(&[("a", 1)])).unwrap_err();
        assert!(why.contains("no newer one is known"), "{why}");
    }

    #[test]
    fn a_format_once_raised_never_goes_back() {
        let shared = Memory::default();
        assert_eq!(in_force(&shared).unwrap(), 1);
        raise(&shared, 3).unwrap();
        raise(&shared, 2).unwrap();
        assert_eq!(in_force(&shared).unwrap(), 3);
        raise(&shared, 4).unwrap();
        assert_eq!(in_force(&shared).unwrap(), 4);
    }
}

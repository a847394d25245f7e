//! A PV: its name, its number in the archive, and how it is to be archived.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use sample::Timestamp;

use crate::{LEDGER_PREFIX, Method, Protocol, PvSettings, PvState};

/// The longest name that is accepted, in bytes. Records end at 61, but pvAccess and gateways allow more.
pub const NAME_BYTES_MAX: usize = 255;

/// A PV's name without protocol prefix: 1 to 255 bytes, no blanks, no control characters, neither `.` nor `..`, which mean folders
/// in URLs, and none that the archive gives to PVs of its own.
#[derive(Clone, Debug, Eq, PartialOrd, Ord)]
pub struct PvName(Arc<str>);

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Nothing there.
    Empty,
    /// Longer than 255 bytes.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// A blank or control character.
    BadCharacter {
        /// The character.
        character: char,
        /// Where, in bytes from the start.
        offset: usize,
    },
    /// `.` or `..`, which no URL can hold as a name.
    OnlyDots,
    /// One of those that the archive gives to PVs of its own.
    Ours {
        /// How all of them begin.
        prefix: &'static str,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => write!(f, "a PV name cannot be empty"),
            NameError::TooLong { bytes } => {
                write!(f, "a PV name has at most {NAME_BYTES_MAX} bytes, this one has {bytes}")
            }
            NameError::BadCharacter { character, offset } => {
                write!(f, "a PV name has no blanks or control characters, found {character:?} at byte {offset}")
            }
            NameError::OnlyDots => write!(f, "a PV cannot be called . or .., which mean folders in a URL"),
            NameError::Ours { prefix } => {
                write!(f, "a PV name cannot begin with {prefix}, as those of the archive's own accounts do")
            }
        }
    }
}

impl std::error::Error for NameError {}

impl PvName {
    /// Checks a name that somebody gives to a PV. Takes it as it is: no prefix is cut off, nothing is trimmed.
    pub fn new(name: &str) -> Result<PvName, NameError> {
        if name == "." || name == ".." {
            return Err(NameError::OnlyDots);
        }
        if name.starts_with(LEDGER_PREFIX) {
            return Err(NameError::Ours { prefix: LEDGER_PREFIX });
        }
        PvName::recorded(name)
    }

    /// A name that an archive has written down: its own are among them, and those that were given before they were refused.
    pub fn recorded(name: &str) -> Result<PvName, NameError> {
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong { bytes: name.len() });
        }
        match name.char_indices().find(|(_, c)| c.is_whitespace() || c.is_control()) {
            Some((offset, character)) => Err(NameError::BadCharacter { character, offset }),
            None => Ok(PvName(name.into())),
        }
    }

    /// Takes `ca://NAME` and `pva://NAME` apart; a name without prefix gives no protocol.
    pub fn parse(address: &str) -> Result<(Option<Protocol>, PvName), NameError> {
        let (protocol, name) = if let Some(name) = address.strip_prefix("ca://") {
            (Some(Protocol::Ca), name)
        } else if let Some(name) = address.strip_prefix("pva://") {
            (Some(Protocol::Pva), name)
        } else {
            (None, address)
        };
        Ok((protocol, PvName::new(name)?))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PvName {
    /// The same text, for whoever knows no names of PVs: a million of them take no room twice.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// Copies of one name share its text, which is not read then.
impl PartialEq for PvName {
    fn eq(&self, other: &PvName) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Hash for PvName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for PvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name is found in a table by its text.
impl std::borrow::Borrow<str> for PvName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for PvName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A PV's number in one archive. Numbers are never used again, so data never changes owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PvId(pub u32);

/// A PV that the archive knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PvEntry {
    /// Its number.
    pub id: PvId,
    /// Its name.
    pub name: PvName,
    /// How it is archived.
    pub settings: PvSettings,
    /// When it was added.
    pub added: Timestamp,
}

/// What lists say of a PV beside its name: the part of its entry for which nothing has to be copied but numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// When it was added.
    pub added: Timestamp,
    /// When samples are taken.
    pub method: Method,
    /// Whether samples are taken at all.
    pub state: PvState,
}

impl From<&PvEntry> for Outline {
    fn from(entry: &PvEntry) -> Outline {
        Outline { added: entry.added, method: entry.settings.method, state: entry.settings.state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_selects_the_protocol_and_is_not_part_of_the_name() {
        assert_eq!(PvName::parse("pva://A:B").unwrap(), (Some(Protocol::Pva), PvName::new("A:B").unwrap()));
        assert_eq!(PvName::parse("A:B.HIHI").unwrap(), (None, PvName::new("A:B.HIHI").unwrap()));
    }

    #[test]
    fn names_with_blanks_or_of_no_or_too_great_length_are_refused() {
        assert_eq!(PvName::new(""), Err(NameError::Empty));
        assert_eq!(PvName::new("a b"), Err(NameError::BadCharacter { character: ' ', offset: 1 }));
        assert_eq!(PvName::new(&"x".repeat(256)), Err(NameError::TooLong { bytes: 256 }));
        assert!(PvName::parse("ca://").is_err());
    }

    #[test]
    fn names_that_cannot_stand_in_a_url_or_are_ours_are_refused_and_can_be_read_back() {
        for name in [".", "..", "ledger:minute:00", "ledger:hour:63"] {
            assert!(PvName::new(name).is_err(), "{name}");
            assert!(PvName::parse(&format!("pva://{name}")).is_err(), "{name}");
            assert_eq!(PvName::recorded(name).unwrap().as_str(), name);
        }
        for name in ["...", ".A", "A..", "LEDGER:minute:00", "A:ledger:minute:00"] {
            assert_eq!(PvName::new(name).unwrap().as_str(), name);
        }
        for name in ["", "a\nb", "a\0", "\u{85}"] {
            assert!(PvName::new(name).is_err() && PvName::recorded(name).is_err(), "{name:?}");
        }
    }
}

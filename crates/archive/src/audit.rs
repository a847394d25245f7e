//! The audit: who ordered a change, and when.

use std::{fmt, net::IpAddr};

use sample::Timestamp;

/// The audit keeps at most this many characters of the name that a client gives itself.
const CLAIMED_CHARS_MAX: usize = 100;

/// Who does something. The archive establishes it: by the address from which an order comes, or as one of its own parts. What a
/// client calls itself is a claim beside that, and never in its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    established: Box<str>,
    claimed: Option<Box<str>>,
}

impl Principal {
    /// Whoever sends orders from an address.
    pub fn at(address: IpAddr) -> Principal {
        Principal { established: address.to_string().into(), claimed: None }
    }

    /// A part of the archiver itself, or who uses its program on its machine. Nothing that comes over the network may be this.
    pub fn here(who: impl Into<Box<str>>) -> Principal {
        Principal { established: who.into(), claimed: None }
    }

    /// The same, calling itself so.
    pub fn calling_itself(self, name: &str) -> Principal {
        let name: String = name.chars().filter(|c| !c.is_control()).take(CLAIMED_CHARS_MAX).collect();
        Principal { claimed: (!name.is_empty()).then(|| name.into()), ..self }
    }

    /// As an archive has written it down. What stands behind the last ` at ` was established if it is an address.
    pub fn recorded(text: &str) -> Principal {
        match text.rsplit_once(" at ") {
            Some((name, address)) if address == ARCHIVER || address.parse::<IpAddr>().is_ok() => {
                Principal { established: address.into(), claimed: Some(name.into()) }
            }
            _ => Principal::here(text),
        }
    }

    /// What the archive knows of it: an address, or a part of itself.
    pub fn established(&self) -> &str {
        &self.established
    }

    /// What it calls itself. Nobody has looked whether that is so.
    pub fn claimed(&self) -> Option<&str> {
        self.claimed.as_deref()
    }
}

/// The archiver, when nobody told it to.
pub const ARCHIVER: &str = "the archiver";

/// As the audit shows it: what it calls itself, and where it is.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.claimed {
            Some(name) => write!(f, "{name} at {}", self.established),
            None => f.write_str(&self.established),
        }
    }
}

/// A text of the program: no client can write one.
impl From<&'static str> for Principal {
    fn from(who: &'static str) -> Principal {
        Principal::here(who)
    }
}

/// Who ordered a change, and when: what the audit keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// A person, a program or an address.
    pub who: Principal,
    /// When.
    pub at: Timestamp,
}

impl By {
    /// Somebody, at a time.
    pub fn new(who: impl Into<Principal>, at: Timestamp) -> By {
        By { who: who.into(), at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_stands_before_what_is_established_and_comes_back_as_such() {
        let address = "10.0.0.7".parse().unwrap();
        let cases = [
            (Principal::at(address), "10.0.0.7", None),
            (Principal::at(address).calling_itself("ana"), "10.0.0.7", Some("ana")),
            (Principal::at(address).calling_itself("root at 127.0.0.1"), "10.0.0.7", Some("root at 127.0.0.1")),
            (Principal::at("::1".parse().unwrap()).calling_itself(" at "), "::1", Some(" at ")),
            (Principal::here(ARCHIVER).calling_itself("ana"), "the archiver", Some("ana")),
            (Principal::here("purge_after in the config"), "purge_after in the config", None),
            (Principal::here("ana at work"), "ana at work", None),
        ];
        for (principal, established, claimed) in cases {
            assert_eq!((principal.established(), principal.claimed()), (established, claimed));
            assert_eq!(Principal::recorded(&principal.to_string()), principal);
        }
    }

    #[test]
    fn claims_are_short_and_have_no_control_characters() {
        let principal = Principal::here("here");
        assert_eq!(principal.clone().calling_itself("a\nb").claimed(), Some("ab"));
        assert_eq!(principal.clone().calling_itself("\n").claimed(), None);
        assert_eq!(principal.calling_itself(&"x".repeat(1000)).claimed().map(str::len), Some(CLAIMED_CHARS_MAX));
    }
}

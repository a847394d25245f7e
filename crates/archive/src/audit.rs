//! The audit: who ordered a change, and when.

use std::{
    fmt::{self, Write},
    net::IpAddr,
};

use sample::Timestamp;

/// The audit keeps at most this many characters of the name that a client gives itself.
const CLAIMED_CHARS_MAX: usize = 100;

/// How a name begins that the archive has established, but for `anonymous`, which is one by itself.
const KINDS: [&str; 6] = ["oidc:", "ldap:", "proxy:", "certificate:", "token:", "local:"];

/// Who does something. The archive establishes it: by what somebody has proved, by the address from which an order comes, or as one
/// of its own parts. What a client calls itself is a claim beside that, and never in its place.
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

    /// Somebody who has proved a name like `oidc:operator1`. Blanks, control characters and `%` in it are written as in URLs, so that
    /// no name looks like another one with an address.
    pub fn identified(name: &str, from: Option<IpAddr>) -> Principal {
        let mut established = String::with_capacity(name.len());
        for character in name.chars() {
            match character {
                plain if !plain.is_whitespace() && !plain.is_control() && plain != '%' => established.push(plain),
                other => other.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                    write!(established, "%{byte:02X}").expect("writing to memory cannot fail");
                }),
            }
        }
        if let Some(address) = from {
            write!(established, "{FROM}{address}").expect("writing to memory cannot fail");
        }
        Principal { established: established.into(), claimed: None }
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

    /// As an archive has written it down. What stands behind the last ` at ` was established if it is an address or a proved name.
    pub fn recorded(text: &str) -> Principal {
        match text.rsplit_once(" at ") {
            Some((name, established)) if established == ARCHIVER || is_established(established) => {
                Principal { established: established.into(), claimed: Some(name.into()) }
            }
            _ => Principal::here(text),
        }
    }

    /// What the archive knows of it: an address, a proved name and an address, or a part of itself.
    pub fn established(&self) -> &str {
        &self.established
    }

    /// The name of it: a proved one like `oidc:operator1`, `anonymous` for whoever is known by an address alone, or a part of the
    /// archiver.
    pub fn name(&self) -> &str {
        match self.established.rsplit_once(FROM) {
            Some((name, _)) if is_established(&self.established) => name,
            _ if self.address().is_some() => ANONYMOUS,
            _ => &self.established,
        }
    }

    /// From where it came, if that was over a network.
    pub fn address(&self) -> Option<IpAddr> {
        let address = self.established.rsplit_once(FROM).map_or(&*self.established, |(_, address)| address);
        address.parse().ok()
    }

    /// What it calls itself. Nobody has looked whether that is so.
    pub fn claimed(&self) -> Option<&str> {
        self.claimed.as_deref()
    }
}

/// Whether a text is an address, or a proved name with or without one.
fn is_established(text: &str) -> bool {
    let (name, address) = text.rsplit_once(FROM).map_or((text, None), |(name, address)| (name, Some(address)));
    let is_name =
        name == ANONYMOUS || KINDS.iter().any(|kind| name.starts_with(kind)) && !name.contains(char::is_whitespace);
    match address {
        Some(address) => is_name && address.parse::<IpAddr>().is_ok(),
        None => is_name || name.parse::<IpAddr>().is_ok(),
    }
}

/// Whoever has proved nothing.
pub const ANONYMOUS: &str = "anonymous";

/// What stands between a name and an address.
const FROM: &str = " from ";

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
    fn a_proved_name_keeps_its_address_and_is_never_mistaken() {
        let address = "10.0.0.7".parse().unwrap();
        let cases = [
            (
                Principal::identified("oidc:operator1", Some(address)),
                "oidc:operator1 from 10.0.0.7",
                "oidc:operator1",
                Some(address),
            ),
            (Principal::identified("local:0", None), "local:0", "local:0", None),
            (Principal::at(address), "10.0.0.7", "anonymous", Some(address)),
            (
                Principal::identified("ldap:a at token:b from 1.1.1.1\n%", Some(address)),
                "ldap:a%20at%20token:b%20from%201.1.1.1%0A%25 from 10.0.0.7",
                "ldap:a%20at%20token:b%20from%201.1.1.1%0A%25",
                Some(address),
            ),
        ];
        for (principal, established, name, from) in cases {
            assert_eq!((principal.established(), principal.name(), principal.address()), (established, name, from));
            for principal in [principal.clone(), principal.calling_itself("root at oidc:root from 1.1.1.1")] {
                let recorded = Principal::recorded(&principal.to_string());
                assert_eq!((recorded.to_string(), recorded.name()), (principal.to_string(), principal.name()));
            }
        }
        let part = Principal::here("the purge from here");
        assert_eq!((part.name(), part.address()), ("the purge from here", None));
        let claims = Principal::identified("token:ingest", None).calling_itself("root at oidc:root");
        assert_eq!(Principal::recorded(&claims.to_string()), claims);
    }

    #[test]
    fn claims_are_short_and_have_no_control_characters() {
        let principal = Principal::here("here");
        assert_eq!(principal.clone().calling_itself("a\nb").claimed(), Some("ab"));
        assert_eq!(principal.clone().calling_itself("\n").claimed(), None);
        assert_eq!(principal.calling_itself(&"x".repeat(1000)).claimed().map(str::len), Some(CLAIMED_CHARS_MAX));
    }
}

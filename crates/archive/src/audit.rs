//! The audit: who ordered a change, how that is known, from where, and when.

use std::{fmt, net::IpAddr};

use sample::Timestamp;

/// The audit keeps at most this many characters of the name that a client gives itself.
const CLAIMED_CHARS_MAX: usize = 100;

/// How the archive knows who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// By nothing but the address from which the order came.
    Address,
    /// It is a part of the archiver, or uses its program on its machine.
    Here,
    /// By the user of a process of this machine, as the system tells it of a socket.
    Socket,
    /// By a certificate that it showed.
    Certificate,
    /// By a token of this archive.
    Token,
    /// By an identity server, in the manner of OpenID Connect.
    Oidc,
    /// By a directory that took its password.
    Ldap,
    /// By a proxy that is trusted.
    Proxy,
    /// It showed nothing, where nothing need be shown.
    Anonymous,
}

impl How {
    /// All of them.
    pub const ALL: [How; 9] = [
        How::Address,
        How::Here,
        How::Socket,
        How::Certificate,
        How::Token,
        How::Oidc,
        How::Ldap,
        How::Proxy,
        How::Anonymous,
    ];

    /// The word for it on disk and in answers.
    pub fn name(self) -> &'static str {
        match self {
            How::Address => "address",
            How::Here => "here",
            How::Socket => "local",
            How::Certificate => "certificate",
            How::Token => "token",
            How::Oidc => "oidc",
            How::Ldap => "ldap",
            How::Proxy => "proxy",
            How::Anonymous => "anonymous",
        }
    }

    /// That of this name.
    pub fn from_name(name: &str) -> Option<How> {
        How::ALL.into_iter().find(|how| how.name() == name)
    }
}

/// By which way an order came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Way {
    /// From which address; none if by a socket of this machine.
    pub address: Option<IpAddr>,
    /// Where the archiver listened for it.
    pub listener: Box<str>,
    /// The number that the request was given, which its answer and the log have too.
    pub request: Box<str>,
}

/// Who does something. The archive establishes it: by what a client shows, by the address from which an order comes, or as one of its own
/// parts. What a client calls itself is a claim beside that, and never in its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    established: Box<str>,
    claimed: Option<Box<str>>,
    /// None if an older program has written it down.
    how: Option<How>,
    way: Option<Box<Way>>,
}

impl Principal {
    /// Whoever sends orders from an address.
    pub fn at(address: IpAddr) -> Principal {
        Principal::new(address.to_string(), How::Address)
    }

    fn new(established: impl Into<Box<str>>, how: How) -> Principal {
        Principal { established: established.into(), claimed: None, how: Some(how), way: None }
    }

    /// Somebody who has shown who they are, such as `token:ingest`, `oidc:operator1` or `local:0`.
    pub fn shown(how: How, name: &str) -> Principal {
        Principal::new(format!("{}:{name}", how.name()), how)
    }

    /// The same, by this way.
    pub fn by_way(self, way: Way) -> Principal {
        Principal { way: Some(Box::new(way)), ..self }
    }

    /// A part of the archiver itself, or who uses its program on its machine. Nothing that comes over the network may be this.
    pub fn here(who: impl Into<Box<str>>) -> Principal {
        Principal::new(who, How::Here)
    }

    /// The same, calling itself so.
    pub fn calling_itself(self, name: &str) -> Principal {
        let name: String = name.chars().filter(|c| !c.is_control()).take(CLAIMED_CHARS_MAX).collect();
        Principal { claimed: (!name.is_empty()).then(|| name.into()), ..self }
    }

    /// As an archive has written it down: in one text, beside which stands how it was established, and what was claimed.
    pub fn recorded(text: &str, how: How, claimed: Option<&str>, way: Option<Way>) -> Principal {
        let before = claimed.map_or_else(String::new, |name| format!("{name} at "));
        let established = text.strip_prefix(&*before).unwrap_or(text);
        let way = way.map(Box::new);
        Principal { established: established.into(), claimed: claimed.map(Box::from), how: Some(how), way }
    }

    /// As an older program has written it down, in one text alone. What stands behind the last ` at ` was established if it is an address.
    pub fn recorded_alone(text: &str) -> Principal {
        let is_established = |who: &str| who == ARCHIVER || who.parse::<IpAddr>().is_ok();
        let (established, claimed) = match text.rsplit_once(" at ") {
            Some((name, who)) if is_established(who) => (who, Some(name.into())),
            _ => (text, None),
        };
        Principal { established: established.into(), claimed, how: None, way: None }
    }

    /// The one text of `recorded` and `recorded_alone`.
    pub fn in_records(&self) -> String {
        match &self.claimed {
            Some(name) => format!("{name} at {}", self.established),
            None => self.established.to_string(),
        }
    }

    /// How the archive knows it; none in what an older program has written down.
    pub fn how(&self) -> Option<How> {
        self.how
    }

    /// By which way its order came; none of what the archiver does by itself, and in what an older program has written down.
    pub fn way(&self) -> Option<&Way> {
        self.way.as_deref()
    }

    /// What the archive knows of it: an address, a part of itself, or how it has shown who it is with a name, as `token:ingest`.
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

/// As people read it: what is known comes first, so that no claim looks like it.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.claimed {
            Some(name) => write!(f, "{} (calls itself {name})", self.established),
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
            (Principal::shown(How::Token, "ingest").calling_itself("ana"), "token:ingest", Some("ana")),
            (Principal::shown(How::Oidc, "a at b").calling_itself("token:x"), "oidc:a at b", Some("token:x")),
            (Principal::at(address).calling_itself("token:ingest"), "10.0.0.7", Some("token:ingest")),
        ];
        for (principal, established, claimed) in cases {
            assert_eq!((principal.established(), principal.claimed()), (established, claimed));
            let way = Way { address: Some(address), listener: "127.0.0.1:17665".into(), request: "7".into() };
            let principal = principal.by_way(way.clone());
            let text = principal.in_records();
            assert_eq!(
                Principal::recorded(&text, principal.how().unwrap(), principal.claimed(), Some(way)),
                principal,
                "{text}"
            );
        }
    }

    #[test]
    fn what_an_older_program_wrote_has_no_how_and_no_way() {
        for (text, established, claimed) in [
            ("ana at 10.0.0.7", "10.0.0.7", Some("ana")),
            ("root at 127.0.0.1 at ::1", "::1", Some("root at 127.0.0.1")),
            ("ana at the archiver", "the archiver", Some("ana")),
            ("ana at token:ingest", "ana at token:ingest", None),
        ] {
            let recorded = Principal::recorded_alone(text);
            assert_eq!((recorded.established(), recorded.claimed()), (established, claimed));
            assert_eq!((recorded.how(), recorded.way()), (None, None));
        }
        assert_eq!(How::ALL.map(|how| How::from_name(how.name())), How::ALL.map(Some));
    }

    #[test]
    fn claims_are_short_and_have_no_control_characters() {
        let principal = Principal::here("here");
        assert_eq!(principal.clone().calling_itself("a\nb").claimed(), Some("ab"));
        assert_eq!(principal.clone().calling_itself("\n").claimed(), None);
        assert_eq!(principal.calling_itself(&"x".repeat(1000)).claimed().map(str::len), Some(CLAIMED_CHARS_MAX));
    }
}

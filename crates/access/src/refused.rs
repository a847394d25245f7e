//! Refused: why somebody is not let in, or may not do something, in terms that every front end can answer with.

use std::{fmt, time::Duration};

use archive::Right;

/// How to show who one is, for `WWW-Authenticate`.
pub(crate) const BEARER: &str = "Bearer realm=\"pvark\"";

/// Whoever finds an identity server away asks again after this.
const AWAY_FOR: Duration = Duration::from_secs(10);

/// What kind of answer a refusal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The credential is wrong, or one is needed and none came: 401, with a header that says which kinds are taken.
    Unproved {
        /// For `WWW-Authenticate`.
        challenge: String,
    },
    /// The request contradicts itself, or claims what it may not: 400.
    Malformed,
    /// It is known who asks, and it is not allowed: 403.
    Forbidden {
        /// What is missing.
        right: Right,
    },
    /// Too often, or too much at once: 429.
    TooMany {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// Whoever could say who asks does not answer: 503.
    Unavailable {
        /// For `Retry-After`.
        retry_after: Duration,
    },
}

/// The word by which refusals are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Nothing was shown, and anonymous clients may not do it.
    Anonymous,
    /// `Authorization` cannot be read, or is of an unknown kind.
    Malformed,
    /// There is more than one credential of a kind.
    Doubled,
    /// No such token, or not that one.
    Token,
    /// The token has expired.
    TokenExpired,
    /// A session that is over, or never was.
    Session,
    /// A token of the OpenID provider that does not hold.
    Jwt,
    /// A login at the OpenID provider that does not hold.
    Login,
    /// A wrong name or password.
    Password,
    /// Too many wrong passwords.
    LockedOut,
    /// A certificate that does not hold any more.
    Certificate,
    /// A password where it could be overheard.
    Plain,
    /// A header of the proxy that came from somebody else.
    ProxyForeign,
    /// A header of the proxy that came twice, or contradicts itself.
    ProxyDoubled,
    /// A right that is missing.
    Right,
    /// A right that nobody has at this listener.
    Listener,
    /// Too many requests.
    Rate,
    /// Too many long answers at once.
    LongAnswers,
    /// The identity server does not answer.
    Away,
}

impl Reason {
    /// All of them, so that each has its counter from the beginning.
    pub const ALL: [Reason; 19] = [
        Reason::Anonymous,
        Reason::Malformed,
        Reason::Doubled,
        Reason::Token,
        Reason::TokenExpired,
        Reason::Session,
        Reason::Jwt,
        Reason::Login,
        Reason::Password,
        Reason::LockedOut,
        Reason::Certificate,
        Reason::Plain,
        Reason::ProxyForeign,
        Reason::ProxyDoubled,
        Reason::Right,
        Reason::Listener,
        Reason::Rate,
        Reason::LongAnswers,
        Reason::Away,
    ];

    /// The label of `pvark_access_refused_total`.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Anonymous => "anonymous",
            Reason::Malformed => "malformed",
            Reason::Doubled => "doubled",
            Reason::Token => "token",
            Reason::TokenExpired => "token_expired",
            Reason::Session => "session",
            Reason::Jwt => "jwt",
            Reason::Login => "login",
            Reason::Password => "password",
            Reason::LockedOut => "locked_out",
            Reason::Certificate => "certificate",
            Reason::Plain => "plain",
            Reason::ProxyForeign => "proxy_foreign",
            Reason::ProxyDoubled => "proxy_doubled",
            Reason::Right => "right",
            Reason::Listener => "listener",
            Reason::Rate => "rate",
            Reason::LongAnswers => "long_answers",
            Reason::Away => "away",
        }
    }
}

/// A refusal. Its text names no token, password or cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is answered.
    pub kind: Kind,
    /// What is counted.
    pub reason: Reason,
    /// What is said.
    pub message: String,
}

impl Refused {
    /// A right is missing.
    pub(crate) fn forbidden(right: Right, reason: Reason, message: String) -> Refused {
        Refused { kind: Kind::Forbidden { right }, reason, message }
    }

    /// Whoever could say who asks does not answer.
    pub fn away(whom: &str) -> Refused {
        let message = format!("{whom} does not answer, so that nobody can say who this is");
        Refused { kind: Kind::Unavailable { retry_after: AWAY_FOR }, reason: Reason::Away, message }
    }

    pub(crate) fn malformed(reason: Reason, message: impl Into<String>) -> Refused {
        Refused { kind: Kind::Malformed, reason, message: message.into() }
    }

    pub(crate) fn too_many(reason: Reason, retry_after: Duration, message: impl Into<String>) -> Refused {
        Refused { kind: Kind::TooMany { retry_after }, reason, message: message.into() }
    }

    /// The status of HTTP that says it.
    pub fn status(&self) -> u16 {
        match self.kind {
            Kind::Unproved { .. } => 401,
            Kind::Malformed => 400,
            Kind::Forbidden { .. } => 403,
            Kind::TooMany { .. } => 429,
            Kind::Unavailable { .. } => 503,
        }
    }

    /// In how many whole seconds to try again.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self.kind {
            Kind::TooMany { retry_after } | Kind::Unavailable { retry_after } => {
                Some(retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

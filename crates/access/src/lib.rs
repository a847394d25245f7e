//! Who asks, and what they may do: the same for every front end, and for the socket of administrators.
//!
//! ```text
//!   request ──► Presented { address, listener, headers, certificate }
//!                  │
//!                  ▼                 certificate, token, JWT, password, session, proxy, nothing: the first that is shown counts,
//!             Access::identify       and what is shown and wrong is refused
//!                  │   ├── Config    [access]: what everybody may do, grants, where identities come from
//!                  │   ├── tokens    random words of programs; the archive keeps their hashes
//!                  │   └── sessions  random words of browsers; memory keeps their hashes
//!                  ▼
//!              Identity { who, groups, rights }
//!                  ├── admit, long_answer     how much one may ask
//!                  ├── need, need_for         whether they may, or which refusal it is
//!                  ├── rights.may, sees       for each PV of an answer
//!                  ├── principal              for the audit
//!                  └── Access::again          the same, half a minute later
//! ```
//!
//! Nothing here knows HTTP's types, sockets or the store. Times are arguments. A word that proves something is in no text, log or
//! error: only its hash is kept, and what is kept of a token is what may be seen of it.

#![deny(missing_docs)]

mod access;
pub mod config;
mod explain;
mod http;
mod identity;
#[cfg(test)]
mod idp;
mod jwt;
#[cfg(feature = "ldap")]
mod ldap;
mod limits;
#[cfg(feature = "ldap")]
mod lockout;
mod login;
mod presented;
mod provider;
mod random;
mod refused;
mod rights;
mod sessions;
#[cfg(feature = "ldap")]
mod tls;
mod tokens;
mod who;

pub use access::{Access, AccessError, LoggedIn};
pub use config::Config;
pub use explain::{Explanation, Question};
pub use identity::{Denied, Identity};
pub use limits::{Key as LimitKey, LongAnswer};
pub use login::{Callback, Redirect};
pub use presented::{Certificate, From, Presented};
pub use refused::{Kind, Reason, Refused};
pub use rights::{Rights, Scope};
pub use sessions::{COOKIE, IDLE_MAX, LoginSession, PLAIN_COOKIE, SESSION_MAX, Transport, clear_cookie, set_cookie};
pub use tokens::{InMemory, NewToken, TokenError, TokenWish};
pub use who::Who;

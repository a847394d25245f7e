//! Tokens: what an archive keeps of the random words by which programs say who they are. The words themselves are kept nowhere.

use sample::Timestamp;

use crate::{By, Right};

/// What is kept of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// The part of it that may be seen; no two have the same.
    pub id: Box<str>,
    /// What its maker called it.
    pub name: Box<str>,
    /// The SHA-256 of the whole token.
    pub hash: [u8; 32],
    /// What it may do.
    pub right: Right,
    /// To which PVs, by patterns; `*` is for all.
    pub pvs: Vec<Box<str>>,
    /// Who made it, and when.
    pub made: By,
    /// From when on it is of no use.
    pub expires: Timestamp,
    /// The beginning of the day of its last use, in UTC; none if it was never used.
    pub used: Option<Timestamp>,
}

/// Why tokens cannot be read or changed.
pub type TokensError = Box<dyn std::error::Error + Send + Sync>;

/// Where tokens are kept.
pub trait Tokens: Send + Sync {
    /// All of them, also those that have expired, in the order of their ids.
    fn list(&self) -> Result<Vec<TokenRow>, TokensError>;

    /// Keeps a new one, with its line in the audit.
    fn add(&self, token: &TokenRow) -> Result<(), TokensError>;

    /// Forgets one for good, with its line in the audit. Whether there was one.
    fn revoke(&self, id: &str, by: &By) -> Result<bool, TokensError>;

    /// Notes the days of last uses: pairs of an id and a day. Unknown ids are passed over.
    fn touch(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), TokensError>;
}

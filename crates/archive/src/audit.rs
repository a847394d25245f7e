//! The audit: who ordered a change, and when.

use sample::Timestamp;

/// Who ordered a change, and when: what the audit keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// A person, a program or an address.
    pub who: String,
    /// When.
    pub at: Timestamp,
}

impl By {
    /// Somebody, at a time.
    pub fn new(who: impl Into<String>, at: Timestamp) -> By {
        By { who: who.into(), at }
    }
}

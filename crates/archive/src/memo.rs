//! Memos: what people write beside the samples, which are never touched by it. A note says something of a time and of PVs, a view keeps under
//! a name what a page showed.

use std::fmt;

use sample::Timestamp;

use crate::{By, PvName};

/// The longest text of a memo, in bytes.
pub const MEMO_TEXT_MAX: usize = 64 << 10;
/// The longest name of a view, its folders included, in bytes.
pub const MEMO_NAME_MAX: usize = 255;
/// The most PVs that a memo is about.
pub const MEMO_PVS_MAX: usize = 1000;
/// The most memos of an archive, and the most bytes that they may take together.
pub const MEMOS_MAX: u64 = 100_000;
/// See `MEMOS_MAX`.
pub const MEMOS_BYTES_MAX: u64 = 64 << 20;

/// Which kind of memo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoKind {
    /// Something said of a time, of PVs, or of both.
    Note,
    /// What a page showed, under a name.
    View,
}

impl MemoKind {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            MemoKind::Note => "note",
            MemoKind::View => "view",
        }
    }
}

/// A memo as somebody writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoText {
    /// Which kind.
    pub kind: MemoKind,
    /// Of a view: its name behind its folders, as `operation/trips/2026`. No two views have the same.
    pub name: String,
    /// What is said. It is text, and nothing else.
    pub text: String,
    /// Of a view: what the page showed, as it stands behind the `?` of its address.
    pub query: String,
    /// About which PVs. Whoever does not see all of them does not see it.
    pub pvs: Vec<PvName>,
    /// About which time: from here, if from anywhere.
    pub from: Option<Timestamp>,
    /// Until here (not included). A moment is marked by `from` alone.
    pub to: Option<Timestamp>,
    /// Who wrote it in another archive, and when, if it was brought from there.
    pub origin: String,
}

/// Why somebody's memo is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoError {
    /// Something of it is longer than it may be.
    TooLong {
        /// What.
        what: &'static str,
        /// How long, and how long it may be.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// Something of it cannot be so.
    Wrong(&'static str),
}

impl fmt::Display for MemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoError::TooLong { what, len, max } => write!(f, "{what} has {len}, at most {max} are taken"),
            MemoError::Wrong(why) => f.write_str(why),
        }
    }
}

impl MemoText {
    /// Refuses what an archive does not keep.
    pub fn check(&self) -> Result<(), MemoError> {
        let limits = [
            ("the text, in bytes,", self.text.len(), MEMO_TEXT_MAX),
            ("what the view shows, in bytes,", self.query.len(), MEMO_TEXT_MAX),
            ("where it comes from, in bytes,", self.origin.len(), MEMO_TEXT_MAX),
            ("the name, in bytes,", self.name.len(), MEMO_NAME_MAX),
            ("the list of PVs", self.pvs.len(), MEMO_PVS_MAX),
        ];
        if let Some((what, len, max)) = limits.into_iter().find(|(_, len, max)| len > max) {
            return Err(MemoError::TooLong { what, len, max });
        }
        if self.from.zip(self.to).is_some_and(|(from, to)| from >= to) || (self.from.is_none() && self.to.is_some()) {
            return Err(MemoError::Wrong("a range begins before it ends, and a moment has from= alone"));
        }
        match self.kind {
            MemoKind::Note if self.text.trim().is_empty() => Err(MemoError::Wrong("a note says something")),
            MemoKind::Note if !self.name.is_empty() || !self.query.is_empty() => {
                Err(MemoError::Wrong("a note has no name and shows nothing; a view does"))
            }
            MemoKind::Note => Ok(()),
            MemoKind::View => self.check_view(),
        }
    }

    fn check_view(&self) -> Result<(), MemoError> {
        let is_part = |part: &str| !part.trim().is_empty() && !part.chars().any(char::is_control) && part != "..";
        if !self.name.split('/').all(is_part) {
            return Err(MemoError::Wrong("a view has a name, with / between it and its folders, none of them empty"));
        }
        if self.query.starts_with('?') || self.query.chars().any(|c| c.is_control() || c == '#') {
            return Err(MemoError::Wrong("a view shows what stands behind the ? of the page's address, without it"));
        }
        Ok(())
    }
}

/// A memo as the archive keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// By which it is named. Numbers are not used again.
    pub number: u64,
    /// What was written.
    pub text: MemoText,
    /// By whom, and when.
    pub made: By,
    /// Who changed it last, and when; none if nobody has.
    pub changed: Option<By>,
}

/// Takes one memo after the other, the newest first, and says whether it wants more.
pub type LookAtMemo<'l> = dyn FnMut(Memo) -> bool + 'l;

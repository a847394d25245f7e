//! A fault: what is wrong with an expression, where, and what to write instead.

use std::fmt;

/// Where something stands in the text of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The first byte.
    pub at: usize,
    /// The character, counted from 1, as people count.
    pub character: usize,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionFault {
    /// Where.
    pub place: Place,
    /// Why.
    pub reason: Reason,
}

/// Why an expression means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It cannot be read; a sentence.
    Syntax(String),
    /// It is too long, too deep, or has too many terms or PVs; a sentence.
    TooMuch(String),
    /// No PV has that name.
    UnknownPv(String),
    /// A number stands where a condition is needed, or the like; a sentence.
    Kind(String),
    /// Numbers of different units are added or compared; a sentence.
    Units(String),
}

impl ExpressionFault {
    pub(crate) fn new(place: Place, reason: Reason) -> ExpressionFault {
        ExpressionFault { place, reason }
    }

    pub(crate) fn syntax(place: Place, why: impl Into<String>) -> ExpressionFault {
        ExpressionFault::new(place, Reason::Syntax(why.into()))
    }

    pub(crate) fn kind(place: Place, why: impl Into<String>) -> ExpressionFault {
        ExpressionFault::new(place, Reason::Kind(why.into()))
    }

    pub(crate) fn too_much(place: Place, why: impl Into<String>) -> ExpressionFault {
        ExpressionFault::new(place, Reason::TooMuch(why.into()))
    }
}

impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            // The sentence that everybody hears who asks for a PV that is not there, or that they may not see.
            Reason::UnknownPv(name) => write!(f, "no PV of this archive is called {name:?}")?,
            Reason::Syntax(why) | Reason::TooMuch(why) | Reason::Kind(why) | Reason::Units(why) => f.write_str(why)?,
        }
        write!(f, ", at character {}", self.place.character)
    }
}

impl std::error::Error for ExpressionFault {}

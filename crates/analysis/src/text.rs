//! The text of an expression, and what it says.
//!
//! ```text
//!   text       := expression [ "for" [ ">=" | ">" | "<" | "<=" ] number ]
//!   expression := a term, or two joined by, the weakest first:
//!                 or ||   and && while   not !   = == != <> < <= > >=   + -   * / %   - before a term   ^
//!   term       := number [ns us ms s min h d w]   'text'   "text"   name   `any name`   function(…)   ( expression )
//!   name       := a letter or _, then letters, digits, _ : . { } and, between two of these, -
//! ```
//! So `SR-BPM:X` is a name, and a minus that subtracts has a blank beside it. What has other characters stands between backquotes.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

mod parse;
mod words;

use crate::fault::{ExpressionFault, Place};

/// No text is longer.
pub const TEXT_BYTES_MAX: usize = 16 << 10;

/// What a text says, before anybody looks which PVs there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Each behind those of which it is made: the last one is the whole.
    pub(crate) nodes: Vec<Node>,
    /// Where each of them stands.
    pub(crate) places: Vec<Place>,
    /// For how long it has to hold.
    pub dwell: Option<Dwell>,
}

/// For how long a condition holds without a break.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dwell {
    /// How the length is compared.
    pub compare: NumberComparison,
    /// With how many nanoseconds.
    pub nanos: i64,
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberComparison {
    /// Equal.
    Equal,
    /// Not equal.
    Unequal,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

/// The place of a node among the others.
pub(crate) type NodeId = usize;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Number(f64),
    Text(Box<str>),
    Name(Name),
    Negative(NodeId),
    Not(NodeId),
    Arithmetic(Arithmetic, NodeId, NodeId),
    Compare(NumberComparison, NodeId, NodeId),
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    Call(Function, Vec<NodeId>),
}

/// A bare word may be a PV or the state of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: Box<str>,
    pub(crate) is_quoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// What can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Sqrt,
    Exp,
    Log,
    Log10,
    Sin,
    Cos,
    Round,
    Min,
    Max,
    Severity,
    Missing,
    IsNan,
    Silent,
    Previous,
    Change,
    Derivative,
    Integral,
    Average,
    Shift,
    Element,
    Length,
    Sum,
    Mean,
}

impl Function {
    /// All of them by name, with what they take.
    pub(crate) const ALL: [(&'static str, Function, Takes); 24] = [
        ("abs", Function::Abs, Takes::One),
        ("sqrt", Function::Sqrt, Takes::One),
        ("exp", Function::Exp, Takes::One),
        ("log", Function::Log, Takes::One),
        ("log10", Function::Log10, Takes::One),
        ("sin", Function::Sin, Takes::One),
        ("cos", Function::Cos, Takes::One),
        ("round", Function::Round, Takes::One),
        ("min", Function::Min, Takes::Several),
        ("max", Function::Max, Takes::Several),
        ("severity", Function::Severity, Takes::Pv),
        ("missing", Function::Missing, Takes::Pv),
        ("isnan", Function::IsNan, Takes::Pv),
        ("silent", Function::Silent, Takes::PvAndNumber),
        ("previous", Function::Previous, Takes::Pv),
        ("change", Function::Change, Takes::Pv),
        ("derivative", Function::Derivative, Takes::Pv),
        ("integral", Function::Integral, Takes::Pv),
        ("average", Function::Average, Takes::PvAndNumber),
        ("shift", Function::Shift, Takes::PvAndNumber),
        ("element", Function::Element, Takes::PvAndNumber),
        ("length", Function::Length, Takes::Pv),
        ("sum", Function::Sum, Takes::Pv),
        ("mean", Function::Mean, Takes::Pv),
    ];

    pub(crate) fn named(name: &str) -> Option<Function> {
        Function::ALL.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)).map(|(_, function, _)| *function)
    }

    pub(crate) fn name(self) -> &'static str {
        Function::ALL.iter().find(|(_, function, _)| *function == self).map_or("", |(name, ..)| name)
    }

    pub(crate) fn takes(self) -> Takes {
        Function::ALL.iter().find(|(_, function, _)| *function == self).map_or(Takes::One, |(.., takes)| *takes)
    }
}

/// What a function is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// One number.
    One,
    /// Two numbers or more, or one PV whose values are arrays.
    Several,
    /// A PV.
    Pv,
    /// A PV and a number.
    PvAndNumber,
}

impl Expression {
    /// Reads a text, or says where it is wrong, and why.
    pub fn parse(text: &str) -> Result<Expression, ExpressionFault> {
        parse::parse(text)
    }
}

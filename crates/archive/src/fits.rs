//! Fits: patterns of PV names, as policies and rights have them.

use std::fmt;

use regex::{Regex, RegexBuilder};

use crate::glob::Glob;

/// The most memory that a compiled pattern may take; a pattern of a thousand alternatives still fits.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A character that no name holds, in place of the wildcards of a glob.
const ANY: &str = "\u{1}";

/// Which names something is for.
#[derive(Clone, Debug)]
pub struct Fits {
    text: String,
    /// None for a glob.
    regex: Option<Regex>,
}

impl PartialEq for Fits {
    fn eq(&self, other: &Fits) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Fits {
    /// A glob with `*` and `?`, or a regular expression if it begins with `~`. Either must fit the whole name, case included.
    pub fn parse(text: &str) -> Result<Fits, FitsError> {
        let built = |pattern: &str| RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build();
        let regex = match text.strip_prefix('~') {
            // By itself first: one that is right only with what is put around it would not have to fit the whole name.
            Some(regex) => built(regex).and_then(|_| built(&format!("^(?:{regex})$"))).map(Some),
            None => Ok(None),
        };
        let regex = regex.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            FitsError { text: text.to_owned(), reason }
        })?;
        Ok(Fits { text: text.to_owned(), regex })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is for that name.
    pub fn is_for(&self, name: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(name),
            None => Glob(&self.text).fits(name),
        }
    }

    /// Whether it is certainly for all names that another pattern is for. Only globs are compared; of two regular expressions
    /// nobody can say more than whether they are the same.
    pub fn contains(&self, other: &Fits) -> bool {
        if self.text == "*" || self.text == other.text {
            return true;
        }
        let is_glob = !self.text.starts_with('~') && !other.text.starts_with('~');
        // A `?` of this one would fit the stand-in of a `*` of the other, which is for longer texts too.
        let says = is_glob && (!self.text.contains('?') || !other.text.contains('*'));
        says && self.is_for(&other.text.replace(['*', '?'], ANY))
    }
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitsError {
    text: String,
    reason: String,
}

impl fmt::Display for FitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pattern {:?} cannot be used: {}", self.text, self.reason)
    }
}

impl std::error::Error for FitsError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(text: &str) -> Fits {
        Fits::parse(text).unwrap()
    }

    #[test]
    fn patterns_fit_whole_names_and_those_that_cannot_be_are_refused() {
        assert!(fits("A:?").is_for("A:1") && !fits("A:?").is_for("A:12") && !fits("a:?").is_for("A:1"));
        assert!(fits("~A:.*|B").is_for("B") && !fits("~A:.*|B").is_for("BB"));
        assert_eq!(Fits::parse("~(").unwrap_err().to_string(), "the pattern \"~(\" cannot be used: unclosed group");
        assert!(Fits::parse("~T:.*)|(?:.*").is_err(), "it must fit the whole name, whatever is written");
    }

    #[test]
    fn a_glob_contains_another_only_if_each_of_its_names_fits() {
        for (wide, narrow) in
            [("*", "~x+"), ("SR*", "SR1*"), ("SR*", "SR?:X"), ("SR*:?", "SR1:X"), ("~A|B", "~A|B"), ("A?", "A?")]
        {
            assert!(fits(wide).contains(&fits(narrow)), "{wide} {narrow}");
        }
        for (wide, narrow) in
            [("SR1*", "SR*"), ("SR?", "SR*"), ("SR*:?", "SR*:*"), ("A", "~A"), ("~A.*", "AB"), ("A", "B")]
        {
            assert!(!fits(wide).contains(&fits(narrow)), "{wide} {narrow}");
        }
    }
}

//! Fits: patterns of PV names, as policies and rights have them.

use std::{fmt, ops::Range};

use memchr::memmem;
use regex::{Regex, RegexBuilder};

use crate::{glob::Glob, names::NameChunk};

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

    /// How the names begin for which it is.
    pub fn beginning(&self) -> Beginning {
        let (text, rest) = match &self.regex {
            None => self.text.split_at(self.text.find(['*', '?']).unwrap_or(self.text.len())),
            Some(_) => beginning_of_regex(&self.text[1..]),
        };
        let is_for_all = match &self.regex {
            None => !rest.is_empty() && rest.bytes().all(|byte| byte == b'*'),
            Some(_) => rest == ".*",
        };
        if is_for_all { Beginning::Each(text.to_owned()) } else { Beginning::Perhaps(text.to_owned()) }
    }

    /// Says yes in the places of those of some neighbouring names for which it is; those that have a yes already are not looked at. All
    /// of them are compared as one text, so that most are passed over without a look of their own.
    pub fn note(&self, chunk: &NameChunk, rows: Range<usize>, is_for: &mut [bool]) {
        let (text, starts) = (chunk.text(), chunk.starts());
        let end_of = |row: usize| starts.get(row + 1).map_or(text.len(), |start| *start as usize);
        let name_of = |row: usize| &text[starts[row] as usize..end_of(row) - 1];
        let literal = if self.regex.is_some() { "" } else { Glob(&self.text).literal() };
        if literal.is_empty() {
            for (row, is_for) in rows.zip(is_for).filter(|(_, is_for)| !**is_for) {
                *is_for = self.is_for(name_of(row));
            }
            return;
        }
        let Some((first, last)) = rows.clone().next().zip(rows.clone().next_back()) else { return };
        let (found, end) = (memmem::Finder::new(literal), end_of(last));
        let (mut row, mut from) = (first, starts[first] as usize);
        while let Some(at) = found.find(&text.as_bytes()[from..end]) {
            while end_of(row) <= from + at {
                row += 1;
            }
            is_for[row - first] = is_for[row - first] || self.is_for(name_of(row));
            from = end_of(row);
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

/// Names by how they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// All that begin with this text.
    Each(String),
    /// None that begin with another one.
    Perhaps(String),
}

impl Beginning {
    /// The text.
    pub fn text(&self) -> &str {
        match self {
            Beginning::Each(text) | Beginning::Perhaps(text) => text,
        }
    }
}

/// With which text begins all that a regular expression fits, as far as can be seen without understanding it, and the rest of the
/// expression: the characters before the first that means something else than itself. What may be left out, or has something else beside
/// it, is no beginning.
fn beginning_of_regex(regex: &str) -> (&str, &str) {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || ":_-/".contains(character);
    if may_be_another(regex) {
        return ("", regex);
    }
    let regex = regex.strip_prefix('^').unwrap_or(regex);
    let end = regex.find(|character| !is_plain(character)).unwrap_or(regex.len());
    let is_counted = regex[end..].starts_with(['?', '*', '+', '{']);
    regex.split_at(if is_counted { end.saturating_sub(1) } else { end })
}

/// Whether a regular expression may have something else beside its beginning. Where it has more than letters and parentheses it is not
/// looked at which of its bars are within these.
fn may_be_another(regex: &str) -> bool {
    let mut depth = 0_usize;
    let is_plain = !regex.contains(['\\', '[', '#']) && !regex.contains("(?");
    regex.chars().any(|character| {
        match character {
            '(' if is_plain => depth += 1,
            ')' if is_plain => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == '|' && depth == 0
    })
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
    use proptest::prelude::*;

    use super::*;
    use crate::{NameKind, Named, Names, PvId, PvName};

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
    #[test]
    fn a_pattern_says_how_its_names_begin() {
        let each = |text: &str| Beginning::Each(text.to_owned());
        let perhaps = |text: &str| Beginning::Perhaps(text.to_owned());
        for (pattern, expected) in [
            ("*", each("")),
            ("SR*", each("SR")),
            ("SR**", each("SR")),
            ("SR", perhaps("SR")),
            ("SR?", perhaps("SR")),
            ("SR*:X", perhaps("SR")),
            ("*SR", perhaps("")),
            ("~SR:.*", each("SR:")),
            ("~.*", each("")),
            ("~SR", perhaps("SR")),
            ("~SR.+", perhaps("SR")),
            ("~SR0*", perhaps("SR")),
            ("~SR0?X", perhaps("SR")),
            ("~S{0}R", perhaps("")),
            ("~SR|X.*", perhaps("")),
            ("~SR(A|B)", perhaps("SR")),
            ("~SR(A|B)|X", perhaps("")),
            (r"~SR\(|X", perhaps("")),
            ("~SR[(]|X", perhaps("")),
            ("~^SR", perhaps("SR")),
            ("~(?i)sr.*", perhaps("")),
            ("~SR(?i)x.*", perhaps("SR")),
            (r"~SR\.x", perhaps("SR")),
            ("~SR[01].*", perhaps("SR")),
        ] {
            assert_eq!(fits(pattern).beginning(), expected, "{pattern}");
        }
    }

    proptest! {
        /// Few letters, so that much fits.
        #[test]
        fn names_that_are_compared_together_fit_as_each_alone(
            names in proptest::collection::vec("[ab:.]{1,6}", 1..60),
            pattern in "[ab:.*?]{0,6}|~[ab:]{0,3}(\\.\\*|[ab]\\+|a\\||b\\?|\\[ab\\]|:\\*|b\\{0,1\\})?[ab]{0,2}(\\.\\*)?",
            first in 0..60_usize,
            len in 0..60_usize,
        ) {
            let (Ok(pattern), mut names) = (Fits::parse(&pattern), names) else { return Ok(()) };
            names.retain(|name| PvName::recorded(name).is_ok());
            names.sort_unstable();
            names.dedup();
            let named = |name: &String| Named { name: PvName::recorded(name).unwrap(), pv: PvId(0), kind: NameKind::Own };
            let all = Names::of(names.iter().map(named).collect());
            let rows = first.min(names.len())..(first + len).min(names.len());
            let mut is_for = vec![false; rows.len()];
            if let Some(chunk) = all.chunks().first() {
                pattern.note(chunk, rows.clone(), &mut is_for);
            }
            let alone: Vec<bool> = names[rows].iter().map(|name| pattern.is_for(name)).collect();
            prop_assert_eq!(is_for, alone);
            for name in &names {
                match pattern.beginning() {
                    Beginning::Each(text) => prop_assert_eq!(pattern.is_for(name), name.starts_with(&text), "{}", name),
                    Beginning::Perhaps(text) => prop_assert!(!pattern.is_for(name) || name.starts_with(&text), "{}", name),
                }
            }
        }
    }
}

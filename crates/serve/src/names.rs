//! Which PVs a pattern names: fragments, globs and regular expressions over the sorted list of names.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use sample::PvEntry;

use crate::refusal::{Code, Refusal};

/// The most memory that a compiled pattern may take; a pattern of a thousand alternatives still fits.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A pattern that is ready to be compared.
pub(crate) enum Pattern {
    Everything,
    /// Lower-case text that may stand anywhere in the name, in any case.
    Fragment(String),
    Regex(Regex),
}

impl Pattern {
    /// A fragment; a glob where it has `*` or `?`; a regular expression where it begins with `~`. None looks at case.
    pub(crate) fn search(text: &str) -> Result<Pattern, Refusal> {
        if text.is_empty() {
            Ok(Pattern::Everything)
        } else if let Some(regex) = text.strip_prefix('~') {
            compile(regex, true).map(Pattern::Regex)
        } else if is_glob(text) {
            compile(&glob_as_regex(text), true).map(Pattern::Regex)
        } else {
            Ok(Pattern::Fragment(text.to_lowercase()))
        }
    }

    /// A glob that must fit the whole name, case included.
    pub(crate) fn glob(text: &str) -> Result<Pattern, Refusal> {
        compile(&glob_as_regex(text), false).map(Pattern::Regex)
    }

    /// A regular expression that must fit the whole name, case included.
    pub(crate) fn whole_regex(text: &str) -> Result<Pattern, Refusal> {
        compile(&format!("^(?:{text})$"), false).map(Pattern::Regex)
    }

    /// How well a name fits: `Start` before `Elsewhere`, none if it does not.
    fn fit(&self, name: &str) -> Option<Fit> {
        match self {
            Pattern::Everything => Some(Fit::Elsewhere),
            Pattern::Regex(regex) => regex.is_match(name).then_some(Fit::Elsewhere),
            Pattern::Fragment(fragment) => {
                let place = name.to_lowercase().find(fragment.as_str())?;
                Some(if place == 0 { Fit::Start } else { Fit::Elsewhere })
            }
        }
    }

    /// Where in `entries` the fitting ones stand: those whose names begin with the fragment first, then by name.
    pub(crate) fn among(&self, entries: &Arc<[PvEntry]>) -> Vec<usize> {
        let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            match self.fit(entry.name.as_str()) {
                Some(Fit::Start) => found.push(index),
                Some(Fit::Elsewhere) => elsewhere.push(index),
                None => {}
            }
        }
        found.append(&mut elsewhere);
        found
    }
}

enum Fit {
    Start,
    Elsewhere,
}

/// Whether a text is a glob rather than a name.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn glob_as_regex(glob: &str) -> String {
    let mut pattern = String::from("^");
    for character in glob.chars() {
        match character {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            other => pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern.push('$');
    pattern
}

fn compile(pattern: &str, any_case: bool) -> Result<Regex, Refusal> {
    RegexBuilder::new(pattern).case_insensitive(any_case).size_limit(REGEX_BYTES_MAX).build().map_err(|error| {
        let reason = error.to_string();
        Refusal::new(Code::BadRequest, format!("the pattern {pattern:?} cannot be used: {}", last_line(&reason)))
    })
}

/// The regex crate draws the pattern with a mark below it; its last line says what is wrong.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use sample::{Method, Protocol, PvId, PvName, PvSettings, PvState, Timestamp};

    use super::*;

    fn found(pattern: Result<Pattern, Refusal>) -> Vec<String> {
        let settings = PvSettings { protocol: Protocol::Ca, method: Method::Monitor, state: PvState::Active };
        let entries: Arc<[PvEntry]> = ["A:TEMP", "TEMP:1", "X.Y", "XAY"]
            .iter()
            .zip(0..)
            .map(|(name, id)| PvEntry {
                id: PvId(id),
                name: PvName::new(name).unwrap(),
                settings,
                added: Timestamp::from_nanos(0),
            })
            .collect();
        let pattern = pattern.unwrap();
        pattern.among(&entries).into_iter().map(|index| entries[index].name.to_string()).collect()
    }

    #[test]
    fn names_that_begin_with_the_fragment_come_first() {
        assert_eq!(found(Pattern::search("temp")), ["TEMP:1", "A:TEMP"]);
        assert_eq!(found(Pattern::search("")).len(), 4);
    }

    #[test]
    fn in_a_glob_only_star_and_question_mark_are_special() {
        assert_eq!(found(Pattern::search("x.*")), ["X.Y"]);
        assert_eq!(found(Pattern::search("x?y")), ["X.Y", "XAY"]);
        assert_eq!(found(Pattern::glob("x?y")), Vec::<String>::new());
    }

    #[test]
    fn a_tilde_makes_a_regular_expression_and_bad_ones_are_refused() {
        assert_eq!(found(Pattern::search("~^x.y$")), ["X.Y", "XAY"]);
        assert_eq!(found(Pattern::whole_regex("X")), Vec::<String>::new());
        assert_eq!(found(Pattern::whole_regex("X.*|TEMP")), ["X.Y", "XAY"]);
        let refusal = Pattern::search("~(").map(|_| ()).unwrap_err();
        assert_eq!(refusal.message(), "the pattern \"(\" cannot be used: unclosed group");
        assert!(Pattern::search("~(.{1000}){1000}").is_err());
    }
}

//! Which PVs a pattern names: fragments, globs and regular expressions over the sorted list of names.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use store::{NameChunk, Named, Names};

use crate::refusal::{Code, Refusal};

/// The most memory that a compiled pattern may take; a pattern of a thousand alternatives still fits.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// More names than this are searched by several threads.
const NAMES_ALONE_MAX: usize = 50_000;
/// As many threads as search at most: others want to be answered too.
const THREADS_MAX: usize = 4;

/// A pattern that is ready to be compared.
pub(crate) enum Pattern {
    Everything,
    /// Lower-case text that may stand anywhere in the name, in any case.
    Fragment(String, Regex),
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
            let fragment = text.to_lowercase();
            let literal = compile(&regex::escape(&fragment), false)?;
            Ok(Pattern::Fragment(fragment, literal))
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

    /// The fitting names and aliases: those that begin with the fragment first, then by name.
    pub(crate) fn among<'a>(&self, names: &'a Names) -> Vec<&'a Named> {
        if matches!(self, Pattern::Everything) {
            return names.iter().collect();
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let threads = if names.len() > NAMES_ALONE_MAX { cores } else { 1 };
        let share = names.chunks().len().div_ceil(threads).max(1);
        let mut shares = names.chunks().chunks(share);
        let first = shares.next().unwrap_or_default();
        let founds: Vec<Found<'a>> = std::thread::scope(|scope| {
            let others: Vec<_> = shares.map(|share| scope.spawn(|| self.within(share))).collect();
            let own = self.within(first);
            let join =
                |thread: std::thread::ScopedJoinHandle<'_, Found<'a>>| thread.join().expect("a search never panics");
            std::iter::once(own).chain(others.into_iter().map(join)).collect()
        });
        let (at_start, elsewhere): (Vec<_>, Vec<_>) =
            founds.into_iter().map(|found| (found.at_start, found.elsewhere)).unzip();
        at_start.into_iter().chain(elsewhere).flatten().collect()
    }

    fn within<'a>(&self, chunks: &'a [Arc<NameChunk>]) -> Found<'a> {
        let (mut found, mut lower) = (Found::default(), String::new());
        match self {
            Pattern::Everything => found.elsewhere = chunks.iter().flat_map(|chunk| chunk.rows()).collect(),
            Pattern::Regex(regex) => {
                let regex = regex.clone(); // one that several threads use is slower
                for chunk in chunks {
                    let fitting = chunk.rows().iter().zip(chunk.text().split('\n'));
                    found.elsewhere.extend(fitting.filter(|(_, name)| regex.is_match(name)).map(|(row, _)| row));
                }
            }
            Pattern::Fragment(fragment, literal) => {
                let literal = literal.clone();
                for chunk in chunks {
                    if chunk.text().is_ascii() {
                        lower.clear();
                        lower.push_str(chunk.text());
                        lower.make_ascii_lowercase();
                        found.add_fragments(chunk, &lower, &literal);
                    } else {
                        found.add_by_row(chunk, fragment); // lower case may be longer than the name
                    }
                }
            }
        }
        found
    }
}

#[derive(Default)]
struct Found<'a> {
    at_start: Vec<&'a Named>,
    elsewhere: Vec<&'a Named>,
}

impl<'a> Found<'a> {
    /// The names of a chunk in whose text, in lower case, the fragment stands. No fragment holds a line feed that fits.
    fn add_fragments(&mut self, chunk: &'a NameChunk, text: &str, literal: &Regex) {
        let (starts, mut row, mut from) = (chunk.starts(), 0, 0);
        while let Some(found) = literal.find_at(text, from) {
            let next = |row: usize| starts.get(row + 1).map_or(text.len(), |start| *start as usize);
            while next(row) <= found.start() {
                row += 1;
            }
            let at_start = starts[row] as usize == found.start();
            let list = if at_start { &mut self.at_start } else { &mut self.elsewhere };
            if found.end() < next(row) {
                list.push(&chunk.rows()[row]);
            }
            from = next(row);
        }
    }

    fn add_by_row(&mut self, chunk: &'a NameChunk, fragment: &str) {
        for row in chunk.rows() {
            match row.name.as_str().to_lowercase().find(fragment) {
                Some(0) => self.at_start.push(row),
                Some(_) => self.elsewhere.push(row),
                None => {}
            }
        }
    }
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
    use sample::{PvId, PvName};

    use super::*;

    fn found_among(names: &[&str], pattern: Result<Pattern, Refusal>) -> Vec<String> {
        let named = |(name, id): (&&str, u32)| Named { name: PvName::new(name).unwrap(), pv: PvId(id) };
        let names = Names::of(names.iter().zip(0..).map(named).collect());
        pattern.unwrap().among(&names).into_iter().map(|named| named.name.to_string()).collect()
    }

    fn found(pattern: Result<Pattern, Refusal>) -> Vec<String> {
        found_among(&["A:TEMP", "TEMP:1", "X.Y", "XAY"], pattern)
    }

    /// Several threads give the same names in the same order as one.
    #[test]
    fn of_very_many_names_none_is_missed_at_any_border() {
        let names: Vec<String> = (0..2 * NAMES_ALONE_MAX).map(|i| format!("SR{:02}:PS{i:06}:Rb", i % 50)).collect();
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let with_nine = |name: &&&str| name.contains("9:rb") || name.contains("9:Rb");
        let expected: Vec<&str> = sorted.iter().filter(with_nine).copied().collect();
        assert_eq!(found_among(&sorted, Pattern::search("9:rb")), expected);
        assert_eq!(found_among(&sorted, Pattern::glob("SR*9:Rb")), expected);
        assert_eq!(found_among(&sorted, Pattern::search("")), sorted);
        assert_eq!(found_among(&sorted, Pattern::search("rb\nsr")), Vec::<String>::new());
    }

    #[test]
    fn names_beyond_ascii_are_found_in_any_case() {
        assert_eq!(found_among(&["STRÖM:1", "İx", "A:ström"], Pattern::search("ström")), ["STRÖM:1", "A:ström"]);
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

//! Which PVs a pattern names: fragments, globs and regular expressions over the sorted list of names.

use std::sync::Arc;

use acquire::glob_as_regex;
use regex::{Regex, RegexBuilder};
use store::{NameChunk, Named, Names};

use crate::{
    glob::Glob,
    refusal::{Code, Refusal},
};

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
    Glob(GlobPattern),
    Regex(Regex),
}

/// A glob as bytes, to be compared with names in ASCII where its longest literal stands, and as what is right for all others.
#[derive(Clone, Debug)]
pub(crate) struct GlobPattern {
    glob: Arc<Glob>,
    literal: Regex,
    case: Case,
    regex: Regex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Same,
    Any,
}

impl Pattern {
    /// A fragment; a glob where it has `*` or `?`; a regular expression where it begins with `~`. None looks at case.
    pub(crate) fn search(text: &str) -> Result<Pattern, Refusal> {
        if text.is_empty() {
            Ok(Pattern::Everything)
        } else if let Some(regex) = text.strip_prefix('~') {
            compile(regex, Case::Any).map(Pattern::Regex)
        } else if is_glob(text) {
            Pattern::glob_of(text, Case::Any)
        } else {
            let fragment = text.to_lowercase();
            let literal = compile(&regex::escape(&fragment), Case::Same)?;
            Ok(Pattern::Fragment(fragment, literal))
        }
    }

    /// A glob that must fit the whole name, case included.
    pub(crate) fn glob(text: &str) -> Result<Pattern, Refusal> {
        Pattern::glob_of(text, Case::Same)
    }

    fn glob_of(text: &str, case: Case) -> Result<Pattern, Refusal> {
        let regex = compile(&glob_as_regex(text), case)?;
        let folded = if case == Case::Any { text.to_ascii_lowercase() } else { text.to_owned() };
        let Some(glob) = Glob::new(&folded) else { return Ok(Pattern::Regex(regex)) };
        let literal = compile(&regex::escape(glob.literal()), Case::Same)?;
        Ok(Pattern::Glob(GlobPattern { glob: Arc::new(glob), literal, case, regex }))
    }

    /// A regular expression that must fit the whole name, case included.
    pub(crate) fn whole_regex(text: &str) -> Result<Pattern, Refusal> {
        compile(&format!("^(?:{text})$"), Case::Same).map(Pattern::Regex)
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
                chunks.iter().for_each(|chunk| found.add_by_regex(chunk, &regex));
            }
            Pattern::Glob(pattern) => {
                let pattern = pattern.clone();
                for chunk in chunks {
                    match (chunk.text().is_ascii(), pattern.case) {
                        (true, Case::Same) => found.add_by_glob(chunk, chunk.text(), &pattern),
                        (true, Case::Any) => found.add_by_glob(chunk, lowered(chunk, &mut lower), &pattern),
                        (false, _) => found.add_by_regex(chunk, &pattern.regex),
                    }
                }
            }
            Pattern::Fragment(fragment, literal) => {
                let literal = literal.clone();
                for chunk in chunks {
                    if chunk.text().is_ascii() {
                        found.add_fragments(chunk, lowered(chunk, &mut lower), &literal);
                    } else {
                        found.add_by_row(chunk, fragment); // lower case may be longer than the name
                    }
                }
            }
        }
        found
    }
}

/// All names of a chunk in lower case, in memory that is used again.
fn lowered<'l>(chunk: &NameChunk, lower: &'l mut String) -> &'l str {
    lower.clear();
    lower.push_str(chunk.text());
    lower.make_ascii_lowercase();
    lower
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

    /// The names of a chunk that a glob fits, compared only where its literal stands; an empty one stands everywhere.
    fn add_by_glob(&mut self, chunk: &'a NameChunk, text: &str, pattern: &GlobPattern) {
        let (starts, mut row, mut from) = (chunk.starts(), 0, 0);
        while from < text.len() {
            let Some(found) = pattern.literal.find_at(text, from) else { break };
            let next = |row: usize| starts.get(row + 1).map_or(text.len(), |start| *start as usize);
            while next(row) <= found.start() {
                row += 1;
            }
            let name = &text.as_bytes()[starts[row] as usize..next(row) - 1];
            if pattern.glob.fits(name) {
                self.elsewhere.push(&chunk.rows()[row]);
            }
            from = next(row);
        }
    }

    fn add_by_regex(&mut self, chunk: &'a NameChunk, regex: &Regex) {
        let fitting = chunk.rows().iter().zip(chunk.text().split('\n'));
        self.elsewhere.extend(fitting.filter(|(_, name)| regex.is_match(name)).map(|(row, _)| row));
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

fn compile(pattern: &str, case: Case) -> Result<Regex, Refusal> {
    RegexBuilder::new(pattern).case_insensitive(case == Case::Any).size_limit(REGEX_BYTES_MAX).build().map_err(
        |error| {
            let reason = error.to_string();
            Refusal::new(Code::BadRequest, format!("the pattern {pattern:?} cannot be used: {}", last_line(&reason)))
        },
    )
}

/// The regex crate draws the pattern with a mark below it; its last line says what is wrong.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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

    proptest! {
        /// Few letters, so that much fits; in half of the cases some beyond ASCII, one of which is a k where case does not count.
        #[test]
        fn a_glob_finds_what_its_regular_expression_finds(
            names in prop_oneof![
                proptest::collection::vec("[abAB.:]{1,8}", 1..60),
                proptest::collection::vec("[abkABK.:ſöK]{1,8}", 1..60),
            ],
            glob in "[abAB.*?]{1,8}|[abABkösK*?\n]{1,5}",
        ) {
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            for case in [Case::Same, Case::Any] {
                let regex = compile(&glob_as_regex(&glob), case).map(Pattern::Regex);
                prop_assert_eq!(found_among(&names, Pattern::glob_of(&glob, case)), found_among(&names, regex));
            }
        }
    }

    /// Prints what a search takes: `cargo test --release -p serve a_search_in_a_million -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    #[expect(clippy::print_stdout, reason = "it is there to be read")]
    fn a_search_in_a_million_names_finds_all() {
        let name = |k: u32| format!("SR{:02}:SEC{:02}:DEV{k:07}:VAL{}", k / 1000 % 100, k % 40, k % 7);
        let row = |k| Named { name: PvName::new(&name(k)).unwrap(), pv: PvId(k) };
        let names = Names::of((0..1_000_000).map(row).collect());
        let searches =
            ["dev0123456", "*9999*", "SR05:*:VAL2", "*:SEC0?:*", "?R0*", "~^.*9999.*$", "~^SR1[0-9]:SEC0.*VAL1$"];
        for (text, count) in searches.into_iter().zip([1, 280, 1429, 250_000, 100_000, 280, 3571]) {
            let pattern = Pattern::search(text).unwrap();
            let mut times: Vec<_> = (0..9)
                .map(|_| {
                    let begun = std::time::Instant::now();
                    assert_eq!(pattern.among(&names).len(), count, "{text}");
                    begun.elapsed()
                })
                .collect();
            times.sort_unstable();
            println!("{text}: {count} names, median {:.1?}", times[4]);
        }
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

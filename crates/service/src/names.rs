//! Which PVs a pattern names: fragments, globs and regular expressions over the sorted list of names.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use archive::{Glob, NameChunk, Named, Names};
use query::{Permit, Permits, processors, side_by_side};
use regex::{Regex, RegexBuilder};

use crate::{
    ask::Ask,
    budget::Lease,
    refusal::{Code, Refusal, shortened},
};

/// The most memory that a compiled pattern may take; a pattern of a thousand alternatives still fits.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// The longest pattern: what a URL can hold.
const PATTERN_BYTES_MAX: usize = 16 << 10;
/// What compiling takes at most for each byte of a pattern: 6.6 kB of `\W`, a table of 800 ranges twice over
/// (`cargo test -p web what_compiling_takes -- --ignored --nocapture`).
const COMPILED_BYTES: usize = 8 << 10;

/// What comparing takes: the pattern, and what is remembered of it while names are compared.
const COMPARING_BYTES: usize = 4 << 20;

/// A search that takes longer than this is a long one. Of these there are few at once, and none takes longer than so long.
const SHORT_SEARCH: Duration = Duration::from_millis(100);
const LONG_SEARCHES_MAX: usize = 2;
const LONGEST_SEARCH: Duration = Duration::from_secs(10);
/// After so many names it is looked how long a search has taken; a regular expression takes a millisecond a name at worst.
const LOOK_NAMES: usize = 32;

/// More names than this are searched by several threads.
const NAMES_ALONE_MAX: usize = 50_000;
/// As many threads as search at most: others want to be answered too.
const THREADS_MAX: usize = 4;

/// A pattern that is ready to be compared.
pub enum Pattern {
    /// All names.
    Everything,
    /// Lower-case text that may stand anywhere in the name, in any case.
    Fragment(String, Regex),
    /// A glob.
    Glob(GlobPattern),
    /// A regular expression.
    Regex(Regex),
}

/// A glob in ASCII, to be compared with names in ASCII where its longest literal stands, and as what is right for all others: whether
/// other letters are equal without regard to case is for the regular expression to say.
#[derive(Clone, Debug)]
pub struct GlobPattern {
    glob: Arc<str>,
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
    pub fn search(text: &str, room: &Lease) -> Result<Pattern, Refusal> {
        if text.is_empty() {
            Ok(Pattern::Everything)
        } else if let Some(regex) = text.strip_prefix('~') {
            with_room(regex, room, || compile(regex, Case::Any)).map(Pattern::Regex)
        } else if is_glob(text) {
            with_room(text, room, || Pattern::glob_of(text, Case::Any))
        } else {
            let fragment = text.to_lowercase();
            let literal = with_room(text, room, || compile(&regex::escape(&fragment), Case::Same))?;
            Ok(Pattern::Fragment(fragment, literal))
        }
    }

    /// A glob that must fit the whole name, case included.
    pub fn glob(text: &str, room: &Lease) -> Result<Pattern, Refusal> {
        with_room(text, room, || Pattern::glob_of(text, Case::Same))
    }

    fn glob_of(text: &str, case: Case) -> Result<Pattern, Refusal> {
        let regex = compile(&Glob(text).regex(), case)?;
        if !text.is_ascii() {
            return Ok(Pattern::Regex(regex));
        }
        let folded = if case == Case::Any { text.to_ascii_lowercase() } else { text.to_owned() };
        let literal = compile(&regex::escape(Glob(&folded).literal()), Case::Same)?;
        Ok(Pattern::Glob(GlobPattern { glob: folded.into(), literal, case, regex }))
    }

    /// A regular expression that must fit the whole name, case included.
    pub fn whole_regex(text: &str, room: &Lease) -> Result<Pattern, Refusal> {
        with_room(text, room, || compile(&format!("^(?:{text})$"), Case::Same)).map(Pattern::Regex)
    }

    /// Whether it fits one name.
    pub(crate) fn fits(&self, name: &str) -> bool {
        match self {
            Pattern::Everything => true,
            Pattern::Fragment(fragment, _) => name.to_lowercase().contains(fragment.as_str()),
            Pattern::Glob(pattern) => pattern.regex.is_match(name),
            Pattern::Regex(regex) => regex.is_match(name),
        }
    }

    /// The fitting names and aliases of PVs that are seen: those that begin with the fragment first, then by name. It is given up when the client has gone,
    /// or when it takes too long.
    pub(crate) fn among<'a>(&self, names: &'a Names, ask: &Ask) -> Result<Vec<&'a Named>, Refusal> {
        ask.go_on()?;
        ask.lease.grow_by(names.len(), size_of::<&Named>())?;
        ask.lease.grow(COMPARING_BYTES)?;
        let is_abandoned = || ask.is_abandoned();
        let found = self.found(names, &Search::begin(&is_abandoned, &LONG_SEARCHES));
        ask.lease.shrink(COMPARING_BYTES);
        let mut found = found?;
        if !ask.sees_all() {
            found.retain(|named| ask.sees_named(named));
        }
        Ok(found)
    }

    fn found<'a>(&self, names: &'a Names, search: &Search) -> Result<Vec<&'a Named>, Refusal> {
        if matches!(self, Pattern::Everything) {
            return Ok(names.iter().collect());
        }
        let cores = processors().min(THREADS_MAX);
        let threads = if names.len() > NAMES_ALONE_MAX { cores } else { 1 };
        let share = names.chunks().len().div_ceil(threads).max(1);
        let shares: Vec<_> = names.chunks().chunks(share).collect();
        let founds = side_by_side(&shares, threads, |share| self.within(share, search)).into_iter();
        let founds: Result<Vec<Found<'a>>, Refusal> = founds.collect();
        let (at_start, elsewhere): (Vec<_>, Vec<_>) =
            founds?.into_iter().map(|found| (found.at_start, found.elsewhere)).unzip();
        Ok(at_start.into_iter().chain(elsewhere).flatten().collect())
    }

    fn within<'a>(&self, chunks: &'a [Arc<NameChunk>], search: &Search) -> Result<Found<'a>, Refusal> {
        let (mut found, mut lower) = (Found::default(), String::new());
        match self {
            Pattern::Everything => found.elsewhere = chunks.iter().flat_map(|chunk| chunk.rows()).collect(),
            Pattern::Regex(regex) => {
                let regex = regex.clone(); // one that several threads use is slower
                chunks.iter().try_for_each(|chunk| found.add_by_regex(chunk, &regex, search))?;
            }
            Pattern::Glob(pattern) => {
                let pattern = pattern.clone();
                for chunk in chunks {
                    search.go_on()?;
                    match (chunk.text().is_ascii(), pattern.case) {
                        (true, Case::Same) => found.add_by_glob(chunk, chunk.text(), &pattern),
                        (true, Case::Any) => found.add_by_glob(chunk, lowered(chunk, &mut lower), &pattern),
                        (false, _) => found.add_by_regex(chunk, &pattern.regex, search)?,
                    }
                }
            }
            Pattern::Fragment(fragment, literal) => {
                let literal = literal.clone();
                for chunk in chunks {
                    search.go_on()?;
                    if chunk.text().is_ascii() {
                        found.add_fragments(chunk, lowered(chunk, &mut lower), &literal);
                    } else {
                        found.add_by_row(chunk, fragment); // lower case may be longer than the name
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Compiles a pattern with the room that it takes at most meanwhile. What is kept of it is small.
fn with_room<T>(text: &str, room: &Lease, compiled: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    if text.len() > PATTERN_BYTES_MAX {
        let message = format!("a pattern has {} bytes, at most {PATTERN_BYTES_MAX} are possible", text.len());
        return Err(Refusal::new(Code::TooLarge, message));
    }
    let bytes = text.len() * COMPILED_BYTES;
    room.grow(bytes)?;
    let made = compiled();
    room.shrink(bytes);
    made
}

static LONG_SEARCHES: Permits = Permits::of(LONG_SEARCHES_MAX);

/// A search through all names while it goes on. One that takes long must be one of few.
struct Search<'s> {
    begun: Instant,
    long: OnceLock<Option<Permit<'s>>>,
    is_abandoned: &'s (dyn Fn() -> bool + Sync),
    long_searches: &'s Permits,
}

impl<'s> Search<'s> {
    fn begin(is_abandoned: &'s (dyn Fn() -> bool + Sync), long_searches: &'s Permits) -> Search<'s> {
        Search { begun: Instant::now(), long: OnceLock::new(), is_abandoned, long_searches }
    }

    /// Refuses to go on with a search that takes too long, or is for nobody any more.
    fn go_on(&self) -> Result<(), Refusal> {
        let passed = self.begun.elapsed();
        if passed < SHORT_SEARCH {
            return Ok(());
        }
        if self.long.get_or_init(|| self.long_searches.take()).is_none() {
            let message =
                format!("{LONG_SEARCHES_MAX} patterns are being compared already that take as long as this one");
            return Err(Refusal::busy(message).hint("ask again in a second, or with a simpler pattern"));
        }
        if passed > LONGEST_SEARCH {
            let message = format!("comparing this with all names takes longer than {LONGEST_SEARCH:?}");
            return Err(Refusal::new(Code::TooLarge, message).hint("give a simpler pattern"));
        }
        if (self.is_abandoned)() { Err(Refusal::new(Code::BadRequest, "the client has gone")) } else { Ok(()) }
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
            if Glob(&pattern.glob).fits(&text[starts[row] as usize..next(row) - 1]) {
                self.elsewhere.push(&chunk.rows()[row]);
            }
            from = next(row);
        }
    }

    fn add_by_regex(&mut self, chunk: &'a NameChunk, regex: &Regex, search: &Search) -> Result<(), Refusal> {
        for (index, (row, name)) in chunk.rows().iter().zip(chunk.text().split('\n')).enumerate() {
            if index % LOOK_NAMES == 0 {
                search.go_on()?;
            }
            if regex.is_match(name) {
                self.elsewhere.push(row);
            }
        }
        Ok(())
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
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn compile(pattern: &str, case: Case) -> Result<Regex, Refusal> {
    RegexBuilder::new(pattern).case_insensitive(case == Case::Any).size_limit(REGEX_BYTES_MAX).build().map_err(
        |error| {
            let reason = error.to_string();
            let pattern = shortened(pattern);
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
    use archive::{NameKind, PvId, PvName};
    use proptest::prelude::*;

    use super::*;
    use crate::budget::Budget;

    fn room() -> Lease {
        Budget::new(1 << 30).lease()
    }

    /// A regular expression that takes a long time for each name is given up when its client goes, and few go on at a time.
    #[test]
    fn a_search_that_takes_long_is_one_of_few_and_ends_when_nobody_waits_for_it() {
        let names: Vec<String> = (0..200_000).map(|i| format!("{}{i:06}", "ab".repeat(100))).collect();
        let named =
            |(name, id): (&String, u32)| Named { name: PvName::new(name).unwrap(), pv: PvId(id), kind: NameKind::Own };
        let (names, long) = (Names::of(names.iter().zip(0..).map(named).collect()), Permits::of(LONG_SEARCHES_MAX));
        let slow = Pattern::search(r"~a.{60}[ab].{60}[^x]\W", &room()).unwrap();
        let begun = Instant::now();
        let left = slow.found(&names, &Search::begin(&|| true, &long)).unwrap_err();
        assert_eq!(left.message(), "the client has gone");
        assert!((SHORT_SEARCH..LONGEST_SEARCH).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        let others: Vec<Search> = (0..LONG_SEARCHES_MAX).map(|_| Search::begin(&|| false, &long)).collect();
        std::thread::sleep(SHORT_SEARCH);
        others.iter().for_each(|other| other.go_on().unwrap());
        assert_eq!(slow.found(&names, &Search::begin(&|| false, &long)).unwrap_err().code(), Code::Busy);
        drop(others);
        assert_eq!(long.taken(), 0);
    }

    /// Prints what compiling takes: `cargo test -p web what_compiling_takes -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    #[expect(clippy::print_stdout, reason = "it is there to be read")]
    fn what_compiling_takes() {
        let resident = |line: &str| {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|found| found.strip_prefix(line)).unwrap();
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap()
        };
        for text in [r"\w", r"\W", r"\pL", r"[^\w]", "(a|b)", "((((a))))", "[a-z]{1000}", ".", r"[\w--\d]"] {
            for case in [Case::Same, Case::Any] {
                let pattern = text.repeat(4096 / text.len());
                let before = resident("VmRSS");
                std::fs::write("/proc/self/clear_refs", "5").unwrap();
                let made = compile(&pattern, case).is_ok();
                let kilobytes = resident("VmHWM") - before;
                println!("{text} {case:?} {made}: {} bytes for each byte", kilobytes * 1024 / pattern.len());
            }
        }
    }

    #[test]
    fn a_pattern_has_a_longest_length() {
        let refusal =
            Pattern::search(&format!("~{}", "a|".repeat(PATTERN_BYTES_MAX)), &room()).map(|_| ()).unwrap_err();
        assert_eq!(refusal.code(), Code::TooLarge);
    }

    fn found_among(names: &[&str], pattern: Result<Pattern, Refusal>) -> Vec<String> {
        let named = |(name, id): (&&str, u32)| Named {
            name: PvName::recorded(name).unwrap(),
            pv: PvId(id),
            kind: NameKind::Own,
        };
        let (names, long) = (Names::of(names.iter().zip(0..).map(named).collect()), Permits::of(LONG_SEARCHES_MAX));
        pattern
            .unwrap()
            .found(&names, &Search::begin(&|| false, &long))
            .unwrap()
            .into_iter()
            .map(|named| named.name.to_string())
            .collect()
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
        assert_eq!(found_among(&sorted, Pattern::search("9:rb", &room())), expected);
        assert_eq!(found_among(&sorted, Pattern::glob("SR*9:Rb", &room())), expected);
        assert_eq!(found_among(&sorted, Pattern::search("", &room())), sorted);
        assert_eq!(found_among(&sorted, Pattern::search("rb\nsr", &room())), Vec::<String>::new());
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
                let regex = compile(&Glob(&glob).regex(), case).map(Pattern::Regex);
                prop_assert_eq!(found_among(&names, Pattern::glob_of(&glob, case)), found_among(&names, regex));
            }
        }
    }

    /// Prints what a search takes: `cargo test --release -p web a_search_in_a_million -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    #[expect(clippy::print_stdout, reason = "it is there to be read")]
    fn a_search_in_a_million_names_finds_all() {
        let name = |k: u32| format!("SR{:02}:SEC{:02}:DEV{k:07}:VAL{}", k / 1000 % 100, k % 40, k % 7);
        let row = |k| Named { name: PvName::new(&name(k)).unwrap(), pv: PvId(k), kind: NameKind::Own };
        let names = Names::of((0..1_000_000).map(row).collect());
        let searches =
            ["dev0123456", "*9999*", "SR05:*:VAL2", "*:SEC0?:*", "?R0*", "~^.*9999.*$", "~^SR1[0-9]:SEC0.*VAL1$"];
        let long = Permits::of(LONG_SEARCHES_MAX);
        for (text, count) in searches.into_iter().zip([1, 280, 1429, 250_000, 100_000, 280, 3571]) {
            let pattern = Pattern::search(text, &room()).unwrap();
            let mut times: Vec<_> = (0..9)
                .map(|_| {
                    let begun = std::time::Instant::now();
                    assert_eq!(pattern.found(&names, &Search::begin(&|| false, &long)).unwrap().len(), count, "{text}");
                    begun.elapsed()
                })
                .collect();
            times.sort_unstable();
            println!("{text}: {count} names, median {:.1?}", times[4]);
        }
    }

    #[test]
    fn names_beyond_ascii_are_found_in_any_case() {
        assert_eq!(
            found_among(&["STRÖM:1", "İx", "A:ström"], Pattern::search("ström", &room())),
            ["STRÖM:1", "A:ström"]
        );
    }

    #[test]
    fn names_that_begin_with_the_fragment_come_first() {
        assert_eq!(found(Pattern::search("temp", &room())), ["TEMP:1", "A:TEMP"]);
        assert_eq!(found(Pattern::search("", &room())).len(), 4);
    }

    #[test]
    fn in_a_glob_only_star_and_question_mark_are_special() {
        assert_eq!(found(Pattern::search("x.*", &room())), ["X.Y"]);
        assert_eq!(found(Pattern::search("x?y", &room())), ["X.Y", "XAY"]);
        assert_eq!(found(Pattern::glob("x?y", &room())), Vec::<String>::new());
    }

    #[test]
    fn a_tilde_makes_a_regular_expression_and_bad_ones_are_refused() {
        assert_eq!(found(Pattern::search("~^x.y$", &room())), ["X.Y", "XAY"]);
        assert_eq!(found(Pattern::whole_regex("X", &room())), Vec::<String>::new());
        assert_eq!(found(Pattern::whole_regex("X.*|TEMP", &room())), ["X.Y", "XAY"]);
        let refusal = Pattern::search("~(", &room()).map(|_| ()).unwrap_err();
        assert_eq!(refusal.message(), "the pattern \"(\" cannot be used: unclosed group");
        assert!(Pattern::search("~(.{1000}){1000}", &room()).is_err());
    }
}

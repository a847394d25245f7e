//! Names of PVs out of what people have: a list, a database of an IOC, an export of the Archiver Appliance. Pure; each line that is no PV
//! says why.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::HashSet, str::Lines};

use aa::TypeInfo;
use archive::{
    Method, PvName, PvState,
    settings::{PERIOD_MAX, PERIOD_MIN},
};
use serde_json::Value;

/// So much of a line is told of one that is refused.
const TOLD_CHARS: usize = 200;

/// What a text was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    List,
    Database,
    Appliance,
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::List => "list",
            Form::Database => "database",
            Form::Appliance => "appliance",
        }
    }
}

/// A PV that a text names, or a line that is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Named {
    /// From 1; in an export the how many-th entry.
    pub(crate) line: usize,
    /// As it is to be asked for, with its prefix; what was written, if it is refused.
    pub(crate) name: String,
    /// Seconds of a scan; none for every change, or as the policy says.
    pub(crate) period: Option<f64>,
    /// It was told to be recorded at every change.
    pub(crate) is_monitored: bool,
    /// Fields that are to be recorded with it.
    pub(crate) fields: Vec<String>,
    /// By which policy another archiver had it.
    pub(crate) policy: Option<String>,
    /// Another archiver had paused it.
    pub(crate) is_paused: bool,
    /// Why it is refused.
    pub(crate) refused: Option<String>,
}

/// What a text is, and all that it names, each name once.
pub(crate) fn read(text: &str) -> (Form, Vec<Named>) {
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    let (form, mut found) = if begin.starts_with(['[', '{']) {
        (Form::Appliance, export(begin))
    } else if is_database(text) {
        (Form::Database, Database::new(text).read())
    } else {
        (Form::List, text.lines().zip(1..).filter_map(|(text, line)| list_line(text, line)).collect())
    };
    let mut seen = HashSet::new();
    found.retain(|named| named.refused.is_some() || seen.insert(named.name.clone()));
    (form, found)
}

fn refused(line: usize, text: &str, why: impl Into<String>) -> Named {
    let name = text.trim().chars().take(TOLD_CHARS).collect();
    Named { line, name, refused: Some(why.into()), ..Named::default() }
}

/// Why a text is no name of a PV.
fn misfit(name: &str) -> Option<String> {
    if name.contains("$(") || name.contains("${") {
        return Some(
            "it has a macro that is not resolved: take what the IOC says by dbl, or give the macro its value"
                .to_owned(),
        );
    }
    match name.split_once("://") {
        Some((protocol, _)) if !["ca", "pva"].contains(&protocol) => {
            Some(format!("{protocol:?} is no protocol: ca:// or pva:// stands before a name, or nothing"))
        }
        _ => PvName::parse(name).err().map(|error| error.to_string()),
    }
}

fn named(line: usize, name: &str) -> Named {
    match misfit(name) {
        Some(why) => refused(line, name, why),
        None => Named { line, name: name.to_owned(), ..Named::default() },
    }
}

/// `NAME`, `NAME,monitor` or `NAME,scan,10`, with what stands behind `#` left out.
fn list_line(text: &str, line: usize) -> Option<Named> {
    let comment = text.char_indices().find(|(place, letter)| {
        *letter == '#'
            && text.get(..*place).is_none_or(|before| before.is_empty() || before.ends_with(char::is_whitespace))
    });
    let plain = comment.and_then(|(place, _)| text.get(..place)).unwrap_or(text).trim();
    if plain.is_empty() {
        return None;
    }
    let mut parts = plain.split(',').map(|part| part.trim().trim_matches('"'));
    let of = named(line, parts.next().unwrap_or_default());
    if of.refused.is_some() {
        return Some(of);
    }
    let periods = PERIOD_MIN.as_secs_f64()..=PERIOD_MAX.as_secs_f64();
    let (method, seconds) = (parts.next().unwrap_or_default(), parts.next());
    Some(match method.to_ascii_lowercase().as_str() {
        "" => of,
        "monitor" => Named { is_monitored: true, ..of },
        "scan" => match seconds.unwrap_or("1").parse::<f64>() {
            Ok(period) if periods.contains(&period) => Named { period: Some(period), ..of },
            _ => refused(line, plain, format!("a period is from {} s to {} s", periods.start(), periods.end())),
        },
        _ => refused(line, plain, format!("{method:?} is no method: monitor, or scan with a period")),
    })
}

/// A list of names, or of entries of the Archiver Appliance.
fn export(text: &str) -> Vec<Named> {
    let entries = match serde_json::from_str(text) {
        Ok(Value::Array(entries)) => entries,
        Ok(one) => vec![one],
        Err(error) => {
            return vec![refused(
                error.line(),
                text.lines().next().unwrap_or_default(),
                format!("it is not JSON: {error}"),
            )];
        }
    };
    let entry = |(entry, line): (Value, usize)| match entry {
        Value::String(name) => named(line, &name),
        entry => match TypeInfo::read(&entry) {
            Ok(info) => of_info(line, info),
            Err(why) => refused(line, entry.get("pvName").and_then(Value::as_str).unwrap_or("an entry"), why),
        },
    };
    entries.into_iter().zip(1..).map(entry).collect()
}

fn of_info(line: usize, info: TypeInfo) -> Named {
    let period = if let Method::Scan { period } = info.method { Some(period.as_secs_f64()) } else { None };
    let prefix = if info.protocol == archive::Protocol::Pva { "pva://" } else { "" };
    Named {
        line,
        name: format!("{prefix}{}", info.name),
        period,
        is_monitored: period.is_none(),
        fields: info.fields,
        policy: info.policy,
        is_paused: info.state == PvState::Paused,
        refused: None,
    }
}

/// Whether a line begins a record.
fn is_database(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        let rest = line.strip_prefix("record").or_else(|| line.strip_prefix("grecord"));
        rest.is_some_and(|rest| rest.trim_start().starts_with('('))
    })
}

/// A database of an IOC: `record(ai, "NAME") { field(…) alias("OTHER") }`, `alias("NAME", "OTHER")`, `include "FILE"`.
struct Database<'t> {
    lines: Lines<'t>,
    line: usize,
    rest: &'t str,
    found: Vec<Named>,
}

/// What a database is made of.
enum Token<'t> {
    Word(&'t str),
    Sign(char),
    /// A quote that no line ends.
    Open(&'t str),
}

impl<'t> Database<'t> {
    fn new(text: &'t str) -> Database<'t> {
        Database { lines: text.lines(), line: 0, rest: "", found: Vec::new() }
    }

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with('#') {
                self.rest = self.lines.next()?;
                self.line += 1;
                continue;
            }
            if let Some(quoted) = self.rest.strip_prefix('"') {
                let Some(end) = end_of_quote(quoted) else {
                    self.rest = "";
                    return Some(Token::Open(quoted));
                };
                self.rest = quoted.get(end + 1..).unwrap_or_default();
                return quoted.get(..end).map(Token::Word);
            }
            let first = self.rest.chars().next()?;
            if "(){},".contains(first) {
                self.rest = self.rest.get(1..).unwrap_or_default();
                return Some(Token::Sign(first));
            }
            let word = end_of_word(self.rest);
            let (word, rest) = self.rest.split_at_checked(word).unwrap_or((self.rest, ""));
            self.rest = rest;
            return Some(Token::Word(word));
        }
    }

    fn read(mut self) -> Vec<Named> {
        // What stands between braces belongs to a record, whose aliases alone are names.
        let mut depth = 0_usize;
        while let Some(token) = self.next() {
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => depth = depth.saturating_sub(1),
                Token::Word("record" | "grecord") if depth == 0 => self.take(1, "a record"),
                Token::Word("alias") => self.take(usize::from(depth == 0), "an alias"),
                Token::Word("include") if depth == 0 => {
                    let line = self.line;
                    if let Some(Token::Word(file)) = self.next() {
                        let why = format!("the file {file:?} is not here: add it as well");
                        self.found.push(refused(line, &format!("include {file}"), why));
                    }
                }
                Token::Open(text) => self.open(text),
                Token::Word(_) | Token::Sign(_) => {}
            }
        }
        self.found
    }

    fn open(&mut self, text: &str) {
        self.found.push(refused(self.line, text, "a quote that begins here does not end in its line"));
    }

    /// Takes the word behind so many others within parentheses as a name.
    fn take(&mut self, behind: usize, what: &str) {
        let (line, mut words) = (self.line, Vec::new());
        if !matches!(self.next(), Some(Token::Sign('('))) {
            return;
        }
        loop {
            match self.next() {
                Some(Token::Word(word)) => words.push(word),
                Some(Token::Sign(',')) => {}
                Some(Token::Open(text)) => return self.open(text),
                Some(Token::Sign(_)) | None => break,
            }
        }
        match words.get(behind) {
            Some(name) => self.found.push(named(line, name)),
            None => self.found.push(refused(line, &words.join(", "), format!("{what} has no name"))),
        }
    }
}

/// Where a quote ends; a backslash keeps the sign behind it.
fn end_of_quote(text: &str) -> Option<usize> {
    let mut is_kept = false;
    text.char_indices().find_map(|(place, letter)| {
        let ends = letter == '"' && !is_kept;
        is_kept = letter == '\\' && !is_kept;
        ends.then_some(place)
    })
}

/// Where a word without quotes ends. A macro in it has parentheses of its own.
fn end_of_word(text: &str) -> usize {
    let mut inside = 0_usize;
    let mut before = ' ';
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '{' if before == '$' => inside += 1,
            ')' | '}' if inside > 0 => inside -= 1,
            '(' | ')' | '{' | '}' | ',' | '"' => return place,
            letter if letter.is_whitespace() && inside == 0 => return place,
            _ => {}
        }
        before = letter;
    }
    text.len()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each name with its line, and what is refused with the beginning of why.
    fn told(text: &str) -> (Form, Vec<String>) {
        let (form, found) = read(text);
        let one = |of: &Named| match &of.refused {
            None => format!("{} {}", of.line, of.name),
            Some(why) => format!("{} {} ! {}", of.line, of.name, why.split([':', ',']).next().unwrap()),
        };
        (form, found.iter().map(one).collect())
    }

    #[test]
    fn a_database_gives_its_records_and_aliases_and_names_macros_that_are_open() {
        let text = r#"# record(ai, "NOT:ME")
record(ai, "SR:CURRENT") {   # the ring
    field(DESC, "a \"quoted\" record(ai, NOT:THIS)")
    field(INP, "$(P)X CP") field(CALC, "A{B}")
    info(autosaveFields, "VAL")
    alias("SR:DCCT")
}
grecord( bo , SR:SHUTTER ){}
record(ai,"$(P)TEMP") { field(EGU, "C") }
record(ai, ${P}:PLAIN) {}
alias("SR:CURRENT", "SR:I")
include "more.db"
record("*", "SR:CURRENT") { field(PREC, "3") }
record(ai) {}
record(ai, "A B") {}
record(ai, "LOST) {
record(ai, "LAST") { field(FLNK, "") }
"#;
        let expected = [
            "2 SR:CURRENT",
            "6 SR:DCCT",
            "8 SR:SHUTTER",
            "9 $(P)TEMP ! it has a macro that is not resolved",
            "10 ${P}:PLAIN ! it has a macro that is not resolved",
            "11 SR:I",
            "12 include more.db ! the file \"more.db\" is not here",
            "14 ai ! a record has no name",
            "15 A B ! the name has ' ' at byte 1",
            "16 LOST) { ! a quote that begins here does not end in its line",
            "17 LAST",
        ];
        let (form, found) = told(text);
        assert_eq!(form, Form::Database);
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.split(" !").next(), expected.split(" !").next());
            assert_eq!(found.contains('!'), expected.contains('!'), "{found}");
        }
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found[3].contains("macro") && found[6].contains("is not here") && found[9].contains("quote"));
    }

    #[test]
    fn an_export_of_the_appliance_gives_names_with_their_settings() {
        let text = r#"[{"pvName":"A:1","samplingMethod":"SCAN","samplingPeriod":"10.0","paused":"true","policyName":"Slow"},
            {"pvName":"A:2","samplingMethod":"MONITOR","samplingPeriod":"1.0","usePVAccess":"true","archiveFields":["HIHI","LOLO"]},
            {"name":"A:3"}, "A:4"]"#;
        let (form, found) = read(text);
        assert_eq!(form, Form::Appliance);
        assert_eq!((found[0].name.as_str(), found[0].period, found[0].is_paused), ("A:1", Some(10.0), true));
        assert_eq!(found[0].policy.as_deref(), Some("Slow"));
        assert_eq!((found[1].name.as_str(), found[1].is_monitored), ("pva://A:2", true));
        assert_eq!(found[1].fields, ["HIHI", "LOLO"]);
        assert_eq!((found[2].line, found[2].refused.as_deref()), (3, Some("an entry has no pvName")));
        assert_eq!(found[3].name, "A:4");
        assert_eq!(told("[\"A\",\"B\",\"A\"]").1, ["1 A", "2 B"], "as getAllPVs gives them, each once");
        assert!(read("[\"A\"").1[0].refused.as_ref().unwrap().starts_with("it is not JSON"));
    }

    #[test]
    fn a_list_gives_names_with_how_they_are_sampled() {
        let (form, found) =
            read("# vacuum\nA:1,scan,10\n pva://B  # one\n\"C\",monitor\nA:1\nD,scan,0\nE,sometimes\nfoo://F\n");
        assert_eq!(form, Form::List);
        let names: Vec<&str> = found.iter().filter(|of| of.refused.is_none()).map(|of| of.name.as_str()).collect();
        assert_eq!((names, found[0].period, found[2].is_monitored), (vec!["A:1", "pva://B", "C"], Some(10.0), true));
        let bad: Vec<usize> = found.iter().filter(|of| of.refused.is_some()).map(|of| of.line).collect();
        assert_eq!(bad, [6, 7, 8]);
    }

    proptest! {
        #[test]
        fn whatever_a_text_is_it_is_read_to_its_end(text in "(record|alias|include|[\"(){},#$\\\\ \na-c\u{e4}]){0,40}") {
            read(&text);
            read(&format!("record(ai,{text}"));
        }
    }
}

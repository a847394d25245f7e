//! The words of an expression: numbers, texts, names, signs, each with its place.

use super::TEXT_BYTES_MAX;
use crate::fault::{ExpressionFault, Place};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Number(f64),
    Text(Box<str>),
    /// A name without quotes, or a word of the language.
    Bare(Box<str>),
    Quoted(Box<str>),
    Sign(&'static str),
    End,
}

/// Of two that begin alike the longer comes first.
const SIGNS: [&str; 19] =
    ["<=", ">=", "==", "!=", "<>", "&&", "||", "**", "<", ">", "=", "!", "+", "-", "*", "/", "%", "^", "("];
const MORE_SIGNS: [&str; 2] = [")", ","];

/// Units of time behind a number, in seconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("w", 604_800.0),
];

/// All words of a text; the last is its end.
pub(super) fn words(text: &str) -> Result<Vec<(Word, Place)>, ExpressionFault> {
    if text.len() > TEXT_BYTES_MAX {
        let why = format!("the expression has {} bytes, at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(ExpressionFault::too_much(Place { at: 0, character: 1 }, why));
    }
    let mut reader = Reader { text, at: 0, counted: Place { at: 0, character: 1 } };
    let mut words = Vec::new();
    loop {
        reader.skip_blanks();
        let place = reader.place();
        let word = reader.word(place)?;
        let is_end = word == Word::End;
        words.push((word, place));
        if is_end {
            return Ok(words);
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How many characters come before a place that was counted.
    counted: Place,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn place(&mut self) -> Place {
        let between = self.text.get(self.counted.at..self.at).unwrap_or_default();
        self.counted = Place { at: self.at, character: self.counted.character + between.chars().count() };
        self.counted
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes what comes next as long as it is so.
    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !is_wanted(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn word(&mut self, place: Place) -> Result<Word, ExpressionFault> {
        let mut characters = self.rest().chars();
        let Some(first) = characters.next() else { return Ok(Word::End) };
        let second = characters.next().unwrap_or(' ');
        if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
            return self.number(place);
        }
        if is_of_name(first) && !first.is_ascii_digit() && !matches!(first, ':' | '.' | '{' | '}') {
            return Ok(Word::Bare(self.name().into()));
        }
        if matches!(first, '\'' | '"' | '`') {
            self.at += 1;
            let quoted = self.take_while(|c| c != first);
            if !self.rest().starts_with(first) {
                return Err(ExpressionFault::syntax(place, format!("the {first} that begins here has no end")));
            }
            self.at += 1;
            return Ok(if first == '`' { Word::Quoted(quoted.into()) } else { Word::Text(quoted.into()) });
        }
        let rest = self.rest();
        let sign = SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign));
        let sign = sign.ok_or_else(|| {
            ExpressionFault::syntax(
                place,
                format!("{first:?} means nothing here; a name that has it stands between backquotes"),
            )
        })?;
        self.at += sign.len();
        Ok(Word::Sign(sign))
    }

    /// A minus belongs to a name between two of its characters.
    fn name(&mut self) -> &'t str {
        let rest = self.rest();
        let mut end = 0;
        let mut characters = rest.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let is_inner = character == '-' && at > 0 && next.is_some_and(is_of_name);
            if !is_of_name(character) && !is_inner {
                break;
            }
            end = at + character.len_utf8();
        }
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Digits with a point and an exponent, and a unit of time.
    fn number(&mut self, place: Place) -> Result<Word, ExpressionFault> {
        let start = self.at;
        self.take_while(|c| c.is_ascii_digit());
        if self.rest().starts_with('.') {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        let exponent = self.rest().strip_prefix(['e', 'E']);
        let exponent = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
        if exponent.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            self.at += 1;
            self.at += usize::from(self.rest().starts_with(['+', '-']));
            self.take_while(|c| c.is_ascii_digit());
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        let number: f64 =
            digits.parse().map_err(|_| ExpressionFault::syntax(place, format!("{digits:?} is no number")))?;
        let behind = self.at;
        self.skip_blanks();
        let unit_at = self.at;
        let unit = self.take_while(is_of_name);
        if let Some((_, seconds)) = UNITS.iter().find(|(known, _)| *known == unit) {
            return Ok(Word::Number(number * seconds));
        }
        if !unit.is_empty() && unit_at == behind {
            let why = format!("{digits}{unit} is neither a number nor a number of ns, us, ms, s, min, h, d or w");
            return Err(ExpressionFault::syntax(
                place,
                format!("{why}; a name that begins with a digit stands between backquotes"),
            ));
        }
        self.at = behind;
        Ok(Word::Number(number))
    }
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '.' | '{' | '}')
}

//! Python as text: lines with their indentation, and literals. Nothing is executed.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

/// A line that says something, without its comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) indent: usize,
    pub(crate) text: String,
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    Number(f64),
    List(Vec<String>),
    /// The name of a variable.
    Name(String),
}

/// The lines of a text: comments and long strings left out, those that go on in the next one joined.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut open, mut long) = (0i64, None::<&str>);
    for (raw, number) in text.lines().zip(1..) {
        if let Some(mark) = long {
            long = if raw.contains(mark) { None } else { long };
            continue;
        }
        let trimmed = raw.trim_start();
        if let Some(mark) = ["\"\"\"", "'''"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            let closes = trimmed.get(3..).is_some_and(|rest| rest.contains(mark));
            long = (!closes).then_some(mark);
            continue;
        }
        let text = without_comment(raw);
        if text.trim().is_empty() {
            continue;
        }
        let indent = text.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 8 } else { 1 }).sum();
        let said = text.trim().trim_end_matches('\\').trim_end();
        match lines.last_mut().filter(|_| open > 0) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(said);
            }
            None => lines.push(Line { number, indent, text: said.trim_end_matches(';').to_owned() }),
        }
        open += depth(said) + i64::from(text.trim_end().ends_with('\\'));
        open = if text.trim_end().ends_with('\\') { open } else { open.max(0).min(depth_of(&lines)) };
    }
    lines
}

/// How many brackets of the last line are open.
fn depth_of(lines: &[Line]) -> i64 {
    lines.last().map_or(0, |line| depth(&line.text).max(0))
}

fn depth(text: &str) -> i64 {
    outside(text)
        .map(|(_, c)| match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        })
        .sum()
}

/// The characters that stand in no quotes.
fn outside(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut escaped) = (None, false);
    text.char_indices().filter(move |(_, c)| {
        let was = quote;
        match (quote, *c) {
            (Some(_), '\\') if !escaped => {
                escaped = true;
                return false;
            }
            (Some(mark), c) if c == mark && !escaped => quote = None,
            (None, '\'' | '"') => quote = Some(*c),
            _ => {}
        }
        escaped = false;
        was.is_none() && quote.is_none()
    })
}

fn without_comment(line: &str) -> &str {
    let comment = outside(line).find(|(_, c)| *c == '#').map(|(at, _)| at);
    comment.and_then(|at| line.get(..at)).unwrap_or(line)
}

/// Where an assignment parts: its two sides.
pub(crate) fn assignment(text: &str) -> Option<(&str, &str)> {
    let (at, _) = outside(text).find(|(at, c)| {
        let around = |offset: usize| text.as_bytes().get(offset).copied().unwrap_or(b' ');
        *c == '=' && around(at + 1) != b'=' && *at > 0 && !b"=<>!+-*/".contains(&around(at - 1))
    })?;
    Some((text.get(..at)?.trim(), text.get(at + 1..)?.trim()))
}

/// A literal, or the name of a variable.
pub(crate) fn literal(text: &str) -> Option<Literal> {
    let text = text.trim();
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Some(Literal::List(
            split(inside)
                .iter()
                .filter_map(|one| match literal(one)? {
                    Literal::Text(text) | Literal::Name(text) => Some(text),
                    Literal::Number(number) => Some(number.to_string()),
                    Literal::List(_) => None,
                })
                .collect(),
        ));
    }
    if let Some(text) = quoted(text) {
        return Some(Literal::Text(text));
    }
    if let Ok(number) = text.parse() {
        return Some(Literal::Number(number));
    }
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    is_name.then(|| Literal::Name(text.to_owned()))
}

/// What stands in quotes, if nothing else does.
pub(crate) fn quoted(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['r', 'u']);
    let mark = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let inside = text.strip_prefix(mark)?.strip_suffix(mark)?;
    (!inside.contains(mark)).then(|| inside.replace("\\\\", "\\"))
}

/// The parts between commas that stand in no quotes and brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0i64);
    for (at, c) in outside(text) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..).filter(|rest| !rest.trim().is_empty()));
    parts
}

/// The texts in quotes that stand anywhere in a line, each with what stands before it.
pub(crate) fn texts(text: &str) -> Vec<(&str, String)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..) {
        let Some(begin) = rest.find(['\'', '"']) else { break };
        let (before, tail) = rest.split_at(begin);
        let mark = tail.chars().next().unwrap_or('"');
        let inside = tail.strip_prefix(mark).unwrap_or_default();
        let Some(end) = inside.find(mark) else { break };
        found.push((before, inside.get(..end).unwrap_or_default().to_owned()));
        at += begin + end + 2;
    }
    found
}

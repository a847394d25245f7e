//! URLs as clients really write them: doubled slashes, `..` segments, flags without value, a bare `+` in time offsets.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{str::FromStr, time::Duration};

use percent_encoding::percent_decode_str;
use sample::{TimeRange, Timestamp};
use service::now;

use crate::refusal::{Code, Refusal};

/// How far back a request reaches that does not say from when.
const RANGE_DEFAULT: Duration = Duration::from_secs(3600);

/// How many rows a list has that is asked for no number of them.
const LIMIT_DEFAULT: usize = 100;

/// The parameters of a query string or a form, decoded, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// From `a=1&b&c=`. A `+` stays a `+`: no parameter here holds blanks, while times and names do hold plus signs.
    pub(crate) fn parse(query: &str) -> Params {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Params(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name), decode(value))
                })
                .collect(),
        )
    }

    /// Puts others behind these.
    pub(crate) fn extend(&mut self, others: Params) {
        self.0.extend(others.0);
    }

    /// The first value of that name. A parameter without value counts as absent.
    pub(crate) fn get<'a>(&'a self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// All values of that name.
    pub(crate) fn all<'a>(&'a self, name: &str) -> std::vec::IntoIter<&'a str> {
        let given = |(n, value): &&(String, String)| n == name && !value.is_empty();
        self.0.iter().filter(given).map(|(_, value)| value.as_str()).collect::<Vec<_>>().into_iter()
    }

    /// The parameters that have a value.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What is given, with a value or without.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// A switch: on when it is `true`, or there without a value.
    pub(crate) fn switch(&self, name: &str) -> bool {
        self.0.iter().any(|(n, value)| n == name && (value.is_empty() || value.eq_ignore_ascii_case("true")))
    }

    /// What must be given.
    pub(crate) fn needed<'a>(&'a self, name: &str) -> Result<&'a str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::new(Code::BadRequest, format!("{name}= is missing")))
    }

    /// From `from` up to, not including, `to`: by default the last hour.
    pub(crate) fn range(&self) -> Result<TimeRange, Refusal> {
        let now = now();
        Ok(TimeRange::typed(self.get("from"), self.get("to"), now, (RANGE_DEFAULT, now))?)
    }

    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        Ok(self.get(name).map(|text| Timestamp::typed(text, now())).transpose()?)
    }

    /// A number, if it is given.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse();
        let number = number.map_err(|_| {
            Refusal::new(Code::BadRequest, format!("{name} is {text:?}, expected a number that is not negative"))
        })?;
        Ok(Some(number))
    }

    /// How many rows `limit` wants, of which there are `max` at most; 100 where it is not given.
    pub(crate) fn limit(&self, max: usize) -> Result<usize, Refusal> {
        Ok(self.number("limit")?.unwrap_or(LIMIT_DEFAULT).min(max))
    }

    /// A word out of a few, the first of which is the default.
    pub(crate) fn word<'a>(&self, name: &str, known: &[&'a str], code: Code) -> Result<&'a str, Refusal> {
        let given = self.get(name);
        let found = given.map_or(known.first(), |text| known.iter().find(|word| word.eq_ignore_ascii_case(text)));
        found.copied().ok_or_else(|| {
            let given = given.unwrap_or_default();
            Refusal::new(code, format!("{name} is {given:?}, expected one of {}", known.join(", ")))
        })
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The path without empty, `.` and `..` segments; none if it needs no change.
pub(crate) fn tidy(path: &str) -> Option<String> {
    if !path.contains("//") && !path.split('/').any(|segment| segment == "." || segment == "..") {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            segment => kept.push(segment),
        }
    }
    Some(format!("/{}", kept.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_need_no_value_and_a_plus_stays_a_plus() {
        let params = Params::parse("pv=A%3AB&donotchunk&from=2026-01-01T00:00:00+01:00&to=&x=false&pv=C&&y=true");
        assert_eq!(params.get("pv"), Some("A:B"));
        assert_eq!(params.all("pv").collect::<Vec<_>>(), ["A:B", "C"]);
        assert_eq!(params.get("from"), Some("2026-01-01T00:00:00+01:00"));
        assert_eq!(params.get("to"), None);
        assert!(params.switch("donotchunk") && params.switch("y"));
        assert!(!params.switch("x") && !params.switch("absent"));
    }

    #[test]
    fn whatever_a_query_holds_it_is_read_without_panic() {
        let params = Params::parse("%=%zz&%ff=%ff&=&a==b");
        assert_eq!(params.get("a"), Some("=b"));
        assert_eq!(params.get("\u{fffd}"), Some("\u{fffd}"));
    }

    #[test]
    fn doubled_slashes_and_dots_go() {
        assert_eq!(tidy("/retrieval/ui/../bpl//getVersion").as_deref(), Some("/retrieval/bpl/getVersion"));
        assert_eq!(tidy("//data/./x/").as_deref(), Some("/data/x"));
        assert_eq!(tidy("/../../x").as_deref(), Some("/x"));
        assert_eq!(tidy("/api/v1/pvs/A%2F%2FB"), None);
    }
}

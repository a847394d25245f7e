//! `[[policy]]` and `[[group]]` of the config file: how PVs are archived by their names, and which PVs switch others.

use std::time::Duration;

use acquire::{Fits, Policies, Policy};
use archive::{
    Changes, Deadband, FieldName, FieldPath, Group, Keep, Method, Pipeline, Protocol, PvName, RateCap, RuleName, Sense,
    Switch, Wishes,
};
use serde::Deserialize;
use toml::Spanned;

use crate::config::parse_span;

/// The shortest scan period.
const PERIOD_MIN: Duration = Duration::from_millis(10);
/// The longest.
const PERIOD_MAX: Duration = Duration::from_secs(86_400);

/// The policies as they are written, each with its place in the file.
pub(crate) type PolicyTables = Vec<Spanned<PolicyFile>>;

/// The groups as they are written.
pub(crate) type GroupTables = Vec<Spanned<GroupFile>>;

/// A table that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Where it begins, in bytes.
    pub(crate) offset: usize,
    /// Which, and why.
    pub(crate) wrong: String,
}

/// A policy as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    /// Letters, digits and `_.:-`; must be unique.
    name: String,
    /// Globs with `*` and `?`, or regular expressions behind a `~`; one of them must fit the whole name.
    #[serde(rename = "match")]
    fits: OneOrMore,
    /// `monitor` or `scan`.
    method: Option<String>,
    /// Of a scan.
    period: Option<String>,
    protocol: Option<String>,
    /// A width, or so many percent of the last sample: `0.5`, `"5%"`.
    deadband: Option<NumberOrText>,
    /// So many samples at most: `10`, `"10/s"`, `"6/min"`, or with a burst.
    rate_cap: Option<CapFile>,
    /// `archive`, `value` or `any`.
    changes: Option<String>,
    pipeline: Option<bool>,
    fields: Option<Vec<String>>,
    only: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    /// A time, or `forever`.
    keep: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum CapFile {
    Rate(NumberOrText),
    Burst { rate: NumberOrText, burst: u32 },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupFile {
    name: String,
    /// PVs: the group is enabled while their values are not zero.
    #[serde(default)]
    enabled_by: Vec<String>,
    /// PVs: the group is disabled while the value of one of them is above zero.
    #[serde(default)]
    disabled_by: Vec<String>,
}

/// The policies, if each of them can be and no two have the same name.
pub(crate) fn policies(tables: &[Spanned<PolicyFile>]) -> Result<Policies, Mistake> {
    let mut policies = Policies::default();
    let mut all = Vec::with_capacity(tables.len());
    for table in tables {
        let file = table.get_ref().clone();
        let mistake = |wrong| Mistake { offset: table.span().start, wrong };
        let name = file.name.clone();
        all.push(file.checked().map_err(|wrong| mistake(format!("the policy {name:?}: {wrong}")))?);
        policies = Policies::new(all.clone()).map_err(|error| mistake(error.to_string()))?;
    }
    Ok(policies)
}

/// The groups, if each of them can be and no two have the same name.
pub(crate) fn groups(tables: &[Spanned<GroupFile>]) -> Result<Vec<Group>, Mistake> {
    let mut groups: Vec<Group> = Vec::with_capacity(tables.len());
    for table in tables {
        let file = table.get_ref().clone();
        let mistake = |wrong| Mistake { offset: table.span().start, wrong };
        let name = file.name.clone();
        let group = file.checked().map_err(|wrong| mistake(format!("the group {name:?}: {wrong}")))?;
        if groups.iter().any(|other| other.name == group.name) {
            return Err(mistake(format!("two groups are called {name}")));
        }
        groups.push(group);
    }
    Ok(groups)
}

type Checked<T> = Result<T, String>;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl PolicyFile {
    fn checked(self) -> Checked<Policy> {
        let patterns = match self.fits {
            OneOrMore::One(pattern) => vec![pattern],
            OneOrMore::More(patterns) => patterns,
        };
        if patterns.is_empty() {
            return Err("match is empty, expected a pattern like \"SR*:Temp\"".to_owned());
        }
        let protocol = |name: String| {
            Protocol::from_name(&name).ok_or_else(|| format!("protocol is {name:?}, expected \"ca\" or \"pva\""))
        };
        let changes = |name: String| {
            let expected = "expected \"archive\", \"value\" or \"any\"";
            Changes::from_name(&name).ok_or_else(|| format!("changes is {name:?}, {expected}"))
        };
        let wishes = Wishes {
            protocol: self.protocol.map(protocol).transpose()?,
            method: method(self.method.as_deref(), self.period.as_deref())?,
            deadband: self.deadband.map(NumberOrText::deadband).transpose()?,
            rate_cap: self.rate_cap.map(CapFile::checked).transpose()?,
            changes: self.changes.map(changes).transpose()?,
            pipeline: self.pipeline.map(|is_on| if is_on { Pipeline::On } else { Pipeline::Off }),
            fields: self
                .fields
                .map(|names| names.iter().map(|name| FieldName::new(name).map_err(said)).collect())
                .transpose()?,
            only: self
                .only
                .map(|paths| paths.iter().map(|path| FieldPath::new(path).map_err(said)).collect())
                .transpose()?,
            groups: self
                .groups
                .map(|names| names.iter().map(|name| RuleName::new(name).map_err(said)).collect())
                .transpose()?,
            keep: self.keep.map(|text| keep(&text)).transpose()?,
        };
        let fits = patterns.iter().map(|pattern| Fits::parse(pattern).map_err(said)).collect::<Checked<_>>()?;
        Ok(Policy { name: RuleName::new(&self.name).map_err(said)?, fits, wishes })
    }
}

fn method(method: Option<&str>, period: Option<&str>) -> Checked<Option<Method>> {
    let period = match period {
        None => None,
        Some(text) => {
            let span = parse_span(text).filter(|span| (PERIOD_MIN..=PERIOD_MAX).contains(span));
            Some(span.ok_or_else(|| format!("period is {text:?}, expected a time like \"1s\", from 10ms to 1d"))?)
        }
    };
    match (method, period) {
        (None, None) => Ok(None),
        (Some("monitor"), None) => Ok(Some(Method::Monitor)),
        (Some("scan") | None, Some(period)) => Ok(Some(Method::Scan { period })),
        (Some("monitor"), Some(_)) => Err("a monitor has no period; use rate_cap to limit it".to_owned()),
        (Some("scan"), None) => Err("scanning needs a period like \"1s\"".to_owned()),
        (Some(other), _) => Err(format!("method is {other:?}, expected \"monitor\" or \"scan\"")),
    }
}

fn keep(text: &str) -> Checked<Keep> {
    match text {
        "forever" => Ok(Keep::Forever),
        _ => parse_span(text)
            .map(Keep::For)
            .ok_or_else(|| format!("keep is {text:?}, expected a time like \"90d\" or \"10y\", or \"forever\"")),
    }
}

impl NumberOrText {
    fn deadband(self) -> Checked<Deadband> {
        match self {
            NumberOrText::Number(width) => Deadband::absolute(width).map_err(said),
            NumberOrText::Text(text) => Deadband::parse(&text).map_err(said),
        }
    }

    /// Samples per second.
    fn rate(&self) -> Checked<f64> {
        let text = match self {
            NumberOrText::Number(rate) => return Ok(*rate),
            NumberOrText::Text(text) => text,
        };
        let refused = || format!("rate_cap is {text:?}, expected a rate like \"10/s\" or \"6/min\"");
        let (number, unit) = text.split_once('/').ok_or_else(refused)?;
        let seconds = match unit.trim() {
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(refused()),
        };
        Ok(number.trim().parse::<f64>().map_err(|_| refused())? / seconds)
    }
}

impl CapFile {
    /// Without a burst it is what comes in a second, and at least one.
    fn checked(self) -> Checked<RateCap> {
        let (rate, burst) = match &self {
            CapFile::Rate(rate) => (rate.rate()?, None),
            CapFile::Burst { rate, burst } => (rate.rate()?, Some(*burst)),
        };
        RateCap::new(rate, burst.unwrap_or(rate.clamp(1.0, 1e6) as u32)).map_err(said)
    }
}

impl GroupFile {
    fn checked(self) -> Checked<Group> {
        let switch = |pv: &String, sense| {
            let (protocol, pv) = PvName::parse(pv).map_err(said)?;
            Ok(Switch { pv, protocol, sense })
        };
        let enabling = self.enabled_by.iter().map(|pv| switch(pv, Sense::Enables));
        let disabling = self.disabled_by.iter().map(|pv| switch(pv, Sense::Disables));
        let switches = enabling.chain(disabling).collect::<Checked<Vec<Switch>>>()?;
        if switches.is_empty() {
            return Err("it needs enabled_by or disabled_by with the names of PVs".to_owned());
        }
        Ok(Group { name: RuleName::new(&self.name).map_err(said)?, switches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Tables {
        #[serde(default)]
        policy: PolicyTables,
        #[serde(default)]
        group: GroupTables,
    }

    fn read(text: &str) -> Result<(Policies, Vec<Group>), String> {
        let tables: Tables = toml::from_str(text).map_err(said)?;
        let told = |mistake: Mistake| {
            let line = text[..mistake.offset].matches('\n').count() + 1;
            format!("line {line}: {}", mistake.wrong)
        };
        Ok((policies(&tables.policy).map_err(told)?, groups(&tables.group).map_err(told)?))
    }

    #[test]
    fn a_policy_says_everything_and_a_group_its_switches() {
        let (policies, groups) = read(
            r#"
            [[policy]]
            name = "slow"
            match = ["SR*:T?", "~X[0-9]+"]
            period = "10s"
            deadband = "5%"
            rate_cap = { rate = "30/min", burst = 7 }
            protocol = "pva"
            changes = "any"
            pipeline = true
            fields = ["HIHI", ".EGU"]
            only = ["value.rms", "peaks"]
            groups = ["beam"]
            keep = "90d"
            [[policy]]
            name = "rest"
            match = "*"
            rate_cap = 2.5
            deadband = 1
            [[group]]
            name = "beam"
            enabled_by = ["pva://SR:BEAM"]
            disabled_by = ["SR:MAINT"]
            "#,
        )
        .unwrap();
        let slow = policies.for_name("X12").unwrap();
        let rule = |name| RuleName::new(name).unwrap();
        let expected = Wishes {
            protocol: Some(Protocol::Pva),
            method: Some(Method::Scan { period: Duration::from_secs(10) }),
            deadband: Some(Deadband::Percent(5.0)),
            rate_cap: Some(RateCap::new(0.5, 7).unwrap()),
            changes: Some(Changes::Any),
            pipeline: Some(Pipeline::On),
            fields: Some(vec![FieldName::new("HIHI").unwrap(), FieldName::new("EGU").unwrap()]),
            only: Some(vec![FieldPath::new("value.rms").unwrap(), FieldPath::new("peaks").unwrap()]),
            groups: Some(vec![rule("beam")]),
            keep: Some(Keep::For(Duration::from_secs(90 * 86_400))),
        };
        assert_eq!((slow.name.as_str(), &slow.wishes), ("slow", &expected));
        let rest = policies.for_name("SR:T12").unwrap();
        assert_eq!(rest.wishes.rate_cap, Some(RateCap::new(2.5, 2).unwrap()));
        assert_eq!(rest.wishes.deadband, Some(Deadband::Absolute(1.0)));
        let beam = &groups[0];
        assert_eq!(beam.switches[0].protocol, Some(Protocol::Pva));
        assert_eq!(beam.switches.iter().map(|s| s.sense).collect::<Vec<_>>(), [Sense::Enables, Sense::Disables]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line_and_a_reason() {
        let with = |line: &str| format!("[[policy]]\nname = \"a\"\nmatch = \"A*\"\n{line}\n");
        let cases = [
            (with("method = \"scan\""), "line 1", "needs a period"),
            (with("method = \"monitor\"\nperiod = \"1s\""), "line 1", "has no period"),
            (with("period = \"1ms\""), "line 1", "from 10ms"),
            (with("deadband = -1"), "line 1", "more than 0"),
            (with("rate_cap = \"often\""), "line 1", "10/s"),
            (with("fields = [\"VAL\"]"), "line 1", "no field of a record"),
            (with("only = [\"value.*\"]"), "line 1", "no path of a field"),
            (with("keep = \"long\""), "line 1", "forever"),
            (with("storage = \"fast\""), "line 4", "unknown field `storage`"),
            (with("") + "[[policy]]\nname = \"b\"\nmatch = \"~(\"\n", "line 5", "unclosed group"),
            (with("") + &with(""), "line 5", "two policies are called a"),
            ("[[group]]\nname = \"g\"\n".to_owned(), "line 1", "needs enabled_by"),
            ("\n[[group]]\nname = \"g\"\nenabled_by = [\"a b\"]\n".to_owned(), "line 2", "no blanks"),
        ];
        for (text, line, reason) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.contains(line) && error.contains(reason), "{line:?} {reason:?} in: {error}");
        }
    }
}

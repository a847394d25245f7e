//! `[[policy]]` and `[[group]]` of the config file: how PVs are archived by their names, and which PVs switch others.

use std::{collections::HashSet, fmt, sync::LazyLock};

use archive::{
    Copies, Fits, Group, Policies, Policy, PolicyError, PvName, RuleName, Sense, Switch, Wishes,
    settings::{Given, Givens, Key, Shape, Written},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, Visitor},
};
use toml::Spanned;

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
#[derive(Clone, Debug)]
pub(crate) struct PolicyFile {
    /// Letters, digits and `_.:-`; must be unique.
    name: String,
    /// Globs with `*` and `?`, or regular expressions behind a `~`; one of them must fit the whole name.
    fits: OneOrMore,
    settings: Givens,
}

impl<'de> Deserialize<'de> for PolicyFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PolicyFile, D::Error> {
        deserializer.deserialize_struct("PolicyFile", policy_keys(), OfPolicy)
    }
}

struct OfPolicy;

impl<'de> Visitor<'de> for OfPolicy {
    type Value = PolicyFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct PolicyFile")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PolicyFile, A::Error> {
        let (mut name, mut fits, mut settings) = (None, None, Givens::default());
        while let Some(key) = map.next_key()? {
            match key {
                PolicyKey::Name => name = Some(map.next_value()?),
                PolicyKey::Match => fits = Some(map.next_value()?),
                PolicyKey::Setting(key) => settings.put(key, map.next_value_seed(Read(&key.shape))?),
            }
        }
        let name = name.ok_or_else(|| A::Error::missing_field("name"))?;
        Ok(PolicyFile { name, fits: fits.ok_or_else(|| A::Error::missing_field("match"))?, settings })
    }
}

/// What may stand in a policy.
enum PolicyKey {
    Name,
    Match,
    Setting(&'static Key),
}

impl<'de> Deserialize<'de> for PolicyKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PolicyKey, D::Error> {
        let name = String::deserialize(deserializer)?;
        match name.as_str() {
            "name" => Ok(PolicyKey::Name),
            "match" => Ok(PolicyKey::Match),
            name => {
                let key = Written::Policy.key(name).map(PolicyKey::Setting);
                key.ok_or_else(|| D::Error::unknown_field(name, policy_keys()))
            }
        }
    }
}

/// The names of all keys, the method first among the settings.
fn policy_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let mut settings = Written::Policy.names();
        settings.sort_by_key(|name| !["method", "period"].contains(name));
        ["name", "match"].into_iter().chain(settings).collect()
    });
    &KEYS
}

/// Reads what may stand under a key.
struct Read(&'static Shape);

impl<'de> DeserializeSeed<'de> for Read {
    type Value = Given;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Given, D::Error> {
        match self.0 {
            Shape::Switch => bool::deserialize(deserializer).map(Given::Switch),
            Shape::Number | Shape::Within(..) => f64::deserialize(deserializer).map(Given::Number),
            Shape::Count { .. } => u64::deserialize(deserializer).map(Given::Count),
            Shape::Text | Shape::Word(_) => String::deserialize(deserializer).map(Given::Text),
            Shape::Texts => Vec::deserialize(deserializer).map(Given::Texts),
            Shape::NumberOrText => NumberOrText::deserialize(deserializer).map(Given::from),
            Shape::Rate => CapFile::deserialize(deserializer).map(Given::from),
            Shape::Members(_) | Shape::Maybe(_) => Err(D::Error::custom("only answers have this")),
        }
    }
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

impl From<NumberOrText> for Given {
    fn from(written: NumberOrText) -> Given {
        match written {
            NumberOrText::Number(number) => Given::Number(number),
            NumberOrText::Text(text) => Given::Text(text),
        }
    }
}

impl From<CapFile> for Given {
    fn from(written: CapFile) -> Given {
        match written {
            CapFile::Rate(rate) => rate.into(),
            CapFile::Burst { rate, burst } => Given::Burst { rate: Box::new(rate.into()), burst },
        }
    }
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
    let mut all: Vec<Policy> = Vec::with_capacity(tables.len());
    let mut names = HashSet::with_capacity(tables.len());
    for table in tables {
        let file = table.get_ref().clone();
        let mistake = |wrong| Mistake { offset: table.span().start, wrong };
        let name = file.name.clone();
        let policy = file.checked().map_err(|wrong| mistake(format!("the policy {name:?}: {wrong}")))?;
        if !names.insert(policy.name.clone()) {
            return Err(mistake(PolicyError::twice(&policy.name).to_string()));
        }
        all.push(policy);
    }
    Ok(Policies::new(all).expect("no two have the same name"))
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

/// An error if a policy wants what nodes of a cluster alone can do.
pub(crate) fn of_one_machine(policies: &Policies) -> Result<(), String> {
    let wants_two = |policy: &&Policy| policy.wishes.copies == Some(Copies::Two);
    policies.iter().find(wants_two).map_or(Ok(()), |policy| {
        Err(format!(
            "the policy {} says copies = 2, and this archiver is no node of a cluster: leave it out, or let a second archiver record the \
             same PVs, as docs/pair.md says",
            policy.name
        ))
    })
}

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
        let wishes = Wishes::read(&self.settings, Written::Policy).map_err(said)?;
        let fits = patterns.iter().map(|pattern| Fits::parse(pattern).map_err(said)).collect::<Checked<_>>()?;
        Ok(Policy { name: RuleName::new(&self.name).map_err(said)?, fits, wishes })
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
    use std::time::Duration;

    use archive::{Changes, Deadband, FieldName, FieldPath, Keep, Method, Pipeline, Protocol, RateCap};

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
            fields = ["HIHI", ".EGU"]
            only = ["value.rms", "peaks"]
            groups = ["beam"]
            keep = "90d"
            [[policy]]
            name = "rest"
            match = "*"
            rate_cap = 2.5
            pipeline = true
            copies = 2
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
            fields: Some(vec![FieldName::new("HIHI").unwrap(), FieldName::new("EGU").unwrap()]),
            only: Some(vec![FieldPath::new("value.rms").unwrap(), FieldPath::new("peaks").unwrap()]),
            groups: Some(vec![rule("beam")]),
            keep: Some(Keep::For(Duration::from_secs(90 * 86_400))),
            ..Wishes::default()
        };
        assert_eq!((slow.name.as_str(), &slow.wishes), ("slow", &expected));
        let rest = policies.for_name("SR:T12").unwrap();
        assert_eq!(rest.wishes.rate_cap, Some(RateCap::new(2.5, 2).unwrap()));
        assert_eq!(rest.wishes.deadband, Some(Deadband::Absolute(1.0)));
        assert_eq!(rest.wishes.pipeline, Some(Pipeline::On));
        assert_eq!((slow.wishes.copies, rest.wishes.copies), (None, Some(Copies::Two)));
        let refused = of_one_machine(&policies).unwrap_err();
        assert!(refused.starts_with("the policy rest says copies = 2, and this archiver is no node"), "{refused}");
        let beam = &groups[0];
        assert_eq!(beam.switches[0].protocol, Some(Protocol::Pva));
        assert_eq!(beam.switches.iter().map(|s| s.sense).collect::<Vec<_>>(), [Sense::Enables, Sense::Disables]);
    }

    #[test]
    fn the_manual_names_every_key_of_a_policy() {
        let manual = include_str!("../../docs/operate.md");
        for name in Written::Policy.names() {
            let is_named = |line: &&str| line.starts_with("| `") && line.contains(&format!("`{name}`"));
            assert!(manual.lines().any(|line| is_named(&line)), "docs/operate.md has no row for {name}");
        }
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
            (with("copies = 3"), "line 1", "expected 1 or 2"),
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

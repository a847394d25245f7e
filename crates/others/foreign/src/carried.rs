//! What was carried over: PVs with what is wished for them, tables of the config file, and notes on the rest.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use archive::{Method, Protocol, PvName};

/// A PV, and what is wished for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pv {
    /// Its name.
    pub name: PvName,
    /// By which protocol; the usual one if none is said.
    pub protocol: Option<Protocol>,
    /// When samples are taken.
    pub method: Option<Method>,
    /// The groups that it is in, sorted.
    pub groups: Vec<String>,
    /// The policy that it is to be archived by.
    pub policy: Option<String>,
}

/// A group that PVs disable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// It is disabled while the value of one of these is above zero.
    pub disabled_by: Vec<String>,
}

/// How PVs of some names are archived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// For which names; none if somebody has to choose it by its name.
    pub fits: Vec<String>,
    /// When samples are taken.
    pub method: Option<Method>,
    /// Fields that are archived too.
    pub fields: Vec<String>,
    /// What it is for, in words.
    pub about: Option<String>,
}

/// A folder with files of the old archiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldStore {
    /// What it was called.
    pub name: String,
    /// Where it is.
    pub path: String,
}

/// Something that could not be carried over, or that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file.
    pub file: String,
    /// The line, from 1 on; 0 for all of the file.
    pub line: usize,
    /// What.
    pub text: String,
}

/// All that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedOver {
    /// PVs in the order in which they were named first.
    pub pvs: Vec<Pv>,
    /// Groups by name.
    pub groups: Vec<Group>,
    /// Policies in the order in which they are to be tried.
    pub policies: Vec<Policy>,
    /// Old files.
    pub stores: Vec<OldStore>,
    /// Keys of the config file, each with its value as TOML.
    pub keys: BTreeMap<String, String>,
    /// What else there was.
    pub notes: Vec<Note>,
    places: BTreeMap<PvName, usize>,
}

impl CarriedOver {
    /// Says something of a line.
    pub fn note(&mut self, file: &str, line: usize, text: impl Into<String>) {
        self.notes.push(Note { file: file.to_owned(), line, text: text.into() });
    }

    /// Adds a PV. One that is there already keeps the higher rate, and a monitor goes before a scan.
    pub fn add(&mut self, pv: Pv) {
        let Some(known) = self.places.get(&pv.name).and_then(|place| self.pvs.get_mut(*place)) else {
            self.places.insert(pv.name.clone(), self.pvs.len());
            self.pvs.push(pv);
            return;
        };
        known.groups.extend(pv.groups);
        known.groups.sort();
        known.groups.dedup();
        known.method = match (known.method, pv.method) {
            (Some(Method::Scan { period: one }), Some(Method::Scan { period: other })) => {
                Some(Method::Scan { period: one.min(other) })
            }
            (Some(Method::Monitor), _) | (_, Some(Method::Monitor)) => Some(Method::Monitor),
            (one, other) => one.or(other),
        };
        known.protocol = known.protocol.or(pv.protocol);
        known.policy = known.policy.take().or(pv.policy);
    }

    /// A PV disables a group.
    pub fn disable(&mut self, group: &str, pv: &PvName) {
        let place = self.groups.iter().position(|one| one.name == group).unwrap_or_else(|| {
            self.groups.push(Group { name: group.to_owned(), disabled_by: Vec::new() });
            self.groups.len() - 1
        });
        if let Some(group) = self.groups.get_mut(place)
            && !group.disabled_by.iter().any(|one| one == pv.as_str())
        {
            group.disabled_by.push(pv.to_string());
        }
    }

    /// Joins what another file brought.
    pub fn join(&mut self, other: CarriedOver) {
        other.pvs.into_iter().for_each(|pv| self.add(pv));
        self.groups.extend(other.groups);
        self.policies.extend(other.policies);
        for store in other.stores {
            if self.stores.iter().all(|known| known.path != store.path) {
                self.stores.push(store);
            }
        }
        self.keys.extend(other.keys);
        self.notes.extend(other.notes);
    }

    /// The config file.
    pub fn toml(&self) -> String {
        let mut out = String::new();
        for (key, value) in &self.keys {
            put(&mut out, format_args!("{key} = {value}\n"));
        }
        for policy in &self.policies {
            if let Some(about) = &policy.about {
                put(&mut out, format_args!("\n# {about}"));
            }
            put(&mut out, format_args!("\n[[policy]]\nname = {}\n", quoted(&policy.name)));
            match policy.fits.as_slice() {
                // No name of a PV has a blank.
                [] => put(&mut out, format_args!("match = \"(chosen by name)\"\n")),
                fits => put(&mut out, format_args!("match = {}\n", list(fits))),
            }
            match policy.method {
                None => {}
                Some(Method::Monitor) => put(&mut out, format_args!("method = \"monitor\"\n")),
                Some(Method::Scan { period }) => {
                    put(&mut out, format_args!("method = \"scan\"\nperiod = \"{}\"\n", span(period)));
                }
            }
            if !policy.fields.is_empty() {
                put(&mut out, format_args!("fields = {}\n", list(&policy.fields)));
            }
        }
        for group in &self.groups {
            let (name, pvs) = (quoted(&group.name), list(&group.disabled_by));
            put(&mut out, format_args!("\n[[group]]\nname = {name}\ndisabled_by = {pvs}\n"));
        }
        for store in &self.stores {
            let (name, path) = (store.name.replace(char::is_control, " "), quoted(&store.path));
            put(&mut out, format_args!("\n[[old_archive]] # {name}\nkind = \"plainpb\"\npath = {path}\n"));
        }
        out
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes every text");
}

/// A text as TOML has it; JSON escapes are the same.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

fn span(period: Duration) -> String {
    match (period.as_millis(), period.as_secs()) {
        (millis, seconds) if millis == u128::from(seconds) * 1000 => format!("{seconds}s"),
        (millis, _) => format!("{millis}ms"),
    }
}

/// A period in seconds, if it is one that can be scanned at.
pub fn period(seconds: f64) -> Option<Duration> {
    (0.01..=86_400.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// A name that a group or policy may have: other characters become `_`.
pub fn rule_name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let name: String = text.chars().map(|c| if fits(c) { c } else { '_' }).take(64).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

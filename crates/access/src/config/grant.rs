//! Grants: who may do what to which PVs, as they are written.

use std::{fmt, sync::Arc};

use archive::{Fits, How};
use serde::Deserialize;

use super::{OneOrMore, RightName};
use crate::{
    rights::{Scope, record},
    who::{Who, is_user},
};

/// For whom a grant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A person of that name, whoever established it: OIDC, LDAP or the proxy.
    User(Box<str>),
    /// The members of a group, as OIDC, LDAP or the proxy tell it.
    Group(Box<str>),
    /// One principal.
    Who(Who),
}

impl Subject {
    fn parse(text: &str) -> Result<Subject, String> {
        let subject = match text.split_once(':') {
            Some(("user", name)) => Who::new(How::Oidc, name).map(|who| Subject::User(who.name)),
            Some(("group", name)) => Who::new(How::Oidc, name).map(|who| Subject::Group(who.name)),
            _ => Who::parse(text).map(Subject::Who),
        };
        subject.ok_or_else(|| {
            format!(
                "to = {text:?} is nobody, expected \"user:NAME\", \"group:NAME\", \"token:NAME\", \"certificate:NAME\", \
                 \"oidc:NAME\", \"ldap:NAME\", \"proxy:NAME\", \"local:UID\" or \"anonymous\""
            )
        })
    }

    /// Whether it is for somebody in some groups.
    pub(crate) fn is(&self, who: &Who, groups: &[Box<str>]) -> bool {
        match self {
            Subject::User(name) => is_user(who.how) && who.name == *name,
            Subject::Group(name) => groups.contains(name),
            Subject::Who(other) => other == who,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::User(name) => write!(f, "user:{name}"),
            Subject::Group(name) => write!(f, "group:{name}"),
            Subject::Who(who) => who.fmt(f),
        }
    }
}

/// `[[access.grant]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "GrantFile")]
pub struct Grant {
    /// For whom it is: any of these.
    pub to: Vec<Subject>,
    /// What it allows, and for which PVs.
    pub scope: Scope,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantFile {
    to: OneOrMore,
    right: RightName,
    pvs: Option<OneOrMore>,
}

impl TryFrom<GrantFile> for Grant {
    type Error = String;

    fn try_from(file: GrantFile) -> Result<Grant, String> {
        let to: Vec<Subject> = file.to.into_list().iter().map(|text| Subject::parse(text)).collect::<Result<_, _>>()?;
        if to.is_empty() {
            return Err("to is empty, expected somebody like \"group:operators\"".to_owned());
        }
        let pvs = file.pvs.map_or_else(|| vec!["*".to_owned()], OneOrMore::into_list);
        Ok(Grant { to, scope: Scope { right: file.right.0, pvs: patterns(&pvs)? } })
    }
}

/// Patterns of PVs, as policies have them.
pub(crate) fn patterns(texts: &[impl AsRef<str>]) -> Result<Arc<[Fits]>, String> {
    if texts.is_empty() {
        return Err("pvs is empty, expected a pattern like \"SR*\", or \"*\" for all PVs".to_owned());
    }
    let pattern = |text: &str| {
        let bare = record(text);
        if !text.starts_with('~') && bare != text {
            return Err(format!("pvs = {text:?} names a field, which counts as its PV; write {bare:?}"));
        }
        if text.is_empty() {
            return Err("pvs has an empty pattern; write \"*\" for all PVs".to_owned());
        }
        Fits::parse(text).map_err(|error| format!("pvs: {error}"))
    };
    texts.iter().map(|text| pattern(text.as_ref())).collect()
}

/// As the file has it, so that whoever reads an explanation finds it there.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |texts: Vec<String>| texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ");
        let to = list(self.to.iter().map(ToString::to_string).collect());
        let pvs = list(self.scope.pvs.iter().map(|fits| fits.as_str().to_owned()).collect());
        write!(f, "to = [{to}], right = \"{}\", pvs = [{pvs}]", self.scope.right)
    }
}

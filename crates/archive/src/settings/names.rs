//! The names of what settings speak of: fields of records and of structures, policies and groups.

use std::{fmt, sync::Arc};

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
    written::{Given, Value, Written},
};

/// The name of a field of a record, as in `HIHI`: capital letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldName(Arc<str>);

/// The longest name of a field. Those of EPICS have at most four letters, but databases may define others.
const FIELD_BYTES_MAX: usize = 40;

impl FieldName {
    /// Checks a name; a point before it is not part of it. `VAL` is the PV itself and no field.
    pub fn new(name: &str) -> Result<FieldName, RuleError> {
        let bare = name.strip_prefix('.').unwrap_or(name);
        let letters = bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && bare.len() <= FIELD_BYTES_MAX;
        if bare.is_empty() || !letters || bare == "VAL" {
            let message = format!("{name:?} is no field of a record, expected a name like HIHI or EGU");
            return Err(RuleError::new(message));
        }
        Ok(FieldName(bare.into()))
    }

    /// The name, without a point.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The names of the fields that lead to a field of a structure, with points between them: `value.rms`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(Arc<str>);

/// The longest path. Names of fields are words, and structures in structures go a few deep.
const PATH_BYTES_MAX: usize = 256;

impl FieldPath {
    /// Checks a path.
    pub fn new(path: &str) -> Result<FieldPath, RuleError> {
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if path.len() > PATH_BYTES_MAX || !path.split('.').all(is_name) {
            let message = format!("{path:?} is no path of a field of a structure, expected one like value.rms");
            return Err(RuleError::new(message));
        }
        Ok(FieldPath(path.into()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the field at the end of another path is this one, or lies in it.
    pub fn holds(&self, path: &str) -> bool {
        path.strip_prefix(&*self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The name of a policy or of a group: 1 to 64 letters, digits and `_.:-`, so that it can stand in a URL and a metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleName(Arc<str>);

/// The longest name of a policy or group.
const RULE_NAME_BYTES_MAX: usize = 64;

impl RuleName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<RuleName, RuleError> {
        let is_right = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
        if name.is_empty() || name.len() > RULE_NAME_BYTES_MAX || !name.bytes().all(is_right) {
            let message = format!(
                "{name:?} cannot name a policy or a group, expected 1 to {RULE_NAME_BYTES_MAX} of A-Z a-z 0-9 _ . : -"
            );
            return Err(RuleError::new(message));
        }
        Ok(RuleName(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name of some kind. Settings are lists of them.
trait Name: Sized {
    fn checked(name: &str) -> Result<Self, RuleError>;

    fn name(&self) -> &str;
}

impl Name for FieldName {
    fn checked(name: &str) -> Result<FieldName, RuleError> {
        FieldName::new(name)
    }

    fn name(&self) -> &str {
        self.as_str()
    }
}

impl Name for FieldPath {
    fn checked(path: &str) -> Result<FieldPath, RuleError> {
        FieldPath::new(path)
    }

    fn name(&self) -> &str {
        self.as_str()
    }
}

impl Name for RuleName {
    fn checked(name: &str) -> Result<RuleName, RuleError> {
        RuleName::new(name)
    }

    fn name(&self) -> &str {
        self.as_str()
    }
}

impl<N: Name> Value for Vec<N> {
    fn read([names, _]: [Option<&Given>; 2], _: Written) -> Result<Option<Vec<N>>, RuleError> {
        let names = names.map(Given::texts).transpose()?;
        names.map(|names| names.iter().map(|name| N::checked(name)).collect()).transpose()
    }

    fn text(&self, name: &str) -> String {
        self.iter().fold(name.to_owned(), |all, name| all + " " + name.name())
    }

    fn shown(&self) -> Given {
        Given::Texts(texts(self))
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        numbers.iter().for_each(|number| cells.put(*number, SettingCell::Texts(texts(self))));
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<Vec<N>>> {
        cells.one(numbers, |cell| cell.texts()?.iter().map(|name| N::checked(name).ok()).collect())
    }
}

fn texts<N: Name>(names: &[N]) -> Vec<String> {
    names.iter().map(|name| name.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_are_refused() {
        assert_eq!(FieldName::new(".HIHI").unwrap().as_str(), "HIHI");
        assert!([".", "", "A.B", "VAL", "A B"].into_iter().all(|name| FieldName::new(name).is_err()));
        assert!(["", ".", "a.", ".a", "a..b", "a b", "value.*"].into_iter().all(|path| FieldPath::new(path).is_err()));
        let value = FieldPath::new("value").unwrap();
        assert!(value.holds("value") && value.holds("value.rms") && !value.holds("values") && !value.holds("val"));
        assert!(RuleName::new("slow-1").is_ok());
        assert!(["", "a b", "a/b", "ä"].into_iter().all(|name| RuleName::new(name).is_err()));
    }
}

//! The rules of a PV: what is asked of its sampling beyond the method, and where its settings come from.
//!
//! Most PVs have none, and those of one policy share theirs, so that a hundred thousand PVs cost a pointer each.

use std::{fmt, sync::Arc, time::Duration};

/// A rule that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Which, what was found, and what is expected.
    message: String,
}

impl RuleError {
    fn new(message: String) -> RuleError {
        RuleError { message }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

/// How far a number must move before it is sampled again. Changes of alarm always are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deadband {
    /// By more than this.
    Absolute(f64),
    /// By more than so many percent of the number sampled last.
    Percent(f64),
}

/// What a dead band holds is never NaN.
impl Eq for Deadband {}

impl Deadband {
    /// Checks a width, which must be a number above zero.
    pub fn absolute(width: f64) -> Result<Deadband, RuleError> {
        Deadband::width(width).map(Deadband::Absolute)
    }

    /// The same in percent.
    pub fn percent(width: f64) -> Result<Deadband, RuleError> {
        Deadband::width(width).map(Deadband::Percent)
    }

    /// Reads `0.5` and `5%`.
    pub fn parse(text: &str) -> Result<Deadband, RuleError> {
        let (number, make): (_, fn(f64) -> _) = match text.trim().strip_suffix('%') {
            Some(number) => (number, Deadband::percent),
            None => (text, Deadband::absolute),
        };
        let refused = || RuleError::new(format!("deadband is {text:?}, expected a width like 0.5 or 5%"));
        make(number.trim().parse().map_err(|_| refused())?)
    }

    fn width(width: f64) -> Result<f64, RuleError> {
        let is_right = width.is_finite() && width > 0.0;
        is_right.then_some(width).ok_or_else(|| RuleError::new(format!("deadband is {width}, expected more than 0")))
    }
}

impl fmt::Display for Deadband {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deadband::Absolute(width) => write!(f, "{width}"),
            Deadband::Percent(width) => write!(f, "{width}%"),
        }
    }
}

/// The most samples that are taken of a PV. What comes faster is passed over and counted; the newest is taken in the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateCap {
    per_second: f64,
    burst: u32,
}

/// A rate is never NaN.
impl Eq for RateCap {}

/// The highest rate that a cap may have: no PV is faster.
const RATE_MAX: f64 = 1e6;
/// The lowest: one sample in about eleven days.
const RATE_MIN: f64 = 1e-6;

impl RateCap {
    /// So many samples a second, of which `burst` (at least one) may come at once after a quiet time.
    pub fn new(per_second: f64, burst: u32) -> Result<RateCap, RuleError> {
        if !(RATE_MIN..=RATE_MAX).contains(&per_second) {
            let message = format!("the rate cap is {per_second}, expected {RATE_MIN} to {RATE_MAX} samples per second");
            return Err(RuleError::new(message));
        }
        if burst == 0 {
            return Err(RuleError::new("the burst of a rate cap is 0, expected at least 1".to_owned()));
        }
        Ok(RateCap { per_second, burst })
    }

    /// Samples per second in the long run.
    pub fn per_second(&self) -> f64 {
        self.per_second
    }

    /// Samples that may come at once.
    pub fn burst(&self) -> u32 {
        self.burst
    }
}

impl fmt::Display for RateCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {}/s, {} at once", self.per_second, self.burst)
    }
}

/// Which changes of its value an IOC is asked for. Changes of alarm always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Changes {
    /// Those beyond the dead band that the record has for archives (`ADEL`).
    #[default]
    Archive,
    /// Those beyond the dead band that the record has for displays (`MDEL`).
    Value,
    /// Both.
    Any,
}

impl Changes {
    const ALL: [Changes; 3] = [Changes::Archive, Changes::Value, Changes::Any];

    /// `archive`, `value` or `any`.
    pub fn name(self) -> &'static str {
        match self {
            Changes::Archive => "archive",
            Changes::Value => "value",
            Changes::Any => "any",
        }
    }

    /// The changes of that name.
    pub fn from_name(name: &str) -> Option<Changes> {
        Changes::ALL.into_iter().find(|changes| changes.name() == name)
    }
}

/// Whether a pvAccess server is to send no more than it is told there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pipeline {
    /// It sends what it has.
    #[default]
    Off,
    /// It waits to be told.
    On,
}

/// How long what is recorded of a PV is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Keep {
    /// For ever.
    Forever,
    /// For so long.
    For(Duration),
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::Forever => f.write_str("kept for ever"),
            Keep::For(time) => write!(f, "kept for {} days", time.as_secs_f64() / 86_400.0),
        }
    }
}

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

/// Where the settings of a PV come from. What was given by hand is left alone when policies are applied anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The policy that was applied, if one was.
    pub policy: Option<RuleName>,
    /// Somebody said that it is to be this policy, whatever the name of the PV fits.
    pub policy_by_hand: bool,
    /// Somebody said by which protocol.
    pub protocol_by_hand: bool,
    /// Somebody said how it is to be sampled.
    pub sampling_by_hand: bool,
}

/// What is asked of the sampling of a PV beyond its method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// How far it must move.
    pub deadband: Option<Deadband>,
    /// The most samples that are taken.
    pub rate_cap: Option<RateCap>,
    /// Which changes the IOC is asked for.
    pub changes: Changes,
    /// Whether a pvAccess server waits to be told.
    pub pipeline: Pipeline,
    /// Fields of the record that have a history of their own.
    pub fields: Vec<FieldName>,
    /// The fields that are recorded of structures, besides alarm and time stamp; none for all of them.
    pub only: Vec<FieldPath>,
    /// The groups that it is in. It is sampled while one of them is enabled, or if it is in none.
    pub groups: Vec<RuleName>,
    /// How long it is kept, if not as long as the archive says.
    pub keep: Option<Keep>,
    /// It is one of the fields of another PV, which it follows.
    pub is_field: bool,
    /// Where all of this comes from.
    pub origin: Origin,
}

impl Rules {
    /// One that PVs can share; none if nothing is asked.
    pub fn shared(self) -> Option<Arc<Rules>> {
        (self != Rules::default()).then(|| Arc::new(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_bands_are_numbers_above_zero_with_or_without_percent() {
        assert_eq!(Deadband::parse("0.5"), Ok(Deadband::Absolute(0.5)));
        assert_eq!(Deadband::parse(" 5 % "), Ok(Deadband::Percent(5.0)));
        for wrong in ["", "0", "-1", "NaN", "inf", "5%%", "half"] {
            assert!(Deadband::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Deadband::parse("0").unwrap_err().to_string(), "deadband is 0, expected more than 0");
    }

    #[test]
    fn caps_and_names_that_cannot_be_are_refused() {
        assert!(RateCap::new(0.0, 1).is_err() && RateCap::new(f64::NAN, 1).is_err() && RateCap::new(1.0, 0).is_err());
        assert!(RateCap::new(0.5, 3).is_ok());
        assert_eq!(FieldName::new(".HIHI").unwrap().as_str(), "HIHI");
        assert!([".", "", "A.B", "VAL", "A B"].into_iter().all(|name| FieldName::new(name).is_err()));
        assert!(["", ".", "a.", ".a", "a..b", "a b", "value.*"].into_iter().all(|path| FieldPath::new(path).is_err()));
        let value = FieldPath::new("value").unwrap();
        assert!(value.holds("value") && value.holds("value.rms") && !value.holds("values") && !value.holds("val"));
        assert!(RuleName::new("slow-1").is_ok());
        assert!(["", "a b", "a/b", "ä"].into_iter().all(|name| RuleName::new(name).is_err()));
    }
}

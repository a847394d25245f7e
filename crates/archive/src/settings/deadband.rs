//! The dead band: how far a number must move before it is sampled again.

use std::fmt;

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
    written::{Given, Value, Written},
};

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

impl Value for Deadband {
    fn read([width, _]: [Option<&Given>; 2], _: Written) -> Result<Option<Deadband>, RuleError> {
        match width {
            None => Ok(None),
            Some(Given::Number(width)) => Deadband::absolute(*width).map(Some),
            Some(text) => Deadband::parse(text.text()?).map(Some),
        }
    }

    fn text(&self, name: &str) -> String {
        format!("{name} {self}")
    }

    fn shown(&self) -> Given {
        Given::Text(self.to_string())
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        match (self, numbers) {
            (Deadband::Absolute(width), [number, ..]) | (Deadband::Percent(width), [_, number]) => {
                cells.put(*number, SettingCell::Number(*width));
            }
            _ => unreachable!("a dead band has two numbers"),
        }
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<Deadband>> {
        let [absolute, percent] = numbers else { unreachable!("a dead band has two numbers") };
        if let Some(width) = cells.get(*percent) {
            return Deadband::percent(width.number()?).ok().map(Some);
        }
        match cells.get(*absolute) {
            None => Some(None),
            Some(width) => Deadband::absolute(width.number()?).ok().map(Some),
        }
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
}

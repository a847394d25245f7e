//! The rate cap: the most samples that are taken of a PV.

use std::fmt;

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
    written::{Given, Value, Written},
};

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
    /// Allows this many samples a second, and `burst` of them (at least one) at once after a quiet time.
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

impl RateCap {
    /// Without a burst it is what comes in a second, and at least one.
    fn usual(per_second: f64, burst: Option<u32>) -> Result<RateCap, RuleError> {
        RateCap::new(per_second, burst.unwrap_or(per_second.clamp(1.0, 1e6) as u32))
    }
}

/// In policies `10`, `"10/s"`, `"6/min"` or a table of rate and burst; in requests the rate, and the burst beside it.
impl Value for RateCap {
    fn read([rate, burst]: [Option<&Given>; 2], _: Written) -> Result<Option<RateCap>, RuleError> {
        let burst = burst.map(Given::count).transpose()?.map(|burst| u32::try_from(burst).unwrap_or(u32::MAX));
        match rate {
            None if burst.is_none() => Ok(None),
            None => Err(RuleError::new("a burst needs a rate_cap, in samples per second")),
            Some(Given::Burst { rate, burst }) => RateCap::usual(per_second(rate)?, Some(*burst)).map(Some),
            Some(rate) => RateCap::usual(per_second(rate)?, burst).map(Some),
        }
    }

    fn text(&self, _: &str) -> String {
        self.to_string()
    }

    fn shown(&self) -> Given {
        let burst = Given::Count(u64::from(self.burst));
        Given::Members(vec![("per_second", Given::Number(self.per_second)), ("burst", burst)])
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        let [rate, burst] = numbers else { unreachable!("a rate cap has two numbers") };
        cells.put(*rate, SettingCell::Number(self.per_second));
        cells.put(*burst, SettingCell::Count(u64::from(self.burst)));
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<RateCap>> {
        let [rate, burst] = numbers else { unreachable!("a rate cap has two numbers") };
        let Some(rate) = cells.get(*rate) else { return Some(None) };
        let burst = u32::try_from(cells.get(*burst)?.count()?).ok()?;
        RateCap::new(rate.number()?, burst).ok().map(Some)
    }
}

/// Samples per second.
fn per_second(rate: &Given) -> Result<f64, RuleError> {
    let text = match rate {
        Given::Number(rate) => return Ok(*rate),
        rate => rate.text()?,
    };
    let refused = || RuleError::new(format!("rate_cap is {text:?}, expected a rate like \"10/s\" or \"6/min\""));
    let (number, unit) = text.split_once('/').ok_or_else(refused)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(refused()),
    };
    Ok(number.trim().parse::<f64>().map_err(|_| refused())? / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_that_cannot_be_are_refused() {
        assert!(RateCap::new(0.0, 1).is_err() && RateCap::new(f64::NAN, 1).is_err() && RateCap::new(1.0, 0).is_err());
        assert!(RateCap::new(0.5, 3).is_ok());
    }
}

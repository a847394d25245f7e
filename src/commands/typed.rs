//! What people type: names of PVs, times and ranges.

use std::{
    io::{self, BufRead},
    time::Duration,
};

use sample::{TimeRange, Timestamp};

use super::zone::zone;
use crate::{cli::RangeArgs, failure::Failure};

/// Names as they were given; `-` stands for those on standard input. Comments and empty lines do not count.
pub(crate) fn names(given: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for name in given {
        match name.as_str() {
            "-" => names.extend(io::stdin().lock().lines().collect::<Result<Vec<_>, _>>()?),
            name => names.push(name.to_owned()),
        }
    }
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty() && !name.starts_with('#'));
    Ok(names.map(str::to_owned).collect())
}

/// A time as it is typed.
pub(crate) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    Ok(Timestamp::typed_in(text, now, zone())?)
}

impl RangeArgs {
    /// Its ends.
    pub(crate) fn ends(&self, now: Timestamp) -> Result<(Timestamp, Timestamp), Failure> {
        range(&self.from, &self.to, now)
    }
}

/// The ends of a range as they are typed.
pub(crate) fn range(from: &str, to: &str, now: Timestamp) -> Result<(Timestamp, Timestamp), Failure> {
    let TimeRange { t0, t1 } = TimeRange::typed_in(Some(from), Some(to), now, (Duration::ZERO, now), zone())?;
    Ok((t0, t1))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn times_are_read_as_the_list_of_cases_says() {
        let cases: Value = serde_json::from_str(include_str!("../../testdata/times.json")).unwrap();
        let now = Timestamp::parse(cases["now"].as_str().unwrap()).unwrap();
        let told = |text: &Value| text.as_str().map(|text| Timestamp::parse(text).unwrap());
        for case in cases["moments"].as_array().unwrap().iter().filter(|case| case["zone"].is_null()) {
            assert_eq!(moment(case["text"].as_str().unwrap(), now).ok(), told(&case["is"]), "{case}");
        }
        for case in cases["ranges"].as_array().unwrap() {
            let (Some(from), Some(to)) = (case["from"].as_str(), case["to"].as_str()) else { continue };
            let expected = told(&case["is"][0]).zip(told(&case["is"][1]));
            assert_eq!(range(from, to, now).ok(), expected, "{case}");
        }
    }
}

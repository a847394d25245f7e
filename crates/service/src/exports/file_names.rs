//! What the files of exports are called in their folder.

/// The number of the next.
pub(super) const NEXT: &str = "next";

pub(super) fn data(number: u64) -> String {
    format!("{number}.data")
}

pub(super) fn record(number: u64) -> String {
    format!("{number}.export")
}

/// A file that can be ours, by its name.
pub(super) enum Named {
    Data(u64),
    Record(u64),
    /// It is there only while something is written.
    Passing(String),
}

impl Named {
    pub(super) fn of(name: &str) -> Option<Named> {
        if name == format!("{NEXT}.new") {
            return Some(Named::Passing(name.to_owned()));
        }
        let (digits, rest) = name.split_once('.')?;
        let number = digits.parse::<u64>().ok().filter(|number| number.to_string() == digits)?;
        let is_scratch = || rest.strip_prefix("scratch").is_some_and(|which| which.parse::<u64>().is_ok());
        match rest {
            "data" => Some(Named::Data(number)),
            "export" => Some(Named::Record(number)),
            "export.new" => Some(Named::Passing(name.to_owned())),
            _ if is_scratch() => Some(Named::Passing(name.to_owned())),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Named::Data(number) => data(*number),
            Named::Record(number) => record(*number),
            Named::Passing(name) => name.clone(),
        }
    }
}

//! How long what is recorded of a PV is kept.

use std::{fmt, time::Duration};

use sample::parse_span;

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
    written::{Given, Value, Written},
};

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

impl Keep {
    /// Seconds; 0 is for ever.
    fn of_seconds(seconds: u64) -> Keep {
        if seconds == 0 { Keep::Forever } else { Keep::For(Duration::from_secs(seconds)) }
    }

    fn typed(text: &str) -> Result<Keep, RuleError> {
        let refused = || format!("keep is {text:?}, expected a time like \"90d\" or \"10y\", or \"forever\"");
        match text {
            "forever" => Ok(Keep::Forever),
            _ => parse_span(text).map(Keep::For).ok_or_else(|| RuleError::new(refused())),
        }
    }
}

/// In policies a time, or `forever`; elsewhere seconds.
impl Value for Keep {
    fn read([time, _]: [Option<&Given>; 2], _: Written) -> Result<Option<Keep>, RuleError> {
        match time {
            None => Ok(None),
            Some(Given::Text(text)) => Keep::typed(text).map(Some),
            Some(seconds) => Ok(Some(Keep::of_seconds(seconds.count()?))),
        }
    }

    fn text(&self, _: &str) -> String {
        self.to_string()
    }

    fn shown(&self) -> Given {
        match self {
            Keep::Forever => Given::Nothing,
            Keep::For(time) => Given::Count(time.as_secs()),
        }
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        let seconds = match self {
            Keep::Forever => 0,
            Keep::For(time) => time.as_secs().max(1),
        };
        numbers.iter().for_each(|number| cells.put(*number, SettingCell::Count(seconds)));
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<Keep>> {
        cells.one(numbers, |cell| cell.count().map(Keep::of_seconds))
    }
}

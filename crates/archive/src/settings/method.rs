//! By which protocol a PV is read, and when samples of it are taken.

use std::{fmt, time::Duration};

use sample::parse_span;

use super::{
    RuleError,
    written::{Given, Value, Written},
};

/// The shortest scan period.
pub const PERIOD_MIN: Duration = Duration::from_millis(10);
/// The longest scan period: a day.
pub const PERIOD_MAX: Duration = Duration::from_secs(86_400);

/// The protocol by which a PV is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// Channel Access.
    Ca,
    /// pvAccess.
    Pva,
}

impl Protocol {
    /// `ca` or `pva`.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Ca => "ca",
            Protocol::Pva => "pva",
        }
    }

    /// The protocol of that name.
    pub fn from_name(name: &str) -> Option<Protocol> {
        [Protocol::Ca, Protocol::Pva].into_iter().find(|p| p.name() == name)
    }
}

/// When a sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every update that the IOC sends.
    Monitor,
    /// The newest value once a period, if it is newer than the last one kept.
    Scan {
        /// The period.
        period: Duration,
    },
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Monitor => f.write_str("monitor"),
            Method::Scan { period } => write!(f, "scan {}s", period.as_secs_f64()),
        }
    }
}

impl Value for Protocol {
    fn read(given: [Option<&Given>; 2], written: Written) -> Result<Option<Protocol>, RuleError> {
        let Some(name) = given[0].map(Given::text).transpose()? else { return Ok(None) };
        let refused = || RuleError::new(format!("protocol is {name:?}, expected {}", written.one_of(&["ca", "pva"])));
        Protocol::from_name(name).map(Some).ok_or_else(refused)
    }

    fn text(&self, _: &str) -> String {
        self.name().to_owned()
    }

    fn shown(&self) -> Given {
        Given::Text(self.name().to_owned())
    }
}

/// Method and period. A period alone means scanning.
impl Value for Method {
    fn read([name, period]: [Option<&Given>; 2], written: Written) -> Result<Option<Method>, RuleError> {
        let name = name.map(Given::text).transpose()?;
        match written {
            Written::Request => of_request(name, period.map(Given::number).transpose()?),
            Written::Policy => of_policy(name, period.map(Given::text).transpose()?),
        }
    }

    fn text(&self, _: &str) -> String {
        self.to_string()
    }

    fn shown(&self) -> Given {
        Given::Text(self.to_string())
    }
}

fn of_request(name: Option<&str>, period: Option<f64>) -> Result<Option<Method>, RuleError> {
    let (min, max) = (PERIOD_MIN.as_secs_f64(), PERIOD_MAX.as_secs_f64());
    match (name, period) {
        (None, None) => Ok(None),
        (Some("monitor"), _) => Ok(Some(Method::Monitor)),
        (Some("scan") | None, Some(period)) if (min..=max).contains(&period) => {
            Ok(Some(Method::Scan { period: Duration::from_secs_f64(period) }))
        }
        (Some("scan") | None, Some(period)) => {
            Err(RuleError::new(format!("period is {period}, expected {min} to {max} seconds")))
        }
        (Some("scan"), None) => Err(RuleError::new("scanning needs a period in seconds")),
        (Some(other), _) => Err(no_method(other, Written::Request)),
    }
}

fn of_policy(name: Option<&str>, period: Option<&str>) -> Result<Option<Method>, RuleError> {
    let typed = |text: &str| {
        let span = parse_span(text).filter(|span| (PERIOD_MIN..=PERIOD_MAX).contains(span));
        let refused = || format!("period is {text:?}, expected a time like \"1s\", from 10ms to 1d");
        span.ok_or_else(|| RuleError::new(refused()))
    };
    match (name, period.map(typed).transpose()?) {
        (None, None) => Ok(None),
        (Some("monitor"), None) => Ok(Some(Method::Monitor)),
        (Some("scan") | None, Some(period)) => Ok(Some(Method::Scan { period })),
        (Some("monitor"), Some(_)) => Err(RuleError::new("a monitor has no period; use rate_cap to limit it")),
        (Some("scan"), None) => Err(RuleError::new("scanning needs a period like \"1s\"")),
        (Some(other), _) => Err(no_method(other, Written::Policy)),
    }
}

fn no_method(name: &str, written: Written) -> RuleError {
    RuleError::new(format!("method is {name:?}, expected {}", written.one_of(&["monitor", "scan"])))
}

//! Settings: how a PV is archived. Each setting is defined once, in `table.rs`.
//!
//! ```text
//!   PvSettings = protocol, method, state + Rules    what a PV has; most have no rules, and those of one policy share theirs
//!   Wishes                                          what of all that somebody says, and what is left open
//!   SETTINGS                                        how each setting is written: in requests, policies, on the command line, in
//!                                                   answers, texts and the catalogue
//!   Given, Shape                                    a value as it was written, and what may be written
//! ```

mod catalogue;
mod copies;
mod deadband;
mod keep;
mod method;
mod names;
mod rate_cap;
mod subscription;
mod table;
mod written;

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

pub use catalogue::{SettingCell, SettingCells};
pub use copies::Copies;
pub use deadband::Deadband;
pub use keep::Keep;
pub use method::{Method, PERIOD_MAX, PERIOD_MIN, Protocol};
pub use names::{FieldName, FieldPath, RuleName};
pub use rate_cap::RateCap;
pub use subscription::{Changes, Pipeline};
pub use table::{Rules, SETTINGS, Wishes};
pub use written::{Flag, Given, Givens, Key, Setting, Shape, Written};

/// A rule that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Which, what was found, and what is expected.
    message: String,
}

impl RuleError {
    /// For this reason.
    pub fn new(message: impl Into<String>) -> RuleError {
        RuleError { message: message.into() }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

/// Whether a PV is being archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PvState {
    /// Yes.
    Active,
    /// Not now; it keeps its place and its data.
    Paused,
}

/// How a PV is to be archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PvSettings {
    /// By which protocol.
    pub protocol: Protocol,
    /// When samples are taken.
    pub method: Method,
    /// Whether samples are taken at all.
    pub state: PvState,
    /// What else is asked; none if nothing is.
    pub rules: Option<Arc<Rules>>,
}

impl PvSettings {
    /// Nothing but a protocol, a method and a state.
    pub fn plain(protocol: Protocol, method: Method, state: PvState) -> PvSettings {
        PvSettings { protocol, method, state, rules: None }
    }

    /// What else is asked.
    pub fn rules(&self) -> &Rules {
        static NONE: LazyLock<Rules> = LazyLock::new(Rules::default);
        self.rules.as_deref().unwrap_or(&NONE)
    }
}

/// All that they say but the state, as text to be compared: what differs is what changes.
impl fmt::Display for PvSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Wishes::from(self))?;
        match &self.rules().origin.policy {
            Some(policy) => write!(f, ", by {policy}"),
            None => Ok(()),
        }
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

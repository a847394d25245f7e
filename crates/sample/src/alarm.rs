//! An alarm: how bad (severity), why (status) and, from pvAccess, in words (message).

use std::sync::Arc;

/// How bad it is, in the order that EPICS gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Severity {
    /// No alarm.
    #[default]
    None = 0,
    /// Outside the warning limits, say.
    Minor = 1,
    /// Outside the alarm limits, say.
    Major = 2,
    /// The value cannot be trusted.
    Invalid = 3,
    /// The source itself does not know (pvAccess only).
    Undefined = 4,
}

impl Severity {
    /// The severity of a number from the wire; numbers that EPICS does not define are `Undefined`.
    pub fn from_number(number: i64) -> Severity {
        match number {
            0 => Severity::None,
            1 => Severity::Minor,
            2 => Severity::Major,
            3 => Severity::Invalid,
            _ => Severity::Undefined,
        }
    }

    /// The name that EPICS tools print.
    pub fn name(self) -> &'static str {
        match self {
            Severity::None => "NO_ALARM",
            Severity::Minor => "MINOR",
            Severity::Major => "MAJOR",
            Severity::Invalid => "INVALID",
            Severity::Undefined => "UNDEFINED",
        }
    }
}

/// The alarm state that came with a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Alarm {
    /// How bad it is.
    pub severity: Severity,
    /// Why: by Channel Access the record's status (0 to 21), by pvAccess the class of cause (0 to 7).
    pub status: u16,
    /// The words that pvAccess sends with it; none by Channel Access.
    pub message: Option<Arc<str>>,
}

impl Alarm {
    /// Whether it is that of a sample without any: the default.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.severity == Severity::None && self.status == 0 && self.message.is_none()
    }
}

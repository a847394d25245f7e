//! Groups: PVs that are sampled only while another PV says so.

use crate::{Protocol, PvName, RuleName};

/// What the value of a PV means for the group that it switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sense {
    /// The group is enabled while the value is not zero.
    Enables,
    /// The group is disabled while the value is above zero.
    Disables,
}

impl Sense {
    /// `enables` or `disables`.
    pub fn name(self) -> &'static str {
        match self {
            Sense::Enables => "enables",
            Sense::Disables => "disables",
        }
    }

    /// The sense of that name.
    pub fn from_name(name: &str) -> Option<Sense> {
        [Sense::Enables, Sense::Disables].into_iter().find(|sense| sense.name() == name)
    }
}

/// A PV that switches a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub pv: PvName,
    /// By which protocol it is read; the usual one if none is said.
    pub protocol: Option<Protocol>,
    /// What its value means.
    pub sense: Sense,
}

/// A group. It is enabled unless one of its switches says otherwise; a switch that has not been heard yet says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, by which PVs are in it.
    pub name: RuleName,
    /// What disables it.
    pub switches: Vec<Switch>,
}

/// Who says that there is such a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// The config file: it cannot be changed by command.
    Config,
    /// The archive, by command.
    Archive,
}

/// How a group stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStatus {
    /// Its name and its switches.
    pub group: Group,
    /// Who says that there is such a group.
    pub keeper: Keeper,
    /// The switches that disable it now; none while it is enabled.
    pub disabled_by: Vec<PvName>,
    /// The switches that have not been heard yet.
    pub unheard: Vec<PvName>,
}

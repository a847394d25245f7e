//! Wishes: what is asked of the way in which a PV is archived, and as what text it is told.

use std::fmt;

use crate::{
    Changes, Deadband, FieldName, FieldPath, Keep, Method, Pipeline, Protocol, PvSettings, RateCap, RuleName, Rules,
};

/// What somebody wants of the way in which a PV is archived. What is left open comes from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// By which protocol.
    pub protocol: Option<Protocol>,
    /// When samples are taken.
    pub method: Option<Method>,
    /// How far the value must move.
    pub deadband: Option<Deadband>,
    /// The most samples that are taken.
    pub rate_cap: Option<RateCap>,
    /// Which changes the IOC is asked for.
    pub changes: Option<Changes>,
    /// Whether a pvAccess server waits to be told.
    pub pipeline: Option<Pipeline>,
    /// Fields that have a history of their own.
    pub fields: Option<Vec<FieldName>>,
    /// The fields that are recorded of structures.
    pub only: Option<Vec<FieldPath>>,
    /// The groups that it is in.
    pub groups: Option<Vec<RuleName>>,
    /// How long it is kept.
    pub keep: Option<Keep>,
}

impl Wishes {
    /// Whether anything is said besides the protocol.
    pub fn says_sampling(&self) -> bool {
        *self != Wishes { protocol: self.protocol, ..Wishes::default() }
    }

    /// These over what is there.
    pub fn over(&self, settings: &PvSettings) -> PvSettings {
        let base = settings.rules();
        let rules = Rules {
            deadband: self.deadband.or(base.deadband),
            rate_cap: self.rate_cap.or(base.rate_cap),
            changes: self.changes.unwrap_or(base.changes),
            pipeline: self.pipeline.unwrap_or(base.pipeline),
            fields: self.fields.clone().unwrap_or_else(|| base.fields.clone()),
            only: self.only.clone().unwrap_or_else(|| base.only.clone()),
            groups: self.groups.clone().unwrap_or_else(|| base.groups.clone()),
            keep: self.keep.or(base.keep),
            is_field: base.is_field,
            origin: base.origin.clone(),
        };
        PvSettings {
            protocol: self.protocol.unwrap_or(settings.protocol),
            method: self.method.unwrap_or(settings.method),
            state: settings.state,
            rules: rules.shared(),
        }
    }
}

/// What settings ask for beyond what they would do by themselves.
impl From<&PvSettings> for Wishes {
    fn from(settings: &PvSettings) -> Wishes {
        let rules = settings.rules();
        Wishes {
            protocol: Some(settings.protocol),
            method: Some(settings.method),
            deadband: rules.deadband,
            rate_cap: rules.rate_cap,
            changes: (rules.changes != Changes::default()).then_some(rules.changes),
            pipeline: (rules.pipeline != Pipeline::default()).then_some(rules.pipeline),
            fields: (!rules.fields.is_empty()).then(|| rules.fields.clone()),
            only: (!rules.only.is_empty()).then(|| rules.only.clone()),
            groups: (!rules.groups.is_empty()).then(|| rules.groups.clone()),
            keep: rules.keep,
        }
    }
}

impl fmt::Display for Wishes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wishes { protocol, method, deadband, rate_cap, changes, pipeline, fields, only, groups, keep } = self;
        let names =
            |of: &str, names: &mut dyn Iterator<Item = &str>| names.fold(of.to_owned(), |all, name| all + " " + name);
        let parts = [
            protocol.map(|protocol| protocol.name().to_owned()),
            method.map(|method| method.to_string()),
            deadband.map(|deadband| format!("deadband {deadband}")),
            rate_cap.map(|cap| cap.to_string()),
            changes.map(|changes| format!("changes {}", changes.name())),
            pipeline.map(|pipeline| format!("pipeline {}", if pipeline == Pipeline::On { "on" } else { "off" })),
            fields.as_ref().map(|fields| names("fields", &mut fields.iter().map(FieldName::as_str))),
            only.as_ref().map(|only| names("only", &mut only.iter().map(FieldPath::as_str))),
            groups.as_ref().map(|groups| names("groups", &mut groups.iter().map(RuleName::as_str))),
            keep.map(|keep| keep.to_string()),
        ];
        let mut said = false;
        for part in parts.into_iter().flatten() {
            write!(f, "{}{part}", if said { ", " } else { "" })?;
            said = true;
        }
        Ok(())
    }
}

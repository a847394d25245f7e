//! The lines of the audit: what somebody changed in the archive, when, and how much went. It is never shortened.

use sample::TimeRange;

use crate::{By, PvEntry, PvId};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A PV got another name, which stands in `detail`.
    Renamed,
    /// A PV got one more name, which stands in `detail`.
    AliasAdded,
    /// A PV lost one of its names, which stands in `detail`.
    AliasRemoved,
    /// A PV was taken out and its data kept.
    Removed,
    /// A PV was taken out and its data hidden until it is purged.
    Deleted,
    /// A removed PV came back; its name now stands in `detail`.
    Restored,
    /// The samples of a range were hidden until they are purged.
    RangeDeleted,
    /// The samples of a deleted range came back.
    RangeRestored,
    /// What was deleted was given up: it cannot come back. `samples` and `bytes` are what it had in segments.
    PurgeOrdered,
    /// Segments were written anew without what was given up. `samples` and `bytes` are what went.
    Purged,
    /// A policy of retention took a whole segment away, whose key stands in `detail`.
    Expired,
    /// A part of an import, whose names stand in `detail`, was entered.
    Imported,
    /// Nothing more was recorded of a PV from then on.
    Paused,
    /// A paused PV was recorded again.
    Resumed,
    /// Policies were applied anew; how many PVs of each changed stands in `detail`.
    PoliciesApplied,
    /// A group, whose name stands in `detail`, was made or got other switches.
    GroupSet,
    /// A group, whose name stands in `detail`, has no switches any more.
    GroupRemoved,
    /// A PV is archived in another way, which stands in `detail` behind the way of before.
    Changed,
    /// Rows of the catalogue that say nothing were dropped; which and how many stands in `detail`.
    Tidied,
    /// A backup became an archive of its own; of what it was the backup stands in `detail`.
    TakenOver,
    /// Somebody made a token, whose name and rights stand in `detail`.
    TokenMade,
    /// A token, whose name stands in `detail`, was revoked.
    TokenRevoked,
}

impl Action {
    /// All actions, in the order of their numbers on disk.
    pub const ALL: [Action; 22] = [
        Action::Renamed,
        Action::AliasAdded,
        Action::AliasRemoved,
        Action::Removed,
        Action::Deleted,
        Action::Restored,
        Action::RangeDeleted,
        Action::RangeRestored,
        Action::PurgeOrdered,
        Action::Purged,
        Action::Expired,
        Action::Imported,
        Action::Paused,
        Action::Resumed,
        Action::PoliciesApplied,
        Action::GroupSet,
        Action::GroupRemoved,
        Action::Changed,
        Action::Tidied,
        Action::TakenOver,
        Action::TokenMade,
        Action::TokenRevoked,
    ];

    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Action::Renamed => "renamed",
            Action::AliasAdded => "alias_added",
            Action::AliasRemoved => "alias_removed",
            Action::Removed => "removed",
            Action::Deleted => "deleted",
            Action::Restored => "restored",
            Action::RangeDeleted => "range_deleted",
            Action::RangeRestored => "range_restored",
            Action::PurgeOrdered => "purge_ordered",
            Action::Purged => "purged",
            Action::Expired => "expired",
            Action::Imported => "imported",
            Action::Paused => "paused",
            Action::Resumed => "resumed",
            Action::PoliciesApplied => "policies_applied",
            Action::GroupSet => "group_set",
            Action::GroupRemoved => "group_removed",
            Action::Changed => "changed",
            Action::Tidied => "tidied",
            Action::TakenOver => "taken_over",
            Action::TokenMade => "token_made",
            Action::TokenRevoked => "token_revoked",
        }
    }
}

/// One line of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its place: the first is 0.
    pub number: u64,
    /// Who did it, and when.
    pub by: By,
    /// What was done.
    pub action: Action,
    /// To which PV, if to one.
    pub pv: Option<PvId>,
    /// What the PV was called then.
    pub name: String,
    /// What else there is to say.
    pub detail: String,
    /// Which range, if not all.
    pub range: Option<TimeRange>,
    /// How many samples it was about, where that is known.
    pub samples: u64,
    /// How many bytes they took in segments, where that is known.
    pub bytes: u64,
}

impl AuditRecord {
    /// Something that somebody does now to one PV.
    pub fn of_pv(action: Action, by: &By, entry: &PvEntry, detail: &str) -> AuditRecord {
        let (name, detail) = (entry.name.to_string(), detail.to_owned());
        AuditRecord { pv: Some(entry.id), name, detail, ..AuditRecord::new(action, by) }
    }

    /// Something that somebody does now. Where the audit is kept it gets its number.
    pub fn new(action: Action, by: &By) -> AuditRecord {
        AuditRecord {
            number: 0,
            by: by.clone(),
            action,
            pv: None,
            name: String::new(),
            detail: String::new(),
            range: None,
            samples: 0,
            bytes: 0,
        }
    }
}

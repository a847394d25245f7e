//! The lines of the audit: what somebody changed in the archive, when, and how much went. It is never shortened.

use std::collections::BTreeMap;

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
    /// An order was taken back, whose number and action stand in `detail`.
    Undone,
    /// A note, whose number and beginning stand in `detail`, was written or changed.
    NoteWritten,
    /// A note, as there, was taken away.
    NoteRemoved,
    /// A view, whose number and name stand in `detail`, was saved.
    ViewSaved,
    /// A view, as there, was taken away.
    ViewRemoved,
    /// Nodes of a cluster were ordered to do what stands in `detail`.
    ClusterOrdered,
    /// An export was ordered, whose number, first PVs, range and form stand in `detail`.
    ExportOrdered,
    /// PVs were added to the list, or brought back by adding them again.
    Added,
}

impl Action {
    /// All actions, in the order of their numbers on disk.
    pub const ALL: [Action; 30] = [
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
        Action::Undone,
        Action::NoteWritten,
        Action::NoteRemoved,
        Action::ViewSaved,
        Action::ViewRemoved,
        Action::ClusterOrdered,
        Action::ExportOrdered,
        Action::Added,
    ];

    /// Whether what an order does to many PVs is one line: what is said of each is short, or the same of many.
    fn is_of_many(self) -> bool {
        use Action::{Added, Changed, Deleted, Paused, Removed, Restored, Resumed, Undone};
        matches!(self, Added | Changed | Deleted | Paused | Removed | Restored | Resumed | Undone)
    }

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
            Action::Undone => "undone",
            Action::NoteWritten => "note_written",
            Action::NoteRemoved => "note_removed",
            Action::ViewSaved => "view_saved",
            Action::ViewRemoved => "view_removed",
            Action::ClusterOrdered => "cluster_ordered",
            Action::ExportOrdered => "export_ordered",
            Action::Added => "added",
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
    /// To which PVs, if to several.
    pub pvs: Vec<PvId>,
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

    /// Whether it was done to this PV, perhaps among others.
    pub fn is_about(&self, pv: PvId) -> bool {
        self.pv == Some(pv) || self.pvs.contains(&pv)
    }

    /// Each PV to which it was done.
    pub fn each_pv(&self) -> impl Iterator<Item = PvId> + '_ {
        self.pv.into_iter().chain(self.pvs.iter().copied())
    }

    /// The lines of one change, in which what is done to many PVs is one line for each action.
    pub fn gathered(lines: Vec<AuditRecord>) -> Vec<AuditRecord> {
        let mut gathered: Vec<Vec<AuditRecord>> = Vec::new();
        for line in lines {
            let is_alike = |others: &&mut Vec<AuditRecord>| {
                line.action.is_of_many() && line.pv.is_some() && others[0].action == line.action
            };
            match gathered.iter_mut().find(is_alike) {
                Some(others) => others.push(line),
                None => gathered.push(vec![line]),
            }
        }
        gathered.into_iter().map(one_of).collect()
    }

    /// Something that somebody does now. Where the audit is kept it gets its number.
    pub fn new(action: Action, by: &By) -> AuditRecord {
        AuditRecord {
            number: 0,
            by: by.clone(),
            action,
            pv: None,
            pvs: Vec::new(),
            name: String::new(),
            detail: String::new(),
            range: None,
            samples: 0,
            bytes: 0,
        }
    }
}

/// A line of the audit tells at most this many ways in which its PVs were changed.
const WAYS_MAX: usize = 10;

/// One line for all of these, of which there is one at least.
fn one_of(mut lines: Vec<AuditRecord>) -> AuditRecord {
    if lines.len() == 1 {
        return lines.remove(0);
    }
    let detail = ways(&lines);
    let pvs = lines.iter().filter_map(|line| line.pv).collect();
    AuditRecord { pv: None, pvs, name: String::new(), detail, ..lines.remove(0) }
}

/// How the PVs of these lines were changed, and how many in each way.
fn ways(lines: &[AuditRecord]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.detail != line.name) {
        *counts.entry(&line.detail).or_default() += 1;
    }
    let told = counts.iter().filter(|(way, _)| !way.is_empty()).take(WAYS_MAX);
    let mut told: Vec<String> = told.map(|(way, count)| format!("{way} ({count} PVs)")).collect();
    if counts.len() > WAYS_MAX {
        told.push(format!("and in {} other ways", counts.len() - WAYS_MAX));
    }
    told.join("; ")
}

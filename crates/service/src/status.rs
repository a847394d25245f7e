//! Status: how the archiver fares, with sentences for an operator where something is wrong.

use std::time::Duration;

use archive::{
    BackupMade, Health, Keep, KeptFor, KeptPvs, Partition, Policies, Policy, Right, RuleName, SourceHealth, Totals,
    Watermark, WeekToGo,
    ledger::{Account, Trouble},
};
use sample::Timestamp;

use crate::{ask::Ask, clock::now, losses::sentence, refusal::Refusal};

/// Unsynced samples beyond this many are a problem: ten seconds of a very large machine.
const LAG_MAX: u64 = 2_000_000;

/// How the archiver fares. It tells of no single PV.
#[derive(Clone, Debug)]
pub struct Status {
    /// Since when it runs.
    pub started: Timestamp,
    /// When this was so.
    pub now: Timestamp,
    /// How many samples were ever appended, and how many of them are safe.
    pub watermark: Watermark,
    /// What all PVs together come to.
    pub totals: Totals,
    /// What was lost, or is suspected to be, in the last hours.
    pub trouble: Trouble,
    /// The bytes that answers take now.
    pub answer_bytes: usize,
    /// And those that they may take.
    pub answer_bytes_max: usize,
    /// How the store is doing.
    pub store: Health,
    /// The weeks of the archive.
    pub weeks: Vec<Partition>,
    /// How the old archives are doing.
    pub old_archives: Vec<SourceHealth>,
    /// The other recorders of the same PVs, each with why it is not asked if it is not.
    pub copies: Vec<(String, Option<String>)>,
    /// It is a node of a cluster.
    pub clustered: bool,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

/// How long some PVs are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    /// Which.
    pub pvs: KeptPvs,
    /// None: for ever.
    pub keep: Option<Duration>,
    /// The policies that say so, of PVs with a setting of their own; others were given it by hand.
    pub policies: Vec<RuleName>,
    /// What goes next; none where nothing does.
    pub next: Option<WeekToGo>,
}

impl Ask {
    /// How the archiver fares.
    pub fn status(&self) -> Status {
        let (totals, store, watermark) = (self.totals(), self.store_health(), self.watermark());
        let service = self.listed();
        let trouble = service.behind.standing.trouble(now());
        let mut store = store;
        if !self.sees_all() && !store.problems.is_empty() {
            // They may name PVs.
            store.problems =
                vec![format!("{} problems of the store are told to who may see all PVs.", store.problems.len())];
        }
        let copies = service.behind.query.copies();
        let mut problems = problems(&totals, &store, watermark, &trouble);
        problems.extend(copies.iter().filter_map(away));
        let budget = self.lease.budget();
        Status {
            started: service.started,
            now: now(),
            watermark,
            totals,
            trouble,
            answer_bytes: budget.taken(),
            answer_bytes_max: budget.bytes_max(),
            store,
            weeks: self.weeks(),
            old_archives: service.behind.query.health(),
            copies,
            clustered: service.behind.nodes.is_some(),
            problems,
        }
    }

    /// What all PVs together come to.
    pub fn totals(&self) -> Totals {
        self.listed().behind.standing.totals()
    }

    /// How the store is doing.
    pub fn store_health(&self) -> Health {
        self.listed().behind.storage.health()
    }

    /// How many samples were ever appended, and how many of them are safe.
    pub fn watermark(&self) -> Watermark {
        self.listed().behind.storage.watermark()
    }

    /// The weeks of the archive.
    pub fn weeks(&self) -> Vec<Partition> {
        self.listed().behind.storage.partitions()
    }

    /// How long what there is is kept, in the order in which that is decided.
    pub fn retention(&self) -> Vec<Retained> {
        let storage = &self.listed().behind.storage;
        let policies = self.policies_in_force();
        let says = |policy: &&Policy, keep: Option<Duration>| match policy.wishes.keep {
            Some(Keep::For(time)) => keep == Some(time),
            Some(Keep::Forever) => keep.is_none(),
            None => false,
        };
        let mut told: Vec<Retained> = Vec::new();
        for KeptFor { pvs, keep } in storage.retention() {
            let is_own = matches!(pvs, KeptPvs::WithSetting(_));
            let policies = policies.iter().filter(|policy| is_own && says(policy, keep));
            let policies = policies.map(|policy| policy.name.clone()).collect();
            let next = keep.and_then(|keep| storage.next_to_go(keep));
            told.push(Retained { pvs, keep, policies, next });
        }
        told
    }

    /// The backups that the archive was told of, the newest first. Their folders are a matter of whoever runs the archiver.
    pub fn backups(&self) -> Result<Vec<BackupMade>, Refusal> {
        self.needs_all(Right::Read)?;
        Ok(self.listed().behind.storage.backups())
    }

    /// The policies in force.
    pub fn policies_in_force(&self) -> Policies {
        self.listed().behind.rulebook.policies()
    }
}

/// A copy that is away.
fn away((name, why): &(String, Option<String>)) -> Option<String> {
    let why = why.as_ref()?;
    Some(format!("The copy {name:?} is not asked, answers are made without it: {why}."))
}

/// What is wrong, in sentences for an operator: what the store tells of itself, then what was lost and who is away.
fn problems(totals: &Totals, health: &Health, watermark: Watermark, trouble: &Trouble) -> Vec<String> {
    let mut problems = health.problems.clone();
    if let Some(refusal) = &health.refusal {
        problems.push(format!("The store takes no samples: {refusal}."));
    }
    let lag = watermark.appended.saturating_sub(watermark.durable);
    if lag > LAG_MAX {
        problems.push(format!("{lag} samples are not on disk yet: the disk does not keep up."));
    }
    if health.corrupt_blocks > 0 {
        problems.push(format!("{} damaged blocks were found when reading.", health.corrupt_blocks));
    }
    let Account { queue_full, store_refused, .. } = totals.counters;
    if queue_full > 0 {
        problems.push(format!("{queue_full} samples were lost since the start because the queue was full."));
    }
    if store_refused > 0 {
        problems.push(format!("{store_refused} samples were lost since the start because the store refused them."));
    }
    problems.extend(sentence(trouble));
    if totals.disconnected > 0 {
        problems.push(format!("{} PVs have lost their IOC.", totals.disconnected));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_and_nothing_else() {
        let watermark = Watermark { appended: 5, durable: 5 };
        assert!(problems(&Totals::default(), &Health::default(), watermark, &Trouble::default()).is_empty());
        let totals = Totals { disconnected: 2, ..Totals::default() };
        let health = Health { refusal: Some("the disk is full".to_owned()), ..Health::default() };
        let behind = Watermark { appended: 3_000_000, durable: 0 };
        let expected = [
            "The store takes no samples: the disk is full.",
            "3000000 samples are not on disk yet: the disk does not keep up.",
            "2 PVs have lost their IOC.",
        ];
        assert_eq!(problems(&totals, &health, behind, &Trouble::default()), expected);
        let of = Account { suspected_ms: 13_600, ..Account::default() };
        let trouble = Trouble { of, suspected_pvs: 5000, ..Trouble::default() };
        let told = problems(&totals, &health, behind, &trouble);
        assert!(told[2].contains("5000 PVs may be missing"), "{told:?}");
    }
}

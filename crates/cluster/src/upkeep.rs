//! How long a cluster keeps what it has, and which week goes next: what its nodes say of the shards that they have, taken together.

use std::{collections::BTreeMap, time::Duration};

use archive::{KeptFor, KeptPvs, WeekToGo};
use minicbor::{Decode, Encode};
use sample::Timestamp;

use crate::{
    board::Board,
    whole::Whole,
    wire::{Answer, Question},
};

/// How long some PVs are kept: so many with a setting of their own, those that a rule fits, or else all others.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) struct KeptRow {
    #[n(0)]
    with_setting: Option<u64>,
    #[n(1)]
    rule: Option<String>,
    /// In nanoseconds; none: for ever.
    #[n(2)]
    keep: Option<u64>,
}

impl KeptRow {
    pub(crate) fn of(of: &KeptFor) -> KeptRow {
        let (with_setting, rule) = match &of.pvs {
            KeptPvs::WithSetting(pvs) => (Some(*pvs as u64), None),
            KeptPvs::Rule(names) => (None, Some(names.clone())),
            KeptPvs::Others => (None, None),
        };
        KeptRow { with_setting, rule, keep: of.keep.map(nanos) }
    }

    fn kept(self) -> KeptFor {
        let pvs = match (self.with_setting, self.rule) {
            (Some(pvs), _) => KeptPvs::WithSetting(pvs as usize),
            (None, Some(names)) => KeptPvs::Rule(names),
            (None, None) => KeptPvs::Others,
        };
        KeptFor { pvs, keep: self.keep.map(Duration::from_nanos) }
    }
}

/// A week that goes.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) struct WeekRow {
    #[n(0)]
    week: String,
    #[n(1)]
    at: i64,
}

impl WeekRow {
    pub(crate) fn of(of: &WeekToGo) -> WeekRow {
        WeekRow { week: of.week.clone(), at: of.at.nanos() }
    }

    fn week(self) -> WeekToGo {
        WeekToGo { week: self.week, at: Timestamp::from_nanos(self.at) }
    }
}

impl Board {
    /// How long what is open here is kept.
    pub(crate) fn kept_here(&self) -> Vec<KeptFor> {
        together(self.open().into_values().map(|open| open.storage.retention()))
    }

    /// The week that goes next of what is open here.
    pub(crate) fn next_to_go_here(&self, keep: Duration) -> Option<WeekToGo> {
        let weeks = self.open().into_values().filter_map(|open| open.storage.next_to_go(keep));
        weeks.min_by_key(|week| week.at)
    }
}

impl Whole {
    /// How long what all nodes have is kept.
    pub(crate) fn kept(&self) -> Vec<KeptFor> {
        let there = self.told_by_others(Question::Retention, |answer| match answer {
            Answer::Retention(rows) => Some(rows.into_iter().map(KeptRow::kept).collect()),
            _ => None,
        });
        together([self.board.kept_here()].into_iter().chain(there))
    }

    /// The first of all nodes.
    pub(crate) fn next_week(&self, keep: Duration) -> Option<WeekToGo> {
        let there = self.told_by_others(Question::NextToGo(nanos(keep)), |answer| match answer {
            Answer::NextToGo(week) => week.map(WeekRow::week),
            _ => None,
        });
        self.board.next_to_go_here(keep).into_iter().chain(there).min_by_key(|week| week.at)
    }
}

/// PVs with a setting of their own are those of all, summed up; rules stand in the config file, the same for all: the first that has some is
/// right.
fn together(all: impl IntoIterator<Item = Vec<KeptFor>>) -> Vec<KeptFor> {
    let mut own: BTreeMap<Option<Duration>, usize> = BTreeMap::new();
    let mut rules = Vec::new();
    for kept in all {
        let (settings, of_config): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|kept| matches!(kept.pvs, KeptPvs::WithSetting(_)));
        for KeptFor { pvs, keep } in settings {
            if let KeptPvs::WithSetting(pvs) = pvs {
                *own.entry(keep).or_default() += pvs;
            }
        }
        if rules.is_empty() {
            rules = of_config;
        }
    }
    let own = own.into_iter().map(|(keep, pvs)| KeptFor { pvs: KeptPvs::WithSetting(pvs), keep });
    own.chain(rules).collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn kept(pvs: KeptPvs, days: Option<u32>) -> KeptFor {
        KeptFor { pvs, keep: days.map(|days| DAY * days) }
    }

    #[test]
    fn settings_of_all_are_summed_up_and_rules_are_told_once() {
        let rules = || [kept(KeptPvs::Rule("A*".into()), Some(14)), kept(KeptPvs::Others, None)];
        let with = |pvs, days| kept(KeptPvs::WithSetting(pvs), days);
        let one: Vec<KeptFor> = [with(2, Some(7)), with(1, None)].into_iter().chain(rules()).collect();
        let other: Vec<KeptFor> = [with(3, Some(7))].into_iter().chain(rules()).collect();
        let all: Vec<KeptFor> = [with(1, None), with(5, Some(7))].into_iter().chain(rules()).collect();
        assert_eq!(together([Vec::new(), one, other]), all);
    }

    #[test]
    fn rows_come_back() {
        for of in [
            kept(KeptPvs::WithSetting(3), None),
            kept(KeptPvs::Rule("A*".into()), Some(14)),
            kept(KeptPvs::Others, Some(60)),
        ] {
            assert_eq!(KeptRow::of(&of).kept(), of);
        }
        let week = WeekToGo { week: "2026-W47".into(), at: Timestamp::from_seconds(5, 9) };
        assert_eq!(WeekRow::of(&week).week(), week);
    }
}

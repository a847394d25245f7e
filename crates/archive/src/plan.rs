//! Policies applied anew to the PVs that there are: what would change, and the change.

use std::collections::BTreeMap;

use crate::{Method, Origin, Policies, Protocol, PvEntry, PvSettings, Rules};

/// Whether PVs whose settings somebody gave by hand are meant too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manual {
    /// They stay as they are.
    Leave,
    /// They become what the policies say.
    Include,
}

/// A PV that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// As it is.
    pub entry: PvEntry,
    /// As it would be.
    pub to: PvSettings,
}

/// How many PVs a policy decides about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// All of them.
    pub pvs: u64,
    /// Those of them that would change.
    pub changes: u64,
}

/// What applying policies would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The PVs that would change, by name.
    pub changes: Vec<Planned>,
    /// By the names of the policies; PVs that none is for stand under "".
    pub policies: BTreeMap<String, Reach>,
    /// PVs that are left alone because their settings were given by hand.
    pub by_hand: u64,
}

impl Plan {
    /// What policies would change of these PVs. One that is new is read by `default_protocol` unless a policy says otherwise.
    pub fn of(entries: &[PvEntry], policies: &Policies, default_protocol: Protocol, manual: Manual) -> Plan {
        let mut plan = Plan::default();
        for policy in policies.iter() {
            plan.policies.insert(policy.name.to_string(), Reach::default());
        }
        // PVs of one policy share their rules.
        let mut shared: Vec<PvSettings> = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.settings.rules().is_field) {
            if manual == Manual::Leave && is_by_hand(&entry.settings) {
                plan.by_hand += 1;
                continue;
            }
            let mut to = settings(entry, policies, default_protocol, manual);
            match shared.iter().find(|other| other.rules == to.rules) {
                Some(other) => to.rules.clone_from(&other.rules),
                None => shared.push(to.clone()),
            }
            let name = to.rules().origin.policy.as_ref().map(ToString::to_string).unwrap_or_default();
            let reach = plan.policies.entry(name).or_default();
            reach.pvs += 1;
            if to != entry.settings {
                reach.changes += 1;
                plan.changes.push(Planned { entry: entry.clone(), to });
            }
        }
        plan
    }

    /// What the audit says: how many PVs of each policy change.
    pub fn summary(&self) -> String {
        let of = |(name, reach): (&String, &Reach)| {
            let name = if name.is_empty() { "no policy" } else { name };
            (reach.changes > 0).then(|| format!("{name}: {}", reach.changes))
        };
        self.policies.iter().filter_map(of).collect::<Vec<_>>().join(", ")
    }
}

/// Scanning that no policy asked for was asked for by somebody, in archives that did not yet write down by whom.
fn is_by_hand(settings: &PvSettings) -> bool {
    let origin = &settings.rules().origin;
    origin.sampling_by_hand || origin.policy.is_none() && settings.method != Method::Monitor
}

fn settings(entry: &PvEntry, policies: &Policies, default_protocol: Protocol, manual: Manual) -> PvSettings {
    let present = &entry.settings;
    let origin = match manual {
        Manual::Leave => present.rules().origin.clone(),
        Manual::Include => Origin { sampling_by_hand: false, ..present.rules().origin.clone() },
    };
    // Nobody but a policy changes by which protocol a PV is read that is there.
    let had_policy = present.rules().origin.policy.is_some();
    let usual = if had_policy && !origin.protocol_by_hand { default_protocol } else { present.protocol };
    let to = policies.settings(entry.name.as_str(), usual, &origin);
    let protocol = if origin.protocol_by_hand { present.protocol } else { to.protocol };
    let rules = Rules { is_field: present.rules().is_field, ..to.rules().clone() };
    PvSettings { protocol, state: present.state, rules: rules.shared(), ..to }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sample::Timestamp;

    use super::*;
    use crate::{Fits, Policy, PvId, PvName, PvState, RuleName, Wishes};

    fn scan(seconds: u64) -> Method {
        Method::Scan { period: Duration::from_secs(seconds) }
    }

    fn policies(period: u64) -> Policies {
        let slow = Policy {
            name: RuleName::new("slow").unwrap(),
            fits: vec![Fits::parse("S:*").unwrap()],
            wishes: Wishes { method: Some(scan(period)), ..Wishes::default() },
        };
        Policies::new(vec![slow]).unwrap()
    }

    fn entry(name: &str, method: Method, origin: Origin) -> PvEntry {
        let rules = Rules { origin, ..Rules::default() }.shared();
        let settings = PvSettings { rules, ..PvSettings::plain(Protocol::Ca, method, PvState::Paused) };
        PvEntry { id: PvId(0), name: PvName::new(name).unwrap(), settings, added: Timestamp::default() }
    }

    #[test]
    fn what_was_given_by_hand_is_left_alone_unless_it_is_meant() {
        let by_hand = Origin { sampling_by_hand: true, ..Origin::default() };
        let entries = [
            entry("S:1", Method::Monitor, Origin::default()),
            entry("S:2", Method::Monitor, by_hand),
            entry("S:3", scan(7), Origin::default()),
            entry("X", Method::Monitor, Origin::default()),
        ];
        let plan = Plan::of(&entries, &policies(5), Protocol::Ca, Manual::Leave);
        let names: Vec<&str> = plan.changes.iter().map(|planned| planned.entry.name.as_str()).collect();
        assert_eq!((names, plan.by_hand), (vec!["S:1"], 2));
        assert_eq!((plan.changes[0].to.method, plan.changes[0].to.state), (scan(5), PvState::Paused));
        assert_eq!(plan.policies["slow"], Reach { pvs: 1, changes: 1 });
        assert_eq!(plan.policies[""], Reach { pvs: 1, changes: 0 });
        assert_eq!(plan.summary(), "slow: 1");
        let all = Plan::of(&entries, &policies(5), Protocol::Ca, Manual::Include);
        assert_eq!((all.changes.len(), all.by_hand), (3, 0));
    }

    #[test]
    fn a_plan_that_was_applied_changes_nothing_and_a_policy_that_went_gives_its_pvs_back() {
        let before = [entry("S:1", Method::Monitor, Origin::default())];
        let first = Plan::of(&before, &policies(5), Protocol::Ca, Manual::Leave);
        let after = [PvEntry { settings: first.changes[0].to.clone(), ..before[0].clone() }];
        assert!(Plan::of(&after, &policies(5), Protocol::Ca, Manual::Leave).changes.is_empty());
        assert_eq!(Plan::of(&after, &policies(6), Protocol::Ca, Manual::Leave).changes[0].to.method, scan(6));
        let none = Plan::of(&after, &Policies::default(), Protocol::Ca, Manual::Leave);
        assert_eq!(none.changes[0].to, before[0].settings);
    }

    #[test]
    fn a_protocol_that_somebody_gave_stays() {
        let given = Origin { protocol_by_hand: true, ..Origin::default() };
        let mut pv = entry("S:1", Method::Monitor, given);
        pv.settings.protocol = Protocol::Pva;
        let plan = Plan::of(&[pv], &policies(5), Protocol::Ca, Manual::Include);
        assert_eq!(plan.changes[0].to.protocol, Protocol::Pva);
    }
}

//! Policies: an ordered list that says how PVs are archived by their names. The first that fits decides.

use std::{collections::HashSet, fmt, sync::Arc};

use crate::{Copies, Fits, Method, Origin, Protocol, PvSettings, PvState, RuleName, Rules, Wishes};

/// Why a policy, or a list of them, cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

impl PolicyError {
    /// Two policies have the same name.
    pub fn twice(name: &RuleName) -> PolicyError {
        PolicyError(format!("two policies are called {name}"))
    }
}

/// How the PVs of some names are archived.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name.
    pub name: RuleName,
    /// For which names it is; any of them.
    pub fits: Vec<Fits>,
    /// What it says; the usual holds for the rest.
    pub wishes: Wishes,
}

/// All policies in order.
#[derive(Clone, Debug, Default)]
pub struct Policies(Arc<Vec<Policy>>);

impl Policies {
    /// Checks that no two have the same name, and that no pattern is for nothing.
    pub fn new(policies: Vec<Policy>) -> Result<Policies, PolicyError> {
        let mut names = HashSet::with_capacity(policies.len());
        match policies.iter().find(|policy| !names.insert(&policy.name)) {
            Some(policy) => Err(PolicyError::twice(&policy.name)),
            None => Ok(Policies(Arc::new(policies))),
        }
    }

    /// In their order.
    pub fn iter(&self) -> impl Iterator<Item = &Policy> {
        self.0.iter()
    }

    /// The one of that name.
    pub fn named(&self, name: &str) -> Option<&Policy> {
        self.iter().find(|policy| policy.name.as_str() == name)
    }

    /// How many nodes of a cluster must be able to record a PV by these.
    pub fn copies(&self) -> Copies {
        let wants_two = |policy: &Policy| policy.wishes.copies == Some(Copies::Two);
        if self.iter().any(wants_two) { Copies::Two } else { Copies::One }
    }

    /// The first that is for that name.
    pub fn for_name(&self, name: &str) -> Option<&Policy> {
        self.iter().find(|policy| policy.fits.iter().any(|fits| fits.is_for(name)))
    }

    /// The settings of a PV of that name as a policy has them: the one that somebody chose, if it is still there, or the first
    /// that fits, or none. `origin` says what was given by hand.
    pub fn settings(&self, name: &str, default_protocol: Protocol, origin: &Origin) -> PvSettings {
        let chosen = origin.policy.as_ref().filter(|_| origin.policy_by_hand);
        let chosen = chosen.and_then(|policy| self.named(policy.as_str()));
        let usual = PvSettings::plain(default_protocol, Method::Monitor, PvState::Active);
        let policy = chosen.or_else(|| self.for_name(name));
        let settings = policy.map_or_else(|| usual.clone(), |policy| policy.wishes.over(&usual));
        let origin = Origin {
            policy: policy.map(|policy| policy.name.clone()),
            policy_by_hand: chosen.is_some(),
            ..origin.clone()
        };
        let rules = Rules { origin, ..settings.rules().clone() };
        PvSettings { rules: rules.shared(), ..settings }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn policy(name: &str, fits: &str, wishes: Wishes) -> Policy {
        Policy { name: RuleName::new(name).unwrap(), fits: vec![Fits::parse(fits).unwrap()], wishes }
    }

    fn scan(seconds: u64) -> Option<Method> {
        Some(Method::Scan { period: Duration::from_secs(seconds) })
    }

    #[test]
    fn the_first_policy_that_fits_decides() {
        let policies = Policies::new(vec![
            policy("one", "A:?", Wishes { method: scan(1), ..Wishes::default() }),
            policy("two", "~A:.*|B", Wishes { method: scan(2), protocol: Some(Protocol::Pva), ..Wishes::default() }),
        ])
        .unwrap();
        let of = |name: &str| {
            let settings = policies.settings(name, Protocol::Ca, &Origin::default());
            let policy = settings.rules().origin.policy.as_ref().map(ToString::to_string);
            (policy, settings.method, settings.protocol)
        };
        assert_eq!(of("A:1"), (Some("one".to_owned()), scan(1).unwrap(), Protocol::Ca));
        assert_eq!(of("A:12"), (Some("two".to_owned()), scan(2).unwrap(), Protocol::Pva));
        assert_eq!(of("B"), (Some("two".to_owned()), scan(2).unwrap(), Protocol::Pva));
        assert_eq!(of("BB"), (None, Method::Monitor, Protocol::Ca));
    }

    #[test]
    fn a_policy_that_somebody_chose_stays_while_it_is_there() {
        let slow = policy("slow", "X", Wishes { method: scan(9), ..Wishes::default() });
        let policies = Policies::new(vec![policy("all", "*", Wishes::default()), slow]).unwrap();
        let chosen = |name: &str| Origin {
            policy: Some(RuleName::new(name).unwrap()),
            policy_by_hand: true,
            ..Origin::default()
        };
        assert_eq!(policies.settings("A", Protocol::Ca, &chosen("slow")).method, scan(9).unwrap());
        let gone = policies.settings("A", Protocol::Ca, &chosen("gone"));
        assert_eq!(gone.rules().origin.policy, Some(RuleName::new("all").unwrap()));
        assert!(!gone.rules().origin.policy_by_hand);
    }

    #[test]
    fn names_that_come_twice_are_refused() {
        let twice = Policies::new(vec![policy("a", "A", Wishes::default()), policy("a", "B", Wishes::default())]);
        assert_eq!(twice.unwrap_err().to_string(), "two policies are called a");
    }
}

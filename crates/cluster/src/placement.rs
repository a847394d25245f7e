//! Placement: the shard of a PV, by a rule or by the name of its device, which is what stands before the first colon. A client of Channel
//! Access has one circuit for each IOC: spread by whole names, each IOC would get one from every node.

use std::fmt;

use archive::Fits;
use xxhash_rust::xxh3::xxh3_64;

/// More shards than this no cluster has: each is an archive that somebody must have open.
const SHARDS_MAX: u32 = 4096;

/// Which PVs belong to a shard whatever their devices are.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Their names.
    pub fits: Fits,
    /// The shard.
    pub shard: u32,
}

/// Where PVs belong.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    shards: u32,
    rules: Vec<Rule>,
}

/// Why PVs cannot be placed so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// There are none, or too many.
    Shards(u32),
    /// A rule is for a shard that there is not.
    NoShard {
        /// The pattern of the rule.
        rule: String,
        /// The shard that it names.
        shard: u32,
        /// How many there are.
        shards: u32,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::Shards(shards) => write!(f, "a cluster has 1 to {SHARDS_MAX} shards, not {shards}"),
            PlacementError::NoShard { rule, shard, shards } => {
                let last = shards - 1;
                write!(f, "the rule for {rule:?} names shard {shard}; this cluster has the shards 0 to {last}")
            }
        }
    }
}

impl std::error::Error for PlacementError {}

impl Placement {
    /// Over so many shards, which never change; the first rule that fits a name decides.
    pub fn new(shards: u32, rules: Vec<Rule>) -> Result<Placement, PlacementError> {
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(PlacementError::Shards(shards));
        }
        if let Some(wrong) = rules.iter().find(|rule| rule.shard >= shards) {
            let rule = wrong.fits.as_str().to_owned();
            return Err(PlacementError::NoShard { rule, shard: wrong.shard, shards });
        }
        Ok(Placement { shards, rules })
    }

    /// The shard that a new PV of that name gets. Where it lies once it is registered stands in the table of names: a rule that comes later
    /// moves nothing.
    pub fn shard_of(&self, name: &str) -> u32 {
        let rule = self.rules.iter().find(|rule| rule.fits.is_for(name));
        rule.map_or_else(|| (xxh3_64(device(name).as_bytes()) % u64::from(self.shards)) as u32, |rule| rule.shard)
    }
}

/// What stands before the first colon; all of it where there is none.
fn device(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pattern: &str, shard: u32) -> Rule {
        Rule { fits: Fits::parse(pattern).unwrap(), shard }
    }

    #[test]
    fn pvs_of_a_device_stay_together_and_devices_are_spread() {
        let placement = Placement::new(32, Vec::new()).unwrap();
        let mut many = [0; 32];
        for device in 0..3200 {
            let shard = placement.shard_of(&format!("BPM{device}:X"));
            assert_eq!(placement.shard_of(&format!("BPM{device}:Y:Avg")), shard);
            many[shard as usize] += 1;
        }
        assert!(many.iter().all(|devices| (60..150).contains(devices)), "{many:?}");
        // It is written down nowhere, so it must never come out otherwise.
        assert_eq!(placement.shard_of("SR-DI-BPM-01:SA:X"), placement.shard_of("SR-DI-BPM-01"));
        assert_eq!(["A:b", "SR01C:PS", "ring"].map(|name| placement.shard_of(name)), SHARDS_OF_SOME);
    }

    /// As the first version placed them.
    const SHARDS_OF_SOME: [u32; 3] = [5, 14, 9];

    #[test]
    fn the_first_rule_that_fits_decides() {
        let placement = Placement::new(4, vec![rule("SR*", 3), rule("SR-DI*", 1), rule("~.*:fast", 2)]).unwrap();
        assert_eq!(["SR-DI:x", "X:fast", "SR:fast"].map(|name| placement.shard_of(name)), [3, 2, 3]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let told = Placement::new(4, vec![rule("SR*", 4)]).unwrap_err().to_string();
        assert_eq!(told, "the rule for \"SR*\" names shard 4; this cluster has the shards 0 to 3");
        assert!(Placement::new(0, Vec::new()).is_err() && Placement::new(5000, Vec::new()).is_err());
    }
}

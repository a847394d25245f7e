//! What the comparison of a PV came to: how many samples are equal, and stretches of those that are not, each with its reason.

use sample::Timestamp;
use serde_json::{Value, json};

/// So many stretches of a PV are told one by one.
const STRETCHES_MAX: usize = 1000;
/// What differs again so soon, in the same way and for the same reason, belongs to one stretch.
const JOINED_NANOS: i64 = 600 * 1_000_000_000;

/// In what way samples differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// We have it, they do not.
    LostThere,
    /// They have it, we do not.
    LostHere,
    /// Another value at the same time.
    Value,
    /// One of the two keeps it in a narrower type.
    Type,
    /// The same value at another time.
    Stamp,
    /// Another severity or status.
    Alarm,
    /// Other units, precision, limits or names of states.
    Metadata,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] =
        [Kind::LostThere, Kind::LostHere, Kind::Value, Kind::Type, Kind::Stamp, Kind::Alarm, Kind::Metadata];

    /// Its key.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::LostThere => "lost_there",
            Kind::LostHere => "lost_here",
            Kind::Value => "value",
            Kind::Type => "type",
            Kind::Stamp => "stamp",
            Kind::Alarm => "alarm",
            Kind::Metadata => "metadata",
        }
    }
}

/// Differences of one kind and one reason that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) kind: Kind,
    /// The reason, as a key.
    pub(crate) why: String,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) count: u64,
    /// The first of them, on both sides.
    pub(crate) here: Option<String>,
    pub(crate) there: Option<String>,
}

/// The comparison of a PV.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) equal: u64,
    counts: [u64; Kind::ALL.len()],
    stretches: Vec<Stretch>,
    /// Differences that are counted but not told.
    untold: u64,
    /// Answers that broke off, or ended before their end, and were asked for again.
    pub(crate) read_again: u64,
    pub(crate) out_of_order: u64,
}

impl Outcome {
    pub(crate) fn add(&mut self, stretch: Stretch) {
        let slot = Kind::ALL.iter().position(|kind| *kind == stretch.kind).expect("all kinds are among all");
        self.counts[slot] += stretch.count;
        // Only the last ones can go on: times rise.
        let has_room = self.stretches.len() < STRETCHES_MAX;
        let joined = self.stretches.iter_mut().rev().take(2 * Kind::ALL.len()).find(|last| {
            last.kind == stretch.kind
                && last.why == stretch.why
                && stretch.kind != Kind::Metadata
                && stretch.from.nanos().saturating_sub(last.to.nanos()) <= JOINED_NANOS
        });
        match joined {
            Some(last) => {
                (last.from, last.to) = (last.from.min(stretch.from), last.to.max(stretch.to));
                last.count += stretch.count;
            }
            None if has_room => self.stretches.push(stretch),
            None => self.untold += stretch.count,
        }
    }

    pub(crate) fn count(&self, kind: Kind) -> u64 {
        Kind::ALL.iter().zip(self.counts).find(|(one, _)| **one == kind).map_or(0, |(_, count)| count)
    }

    /// Whether nothing differs but what is accepted.
    pub(crate) fn is_equal(&self, accepted: &[Kind]) -> bool {
        Kind::ALL.iter().all(|kind| self.count(*kind) == 0 || accepted.contains(kind))
    }

    /// As a line of the journal.
    pub(crate) fn as_json(&self) -> Value {
        let mut object = json!({ "equal": self.equal });
        for kind in Kind::ALL {
            object[kind.name()] = self.count(kind).into();
        }
        let stretch = |stretch: &Stretch| {
            json!({
                "kind": stretch.kind.name(),
                "why": stretch.why,
                "text": super::why::text(&stretch.why),
                "from": stretch.from.to_string(),
                "to": stretch.to.to_string(),
                "count": stretch.count,
                "here": stretch.here,
                "there": stretch.there,
            })
        };
        object["differences"] = self.stretches.iter().map(stretch).collect();
        object["differences_untold"] = self.untold.into();
        object["read_again"] = self.read_again.into();
        object["out_of_order"] = self.out_of_order.into();
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(seconds: i64, why: &str) -> Stretch {
        let at = Timestamp::from_seconds(seconds, 0);
        Stretch { kind: Kind::LostThere, why: why.to_owned(), from: at, to: at, count: 2, here: None, there: None }
    }

    #[test]
    fn what_follows_soon_for_one_reason_is_one_stretch_and_all_of_it_is_counted() {
        let mut outcome = Outcome::default();
        for (seconds, why) in [(0, "scan"), (5, "unknown"), (600, "scan"), (2000, "scan")] {
            outcome.add(lost(seconds, why));
        }
        let told: Vec<_> = outcome.stretches.iter().map(|s| (s.why.as_str(), s.count)).collect();
        assert_eq!(told, [("scan", 4), ("unknown", 2), ("scan", 2)]);
        for hour in 1..=2000 {
            outcome.add(lost(3600 * hour, "scan"));
        }
        assert_eq!((outcome.count(Kind::LostThere), outcome.stretches.len()), (4008, STRETCHES_MAX));
        assert_eq!(outcome.stretches.iter().map(|s| s.count).sum::<u64>() + outcome.untold, 4008);
        assert!(outcome.is_equal(&[Kind::LostThere]) && !outcome.is_equal(&[Kind::Value]));
    }
}

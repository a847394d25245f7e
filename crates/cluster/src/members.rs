//! Members: which nodes live, by beats that change. No clock of another node is ever looked at: a node is silent when its beat has been the
//! same for so long on the clock of who looks.

use std::{collections::BTreeMap, time::Duration};

/// A node whose beat has not changed for so long is taken for dead. Beats come once a second: five that are missing are no hiccup.
pub const SILENCE: Duration = Duration::from_secs(5);

/// What a node knows of the others.
#[derive(Debug)]
pub struct Members {
    own: String,
    own_beat: Option<Duration>,
    heard: BTreeMap<String, Heard>,
}

#[derive(Debug)]
struct Heard {
    beat: Vec<u8>,
    /// When it was found to be another one than before.
    at: Duration,
}

impl Members {
    /// Of the node with that name, which has heard of nobody yet.
    pub fn new(own: impl Into<String>) -> Members {
        Members { own: own.into(), own_beat: None, heard: BTreeMap::new() }
    }

    /// The own beat was taken by the shared store.
    pub fn beats(&mut self, now: Duration) {
        self.own_beat = Some(now);
    }

    /// What each node said last, as somebody read it just now. Who is not among them has left.
    pub fn hear(&mut self, now: Duration, beats: impl IntoIterator<Item = (String, Vec<u8>)>) {
        let mut before = std::mem::take(&mut self.heard);
        for (node, beat) in beats {
            // Of a node that is new here nobody knows how long it has been silent: it has as long as any other.
            let heard = match before.remove(&node) {
                Some(heard) if heard.beat == beat => heard,
                _ => Heard { beat, at: now },
            };
            self.heard.insert(node, heard);
        }
    }

    /// Whether this node may take what others leave: not if it is the one that cannot be heard.
    pub fn may_take(&self, now: Duration) -> bool {
        self.own_beat.is_some_and(|at| now.saturating_sub(at) < SILENCE)
    }

    /// Whether a node lives, for all that is known.
    pub fn lives(&self, node: &str, now: Duration) -> bool {
        if node == self.own {
            return self.may_take(now);
        }
        self.heard.get(node).is_some_and(|heard| now.saturating_sub(heard.at) < SILENCE)
    }

    /// The nodes that live, by name.
    pub fn living(&self, now: Duration) -> Vec<String> {
        let mut living: Vec<String> =
            self.heard.keys().filter(|node| **node != self.own && self.lives(node, now)).cloned().collect();
        if self.may_take(now) {
            living.push(self.own.clone());
        }
        living.sort();
        living
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn beats(of: &[(&str, u8)]) -> Vec<(String, Vec<u8>)> {
        of.iter().map(|(node, beat)| ((*node).to_owned(), vec![*beat])).collect()
    }

    #[test]
    fn a_node_is_dead_when_its_beat_stays_the_same_for_five_seconds_here() {
        let mut members = Members::new("a");
        members.beats(at(100));
        members.hear(at(100), beats(&[("a", 1), ("b", 9), ("c", 200)]));
        assert_eq!(members.living(at(100)), ["a", "b", "c"]);
        // The clock of c stands or runs backwards: all that counts is that its beat is another.
        members.hear(at(104), beats(&[("a", 2), ("b", 9), ("c", 3)]));
        members.beats(at(104));
        assert!(members.lives("b", at(104)) && members.lives("c", at(105)));
        assert_eq!(members.living(at(105)), ["a", "c"]);
        members.hear(at(106), beats(&[("a", 2), ("b", 10)]));
        assert_eq!(members.living(at(106)), ["a", "b"], "one came back, and one has left");
    }

    #[test]
    fn a_node_that_is_not_heard_itself_takes_nothing() {
        let mut members = Members::new("a");
        assert!(!members.may_take(at(1)));
        members.beats(at(1));
        members.hear(at(1), beats(&[("b", 1)]));
        assert!(members.may_take(at(5)));
        assert!(!members.may_take(at(6)), "its beats have failed for five seconds: it may be the one that is cut off");
        assert_eq!(members.living(at(6)), Vec::<String>::new());
    }
}

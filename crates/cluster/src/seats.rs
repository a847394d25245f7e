//! Seats: which node should have which shard. Whoever lives and comes first for a shard takes it when nobody alive has it; apart from that a
//! shard moves only where much is gained. A shard and its copy are never given to one node while there is another.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::Xxh3;

use crate::pairs::Pairs;

/// A move must make the node with the most to do so much better, in percent, or nothing moves: each move costs a flush and a copy of the
/// catalogue, and what is gained may be gone in a minute.
const GAIN_PERCENT: u64 = 20;

/// A shard that is to go from one node to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub shard: u32,
    /// Who has it.
    pub from: String,
    /// Who should.
    pub to: String,
}

/// Who has which shard, and how much each has to do.
#[derive(Clone, Debug)]
pub struct Seats {
    pairs: Pairs,
    owners: BTreeMap<u32, String>,
    weights: BTreeMap<u32, u64>,
}

/// Of these nodes the one that comes first for a shard: each pair has a number that looks random, and the highest wins. So a node that goes
/// leaves its shards to all others, and nobody else's move.
pub fn seat_of(shard: u32, nodes: &[String]) -> Option<&String> {
    nodes.iter().max_by_key(|node| (rank(shard, node), *node))
}

fn rank(shard: u32, node: &str) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&shard.to_le_bytes());
    hash.update(node.as_bytes());
    hash.digest()
}

impl Seats {
    /// The seats of these shards before any node has one.
    pub fn of(pairs: Pairs) -> Seats {
        Seats { pairs, owners: BTreeMap::new(), weights: BTreeMap::new() }
    }

    /// The node that comes first for a shard among those without the other one of its pair. Where nobody has either, the copy makes
    /// way. A node that is alone has both: otherwise nobody could answer for what each of them recorded before.
    fn seat<'n>(&self, shard: u32, living: &'n [String]) -> Option<&'n String> {
        let Some(other) = self.pairs.other(shard) else { return seat_of(shard, living) };
        let has = self.owners.get(&other).filter(|owner| living.contains(owner));
        let first = || self.pairs.copied(shard).and_then(|shard| seat_of(shard, living));
        let taken = has.or_else(first);
        let apart = living.iter().filter(|node| Some(*node) != taken);
        apart.max_by_key(|node| (rank(shard, node), *node)).or_else(|| seat_of(shard, living))
    }

    fn has_other(&self, node: &str, shard: u32) -> bool {
        self.pairs.other(shard).is_some_and(|other| self.owners.get(&other).is_some_and(|owner| owner == node))
    }

    /// The copies that a node should take from nodes that have their shards as well.
    pub fn to_part(&self, own: &str, living: &[String]) -> Vec<u32> {
        let is_with_shard = |copy: &u32| {
            let owner = self.owners.get(copy);
            owner.is_some_and(|owner| owner != own && living.contains(owner) && self.has_other(owner, *copy))
        };
        let copies = (0..self.pairs.all()).filter(|number| self.pairs.copied(*number).is_some());
        copies.filter(is_with_shard).filter(|copy| self.seat(*copy, living).is_some_and(|node| node == own)).collect()
    }

    /// The lease of a shard names this node.
    pub fn has(&mut self, shard: u32, node: impl Into<String>) {
        self.owners.insert(shard, node.into());
    }

    /// What a shard gives to do: updates a second, and a thousandth of its bytes a second.
    pub fn weighs(&mut self, shard: u32, updates: u64, bytes: u64) {
        self.weights.insert(shard, updates + bytes / 1000);
    }

    /// The shards, of so many, that a node should take now: nobody who lives has them, and of those who live it comes first.
    pub fn to_take(&self, own: &str, shards: u32, living: &[String]) -> Vec<u32> {
        let is_left = |shard: &u32| self.owners.get(shard).is_none_or(|owner| !living.contains(owner));
        (0..shards).filter(is_left).filter(|shard| self.seat(*shard, living).is_some_and(|node| node == own)).collect()
    }

    /// Whether somebody has each of so many shards.
    pub fn are_taken(&self, shards: u32) -> bool {
        (0..shards).all(|shard| self.owners.contains_key(&shard))
    }

    /// The shard that a node should take from the one that has most, given how many each has: if that one has two more than this, and no
    /// other node has fewer. So each gets its share one after the other, and what is even stays.
    pub fn to_even_out(
        &self,
        own: &str,
        loads: &BTreeMap<String, usize>,
        may_move: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let least = loads.iter().min_by_key(|(node, load)| (**load, node.as_str()))?;
        let most = loads.iter().max_by_key(|(node, load)| (**load, node.as_str()))?;
        if least.0 != own || *most.1 < least.1 + 2 {
            return None;
        }
        let of_most = self.owners.iter().filter(|(_, owner)| *owner == most.0).map(|(shard, _)| *shard);
        of_most.filter(|shard| !self.has_other(own, *shard) && may_move(*shard)).max_by_key(|shard| rank(*shard, own))
    }

    /// The move that makes the node with the most to do better by far; none if none does.
    pub fn best_move(&self, living: &[String]) -> Option<Move> {
        let weight = |shard: &u32| self.weights.get(shard).copied().unwrap_or(0);
        let mut loads: BTreeMap<&str, u64> = living.iter().map(|node| (node.as_str(), 0)).collect();
        for (shard, owner) in &self.owners {
            if let Some(load) = loads.get_mut(owner.as_str()) {
                *load += weight(shard);
            }
        }
        let (worst, most) =
            loads.iter().max_by_key(|(node, load)| (**load, **node)).map(|(node, load)| (*node, *load))?;
        let (best, least) =
            loads.iter().min_by_key(|(node, load)| (**load, **node)).map(|(node, load)| (*node, *load))?;
        let own = self.owners.iter().filter(|(_, owner)| *owner == worst).map(|(shard, _)| *shard);
        let own = own.filter(|shard| !self.has_other(best, *shard));
        let after = |shard: &u32| (most - weight(shard)).max(least + weight(shard));
        let shard = own.min_by_key(after)?;
        let gained = most.saturating_sub(after(&shard));
        let is_worth_it = u128::from(gained) * 100 > u128::from(most) * u128::from(GAIN_PERCENT);
        is_worth_it.then(|| Move { shard, from: worst.to_owned(), to: best.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use archive::Copies;

    use super::*;

    fn nodes(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_shard_is_taken_by_one_and_only_those_of_who_has_gone_move() {
        let all = nodes(&["a", "b", "c"]);
        let mut seats = Seats::of(Pairs::new(95, Copies::One));
        let taken: Vec<Vec<u32>> = all.iter().map(|node| seats.to_take(node, 96, &all)).collect();
        let mut every: Vec<u32> = taken.concat();
        every.sort_unstable();
        assert_eq!(every, (0..96).collect::<Vec<_>>());
        assert!(taken.iter().all(|shards| (18..48).contains(&shards.len())), "{taken:?}");
        for (node, shards) in all.iter().zip(&taken) {
            shards.iter().for_each(|shard| seats.has(*shard, node.clone()));
        }
        assert!(all.iter().all(|node| seats.to_take(node, 96, &all).is_empty()));
        // b is gone: the others take what it had, and nothing else.
        let left = nodes(&["a", "c"]);
        let mut moved = [seats.to_take("a", 96, &left), seats.to_take("c", 96, &left)].concat();
        moved.sort_unstable();
        assert_eq!(moved, taken[1]);
    }

    #[test]
    fn a_shard_moves_only_where_the_worst_gains_a_fifth() {
        let all = nodes(&["a", "b"]);
        let mut seats = Seats::of(Pairs::new(95, Copies::One));
        for (shard, node, updates) in [(0, "a", 600), (1, "a", 300), (2, "a", 100), (3, "b", 500)] {
            seats.has(shard, node);
            seats.weighs(shard, updates, 0);
        }
        // 1000 against 500: without shard 1 it is 700 and 800, without shard 2 900 and 600.
        assert_eq!(seats.best_move(&all), None, "to 800 is no fifth");
        seats.weighs(1, 240, 0);
        seats.weighs(0, 660, 0);
        let better = Move { shard: 1, from: "a".into(), to: "b".into() };
        assert_eq!(seats.best_move(&all), Some(better), "to 760");
        seats.weighs(1, 0, 240_000);
        assert_eq!(seats.best_move(&all).map(|of| of.shard), Some(1), "bytes count as well");
        assert_eq!(seats.best_move(&nodes(&["a"])), None);
    }

    /// How many pairs each node has both of, with which all shards have a seat.
    fn seated(seats: &mut Seats, living: &[String]) -> BTreeMap<String, usize> {
        let all = seats.pairs.all();
        // Each looks at what there is, and takes what falls to it: the first that looks is the first that has.
        for node in living {
            for shard in seats.to_take(node, all, living) {
                seats.has(shard, node.clone());
            }
        }
        assert!(seats.are_taken(all));
        let mut both = BTreeMap::new();
        for shard in 0..seats.pairs.site() {
            let owner = seats.owners[&shard].clone();
            if seats.has_other(&owner, shard) {
                *both.entry(owner).or_default() += 1;
            }
        }
        both
    }

    #[test]
    fn a_shard_and_its_copy_are_at_two_nodes_whoever_dies_and_come_apart_when_another_one_comes() {
        let three = nodes(&["a", "b", "c"]);
        let mut seats = Seats::of(Pairs::new(32, Copies::Two));
        assert_eq!(seated(&mut seats, &three), BTreeMap::new());
        for dead in &three {
            let mut seats = seats.clone();
            let left: Vec<String> = three.iter().filter(|node| *node != dead).cloned().collect();
            assert_eq!(seated(&mut seats, &left), BTreeMap::new(), "without {dead}");
            // Of two that are left one dies: the last has all, and nothing is left out.
            let last = [left[0].clone()];
            assert_eq!(seated(&mut seats, &last), BTreeMap::from([(left[0].clone(), 32)]));
            assert_eq!(seats.to_part(&last[0], &last), Vec::<u32>::new());
            // Another one comes, and takes one of each pair.
            let parted = seats.to_part(&left[1], &left);
            assert_eq!(parted, (33..65).collect::<Vec<_>>());
            parted.iter().for_each(|copy| seats.has(*copy, left[1].clone()));
            assert_eq!(seated(&mut seats, &left), BTreeMap::new());
            assert_eq!(seats.to_part(&left[1], &left), Vec::<u32>::new());
        }
    }

    #[test]
    fn what_is_evened_out_brings_no_pair_together() {
        let mut seats = Seats::of(Pairs::new(2, Copies::Two));
        [(0, "a"), (1, "a"), (2, "a"), (4, "a"), (3, "b")].into_iter().for_each(|(shard, node)| seats.has(shard, node));
        let loads = BTreeMap::from([("a".to_owned(), 4), ("b".to_owned(), 1)]);
        assert_eq!(seats.to_even_out("b", &loads, |_| true).map(|shard| shard != 0), Some(true), "3 is the copy of 0");
        assert_eq!(seats.to_even_out("b", &loads, |_| false), None, "the others of all pairs have just moved");
        let mut seats = Seats::of(Pairs::new(2, Copies::Two));
        [(0, "a"), (1, "a"), (3, "b"), (4, "b")].into_iter().for_each(|(shard, node)| seats.has(shard, node));
        [(0, 900), (1, 10), (3, 1), (4, 1)].into_iter().for_each(|(shard, updates)| seats.weighs(shard, updates, 0));
        assert_eq!(seats.best_move(&nodes(&["a", "b"])), None, "each would meet its copy");
    }
}

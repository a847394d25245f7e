//! A node at work, a second at a time: it says that it lives, hears who else does, and says which shards it should take.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use shared::Shared;

use crate::{beat::Beat, board::Board, in_force::FORMAT, members::Members, seats::Seats};

/// A node that has just begun takes nothing before it has heard who else is there.
const HEARS_FIRST: Duration = Duration::from_secs(3);
/// Behind a move nothing is moved for so long: what it has cost is to be over.
const MOVES_EACH: Duration = Duration::from_secs(2);
/// A shard that a node has given up is not free for so long: whoever has taken it from there has not said so yet. Between the seal and
/// the beat that says so a store is opened, which takes seconds where the list is long or the machine busy; whoever took the shard back
/// meanwhile would be taken for slow in turn, and neither would ever have it.
const SAYS_SO_WITHIN: Duration = Duration::from_secs(15);
/// One of a pair is moved only when the other one has been where it is for so long: a new owner has a gap until the IOCs have answered, and
/// of two that have one at the same time somebody would miss something.
const RESTS: Duration = Duration::from_secs(10);
/// A node takes at most this many shards at a time.
const TAKEN_AT_ONCE: usize = 4;

/// A node of a cluster, without its shards.
#[derive(Debug)]
pub struct Node {
    board: Arc<Board>,
    shared: Arc<dyn Shared>,
    beat: Beat,
    leaving: Arc<AtomicBool>,
    members: Members,
    began: Option<Duration>,
    moved: Option<Duration>,
    /// Which node said last that it has a shard, and when that was.
    said: BTreeMap<u32, (String, Duration)>,
    /// In which epoch each shard is recorded, and since when for all that is heard.
    rests: BTreeMap<u32, (u64, Duration)>,
    /// Why the last beat did not arrive.
    trouble: Option<String>,
    is_new: bool,
}

impl Node {
    /// One that says this of itself.
    pub fn new(board: Arc<Board>, shared: Arc<dyn Shared>, beat: Beat, leaving: Arc<AtomicBool>) -> Node {
        let members = Members::new(board.own());
        Node {
            board,
            shared,
            beat,
            leaving,
            members,
            began: None,
            moved: None,
            said: BTreeMap::new(),
            rests: BTreeMap::new(),
            trouble: None,
            is_new: true,
        }
    }

    /// One turn, to be called about once a second with the time that has passed on this node, and the one that its clock shows, in seconds
    /// since 1970. Gives the shards that are to be taken now; `taking` are those that are being taken.
    pub fn turn(&mut self, now: Duration, clock: i64, taking: &BTreeSet<u32>) -> Vec<u32> {
        let began = *self.began.get_or_insert(now);
        self.beat.clock = Some(clock);
        self.send(now);
        let beats = match self.shared.beats() {
            Ok(beats) => beats,
            Err(error) => {
                tracing::debug!("who lives is not known: {error}");
                return Vec::new();
            }
        };
        self.members.hear(now, beats.clone());
        let beats = beats.into_iter().filter_map(|(node, bytes)| Some((node, Beat::decode(&bytes)?)));
        let nodes: Vec<(String, Beat, bool)> = beats
            .map(|(node, beat)| (self.members.lives(&node, now), node, beat))
            .map(|(lives, node, beat)| (node, beat, lives))
            .collect();
        self.board.heard(nodes.clone(), clock);
        let waits = if self.is_new { HEARS_FIRST } else { Duration::ZERO };
        if !self.members.may_take(now) || self.leaving.load(Relaxed) || now.saturating_sub(began) < waits {
            return Vec::new();
        }
        self.is_new = false;
        self.wanted(now, &nodes, taking)
    }

    /// The last that it says: it has nothing, and others need not wait.
    pub fn farewell(&mut self) {
        self.beat.is_leaving = true;
        self.beat.shards.clear();
        self.beat.count += 1;
        if let Err(error) = self.shared.beat(self.board.own(), &self.beat.encode()) {
            tracing::debug!("the other nodes do not hear that this one leaves: {error}");
        }
    }

    /// Why the others may not hear this node.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn send(&mut self, now: Duration) {
        self.beat.count += 1;
        self.beat.is_leaving = self.leaving.load(Relaxed);
        self.beat.shards = self.board.records().into_iter().collect();
        (self.beat.reads, self.beat.writes) = (Some(FORMAT), Some(self.board.format()));
        self.trouble = match self.shared.beat(self.board.own(), &self.beat.encode()) {
            Ok(()) => {
                self.members.beats(now);
                None
            }
            Err(error) => Some(error.to_string()),
        };
    }

    fn wanted(&mut self, now: Duration, nodes: &[(String, Beat, bool)], taking: &BTreeSet<u32>) -> Vec<u32> {
        let own = self.board.own().to_owned();
        let staying: Vec<String> = nodes
            .iter()
            .filter(|(_, beat, lives)| *lives && !beat.is_leaving)
            .map(|(node, _, _)| node.clone())
            .collect();
        let recorded = self.board.records();
        let mut seats = Seats::of(self.board.pairs());
        let mut loads: BTreeMap<String, usize> = staying.iter().map(|node| (node.clone(), 0)).collect();
        for shard in 0..self.board.all() {
            let epoch = recorded.get(&shard).copied().or_else(|| self.board.claim(shard).map(|claim| claim.epoch));
            match epoch {
                None => _ = self.rests.remove(&shard),
                Some(epoch) if self.rests.get(&shard).is_some_and(|(before, _)| *before == epoch) => {}
                Some(epoch) => _ = self.rests.insert(shard, (epoch, now)),
            }
            let is_here = recorded.contains_key(&shard) || taking.contains(&shard);
            let node = if is_here { Some(own.clone()) } else { self.board.claim(shard).map(|claim| claim.node) };
            let node = match node {
                Some(node) => {
                    self.said.insert(shard, (node.clone(), now));
                    Some(node)
                }
                None => {
                    let said = self.said.get(&shard).filter(|(_, at)| now.saturating_sub(*at) < SAYS_SO_WITHIN);
                    said.map(|(node, _)| node.clone())
                }
            };
            if let Some(node) = node {
                if let Some(load) = loads.get_mut(&node) {
                    *load += 1;
                }
                seats.has(shard, node);
            }
        }
        let room = TAKEN_AT_ONCE.saturating_sub(taking.len());
        let mut wanted = seats.to_take(&own, self.board.all(), &staying);
        wanted.retain(|shard| !taking.contains(shard));
        wanted.truncate(room);
        let is_settled = wanted.is_empty() && taking.is_empty() && seats.are_taken(self.board.all());
        let rests = |shard: u32| self.rests.get(&shard).is_some_and(|(_, since)| now.saturating_sub(*since) >= RESTS);
        let pairs = self.board.pairs();
        let may_move = |shard: u32| pairs.other(shard).is_none_or(rests);
        let is_due = self.moved.is_none_or(|moved| now.saturating_sub(moved) >= MOVES_EACH);
        if is_settled && is_due {
            let mut parted = seats.to_part(&own, &staying);
            parted.retain(|copy| may_move(*copy));
            parted.truncate(room);
            if !parted.is_empty() {
                self.moved = Some(now);
                return parted;
            }
        }
        if is_settled
            && is_due
            && let Some(shard) = seats.to_even_out(&own, &loads, may_move)
        {
            self.moved = Some(now);
            wanted.push(shard);
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use shared::twin::Memory;

    use super::*;
    use crate::{
        seats::seat_of,
        testing::{board, empty_shard},
    };

    type Running = (Node, Arc<Board>, Arc<AtomicBool>);

    fn node(name: &str, shared: &Arc<Memory>) -> Running {
        let (board, leaving) = (board(name, 8, shared), Arc::new(AtomicBool::new(false)));
        (Node::new(board.clone(), shared.clone(), Beat::default(), leaving.clone()), board, leaving)
    }

    /// Lets nodes have turns for so many seconds; what they want they get at once, and whoever had it gives it up.
    fn run(nodes: &mut [Running], from: u64, seconds: u64, epoch: &mut u64) {
        for second in from..from + seconds {
            for index in 0..nodes.len() {
                let wanted = nodes[index].0.turn(Duration::from_secs(second), second as i64, &BTreeSet::new());
                for shard in wanted {
                    *epoch += 1;
                    nodes.iter().for_each(|(_, board, _)| board.closed(shard));
                    nodes[index].1.recorded(shard, *epoch);
                    nodes[index].1.opened(shard, empty_shard(*epoch));
                }
            }
        }
    }

    #[test]
    fn nodes_share_the_shards_take_those_of_a_dead_one_and_even_out_when_one_joins() {
        let (shared, mut epoch) = (Arc::new(Memory::default()), 0);
        let mut nodes = vec![node("a", &shared), node("b", &shared)];
        run(&mut nodes, 100, 40, &mut epoch);
        let counts =
            |nodes: &[Running]| -> Vec<usize> { nodes.iter().map(|(_, board, _)| board.open().len()).collect() };
        let even = |counts: &[usize]| counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1;
        assert_eq!(counts(&nodes).iter().sum::<usize>(), 9);
        assert!(even(&counts(&nodes)), "{:?}", counts(&nodes));
        // A third one joins, and gets as many as the others without any being free.
        nodes.push(node("c", &shared));
        run(&mut nodes, 140, 40, &mut epoch);
        assert_eq!(counts(&nodes), [3, 3, 3]);
        let before = epoch;
        run(&mut nodes, 180, 20, &mut epoch);
        assert_eq!(epoch, before, "what is even stays");
        // One dies: within seconds the others have all.
        nodes.remove(0);
        run(&mut nodes, 200, 8, &mut epoch); // five seconds of silence, and some turns
        assert_eq!(counts(&nodes).iter().sum::<usize>(), 9, "{:?}", counts(&nodes));
        // One leaves: the other takes all of it, and it takes none back.
        nodes[0].2.store(true, Relaxed);
        run(&mut nodes, 208, 8, &mut epoch);
        assert_eq!(counts(&nodes), [0, 9]);
    }

    #[test]
    fn a_shard_and_its_copy_are_kept_apart_and_none_moves_just_behind_the_other() {
        let shared = Arc::new(Memory::default());
        let twice = |name: &str| -> Running {
            let lists = (0..9).map(|_| crate::testing::NoList).collect();
            let nobody = Arc::new(crate::testing::Nobody);
            let board = crate::testing::board_of(name, 4, archive::Copies::Two, (lists, nobody), &shared);
            let leaving = Arc::new(AtomicBool::new(false));
            (Node::new(board.clone(), shared.clone(), Beat::default(), leaving.clone()), board, leaving)
        };
        let met = |nodes: &[Running]| {
            let has = |board: &Arc<Board>, shard: u32| board.records().contains_key(&shard);
            let of = |(_, board, _): &Running| (0..4).filter(|s| has(board, *s) && has(board, s + 5)).count();
            nodes.iter().map(of).sum::<usize>()
        };
        let (mut nodes, mut epoch) = (vec![twice("a"), twice("b")], 0);
        run(&mut nodes, 100, 40, &mut epoch);
        assert_eq!((met(&nodes), nodes.iter().map(|of| of.1.records().len()).sum::<usize>()), (0, 9));
        nodes.push(twice("c"));
        // Each second at most one of a pair has moved within the time that a new owner may have a gap.
        let mut moved: BTreeMap<u32, u64> = BTreeMap::new();
        for second in 140..200 {
            let before: Vec<_> = nodes.iter().map(|of| of.1.records()).collect();
            run(&mut nodes, second, 1, &mut epoch);
            assert_eq!(met(&nodes), 0, "in second {second}");
            for (of, before) in nodes.iter().zip(before) {
                for shard in of.1.records().into_keys().filter(|shard| !before.contains_key(shard)) {
                    let other = of.1.pairs().other(shard);
                    let rested = other.and_then(|other| moved.get(&other)).is_none_or(|at| second - at >= 10);
                    assert!(rested, "shard {shard} moves in second {second}, and {moved:?}");
                    moved.insert(shard, second);
                }
            }
        }
        assert!(moved.len() >= 3, "{moved:?}");
        // One dies: what it had goes apart from the others. Of two that are left one dies: the last has all, and gives copies away again.
        nodes.remove(0);
        run(&mut nodes, 200, 20, &mut epoch);
        assert_eq!((met(&nodes), nodes.iter().map(|of| of.1.records().len()).sum::<usize>()), (0, 9));
        nodes.remove(0);
        run(&mut nodes, 220, 20, &mut epoch);
        assert_eq!(met(&nodes), 4);
        nodes.push(twice("d"));
        run(&mut nodes, 240, 60, &mut epoch);
        assert_eq!(met(&nodes), 0);
    }

    #[test]
    fn what_another_node_takes_is_left_to_it_until_it_has_had_time_to_say_so() {
        let shared = Arc::new(Memory::default());
        let mut nodes = vec![node("a", &shared), node("b", &shared)];
        let mut epoch = 0;
        run(&mut nodes, 100, 40, &mut epoch);
        let had = nodes[0].1.records().keys().copied().collect::<Vec<_>>();
        let shard = *had.iter().find(|shard| seat_of(**shard, &["a".into(), "b".into()]).unwrap() == "a").unwrap();
        // b has sealed the journal, and opens its store, which takes long; a has learnt that it is replaced.
        nodes[0].1.closed(shard);
        let mut wanted_after = |second: u64| {
            let taking = BTreeSet::from([shard]);
            nodes[1].0.turn(Duration::from_secs(140 + second), 0, &taking);
            nodes[0].0.turn(Duration::from_secs(140 + second), 0, &BTreeSet::new())
        };
        for second in 0..14 {
            assert_eq!(wanted_after(second), Vec::<u32>::new(), "after {second} s");
        }
        assert_eq!(wanted_after(14), [shard], "nothing came of it");
    }

    #[test]
    fn a_clock_that_is_far_from_that_of_another_node_is_told_and_changes_nothing() {
        let shared = Arc::new(Memory::default());
        let (mut a, mut b) = (node("a", &shared), node("b", &shared));
        let mut turn = |second: u64, ahead: i64| {
            let clock = 1_800_000_000 + second as i64;
            b.0.turn(Duration::from_secs(second), clock + ahead, &BTreeSet::new());
            a.0.turn(Duration::from_secs(second), clock, &BTreeSet::new());
            let told: Vec<String> = a.1.problems().into_iter().filter(|of| of.contains("clock")).collect();
            (told, a.1.standing().iter().map(|of| of.state).collect::<Vec<_>>())
        };
        let live = vec![archive::NodeState::Lives; 2];
        assert_eq!(turn(1, 20), (vec![], live.clone()));
        let (told, standing) = turn(2, 86_400);
        assert_eq!(standing, live);
        assert!(told.len() == 1 && told[0].starts_with("the clock of node b is 86400 s ahead of this"), "{told:?}");
        let (told, standing) = turn(3, -86_400);
        assert_eq!(standing, live);
        assert!(told.len() == 1 && told[0].contains("86400 s behind this node's"), "{told:?}");
        assert_eq!(turn(4, 0), (vec![], live));
    }

    #[test]
    fn why_a_shard_fails_here_is_told_until_it_does_not_or_another_node_has_it() {
        let shared = Arc::new(Memory::default());
        let (mut a, mut b) = (node("a", &shared), node("b", &shared));
        assert!(a.1.fails(3, "cannot be taken here: its journal is damaged"));
        assert!(!a.1.fails(3, "cannot be taken here: its journal is damaged"), "that is known");
        assert!(a.1.problems().contains(&"shard 3 cannot be taken here: its journal is damaged".to_owned()));
        b.1.recorded(3, 7);
        b.0.turn(Duration::from_secs(1), 0, &BTreeSet::new());
        a.0.turn(Duration::from_secs(1), 0, &BTreeSet::new());
        assert_eq!(a.1.problems(), Vec::<String>::new());
        a.1.fails(4, "is recorded here, but not answered yet: a piece is missing");
        assert_eq!(a.1.problems().len(), 1);
        a.1.opened(4, empty_shard(9));
        assert_eq!(a.1.problems(), Vec::<String>::new());
    }
}

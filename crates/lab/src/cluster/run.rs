//! A cluster at work, second by second: every shard commits and flushes, nodes say that they live, and some of them die.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use super::{
    costs::{Cost, Costs, PIECE},
    machines::{Machine, Nanos, Queues, nanos},
    takeover::Takeover,
};
use crate::measure::percentile;

/// Everything is written to so many of the servers, and so many must have it.
const COPIES: usize = 3;
const QUORUM: usize = 2;
/// Round trips of a transaction beyond that of a plain write: prepare, read, propose.
const PAXOS_TRIPS: f64 = 3.0;
/// Nodes are silent for so long before others take what they had.
const SILENCE: f64 = 5.0;
/// So many shards a node opens at a time.
const OPENED_AT_ONCE: usize = 4;
/// Rows that are read to find the end of a journal by doubling and halving.
const ROWS_TO_THE_END: usize = 12;
/// Bytes of the head of a shard; when it is full it is flushed.
const HEAD: f64 = (16 << 20) as f64;
/// Bytes of a sample in blocks, and what three levels of merges write of it later on (`pvark-lab figures`: ingest, merges).
const BLOCK_BYTES: f64 = 6.8;
const MERGED_BYTES: f64 = 12.0;
/// Seconds of processor to find a PV and connect to it (`pvark-lab clients --count 20000`: 0.127 s until all had their first value).
const CONNECT: f64 = 6.4e-6;
/// Recording is done so often, in this model.
const TICK: f64 = 0.1;

/// A cluster and its load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub(super) nodes: usize,
    pub(super) servers: usize,
    pub(super) shards: usize,
    pub(super) pvs: f64,
    /// A second, of all PVs.
    pub(super) updates: f64,
    pub(super) node: Machine,
    pub(super) server: Machine,
    /// Seconds.
    pub(super) round_trip: f64,
    pub(super) costs: Costs,
    pub(super) takeover: Takeover,
}

/// Which nodes die in the middle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outage {
    One,
    Quarter,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Seconds from when a sample was appended until it was durable, at most, half and 99 % of the commits.
    pub(super) commit_p50: f64,
    pub(super) commit_p99: f64,
    /// Seconds from the death of a node until the last of its PVs was recorded again.
    pub(super) takeover_longest: f64,
    /// And until all that was committed could be read.
    replayed: f64,
}

impl Seen {
    pub(super) fn in_words(self) -> String {
        let Seen { commit_p50, commit_p99, takeover_longest, replayed } = self;
        format!(
            "durable after {commit_p50:.2} s, 99 % within {commit_p99:.2} s; all recorded again after {takeover_longest:.1} s, all readable after {replayed:.1} s"
        )
    }
}

impl Outage {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Outage::One => "a node dies",
            Outage::Quarter => "a quarter of the nodes die at once",
        }
    }

    fn dead(self, nodes: usize) -> usize {
        match self {
            Outage::One => 1,
            Outage::Quarter => (nodes / 4).max(1),
        }
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Record,
    Beat(usize),
    Commit(usize),
    Flush(usize),
    Death,
    Take {
        node: usize,
        shard: usize,
    },
    /// The next step of a piece of work.
    Step(usize),
}

/// Something that a node does step by step, each when the one before is done.
struct Work {
    node: usize,
    steps: VecDeque<Step>,
}

enum Step {
    /// A call, with so many round trips more than one.
    Call(Cost, f64),
    /// So many bytes, in pieces that go all at once.
    Put(f64),
    Get(f64),
    /// Seconds of the processor.
    Compute(f64),
    Beaten,
    /// What was appended to the shard between two times.
    Committed {
        shard: usize,
        from: Nanos,
        until: Nanos,
    },
    Recording(usize),
    Replayed,
}

impl Cluster {
    /// The same with so many times the updates.
    pub(super) fn at_load(&self, times: f64) -> Cluster {
        Cluster { updates: times * self.updates, ..*self }
    }

    pub(super) fn in_words(&self) -> String {
        let Cluster { nodes, servers, shards, pvs, updates, .. } = self;
        format!("{nodes} nodes, {servers} of the database, {shards} shards: {pvs} PVs, {updates:.0} updates/s")
    }

    fn shard_updates(&self) -> f64 {
        self.updates / self.shards as f64
    }

    /// Seconds until the head of a shard is full.
    fn flush_every(&self) -> f64 {
        (HEAD / (self.shard_updates() * self.costs.head_bytes)).min(3600.0)
    }

    /// Every resource, and the share of it that is taken while nothing happens but recording.
    pub(super) fn limits(&self) -> Vec<(&'static str, f64)> {
        let Cluster { costs, nodes, servers, shards, .. } = self;
        let (nodes, servers, shards) = (*nodes as f64, *servers as f64, *shards as f64);
        let log = costs.put(self.shard_updates() * costs.log_bytes);
        let block_bytes = self.updates * (BLOCK_BYTES + MERGED_BYTES);
        let pieces = block_bytes / PIECE;
        let calls: [(Cost, f64); 5] = [
            (costs.create, shards + shards / self.flush_every()),
            (log, shards),
            (costs.put(PIECE), pieces),
            (costs.beat, nodes),
            (costs.beats_of(self.nodes), nodes),
        ];
        let all = |of: fn(&Cost) -> f64| calls.iter().map(|(cost, rate)| of(cost) * rate).sum::<f64>();
        let copied = all(|cost| cost.bytes);
        vec![
            (
                "processors of the nodes",
                (all(|cost| cost.caller) + self.updates * costs.update) / (nodes * self.node.cores as f64),
            ),
            ("threads that write into stores", self.shard_updates() * costs.writer_update),
            (
                "disks of the nodes",
                self.updates * (costs.log_bytes + BLOCK_BYTES + MERGED_BYTES) / (nodes * self.node.disk),
            ),
            ("network of the nodes", (copied + self.updates * 32.0) / (nodes * self.node.link)),
            ("processors of the database", all(|cost| cost.servers) / (servers * self.server.cores as f64)),
            ("network of the database", copied * COPIES as f64 / (servers * self.server.link)),
            ("disks of the database", all(|cost| cost.written) / (servers * self.server.disk)),
        ]
    }

    /// Lets it work for some seconds, kills nodes, and lets it work as long again and until all is taken over.
    pub(super) fn simulate(&self, times: f64, outage: Outage, seconds: f64) -> Seen {
        let mut at_work = AtWork::new(self.at_load(times), outage, seconds);
        while let Some(Reverse((now, event))) = at_work.events.pop() {
            if now > at_work.end {
                break;
            }
            at_work.happens(now, event);
        }
        at_work.seen()
    }
}

struct AtWork {
    cluster: Cluster,
    outage: Outage,
    nodes: Vec<Queues>,
    servers: Vec<Queues>,
    events: BinaryHeap<Reverse<(Nanos, Event)>>,
    works: Vec<Work>,
    /// Who has which shard, and since when what is appended there is not committed.
    owners: Vec<Option<usize>>,
    since: Vec<Nanos>,
    died: Nanos,
    end: Nanos,
    calls: usize,
    commits: Vec<f64>,
    taken: Vec<f64>,
    replayed: Vec<f64>,
}

impl AtWork {
    fn new(cluster: Cluster, outage: Outage, seconds: f64) -> AtWork {
        let mut events = BinaryHeap::new();
        // Spread over a second and over the time between two flushes, as shards that were opened one after another are.
        let spread = |number: usize, of: usize, seconds: f64| nanos(seconds * number as f64 / of as f64);
        for shard in 0..cluster.shards {
            events.push(Reverse((spread(shard, cluster.shards, 1.0), Event::Commit(shard))));
            events.push(Reverse((spread(shard, cluster.shards, cluster.flush_every()), Event::Flush(shard))));
        }
        for node in 0..cluster.nodes {
            events.push(Reverse((spread(node, cluster.nodes, 1.0), Event::Beat(node))));
        }
        events.push(Reverse((0, Event::Record)));
        events.push(Reverse((nanos(seconds), Event::Death)));
        AtWork {
            outage,
            nodes: vec![Queues::new(cluster.node); cluster.nodes],
            servers: vec![Queues::new(cluster.server); cluster.servers],
            events,
            works: Vec::new(),
            owners: (0..cluster.shards).map(|shard| Some(shard % cluster.nodes)).collect(),
            since: vec![0; cluster.shards],
            died: nanos(seconds),
            end: nanos(2.0 * seconds + 3.0 * SILENCE),
            calls: 0,
            commits: Vec::new(),
            taken: Vec::new(),
            replayed: Vec::new(),
            cluster,
        }
    }

    fn at(&mut self, time: Nanos, event: Event) {
        self.events.push(Reverse((time, event)));
    }

    fn lives(&self, node: usize, now: Nanos) -> bool {
        now < self.died || node >= self.outage.dead(self.cluster.nodes)
    }

    fn happens(&mut self, now: Nanos, event: Event) {
        let Cluster { costs, nodes, .. } = self.cluster;
        match event {
            Event::Record => {
                let processors = (nodes * self.cluster.node.cores) as f64;
                let share = self.cluster.updates * costs.update / processors;
                self.nodes.iter_mut().for_each(|node| node.is_busy_with(now, share, TICK));
                self.at(now + nanos(TICK), Event::Record);
            }
            Event::Beat(node) => {
                self.at(now + nanos(1.0), Event::Beat(node));
                let steps = [Step::Call(costs.beat, 0.0), Step::Call(costs.beats_of(nodes), 0.0), Step::Beaten];
                self.begin(now, node, steps);
            }
            Event::Commit(shard) => self.commit(now, shard),
            Event::Flush(shard) => self.flush(now, shard),
            Event::Death => self.die(now),
            Event::Take { node, shard } => self.take(now, node, shard),
            Event::Step(work) => self.step(now, work),
        }
    }

    fn begin(&mut self, now: Nanos, node: usize, steps: impl IntoIterator<Item = Step>) {
        self.works.push(Work { node, steps: steps.into_iter().collect() });
        self.at(now, Event::Step(self.works.len() - 1));
    }

    fn step(&mut self, now: Nanos, number: usize) {
        let work = &mut self.works[number];
        let (node, Some(step)) = (work.node, work.steps.pop_front()) else { return };
        if !self.lives(node, now) {
            return;
        }
        let seconds = |from: Nanos| (now - from) as f64 / 1e9;
        let done = match step {
            Step::Call(cost, trips) => self.call(now, node, cost, trips),
            Step::Put(bytes) => {
                let pieces = (bytes / PIECE).ceil().max(1.0);
                self.calls_of(now, node, self.cluster.costs.put(bytes / pieces), pieces)
            }
            Step::Get(bytes) => {
                let (whole, pieces) = (self.cluster.costs.get, (bytes / PIECE).ceil().max(1.0));
                self.calls_of(now, node, Cost { bytes: bytes / pieces, ..whole }, pieces)
            }
            Step::Compute(seconds) => self.nodes[node].works(now, 0.0, seconds),
            Step::Beaten => now,
            Step::Committed { shard, from, until } => {
                self.commits.push(seconds(from));
                self.at(now.max(until + nanos(1.0)), Event::Commit(shard));
                now
            }
            Step::Recording(shard) => {
                self.taken.push(seconds(self.died));
                (self.owners[shard], self.since[shard]) = (Some(node), now);
                self.at(now + nanos(1.0), Event::Commit(shard));
                now
            }
            Step::Replayed => {
                self.replayed.push(seconds(self.died));
                now
            }
        };
        self.at(done, Event::Step(number));
    }

    /// A call of a node, done when a quorum has answered.
    fn call(&mut self, now: Nanos, node: usize, cost: Cost, trips: f64) -> Nanos {
        let servers = self.cluster.servers;
        let copies = COPIES.min(servers);
        let sent = self.nodes[node].works(now, cost.bytes, cost.caller) + nanos(self.cluster.round_trip / 2.0);
        self.calls += 1;
        // Which servers have it is as good as random; a prime spreads them evenly.
        let first = self.calls.wrapping_mul(7919) % servers;
        let mut answers: Vec<Nanos> = (0..copies)
            .map(|copy| {
                let server = &mut self.servers[(first + copy) % servers];
                let done = server.works(sent, cost.bytes, cost.servers / copies as f64);
                if cost.written > 0.0 {
                    server.writes(done, cost.written / copies as f64);
                }
                done
            })
            .collect();
        answers.sort_unstable();
        answers[QUORUM.min(copies) - 1] + nanos(self.cluster.round_trip * (0.5 + trips))
    }

    fn calls_of(&mut self, now: Nanos, node: usize, cost: Cost, count: f64) -> Nanos {
        (0..count as usize).map(|_| self.call(now, node, cost, 0.0)).max().unwrap_or(now)
    }

    fn create(&self) -> Step {
        Step::Call(self.cluster.costs.create, PAXOS_TRIPS)
    }

    fn commit(&mut self, now: Nanos, shard: usize) {
        let Some(node) = self.owners[shard] else { return };
        let from = std::mem::replace(&mut self.since[shard], now);
        let appended = (now - from) as f64 / 1e9 * self.cluster.shard_updates();
        let put = Step::Put((appended * self.cluster.costs.log_bytes).max(1.0));
        let steps = [put, self.create(), Step::Committed { shard, from, until: now }];
        self.begin(now, node, steps);
    }

    fn flush(&mut self, now: Nanos, shard: usize) {
        let every = nanos(self.cluster.flush_every());
        self.at(now + every, Event::Flush(shard));
        let Some(node) = self.owners[shard] else { return };
        let samples = HEAD / self.cluster.costs.head_bytes;
        let steps = [Step::Put(samples * BLOCK_BYTES), self.create(), Step::Put(samples * MERGED_BYTES), self.create()];
        self.begin(now, node, steps);
    }

    /// Everybody who lives hears of it when the silence is over, and each takes its share.
    fn die(&mut self, now: Nanos) {
        let (dead, nodes) = (self.outage.dead(self.cluster.nodes), self.cluster.nodes);
        let mut turn = 0;
        for shard in 0..self.cluster.shards {
            if self.owners[shard].is_some_and(|node| node < dead) {
                self.owners[shard] = None;
                let node = dead + turn % (nodes - dead);
                // Each looks once a second, and opens some at a time.
                let wave = turn / (nodes - dead) / OPENED_AT_ONCE;
                let looks = (node as f64 / nodes as f64) + wave as f64 * 0.1;
                self.at(now + nanos(SILENCE + looks), Event::Take { node, shard });
                turn += 1;
            }
        }
    }

    fn take(&mut self, now: Nanos, node: usize, shard: usize) {
        let Cluster { costs, takeover, .. } = self.cluster;
        let pvs = self.cluster.pvs / self.cluster.shards as f64;
        // Half a head on average is committed and in no block.
        let samples = HEAD / costs.head_bytes / 2.0;
        let row = || Step::Call(costs.row, PAXOS_TRIPS);
        let mut steps = vec![row(), Step::Call(costs.swap, PAXOS_TRIPS)];
        steps.extend((0..ROWS_TO_THE_END).map(|_| row()));
        steps.extend([
            self.create(),
            Step::Get(pvs * takeover.catalogue_bytes_pv),
            Step::Compute(pvs * takeover.opened_pv),
            Step::Compute(pvs * CONNECT),
            Step::Recording(shard),
            Step::Get(samples * costs.log_bytes),
            Step::Compute(samples * takeover.replayed_sample),
            Step::Put(samples * BLOCK_BYTES),
            self.create(),
            Step::Replayed,
        ]);
        self.begin(now, node, steps);
    }

    fn seen(mut self) -> Seen {
        let most = |times: &[f64]| {
            times
                .iter()
                .copied()
                .fold(f64::INFINITY, |most, time| if most.is_infinite() { time } else { most.max(time) })
        };
        Seen {
            commit_p50: percentile(&mut self.commits, 50),
            commit_p99: percentile(&mut self.commits, 99),
            takeover_longest: most(&self.taken),
            replayed: most(&self.replayed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(updates: f64) -> Cluster {
        Cluster {
            nodes: 4,
            servers: 3,
            shards: 16,
            pvs: 10_000.0,
            updates,
            node: Machine { cores: 2, link: 1.25e9, disk: f64::INFINITY },
            server: Machine { cores: 4, link: 1.25e9, disk: 5e8 },
            round_trip: 3e-4,
            costs: Costs::measured().unwrap(),
            takeover: Takeover { opened_pv: 1e-5, catalogue_bytes_pv: 300.0, replayed_sample: 1e-6 },
        }
    }

    #[test]
    fn a_small_load_commits_every_second_and_what_is_lost_comes_back_when_the_silence_is_over() {
        let seen = cluster(10_000.0).simulate(1.0, Outage::One, 20.0);
        assert!(seen.commit_p50 > 0.9 && seen.commit_p99 < 1.5, "{seen:?}");
        assert!(seen.takeover_longest > SILENCE && seen.takeover_longest < 8.0, "{seen:?}");
    }

    #[test]
    fn more_than_the_processors_of_the_database_can_do_is_seen_as_late_commits() {
        let cluster = cluster(10_000.0);
        let (busiest, share) =
            cluster.at_load(1000.0).limits().into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
        assert!(share > 1.0, "{busiest}: {share}");
        let seen = cluster.simulate(1000.0, Outage::One, 20.0);
        assert!(seen.commit_p99 > 2.0, "{seen:?}");
        let none = cluster.simulate(0.01, Outage::Quarter, 20.0);
        assert!(none.commit_p99 < 1.5 && none.takeover_longest.is_finite(), "{none:?}");
    }
}

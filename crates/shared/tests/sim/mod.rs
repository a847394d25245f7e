//! A cluster of three nodes and one shard in one process: the nodes take turns call by call, and an oracle knows what they recorded.

mod disk;
mod node;
mod oracle;
mod unsealed;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use shared::{
    Shard, Shared,
    twin::{FaultRates, Memory, Net, Pauses, Seed, Turns},
};

pub(crate) use oracle::Counts;
use {
    node::Node,
    oracle::{Oracle, Violation},
    unsealed::Unsealed,
};

const NODES: usize = 3;

/// Whether takers seal the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fencing {
    Sealed,
    SealLeftOut,
}

/// What all nodes of a schedule share.
pub(crate) struct World {
    pub(crate) shard: Shard,
    pub(crate) memory: Arc<Memory>,
    pub(crate) net: Arc<Net>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) unsealed: Option<Arc<Unsealed>>,
    oracle: Mutex<Oracle>,
}

impl World {
    pub(crate) fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A store as nodes see it, by a link of their own.
    pub(crate) fn seen_through(&self, link: Arc<dyn Shared>) -> Arc<dyn Shared> {
        match &self.unsealed {
            Some(unsealed) => Arc::new(unsealed.over(link)),
            None => link,
        }
    }
}

/// One schedule from beginning to end.
pub(crate) fn schedule(seed: u64, fencing: Fencing) -> Result<Counts, Violation> {
    let mut seeds = Seed::new(seed);
    let mut fork = || Seed::new(seeds.number());
    let memory = Arc::new(Memory::default());
    let pauses = Pauses { switches: 150, sleeps: 12, sleep_len: 150 };
    let world = World {
        shard: Shard::new(17, 'a').expect("a shard"),
        net: Net::new(memory.clone()),
        memory,
        turns: Turns::new(NODES, fork(), pauses),
        unsealed: (fencing == Fencing::SealLeftOut).then(Arc::default),
        oracle: Mutex::default(),
    };
    let mut nodes: Vec<Node> = (0..NODES).map(|number| Node::new(number, &world, fork())).collect();
    let results: Vec<Result<(), Violation>> = thread::scope(|scope| {
        let running: Vec<_> = nodes.iter_mut().map(|node| scope.spawn(|| node.run(&world))).collect();
        running.into_iter().map(|node| node.join().expect("a node")).collect()
    });
    results.into_iter().collect::<Result<(), _>>()?;

    // Then everything that was under way arrives, faults end, and one more node takes the shard and all that the others still have.
    world.net.land().map_err(|error| error.to_string())?;
    let mut last = Node::new(NODES, &world, fork());
    last.begin_with(&world, FaultRates::default());
    last.finish(&world, &nodes)?;
    let oracle = world.oracle();
    Ok(oracle.counts.clone())
}

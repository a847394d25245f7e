//! The seam to nodes that record together: how each stands, and what an operator may order of them.

use std::{fmt, time::Duration};

use crate::{By, DirectoryError, Room, Watermark};

/// The nodes of a cluster.
pub trait Nodes: Send + Sync {
    /// How they stand, as the asked node sees it. It waits for nothing.
    fn standing(&self) -> ClusterStanding;

    /// Gives an order, which stands in the audit before it is carried out. A shard that is to move does so within seconds, behind the answer.
    fn order(&self, order: &NodeOrder, by: &By) -> Result<(), DirectoryError>;
}

/// How a cluster stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStanding {
    /// The node that says so.
    pub node: String,
    /// How many shards of PVs there are. One more is the site, which has what belongs to no PV; its number is this one.
    pub shards: u32,
    /// How many of the shards have a copy, whose number is so much higher: by the number of shards and one. All of them, or none.
    pub copies: u32,
    /// The format in which nodes write what they share.
    pub format: u32,
    /// What went between this node and the store that they share, since it began.
    pub shared: SharedUse,
    /// The nodes that were heard of, by name.
    pub nodes: Vec<NodeStanding>,
}

/// What a node has to do with the store that all share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedUse {
    /// Bytes that it has sent there.
    pub written: u64,
    /// Bytes that came from there.
    pub read: u64,
    /// Bytes of segments that lie on its own disk, too, as they were read once.
    pub kept: u64,
    /// Reads of segments that were answered by what lies there.
    pub found: u64,
    /// Pieces of segments that came from the store, as they did not lie there.
    pub fetched: u64,
}

/// How a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStanding {
    /// Its name.
    pub name: String,
    /// Whether it lives.
    pub state: NodeState,
    /// Where other nodes reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// The newest format that this program reads.
    pub format: u32,
    /// The shards that it has.
    pub shards: Vec<u32>,
    /// What it said of itself last; none if it has not been asked, or does not answer.
    pub figures: Option<NodeFigures>,
}

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFigures {
    /// How long ago.
    pub age: Duration,
    /// Its PVs by where they stand: searching, connected, disconnected, paused.
    pub pvs: [u64; 4],
    /// Samples that it lost since its start, for whatever reason.
    pub lost: u64,
    /// Samples ever appended to its shards, and those of them that are safe.
    pub watermark: Watermark,
    /// Bytes in its logs.
    pub log_bytes: u64,
    /// The room on its disk; none while that is not known.
    pub room: Option<Room>,
    /// Why it takes no samples; none while it does.
    pub refusal: Option<String>,
    /// How many problems it tells of.
    pub problems: u64,
    /// Its shards.
    pub shards: Vec<ShardLag>,
    /// Where people open its page, if it was told.
    pub page: Option<String>,
}

impl NodeFigures {
    /// For how long the shared store has given it no answer; none while it does.
    pub fn detached_seconds(&self) -> Option<u64> {
        self.shards.iter().filter_map(|shard| shard.detached_seconds).max()
    }

    /// Samples that no journal has.
    pub fn samples_waiting(&self) -> u64 {
        self.shards.iter().map(|shard| shard.samples).sum()
    }
}

/// Whether a node lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It does.
    Lives,
    /// It does, and is to have no shards.
    Leaves,
    /// Nothing is heard of it, and it did not say that it would end.
    Silent,
    /// It has ended, and gave up what it had.
    Stopped,
}

impl NodeState {
    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            NodeState::Lives => "lives",
            NodeState::Leaves => "leaves",
            NodeState::Silent => "silent",
            NodeState::Stopped => "stopped",
        }
    }

    /// Whether the node can be asked.
    pub fn is_alive(self) -> bool {
        matches!(self, NodeState::Lives | NodeState::Leaves)
    }
}

/// What an operator orders of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeOrder {
    /// A node takes a shard, whoever has it.
    Move {
        /// Which.
        shard: u32,
        /// The node.
        to: String,
    },
    /// A node is to have no shards: the others take them.
    Drain(String),
    /// A node that was drained has its share again.
    Join(String),
    /// A node that is gone for good is no longer reckoned with.
    Forget(String),
    /// What nodes share is written in the newest format that all of them read.
    Raise,
}

/// As the audit keeps it.
impl fmt::Display for NodeOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeOrder::Move { shard, to } => write!(f, "move shard {shard} to {to}"),
            NodeOrder::Drain(node) => write!(f, "drain {node}"),
            NodeOrder::Join(node) => write!(f, "join {node}"),
            NodeOrder::Forget(node) => write!(f, "forget {node}"),
            NodeOrder::Raise => f.write_str("raise the format"),
        }
    }
}

/// How far the journal of a shard is behind what is recorded of it here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardLag {
    /// Which.
    pub shard: u32,
    /// In which epoch it is recorded here.
    pub epoch: u64,
    /// Rows that this epoch has added to the journal.
    pub rows: u64,
    /// Samples that are recorded here, and that the journal does not have.
    pub samples: u64,
    /// Changes of the catalogue that it does not have.
    pub changes: u64,
    /// For how many seconds the shared store has given no answer; none while it does.
    pub detached_seconds: Option<u64>,
}

//! What a node gives its board: the shards that it has open, the lists of others, and the way to other nodes.

use std::{fmt, sync::Arc};

use archive::{Curator, Directory, Orders, PvId, Record, Rulebook, Source, SourceError, Standing, Storage, Tokens};
use shared::Part;

/// A shard that is open here: an archive like that of one machine, whose PVs have the numbers of the shard.
pub struct Open {
    /// In which epoch.
    pub epoch: u64,
    /// Its list of PVs.
    pub directory: Arc<dyn Directory>,
    /// Its samples.
    pub source: Arc<dyn Source>,
    /// How it is doing.
    pub storage: Arc<dyn Storage>,
    /// Changes of its list of which acquisition need not know.
    pub curator: Arc<dyn Curator>,
    /// Orders about its PVs.
    pub orders: Arc<dyn Orders>,
    /// By which rules they are archived.
    pub rulebook: Arc<dyn Rulebook>,
    /// How they fare.
    pub standing: Arc<dyn Standing>,
    /// The tokens that it keeps.
    pub tokens: Arc<dyn Tokens>,
    /// Takes what a node holds of an epoch that has ended; true when none of it needs to be held any more.
    pub parts: Arc<dyn Parts>,
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "open in epoch {}", self.epoch)
    }
}

/// Frames that somebody holds of an epoch.
pub trait Held: Send + Sync {
    /// The number of the first frame of the file that has this one.
    fn beginning_of(&self, frame: u64) -> std::io::Result<u64>;
    /// Frames from one on and below another, as they lie in one file.
    fn read(&self, from: u64, below: u64, max: usize) -> std::io::Result<Option<shared::LogRun>>;
}

/// Takes what is handed over.
pub trait Parts: Send + Sync {
    /// Takes a part, as far as it is due.
    fn take(&self, part: &Part, held: &dyn Held) -> Result<bool, String>;
}

/// The list of PVs of a shard as its journal tells it to whoever does not own it.
pub trait Follows: fmt::Debug + Send + Sync {
    /// The list, as far as it is known.
    fn list(&self) -> &dyn Directory;
    /// Takes what the journal has by now.
    fn catch_up(&self) -> Result<(), String>;
}

/// What another node is sent of an import. Dropped before its answer was asked for, nothing of it counts.
pub trait Share: Send {
    /// Sends something of a PV, by its number in the cluster.
    fn put(&mut self, pv: PvId, record: &Record) -> Result<(), SourceError>;
    /// Says that this was all, and what the part is called.
    fn end(&mut self, part: &str) -> Result<(), SourceError>;
    /// What the node answers, in the bytes of the cluster.
    fn answer(self: Box<Self>) -> Result<Vec<u8>, SourceError>;
}

/// The other nodes.
pub trait Peers: fmt::Debug + Send + Sync {
    /// Asks the node of that name in the bytes of the cluster. An order is sent once at most.
    fn ask(&self, node: &str, question: Vec<u8>, is_order: bool) -> Result<Vec<u8>, SourceError>;
    /// What it recorded, by the numbers of the cluster; none if nobody knows where it is.
    fn source(&self, node: &str) -> Option<Arc<dyn Source>>;
    /// Begins to send the node of that name its share of an import, behind a question of the cluster.
    fn share(&self, node: &str, question: Vec<u8>) -> Result<Box<dyn Share>, SourceError>;
    /// These nodes live, and are reached there.
    fn know(&self, nodes: &[(String, String)]);
}

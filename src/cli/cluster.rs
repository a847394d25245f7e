//! What is asked of a cluster, and ordered of its nodes.

use clap::{Args, Subcommand};

use super::server::Server;

#[derive(Args, Debug)]
pub(crate) struct Cluster {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(subcommand)]
    pub(crate) order: ClusterOrder,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterOrder {
    /// List the nodes, how they stand, and which shards each has
    Status,
    /// Let a node take a shard, whoever has it; nothing is lost in between
    Move {
        /// The number of the shard
        shard: u32,
        /// The name of the node
        node: String,
    },
    /// Let a node have no shards: the others take them
    Drain {
        /// The name of the node
        node: String,
    },
    /// Let a node that was drained have its share again
    Join {
        /// The name of the node
        node: String,
    },
    /// Reckon no longer with a node that is gone for good
    Forget {
        /// The name of the node
        node: String,
    },
    /// Write what nodes share in the newest format that all of them read, when the last one is updated
    Raise,
}

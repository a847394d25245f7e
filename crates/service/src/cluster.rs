//! A cluster: how its nodes stand, and orders to them. An archiver that records alone has none.

use archive::{ClusterStanding, Fault, NodeOrder, Nodes, Right};

use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

impl Ask {
    /// How the nodes stand. They are told to those who may see all PVs: whose shards they are, these may be of any.
    pub fn cluster(&self) -> Result<ClusterStanding, Refusal> {
        self.needs_all(Right::Read)?;
        Ok(self.nodes()?.standing())
    }

    /// How the cluster stands, for the metrics; none without a cluster.
    pub fn cluster_if_any(&self) -> Option<ClusterStanding> {
        Some(self.listed().behind.nodes.as_ref()?.standing())
    }

    /// Gives an order to nodes, which stands in the audit.
    pub fn order_nodes(&self, order: &NodeOrder) -> Result<(), Refusal> {
        self.needs_all(Right::Administer)?;
        self.nodes()?.order(order, &self.by()).map_err(|error| match error.fault {
            Fault::NothingThere => Refusal::new(Code::UnknownUrl, error.message).hint("GET /api/v1/cluster lists them"),
            _ => error.into(),
        })
    }

    fn nodes(&self) -> Result<&dyn Nodes, Refusal> {
        self.listed().behind.nodes.as_deref().ok_or_else(|| {
            Refusal::new(Code::Conflict, "this archiver records alone: it is no node of a cluster")
                .hint("docs/cluster.md says what makes it one")
        })
    }
}

//! Where the cluster is, and how it is reached.

use std::{fmt, sync::Arc, time::Duration};

use scylla::{
    client::{execution_profile::ExecutionProfile, session_builder::SessionBuilder},
    policies::{retry::FallthroughRetryPolicy, speculative_execution::SimpleSpeculativeExecutionPolicy},
    statement::{Consistency, SerialConsistency},
};

use crate::tls::Tls;

/// Where the cluster is, and how it is reached.
#[derive(Clone)]
pub struct Config {
    /// Some of its nodes, as `host:9042`; they tell of the others.
    pub nodes: Vec<String>,
    /// The keyspace, which is made if it is not there.
    pub keyspace: String,
    /// On how many nodes of each data centre everything lies, if the keyspace is to be made.
    pub replication: u32,
    /// Whether it is accepted that its nodes acknowledge what is not on their disks yet; else that is a caveat.
    pub accepts_unsynced: bool,
    /// Who asks, and a password; none where everybody may.
    pub user: Option<(String, String)>,
    /// By which TLS; none where connections are plain.
    pub tls: Option<Tls>,
    /// How long an answer is waited for. Then the outcome of the call is unknown.
    pub timeout: Duration,
}

/// Without the password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keyspace {} at {}", self.keyspace, self.nodes.join(", "))
    }
}

impl Config {
    /// How a session is made; or what is wrong with the files of TLS.
    pub(crate) fn session(&self) -> Result<SessionBuilder, String> {
        // One try: what is done about one that failed is said in one place for all back ends, `shared::settle`. The next try goes to
        // another node, as the driver takes them in turn.
        // What may be done twice is sent to a second node as well where the first one says nothing: one that is cut off, or that collects its
        // garbage, would cost each third beat, and nodes would be taken for dead by others.
        let second = SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval: self.timeout / 4 };
        let profile = ExecutionProfile::builder()
            .speculative_execution_policy(Some(Arc::new(second)))
            .consistency(Consistency::Quorum)
            .serial_consistency(Some(SerialConsistency::Serial))
            .request_timeout(Some(self.timeout))
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            .build();
        let builder = SessionBuilder::new()
            .known_nodes(&self.nodes)
            .connection_timeout(self.timeout)
            .default_execution_profile_handle(profile.into_handle())
            .tls_context(self.tls.as_ref().map(Tls::config).transpose()?);
        Ok(match &self.user {
            Some((user, password)) => builder.user(user, password),
            None => builder,
        })
    }
}

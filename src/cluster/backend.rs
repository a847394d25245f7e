//! The shared store of a cluster, as the config names it, if the program was built with it.

use std::{sync::Arc, time::Duration};

use shared::Shared;

#[cfg(any(feature = "s3", feature = "cql"))]
use super::apart::Apart;
use crate::{config::SharedConfig, failure::Failure};

/// How much time whoever asks the store has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// So long an answer is waited for.
    answer: Duration,
    /// So long a read that is not answered is made again.
    again: Duration,
}

/// A node says itself what it does next: others take its shards if it says nothing for long.
pub(super) const OF_A_NODE: Patience = Patience { answer: Duration::from_secs(2), again: Duration::ZERO };
/// A command has time.
pub(super) const OF_A_COMMAND: Patience = Patience { answer: Duration::from_secs(20), again: Duration::from_secs(60) };

/// Reaches the store.
#[cfg_attr(not(any(feature = "s3", feature = "cql")), expect(unused_variables, reason = "there is none"))]
pub(super) fn open(config: SharedConfig, patience: Patience) -> Result<Arc<dyn Shared>, Failure> {
    let Patience { answer: timeout, again } = patience;
    match config {
        #[cfg(feature = "s3")]
        SharedConfig::S3 { endpoint, region, bucket, folder, access_key, secret_key } => {
            let config = s3::Config { endpoint, region, bucket, folder, access_key, secret_key, timeout };
            Ok(Arc::new(Apart::new(s3::S3::open(config)?, again)))
        }
        #[cfg(feature = "cql")]
        SharedConfig::Cql { nodes, keyspace, replication, accepts_unsynced, user, tls } => {
            let tls = tls.map(|of| cql::Tls { authorities: of.authorities, name: of.name, client: of.client });
            let config = cql::Config { nodes, keyspace, replication, accepts_unsynced, user, tls, timeout };
            Ok(Arc::new(Apart::new(cql::Cql::open(config)?, again)))
        }
        #[cfg(not(feature = "s3"))]
        SharedConfig::S3 { .. } => Err(left_out("S3", "s3")),
        #[cfg(not(feature = "cql"))]
        SharedConfig::Cql { .. } => Err(left_out("CQL", "cql")),
    }
}

#[cfg(not(all(feature = "s3", feature = "cql")))]
fn left_out(what: &str, feature: &str) -> Failure {
    format!("this pvark was built without {what}; build it with: cargo build --release --features {feature}").into()
}

//! The shared store of a cluster, as the config names it, if the program was built with it.

use std::sync::Arc;

use shared::Shared;

#[cfg(any(feature = "s3", feature = "cql"))]
use super::apart::Apart;
use crate::{config::SharedConfig, failure::Failure};

/// How long an answer is waited for, before another try.
#[cfg(any(feature = "s3", feature = "cql"))]
const ANSWERED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

/// Reaches the store.
pub(super) fn open(config: SharedConfig) -> Result<Arc<dyn Shared>, Failure> {
    match config {
        #[cfg(feature = "s3")]
        SharedConfig::S3 { endpoint, region, bucket, folder, access_key, secret_key } => {
            let config =
                s3::Config { endpoint, region, bucket, folder, access_key, secret_key, timeout: ANSWERED_WITHIN };
            Ok(Arc::new(Apart::new(s3::S3::open(config)?)))
        }
        #[cfg(feature = "cql")]
        SharedConfig::Cql { nodes, keyspace, replication, user } => {
            let config = cql::Config { nodes, keyspace, replication, user, timeout: ANSWERED_WITHIN };
            Ok(Arc::new(Apart::new(cql::Cql::open(config)?)))
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

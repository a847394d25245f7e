//! The shared store of a cluster, as the config names it. Its calls wait for a network, wherever they are made.

use std::{ops::Range, sync::Arc};

use shared::{Created, Result, Seq, Shared, Swapped};
use tokio::runtime::Handle;

use crate::{config::SharedConfig, failure::Failure};

/// How long an answer is waited for, before another try.
#[cfg(any(feature = "s3", feature = "cql"))]
const ANSWERED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

/// Reaches the store.
pub(super) fn open(config: SharedConfig) -> std::result::Result<Arc<dyn Shared>, Failure> {
    match config {
        #[cfg(feature = "s3")]
        SharedConfig::S3 { endpoint, region, bucket, folder, access_key, secret_key } => {
            let config =
                s3::Config { endpoint, region, bucket, folder, access_key, secret_key, timeout: ANSWERED_WITHIN };
            Ok(Arc::new(Apart(s3::S3::open(config)?)))
        }
        #[cfg(feature = "cql")]
        SharedConfig::Cql { nodes, keyspace, replication, user } => {
            let config = cql::Config { nodes, keyspace, replication, user, timeout: ANSWERED_WITHIN };
            Ok(Arc::new(Apart(cql::Cql::open(config)?)))
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

/// A store whose calls may be made anywhere: a task of tokio must not wait for those of another runtime, so there they have a thread.
#[derive(Debug)]
struct Apart<S>(Arc<S>);

impl<S: Shared> Apart<S> {
    fn call<T: Send>(&self, call: impl FnOnce(&S) -> T + Send) -> T {
        if Handle::try_current().is_err() {
            return call(&self.0);
        }
        std::thread::scope(|scope| {
            let called = scope.spawn(|| call(&self.0)).join();
            called.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl<S: Shared> Shared for Apart<S> {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.call(|shared| shared.put(key, bytes))
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.call(|shared| shared.get(key, range))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.call(|shared| shared.len(key))
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.call(|shared| shared.remove(key))
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.call(|shared| shared.list(prefix, after, max))
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        self.call(|shared| shared.create(journal, seq, row))
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.call(|shared| shared.row(journal, seq))
    }

    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        self.call(|shared| shared.last(journal, known))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        self.call(|shared| shared.rows(journal, from, max))
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.call(|shared| shared.value(name))
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        self.call(|shared| shared.swap(name, old, new))
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        self.call(|shared| shared.beat(node, beat))
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.call(|shared| shared.beats())
    }
}

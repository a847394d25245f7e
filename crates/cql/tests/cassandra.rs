//! The shared store on a real cluster, which `tools/cassandra.sh up 3` starts and `PVARK_CQL` names. Without it this says so and passes over.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use cql::{Config, Cql};
use scylla::client::session_builder::SessionBuilder;
use shared::{Error, Shard, Shared, conformance};
use tokio::runtime::Builder;

/// The nodes in `PVARK_CQL="127.0.0.1:9042 127.0.0.2:9042 127.0.0.3:9042"`, and a keyspace of its own.
fn config(of: &str) -> Option<Config> {
    let named = std::env::var("PVARK_CQL").unwrap_or_default();
    let nodes: Vec<String> = named.split_whitespace().map(str::to_owned).collect();
    if nodes.is_empty() {
        eprintln!("skipped: PVARK_CQL does not name nodes of a cluster (tools/cassandra.sh up 3)");
        return None;
    }
    let run = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
    let replication = nodes.len().min(3) as u32;
    Some(Config {
        nodes,
        keyspace: format!("{of}_{run}"),
        replication,
        accepts_unsynced: false,
        user: None,
        tls: None,
        timeout: Duration::from_secs(20),
    })
}

#[test]
fn a_cql_cluster_keeps_every_promise_of_the_seam() {
    let Some(config) = config("conformance") else { return };
    let shared: Arc<dyn Shared> = Cql::open(config).expect("the cluster");
    assert_eq!(shared.caveats().expect("its settings"), Vec::<String>::new());
    conformance::all(&shared, "conformance/0");
    conformance::all(&shared, "conformance/1");
    conformance::ownership(&shared, &Shard::new(4, 'a').expect("a shard"));
}

#[test]
fn a_keyspace_of_something_else_is_refused_and_stays_as_it_is() {
    let Some(config) = config("foreign") else { return };
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let session = async { SessionBuilder::new().known_nodes(&config.nodes).build().await };
    let session = runtime.block_on(session).expect("the cluster");
    let send = |text: String| runtime.block_on(session.query_unpaged(text, ())).expect("it is right");
    let keyspace = &config.keyspace;
    send(format!(
        "CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}}"
    ));
    send(format!("CREATE TABLE {keyspace}.journal (day date PRIMARY KEY, title text)"));
    let error = Cql::open(config.clone()).expect_err("its journal is another");
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(error.to_string().contains("its tables are not those of this pvark"), "{error}");
    assert!(error.to_string().contains("name another `keyspace`"), "{error}");
    send(format!("SELECT day, title FROM {keyspace}.journal"));
}

#[test]
fn a_keyspace_that_cannot_be_is_refused_and_a_cluster_that_is_away_leaves_it_unknown() {
    let nodes = vec!["127.0.0.1:9".to_owned()];
    let away = Config {
        nodes,
        keyspace: "pvark".into(),
        replication: 1,
        accepts_unsynced: false,
        user: None,
        tls: None,
        timeout: Duration::from_secs(2),
    };
    let error = Cql::open(Config { keyspace: "x; DROP".into(), ..away.clone() }).expect_err("no such name");
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(Cql::open(away).expect_err("nobody listens there").is_unknown());
}

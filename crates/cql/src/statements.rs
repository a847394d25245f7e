//! The tables, and every statement that is ever sent, prepared once.

use std::time::Duration;

use scylla::{
    client::session::Session,
    errors::{ExecutionError, PrepareError},
    policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy},
    statement::{Consistency, Statement, prepared::PreparedStatement},
};

use crate::{config::Config, place::Table};

/// What is sent of one table of objects.
pub(crate) struct ObjectStatements {
    pub(crate) put: PreparedStatement,
    pub(crate) get: PreparedStatement,
    pub(crate) remove: PreparedStatement,
    pub(crate) partitions: PreparedStatement,
    pub(crate) pieces: PreparedStatement,
}

/// All that is sent.
pub(crate) struct Statements {
    pub(crate) create: PreparedStatement,
    pub(crate) row: PreparedStatement,
    pub(crate) rows: PreparedStatement,
    pub(crate) value: PreparedStatement,
    pub(crate) first_value: PreparedStatement,
    pub(crate) next_value: PreparedStatement,
    pub(crate) beat: PreparedStatement,
    pub(crate) forget: PreparedStatement,
    pub(crate) beats: PreparedStatement,
    log_body: ObjectStatements,
    young: ObjectStatements,
}

/// A change of the schema is waited for so long: every node of the cluster has to learn of it.
const MADE_WITHIN: Duration = Duration::from_secs(60);

/// Makes the keyspace and the tables that are not there. All who do that at the same moment do it by the same node of the cluster, which makes
/// one after the other: two that made one table each would not agree on which it is.
pub(crate) async fn make_tables(session: &Session, config: &Config) -> Result<(), ExecutionError> {
    let (keyspace, copies) = (&config.keyspace, config.replication);
    let objects = "(key text, part int, piece text, body blob, PRIMARY KEY ((key, part), piece))";
    let plain = "compression = {'enabled': false} AND compaction = {'class': 'SizeTieredCompactionStrategy'}";
    let statements = [
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.journal \
             (journal text, part bigint, seq bigint, row blob, PRIMARY KEY ((journal, part), seq))"
        ),
        format!("CREATE TABLE IF NOT EXISTS {keyspace}.name (name text PRIMARY KEY, value blob)"),
        format!("CREATE TABLE IF NOT EXISTS {keyspace}.node (name text PRIMARY KEY, beat blob)"),
        format!("CREATE TABLE IF NOT EXISTS {keyspace}.log_body {objects} WITH {plain} AND gc_grace_seconds = 10800"),
        format!("CREATE TABLE IF NOT EXISTS {keyspace}.young {objects} WITH {plain}"),
    ];
    let state = session.get_cluster_state();
    let first = state.get_nodes_info().iter().filter(|node| node.is_connected()).map(|node| node.host_id).min();
    for text in statements {
        let mut statement = Statement::new(text);
        statement.set_request_timeout(Some(MADE_WITHIN));
        let by = first.map(|host| SingleTargetLoadBalancingPolicy::new(NodeIdentifier::HostId(host), None));
        statement.set_load_balancing_policy(by);
        session.query_unpaged(statement, ()).await?;
    }
    session.await_schema_agreement().await?;
    Ok(())
}

impl Statements {
    pub(crate) async fn prepare(session: &Session, keyspace: &str) -> Result<Statements, PrepareError> {
        let plain = async |text: String| -> Result<PreparedStatement, PrepareError> {
            let mut prepared = session.prepare(Statement::new(text)).await?;
            prepared.set_is_idempotent(true);
            Ok(prepared)
        };
        let serial = async |text: String| -> Result<PreparedStatement, PrepareError> {
            let mut prepared = session.prepare(Statement::new(text)).await?;
            prepared.set_consistency(Consistency::Serial);
            Ok(prepared)
        };
        let transaction = async |text: String| Ok::<_, PrepareError>(session.prepare(Statement::new(text)).await?);
        let objects = async |table: &str| -> Result<ObjectStatements, PrepareError> {
            let of = format!("{keyspace}.{table}");
            let one = "WHERE key = ? AND part = ? AND piece = ?";
            Ok(ObjectStatements {
                put: plain(format!("INSERT INTO {of} (key, part, piece, body) VALUES (?, ?, ?, ?)")).await?,
                get: plain(format!("SELECT body FROM {of} {one}")).await?,
                remove: plain(format!("DELETE FROM {of} {one}")).await?,
                partitions: plain(format!("SELECT DISTINCT key, part FROM {of}")).await?,
                pieces: plain(format!("SELECT piece FROM {of} WHERE key = ? AND part = ?")).await?,
            })
        };
        let row = format!("FROM {keyspace}.journal WHERE journal = ? AND part = ?");
        let name = format!("{keyspace}.name");
        Ok(Statements {
            create: transaction(format!(
                "INSERT INTO {keyspace}.journal (journal, part, seq, row) VALUES (?, ?, ?, ?) IF NOT EXISTS"
            ))
            .await?,
            row: serial(format!("SELECT row {row} AND seq = ?")).await?,
            rows: serial(format!("SELECT seq, row {row} AND seq >= ? LIMIT ?")).await?,
            value: serial(format!("SELECT value FROM {name} WHERE name = ?")).await?,
            first_value: transaction(format!("INSERT INTO {name} (value, name) VALUES (?, ?) IF NOT EXISTS")).await?,
            next_value: transaction(format!("UPDATE {name} SET value = ? WHERE name = ? IF value = ?")).await?,
            beat: plain(format!("INSERT INTO {keyspace}.node (name, beat) VALUES (?, ?)")).await?,
            forget: plain(format!("DELETE FROM {keyspace}.node WHERE name = ?")).await?,
            beats: plain(format!("SELECT name, beat FROM {keyspace}.node")).await?,
            log_body: objects("log_body").await?,
            young: objects("young").await?,
        })
    }

    pub(crate) fn of(&self, table: Table) -> &ObjectStatements {
        match table {
            Table::LogBody => &self.log_body,
            Table::Young => &self.young,
        }
    }
}

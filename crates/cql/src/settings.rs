//! How the nodes of the database are set up, as they say themselves: whether what they acknowledge is on their disks.

use futures_util::future::join_all;
use scylla::{
    client::session::Session,
    policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy},
    statement::{Consistency, Statement},
};

/// Where a node tells of one of its settings: Cassandra, ScyllaDB.
const TOLD_BY: [&str; 2] = ["system_views.settings", "system.config"];

/// What a node acknowledges before it is on its disk; the other ways of Cassandra and ScyllaDB (`batch`, `group`) wait for that.
const PERIODIC: &str = "periodic";

/// What is to be said of the nodes that can be asked. Of one that cannot nothing is said: not all users may read settings.
pub(crate) async fn caveats(session: &Session) -> Vec<String> {
    let state = session.get_cluster_state();
    let nodes = state.get_nodes_info().iter().filter(|node| node.is_connected());
    // All at once: nodes that hang keep whoever asks no longer together than one of them would.
    let told = join_all(nodes.map(async |node| {
        let sync = commit_log_sync(session, NodeIdentifier::HostId(node.host_id)).await?;
        (sync == PERIODIC).then(|| node.address.to_string())
    }));
    let mut periodic: Vec<String> = told.await.into_iter().flatten().collect();
    periodic.sort();
    told_of(&periodic).into_iter().collect()
}

/// When a node syncs its commit log.
async fn commit_log_sync(session: &Session, node: NodeIdentifier) -> Option<String> {
    for table in TOLD_BY {
        let mut statement = Statement::new(format!("SELECT value FROM {table} WHERE name = 'commitlog_sync'"));
        statement.set_consistency(Consistency::One);
        statement.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(node.clone(), None)));
        let Ok(told) = session.query_unpaged(statement, ()).await else { continue };
        let row = told.into_rows_result().ok()?.maybe_first_row::<(Option<String>,)>().ok()?;
        return row.and_then(|(value,)| value).map(|value| value.trim_matches('"').to_owned());
    }
    None
}

fn told_of(periodic: &[String]) -> Option<String> {
    let nodes = match periodic {
        [] => return None,
        [node] => format!("the node {node} of the database acknowledges"),
        nodes => format!("the nodes {} of the database acknowledge", nodes.join(", ")),
    };
    Some(format!(
        "{nodes} what is not on a disk yet (commitlog_sync: {PERIODIC}): if most copies lose power or are killed at once, what was durable is \
         lost. Say commitlog_sync: group in cassandra.yaml, or batch where there is no group, and start the nodes anew one by one; or accept \
         it, with accept_unsynced = true in [cluster.shared.cql]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_acknowledge_too_early_are_named_in_one_sentence() {
        assert_eq!(told_of(&[]), None);
        let one = told_of(&["10.0.0.1:9042".to_owned()]).unwrap();
        assert!(one.starts_with("the node 10.0.0.1:9042 of the database acknowledges what"), "{one}");
        let two = told_of(&["10.0.0.1:9042".to_owned(), "10.0.0.2:9042".to_owned()]).unwrap();
        assert!(two.starts_with("the nodes 10.0.0.1:9042, 10.0.0.2:9042 of the database acknowledge what"), "{two}");
        assert!(two.contains("commitlog_sync: group"), "{two}");
    }
}

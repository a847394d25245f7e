//! `pvark cluster`: how a cluster stands, and orders to its nodes, asked of any of them over HTTP.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    bytes::bytes_text,
    http::{Method, ask, ask_patiently, encoded},
    patience::Patience,
    print::print_line,
    table::{aligned, list, text},
};
use crate::{
    cli::{Cluster, ClusterOrder, Server},
    failure::Failure,
};

/// How long the command waits until the nodes have carried out an order.
const DONE_WITHIN: Duration = Duration::from_secs(60);
/// How often it looks whether they have.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// `pvark cluster …`
pub(crate) fn run(command: &Cluster) -> Result<(), Failure> {
    let server = &command.server;
    let told = match &command.order {
        ClusterOrder::Status => return status(server),
        ClusterOrder::Move { shard, node } => {
            order(server, Method::Post(json!({ "to": node })), &format!("shards/{shard}/move"))?;
            until(server, |cluster| shards_of(cluster, node).contains(&u64::from(*shard)))?;
            format!("node {node} has shard {shard}")
        }
        ClusterOrder::Drain { node } => {
            order_again(server, &format!("nodes/{}/drain", encoded(node)))?;
            until(server, |cluster| shards_of(cluster, node).is_empty())?;
            format!("node {node} has no shards any more; it can be stopped")
        }
        ClusterOrder::Join { node } => {
            order_again(server, &format!("nodes/{}/join", encoded(node)))?;
            format!("node {node} takes its share of the shards, one every few seconds")
        }
        ClusterOrder::Forget { node } => {
            order(server, Method::Delete, &format!("nodes/{}", encoded(node)))?;
            format!(
                "node {node} is forgotten; what its disk has that was not shipped stays there until it is started again"
            )
        }
        ClusterOrder::Raise => {
            order(server, Method::Post(Value::Null), "raise")?;
            format!("format {} is in force", ask(server, Method::Get, "cluster")?["format"])
        }
    };
    Ok(print_line(&told)?)
}

fn order(server: &Server, method: Method, path: &str) -> Result<Value, Failure> {
    ask(server, method, &format!("cluster/{path}"))
}

/// An order goes through the site, which has no node for a moment behind another order, or a node that died. Only one that comes to the same
/// when it is carried out twice is given again: a node may have carried it out without saying so.
fn order_again(server: &Server, path: &str) -> Result<Value, Failure> {
    let patience = Patience { lasts: DONE_WITHIN, afterwards: "" };
    ask_patiently(patience, server, &Method::Post(Value::Null), &format!("cluster/{path}"))
}

fn status(server: &Server) -> Result<(), Failure> {
    let cluster = ask(server, Method::Get, "cluster")?;
    let head = ["node", "state", "address", "version", "waiting", "detached", "free", "shards"];
    let head = head.map(str::to_owned).to_vec();
    let row = |node: &Value| {
        let shards = list(&node["shards"]).iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        let figures = &node["figures"];
        let seconds = figures["detached_seconds"].as_u64().map_or("-".to_owned(), |seconds| format!("{seconds}s"));
        let free = figures["free_bytes"].as_u64().map_or("-".to_owned(), bytes_text);
        let waiting = figures["samples_waiting"].as_u64().map_or("-".to_owned(), |samples| samples.to_string());
        [&node["name"], &node["state"], &node["address"], &node["version"]]
            .map(text)
            .into_iter()
            .chain([waiting, seconds, free, shards])
            .collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(list(&cluster["nodes"]).iter().map(row)).collect();
    aligned(&rows).iter().try_for_each(|line| print_line(line)).map_err(Failure::from)
}

fn shards_of(cluster: &Value, node: &str) -> Vec<u64> {
    let nodes = list(&cluster["nodes"]).iter().filter(|of| of["name"] == node);
    nodes.flat_map(|of| list(&of["shards"]).iter().filter_map(Value::as_u64)).collect()
}

/// Waits until the cluster stands so, as the asked node sees it.
fn until(server: &Server, is_done: impl Fn(&Value) -> bool) -> Result<(), Failure> {
    let begun = Instant::now();
    while !is_done(&ask(server, Method::Get, "cluster")?) {
        if begun.elapsed() > DONE_WITHIN {
            return Err(
                "it has begun, but is not done after a minute; look at `pvark cluster status` and the logs".into()
            );
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

//! `pvark cluster`: how a cluster stands, and which node has what. Asked of nodes by the key of a config file, as they ask each other.

use std::{
    thread,
    time::{Duration, Instant},
};

use archive::{KeyedBy, Role, Source};
use cluster::operator;
use remote::{Remote, RemoteConfig, new_run};

use super::{print::print_line, table::aligned};
use crate::{
    cli::{Cluster, ClusterOrder},
    config::Config,
    failure::Failure,
    host::process,
};

/// So long a node may take until it is found.
const FOUND_WITHIN: Duration = Duration::from_secs(5);
/// So long an order to another node may take until it is carried out.
const DONE_WITHIN: Duration = Duration::from_secs(60);

/// `pvark cluster …`
pub(crate) fn run(command: &Cluster) -> Result<(), Failure> {
    let options = crate::cli::Run { config: Some(command.config.clone()), ..crate::cli::Run::default() };
    let config = Config::load(&options, process::env)?;
    let cluster = config.cluster.ok_or("this config file has no [cluster]")?;
    let key = config.nodes.ok_or("this config file has no [nodes]")?.key;
    let here = node(&cluster.address, key.clone())?;
    let lines = || operator::overview(&|question| ask(&here, question));
    let address_of = |wanted: &str| -> Result<String, Failure> {
        let nodes: Vec<Vec<String>> =
            lines()?.iter().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
        let found = nodes.iter().find(|columns| columns.first().is_some_and(|name| name == wanted));
        let known: Vec<&str> = nodes.iter().filter_map(|columns| columns.first()).map(String::as_str).collect();
        let address = found.and_then(|columns| columns.get(2)).cloned();
        address.ok_or_else(|| format!("there is no node {wanted:?}; there are {}", known.join(", ")).into())
    };
    match &command.order {
        ClusterOrder::Status => {
            let rows = lines()?;
            let head = ["node", "state", "address", "version", "shards"].map(str::to_owned).to_vec();
            let columns = rows.iter().map(|line| line.split('\t').map(str::to_owned).collect());
            let rows: Vec<Vec<String>> = std::iter::once(head).chain(columns).collect();
            aligned(&rows).iter().try_for_each(|line| print_line(line)).map_err(Failure::from)
        }
        ClusterOrder::Move { shard, node: to } => {
            let there = node(&address_of(to)?, key)?;
            operator::take(&|question| ask(&there, question), *shard)?;
            let is_there = |line: &String| {
                let columns: Vec<&str> = line.split('\t').collect();
                columns.first() == Some(&to.as_str())
                    && columns.get(4).is_some_and(|shards| shards.split(' ').any(|of| of == shard.to_string()))
            };
            until(|| Ok(lines()?.iter().any(is_there)))?;
            Ok(print_line(&format!("node {to} has shard {shard}"))?)
        }
        ClusterOrder::Drain { node: from } => {
            let there = node(&address_of(from)?, key)?;
            operator::leave(&|question| ask(&there, question), true)?;
            let is_empty = |line: &String| {
                let columns: Vec<&str> = line.split('\t').collect();
                columns.first() == Some(&from.as_str()) && columns.get(4).is_none_or(|shards| shards.is_empty())
            };
            until(|| Ok(lines()?.iter().any(is_empty)))?;
            Ok(print_line(&format!("node {from} has no shards any more; it can be stopped"))?)
        }
        ClusterOrder::Join { node: back } => {
            let there = node(&address_of(back)?, key)?;
            operator::leave(&|question| ask(&there, question), false)?;
            Ok(print_line(&format!("node {back} takes its share of the shards, one every few seconds"))?)
        }
    }
}

fn until(is_done: impl Fn() -> Result<bool, Failure>) -> Result<(), Failure> {
    let begun = Instant::now();
    while !is_done()? {
        if begun.elapsed() > DONE_WITHIN {
            return Err(
                "it has begun, but is not done after a minute; look at `pvark cluster status` and the logs".into()
            );
        }
        thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

fn node(address: &str, key: remote::Key) -> Result<Remote, Failure> {
    let config = RemoteConfig {
        name: "the node".to_owned(),
        address: address.to_owned(),
        key,
        own_run: new_run().ok_or("this machine has no random numbers")?,
        keyed_by: KeyedBy::Number,
        role: Role::Other,
        pvs: None,
    };
    let node = Remote::new(config)?;
    let begun = Instant::now();
    while let Some(why) = node.away() {
        if begun.elapsed() > FOUND_WITHIN {
            return Err(format!("the node at {address} cannot be asked: {why}").into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(node)
}

fn ask(node: &Remote, question: Vec<u8>) -> Result<Vec<u8>, String> {
    node.ask_cluster(question).map_err(|error| error.message)
}

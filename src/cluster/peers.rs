//! The other nodes of a cluster, each reached by a link that is kept while it is heard of.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use archive::{Cost, KeyedBy, Role, Source, SourceError};
use cluster::Peers;
use remote::{Key, Remote, RemoteConfig};

/// The links, by the names of nodes.
#[derive(Debug)]
pub(super) struct Links {
    key: Key,
    own_run: u64,
    links: Mutex<BTreeMap<String, (String, Arc<Remote>)>>,
}

impl Links {
    pub(super) fn new(key: Key, own_run: u64) -> Links {
        Links { key, own_run, links: Mutex::default() }
    }

    fn link(&self, node: &str) -> Option<Arc<Remote>> {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.get(node).map(|(_, link)| link.clone())
    }

    fn begin(&self, node: &str, address: &str) -> std::io::Result<Arc<Remote>> {
        let config = RemoteConfig {
            name: format!("node {node}"),
            address: address.to_owned(),
            key: self.key.clone(),
            own_run: self.own_run,
            keyed_by: KeyedBy::Number,
            role: Role::Other,
            pvs: None,
        };
        Remote::new(config).map(Arc::new)
    }
}

impl Peers for Links {
    fn ask(&self, node: &str, question: Vec<u8>, is_order: bool) -> Result<Vec<u8>, SourceError> {
        let unknown = || SourceError { cost: Cost::UntilBack, message: format!("nobody knows where node {node} is") };
        self.link(node).ok_or_else(unknown)?.ask_cluster(question, is_order)
    }

    fn source(&self, node: &str) -> Option<Arc<dyn Source>> {
        self.link(node).map(|link| link as Arc<dyn Source>)
    }

    fn know(&self, nodes: &[(String, String)]) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|node, (address, _)| nodes.iter().any(|(other, at)| other == node && at == address));
        for (node, address) in nodes {
            if links.contains_key(node) {
                continue;
            }
            match self.begin(node, address) {
                Ok(link) => _ = links.insert(node.clone(), (address.clone(), link)),
                Err(error) => tracing::warn!("node {node} at {address} cannot be asked: {error}"),
            }
        }
    }
}

//! The other nodes of a cluster, each reached by a link that is kept while it is heard of.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use archive::{Cost, KeyedBy, PvId, Record, Role, Source, SourceError};
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

    fn known(&self, node: &str) -> Result<Arc<Remote>, SourceError> {
        let unknown = || SourceError { cost: Cost::UntilBack, message: format!("nobody knows where node {node} is") };
        self.link(node).ok_or_else(unknown)
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
        self.known(node)?.ask_cluster(question, is_order)
    }

    fn share(&self, node: &str, question: Vec<u8>) -> Result<Box<dyn cluster::Share>, SourceError> {
        Ok(Box::new(Share(self.known(node)?.begin_share(question)?)))
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

/// What another node is sent of an import.
struct Share(remote::Share);

impl cluster::Share for Share {
    fn put(&mut self, pv: PvId, record: &Record) -> Result<(), SourceError> {
        self.0.put(pv, record)
    }

    fn end(&mut self, part: &str) -> Result<(), SourceError> {
        self.0.end(part)
    }

    fn answer(self: Box<Self>) -> Result<Vec<u8>, SourceError> {
        self.0.answer()
    }
}

//! What a user of Channel Access holds.

use std::{io, sync::Arc};

use tokio::sync::mpsc::UnboundedSender;

#[cfg(feature = "put")]
use super::puts::PutOrder;
use super::{
    counters::SharedCounters,
    hub::{self, Request},
};
#[cfg(feature = "put")]
use crate::ca::put::{PutError, PutValue};
use crate::{
    Event, Key, Server,
    ca::{Config, Counters, Monitor},
};

/// Subscribes to PVs by Channel Access, for as long as it lives.
#[derive(Debug)]
pub struct Client {
    requests: UnboundedSender<Request>,
    counters: Arc<SharedCounters>,
}

impl Client {
    /// Starts the search and circuit tasks on the current tokio runtime. `handler` is called on those tasks for each
    /// event and must not block: while it does, nothing is received from that server.
    pub fn start<H>(config: Config, handler: H) -> io::Result<Client>
    where
        H: Fn(Key, Event) + Clone + Send + Sync + 'static,
    {
        let counters = Arc::default();
        let requests = hub::start(config, handler, Arc::clone(&counters))?;
        Ok(Client { requests, counters })
    }

    /// Subscribes to a PV, with field and modifiers if wanted (`X`, `X.HIHI`, `X.DESC$`). Never blocks; goes on for ever:
    /// searches, connects, and begins again when the connection is lost. A `key` that is in use is taken over.
    pub fn subscribe(&self, key: Key, name: &str, monitor: Monitor) {
        self.subscribe_shared(key, name.into(), monitor);
    }

    /// The same by a name that somebody else has in memory, too.
    pub fn subscribe_shared(&self, key: Key, name: Arc<str>, monitor: Monitor) {
        // The hub outlives the client, unless the runtime is shutting down: then nobody waits for values.
        let _ = self.requests.send(Request::Subscribe { key, name, monitor });
    }

    /// Ends a subscription. Events already under way may still arrive.
    pub fn unsubscribe(&self, key: Key) {
        // As above.
        let _ = self.requests.send(Request::Unsubscribe { key });
    }

    /// The servers to which there was a circuit.
    pub fn servers(&self) -> Vec<Server> {
        self.counters.servers.told()
    }

    /// What has been done so far.
    pub fn counters(&self) -> Counters {
        self.counters.snapshot()
    }
}

#[cfg(feature = "put")]
impl Client {
    /// Writes to a PV that is subscribed to with `key`, and waits until the record has processed.
    pub async fn put(&self, key: Key, value: PutValue) -> Result<(), PutError> {
        let (done, answer) = tokio::sync::oneshot::channel();
        // If the hub is gone, so is `done`, and the answer says it.
        let _ = self.requests.send(Request::Put { key, order: PutOrder { value, done } });
        answer.await.unwrap_or(Err(PutError::Unanswered))
    }
}

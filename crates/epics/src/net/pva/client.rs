//! What a user of pvAccess holds.

use std::{io, sync::Arc};

use tokio::sync::mpsc::UnboundedSender;

#[cfg(feature = "put")]
use super::puts::PutOrder;
use super::{
    counters::SharedCounters,
    hub::{self, Request},
};
#[cfg(feature = "put")]
use crate::pva::put::{PutError, PutValue};
use crate::{
    Event, Key, Server,
    pva::{Config, Counters, Monitor},
};

/// A pvAccess client. Its tasks end when it is dropped.
#[derive(Debug)]
pub struct Client {
    requests: UnboundedSender<Request>,
    counters: Arc<SharedCounters>,
}

impl Client {
    /// Starts the search and circuit tasks on the current tokio runtime. `handler` is called on those tasks for each event
    /// and must not block.
    pub fn start<H>(config: Config, handler: H) -> io::Result<Client>
    where
        H: Fn(Key, Event) + Clone + Send + Sync + 'static,
    {
        let counters = Arc::default();
        let requests = hub::start(config, handler, Arc::clone(&counters))?;
        Ok(Client { requests, counters })
    }

    /// Asks for all updates of a PV, for ever: it is searched, connected and, when lost, searched again. A key that is in
    /// use is given the new name.
    pub fn subscribe(&self, key: Key, name: &str, monitor: Monitor) {
        self.subscribe_shared(key, name.into(), monitor);
    }

    /// The same by a name that somebody else has in memory, too.
    pub fn subscribe_shared(&self, key: Key, name: Arc<str>, monitor: Monitor) {
        self.send(Request::Subscribe { key, name, monitor });
    }

    /// Ends a subscription. Events that are under way may still arrive.
    pub fn unsubscribe(&self, key: Key) {
        self.send(Request::Unsubscribe { key });
    }

    /// Writes to the PV of a subscription and waits until the server has done it.
    #[cfg(feature = "put")]
    pub async fn put(&self, key: Key, value: PutValue) -> Result<(), PutError> {
        let (done, answer) = tokio::sync::oneshot::channel();
        self.send(Request::Put { key, order: PutOrder { value, done } });
        answer.await.unwrap_or(Err(PutError::Unanswered))
    }

    fn send(&self, request: Request) {
        // the tasks end only with the runtime, when nobody is left to be served
        drop(self.requests.send(request));
    }

    /// The servers to which there was a circuit.
    pub fn servers(&self) -> Vec<Server> {
        self.counters.servers.told()
    }

    /// What the client has done so far.
    pub fn counters(&self) -> Counters {
        self.counters.snapshot()
    }
}

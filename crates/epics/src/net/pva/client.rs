//! What a user of pvAccess holds.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::mpsc::UnboundedSender;

use super::hub;
#[cfg(feature = "put")]
use super::puts::PutOrder;
#[cfg(feature = "put")]
use crate::pva::put::{PutError, PutValue};
use crate::{
    Event, Key,
    pva::{Config, Counters, Monitor},
};

/// What the user wants, on its way to the client's tasks.
#[derive(Debug)]
pub(super) enum Wish {
    Subscribe {
        key: Key,
        name: Arc<str>,
        monitor: Monitor,
    },
    Unsubscribe {
        key: Key,
    },
    #[cfg(feature = "put")]
    Put {
        key: Key,
        order: PutOrder,
    },
}

/// A pvAccess client. Its tasks end when it is dropped.
#[derive(Debug)]
pub struct Client {
    wishes: UnboundedSender<Wish>,
    counters: Arc<Mutex<Counters>>,
}

impl Client {
    /// Starts the search and circuit tasks on the current tokio runtime. `handler` is called on those tasks for each event
    /// and must not block.
    pub fn start<H>(config: Config, handler: H) -> io::Result<Client>
    where
        H: Fn(Key, Event) + Clone + Send + Sync + 'static,
    {
        let counters = Arc::default();
        let wishes = hub::start(config, handler, Arc::clone(&counters))?;
        Ok(Client { wishes, counters })
    }

    /// Asks for all updates of a PV, for ever: it is searched, connected and, when lost, searched again. A key that is in
    /// use is given the new name.
    pub fn subscribe(&self, key: Key, name: &str, monitor: Monitor) {
        self.subscribe_shared(key, name.into(), monitor);
    }

    /// The same by a name that somebody else has in memory, too.
    pub fn subscribe_shared(&self, key: Key, name: Arc<str>, monitor: Monitor) {
        self.wish(Wish::Subscribe { key, name, monitor });
    }

    /// Ends a subscription. Events that are under way may still arrive.
    pub fn unsubscribe(&self, key: Key) {
        self.wish(Wish::Unsubscribe { key });
    }

    /// Writes to the PV of a subscription and waits until the server has done it.
    #[cfg(feature = "put")]
    pub async fn put(&self, key: Key, value: PutValue) -> Result<(), PutError> {
        let (done, answer) = tokio::sync::oneshot::channel();
        self.wish(Wish::Put { key, order: PutOrder { value, done } });
        answer.await.unwrap_or(Err(PutError::Unanswered))
    }

    fn wish(&self, wish: Wish) {
        // the tasks end only with the runtime, when nobody is left to be served
        drop(self.wishes.send(wish));
    }

    /// What the client has done so far.
    pub fn counters(&self) -> Counters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

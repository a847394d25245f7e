//! What a user of pvAccess holds.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::mpsc::UnboundedSender;

use super::{config::Config, counters::Counters};
use crate::{Event, Key, ca::Mask, net};

/// How a PV is monitored. All its fields are asked for: after the first update only what changes is sent anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// How many updates the server holds for a client that is late, before it throws the older away.
    pub queue_size: u32,
    /// Whether the server sends no more than it is told there is room for. It then waits where it would else throw away, if
    /// its source can wait; it costs a message for every few updates.
    pub pipeline: bool,
    /// Which changes are sent, of servers of records that can tell them apart (QSRV from pvxs 1.3.3 on, not of groups). Others pass
    /// over it; none is what the server thinks fit, which is those beyond `MDEL`.
    pub changes: Option<Mask>,
}

impl Default for Monitor {
    /// Room for one second of the fastest scan of an IOC; the servers' own default is 4.
    fn default() -> Monitor {
        Monitor { queue_size: 10, pipeline: false, changes: None }
    }
}

/// What the user wants, on its way to the client's tasks.
#[derive(Debug)]
pub(crate) enum Wish {
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
        order: net::pva::PutOrder,
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
        let wishes = net::pva::start(config, handler, Arc::clone(&counters))?;
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
    pub async fn put(&self, key: Key, value: super::put::PutValue) -> Result<(), super::put::PutError> {
        let (done, answer) = tokio::sync::oneshot::channel();
        self.wish(Wish::Put { key, order: net::pva::PutOrder { value, done } });
        answer.await.unwrap_or(Err(super::put::PutError::Unanswered))
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

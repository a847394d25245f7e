//! What all handlers share: the service that they ask, and how this server is set up.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};

use access::{Access, Refused};
use axum::response::Response;
use service::{Exports, Service};
use tokio::sync::watch;

use crate::{
    auth::{self, RequestLine, Shares},
    config::Config,
    delivery::Delivery,
    door::Doors,
    metrics::Metrics,
    needed::Needed,
    slow::Slow,
};

pub(crate) struct App {
    pub(crate) config: Config,
    /// The first at which it listens.
    pub(crate) address: SocketAddr,
    pub(crate) doors: Arc<Doors>,
    /// What all answers share: memory, and threads.
    pub(crate) delivery: Delivery,
    pub(crate) service: Arc<Service>,
    /// What is made of it while nobody waits.
    pub(crate) exports: Arc<Exports>,
    /// Who asks, and what they may do.
    pub(crate) access: Arc<Access>,
    /// What all answers of one principal take together.
    pub(crate) shares: Shares,
    pub(crate) metrics: Arc<Metrics>,
    /// Which requests took long.
    pub(crate) slow: Arc<Slow>,
    /// What a request needs, by the table of URLs.
    pub(crate) needed: fn(&str, &str) -> Result<Needed, String>,
    /// What the Appliance's scripts have set.
    pub(crate) flags: Mutex<BTreeMap<String, bool>>,
    /// Becomes true when the server is to end; answers that would go on for ever end then.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    /// The answer to somebody who is refused.
    pub(crate) fn refused(&self, asked: &RequestLine, why: &Refused) -> Response {
        auth::refused(&self.metrics.refusals, &self.access, asked, why)
    }

    pub(crate) fn flags(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.flags.lock().expect("no holder of this lock panics")
    }

    /// Waits until the server is to end.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.clone();
        // An error means that the server is gone, which is an end too.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }
}

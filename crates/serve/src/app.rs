//! What all handlers share: the arms of the archive that they ask, and the clock.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::SystemTime,
};

use acquire::Control;
use archive::PvEntry;
use query::Query;
use sample::Timestamp;
use store::{Reader, Writer};
use tokio::sync::watch;

use crate::{appliance::changes::LastChanges, budget::Budget, host::Hosts, metrics::Metrics, server::Config};

pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) address: SocketAddr,
    /// By which names it may be asked for.
    pub(crate) hosts: Hosts,
    pub(crate) started: Timestamp,
    /// What all requests and answers together may take of memory.
    pub(crate) budget: Arc<Budget>,
    pub(crate) query: Query,
    pub(crate) reader: Reader,
    pub(crate) control: Control<Writer>,
    pub(crate) metrics: Metrics,
    /// What the Appliance's scripts have set.
    pub(crate) flags: Mutex<BTreeMap<String, bool>>,
    /// What the audit says of the last change of each PV.
    pub(crate) last_changes: Mutex<LastChanges>,
    /// Becomes true when the server is to end; answers that would go on for ever end then.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn flags(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.flags.lock().expect("no holder of this lock panics")
    }

    /// When a PV was changed last, or added, as far as the audit was looked at.
    pub(crate) fn last_change(&self, entry: &PvEntry) -> Timestamp {
        self.last_changes.lock().expect("no holder of this lock panics").of(entry)
    }

    /// Waits until the server is to end.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.clone();
        // An error means that the server is gone, which is an end too.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }
}

/// The clock of requests: what "now" means where a request leaves a time open.
#[expect(clippy::disallowed_methods, reason = "this is where serving reads the clock; everything else takes `now`")]
pub(crate) fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

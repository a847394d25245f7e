//! The service: the arms of the archive that requests reach, held once for all front ends.

use std::sync::{Arc, Mutex};

use archive::{Curator, Directory, DirectoryError, Nodes, Orders, Rulebook, Standing, Storage};
use query::Query;
use sample::Timestamp;

use crate::{changes::LastChanges, clock::now, losses, policy_source::PolicySource, table::Tables};

/// The store and acquisition behind a service, or whatever else answers the same questions.
pub struct Behind {
    /// What was recorded.
    pub query: Query,
    /// The list of PVs.
    pub directory: Arc<dyn Directory>,
    /// How whatever holds the samples is doing.
    pub storage: Arc<dyn Storage>,
    /// Changes of the list that acquisition need not know of.
    pub curator: Arc<dyn Curator>,
    /// Orders to acquisition.
    pub orders: Arc<dyn Orders>,
    /// By which rules PVs are archived.
    pub rulebook: Arc<dyn Rulebook>,
    /// How PVs fare.
    pub standing: Arc<dyn Standing>,
    /// The nodes of the cluster that all of this is, if it is one.
    pub nodes: Option<Arc<dyn Nodes>>,
}

impl Behind {
    /// Three that do all of it: `list` has the PVs and their samples, `curator` changes them, and `acquisition` records.
    pub fn new(
        query: Query,
        list: impl Directory + Storage + 'static,
        curator: impl Curator + 'static,
        acquisition: impl Orders + Rulebook + Standing + 'static,
    ) -> Behind {
        let (list, acquisition) = (Arc::new(list), Arc::new(acquisition));
        Behind {
            query,
            directory: list.clone(),
            storage: list,
            curator: Arc::new(curator),
            orders: acquisition.clone(),
            rulebook: acquisition.clone(),
            standing: acquisition,
            nodes: None,
        }
    }
}

/// The archive as those see it who ask and order.
pub struct Service {
    /// What it asks and orders in turn.
    pub(crate) behind: Behind,
    /// What of all that was recorded the archive itself has.
    pub(crate) archive_alone: Query,
    /// Where policies are read that are to be applied anew.
    pub(crate) policies: PolicySource,
    /// Under which name it stands where archives name their members.
    pub(crate) identity: String,
    /// Since when it is there.
    pub started: Timestamp,
    /// All PVs as lists sort them.
    pub(crate) tables: Tables,
    /// What the audit says of the last change of each PV.
    last_changes: Mutex<LastChanges>,
}

impl Service {
    /// Over an open archive. What was lost before this start is looked for meanwhile.
    pub fn new(behind: Behind, policies: PolicySource, identity: String) -> Arc<Service> {
        let (started, last_changes, archive_alone) = (now(), Mutex::default(), behind.query.alone().unsaid());
        losses::recall(archive_alone.clone(), behind.directory.clone(), behind.standing.clone(), started);
        let tables = Tables::default();
        Arc::new(Service { behind, archive_alone, policies, identity, started, tables, last_changes })
    }

    /// When each PV was changed last, as far as the audit was looked at, which is looked at anew.
    pub(crate) fn last_changes(&self) -> Result<LastChanges, DirectoryError> {
        let mut changes = self.last_changes.lock().expect("no holder of this lock panics");
        changes.catch_up(&*self.behind.directory)?;
        Ok(changes.clone())
    }
}

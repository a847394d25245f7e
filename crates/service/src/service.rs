//! The service: the arms of the archive that requests reach, held once for all front ends.

use std::sync::{Arc, Mutex};

use acquire::Control;
use archive::PvEntry;
use query::Query;
use sample::Timestamp;
use store::{Error, Reader, Writer};

use crate::{changes::LastChanges, clock::now, losses, policy_source::PolicySource};

/// The archive as those see it who ask and order.
pub struct Service {
    /// What was recorded.
    pub(crate) query: Query,
    /// What of it the archive itself recorded.
    pub(crate) own: Query,
    /// The list of PVs, and how the store is doing.
    pub(crate) reader: Reader,
    /// Orders to acquisition.
    pub(crate) control: Control<Writer>,
    /// Where policies are read that are to be applied anew.
    pub(crate) policies: PolicySource,
    /// Under which name it stands where archives name their members.
    pub(crate) identity: String,
    /// Since when it is there.
    pub started: Timestamp,
    /// What the audit says of the last change of each PV.
    last_changes: Mutex<LastChanges>,
}

impl Service {
    /// Over an open archive. What was lost before this start is looked for meanwhile.
    pub fn new(
        query: Query,
        control: Control<Writer>,
        reader: Reader,
        policies: PolicySource,
        identity: String,
    ) -> Arc<Service> {
        let (started, last_changes) = (now(), Mutex::default());
        losses::recall(query.alone(), reader.clone(), control.clone(), started);
        Arc::new(Service { own: query.alone(), query, reader, control, policies, identity, started, last_changes })
    }

    /// When a PV was changed last, or added, as far as the audit was looked at.
    pub(crate) fn known_change(&self, entry: &PvEntry) -> Timestamp {
        self.last_changes.lock().expect("no holder of this lock panics").of(entry)
    }

    /// When a PV was changed last, or added.
    pub(crate) fn last_change(&self, entry: &PvEntry) -> Result<Timestamp, Error> {
        self.look_at_changes()?;
        Ok(self.known_change(entry))
    }

    /// Takes over what was changed since it was asked for last.
    pub(crate) fn look_at_changes(&self) -> Result<(), Error> {
        self.last_changes.lock().expect("no holder of this lock panics").catch_up(&self.reader)
    }
}

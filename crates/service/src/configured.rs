//! How PVs are configured: type, settings and what switches them, as exports and other archivers want it.

use std::net::SocketAddr;

use archive::{PvEntry, PvName};
use sample::{Metadata, TimeRange, Timestamp};

use crate::{ask::Ask, refusal::Refusal};

/// How a PV is configured.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The PV with its settings.
    pub entry: PvEntry,
    /// Its newest metadata.
    pub metadata: Metadata,
    /// When it was changed last, or added.
    pub changed: Timestamp,
    /// The IOC that serves it now.
    pub server: Option<SocketAddr>,
    /// The PV that switches the one group that it is in, if that has its name.
    pub controlling_pv: Option<PvName>,
    /// How another archiver was told to archive it, whose files are read in place, in its own words.
    pub elsewhere: Option<String>,
}

impl Ask {
    /// How a PV is configured.
    pub fn configured(&self, entry: PvEntry) -> Result<Configured, Refusal> {
        let changed = self.last_change(&entry)?;
        self.configured_since(entry, changed)
    }

    /// How all PVs are configured, one after the other in the order of their names.
    pub fn all_configured(&self) -> Result<impl Iterator<Item = Result<Configured, Refusal>> + Send + use<>, Refusal> {
        let (changes, asked) = (self.listed().last_changes()?, self.clone());
        let configured = move |entry: PvEntry| {
            let changed = changes.of(entry.id, entry.added);
            asked.configured_since(entry, changed)
        };
        Ok(self.all_pvs().map(configured))
    }

    fn configured_since(&self, entry: PvEntry, changed: Timestamp) -> Result<Configured, Refusal> {
        Ok(Configured {
            metadata: self.newest_metadata(&entry)?,
            changed,
            server: self.pv_status(entry.id).and_then(|status| status.server),
            controlling_pv: self.controlling_pv(&entry.settings.rules().groups),
            elsewhere: self.configuration(entry.id),
            entry,
        })
    }

    /// The newest metadata of a PV, empty if there is none.
    pub fn newest_metadata(&self, entry: &PvEntry) -> Result<Metadata, Refusal> {
        Ok(self.metadata_at_end(entry.id, TimeRange::ALL)?.map(|(_, metadata)| metadata).unwrap_or_default())
    }

    /// The same with what describes the record; by Channel Access that is asked for now.
    pub fn described(&self, entry: &PvEntry, mut metadata: Metadata) -> Metadata {
        if metadata.description.is_none() {
            metadata.description = self.description(entry.id);
        }
        metadata
    }
}

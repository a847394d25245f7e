//! Facts: which PVs there are, how each fares, and how the archive does.

use std::collections::HashMap;

use acquire::{Brief, GroupStatus, Policies, Status, Totals};
use archive::{Group, PvEntry, PvId, PvName, RuleName, SourceHealth, ledger::Trouble};
use sample::{Timestamp, ValueType};
use store::{AuditRecord, Deletion, Health, Names, Partition, PvSize, RemovedPv, Watermark};

use crate::{clock::now, refusal::Refusal, service::Service};

impl Service {
    /// The PV of that name or alias, if it is to be archived.
    pub fn find(&self, name: &str) -> Option<PvEntry> {
        self.reader.find(name)
    }

    /// The PV with that number, if it is to be archived.
    pub fn entry(&self, pv: PvId) -> Option<PvEntry> {
        self.reader.entry(pv)
    }

    /// The names and aliases of all PVs.
    pub fn names(&self) -> Names {
        self.reader.names()
    }

    /// The other names of a PV.
    pub fn aliases_of(&self, pv: PvId) -> Vec<PvName> {
        self.reader.aliases_of(pv)
    }

    /// Every alias with its PV.
    pub fn aliases(&self) -> Vec<(PvName, PvEntry)> {
        self.reader.aliases()
    }

    /// The fields that the structure last recorded has, and the types of their samples.
    pub fn fields(&self, pv: PvId) -> Result<Vec<(String, ValueType)>, Refusal> {
        Ok(self.reader.fields(pv, Timestamp::MAX)?)
    }

    /// The PVs that were removed and can come back.
    pub fn removed(&self) -> Vec<RemovedPv> {
        self.reader.removed()
    }

    /// The ranges that were deleted.
    pub fn deletions(&self) -> Vec<Deletion> {
        self.reader.deletions()
    }

    /// Lines of the audit with lower numbers than `before`, the newest first.
    pub fn audit(&self, before: u64, limit: usize) -> Result<Vec<AuditRecord>, Refusal> {
        Ok(self.reader.audit(before, limit)?)
    }

    /// The size of every PV that has samples in segments.
    pub fn sizes(&self) -> HashMap<PvId, PvSize> {
        self.reader.sizes()
    }

    /// The weeks of the archive.
    pub fn partitions(&self) -> Vec<Partition> {
        self.reader.partitions()
    }

    /// How many samples were ever appended, and how many of them are safe.
    pub fn watermark(&self) -> Watermark {
        self.reader.watermark()
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        self.reader.health()
    }

    /// How the files of other archivers are doing.
    pub fn sources(&self) -> Vec<SourceHealth> {
        self.query.health()
    }

    /// Whether there are other sources than the archive itself.
    pub fn has_others(&self) -> bool {
        self.query.has_others()
    }

    /// How another archiver was told to archive a PV, in its own words.
    pub fn configuration(&self, pv: PvId) -> Option<String> {
        self.query.configuration(pv)
    }

    /// How a PV fares; none if acquisition does not know it (yet, or any more).
    pub fn status(&self, pv: PvId) -> Option<Status> {
        self.control.status(pv)
    }

    /// How some PVs fare, in short.
    pub fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>> {
        self.control.briefs(pvs)
    }

    /// What all PVs together come to.
    pub fn totals(&self) -> Totals {
        self.control.totals()
    }

    /// What was lost, or is suspected to be, in the last hours.
    pub fn trouble(&self) -> Trouble {
        self.control.trouble(now())
    }

    /// What the record of a PV says of itself, if that is known; asked for if it is not.
    pub fn description(&self, pv: PvId) -> Option<String> {
        self.control.description(pv, now())
    }

    /// The policies in force.
    pub fn policies_in_force(&self) -> Policies {
        self.control.policies()
    }

    /// The groups that have switches.
    pub fn groups(&self) -> Vec<GroupStatus> {
        self.control.groups()
    }

    /// One of them.
    pub fn group(&self, name: &RuleName) -> Option<GroupStatus> {
        self.control.group(name)
    }

    /// The groups of the config file that are not as it says.
    pub fn groups_that_differ(&self, of_file: &[Group]) -> Vec<RuleName> {
        self.control.groups_that_differ(of_file)
    }
}

//! The roster: which PVs are archived under which names. Acquisition follows it and the store keeps it.

use sample::Timestamp;

use crate::{By, Group, Mirror, Mirrored, PvEntry, PvId, PvName, PvSettings, RuleName, Sink, UndoPlan, Unfinished};

/// What becomes of the data of a PV that is removed. Either way the PV vanishes from every answer at once, and comes back as it
/// was when it is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFate {
    /// It stays for good, hidden until the PV is restored or its name is registered again.
    Keep,
    /// It is to go: a purge frees its space, and until then it can be restored. A name that is registered again begins anew.
    Delete,
}

/// What becomes of the old name of a PV that is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldName {
    /// It stays as an alias.
    Alias,
    /// It is free for another PV.
    Free,
}

/// A PV that is to have another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    /// The PV.
    pub pv: PvId,
    /// Its new name.
    pub to: PvName,
    /// PVs of fields of the same record, with their new names. One whose new name is taken stays under the old one.
    pub fields: Vec<(PvId, PvName)>,
}

/// What became of a renaming.
pub type EntriesOr<E> = Result<Vec<PvEntry>, E>;

/// The list of PVs. Every change is durable when it returns, and either all of it is done or nothing.
pub trait Roster: Sink {
    /// The PV of that name or alias, if it is to be archived.
    fn find(&self, name: &str) -> Option<PvEntry>;

    /// All PVs that are to be archived.
    fn entries(&self) -> Vec<PvEntry>;

    /// Adds PVs, or changes the settings of those that are there, pauses them or takes them up again, which the audit tells of. Gives
    /// their entries in order. What was removed with its data kept comes back, with a gap for the time in between.
    fn register(&self, pvs: &[(PvName, PvSettings)], by: &By) -> Result<Vec<PvEntry>, Self::Error>;

    /// Gives PVs the settings that policies have for them, with one line of the audit for all, in which `detail` stands.
    fn adopt(&self, pvs: &[(PvName, PvSettings)], by: &By, detail: &str) -> Result<Vec<PvEntry>, Self::Error>;

    /// The groups that have switches, by name.
    fn groups(&self) -> Vec<Group>;

    /// Gives groups their switches, all of them in one change.
    fn set_groups(&self, groups: &[Group], by: &By) -> Result<(), Self::Error>;

    /// Takes its switches from a group: from then on it is always enabled. Whether there was such a group.
    fn remove_group(&self, name: &RuleName, by: &By) -> Result<bool, Self::Error>;

    /// Gives PVs other names, all in one change; their samples stay where they are. Gives for each its entry and those of its fields
    /// that were renamed, or why it keeps its name.
    fn rename_all(
        &self,
        wanted: &[Renaming],
        old: OldName,
        by: &By,
    ) -> Result<Vec<EntriesOr<Self::Error>>, Self::Error>;

    /// Takes PVs out, with their data kept, that turned out to be other names of PVs in the archive, and gives these the names, all in
    /// one change: pairs of a PV and the one that it is another name of. Gives for each whether it was done.
    fn unite(&self, pairs: &[(PvId, PvId)], by: &By) -> Result<Vec<Result<(), Self::Error>>, Self::Error>;

    /// Takes PVs out of the archive.
    fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<(), Self::Error>;

    /// Brings back PVs that were removed, under another name where one is given, all in one change; with a gap for the time in between.
    /// Gives for each its entry, or why it does not come back.
    fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, Self::Error>>, Self::Error>;

    /// Takes back the order of that number for those of its PVs that were not changed again since, all in one change, and says what it
    /// did. It can be taken back itself.
    fn undo(&self, number: u64, by: &By) -> Result<UndoPlan, Self::Error>;

    /// Makes the list what that of another archive is, in one change of which the audit does not tell: what was ordered stands in the
    /// audit there.
    fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, Self::Error>;

    /// The numbers of PVs that the archive keeps for itself, in the order of the names. They are made when they are first asked
    /// for, and are in no list, search or count.
    fn own(&self, names: &[PvName], now: Timestamp) -> Result<Vec<PvId>, Self::Error>;

    /// What was found at the opening that the ledger does not tell of.
    fn unfinished(&self) -> Unfinished;
}

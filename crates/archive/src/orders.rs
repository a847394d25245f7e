//! The seam for orders to acquisition: which PVs are recorded from now on, and by which rules.

use crate::{
    By, DataFate, DirectoryError, Fault, FieldName, Group, GroupStatus, Manual, Mirror, Mirrored, OldName, Plan,
    Policies, PvEntry, PvId, PvName, PvState, RuleName, Unanswered, UndoPlan, Wishes,
};

/// Orders about PVs. Each is one change of the list, durable when it returns, and stands in the audit. Each may wait for a disk.
pub trait Orders: Send + Sync {
    /// Archives PVs, and the fields that belong to them. The answers come in the order of the requests.
    fn add(&self, requests: Vec<AddRequest>, by: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError>;

    /// What `add` would do, in the order of the requests; nothing is changed.
    fn foresee(&self, requests: Vec<AddRequest>) -> Result<Vec<Added>, DirectoryError>;

    /// Enters PVs that were archived elsewhere into the list, paused, and says how many are new. Those that are there stay as they are.
    fn enter_paused(&self, names: Vec<PvName>, by: &By) -> Result<usize, DirectoryError>;

    /// Enters fields of PVs that were archived with them elsewhere, each with its PV, as fields that are paused or not as their PV is.
    /// Those that are there stay as they are.
    fn enter_fields(&self, fields: &[(PvEntry, FieldName)], by: &By) -> Result<(), DirectoryError>;

    /// Stops taking samples; the PVs keep their places and their data.
    fn pause(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError>;

    /// Takes samples again.
    fn resume(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError>;

    /// Takes PVs out of the archive.
    fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<Vec<Change>, DirectoryError>;

    /// Gives a PV another name, under which it is acquired from now on.
    fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, DirectoryError>;

    /// Brings back PVs that were removed, under another name where one is given, and says for each what became of it.
    fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, DirectoryError>>, DirectoryError>;

    /// Takes back the order of that number, as far as its PVs were not changed again since, and says what it did.
    fn undo(&self, number: u64, by: &By) -> Result<UndoPlan, DirectoryError> {
        let _ = by;
        Err(DirectoryError::no_order(number))
    }

    /// Records what another archive records, and nothing else.
    fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, DirectoryError> {
        let _ = (list, by);
        Err(DirectoryError { fault: Fault::Failed, message: "this archive can be no copy of another one".to_owned() })
    }

    /// Which recorders have not carried out yet what was ordered last, and do so when they can be reached.
    fn unreached(&self) -> Vec<Unanswered> {
        Vec::new()
    }
}

/// The rules by which PVs are archived: policies, and the groups that have switches. Orders are durable when they return and stand in the
/// audit, but for what the config file says, which it says again at the next start.
pub trait Rulebook: Send + Sync {
    /// The policies by which PVs are added.
    fn policies(&self) -> Policies;

    /// What these policies would change of the PVs that there are.
    fn plan(&self, policies: &Policies, manual: Manual) -> Plan;

    /// Changes it, all in one change, and adds PVs by these policies from now on. May wait for a disk, as the other orders.
    fn apply(&self, policies: &Policies, manual: Manual, by: &By) -> Result<Plan, DirectoryError>;

    /// The groups that have switches, and how they stand.
    fn groups(&self) -> Vec<GroupStatus>;

    /// A group that has switches, and how it stands.
    fn group(&self, name: &RuleName) -> Option<GroupStatus>;

    /// The groups of the config file whose switches would be others by these: those that are new, changed or gone.
    fn groups_that_differ(&self, of_file: &[Group]) -> Vec<RuleName>;

    /// Puts these groups in place of those that the config file named before, and gives those that differ.
    fn apply_groups(&self, of_file: &[Group]) -> Vec<RuleName>;

    /// Gives a group its switches. None if the config file says what they are.
    fn set_group(&self, group: &Group, by: &By) -> Result<Option<()>, DirectoryError>;

    /// Gives their switches to those of the groups that there are not yet, all in one change.
    fn make_groups(&self, groups: Vec<Group>, by: &By) -> Result<(), DirectoryError>;

    /// Takes its switches from a group, which is enabled from then on. None if the config file says what they are.
    fn remove_group(&self, name: &RuleName, by: &By) -> Result<Option<Change>, DirectoryError>;
}

/// A PV that somebody wants archived. What is left open is taken from a policy, the config (protocol) or is the usual (monitor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddRequest {
    /// Its name, without prefix.
    pub name: PvName,
    /// By which policy, whatever its name fits.
    pub policy: Option<RuleName>,
    /// How it is to be archived, as far as somebody says.
    pub wishes: Wishes,
    /// Whether it is archived at once, if it is not there yet. One that is there stays as it is.
    pub state: PvState,
}

impl AddRequest {
    /// A PV of which nothing is said but its name.
    pub fn new(name: PvName) -> AddRequest {
        AddRequest { name, policy: None, wishes: Wishes::default(), state: PvState::Active }
    }
}

/// What adding did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is archived from now on.
    New,
    /// It was archived already, just so.
    Already,
    /// It was archived already, and now is so by the new settings.
    Changed,
}

/// What a command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is done.
    Done,
    /// It was so already.
    Already,
    /// There is no such PV.
    Unknown,
}

//! Acquisition as those see it who ask and order, whatever list of PVs it follows.

use archive::{
    AddRequest, Added, Brief, By, Change, DataFate, DirectoryError, FieldName, Group, GroupStatus, Ioc, Manual, Mirror,
    Mirrored, OldName, Orders, Plan, Policies, PvEntry, PvId, PvName, Roster, RuleName, Rulebook, Standing, Status,
    Totals, Touched, UndoPlan,
    ledger::{Account, Trouble},
};
use sample::Timestamp;

use crate::Control;

impl<S: Roster> Orders for Control<S>
where
    DirectoryError: From<S::Error>,
{
    fn add(&self, requests: Vec<AddRequest>, by: &By) -> Result<Vec<(PvEntry, Added)>, DirectoryError> {
        Ok(Control::add(self, requests, by)?)
    }

    fn foresee(&self, requests: Vec<AddRequest>) -> Result<Vec<Added>, DirectoryError> {
        Ok(Control::foresee(self, requests))
    }

    fn enter_paused(&self, names: Vec<PvName>, by: &By) -> Result<usize, DirectoryError> {
        Ok(Control::enter_paused(self, names, by)?)
    }

    fn enter_fields(&self, fields: &[(PvEntry, FieldName)], by: &By) -> Result<(), DirectoryError> {
        Ok(Control::enter_fields(self, fields, by)?)
    }

    fn pause(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        Ok(Control::pause(self, pvs, by)?)
    }

    fn resume(&self, pvs: &[PvId], by: &By) -> Result<Vec<Change>, DirectoryError> {
        Ok(Control::resume(self, pvs, by)?)
    }

    fn remove(&self, pvs: &[PvId], data: DataFate, by: &By) -> Result<Vec<Change>, DirectoryError> {
        Ok(Control::remove(self, pvs, data, by)?)
    }

    fn rename(&self, pv: PvId, to: &PvName, old: OldName, by: &By) -> Result<PvEntry, DirectoryError> {
        Ok(Control::rename(self, pv, to, old, by)?)
    }

    fn restore_all(
        &self,
        wanted: &[(PvId, Option<PvName>)],
        by: &By,
    ) -> Result<Vec<Result<PvEntry, DirectoryError>>, DirectoryError> {
        let each = Control::restore_all(self, wanted, by)?;
        Ok(each.into_iter().map(|one| one.map_err(DirectoryError::from)).collect())
    }

    fn undo(&self, number: u64, by: &By) -> Result<UndoPlan, DirectoryError> {
        Ok(Control::undo(self, number, by)?)
    }

    fn mirror(&self, list: &Mirror, by: &By) -> Result<Mirrored, DirectoryError> {
        Ok(Control::mirror(self, list, by)?)
    }
}

impl<S: Roster> Rulebook for Control<S>
where
    DirectoryError: From<S::Error>,
{
    fn policies(&self) -> Policies {
        Control::policies(self)
    }

    fn plan(&self, policies: &Policies, manual: Manual) -> Plan {
        Control::plan(self, policies, manual)
    }

    fn apply(&self, policies: &Policies, manual: Manual, by: &By) -> Result<Plan, DirectoryError> {
        Ok(Control::apply(self, policies, manual, by)?)
    }

    fn groups(&self) -> Vec<GroupStatus> {
        Control::groups(self)
    }

    fn group(&self, name: &RuleName) -> Option<GroupStatus> {
        Control::group(self, name)
    }

    fn groups_that_differ(&self, of_file: &[Group]) -> Vec<RuleName> {
        Control::groups_that_differ(self, of_file)
    }

    fn apply_groups(&self, of_file: &[Group]) -> Vec<RuleName> {
        Control::apply_groups(self, of_file)
    }

    fn set_group(&self, group: &Group, by: &By) -> Result<Option<()>, DirectoryError> {
        Ok(Control::set_group(self, group, by)?)
    }

    fn make_groups(&self, groups: Vec<Group>, by: &By) -> Result<(), DirectoryError> {
        Ok(Control::make_groups(self, groups, by)?)
    }

    fn remove_group(&self, name: &RuleName, by: &By) -> Result<Option<Change>, DirectoryError> {
        Ok(Control::remove_group(self, name, by)?)
    }
}

impl<S: Roster> Standing for Control<S> {
    fn status(&self, pv: PvId) -> Option<Status> {
        Control::status(self, pv)
    }

    fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>> {
        Control::briefs(self, pvs)
    }

    fn moved(&self) -> Touched {
        Control::moved(self)
    }

    fn iocs(&self) -> Vec<Ioc> {
        Control::iocs(self)
    }

    fn totals(&self) -> Totals {
        Control::totals(self)
    }

    fn description(&self, pv: PvId, now: Timestamp) -> Option<String> {
        Control::description(self, pv, now)
    }

    fn open_account(&self, pv: PvId) -> Option<(Timestamp, Account)> {
        Control::open_account(self, pv)
    }

    fn trouble(&self, now: Timestamp) -> Trouble {
        Control::trouble(self, now)
    }

    fn recall(&self, until: Timestamp, trouble: Trouble) {
        Control::recall(self, until, trouble);
    }
}

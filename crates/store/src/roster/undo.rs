//! Orders taken back: each PV that was not changed again since becomes what it was, all in one change.

use archive::{Action, AuditRecord, By, DataFate, PvEntry, PvId, RemovedPv, UNDO_FOR, UndoPlan, UndoStep, UndoTo};

use super::{given_names::GivenNames, removal};
use crate::{
    Error, Writer,
    catalog::{change::Change, registry::Registry, undo},
};

impl Writer {
    /// Takes back an order; see `Roster`.
    pub fn undo(&self, number: u64, by: &By) -> Result<UndoPlan, Error> {
        self.engine.change(|registry, change| {
            let plan = undo::plan(&self.engine.catalog, registry, number)?;
            let plan = plan.filter(|plan| plan.order.by.at.saturating_add(UNDO_FOR) >= by.at);
            let plan = plan.ok_or(Error::NoOrder { number })?;
            let detail = format!("order {number}, {}", plan.order.action.name());
            let mut undoing = Undoing { registry, names: GivenNames::over(registry), change, by, detail };
            plan.steps.iter().try_for_each(|step| undoing.take(step))?;
            let done = plan.steps.iter().filter(|step| !matches!(step.to, UndoTo::Refused(_)));
            change.undone.pvs = done.map(|step| step.pv).collect();
            change.undone.number = number;
            change.can_be_undone = true;
            Ok(plan)
        })
    }
}

/// A change that takes an order back.
struct Undoing<'a> {
    registry: &'a Registry,
    names: GivenNames<'a>,
    change: &'a mut Change,
    by: &'a By,
    /// What the audit says.
    detail: String,
}

impl Undoing<'_> {
    fn take(&mut self, step: &UndoStep) -> Result<(), Error> {
        match &step.to {
            UndoTo::Refused(_) => return Ok(()),
            UndoTo::Settings(entry) => self.change.put.push(entry.clone()),
            UndoTo::Back(entry) => _ = self.names.bring_back(self.change, step.pv, &entry.name, self.by)?,
            UndoTo::Out(data) => self.change.removed.extend(self.out(step.pv, *data)),
        }
        if let Some(entry) = self.entry(step.pv) {
            self.change.audit.push(AuditRecord::of_pv(Action::Undone, self.by, entry, &self.detail));
        }
        Ok(())
    }

    /// A PV, whether or not it is out of the archive.
    fn entry(&self, pv: PvId) -> Option<&PvEntry> {
        self.registry.entry(pv).or_else(|| self.registry.removed().get(&pv).map(|removed| &removed.entry))
    }

    fn out(&self, pv: PvId, data: DataFate) -> Option<RemovedPv> {
        match self.registry.entry(pv) {
            Some(entry) => Some(removal(self.registry, entry, data, self.by)),
            None => {
                let removed = self.registry.removed().get(&pv)?;
                Some(RemovedPv { data, by: self.by.clone(), ..removed.clone() })
            }
        }
    }
}

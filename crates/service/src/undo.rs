//! Undo: the orders that can be taken back for a day, what that would do, and doing it. Whoever may give an order may take it back.

use archive::{DirectoryError, UNDO_FOR, UndoPlan, Undoable};

use crate::{
    ask::Ask,
    clock::now,
    refusal::{Code, Refusal},
};

/// What a PV of an order takes until the answer is sent: it was something, and is something.
const STEP_BYTES: usize = 1500;

impl Ask {
    /// The orders that can be taken back, the newest first: those all of whose PVs are seen.
    pub fn undoable(&self) -> Result<Vec<Undoable>, Refusal> {
        let mut orders = self.listed().behind.directory.undoable()?;
        let oldest = now().saturating_sub(UNDO_FOR);
        orders.retain(|order| order.by.at >= oldest);
        if !self.sees_all() {
            let is_seen = |order: &Undoable| self.undo_plan(order.number).is_ok();
            orders.retain(is_seen);
        }
        Ok(orders)
    }

    /// What taking an order back would do. One that changed PVs that are not seen is unknown.
    pub fn undo_plan(&self, number: u64) -> Result<UndoPlan, Refusal> {
        let directory = &self.listed().behind.directory;
        let unknown = || Refusal::new(Code::UnknownPv, DirectoryError::no_order(number).message);
        let orders = directory.undoable()?;
        let order = orders.iter().find(|order| order.number == number).ok_or_else(unknown)?;
        self.lease.grow_by(usize::try_from(order.pvs).unwrap_or(usize::MAX), STEP_BYTES)?;
        let plan = directory.undo_plan(number)?;
        let is_seen = plan.steps.iter().all(|step| self.sees_name(step.name.as_str()));
        if is_seen { Ok(plan) } else { Err(unknown()) }
    }

    /// Takes an order back, for those of its PVs that were not changed again since, and says what was done.
    pub fn undo(&self, number: u64) -> Result<UndoPlan, Refusal> {
        let plan = self.undo_plan(number)?;
        let names = plan.steps.iter().map(|step| step.name.as_str());
        let orders = self.ordered_named(plan.order.right(), names)?.orders;
        Ok(orders.undo(number, &self.by())?)
    }
}

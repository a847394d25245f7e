//! Undo: the orders that can be taken back for a day, what that would do, and doing it. Whoever may give an order may take it back.

use archive::{DirectoryError, Fault, Numbered, UNDO_FOR, UndoPlan, Undoable};

use crate::{
    ask::Ask,
    clock::now,
    refusal::{Code, Refusal},
};

/// What a PV of an order takes until the answer is sent: it was something, and is something.
const STEP_BYTES: usize = 1500;

/// What the plan to take an order back takes.
fn plan_bytes(order: &Undoable) -> usize {
    usize::try_from(order.pvs).unwrap_or(usize::MAX).saturating_mul(STEP_BYTES)
}

impl Ask {
    /// The orders that can be taken back, the newest first: those all of whose PVs are seen.
    pub fn undoable(&self) -> Result<Vec<Undoable>, Refusal> {
        let mut orders = self.listed().behind.directory.undoable()?;
        let oldest = now().saturating_sub(UNDO_FOR);
        orders.retain(|order| order.by.at >= oldest);
        if self.sees_all() {
            return Ok(orders);
        }
        let mut seen = Vec::new();
        for order in orders {
            let is_seen = self.seen_plan(&order)?.is_some();
            self.lease.shrink(plan_bytes(&order)); // the plan is gone again
            if is_seen {
                seen.push(order);
            }
        }
        Ok(seen)
    }

    /// What taking an order back would do, if all of its PVs are seen, and it has not been forgotten since it was listed.
    fn seen_plan(&self, order: &Undoable) -> Result<Option<UndoPlan>, Refusal> {
        self.lease.grow(plan_bytes(order))?;
        match self.listed().behind.directory.undo_plan(order.number) {
            Ok(plan) => Ok(Some(plan).filter(|plan| plan.steps.iter().all(|step| self.sees_name(step.name.as_str())))),
            Err(error) if error.fault == Fault::NothingThere => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What taking an order back would do. One that changed PVs that are not seen is unknown.
    pub fn undo_plan(&self, number: u64) -> Result<UndoPlan, Refusal> {
        let directory = &self.listed().behind.directory;
        let unknown = || Refusal::new(Code::UnknownPv, DirectoryError::no_order(number).message);
        let known = || Ok::<_, Refusal>(directory.undoable()?.into_iter().find(|order| order.number == number));
        let order = match known()? {
            Some(order) => order,
            None => {
                // It may have been given at another node a moment ago.
                directory.look_again(Numbered::Order(number))?;
                known()?.ok_or_else(unknown)?
            }
        };
        self.seen_plan(&order)?.ok_or_else(unknown)
    }

    /// Takes an order back, for those of its PVs that were not changed again since, and says what was done.
    pub fn undo(&self, number: u64) -> Result<UndoPlan, Refusal> {
        let plan = self.undo_plan(number)?;
        let names = plan.steps.iter().map(|step| step.name.as_str());
        let orders = self.ordered_named(plan.order.right(), names)?.orders;
        Ok(orders.undo(number, &self.by())?)
    }
}

//! Undo: orders about PVs that can be taken back for a day, and what taking one back does to each of its PVs.

use std::time::Duration;

use crate::{Action, By, DataFate, PvEntry, PvId, PvName, Right};

/// How long an order can be taken back.
pub const UNDO_FOR: Duration = Duration::from_secs(86_400);

/// An order that can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoable {
    /// That of its first line in the audit.
    pub number: u64,
    /// Who gave it, and when.
    pub by: By,
    /// What was done.
    pub action: Action,
    /// How, as the audit says it.
    pub detail: String,
    /// To how many PVs.
    pub pvs: u64,
    /// Whether PVs were taken out by it, or brought back.
    pub moves: bool,
}

impl Undoable {
    /// What whoever takes it back must be allowed to do with its PVs: what whoever gave it had to be.
    pub fn right(&self) -> Right {
        if self.moves { Right::Administer } else { Right::Operate }
    }
}

/// What taking an order back does, PV by PV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// The order.
    pub order: Undoable,
    /// Each of its PVs, by number.
    pub steps: Vec<UndoStep>,
}

/// What taking an order back does to a PV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoStep {
    /// Which.
    pub pv: PvId,
    /// What it is called now, or was.
    pub name: PvName,
    /// What becomes of it.
    pub to: UndoTo,
}

/// What becomes of a PV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoTo {
    /// It is archived as it was before.
    Settings(PvEntry),
    /// It comes back into the archive, as it was before.
    Back(PvEntry),
    /// It goes out of the archive again, or its data gets its former fate.
    Out(DataFate),
    /// It stays as it is, and why.
    Refused(String),
}

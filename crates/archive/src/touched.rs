//! Touched: which PVs changed since somebody looked last, so that whoever keeps something about each of a million looks again at these alone.

use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use crate::PvId;

/// When more than this changed it is as quick to look at all of them.
const NOTED_MAX: usize = 100_000;

/// Which PVs changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touched {
    /// These, some of them perhaps more than once.
    These(Vec<PvId>),
    /// Any of them may have: they were too many, or nobody noted them.
    All,
}

/// Notes which PVs change until somebody asks. Until that one asks for the first time nothing is noted.
#[derive(Debug)]
pub struct Touches(Mutex<Touched>);

impl Default for Touches {
    fn default() -> Touches {
        Touches(Mutex::new(Touched::All))
    }
}

impl Touches {
    /// A PV has changed; to be called when who reads it sees the change.
    pub fn note(&self, pv: PvId) {
        self.change(|touched| {
            match touched {
                Touched::These(pvs) if pvs.len() < NOTED_MAX => pvs.push(pv),
                touched => *touched = Touched::All,
            };
        });
    }

    /// All of them may have changed.
    pub fn note_all(&self) {
        self.change(|touched| *touched = Touched::All);
    }

    /// Those that changed since it was asked last. To be called before they are read.
    pub fn take(&self) -> Touched {
        self.change(|touched| mem::replace(touched, Touched::These(Vec::new())))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Touched) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told_once_and_too_much_is_everything() {
        let touches = Touches::default();
        touches.note(PvId(1));
        assert_eq!(touches.take(), Touched::All, "before the first look nothing is noted");
        touches.note(PvId(2));
        touches.note(PvId(2));
        assert_eq!(touches.take(), Touched::These(vec![PvId(2), PvId(2)]));
        assert_eq!(touches.take(), Touched::These(Vec::new()));
        (0..=NOTED_MAX as u32).for_each(|pv| touches.note(PvId(pv)));
        assert_eq!(touches.take(), Touched::All);
        touches.note_all();
        touches.note(PvId(3));
        assert_eq!(touches.take(), Touched::All);
    }
}

//! What the log has behind the last rows of the ledger: counted while it is replayed, so that the minute in which an archiver
//! was killed can be accounted for.

use std::collections::HashMap;

use sample::{LEDGER_SHARES, LedgerScale, PvId, Record, Timestamp, Unfinished, UnfinishedShare, ledger_share};

use crate::{catalog::Position, engine::Engine, registry::Registry};

/// Counts along with a replay.
#[derive(Debug)]
pub(crate) struct Tail {
    /// PVs that the archive keeps for itself; of those that hold minutes, the share.
    own: HashMap<PvId, Option<usize>>,
    began: Option<Timestamp>,
    emptied: Option<Timestamp>,
    shares: Vec<UnfinishedShare>,
}

impl Tail {
    pub(crate) fn new(registry: &Registry, position: Position, emptied: Option<Timestamp>) -> Tail {
        let minutes: Vec<String> = LedgerScale::Minute.names().collect();
        let share = |name: &str| minutes.iter().position(|minute| minute == name);
        let own = registry.own().iter().map(|(pv, entry)| (*pv, share(entry.name.as_str()))).collect();
        // A log from which nothing was ever taken has everything.
        let row_in_log = position.frame == 0;
        let share = UnfinishedShare { row_in_log, ..UnfinishedShare::default() };
        Tail { own, began: position.alive, emptied, shares: vec![share; LEDGER_SHARES] }
    }

    pub(crate) fn note(&mut self, records: &[(PvId, Record)]) {
        for (pv, record) in records {
            let samples = record.samples() as u64;
            match self.own.get(pv) {
                None if samples > 0 => *self.shares[ledger_share(*pv)].samples.entry(*pv).or_default() += samples,
                Some(Some(share)) if samples > 0 => {
                    self.shares[*share].samples.clear();
                    self.shares[*share].row_in_log = true;
                }
                _ => {}
            }
        }
    }

    pub(crate) fn finish(self, alive: Option<Timestamp>) -> Unfinished {
        Unfinished { alive, began: self.began, emptied: self.emptied, shares: self.shares }
    }
}

impl Engine {
    /// What was found at the opening, with the last row of each share.
    pub(crate) fn unfinished(&self, last_row: impl Fn(PvId) -> Option<sample::Sample>) -> Unfinished {
        let mut unfinished = self.unfinished.lock().expect("no holder of this lock panics").clone();
        let own: HashMap<String, PvId> = {
            let registry = self.registry();
            registry.own().iter().map(|(pv, entry)| (entry.name.to_string(), *pv)).collect()
        };
        for (name, share) in LedgerScale::Minute.names().zip(&mut unfinished.shares) {
            share.last_row = own.get(&name).and_then(|pv| last_row(*pv));
        }
        unfinished
    }
}

//! What the archive has behind the last rows of the ledger: counted as it is appended, so that the minute in which an archiver was
//! killed can be accounted for.
//!
//! ```text
//!   append ──► counts ──► at each flush a copy goes into the catalogue, as what is in blocks is not replayed
//!   opening: counts in the catalogue + what the log has behind them ──► Unfinished ──► rows of the ledger
//! ```

use std::collections::BTreeMap;

use archive::{LEDGER_SHARES, LedgerScale, PvId, Record, Unfinished, UnfinishedShare, ledger_share};
use sample::Timestamp;

use crate::catalog::registry::Registry;

/// How many samples came behind the last row of the minutes, by PV.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Untold {
    /// By number of the PV.
    samples: Vec<u32>,
    /// A bit for each share: everything behind its last row is counted.
    whole: u64,
}

impl Untold {
    /// Of an archive in which nothing was ever told, or nothing is known of it.
    pub(crate) fn new(whole: bool) -> Untold {
        Untold { samples: Vec::new(), whole: if whole { u64::MAX } else { 0 } }
    }

    fn count(&mut self, pv: PvId, samples: u64) {
        let place = pv.0 as usize;
        if place >= self.samples.len() {
            self.samples.resize(place + 1, 0);
        }
        let count = &mut self.samples[place];
        *count = count.saturating_add(u32::try_from(samples).unwrap_or(u32::MAX));
    }

    /// A row of a share tells of all that came before it.
    fn tell(&mut self, share: usize) {
        self.samples.iter_mut().skip(share).step_by(LEDGER_SHARES).for_each(|count| *count = 0);
        self.whole |= 1 << share;
    }

    /// As numbers: the shares that are whole, then for each PV of which something is counted how many are passed over, and its count.
    pub(crate) fn numbers(&self) -> (u64, Vec<u32>) {
        let mut numbers = Vec::new();
        let mut next = 0;
        for (place, count) in self.samples.iter().enumerate().filter(|(_, count)| **count > 0) {
            numbers.extend([(place - next) as u32, *count]);
            next = place + 1;
        }
        (self.whole, numbers)
    }

    /// The same backwards; none if a number is beyond the PVs that there are.
    pub(crate) fn of_numbers((whole, numbers): (u64, &[u32]), pvs: u32) -> Option<Untold> {
        let mut untold = Untold { samples: Vec::new(), whole };
        let (pairs, rest) = numbers.as_chunks::<2>();
        let mut next = 0_u32;
        for [skip, count] in pairs {
            let place = next.checked_add(*skip).filter(|place| *place < pvs)?;
            untold.count(PvId(place), u64::from(*count));
            next = place + 1;
        }
        rest.is_empty().then_some(untold)
    }
}

/// Counts what is appended, or was and is replayed.
#[derive(Debug)]
pub(crate) struct Tail {
    untold: Untold,
    /// The PVs that the archive keeps for itself; of those that hold minutes, the share.
    own: BTreeMap<PvId, Option<usize>>,
}

impl Tail {
    pub(crate) fn new(registry: &Registry, untold: Untold) -> Tail {
        let mut tail = Tail { untold, own: BTreeMap::new() };
        tail.learn(registry);
        tail
    }

    /// The archive keeps other PVs for itself by now.
    pub(crate) fn learn(&mut self, registry: &Registry) {
        let minutes: Vec<String> = LedgerScale::Minute.names().collect();
        let share = |name: &str| minutes.iter().position(|minute| minute == name);
        self.own = registry.own().iter().map(|(pv, entry)| (*pv, share(entry.name.as_str()))).collect();
    }

    pub(crate) fn note(&mut self, records: &[(PvId, Record)]) {
        for (pv, record) in records {
            match record {
                Record::Gap(_) | Record::Metadata(..) => {}
                Record::LedgerRow(_) => self.note_own(*pv),
                Record::Sample(_) | Record::Samples(_) | Record::Array(_) => {
                    self.untold.count(*pv, record.samples() as u64);
                }
            }
        }
    }

    /// The same of what the log had, which does not say what is the archive's own. Gives how many samples are not.
    pub(crate) fn note_replayed(&mut self, pv: PvId, record: &Record) -> u64 {
        match record.samples() as u64 {
            0 => 0,
            _ if self.own.contains_key(&pv) => {
                self.note_own(pv);
                0
            }
            samples => {
                self.untold.count(pv, samples);
                samples
            }
        }
    }

    fn note_own(&mut self, pv: PvId) {
        if let Some(Some(share)) = self.own.get(&pv) {
            self.untold.tell(*share);
        }
    }

    /// What was counted before the first of what was noted here: a share of which a row was written since has told of that.
    pub(crate) fn put_before(&mut self, earlier: &Untold) {
        for (place, count) in earlier.samples.iter().enumerate().filter(|(_, count)| **count > 0) {
            if self.untold.whole & 1_u64 << (place % LEDGER_SHARES) == 0 {
                self.untold.count(PvId(place as u32), u64::from(*count));
            }
        }
        self.untold.whole |= earlier.whole;
    }

    pub(crate) fn untold(&self) -> &Untold {
        &self.untold
    }

    /// What has been counted up to the opening, of an archiver that lived from one moment to the other.
    pub(crate) fn unfinished(&self, began: Option<Timestamp>, alive: Option<Timestamp>) -> Unfinished {
        let is_whole = |share| self.untold.whole & 1_u64 << share != 0;
        let share = |share| UnfinishedShare { is_whole: is_whole(share), ..UnfinishedShare::default() };
        let mut shares: Vec<UnfinishedShare> = (0..LEDGER_SHARES).map(share).collect();
        for (place, count) in self.untold.samples.iter().enumerate().filter(|(_, count)| **count > 0) {
            let pv = PvId(place as u32);
            shares[ledger_share(pv)].samples.insert(pv, u64::from(*count));
        }
        Unfinished { alive, began, shares }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_from_their_numbers_and_a_row_ends_those_of_its_share() {
        let mut untold = Untold::new(false);
        for (pv, samples) in [(3, 7), (67, 1), (4, u64::MAX), (100, 2), (3, 1)] {
            untold.count(PvId(pv), samples);
        }
        let (whole, numbers) = untold.numbers();
        assert_eq!((whole, &*numbers), (0, &[3, 8, 0, u32::MAX, 62, 1, 32, 2][..]));
        assert_eq!(Untold::of_numbers((whole, &numbers), 101), Some(untold.clone()));
        assert_eq!(Untold::of_numbers((whole, &numbers), 100), None, "there is no such PV");
        assert_eq!(Untold::of_numbers((whole, &numbers[..3]), 101), None, "a number is missing");
        assert_eq!(Untold::of_numbers((whole, &[u32::MAX, 1, 0, 1]), u32::MAX), None, "beyond all numbers");
        untold.tell(3);
        assert_eq!(untold.numbers(), (1 << 3, vec![4, u32::MAX, 95, 2]));
    }
}

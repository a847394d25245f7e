//! Every update of every PV, read back from the archive and compared with what the farm sent.

use std::path::Path;

use archive::{
    LedgerScale, PvId,
    ledger::{Account, account_in},
    ledger_share,
};
use epics::{Array, Value};
use sample::{Batch, Column, Severity, TimeRange};
use store::Reader;

use crate::{
    farm::{Plan, numbers},
    store_bench::{self, Outcome},
};

/// What the archive holds.
#[derive(Default)]
pub(crate) struct Frames {
    /// Updates of which anything arrived; an archiver's own count.
    pub(crate) pvs: u64,
    pub(crate) stored: u64,
    /// With other elements, another time or another place than the farm's.
    pub(crate) wrong: u64,
    /// Between the first and the last that is stored.
    pub(crate) missing: u64,
    /// Those of them that were due when all had been connected for a while.
    pub(crate) missing_later: u64,
    /// When the first and the last of these were due, in seconds since the start of the farm.
    pub(crate) missing_at: Option<(f64, f64)>,
    pub(crate) ledger: Ledger,
}

/// What the ledger in the archive says, and where it disagrees.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) sum: Account,
    /// PVs of which it has another number stored than the archive has, or whose account does not add up.
    pub(crate) false_pvs: u64,
    /// PVs of which more is missing than the archiver lost, so that the IOC must have left it out.
    pub(crate) short_pvs: u64,
    /// Those of them that the ledger does not suspect.
    pub(crate) unsuspected_pvs: u64,
}

/// Reads an archive that nobody else has open. From `settled` on, in seconds since the start of the farm, what is missing is counted
/// apart.
pub(crate) fn check(plan: &Plan, folder: &Path, settled: f64) -> Outcome<Frames> {
    let store = store_bench::open(folder, store_bench::now(), |_| {})?;
    let reader = store.reader();
    let mut frames = Frames::default();
    let shares: Vec<Vec<Batch>> =
        LedgerScale::Minute.names().map(|name| rows(&reader, &name)).collect::<Outcome<_>>()?;
    for pv in 0..plan.len() {
        let name = plan.name(pv);
        let entry = reader.find(&name).ok_or_else(|| format!("the archive does not know {name}"))?;
        let mut expected = Expected::new(plan, pv, settled);
        for batch in reader.samples(entry.id, TimeRange::ALL) {
            expected.compare(&batch?);
        }
        let account = account(&shares[ledger_share(entry.id)], entry.id)?;
        frames.add(&expected, account);
    }
    drop(reader);
    store.close(store_bench::now())?;
    Ok(frames)
}

/// The rows of one share of the ledger.
fn rows(reader: &Reader, name: &str) -> Outcome<Vec<Batch>> {
    let Some(own) = reader.own(name) else { return Ok(Vec::new()) };
    Ok(reader.samples(own, TimeRange::ALL).collect::<Result<_, _>>()?)
}

/// What all of them say of one PV.
fn account(rows: &[Batch], pv: PvId) -> Outcome<Account> {
    let mut sum = Account::default();
    for batch in rows {
        let Column::Array(arrays) = batch.values() else { return Err("the ledger holds no arrays".into()) };
        let Column::U8(bytes) = arrays.elements() else { return Err("the ledger holds no bytes".into()) };
        for (row, time) in batch.times().iter().enumerate() {
            let bytes = &bytes[arrays.range(row)];
            let (_, account) = account_in(bytes, *time, pv).map_err(|_| "a row of the ledger is broken")?;
            sum += account.unwrap_or_default();
        }
    }
    Ok(sum)
}

impl Frames {
    fn add(&mut self, found: &Expected, account: Account) {
        self.pvs += u64::from(account.received > 0);
        self.stored += found.stored;
        self.wrong += found.wrong;
        self.missing += found.missing;
        self.missing_later += found.missing_later;
        if let Some((first, last)) = found.missing_numbers {
            let seconds = |number| found.due(number);
            let (from, to) = self.missing_at.unwrap_or((f64::MAX, 0.0));
            self.missing_at = Some((from.min(seconds(first)), to.max(seconds(last))));
        }
        let ledger = &mut self.ledger;
        ledger.sum += account;
        ledger.false_pvs += u64::from(account.stored != found.stored || !account.adds_up());
        let is_short = found.missing > account.lost();
        ledger.short_pvs += u64::from(is_short);
        ledger.unsuspected_pvs += u64::from(is_short && account.suspected_ms == 0);
    }
}

/// The updates of one PV.
struct Expected<'a> {
    plan: &'a Plan,
    pv: u32,
    /// Of the arrays of which only element 0 changes, the last; compared without being made anew.
    frame: Option<Array>,
    next: Option<u64>,
    stored: u64,
    wrong: u64,
    missing: u64,
    missing_later: u64,
    settled: f64,
    /// The first and the last that is missing.
    missing_numbers: Option<(u64, u64)>,
}

impl Expected<'_> {
    fn new(plan: &Plan, pv: u32, settled: f64) -> Expected<'_> {
        let frame = match plan.value(pv, 0) {
            Value::Array(array) if plan.is_ramp(pv) => Some(array),
            _ => None,
        };
        let (stored, wrong, missing, missing_later) = (0, 0, 0, 0);
        let (next, missing_numbers) = (None, None);
        Expected { plan, pv, frame, next, stored, wrong, missing, missing_later, settled, missing_numbers }
    }

    /// When an update is due, in seconds since the start of the farm.
    fn due(&self, number: u64) -> f64 {
        let stamp = self.plan.stamp(self.pv, number);
        (stamp.seconds * 1_000_000_000 + i64::from(stamp.nanos) - self.plan.start) as f64 / 1e9
    }

    fn compare(&mut self, batch: &Batch) {
        for (row, time) in batch.times().iter().enumerate() {
            let number = self.number(batch, row);
            let stamp = self.plan.stamp(self.pv, number.unwrap_or(0));
            let nanos = stamp.seconds * 1_000_000_000 + i64::from(stamp.nanos);
            let next = self.next.or(number).unwrap_or(0);
            let is_alarmed = batch.alarms().get(row).severity == Severity::from_number(stamp.severity.into());
            let is_right = number.is_some_and(|number| number >= next) && time.nanos() == nanos && is_alarmed;
            self.stored += 1;
            self.wrong += u64::from(!is_right);
            let Some(number) = number else { continue };
            if number > next {
                self.missing += number - next;
                let later = (next..number).rev().take_while(|missing| self.due(*missing) >= self.settled).count();
                self.missing_later += later as u64;
                let first = self.missing_numbers.map_or(next, |(first, _)| first);
                self.missing_numbers = Some((first, number - 1));
            }
            self.next = Some(number + 1);
        }
    }

    /// The number of an update; none if anything in it is not as it should be.
    fn number(&mut self, batch: &Batch, row: usize) -> Option<u64> {
        let arrays = match batch.values() {
            Column::Array(arrays) => arrays,
            Column::String(texts) => return texts.get(row).parse().ok(),
            numbers => return numbers.f64_at(row).map(|value| value as u64),
        };
        let range = arrays.range(row);
        match (arrays.elements(), &mut self.frame) {
            (Column::I32(all), Some(Array::I32(frame))) => {
                let found = all.get(range)?;
                *frame.first_mut()? = *found.first()?;
                (found == frame.as_slice()).then_some(u64::try_from(frame[0]).ok()?)
            }
            (Column::F64(all), Some(Array::F64(frame))) => {
                let found = all.get(range)?;
                *frame.first_mut()? = *found.first()?;
                (found == frame.as_slice()).then_some(frame[0] as u64)
            }
            (elements, _) => {
                let number = elements.f64_at(range.start)? as u64;
                let Value::Array(expected) = self.plan.value(self.pv, number) else { return None };
                let expected = numbers(&expected);
                let is_so = range.len() == expected.len()
                    && range.zip(expected).all(|(place, number)| elements.f64_at(place) == Some(number));
                is_so.then_some(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Runs, Timestamp};

    use super::*;

    /// Updates of the only PV of a plan, as an archive would have them, the last with another value if so wished.
    fn batch(plan: &Plan, numbers: &[u64], last: f64) -> Batch {
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), numbers.len());
        pulses.push(&0, numbers.len());
        let time = |number: &u64| {
            let stamp = plan.stamp(0, *number);
            Timestamp::from_seconds(stamp.seconds, stamp.nanos)
        };
        let mut values: Vec<f64> = numbers.iter().map(|number| *number as f64).collect();
        values.pop();
        values.push(last);
        let times = numbers.iter().map(time).collect();
        Batch::from_columns(times, Column::F64(values), alarms, pulses).expect("columns of one length")
    }

    #[test]
    fn a_jump_is_missing_and_a_value_at_another_time_is_wrong() {
        let plan = Plan::new(vec!["name=A,rate=10".parse().expect("a group")], 1_800_000_000_000_000_000);
        let mut found = Expected::new(&plan, 0, 0.35);
        found.compare(&batch(&plan, &[1, 2], 2.0));
        found.compare(&batch(&plan, &[5, 6], 6.0));
        assert_eq!((found.stored, found.wrong, found.missing, found.missing_later), (4, 0, 2, 1));
        assert_eq!(found.missing_numbers, Some((3, 4)));
        let mut frames = Frames::default();
        frames.add(&found, Account { received: 5, stored: 4, queue_full: 1, ..Account::default() });
        let (from, to) = frames.missing_at.expect("some are missing");
        assert!((from - 0.3).abs() < 1e-9 && (to - 0.4).abs() < 1e-9);
        let ledger = &frames.ledger;
        assert_eq!((ledger.false_pvs, ledger.short_pvs, ledger.unsuspected_pvs), (0, 1, 1), "one is nobody's");
        found.compare(&batch(&plan, &[7], 9.0));
        assert_eq!(found.wrong, 1);
        frames.add(&found, Account { received: 5, stored: 4, queue_full: 1, suspected_ms: 7, ..Account::default() });
        let ledger = &frames.ledger;
        assert_eq!((ledger.false_pvs, ledger.short_pvs, ledger.unsuspected_pvs), (1, 2, 1), "one is not in the ledger");
    }
}

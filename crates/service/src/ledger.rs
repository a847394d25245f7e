//! Reads the ledger: rows of minutes and hours become the account of one PV, in steps of equal length.
//!
//! Where a stretch has rows of hours and a step does not cut it, they are read; the rest comes from rows of minutes. What has
//! neither lies in a gap of the archiver, or was before there was a ledger.

use archive::{
    Directory, LedgerScale, PvId,
    ledger::{Account, Origin, account_in},
    ledger_share,
};
use query::{Before, Error, Query, Request};
use sample::{Column, TimeRange, Timestamp, Value};

/// One row, as far as it is about the PV.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub from: Timestamp,
    pub until: Timestamp,
    pub origin: Origin,
    pub account: Account,
}

/// What the ledger says of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What became of the updates.
    pub account: Account,
    /// Nanoseconds of which there are rows.
    pub covered: i64,
    /// Some of it was put together after a crash.
    pub rebuilt: bool,
    /// And some of that is not known.
    pub incomplete: bool,
}

const HOUR: i64 = 3_600_000_000_000;

/// The longest that a row of each scale may last, so that one that begins before a range and reaches into it is found.
const REACH: [i64; 2] = [2 * 60_000_000_000, 2 * HOUR];

/// The rows about one PV that end by some time.
#[derive(Clone, Copy)]
pub(crate) struct Ledger<'a> {
    /// Where they are read.
    pub archive: &'a Query,
    /// Which PVs the archive keeps for itself.
    pub own: &'a dyn Directory,
    /// Which.
    pub pv: PvId,
    /// What has come since is counted elsewhere.
    pub until: Timestamp,
}

/// Calls `act` with each row of a share that begins in `range`: with its time and its bytes. What is damaged is passed over, as the
/// store tells of it.
pub(crate) fn each_row(
    archive: &Query,
    own: &dyn Directory,
    name: &str,
    range: TimeRange,
    act: impl FnMut(Timestamp, &[u8]),
) -> Result<(), Error> {
    own.own(name).map_or(Ok(()), |own| each_row_of(archive, own, range, act))
}

/// The same of the PV that holds them.
fn each_row_of(
    archive: &Query,
    own: PvId,
    range: TimeRange,
    mut act: impl FnMut(Timestamp, &[u8]),
) -> Result<(), Error> {
    for batch in archive.samples(&Request { series: own.into(), range, before: Before::None }) {
        let batch = match batch {
            Err(error) if error.is_damage() => continue,
            batch => batch?,
        };
        for row in 0..batch.len() {
            let sample = batch.get(row);
            if let Value::Array(Column::U8(bytes)) = &sample.value {
                act(sample.time, bytes);
            }
        }
    }
    Ok(())
}

impl Ledger<'_> {
    /// What rows say that begin in `range`, in the order of time.
    fn stretches(self, range: TimeRange, step: i64) -> Result<Vec<Stretch>, Error> {
        let hours = if step % HOUR == 0 { self.rows(LedgerScale::Hour, range)? } else { Vec::new() };
        let mut all = Vec::new();
        let mut from = range.t0;
        // The hours as they are, and minutes in between.
        for hour in hours {
            all.extend(self.minutes(from, hour.from, range)?);
            from = hour.until.max(from);
            all.push(hour);
        }
        all.extend(self.minutes(from, range.t1, range)?);
        Ok(all)
    }

    fn minutes(self, t0: Timestamp, t1: Timestamp, range: TimeRange) -> Result<Vec<Stretch>, Error> {
        let (t0, t1) = (t0.max(range.t0), t1.min(range.t1));
        if t0 >= t1 { Ok(Vec::new()) } else { self.rows(LedgerScale::Minute, TimeRange { t0, t1 }) }
    }

    /// The rows of one scale that begin in `range`. Damaged ones are passed over: the store tells of them.
    fn rows(self, scale: LedgerScale, range: TimeRange) -> Result<Vec<Stretch>, Error> {
        let name = scale.names().nth(ledger_share(self.pv)).unwrap_or_default();
        let mut found = Vec::new();
        let Some((own, pv)) = self.own.ledger_of(self.pv, &name) else { return Ok(found) };
        each_row_of(self.archive, own, range, |from, bytes| {
            let Ok((head, account)) = account_in(bytes, from, pv) else { return };
            let account = account.unwrap_or_default();
            if head.until <= self.until {
                found.push(Stretch { from, until: head.until, origin: head.origin, account });
            }
        })?;
        Ok(found)
    }

    /// The same in steps from the first multiple of `step` at or before the beginning of the range.
    pub(crate) fn steps(self, range: TimeRange, step: i64) -> Result<Vec<(Timestamp, Step)>, Error> {
        let first = range.t0.nanos().div_euclid(step).saturating_mul(step);
        let length = range.t1.nanos().saturating_sub(first).max(0).cast_unsigned();
        let count = length.div_ceil(step.cast_unsigned()) as usize;
        let mut steps = vec![Step::default(); count];
        let at = |n: usize| Timestamp::from_nanos(first.saturating_add((n as i64).saturating_mul(step)));
        let whole = TimeRange { t0: Timestamp::from_nanos(first), t1: at(count) };
        for stretch in self.stretches(whole, step)? {
            let Some(step) = steps.get_mut(((stretch.from.nanos() - first) / step) as usize) else { continue };
            step.account += stretch.account;
            step.covered += stretch.until.nanos() - stretch.from.nanos();
            step.rebuilt |= stretch.origin != Origin::Counted;
            step.incomplete |= stretch.origin == Origin::RebuiltInPart;
        }
        Ok(steps.into_iter().enumerate().map(|(n, step)| (at(n), step)).collect())
    }

    /// The account of a range, as far as rows that overlap it tell: a row is counted whole.
    pub(crate) fn account(self, range: TimeRange) -> Result<Step, Error> {
        let mut sum = Step::default();
        let is_long = range.t1.nanos().saturating_sub(range.t0.nanos()) > 48 * HOUR;
        let reach = REACH[usize::from(is_long)];
        let t0 = Timestamp::from_nanos(range.t0.nanos().saturating_sub(reach));
        let step = if is_long { HOUR } else { 1 };
        for stretch in self.stretches(TimeRange { t0, t1: range.t1 }, step)? {
            if stretch.until > range.t0 || stretch.from >= range.t0 {
                sum.account += stretch.account;
                let (from, until) = (stretch.from.max(range.t0), stretch.until.min(range.t1));
                sum.covered += (until.nanos() - from.nanos()).max(0);
                sum.rebuilt |= stretch.origin != Origin::Counted;
                sum.incomplete |= stretch.origin == Origin::RebuiltInPart;
            }
        }
        Ok(sum)
    }
}

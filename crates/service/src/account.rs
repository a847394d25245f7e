//! What became of every update of a PV: the account of a range in steps, with what has been counted since the last row.

use std::time::Duration;

use archive::{PvEntry, ledger::Account};
use sample::{TimeRange, Timestamp};

use crate::{
    ask::Ask,
    clock::now,
    ledger::{Ledger, Step},
    refusal::{Code, Refusal},
};

const MINUTE: u64 = 60;

/// What a step takes until it is sent.
const STEP_BYTES: usize = 256;

/// More steps are not answered.
const STEPS_MAX: i64 = 100_000;

/// What became of every update of a PV in a range.
#[derive(Clone, Debug)]
pub struct LedgerAnswer {
    /// Each step with its beginning.
    pub steps: Vec<(Timestamp, Step)>,
    /// All of them together.
    pub total: Step,
}

/// The steps of a range, with what has been counted since the last row.
pub(crate) fn answer(ask: &Ask, entry: &PvEntry, range: TimeRange, seconds: u64) -> Result<LedgerAnswer, Refusal> {
    let step = Duration::from_secs(seconds).as_nanos();
    let step = i64::try_from(step).ok().filter(|_| seconds > 0 && seconds.is_multiple_of(MINUTE)).ok_or_else(|| {
        Refusal::new(Code::BadRequest, format!("step is {seconds}, expected seconds that are whole minutes"))
    })?;
    let count = (range.t1.nanos().saturating_sub(range.t0.nanos())) / step;
    if count > STEPS_MAX {
        let message = format!("the range has {count} steps, at most {STEPS_MAX} are answered");
        return Err(Refusal::new(Code::TooLarge, message).hint("ask for a longer step"));
    }
    ask.lease.grow_by(usize::try_from(count).unwrap_or(0), STEP_BYTES)?;
    let open = ask.listed().behind.standing.open_account(entry.id);
    let until = open.map_or(Timestamp::MAX, |(since, _)| since);
    let mut steps =
        Ledger { archive: &ask.listed().archive_alone, own: &*ask.listed().behind.directory, pv: entry.id, until }
            .steps(range, step)?;
    if let Some(open) = open {
        add_open_minute(open, &mut steps, step);
    }
    let mut total = Step::default();
    for (_, step) in &steps {
        total.account += step.account;
        total.covered += step.covered;
    }
    Ok(LedgerAnswer { steps, total })
}

/// What has been counted since the last row.
fn add_open_minute((since, open): (Timestamp, Account), steps: &mut [(Timestamp, Step)], step: i64) {
    let now = now();
    for (from, at) in steps {
        let until = Timestamp::from_nanos(from.nanos().saturating_add(step));
        if (*from..until).contains(&since) {
            at.account += open;
            at.covered += (now.nanos() - since.nanos()).max(1);
        }
    }
}

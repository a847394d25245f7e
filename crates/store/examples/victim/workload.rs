//! What the victim writes: each sample follows from its place in the order of appending, so that nobody has to remember any.

use archive::{PvId, Record};
use sample::{Alarm, Batch, Column, Gap, GapCause, Sample, Severity, Timestamp, Value};

/// PVs that get samples all the time.
pub(crate) const PVS: u64 = 100;
/// Samples in one record.
pub(crate) const BATCH: u64 = 8;
/// Samples in one round, which is one call of `append`: a record for each PV.
pub(crate) const ROUND: u64 = PVS * BATCH;
/// Each so many rounds the first PV has a gap.
pub(crate) const GAP_ROUNDS: u64 = 20;

const START: i64 = 1_767_571_200_000_000_000; // Monday 2026-01-05
const STEP_NANOS: i64 = 1_000_000;
/// So much earlier than its turn a late sample may be.
pub(crate) const LATE_STEPS: u64 = 50;

pub(crate) fn name(pv: u64) -> String {
    format!("V:{pv:03}")
}

/// When a cycle begins by the archive's clock: two a day, so that weeks end while an archive is in use.
pub(crate) fn clock(cycle: u64) -> Timestamp {
    Timestamp::from_nanos(START + cycle as i64 * 43_200_000_000_000)
}

/// How many samples of a PV there are among the first `appended` of all.
pub(crate) fn count(pv: u64, appended: u64) -> u64 {
    let (rounds, rest) = (appended / ROUND, appended % ROUND);
    rounds * BATCH + rest.saturating_sub(pv * BATCH).min(BATCH)
}

/// When sample `n` of any PV would come if none were late.
pub(crate) fn turn(n: u64) -> Timestamp {
    Timestamp::from_nanos(START + n as i64 * STEP_NANOS)
}

/// Sample `n` of a PV. Its value is like no other of the PV, so that none can stand for another.
pub(crate) fn sample(pv: u64, n: u64) -> Sample {
    let luck = (pv << 32 | n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let steps = if luck.is_multiple_of(16) { n.saturating_sub(luck / 16 % LATE_STEPS) } else { n - n % 5 % 2 };
    let kind = if pv % 5 == 4 { n / 700 % 4 } else { pv % 5 };
    let value = match kind {
        0 => Value::F64((pv + n) as f64 * 0.1),
        1 => Value::I32(n as i32),
        2 => Value::String(format!("step {n} of {pv}").into()),
        _ => Value::Array(Column::U16(vec![n as u16, (n >> 16) as u16, pv as u16])),
    };
    let severity = if n.is_multiple_of(300) { Severity::Minor } else { Severity::None };
    let alarm = Alarm { severity, status: severity as u16, message: None };
    Sample { time: turn(steps), value, alarm, pulse: if pv == 7 { n } else { 0 }, stamp: None }
}

pub(crate) fn gap(round: u64) -> Gap {
    let to = Some(turn(round * BATCH + 1));
    Gap { from: turn(round * BATCH), to, cause: GapCause::Disconnected, lost: round }
}

/// What is appended from `appended` to the end of its round.
pub(crate) fn rest_of_round(pvs: &[PvId], appended: u64) -> Vec<(PvId, Record)> {
    let round = appended / ROUND;
    let mut records = Vec::new();
    if appended.is_multiple_of(ROUND) && round.is_multiple_of(GAP_ROUNDS) {
        records.push((pvs[0], Record::Gap(gap(round))));
    }
    for (pv, id) in (0..).zip(pvs).skip((appended % ROUND / BATCH) as usize) {
        let mut batches: Vec<Batch> = Vec::new();
        for n in round * BATCH..(round + 1) * BATCH {
            let sample = sample(pv, n);
            if !batches.last_mut().is_some_and(|batch| batch.push(&sample)) {
                batches.push(Batch::of(&sample));
            }
        }
        records.extend(batches.into_iter().map(|batch| (*id, Record::Samples(batch))));
    }
    records
}

//! What the ledger costs: the rows of 100,000 PVs, beside the samples that they count.
//!
//! The samples are of one in a hundred of the PVs, through the same store's log, head and flush, and stand for all: shares are
//! quotients of what a PV and hour takes. How many updates of a PV come in a minute scatters by one, as the ends of minutes
//! fall on either side of an update.

use std::time::Duration;

use archive::{
    LEDGER_SHARES, LedgerScale, PvId, PvName, Record,
    ledger::{Account, Origin, RowHead, encode_row},
    ledger_share,
};
use sample::{Alarm, Column, Sample, Timestamp, Value};
use store::Store;

use crate::{
    measure::Stopwatch,
    store_bench::{CaseBench, Outcome, append, fill, flush, merge, now, register},
    workload::{Kind, Noise, Pace, Signal},
};

const PVS: usize = 100_000;
/// The PVs of which there are samples.
const SAMPLED: usize = 1000;
const MINUTE: Duration = Duration::from_secs(60);

/// What something took, of each PV and hour.
struct Cost {
    bytes: f64,
    cpu: f64,
}

pub(super) fn costs(bench: &CaseBench) -> Outcome<()> {
    let hours = (8.0 * bench.scale).ceil().max(2.0) as usize;
    let rows = rows(bench, hours)?;
    let samples = samples(bench, hours)?;
    bench.tell("bytes of the ledger per PV and day", rows.bytes * 24.0, "B");
    bench.tell("bytes of samples at 1 Hz per PV and day", samples.bytes * 24.0, "B");
    bench.tell("of bytes", rows.bytes / samples.bytes * 100.0, "%");
    bench.tell("processor time of the ledger per PV and day", rows.cpu * 24.0 * 1e6, "µs");
    bench.tell("of processor time of the store", rows.cpu / samples.cpu * 100.0, "%");
    Ok(())
}

/// A row for each share and minute, and for each hour, flushed once an hour and merged.
fn rows(bench: &CaseBench, hours: usize) -> Outcome<Cost> {
    let store = bench.new_store("ledger", |_| {})?;
    let names = [LedgerScale::Minute, LedgerScale::Hour].into_iter().flat_map(LedgerScale::names);
    let names: Vec<PvName> = names.map(|name| PvName::recorded(&name)).collect::<Result<_, _>>()?;
    let own = store.writer().own(&names, now())?;
    let (minutes, by_hour) = own.split_at(LEDGER_SHARES);
    let mut shares = vec![Vec::new(); LEDGER_SHARES];
    (0..PVS as u32).map(PvId).for_each(|pv| shares[ledger_share(pv)].push(pv));
    let (mut noise, mut at) = (Noise::new(bench.seed), now());
    let clock = Stopwatch::start();
    for _ in 0..hours {
        let began = at;
        for _ in 0..60 {
            put(&store, minutes, &shares, (at, at.saturating_add(MINUTE)), &mut || 59 + noise.below(3))?;
            at = at.saturating_add(MINUTE);
        }
        put(&store, by_hour, &shares, (began, at), &mut || 3599 + noise.below(3))?;
        flush(&store)?;
    }
    merge(&store, at)?;
    let per = (PVS * hours) as f64;
    let cost = Cost { bytes: store.reader().health().block_bytes as f64 / per, cpu: clock.passed().cpu / per };
    store.close(at)?;
    Ok(cost)
}

/// A row for each share.
fn put(
    store: &Store,
    own: &[PvId],
    shares: &[Vec<PvId>],
    (from, until): (Timestamp, Timestamp),
    received: &mut impl FnMut() -> u64,
) -> Outcome<()> {
    let row = |(own, pvs): (&PvId, &Vec<PvId>)| {
        let accounts: Vec<_> = pvs.iter().map(|pv| (*pv, Account::usual(received()))).collect();
        let row = encode_row(RowHead { until, origin: Origin::Counted }, from, &accounts);
        let value = Value::Array(Column::U8(row));
        (*own, Record::LedgerRow(Sample { time: from, value, alarm: Alarm::default(), pulse: 0, stamp: None }))
    };
    append(store, &own.iter().zip(shares).map(row).collect::<Vec<_>>())?;
    Ok(())
}

/// Samples of a converter at 1 Hz.
fn samples(bench: &CaseBench, hours: usize) -> Outcome<Cost> {
    let store = bench.new_store("ledger-samples", |_| {})?;
    let pvs = register(&store, SAMPLED)?;
    let mut signals = bench.signals(SAMPLED, |_, seed| Signal::new(Kind::Adc, Pace::Late100us, seed));
    let clock = Stopwatch::start();
    fill(&store, &pvs, &mut signals, hours * 3600)?;
    let per = (SAMPLED * hours) as f64;
    let cost = Cost { bytes: store.reader().health().block_bytes as f64 / per, cpu: clock.passed().cpu / per };
    store.close(now())?;
    Ok(cost)
}

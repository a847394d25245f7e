//! Many PVs: the memory of 150,000 that send, and an archive that knows a million.

use std::{collections::HashSet, time::Instant};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record};
use sample::TimeRange;

use crate::{
    measure::{memory_mib, peak_memory_mib},
    store_bench::{CaseBench, Outcome, append, now, open, register},
    workload::{Kind, Pace, Signal},
};

const MILLION: &str = "million";

/// 150,000 PVs at 1 Hz for some minutes, as fast as they are taken.
pub(super) fn live(bench: &CaseBench) -> Outcome<()> {
    let store = bench.new_store("live", |_| {})?;
    let pvs = register(&store, 150_000)?;
    let registered = memory_mib();
    let mut signals = bench.signals(pvs.len(), |number, seed| Signal::new(Kind::of_mix(number), Pace::Late100us, seed));
    let signals_mib = memory_mib() - registered;
    for _ in 0..(180.0 * bench.scale.max(1.0)).ceil() as usize {
        for (pvs, signals) in pvs.chunks(1000).zip(signals.chunks_mut(1000)) {
            let records = |(pv, signal): (&PvId, &mut Signal)| (*pv, Record::Samples(signal.batch(1)));
            append(&store, &pvs.iter().zip(signals).map(records).collect::<Vec<_>>())?;
        }
    }
    let health = store.reader().health();
    bench.tell("registered only", registered, "MiB");
    bench.tell("peak memory", peak_memory_mib() - signals_mib, "MiB");
    bench.tell("flushes meanwhile", health.flushes as f64, "");
    store.close(now())?;
    Ok(())
}

/// An archive with a million PVs, of which each thousandth has samples.
pub(super) fn million_write(bench: &CaseBench) -> Outcome<()> {
    let store = bench.new_kept_store(MILLION, |_| {})?;
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
    let count = (1e6 * bench.scale.max(1.0)) as usize;
    let started = Instant::now();
    for first in (0..count).step_by(50_000) {
        let name = |number| PvName::new(&format!("SR{:02}:{}:{number:07}:RBV", number % 48, number % 977));
        let names: Result<Vec<PvName>, _> = (first..count.min(first + 50_000)).map(name).collect();
        let pvs: Vec<_> = names?.into_iter().map(|name| (name, settings.clone())).collect();
        let entries = store.writer().register(&pvs, &By::new("the lab", now()))?;
        for entry in entries.iter().step_by(1000) {
            let batch = Signal::new(Kind::Adc, Pace::Late100us, u64::from(entry.id.0)).batch(100);
            append(&store, &[(entry.id, Record::Samples(batch))])?;
        }
    }
    bench.tell("registering", count as f64 / started.elapsed().as_secs_f64() / 1e3, "thousand/s");
    store.close(now())?;
    let catalogue = std::fs::metadata(bench.folder(MILLION).join("catalogue.redb"))?;
    bench.tell("catalogue", catalogue.len() as f64 / 1e6, "MB");
    Ok(())
}

/// Opens it in a new process.
pub(super) fn million_open(bench: &CaseBench) -> Outcome<()> {
    let folder = bench.folder(MILLION);
    if !folder.exists() {
        return Err("there is no archive; run million-write before, with the same --folder".into());
    }
    let started = Instant::now();
    let store = open(&folder, now(), |_| {})?;
    let reader = store.reader();
    let opened = started.elapsed().as_secs_f64();
    let pv = reader.find("SR00:0:0000000:RBV").ok_or("the archive has not the PV that it was given")?.id;
    let mut samples = 0;
    for batch in reader.samples(pv, TimeRange::ALL) {
        samples += batch?.len();
    }
    if samples != 100 {
        return Err(format!("100 samples were written, {samples} were read").into());
    }
    bench.tell("open", opened, "s");
    bench.tell("open to first answer", started.elapsed().as_secs_f64(), "s");
    let started = Instant::now();
    let entries = reader.entries();
    let numbers: HashSet<PvId> = entries.iter().map(|entry| entry.id).collect();
    bench.tell("list of all PVs", started.elapsed().as_secs_f64() * 1e3, "ms");
    bench.tell("PVs", numbers.len() as f64 / 1e6, "M");
    drop(numbers);
    bench.tell("memory", memory_mib(), "MiB");
    bench.tell("peak memory", peak_memory_mib(), "MiB");
    store.close(now())?;
    Ok(())
}

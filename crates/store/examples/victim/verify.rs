//! The oracle: what an archive must hold after a kill, and the sentence that says what is wrong with it.

use archive::GapScope;
use sample::{Sample, TimeRange};
use store::Store;

use crate::{
    Failure,
    changes::Stage,
    workload::{self, BATCH, GAP_ROUNDS, LATE_STEPS, PVS, ROUND},
};

/// What the lives before have told.
#[derive(Debug, Default)]
pub(crate) struct Promised {
    pub(crate) cycle: u64,
    /// So many samples were durable.
    pub(crate) durable: u64,
    /// No more than so many were ever appended.
    pub(crate) tried: u64,
    /// Whether to read all samples, or only those since `durable` and some before.
    pub(crate) full: bool,
    pub(crate) present: Vec<String>,
    pub(crate) absent: Vec<String>,
    pub(crate) stages: Vec<Stage>,
}

impl Promised {
    pub(crate) fn parse(words: &[String]) -> Result<Promised, Failure> {
        let mut promised = Promised::default();
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("what does {word} mean?"))?;
            match key {
                "cycle" => promised.cycle = value.parse()?,
                "durable" => promised.durable = value.parse()?,
                "tried" => promised.tried = value.parse()?,
                "full" => promised.full = value == "1",
                "present" => promised.present.push(value.to_owned()),
                "absent" => promised.absent.push(value.to_owned()),
                "stage" => promised.stages.push(Stage::parse(value)?),
                _ => return Err(format!("what does {word} mean?").into()),
            }
        }
        Ok(promised)
    }
}

/// Compares an archive that has just been opened with what was promised, and gives the number of its samples.
pub(crate) fn opened(store: &Store, promised: &Promised) -> Result<u64, Failure> {
    let reader = store.reader();
    let appended = reader.watermark().appended;
    let Promised { durable, tried, .. } = *promised;
    if appended < durable || appended > tried || !appended.is_multiple_of(BATCH) {
        return Err(format!("{appended} samples are there; {durable} were durable, {tried} were tried").into());
    }
    if let Some(problem) = reader.health().problems.iter().find(|problem| problem.contains("damaged")) {
        return Err(format!("a kill damages nothing, but: {problem}").into());
    }
    for name in &promised.present {
        reader.find(name).ok_or_else(|| format!("{name} was added and is not there"))?;
    }
    if let Some(name) = promised.absent.iter().find(|name| reader.find(name).is_some()) {
        return Err(format!("{name} was removed and is there again").into());
    }
    for pv in 0..PVS {
        if reader.find(&workload::name(pv)).is_some() || appended > 0 {
            pv_is_right(store, promised, pv, appended)?;
        }
    }
    gaps_are_right(store, appended)?;
    promised.stages.iter().try_for_each(|stage| stage.is_right(store))?;
    Ok(appended)
}

fn pv_is_right(store: &Store, promised: &Promised, pv: u64, appended: u64) -> Result<(), Failure> {
    let reader = store.reader();
    let name = workload::name(pv);
    let entry = reader.find(&name).ok_or_else(|| format!("{name} is not there"))?;
    let count = workload::count(pv, appended);
    // What is held twice is read once, as an exact repeat; so it is counted as well.
    let held = reader.extent(entry.id).map_or(0, |(.., held)| held);
    if held != count {
        return Err(format!("{name} holds {held} samples, {count} were appended").into());
    }
    let known = workload::count(pv, promised.durable).saturating_sub(20 * LATE_STEPS);
    let t0 = workload::turn(if promised.full { 0 } else { known });
    let candidates = if promised.full { 0..count } else { known..(count.max(known)) };
    let mut expected: Vec<Sample> = candidates.map(|n| workload::sample(pv, n)).collect();
    expected.retain(|sample| sample.time >= t0);
    expected.sort_by_key(|sample| sample.time);
    let mut expected = expected.into_iter();
    let range = TimeRange { t0, ..TimeRange::ALL };
    for batch in reader.samples(entry.id, range) {
        let batch = batch?;
        for got in (0..batch.len()).map(|row| batch.get(row)) {
            match expected.next() {
                Some(sample) if sample.identical(&got) => {}
                other => return Err(format!("{name} gives {got:?} where {other:?} was appended").into()),
            }
        }
    }
    match expected.next() {
        None => Ok(()),
        Some(missing) => Err(format!("{name} has lost {missing:?}").into()),
    }
}

fn gaps_are_right(store: &Store, appended: u64) -> Result<(), Failure> {
    let Some(entry) = store.reader().find(&workload::name(0)) else { return Ok(()) };
    let gaps = store.reader().gaps(entry.id, TimeRange::ALL)?;
    let own: Vec<_> = gaps.iter().filter(|(scope, _)| *scope == GapScope::Pv).map(|(_, gap)| *gap).collect();
    let rounds = (0..).step_by(GAP_ROUNDS as usize);
    let expected: Vec<_> = rounds.take_while(|round| round * ROUND < appended).map(workload::gap).collect();
    // The gap of a round comes before its samples, and may be all that is left of it.
    let next = workload::gap(expected.len() as u64 * GAP_ROUNDS);
    let rest = own.strip_prefix(expected.as_slice());
    if rest.is_some_and(|rest| rest.is_empty() || rest == [next]) {
        return Ok(());
    }
    Err(format!("{} gaps are there, {} were recorded", own.len(), expected.len()).into())
}

//! The store against a model: a list of all samples in the order of arrival. Whatever is appended, flushed, closed,
//! dropped, deleted, brought back or renamed, both give the same answers.

mod common;
mod sim;

use std::sync::Arc;

use common::{at, by, name, read, register, wait_until};
use proptest::prelude::*;
use sample::{
    Alarm, Batch, Column, DataFate, Element, OldName, PvId, Record, Sample, Severity, Sink, TimeRange, Timestamp,
    Value, ValueType,
};
use sim::SimDisk;
use store::{Config, Error, Store, Stretch, Summary};

const PVS: [&str; 2] = ["A", "B"];

#[derive(Clone, Debug)]
enum Step {
    Append(usize, Vec<Sample>),
    Flush,
    Close,
    Drop,
    /// Hides what of a PV lies between two times.
    Delete(usize, i64, i64),
    /// Undoes the oldest deletion.
    Undo,
    Rename(usize),
    /// Takes a PV out and brings it back.
    Remove(usize),
}

/// A sample that arrived, and the deletions that hide it.
#[derive(Clone, Debug)]
struct Arrived {
    sample: Sample,
    hidden_by: Vec<u64>,
}

fn visible(arrived: &[Arrived]) -> Vec<Sample> {
    arrived.iter().filter(|one| one.hidden_by.is_empty()).map(|one| one.sample.clone()).collect()
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => prop_oneof![Just(f64::NAN), Just(-0.0), Just(0.0), (0..4).prop_map(f64::from), any::<f64>()].prop_map(Value::F64),
        2 => (0..3i32).prop_map(Value::I32),
        1 => prop_oneof![Just("OPEN"), Just("CLOSED")].prop_map(|text| Value::String(text.into())),
        1 => prop::collection::vec(any::<i16>(), 0..5).prop_map(|elements| Value::Array(Column::I16(elements))),
        1 => any::<u64>().prop_map(Value::U64),
    ]
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let one = (0..60i64, value(), 0..5i64, 0..3u64);
    let any_order = prop::collection::vec(one, 1..30).prop_map(|rows| {
        let sample = |(time, value, severity, pulse): (i64, Value, i64, u64)| {
            let alarm = Alarm { severity: Severity::from_number(severity), status: severity as u16, message: None };
            Sample { time: at(time), value, alarm, pulse: pulse / 2, stamp: None }
        };
        rows.into_iter().map(sample).collect()
    });
    let long = (0..40i64, 1000..20_000i64).prop_map(|(start, count)| {
        let sample = |i: i64| common::sample(start + i / 3, Value::F64((i % 100) as f64));
        (0..count).map(sample).collect()
    });
    prop_oneof![30 => any_order, 1 => long]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..PVS.len(), samples()).prop_map(|(pv, samples)| Step::Append(pv, samples)),
        2 => Just(Step::Flush),
        1 => Just(Step::Close),
        1 => Just(Step::Drop),
        2 => (0..PVS.len(), 0..60i64, 1..40i64).prop_map(|(pv, t0, len)| Step::Delete(pv, t0, t0 + len)),
        1 => Just(Step::Undo),
        1 => (0..PVS.len()).prop_map(Step::Rename),
        1 => (0..PVS.len()).prop_map(Step::Remove),
    ]
}

fn config() -> Config {
    Config { head_bytes_max: 1 << 20, ..Config::new("simulated") }
}

/// What the store must give: by time, of equal times in the order of arrival, repeats of the same time dropped.
fn expected(arrived: &[Sample], range: TimeRange) -> Vec<Sample> {
    let mut sorted: Vec<Sample> = arrived.iter().filter(|sample| range.contains(sample.time)).cloned().collect();
    sorted.sort_by_key(|sample| sample.time);
    let mut kept: Vec<Sample> = Vec::new();
    for sample in sorted {
        let same_time = kept.iter().rev().take_while(|other| other.time == sample.time);
        if !same_time.into_iter().any(|other| other.identical(&sample)) {
            kept.push(sample);
        }
    }
    kept
}

fn identical(a: &[Sample], b: &[Sample]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.identical(b))
}

fn append(store: &Store, pv: PvId, samples: &[Sample]) {
    let mut records: Vec<(PvId, Record)> = Vec::new();
    for sample in samples {
        let fits = match records.last_mut() {
            Some((_, Record::Samples(batch))) => batch.push(sample),
            _ => false,
        };
        if !fits {
            records.push((pv, Record::Samples(Batch::of(sample))));
        }
    }
    store.writer().append(&records, at(0)).unwrap();
}

/// Deletes a range, which is refused only if nothing can be seen in it.
fn delete(store: &Store, pv: PvId, arrived: &mut [Arrived], range: TimeRange) {
    match store.writer().delete_range(pv, range, &by(0)) {
        Ok(deletion) => {
            let meant = arrived.iter_mut().filter(|one| range.contains(one.sample.time));
            meant.for_each(|one| one.hidden_by.push(deletion.number));
        }
        Err(Error::NothingThere { .. }) => assert_eq!(expected(&visible(arrived), range), []),
        Err(error) => panic!("{error}"),
    }
}

fn compare(store: &Store, pvs: &[PvId], arrived: &[Vec<Sample>; 2]) {
    let ranges = [(i64::MIN, i64::MAX), (0, 10), (7, 23), (30, 31), (12, 12), (500, 4000)];
    for (pv, arrived) in pvs.iter().zip(arrived) {
        for (t0, t1) in ranges {
            let range = TimeRange::new(at(t0), at(t1)).unwrap();
            let expected = expected(arrived, range);
            let got = read(store, *pv, range);
            assert!(identical(&got, &expected), "{range:?}\n{got:?}\n{expected:?}");
            compare_stretches(store, *pv, range, &expected);
        }
        for time in [-1, 0, 5, 17, 59, 4000] {
            let until = TimeRange { t0: Timestamp::MIN, t1: at(time + 1) };
            let newest = expected(arrived, until).last().map(|last| last.time);
            // A repeat of an earlier sample of the same time may be what arrived last; either is right.
            let candidates: Vec<&Sample> = arrived.iter().filter(|sample| Some(sample.time) == newest).collect();
            match store.reader().last_before(*pv, at(time)).unwrap() {
                Some(found) => assert!(candidates.iter().any(|sample| sample.identical(&found)), "{found:?}"),
                None => assert_eq!(newest, None),
            }
        }
    }
}

/// Summaries and samples together count what samples alone count.
fn compare_stretches(store: &Store, pv: PvId, range: TimeRange, expected: &[Sample]) {
    let edges: Arc<[Timestamp]> = [0, 5, 20, 40, 5000].map(at).into();
    let (mut count, mut last) = (0, Timestamp::MIN);
    for stretch in store.reader().stretches(pv, range, edges) {
        let summary = match stretch.unwrap() {
            Stretch::Summary(summary) => summary,
            Stretch::Samples(batch) => Summary::of(&batch, 0..batch.len()).unwrap(),
        };
        assert!(summary.t0 >= last && range.contains(summary.t0) && range.contains(summary.t1));
        let of_stretch = &expected[count..count + summary.count as usize];
        assert_eq!(of_stretch[0].time, summary.t0);
        if summary.value_type == ValueType::scalar(Element::F64) {
            let numbers = || of_stretch.iter().filter_map(|sample| sample.value.as_f64()).filter(|v| !v.is_nan());
            assert!(numbers().all(|v| summary.min <= v && v <= summary.max));
            assert_eq!(summary.count - summary.nan_count, numbers().count() as u64);
        }
        (count, last) = (count + summary.count as usize, summary.t1);
    }
    assert_eq!(count, expected.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_store_gives_what_the_model_gives(steps in prop::collection::vec(step(), 1..25)) {
        let disk = Arc::new(SimDisk::default());
        let mut store = Store::open_on(disk.clone(), config(), at(0)).unwrap();
        let pvs = register(&store, &PVS).unwrap();
        let mut arrived: [Vec<Arrived>; 2] = [Vec::new(), Vec::new()];
        let mut now = 0;
        for step in steps {
            now += 1_000_000_000_000;
            match step {
                Step::Append(pv, samples) => {
                    append(&store, pvs[pv], &samples);
                    arrived[pv].extend(samples.into_iter().map(|sample| Arrived { sample, hidden_by: Vec::new() }));
                }
                Step::Flush => {
                    store.tick(at(now));
                    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
                }
                Step::Close => {
                    store.close(at(now)).unwrap();
                    store = Store::open_on(disk.clone(), config(), at(now)).unwrap();
                }
                Step::Drop => {
                    drop(store);
                    store = Store::open_on(disk.clone(), config(), at(now)).unwrap();
                }
                Step::Delete(pv, t0, t1) => delete(&store, pvs[pv], &mut arrived[pv], TimeRange { t0: at(t0), t1: at(t1) }),
                Step::Undo => {
                    let Some(number) = store.reader().deletions().first().map(|deletion| deletion.number) else { continue };
                    store.writer().restore_range(number, &by(now)).unwrap();
                    arrived.iter_mut().flatten().for_each(|one| one.hidden_by.retain(|by| *by != number));
                }
                Step::Rename(pv) => {
                    store.writer().rename(pvs[pv], &name(&format!("{pv}:{now}")), OldName::Free, &by(now)).unwrap();
                }
                Step::Remove(pv) => {
                    store.writer().remove(&[pvs[pv]], DataFate::Delete, &by(now)).unwrap();
                    assert_eq!(read(&store, pvs[pv], TimeRange::ALL), []);
                    store.writer().restore(pvs[pv], None, &by(now)).unwrap();
                }
            }
        }
        compare(&store, &pvs, &arrived.each_ref().map(|arrived| visible(arrived)));
        let total = arrived.iter().map(|arrived| arrived.len() as u64).sum::<u64>();
        assert_eq!(store.reader().watermark().appended, total);
    }
}

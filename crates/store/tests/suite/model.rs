//! The store against a model: a list of all samples in the order of arrival. Whatever is appended, flushed, closed,
//! dropped, deleted, brought back, renamed, purged, sealed or moved, both give the same answers.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use archive::{DataFate, OldName, PvId, Record, Sink};
use archive::{Purge, structure::field_of};
use common::{by, name, read, register, wait_until};
use proptest::prelude::*;
use pvdata::{
    Data, Scalar, Tree, Type,
    wire::{Order, Writer},
};
use sample::{Alarm, Batch, Column, Element, Quality, Sample, Severity, Stamp, TimeRange, Timestamp, Value, ValueType};
use sim::{SimDisk, folder::Folder};
use store::{Config, Error, Place, Store, Stretch, Summary, disk::Disk};

const PVS: [&str; 2] = ["A", "B"];
/// Of samples, so that levels have rows for many of them.
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A moment of samples.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds.saturating_mul(SECOND))
}

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
    /// Gives up what is deleted.
    Purge,
    /// Weeks go by: what was written is sealed, and moves to another place.
    Weeks,
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
        2 => (0..3i32, prop_oneof![Just("high"), Just("")]).prop_map(|(number, text)| structure(number, text)),
    ]
}

/// A structure of one of two types.
fn structure(number: i32, text: &str) -> Value {
    let mut fields = vec![("severity", Type::Scalar(Scalar::I32)), ("text", Type::Scalar(Scalar::String))];
    let mut trees = vec![Tree::I32(number), Tree::String(text.into())];
    if number == 2 {
        fields.remove(1);
        trees.remove(1);
    }
    let ty = Type::structure("alarm_t", fields).unwrap();
    let mut writer = Writer::new(Order::Little);
    Data { ty, value: Tree::Structure(trees) }.encode(&mut writer).unwrap();
    Value::Structure(writer.into_bytes().into())
}

/// None is ordinary, as nearly all are.
fn stamp() -> impl Strategy<Value = Option<Stamp>> {
    let odd =
        (0..3usize, -5..70i64).prop_map(|(quality, other)| Stamp { quality: Quality::ALL[quality], other: at(other) });
    prop_oneof![6 => Just(None), 1 => odd.prop_map(Some)]
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let one = (0..60i64, value(), 0..5i64, 0..3u64, stamp());
    let any_order = prop::collection::vec(one, 1..30).prop_map(|rows| {
        let sample = |(time, value, severity, pulse, stamp): (i64, Value, i64, u64, Option<Stamp>)| {
            let alarm = Alarm { severity: Severity::from_number(severity), status: severity as u16, message: None };
            Sample { time: at(time), value, alarm, pulse: pulse / 2, stamp }
        };
        rows.into_iter().map(sample).collect()
    });
    let long = (0..40i64, 1000..20_000i64).prop_map(|(start, count)| {
        let sample = |i: i64| common::sample((start + i / 3) * SECOND, Value::F64((i % 100) as f64));
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
        1 => Just(Step::Purge),
        1 => Just(Step::Weeks),
    ]
}

fn config() -> Config {
    let place = Place {
        name: "far".into(),
        folder: "far".into(),
        after: Duration::from_secs(86_400),
        megabytes_per_second: None,
        answers_within: Place::ANSWERS_WITHIN,
    };
    Config { head_bytes_max: 1 << 20, places: vec![place], ..Config::new("simulated") }
}

fn open(disk: &Arc<SimDisk>, now: i64) -> Store {
    let places: Vec<Arc<dyn Disk>> = vec![Folder::new(disk, "far")];
    Store::open_on_disks(disk.clone(), places, config(), Timestamp::from_nanos(now)).unwrap()
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
            compare_fields(store, *pv, range, &expected);
        }
        for time in [-1, 0, 5, 17, 59, 4000] {
            let until = TimeRange { t0: Timestamp::MIN, t1: at(time).saturating_add(Duration::from_nanos(1)) };
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

/// A field of structures is what the whole structures say, and no field has more than they.
fn compare_fields(store: &Store, pv: PvId, range: TimeRange, expected: &[Sample]) {
    for path in ["severity", "text", "neither"] {
        let batches = store.reader().samples(pv, range).of_field(path).map(|batch| batch.unwrap());
        let rows = |batch: Batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>();
        let got: Vec<Sample> = batches.flat_map(rows).collect();
        let expected: Vec<Sample> = expected.iter().filter_map(|sample| field_of(sample, path)).collect();
        assert!(identical(&got, &expected), "{path}, {range:?}\n{got:?}\n{expected:?}");
    }
}

/// Summaries and samples together count what samples alone count, whether the edges lie where levels have theirs or not.
fn compare_stretches(store: &Store, pv: PvId, range: TimeRange, expected: &[Sample]) {
    compare_between(store, pv, range, expected, &[0, 5, 20, 40, 5000]);
    compare_between(store, pv, range, expected, &[0, 10, 20, 40, 60, 5000]);
}

fn compare_between(store: &Store, pv: PvId, range: TimeRange, expected: &[Sample], edges: &[i64]) {
    let edges: Arc<[Timestamp]> = edges.iter().copied().map(at).collect();
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
        let mut store = open(&disk, 0);
        let pvs = register(&store, &PVS).unwrap();
        let mut arrived: [Vec<Arrived>; 2] = [Vec::new(), Vec::new()];
        let (mut now, mut total) = (0, 0);
        for step in steps {
            now += 1000 * SECOND;
            let time = Timestamp::from_nanos(now);
            match step {
                Step::Append(pv, samples) => {
                    append(&store, pvs[pv], &samples);
                    total += samples.len() as u64;
                    arrived[pv].extend(samples.into_iter().map(|sample| Arrived { sample, hidden_by: Vec::new() }));
                }
                Step::Flush => {
                    store.tick(time);
                    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
                }
                Step::Close => {
                    store.close(time).unwrap();
                    store = open(&disk, now);
                }
                Step::Drop => {
                    drop(store);
                    store = open(&disk, now);
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
                Step::Purge => {
                    store.writer().purge(Purge { pv: None, before: Timestamp::MAX }, &by(now)).unwrap();
                    wait_until("the purge is done", || store.reader().health().purging == 0);
                    arrived.iter_mut().for_each(|arrived| arrived.retain(|one| one.hidden_by.is_empty()));
                }
                Step::Weeks => {
                    store.tick(time);
                    wait_until("the head is flushed", || store.reader().health().head_samples == 0);
                    now += 15 * DAY;
                    store.tick(Timestamp::from_nanos(now));
                    // What came after a deletion stays apart, near, until that is undone or purged.
                    let near = || store.reader().health().places[0].segments;
                    wait_until("all is moved", || near() == 0 || !store.reader().deletions().is_empty());
                }
                Step::Remove(pv) => {
                    store.writer().remove(&[pvs[pv]], DataFate::Delete, &by(now)).unwrap();
                    assert_eq!(read(&store, pvs[pv], TimeRange::ALL), []);
                    store.writer().restore(pvs[pv], None, &by(now)).unwrap();
                }
            }
        }
        compare(&store, &pvs, &arrived.each_ref().map(|arrived| visible(arrived)));
        assert_eq!(store.reader().watermark().appended, total);
    }
}

//! What was appended is read back: in order, once, from wherever it lies by now.

use crate::common;

use std::time::Duration;

use archive::{By, GapScope, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink, Watermark};
use sample::{Alarm, Batch, Column, Gap, GapCause, Sample, TimeRange, Timestamp, Value};
use store::{Config, Store, Stretch};

use common::only;

fn at(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn sample(nanos: i64, value: Value) -> Sample {
    Sample { time: at(nanos), value, alarm: Alarm::default(), pulse: 0, stamp: None }
}

fn open(folder: &std::path::Path) -> Store {
    Store::open(Config::new(folder), at(0)).unwrap()
}

fn register(store: &Store, names: &[&str]) -> Vec<PvId> {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
    let pvs: Vec<_> = names.iter().map(|name| (PvName::new(name).unwrap(), settings.clone())).collect();
    store.writer().register(&pvs, &By::new("test", at(0))).unwrap().iter().map(|entry| entry.id).collect()
}

fn append(store: &Store, pv: PvId, samples: &[Sample]) {
    let records: Vec<_> = samples.iter().map(|sample| (pv, Record::Samples(Batch::of(sample)))).collect();
    store.writer().append(&records, at(0)).unwrap();
}

fn read(store: &Store, pv: PvId, range: TimeRange) -> Vec<Sample> {
    let batches = store.reader().samples(pv, range).map(|batch| batch.unwrap());
    batches.flat_map(|batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>()).collect()
}

#[test]
fn samples_come_back_sorted_without_repeats_and_with_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let pvs = register(&store, &["A", "B"]);
    let a = [
        sample(30, Value::F64(3.0)),
        sample(10, Value::F64(1.0)),
        sample(20, Value::String("two".into())),
        sample(20, Value::F64(2.0)),
        sample(20, Value::F64(2.0)),
        sample(20, Value::F64(-2.0)),
    ];
    append(&store, pvs[0], &a);
    append(&store, pvs[1], &[sample(5, Value::Bool(true))]);
    let expected = [a[1].clone(), a[2].clone(), a[3].clone(), a[5].clone(), a[0].clone()];
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), expected);
    assert_eq!(read(&store, pvs[0], TimeRange { t0: at(11), t1: at(30) }), expected[1..4]);
    assert_eq!(store.reader().last_before(pvs[0], at(29)).unwrap().unwrap(), a[5]);
    assert_eq!(store.reader().last_before(pvs[0], at(9)).unwrap(), None);
    assert_eq!(store.reader().extent(pvs[1]), Some((at(5), at(5), 1)));
    assert_eq!(store.reader().watermark().appended, 7);
}

#[test]
fn everything_is_there_again_after_a_crash_and_after_a_flush() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..20_000).map(|i| sample(i * 1000, Value::F64(i as f64 / 7.0))).collect();
    let texts = [sample(5, Value::String("µ".into())), sample(6, Value::Array(Column::I16(vec![1, -1])))];
    let store = open(folder.path());
    let pvs = register(&store, &["A", "B"]);
    append(&store, pvs[0], &samples[..10_000]);
    store.close(at(1)).unwrap();

    let store = open(folder.path());
    assert_eq!(store.reader().health().segments, 1);
    append(&store, pvs[0], &samples[10_000..]);
    append(&store, pvs[1], &texts);
    drop(store); // no flush: the log has the second half

    let store = open(folder.path());
    assert_eq!(store.reader().watermark(), Watermark { appended: 20_002, durable: 20_002 });
    for _ in 0..2 {
        assert_eq!(read(&store, pvs[0], TimeRange::ALL), samples);
        assert_eq!(read(&store, pvs[1], TimeRange::ALL), texts);
        let middle = TimeRange { t0: at(9_998_000), t1: at(10_003_000) };
        assert_eq!(read(&store, pvs[0], middle), samples[9998..10_003]);
        assert_eq!(store.reader().extent(pvs[0]), Some((at(0), at(19_999_000), 20_000)));
        assert_eq!(store.reader().last_before(pvs[0], at(9_999_500)).unwrap().unwrap(), samples[9999]);
        assert_eq!(store.reader().find("B").unwrap().id, pvs[1]);
    }
    store.close(at(2)).unwrap();
    let store = open(folder.path());
    assert_eq!((store.reader().health().segments, store.reader().health().head_samples), (2, 0));
    assert_eq!(read(&store, pvs[0], TimeRange::ALL), samples);
    assert_eq!(store.reader().last_before(pvs[1], at(5)).unwrap().unwrap(), texts[0]);
}

#[test]
fn a_gap_recorded_again_with_its_end_replaces_the_open_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let pv = register(&store, &["A"])[0];
    let open = Gap { from: at(10), to: None, cause: GapCause::Disconnected, lost: 0 };
    let closed = Gap { to: Some(at(20)), ..open };
    store.writer().append(&[(pv, Record::Gap(open))], at(0)).unwrap();
    assert_eq!(store.reader().gaps(pv, TimeRange::ALL).unwrap(), [(GapScope::Pv, open)]);
    store.writer().append(&[(pv, Record::Gap(closed))], at(0)).unwrap();
    assert_eq!(store.reader().gaps(pv, TimeRange::ALL).unwrap(), [(GapScope::Pv, closed)]);
    let later = TimeRange::new(at(20), at(20).saturating_add(Duration::from_secs(1))).unwrap();
    assert_eq!(store.reader().gaps(pv, later).unwrap(), []);
}

#[test]
fn what_lies_between_two_edges_comes_as_one_summary_however_many_blocks_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let pv = register(&store, &["A"])[0];
    let count = 100_000i64;
    let value = |row: i64| (row * row % 1009) as f64 / 7.0;
    let samples: Vec<Sample> = (0..count).map(|row| sample(row * 1000, Value::F64(value(row)))).collect();
    append(&store, pv, &samples);
    store.close(at(count * 1000)).unwrap();
    let store = open(folder.path());
    let end = count * 1000;
    let ranges = [vec![0, end], vec![0, 50_000_500, end], vec![0, 9_000_500, 10_000_500, 70_000_500, end]];
    // The ends of the next ones cut blocks, too: one of them, or one each.
    let within = [vec![9_000_500, 9_100_500], vec![9_000_500, 30_000_500, 70_000_500], vec![9_000_000, 70_000_000]];
    for edges in ranges.into_iter().chain(within) {
        let edges: Vec<Timestamp> = edges.into_iter().map(at).collect();
        let cuts = edges.iter().filter(|edge| **edge > at(0) && **edge < at(end)).count();
        let range = TimeRange { t0: edges[0], t1: edges[edges.len() - 1] };
        let stretches: Vec<_> = store.reader().stretches(pv, range, edges.clone().into()).map(Result::unwrap).collect();
        // A block that is cut gives two pieces, and what lies before and behind it is one each.
        assert!(stretches.len() <= 1 + 3 * cuts, "{} stretches", stretches.len());
        let mut bins = vec![(0u64, 0.0, 0.0); edges.len() - 1];
        for stretch in stretches {
            let Stretch::Summary(summary) = stretch else { panic!("samples were read") };
            let bin = &mut bins[edges.partition_point(|edge| *edge <= summary.t0) - 1];
            assert!(summary.t1 < edges[edges.partition_point(|edge| *edge <= summary.t0)], "an edge cuts {summary:?}");
            *bin = (bin.0 + summary.count, bin.1 + summary.sum, summary.last);
        }
        for (bin, ends) in bins.iter().zip(edges.windows(2)) {
            let within = |row: &i64| (ends[0]..ends[1]).contains(&at(row * 1000));
            let values: Vec<f64> = (0..count).filter(within).map(value).collect();
            let sum: f64 = values.iter().sum();
            assert_eq!((bin.0, bin.2), (values.len() as u64, values[values.len() - 1]));
            assert!((bin.1 - sum).abs() <= sum * 1e-12, "{} is not {sum}", bin.1);
        }
    }
}

/// Pages ask for the same bins again and again. What an edge cuts is not read again, unless it is another edge.
#[test]
fn a_block_is_cut_at_the_same_edges_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let pv = register(&store, &["A"])[0];
    let samples: Vec<Sample> =
        (0..20_000i64).map(|row| sample(row * 1000, Value::F64((row * row % 1009) as f64))).collect();
    append(&store, pv, &samples);
    store.close(at(20_000_000)).unwrap();
    let store = open(folder.path());
    let ask = |edge: i64| -> Vec<Result<Stretch, String>> {
        let edges = [at(0), at(edge), at(20_000_000)];
        let stretches = store.reader().stretches(pv, TimeRange { t0: edges[0], t1: edges[2] }, edges.into());
        stretches.map(|stretch| stretch.map_err(|error| error.to_string())).collect()
    };
    let told = |stretches: &[Result<Stretch, String>]| format!("{stretches:?}");
    let first = ask(9_000_500);
    assert!(first.iter().all(Result::is_ok), "{}", told(&first));
    let segment = only(folder.path(), "seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let end = bytes.len() / 2;
    bytes[64..end].fill(0xff); // blocks come first in a segment
    std::fs::write(&segment, bytes).unwrap();
    assert_eq!(told(&ask(9_000_500)), told(&first));
    assert!(ask(9_000_501).iter().any(Result::is_err), "another edge has the block read, and it is damaged");
}

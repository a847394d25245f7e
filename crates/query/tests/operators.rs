//! Operators of the Archiver Appliance: what summaries and levels answer is what the samples themselves answer.
//!
//! The same samples lie in two stores: in a segment with summaries and levels, and in the head, which has only samples.

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use query::{Operator, Query, Span};
use sample::{Alarm, Batch, Column, Sample, Severity, TimeRange, Timestamp, Value};
use store::{Config, Store, Stretch};
use tempfile::TempDir;

const SECOND: i64 = 1_000_000_000;
/// 2026-01-01T00:00:00Z, in the middle of what is recorded.
const NEW_YEAR: i64 = 1_767_225_600;
/// More than a flush writes without levels.
const SAMPLES: usize = 150_000;

const OPERATORS: [&str; 16] = [
    "mean_10",
    "mean_600",
    "meanSample_60",
    "min_60",
    "max_60",
    "count_30",
    "std_10",
    "jitter_60",
    "variance_600",
    "popvariance_60",
    "stats_300",
    "statsSample_7",
    "optimized_100",
    "optimized_1000000",
    "ncount",
    "mean_1000000",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// Bursts of 200 Hz and slower stretches with gaps, over about twenty minutes around the new year.
fn samples(random: &mut Random, kind: u64) -> Vec<Batch> {
    let mut time = (NEW_YEAR - 500) * SECOND + random.below(SECOND as u64) as i64;
    let mut batches: Vec<Batch> = Vec::new();
    let mut period = 5_000_000;
    for row in 0..SAMPLES {
        if row % 5000 == 0 {
            period = [2_000_000, 5_000_000, 20_000_000][random.below(3) as usize];
            time += [0, 3, 45][random.below(3) as usize] * SECOND;
        }
        time += 1 + random.below(period) as i64;
        let number = 1000.0 + random.below(100_000) as f64 / 7.0;
        let odd = random.below(30_000);
        let value = match (kind, odd) {
            (0, 0) => Value::F64(f64::INFINITY),
            (0, 1..40) => Value::F64(f64::NAN),
            (0, _) => Value::F64(number),
            (1, _) => Value::I32(number as i32 - 8000),
            _ => Value::Enum((number as i32 / 3) % 4),
        };
        let severity = if random.below(5000) == 0 { random.below(4) as i64 } else { 0 };
        let alarm = Alarm { severity: Severity::from_number(severity), status: 0, message: None };
        let sample = Sample { time: Timestamp::from_nanos(time), value, alarm, pulse: 0, stamp: None };
        if row % 8000 == 0 {
            batches.push(Batch::new(sample.value.value_type()));
        }
        let last = batches.last_mut().expect("there is one");
        assert!(last.push(&sample));
    }
    batches
}

fn open(folder: &TempDir) -> Store {
    Store::open(Config::new(folder.path()), Timestamp::from_nanos(0)).expect("the store opens")
}

fn write(store: &Store, batches: &[Batch]) -> PvId {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
    let name = PvName::new("TEST:PV").expect("it is a name");
    let now = Timestamp::from_nanos(0);
    let pv = store.writer().register(&[(name, settings)], &By::new("test", now)).expect("it registers")[0].id;
    for batch in batches {
        store.writer().append(&[(pv, Record::Samples(batch.clone()))], now).expect("the store takes it");
    }
    pv
}

fn reduced(store: &Store, pv: PvId, span: Span, operator: &Operator) -> Vec<Sample> {
    let reduced = Query::over(store.reader()).reduced(pv, span, operator).expect("the store can be read");
    let batches = reduced.map(|batch| batch.expect("the store can be read"));
    batches.flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)).collect::<Vec<_>>()).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(Column::F64(numbers)) => numbers.clone(),
        value => vec![value.as_f64().expect("reductions are numbers")],
    }
}

/// Sums in another order differ in their last digits; where infinities meet, both are no number.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) || !a.is_finite() && !b.is_finite()
}

#[test]
fn operators_through_summaries_are_those_over_samples() {
    for seed in 0..3u64 {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let batches = samples(&mut random, seed);
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("there is room for a folder"));
        let (packed, fresh) = (open(&folders[0]), open(&folders[1]));
        let pv = write(&packed, &batches);
        assert_eq!(write(&fresh, &batches), pv);
        packed.close(Timestamp::from_nanos(1)).expect("the store closes");
        let packed = open(&folders[0]);
        has_rows(&packed, pv, true);
        has_rows(&fresh, pv, false);
        for _ in 0..4 {
            let mut time = || (NEW_YEAR - 600) * SECOND + random.below(2_000 * SECOND as u64) as i64;
            let (a, b) = (time(), time());
            let span = Span { from: Timestamp::from_nanos(a.min(b)), to: Timestamp::from_nanos(a.max(b)) };
            for name in OPERATORS {
                let operator = Operator::parse(name, &[]).expect("it is an operator");
                let (found, expected) = (reduced(&packed, pv, span, &operator), reduced(&fresh, pv, span, &operator));
                let place = format!("seed {seed}, {name} from {} to {}", span.from, span.to);
                assert_eq!(found.len(), expected.len(), "{place}");
                for (found, expected) in found.iter().zip(&expected) {
                    let same = (found.time, &found.alarm) == (expected.time, &expected.alarm);
                    let (a, b) = (numbers(&found.value), numbers(&expected.value));
                    let agree = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| close(*a, *b));
                    assert!(same && agree, "{place}: {found:?} is not {expected:?}");
                }
            }
        }
    }
}

/// Numbers with their severities, at nanoseconds behind the new year.
fn batch(samples: &[(i64, f64, i64)]) -> Batch {
    let mut batch = Batch::new(Value::F64(0.0).value_type());
    for (nanos, number, severity) in samples {
        let alarm = Alarm { severity: Severity::from_number(*severity), status: 0, message: None };
        let time = Timestamp::from_nanos(NEW_YEAR * SECOND + nanos);
        assert!(batch.push(&Sample { time, value: Value::F64(*number), alarm, pulse: 0, stamp: None }));
    }
    batch
}

/// What an operator makes of samples from one second behind the new year to another: seconds behind it, numbers, severity.
fn answered(samples: &[(i64, f64, i64)], operator: &str, from: i64, to: i64) -> Vec<(f64, Vec<f64>, i64)> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let store = open(&folder);
    let pv = write(&store, &[batch(samples)]);
    let at = |second| Timestamp::from_seconds(NEW_YEAR + second, 0);
    let operator = Operator::parse(operator, &[]).expect("it is an operator");
    let answer = reduced(&store, pv, Span { from: at(from), to: at(to) }, &operator);
    let seconds = |time: Timestamp| (time.nanos() - NEW_YEAR * SECOND) as f64 / SECOND as f64;
    let row = |sample: Sample| (seconds(sample.time), numbers(&sample.value), sample.alarm.severity as i64);
    answer.into_iter().map(row).collect()
}

#[test]
fn straight_lines_need_times_that_differ_as_floats() {
    let close = [(0, 5.0, 0), (1, 7.0, 0), (40 * SECOND, 47.0, 0)];
    assert_eq!(answered(&close, "linear_60", 0, 59)[0].1, [5.0]);
    let apart = [(0, 5.0, 0), (20 * SECOND, 25.0, 0), (40 * SECOND, 47.0, 0)];
    assert_eq!(answered(&apart, "linear_60", 0, 59)[0].1, [36.0]);
    let up_to_the_centre = [(0, 5.0, 0), (20 * SECOND, f64::NAN, 0), (30 * SECOND, 47.0, 0)];
    assert!(answered(&up_to_the_centre, "linear_60", 0, 59)[0].1[0].is_nan());
}

/// The bins of most operators may be as long as one likes; who holds samples says how many are too many.
#[test]
fn bins_of_lines_and_curves_may_be_longer_than_a_day() {
    let rows: Vec<(i64, f64, i64)> = (0..400).map(|row| (row * 1000 * SECOND, row as f64, 0)).collect();
    let bin = |operator: &str| answered(&rows, operator, 0, 399_000);
    // The centre lies at a whole second of the epoch; the line is that of the samples, a number more each 1000 s.
    for operator in ["linear_200000", "loess_200000"] {
        for (second, numbers, _) in bin(operator).iter().filter(|(second, ..)| (0.0..399_000.0).contains(second)) {
            assert!((numbers[0] - second / 1000.0).abs() < 1e-6, "{operator} at {second}: {numbers:?}");
        }
    }
}

#[test]
fn moments_of_equal_symmetric_and_single_numbers_are_those_of_commons_math() {
    let at = |numbers: &[f64]| -> Vec<(i64, f64, i64)> {
        numbers.iter().zip(1..).map(|(number, second)| (second * SECOND, *number, 0)).collect()
    };
    assert!(answered(&at(&[3.0; 5]), "skewness_60", 0, 59)[0].1[0].is_nan());
    assert!(answered(&at(&[3.0; 5]), "kurtosis_60", 0, 59)[0].1[0].is_nan());
    assert_eq!(answered(&at(&[0.0, 1.0, 3.0, 2.0, 4.0]), "skewness_60", 0, 59)[0].1, [0.0]);
    assert_eq!(answered(&at(&[f64::INFINITY]), "popvariance_60", 0, 59)[0].1, [0.0]);
    assert_eq!(answered(&at(&[5.0, 1.0, 3.0]), "median_60", 0, 59)[0].1, [3.0]);
    assert!(answered(&at(&[f64::INFINITY, 1.0, 3.0]), "median_60", 0, 59)[0].1[0].is_nan());
}

#[test]
fn bins_between_statistics_with_the_last_sample_have_it_alone() {
    let mut samples = vec![(-3, 9.0, 2), (5, 1.0, 0), (6, 3.0, 0), (25, f64::NAN, 1), (75, 8.0, 1)];
    samples.splice(4..4, (41..47).map(|second| (second, 4.0, 3)));
    let samples: Vec<_> = samples.into_iter().map(|(second, number, alarm)| (second * SECOND, number, alarm)).collect();
    let alone = |last: f64| vec![last, 0.0, last, last, 0.0, last];
    let fours = vec![4.0, 0.0, 4.0, 4.0, 6.0, 4.0];
    let expected = [
        (-5.0, vec![9.0, 0.0, 9.0, 9.0, 1.0, 9.0], 0),
        (5.0, vec![2.0, 2f64.sqrt(), 1.0, 3.0, 2.0, 3.0], 0),
        (15.0, alone(3.0), 1),
        (25.0, vec![f64::NAN, f64::NAN, f64::NAN, f64::NAN, 0.0, 3.0], 1),
        (35.0, alone(3.0), 3),
        (45.0, fours.clone(), 3),
        (55.0, fours.clone(), 3),
        (65.0, fours.clone(), 3),
        (75.0, vec![8.0, 0.0, 8.0, 8.0, 1.0, 8.0], 1),
        (85.0, alone(8.0), 1),
        (95.0, alone(8.0), 1),
    ];
    // There are more samples than points, so bins have 10 s.
    assert_eq!(format!("{:?}", answered(&samples, "optimLastSample_9", 0, 90)), format!("{expected:?}"));
    let behind = [samples.as_slice(), &[(94 * SECOND, f64::NAN, 0)]].concat();
    let found = answered(&behind, "optimLastSample_9", 0, 98);
    assert_eq!(found[9], (85.0, alone(8.0), 0), "before a last bin without numbers");
    assert_eq!(answered(&samples, "optimLastSample_9", 200, 260), []);
    assert_eq!(answered(&samples, "optimized_9", 200, 260).len(), 1);
}

#[test]
fn the_sample_before_counts_in_the_first_bin_of_a_plot_if_it_lies_there() {
    let samples = [(2 * SECOND, 9.0, 0), (6 * SECOND, 1.0, 0), (7 * SECOND, 3.0, 2), (15 * SECOND, 4.0, 0)];
    let found = answered(&samples, "caplotbinning_10", 5, 16);
    assert_eq!(found, [(5.0, vec![9.0], 2), (7.0, vec![3.0], 2), (15.0, vec![4.0], 0)]);
    let found = answered(&samples, "caplotbinning_10", 12, 16);
    assert_eq!(found, [(7.0, vec![3.0], 0), (15.0, vec![4.0], 0)]);
    assert_eq!(answered(&samples, "caplotbinning_10", 20, 60), []);
}

/// Whether a store answers whole minutes by rows of a level, without which nothing would be compared.
fn has_rows(store: &Store, pv: PvId, expected: bool) {
    let minutes = (NEW_YEAR / 60 - 5..NEW_YEAR / 60 + 5).map(|minute| Timestamp::from_seconds(minute * 60, 0));
    let edges: Vec<Timestamp> = minutes.collect();
    let range = TimeRange { t0: edges[0], t1: edges[9] };
    let stretches = store.reader().stretches(pv, range, edges.into());
    let rows = stretches.filter(|stretch| matches!(stretch, Ok(Stretch::Summary(row)) if row.count > 8192)).count();
    assert_eq!(rows > 0, expected, "{rows} rows");
}

//! Formulas over arrays from a real store, against a look at each moment.

use std::sync::Arc;

use analysis::{ArrayResults, ArrayValue, Bound, Expression, ExpressionFault, IsWanted, Known, StepError, Units};
use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use query::{Query, Series};
use sample::{Alarm, Batch, Column, Element, Gap, GapCause, Sample, TimeRange, Timestamp, Value, ValueType};
use store::{Config, Store};
use tempfile::TempDir;

use crate::{archive_of_three::Random, computed::is_close};

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_767_225_600 * SECOND;
const END: i64 = START + 1000 * SECOND;
/// Two with arrays of numbers, one with arrays of integers, one with numbers, one with texts.
const NAMES: [&str; 5] = ["T:V", "T:W", "T:I", "T:A", "T:S"];

/// What an array amounts to.
type Amounts = fn(&[f64]) -> f64;

struct ArchiveOfArrays {
    store: Store,
    pvs: Vec<PvId>,
    samples: Vec<Vec<(i64, Vec<f64>)>>,
    gaps: Vec<Vec<(i64, i64)>>,
    // Dropped last: the store lies in it.
    _folder: TempDir,
}

fn element_of(pv: usize) -> ValueType {
    [
        ValueType::array(Element::F64),
        ValueType::array(Element::F64),
        ValueType::array(Element::I16),
        ValueType::scalar(Element::F64),
        ValueType::scalar(Element::String),
    ][pv]
}

impl ArchiveOfArrays {
    /// Lengths change now and then, the two first mostly together.
    fn random(seed: u64) -> ArchiveOfArrays {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let now = Timestamp::from_nanos(START);
        let store = Store::open(Config::new(folder.path()), now).expect("the store opens");
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let names = NAMES.map(|name| (PvName::new(name).expect("it is a name"), settings.clone()));
        let entries = store.writer().register(&names, &By::new("test", now)).expect("it registers");
        let pvs: Vec<PvId> = entries.iter().map(|entry| entry.id).collect();
        let mut samples: Vec<Vec<(i64, Vec<f64>)>> = Vec::new();
        let mut gaps = Vec::new();
        for (pv, id) in pvs.iter().enumerate().take(4) {
            let mut batch = Batch::new(element_of(pv));
            let (mut time, mut own) = (START + random.below(50) as i64 * SECOND, Vec::new());
            let mut of_one_time: Vec<Vec<f64>> = Vec::new();
            while time < END {
                let part = (time - START) / (200 * SECOND);
                let usual = [3, 3, 4, 7, 3][part as usize];
                let length = if pv == 3 { 1 } else { usual + usize::from(random.below(20) == 0) };
                let numbers: Vec<f64> = (0..length).map(|_| random.below(100) as f64 - 50.0).collect();
                let value = match pv {
                    0 | 1 => Value::Array(Column::F64(numbers.clone())),
                    2 => Value::Array(Column::I16(numbers.iter().map(|number| *number as i16).collect())),
                    _ => Value::F64(numbers[0]),
                };
                let stamp = Timestamp::from_nanos(time);
                assert!(batch.push(&Sample { time: stamp, value, alarm: Alarm::default(), pulse: 0, stamp: None }));
                // Of samples of one time the last counts that is no repeat of another.
                if own.last().is_none_or(|(last, _): &(i64, Vec<f64>)| *last < time) {
                    of_one_time.clear();
                }
                if !of_one_time.contains(&numbers) {
                    own.pop_if(|(last, _)| *last == time);
                    own.push((time, numbers.clone()));
                    of_one_time.push(numbers);
                }
                time += random.below(6) as i64 * SECOND;
            }
            store.writer().append(&[(*id, Record::Samples(batch))], now).expect("the store takes it");
            samples.push(own);
            let from = START + (200 + random.below(600) as i64) * SECOND;
            let to = from + random.below(30) as i64 * SECOND;
            let [begin, end] = [from, to].map(Timestamp::from_nanos);
            let gap = Gap { from: begin, to: Some(end), cause: GapCause::Disconnected, lost: 0 };
            store.writer().append(&[(*id, Record::Gap(gap))], end).expect("the store takes it");
            let told = Query::over(store.reader()).gaps(&(*id).into(), TimeRange::ALL).expect("gaps can be read");
            gaps.push(
                told.iter().map(|(_, gap)| (gap.from.nanos(), gap.to.map_or(i64::MAX, Timestamp::nanos))).collect(),
            );
        }
        ArchiveOfArrays { store, pvs, samples, gaps, _folder: folder }
    }

    fn bound(&self, text: &str) -> Result<Bound, String> {
        let find = &mut |name: &str| -> Result<Option<Known>, ExpressionFault> {
            let Some(pv) = NAMES.iter().position(|known| *known == name) else { return Ok(None) };
            let (series, value_type) = (Series::from(self.pvs[pv]), Some(element_of(pv)));
            Ok(Some(Known { series, value_type, units: (pv < 3).then(|| "mm".to_owned()), labels: Vec::new() }))
        };
        let expression = Expression::parse(text).map_err(|fault| fault.to_string())?;
        expression.bind_arrays(Units::Same, find, |fault| fault).map_err(|fault| fault.to_string())
    }

    fn results(&self, text: &str, range: TimeRange) -> ArrayResults {
        let Ok(Bound::Arrays(program)) = self.bound(text) else { panic!("{text} has arrays") };
        let is_wanted: IsWanted = Arc::new(|| true);
        ArrayResults::of(&Query::over(self.store.reader()), program, range, is_wanted).expect("gaps can be read")
    }

    /// What a PV holds; nothing in a gap, and before the first sample.
    fn held(&self, pv: usize, time: i64) -> Option<&[f64]> {
        let after = self.samples[pv].partition_point(|(stamp, _)| *stamp <= time);
        let is_hidden = self.gaps[pv].iter().any(|(from, to)| (*from..*to).contains(&time));
        self.samples[pv][..after].last().filter(|_| !is_hidden).map(|(_, numbers)| numbers.as_slice())
    }

    /// Each moment of a range at which one of some PVs changes, and the beginning.
    fn moments(&self, pvs: &[usize], range: TimeRange) -> Vec<i64> {
        let (from, to) = (range.t0.nanos(), range.t1.nanos());
        let own = pvs.iter().flat_map(|pv| {
            let edges = self.gaps[*pv].iter().flat_map(|(from, to)| [*from, *to]);
            self.samples[*pv].iter().map(|(time, _)| *time).chain(edges)
        });
        let mut moments: Vec<i64> = own.filter(|time| (from..to).contains(time)).chain([from]).collect();
        moments.sort_unstable();
        moments.dedup();
        moments
    }
}

fn all_of(mut results: ArrayResults) -> Vec<(i64, ArrayValue)> {
    let mut all = Vec::new();
    let may = &mut |_: usize| Ok::<(), StepError>(());
    while let Some((time, value)) = results.next(may).expect("nothing is damaged") {
        all.push((time.nanos(), value));
    }
    all
}

fn range_of(random: &mut Random) -> TimeRange {
    let [from, to] = [random.below(400), 600 + random.below(500)]
        .map(|at| Timestamp::from_nanos(START + at as i64 * SECOND - 10 * SECOND));
    TimeRange { t0: from, t1: to }
}

/// What `V - 2*W + A` is.
fn expected(v: Option<&[f64]>, w: Option<&[f64]>, a: Option<&[f64]>) -> ArrayValue {
    match (v, w, a) {
        (Some(v), Some(w), _) if v.len() != w.len() => ArrayValue::Unequal(v.len(), w.len()),
        (Some(v), Some(w), Some(a)) => ArrayValue::Array(v.iter().zip(w).map(|(v, w)| v - 2.0 * w + a[0]).collect()),
        _ => ArrayValue::Unknown,
    }
}

#[test]
fn arrays_are_computed_with_element_by_element_at_each_moment() {
    let mut of = [0, 0, 0];
    for seed in 0..30 {
        let archive = ArchiveOfArrays::random(seed);
        let range = range_of(&mut Random::new(seed + 1000));
        let found = all_of(archive.results("T:V - 2*T:W + T:A", range));
        let moments = archive.moments(&[0, 1, 3], range);
        assert_eq!(found.iter().map(|(time, _)| *time).collect::<Vec<_>>(), moments, "seed {seed}");
        for (time, value) in found {
            let wanted = expected(archive.held(0, time), archive.held(1, time), archive.held(3, time));
            of[match wanted {
                ArrayValue::Unequal(..) => 0,
                ArrayValue::Unknown => 1,
                _ => 2,
            }] += 1;
            assert_eq!(value, wanted, "seed {seed}, {time}");
        }
    }
    assert!(of.iter().all(|count| *count > 50), "unequal, unknown, arrays: {of:?}");
}

#[test]
fn what_an_array_amounts_to_is_computed_of_what_was_computed() {
    for seed in 0..10 {
        let archive = ArchiveOfArrays::random(seed);
        let range = range_of(&mut Random::new(seed));
        let checks: [(&str, Amounts); 5] = [
            ("max(-T:V)", |v| v.iter().map(|v| -v).fold(f64::NEG_INFINITY, f64::max)),
            ("sum(T:V * T:V) / length(T:V + 0)", |v| v.iter().map(|v| v * v).sum::<f64>() / v.len() as f64),
            ("mean(abs(T:V)) - min(T:V * 1)", |v| {
                v.iter().map(|v| v.abs()).sum::<f64>() / v.len() as f64
                    - v.iter().copied().fold(f64::INFINITY, f64::min)
            }),
            ("element(T:V - 1, 1)", |v| v[1] - 1.0),
            ("length(max(T:V, 0, T:V))", |v| v.len() as f64),
        ];
        for (text, of) in checks {
            for (time, value) in all_of(archive.results(text, range)) {
                match (archive.held(0, time), value) {
                    (None, ArrayValue::Unknown) => {}
                    (Some(v), ArrayValue::Number(number)) => {
                        assert!(is_close(number, of(v)), "{text} {time}: {number}")
                    }
                    other => panic!("{text}, {time}: {other:?}"),
                }
            }
        }
        // Integers are numbers, and each holds beside the mean of its array.
        for (time, value) in all_of(archive.results("T:I - mean(T:I)", range)) {
            let wanted = archive.held(2, time).map(|i| {
                let mean = i.iter().sum::<f64>() / i.len() as f64;
                ArrayValue::Array(i.iter().map(|i| i - mean).collect())
            });
            assert_eq!(value, wanted.unwrap_or(ArrayValue::Unknown), "seed {seed}, {time}");
        }
    }
}

#[test]
fn what_cannot_be_an_array_says_so_with_its_place() {
    let archive = ArchiveOfArrays::random(1);
    for (text, told) in [
        ("T:V > 1", "this is an array, which is no number and no condition; take element(…, 0)"),
        ("1 < T:V", "at character 5"),
        ("not T:V", "this is an array"),
        ("T:V and T:A > 1", "this is an array"),
        ("previous(T:V)", "this PV holds f64[], which is no number"),
        ("T:V + T:S", "this PV holds string, which is no number"),
        ("sum(T:A + 1)", "an array is needed here, and none was found, at character 9"),
        ("element(T:V + 1, 0.5)", "0.5 is no index; the first is 0, at character 1"),
        ("T:V + (T:A > 1)", "a number is needed here, and a condition was found"),
        ("T:V + T:X", "no PV of this archive is called \"T:X\", at character 7"),
    ] {
        match archive.bound(text) {
            Err(fault) => assert!(fault.contains(told), "{text}: {fault}"),
            Ok(_) => panic!("{text} is bound"),
        }
    }
    assert!(matches!(archive.bound("T:A + sum(T:V)"), Ok(Bound::Numbers(_))), "sums of recorded arrays are numbers");
}

/// Whoever may not take so much memory is asked before it is taken.
#[test]
fn memory_is_asked_for_before_a_value_is_made() {
    let archive = ArchiveOfArrays::random(2);
    let mut results =
        archive.results("T:V + T:W", TimeRange { t0: Timestamp::from_nanos(START), t1: Timestamp::from_nanos(END) });
    let (mut asked, mut made) = (0, 0);
    let refused = loop {
        let may = &mut |bytes: usize| {
            asked = bytes;
            if bytes > 3 * (2 * size_of::<f64>() + 24) { Err(StepError::TooMany(3)) } else { Ok(()) }
        };
        match results.next(may) {
            Ok(Some(_)) => made += 1,
            Ok(None) => panic!("some arrays are longer than three"),
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, StepError::TooMany(3)) && asked > 120 && made > 0, "{asked}, {made}");
}

//! Bins of arrays from a real store against a look at each element of each array.

use archive::{
    By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink,
    structure::{example, field_of},
};
use query::{ArrayBin, Cut, Elements, Query, Series};
use sample::{Alarm, Batch, Column, Sample, Severity, TimeRange, Timestamp, Value};
use store::{Config, Store};
use tempfile::TempDir;

/// How many random histories are tried. Each prints its seed when it fails.
const SEEDS: u64 = 30;
/// Times lie within so many nanoseconds, so that some samples share one.
const SPAN: u64 = 4000;

#[test]
fn each_row_is_what_looking_at_every_element_gives() {
    for seed in 0..SEEDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let samples: Vec<Sample> = (0..random.below(120)).map(|_| random.sample()).collect();
        let (_folder, store, pv) = recorded(&mut random, &samples);
        let query = Query::over(store.reader());
        for _ in 0..10 {
            let (a, b) = (random.below(SPAN) as i64, random.below(SPAN) as i64);
            let range = TimeRange { t0: Timestamp::from_nanos(a.min(b)), t1: Timestamp::from_nanos(a.max(b)) };
            let rows_max = [1, 2, 3, 7, 40, 65_536][random.below(6) as usize];
            let cut = if random.below(2) == 0 { Cut::Equal(1 + random.below(9) as usize) } else { Cut::Aligned(9) };
            let bins = query.array_bins(pv, range, cut, rows_max).expect("so many bins and rows are possible");
            let bins: Vec<ArrayBin> = bins.map(|bin| bin.expect("nothing is damaged")).collect();
            let place = format!("seed {seed}, {cut:?} of {range:?} in {rows_max} rows");
            assert!(bins[0].t0 <= range.t0 && bins[bins.len() - 1].t1 >= range.t1, "{place}");
            assert!(bins.windows(2).all(|pair| pair[0].t1 == pair[1].t0), "{place}");
            for bin in &bins {
                check(&samples, bin, rows_max, &place);
            }
        }
    }
}

#[test]
fn one_element_that_stands_out_in_one_of_many_frames_stands_out_in_its_row() {
    let at = |time: i64, value: f64| {
        let mut elements = vec![20.0; 1000];
        elements[637] = value;
        Sample { time: Timestamp::from_nanos(time), value: Value::Array(Column::F64(elements)), ..plain() }
    };
    let samples: Vec<Sample> = (0..500).map(|time| at(time, if time == 333 { 95.0 } else { 20.0 })).collect();
    let (_folder, store, pv) = recorded(&mut Random(1), &samples);
    let range = TimeRange { t0: Timestamp::from_nanos(0), t1: Timestamp::from_nanos(500) };
    let bins = Query::over(store.reader()).array_bins(pv, range, Cut::Equal(10), 100).expect("so many are possible");
    let bins: Vec<ArrayBin> = bins.map(|bin| bin.expect("nothing is damaged")).collect();
    let seen = bins.iter().zip(0..).flat_map(|(bin, index)| {
        let rows = bin.rows.iter().zip((0..).step_by(bin.elements_per_row));
        rows.filter(|(row, _)| row.max > 20.0).map(move |(row, first)| (index, first, row.max, row.count))
    });
    // Sixteen elements are together, and 50 frames.
    assert_eq!(seen.collect::<Vec<_>>(), [(6, 624, 95.0, 800)]);
}

#[test]
fn bins_that_are_much_work_are_made_together_to_the_same_result() {
    let at = |time: i64| {
        let elements = (0..40_000).map(|index| ((time * 31 + index) % 251) as u8).collect();
        Sample { time: Timestamp::from_nanos(time), value: Value::Array(Column::U8(elements)), ..plain() }
    };
    let samples: Vec<Sample> = (0..270).filter(|time| !(120..150).contains(time)).map(at).collect();
    let (_folder, store, pv) = recorded(&mut Random(1), &samples);
    let range = TimeRange { t0: Timestamp::from_nanos(0), t1: Timestamp::from_nanos(300) };
    let bins = Query::over(store.reader()).array_bins(pv, range, Cut::Equal(10), 50).expect("so many are possible");
    let bins: Vec<ArrayBin> = bins.map(|bin| bin.expect("nothing is damaged")).collect();
    assert_eq!(bins.iter().map(|bin| bin.count).collect::<Vec<_>>(), [30, 30, 30, 30, 0, 30, 30, 30, 30, 0]);
    bins.iter().for_each(|bin| check(&samples, bin, 50, "together"));
}

#[test]
fn an_array_within_structures_has_bins_too() {
    let samples: Vec<Sample> = (0..20)
        .map(|row| {
            let value = Value::Structure(example(row).into());
            Sample { time: Timestamp::from_nanos(row), value, ..plain() }
        })
        .collect();
    let (_folder, store, pv) = recorded(&mut Random(1), &samples);
    let series = Series { pv, field: Some("x".into()) };
    let range = TimeRange { t0: Timestamp::from_nanos(0), t1: Timestamp::from_nanos(20) };
    let bins = Query::over(store.reader()).array_bins(series, range, Cut::Equal(3), 8).expect("so many are possible");
    let fields: Vec<Sample> = samples.iter().filter_map(|sample| field_of(sample, "x")).collect();
    let bins: Vec<ArrayBin> = bins.map(|bin| bin.expect("nothing is damaged")).collect();
    assert_eq!((bins.len(), bins[1].length), (3, 3));
    bins.iter().for_each(|bin| check(&fields, bin, 8, "a field"));
}

#[test]
fn who_goes_gets_no_more_and_odd_numbers_of_rows_are_refused() {
    let samples = [Sample { value: Value::Array(Column::U8(vec![1])), ..plain() }];
    let (_folder, store, pv) = recorded(&mut Random(1), &samples);
    let query = Query::over(store.reader());
    for rows in [0, 65_537] {
        let error = query.array_bins(pv, TimeRange::ALL, Cut::Equal(1), rows).err().expect("it is refused");
        assert_eq!(error.to_string(), format!("{rows} rows of elements were asked for, 1 to 65536 are possible"));
    }
    let of_one_who_is_gone = query.array_bins(pv, TimeRange::ALL, Cut::Equal(5), 9).expect("so many are possible");
    assert_eq!(of_one_who_is_gone.while_wanted(|| true).count(), 0);
}

fn check(samples: &[Sample], bin: &ArrayBin, rows_max: usize, place: &str) {
    let within: Vec<&Sample> = samples.iter().filter(|sample| bin.t0 <= sample.time && sample.time < bin.t1).collect();
    let severity = within.iter().map(|sample| sample.alarm.severity).max().unwrap_or_default();
    let invalid = within.iter().filter(|sample| sample.alarm.severity == Severity::Invalid).count() as u64;
    assert_eq!((bin.count, bin.invalid_count), (within.len() as u64, invalid), "{place}");
    assert_eq!(bin.severity_max, severity, "{place}");
    let arrays: Vec<Vec<f64>> = within.iter().filter_map(|sample| numbers(&sample.value)).collect();
    let length = arrays.iter().map(Vec::len).max().unwrap_or(0);
    assert_eq!(bin.length, length, "{place}");
    let each = (0..).map(|power| 1 << power).find(|each| length.div_ceil(*each) <= rows_max).expect("there is one");
    assert_eq!((bin.elements_per_row, bin.rows.len()), (each, length.div_ceil(each)), "{place}");
    for (row, told) in bin.rows.iter().enumerate() {
        let of_row = |array: &Vec<f64>| array.iter().skip(row * each).take(each).copied().collect::<Vec<f64>>();
        let known: Vec<f64> = arrays.iter().flat_map(of_row).filter(|number| !number.is_nan()).collect();
        let finite: Vec<f64> = known.iter().copied().filter(|number| number.is_finite()).collect();
        let expected = Elements {
            count: finite.len() as u64,
            min: known.iter().copied().fold(f64::NAN, f64::min),
            max: known.iter().copied().fold(f64::NAN, f64::max),
            mean: finite.iter().sum::<f64>() / finite.len() as f64,
        };
        assert_eq!(told.count, expected.count, "{place}, row {row}");
        for (told, expected) in [(told.min, expected.min), (told.max, expected.max)] {
            assert!(
                told == expected || told.is_nan() && expected.is_nan(),
                "{place}, row {row}: {told} is not {expected}"
            );
        }
        let scale = finite.iter().fold(1.0, |most: f64, number| most.max(number.abs()));
        let is_mean = (told.mean - expected.mean).abs() <= 1e-12 * scale;
        assert!(is_mean || told.mean.is_nan() && expected.mean.is_nan(), "{place}, row {row}: {told:?}, {expected:?}");
    }
}

/// The elements of an array of numbers.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    let Value::Array(elements) = value else { return None };
    (0..elements.len()).map(|index| elements.f64_at(index)).collect()
}

fn plain() -> Sample {
    Sample { time: Timestamp::from_nanos(0), value: Value::F64(0.0), alarm: Alarm::default(), pulse: 0, stamp: None }
}

/// A store that holds them, some in segments and some in its head.
fn recorded(random: &mut Random, samples: &[Sample]) -> (TempDir, Store, PvId) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let none = Timestamp::from_nanos(0);
    let open = || Store::open(Config::new(folder.path()), none).expect("the store opens");
    let mut store = open();
    let settings = PvSettings::plain(Protocol::Pva, Method::Monitor, PvState::Active);
    let name = PvName::new("TEST:WAVE").expect("it is a name");
    let pv = store.writer().register(&[(name, settings)], &By::new("test", none)).expect("it registers")[0].id;
    for some in samples.chunks(17) {
        let batches = some.iter().map(|sample| (pv, Record::Samples(Batch::of(sample))));
        store.writer().append(&batches.collect::<Vec<_>>(), none).expect("the store takes it");
        if random.below(3) == 0 {
            store.close(none).expect("the store closes");
            store = open();
        }
    }
    (folder, store, pv)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    /// An array of any type of number and of any length, or something else.
    fn sample(&mut self) -> Sample {
        let length = self.below(60);
        let mut numbers: Vec<i64> = (0..length).map(|_| self.below(200) as i64 - 100).collect();
        // That makes each sample another, so that none is a repeat.
        numbers.push(self.below(1 << 52) as i64);
        let floats = |numbers: &[i64], random: &mut Random| -> Vec<f64> {
            let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
            let mut float = |number: &i64| match random.below(20) {
                index @ 0..4 => odd[index as usize],
                _ => *number as f64 / 3.0,
            };
            numbers.iter().map(&mut float).collect()
        };
        let value = match self.below(14) {
            0 => Column::Bool(numbers.iter().map(|number| *number > 0).collect()),
            1 => Column::I8(numbers.iter().map(|number| *number as i8).collect()),
            2 => Column::U8(numbers.iter().map(|number| *number as u8).collect()),
            3 => Column::I16(numbers.iter().map(|number| *number as i16).collect()),
            4 => Column::U16(numbers.iter().map(|number| *number as u16).collect()),
            5 => Column::I32(numbers.iter().map(|number| *number as i32).collect()),
            6 => Column::U32(numbers.iter().map(|number| *number as u32).collect()),
            7 => Column::I64(numbers),
            8 => Column::U64(numbers.iter().map(|number| number.unsigned_abs()).collect()),
            9 => Column::F32(floats(&numbers, self).iter().map(|number| *number as f32).collect()),
            10 => Column::Enum(numbers.iter().map(|number| *number as i32).collect()),
            11 => Column::String(["a", &self.below(1 << 52).to_string()].into_iter().collect()),
            _ => Column::F64(floats(&numbers, self)),
        };
        let value = if self.below(15) == 0 { Value::F64(self.below(1 << 52) as f64) } else { Value::Array(value) };
        let severity = [Severity::None, Severity::None, Severity::Minor, Severity::Invalid][self.below(4) as usize];
        let time = Timestamp::from_nanos(self.below(SPAN) as i64);
        Sample { time, value, alarm: Alarm { severity, ..Alarm::default() }, ..plain() }
    }
}

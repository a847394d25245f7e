//! Spectra of samples in a real store, against the sums that define them.

use std::{f64::consts::TAU, sync::Arc};

use analysis::{
    Detrend, Expression, ExpressionFault, IsWanted, Known, POINTS_MAX, Resample, Spectrum, SpectrumError,
    SpectrumGathering, SpectrumOutput, SpectrumWanted, SpectrumWindow, Units,
};
use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use query::{Query, Series};
use sample::{Alarm, Batch, Element, Gap, GapCause, Sample, TimeRange, Timestamp, Value, ValueType};
use store::{Config, Store};
use tempfile::TempDir;

const START: i64 = 1_767_225_600_000_000_000;
const STEP: i64 = 100_000_000;

const PLAIN: SpectrumWanted = SpectrumWanted {
    window: SpectrumWindow::None,
    output: SpectrumOutput::Amplitude,
    detrend: Detrend::None,
    tolerance: 0.05,
    resample: None,
};

/// A store with one PV.
struct ArchiveOfOne {
    store: Store,
    pv: PvId,
    // Dropped last: the store lies in it.
    _folder: TempDir,
}

impl ArchiveOfOne {
    fn of(samples: impl IntoIterator<Item = (i64, f64)>) -> ArchiveOfOne {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let now = Timestamp::from_nanos(START);
        let store = Store::open(Config::new(folder.path()), now).expect("the store opens");
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let name = (PvName::new("T:A").expect("it is a name"), settings);
        let pv = store.writer().register(&[name], &By::new("test", now)).expect("it registers")[0].id;
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        for (time, number) in samples {
            let time = Timestamp::from_nanos(time);
            let sample = Sample { time, value: Value::F64(number), alarm: Alarm::default(), pulse: 0, stamp: None };
            assert!(batch.push(&sample), "the batch was made for this kind");
        }
        store.writer().append(&[(pv, Record::Samples(batch))], now).expect("the store takes it");
        ArchiveOfOne { store, pv, _folder: folder }
    }

    fn with_gap(self, from: i64, to: i64) -> ArchiveOfOne {
        let [from, to] = [from, to].map(Timestamp::from_nanos);
        let gap = Gap { from, to: Some(to), cause: GapCause::Disconnected, lost: 0 };
        self.store.writer().append(&[(self.pv, Record::Gap(gap))], to).expect("the store takes it");
        self
    }

    fn spectrum(&self, range: TimeRange, wanted: SpectrumWanted) -> Result<Spectrum, SpectrumError> {
        let find = &mut |_: &str| -> Result<Option<Known>, ExpressionFault> {
            let series = Series::from(self.pv);
            let value_type = Some(ValueType::scalar(Element::F64));
            Ok(Some(Known { series, value_type, units: None, labels: Vec::new() }))
        };
        let program =
            Expression::parse("T:A").expect("it parses").bind(Units::Any, find, |fault| fault).expect("it binds");
        let is_wanted: IsWanted = Arc::new(|| true);
        let query = Query::over(self.store.reader());
        let mut gathering = SpectrumGathering::new(&query, &program, range, wanted, is_wanted)?;
        while gathering.go_on()? {}
        gathering.spectrum()
    }
}

/// A range of so many steps from the start.
fn steps(count: usize) -> TimeRange {
    TimeRange { t0: Timestamp::from_nanos(START), t1: Timestamp::from_nanos(START + count as i64 * STEP) }
}

/// Numbers that look random and are the same everywhere.
fn noise(count: usize) -> Vec<f64> {
    (0..count).map(|index| ((index * 7919 + 13) % 1009) as f64 / 100.0 - 3.0).collect()
}

fn evenly(numbers: &[f64]) -> ArchiveOfOne {
    ArchiveOfOne::of(numbers.iter().enumerate().map(|(index, number)| (START + index as i64 * STEP, *number)))
}

/// The sum that defines it, for each frequency: real and imaginary part.
fn by_definition(numbers: &[f64]) -> Vec<(f64, f64)> {
    let count = numbers.len();
    let of = |frequency: usize| {
        let angle = |index: usize| TAU * ((frequency * index) % count) as f64 / count as f64;
        let each = || numbers.iter().enumerate();
        (each().map(|(i, x)| x * angle(i).cos()).sum(), each().map(|(i, x)| -x * angle(i).sin()).sum())
    };
    (0..=count / 2).map(of).collect()
}

#[test]
fn strengths_are_those_of_the_definition_whatever_the_length() {
    for count in [2, 3, 4, 7, 16, 30, 97, 128, 251] {
        let numbers = noise(count);
        let archive = evenly(&numbers);
        for window in [SpectrumWindow::None, SpectrumWindow::Hann] {
            let weight = |index: usize| match window {
                SpectrumWindow::None => 1.0,
                SpectrumWindow::Hann => (TAU / 2.0 * index as f64 / count as f64).sin().powi(2),
            };
            let weighted: Vec<f64> = numbers.iter().enumerate().map(|(index, number)| number * weight(index)).collect();
            let sum: f64 = (0..count).map(weight).sum();
            let squares: f64 = (0..count).map(|index| weight(index).powi(2)).sum();
            for output in [SpectrumOutput::Amplitude, SpectrumOutput::Density] {
                let found =
                    archive.spectrum(steps(count), SpectrumWanted { window, output, ..PLAIN }).expect("it is even");
                assert_eq!((found.points, found.frequencies.len()), (count, count / 2 + 1));
                for (index, (re, im)) in by_definition(&weighted).into_iter().enumerate() {
                    let sides = if index == 0 || 2 * index == count { 1.0 } else { 2.0 };
                    let expected = match output {
                        SpectrumOutput::Amplitude => sides * re.hypot(im) / sum,
                        SpectrumOutput::Density => sides * (re * re + im * im) / (10.0 * squares),
                    };
                    let strength = found.strengths[index];
                    assert!(
                        (strength - expected).abs() < 1e-9,
                        "{count} {window:?} {output:?}: {strength}, {expected}"
                    );
                    assert!((found.frequencies[index] - index as f64 * 10.0 / count as f64).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn a_sine_has_its_amplitude_and_its_mean_square() {
    let sine: Vec<f64> = (0..1000).map(|index| 5.0 + 3.0 * (TAU * 0.7 * index as f64 / 10.0).sin()).collect();
    let archive = evenly(&sine);
    for window in [SpectrumWindow::None, SpectrumWindow::Hann] {
        let asked = SpectrumWanted { window, detrend: Detrend::Mean, ..PLAIN };
        let found = archive.spectrum(steps(1000), asked).expect("it is even");
        let strongest = (0..found.strengths.len()).max_by(|a, b| found.strengths[*a].total_cmp(&found.strengths[*b]));
        let strongest = strongest.expect("there are some");
        assert!((found.frequencies[strongest] - 0.7).abs() < 1e-9 && (found.strengths[strongest] - 3.0).abs() < 1e-9);
        assert!((found.mean - 5.0).abs() < 1e-9 && found.strengths[0].abs() < 1e-9);
        let density = archive.spectrum(steps(1000), SpectrumWanted { output: SpectrumOutput::Density, ..asked });
        let density = density.expect("it is even");
        let mean_square: f64 =
            density.strengths.iter().sum::<f64>() * (density.frequencies[1] - density.frequencies[0]);
        assert!((mean_square - 4.5).abs() < 1e-9, "{mean_square}");
    }
}

#[test]
fn a_slope_is_taken_off_if_that_is_asked() {
    let slope: Vec<f64> = (0..100).map(|index| 7.0 + 0.25 * index as f64).collect();
    let archive = evenly(&slope);
    let most = |detrend: Detrend| {
        let found = archive.spectrum(steps(100), SpectrumWanted { detrend, ..PLAIN }).expect("it is even");
        found.strengths.iter().copied().fold(0.0, f64::max)
    };
    assert!(most(Detrend::Linear) < 1e-9 && most(Detrend::Mean) > 1.0 && most(Detrend::None) > 19.0);
}

#[test]
fn uneven_samples_are_refused_with_what_was_found() {
    let late = |index: i64| START + index * STEP + if index == 40 { STEP / 4 } else { 0 };
    let archive = ArchiveOfOne::of((0..100).map(|index| (late(index), index as f64)));
    match archive.spectrum(steps(100), PLAIN) {
        Err(SpectrumError::Uneven(found)) => {
            assert_eq!((found.count, found.worst.nanos()), (100, late(40)));
            assert!((found.step - 0.1).abs() < 1e-3 && (found.off - 0.25).abs() < 0.01, "{found:?}");
            assert!((found.apart.0 - 0.075).abs() < 1e-9 && (found.apart.1 - 0.125).abs() < 1e-9, "{found:?}");
        }
        other => panic!("{other:?}"),
    }
    let found = archive.spectrum(steps(100), SpectrumWanted { tolerance: 0.3, ..PLAIN }).expect("that is tolerated");
    assert!(found.unevenness > 0.2 && found.unevenness < 0.3, "{}", found.unevenness);
    // A sample that is missing shifts all that follow.
    let missing = ArchiveOfOne::of((0..100).filter(|index| *index != 50).map(|index| (START + index * STEP, 1.0)));
    assert!(matches!(missing.spectrum(steps(100), PLAIN), Err(SpectrumError::Uneven(_))));
}

#[test]
fn what_is_resampled_is_what_held_or_lies_on_lines_or_is_the_mean() {
    let archive = ArchiveOfOne::of([0, 3, 4, 9, 12].map(|index| (START + index * STEP, index as f64)));
    let range = steps(12);
    let points = |method: Resample, step: i64| {
        let wanted = SpectrumWanted { resample: Some((step, method)), ..PLAIN };
        archive.spectrum(range, wanted).expect("it is known all the time")
    };
    // The mean of the points tells them apart; the points are those of the grid.
    let held: Vec<f64> = [0, 0, 0, 3, 4, 4, 4, 4, 4, 9, 9, 9].map(f64::from).to_vec();
    let found = points(Resample::Previous, STEP);
    assert_eq!((found.points, found.from, found.to), (12, range.t0, range.t1));
    assert!((found.mean - held.iter().sum::<f64>() / 12.0).abs() < 1e-12, "{}", found.mean);
    for ((re, im), strength) in by_definition(&held).into_iter().zip(&found.strengths).skip(1).take(5) {
        assert!((2.0 * re.hypot(im) / 12.0 - strength).abs() < 1e-9);
    }
    // From the last sample in the range on the number goes on: nobody asked for what comes behind.
    let lines: f64 = (0..=9).map(f64::from).sum::<f64>() + 9.0 + 9.0;
    assert!((points(Resample::Linear, STEP).mean - lines / 12.0).abs() < 1e-12);
    let means = points(Resample::Mean, 3 * STEP);
    let expected = [0.0, (3.0 + 4.0 + 4.0) / 3.0, 4.0, 9.0];
    assert!(means.points == 4 && (means.mean - expected.iter().sum::<f64>() / 4.0).abs() < 1e-12, "{means:?}");
}

#[test]
fn what_is_not_known_between_is_refused_with_the_longest_time_that_is() {
    let (from, to) = (START + 30 * STEP + 1, START + 35 * STEP);
    let gap = evenly(&noise(100)).with_gap(from, to);
    let mut numbers = noise(100);
    numbers[31] = f64::NAN;
    let nan = evenly(&numbers);
    for (archive, first, begins) in [(&gap, from, 35), (&nan, START + 31 * STEP, 32)] {
        match archive.spectrum(steps(100), PLAIN) {
            Err(SpectrumError::Unknown { at, longest: Some((known_from, known_to, count)) }) => {
                assert_eq!((at.nanos(), known_from.nanos()), (first, START + begins * STEP));
                let range = TimeRange { t0: known_from, t1: known_to };
                assert_eq!(archive.spectrum(range, PLAIN).expect("it is known there").points, count);
            }
            other => panic!("{other:?}"),
        }
        let resampled = SpectrumWanted { resample: Some((STEP, Resample::Previous)), ..PLAIN };
        assert!(matches!(archive.spectrum(steps(100), resampled), Err(SpectrumError::Unknown { .. })));
    }
    numbers[31] = f64::INFINITY;
    assert!(
        matches!(evenly(&numbers).spectrum(steps(100), PLAIN), Err(SpectrumError::Infinite(at)) if at.nanos() == START + 31 * STEP)
    );
}

#[test]
fn too_few_and_too_many_points_are_refused_before_they_are_made() {
    let archive = evenly(&noise(10));
    for count in [0, 1] {
        assert!(matches!(archive.spectrum(steps(count), PLAIN), Err(SpectrumError::TooFew(found)) if found == count));
    }
    let long = TimeRange { t1: Timestamp::MAX, ..steps(10) };
    for (method, most) in [(Resample::Previous, POINTS_MAX), (Resample::Mean, 100_000)] {
        let wanted = SpectrumWanted { resample: Some((1, method)), ..PLAIN };
        assert!(matches!(archive.spectrum(long, wanted), Err(SpectrumError::TooMany(found, _)) if found == most));
    }
    // Of a length that is prime, which takes other ways through the transform.
    let wanted = SpectrumWanted { resample: Some((1_000_000, Resample::Previous)), ..PLAIN };
    let prime = 65_537;
    let range = TimeRange { t1: Timestamp::from_nanos(START + prime * 1_000_000), ..steps(10) };
    assert_eq!(archive.spectrum(range, wanted).expect("lengths may be prime").points, prime as usize);
}

//! Answers from a real store against the plainest possible ones: all samples in a list, looked at one by one.

mod history;

use history::History;
use query::{Before, Bin, Query, Request};
use sample::{Sample, Severity, TimeRange, Timestamp};

/// How many random histories are tried. Each prints its seed when it fails.
const SEEDS: u64 = 40;

#[test]
fn samples_are_those_of_the_range_in_order_with_the_one_before_if_it_is_wanted() {
    for seed in 0..SEEDS {
        let mut history = History::random(seed);
        let query = Query::over(history.reader());
        for _ in 0..10 {
            let range = history.random_range();
            for before in [Before::None, Before::Include] {
                let request = Request { pv: history.pv, range, before };
                let answered: Vec<Sample> = query.samples(&request).flat_map(|batch| rows(&batch.unwrap())).collect();
                let expected = expected_samples(&history.samples, range, before);
                assert_eq!(answered.len(), expected.len(), "seed {seed}, {range:?}, {before:?}");
                for (answered, expected) in answered.iter().zip(&expected) {
                    assert!(answered.identical(expected), "seed {seed}, {range:?}: {answered:?} is not {expected:?}");
                }
            }
        }
    }
}

#[test]
fn bins_are_what_looking_at_every_sample_gives() {
    for seed in 0..SEEDS {
        let mut history = History::random(seed);
        let query = Query::over(history.reader());
        for _ in 0..10 {
            let range = history.random_range();
            let count = history.random_count();
            let bins: Vec<Bin> = query.bins(history.pv, range, count).unwrap().map(Result::unwrap).collect();
            assert_eq!(bins.len(), count);
            for (index, bin) in bins.iter().enumerate() {
                let edge = |i: usize| {
                    let (t0, t1) = (i128::from(range.t0.nanos()), i128::from(range.t1.nanos()));
                    Timestamp::from_nanos((t0 + (t1 - t0) * i as i128 / count as i128) as i64)
                };
                assert_eq!((bin.t0, bin.t1), (edge(index), edge(index + 1)), "seed {seed}");
                check_bin(&history.samples, bin, &format!("seed {seed}, bin {index} of {count} in {range:?}"));
            }
        }
    }
}

#[test]
fn the_number_of_bins_has_limits() {
    let history = History::random(1);
    let query = Query::over(history.reader());
    for count in [0, 100_001] {
        let error = query.bins(history.pv, TimeRange::ALL, count).err().expect("it is refused");
        assert_eq!(error.to_string(), format!("{count} bins were asked for, 1 to 100000 are possible"));
    }
}

fn rows(batch: &sample::Batch) -> Vec<Sample> {
    (0..batch.len()).map(|row| batch.get(row)).collect()
}

fn expected_samples(samples: &[Sample], range: TimeRange, before: Before) -> Vec<Sample> {
    let within = samples.iter().filter(|sample| range.contains(sample.time));
    let holds = samples.iter().rfind(|sample| sample.time <= range.t0);
    let first = holds.filter(|sample| before == Before::Include && !range.contains(sample.time));
    first.into_iter().chain(within).cloned().collect()
}

fn check_bin(samples: &[Sample], bin: &Bin, place: &str) {
    let within: Vec<&Sample> = samples.iter().filter(|sample| bin.t0 <= sample.time && sample.time < bin.t1).collect();
    let invalid = within.iter().filter(|sample| sample.alarm.severity == Severity::Invalid).count();
    let worst = within.iter().map(|sample| sample.alarm.severity).max().unwrap_or_default();
    assert_eq!(
        (bin.count, bin.invalid_count, bin.severity_max),
        (within.len() as u64, invalid as u64, worst),
        "{place}"
    );

    let numbers: Vec<f64> = within.iter().filter_map(|sample| sample.value.as_f64()).collect();
    let ordered: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    assert_eq!(bin.nan_count, (numbers.len() - ordered.len()) as u64, "{place}");
    let min = ordered.iter().copied().reduce(|min, number| if number < min { number } else { min });
    let max = ordered.iter().copied().reduce(|max, number| if number > max { number } else { max });
    let expected = [min, max, numbers.first().copied(), numbers.last().copied()];
    for (answered, expected) in [bin.min, bin.max, bin.first, bin.last].into_iter().zip(expected) {
        let expected = expected.unwrap_or(f64::NAN);
        assert!(same(answered, expected), "{place}: {answered:?} is not {expected:?}");
    }

    let finite: Vec<f64> = ordered.into_iter().filter(|number| number.is_finite()).collect();
    if finite.is_empty() {
        assert!(bin.mean.is_nan(), "{place}");
        return;
    }
    // Each number is divided first: the sum of the largest floats has no float.
    let mean_of = |number: fn(f64) -> f64| finite.iter().map(|v| number(*v) / finite.len() as f64).sum::<f64>();
    let (mean, magnitude) = (mean_of(|v| v), mean_of(f64::abs));
    assert!((bin.mean - mean).abs() <= 1e-12 * magnitude, "{place}: {} is not {mean}", bin.mean);
}

/// Equal to the last bit; all NaNs count as one, because a bin without numbers has the usual one.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

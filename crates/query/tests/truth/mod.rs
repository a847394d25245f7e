//! What a bin must be: all samples looked at one by one.

use query::Bin;
use sample::{Sample, Severity, Timestamp};

/// `samples` are in order, without repeats; the last one holds until `until`.
pub(crate) fn check_bin(samples: &[Sample], bin: &Bin, until: Timestamp, place: &str) {
    check_time(samples, bin, until, place);
    let begin = |time: Timestamp| samples.partition_point(|sample| sample.time < time);
    let within = &samples[begin(bin.t0)..begin(bin.t1)];
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
        assert!(bin.mean.is_nan() && bin.std.is_nan(), "{place}");
        return;
    }
    // Each number is divided first: the sum of the largest floats has no float.
    let mean_of = |number: fn(f64) -> f64| finite.iter().map(|v| number(*v) / finite.len() as f64).sum::<f64>();
    let (mean, magnitude) = (mean_of(|v| v), mean_of(f64::abs));
    assert!((bin.mean - mean).abs() <= 1e-12 * magnitude, "{place}: {} is not {mean}", bin.mean);
    let squares: f64 = finite.iter().map(|value| (value - mean) * (value - mean)).sum();
    let std = if finite.len() == 1 { 0.0 } else { (squares / (finite.len() - 1) as f64).sqrt() };
    let close = bin.std == std || (bin.std - std).abs() <= 1e-12 * (std + magnitude);
    assert!(close, "{place}: {} is not {std}", bin.std);
}

/// Each finite number counts from its sample, or the beginning of the bin, to the next sample, or the end of the bin.
fn check_time(samples: &[Sample], bin: &Bin, until: Timestamp, place: &str) {
    let (mut covered, mut held) = (0, Vec::new());
    let begin = |time: Timestamp| samples.partition_point(|sample| sample.time < time);
    let from = begin(bin.t0).saturating_sub(1);
    for (index, sample) in samples.iter().enumerate().take(begin(bin.t1)).skip(from) {
        let next = samples.get(index + 1).map_or(until, |next| next.time);
        let (from, to) = (sample.time.max(bin.t0), next.min(bin.t1));
        if let Some(number) = sample.value.as_f64().filter(|number| number.is_finite() && from < to) {
            let nanos = (to.nanos() - from.nanos()) as u64;
            covered += nanos;
            held.push((number, nanos as f64));
        }
    }
    assert_eq!(bin.covered, covered, "{place}");
    let mean_of = |part: fn(f64) -> f64| held.iter().map(|(v, nanos)| part(*v) * (nanos / covered as f64)).sum::<f64>();
    let (mean, magnitude) = (mean_of(|v| v), mean_of(f64::abs));
    let answered = bin.time_weighted_mean;
    let close =
        if covered == 0 { answered.is_nan() } else { (answered - mean).abs() <= 1e-12 * magnitude + f64::MIN_POSITIVE };
    assert!(close, "{place}: {answered} is not {mean}");
}

/// Equal to the last bit; all NaNs count as one, because a bin without numbers has the usual one.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

//! Answers from a real store against the plainest possible ones: all samples in a list, looked at one by one.

mod history;
mod truth;

use history::History;
use query::{Before, Bin, Cut, Query, Request};
use sample::{Sample, TimeRange, Timestamp};
use truth::check_bin;

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
                let request = Request { series: history.pv.into(), range, before };
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
            let bins = query.bins(history.pv, range, Cut::Equal(count)).unwrap().held_until(range.t1);
            let bins: Vec<Bin> = bins.map(Result::unwrap).collect();
            assert_eq!(bins.len(), count);
            for (index, bin) in bins.iter().enumerate() {
                let edge = |i: usize| {
                    let (t0, t1) = (i128::from(range.t0.nanos()), i128::from(range.t1.nanos()));
                    Timestamp::from_nanos((t0 + (t1 - t0) * i as i128 / count as i128) as i64)
                };
                assert_eq!((bin.t0, bin.t1), (edge(index), edge(index + 1)), "seed {seed}");
                let place = format!("seed {seed}, bin {index} of {count} in {range:?}");
                check_bin(&history.samples, bin, range.t1, &place);
            }
        }
    }
}

#[test]
fn aligned_bins_cover_the_range_and_are_what_looking_at_every_sample_gives() {
    for seed in 0..SEEDS {
        let mut history = History::random(seed);
        let query = Query::over(history.reader());
        for _ in 0..10 {
            let (range, now) = (history.random_range(), history.random_range().t1);
            let until = history.samples.last().map_or(now, |newest| newest.time.max(now));
            let count = history.random_count() + 1;
            let bins = query.bins(history.pv, range, Cut::Aligned(count)).unwrap().held_until(until);
            let bins: Vec<Bin> = bins.map(Result::unwrap).collect();
            assert!(!bins.is_empty() && bins.len() <= count, "seed {seed}");
            assert!(bins[0].t0 <= range.t0 && bins[bins.len() - 1].t1 >= range.t1, "seed {seed}, {range:?}");
            let width = bins[0].t1.nanos() - bins[0].t0.nanos();
            for (index, bin) in bins.iter().enumerate() {
                assert_eq!((bin.t0.nanos() % width, bin.t1.nanos() - bin.t0.nanos()), (0, width), "seed {seed}");
                let place = format!("seed {seed}, aligned bin {index} of {} in {range:?}", bins.len());
                check_bin(&history.samples, bin, until, &place);
            }
        }
    }
}

#[test]
fn the_number_of_bins_has_limits() {
    let history = History::random(1);
    let query = Query::over(history.reader());
    for count in [0, 100_001] {
        let error = query.bins(history.pv, TimeRange::ALL, Cut::Equal(count)).err().expect("it is refused");
        assert_eq!(error.to_string(), format!("{count} bins were asked for, 1 to 100000 are possible"));
    }
    let error = query.bins(history.pv, TimeRange::ALL, Cut::Aligned(2)).err().expect("it is refused");
    assert!(error.to_string().starts_with("no 2 aligned bins cover the range"), "{error}");
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

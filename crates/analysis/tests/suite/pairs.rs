//! Pairs of two expressions, from a real store, against a look at each moment.

use std::collections::BTreeSet;

use analysis::{Pairs, PairsBy, PairsGathering};
use sample::TimeRange;

use crate::{
    archive_of_three::Archive,
    computed::{is_close, program, wanted},
};

const SEEDS: u64 = 20;

fn found(archive: &Archive, texts: [&str; 2], range: TimeRange, by: PairsBy, limit: usize) -> Pairs {
    let [x, y] = texts.map(|text| program(archive, text));
    let mut gathering =
        PairsGathering::new(&archive.query(), [&x, &y], range, by, limit, wanted()).expect("gaps can be read");
    while gathering.go_on().expect("nothing is damaged") {}
    gathering.pairs()
}

/// The stamps of some PVs in a range.
fn stamps(archive: &Archive, pvs: &[usize], range: TimeRange) -> BTreeSet<i64> {
    let all = pvs.iter().flat_map(|pv| archive.stamps(*pv));
    all.filter(|time| (range.t0.nanos()..range.t1.nanos()).contains(time)).collect()
}

fn sum_at(archive: &Archive, time: i64) -> Option<f64> {
    Some(archive.number_at(0, time)? - 2.0 * archive.number_at(1, time)?).filter(|number| !number.is_nan())
}

fn is_as(pairs: &Pairs, expected: &[(i64, f64, f64)], unpaired: u64, place: &str) {
    let made = pairs.times.iter().zip(&pairs.x).zip(&pairs.y).map(|((time, x), y)| (time.nanos(), *x, *y));
    let made: Vec<(i64, f64, f64)> = made.collect();
    assert_eq!(made, expected, "{place}");
    assert_eq!(pairs.unpaired, unpaired, "{place}");
    assert!(pairs.until.is_none(), "{place}");
}

#[test]
fn each_sample_of_the_first_has_what_the_second_held() {
    let mut pairs_of = [0, 0, 0];
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        let range = archive.random_range();
        let place = format!("seed {seed}");
        for (index, by) in [PairsBy::Last, PairsBy::Stamp].into_iter().enumerate() {
            let (mut expected, mut unpaired) = (Vec::new(), 0);
            let partners = stamps(&archive, &[1], range);
            for time in stamps(&archive, &[0], range) {
                let Some(x) = archive.number_at(0, time) else { continue };
                let is_there = by == PairsBy::Last || partners.contains(&time);
                match archive.number_at(1, time).filter(|_| is_there) {
                    Some(y) => expected.push((time, x, y)),
                    None => unpaired += 1,
                }
            }
            pairs_of[index] += expected.len();
            is_as(&found(&archive, ["T:A", "T:B"], range, by, usize::MAX), &expected, unpaired, &place);
        }
        // Of a formula it is each moment at which one of its PVs has a sample.
        let (mut expected, mut unpaired) = (Vec::new(), 0);
        for time in stamps(&archive, &[0, 1], range) {
            let Some(x) = sum_at(&archive, time) else { continue };
            match archive.number_at(0, time) {
                Some(y) => expected.push((time, x, y)),
                None => unpaired += 1,
            }
        }
        pairs_of[2] += expected.len();
        is_as(&found(&archive, ["T:A - 2*T:B", "T:A"], range, PairsBy::Last, usize::MAX), &expected, unpaired, &place);
    }
    assert!(pairs_of.iter().all(|count| *count > 100), "{pairs_of:?}");
}

#[test]
fn a_grid_has_what_both_hold_at_each_of_its_times() {
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        let range = archive.random_range();
        let step = 977_000_000_000 + seed as i64;
        let (mut expected, mut unpaired, mut time) = (Vec::new(), 0, range.t0.nanos());
        while time < range.t1.nanos() {
            match (archive.number_at(0, time), sum_at(&archive, time)) {
                (Some(x), Some(y)) => expected.push((time, x, y)),
                (None, None) => {}
                _ => unpaired += 1,
            }
            time += step;
        }
        let pairs = found(&archive, ["T:A", "T:A - 2*T:B"], range, PairsBy::Grid(step), usize::MAX);
        is_as(&pairs, &expected, unpaired, &format!("seed {seed}"));
    }
}

#[test]
fn means_are_those_of_each_part_and_say_where_summaries_told_them() {
    let mut told = 0;
    for seed in 0..SEEDS {
        let archive = Archive::random(seed);
        let (range, step) = (archive.whole(), 3_600_000_000_000);
        let pairs = found(&archive, ["T:A", "T:B"], range, PairsBy::Mean(step), usize::MAX);
        told += pairs.by_summaries;
        for ((time, x), y) in pairs.times.iter().zip(&pairs.x).zip(&pairs.y) {
            assert_eq!((time.nanos() - range.t0.nanos()) % step, 0, "seed {seed}");
            for (pv, mean) in [(0, x), (1, y)] {
                let held = archive.steps_between(pv, time.nanos(), time.nanos() + step);
                let covered: i64 = held.iter().map(|(_, nanos)| nanos).sum();
                let expected = held.iter().map(|(number, nanos)| number * *nanos as f64).sum::<f64>() / covered as f64;
                assert!(is_close(*mean, expected), "seed {seed}, {time}: {mean} is not {expected}");
            }
        }
    }
    assert!(told > 100, "{told} pairs by summaries");
}

#[test]
fn the_line_is_that_of_least_squares() {
    let archive = Archive::random(4);
    let pairs = found(&archive, ["T:A", "T:A * 3 + T:B / 7 + 1000000"], archive.whole(), PairsBy::Last, usize::MAX);
    let finite: Vec<(f64, f64)> =
        pairs.x.iter().copied().zip(pairs.y.iter().copied()).filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let count = finite.len() as f64;
    let (mean_x, mean_y) =
        (finite.iter().map(|of| of.0).sum::<f64>() / count, finite.iter().map(|of| of.1).sum::<f64>() / count);
    let of = |product: fn(f64, f64) -> f64| finite.iter().map(|(x, y)| product(x - mean_x, y - mean_y)).sum::<f64>();
    let (xx, yy, xy) = (of(|x, _| x * x), of(|_, y| y * y), of(|x, y| x * y));
    assert!(count > 1000.0 && is_close(pairs.slope, xy / xx), "{} is not {}", pairs.slope, xy / xx);
    assert!(is_close(pairs.correlation, xy / (xx * yy).sqrt()));
    assert!((pairs.intercept - (mean_y - xy / xx * mean_x)).abs() < 1e-6);
    let alone = found(&archive, ["T:A - T:A", "T:A"], archive.whole(), PairsBy::Last, usize::MAX);
    assert!(alone.slope.is_nan() && alone.correlation.is_nan(), "all lie above each other");
}

/// Whoever goes on from where an answer ended gets the rest, and no pair twice.
#[test]
fn what_is_beyond_the_limit_begins_where_the_answer_says() {
    let archive = Archive::random(6);
    let range = archive.whole();
    for by in [PairsBy::Last, PairsBy::Grid(60_000_000_000), PairsBy::Mean(600_000_000_000)] {
        let whole = found(&archive, ["T:A", "T:B"], range, by, usize::MAX);
        let first = found(&archive, ["T:A", "T:B"], range, by, 100);
        let until = first.until.expect("there are more");
        let rest = found(&archive, ["T:A", "T:B"], TimeRange { t0: until, ..range }, by, usize::MAX);
        assert_eq!(first.times.len(), 100);
        assert_eq!([first.times, rest.times].concat(), whole.times);
        assert_eq!(
            [first.y, rest.y].concat().iter().map(|y| y.to_bits()).collect::<Vec<_>>(),
            whole.y.iter().map(|y| y.to_bits()).collect::<Vec<_>>()
        );
    }
}

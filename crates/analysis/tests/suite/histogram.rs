//! Histograms from a real store, against a look at each moment and each sample.

use analysis::{Histogram, HistogramGathering, HistogramParts, HistogramWeight};
use query::{Before, Request};
use sample::{TimeRange, Timestamp};

use crate::{
    archive_of_three::Archive,
    computed::{program, wanted},
};

const SEEDS: u64 = 30;

fn found(archive: &Archive, text: &str, range: TimeRange, parts: HistogramParts, weight: HistogramWeight) -> Histogram {
    let (query, program) = (archive.query(), program(archive, text));
    let mut gathering =
        HistogramGathering::new(query, program, range, parts, weight, wanted()).expect("gaps can be read");
    while gathering.go_on().expect("nothing is damaged") {}
    gathering.histogram()
}

/// What lies where: below, each part, above, -inf, inf, NaN, gaps, before.
fn places(edges: &[f64]) -> Vec<u64> {
    vec![0; edges.len() + 6]
}

fn place_of(number: f64, edges: &[f64]) -> usize {
    let (count, last) = (edges.len(), edges[edges.len() - 1]);
    match number {
        _ if number.is_nan() => count + 3,
        f64::INFINITY => count + 2,
        f64::NEG_INFINITY => count + 1,
        _ if number < edges[0] => 0,
        _ if number > last => count,
        _ if number == last => count - 1,
        _ => edges.iter().rposition(|edge| *edge <= number).expect("it is not below") + 1,
    }
}

fn as_places(found: &Histogram, of: fn(&analysis::HistogramShare) -> u64) -> Vec<u64> {
    let Histogram { below, parts, above, minus_infinite, infinite, nan, gaps, before, .. } = found;
    let ends = [above, minus_infinite, infinite, nan, gaps, before];
    [below].into_iter().chain(parts).chain(ends).map(of).collect()
}

/// For how long the sum was where.
fn times(archive: &Archive, factor: Option<f64>, range: TimeRange, edges: &[f64]) -> Vec<u64> {
    let (from, to) = (range.t0.nanos(), range.t1.nanos());
    let mut moments: Vec<i64> = archive.changes().filter(|time| (from..to).contains(time)).chain([from, to]).collect();
    moments.sort_unstable();
    moments.dedup();
    let pvs: &[usize] = if factor.is_some() { &[0, 1] } else { &[0] };
    let mut places = places(edges);
    for pair in moments.windows(2) {
        let number = match factor {
            None => archive.number_at(0, pair[0]),
            Some(factor) => {
                archive.number_at(0, pair[0]).zip(archive.number_at(1, pair[0])).map(|(a, b)| a + factor * b)
            }
        };
        let place = match number {
            Some(number) if !number.is_nan() => place_of(number, edges),
            _ if pvs.iter().any(|pv| archive.in_gap(*pv, pair[0])) => edges.len() + 4,
            _ if pvs.iter().any(|pv| archive.in_force(*pv, pair[0]).is_none()) => edges.len() + 5,
            _ => edges.len() + 3,
        };
        places[place] += (pair[1] - pair[0]) as u64;
    }
    places
}

fn edges(seed: u64) -> Vec<f64> {
    [vec![-6.0, -2.0, 0.0, 1.0, 3.5, 6.0], vec![-3.0, 2.0], vec![-1.5, -0.5, 0.5, 4.0]][seed as usize % 3].clone()
}

#[test]
fn time_is_counted_where_the_number_was() {
    let (mut by_summaries, mut by_samples) = (0, 0);
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        let edges = edges(seed);
        for range in [archive.random_range(), archive.whole()] {
            for (text, factor) in [("T:A", None), ("T:A + 2*T:B", Some(2.0))] {
                let parts = HistogramParts::Edges(edges.clone());
                let found = found(&archive, text, range, parts, HistogramWeight::Time);
                let expected = times(&archive, factor, range, &edges);
                assert_eq!(as_places(&found, |share| share.nanos as u64), expected, "seed {seed}, {text}, {range:?}");
                assert!(as_places(&found, |share| share.count).iter().all(|count| *count == 0));
                assert_eq!(found.by_summaries + found.by_samples, range.t1.nanos() - range.t0.nanos(), "seed {seed}");
                by_summaries += found.by_summaries;
                by_samples += found.by_samples;
            }
        }
    }
    assert!(by_summaries > 0 && by_samples > 0, "{by_summaries} and {by_samples}");
}

#[test]
fn each_sample_of_a_pv_counts_once_where_it_lies() {
    let (mut by_summaries, mut by_samples) = (0, 0);
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        let edges = edges(seed);
        for range in [archive.random_range(), archive.whole()] {
            let mut expected = places(&edges);
            let series = archive.known("T:A").expect("it is there").series;
            for batch in archive.query().samples(&Request { series, range, before: Before::None }) {
                let batch = batch.expect("nothing is damaged");
                (0..batch.len()).for_each(|row| {
                    expected[place_of(batch.values().f64_at(row).unwrap_or(f64::NAN), &edges)] += 1;
                });
            }
            let parts = || HistogramParts::Edges(edges.clone());
            let counted = found(&archive, "T:A", range, parts(), HistogramWeight::Count);
            assert_eq!(as_places(&counted, |share| share.count), expected, "seed {seed}, {range:?}");
            by_summaries += counted.by_summaries;
            by_samples += counted.by_samples;
            let both = found(&archive, "T:A", range, parts(), HistogramWeight::Both);
            assert_eq!(as_places(&both, |share| share.count), expected, "seed {seed}, {range:?}");
            assert_eq!(
                as_places(&both, |share| share.nanos as u64),
                times(&archive, None, range, &edges),
                "seed {seed}"
            );
        }
    }
    assert!(by_summaries > 0 && by_samples > 0, "{by_summaries} and {by_samples}");
}

#[test]
fn of_a_formula_the_moments_count_at_which_a_pv_has_a_sample() {
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        let (range, edges) = (archive.random_range(), edges(seed));
        let within = |time: &i64| (range.t0.nanos()..range.t1.nanos()).contains(time);
        let moments: std::collections::BTreeSet<i64> =
            archive.stamps(0).chain(archive.stamps(1)).filter(within).collect();
        let mut expected = places(&edges);
        for time in moments {
            let sum = archive.number_at(0, time).zip(archive.number_at(1, time)).map_or(f64::NAN, |(a, b)| a + 2.0 * b);
            expected[place_of(sum, &edges)] += 1;
        }
        for weight in [HistogramWeight::Count, HistogramWeight::Both] {
            let parts = HistogramParts::Edges(edges.clone());
            let found = found(&archive, "T:A + 2*T:B", range, parts, weight);
            assert_eq!(as_places(&found, |share| share.count), expected, "seed {seed}, {weight:?}");
            if weight == HistogramWeight::Both {
                let times = times(&archive, Some(2.0), range, &edges);
                assert_eq!(as_places(&found, |share| share.nanos as u64), times, "seed {seed}");
            }
        }
    }
}

#[test]
fn equal_parts_lie_between_the_least_and_the_greatest() {
    for seed in 0..SEEDS {
        let archive = Archive::random(seed);
        let range = archive.whole();
        for text in ["T:A", "T:A + 2*T:B"] {
            let parts = HistogramParts::Equal { count: 7, low: None, high: None };
            let found = found(&archive, text, range, parts, HistogramWeight::Time);
            assert_eq!(found.edges.len(), 8, "seed {seed}");
            assert!(found.edges.is_sorted(), "{:?}", found.edges);
            assert_eq!((found.below.nanos, found.above.nanos), (0, 0), "seed {seed}");
            let factor = (text != "T:A").then_some(2.0);
            assert_eq!(
                as_places(&found, |share| share.nanos as u64),
                times(&archive, factor, range, &found.edges),
                "seed {seed}"
            );
            // Neither end could be moved inwards.
            if found.edges[7] - found.edges[0] > 1.0 {
                assert!(found.parts[0].nanos > 0 || text == "T:A", "seed {seed}");
            }
        }
        let one_end = HistogramParts::Equal { count: 3, low: Some(100.0), high: None };
        let beyond = found(&archive, "T:A", range, one_end, HistogramWeight::Time);
        for (low, high) in [(Some(f64::MAX), None), (None, Some(f64::MIN)), (Some(f64::MIN), Some(f64::MAX))] {
            let parts = HistogramParts::Equal { count: 3, low, high };
            let widest = found(&archive, "T:A", range, parts, HistogramWeight::Time);
            assert!(widest.edges.is_sorted() && widest.edges.iter().all(|edge| edge.is_finite()), "{:?}", widest.edges);
        }
        assert!(beyond.edges[0] == 100.0 && beyond.edges.is_sorted_by(|a, b| a < b), "{:?}", beyond.edges);
    }
}

#[test]
fn an_empty_range_and_a_constant_have_their_histograms() {
    let archive = Archive::random(1);
    let range = archive.whole();
    let nothing = TimeRange { t0: range.t0, t1: range.t0 };
    let parts = || HistogramParts::Equal { count: 2, low: None, high: None };
    for weight in [HistogramWeight::Time, HistogramWeight::Count, HistogramWeight::Both] {
        let empty = found(&archive, "T:A", nothing, parts(), weight);
        assert_eq!(as_places(&empty, |share| share.nanos as u64 + share.count).iter().sum::<u64>(), 0);
        let constant = found(&archive, "3", range, parts(), weight);
        let whole = if weight == HistogramWeight::Count { 0 } else { range.t1.nanos() - range.t0.nanos() };
        assert_eq!(constant.parts.iter().map(|part| part.nanos).sum::<i64>(), whole, "{constant:?}");
    }
    let long = TimeRange { t0: Timestamp::MIN, t1: Timestamp::MAX };
    let all = found(&archive, "T:A", long, parts(), HistogramWeight::Both);
    assert!(all.before.nanos > 0);
}

//! Formulas in bins, step by step, and statistics, from a real store, against a look at each moment.

use std::sync::Arc;

use crate::archive_of_three::Archive;
use analysis::{
    Expression, ExpressionFault, FormulaBin, FormulaBins, IsWanted, Known, MadeOf, Program, Results,
    StatisticsGathering, StatisticsWanted, Units, Wants,
};
use sample::{TimeRange, Timestamp};

const SEEDS: u64 = 20;

pub(crate) fn wanted() -> IsWanted {
    Arc::new(|| true)
}

pub(crate) fn program(archive: &Archive, text: &str) -> Program {
    let find = &mut |name: &str| -> Result<Option<Known>, ExpressionFault> { Ok(archive.known(name)) };
    Expression::parse(text).expect(text).bind(Units::Any, find, |fault| fault).expect(text)
}

/// What `A - 2*B + 1` is from one time to the next: number and nanoseconds, where it is known.
fn pieces(archive: &Archive, range: TimeRange) -> Vec<(f64, i64)> {
    let (from, to) = (range.t0.nanos(), range.t1.nanos());
    let mut times: Vec<i64> = archive.changes().filter(|time| (from..to).contains(time)).chain([from, to]).collect();
    times.sort_unstable();
    times.dedup();
    let at = |time: i64| Some(archive.number_at(0, time)? - 2.0 * archive.number_at(1, time)? + 1.0);
    times.windows(2).filter_map(|pair| Some((at(pair[0])?, pair[1] - pair[0]))).collect()
}

fn mean_of(pieces: &[(f64, i64)]) -> f64 {
    let covered: i64 = pieces.iter().map(|(_, nanos)| nanos).sum();
    pieces.iter().map(|(number, nanos)| number * *nanos as f64).sum::<f64>() / covered as f64
}

pub(crate) fn is_close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * (1.0 + b.abs()) || (a.is_nan() && b.is_nan())
}

#[test]
fn bins_are_the_means_and_extremes_of_what_holds() {
    let mut told = [0, 0];
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        for count in [1, 7, 100] {
            let range = archive.random_range();
            for wants in [Wants::Mean, Wants::Extremes] {
                let program = program(&archive, "T:A - 2*T:B + 1");
                let bins = FormulaBins::new(archive.query(), program, range, count, wants, wanted())
                    .expect("gaps can be read");
                let bins: Vec<FormulaBin> = bins.map(|bin| bin.expect("nothing is damaged")).collect();
                assert_eq!(bins.len(), count);
                for bin in &bins {
                    let place = format!("seed {seed}, {wants:?}, {bin:?}");
                    let held = pieces(&archive, TimeRange { t0: bin.t0, t1: bin.t1 });
                    assert_eq!(bin.covered, held.iter().map(|(_, nanos)| nanos).sum::<i64>(), "{place}");
                    assert!(is_close(bin.mean, mean_of(&held)), "{place}: {}", mean_of(&held));
                    let least = held.iter().map(|(number, _)| *number).fold(f64::NAN, f64::min);
                    let greatest = held.iter().map(|(number, _)| *number).fold(f64::NAN, f64::max);
                    if let Some((low, high)) = bin.extremes {
                        assert!(is_close(low, least) && is_close(high, greatest), "{place}");
                    }
                    assert_eq!(bin.extremes.is_some(), wants == Wants::Extremes);
                    told[usize::from(bin.made_of == MadeOf::Summaries)] += 1;
                    assert!(wants == Wants::Mean || bin.made_of == MadeOf::Samples);
                }
            }
        }
    }
    assert!(told[0] > 100 && told[1] > 100, "bins of samples and of summaries: {told:?}");
}

#[test]
fn steps_are_those_at_which_anything_changes() {
    let mut archive = Archive::random(5);
    let range = archive.random_range();
    let program = program(&archive, "T:A - 2*T:B + 1");
    let mut results = Results::of(&archive.query(), &program, range, wanted()).expect("gaps can be read");
    let mut steps: Vec<(Timestamp, f64)> = Vec::new();
    while let Some(some) = results.steps(10).expect("nothing is damaged") {
        assert!(some.len() <= 10);
        steps.extend(some);
    }
    assert!(steps.len() > 10 && steps.is_sorted_by(|a, b| a.0 < b.0) && steps[0].0 == range.t0);
    for (time, number) in steps {
        let (a, b) = (archive.number_at(0, time.nanos()), archive.number_at(1, time.nanos()));
        let expected = a.zip(b).map_or(f64::NAN, |(a, b)| a - 2.0 * b + 1.0);
        assert!(is_close(number, expected), "{time}: {number} is not {expected}");
    }
}

#[test]
fn statistics_weigh_each_number_by_how_long_it_held() {
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        let range = archive.random_range();
        let asked = StatisticsWanted { percentiles: vec![0.0, 10.0, 50.0, 100.0], above: Some(0.5), histogram: 4 };
        let program = program(&archive, "T:A - 2*T:B + 1");
        let mut gathering =
            StatisticsGathering::new(&archive.query(), &program, range, asked, wanted()).expect("gaps can be read");
        while gathering.go_on().expect("nothing is damaged") {}
        let found = gathering.statistics();
        let mut held = pieces(&archive, range);
        let covered: i64 = held.iter().map(|(_, nanos)| nanos).sum();
        let seconds = |nanos: i64| nanos as f64 / 1e9;
        let whole = range.t1.nanos() - range.t0.nanos();
        assert!(
            is_close(found.covered, seconds(covered)) && is_close(found.unknown, seconds(whole - covered)),
            "seed {seed}"
        );
        if covered == 0 {
            assert!(found.mean.is_nan() && found.percentiles.is_empty());
            continue;
        }
        let mean = mean_of(&held);
        if mean.is_finite() {
            let variance = held.iter().map(|(number, nanos)| (number - mean).powi(2) * *nanos as f64).sum::<f64>();
            assert!(
                is_close(found.mean, mean) && is_close(found.std, (variance / covered as f64).sqrt()),
                "seed {seed}"
            );
        }
        let above: i64 = held.iter().filter(|(number, _)| *number > 0.5).map(|(_, nanos)| nanos).sum();
        assert!(is_close(found.above.expect("it was asked for"), seconds(above)), "seed {seed}");
        held.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (percent, number) in &found.percentiles {
            let mut left = covered as f64 * percent / 100.0;
            let expected = held.iter().find(|(_, nanos)| {
                left -= *nanos as f64;
                left <= 1e-3
            });
            assert_eq!(*number, expected.expect("the last one is").0, "seed {seed}, {percent} %");
        }
        assert_eq!((found.min, found.max), (held[0].0, held[held.len() - 1].0));
        let parts: f64 = found.histogram.iter().map(|(.., seconds)| seconds).sum();
        assert!(found.histogram.is_empty() || is_close(parts, found.covered), "seed {seed}");
        let states: f64 = found.states.iter().map(|(_, seconds)| seconds).sum();
        assert!(found.states.is_empty() || is_close(states, found.covered), "seed {seed}");
    }
}

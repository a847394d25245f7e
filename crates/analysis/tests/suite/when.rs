//! When a condition held, from a real store, against the plainest answer: every moment at which anything can change is looked at, one by
//! one, in a list of all samples.

use crate::archive_of_three::{Archive, Random};
use analysis::{Edge, Expression, ExpressionFault, Found, Interval, Known, Search, Units};
use sample::{TimeRange, Timestamp, Value};

const SECOND: i64 = 1_000_000_000;
/// How many archives are tried, and how many conditions of each. An archive prints its seed when it fails.
const SEEDS: u64 = 16;
const CONDITIONS: u64 = 16;

/// A number as a condition has it.
#[derive(Clone, Debug)]
enum Number {
    Constant(i64),
    Value(usize),
    Severity(usize),
    Previous(usize),
    Change(usize),
    Derivative(usize),
    Integral(usize),
    Average(usize, i64),
    Shift(usize, i64),
    Sum(Box<Number>, Box<Number>),
    Product(Box<Number>, i64),
    Ratio(Box<Number>, Box<Number>),
    Abs(Box<Number>),
}

#[derive(Clone, Debug)]
enum Condition {
    Compare(Number, &'static str, Number),
    State(usize, &'static str, bool),
    Missing(usize),
    IsNan(usize),
    Silent(usize, i64),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

impl Number {
    fn random(random: &mut Random, depth: u64) -> Number {
        let pv = random.below(2) as usize;
        let deeper = |random: &mut Random| Box::new(Number::random(random, depth + 1));
        match random.below(if depth > 2 { 12 } else { 18 }) {
            0..=1 => Number::Constant(random.below(9) as i64 - 4),
            2..=6 => Number::Value(pv),
            7 => Number::Severity(random.below(3) as usize),
            8 => {
                if random.below(2) == 0 {
                    Number::Previous(pv)
                } else {
                    Number::Change(pv)
                }
            }
            9 => Number::Derivative(pv),
            10 => {
                if random.below(3) == 0 {
                    Number::Integral(pv)
                } else {
                    Number::Shift(pv, random.below(9000) as i64 - 4000)
                }
            }
            11 => Number::Average(pv, random.below(4000) as i64 + 1),
            12..=13 => Number::Sum(deeper(random), deeper(random)),
            14..=15 => Number::Product(deeper(random), random.below(5) as i64 - 2),
            16 => Number::Ratio(deeper(random), deeper(random)),
            _ => Number::Abs(deeper(random)),
        }
    }

    fn text(&self) -> String {
        let name = |pv: &usize| crate::archive_of_three::NAMES[*pv];
        match self {
            Number::Constant(number) => number.to_string(),
            Number::Value(pv) => name(pv).to_owned(),
            Number::Severity(pv) => format!("severity({})", name(pv)),
            Number::Previous(pv) => format!("previous({})", name(pv)),
            Number::Change(pv) => format!("change({})", name(pv)),
            Number::Derivative(pv) => format!("derivative({})", name(pv)),
            Number::Integral(pv) => format!("integral({})", name(pv)),
            Number::Average(pv, seconds) => format!("average({}, {seconds} s)", name(pv)),
            Number::Shift(pv, seconds) => format!("shift({}, {seconds} s)", name(pv)),
            Number::Sum(a, b) => format!("({} + {})", a.text(), b.text()),
            Number::Product(a, by) => format!("{} * {by}", a.text()),
            Number::Ratio(a, b) => format!("{} / ({})", a.text(), b.text()),
            Number::Abs(a) => format!("abs({})", a.text()),
        }
    }

    /// What it is at a time; none where it is not known. The range, over which integrals go, begins at `from`.
    fn at(&self, archive: &Archive, from: i64, time: i64) -> Option<f64> {
        let known = |number: f64| (!number.is_nan()).then_some(number);
        match self {
            Number::Constant(number) => Some(*number as f64),
            Number::Value(pv) => archive.number_at(*pv, time),
            Number::Severity(pv) => archive
                .in_force(*pv, time)
                .filter(|_| !archive.in_gap(*pv, time))
                .map(|sample| f64::from(sample.alarm.severity as u8)),
            Number::Previous(pv) => Some(archive.newest_two(*pv, time)?.0.1),
            Number::Change(pv) => archive.newest_two(*pv, time).map(|(before, now)| now.1 - before.1),
            Number::Derivative(pv) => archive
                .newest_two(*pv, time)
                .map(|(before, now)| (now.1 - before.1) / ((now.0 - before.0) as f64 / 1e9)),
            Number::Integral(pv) => archive.number_at(*pv, time).map(|_| archive.integral(*pv, from, time)),
            Number::Average(pv, seconds) => {
                let number = archive.number_at(*pv, time)?;
                let last = archive.last_step(*pv, time);
                let pieces = archive.steps_between(*pv, last - seconds * SECOND, last);
                let covered: i64 = pieces.iter().map(|(_, nanos)| nanos).sum();
                let integral: f64 = pieces.iter().map(|(number, nanos)| number * *nanos as f64).sum();
                Some(if covered > 0 { integral / covered as f64 } else { number })
            }
            Number::Shift(pv, seconds) => archive.number_at(*pv, time - seconds * SECOND),
            Number::Sum(a, b) => Some(a.at(archive, from, time)? + b.at(archive, from, time)?),
            Number::Product(a, by) => Some(a.at(archive, from, time)? * *by as f64),
            Number::Ratio(a, b) => Some(a.at(archive, from, time)? / b.at(archive, from, time)?),
            Number::Abs(a) => Some(a.at(archive, from, time)?.abs()),
        }
        .and_then(known)
    }

    /// How many seconds later, or earlier, something of it changes than a sample is.
    fn delays(&self, delays: &mut Vec<i64>) {
        match self {
            Number::Shift(_, seconds) => delays.push(*seconds),
            Number::Sum(a, b) | Number::Ratio(a, b) => [a, b].iter().for_each(|of| of.delays(delays)),
            Number::Product(a, _) | Number::Abs(a) => a.delays(delays),
            _ => {}
        }
    }
}

impl Condition {
    fn random(random: &mut Random, depth: u64) -> Condition {
        let deeper = |random: &mut Random| Box::new(Condition::random(random, depth + 1));
        let pv = random.below(3) as usize;
        match random.below(if depth > 2 { 7 } else { 12 }) {
            0..=3 => {
                let sign = ["<", "<=", ">", ">=", "=", "!="][random.below(6) as usize];
                let with = if random.below(3) > 0 {
                    Number::Constant(random.below(9) as i64 - 4)
                } else {
                    Number::random(random, 2)
                };
                Condition::Compare(Number::random(random, depth), sign, with)
            }
            4..=5 => {
                let (pv, states) =
                    if random.below(2) == 0 { (1, ["OFF", "ON", "Fault"]) } else { (2, ["a", "b", "none"]) };
                Condition::State(pv, states[random.below(3) as usize], random.below(2) == 0)
            }
            6 => match random.below(3) {
                0 => Condition::Missing(pv),
                1 => Condition::IsNan(random.below(2) as usize),
                _ => Condition::Silent(pv, random.below(2000) as i64 + 1),
            },
            7 => Condition::Not(deeper(random)),
            8..=10 => Condition::And(deeper(random), deeper(random)),
            _ => Condition::Or(deeper(random), deeper(random)),
        }
    }

    fn text(&self) -> String {
        let name = |pv: &usize| crate::archive_of_three::NAMES[*pv];
        match self {
            Condition::Compare(a, sign, b) => format!("{} {sign} {}", a.text(), b.text()),
            Condition::State(pv, state, true) => format!("{} = '{state}'", name(pv)),
            Condition::State(pv, state, false) => format!("\"{state}\" != {}", name(pv)),
            Condition::Missing(pv) => format!("missing({})", name(pv)),
            Condition::IsNan(pv) => format!("isnan({})", name(pv)),
            Condition::Silent(pv, seconds) => format!("silent({}, {seconds} s)", name(pv)),
            Condition::Not(of) => format!("not ({})", of.text()),
            Condition::And(a, b) => format!("({}) while ({})", a.text(), b.text()),
            Condition::Or(a, b) => format!("({}) or ({})", a.text(), b.text()),
        }
    }

    fn at(&self, archive: &Archive, from: i64, time: i64) -> Option<bool> {
        match self {
            Condition::Compare(a, sign, b) => {
                let (a, b) = (a.at(archive, from, time)?, b.at(archive, from, time)?);
                Some(match *sign {
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    ">=" => a >= b,
                    "=" => a == b,
                    _ => a != b,
                })
            }
            Condition::State(pv, state, wanted) => {
                let sample = archive.in_force(*pv, time).filter(|_| !archive.in_gap(*pv, time))?;
                let is_it = match &sample.value {
                    Value::String(text) => &**text == *state,
                    Value::Enum(index) => archive.label(*pv, sample.time.nanos(), *index) == Some(*state),
                    _ => false,
                };
                Some(is_it == *wanted)
            }
            Condition::Missing(pv) => Some(archive.in_gap(*pv, time) || archive.in_force(*pv, time).is_none()),
            Condition::IsNan(pv) => {
                let sample = archive.in_force(*pv, time).filter(|_| !archive.in_gap(*pv, time))?;
                Some(sample.value.as_f64()?.is_nan())
            }
            Condition::Silent(pv, seconds) => {
                Some(archive.in_force(*pv, time).is_none_or(|sample| time - sample.time.nanos() >= seconds * SECOND))
            }
            Condition::Not(of) => of.at(archive, from, time).map(|holds| !holds),
            Condition::And(a, b) => match (a.at(archive, from, time), b.at(archive, from, time)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (a, b) => Some(a? && b?),
            },
            Condition::Or(a, b) => match (a.at(archive, from, time), b.at(archive, from, time)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (a, b) => Some(a? || b?),
            },
        }
    }

    fn delays(&self, delays: &mut Vec<i64>) {
        match self {
            Condition::Compare(a, _, b) => [a, b].iter().for_each(|of| of.delays(delays)),
            Condition::Silent(_, seconds) => delays.push(*seconds),
            Condition::Not(of) => of.delays(delays),
            Condition::And(a, b) | Condition::Or(a, b) => [a, b].iter().for_each(|of| of.delays(delays)),
            _ => {}
        }
    }
}

/// All intervals, by looking at each moment at which anything can change; and how long it is not known.
fn expected(archive: &Archive, condition: &Condition, range: TimeRange) -> (Vec<Interval>, i64) {
    let (from, to) = (range.t0.nanos(), range.t1.nanos());
    let mut delays = vec![0];
    condition.delays(&mut delays);
    let mut times: Vec<i64> =
        archive.changes().flat_map(|time| delays.iter().map(move |s| time + s * SECOND)).collect();
    times.extend([from, to]);
    times.retain(|time| (from..=to).contains(time));
    times.sort_unstable();
    times.dedup();
    let mut runs: Vec<(i64, i64, Option<bool>)> = Vec::new();
    for pair in times.windows(2) {
        let holds = condition.at(archive, from, pair[0]);
        match runs.last_mut() {
            Some((_, end, last)) if *last == holds => *end = pair[1],
            _ => runs.push((pair[0], pair[1], holds)),
        }
    }
    let edge = |other: Option<&(i64, i64, Option<bool>)>| match other {
        None => Edge::Range,
        Some((_, _, None)) => Edge::Unknown,
        Some(_) => Edge::Change,
    };
    let mut intervals = Vec::new();
    for (index, (from, to, holds)) in runs.iter().enumerate() {
        if *holds == Some(true) {
            let [from, to] = [*from, *to].map(Timestamp::from_nanos);
            let begins = edge(index.checked_sub(1).and_then(|before| runs.get(before)));
            intervals.push(Interval { from, to, begins, ends: edge(runs.get(index + 1)) });
        }
    }
    let unknown = runs.iter().filter(|(.., holds)| holds.is_none()).map(|(from, to, _)| to - from).sum();
    (intervals, unknown)
}

fn search(archive: &Archive, text: &str, range: TimeRange) -> Search {
    let expression = Expression::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    let find = &mut |name: &str| -> Result<Option<Known>, ExpressionFault> { Ok(archive.known(name)) };
    let program = expression.bind(Units::Any, find, |fault| fault).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    Search::new(archive.query(), program, range).expect("gaps can be read")
}

fn intervals(search: &mut Search) -> Vec<Interval> {
    let found = search.map(|found| found.expect("nothing is damaged"));
    found.filter_map(|found| if let Found::Interval(interval) = found { Some(interval) } else { None }).collect()
}

#[test]
fn a_condition_held_when_looking_at_every_moment_says_so() {
    let (mut by_summaries, mut read, mut found) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut archive = Archive::random(seed);
        for _ in 0..CONDITIONS {
            let condition = Condition::random(&mut archive.random, 0);
            let range = archive.random_range();
            let text = condition.text();
            let mut search = search(&archive, &text, range);
            let answered = intervals(&mut search);
            let (expected, unknown) = expected(&archive, &condition, range);
            assert_eq!(answered, expected, "seed {seed}, {range:?}: {text}");
            let tally = search.tally();
            assert!(search.is_whole(), "seed {seed}: {text}");
            assert_eq!((tally.unknown, tally.intervals), (unknown, expected.len() as u64), "seed {seed}: {text}");
            by_summaries += i128::from(tally.by_summaries);
            read += tally.read;
            found += expected.len();
        }
    }
    assert!(by_summaries > 0 && read > 0 && found > 20, "{by_summaries} ns by summaries, {read} read, {found} found");
}

#[test]
fn only_intervals_of_the_length_that_is_asked_for_are_found() {
    let archive = Archive::random(1);
    let range = archive.whole();
    let all = intervals(&mut search(&archive, "T:A > 1", range));
    let length = |interval: &Interval| interval.to.nanos() - interval.from.nanos();
    for (sign, holds) in
        [(">=", |a: i64, b: i64| a >= b), ("<", |a: i64, b: i64| a < b)] as [(&str, fn(i64, i64) -> bool); 2]
    {
        let mut some = search(&archive, &format!("T:A > 1 for {sign} 10 min"), range);
        let wanted: Vec<Interval> = all.iter().copied().filter(|one| holds(length(one), 600 * SECOND)).collect();
        assert_eq!(intervals(&mut some), wanted);
        assert!(!wanted.is_empty() && wanted.len() < all.len());
        assert_eq!(some.tally().held, wanted.iter().map(length).sum::<i64>());
    }
}

#[test]
fn a_search_stops_where_it_has_read_enough_and_says_so() {
    let archive = Archive::random(2);
    let mut some = search(&archive, "change(T:A) != 0", archive.whole()).reading_at_most(500);
    let found = intervals(&mut some);
    assert!(!some.is_whole() && some.tally().until < archive.whole().t1 && some.tally().read >= 500);
    let all = intervals(&mut search(&archive, "change(T:A) != 0", archive.whole()));
    let before = found.len() - 1;
    assert_eq!(found[..before], all[..before], "what was found is right");
    assert!(all.len() > found.len());
}

#[test]
fn what_changes_too_often_for_one_look_is_read_on_behind_it() {
    // Four bursts of ten minutes, some hours apart: with many changes, and with many samples but few changes.
    let many = |burst: i64, row: i64| (6000_i64, row % 2 == 0, burst * 4 * 3600 * SECOND + row * 100_000_000);
    let dense = |burst: i64, row: i64| (200_000_i64, row % 50_000 < 20, burst * 4 * 3600 * SECOND + row * 3_000_000);
    for made in [many as fn(i64, i64) -> (i64, bool, i64), dense] {
        let mut samples = vec![(0, false)];
        for burst in 1..5 {
            samples.extend((0..made(burst, 0).0).map(|row| made(burst, row)).map(|(_, is_high, time)| (time, is_high)));
            samples.push((samples[samples.len() - 1].0 + SECOND, false));
        }
        let archive = Archive::of_one(samples.iter().map(|(time, is_high)| (*time, f64::from(u8::from(*is_high)))));
        let mut some = search(&archive, "T:A > 0", archive.whole());
        let found = intervals(&mut some);
        let mut expected = Vec::new();
        for pair in samples.windows(2) {
            match (pair[0].1, pair[1].1) {
                (false, true) => expected.push((pair[1].0, 0)),
                (true, false) => expected.last_mut().expect("one has begun").1 = pair[1].0,
                _ => {}
            }
        }
        let begin = archive.whole().t0.nanos();
        let found: Vec<(i64, i64)> =
            found.iter().map(|one| (one.from.nanos() - begin, one.to.nanos() - begin)).collect();
        assert!(found == expected, "{} intervals were found, {} are there", found.len(), expected.len());
        assert!(some.is_whole() && some.tally().by_summaries > 10 * 3600 * SECOND);
    }
}

#[test]
fn ranges_may_be_empty_or_all_of_time() {
    let archive = Archive::random(3);
    let at = archive.whole().t0;
    assert_eq!(intervals(&mut search(&archive, "1 > 0", TimeRange { t0: at, t1: at })), []);
    let all = intervals(&mut search(&archive, "T:A > 1 or 0 > 1", TimeRange::ALL));
    assert_eq!(all.len(), intervals(&mut search(&archive, "T:A > 1", archive.whole())).len());
    assert_eq!(intervals(&mut search(&archive, "1 > 0", TimeRange::ALL)).len(), 1);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let archive = Archive::random(4);
    let told = |text: &str| {
        let expression = Expression::parse(text).expect(text);
        let find = &mut |name: &str| -> Result<Option<Known>, ExpressionFault> { Ok(archive.known(name)) };
        expression.bind(Units::Same, find, |fault| fault).map(|_| ()).unwrap_err().to_string()
    };
    for (text, expected) in [
        ("T:A > T:NOBODY", "no PV of this archive is called \"T:NOBODY\", at character 7"),
        ("T:A + (T:A > 1)", "a number is needed here, and a condition was found, at character 12"),
        ("T:A and T:B = ON", "a condition is needed here, like A > 0, and a number was found, at character 5"),
        ("T:B = Nowhere", "no PV of this archive is called \"Nowhere\", at character 7"),
        ("T:B = 'Nowhere'", "no state is called \"Nowhere\"; there are ON, OFF, Fault, at character 7"),
        ("T:A + T:U > 1", "A and mm are different units; say units=any if that is meant, at character 5"),
        ("T:A - 2 * T:U > 1", "A and mm are different units; say units=any if that is meant, at character 5"),
        ("T:A - T:U / 2 > 1", "A and mm are different units; say units=any if that is meant, at character 5"),
        (
            "average(T:A, T:A) > 1",
            "average takes a length of time like 10 s here, which no formula can be, at character 14",
        ),
        ("silent(2, 3 s)", "a PV is needed here, and no formula, at character 8"),
        (
            "'x' > 1",
            "the text \"x\" can only be compared with a PV, by = or !=; a PV's name stands between backquotes, at character 1",
        ),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
    let many: Vec<String> = (0..60).map(|seconds| format!("silent(T:A, {} s)", seconds + 1)).collect();
    assert!(told(&many.join(" or ")).starts_with("the expression asks for more than 50 things of PVs"));
}

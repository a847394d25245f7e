//! Each decision of a sampler, with time as an argument.

use std::time::Duration;

use archive::{Deadband, Protocol, PvState, Rules};
use sample::Severity;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds, 0)
}

fn valued(seconds: i64, value: f64) -> Sample {
    Sample { time: at(seconds), value: Value::F64(value), alarm: Alarm::default(), pulse: 0, stamp: None }
}

fn sample(seconds: i64) -> Sample {
    valued(seconds, seconds as f64)
}

fn sampler(method: Method, rules: Rules) -> Sampler {
    Sampler::new(&PvSettings { rules: rules.shared(), ..PvSettings::plain(Protocol::Ca, method, PvState::Active) })
}

fn scan(seconds: u64) -> Method {
    Method::Scan { period: Duration::from_secs(seconds) }
}

fn capped(per_second: f64, burst: u32) -> Rules {
    Rules { rate_cap: Some(RateCap::new(per_second, burst).unwrap()), ..Rules::default() }
}

fn banded(deadband: Deadband) -> Rules {
    Rules { deadband: Some(deadband), ..Rules::default() }
}

#[test]
fn a_monitor_takes_every_update() {
    let mut sampler = sampler(Method::Monitor, Rules::default());
    for second in 0..3 {
        assert_eq!(sampler.offer(sample(second), at(second)), Decision::Take(sample(second)));
    }
}

#[test]
fn a_scan_takes_the_newest_of_each_slot_and_counts_the_others() {
    let mut sampler = sampler(scan(10), Rules::default());
    assert_eq!(sampler.offer(sample(3), at(3)), Decision::Take(sample(3)), "the first after a connection");
    assert_eq!(sampler.offer(sample(4), at(4)), Decision::Wait);
    assert_eq!(sampler.offer(sample(9), at(9)), Decision::Replace(Passed::Scan));
    assert_eq!(sampler.offer(sample(10), at(10)), Decision::Release(sample(9)), "its slot is over");
    assert_eq!(sampler.offer(sample(12), at(12)), Decision::Replace(Passed::Scan));
    assert_eq!(sampler.take_due(at(20)), None, "one that is late may still come");
    assert_eq!(sampler.take_due(at(21)), Some(sample(12)));
    assert_eq!(sampler.take_due(at(40)), None, "a value that did not change is not sampled again");
    assert_eq!(sampler.offer(sample(45), at(45)), Decision::Wait);
    assert_eq!(sampler.take_due(at(51)), Some(sample(45)));
    sampler.forget();
    assert_eq!(sampler.offer(sample(52), at(52)), Decision::Take(sample(52)), "it was connected anew");
}

/// Whatever they hear late, and whenever they began, two archivers choose alike where they hear the same.
#[test]
fn two_archivers_choose_the_same_updates() {
    for (method, rules) in [
        (scan(10), Rules::default()),
        (Method::Monitor, banded(Deadband::Absolute(3.0))),
        (Method::Monitor, capped(0.5, 3)),
        (scan(2), capped(0.2, 2)),
    ] {
        let mut random = Lcg(7);
        let mut value = 0.0;
        let updates: Vec<Sample> = (0..9000)
            .map(|second| {
                value += random.below(5) as f64 - 2.0;
                valued(second, value)
            })
            .collect();
        let mut record = |skipped: usize| {
            let mut sampler = sampler(method, rules.clone());
            let mut taken = Vec::new();
            for update in &updates[skipped..] {
                let now = update.time.saturating_add(Duration::from_millis(random.below(300)));
                taken.extend(sampler.take_due(now));
                match sampler.offer(update.clone(), now) {
                    Decision::Take(sample) | Decision::Release(sample) => taken.push(sample),
                    Decision::Both(before, sample) => taken.extend([before, sample]),
                    _ => {}
                }
            }
            // Of the hour in which the second one begins they need not agree.
            taken.retain(|sample| sample.time >= at(3700));
            taken
        };
        let (first, second) = (record(0), record(137));
        assert!(first.len() > 50, "{method:?} takes only {}", first.len());
        assert_eq!(first, second, "{method:?} {rules:?}");
    }
}

#[test]
fn a_clock_of_an_ioc_that_stands_still_or_is_set_back_neither_stops_a_scan_nor_floods_it() {
    let mut sampler = sampler(scan(10), Rules::default());
    assert_eq!(sampler.offer(sample(9), at(9)), Decision::Take(sample(9)));
    let mut taken = 0;
    for second in 10..110 {
        taken += usize::from(sampler.take_due(at(second)).is_some());
        assert!(matches!(sampler.offer(sample(9), at(second)), Decision::Wait | Decision::Replace(Passed::Scan)));
    }
    assert!((8..=10).contains(&taken), "{taken} samples in 100 s");
    assert_eq!(sampler.offer(sample(-500), at(110)), Decision::Release(sample(9)), "an hour back");
    assert_eq!(sampler.take_due(at(121)), Some(sample(-500)));
}

#[test]
fn a_cap_lets_a_burst_pass_then_holds_the_newest_until_there_is_room() {
    let mut sampler = sampler(Method::Monitor, capped(0.1, 2));
    assert_eq!(sampler.offer(sample(0), at(0)), Decision::Take(sample(0)));
    assert_eq!(sampler.offer(sample(1), at(1)), Decision::Take(sample(1)));
    assert_eq!(sampler.offer(sample(2), at(2)), Decision::Wait);
    assert_eq!(sampler.offer(sample(3), at(3)), Decision::Replace(Passed::Cap));
    assert_eq!(sampler.take_due(at(9)), None, "a tenth of a token is missing");
    assert_eq!(sampler.take_due(at(10)), Some(sample(3)), "the newest is not lost");
    assert_eq!(sampler.take_due(at(100)), None);
    assert_eq!(sampler.offer(sample(11), at(101)), Decision::Wait);
    assert_eq!(sampler.offer(sample(45), at(102)), Decision::Both(sample(11), sample(45)), "there is room for both");
}

#[test]
fn a_cap_begins_each_hour_with_nothing() {
    let mut sampler = sampler(Method::Monitor, capped(0.1, 5));
    assert_eq!(sampler.offer(sample(3595), at(3595)), Decision::Take(sample(3595)));
    assert_eq!(sampler.offer(sample(3601), at(3601)), Decision::Wait);
    assert_eq!(sampler.take_due(at(3609)), None);
    assert_eq!(sampler.take_due(at(3610)), Some(sample(3601)));
}

#[test]
fn a_clock_that_is_set_back_gives_no_tokens() {
    let mut sampler = sampler(Method::Monitor, capped(1.0, 1));
    assert_eq!(sampler.offer(sample(100), at(100)), Decision::Take(sample(100)));
    assert_eq!(sampler.offer(sample(50), at(50)), Decision::Wait);
    assert_eq!(sampler.take_due(at(50)), None);
    assert_eq!(sampler.take_due(at(51)), Some(sample(50)), "time goes on from where the clock was set");
}

#[test]
fn of_a_capped_scan_each_counts_what_it_holds_back() {
    let mut sampler = sampler(scan(10), capped(0.01, 1));
    assert_eq!(sampler.offer(sample(0), at(0)), Decision::Take(sample(0)));
    assert_eq!(sampler.offer(sample(1), at(1)), Decision::Wait);
    assert_eq!(sampler.offer(sample(2), at(2)), Decision::Replace(Passed::Scan));
    assert_eq!(sampler.offer(sample(11), at(11)), Decision::Replace(Passed::Cap));
    assert_eq!(sampler.take_due(at(102)), Some(sample(11)));
}

#[test]
fn a_dead_band_begins_anew_with_each_hour() {
    let mut sampler = sampler(Method::Monitor, banded(Deadband::Absolute(1.0)));
    let mut passes = |seconds| matches!(sampler.offer(valued(seconds, 0.5), at(0)), Decision::Take(_));
    assert!(passes(3590) && !passes(3599) && passes(3600) && !passes(3601) && !passes(7199) && passes(7200));
}

#[test]
fn within_a_dead_band_only_changes_of_alarm_pass() {
    let mut sampler = sampler(Method::Monitor, banded(Deadband::Absolute(1.0)));
    let mut passes = |sample: Sample| matches!(sampler.offer(sample, at(0)), Decision::Take(_));
    assert!(passes(valued(0, 0.0)));
    assert!(!passes(valued(1, 0.6)) && !passes(valued(2, 1.0)));
    assert!(passes(valued(3, 1.1)), "it counts from the last sample, not from the last update");
    assert!(!passes(valued(4, 0.2)));
    let minor = Alarm { severity: Severity::Minor, ..Alarm::default() };
    assert!(passes(Sample { alarm: minor.clone(), ..valued(5, 1.2) }));
    assert!(!passes(Sample { alarm: minor, ..valued(6, 1.3) }));
    assert!(passes(valued(7, 1.3)), "the alarm goes");
    assert!(passes(valued(8, f64::NAN)) && !passes(valued(9, f64::NAN)) && passes(valued(10, f64::INFINITY)));
    assert!(passes(valued(11, 0.0)));
    let text = Value::String("a".into());
    assert!(passes(Sample { value: text.clone(), ..sample(12) }) && passes(Sample { value: text, ..sample(12) }));
}

#[test]
fn a_relative_dead_band_is_as_wide_as_the_last_sample_says() {
    let mut sampler = sampler(Method::Monitor, banded(Deadband::Percent(10.0)));
    let mut passes = |value: f64| matches!(sampler.offer(valued(0, value), at(0)), Decision::Take(_));
    assert!(passes(-100.0) && !passes(-109.0) && passes(-111.0) && !passes(-100.0) && passes(0.0) && passes(1e-9));
}

#[test]
fn where_the_server_applies_the_band_only_what_came_already_is_left_out() {
    let mut sampler = sampler(Method::Monitor, banded(Deadband::Absolute(1.0)));
    sampler.set_band_at_server(true);
    assert_eq!(sampler.band_at_server(), Some(true));
    let mut passes = |sample: Sample| matches!(sampler.offer(sample, at(0)), Decision::Take(_));
    assert!(passes(valued(0, 0.0)) && !passes(valued(0, 0.0)));
    assert!(passes(valued(1, 0.5)), "the server knows from what it counts");
    let major = Alarm { severity: Severity::Major, ..Alarm::default() };
    assert!(passes(Sample { alarm: major, ..valued(1, 0.5) }));
}

/// A small generator, so that the property below is tried on many histories without a dependency.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Whatever comes when: each update is stored, passed over for one reason, or the one that waits; a cap is never exceeded; and
/// the newest is stored in the end.
#[test]
fn what_is_stored_and_what_is_passed_over_are_what_was_received() {
    for seed in 0..500 {
        let mut random = Lcg(seed);
        let (per_second, burst) = ((1 + random.below(50)) as f64 / 10.0, 1 + random.below(5) as u32);
        let method = if random.below(2) == 0 { Method::Monitor } else { scan(1 + random.below(5)) };
        let mut rules = capped(per_second, burst);
        rules.deadband = (random.below(2) == 0).then_some(Deadband::Absolute(2.0));
        let mut sampler = sampler(method, rules);
        let (mut now, mut received, mut capped, mut scanned, mut left) = (0_i64, 0_u64, 0, 0, 0);
        let mut taken: Vec<(i64, Sample)> = Vec::new();
        let mut newest = None;
        for _ in 0..200 {
            now += random.below(1_000_000_000).cast_signed();
            let time = Timestamp::from_nanos(now);
            if random.below(3) == 0 {
                taken.extend(sampler.take_due(time).map(|sample| (now, sample)));
                continue;
            }
            received += 1;
            let update = Sample { time, ..valued(0, random.below(10) as f64) };
            let decision = sampler.offer(update.clone(), time);
            if decision != Decision::Leave {
                newest = Some(update);
            }
            match decision {
                Decision::Take(sample) | Decision::Release(sample) => taken.push((now, sample)),
                Decision::Both(before, sample) => taken.extend([(now, before), (now, sample)]),
                Decision::Wait => {}
                Decision::Replace(Passed::Cap) => capped += 1,
                Decision::Replace(Passed::Scan) => scanned += 1,
                Decision::Leave => left += 1,
            }
            let waiting = u64::from(sampler.is_waiting());
            assert_eq!(taken.len() as u64 + capped + scanned + left + waiting, received, "seed {seed}");
        }
        taken.extend(sampler.take_due(Timestamp::from_nanos(now + 100_000_000_000)).map(|sample| (i64::MAX, sample)));
        assert!(!sampler.is_waiting());
        assert_eq!(taken.last().map(|(_, sample)| sample.clone()), newest, "seed {seed}");
        for (first, (from, _)) in taken.iter().enumerate() {
            for (count, (to, _)) in taken[first..].iter().enumerate().filter(|(_, (to, _))| *to < i64::MAX) {
                // One that waited may be taken late, and the next at its time.
                let allowed = f64::from(burst) + 1.0 + (to - from) as f64 / 1e9 * per_second + 1e-6;
                assert!(count as f64 + 1.0 <= allowed + 1e-3, "seed {seed}: {count} more after {from}");
            }
        }
    }
}

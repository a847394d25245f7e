//! The policy of merging: which segments become one, and when. Pure: it sees manifests and the time.
//!
//! ```text
//!   flushes ──16 of a day──► hour ──the day is over──► day ──the week is over──► sealed
//! ```
//! Each sample is written by its flush and merged at most three times, at most twice where it matters: a flush that took long to
//! fill is an hour by itself, and a day of a gibibyte is sealed as it is. Days and weeks are those of writing.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use archive::WeekState;
use sample::Timestamp;

use crate::segment::{
    manifest::{Level, Manifest},
    week,
};

/// So many flushes of a day become one segment before the day is over.
const PILE: usize = 16;
/// So many segments are merged at once at most: each of them is open meanwhile.
const FAN_IN_MAX: usize = 128;
/// A day with so many bytes is not written again when its week is sealed.
const LARGE_BYTES: u64 = 1 << 30;
/// A merge begins another segment, for the next PVs, when one has so many bytes.
pub(crate) const SEGMENT_BYTES_MAX: u64 = 1 << 30;
/// A day or week is over for so long before it is closed, so that a flush that began in it has ended. An import into a past
/// week is over when so long nothing came.
const GRACE: Duration = Duration::from_secs(600);

/// What the policy sees of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) manifest: &'a Manifest,
    /// It is damaged: it is left alone.
    pub(crate) kept: bool,
    /// It lies in a place that cannot be reached: its week waits.
    pub(crate) away: bool,
}

/// What is to be done next. Numbers are places in the list of segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// These become one of that level, or several with different PVs.
    Merge(Vec<usize>, Level),
    /// These are sealed as they are.
    Seal(Vec<usize>),
}

/// The next thing to do, if there is any. The segments are in the order of their writing.
pub(crate) fn next(segments: &[View], now: Timestamp) -> Option<Task> {
    let weeks = unsealed(segments);
    let over = |of: &[usize]| is_over(segments, of, now);
    let open = || weeks.values().filter(|of| !over(of));
    open()
        .find_map(|of| pile(segments, of))
        .or_else(|| open().find_map(|of| closed_day(segments, of, now)))
        .or_else(|| weeks.values().filter(|of| over(of)).find_map(|of| past_week(segments, of)))
}

/// In how many weeks there is something to do.
pub(crate) fn pending(segments: &[View], now: Timestamp) -> usize {
    let weeks = unsealed(segments);
    let waits = |of: &&Vec<usize>| {
        if is_over(segments, of, now) { true } else { pile(segments, of).or(closed_day(segments, of, now)).is_some() }
    };
    weeks.values().filter(waits).count()
}

/// The state of a week by its segments' folder and levels.
pub(crate) fn state(folder: &str, segments: &[View], now: Timestamp) -> WeekState {
    let sealed = segments.iter().all(|segment| segment.manifest.level == Level::Week);
    match (week::end(folder) <= now, sealed) {
        (false, _) => WeekState::Open,
        (true, false) => WeekState::Sealing,
        (true, true) => WeekState::Sealed,
    }
}

/// The segments that are not sealed yet, by week.
fn unsealed<'a>(segments: &[View<'a>]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut weeks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.manifest.level < Level::Week) {
        weeks.entry(segment.manifest.folder()).or_default().push(index);
    }
    weeks.retain(|_, of| !of.iter().any(|index| segments[*index].away));
    weeks
}

fn is_over(segments: &[View], of: &[usize], now: Timestamp) -> bool {
    let Some(first) = of.first() else { return false };
    let written = of.iter().map(|index| segments[*index].manifest.written.1).max().unwrap_or(now);
    let end = week::end(segments[*first].manifest.folder());
    end.max(written).saturating_add(GRACE) <= now
}

/// The segments of a week by day, those of a level below `below`.
fn days(segments: &[View], of: &[usize], below: Level) -> BTreeMap<i64, Vec<usize>> {
    let mut days: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for index in of.iter().copied().filter(|index| segments[*index].manifest.level < below) {
        days.entry(week::day(segments[index].manifest.written.1)).or_default().push(index);
    }
    days
}

fn pile(segments: &[View], of: &[usize]) -> Option<Task> {
    let mut days = days(segments, of, Level::Hour).into_values();
    days.find_map(|day| {
        let whole = day.iter().filter(|index| !segments[**index].kept);
        (whole.count() >= PILE).then(|| merged(segments, &day, Level::Hour)).flatten()
    })
}

fn closed_day(segments: &[View], of: &[usize], now: Timestamp) -> Option<Task> {
    let over = |day: &i64| week::day_end(*day).saturating_add(GRACE) <= now;
    let mut closed = days(segments, of, Level::Day).into_iter().filter(|(day, _)| over(day));
    closed.find_map(|(_, day)| merged(segments, &day, Level::Day))
}

/// Days that are large become sealed segments of their own, all others together.
fn past_week(segments: &[View], of: &[usize]) -> Option<Task> {
    let (large, small): (Vec<_>, Vec<_>) = days(segments, of, Level::Week).into_values().partition(|day| {
        let bytes = day.iter().map(|index| segments[*index].manifest.bytes);
        bytes.sum::<u64>() >= LARGE_BYTES
    });
    let unfinished = |day: &Vec<usize>| -> Vec<usize> {
        day.iter().copied().filter(|index| segments[*index].manifest.level < Level::Day).collect()
    };
    let mut rest: Vec<usize> = small.into_iter().flatten().collect();
    rest.sort_unstable();
    large
        .iter()
        .find_map(|day| merged(segments, &unfinished(day), Level::Week))
        .or_else(|| merged(segments, &rest, Level::Week))
        .or_else(|| Some(Task::Seal(of.to_vec())))
}

/// Merges the longest run of the chosen segments that may become one, if it has two.
fn merged(segments: &[View], chosen: &[usize], level: Level) -> Option<Task> {
    let mut runs = runs(segments, chosen);
    runs.sort_by_key(|run| Reverse(run.len()));
    let mut run = runs.into_iter().next()?;
    run.truncate(FAN_IN_MAX);
    (run.len() >= 2).then_some(Task::Merge(run, level))
}

/// The chosen segments, parted where merging would put samples before others of the same time that were written earlier: a merged
/// segment takes the place of its first, so nothing that is passed over may meet what comes from behind it.
fn runs(segments: &[View], chosen: &[usize]) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for next in chosen.iter().copied().filter(|index| !segments[*index].kept) {
        let fits = runs.last().is_some_and(|run| {
            let mut between = (run[0]..next).filter(|index| !run.contains(index));
            between.all(|index| !segments[index].manifest.meets(segments[next].manifest))
        });
        match runs.last_mut() {
            Some(run) if fits => run.push(next),
            _ => runs.push(vec![next]),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use archive::PvId;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// An archive of manifests alone: what is merged has the bytes of its parts.
    #[derive(Default)]
    struct Life {
        segments: Vec<Manifest>,
        kept: Vec<u64>,
        flushed: u64,
        merged: u64,
        /// The most segments of flushes that lay beside each other.
        pile: usize,
        most: usize,
    }

    fn manifest(sequence: u64, now: Timestamp, span: Duration, bytes: u64) -> Manifest {
        let since = now.saturating_sub(span);
        let (t0, t1, written) = (since, now.saturating_sub(Duration::from_nanos(1)), (since, now));
        let level = if span >= Duration::from_secs(1800) { Level::Hour } else { Level::Minutes };
        let key = format!("{}/{sequence}.seg", week::folder(now));
        let (first_pv, last_pv) = (PvId(0), PvId(999));
        Manifest { sequence, t0, t1, written, level, first_pv, last_pv, ..Manifest::unknown(key, bytes) }
    }

    impl Life {
        fn views(&self) -> Vec<View<'_>> {
            let kept = |manifest: &Manifest| self.kept.contains(&manifest.sequence);
            self.segments.iter().map(|manifest| View { manifest, kept: kept(manifest), away: false }).collect()
        }

        /// Does all that is due, and says what.
        fn settle(&mut self, now: Timestamp) -> Vec<Task> {
            let mut done = Vec::new();
            while let Some(task) = next(&self.views(), now) {
                match &task {
                    Task::Seal(which) => which.iter().for_each(|index| self.segments[*index].level = Level::Week),
                    Task::Merge(run, level) => self.merge(run, *level),
                }
                done.push(task);
                assert!(done.len() < 1000, "it does not end");
            }
            done
        }

        fn merge(&mut self, run: &[usize], level: Level) {
            let of: Vec<Manifest> = run.iter().map(|index| self.segments[*index].clone()).collect();
            assert!(of.iter().all(|manifest| manifest.level < Level::Week), "a sealed segment is merged");
            let bytes: u64 = of.iter().map(|manifest| manifest.bytes).sum();
            self.merged += bytes;
            let parts = bytes.div_ceil(SEGMENT_BYTES_MAX).max(1);
            let part = |part: u64| Manifest {
                part: part as u32,
                bytes: bytes / parts,
                level,
                t1: of.iter().map(|manifest| manifest.t1).max().unwrap(),
                written: (of[0].written.0, of.iter().map(|manifest| manifest.written.1).max().unwrap()),
                first_pv: PvId((part * 1000 / parts) as u32),
                last_pv: PvId(((part + 1) * 1000 / parts - 1) as u32),
                ..of[0].clone()
            };
            let merged: Vec<Manifest> = (0..parts).map(part).collect();
            let ids: Vec<_> = of.iter().map(Manifest::id).collect();
            self.segments.retain(|manifest| !ids.contains(&manifest.id()));
            self.segments.extend(merged);
            self.segments.sort_by_key(Manifest::id);
        }

        fn flush(&mut self, now: Timestamp, span: Duration, bytes: u64) {
            let sequence = self.segments.iter().map(|manifest| manifest.sequence).max().map_or(0, |last| last + 1);
            self.segments.push(manifest(sequence, now, span, bytes));
            self.flushed += bytes;
            let small = self.segments.iter().filter(|manifest| manifest.level == Level::Minutes);
            self.pile = self.pile.max(small.count());
            let open = self.segments.iter().filter(|manifest| manifest.level < Level::Day);
            self.most = self.most.max(open.count());
        }
    }

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// Three weeks and an hour of flushes of a size, from a Monday on.
    fn lived(span: Duration, bytes: u64) -> Life {
        let (mut life, mut now) = (Life::default(), time("2026-11-02T00:00:00Z"));
        let end = time("2026-11-23T01:00:00Z");
        while now < end {
            now = now.saturating_add(span);
            life.flush(now, span, bytes);
            life.settle(now);
        }
        life
    }

    #[test]
    fn what_is_written_stays_within_three_times_what_came() {
        for (minutes, mib) in [(60, 1), (60, 40), (5, 100), (1, 30)] {
            let life = lived(Duration::from_secs(minutes * 60), mib * MIB);
            let times = (life.flushed + life.merged) as f64 / life.flushed as f64;
            let case =
                format!("{mib} MiB each {minutes} min: {times:.2} times, {} small, {} open", life.pile, life.most);
            assert!(times <= 3.05 && life.pile < 2 * PILE && life.most <= FAN_IN_MAX, "{case}");
            let sealed = life.segments.iter().filter(|manifest| manifest.level == Level::Week).count() as u64;
            let bytes: u64 = 3 * 7 * 24 * 60 / minutes * mib * MIB;
            assert!(sealed <= 3 + 21 + bytes / SEGMENT_BYTES_MAX, "{sealed} sealed segments of {case}");
        }
    }

    #[test]
    fn a_week_is_sealed_once_when_it_is_over_however_long_nobody_was_there() {
        let mut life = Life::default();
        let mut now = time("2026-11-15T20:00:00Z"); // a Sunday
        for _ in 0..3 {
            now = now.saturating_add(Duration::from_secs(3600));
            life.flush(now, Duration::from_secs(3600), MIB);
        }
        assert_eq!(life.settle(time("2026-11-16T00:09:59Z")), [], "too early");
        let mut late = Life { segments: life.segments.clone(), ..Life::default() };
        assert_eq!(life.settle(time("2026-11-16T00:10:00Z")), [Task::Merge(vec![0, 1, 2], Level::Week)]);
        let sixty_weeks_later = time("2028-01-10T00:00:00Z");
        assert_eq!(late.settle(sixty_weeks_later), [Task::Merge(vec![0, 1, 2], Level::Week)]);
        assert_eq!(life.segments, late.segments);
        assert_eq!(life.settle(sixty_weeks_later), [], "a sealed week is never touched again");
        assert_eq!(state("2026-W46", &life.views(), sixty_weeks_later), WeekState::Sealed);
    }

    #[test]
    fn large_days_are_sealed_as_they_are() {
        let mut life = Life::default();
        for day in 2..9 {
            let now = time(&format!("2026-11-{day:02}T20:00:00Z"));
            let mib = if day == 4 { 1500 } else { 30 };
            life.flush(now, Duration::from_secs(3600), mib * MIB);
        }
        let tasks = life.settle(time("2026-11-09T20:00:00Z"));
        assert_eq!(tasks, [Task::Merge(vec![0, 1, 3, 4, 5, 6], Level::Week), Task::Seal(vec![1])]);
    }

    #[test]
    fn one_damaged_segment_keeps_only_itself_and_what_it_must() {
        let now = time("2026-11-04T12:00:00Z");
        let mut life = Life::default();
        for minute in 0..18 {
            let now = now.saturating_add(Duration::from_secs(60 * minute));
            life.flush(now, Duration::from_secs(60), MIB);
        }
        life.kept = vec![5];
        let all_but_one: Vec<usize> = (0..18).filter(|index| *index != 5).collect();
        assert_eq!(next(&life.views(), now), Some(Task::Merge(all_but_one, Level::Hour)));
        // Where the damaged one has samples of the time of later ones, those stay behind it.
        life.segments[5].t1 = life.segments[7].t0;
        assert_eq!(next(&life.views(), now), Some(Task::Merge((6..18).collect(), Level::Hour)));
    }

    #[test]
    fn imports_wait_until_nothing_comes_and_leave_what_is_sealed() {
        let mut life = Life::default();
        life.flush(time("2026-11-03T12:00:00Z"), Duration::from_secs(3600), MIB);
        life.settle(time("2026-11-10T00:00:00Z"));
        let sealed = life.segments[0].clone();
        let imported = time("2026-11-20T00:00:00Z");
        for sequence in 1..4 {
            let key = format!("{}/{sequence}.seg", sealed.folder());
            life.segments.push(Manifest { key, ..manifest(sequence, imported, Duration::ZERO, MIB) });
        }
        assert_eq!(life.settle(imported), []);
        let tasks = life.settle(imported.saturating_add(GRACE));
        assert_eq!(tasks, [Task::Merge(vec![1, 2, 3], Level::Week)]);
        assert_eq!(life.segments[0], sealed);
    }
}

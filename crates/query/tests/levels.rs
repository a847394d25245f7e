//! Bins of merged segments, which have rows for aligned stretches of time: the same as looking at every sample, without reading
//! blocks where the rows say enough.

mod truth;

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use query::{Bin, Cut, Query};
use sample::{Alarm, Batch, Element, Sample, Severity, TimeRange, Timestamp, Value, ValueType};
use store::{Config, Reader, Store};
use tempfile::TempDir;
use truth::check_bin;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Of each flush; a merge takes eight.
const ROWS: i64 = 8000;

struct Archive {
    store: Store,
    pv: PvId,
    /// In order, without repeats.
    samples: Vec<Sample>,
    random: u64,
    odd: Odd,
    folder: TempDir,
}

/// How often something is not as usual: once in so many samples, or never.
#[derive(Clone, Copy)]
struct Odd {
    not_finite: Option<u64>,
    alarm: Option<u64>,
}

impl Archive {
    /// A merged segment of 200 Hz for a little more than five minutes.
    fn merged(seed: u64, odd: Odd) -> Archive {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let store = Store::open(Config::new(folder.path()), at(0)).expect("the store opens");
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let name = PvName::new("TEST:PV").expect("it is a name");
        let pv = store.writer().register(&[(name, settings)], &By::new("test", at(0))).expect("it registers")[0].id;
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut archive = Archive { store, pv, samples: Vec::new(), random, odd, folder };
        for part in 0..8 {
            archive.record(part * ROWS * SECOND / 200, ROWS);
            archive.flush(1000 * SECOND * (part + 1));
        }
        archive.store.tick(at(DAY + 20_000 * SECOND));
        archive.wait_until("the segments are merged", |reader| reader.health().merged_segments >= 8);
        archive
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % limit
    }

    fn happens(&mut self, odds: Option<u64>) -> bool {
        odds.is_some_and(|times| self.below(times) == 0)
    }

    fn sample(&mut self, time: i64) -> Sample {
        let value = match self.happens(self.odd.not_finite) {
            true => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][self.below(4) as usize],
            false => 5.0 + self.below(1_000_000) as f64 / 7e4,
        };
        let severity = if self.happens(self.odd.alarm) { self.below(5) as i64 } else { 0 };
        let alarm = Alarm { severity: Severity::from_number(severity), status: 0, message: None };
        Sample { time: at(time), value: Value::F64(value), alarm, pulse: 0, stamp: None }
    }

    /// So many samples at about 200 Hz.
    fn record(&mut self, from: i64, count: i64) {
        let mut samples = Vec::new();
        for row in 0..count {
            let jitter = self.below(1_000_000) as i64;
            samples.push(self.sample(from + row * SECOND / 200 + jitter));
        }
        self.append(samples);
    }

    fn append(&mut self, samples: Vec<Sample>) {
        let mut batch = Batch::new(ValueType::scalar(Element::F64));
        samples.iter().for_each(|sample| assert!(batch.push(sample)));
        let records = [(self.pv, Record::Samples(batch))];
        self.store.writer().append(&records, at(0)).expect("the store takes it");
        for sample in samples {
            let place = self.samples.partition_point(|other| other.time <= sample.time);
            let mut same_time = self.samples[..place].iter().rev().take_while(|other| other.time == sample.time);
            if !same_time.any(|other| other.identical(&sample)) {
                self.samples.insert(place, sample);
            }
        }
    }

    fn flush(&self, now: i64) {
        self.store.tick(at(now));
        self.wait_until("the head is flushed", |reader| reader.health().head_samples == 0);
    }

    fn wait_until(&self, what: &str, done: impl Fn(&Reader) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !done(&self.store.reader()) {
            assert!(Instant::now() < deadline, "{what}: not within a minute");
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn bins(&self, range: TimeRange, cut: Cut) -> (Vec<Bin>, usize) {
        let mut bins = Query::over(self.store.reader()).bins(self.pv, range, cut).expect("so many are possible");
        let all = bins.by_ref().map(|bin| bin.expect("the disk can be read")).collect();
        (all, bins.damage().len())
    }

    /// Asks for bins of several lengths and compares each with the samples.
    fn check(&mut self, place: &str) {
        for count in [1, 2, 7, 40, 300] {
            for cut in [Cut::Aligned(count + 1), Cut::Equal(count)] {
                let (a, b) = (self.below(400) as i64 * SECOND, self.below(400) as i64 * SECOND);
                let range = TimeRange { t0: at(a.min(b)), t1: at(a.max(b) + SECOND) };
                let (bins, damage) = self.bins(range, cut);
                assert_eq!(damage, 0, "{place}");
                for bin in &bins {
                    let place = format!("{place}, {cut:?} of {range:?}, bin at {}", bin.t0);
                    check_bin(&self.samples, bin, Timestamp::MAX, &place);
                }
            }
        }
    }
}

fn at(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn odds(seed: u64) -> Odd {
    Odd { not_finite: [None, Some(20_000), Some(300)][seed as usize % 3], alarm: Some(50) }
}

#[test]
fn bins_of_a_merged_segment_are_what_looking_at_every_sample_gives() {
    for seed in 0..3 {
        let mut archive = Archive::merged(seed, odds(seed));
        for _ in 0..4 {
            archive.check(&format!("seed {seed}"));
        }
    }
}

#[test]
fn late_samples_repeats_and_what_is_not_merged_yet_are_in_the_bins() {
    for seed in 10..13 {
        let mut archive = Archive::merged(seed, odds(seed));
        // A block with a few late samples, some of them repeats, before those of half a minute later.
        let mut late: Vec<Sample> = (0..3).map(|i| archive.sample(41_000_000_007 * (i + 1))).collect();
        let repeated = archive.samples[archive.samples.len() / 2].clone();
        let other_value = Sample { value: Value::F64(-1.5), ..repeated.clone() };
        late.extend([repeated, other_value]);
        archive.append(late);
        archive.record(330 * SECOND, 3000);
        archive.check(&format!("seed {seed}, late samples in the head"));
        archive.flush(DAY + 30_000 * SECOND);
        archive.check(&format!("seed {seed}, late samples in a segment"));
        // As if half a minute in the middle had been recorded by two archivers.
        archive.record(100 * SECOND + 1, 6000);
        archive.record(345 * SECOND, 2000);
        archive.check(&format!("seed {seed}, much in the head"));
        archive.flush(DAY + 40_000 * SECOND);
        archive.check(&format!("seed {seed}, three segments"));
    }
}

#[test]
fn deleted_ranges_are_in_no_bin_until_they_are_restored() {
    let mut archive = Archive::merged(20, odds(0));
    let all = archive.samples.clone();
    let by = By::new("a tester", at(DAY + 21_000 * SECOND));
    // Within a row, over several, and over whole rows.
    let ranges =
        [(33, 35), (101, 147), (200, 260)].map(|(t0, t1)| TimeRange { t0: at(t0 * SECOND), t1: at(t1 * SECOND) });
    let deletions = ranges.map(|range| {
        archive.samples.retain(|sample| !range.contains(sample.time));
        archive.store.writer().delete_range(archive.pv, range, &by).expect("there is something to delete").number
    });
    archive.check("after the deletion");
    for number in deletions {
        archive.store.writer().restore_range(number, &by).expect("it is not purged");
    }
    archive.samples = all;
    archive.check("restored");
}

#[test]
fn bins_whose_edges_cut_many_blocks_are_what_looking_at_every_sample_gives() {
    for seed in 30..32 {
        let mut archive = Archive::merged(seed, odds(seed));
        for part in 8..24 {
            // With a gap now and then, so that a number is held over several bins.
            archive.record(part * ROWS * SECOND / 200 + (part / 5) * 20 * SECOND, ROWS);
            archive.flush(DAY + 30_000 * SECOND + 1000 * SECOND * part);
        }
        for (from, to, count) in [(0, 1010, 100), (-50, 1100, 997), (3, 700, 30), (333, 1009, 64)] {
            let range = TimeRange { t0: at(from * SECOND + 7), t1: at(to * SECOND - 5) };
            let (bins, damage) = archive.bins(range, Cut::Equal(count));
            assert_eq!((bins.len(), damage), (count, 0), "seed {seed}");
            assert!(bins.windows(2).all(|pair| pair[0].t1 == pair[1].t0), "seed {seed}: they follow one another");
            for bin in &bins {
                let place = format!("seed {seed}, {count} bins of {range:?}, bin at {}", bin.t0);
                check_bin(&archive.samples, bin, Timestamp::MAX, &place);
            }
        }
    }
}

#[test]
fn bins_whose_edges_move_are_those_of_an_archive_that_was_never_asked() {
    let mut archive = Archive::merged(40, Odd { not_finite: None, alarm: Some(50) });
    let mut ranges = Vec::new();
    for _ in 0..6 {
        let (from, to) = (archive.below(SECOND as u64) as i64, 320 * SECOND - archive.below(SECOND as u64) as i64);
        ranges.push(TimeRange { t0: at(from), t1: at(to) });
    }
    // Sections that were read before are read alone, and those that cut their borders.
    let warm: Vec<_> = ranges.iter().map(|range| archive.bins(*range, Cut::Equal(11))).collect();
    let Archive { store, pv, samples, random, odd, folder } = archive;
    store.close(at(2 * DAY)).expect("the store closes");
    for (range, (bins, damage)) in ranges.into_iter().zip(warm) {
        let store = Store::open(Config::new(folder.path()), at(2 * DAY)).expect("the store opens");
        let (fresh, _) = {
            let mut bins = Query::over(store.reader()).bins(pv, range, Cut::Equal(11)).expect("eleven are possible");
            let all: Vec<Bin> = bins.by_ref().map(|bin| bin.expect("the disk can be read")).collect();
            (all, bins.damage().len())
        };
        assert_eq!((format!("{bins:?}"), damage), (format!("{fresh:?}"), 0), "{range:?}");
        bins.iter().for_each(|bin| check_bin(&samples, bin, Timestamp::MAX, "of edges that move"));
        store.close(at(2 * DAY)).expect("the store closes");
    }
    let _ = (random, odd);
}

/// The segment of an archive, once those that it is merged of have gone.
fn segment(archive: &Archive) -> std::path::PathBuf {
    archive.wait_until("what was merged has gone", |_| segments(archive).len() == 1);
    segments(archive).remove(0)
}

fn segments(archive: &Archive) -> Vec<std::path::PathBuf> {
    let paths_in = |folder: &std::path::Path| {
        let entries = fs::read_dir(folder).expect("the folder can be read");
        entries.map(|entry| entry.expect("so can this").path())
    };
    let weeks = paths_in(archive.folder.path()).filter(|path| path.is_dir());
    let files = weeks.flat_map(|week| paths_in(&week));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "seg")).collect()
}

#[test]
fn what_is_damaged_after_it_was_read_is_told_and_gives_no_wrong_number() {
    let archive = Archive::merged(41, Odd { not_finite: None, alarm: None });
    let range = |off: i64| TimeRange { t0: at(SECOND + off), t1: at(300 * SECOND + off) };
    for off in 0..4 {
        let (_, damage) = archive.bins(range(off * 1000), Cut::Equal(3));
        assert_eq!(damage, 0);
    }
    let segment = segment(&archive);
    let whole = fs::read(&segment).expect("the segment can be read");
    let (mut told, mut right) = (0, 0);
    // Stretch after stretch, so that each section that is read is damaged once.
    let stretch = whole.len() / 150;
    for place in (64..whole.len() / 2).step_by(stretch) {
        let mut bytes = whole.clone();
        bytes[place..place + stretch].iter_mut().for_each(|byte| *byte ^= 0x10);
        fs::write(&segment, &bytes).expect("the segment can be written");
        // Edges that nobody has asked for, in sections of blocks that were read when they were whole.
        let (bins, damage) = archive.bins(range(10_000 + place as i64), Cut::Equal(3));
        if damage == 0 {
            right += 1;
            bins.iter().for_each(|bin| check_bin(&archive.samples, bin, Timestamp::MAX, "of a damaged segment"));
        } else {
            told += 1;
        }
    }
    assert!(told > 0 && right > 0, "{told} told, {right} right");
}

#[test]
fn rows_answer_without_the_blocks() {
    let Archive { store, pv, samples, random, odd, folder } =
        Archive::merged(1, Odd { not_finite: None, alarm: Some(9) });
    store.close(at(2 * DAY)).expect("the store closes");
    let weeks =
        fs::read_dir(folder.path()).expect("the folder can be read").map(|entry| entry.expect("so can this").path());
    let files = weeks.filter(|path| path.is_dir()).flat_map(|week| fs::read_dir(week).expect("a week can be read"));
    let segment = files.map(|file| file.expect("a file can be read").path());
    let segments: Vec<_> =
        segment.filter(|path| path.extension().is_some_and(|extension| extension == "seg")).collect();
    assert_eq!(segments.len(), 1, "{segments:?}");
    let mut bytes = fs::read(&segments[0]).expect("the segment can be read");
    let half = bytes.len() / 2;
    bytes[64..half].fill(0);
    fs::write(&segments[0], bytes).expect("the segment can be written");

    let store = Store::open(Config::new(folder.path()), at(2 * DAY)).expect("the store opens");
    let archive = Archive { store, pv, samples, random, odd, folder };
    let range = TimeRange { t0: at(0), t1: at(320 * SECOND) };
    let (bins, damage) = archive.bins(range, Cut::Aligned(32));
    assert_eq!((bins.len(), damage), (32, 0));
    bins.iter().for_each(|bin| check_bin(&archive.samples, bin, Timestamp::MAX, "from rows"));
    let (_, damage) = archive.bins(range, Cut::Equal(31));
    assert!(damage > 0, "half of the blocks are gone");
    let (_, of_many) = archive.bins(range, Cut::Equal(299));
    assert_eq!(of_many, damage, "each is told once, though parts of the range are made at the same time");
}

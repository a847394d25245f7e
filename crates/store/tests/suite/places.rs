//! Segments go from place to place: nobody notices but the health counters, whenever the power goes and whatever becomes of a place.

use crate::common;
use crate::sim;

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use archive::{By, DataFate, Keep, KeptFor, KeptPvs, LedgerScale, PvId, PvName, PvSettings, Rules, WeekState};
use common::{append, at, by, name, read, register, sample, settings, wait_until};
use sample::{Sample, TimeRange, Value};
use sim::{Crash, SimDisk, folder::Folder};
use store::{Config, Durable, Place, Retention, Rule, Store, Stretch, disk::Disk};

const DAY: i64 = 86_400_000_000_000;

fn place(name: &str, days: u64) -> Place {
    let after = Duration::from_secs(days * 86_400);
    let answers_within = Place::ANSWERS_WITHIN;
    Place { name: name.into(), folder: name.into(), after, megabytes_per_second: None, answers_within }
}

fn config() -> Config {
    Config {
        durable: Durable::Every(Duration::from_millis(1)),
        places: vec![place("medium", 7), place("long", 21)],
        ..Config::new("simulated")
    }
}

/// An archive with its two places.
struct Archive {
    store: Store,
    disk: Arc<SimDisk>,
    medium: Arc<Folder>,
    long: Arc<Folder>,
}

fn open(disk: &Arc<SimDisk>, config: Config, day: i64) -> Archive {
    let (medium, long) = (Folder::new(disk, "medium"), Folder::new(disk, "long"));
    let places: Vec<Arc<dyn Disk>> = vec![medium.clone(), long.clone()];
    let store = Store::open_on_disks(disk.clone(), places, config, at(day * DAY)).unwrap();
    Archive { store, disk: disk.clone(), medium, long }
}

fn samples(day: i64) -> Vec<Sample> {
    (0..2000).map(|i| sample(day * DAY + i * 1_000_000_000, Value::F64((i as f64 / 7.0).sin()))).collect()
}

impl Archive {
    /// A segment of some samples of both PVs.
    fn record(&self, pvs: &[PvId], day: i64) {
        let flushes = self.store.reader().health().flushes;
        pvs.iter().for_each(|pv| append(&self.store, *pv, &samples(day)).unwrap());
        self.store.tick(at(day * DAY + DAY / 2));
        wait_until("the head is flushed", || self.store.reader().health().flushes > flushes);
    }

    /// Bytes and waiting moves of the folder of the archive, and of the places.
    fn segments(&self) -> Vec<u64> {
        self.store.reader().health().places.iter().map(|place| place.segments).collect()
    }

    fn near_segments(&self) -> Vec<String> {
        let near = |key: &String| key.ends_with(".seg") && !key.contains("medium") && !key.contains("long");
        self.disk.keys().into_iter().filter(near).collect()
    }
}

fn read_all(store: &Store, pvs: &[PvId]) -> Vec<Vec<Sample>> {
    pvs.iter().map(|pv| read(store, *pv, TimeRange::ALL)).collect()
}

/// Days 4 to 10 after 1970-01-01, a Thursday, are the second week.
fn two_weeks(disk: &Arc<SimDisk>) -> (Archive, Vec<PvId>) {
    let archive = open(disk, config(), 0);
    let pvs = register(&archive.store, &["A", "B"]).unwrap();
    archive.record(&pvs, 5);
    archive.record(&pvs, 6);
    (archive, pvs)
}

#[test]
fn sealed_segments_go_from_place_to_place_and_what_finds_them_stays_near() {
    let disk = Arc::new(SimDisk::default());
    let (archive, pvs) = two_weeks(&disk);
    let before = read_all(&archive.store, &pvs);
    archive.store.tick(at(12 * DAY));
    let reader = archive.store.reader();
    wait_until("the week is sealed", || reader.partitions()[0].state == WeekState::Sealed);
    assert_eq!(archive.segments(), [1, 0, 0]);
    archive.store.tick(at(19 * DAY));
    wait_until("it is moved", || archive.segments() == [0, 1, 0]);
    wait_until("the source is removed", || archive.near_segments().is_empty());
    assert_eq!(read_all(&archive.store, &pvs), before);
    let reading = reader.samples(pvs[0], TimeRange::ALL); // begun in one place, ended in another
    archive.store.tick(at(40 * DAY));
    wait_until("it is moved on", || archive.segments() == [0, 0, 1]);
    assert_eq!(reading.map(|batch| batch.unwrap().len()).sum::<usize>(), before[0].len());
    assert_eq!(read_all(&archive.store, &pvs), before);
    wait_until("the source is removed", || archive.medium.keys() == ["pvark-place"]);
    assert_eq!(archive.long.keys().len(), 2);

    archive.store.close(at(41 * DAY)).unwrap();
    let archive = open(&disk, config(), 42);
    let reader = archive.store.reader();
    assert!(reader.extent(pvs[0]).is_some_and(|(.., count)| count == 4000));
    let summaries = reader.stretches(pvs[1], TimeRange::ALL, Arc::from([]));
    assert!(summaries.map(Result::unwrap).all(|stretch| matches!(stretch, Stretch::Summary(_))));
    assert_eq!(archive.long.reads.load(SeqCst), 0, "lists and summaries touch the slow place");
    assert_eq!(read_all(&archive.store, &pvs), before);
    assert!(archive.long.reads.load(SeqCst) > 0);
    assert_eq!(reader.health().problems, Vec::<String>::new());
}

#[test]
fn an_answer_that_was_begun_before_a_segment_was_sealed_reads_it_to_its_end_though_it_is_moved() {
    let disk = Arc::new(SimDisk::default());
    let archive = open(&disk, config(), 0);
    let pvs = register(&archive.store, &["A", "B"]).unwrap();
    archive.record(&pvs, 5); // the only one of its week: it is sealed as it is
    let before = read(&archive.store, pvs[0], TimeRange::ALL);
    let reader = archive.store.reader();
    let reading = reader.samples(pvs[0], TimeRange::ALL);
    archive.store.tick(at(12 * DAY));
    wait_until("the week is sealed", || reader.partitions()[0].state == WeekState::Sealed);
    archive.store.tick(at(19 * DAY));
    wait_until("it is moved", || archive.segments() == [0, 1, 0]);
    let moved = reader.samples(pvs[0], TimeRange::ALL);
    archive.store.tick(at(40 * DAY));
    wait_until("it is moved on", || archive.segments() == [0, 0, 1]);
    assert_eq!(archive.near_segments().len(), 1, "somebody reads it");
    for reading in [reading, moved] {
        assert_eq!(reading.map(|batch| batch.unwrap().len()).sum::<usize>(), before.len());
    }
    wait_until("the sources are removed", || archive.near_segments().is_empty() && archive.medium.keys().len() == 1);
    assert_eq!(read(&archive.store, pvs[0], TimeRange::ALL), before);
    assert_eq!(reader.health().problems, Vec::<String>::new());
}

#[test]
fn a_place_that_cannot_be_reached_costs_its_own_samples_only_and_comes_back_by_itself() {
    let disk = Arc::new(SimDisk::default());
    let (archive, pvs) = two_weeks(&disk);
    archive.store.tick(at(40 * DAY));
    wait_until("it is moved", || archive.segments() == [0, 0, 1]);
    archive.record(&pvs, 41);
    let before = read_all(&archive.store, &pvs);
    let reader = archive.store.reader();

    archive.long.unplugged.store(true, SeqCst);
    let (mut found, mut errors) = (0, Vec::new());
    for batch in reader.samples(pvs[0], TimeRange::ALL) {
        match batch {
            Ok(batch) => found += batch.len(),
            Err(error) => errors.push(error.to_string()),
        }
    }
    assert_eq!(found, 2000);
    assert!(!errors.is_empty() && errors.iter().all(|error| error.contains("the place \"long\"")), "{errors:?}");
    let told = || reader.health().problems.iter().any(|problem| problem.contains("\"long\""));
    wait_until("it is told", told);
    archive.store.tick(at(90 * DAY)); // the last week is to go there now
    wait_until("the move waits", || reader.health().places[2].moves_waiting == 1);
    assert_eq!(archive.segments()[2], 1);
    let last = samples(41).last().cloned();
    assert_eq!(reader.last_before(pvs[0], at(100 * DAY)).unwrap(), last);

    archive.long.unplugged.store(false, SeqCst);
    wait_until("it goes on by itself", || archive.segments() == [0, 0, 2]);
    assert!(!told(), "{:?}", reader.health().problems);
    assert_eq!(read_all(&archive.store, &pvs), before);
}

#[test]
fn an_empty_mount_point_is_not_taken_for_a_place_nor_is_that_of_another_archive() {
    let disk = Arc::new(SimDisk::default());
    let (archive, pvs) = two_weeks(&disk);
    archive.store.tick(at(12 * DAY));
    wait_until("the places are looked at", || archive.medium.keys() == ["pvark-place"]);
    archive.store.close(at(13 * DAY)).unwrap();
    let places = || -> (Arc<Folder>, Vec<Arc<dyn Disk>>) {
        let (medium, long) = (Folder::new(&disk, "medium"), Folder::new(&disk, "long"));
        (medium.clone(), vec![medium, long])
    };
    let (medium, disks) = places();
    medium.empty.store(true, SeqCst);
    let store = Store::open_on_disks(disk.clone(), disks, config(), at(19 * DAY)).unwrap();
    let told =
        |store: &Store, what: &str| store.reader().health().problems.iter().any(|problem| problem.contains(what));
    wait_until("it is told", || told(&store, "is everything mounted?"));
    assert_eq!(read(&store, pvs[0], TimeRange::ALL).len(), 4000);
    assert_eq!(medium.keys(), ["pvark-place"]);
    store.close(at(19 * DAY)).unwrap();

    disk.write_at("medium/pvark-place", 0, b"something else").unwrap();
    let (_, disks) = places();
    let store = Store::open_on_disks(disk, disks, config(), at(19 * DAY)).unwrap();
    wait_until("it is told", || told(&store, "belongs to another archive"));
}

#[test]
fn a_copy_that_is_not_what_was_copied_is_never_believed() {
    let disk = Arc::new(SimDisk::default());
    let (archive, pvs) = two_weeks(&disk);
    let before = read_all(&archive.store, &pvs);
    archive.medium.lies.store(true, SeqCst);
    archive.store.tick(at(19 * DAY));
    let reader = archive.store.reader();
    let told = || reader.health().problems.iter().any(|problem| problem.contains("not what was written"));
    wait_until("it is told", told);
    assert_eq!(archive.segments(), [1, 0, 0]);
    assert_eq!(archive.near_segments().len(), 1);
    archive.medium.lies.store(false, SeqCst);
    wait_until("it is moved", || archive.segments() == [0, 1, 0]);
    assert_eq!(read_all(&archive.store, &pvs), before);
}

#[test]
fn a_power_cut_at_any_change_of_a_move_loses_nothing() {
    for cut in 0.. {
        let disk = Arc::new(SimDisk::default());
        let (archive, pvs) = two_weeks(&disk);
        archive.store.tick(at(12 * DAY));
        let reader = archive.store.reader();
        wait_until("the week is sealed", || reader.partitions()[0].state == WeekState::Sealed);
        wait_until("the places are made", || archive.long.keys().len() + archive.medium.keys().len() == 2);
        let before = read_all(&archive.store, &pvs);
        archive.store.close(at(12 * DAY)).unwrap();
        let archive = open(&disk, config(), 12);
        disk.crash_after(disk.changes() + cut);
        archive.store.tick(at(19 * DAY));
        let reader = archive.store.reader();
        let moved = || archive.segments() == [0, 1, 0] && archive.near_segments().is_empty();
        wait_until("it is moved or the power is gone", || disk.has_crashed() || moved());
        let over = moved();
        drop(archive);
        drop(reader);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut)] {
            let context = format!("cut after {cut}, {crash:?}");
            let disk = Arc::new(disk.after(crash));
            let archive = open(&disk, config(), 19);
            assert_eq!(read_all(&archive.store, &pvs), before, "{context}");
            archive.store.tick(at(20 * DAY));
            wait_until("it is moved", || archive.segments() == [0, 1, 0] && archive.near_segments().is_empty());
            assert_eq!(read_all(&archive.store, &pvs), before, "{context}");
            let problems = archive.store.reader().health().problems;
            assert_eq!(problems, Vec::<String>::new(), "{context}");
            let left = archive.medium.keys().into_iter().filter(|key| key.ends_with(".tmp")).count();
            assert_eq!(left, 0, "{context}: {:?}", archive.medium.keys());
        }
        if over {
            return;
        }
    }
}

#[test]
fn what_is_kept_long_enough_goes_and_the_rest_of_its_segment_stays() {
    let day = |days: u64| Some(Duration::from_secs(days * 86_400));
    let rules = vec![Rule { pvs: "A*".into(), keep: day(14) }];
    let config = Config { retention: Retention { keep: day(60), rules }, ..config() };
    let disk = Arc::new(SimDisk::default());
    let archive = open(&disk, config.clone(), 0);
    let pvs = register(&archive.store, &["A", "B"]).unwrap();
    archive.record(&pvs, 5);
    archive.record(&pvs, 6);
    let before = read_all(&archive.store, &pvs);
    archive.store.tick(at(24 * DAY));
    let reader = archive.store.reader();
    wait_until("it is moved", || archive.segments() == [0, 1, 0]);
    assert_eq!(read_all(&archive.store, &pvs), before);

    let told = |pvs: KeptPvs, days| KeptFor { pvs, keep: day(days) };
    assert_eq!(reader.retention(), [told(KeptPvs::Rule("A*".into()), 14), told(KeptPvs::Others, 60)]);
    let next = |days| reader.next_to_go(day(days).unwrap()).map(|next| next.at);
    assert_eq!((next(14), next(60)), (Some(at(25 * DAY)), Some(at(71 * DAY))));

    archive.store.tick(at(26 * DAY)); // the week has been over for 15 days
    wait_until("A is taken away", || reader.health().expired_samples == 4000);
    assert_eq!((next(14), next(60)), (None, Some(at(71 * DAY))));
    assert_eq!(read_all(&archive.store, &pvs), [vec![], before[1].clone()]);
    wait_until("what is left is moved again", || archive.segments() == [0, 1, 0] && archive.near_segments().is_empty());
    wait_until("the old file is removed", || archive.medium.keys().len() == 2);
    archive.store.close(at(27 * DAY)).unwrap();
    let archive = open(&disk, config.clone(), 28);
    assert_eq!(read_all(&archive.store, &pvs), [vec![], before[1].clone()]);

    let reader = archive.store.reader();
    archive.store.tick(at(80 * DAY));
    wait_until("all is taken away", || reader.health().expired_samples == 4000);
    assert_eq!(read_all(&archive.store, &pvs), [vec![], vec![]]);
    wait_until("no file is left", || archive.medium.keys().len() + archive.long.keys().len() == 2);
    assert!(archive.near_segments().is_empty());
    assert_eq!(reader.health().problems, Vec::<String>::new());
    let lines = reader.audit(u64::MAX, 10).unwrap();
    let told: Vec<_> = lines.iter().map(|line| (line.action.name(), line.samples)).collect();
    assert_eq!(told, [("expired", 4000), ("expired", 4000), ("added", 0)]);
}

#[test]
fn a_rule_for_all_pvs_leaves_what_the_archive_keeps_for_itself() {
    let day = |days: u64| Some(Duration::from_secs(days * 86_400));
    let rules = vec![Rule { pvs: "KEPT".into(), keep: None }, Rule { pvs: "*".into(), keep: day(14) }];
    let config =
        Config { retention: Retention { keep: day(14), rules: rules.clone() }, places: Vec::new(), ..config() };
    let disk = Arc::new(SimDisk::default());
    let archive = open(&disk, config.clone(), 0);
    let mut pvs = register(&archive.store, &["A", "KEPT"]).unwrap();
    let names: Vec<PvName> = LedgerScale::Hour.names().take(1).map(|name| PvName::recorded(&name).unwrap()).collect();
    pvs.extend(archive.store.writer().own(&names, at(0)).unwrap());
    archive.record(&pvs, 5);
    let before = read_all(&archive.store, &pvs);
    archive.store.tick(at(40 * DAY));
    wait_until("A is taken away", || archive.store.reader().health().expired_samples == 2000);
    assert_eq!(read_all(&archive.store, &pvs), [vec![], before[1].clone(), before[2].clone()]);
    archive.store.close(at(41 * DAY)).unwrap();

    // A rule that names it means it.
    let rules = [vec![Rule { pvs: "ledger:*".into(), keep: day(21) }], rules].concat();
    let config = Config { retention: Retention { keep: day(14), rules }, ..config };
    let archive = open(&disk, config, 42);
    wait_until("its own is taken away", || archive.store.reader().health().expired_samples == 2000);
    assert_eq!(read_all(&archive.store, &pvs), [vec![], before[1].clone(), vec![]]);
}

#[test]
fn a_removed_pv_that_can_come_back_is_kept_as_long_as_it_was_said_of_it() {
    let retention = Retention { keep: Some(Duration::from_secs(14 * 86_400)), rules: Vec::new() };
    let config = Config { retention, places: Vec::new(), ..config() };
    let archive = open(&Arc::new(SimDisk::default()), config, 0);
    let rules = Rules { keep: Some(Keep::Forever), ..Rules::default() };
    let for_ever = PvSettings { rules: rules.shared(), ..settings() };
    let wanted = [(name("FOREVER"), for_ever), (name("A"), settings())];
    let pvs: Vec<_> = archive
        .store
        .writer()
        .register(&wanted, &By::new("test", at(0)))
        .unwrap()
        .iter()
        .map(|entry| entry.id)
        .collect();
    archive.record(&pvs, 5);
    let before = read(&archive.store, pvs[0], TimeRange::ALL);
    archive.store.writer().remove(&pvs[..1], DataFate::Keep, &by(6 * DAY)).unwrap();
    archive.store.tick(at(40 * DAY));
    wait_until("A is taken away", || archive.store.reader().health().expired_samples == 2000);
    archive.store.writer().restore(pvs[0], None, &by(41 * DAY)).unwrap();
    assert_eq!(read(&archive.store, pvs[0], TimeRange::ALL), before);
}

#[test]
fn a_power_cut_at_any_change_of_a_removal_loses_nothing_else() {
    let rules = vec![Rule { pvs: "A".into(), keep: Some(Duration::from_secs(86_400)) }];
    let config = Config { retention: Retention { keep: None, rules }, places: Vec::new(), ..config() };
    for cut in 0.. {
        let disk = Arc::new(SimDisk::default());
        let archive = open(&disk, config.clone(), 0);
        let pvs = register(&archive.store, &["A", "B"]).unwrap();
        archive.record(&pvs, 5);
        let before = read_all(&archive.store, &pvs);
        disk.crash_after(disk.changes() + cut);
        archive.store.tick(at(14 * DAY));
        let reader = archive.store.reader();
        let gone = || reader.health().expired_samples == 2000;
        wait_until("it is taken away or the power is gone", || disk.has_crashed() || gone());
        let over = gone() && !disk.has_crashed();
        drop(archive);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(cut)] {
            let archive = open(&Arc::new(disk.after(crash)), config.clone(), 14);
            let context = format!("cut after {cut}, {crash:?}");
            assert_eq!(read(&archive.store, pvs[1], TimeRange::ALL), before[1], "{context}");
            archive.store.tick(at(15 * DAY));
            wait_until("it is taken away", || read(&archive.store, pvs[0], TimeRange::ALL).is_empty());
            assert_eq!(read(&archive.store, pvs[1], TimeRange::ALL), before[1], "{context}");
        }
        if over {
            return;
        }
    }
}

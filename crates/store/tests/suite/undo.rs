//! Orders taken back: thousands of PVs get their settings again to the byte, removed ones come back with their samples, what was changed
//! since is refused by name, and a crash at any moment leaves all of it or nothing.

use crate::common;
use crate::sim;

use std::{sync::Arc, time::Duration};

use archive::{
    Action, DataFate, Deadband, GapScope, Method, OldName, Protocol, Purge, PvEntry, PvId, PvName, PvSettings, PvState,
    Rules, UndoPlan, UndoTo,
};
use common::{append, at, by, name, read, sample, settings};
use sample::{Gap, GapCause, TimeRange, Value};
use sim::{Crash, SimDisk};
use store::{Config, Durable, Store};

const DAY: i64 = 86_400_000_000_000;

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(Config::new(folder.path()), at(0)).unwrap()
}

/// Every other PV is scanned, some have a dead band, some are paused.
fn various(number: usize) -> PvSettings {
    let method =
        if number.is_multiple_of(2) { Method::Monitor } else { Method::Scan { period: Duration::from_millis(1500) } };
    let state = if number.is_multiple_of(5) { PvState::Paused } else { PvState::Active };
    let deadband = number.is_multiple_of(3).then_some(Deadband::Absolute((number + 1) as f64 / 7.0));
    PvSettings {
        rules: Rules { deadband, ..Rules::default() }.shared(),
        ..PvSettings::plain(Protocol::Pva, method, state)
    }
}

fn names(count: usize) -> Vec<PvName> {
    (0..count).map(|number| name(&format!("PV:{number:04}"))).collect()
}

fn all(names: &[PvName], of: impl Fn(usize) -> PvSettings) -> Vec<(PvName, PvSettings)> {
    names.iter().enumerate().map(|(number, name)| (name.clone(), of(number))).collect()
}

/// The newest order that can be taken back.
fn newest(store: &Store) -> u64 {
    store.reader().undoable().unwrap().first().expect("there is an order").number
}

/// What became of the PVs, in short.
fn outcome(plan: &UndoPlan) -> Vec<String> {
    let told = |to: &UndoTo| match to {
        UndoTo::Settings(_) => "settings".to_owned(),
        UndoTo::Back(_) => "back".to_owned(),
        UndoTo::Out(fate) => format!("out {fate:?}"),
        UndoTo::Refused(why) => why.clone(),
    };
    plan.steps.iter().map(|step| told(&step.to)).collect()
}

/// The rows about PVs, as they lie in the catalogue.
fn rows(folder: &tempfile::TempDir) -> Vec<(u32, Vec<u8>)> {
    use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
    let database = Database::open(folder.path().join("catalogue.redb")).unwrap();
    let table = database.begin_read().unwrap().open_table(TableDefinition::<u32, &[u8]>::new("pvs")).unwrap();
    table.iter().unwrap().map(|row| row.map(|(pv, row)| (pv.value(), row.value().to_vec())).unwrap()).collect()
}

#[test]
fn the_settings_of_5000_pvs_come_back_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let names = names(5000);
    let store = open(&folder);
    store.writer().register(&all(&names, various), &by(1)).unwrap();
    assert_eq!(store.reader().undoable().unwrap(), [], "new PVs are nothing that is undone");
    store.close(at(2)).unwrap();
    let before = rows(&folder);
    let store = open(&folder);
    store.writer().register(&all(&names, |_| settings()), &by(3)).unwrap();
    let lines = store.reader().audit(u64::MAX, 100).unwrap();
    let told: Vec<(Action, usize)> = lines.iter().map(|line| (line.action, line.pvs.len())).collect();
    let done = [(Action::Changed, 5000), (Action::Resumed, 1000), (Action::Added, 5000)];
    assert_eq!(told, done, "one line for each thing that is done");
    store.close(at(4)).unwrap();
    assert_ne!(rows(&folder), before);
    let store = open(&folder);
    let plan = store.reader().undo_plan(newest(&store)).unwrap();
    assert_eq!((plan.order.pvs, plan.order.action, plan.order.moves), (5000, Action::Resumed, false));
    assert_eq!(store.writer().undo(newest(&store), &by(5)).unwrap(), plan, "what was said is done");
    assert_eq!(store.reader().audit(u64::MAX, 1).unwrap()[0].action, Action::Undone);
    store.close(at(6)).unwrap();
    assert_eq!(rows(&folder), before);
    // An undo is an order too.
    let store = open(&folder);
    store.writer().undo(newest(&store), &by(7)).unwrap();
    assert!(store.reader().entries().iter().all(|entry| entry.settings == settings()));
}

#[test]
fn removed_pvs_come_back_with_their_samples_and_go_again() {
    for fate in [DataFate::Keep, DataFate::Delete] {
        let folder = tempfile::tempdir().unwrap();
        let names = names(50);
        let store = open(&folder);
        let entries = store.writer().register(&all(&names, various), &by(1)).unwrap();
        let pvs: Vec<PvId> = entries.iter().map(|entry| entry.id).collect();
        for pv in &pvs {
            append(&store, *pv, &[sample(5, Value::I32(pv.0 as i32))]).unwrap();
        }
        store.writer().add_alias(pvs[7], &name("ALIAS"), &by(6)).unwrap();
        store.writer().remove(&pvs, fate, &by(10)).unwrap();
        assert_eq!(store.reader().entries(), []);
        let order = newest(&store);
        assert!(store.reader().undo_plan(order).unwrap().order.moves);
        store.writer().undo(order, &by(20)).unwrap();
        let are_back = |store: &Store| {
            assert_eq!(store.reader().entries(), entries);
            assert_eq!(store.reader().find("ALIAS").map(|entry| entry.id), Some(pvs[7]));
            for pv in &pvs {
                assert_eq!(read(store, *pv, TimeRange::ALL), [sample(5, Value::I32(pv.0 as i32))]);
                let gaps = store.reader().gaps(*pv, TimeRange::ALL).unwrap();
                let out = Gap { from: at(10), to: Some(at(20)), cause: GapCause::NotArchived, lost: 0 };
                assert!(gaps.contains(&(GapScope::Pv, out)), "{gaps:?}");
            }
        };
        are_back(&store);
        drop(store);
        let store = open(&folder);
        are_back(&store);
        let plan = store.writer().undo(newest(&store), &by(30)).unwrap();
        assert_eq!(outcome(&plan)[0], format!("out {fate:?}"));
        assert_eq!(store.reader().entries(), []);
        assert!(store.reader().removed().iter().all(|removed| removed.data == fate && removed.since == at(30)));
        store.writer().undo(newest(&store), &by(40)).unwrap();
        assert_eq!(store.reader().entries(), entries);
    }
}

#[test]
fn what_was_changed_again_is_refused_by_name_and_the_rest_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let writer = store.writer();
    let names = names(6);
    let entries = writer.register(&all(&names, various), &by(1)).unwrap();
    let pvs: Vec<PvId> = entries.iter().map(|entry| entry.id).collect();
    writer.adopt(&all(&names, |_| settings()), &by(2), "slow: 6").unwrap();
    let order = newest(&store);
    let paused = PvSettings { state: PvState::Paused, ..settings() };
    writer.register(&[(names[1].clone(), paused.clone())], &by(3)).unwrap();
    writer.rename(pvs[2], &name("RENAMED"), OldName::Free, &by(3)).unwrap();
    writer.remove(&pvs[3..5], DataFate::Delete, &by(3)).unwrap();
    writer.purge(Purge { pv: Some(pvs[4]), before: at(4) }, &by(4)).unwrap();
    let plan = writer.undo(order, &by(5)).unwrap();
    let expected = [
        "settings",
        "PV:0001 was changed again since",
        "RENAMED was changed again since",
        "PV:0003 was removed since",
        "PV:0004 was purged since, and is gone for good",
        "settings",
    ];
    assert_eq!(outcome(&plan), expected);
    let now = |pv: PvId| store.reader().entry(pv).map(|entry| entry.settings);
    assert_eq!((now(pvs[0]), now(pvs[1]), now(pvs[5])), (Some(various(0)), Some(paused), Some(various(5))));
    // The order keeps those PVs that were refused, and refuses them again.
    assert_eq!(outcome(&store.reader().undo_plan(order).unwrap()), expected[1..5]);
    // Once the later change is taken back, the one before can be.
    let later = store.reader().undoable().unwrap().into_iter().find(|order| order.action == Action::Paused).unwrap();
    assert_eq!(later.pvs, 1);
    writer.undo(later.number, &by(6)).unwrap();
    assert_eq!(outcome(&writer.undo(order, &by(7)).unwrap())[0], "settings");
    assert_eq!(now(pvs[1]), Some(various(1)));
}

#[test]
fn a_name_that_another_pv_got_meanwhile_stays_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let pvs = common::register(&store, &["A", "B"]).unwrap();
    store.writer().remove(&pvs, DataFate::Delete, &by(1)).unwrap();
    let order = newest(&store);
    let other = common::register(&store, &["A"]).unwrap()[0];
    let plan = store.writer().undo(order, &by(2)).unwrap();
    assert_eq!(outcome(&plan), ["another PV is called A by now; rename that one first", "back"]);
    assert_eq!(store.reader().find("A").map(|entry| entry.id), Some(other));
}

#[test]
fn an_order_can_be_taken_back_for_a_day_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    common::register(&store, &["A", "B"]).unwrap();
    let paused = PvSettings { state: PvState::Paused, ..settings() };
    let pause = |pv: &str, at: i64| store.writer().register(&[(name(pv), paused.clone())], &by(at)).unwrap();
    pause("A", 1);
    let order = newest(&store);
    let late = store.writer().undo(order, &by(DAY + 2)).unwrap_err();
    assert_eq!(late.to_string(), format!("there is no order with the number {order} that could be undone"));
    assert_eq!(
        store.writer().undo(99, &by(2)).unwrap_err().to_string(),
        "there is no order with the number 99 that could be undone"
    );
    store.writer().undo(order, &by(DAY)).unwrap();
    assert!(store.writer().undo(order, &by(DAY)).is_err(), "it was taken back");
    // What is too old is forgotten with the next order.
    pause("B", 3 * DAY);
    assert_eq!(store.reader().undoable().unwrap().len(), 1);
}

/// The power goes, or the process is killed, after each change of the disk while an order and its undo are under way.
#[test]
fn a_crash_leaves_all_of_an_undo_or_nothing() {
    let config = || Config { durable: Durable::Every(Duration::from_millis(1)), ..Config::new("simulated") };
    let open = |disk: &Arc<SimDisk>| Store::open_on(disk.clone(), config(), at(0));
    let names = names(40);
    let before: Vec<PvSettings> = (0..names.len()).map(various).collect();
    let now = |entries: &[PvEntry]| -> Vec<PvSettings> { entries.iter().map(|entry| entry.settings.clone()).collect() };
    let (mut undone, mut not_undone) = (0, 0);
    for step in 0.. {
        let disk = Arc::new(SimDisk::default());
        let store = open(&disk).unwrap();
        store.writer().register(&all(&names, various), &by(1)).unwrap();
        store.writer().register(&all(&names, |_| settings()), &by(2)).unwrap();
        let order = newest(&store);
        disk.crash_after(disk.changes() + step);
        let told = store.writer().undo(order, &by(3));
        let has_crashed = disk.has_crashed();
        drop(store);
        for crash in [Crash::OfProcess, Crash::Forgetful, Crash::Torn(step)] {
            let store = open(&Arc::new(disk.after(crash))).unwrap();
            let found = now(&store.reader().entries());
            let is_undone = found == before;
            assert!(is_undone || found == vec![settings(); names.len()], "step {step}, {crash:?}: a part is undone");
            assert!(is_undone || told.is_err(), "step {step}, {crash:?}: what was acknowledged is lost");
            let orders = store.reader().undoable().unwrap();
            let newest = orders.first().map(|order| order.action);
            assert_eq!(
                newest,
                Some(if is_undone { Action::Undone } else { Action::Resumed }),
                "step {step}, {crash:?}"
            );
            *(if is_undone { &mut undone } else { &mut not_undone }) += 1;
        }
        if !has_crashed {
            break;
        }
    }
    assert!(undone > 0 && not_undone > 3, "{undone} {not_undone}");
}

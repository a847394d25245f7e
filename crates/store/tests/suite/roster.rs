//! The list of PVs: renamed, with aliases, removed and back again, with the gap and the line in the audit that belong to it.
//! Each case is looked at twice, the second time after the archive was opened anew.

use crate::common;

use archive::{Action, By, DataFate, GapScope, NameKind, Named, OldName, PvId, Record, Renaming, Sink};
use common::{append, at, by, name, read, register, sample, settings};
use sample::{Gap, GapCause, TimeRange, Value};
use store::{Config, Error, Store};

fn open(folder: &tempfile::TempDir, now: i64) -> Store {
    Store::open(Config::new(folder.path()), at(now)).unwrap()
}

/// Looks, opens the archive anew, looks again.
fn now_and_later(folder: &tempfile::TempDir, store: Store, look: impl Fn(&Store)) -> Store {
    look(&store);
    drop(store);
    let store = open(folder, 1_000_000);
    look(&store);
    store
}

fn id(store: &Store, name: &str) -> Option<PvId> {
    store.reader().find(name).map(|entry| entry.id)
}

/// All names, each of which says rightly whether it is its PV's own.
fn names(store: &Store) -> Vec<String> {
    let reader = store.reader();
    let names: Vec<Named> = reader.names().iter().cloned().collect();
    for (named, outline) in names.iter().zip(reader.outlines_of(&names)) {
        let is_own = reader.entry(named.pv).is_some_and(|entry| entry.name == named.name);
        assert_eq!((named.kind == NameKind::Own, outline.is_some()), (is_own, is_own), "{named:?}");
    }
    names.iter().map(|named| format!("{}={}", named.name, named.pv.0)).collect()
}

fn audit(store: &Store) -> Vec<String> {
    let line = |line: archive::AuditRecord| {
        let archive::AuditRecord { number, by, action, name, detail, pvs, .. } = line;
        let name = if pvs.is_empty() { name } else { format!("{} PVs", pvs.len()) };
        format!("{number} {} {} {name} {detail}", by.who, action.name()).trim_end().to_owned()
    };
    store.reader().audit(u64::MAX, 100).unwrap().into_iter().map(line).collect()
}

#[test]
fn a_renamed_pv_keeps_its_samples_and_if_wanted_its_old_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["A", "B"]).unwrap();
    append(&store, pvs[0], &[sample(5, Value::I32(1))]).unwrap();
    let writer = store.writer();
    assert_eq!(writer.rename(pvs[0], &name("A2"), OldName::Alias, &by(6)).unwrap().name, name("A2"));
    writer.rename(pvs[1], &name("B2"), OldName::Free, &by(7)).unwrap();
    let store = now_and_later(&folder, store, |store| {
        assert_eq!((id(store, "A"), id(store, "A2")), (Some(pvs[0]), Some(pvs[0])));
        assert_eq!((id(store, "B"), id(store, "B2")), (None, Some(pvs[1])));
        assert_eq!(names(store), ["A=0", "A2=0", "B2=1"]);
        assert_eq!(store.reader().entries().iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["A2", "B2"]);
        assert_eq!(store.reader().aliases_of(pvs[0]), [name("A")]);
        assert_eq!(read(store, pvs[0], TimeRange::ALL), [sample(5, Value::I32(1))]);
        assert_eq!(audit(store), ["2 a tester renamed B B2", "1 a tester renamed A A2", "0 test added 2 PVs"]);
    });
    // Back again: the alias becomes the name.
    store.writer().rename(pvs[0], &name("A"), OldName::Free, &by(8)).unwrap();
    assert_eq!(names(&store), ["A=0", "B2=1"]);
    assert!(store.reader().aliases_of(pvs[0]).is_empty());
}

#[test]
fn a_name_that_is_taken_is_refused_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["A", "B"]).unwrap();
    let writer = store.writer();
    writer.add_alias(pvs[0], &name("ALIAS"), &by(1)).unwrap();
    let refused = |result: Result<(), Error>| result.unwrap_err().to_string();
    let rename = |to: &str| refused(writer.rename(pvs[1], &name(to), OldName::Free, &by(2)).map(drop));
    assert_eq!(rename("A"), "there is a PV called A already; rename or remove that one first");
    assert_eq!(rename("B"), "there is a PV called B already; rename or remove that one first");
    assert_eq!(rename("ALIAS"), "ALIAS is an alias of the PV A already; remove the alias first");
    assert_eq!(
        refused(writer.add_alias(pvs[1], &name("ALIAS"), &by(2))),
        "ALIAS is an alias of the PV A already; remove the alias first"
    );
    assert_eq!(refused(writer.remove_alias(pvs[1], &name("ALIAS"), &by(2))), "there is no alias ALIAS of the PV B");
    writer.add_alias(pvs[0], &name("ALIAS"), &by(2)).unwrap(); // it is so already
    assert_eq!(register(&store, &["ALIAS"]).unwrap(), [pvs[0]], "an alias is its PV");
    now_and_later(&folder, store, |store| {
        assert_eq!(names(store), ["A=0", "ALIAS=0", "B=1"]);
        assert_eq!(audit(store), ["1 a tester alias_added A ALIAS", "0 test added 2 PVs"]);
    });
}

#[test]
fn an_alias_that_is_removed_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pv = register(&store, &["A"]).unwrap()[0];
    store.writer().add_alias(pv, &name("B"), &by(1)).unwrap();
    store.writer().remove_alias(pv, &name("B"), &by(2)).unwrap();
    now_and_later(&folder, store, |store| assert_eq!(names(store), ["A=0"]));
}

#[test]
fn a_removed_pv_comes_back_with_aliases_samples_settings_and_a_gap() {
    for fate in [DataFate::Keep, DataFate::Delete] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder, 0);
        let pv = register(&store, &["A"]).unwrap()[0];
        append(&store, pv, &[sample(5, Value::I32(1))]).unwrap();
        store.writer().add_alias(pv, &name("B"), &by(6)).unwrap();
        store.writer().add_alias(pv, &name("C"), &by(6)).unwrap();
        store.writer().remove(&[pv], fate, &by(10)).unwrap();
        let store = now_and_later(&folder, store, |store| {
            assert_eq!((id(store, "A"), id(store, "B"), names(store).len()), (None, None, 0));
            let removed = store.reader().removed();
            assert_eq!((removed[0].entry.id, removed[0].data, removed[0].by.clone()), (pv, fate, by(10)));
        });
        let other = register(&store, &["C"]).unwrap()[0]; // takes one of its aliases meanwhile
        assert_ne!(other, pv);
        store.writer().restore(pv, None, &by(20)).unwrap();
        now_and_later(&folder, store, |store| {
            assert_eq!(names(store), [format!("A={}", pv.0), format!("B={}", pv.0), format!("C={}", other.0)]);
            assert_eq!(store.reader().entry(pv).unwrap().settings, settings());
            assert_eq!(read(store, pv, TimeRange::ALL), [sample(5, Value::I32(1))]);
            let gaps = store.reader().gaps(pv, TimeRange::ALL).unwrap();
            let out = Gap { from: at(10), to: Some(at(20)), cause: GapCause::NotArchived, lost: 0 };
            assert!(gaps.contains(&(GapScope::Pv, out)), "{gaps:?}");
            assert_eq!(store.reader().removed(), []);
        });
    }
}

/// It was removed in one run and registered in a later one: nobody was there to record the gap meanwhile.
#[test]
fn a_name_that_is_registered_again_brings_back_what_was_kept_with_a_gap_but_not_what_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["KEPT", "DELETED"]).unwrap();
    store.writer().remove(&pvs[..1], DataFate::Keep, &by(10)).unwrap();
    store.writer().remove(&pvs[1..], DataFate::Delete, &by(10)).unwrap();
    store.close(at(50)).unwrap();
    let store = open(&folder, 60);
    let again = [(name("KEPT"), settings()), (name("DELETED"), settings())];
    let again: Vec<PvId> =
        store.writer().register(&again, &By::new("test", at(70))).unwrap().iter().map(|entry| entry.id).collect();
    assert_eq!((again[0], again[1]), (pvs[0], PvId(2)));
    let own = |pv| -> Vec<Gap> {
        let gaps = store.reader().gaps(pv, TimeRange::ALL).unwrap();
        gaps.into_iter().filter(|(scope, _)| *scope == GapScope::Pv).map(|(_, gap)| gap).collect()
    };
    assert_eq!(own(again[0]), [Gap { from: at(10), to: Some(at(70)), cause: GapCause::NotArchived, lost: 0 }]);
    assert_eq!(own(again[1]), []);
    let refused = store.writer().restore(pvs[1], None, &by(80)).unwrap_err();
    assert_eq!(refused.to_string(), "there is a PV called DELETED already; rename or remove that one first");
    store.writer().restore(pvs[1], Some(&name("FORMER")), &by(80)).unwrap();
    assert_eq!(id(&store, "FORMER"), Some(pvs[1]));
}

#[test]
fn what_is_hidden_already_can_be_deleted_and_counts_from_then() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pv = register(&store, &["A"]).unwrap()[0];
    append(&store, pv, &[sample(5, Value::I32(1))]).unwrap();
    store.writer().remove(&[pv], DataFate::Keep, &by(10)).unwrap();
    store.writer().remove(&[pv], DataFate::Delete, &by(500)).unwrap();
    store.writer().remove(&[pv], DataFate::Delete, &by(600)).unwrap(); // it is so already
    let store = now_and_later(&folder, store, |store| {
        let removed = &store.reader().removed()[0];
        assert_eq!((removed.data, removed.since, removed.by.at), (DataFate::Delete, at(10), at(500)));
        assert_eq!(read(store, pv, TimeRange::ALL), []);
    });
    assert_eq!(audit(&store), ["2 a tester deleted A", "1 a tester removed A", "0 test added A"]);
    assert_ne!(register(&store, &["A"]).unwrap(), [pv]);
}

#[test]
fn what_acquisition_still_had_of_a_removed_pv_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pv = register(&store, &["A"]).unwrap()[0];
    store.writer().remove(&[pv], DataFate::Keep, &by(10)).unwrap();
    append(&store, pv, &[sample(9, Value::I32(1))]).unwrap();
    let ended = Gap { from: at(1), to: Some(at(9)), cause: GapCause::NeverConnected, lost: 0 };
    store.writer().append(&[(pv, Record::Gap(ended))], at(11)).unwrap();
    store.close(at(12)).unwrap();
    let store = open(&folder, 20);
    assert_eq!(register(&store, &["A"]).unwrap(), [pv]);
    assert_eq!(read(&store, pv, TimeRange::ALL), [sample(9, Value::I32(1))]);
    assert!(store.reader().gaps(pv, TimeRange::ALL).unwrap().contains(&(GapScope::Pv, ended)));
}

#[test]
fn the_audit_is_read_page_by_page_from_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pv = register(&store, &["A"]).unwrap()[0];
    for number in 0..5 {
        store.writer().add_alias(pv, &name(&format!("B{number}")), &by(number)).unwrap();
    }
    let numbers = |before, limit| -> Vec<u64> {
        store.reader().audit(before, limit).unwrap().iter().map(|line| line.number).collect()
    };
    assert_eq!((numbers(u64::MAX, 2), numbers(3, 2), numbers(1, 2)), (vec![5, 4], vec![2, 1], vec![0]));
    let newest = &store.reader().audit(u64::MAX, 1).unwrap()[0];
    assert_eq!((newest.action, newest.by.at, newest.pv), (Action::AliasAdded, at(4), Some(pv)));
}

/// The audit's lines, newest first, without their numbers.
fn told(store: &Store) -> Vec<String> {
    audit(store).iter().filter_map(|line| line.split_once(' ')).map(|(_, line)| line.to_owned()).collect()
}

#[test]
fn many_are_renamed_in_one_change_and_each_that_cannot_be_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["A", "A.DESC", "A.HIHI", "B", "C", "X.HIHI"]).unwrap();
    let to = |pv: PvId, to: &str, fields: &[(PvId, &str)]| Renaming {
        pv,
        to: name(to),
        fields: fields.iter().map(|(pv, to)| (*pv, name(to))).collect(),
    };
    let wanted = [
        to(pvs[0], "X", &[(pvs[1], "X.DESC"), (pvs[2], "X.HIHI")]), // the second of its fields has no free name
        to(pvs[3], "X", &[]),                                       // the first has just got it
        to(pvs[4], "B", &[]),                                       // its owner keeps it
        to(pvs[0], "Y", &[]),                                       // renamed already
        to(PvId(99), "Z", &[]),
    ];
    let done = store.writer().rename_all(&wanted, OldName::Alias, &by(5)).unwrap();
    let entries = |entries: &Vec<archive::PvEntry>| entries.iter().map(|entry| entry.name.to_string()).collect();
    let done: Vec<Result<Vec<String>, String>> =
        done.iter().map(|done| done.as_ref().map(entries).map_err(ToString::to_string)).collect();
    assert_eq!(done[0], Ok(vec!["X".to_owned(), "X.DESC".to_owned()]));
    assert!(done[1..].iter().all(Result::is_err), "{done:?}");
    let store = now_and_later(&folder, store, |store| {
        let expected = ["A=0", "A.DESC=1", "A.HIHI=2", "B=3", "C=4", "X=0", "X.DESC=1", "X.HIHI=5"];
        assert_eq!(names(store), expected);
        assert_eq!(told(store), ["a tester renamed A.DESC X.DESC", "a tester renamed A X", "test added 6 PVs"]);
    });
    assert!(store.reader().entry(pvs[0]).is_some_and(|entry| entry.name == name("X")));
}

#[test]
fn pvs_that_are_other_names_of_one_become_its_aliases_all_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["R", "A", "B", "C"]).unwrap();
    append(&store, pvs[1], &[sample(5, Value::I32(1))]).unwrap();
    let pairs = [(pvs[1], pvs[0]), (pvs[2], pvs[0]), (pvs[1], pvs[0]), (pvs[3], pvs[2]), (pvs[0], pvs[0])];
    let done = store.writer().unite(&pairs, &by(6)).unwrap();
    // Twice, with one that has just gone, and with itself it cannot be done.
    assert_eq!(done.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, false, false]);
    let store = now_and_later(&folder, store, |store| {
        assert_eq!(names(store), ["A=0", "B=0", "C=3", "R=0"]);
        let mut lines = told(store);
        lines.sort();
        assert_eq!(lines[..2], ["a tester alias_added R A", "a tester alias_added R B"]);
        assert_eq!(lines[2..], ["a tester removed 2 PVs", "test added 4 PVs"]);
    });
    // What it had recorded is still there, under another name.
    store.writer().restore(pvs[1], Some(&name("A-OLD")), &by(7)).unwrap();
    assert_eq!(read(&store, pvs[1], TimeRange::ALL), [sample(5, Value::I32(1))]);
}

#[test]
fn many_come_back_in_one_change_and_each_that_cannot_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    let pvs = register(&store, &["A", "B", "C"]).unwrap();
    store.writer().add_alias(pvs[0], &name("SAME"), &by(1)).unwrap();
    store.writer().remove(&[pvs[0]], DataFate::Keep, &by(2)).unwrap();
    store.writer().add_alias(pvs[1], &name("SAME"), &by(3)).unwrap();
    store.writer().remove(&[pvs[1], pvs[2]], DataFate::Delete, &by(4)).unwrap();
    let wanted = [(pvs[0], None), (pvs[1], None), (pvs[2], Some(name("A"))), (pvs[0], None), (PvId(99), None)];
    let done = store.writer().restore_all(&wanted, &by(9)).unwrap();
    assert_eq!(done.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, false, false]);
    now_and_later(&folder, store, |store| {
        // The alias that both had goes to the one that comes first.
        assert_eq!(names(store), ["A=0", "B=1", "SAME=0"]);
        assert_eq!(told(store)[..2], ["a tester restored 2 PVs", "a tester deleted 2 PVs"]);
    });
}

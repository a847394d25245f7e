//! The list of another archive as the own one: PVs, settings, names and removals become what they are there, under the same numbers.
//! Each case is looked at twice, the second time after the archive was opened anew.

use crate::common;

use archive::{DataFate, Mirror, Mirrored, OldName, PvId, PvSettings, PvState};
use common::{append, at, by, name, read, sample, settings};
use sample::{TimeRange, Value};
use store::{Config, Store};

fn open(folder: &tempfile::TempDir, now: i64) -> Store {
    Store::open(Config::new(folder.path()), at(now)).unwrap()
}

/// All of the list of an archive.
fn list(of: &Store) -> Mirror {
    let reader = of.reader();
    let aliases = reader.aliases().into_iter().map(|(alias, entry)| (alias, entry.id)).collect();
    Mirror { entries: reader.entries(), aliases, removed: reader.removed() }
}

/// What tells one list from another; when PVs were added does not.
fn told(of: &Store) -> Vec<String> {
    let reader = of.reader();
    let mut told: Vec<String> = Vec::new();
    for entry in reader.entries() {
        let mut names: Vec<String> = reader.aliases_of(entry.id).iter().map(ToString::to_string).collect();
        names.sort();
        told.push(format!("{} {} {names:?} {:?}", entry.id.0, entry.name, entry.settings));
    }
    told
}

struct Two {
    folders: [tempfile::TempDir; 2],
    there: Store,
    here: Store,
    now: i64,
}

impl Two {
    fn new(names: &[&str]) -> Two {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let (there, here) = (open(&folders[0], 0), open(&folders[1], 0));
        common::register(&there, names).unwrap();
        Two { folders, there, here, now: 10 }
    }

    fn mirror_once(&mut self) -> Mirrored {
        self.now += 1;
        self.here.writer().mirror(&list(&self.there), &by(self.now)).unwrap()
    }

    /// Until nothing more is to be done; says in how many changes it was.
    fn mirror(&mut self) -> usize {
        for changes in 0.. {
            assert!(changes < 10, "it comes to no end: {:?}", self.mirror_once());
            let mirrored = self.mirror_once();
            assert_eq!(mirrored.refused, []);
            if !mirrored.is_change() {
                assert_eq!(mirrored.waiting, []);
                return changes;
            }
        }
        unreachable!("it returns or panics")
    }

    fn look(mut self, of: impl Fn(&Store)) -> Two {
        assert_eq!(told(&self.here), told(&self.there));
        of(&self.here);
        drop(self.here);
        self.here = open(&self.folders[1], 1000);
        assert_eq!(told(&self.here), told(&self.there));
        of(&self.here);
        self
    }
}

#[test]
fn pvs_come_with_their_numbers_and_go_with_their_data_kept_until_they_are_back() {
    let mut two = Two::new(&["A", "B", "C"]);
    two.there.writer().remove(&[PvId(0)], DataFate::Keep, &by(1)).unwrap();
    assert_eq!(
        two.mirror_once().put.iter().map(|entry| (entry.id.0, entry.name.as_str())).collect::<Vec<_>>(),
        [(1, "B"), (2, "C")]
    );
    assert_eq!(two.mirror(), 0, "what is so already is no change");
    assert_eq!(two.here.reader().entries()[0].added, at(11), "the copy has it since now");
    append(&two.here, PvId(2), &[sample(5, Value::I32(7))]).unwrap();
    two.there.writer().remove(&[PvId(2)], DataFate::Keep, &by(20)).unwrap();
    assert_eq!(two.mirror_once().out, [PvId(2)]);
    let mut two = two.look(|here| assert!(here.reader().find("C").is_none()));
    two.there.writer().restore(PvId(2), None, &by(30)).unwrap();
    two.mirror();
    let two = two.look(|here| assert_eq!(read(here, PvId(2), TimeRange::ALL), [sample(5, Value::I32(7))]));
    assert!(two.here.reader().audit(u64::MAX, 100).unwrap().is_empty(), "what was ordered stands in the audit there");
}

#[test]
fn settings_names_and_other_names_are_those_that_they_have_there() {
    let mut two = Two::new(&["A", "B", "C"]);
    two.mirror();
    let writer = two.there.writer();
    writer.register(&[(name("A"), PvSettings { state: PvState::Paused, ..settings() })], &by(2)).unwrap();
    writer.rename(PvId(1), &name("B2"), OldName::Alias, &by(3)).unwrap();
    writer.add_alias(PvId(2), &name("C2"), &by(4)).unwrap();
    let mirrored = two.mirror_once();
    assert_eq!(mirrored.put.len(), 2);
    let mut two = two.look(|here| assert_eq!(here.reader().find("B").map(|entry| entry.id), Some(PvId(1))));
    // A name that another PV had, an alias that becomes a name, and one that goes.
    let writer = two.there.writer();
    writer.rename(PvId(1), &name("B"), OldName::Free, &by(5)).unwrap();
    writer.remove_alias(PvId(2), &name("C2"), &by(6)).unwrap();
    writer.rename(PvId(0), &name("C2"), OldName::Free, &by(7)).unwrap();
    writer.rename(PvId(2), &name("A"), OldName::Free, &by(8)).unwrap();
    two.mirror();
    two.look(|here| assert_eq!(here.reader().find("A").map(|entry| entry.id), Some(PvId(2))));
}

#[test]
fn two_pvs_that_exchange_their_names_keep_their_samples() {
    let mut two = Two::new(&["A", "B"]);
    two.mirror();
    append(&two.here, PvId(0), &[sample(5, Value::I32(1))]).unwrap();
    let writer = two.there.writer();
    for (pv, to) in [(0, "X"), (1, "A"), (0, "B")] {
        writer.rename(PvId(pv), &name(to), OldName::Free, &by(20)).unwrap();
    }
    two.mirror();
    two.look(|here| {
        assert_eq!(here.reader().find("B").map(|entry| entry.id), Some(PvId(0)));
        assert_eq!(read(here, PvId(0), TimeRange::ALL), [sample(5, Value::I32(1))]);
    });
}

#[test]
fn what_was_purged_there_stays_out_and_a_number_of_ones_own_is_not_given_away() {
    let mut two = Two::new(&["A", "B"]);
    two.mirror();
    append(&two.here, PvId(0), &[sample(5, Value::I32(1))]).unwrap();
    // The other archive knows nothing of it any more.
    let list = Mirror { entries: list(&two.there).entries.split_off(1), ..Mirror::default() };
    assert_eq!(two.here.writer().mirror(&list, &by(20)).unwrap().out, [PvId(0)]);
    assert_eq!(two.here.reader().removed().iter().map(|of| of.data).collect::<Vec<_>>(), [DataFate::Keep]);
    let own = two.here.writer().own(&[name("ours")], at(21)).unwrap();
    let theirs = common::register(&two.there, &["C"]).unwrap();
    assert_eq!(own, theirs, "both have given the next number");
    assert_eq!(two.mirror_once().refused, [name("C")]);
}

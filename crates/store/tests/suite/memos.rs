//! Memos in the catalogue: they are there after the next start, in backups of the rows, and no more of them than there is room for.

use crate::common;

use archive::{Action, Curator, DirectoryError, Fault, Memo, MemoKind, MemoText};
use common::{at, by, name};
use store::{Config, Store};

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(Config::new(folder.path()), at(0)).unwrap()
}

fn memo(kind: MemoKind, named: &str, text: &str) -> MemoText {
    MemoText {
        kind,
        name: named.to_owned(),
        text: text.to_owned(),
        query: if kind == MemoKind::View { "pv=A".to_owned() } else { String::new() },
        pvs: vec![name("A"), name("B")],
        from: Some(at(5)),
        to: Some(at(9)),
        origin: "jo, long ago".to_owned(),
    }
}

fn all(store: &Store) -> Vec<Memo> {
    let mut found = Vec::new();
    store
        .reader()
        .memos(u64::MAX, &mut |memo| {
            found.push(memo);
            true
        })
        .unwrap();
    found
}

fn put(store: &Store, memos: &[(Option<Memo>, MemoText)], when: i64) -> Result<Vec<Memo>, DirectoryError> {
    Curator::put_memos(&store.writer(), memos, &by(when))
}

#[test]
fn memos_are_there_after_a_restart_with_who_wrote_and_changed_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    assert_eq!(all(&store), []);
    let note = memo(MemoKind::Note, "", "<b>said</b>");
    let kept = put(&store, &[(None, note.clone()), (None, memo(MemoKind::View, "a/b", ""))], 3).unwrap();
    assert_eq!((kept[0].number, kept[1].number, &kept[0].text, kept[0].made.at), (1, 2, &note, at(3)));
    let other = MemoText { text: "said better".to_owned(), ..note };
    let changed = put(&store, &[(Some(kept[0].clone()), other.clone())], 4).unwrap().remove(0);
    assert_eq!(changed, Memo { text: other, changed: Some(by(4)), ..kept[0].clone() });
    drop(store);
    let store = open(&folder);
    assert_eq!(all(&store), [kept[1].clone(), changed.clone()]);
    let told: Vec<(Action, String)> =
        store.reader().audit(u64::MAX, 10).unwrap().into_iter().map(|line| (line.action, line.detail)).collect();
    assert_eq!(told[0], (Action::NoteWritten, "note 1: said better".to_owned()));
    assert_eq!(told[1], (Action::ViewSaved, "view 2: a/b".to_owned()));
    Curator::remove_memo(&store.writer(), &changed, &by(5)).unwrap();
    drop(store);
    assert_eq!(all(&open(&folder)), [kept[1].clone()]);
}

#[test]
fn two_views_never_have_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let view = |named: &str| memo(MemoKind::View, named, "");
    let kept = put(&store, &[(None, view("a")), (None, view("b"))], 1).unwrap();
    for refused in
        [vec![(None, view("a"))], vec![(None, view("c")), (None, view("c"))], vec![(Some(kept[0].clone()), view("b"))]]
    {
        assert_eq!(put(&store, &refused, 2).unwrap_err().fault, Fault::NameTaken);
    }
    assert_eq!(all(&store).len(), 2);
    // A view that has another name leaves its own.
    put(&store, &[(Some(kept[0].clone()), view("c"))], 3).unwrap();
    assert_eq!(put(&store, &[(None, view("a"))], 4).unwrap()[0].number, 3);
    Curator::remove_memo(&store.writer(), &kept[1], &by(5)).unwrap();
    put(&store, &[(None, view("b"))], 6).unwrap();
}

#[test]
fn whoever_has_seen_a_view_before_it_was_changed_frees_no_name_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let view = |named: &str| memo(MemoKind::View, named, "");
    let seen = put(&store, &[(None, view("a"))], 1).unwrap().remove(0);
    put(&store, &[(Some(seen.clone()), view("b"))], 2).unwrap();
    put(&store, &[(None, view("a"))], 3).unwrap();
    // Its name is "b" by now, and "a" is that of the other one.
    put(&store, &[(Some(seen.clone()), view("c"))], 4).unwrap();
    assert_eq!(put(&store, &[(None, view("a"))], 5).unwrap_err().fault, Fault::NameTaken);
    put(&store, &[(None, view("b"))], 6).unwrap();
    Curator::remove_memo(&store.writer(), &seen, &by(7)).unwrap();
    assert_eq!(put(&store, &[(None, view("a"))], 8).unwrap_err().fault, Fault::NameTaken);
    put(&store, &[(None, view("c"))], 9).unwrap();
    // A change does not bring back a view that was removed.
    assert_eq!(put(&store, &[(Some(seen), view("d"))], 10).unwrap_err().fault, Fault::NothingThere);
    assert_eq!(all(&store).iter().map(|memo| memo.number).collect::<Vec<_>>(), [4, 3, 2]);
}

#[test]
fn no_more_are_kept_than_there_is_room_for_and_room_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let long = memo(MemoKind::Note, "", &"x".repeat(archive::MEMO_TEXT_MAX));
    let many: Vec<(Option<Memo>, MemoText)> = (0..500).map(|_| (None, long.clone())).collect();
    let kept = put(&store, &many, 1).unwrap();
    put(&store, &many, 2).unwrap();
    let refused = put(&store, &many, 3).unwrap_err();
    assert!(refused.message.contains("no room"), "{refused}");
    assert_eq!(all(&store).len(), 1000, "all of a request or nothing");
    kept.iter().for_each(|memo| Curator::remove_memo(&store.writer(), memo, &by(4)).unwrap());
    put(&store, &many, 5).unwrap();
}

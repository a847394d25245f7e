//! The chain of the audit: what was changed in it, taken out or cut off is named, though the file is whole for all else.

use crate::common;

use std::path::Path;

use archive::{By, How, OldName, Principal, Way};
use common::{at, name, register};
use redb::{Database, ReadableTable, TableDefinition};
use store::{AuditHead, AuditProof, Config, Kept, Store, verify_audit};

const AUDIT: TableDefinition<u64, &[u8]> = TableDefinition::new("audit");
const CHAIN: TableDefinition<u64, [u8; 32]> = TableDefinition::new("audit_chain");

fn store_in(folder: &Path) -> Store {
    Store::open(Config::new(folder), at(0)).unwrap()
}

/// Renames a PV so often, each time by somebody else.
fn rename(store: &Store, times: std::ops::Range<i64>) {
    let pv = register(store, &["A"]).unwrap()[0];
    for time in times {
        let way = Way { address: None, listener: "socket".into(), request: format!("{time}").into() };
        let who = Principal::shown(How::Token, &format!("t{time}")).by_way(way);
        store.writer().rename(pv, &name(&format!("A{time}")), OldName::Free, &By::new(who, at(time))).unwrap();
        store.writer().rename(pv, &name("A"), OldName::Free, &By::new("a tester", at(time))).unwrap();
    }
}

/// An archive with 21 lines in its audit.
fn archive() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    rename(&store, 1..11);
    store.close(at(100)).unwrap();
    folder
}

fn proof(folder: &Path, known: &[AuditHead]) -> AuditProof {
    verify_audit(folder, known).unwrap()
}

/// Changes the catalogue as somebody does who has its tools.
fn change(folder: &Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::open(folder.join("catalogue.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder.join("catalogue.redb"), copy.path().join("catalogue.redb")).unwrap();
    copy
}

fn line(folder: &Path, number: u64) -> Vec<u8> {
    let mut line = Vec::new();
    change(folder, |transaction| {
        line = transaction.open_table(AUDIT).unwrap().get(number).unwrap().unwrap().value().to_owned()
    });
    line
}

#[test]
fn an_audit_that_nobody_touched_is_proved_beside_a_running_archiver_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    assert_eq!((proof(folder.path(), &[]).lines, proof(folder.path(), &[]).head), (0, None));
    rename(&store, 1..3);
    let (first, head) = (proof(folder.path(), &[]), |proof: &AuditProof| proof.head.unwrap());
    assert_eq!((first.lines, first.without_hash, first.faults.len(), head(&first).number), (5, 0, 0, 4)); // one tells that a PV was added
    rename(&store, 3..5);
    let second = proof(folder.path(), &[head(&first)]);
    assert_eq!((second.lines, second.faults.as_slice()), (9, [].as_slice()));
    assert_eq!(head(&second).to_string().parse(), Ok(head(&second)));
}

#[test]
fn any_bit_of_any_line_that_is_changed_is_named() {
    let folder = archive();
    for number in 0..21 {
        let bytes = line(folder.path(), number);
        // Each bit of one line, and one of the others.
        let bits = if number == 7 {
            (0..8 * bytes.len()).collect::<Vec<_>>()
        } else {
            vec![(37 * number as usize) % (8 * bytes.len())]
        };
        for bit in bits.into_iter().step_by(3) {
            let copy = copy_of(folder.path());
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            change(copy.path(), |transaction| {
                transaction.open_table(AUDIT).unwrap().insert(number, changed.as_slice()).unwrap();
            });
            let faults = proof(copy.path(), &[]).faults;
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert!(faults[0].starts_with(&format!("line {number} is not what was written")), "{faults:?}");
        }
    }
}

#[test]
fn a_bit_that_a_disk_has_lost_is_named_by_its_line() {
    let folder = archive();
    let path = folder.path().join("catalogue.redb");
    let (mut file, line) = (std::fs::read(&path).unwrap(), line(folder.path(), 11));
    let places: Vec<usize> =
        file.windows(line.len()).enumerate().filter(|(_, window)| *window == line).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    for place in places {
        file[place + line.len() / 2] ^= 4;
    }
    std::fs::write(&path, &file).unwrap();
    let faults = proof(folder.path(), &[]).faults;
    assert!(faults.iter().any(|fault| fault.starts_with("line 11 is not what was written")), "{faults:?}");
    assert!(faults.iter().any(|fault| fault.contains("bits of the catalogue are wrong")), "{faults:?}");
}

#[test]
fn a_line_that_was_taken_out_is_named_with_or_without_its_hash() {
    let folder = archive();
    for with_hash in [false, true] {
        for number in [0, 5, 20] {
            let copy = copy_of(folder.path());
            let head = proof(copy.path(), &[]).head.unwrap();
            change(copy.path(), |transaction| {
                transaction.open_table(AUDIT).unwrap().remove(number).unwrap();
                if with_hash {
                    transaction.open_table(CHAIN).unwrap().remove(number).unwrap();
                }
            });
            let faults = proof(copy.path(), &[head]).faults;
            let expected = match (number, with_hash) {
                (20, true) => {
                    "line 20 had a hash once and has none now, line 19 is the last: the end of the audit was cut off"
                        .to_owned()
                }
                _ => format!("line {number} is missing"),
            };
            assert!(faults.contains(&expected), "{faults:?}");
            // It stays so, whatever is written behind it.
            let store = store_in(copy.path());
            rename(&store, 50..51);
            let faults = proof(copy.path(), &[head]).faults;
            assert!(!faults.is_empty(), "{number} {with_hash}");
            // Where a line or a hash behind it is left, its number is not given to another.
            assert!((number, with_hash) == (20, true) || faults.contains(&expected), "{faults:?}");
        }
    }
}

#[test]
fn a_chain_that_was_made_anew_differs_from_the_head_that_was_told_and_from_that_of_a_backup() {
    let folder = archive();
    let told = proof(folder.path(), &[]).head.unwrap();
    let backup = tempfile::tempdir().unwrap();
    store::backup(folder.path(), backup.path(), Kept::Trusted, |_| {}).unwrap();
    assert_eq!(proof(backup.path(), &[told]).faults, [] as [String; 0]);
    assert_eq!(proof(backup.path(), &[]).head, Some(told));

    // Somebody changes a line and lets the program make the hashes anew: within itself all fits.
    let mut changed = line(folder.path(), 4);
    *changed.last_mut().unwrap() ^= 1;
    change(folder.path(), |transaction| {
        transaction.open_table(AUDIT).unwrap().insert(4, changed.as_slice()).unwrap();
        transaction.delete_table(CHAIN).unwrap();
    });
    rename(&store_in(folder.path()), 60..61);
    assert_eq!(proof(folder.path(), &[]).faults, [] as [String; 0]);
    let faults = proof(folder.path(), &[told]).faults;
    assert_eq!(faults, ["line 20 had another hash once: what is there up to it was written anew"]);
}

#[test]
fn an_archive_of_an_older_program_is_hashed_whole_by_its_first_new_line() {
    let folder = archive();
    change(folder.path(), |transaction| assert!(transaction.delete_table(CHAIN).unwrap()));
    let before = proof(folder.path(), &[]);
    assert_eq!((before.lines, before.without_hash, before.head, before.faults.len()), (21, 21, None, 0));
    let store = store_in(folder.path());
    rename(&store, 70..71);
    store.close(at(100)).unwrap();
    let after = proof(folder.path(), &[]);
    assert_eq!((after.lines, after.without_hash, after.head.unwrap().number), (23, 0, 22));
    let changed = line(folder.path(), 2);
    change(folder.path(), |transaction| {
        transaction.open_table(AUDIT).unwrap().insert(2, &changed[1..]).unwrap();
    });
    assert!(proof(folder.path(), &[]).faults[0].starts_with("line 2 is not what was written"));
}

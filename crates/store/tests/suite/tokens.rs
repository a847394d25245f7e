//! What is kept of tokens stays over restarts, and an archive without any has no table of them.

use crate::common;

use archive::{Action, Right, TokenRow, Tokens};
use common::{at, by, register};
use redb::ReadableDatabase;
use store::{Config, Store};

fn token(id: &str) -> TokenRow {
    TokenRow {
        id: id.into(),
        name: "ingest".into(),
        hash: [7; 32],
        right: Right::Operate,
        pvs: vec!["SR*".into(), "~LAB:[A-Z]+".into()],
        made: by(5),
        expires: at(90_000_000_000),
        used: None,
    }
}

#[test]
fn tokens_are_kept_touched_and_revoked_and_the_audit_tells_without_their_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    store.writer().add(&token("aaaaaaaa")).unwrap();
    store.writer().add(&token("bbbbbbbb")).unwrap();
    store.writer().touch(&[("bbbbbbbb".into(), at(7)), ("cccccccc".into(), at(7))]).unwrap();
    assert!(store.writer().revoke("aaaaaaaa", &by(9)).unwrap());
    assert!(!store.writer().revoke("aaaaaaaa", &by(10)).unwrap());
    store.close(at(11)).unwrap();

    let store = Store::open(Config::new(folder.path()), at(20)).unwrap();
    let kept = TokenRow { used: Some(at(7)), ..token("bbbbbbbb") };
    assert_eq!(store.writer().list().unwrap(), [kept]);
    let told: Vec<(Action, String)> =
        store.reader().audit(u64::MAX, 10).unwrap().into_iter().map(|line| (line.action, line.detail)).collect();
    let until = "1970-01-01T00:01:30.000000000Z";
    assert!(told.contains(&(Action::TokenRevoked, "aaaaaaaa ingest".to_owned())), "{told:?}");
    let made = format!("bbbbbbbb ingest operate SR* ~LAB:[A-Z]+ until {until}");
    assert!(told.contains(&(Action::TokenMade, made)), "{told:?}");
    store.close(at(21)).unwrap();
}

#[test]
fn an_archive_without_tokens_has_no_table_that_older_programs_do_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Config::new(folder.path()), at(0)).unwrap();
    register(&store, &["A"]).unwrap();
    assert_eq!(store.writer().list().unwrap(), []);
    assert!(!store.writer().revoke("aaaaaaaa", &by(1)).unwrap());
    store.writer().touch(&[]).unwrap();
    store.close(at(2)).unwrap();
    let catalogue = redb::Database::open(folder.path().join("catalogue.redb")).unwrap();
    let tables: Vec<String> = catalogue
        .begin_read()
        .unwrap()
        .list_tables()
        .unwrap()
        .map(|table| redb::TableHandle::name(&table).to_owned())
        .collect();
    assert!(tables.contains(&"pvs".to_owned()) && !tables.contains(&"tokens".to_owned()), "{tables:?}");
}

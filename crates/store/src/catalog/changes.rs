//! What a transaction of the catalogue changes, row by row: recorded while it runs, where a journal is kept, and applied to the copy that
//! another node makes of it.
//!
//! ```text
//!   changes := version:u8 (table:u8 1:u8 key value | table:u8 0:u8 key)*      1: the row has this value from now on, 0: it goes
//! ```
//! A whole catalogue is written in the same way: as the rows that make it out of an empty one.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    borrow::Borrow,
    cell::RefCell,
    ops::{Deref, RangeBounds},
};

use redb::{
    AccessGuard, Key, ReadTransaction, ReadableTable, TableDefinition, TableError, TableHandle, Value, WriteTransaction,
};

use super::{
    field::Field,
    tables::{
        ALIASES, ARCHIVER_GAPS, AUDIT, BEFORE, CHAIN, DELETIONS, FIELD_GAPS, GAPS, GROUPS, IMPORTED_FACTS,
        IMPORTED_UNVERIFIED, IMPORTS, LEDGER, LOST, MEMOS, META, METADATA, OPEN_GAPS, ORDERS, PLACES, PVS, Position,
        SEGMENTS, TAKEN, TOKENS, VIEWS, unreadable,
    },
};
use crate::{
    bytes::{Cursor, Malformed},
    outbox::Changes,
};

const VERSION: u8 = 1;
const GOES: u8 = 0;
const HAS: u8 = 1;

/// A transaction, with or without somebody who records what it changes.
pub(crate) struct Transaction<'t> {
    inner: &'t WriteTransaction,
    changes: Option<RefCell<Changes>>,
}

impl<'t> Transaction<'t> {
    pub(super) fn plain(inner: &'t WriteTransaction) -> Transaction<'t> {
        Transaction { inner, changes: None }
    }

    pub(super) fn recorded(inner: &'t WriteTransaction) -> Transaction<'t> {
        let changes = Changes { rows: vec![VERSION], ..Changes::default() };
        Transaction { inner, changes: Some(RefCell::new(changes)) }
    }

    pub(super) fn open_table<K: Field + Key, V: Field>(
        &self,
        definition: TableDefinition<'_, K, V>,
    ) -> Result<Table<'_, K, V>, redb::Error> {
        let record = self.changes.as_ref();
        let number = match record {
            Some(_) => number(definition.name()).ok_or(unreadable("the number of a table"))?,
            None => 0,
        };
        Ok(Table { inner: self.inner.open_table(definition)?, number, record })
    }

    /// Whether there is a table of that name. Opened for writing, it would be made.
    pub(super) fn has_table(&self, name: &str) -> Result<bool, redb::Error> {
        Ok(self.inner.list_tables()?.any(|table| table.name() == name))
    }

    /// A segment is named from now on.
    pub(super) fn names_segment(&self, key: &str) {
        self.change(|changes| {
            if !changes.removed.remove(key) {
                changes.added.insert(key.to_owned());
            }
        });
    }

    /// A segment is not named any more.
    pub(super) fn drops_segment(&self, key: &str) {
        self.change(|changes| {
            if !changes.added.remove(key) {
                changes.removed.insert(key.to_owned());
            }
        });
    }

    /// Frames below `end` are in segments: of the log of an older epoch, or of the own one.
    pub(super) fn flushes(&self, epoch: Option<u64>, end: u64) {
        self.change(|changes| changes.flushed.push((epoch, end)));
    }

    fn change(&self, change: impl FnOnce(&mut Changes)) {
        if let Some(changes) = &self.changes {
            change(&mut changes.borrow_mut());
        }
    }

    /// What was recorded; nothing if nobody wanted it.
    pub(super) fn into_changes(self) -> Option<Changes> {
        self.changes.map(RefCell::into_inner)
    }
}

/// A table that is written to. What changes its rows is here, and all else is redb's.
pub(super) struct Table<'t, K: Key + 'static, V: Value + 'static> {
    inner: redb::Table<'t, K, V>,
    number: u8,
    record: Option<&'t RefCell<Changes>>,
}

impl<'t, K: Key + 'static, V: Value + 'static> Deref for Table<'t, K, V> {
    type Target = redb::Table<'t, K, V>;

    fn deref(&self) -> &redb::Table<'t, K, V> {
        &self.inner
    }
}

impl<K: Field + Key, V: Field> Table<'_, K, V> {
    pub(super) fn insert<'k, 'v>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
        value: impl Borrow<V::SelfType<'v>>,
    ) -> Result<Option<AccessGuard<'_, V>>, redb::Error> {
        if let Some(record) = self.record {
            let rows = &mut record.borrow_mut().rows;
            rows.extend([self.number, HAS]);
            K::put(rows, key.borrow());
            V::put(rows, value.borrow());
        }
        Ok(self.inner.insert(key, value)?)
    }

    pub(super) fn remove<'k>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
    ) -> Result<Option<AccessGuard<'_, V>>, redb::Error> {
        if let Some(record) = self.record {
            put_gone::<K>(&mut record.borrow_mut().rows, self.number, key.borrow());
        }
        Ok(self.inner.remove(key)?)
    }

    /// Keeps those rows of a range for which that holds.
    pub(super) fn retain_in<'a, B>(
        &mut self,
        range: impl RangeBounds<B> + 'a,
        mut keeps: impl for<'f> FnMut(K::SelfType<'f>, V::SelfType<'f>) -> bool,
    ) -> Result<(), redb::Error>
    where
        B: Borrow<K::SelfType<'a>> + 'a,
    {
        let (number, record) = (self.number, self.record);
        let mut gone = Vec::new();
        self.inner.retain_in(range, |key: K::SelfType<'_>, value: V::SelfType<'_>| {
            let before = gone.len();
            if record.is_some() {
                put_gone::<K>(&mut gone, number, &key);
            }
            let keeps = keeps(key, value);
            if keeps {
                gone.truncate(before);
            }
            keeps
        })?;
        if let Some(record) = record {
            record.borrow_mut().rows.append(&mut gone);
        }
        Ok(())
    }

    /// Keeps those rows for which that holds.
    pub(super) fn retain(
        &mut self,
        keeps: impl for<'f> FnMut(K::SelfType<'f>, V::SelfType<'f>) -> bool,
    ) -> Result<(), redb::Error> {
        self.retain_in::<K::SelfType<'_>>(.., keeps)
    }
}

fn put_gone<K: Field>(rows: &mut Vec<u8>, table: u8, key: &K::SelfType<'_>) {
    rows.extend([table, GOES]);
    K::put(rows, key);
}

macro_rules! tables {
    ($($number:literal $table:ident,)*) => {
        /// The number of a table in what is written of changes: it never gets another one.
        fn number(name: &str) -> Option<u8> {
            $(if name == $table.name() {
                return Some($number);
            })*
            None
        }

        fn apply_row(transaction: &Transaction<'_>, number: u8, cursor: &mut Cursor<'_>) -> Result<(), Failed> {
            match number {
                $($number => apply_to(transaction, $table, cursor),)*
                _ => Err(Malformed("no such table").into()),
            }
        }

        /// All rows of a catalogue, as changes of an empty one.
        pub(crate) fn all_rows(transaction: &ReadTransaction) -> Result<Vec<u8>, redb::Error> {
            let mut out = vec![VERSION];
            $(put_table(&mut out, $number, transaction, $table)?;)*
            Ok(out)
        }
    };
}

tables! {
    1 META, 2 PVS, 3 METADATA, 4 GAPS, 5 OPEN_GAPS, 6 ARCHIVER_GAPS, 7 SEGMENTS, 8 LEDGER, 9 PLACES, 10 ALIASES, 11 DELETIONS, 12 IMPORTS,
    13 IMPORTED_FACTS, 14 IMPORTED_UNVERIFIED, 15 GROUPS, 16 AUDIT, 17 CHAIN, 18 FIELD_GAPS, 19 LOST, 20 TOKENS, 21 TAKEN,
    22 ORDERS, 23 BEFORE, 24 MEMOS, 25 VIEWS,
}

/// Why changes could not be applied.
#[derive(Debug)]
pub(crate) enum Failed {
    /// They are not what was written.
    Malformed(Malformed),
    /// A newer program wrote them.
    Newer(u8),
    /// The catalogue failed.
    Catalogue(redb::Error),
}

impl From<Malformed> for Failed {
    fn from(malformed: Malformed) -> Failed {
        Failed::Malformed(malformed)
    }
}

impl From<redb::Error> for Failed {
    fn from(error: redb::Error) -> Failed {
        Failed::Catalogue(error)
    }
}

/// Makes the changes that a transaction made elsewhere.
pub(crate) fn apply(transaction: &WriteTransaction, changes: &[u8]) -> Result<(), Failed> {
    let transaction = Transaction::plain(transaction);
    let mut cursor = Cursor::new(changes);
    match cursor.u8()? {
        VERSION => {}
        newer => return Err(Failed::Newer(newer)),
    }
    while !cursor.is_empty() {
        let table = cursor.u8()?;
        apply_row(&transaction, table, &mut cursor)?;
    }
    Ok(())
}

fn apply_to<K: Field + Key, V: Field>(
    transaction: &Transaction<'_>,
    definition: TableDefinition<'static, K, V>,
    cursor: &mut Cursor<'_>,
) -> Result<(), Failed> {
    let how = cursor.u8()?;
    let key = K::take(cursor)?;
    let mut table = transaction.open_table(definition)?;
    match how {
        HAS => _ = table.insert(key, V::take(cursor)?)?,
        GOES => _ = table.remove(key)?,
        _ => return Err(Malformed("a row neither goes nor has a value").into()),
    }
    Ok(())
}

fn put_table<K: Field + Key, V: Field>(
    out: &mut Vec<u8>,
    number: u8,
    transaction: &ReadTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), redb::Error> {
    let table = match transaction.open_table(definition) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for row in table.iter()? {
        let (key, value) = row?;
        out.extend([number, HAS]);
        K::put(out, &key.value());
        V::put(out, &value.value());
    }
    Ok(())
}

pub(super) fn put_position(transaction: &Transaction, position: Position) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    meta.insert("frame", position.frame)?;
    meta.insert("appended", position.appended)?;
    meta.insert("next_segment", position.next_segment)?;
    if let Some(alive) = position.alive {
        meta.insert("alive", alive.nanos() as u64)?;
    }
    Ok(())
}

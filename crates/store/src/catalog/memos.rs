//! Memos in the catalogue: what people write beside the samples, in tables that are made with the first.

use std::collections::BTreeMap;

use archive::{Action, AuditRecord, By, LookAtMemo, MEMOS_BYTES_MAX, MEMOS_MAX, Memo, MemoKind, MemoText, PvName};
use minicbor::{Decode, Encode};
use redb::{ReadableTable, ReadableTableMetadata};
use sample::Timestamp;

use super::{
    audit::put_audit,
    changes::Transaction,
    database::Catalog,
    pvs_wire::{ByRow, by, by_row},
    tables::{MEMOS, META, VIEWS, unreadable},
};
use crate::Error;

/// The number of the next one, and how many bytes all of them take.
const NEXT: &str = "next_memo";
const BYTES: &str = "memos_bytes";
/// How many characters of a memo the audit repeats.
const TOLD_CHARS: usize = 80;

#[derive(Encode, Decode)]
#[cbor(map)]
struct Row {
    #[n(0)]
    kind: String,
    #[n(1)]
    name: String,
    #[n(2)]
    text: String,
    #[n(3)]
    query: String,
    #[n(4)]
    pvs: Vec<String>,
    #[n(5)]
    from: Option<i64>,
    #[n(6)]
    to: Option<i64>,
    #[n(7)]
    origin: String,
    #[n(8)]
    made: ByRow,
    #[n(9)]
    changed: Option<ByRow>,
}

impl Catalog {
    /// Shows memos to `look`, the newest first, those alone that have lower numbers than `before`, until it says no.
    pub(crate) fn memos(&self, before: u64, look: &mut LookAtMemo<'_>) -> Result<(), Error> {
        self.read(|tables| {
            let table = match tables.0.open_table(MEMOS) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            for row in table.range(..before)?.rev() {
                let (number, bytes) = row?;
                if !look(memo(number.value(), bytes.value()).ok_or(unreadable("a memo"))?) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Keeps memos, each in the place of the one that is given with it, or as a new one, all in one change.
    pub(crate) fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<PutMemos, Error> {
        self.ordered(|| {
            self.write_audited(|transaction| {
                let put = match placed(transaction, memos, by)? {
                    Placed::Memos(put) => put,
                    Placed::Not(why) => return Ok(why),
                };
                let mut lines = Vec::with_capacity(put.len());
                for (memo, row) in &put {
                    transaction.open_table(MEMOS)?.insert(memo.number, row.as_slice())?;
                    lines.push(line(put_action(memo.text.kind), memo, by));
                }
                put_audit(transaction, &lines)?;
                Ok(PutMemos::Kept(put.into_iter().map(|(memo, _)| memo).collect()))
            })
        })
    }

    /// Takes a memo away.
    pub(crate) fn remove_memo(&self, memo: &Memo, by: &By) -> Result<(), Error> {
        self.ordered(|| {
            self.write_audited(|transaction| {
                let removed = transaction.open_table(MEMOS)?.remove(memo.number)?.map(|row| row.value().to_vec());
                let Some(removed) = removed else { return Ok(()) };
                transaction.open_table(VIEWS)?.remove(name_in(&removed).as_str())?;
                let bytes = number_of(transaction, BYTES)?.saturating_sub(removed.len() as u64);
                transaction.open_table(META)?.insert(BYTES, bytes)?;
                put_audit(transaction, &[line(remove_action(memo.text.kind), memo, by)])
            })
        })
    }
}

/// What became of memos that were to be kept.
#[derive(Debug)]
pub(crate) enum PutMemos {
    /// They are, as they are here.
    Kept(Vec<Memo>),
    /// There is no room for them.
    Full,
    /// Another view has this name.
    Taken(String),
    /// The memo of this number, whose place one was to take, is not there any more.
    Gone(u64),
}

/// Where memos will stand, or why none does.
enum Placed {
    Memos(Vec<(Memo, Vec<u8>)>),
    Not(PutMemos),
}

/// Gives memos their numbers and views their names, if there is room for all and no name is another's.
fn placed(transaction: &Transaction, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Placed, redb::Error> {
    let table = transaction.open_table(MEMOS)?;
    let (mut bytes, mut next) = (number_of(transaction, BYTES)?, number_of(transaction, NEXT)?.max(1));
    let mut count = table.len()?;
    let mut views: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut put, mut freed) = (Vec::with_capacity(memos.len()), Vec::new());
    for (former, text) in memos {
        let memo = written(former.as_ref(), text.clone(), next, by);
        let row = memo_bytes(&memo);
        // What whoever asks has seen of it may not be what is there by now.
        match (former, table.get(memo.number)?) {
            (Some(_), None) => return Ok(Placed::Not(PutMemos::Gone(memo.number))),
            (_, Some(there)) => {
                bytes = bytes.saturating_sub(there.value().len() as u64);
                freed.push(name_in(there.value()));
            }
            (None, None) => count += 1,
        }
        bytes += row.len() as u64;
        next = next.max(memo.number + 1);
        if text.kind == MemoKind::View && views.insert(&text.name, memo.number).is_some() {
            return Ok(Placed::Not(PutMemos::Taken(text.name.clone())));
        }
        put.push((memo, row));
    }
    if bytes > MEMOS_BYTES_MAX || count > MEMOS_MAX {
        return Ok(Placed::Not(PutMemos::Full));
    }
    if let Some(name) = name_views(transaction, &freed, &views)? {
        return Ok(Placed::Not(PutMemos::Taken(name)));
    }
    let mut meta = transaction.open_table(META)?;
    meta.insert(BYTES, bytes)?;
    meta.insert(NEXT, next)?;
    Ok(Placed::Memos(put))
}

/// Gives views their names, and frees those that they had. A name that another one has is given back, and nothing is done.
fn name_views(
    transaction: &Transaction,
    freed: &[String],
    views: &BTreeMap<&str, u64>,
) -> Result<Option<String>, redb::Error> {
    let mut names = transaction.open_table(VIEWS)?;
    for (name, number) in views {
        if names.get(*name)?.is_some_and(|owner| owner.value() != *number) {
            return Ok(Some((*name).to_owned()));
        }
    }
    for name in freed {
        names.remove(name.as_str())?;
    }
    for (name, number) in views {
        names.insert(*name, *number)?;
    }
    Ok(None)
}

fn number_of(transaction: &Transaction, name: &str) -> Result<u64, redb::Error> {
    Ok(transaction.open_table(META)?.get(name)?.map_or(0, |number| number.value()))
}

/// A memo that takes the place of another, or is a new one with that number.
fn written(former: Option<&Memo>, text: MemoText, next: u64, by: &By) -> Memo {
    match former {
        Some(former) => Memo { text, changed: Some(by.clone()), ..former.clone() },
        None => Memo { number: next, text, made: by.clone(), changed: None },
    }
}

fn put_action(kind: MemoKind) -> Action {
    match kind {
        MemoKind::Note => Action::NoteWritten,
        MemoKind::View => Action::ViewSaved,
    }
}

fn remove_action(kind: MemoKind) -> Action {
    match kind {
        MemoKind::Note => Action::NoteRemoved,
        MemoKind::View => Action::ViewRemoved,
    }
}

fn line(action: Action, memo: &Memo, by: &By) -> AuditRecord {
    let said = if memo.text.name.is_empty() { &memo.text.text } else { &memo.text.name };
    let told: String = said.chars().take(TOLD_CHARS).collect();
    let detail = format!("{} {}: {told}", memo.text.kind.name(), memo.number);
    AuditRecord { detail, ..AuditRecord::new(action, by) }
}

fn memo_bytes(memo: &Memo) -> Vec<u8> {
    let MemoText { kind, name, text, query, pvs, from, to, origin } = &memo.text;
    let row = Row {
        kind: kind.name().to_owned(),
        name: name.clone(),
        text: text.clone(),
        query: query.clone(),
        pvs: pvs.iter().map(ToString::to_string).collect(),
        from: from.map(Timestamp::nanos),
        to: to.map(Timestamp::nanos),
        origin: origin.clone(),
        made: by_row(&memo.made),
        changed: memo.changed.as_ref().map(by_row),
    };
    minicbor::to_vec(row).expect("writing to memory cannot fail")
}

/// The name of the view that a row keeps; empty of a note, which has none.
fn name_in(bytes: &[u8]) -> String {
    minicbor::decode::<Row>(bytes).map_or(String::new(), |row| row.name)
}

fn memo(number: u64, bytes: &[u8]) -> Option<Memo> {
    let row: Row = minicbor::decode(bytes).ok()?;
    let kind = [MemoKind::Note, MemoKind::View].into_iter().find(|kind| kind.name() == row.kind)?;
    let text = MemoText {
        kind,
        name: row.name,
        text: row.text,
        query: row.query,
        pvs: row.pvs.iter().map(|pv| PvName::recorded(pv).ok()).collect::<Option<_>>()?,
        from: row.from.map(Timestamp::from_nanos),
        to: row.to.map(Timestamp::from_nanos),
        origin: row.origin,
    };
    Some(Memo { number, text, made: by(row.made), changed: row.changed.map(by) })
}

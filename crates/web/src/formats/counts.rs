//! What became of updates, as JSON.

use archive::ledger::{Account, COLUMNS, Column, Kind};
use serde_json::{Map, Value};

/// An account as JSON.
pub(crate) fn account(account: &Account) -> Value {
    let (mut row, mut lost, mut stamps) = (Map::new(), Map::new(), Map::new());
    for (column, count) in COLUMNS.iter().zip(account.counts()) {
        let group = match column.kind {
            Kind::Lost | Kind::Missed => &mut lost,
            Kind::OddStamp => &mut stamps,
            _ => &mut row,
        };
        group.insert(column.name.to_owned(), shown(column, count));
    }
    row.insert("lost".to_owned(), lost.into());
    row.insert("stamps".to_owned(), stamps.into());
    row.insert("adds_up".to_owned(), account.adds_up().into());
    row.into()
}

/// What became of updates since the start, of one PV or of all, as JSON.
pub(crate) fn since_start(account: &Account) -> Value {
    let named = COLUMNS.iter().zip(account.counts()).filter_map(|(column, count)| {
        let (name, _) = column.since_start?;
        Some((name.to_owned(), shown(column, count)))
    });
    named.chain([("bad_stamps".to_owned(), account.odd_stamps().into())]).collect::<Map<_, _>>().into()
}

/// A count as answers have it: what waits may be below zero, and a time is in seconds.
pub(crate) fn shown(column: &Column, count: u64) -> Value {
    match column.kind {
        Kind::Waiting => count.cast_signed().into(),
        Kind::Suspected => (count as f64 / 1000.0).into(),
        _ => count.into(),
    }
}

//! A row of the ledger: what became of the updates of a share's PVs in a minute or an hour, as bytes.
//!
//! ```text
//!   row       := 1:u8 flags:u8 span:varint runs:varint (skip:varint len:varint)*runs received:varint*n odd:varint exception*odd
//!   exception := skip:varint parts:varint part:varint*        one for each bit of `parts`
//! ```
//! The row's time is where its stretch begins, `span` how many nanoseconds that lasts. PVs are numbered within their share (PV
//! number / 64) and listed as runs: so many are passed over, so many follow. Only PVs of which there is something to tell are
//! listed, `n` of them. `stored` is what was received, and all else is 0, but for the exceptions, which pass over so many of the
//! listed PVs. Flags: 1 made at a restart of what the log had, 2 of which some was not there any more.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use std::time::Duration;

use sample::Timestamp;

use super::{
    LEDGER_SHARES,
    columns::{Account, COLUMNS, COUNT, Kind},
    trouble::Trouble,
};
use crate::PvId;

const VERSION: u8 = 1;
const REBUILT: u8 = 1;
const INCOMPLETE: u8 = 2;
/// The counts of an account besides `received`, in the order of the columns: each is a bit of `parts`.
const PARTS: usize = COUNT - 1;

/// How a row came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Counted while it happened.
    #[default]
    Counted,
    /// Counted at a restart from what the log had: of what was received and had not reached it, nobody knows.
    Rebuilt,
    /// The same, and some samples had left the log already.
    RebuiltInPart,
}

/// What a row says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHead {
    /// The end of its stretch.
    pub until: Timestamp,
    /// How it came about.
    pub origin: Origin,
}

/// Bytes that are no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenRow;

/// Makes a row. The accounts are in the order of their PVs, which are all of one share; those without content may be left out.
pub fn encode(head: RowHead, from: Timestamp, accounts: &[(PvId, Account)]) -> Vec<u8> {
    let flags = match head.origin {
        Origin::Counted => 0,
        Origin::Rebuilt => REBUILT,
        Origin::RebuiltInPart => REBUILT | INCOMPLETE,
    };
    let mut row = vec![VERSION, flags];
    put(&mut row, head.until.nanos().saturating_sub(from.nanos()).max(0).cast_unsigned());
    let runs = runs(accounts.iter().map(|(pv, _)| place(*pv)));
    put(&mut row, runs.len() as u64);
    for (skip, len) in runs {
        put(&mut row, skip);
        put(&mut row, len);
    }
    accounts.iter().for_each(|(_, account)| put(&mut row, account.received));
    let odd = || accounts.iter().enumerate().filter(|(_, (_, one))| *one != Account::usual(one.received));
    put(&mut row, odd().count() as u64);
    let mut next = 0;
    for (index, (_, account)) in odd() {
        put(&mut row, (index - next) as u64);
        next = index + 1;
        put_exception(&mut row, account);
    }
    row
}

fn put_exception(row: &mut Vec<u8>, account: &Account) {
    let (parts, usual) = (parts_of(account), parts_of(&Account::usual(account.received)));
    let differs = parts.iter().zip(&usual).enumerate().filter(|(_, (part, usual))| part != usual);
    put(row, differs.clone().map(|(index, _)| 1 << index).sum());
    for (index, (part, _)) in differs {
        let signed = part.cast_signed();
        put(row, if is_signed(index) { (signed << 1 ^ signed >> 63).cast_unsigned() } else { *part });
    }
}

fn parts_of(account: &Account) -> [u64; PARTS] {
    let [_, parts @ ..] = account.counts();
    parts
}

fn of_parts(received: u64, parts: [u64; PARTS]) -> Account {
    let mut counts = [received; COUNT];
    let [_, others @ ..] = &mut counts;
    *others = parts;
    Account::of_counts(counts)
}

/// Whether a part may be below zero.
fn is_signed(part: usize) -> bool {
    COLUMNS.get(part + 1).is_some_and(|column| column.kind == Kind::Waiting)
}

/// The number of a PV within its share.
fn place(pv: PvId) -> u64 {
    u64::from(pv.0) / LEDGER_SHARES as u64
}

/// Ascending places as runs: how many are passed over, how many follow.
fn runs(places: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let mut next = 0;
    for place in places {
        match runs.last_mut() {
            Some((_, len)) if place == next => *len += 1,
            _ => runs.push((place - next, 1)),
        }
        next = place + 1;
    }
    runs
}

/// What a row says of one PV; none if there is nothing to tell of it.
pub fn account_in(row: &[u8], from: Timestamp, pv: PvId) -> Result<(RowHead, Option<Account>), BrokenRow> {
    let mut bytes = row;
    let head = take_head(&mut bytes, from)?;
    let (index, listed) = take_runs(&mut bytes, place(pv))?;
    let Some(index) = index else { return Ok((head, None)) };
    let mut received = 0;
    for other in 0..listed {
        let count = take(&mut bytes)?;
        received = if other == index { count } else { received };
    }
    let mut next = 0_u64;
    for _ in 0..take(&mut bytes)? {
        let at = next.checked_add(take(&mut bytes)?).ok_or(BrokenRow)?;
        next = at.checked_add(1).ok_or(BrokenRow)?;
        if at > index {
            break;
        }
        let account = take_exception(&mut bytes, received)?;
        if at == index {
            return Ok((head, Some(account)));
        }
    }
    Ok((head, Some(Account::usual(received))))
}

/// What a row says that went wrong, of all its PVs.
pub fn trouble_in(row: &[u8], from: Timestamp) -> Result<(RowHead, Trouble), BrokenRow> {
    let mut bytes = row;
    let head = take_head(&mut bytes, from)?;
    let (_, listed) = take_runs(&mut bytes, u64::MAX)?;
    for _ in 0..listed {
        take(&mut bytes)?;
    }
    let mut trouble = Trouble { last: head.until, ..Trouble::default() };
    for _ in 0..take(&mut bytes)? {
        take(&mut bytes)?; // how many are passed over
        trouble.add(&take_exception(&mut bytes, 0)?);
    }
    Ok((head, trouble))
}

/// How many samples of all its PVs a row says were stored.
pub fn stored_in(row: &[u8], from: Timestamp) -> Result<u64, BrokenRow> {
    let mut bytes = row;
    take_head(&mut bytes, from)?;
    let (_, listed) = take_runs(&mut bytes, u64::MAX)?;
    let mut received = Vec::new();
    for _ in 0..listed {
        received.push(take(&mut bytes)?);
    }
    let mut stored = received.iter().fold(0_u64, |sum, received| sum.saturating_add(*received));
    let mut next = 0_u64;
    for _ in 0..take(&mut bytes)? {
        let at = next.checked_add(take(&mut bytes)?).ok_or(BrokenRow)?;
        next = at.checked_add(1).ok_or(BrokenRow)?;
        let received = usize::try_from(at).ok().and_then(|at| received.get(at)).ok_or(BrokenRow)?;
        let account = take_exception(&mut bytes, *received)?;
        stored = stored.saturating_sub(*received).saturating_add(account.stored);
    }
    Ok(stored)
}

fn take_head(bytes: &mut &[u8], from: Timestamp) -> Result<RowHead, BrokenRow> {
    let (&[version, flags], rest) = bytes.split_first_chunk().ok_or(BrokenRow)?;
    *bytes = rest;
    let origin = match flags {
        0 => Origin::Counted,
        REBUILT => Origin::Rebuilt,
        _ => Origin::RebuiltInPart,
    };
    if version != VERSION {
        return Err(BrokenRow);
    }
    Ok(RowHead { until: from.saturating_add(Duration::from_nanos(take(bytes)?)), origin })
}

/// Which of the listed PVs is at `place`, and how many are listed.
fn take_runs(bytes: &mut &[u8], place: u64) -> Result<(Option<u64>, u64), BrokenRow> {
    let (mut next, mut listed, mut found) = (0_u64, 0_u64, None);
    for _ in 0..take(bytes)? {
        let first = next.checked_add(take(bytes)?).ok_or(BrokenRow)?;
        let len = take(bytes)?;
        next = first.checked_add(len).ok_or(BrokenRow)?;
        if (first..next).contains(&place) {
            found = Some(listed + (place - first));
        }
        listed = listed.checked_add(len).ok_or(BrokenRow)?;
    }
    // Each of them takes a byte at least.
    if listed > bytes.len() as u64 { Err(BrokenRow) } else { Ok((found, listed)) }
}

fn take_exception(bytes: &mut &[u8], received: u64) -> Result<Account, BrokenRow> {
    let differing = take(bytes)?;
    let mut parts = parts_of(&Account::usual(received));
    for (index, part) in parts.iter_mut().enumerate() {
        if differing & 1 << index != 0 {
            let number = take(bytes)?;
            *part = if is_signed(index) { number >> 1 ^ (number & 1).wrapping_neg() } else { number };
        }
    }
    // A part that this reader does not know would be read as the next exception.
    if differing >> PARTS == 0 { Ok(of_parts(received, parts)) } else { Err(BrokenRow) }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, BrokenRow> {
    let mut number = 0_u64;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(BrokenRow)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BrokenRow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(until: i64, origin: Origin) -> RowHead {
        RowHead { until: Timestamp::from_nanos(until), origin }
    }

    /// A PV of share 3.
    fn pv(place: u32) -> PvId {
        PvId(place * LEDGER_SHARES as u32 + 3)
    }

    fn accounts() -> Vec<(PvId, Account)> {
        let odd = Account {
            received: 700,
            stored: 600,
            skipped: 1,
            waiting: -1,
            queue_full: 90,
            store_refused: 6,
            rate_capped: 4,
            overruns: 300,
            never_set: 1,
            backward: 3,
            suspected_ms: 60_000,
            ..Account::default()
        };
        vec![
            (pv(0), Account::usual(600)),
            (pv(1), odd),
            (pv(7), Account::usual(1)),
            (pv(8), Account { overruns: 1, ..Account::usual(u64::MAX) }),
            (pv(60_000_000), Account { received: 5, waiting: 5, ..Account::default() }),
        ]
    }

    #[test]
    fn every_account_comes_back_and_no_other() {
        let from = Timestamp::from_nanos(1_800_000_000_000_000_000);
        for origin in [Origin::Counted, Origin::Rebuilt, Origin::RebuiltInPart] {
            let head = head(from.nanos() + 60_000_000_123, origin);
            let row = encode(head, from, &accounts());
            for (pv, account) in accounts() {
                assert_eq!(account_in(&row, from, pv), Ok((head, Some(account))));
            }
            for absent in [pv(2), pv(6), pv(9), pv(67_000_000)] {
                assert_eq!(account_in(&row, from, absent), Ok((head, None)));
            }
        }
        assert!(accounts().iter().all(|(_, account)| account.adds_up()));
    }

    /// Rows are on disk: every column keeps its number and its place for good.
    #[test]
    fn the_bytes_of_a_row_never_change() {
        let row = encode(head(60, Origin::Counted), Timestamp::from_nanos(5), &accounts());
        let hex: String = row.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "0100370300020502f78dce1c01d804bc0501ffffffffffffffffff01050301ff0dd80401015a0604ac020103e0d4030140010005000a"
        );
    }

    #[test]
    fn what_went_wrong_is_summed_over_all_pvs_of_a_row() {
        let from = Timestamp::from_nanos(5);
        let told = encode(head(60, Origin::Counted), from, &accounts());
        let of = Account {
            queue_full: 90,
            store_refused: 6,
            rate_capped: 4,
            overruns: 301,
            suspected_ms: 60_000,
            ..Account::default()
        };
        let expected = Trouble { of, lossy_pvs: 2, suspected_pvs: 1, last: Timestamp::from_nanos(60) };
        assert_eq!(trouble_in(&told, from), Ok((head(60, Origin::Counted), expected)));
        assert_eq!(stored_in(&encode(head(60, Origin::Counted), from, &accounts()[..3]), from), Ok(600 + 600 + 1));
        let usual = encode(head(60, Origin::Counted), from, &[(pv(3), Account::usual(9))]);
        assert!(!trouble_in(&usual, from).unwrap().1.is_any());
    }

    #[test]
    fn a_row_of_a_thousand_usual_pvs_takes_two_bytes_for_each() {
        let accounts: Vec<_> = (0..1000).map(|place| (pv(place), Account::usual(600))).collect();
        let row = encode(head(60_000_000_000, Origin::Counted), Timestamp::default(), &accounts);
        assert_eq!(row.len(), 2000 + 2 + 6 + 4 + 1, "{row:?}");
    }

    #[test]
    fn broken_rows_are_refused_wherever_they_end() {
        let from = Timestamp::from_nanos(5);
        let row = encode(head(60, Origin::Counted), from, &accounts());
        let last = accounts().last().unwrap().0;
        for len in 0..row.len() {
            assert_eq!(account_in(&row[..len], from, last), Err(BrokenRow), "cut to {len}");
            assert_eq!(trouble_in(&row[..len], from), Err(BrokenRow), "cut to {len}");
            assert_eq!(stored_in(&row[..len], from), Err(BrokenRow), "cut to {len}");
        }
        for at in 0..row.len() {
            for bit in 0..8 {
                let mut row = row.clone();
                row[at] ^= 1 << bit;
                let _ = (account_in(&row, from, last), trouble_in(&row, from), stored_in(&row, from)); // must not panic, and not take long
            }
        }
    }
}

//! A door for fuzzers: the reader of the ledger's rows, which come from the store's files.

use archive::{
    LEDGER_SHARES, PvId,
    ledger::{account_in, encode_row, stored_in},
};
use sample::Timestamp;

/// PVs that are asked for in a row.
const PVS: u32 = 64;

/// Any bytes as a row; what it says must come back when it is written.
pub fn ledger_row(bytes: &[u8]) {
    let from = Timestamp::default();
    let told = |pv: PvId| account_in(bytes, from, pv).ok();
    let pvs = (0..PVS).map(|place| PvId(place * LEDGER_SHARES as u32)).chain([PvId(u32::MAX)]);
    let found: Vec<_> = pvs.filter_map(|pv| told(pv).map(|(head, account)| (pv, head, account))).collect();
    let Some((_, head, _)) = found.first().copied() else { return };
    assert!(found.iter().all(|(_, other, _)| *other == head), "a row has one head for all");
    let accounts: Vec<_> = found.iter().filter_map(|(pv, _, account)| Some((*pv, (*account)?))).collect();
    // The last PV is of another share than the others; its place is all that a row knows.
    let row = encode_row(head, from, &accounts);
    let stored = accounts.iter().fold(0_u64, |sum, (_, account)| sum.saturating_add(account.stored));
    assert!(stored_in(&row, from).is_ok_and(|told| told <= stored), "a sum may have its bound on the way");
    for (pv, _, account) in &found {
        assert_eq!(account_in(&row, from, *pv), Ok((head, *account)));
    }
}

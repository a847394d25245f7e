//! Where the ledger lies: in PVs that the archive keeps for itself, each with the rows of a share of all PVs.
//!
//! ```text
//!   PV number n ──► share n % 64 ──► ledger:minute:07   a row for each minute: what became of every update of the share's PVs
//!                                    ledger:hour:07     the same for each hour
//! ```
//! Acquisition counts and writes the rows; the store keeps them as it keeps samples, and tells at the start which samples came behind
//! the last row. `columns.rs` says what is counted, `row.rs` how it is written.

mod account;
mod columns;
mod row;
mod trouble;

use std::collections::BTreeMap;

use sample::{Sample, Timestamp};

pub use columns::{Account, COLUMNS, COUNT, Column, Kind};
pub use row::{BrokenRow, Origin, RowHead, account_in, encode as encode_row, stored_in, trouble_in};
pub use trouble::{RECENT, Trouble};

use crate::PvId;

/// In how many shares the PVs are divided. Part of the format: the number never changes.
pub const LEDGER_SHARES: usize = 64;

/// How the names of all PVs begin that hold rows.
pub const LEDGER_PREFIX: &str = "ledger:";

/// How long a time a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerScale {
    /// A minute.
    Minute,
    /// An hour.
    Hour,
}

impl LedgerScale {
    /// The names of the PVs that hold the rows, one for each share.
    pub fn names(self) -> impl Iterator<Item = String> {
        let scale = match self {
            LedgerScale::Minute => "minute",
            LedgerScale::Hour => "hour",
        };
        (0..LEDGER_SHARES).map(move |share| format!("{LEDGER_PREFIX}{scale}:{share:02}"))
    }
}

/// The share that a PV is in.
pub fn ledger_share(pv: PvId) -> usize {
    pv.0 as usize % LEDGER_SHARES
}

/// What a store found at its opening that no row tells of, because the archiver ended without warning.
#[derive(Clone, Debug, Default)]
pub struct Unfinished {
    /// The last sign of life.
    pub alive: Option<Timestamp>,
    /// When the archiver was started that ended so.
    pub began: Option<Timestamp>,
    /// One for each share.
    pub shares: Vec<UnfinishedShare>,
}

/// What no row of a share tells of.
#[derive(Clone, Debug, Default)]
pub struct UnfinishedShare {
    /// The last row of minutes.
    pub last_row: Option<Sample>,
    /// Whether all samples behind that row are counted. Older programs did not note how many of them were in blocks.
    pub is_whole: bool,
    /// How many samples there are behind that row.
    pub samples: BTreeMap<PvId, u64>,
}

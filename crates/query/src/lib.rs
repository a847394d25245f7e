//! What was recorded of a PV from t0 to t1: every sample, or bins that agree with them exactly.
//!
//! ```text
//!   Request ──► samples   the sample in force at t0, then those of the range, as batches of one type
//!   range, n ──► array_bins   of arrays: count, min, max, mean of each element, or of some neighbouring ones together, per bin
//!   range, n ──► bins     count, min, max, means, std, first, last per bin, from summaries where a block or row lies in one bin
//!   AlignRequest ──► aligned   several PVs on the times of a grid or of one of them: the value in force, on a line, of a pulse
//!   Operator ──► reduced   what clients of the Archiver Appliance ask for: mean_60(PV), optimized_800(PV) …
//! ```
//!
//! What holds samples is an `archive::Source`: the archive's own store first, and files of other archivers beside it, whose samples stand
//! among its own. Nothing here knows one by name. A copy is another recorder of the same PVs: what both have comes once, what either lacks
//! the other gives, and an answer that was made without it says so (`Query::noting`).
//!
//! All are lazy: they read a block when the next item is asked for, so that an answer costs no more memory than one step of it. Bins
//! whose edges cut many blocks are made some hundred at a time, by several threads.

#![deny(missing_docs)]

mod ahead;
mod aligned;
mod array_bins;
mod arrivals;
mod bin;
mod bins;
mod carried;
mod change;
mod copies;
mod edges;
mod error;
mod fields;
mod lacking;
mod losses;
mod merge;
mod operators;
mod permits;
mod query;
mod ranges;
mod request;
mod series;
mod side_by_side;
mod sources;
mod stretches;
mod tally;

pub use aligned::{
    ALIGNED_PVS_MAX, ALIGNED_ROWS_MAX, AlignError, AlignRequest, AlignedColumn, AlignedRows, AlignedTable, Alignment,
    Rows,
};
pub use array_bins::{ARRAY_BINS_AT_ONCE, ArrayBin, ArrayBins, ELEMENTS_MAX, Elements};
pub use bin::Bin;
pub use bins::Bins;
pub use carried::AllCarried;
pub use change::Change;
pub use copies::LeftOut;
pub use error::Error;
pub use fields::{FieldSamples, number_in};
pub use lacking::lacking;
pub use losses::{RestartKind, is_told};
pub use operators::{CONNECTION_CHANGE, Operator, OperatorError, Reduced, Span};
pub use permits::{Permit, Permits};
pub use query::{Query, Samples};
pub use ranges::Ranges;
pub use request::{Before, Cut, Request};
pub use series::Series;
pub use side_by_side::{in_shares, processors, side_by_side};
pub use stretches::Stretches;

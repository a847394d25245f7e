//! Computes answers from what was recorded: when a condition held, the results of a formula, statistics, pairs, histograms, spectra.
//! Summaries are used where they decide, samples where they do not.
//!
//! ```text
//!   "A > 3 while B = ON for >= 10 s"
//!        │ text/          words ──► expression, or where it is wrong and why
//!        ▼ bind           names ──► tracks: step functions of time that PVs give; units, kinds and labels are looked at
//!     Program
//!        ├─► cells        what summaries leave possible in a stretch of time: bounds, never wrong, sometimes too wide
//!        ├─► columns      what is so at each moment: the steps of all tracks on the same times
//!        ▼
//!     Search, Results     the cells that bounds cannot decide are cut finer, and looked at step by step at last
//! ```
//! A value holds from its sample to the next, and is not known in gaps, before the first sample, and where it is NaN. What is not known
//! makes a condition neither true nor false. Nothing here does I/O but through `query`, reads a clock, or keeps more than a few batches.

#![deny(missing_docs)]

mod arrays;
mod bind;
mod bounds;
mod cells;
mod columns;
mod fault;
mod formula;
mod histogram;
mod look;
mod pairs;
mod program;
mod search;
mod spectrum;
mod statistics;
mod steps;
mod text;
mod track;

pub use arrays::{ArrayProgram, ArrayResults, ArrayValue};
pub use bind::{Bound, Known, Units};
pub use fault::{ExpressionFault, Place, Reason};
pub use formula::{FormulaBin, FormulaBins, IsWanted, MadeOf, Results, Wants};
pub use histogram::{Histogram, HistogramGathering, HistogramParts, HistogramShare, HistogramWeight};
pub use pairs::{Pairs, PairsBy, PairsError, PairsGathering};
pub use program::{Kind, Program};
pub use search::{Edge, Found, Interval, Search, Tally};
pub use spectrum::{
    Detrend, MEANS_MAX, POINT_BYTES, POINTS_MAX, Resample, Spectrum, SpectrumError, SpectrumGathering, SpectrumOutput,
    SpectrumWanted, SpectrumWindow, Unevenness,
};
pub use statistics::{Statistics, StatisticsGathering, StatisticsWanted};
pub use steps::StepError;
pub use text::{Dwell, Expression, TEXT_BYTES_MAX};

//! Conditions, formulas, and what relates PVs: expressions that the archiver works out.

use std::time::Duration;

use clap::Args;

use super::{
    output::Format,
    range::{RangeArgs, span},
    server::Server,
};

#[derive(Args, Debug)]
pub(crate) struct WhenArgs {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The condition, as docs/analysis.md says
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// No more intervals than that
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) limit: u64,
    /// Whether numbers of different units may be added and compared
    #[arg(long, value_name = "WHICH", default_value = "same", value_parser = ["same", "any"])]
    pub(crate) units: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// An expression and its range.
#[derive(Args, Debug)]
pub(crate) struct Computed {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The formula, as docs/analysis.md says; a PV's name is one
    pub(crate) expression: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// Whether numbers of different units may be added and compared
    #[arg(long, value_name = "WHICH", default_value = "same", value_parser = ["same", "any"])]
    pub(crate) units: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Formula {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// The mean over time in so many equal parts of the range, instead of each step
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<u32>,
    /// Also the least and the greatest in each part, for which every sample is read
    #[arg(long, requires = "bins")]
    pub(crate) extremes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// Which percentiles
    #[arg(long, value_name = "LIST", default_value = "5,50,95")]
    pub(crate) percentiles: String,
    /// For how long it was above this
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) above: Option<f64>,
    /// For how long it was in each of so many parts between the least and the greatest
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) histogram: u32,
}

#[derive(Args, Debug)]
pub(crate) struct HistogramArgs {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// In so many parts of equal width
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "edges")]
    pub(crate) bins: u32,
    /// Where the first part begins; at the least number if it is not given
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "edges")]
    pub(crate) low: Option<f64>,
    /// Where the last part ends; at the greatest number if it is not given
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "edges")]
    pub(crate) high: Option<f64>,
    /// The edges of the parts, such as 0,1,2.5
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) edges: Option<String>,
    /// What is counted: the time for which a number held, samples, or both
    #[arg(long, value_name = "WHAT", default_value = "time", value_parser = ["time", "count", "both"])]
    pub(crate) weight: String,
}

#[derive(Args, Debug)]
pub(crate) struct Xy {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What is drawn to the right: a PV, or a formula as docs/analysis.md says
    pub(crate) x: String,
    /// What is drawn upwards
    pub(crate) y: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// Which numbers are put together: each sample of X with what Y held; only those of one stamp; what both held at each --step; means
    /// over each --step; samples with one pulse id
    #[arg(long, value_name = "HOW", default_value = "last", value_parser = ["last", "stamp", "grid", "mean", "pulse"])]
    pub(crate) by: String,
    /// From one time to the next, such as 10s
    #[arg(long, value_name = "LENGTH", value_parser = span)]
    pub(crate) step: Option<Duration>,
    /// How far samples of one pulse may be stamped apart
    #[arg(long, value_name = "LENGTH", value_parser = span)]
    pub(crate) tolerance: Option<Duration>,
    /// No more pairs than that
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Whether numbers of different units may be added and compared
    #[arg(long, value_name = "WHICH", default_value = "same", value_parser = ["same", "any"])]
    pub(crate) units: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Fft {
    #[command(flatten)]
    pub(crate) of: Computed,
    /// By what points are multiplied first
    #[arg(long, value_name = "WHICH", default_value = "none", value_parser = ["none", "hann"])]
    pub(crate) window: String,
    /// The amplitude of sines, or their square by hertz
    #[arg(long, value_name = "WHICH", default_value = "amplitude", value_parser = ["amplitude", "density"])]
    pub(crate) output: String,
    /// What is taken off first
    #[arg(long, value_name = "WHICH", default_value = "mean", value_parser = ["mean", "linear", "none"])]
    pub(crate) detrend: String,
    /// How far a stamp may lie from its place, in steps [default: 0.05]
    #[arg(long, value_name = "STEPS", conflicts_with = "step")]
    pub(crate) tolerance: Option<f64>,
    /// Resample: a point each so long, such as 100ms
    #[arg(long, value_name = "LENGTH", value_parser = span)]
    pub(crate) step: Option<Duration>,
    /// What a point is then: what held, on a line between samples, or the mean of the step
    #[arg(long, value_name = "HOW", default_value = "previous", requires = "step", value_parser = ["previous", "linear", "mean"])]
    pub(crate) resample: String,
    /// Only so many frequencies, the strongest first
    #[arg(long, value_name = "N")]
    pub(crate) strongest: Option<usize>,
}

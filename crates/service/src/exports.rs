//! Exports: many PVs for long ranges as one file, made by the archiver while nobody waits, and fetched when it is there.
//!
//! ```text
//!   order ──► plan: how large, what does not fit ──► a job, kept in the folder ──► a thread makes its file ──► fetched, for a day
//!                                                          ▲ after a crash it goes on, or begins anew ┘
//! ```
//! What the forms look like is not known here: a function that is given writes them into a `Draft`. Who may not see a PV orders none of it,
//! and a file is given only to whoever sees all that is in it at that time, as its orderer.

mod desk;
mod draft;
mod file_names;
mod job;
mod plan;
mod record;
mod shelf;

use std::{path::PathBuf, sync::Arc, time::Duration};

use query::{ALIGNED_PVS_MAX, Alignment, Before, Series};
use sample::{TimeRange, Timestamp};

use crate::refusal::Refusal;

pub use self::{
    desk::{ExportFile, Exports, Make},
    draft::{Draft, Scratch},
    plan::{CELL_CHARS_MAX, SHEET_ROWS_MAX, SHEETS_MAX},
};

/// The most PVs of one export.
pub const EXPORT_PVS_MAX: usize = 10_000;

/// Where exports lie, how many there may be, and for how long.
#[derive(Clone, Debug)]
pub struct ExportsConfig {
    /// The folder; without one there are no exports.
    pub folder: Option<PathBuf>,
    /// How much all of them may take together. 10 GiB.
    pub bytes_max: u64,
    /// How much of the disk they leave free, whatever else they may take. None: a tenth of it.
    pub free_min: Option<u64>,
    /// For how long they are kept. A day.
    pub keep: Duration,
    /// How many may be under way. 20.
    pub jobs_max: usize,
    /// And how many of one principal. 5.
    pub jobs_each_max: usize,
    /// So long after each other what is finished of one is made durable, as the place from which to go on after a crash. 5 s.
    pub place_each: Duration,
}

impl Default for ExportsConfig {
    fn default() -> ExportsConfig {
        ExportsConfig {
            folder: None,
            bytes_max: 10 << 30,
            free_min: None,
            keep: Duration::from_secs(86_400),
            jobs_max: 20,
            jobs_each_max: 5,
            place_each: Duration::from_secs(5),
        }
    }
}

/// What kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines of text.
    Csv,
    /// Columns for pandas, Spark and DuckDB.
    Parquet,
    /// Columns for Arrow, pandas and polars.
    Arrow,
    /// A workbook for spreadsheets.
    Xlsx,
    /// Variables for MATLAB, of version 5 of its files.
    Mat,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 5] = [Form::Csv, Form::Parquet, Form::Arrow, Form::Xlsx, Form::Mat];

    /// Its name in requests, and at the end of file names.
    pub fn name(self) -> &'static str {
        match self {
            Form::Csv => "csv",
            Form::Parquet => "parquet",
            Form::Arrow => "arrow",
            Form::Xlsx => "xlsx",
            Form::Mat => "mat",
        }
    }

    /// That of this name.
    pub fn from_name(name: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// A PV of an export, or a field of one, by the name by which it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPv {
    /// The name.
    pub name: String,
    /// Whose samples.
    pub series: Series,
}

/// For which times there are rows where all PVs stand on the same times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTimes {
    /// Each so long after the one before.
    Every(Duration),
    /// Those of the samples of one PV.
    Of(ExportPv),
}

/// Which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportRows {
    /// Every sample, one PV after another.
    Raw {
        /// Whether the sample that is in force at the beginning comes first.
        before: Before,
    },
    /// A row for each time, with a column for each PV.
    Aligned {
        /// Which value a row takes.
        alignment: Alignment,
        /// For which times.
        times: RowTimes,
        /// How far from a row a sample may lie.
        tolerance: Option<Duration>,
        /// Whether severities stand beside the values.
        with_severity: bool,
    },
}

/// What is to be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportWanted {
    /// Whose samples, in this order.
    pub pvs: Vec<ExportPv>,
    /// From when to when.
    pub range: TimeRange,
    /// Which rows.
    pub rows: ExportRows,
    /// Into what kind of file.
    pub form: Form,
}

impl ExportWanted {
    /// Whether one PV is written after the other.
    pub fn is_by_pv(&self) -> bool {
        matches!(self.rows, ExportRows::Raw { .. }) || self.form == Form::Mat
    }

    /// Whether it is gone on with behind the last PV that was finished, when the archiver died meanwhile; else it is begun anew.
    pub fn goes_on(&self) -> bool {
        matches!(self.rows, ExportRows::Raw { .. }) && self.form != Form::Xlsx
    }

    /// Whether the file is a zip with a file for each PV: these forms hold columns of one type.
    pub fn is_zip(&self) -> bool {
        matches!((self.form, &self.rows), (Form::Arrow | Form::Parquet, ExportRows::Raw { .. }))
    }

    /// Each PV that it reads.
    pub fn each_pv(&self) -> impl Iterator<Item = &ExportPv> {
        let of_times = match &self.rows {
            ExportRows::Aligned { times: RowTimes::Of(pv), .. } => Some(pv),
            _ => None,
        };
        self.pvs.iter().chain(of_times)
    }

    /// The most PVs that there may be.
    pub fn pvs_max(&self) -> usize {
        match self.rows {
            ExportRows::Raw { .. } => EXPORT_PVS_MAX,
            ExportRows::Aligned { .. } => ALIGNED_PVS_MAX,
        }
    }

    /// What the file is called where it is kept by whoever fetches it.
    pub fn file_name(&self) -> String {
        let short = |time: Timestamp| -> String {
            let whole = time.to_string();
            let seconds = whole.split('.').next().unwrap_or_default();
            seconds.chars().filter(char::is_ascii_alphanumeric).chain(['Z']).collect()
        };
        let rows = if matches!(self.rows, ExportRows::Raw { .. }) { "raw" } else { "aligned" };
        let zip = if self.is_zip() { ".zip" } else { "" };
        format!("pvark-{}-{}-{rows}.{}{zip}", short(self.range.t0), short(self.range.t1), self.form.name())
    }
}

/// What an export will be, as far as that can be told beforehand.
#[derive(Debug)]
pub struct ExportPlan {
    /// Samples, about.
    pub samples: u64,
    /// Rows, about; exact where they come at equal times.
    pub rows: u64,
    /// Bytes of the file, about.
    pub bytes: u64,
    /// How many bytes exports may still take.
    pub bytes_left: u64,
    /// What is to be known of it, as sentences.
    pub notes: Vec<String>,
    /// Why it is not made, if it is not.
    pub refused: Option<Refusal>,
}

/// How far an export is.
#[derive(Clone, Debug)]
pub enum ExportState {
    /// Others come first.
    Waiting,
    /// It is being made.
    Running,
    /// Its file is there.
    Done {
        /// Since when.
        since: Timestamp,
    },
    /// There will be no file.
    Failed {
        /// Since when that is known.
        since: Timestamp,
        /// Why.
        why: Refusal,
    },
}

/// What an export amounts to so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportTally {
    /// PVs that are finished.
    pub pvs_done: usize,
    /// Samples, or rows where all PVs stand on the same times.
    pub samples: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Which part of it is done.
    pub progress: f64,
    /// Gaps of its PVs in the range.
    pub gaps: u64,
    /// The first PVs without a sample in the range, and how many there are.
    pub without: Vec<String>,
    /// How many there are.
    pub without_count: u64,
    /// The first pieces that could not be read and are not in the file.
    pub damage: Vec<String>,
    /// How many there are.
    pub damage_count: u64,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// An export as it is seen.
#[derive(Clone, Debug)]
pub struct ExportJob {
    /// Its number.
    pub number: u64,
    /// Who has ordered it.
    pub owner: String,
    /// What was ordered.
    pub wanted: Arc<ExportWanted>,
    /// When.
    pub ordered: Timestamp,
    /// How many bytes it was thought to have.
    pub bytes_planned: u64,
    /// How far it is.
    pub state: ExportState,
    /// What it amounts to.
    pub tally: ExportTally,
    /// How often it was gone on with, or begun anew, after the archiver was started again.
    pub resumed: u32,
    /// Until when it is kept, once it has come to its end.
    pub expires: Option<Timestamp>,
}

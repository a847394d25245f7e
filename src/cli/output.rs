//! How a command prints what it was told.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people
    Table,
    /// Comma-separated values
    Csv,
    /// The JSON of the HTTP interface
    Json,
    /// An Arrow IPC stream
    Arrow,
}

impl Format {
    /// As URLs name it; a table is made of JSON.
    pub(crate) fn in_url(self) -> &'static str {
        match self {
            Format::Table | Format::Json => "json",
            Format::Csv => "csv",
            Format::Arrow => "arrow",
        }
    }
}

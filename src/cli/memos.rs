//! Notes, and views that have a name, or are printed without one.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{
    output::Format,
    range::{RangeArgs, span},
    server::Server,
};

#[derive(Args, Debug)]
pub(crate) struct NoteArgs {
    #[command(subcommand)]
    pub(crate) what: NoteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteCommand {
    /// Write a note
    Add(NoteAdd),
    /// List notes, the newest first
    List(NoteList),
    /// Take a note away
    Remove(NoteRemove),
    /// Write the notes that `list --json` printed, perhaps of another archive
    Import(MemoImport),
}

#[derive(Args, Debug)]
pub(crate) struct NoteAdd {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What it says
    pub(crate) text: String,
    /// About these PVs
    #[arg(long = "pv", value_name = "NAME", value_delimiter = ',')]
    pub(crate) pvs: Vec<String>,
    /// About a time: this moment, or from here: 2026-11-21 08:30, 8:00, -8h
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Until here (not included)
    #[arg(long, allow_hyphen_values = true, requires = "from")]
    pub(crate) to: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct NoteList {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Those that have all of these words, in any order
    pub(crate) words: Vec<String>,
    /// Those about this PV
    #[arg(long, value_name = "NAME")]
    pub(crate) pv: Option<String>,
    /// Those about a time from here on
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Those about a time before
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// As JSON, which `import` reads
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct NoteRemove {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The number of the note
    pub(crate) number: u64,
}

#[derive(Args, Debug)]
pub(crate) struct MemoImport {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The file; `-` reads standard input
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ViewArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ViewCommand>,
    #[command(flatten)]
    pub(crate) server: Server,
    /// Names, and at most one pattern: a glob, or ~ and a regular expression; - for names on standard input
    #[arg(required = true, value_name = "PV")]
    pub(crate) pvs: Vec<String>,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// At most so many bins of a round width
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) bins: u32,
    /// Bins of this width, such as 10min, at multiples of it
    #[arg(long, value_name = "LENGTH", value_parser = span, conflicts_with = "bins")]
    pub(crate) width: Option<Duration>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ViewCommand {
    /// Save a view and print its short link
    Save(ViewSave),
    /// List views, the newest first
    List(ViewList),
    /// Print the address that a view stands for
    Show(ViewNamed),
    /// Take a view away
    Remove(ViewNamed),
    /// Save the views that `list --json` printed, perhaps of another archive
    Import(MemoImport),
}

#[derive(Args, Debug)]
pub(crate) struct ViewSave {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Its name, behind its folders: operation/trips/water
    pub(crate) name: String,
    /// The page's address, or what stands behind its `?`
    pub(crate) query: String,
    /// What there is to say of it
    #[arg(long, default_value = "")]
    pub(crate) text: String,
    /// About these PVs: whoever does not see them does not see it
    #[arg(long = "pv", value_name = "NAME", value_delimiter = ',')]
    pub(crate) pvs: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ViewList {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Those that have all of these words, in any order
    pub(crate) words: Vec<String>,
    /// Those in this folder, or in one within it
    #[arg(long)]
    pub(crate) folder: Option<String>,
    /// As JSON, which `import` reads
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ViewNamed {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The name of the view
    pub(crate) name: String,
}

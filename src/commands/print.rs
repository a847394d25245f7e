//! Lines on standard output, and tables of them.

use std::io::{self, Write};

use serde_json::Value;

use super::table::{aligned, list, text};
use crate::failure::Failure;

/// Prints rows of an answer, some of their members as columns.
pub(crate) fn print_rows(rows: &Value, columns: &[&str]) -> Result<(), Failure> {
    let mut lines = vec![columns.iter().map(|column| (*column).to_owned()).collect()];
    for row in list(rows) {
        lines.push(columns.iter().map(|column| text(&row[column])).collect::<Vec<String>>());
    }
    aligned(&lines).iter().try_for_each(|line| print_line(line)).map_err(Failure::from)
}

/// Prints a line. Unlike `println!` it does not panic when the reader has gone.
pub(crate) fn print_line(line: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

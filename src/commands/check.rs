//! `pvark check`: reads a whole archive and says what is wrong with it.

use super::{print::print_line, progress::Told};
use crate::{
    cli::CheckArgs,
    failure::{Damaged, Failure},
};

pub(crate) fn run(command: &CheckArgs) -> Result<(), Failure> {
    let mut told = Told::new();
    let stored_in = |row: &[u8], from| archive::ledger::stored_in(row, from).ok();
    let report = store::check_with_ledger(&command.data, &stored_in, |progress| told.tell("read", progress))?;
    let store::Report { segments, blocks, samples, log_frames, bytes, .. } = report;
    print_line(&format!(
        "{segments} segments with {blocks} blocks of {samples} samples, {log_frames} frames of the log, {bytes} bytes"
    ))?;
    report.bad_blocks.iter().try_for_each(|bad| print_line(&format!("DAMAGED  {bad}")))?;
    report.problems.iter().try_for_each(|problem| print_line(&format!("PROBLEM  {problem}")))?;
    if report.is_clean() {
        return Ok(print_line("every checksum is right")?);
    }
    Err(Damaged::in_folder(&command.data).into())
}

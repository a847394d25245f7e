//! `pvark repair`: keeps what can be read of a damaged archive; without `--yes` it only says what it would do.

use store::Repairing;

use super::{print::print_line, progress::Told};
use crate::{cli::RepairArgs, failure::Failure, host::clock::now};

pub(crate) fn run(command: &RepairArgs) -> Result<(), Failure> {
    let how = if command.yes { Repairing::Do } else { Repairing::Look };
    let mut told = Told::new();
    let done = store::repair(&command.data, how, now(), |progress| told.tell("read", progress))?;
    let store::Repair { steps, kept_blocks, lost_blocks, .. } = done;
    steps.iter().try_for_each(|step| print_line(&format!("- {step}")))?;
    let data = command.data.display();
    print_line(&match (steps.is_empty(), how) {
        (true, _) => format!("nothing is to be repaired in {data}"),
        (false, Repairing::Look) => format!("nothing was changed; to do this, run `pvark repair --data {data} --yes`"),
        (false, Repairing::Do) => {
            format!(
                "done: {kept_blocks} blocks of damaged segments are kept, {lost_blocks} are lost; nothing was deleted"
            )
        }
    })?;
    Ok(())
}

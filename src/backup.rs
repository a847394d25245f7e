//! `pvark backup`: copies an archive, beside a running archiver if need be.

use crate::{Failure, cli::Backup, client::print_line, progress::Told};

pub(crate) fn run(command: &Backup) -> Result<(), Failure> {
    let mut told = Told::new();
    let done = store::backup(&command.data, &command.to, |progress| told.tell("copied", progress))?;
    let store::Backup { copied, kept, copied_bytes, bytes, removed, .. } = done;
    print_line(&format!(
        "{copied} segments copied, {kept} were there, {removed} removed that were merged meanwhile; \
         {} of {} MB copied and read back",
        copied_bytes >> 20,
        bytes >> 20
    ))?;
    Ok(print_line(&format!("{} is a whole archive as of now", command.to.display()))?)
}

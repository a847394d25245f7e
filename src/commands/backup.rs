//! `pvark backup`: copies an archive, beside a running archiver if need be; `pvark take-over` makes a backup an archive.

use archive::{BackupMade, By, Principal};
use store::Kept;

use super::{bytes::bytes_text, print::print_line, progress::Told};
use crate::{
    cli::{BackupArgs, TakeOver},
    failure::{Damaged, Failure},
    host::clock::now,
};

pub(crate) fn run(command: &BackupArgs) -> Result<(), Failure> {
    let mut told = Told::new();
    let kept = if command.verify { Kept::Verified } else { Kept::Trusted };
    let done = store::backup(&command.data, &command.to, kept, |progress| told.tell("copied or verified", progress))?;
    let store::Backup { copied, kept, copied_bytes, bytes, removed, set_aside, damage, .. } = done;
    print_line(&format!(
        "{copied} segments copied, {kept} were there, {removed} removed that were merged meanwhile; \
         {} of {} copied and read back",
        bytes_text(copied_bytes),
        bytes_text(bytes)
    ))?;
    let to = command.to.display();
    tell(command, bytes, damage.is_empty());
    if set_aside > 0 {
        print_line(&format!("{set_aside} files that may be needed yet lie in {to}/quarantine"))?;
    }
    if damage.is_empty() {
        return Ok(print_line(&format!("{to} is a whole archive as of now"))?);
    }
    damage.iter().try_for_each(|damaged| print_line(&format!("DAMAGED  {damaged}")))?;
    print_line(&format!("{to} is as whole as can be, and has all else as of now"))?;
    Err(Damaged::in_folder(&command.data).into())
}

/// Tells the archive, for whoever looks how old the last backup is. The backup is none the worse where that cannot be written.
fn tell(command: &BackupArgs, bytes: u64, is_whole: bool) {
    let to = std::path::absolute(&command.to).unwrap_or_else(|_| command.to.clone());
    let made = BackupMade { at: now(), to: to.display().to_string(), bytes, is_whole };
    if let Err(error) = store::tell_backup(&command.data, &made) {
        eprintln!("the archive does not know of this backup, and so does not tell of it: {error}");
    }
}

pub(crate) fn take_over(command: &TakeOver) -> Result<(), Failure> {
    let who = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let of = store::take_over(&command.data, &By::new(Principal::here(who), now()))?;
    let data = command.data.display();
    Ok(print_line(&format!(
        "{data} is an archive of its own now, no backup of {of} any more; no backup goes there again"
    ))?)
}

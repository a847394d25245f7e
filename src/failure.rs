//! Why a command failed, and the exit code that says so.

use std::{error::Error, fmt, io, path::Path, process::ExitCode};

/// The exit code when an archive is damaged; 1 is every other failure, 2 a mistake on the command line.
const DAMAGED: u8 = 3;
/// The exit code when two archives were compared and are not equal.
const DIFFERS: u8 = 4;

pub(crate) type Failure = Box<dyn Error>;

/// Says on standard error why a command failed, if it did.
pub(crate) fn exit_code(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if reader_has_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pvark: {error}");
            match () {
                () if error.is::<Damaged>() => ExitCode::from(DAMAGED),
                () if error.is::<Differs>() => ExitCode::from(DIFFERS),
                () => ExitCode::FAILURE,
            }
        }
    }
}

/// Whether a command failed only because nobody reads its output any more, as with `pvark get … | head`.
fn reader_has_gone(error: &Failure) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The archive was read, and is damaged: told by an exit code of its own.
#[derive(Debug)]
pub(crate) struct Damaged(String);

impl Damaged {
    pub(crate) fn in_folder(folder: &Path) -> Damaged {
        Damaged(format!("the archive in {} is damaged", folder.display()))
    }

    pub(crate) fn in_cluster(name: &str) -> Damaged {
        Damaged(format!("what the cluster {name} shares is damaged"))
    }

    pub(crate) fn audit_in(folder: &Path) -> Damaged {
        Damaged(format!("the audit in {} is not what was written", folder.display()))
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; see \"When something is damaged\" in docs/operate.md", self.0)
    }
}

impl Error for Damaged {}

/// The archives were compared to their end, and are not equal: told by an exit code of its own.
#[derive(Debug)]
pub(crate) struct Differs(pub(crate) String);

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the archives are not equal: {}", self.0)
    }
}

impl Error for Differs {}

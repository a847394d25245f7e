//! What the process has from the system and asks of it: its environment, files that may be open, pages.

use std::env;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// An environment variable that is set and is text.
pub(crate) fn env(key: &str) -> Option<String> {
    env::var(key).ok()
}

/// How many files and connections the program may have open at a time, after it has asked for as many as it may ask for.
pub(crate) fn open_files_max() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let asked = Rlimit { current: limit.maximum, ..limit };
    let granted = match setrlimit(Resource::Nofile, asked) {
        Ok(()) => asked.current,
        Err(error) => {
            tracing::warn!("no more than {:?} files can be open: {error}", limit.current);
            limit.current
        }
    };
    granted.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// With them each thread takes two megabytes more for every kind of thing it keeps, half of which nobody uses, and to clear them takes
/// longer than to get what is needed in small ones.
pub(crate) fn without_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!("the system goes on giving huge pages: {error}");
    }
}

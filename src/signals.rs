//! What the program has from the operating system: the clock, the environment, signals to stop, and the log.

use std::{
    env, io,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, SystemTime},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sample::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// The time.
#[expect(clippy::disallowed_methods, reason = "the program's own clock; everything below takes `now`")]
pub(crate) fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

/// An environment variable that is set and is text.
pub(crate) fn env(key: &str) -> Option<String> {
    env::var(key).ok()
}

/// Whether a command failed only because nobody reads its output any more, as with `pvark get … | head`.
pub(crate) fn reader_has_gone(error: &crate::Failure) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
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

/// The wish to stop: SIGTERM or Ctrl-C.
pub(crate) struct Stop(Receiver<()>);

impl Stop {
    /// Listens from now on; needs a tokio runtime.
    pub(crate) fn on_signals() -> io::Result<Stop> {
        let (tell, told) = mpsc::channel();
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            let (mut signal, tell) = (signal(kind)?, tell.clone());
            tokio::spawn(async move {
                while signal.recv().await.is_some() {
                    if tell.send(()).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Stop(told))
    }

    /// Waits a second; whether the wish came.
    pub(crate) fn wait_a_second(&self) -> bool {
        match self.0.recv_timeout(Duration::from_secs(1)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
            Err(RecvTimeoutError::Timeout) => false,
        }
    }
}

/// Log lines go to standard error; RUST_LOG chooses which (`info` if it is not set).
pub(crate) fn start_log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    match format {
        LogFormat::Text => log.with_ansi(io::IsTerminal::is_terminal(&io::stderr())).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

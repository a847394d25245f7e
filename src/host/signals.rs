//! Signals to stop.

use std::{
    io,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

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

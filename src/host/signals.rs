//! Signals to stop, and to look at files anew.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

/// The wish to stop, SIGTERM or Ctrl-C, and the one to look at files anew, SIGHUP.
pub(crate) struct StopSignal {
    told: Receiver<()>,
    reload: Arc<AtomicBool>,
}

impl StopSignal {
    /// Listens from now on; needs a tokio runtime.
    pub(crate) fn on_signals() -> io::Result<StopSignal> {
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
        let reload = Arc::new(AtomicBool::new(false));
        let (mut signal, asked) = (signal(SignalKind::hangup())?, Arc::clone(&reload));
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                asked.store(true, Relaxed);
            }
        });
        Ok(StopSignal { told, reload })
    }

    /// Runs what is to be done if files are to be looked at anew.
    pub(crate) fn asked_to_reload(&self, run: impl FnOnce()) {
        if self.reload.swap(false, Relaxed) {
            run();
        }
    }

    /// Waits a second; whether the wish came.
    pub(crate) fn wait_a_second(&self) -> bool {
        match self.told.recv_timeout(Duration::from_secs(1)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
            Err(RecvTimeoutError::Timeout) => false,
        }
    }
}

//! The sign that tells a thread to end; threads wait for it between two pieces of work.

use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// Shared by those who wait and by who asks.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    asked: AtomicBool,
    lock: Mutex<()>,
    signal: Condvar,
}

impl Stop {
    /// Asks.
    pub(crate) fn ask(&self) {
        let _guard = self.lock.lock().expect("no holder of this lock panics");
        self.asked.store(true, Relaxed);
        self.signal.notify_all();
    }

    /// Whether somebody has asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// Waits, and says whether to go on.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let guard = self.lock.lock().expect("no holder of this lock panics");
        if !self.asked.load(Relaxed) {
            drop(self.signal.wait_timeout(guard, time).expect("no holder of this lock panics"));
        }
        !self.asked.load(Relaxed)
    }
}

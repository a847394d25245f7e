//! What the store does while its folder is away: what is appended goes into the heads, as far as there is room, and nothing is written.
//!
//! ```text
//!   away ► the file of the log is given up, as after a failed write: the heads hold all that only it had
//!        ► appends go into the head alone, then wait in the queue of whoever appends
//!   back ► appends wait, everything goes into blocks, a new file of the log is begun, all goes on
//! ```

use std::{
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use crate::{
    Error,
    engine::{Engine, Ingest},
    places::home::Back,
};

/// So long it is waited for at the end.
const WAIT_AT_END: Duration = Duration::from_secs(10);
const POLL_AT_END: Duration = Duration::from_millis(200);

/// Why nothing is taken for the moment.
const RETURNING: &str = "the folder of the archive is back, and what waited in memory is written first";

impl Engine {
    /// Looks where the folder is; to be called about once a second.
    pub(crate) fn look_home(&self) {
        if !self.is_away() {
            return;
        }
        self.hold_back(&mut self.ingest());
        // Through `disk`, which knows for how long it has not answered.
        let back = self.watched.looking(|| self.home.come_back(self.catalog.last_changes()));
        if back == Some(Back::Other) {
            self.catalog.reopen();
        }
        if back.is_some() {
            self.counters.away.store(false, Relaxed);
            self.flush_wanted.store(true, Relaxed);
        }
    }

    /// Whether the folder is away at this moment.
    pub(crate) fn is_away(&self) -> bool {
        self.disk.at_home().is_err()
    }

    /// An error while the folder is away, of which it is an error to call anything durable.
    pub(crate) fn at_home(&self) -> Result<(), Error> {
        match self.disk.at_home() {
            Ok(()) => Ok(()),
            Err(error) => {
                self.hold_back(&mut self.ingest());
                Err(Error::Away { reason: error.to_string() })
            }
        }
    }

    /// Appends to the heads alone from now on.
    fn hold_back(&self, ingest: &mut Ingest) {
        self.counters.away.store(true, Relaxed);
        self.flush_wanted.store(true, Relaxed);
        if !ingest.unlogged {
            ingest.unlogged = true;
            ingest.log.give_up();
        }
    }

    /// The folder is back and its heads are about to be taken: nothing is appended before they are in blocks, or what follows would be
    /// in the log without them.
    pub(crate) fn end_holding_back(&self, ingest: &mut Ingest) {
        if std::mem::take(&mut ingest.unlogged) && ingest.refusal.is_none() {
            ingest.refusal = Some(RETURNING.to_owned());
            *self.counters.refusal.lock().expect("no holder of this lock panics") = Some(RETURNING.to_owned());
        }
    }

    /// Waits for the folder at the end, for a while.
    pub(crate) fn wait_for_folder(&self) {
        let deadline = Instant::now() + WAIT_AT_END;
        self.look_home();
        while self.home.is_away() && Instant::now() < deadline {
            std::thread::sleep(POLL_AT_END);
            self.look_home();
        }
    }

    /// What is lost with a folder that did not come back; none if it is there.
    pub(crate) fn lost_with_folder(&self) -> Option<Error> {
        let reason = self.disk.at_home().err()?.to_string();
        let watermark = self.counters.watermark();
        Some(Error::Lost { reason, samples: watermark.appended - watermark.durable })
    }
}

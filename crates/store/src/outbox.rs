//! The outbox: changes of the catalogue that are made here, on their way into the journal.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::{Duration, Instant},
};

use shared::{Epoch, Object, OwnerStanding, Plan, segment_key};

use crate::Error;

/// So long an order waits before it asks again whether the journal has it.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// So much is to be done elsewhere because of a transaction of the catalogue.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The rows, as `catalog/changes.rs` writes them.
    pub(crate) rows: Vec<u8>,
    /// Keys of segments that the catalogue did not name before.
    pub(crate) added: BTreeSet<String>,
    /// Keys of segments that it does not name any more.
    pub(crate) removed: BTreeSet<String>,
    /// Frames below are in segments: of the log that is written, or of that of an epoch before.
    pub(crate) flushed: Vec<(Option<u64>, u64)>,
}

/// Ships what there is.
type Ship = Box<dyn Fn() + Send + Sync>;

/// What waits, in the order in which it was made.
pub(crate) struct Outbox {
    epoch: Epoch,
    far: Arc<HashMap<String, Object>>,
    patience: Duration,
    /// Whoever waits for the journal ships himself.
    ship: OnceLock<Ship>,
    state: Mutex<State>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the outbox of epoch {}, with {} changes", self.epoch, self.waiting())
    }
}

/// Why an owner that was replaced takes nothing any more.
pub(crate) fn taken_by(epoch: Epoch) -> String {
    format!(
        "another node owns this shard since epoch {epoch}; what this one recorded beyond the journal is handed over to it"
    )
}

/// Why an owner gives a shard up whose catalogue has what no journal takes.
pub(crate) fn not_journalled(reason: &str) -> String {
    format!("a change of its catalogue cannot be journalled, so it is given up here: {reason}")
}

#[derive(Debug)]
struct State {
    plans: VecDeque<Plan>,
    /// How many changes were made, and how many of them the journal has.
    made: u64,
    journalled: u64,
    standing: OwnerStanding,
    /// The number of the last order that nobody knows to be in the journal, and that was told so.
    late: Option<u64>,
    /// Why no journal can take the change that comes next, nor any behind it.
    refused: Option<String>,
}

impl Outbox {
    pub(crate) fn new(epoch: Epoch, far: Arc<HashMap<String, Object>>, patience: Duration) -> Outbox {
        let (plans, standing) = (VecDeque::new(), OwnerStanding::Owning);
        let state = Mutex::new(State { plans, made: 0, journalled: 0, standing, late: None, refused: None });
        Outbox { epoch, far, patience, ship: OnceLock::new(), state }
    }

    /// From now on it can be shipped.
    pub(crate) fn begin(&self, ship: Ship) {
        self.ship.get_or_init(|| ship);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// Takes a change that holds in the catalogue.
    pub(crate) fn give(&self, changes: Changes) {
        let removed =
            |key: String| self.far.get(&key).map_or_else(|| segment_key(self.epoch, &key), |of| of.key.clone());
        let flushed = |(epoch, end): (Option<u64>, u64)| (epoch.map_or(self.epoch, Epoch), end);
        let plan = Plan {
            segments: changes.added.into_iter().collect(),
            removed: changes.removed.into_iter().map(removed).collect(),
            flushed: changes.flushed.into_iter().map(flushed).collect(),
            catalogue: changes.rows,
        };
        let mut state = self.state();
        state.made += 1;
        state.plans.push_back(plan);
    }

    pub(crate) fn take(&self) -> Vec<Plan> {
        self.state().plans.drain(..).collect()
    }

    /// How many changes were made.
    pub(crate) fn made(&self) -> u64 {
        self.state().made
    }

    /// How many of them the journal has.
    pub(crate) fn journalled(&self) -> u64 {
        self.state().journalled
    }

    /// How many of them it has not.
    pub(crate) fn waiting(&self) -> u64 {
        let state = self.state();
        state.made - state.journalled
    }

    /// Whether all of them were given to the owner.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().plans.is_empty()
    }

    pub(crate) fn standing(&self) -> OwnerStanding {
        self.state().standing
    }

    /// Takes note of how the owner stands, which has so many of the changes that it was given still to ship. Says whether an order holds
    /// of which that was not known.
    pub(crate) fn note(&self, left: usize, standing: OwnerStanding, refused: Option<&str>) -> bool {
        let mut state = self.state();
        state.refused = refused.map(str::to_owned);
        state.journalled = state.made - state.plans.len() as u64 - left as u64;
        state.standing = standing;
        let journalled = state.journalled;
        state.late.take_if(|late| *late <= journalled).is_some()
    }

    /// Whether somebody was told that nobody knows whether the journal has their order, and that is still so.
    pub(crate) fn has_late(&self) -> bool {
        self.state().late.is_some()
    }

    /// An error while no order can be taken: then nobody could say whether it counts.
    pub(crate) fn takes_orders(&self) -> Result<(), Error> {
        let state = self.state();
        if let Some(reason) = &state.refused {
            return Err(Error::Refused { reason: not_journalled(reason) });
        }
        match state.standing {
            OwnerStanding::Owning => Ok(()),
            OwnerStanding::Detached { .. } => Err(Error::Detached),
            OwnerStanding::Taken { by } => Err(Error::Refused { reason: taken_by(by) }),
        }
    }

    /// Waits until the journal has all that was made by now.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        let Some(ship) = self.ship.get() else { return Ok(()) };
        let (number, deadline) = (self.made(), Instant::now() + self.patience);
        loop {
            ship();
            if self.journalled() >= number {
                return Ok(());
            }
            self.takes_orders().or_else(|error| if matches!(error, Error::Detached) { Ok(()) } else { Err(error) })?;
            if Instant::now() >= deadline {
                self.state().late = Some(number);
                let told = Error::CannotDo {
                    doing: "tell the cluster of a change",
                    reason: "the shared store gave no answer in time".into(),
                };
                return Err(Error::Doubtful { source: Box::new(told) });
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }
}

//! Live: new samples and changes of state of some PVs, as they come. They are taken from the store, so that somebody who asks for the
//! same time later gets the same.

use std::time::Duration;

use archive::{Connection, PvEntry, PvName};
use sample::{Batch, TimeRange, Timestamp};

use crate::{ask::Ask, clock::now, refusal::Refusal};

/// How far ahead of our clock a sample's stamp may be, because clocks differ.
const FUTURE_MAX: Duration = Duration::from_secs(60);
/// How many batches of one PV are told at one look, when somebody begins far in the past.
const BATCHES_MAX: usize = 2;

/// Something new of a PV.
#[derive(Clone, Debug)]
pub enum Event {
    /// It stands elsewhere.
    State {
        /// Which.
        pv: PvName,
        /// Where.
        connection: Connection,
        /// Since when.
        since: Timestamp,
    },
    /// There are samples behind those that were told.
    Samples {
        /// Which.
        pv: PvName,
        /// They.
        batch: Batch,
    },
}

/// What is new of some PVs, look by look.
pub struct Live {
    ask: Ask,
    followed: Vec<Followed>,
    /// The store's watermark at the last look.
    appended: Option<u64>,
}

/// One PV and how far it has been told.
struct Followed {
    entry: PvEntry,
    /// The time of the last sample told, and how many of that time.
    told: (Timestamp, usize),
    /// Whether the last look ended before the newest sample.
    behind: bool,
    connection: Option<Connection>,
}

impl Ask {
    /// Follows some PVs, each from `from` on, or from behind its newest sample.
    pub fn live<'n>(&self, names: impl IntoIterator<Item = &'n str>, from: Option<Timestamp>) -> Result<Live, Refusal> {
        let follow = |name: &str| {
            let entry = self.find(name).ok_or_else(|| Refusal::unknown_pv(name))?;
            Followed::new(self, entry, from)
        };
        let followed = names.into_iter().map(follow).collect::<Result<Vec<_>, Refusal>>()?;
        Ok(Live { ask: self.clone(), followed, appended: None })
    }
}

impl Followed {
    fn new(ask: &Ask, entry: PvEntry, from: Option<Timestamp>) -> Result<Followed, Refusal> {
        let told = match from {
            Some(from) => (from, 0),
            None => {
                let newest = ask.own_last_before(entry.id, reach())?;
                newest.map_or((Timestamp::MIN, 0), |sample| (sample.time, usize::MAX))
            }
        };
        Ok(Followed { entry, told, behind: true, connection: None })
    }

    fn state(&mut self, ask: &Ask) -> Option<Event> {
        let status = ask.pv_status(self.entry.id)?;
        let is_told = self.connection.replace(status.connection) == Some(status.connection);
        let (pv, connection, since) = (self.entry.name.clone(), status.connection, status.since);
        (!is_told).then_some(Event::State { pv, connection, since })
    }

    /// The samples behind the last one told. Those of its own time are counted, so that none is told twice.
    fn samples(&mut self, ask: &Ask) -> Result<Vec<Event>, Refusal> {
        let (since, mut skip) = self.told;
        let mut news = Vec::new();
        let batches = ask.own_samples(self.entry.id, TimeRange { t0: since, t1: reach().max(since) })?;
        self.behind = false;
        for batch in batches {
            let batch = match batch {
                Err(error) if error.is_damage() => continue, // the status tells of it
                batch => batch?,
            };
            let same = batch.times().partition_point(|time| *time <= since).min(skip);
            skip -= same;
            if same == batch.len() {
                continue;
            }
            let batch = batch.slice(same..batch.len());
            let last = *batch.times().last().expect("a batch with rows left has a last one");
            let of_last = batch.times().iter().rev().take_while(|time| **time == last).count();
            let earlier = if self.told.0 == last { self.told.1 } else { 0 };
            self.told = (last, earlier.saturating_add(of_last));
            news.push(Event::Samples { pv: self.entry.name.clone(), batch });
            if news.len() == BATCHES_MAX {
                self.behind = true;
                break;
            }
        }
        Ok(news)
    }
}

/// How far samples are told. One that an IOC stamps years ahead waits until then: were it told, nothing of the present would
/// come after it.
fn reach() -> Timestamp {
    now().saturating_add(FUTURE_MAX)
}

impl Live {
    /// Tells what is new since the last look. `take` says how many bytes it has made of an event; once there are `bytes_max` of them the
    /// PVs whose turn has not come are left to the next look. What cannot be read of one does not keep the others from being told; the
    /// first such refusal is given back.
    pub fn look(&mut self, bytes_max: usize, mut take: impl FnMut(Event) -> usize) -> Result<(), Refusal> {
        for followed in &mut self.followed {
            followed.state(&self.ask).map(&mut take);
        }
        let appended = self.ask.watermark().appended;
        let unchanged = self.appended.replace(appended) == Some(appended);
        let (mut bytes, mut left_out, mut outcome) = (0, None, Ok(()));
        let wanted = |followed: &Followed| followed.behind || !unchanged;
        for (index, followed) in self.followed.iter_mut().enumerate().filter(|(_, followed)| wanted(followed)) {
            if bytes >= bytes_max {
                followed.behind = true;
                left_out.get_or_insert(index);
                continue;
            }
            match followed.samples(&self.ask) {
                Ok(samples) => bytes += samples.into_iter().map(&mut take).sum::<usize>(),
                Err(refusal) => outcome = outcome.and(Err(refusal)),
            }
        }
        self.followed.rotate_left(left_out.unwrap_or(0)); // the next look begins with those that had to wait
        outcome
    }
}

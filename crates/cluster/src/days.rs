//! Days that are over: what the copy of a shard alone has of them goes into the shard, and then the copy gives it up. So two recorders are one
//! archive of what is past, and answers of it ask one node.
//!
//! ```text
//!   mark of the copy ─► what the shard lacks ─► part of an import, in the shard's journal ─► … ─► the copy gives up what was there at the mark
//! ```
//! Nothing of it is remembered but by the two archives: who dies in the middle of it leaves a copy that has something of a day that is over,
//! and that is looked at again. What the shard has by then is not lacking any more. What comes to the copy later, handed over by a node that
//! was away say, came behind the mark, and is taken the next time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use archive::{
    By, DirectoryError, Extent, Fault, Key, Mark, Principal, PvId, Record, SampleStream, Source, SourceError,
};
use sample::{TimeRange, Timestamp};

use crate::{
    board::{Open, Seat},
    numbers::global,
    orders::not_now,
    whole::Whole,
    wire::{self, Answer, MarkRow, Question},
};

/// Who is named where the audit says something of it.
const MERGES: &str = "the shard, which takes over what its copy has";
/// The import of that name has a part for each time.
const IMPORT: &str = "what the copy of the shard recorded";
/// The samples of the shard are looked at so far to both sides: an update may have arrived at one of the two some seconds later.
const AROUND: Duration = Duration::from_secs(20);

/// What the second stream has and the first lacks.
pub type Lacking = fn(SampleStream, SampleStream) -> SampleStream;

/// When copies are merged into their shards, and how.
#[derive(Clone, Copy, Debug)]
pub struct Days {
    /// How long a day is.
    pub length: Duration,
    /// How long after its end a day is merged, as some samples come late, and how long the copy keeps it after that, for answers that began
    /// before.
    pub grace: Duration,
    /// What one lacks of what the other has.
    pub lacking: Lacking,
}

impl Days {
    /// Which time is over: the end of the last day that is to be merged.
    fn over(&self, now: Timestamp) -> Timestamp {
        let length = i64::try_from(self.length.as_nanos()).unwrap_or(i64::MAX).max(1);
        let ended = now.saturating_sub(self.grace).nanos();
        Timestamp::from_nanos(ended.saturating_sub(ended.rem_euclid(length)))
    }
}

/// What a shard has taken over from its copy, which is to give it up.
#[derive(Debug)]
struct Taken {
    since: Instant,
    /// The epoch in which the copy was marked.
    epoch: u64,
    mark: Mark,
    pvs: Vec<PvId>,
}

/// What the shards that are open here have taken over from their copies.
#[derive(Debug, Default)]
pub(crate) struct Merging(Mutex<BTreeMap<u32, Taken>>);

impl Merging {
    fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<u32, Taken>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Whole {
    /// Takes over what the copies of shards that are open here have of days that are over, or lets them give up what was taken before. To be
    /// called now and then, by one thread; it goes on while `go_on` says so. Gives what could not be done, which is tried again.
    pub fn merge_days(&self, days: &Days, now: Timestamp, go_on: &dyn Fn() -> bool) -> Vec<(u32, String)> {
        let pairs = self.board.pairs();
        let mut failed = Vec::new();
        for (shard, copy) in self.board.listing().filter_map(|shard| Some((shard, pairs.copy_of(shard)?))) {
            let Seat::Here(open) = self.board.seat(shard) else {
                self.board.merging.with(|taken| taken.remove(&shard));
                continue;
            };
            let waits =
                self.board.merging.with(|all| all.get(&shard).is_some_and(|of| of.since.elapsed() < days.grace));
            if waits || !go_on() {
                continue;
            }
            // One that is away is not waited for: it comes back, or somebody else has it the next time.
            if let Some(error) = global(copy, PvId(0)).and_then(|any| self.board.reached(any).err()) {
                failed.push((shard, error.message));
                continue;
            }
            let done = match self.board.merging.with(|taken| taken.remove(&shard)) {
                Some(taken) => self.let_go(copy, &taken, now),
                None => self.take_days(&open, (shard, copy), days, now, go_on),
            };
            failed.extend(done.err().map(|error| (shard, error.message)));
        }
        failed
    }

    /// The copy gives up what its shard has by now.
    fn let_go(&self, copy: u32, taken: &Taken, now: Timestamp) -> Result<(), DirectoryError> {
        let (by, row) = (by(now), || MarkRow::of(taken.epoch, &taken.mark));
        let here = |open: &Open| given_up(open, &taken.pvs, (taken.epoch, &taken.mark), &by);
        let question = || Question::GiveUp(copy, taken.pvs.iter().map(|pv| pv.0).collect(), row(), (&by).into());
        self.board.at(copy, here, question, wire::done)?;
        tracing::info!("the copy of a shard gives up {} PVs until {}", taken.pvs.len(), taken.mark.before);
        Ok(())
    }

    /// Takes over what the copy has of days that are over.
    fn take_days(
        &self,
        open: &Arc<Open>,
        (shard, copy): (u32, u32),
        days: &Days,
        now: Timestamp,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), DirectoryError> {
        let before = days.over(now);
        if self.due(copy, before, go_on).next().transpose()?.is_none() {
            return Ok(());
        }
        let here = |open: &Open| open.curator.mark(before).map(|mark| (open.epoch, mark));
        let read = |answer| if let Answer::Marked(row) = answer { Some((row.epoch, row.mark())) } else { None };
        let (epoch, mark) = self.board.at(copy, here, || Question::Mark(copy, before.nanos()), read)?;
        let mut intake = open.curator.import(IMPORT, &by(now))?;
        let hidden: BTreeSet<PvId> = intake.takes_over()?.into_iter().chain(mark.hidden.iter().copied()).collect();
        let (mut pvs, mut is_some, mut damage) = (Vec::new(), false, None);
        // The mark comes first: a sample that the copy gets from now on lies behind it, and stays there.
        for due in self.due(copy, before, go_on) {
            let (pv, extent) = due?;
            // Nobody can read what is hidden, and so nobody knows whether the shard lacks it: the PV waits until it is shown again, or purged.
            if hidden.contains(&pv) || open.directory.entry(pv).is_none() {
                continue;
            }
            let mut put = |record| intake.append(&[(pv, record)]);
            match self.take_pv(open, (copy, pv), (extent, before), days, &mut put) {
                Ok(Some(samples)) => {
                    is_some |= samples > 0;
                    pvs.push(pv);
                }
                Ok(None) => damage = Some(pv),
                Err(error) => return Err(error),
            }
        }
        if !go_on() {
            return Ok(()); // this node ends; another one begins anew
        }
        if is_some {
            // It is never verified: what comes under the same name again is something else that was not lacking before, and is entered.
            let taken = intake.finish_part_unverified(&format!("before {before}"))?;
            tracing::info!("shard {shard} has {} samples from before {before} that its copy alone had", taken.samples);
        }
        if !pvs.is_empty() {
            let taken = Taken { since: Instant::now(), epoch, mark, pvs };
            self.board.merging.with(|all| all.insert(shard, taken));
        }
        let damaged =
            |pv: PvId| format!("something of PV number {} is damaged, so that both keep what they have", pv.0);
        damage.map_or(Ok(()), |pv| Err(not_now(damaged(pv))))
    }

    /// The PVs of which a copy has something that is older than this, with when it begins: each is looked at when it is its turn, while `go_on` says so.
    fn due(
        &self,
        copy: u32,
        before: Timestamp,
        go_on: &dyn Fn() -> bool,
    ) -> impl Iterator<Item = Result<(PvId, Extent), DirectoryError>> {
        let names = self.board.list(copy, |list| list.names()).unwrap_or_default();
        let mut pvs: Vec<PvId> = names.iter().map(|named| named.pv).collect();
        pvs.sort_unstable();
        pvs.dedup(); // some have several names
        pvs.into_iter().take_while(|_| go_on()).filter_map(move |pv| {
            let extent = self.extent(Key::Number(global(copy, pv)?)).map_err(away).transpose()?;
            let is_due = |extent: &Extent| extent.first < before;
            extent.map(|extent| Some(extent).filter(is_due).map(|extent| (pv, extent))).transpose()
        })
    }

    /// Takes over what the copy alone has of a PV, and gives how many samples that is; none if something of it cannot be read.
    fn take_pv(
        &self,
        open: &Open,
        (copy, pv): (u32, PvId),
        (extent, before): (Extent, Timestamp),
        days: &Days,
        put: &mut dyn FnMut(Record) -> Result<(), DirectoryError>,
    ) -> Result<Option<u64>, DirectoryError> {
        let Some(twin) = global(copy, pv) else { return Ok(None) };
        let wide = TimeRange { t0: extent.first.saturating_sub(AROUND), t1: before.saturating_add(AROUND) };
        // An extent leaves out what cannot be read at present, and all of it is given up: so all of it is asked for.
        let range = TimeRange { t0: Timestamp::MIN, t1: before };
        let own = open.source.samples(Key::Number(pv), wide);
        let mut taken = 0;
        for batch in (days.lacking)(own, self.samples(Key::Number(twin), range)) {
            match batch {
                Ok(batch) if batch.times().first().is_some_and(|first| *first < extent.first) => return Ok(None),
                Ok(batch) => {
                    taken += batch.len() as u64;
                    put(Record::Samples(batch))?;
                }
                Err(error) if error.cost == archive::Cost::Piece => return Ok(None),
                Err(error) => return Err(away(error)),
            }
        }
        Ok(Some(taken))
    }
}

fn by(now: Timestamp) -> By {
    By::new(Principal::here(MERGES), now)
}

fn away(error: SourceError) -> DirectoryError {
    not_now(error.message)
}

/// Gives up what was marked, if that was in this epoch.
pub(crate) fn given_up(open: &Open, pvs: &[PvId], (epoch, mark): (u64, &Mark), by: &By) -> Result<(), DirectoryError> {
    if open.epoch != epoch {
        let message = format!("the copy was marked in epoch {epoch}, and this is epoch {}", open.epoch);
        return Err(DirectoryError { fault: Fault::Failed, message });
    }
    open.curator.give_up(pvs, mark, by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_over_some_time_after_its_end() {
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let days = Days { length: hours(24), grace: hours(1), lacking: |own, _| own };
        let at = |hours: i64| Timestamp::from_seconds(3600 * hours, 0);
        assert_eq!([at(48), at(49), at(72), at(-1)].map(|now| days.over(now)), [at(24), at(48), at(48), at(-24)]);
    }
}

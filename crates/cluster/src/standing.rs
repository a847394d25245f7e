//! How PVs of a cluster fare, and how the shards of this node are doing. Where a PV stands, and what it takes, is asked of the node that
//! records it, or of the one that has the copy while nobody has the shard; figures of all together are those of this node.

use std::{
    collections::{BTreeMap, HashMap},
    thread,
    time::{Duration, Instant},
};

use archive::{
    Brief, Connection, Health, Ioc, KeptFor, Partition, PvId, PvSize, Recorder, Standing, Status, Storage, Totals,
    Unanswered, Watermark, WeekState, WeekToGo,
    ledger::{Account, Trouble},
};
use sample::Timestamp;

use crate::{
    answers::SIZES_AT_ONCE,
    board::{Board, Seat},
    numbers::{global, split},
    rows::SizeRow,
    seams::Open,
    whole::Whole,
    wire::{Answer, Question, StatusRow},
};

/// Whoever lists PVs waits so long for a node that has just been lost.
const PATIENCE: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(100);

impl Whole {
    /// What the node says that has a shard; none if nobody has it, or it does not answer.
    fn asked_of<T>(&self, shard: u32, here: impl Fn(&Open) -> T, ask: impl Fn(&str) -> Option<T>) -> Option<T> {
        let begun = Instant::now();
        loop {
            match self.board.seat(shard) {
                Seat::Here(open) => return Some(here(&open)),
                Seat::There(node) => {
                    if let Some(told) = ask(&node) {
                        return Some(told);
                    }
                }
                Seat::Nowhere => return None,
            }
            if begun.elapsed() >= PATIENCE || self.board.unanswered(shard).is_some() {
                return None;
            }
            thread::sleep(AGAIN);
        }
    }

    /// What each other node says; those that do not answer, or do not know the question yet, are passed over.
    pub(crate) fn told_by_others<T>(
        &self,
        question: Question,
        told: impl Fn(Answer) -> Option<T>,
    ) -> impl Iterator<Item = T> {
        let ask = move |node: String| self.board.ask(&node, &question).ok().and_then(&told);
        self.board.others().into_iter().filter_map(ask)
    }

    /// How a PV fares at the node that has its shard; none if nobody says.
    fn status_at(&self, pv: PvId) -> Option<Option<Status>> {
        let (shard, local) = split(pv);
        let ask = |node: &str| match self.board.ask(node, &Question::Status(shard, local.0)) {
            Ok(Answer::Status(row)) => Some(row.and_then(|row| row.status())),
            _ => None,
        };
        self.asked_of(shard, |open| open.standing.status(local), ask)
    }

    fn briefs_at(&self, shard: u32, locals: &[PvId]) -> Option<Vec<Option<Brief>>> {
        let ask = |node: &str| {
            let question = Question::Briefs(shard, locals.iter().map(|pv| pv.0).collect());
            match self.board.ask(node, &question) {
                Ok(Answer::Briefs(rows)) if rows.len() == locals.len() => {
                    Some(rows.iter().map(|row| row.as_ref().and_then(StatusRow::brief)).collect())
                }
                _ => None,
            }
        };
        self.asked_of(shard, |open| open.standing.briefs(locals), ask)
    }

    /// How PVs of a shard fare for which nobody answers: the copy tells it of those that are recorded twice; of the others nothing is known.
    fn briefs_of_copy(&self, shard: u32, locals: &[PvId]) -> Vec<Option<Brief>> {
        let mut briefs = vec![Some(Brief::unknown(self.board.unanswered_since(shard))); locals.len()];
        let twin = |local: &PvId| global(shard, *local).and_then(|pv| self.board.twin(pv));
        let twins: Vec<Option<PvId>> = locals.iter().map(twin).collect();
        let asked: Vec<PvId> = twins.iter().flatten().map(|twin| split(*twin).1).collect();
        let copy = twins.iter().flatten().map(|twin| split(*twin).0).next();
        let Some(told) = copy.and_then(|copy| self.briefs_at(copy, &asked)) else { return briefs };
        let places = (0..twins.len()).filter(|place| twins[*place].is_some());
        places.zip(told).for_each(|(place, brief)| briefs[place] = brief);
        briefs
    }
}

impl Standing for Whole {
    fn status(&self, pv: PvId) -> Option<Status> {
        let of_copy = || self.board.twin(pv).and_then(|twin| self.status_at(twin));
        let unknown = || Some(Status::standing(Connection::Unknown, self.board.unanswered_since(split(pv).0)));
        self.status_at(pv).or_else(of_copy).unwrap_or_else(unknown)
    }

    fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>> {
        let mut briefs = vec![None; pvs.len()];
        for (shard, some) in Whole::by_shard(pvs, |pv| *pv) {
            let locals: Vec<PvId> = some.iter().map(|(_, local, _)| *local).collect();
            let found = self.briefs_at(shard, &locals).unwrap_or_else(|| self.briefs_of_copy(shard, &locals));
            some.iter().zip(found).for_each(|((place, ..), brief)| briefs[*place] = brief);
        }
        briefs
    }

    fn unanswered(&self) -> Vec<Unanswered> {
        self.board.listing().filter_map(|shard| self.board.unanswered(shard)).collect()
    }

    fn unanswered_of(&self, pv: PvId) -> Option<Unanswered> {
        let unanswered = self.board.unanswered(split(pv).0)?;
        self.board.stand_in(pv).is_none().then_some(unanswered)
    }

    fn recorders(&self, pv: PvId) -> Vec<Recorder> {
        let (shard, local) = split(pv);
        let copy = self.board.pairs().copy_of(shard);
        let copy = copy.filter(|copy| self.board.list(*copy, |list| list.entry(local)).flatten().is_some());
        let Some(copy) = copy else { return Vec::new() };
        let recorder = |shard: u32| {
            let node = match self.board.seat(shard) {
                Seat::Here(_) => Some(self.board.own().to_owned()),
                Seat::There(node) => Some(node),
                Seat::Nowhere => None,
            };
            let unknown = || Some(Status::standing(Connection::Unknown, self.board.unanswered_since(shard)));
            let status = self.status_at(global(shard, local)?).unwrap_or_else(unknown)?;
            Some(Recorder { shard, node, connection: status.connection, since: status.since })
        };
        [shard, copy].into_iter().filter_map(recorder).collect()
    }

    /// Those of this node, and those that the others tell of.
    fn iocs(&self) -> Vec<Ioc> {
        let mut iocs: Vec<Ioc> = self.board.open().values().flat_map(|open| open.standing.iocs()).collect();
        let there = self.told_by_others(Question::Iocs, |answer| match answer {
            Answer::Iocs(rows) => Some(rows),
            _ => None,
        });
        iocs.extend(there.flatten().filter_map(|row| row.ioc()));
        iocs
    }

    fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for of in self.board.open().values().map(|open| open.standing.totals()) {
            sum.searching += of.searching;
            sum.connected += of.connected;
            sum.disconnected += of.disconnected;
            sum.paused += of.paused;
            sum.counters += of.counters;
            sum.queue_bytes += of.queue_bytes;
            sum.queue_bytes_max += of.queue_bytes_max;
            sum.queue_merged += of.queue_merged;
            sum.beacons_of_note += of.beacons_of_note;
            sum.overruns += of.overruns;
            sum.duplicates += of.duplicates;
            for (sum, of) in [(&mut sum.ca, of.ca), (&mut sum.pva, of.pva)] {
                sum.searches += of.searches;
                sum.search_replies += of.search_replies;
                sum.circuits_opened += of.circuits_opened;
                sum.circuits_lost += of.circuits_lost;
                sum.bytes += of.bytes;
                sum.messages += of.messages;
                sum.updates += of.updates;
                sum.protocol_errors += of.protocol_errors;
            }
        }
        sum
    }

    fn description(&self, pv: PvId, now: Timestamp) -> Option<String> {
        let (shard, local) = split(pv);
        self.board.open_here(shard)?.standing.description(local, now)
    }

    fn open_account(&self, pv: PvId) -> Option<(Timestamp, Account)> {
        let (shard, local) = split(pv);
        match self.board.seat(shard) {
            Seat::Here(open) => open.standing.open_account(local),
            Seat::There(node) => match self.board.ask(&node, &Question::OpenAccount(shard, local.0)) {
                Ok(Answer::Account(row)) => Board::account_of(row),
                _ => None,
            },
            Seat::Nowhere => None,
        }
    }

    fn trouble(&self, now: Timestamp) -> Trouble {
        let mut sum = Trouble::default();
        for of in self.board.open().values().map(|open| open.standing.trouble(now)) {
            sum.of += of.of;
            sum.lossy_pvs += of.lossy_pvs;
            sum.suspected_pvs += of.suspected_pvs;
            sum.last = sum.last.max(of.last);
        }
        sum
    }

    /// Each shard has a ledger of its own; what it lost before this node took it stands there.
    fn recall(&self, _until: Timestamp, _trouble: Trouble) {}
}

impl Storage for Whole {
    fn health(&self) -> Health {
        let open = self.board.open();
        let mut sum = Health { problems: self.board.problems(), ..Health::default() };
        let mut refusals = Vec::new();
        for (shard, of) in open.iter().map(|(shard, open)| (*shard, open.storage.health())) {
            let of_shard = format!("{}: ", self.board.pairs().called(shard).trim_end_matches(','));
            let told = |told: String| if told.starts_with("shard ") { told } else { format!("{of_shard}{told}") };
            refusals.extend(of.refusal.clone().map(told));
            sum.problems.extend(of.problems.clone().into_iter().map(told));
            add(&mut sum, of.numbered(shard));
        }
        // What one shard refuses is no reason for the others.
        if refusals.len() == open.len() && !refusals.is_empty() {
            sum.refusal = refusals.pop();
        }
        sum.problems.append(&mut refusals);
        sum
    }

    fn watermark(&self) -> Watermark {
        let marks = self.board.open().into_values().map(|open| open.storage.watermark());
        marks.fold(Watermark::default(), |sum, of| Watermark {
            appended: sum.appended + of.appended,
            durable: sum.durable + of.durable,
        })
    }

    fn partitions(&self) -> Vec<Partition> {
        let mut weeks: BTreeMap<String, Partition> = BTreeMap::new();
        for of in self.board.open().into_values().flat_map(|open| open.storage.partitions()) {
            let sum = weeks.entry(of.week.clone()).or_insert_with(|| Partition {
                segments: 0,
                bytes: 0,
                samples: 0,
                ..of.clone()
            });
            sum.state = match (sum.state, of.state) {
                (WeekState::Open, _) | (_, WeekState::Open) => WeekState::Open,
                (WeekState::Sealing, _) | (_, WeekState::Sealing) => WeekState::Sealing,
                _ => WeekState::Sealed,
            };
            sum.segments += of.segments;
            sum.bytes += of.bytes;
            sum.samples += of.samples;
        }
        weeks.into_values().collect()
    }

    /// Shards for which nobody answers are left out; callers look for those before and after.
    fn sizes(&self) -> HashMap<PvId, PvSize> {
        let mut sizes = HashMap::new();
        for shard in self.board.listing() {
            match self.board.seat(shard) {
                Seat::Here(open) => {
                    let own = open.storage.sizes().into_iter();
                    sizes.extend(own.filter_map(|(pv, size)| Some((global(shard, pv)?, size))));
                }
                Seat::There(_) => self.sizes_elsewhere(shard, &mut sizes),
                Seat::Nowhere => {}
            }
        }
        sizes
    }

    fn size(&self, pv: PvId) -> Option<PvSize> {
        let (shard, local) = split(pv);
        let ask = |node: &str| match self.board.ask(node, &Question::Sizes(shard, local.0, Some(true))) {
            Ok(Answer::Sizes(rows)) => Some(rows.iter().find(|row| row.pv == local.0).map(SizeRow::size)),
            _ => None,
        };
        self.asked_of(shard, |open| open.storage.size(local), ask).flatten()
    }

    fn retention(&self) -> Vec<KeptFor> {
        self.kept()
    }

    fn next_to_go(&self, keep: Duration) -> Option<WeekToGo> {
        self.next_week(keep)
    }
}

impl Whole {
    fn sizes_elsewhere(&self, shard: u32, sizes: &mut HashMap<PvId, PvSize>) {
        let mut from = 0;
        loop {
            let here = |open: &Open| {
                let all = open.storage.sizes();
                all.iter().filter(|(pv, _)| pv.0 >= from).map(|(pv, size)| SizeRow::of(*pv, size)).collect::<Vec<_>>()
            };
            let ask = |node: &str| match self.board.ask(node, &Question::Sizes(shard, from, None)) {
                Ok(Answer::Sizes(rows)) => Some(rows),
                _ => None,
            };
            let Some(rows) = self.asked_of(shard, here, ask) else { return };
            sizes.extend(rows.iter().filter_map(|row| Some((global(shard, PvId(row.pv))?, row.size()))));
            match rows.last().map(|row| row.pv) {
                Some(last) if rows.len() == SIZES_AT_ONCE => from = last.saturating_add(1),
                _ => return,
            }
        }
    }
}

/// Adds the figures of a shard.
#[expect(clippy::too_many_lines, reason = "a line for each figure")]
fn add(sum: &mut Health, of: Health) {
    let Health {
        refusal: _,
        problems: _,
        scrub,
        scrubbed_segments,
        log_bytes,
        reserve_bytes,
        reserve_bytes_max,
        disk_silent_micros,
        block_bytes,
        blocks,
        segments,
        head_bytes,
        head_samples,
        syncs,
        last_sync_micros,
        flushes,
        last_flush_micros,
        weeks_pending,
        merged_segments,
        flushed_bytes,
        merged_bytes,
        moved_segments,
        moved_bytes,
        expired_segments,
        expired_samples,
        expired_bytes,
        levels,
        places,
        work,
        repeats_dropped,
        purging,
        corrupt_blocks,
        refused_appends,
        refused_samples,
        shards,
    } = of;
    sum.scrub.bytes += scrub.bytes;
    sum.scrub.bytes_total += scrub.bytes_total;
    sum.scrub.findings += scrub.findings;
    sum.disk_silent_micros = sum.disk_silent_micros.max(disk_silent_micros);
    sum.last_sync_micros = sum.last_sync_micros.max(last_sync_micros);
    sum.last_flush_micros = sum.last_flush_micros.max(last_flush_micros);
    sum.levels = match std::mem::take(&mut sum.levels) {
        none if none.is_empty() => levels,
        mut some => {
            for (sum, of) in some.iter_mut().zip(levels) {
                sum.segments += of.segments;
                sum.bytes += of.bytes;
            }
            some
        }
    };
    if sum.places.is_empty() {
        sum.places = places;
    }
    sum.work.extend(work);
    sum.shards.extend(shards);
    for (sum, of) in [
        (&mut sum.scrubbed_segments, scrubbed_segments),
        (&mut sum.log_bytes, log_bytes),
        (&mut sum.reserve_bytes, reserve_bytes),
        (&mut sum.reserve_bytes_max, reserve_bytes_max),
        (&mut sum.block_bytes, block_bytes),
        (&mut sum.blocks, blocks),
        (&mut sum.segments, segments),
        (&mut sum.head_bytes, head_bytes),
        (&mut sum.head_samples, head_samples),
        (&mut sum.syncs, syncs),
        (&mut sum.flushes, flushes),
        (&mut sum.weeks_pending, weeks_pending),
        (&mut sum.merged_segments, merged_segments),
        (&mut sum.flushed_bytes, flushed_bytes),
        (&mut sum.merged_bytes, merged_bytes),
        (&mut sum.moved_segments, moved_segments),
        (&mut sum.moved_bytes, moved_bytes),
        (&mut sum.expired_segments, expired_segments),
        (&mut sum.expired_samples, expired_samples),
        (&mut sum.expired_bytes, expired_bytes),
        (&mut sum.repeats_dropped, repeats_dropped),
        (&mut sum.purging, purging),
        (&mut sum.corrupt_blocks, corrupt_blocks),
        (&mut sum.refused_appends, refused_appends),
        (&mut sum.refused_samples, refused_samples),
    ] {
        *sum += of;
    }
}

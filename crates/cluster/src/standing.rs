//! How PVs of a cluster fare, and how the shards of this node are doing. Where a PV stands is asked of the node that records it; figures of
//! all together are those of this node.

use std::collections::{BTreeMap, HashMap};

use archive::{
    Brief, Health, Partition, PvId, PvSize, Standing, Status, Storage, Totals, Watermark, WeekState,
    ledger::{Account, Trouble},
};
use sample::Timestamp;

use crate::{
    board::{Board, Seat},
    numbers::{global, split},
    whole::Whole,
    wire::{Answer, Question, StatusRow},
};

impl Standing for Whole {
    fn status(&self, pv: PvId) -> Option<Status> {
        let (shard, local) = split(pv);
        match self.board.seat(shard) {
            Seat::Here(open) => open.standing.status(local),
            Seat::There(node) => match self.board.ask(&node, &Question::Status(shard, local.0)) {
                Ok(Answer::Status(row)) => row.and_then(|row| row.status()),
                _ => None,
            },
            Seat::Nowhere => None,
        }
    }

    fn briefs(&self, pvs: &[PvId]) -> Vec<Option<Brief>> {
        let mut briefs = vec![None; pvs.len()];
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        pvs.iter().enumerate().for_each(|(place, pv)| places.entry(split(*pv).0).or_default().push(place));
        for (shard, places) in places {
            let locals: Vec<PvId> = places.iter().map(|place| split(pvs[*place]).1).collect();
            let found = match self.board.seat(shard) {
                Seat::Here(open) => open.standing.briefs(&locals),
                Seat::There(node) => {
                    let numbers = locals.iter().map(|pv| pv.0).collect();
                    match self.board.ask(&node, &Question::Briefs(shard, numbers)) {
                        Ok(Answer::Briefs(rows)) => {
                            rows.iter().map(|row| row.as_ref().and_then(StatusRow::brief)).collect()
                        }
                        _ => Vec::new(), // nobody knows how they fare
                    }
                }
                Seat::Nowhere => Vec::new(),
            };
            places.into_iter().zip(found).for_each(|(place, brief)| briefs[place] = brief);
        }
        briefs
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
            let of_shard = format!("shard {shard}: ");
            let told = |told: String| if told.starts_with("shard ") { told } else { format!("{of_shard}{told}") };
            refusals.extend(of.refusal.clone().map(told));
            sum.problems.extend(of.problems.clone().into_iter().map(told));
            add(&mut sum, of);
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

    fn sizes(&self) -> HashMap<PvId, PvSize> {
        let of_shard = |(shard, open): (u32, std::sync::Arc<crate::Open>)| {
            let sizes = open.storage.sizes().into_iter();
            sizes.filter_map(move |(pv, size)| Some((global(shard, pv)?, size))).collect::<Vec<_>>()
        };
        self.board.open().into_iter().flat_map(of_shard).collect()
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

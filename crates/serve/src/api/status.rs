//! `GET /api/v1/status`: how the archiver fares, with sentences for an operator where something is wrong.

use acquire::{RECENT, Totals};
use archive::{
    OldHealth,
    ledger::{Account, Column, Kind, Trouble},
};
use serde_json::{Map, Value, json};
use service::{Health, LevelHealth, Partition, PlaceHealth, ScrubHealth, Watermark, WeekState, Work, now, sentence};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::counts::since_start,
};

/// Unsynced samples beyond this many are a problem: ten seconds of a very large machine.
const LAG_MAX: u64 = 2_000_000;
/// So many of the last weeks are told whatever their state.
const WEEKS_SHOWN: usize = 8;

pub(crate) fn show(call: &Call) -> Answer {
    let app = &call.app;
    let (totals, health, watermark) = (app.service.totals(), app.service.health(), app.service.watermark());
    let trouble = app.service.trouble();
    json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started": app.service.started.to_string(),
        "now": now().to_string(),
        "durable": {
            "appended": watermark.appended,
            "durable": watermark.durable,
            "lag": watermark.appended.saturating_sub(watermark.durable),
        },
        "pvs": {
            "total": totals.pvs(),
            "connected": totals.connected,
            "searching": totals.searching,
            "disconnected": totals.disconnected,
            "paused": totals.paused,
        },
        "samples": since_start(&totals.counters),
        "trouble": trouble_json(&trouble),
        "queue": { "bytes": totals.queue_bytes, "bytes_max": totals.queue_bytes_max },
        "answers": { "bytes": app.delivery.budget.taken(), "bytes_max": app.delivery.budget.bytes_max() },
        "store": store(&health, &app.service.partitions()),
        "old_archives": app.service.old_health().iter().map(old_archive).collect::<Vec<_>>(),
        "problems": problems(&totals, &health, watermark, &trouble)
            .into_iter()
            .chain(app.doors.problems(now()))
            .collect::<Vec<_>>(),
    }))
}

fn old_archive(health: &OldHealth) -> Value {
    json!({
        "name": health.name,
        "pvs": health.pvs,
        "files": health.files,
        "files_bad": health.files_bad,
        "lines_bad": health.lines_bad,
        "out_of_order": health.out_of_order,
        "scanned": health.scanned,
        "problem": health.problem,
    })
}

fn store(health: &Health, partitions: &[Partition]) -> Value {
    json!({
        "refusal": health.refusal,
        "log_bytes": health.log_bytes,
        "block_bytes": health.block_bytes,
        "blocks": health.blocks,
        "segments": health.segments,
        "head_bytes": health.head_bytes,
        "head_samples": health.head_samples,
        "syncs": health.syncs,
        "disk_silent_micros": health.disk_silent_micros,
        "last_sync_micros": health.last_sync_micros,
        "flushes": health.flushes,
        "last_flush_micros": health.last_flush_micros,
        "merged_segments": health.merged_segments,
        "flushed_bytes": health.flushed_bytes,
        "merged_bytes": health.merged_bytes,
        "moved_segments": health.moved_segments,
        "moved_bytes": health.moved_bytes,
        "expired_segments": health.expired_segments,
        "expired_samples": health.expired_samples,
        "expired_bytes": health.expired_bytes,
        "weeks_pending": health.weeks_pending,
        "levels": health.levels.iter().map(level).collect::<Vec<_>>(),
        "places": health.places.iter().map(place).collect::<Vec<_>>(),
        "weeks": weeks(partitions),
        "work": health.work.iter().map(work).collect::<Vec<_>>(),
        "scrub": scrub(&health.scrub),
        "purging": health.purging,
        "repeats_dropped": health.repeats_dropped,
        "corrupt_blocks": health.corrupt_blocks,
        "refused_appends": health.refused_appends,
        "refused_samples": health.refused_samples,
    })
}

fn level(of: &LevelHealth) -> Value {
    json!({ "level": of.level, "segments": of.segments, "bytes": of.bytes })
}

fn place(of: &PlaceHealth) -> Value {
    json!({
        "name": of.name,
        "trouble": of.trouble,
        "segments": of.segments,
        "bytes": of.bytes,
        "moves_waiting": of.moves_waiting,
        "free_bytes": of.room.map(|room| room.free),
        "disk_bytes": of.room.map(|room| room.total),
    })
}

fn scrub(of: &ScrubHealth) -> Value {
    json!({
        "position": of.position,
        "bytes": of.bytes,
        "bytes_total": of.bytes_total,
        "last_pass": of.last_pass.map(|time| time.to_string()),
        "findings": of.findings,
    })
}

fn work(of: &Work) -> Value {
    json!({ "doing": of.doing, "key": of.key, "bytes": of.bytes, "bytes_total": of.bytes_total })
}

/// The last weeks, and all others that are not sealed.
fn weeks(partitions: &[Partition]) -> Vec<Value> {
    let first = partitions.len().saturating_sub(WEEKS_SHOWN);
    let shown = |(index, week): &(usize, &Partition)| *index >= first || week.state != WeekState::Sealed;
    let week = |(_, of): (usize, &Partition)| {
        let state = match of.state {
            WeekState::Open => "open",
            WeekState::Sealing => "sealing",
            WeekState::Sealed => "sealed",
        };
        json!({ "week": of.week, "state": state, "segments": of.segments, "bytes": of.bytes, "samples": of.samples })
    };
    partitions.iter().enumerate().filter(shown).map(week).collect()
}

fn problems(totals: &Totals, health: &Health, watermark: Watermark, trouble: &Trouble) -> Vec<String> {
    let mut problems = health.problems.clone();
    if let Some(refusal) = &health.refusal {
        problems.push(format!("The store takes no samples: {refusal}."));
    }
    let lag = watermark.appended.saturating_sub(watermark.durable);
    if lag > LAG_MAX {
        problems.push(format!("{lag} samples are not on disk yet: the disk does not keep up."));
    }
    if health.corrupt_blocks > 0 {
        problems.push(format!("{} damaged blocks were found when reading.", health.corrupt_blocks));
    }
    let Account { queue_full, store_refused, .. } = totals.counters;
    if queue_full > 0 {
        problems.push(format!("{queue_full} samples were lost since the start because the queue was full."));
    }
    if store_refused > 0 {
        problems.push(format!("{store_refused} samples were lost since the start because the store refused them."));
    }
    problems.extend(sentence(trouble));
    if totals.disconnected > 0 {
        problems.push(format!("{} PVs have lost their IOC.", totals.disconnected));
    }
    problems
}

/// What was lost of late as JSON.
fn trouble_json(of: &Trouble) -> serde_json::Value {
    let lost = Column::of(&[Kind::Lost, Kind::Missed], of.of.counts());
    let lost: Map<_, _> = lost.map(|(column, count)| (column.name.to_owned(), count.into())).collect();
    json!({
        "hours": RECENT.as_secs() / 3600,
        "lost": lost,
        "lossy_pvs": of.lossy_pvs,
        "suspected_pvs": of.suspected_pvs,
        "suspected_seconds_max": of.of.suspected_ms as f64 / 1000.0,
        "last": of.is_any().then(|| of.last.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_and_nothing_else() {
        let watermark = Watermark { appended: 5, durable: 5 };
        assert!(problems(&Totals::default(), &Health::default(), watermark, &Trouble::default()).is_empty());
        let totals = Totals { disconnected: 2, ..Totals::default() };
        let mut health = Health::default();
        health.refusal = Some("the disk is full".to_owned());
        let behind = Watermark { appended: 3_000_000, durable: 0 };
        let expected = [
            "The store takes no samples: the disk is full.",
            "3000000 samples are not on disk yet: the disk does not keep up.",
            "2 PVs have lost their IOC.",
        ];
        assert_eq!(problems(&totals, &health, behind, &Trouble::default()), expected);
        let of = Account { suspected_ms: 13_600, ..Account::default() };
        let trouble = Trouble { of, suspected_pvs: 5000, ..Trouble::default() };
        let told = problems(&totals, &health, behind, &trouble);
        assert!(told[2].contains("5000 PVs may be missing"), "{told:?}");
    }
}

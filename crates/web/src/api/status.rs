//! `GET /api/v1/status`: how the archiver fares, as JSON.

use archive::{
    Health, LevelHealth, Partition, PlaceHealth, ScrubHealth, SourceHealth, WeekState, Work,
    ledger::{Column, Kind, RECENT, Trouble},
};
use sample::ZoneName;
use serde_json::{Map, Value, json};
use service::Status;

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::counts::since_start,
};

/// So many of the last weeks are told whatever their state.
const WEEKS_SHOWN: usize = 8;

pub(crate) fn show(call: &Call) -> Answer {
    let status = call.ask.status();
    let mut told = as_json(&status, call.app.doors.problems(status.now));
    told["zone"] = json!(call.app.config.zone.as_ref().map(ZoneName::as_str));
    json(&told)
}

/// `of_doors` are the problems of the ways in, such as certificates that cannot be used.
fn as_json(status: &Status, of_doors: Vec<String>) -> Value {
    let (totals, watermark) = (&status.totals, status.watermark);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started": status.started.to_string(),
        "now": status.now.to_string(),
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
        "trouble": trouble_json(&status.trouble),
        "queue": { "bytes": totals.queue_bytes, "bytes_max": totals.queue_bytes_max },
        "answers": { "bytes": status.answer_bytes, "bytes_max": status.answer_bytes_max },
        "store": store(&status.store, &status.weeks),
        "old_archives": status.old_archives.iter().map(old_archive).collect::<Vec<_>>(),
        "copies": status.copies.iter().map(copy).collect::<Vec<_>>(),
        "clustered": status.clustered,
        "problems": status.problems.iter().cloned().chain(of_doors).collect::<Vec<_>>(),
    })
}

fn copy((name, away): &(String, Option<String>)) -> Value {
    json!({ "name": name, "away": away })
}

fn old_archive(health: &SourceHealth) -> Value {
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

//! Why there is no data, or not all, in a range: gaps, losses, silence and commands, each with a sentence for people.

use std::sync::Arc;

use archive::{
    Action, AuditRecord, GapScope, PvEntry, Status,
    ledger::{Column, Kind},
};
use query::{Before, LeftOut, Query, Request, Series};
use sample::{Gap, GapCause, Metadata, TimeRange, Timestamp};

use crate::{
    clock::now,
    ledger::{Ledger, Step},
    proof::{Counter, Proof, prove},
    refusal::Refusal,
    service::Service,
};

/// So many lines of the audit are looked through for who did what to the PV.
const AUDIT_LINES: usize = 10_000;

/// More samples are counted as so many.
const COUNT_MAX: u64 = 1_000_000;

/// What can be said about completeness, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Samples are known to be lost, or the PV was not recorded for some of the time.
    Incomplete,
    /// Updates may have been lost on their way.
    Suspected,
    /// Nothing is known to be lost, and nothing proves it.
    Unproved,
    /// A counter or pulse ids without a break prove it.
    Proved,
}

impl Verdict {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Incomplete => "incomplete",
            Verdict::Suspected => "suspected",
            Verdict::Unproved => "unproved",
            Verdict::Proved => "proved",
        }
    }
}

/// One reason.
#[derive(Clone, Debug)]
pub struct Reason {
    /// Its name in answers.
    pub kind: &'static str,
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
    /// How many samples were lost, as far as they were counted.
    pub lost: u64,
    /// A sentence for people.
    pub text: String,
}

/// All that is known about a range.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// How many samples there are, counted up to a million.
    pub samples: u64,
    /// What can be said about completeness.
    pub verdict: Verdict,
    /// It as a sentence.
    pub text: String,
    /// Why something is missing, by time.
    pub reasons: Vec<Reason>,
    /// What the ledger says of the range.
    pub told: Step,
    /// What counts prove, if they do.
    pub proof: Option<Proof>,
    /// How the PV fares now, if acquisition knows it.
    pub status: Option<Status>,
}

/// All that is known about a range. What `recorders` of the PV have together is what is there, and what all of them lack is a gap.
pub(crate) fn explain(
    service: &Service,
    recorders: &Query,
    entry: &PvEntry,
    field: Option<&str>,
    range: TimeRange,
    counter: Option<Counter>,
) -> Result<Explanation, Refusal> {
    let series = Series { pv: entry.id, field: field.map(Arc::from) };
    let gaps = recorders.gaps(&series, range)?;
    let open = service.behind.standing.open_account(entry.id);
    let until = open.map_or(Timestamp::MAX, |(since, _)| since);
    let mut told = Ledger { archive: &service.archive_alone, own: &*service.behind.directory, pv: entry.id, until }
        .account(range)?;
    if let Some((since, open)) = open.filter(|(since, _)| *since < range.t1) {
        told.account += open;
        told.covered += (range.t1.nanos() - since.max(range.t0).nanos()).max(0);
    }
    let samples = count(recorders, entry, field, range)?;
    let proof = prove(recorders, entry.id, range, counter.unwrap_or(Counter::Pulse))?;
    // Pulse ids that nobody has asked for say something only where they have no break.
    let proof = proof.filter(|proof| counter.is_some() || proof.is_complete());
    let mut reasons = gap_reasons(service, entry, range, &gaps)?;
    reasons.extend(roster_reasons(service, entry, range));
    reasons.extend(expired_fields(service, entry, field, range)?);
    reasons.extend(server_reasons(&service.archive_alone.metadata(entry.id, range)?, &gaps, range));
    reasons.extend(ledger_reasons(range, &told));
    reasons.extend(proof.iter().flat_map(proof_reasons));
    reasons.extend(silence(service, entry, range, (samples, gaps.is_empty()), &told)?);
    reasons.extend(recorders.left_out().iter().map(|left_out| without(left_out, range)));
    reasons.sort_by_key(|reason| reason.from);
    let verdict = verdict(&gaps, &told, proof.as_ref());
    let status = service.behind.standing.status(entry.id);
    let text = sentence(verdict, samples, proof.as_ref());
    Ok(Explanation { samples, verdict, text, reasons, told, proof, status })
}

/// What a copy has is not known.
fn without(left_out: &LeftOut, range: TimeRange) -> Reason {
    let LeftOut { part, why } = left_out;
    let text = format!("{} was not asked, and may have more: {why}.", as_first(part));
    Reason { kind: "copy_not_asked", from: range.t0, to: range.t1, lost: 0, text }
}

/// As the first of a sentence.
fn as_first(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn count(recorders: &Query, entry: &PvEntry, field: Option<&str>, range: TimeRange) -> Result<u64, Refusal> {
    let mut count = 0;
    let series = Series { pv: entry.id, field: field.map(Arc::from) };
    for batch in recorders.samples(&Request { series, range, before: Before::None }) {
        count += match batch {
            Err(error) if error.is_damage() => continue, // a gap tells of it, and the status
            batch => batch?.len() as u64,
        };
        if count >= COUNT_MAX {
            break;
        }
    }
    Ok(count)
}

fn verdict(gaps: &[(GapScope, Gap)], told: &Step, proof: Option<&Proof>) -> Verdict {
    let lost = told.account.lost() + told.account.missed() > 0;
    if lost || !gaps.is_empty() || proof.is_some_and(|proof| proof.missing > 0) {
        return Verdict::Incomplete;
    }
    if proof.is_some_and(Proof::is_complete) {
        return Verdict::Proved;
    }
    if told.account.suspected_ms > 0 { Verdict::Suspected } else { Verdict::Unproved }
}

fn sentence(verdict: Verdict, samples: u64, proof: Option<&Proof>) -> String {
    let missing = proof.map_or(0, |proof| proof.missing);
    match verdict {
        Verdict::Incomplete if missing > 0 => format!("Exactly {missing} updates are missing, by the counter."),
        Verdict::Incomplete => "Not everything was recorded.".to_owned(),
        Verdict::Suspected => "Updates may have been lost on their way; nothing proves it.".to_owned(),
        Verdict::Unproved if samples == 0 => "There are no samples, and nothing is known to be lost.".to_owned(),
        Verdict::Unproved => "Nothing is known to be lost; nothing proves it either.".to_owned(),
        Verdict::Proved => "It is proved that no update is missing between the first and the last sample.".to_owned(),
    }
}

fn gap_reasons(
    service: &Service,
    entry: &PvEntry,
    range: TimeRange,
    gaps: &[(GapScope, Gap)],
) -> Result<Vec<Reason>, Refusal> {
    let has_pause = gaps.iter().any(|(_, gap)| gap.cause == GapCause::Paused);
    let audit = if has_pause { service.behind.directory.audit(u64::MAX, AUDIT_LINES)? } else { Vec::new() };
    let reason = |(scope, gap): &(GapScope, Gap)| {
        // The audit has the newest first, and the same time as the gap.
        let is_pause =
            |line: &&AuditRecord| matches!(line.action, Action::Paused | Action::Undone) && line.is_about(entry.id);
        let who = audit.iter().filter(is_pause).find(|line| line.by.at <= gap.from);
        let by = who.map(|line| format!(" by {}", line.by.who)).unwrap_or_default();
        let lost = if gap.lost > 0 { format!(": {} samples were lost", gap.lost) } else { String::new() };
        let text = match gap.cause {
            GapCause::NeverConnected => "No IOC answered for the PV.".to_owned(),
            GapCause::Disconnected => "The connection to the IOC was lost; the IOC or the network was down.".to_owned(),
            GapCause::Paused => format!("The PV was paused{by}."),
            GapCause::ArchiverStopped => "The archiver was not running.".to_owned(),
            GapCause::QueueFull => format!("Samples came faster than they could be taken{lost}."),
            GapCause::StoreRefused => format!("The disk was full or failed{lost}."),
            GapCause::ServerError => "The IOC answered with an error instead of values.".to_owned(),
            GapCause::NotArchived => "The PV was out of the archive.".to_owned(),
            GapCause::Disabled => "All groups of the PV were disabled.".to_owned(),
            GapCause::Expired => format!("It was recorded, and retention took it out of {} samples.", gap.lost),
            GapCause::Damaged => {
                "A file of the archive is missing or damaged: what it held of the PV cannot be read. The status names it.".to_owned()
            }
            other => format!("There is a gap: {}.", other.name()),
        };
        let text = if *scope == GapScope::Archiver { format!("{text} This concerns all PVs.") } else { text };
        let to = gap.to.unwrap_or_else(now);
        Reason { kind: gap.cause.name(), from: gap.from.max(range.t0), to: to.min(range.t1), lost: gap.lost, text }
    };
    Ok(gaps.iter().map(reason).collect())
}

/// What was done to the PV: added later, or parts of it deleted.
fn roster_reasons(service: &Service, entry: &PvEntry, range: TimeRange) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if entry.added > range.t0 {
        let text = format!("The PV was added to the archive at {}.", entry.added);
        let to = entry.added.min(range.t1);
        reasons.push(Reason { kind: "not_added_yet", from: range.t0, to, lost: 0, text });
    }
    let overlaps = |other: TimeRange| other.t0 < range.t1 && other.t1 > range.t0;
    for deletion in service.behind.directory.deletions() {
        if deletion.pv == entry.id && overlaps(deletion.range) {
            let text = format!("The samples were deleted by {} at {}.", deletion.by.who, deletion.by.at);
            let (from, to) = (deletion.range.t0.max(range.t0), deletion.range.t1.min(range.t1));
            reasons.push(Reason { kind: "deleted", from, to, lost: 0, text });
        }
    }
    reasons
}

/// Where the structures of a PV lack fields because retention took them. Of the field that is asked for its gaps tell.
fn expired_fields(
    service: &Service,
    entry: &PvEntry,
    field: Option<&str>,
    range: TimeRange,
) -> Result<Vec<Reason>, Refusal> {
    let mut reasons = Vec::new();
    for path in if field.is_some() { Vec::new() } else { service.behind.directory.expired_fields(entry.id)? } {
        let series = Series { pv: entry.id, field: Some(path.as_str().into()) };
        for (_, gap) in service.archive_alone.gaps(&series, range)? {
            if gap.cause == GapCause::Expired {
                let (from, to) = (gap.from.max(range.t0), gap.to.unwrap_or(range.t1).min(range.t1));
                let text =
                    format!("The structures have no {path} any more: retention took it out of {} samples.", gap.lost);
                reasons.push(Reason { kind: gap.cause.name(), from, to, lost: 0, text });
            }
        }
    }
    Ok(reasons)
}

/// Where the PV came back from another IOC, or from another run of the same: what the metadata says of who served it. Where it
/// does not say, a restart is suspected after each loss.
fn server_reasons(history: &[(Timestamp, Metadata)], gaps: &[(GapScope, Gap)], range: TimeRange) -> Vec<Reason> {
    let mut reasons = changes_of_server(history);
    let losses: Vec<&Gap> = gaps.iter().map(|(_, gap)| gap).filter(|gap| gap.cause == GapCause::Disconnected).collect();
    for (index, gap) in losses.iter().enumerate() {
        let Some(back) = gap.to.filter(|back| *back < range.t1) else { continue };
        if gaps.iter().any(|(_, other)| other.from <= back && other.to.is_none_or(|to| to > back)) {
            continue; // a pause ended it, or the archiver did
        }
        let next = losses.get(index + 1).map_or(Timestamp::MAX, |next| next.from);
        if reasons.iter().any(|reason| reason.from >= gap.from && reason.from < next) {
            continue; // it is told of
        }
        let served = history.iter().rev().find(|(at, _)| *at < next);
        let is_named = served.and_then(|(_, of)| of.server_run.as_deref()).is_some_and(|run| evidence(run).is_none());
        let (kind, text) = if is_named {
            ("ioc_ran_on", "The same run of the IOC answered again: the network was down, or the IOC hung.")
        } else {
            (
                "ioc_restart_suspected",
                "The IOC answered again at the same address: that it was restarted is suspected, nothing proves it.",
            )
        };
        reasons.push(Reason { kind, from: back, to: back, lost: 0, text: text.to_owned() });
    }
    reasons
}

/// How the restart before this run was proved, where the run has no name of its own.
fn evidence(run: &str) -> Option<&'static str> {
    let by = [
        (Metadata::RUN_BY_BEACONS, "its beacons count from the beginning again"),
        (Metadata::RUN_BY_STAMP, "the record had been processed before, and came back as one that never was"),
    ];
    by.into_iter().find(|(begin, _)| run.starts_with(begin)).map(|(_, text)| text)
}

fn changes_of_server(history: &[(Timestamp, Metadata)]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let changes =
        history.windows(2).filter_map(|pair| if let [(_, a), (at, b)] = pair { Some((*at, a, b)) } else { None });
    for (at, before, after) in changes {
        let moved = match (&before.server, &after.server) {
            (Some(before), Some(after)) if before != after => Some(format!("from {before} to {after}")),
            _ => None,
        };
        let evidence = after.server_run.as_deref().and_then(evidence);
        // The name of a run says something beside another one only, evidence by itself.
        let is_told = after.server_run.is_some() && (before.server_run.is_some() || evidence.is_some());
        let (kind, text) = match (is_told && before.server_run != after.server_run, moved) {
            (true, None) => {
                let why = evidence.unwrap_or("the same address answered as another server");
                ("ioc_restarted", format!("The IOC was restarted: {why}."))
            }
            (true, Some(moved)) => {
                ("ioc_restarted", format!("The IOC was restarted or another one took over: the PV moved {moved}."))
            }
            (false, Some(moved)) => (
                "ioc_moved",
                format!("The PV moved {moved}: its IOC was restarted there, or there are two that have it."),
            ),
            (false, None) => continue,
        };
        reasons.push(Reason { kind, from: at, to: at, lost: 0, text });
    }
    reasons
}

/// What the ledger has counted.
fn ledger_reasons(range: TimeRange, told: &Step) -> Vec<Reason> {
    let of = &told.account;
    let stamps = of.odd_stamps();
    let seconds = of.suspected_ms as f64 / 1000.0;
    let mut reasons: Vec<Reason> = Vec::new();
    // Losses come before what was not to be sampled.
    for (column, count) in
        Column::of(&[Kind::Lost, Kind::Missed], of.counts()).chain(Column::of(&[Kind::Skipped], of.counts()))
    {
        if let Some((kind, text)) = column.reason.filter(|_| count > 0) {
            let text = text.replace("{}", &count.to_string());
            reasons.push(Reason { kind, from: range.t0, to: range.t1, lost: count, text });
        }
    }
    let mut say = |kind, is_so: bool, text: String| {
        if is_so {
            reasons.push(Reason { kind, from: range.t0, to: range.t1, lost: 0, text });
        }
    };
    say("suspected", of.suspected_ms > 0, format!("For {seconds} s updates may have been lost on their way."));
    let text = format!("{stamps} samples that arrived then have odd time stamps, and may stand at other times.");
    say("odd_stamps", stamps > 0, text);
    let text = "The archiver ended without warning; of what was received in its last moments nobody knows.";
    say("killed", told.rebuilt, text.to_owned());
    reasons
}

fn proof_reasons(proof: &Proof) -> impl Iterator<Item = Reason> + '_ {
    proof.breaks.iter().map(|(from, to, missing)| Reason {
        kind: "missing",
        from: *from,
        to: *to,
        lost: *missing,
        text: format!("The counter shows that {missing} updates are missing."),
    })
}

/// The PV was there and connected, and still there is nothing.
fn silence(
    service: &Service,
    entry: &PvEntry,
    range: TimeRange,
    (samples, no_gaps): (u64, bool),
    told: &Step,
) -> Result<Option<Reason>, Refusal> {
    if samples > 0 || !no_gaps || entry.added >= range.t1 {
        return Ok(None);
    }
    let last = service.archive_alone.last_before(&entry.id.into(), range.t0)?;
    let held = last.map(|sample| format!(" The value of {} still held.", sample.time)).unwrap_or_default();
    let text = match (told.covered > 0, told.account.received) {
        (true, 0) => format!("The PV was connected and its IOC sent nothing: the value did not change.{held}"),
        (true, received) => {
            format!("{received} updates arrived in these minutes, none with a stamp in this range.{held}")
        }
        (false, _) => format!("No gap is recorded, and the ledger does not tell of this time.{held}"),
    };
    Ok(Some(Reason { kind: "no_change", from: range.t0, to: range.t1, lost: 0, text }))
}

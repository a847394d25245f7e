//! `pvark import archiver-appliance`: the Archiver Appliance's files go to a running archiver as they are, a week of all PVs after the
//! other, because that is how the archive keeps them. The archiver decodes them, and compares what it wrote with what came.

use std::{collections::BTreeMap, ops::ControlFlow};

use aa::{Damage, Piece, PlainPb, read_chunks};
use archive::{PvName, Source};
use sample::{TimeRange, Timestamp};
use serde_json::{Value, json};

use super::{
    parts::{PART_BYTES, Parts, Total},
    patiently,
};
use crate::{
    cli::FromAppliance,
    commands::{
        bytes::bytes_text,
        http::{ANSWER_BYTES_MAX, agent, by, encoded},
        print::print_line,
    },
    failure::Failure,
    texts,
};

pub(super) const WEEK_NANOS: i64 = 7 * 86_400 * 1_000_000_000;
/// A Monday.
pub(super) const FIRST_MONDAY_NANOS: i64 = 4 * 86_400 * 1_000_000_000;
/// So many entries of the Appliance's configuration are sent at once.
pub(super) const INFOS_AT_ONCE: usize = 1000;

pub(super) fn import(command: &FromAppliance) -> Result<(), Failure> {
    if command.activate && command.type_info.is_none() {
        return Err("--activate needs --type-info, which says which PVs were not paused".into());
    }
    let archives: Vec<PlainPb> = command.folders.iter().map(|folder| PlainPb::new(folder.clone(), [])).collect();
    let pvs = pvs(command, &archives)?;
    if command.dry_run {
        return look(&archives, &pvs);
    }
    if let Some(path) = &command.type_info {
        send_type_infos(command, &read_type_infos(path)?)?;
    }
    let mut parts = Parts::new(&command.server.url, &command.name, command.patience);
    let mut problems = Vec::new();
    for week in weeks(&pvs) {
        parts.label(&format!("week of {}", &week.t0.to_string()[..10]))?;
        each_piece(&archives, &pvs, week, &mut problems, &mut |chunk| parts.add(chunk))?;
    }
    parts.flush()?;
    // Aliases come last: a name that has samples of its own is a PV.
    if let Some(path) = &command.aliases {
        let text = texts::read(path)?;
        let list: Vec<Value> = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        send_aliases(command, &path.display().to_string(), &list, &mut problems)?;
    }
    report(parts.total, &archives, problems)
}

/// All PVs, each with the time that its files are of.
fn pvs(command: &FromAppliance, archives: &[PlainPb]) -> Result<BTreeMap<PvName, TimeRange>, Failure> {
    let mut pvs = BTreeMap::new();
    for (archive, folder) in archives.iter().zip(&command.folders) {
        if !folder.is_dir() {
            return Err(format!("{} is no folder", folder.display()).into());
        }
        let mut names = Vec::new();
        let mut see = |name| {
            names.push(name);
            ControlFlow::Continue(())
        };
        archive.pvs(&mut see)?;
        eprintln!("{}: {} PVs in {} files", folder.display(), names.len(), archive.health().files);
        for name in names {
            let Some(span) = archive.span(&name)? else { continue };
            let all = pvs.entry(name).or_insert(span);
            *all = TimeRange { t0: all.t0.min(span.t0), t1: all.t1.max(span.t1) };
        }
    }
    Ok(pvs)
}

/// The weeks from the first file to the last, oldest first.
fn weeks(pvs: &BTreeMap<PvName, TimeRange>) -> impl Iterator<Item = TimeRange> {
    let first = pvs.values().map(|span| span.t0.nanos()).min();
    let last = pvs.values().map(|span| span.t1.nanos()).max();
    let monday = |nanos: i64| (nanos - FIRST_MONDAY_NANOS).div_euclid(WEEK_NANOS);
    let numbers = first.zip(last).map_or(0..0, |(first, last)| monday(first)..monday(last) + 1);
    let start = |week: i64| Timestamp::from_nanos(FIRST_MONDAY_NANOS.saturating_add(week.saturating_mul(WEEK_NANOS)));
    numbers.map(move |week| TimeRange { t0: start(week), t1: start(week + 1) })
}

/// Shows every piece of every PV in a week. What cannot be read is a problem, and the rest goes on.
fn each_piece(
    archives: &[PlainPb],
    pvs: &BTreeMap<PvName, TimeRange>,
    week: TimeRange,
    problems: &mut Vec<String>,
    see: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let within = pvs.iter().filter(|(_, span)| span.t0 < week.t1 && span.t1 > week.t0);
    for (pv, archive) in within.flat_map(|(pv, _)| archives.iter().map(move |archive| (pv, archive))) {
        let slices = match archive.slices(pv, week) {
            Ok(slices) => slices,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        for mut slice in slices {
            loop {
                match slice.next(PART_BYTES) {
                    Ok(None) => break,
                    Ok(Some(Piece::Lines(chunk))) => see(&chunk)?,
                    Ok(Some(Piece::Torn(bytes))) => {
                        problems.push(format!("{}: the last line is cut off after {bytes} bytes", slice.path));
                    }
                    Ok(Some(Piece::TooLong(bytes))) => {
                        problems
                            .push(format!("{}: a line of {bytes} bytes is longer than any sample can be", slice.path));
                    }
                    Err(error) => {
                        problems.push(format!("cannot read {}: {error}", slice.path));
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Reads everything and sends nothing.
fn look(archives: &[PlainPb], pvs: &BTreeMap<PvName, TimeRange>) -> Result<(), Failure> {
    let (mut samples, mut bytes, mut damage, mut problems) = (0, 0, Damage::default(), Vec::new());
    for week in weeks(pvs) {
        each_piece(archives, pvs, week, &mut problems, &mut |chunk| {
            let (chunks, found) = read_chunks(chunk);
            bytes += chunk.len() as u64;
            samples += chunks.iter().flat_map(|chunk| &chunk.batches).map(|batch| batch.len() as u64).sum::<u64>();
            damage.add(found);
            Ok(())
        })?;
    }
    print_line(&format!("{} PVs, {samples} samples, {} would be imported", pvs.len(), bytes_text(bytes)))?;
    tell(damage.bad_lines, archives, problems)
}

/// What was bad, a line each.
fn tell(lines_bad: u64, archives: &[PlainPb], problems: Vec<String>) -> Result<(), Failure> {
    if lines_bad > 0 {
        print_line(&format!("{lines_bad} lines are no samples and were left out"))?;
    }
    for health in archives.iter().map(PlainPb::health).filter(|health| health.files_bad > 0) {
        let problem = health.problem.unwrap_or_default();
        print_line(&format!("{}: {} files cannot be read, the last: {problem}", health.name, health.files_bad))?;
    }
    problems.iter().try_for_each(|problem| print_line(problem))?;
    Ok(())
}

pub(super) fn report(total: Total, archives: &[PlainPb], mut problems: Vec<String>) -> Result<(), Failure> {
    let Total { parts, known_parts, samples, verified, missing, gaps, lines_bad, .. } = total;
    problems.extend(total.problems);
    print_line(&format!(
        "{samples} samples and {gaps} gaps in {parts} parts, {known_parts} of which had been imported before; \
         {verified} samples read back and found equal"
    ))?;
    tell(lines_bad, archives, problems)?;
    if missing > 0 {
        return Err(format!("{missing} samples were not found when they were read back").into());
    }
    Ok(())
}

/// The Appliance's configuration from a file, or a folder of files.
fn read_type_infos(path: &std::path::Path) -> Result<Vec<Value>, Failure> {
    crate::old::type_infos(path)?; // a mistake in any of them is told before anything is sent
    let mut entries: Vec<Value> = Vec::new();
    for file in crate::old::json_files(path)? {
        match serde_json::from_str(&texts::read(&file)?)? {
            Value::Array(list) => entries.extend(list),
            one => entries.push(one),
        }
    }
    Ok(entries)
}

/// The Appliance's configuration, a thousand PVs at a time.
pub(super) fn send_type_infos(command: &FromAppliance, entries: &[Value]) -> Result<(), Failure> {
    let mut activated = 0;
    for some in entries.chunks(INFOS_AT_ONCE) {
        let (server, import) = (&command.server.url, encoded(&command.name));
        let url = format!("{server}/api/v1/import/type-info?import={import}&activate={}&by={}", command.activate, by());
        let mut answer = patiently(command.patience, server, || agent().post(&url).send_json(Value::from(some)))?;
        let answer: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
        activated += answer["activated"].as_u64().unwrap_or(0);
    }
    Ok(print_line(&format!(
        "{} PVs of its configuration are in the list, {activated} are archived from now on",
        entries.len()
    ))?)
}

/// Aliases, as `getAllAliases` gives them. `source` is where they are from, for messages.
pub(super) fn send_aliases(
    command: &FromAppliance,
    source: &str,
    list: &[Value],
    problems: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut count = 0;
    for row in list {
        let (Some(alias), Some(pv)) = (row["aliasName"].as_str(), row["srcPVName"].as_str()) else {
            problems.push(format!("{source}: {row} is no alias"));
            continue;
        };
        let (server, pv_encoded, alias_encoded) = (&command.server.url, encoded(pv), encoded(alias));
        let url = format!("{server}/api/v1/pvs/{pv_encoded}/aliases/{alias_encoded}?by={}", by());
        match patiently(command.patience, server, || agent().put(&url).send_json(json!({}))) {
            Ok(_) => count += 1,
            Err(error) => problems.push(format!("alias {alias} of {pv}: {error}")),
        }
    }
    Ok(print_line(&format!("{count} aliases"))?)
}

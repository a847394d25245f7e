//! `pvark import archiver-appliance URL`: everything of an Appliance that runs, by its own URLs. Samples come in windows of time, the newest
//! first, because each answer begins with the last sample before its window: where there is none a PV is done, and where it is much older
//! the windows between are passed over. What came of each PV is written down beside, so that a run that broke off, or one that is
//! repeated next week, asks only for what is new.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::OpenOptions,
    io::{self, Write},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use aa::Relay;
use sample::{TimeRange, Timestamp};
use serde_json::{Value, json};

use super::{
    appliance::{self, FIRST_MONDAY_NANOS, INFOS_AT_ONCE, WEEK_NANOS},
    parts::{PART_BYTES, Parts},
};
use crate::{
    cli::FromAppliance,
    commands::{
        appliance::{Appliance, Incoming},
        bytes::bytes_text,
        lines,
        print::print_line,
        typed::moment,
    },
    failure::Failure,
    host::clock::now,
};

/// Weeks that are asked for at once.
const WINDOW_WEEKS: i64 = 4;
/// What is younger may not be where it is to be yet; it comes with the next run.
const LAG: Duration = Duration::from_secs(60);
/// Often enough for a network that fails for minutes: each wait is twice as long as the one before.
const TRIES: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(200);
const TELL_EVERY: Duration = Duration::from_secs(2);

pub(super) fn import(command: &FromAppliance, url: &str) -> Result<(), Failure> {
    let archiver = Appliance::at(url, command.retrieval.as_deref())?;
    let aliases = archiver.aliases()?;
    let names = names(command, &archiver, &aliases)?;
    eprintln!("{url}: {} PVs, {} aliases", names.len(), aliases.len());
    let infos = type_infos(&archiver, &names)?;
    let mut problems = Vec::new();
    let created: HashMap<&str, &str> =
        infos.iter().filter_map(|info| Some((info["pvName"].as_str()?, info["creationTime"].as_str()?))).collect();
    if command.dry_run {
        print_line(&format!("{} PVs and {} aliases would be imported", names.len(), aliases.len()))?;
        return Ok(());
    }
    appliance::send_type_infos(command, &infos)?;
    let mut run = Run {
        archiver: &archiver,
        parts: Parts::new(&command.server.url, &command.name, command.patience),
        state: State::open(command, url)?,
        throttle: command.throttle.map(|megabytes| megabytes * 1e6),
        begun: Instant::now(),
        told_at: Instant::now(),
        waiting: Vec::new(),
        missing: 0,
        unproven: HashSet::new(),
        failed: HashSet::new(),
    };
    let begin = moment(&command.from, now())?;
    let end = now().saturating_sub(LAG);
    for campaign in run.state.campaigns(TimeRange { t0: begin, t1: end })? {
        run.campaign(campaign, &names, &mut problems)?;
    }
    let Run { parts, state, failed, .. } = run;
    for name in &names {
        if let (Some(since), false) = (created.get(name.as_str()), state.had.contains(name)) {
            problems.push(format!("{name}: it gives no samples, though it has been in its list since {since}"));
        }
    }
    let aliases =
        aliases.into_iter().map(|(alias, pv)| json!({ "aliasName": alias, "srcPVName": pv })).collect::<Vec<_>>();
    appliance::send_aliases(command, url, &aliases, &mut problems)?;
    appliance::report(parts.total, &[], problems)?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("{} PVs could not be read to their end; begin the import again to go on", failed.len()).into())
}

/// The PVs that are wanted, without aliases.
fn names(command: &FromAppliance, archiver: &Appliance, aliases: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for glob in &command.pvs {
        names.extend(archiver.names(Some(glob))?);
    }
    if command.pvs.is_empty() {
        names = archiver.names(None)?;
    }
    names.sort();
    names.dedup();
    let aliases: HashSet<&str> = aliases.iter().map(|(alias, _)| alias.as_str()).collect();
    names.retain(|name| !aliases.contains(name.as_str()));
    Ok(names)
}

/// What its configuration says of each PV.
fn type_infos(archiver: &Appliance, names: &[String]) -> Result<Vec<Value>, Failure> {
    let (mut infos, mut told_at) = (Vec::new(), Instant::now());
    for name in names {
        infos.extend(archiver.type_info(name)?);
        if told_at.elapsed() >= TELL_EVERY {
            told_at = Instant::now();
            eprintln!("the configuration of {} of {} PVs", infos.len(), names.len());
        }
    }
    Ok(infos)
}

struct Run<'a> {
    archiver: &'a Appliance,
    parts: Parts<'a>,
    state: State,
    /// Bytes a second.
    throttle: Option<f64>,
    begun: Instant,
    told_at: Instant,
    /// What is to be written down when all that was gathered has been sent.
    waiting: Vec<(String, Place)>,
    /// Samples that had not been found again when something was written down last.
    missing: u64,
    /// PVs of which samples of this campaign may be missing: how far they come is not written down, because a place further back would say
    /// that all behind it is here. A later run asks for them again from where they were.
    unproven: HashSet<String>,
    /// PVs that could not be read to their end.
    failed: HashSet<String>,
}

/// How far a PV has come in a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// What lies before this is still to be asked for.
    Before(Timestamp),
    /// All of it is here.
    Done,
}

impl Run<'_> {
    /// All of a range: windows from the newest to the oldest, in each all PVs that may have something there.
    fn campaign(&mut self, range: TimeRange, names: &[String], problems: &mut Vec<String>) -> Result<(), Failure> {
        self.unproven.clear();
        // The next window of each PV; those with none are done.
        let mut left: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
        for name in names {
            let end = match self.state.place(range, name) {
                Some(Place::Done) => continue,
                Some(Place::Before(time)) => time.min(range.t1),
                None => range.t1,
            };
            left.entry(window_before(end)).or_default().push(name);
        }
        while let Some((window, pvs)) = left.pop_last() {
            let all = bounds(window);
            self.parts.label(&format!("weeks from {}", &all.t0.to_string()[..10]))?;
            let range_here = TimeRange { t0: all.t0.max(range.t0), t1: all.t1.min(range.t1) };
            let (mut done, count) = (0, pvs.len());
            for pv in pvs {
                let before = match self.window(pv, range_here)? {
                    Ok(before) => before,
                    Err(error) => {
                        problems.push(format!("{pv}: the archiver does not give it, {TRIES} times in a row: {error}"));
                        self.failed.insert(pv.to_owned());
                        continue;
                    }
                };
                let place = match before.filter(|before| *before >= range.t0) {
                    Some(before) => {
                        left.entry(window_before(Timestamp::from_nanos(before.nanos() + 1))).or_default().push(pv);
                        Place::Before(range_here.t0)
                    }
                    None => Place::Done,
                };
                self.waiting.push((pv.to_owned(), place));
                done += 1;
                if self.told_at.elapsed() >= TELL_EVERY {
                    self.told_at = Instant::now();
                    let total = &self.parts.total;
                    let (samples, bytes) = (total.samples, bytes_text(total.bytes));
                    let begins = &range_here.t0.to_string()[..10];
                    eprintln!("from {begins}: {done} of {count} PVs; {samples} samples, {bytes} in all");
                }
                if self.waiting.len() >= INFOS_AT_ONCE {
                    self.write_down(range)?;
                }
            }
            self.write_down(range)?;
        }
        Ok(())
    }

    /// Sends what was gathered, and then writes down how far its PVs have come; not of those of which something was not found afterwards,
    /// now or in a window before.
    fn write_down(&mut self, range: TimeRange) -> Result<(), Failure> {
        self.parts.flush()?;
        if std::mem::replace(&mut self.missing, self.parts.total.missing) < self.parts.total.missing {
            self.unproven.extend(self.waiting.drain(..).map(|(pv, _)| pv));
        }
        for (pv, place) in self.waiting.drain(..).filter(|(pv, _)| !self.unproven.contains(pv)) {
            self.state.write(range, &pv, place)?;
        }
        Ok(())
    }

    /// A window of a PV; gives a time before which the next sample may lie, none if there is none before. An answer that breaks off is
    /// asked for again from where it was, and one that ends is asked once whether that is all. Who says twice that it does not know the PV
    /// is believed.
    fn window(&mut self, pv: &str, range: TimeRange) -> Result<io::Result<Option<Timestamp>>, Failure> {
        let (mut from, mut before, mut failures, mut ended, mut is_unknown) = (range.t0, None, 0, false, false);
        while from < range.t1 {
            let mut passing = match self.archiver.samples(pv, TimeRange { t0: from, t1: range.t1 }) {
                Ok(Some(answer)) => {
                    Passing { relay: Relay::new(answer, TimeRange { t0: from, t1: range.t1 }), failed: None }
                }
                Ok(None) => {
                    let error = io::Error::other("it does not know the PV");
                    if std::mem::replace(&mut is_unknown, true) {
                        return Ok(Err(error));
                    }
                    Passing::failed(range, error)
                }
                Err(error) => Passing::failed(range, error),
            };
            self.pass(&mut passing)?;
            let Passing { relay, failed } = passing;
            // A sample at the very beginning hides the one before it. Asked from within the window, what is before is no news.
            if from == range.t0 {
                let hidden = relay.first.filter(|first| *first == range.t0);
                before = before.max(relay.before).max(hidden.map(|first| Timestamp::from_nanos(first.nanos() - 1)));
            }
            if let Some(last) = relay.last {
                self.state.had.insert(pv.to_owned());
                from = Timestamp::from_nanos(last.nanos() + 1);
                failures = 0;
            }
            match failed {
                None if ended && relay.last.is_none() => break,
                None => ended = true,
                Some(error) => {
                    failures += 1;
                    if failures >= TRIES {
                        return Ok(Err(error));
                    }
                    thread::sleep(FIRST_WAIT * 2u32.saturating_pow(failures - 1));
                }
            }
        }
        Ok(Ok(before))
    }

    /// One answer. What the other side fails at stays in it; what our own archiver refuses ends the import.
    fn pass(&mut self, passing: &mut Passing) -> Result<(), Failure> {
        while passing.failed.is_none() {
            match passing.relay.next(PART_BYTES) {
                Ok(None) => break,
                Ok(Some(chunk)) => self.parts.add(&chunk)?,
                Err(error) => passing.failed = Some(error),
            }
            if let Some(rate) = self.throttle {
                let due = Duration::from_secs_f64((self.parts.total.bytes as f64 / rate).min(1e9));
                thread::sleep(due.saturating_sub(self.begun.elapsed()));
            }
        }
        Ok(())
    }
}

/// An answer on its way, and how it failed.
struct Passing {
    relay: Relay<Incoming>,
    failed: Option<io::Error>,
}

impl Passing {
    /// No answer.
    fn failed(range: TimeRange, error: io::Error) -> Passing {
        Passing { relay: Relay::new(Box::new(io::empty()), range), failed: Some(error) }
    }
}

/// The window that a time is the end of, or lies in.
fn window_before(end: Timestamp) -> i64 {
    (end.nanos() - 1 - FIRST_MONDAY_NANOS).div_euclid(WINDOW_WEEKS * WEEK_NANOS)
}

fn bounds(window: i64) -> TimeRange {
    let start = |window: i64| {
        Timestamp::from_nanos(FIRST_MONDAY_NANOS.saturating_add(window.saturating_mul(WINDOW_WEEKS * WEEK_NANOS)))
    };
    TimeRange { t0: start(window), t1: start(window + 1) }
}

/// How far an import has come, as lines of JSON: one for each campaign, and one for each PV and window.
struct State {
    path: PathBuf,
    file: std::fs::File,
    campaigns: Vec<TimeRange>,
    places: HashMap<(i64, String), Place>,
    /// PVs that gave samples.
    had: HashSet<String>,
}

impl State {
    fn open(command: &FromAppliance, url: &str) -> Result<State, Failure> {
        let path = command.state.clone().unwrap_or_else(|| format!("pvark-import-{}.jsonl", command.name).into());
        let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
        let file = OpenOptions::new().read(true).append(true).create(true).truncate(false).open(&path);
        let file = file.map_err(failed)?;
        let (mut campaigns, mut places, mut had) = (Vec::new(), HashMap::new(), HashSet::new());
        let mut head: Option<Value> = None;
        let whole = lines::whole(&file, |value| {
            let time = |key: &str| value[key].as_str().and_then(|text| Timestamp::parse(text).ok());
            if let Some((t0, t1)) = time("from").zip(time("to")) {
                campaigns.push(TimeRange { t0, t1 });
            }
            if let (Some(pv), Some(of)) = (value["pv"].as_str(), time("of")) {
                let place = time("before").map_or(Place::Done, Place::Before);
                places.insert((of.nanos(), pv.to_owned()), place);
                had.insert(pv.to_owned());
            }
            head.get_or_insert(value);
        })?;
        let wanted = json!({ "import": url, "into": command.server.url });
        match &head {
            None if file.metadata()?.len() > 0 => {
                return Err(
                    format!("{} is no state of an import; name another file with --state", path.display()).into()
                );
            }
            None => {}
            Some(head) if head["import"] == wanted["import"] && head["into"] == wanted["into"] => {}
            Some(head) => {
                let path = path.display();
                return Err(
                    format!("{path} is the state of another import ({head}); name another file with --state").into()
                );
            }
        }
        file.set_len(whole)?;
        let mut state = State { path, file, campaigns, places, had };
        if head.is_none() {
            state.put(&wanted)?;
        }
        Ok(state)
    }

    fn put(&mut self, line: &Value) -> Result<(), Failure> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()).into())
    }

    /// What is to be done: what earlier runs began, and what has come since then.
    fn campaigns(&mut self, all: TimeRange) -> Result<Vec<TimeRange>, Failure> {
        let t0 = self.campaigns.iter().map(|campaign| campaign.t1).max().unwrap_or(all.t0);
        if t0 < all.t1 {
            self.campaigns.push(TimeRange { t0, t1: all.t1 });
            self.put(&json!({ "from": t0.to_string(), "to": all.t1.to_string() }))?;
        }
        Ok(self.campaigns.clone())
    }

    fn place(&self, campaign: TimeRange, pv: &str) -> Option<Place> {
        self.places.get(&(campaign.t1.nanos(), pv.to_owned())).copied()
    }

    fn write(&mut self, campaign: TimeRange, pv: &str, place: Place) -> Result<(), Failure> {
        let before = match place {
            Place::Before(time) => Some(time.to_string()),
            Place::Done => None,
        };
        self.put(&json!({ "pv": pv, "of": campaign.t1.to_string(), "before": before }))
    }
}

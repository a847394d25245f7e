//! `pvark compare`: two archives of the same PVs, sample by sample: what is equal, what one of them lost, what differs, and why. It says
//! "equal" of what it has read to its end on both sides, and of nothing else.

mod journal;
mod outcome;
mod report;
mod side;
mod walk;
mod why;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs, io,
    sync::{
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use archive::PvId;
use sample::{Metadata, TimeRange, Timestamp};
use serde_json::{Value, json};
use store::{Purpose, Store};

use self::{
    journal::{Earlier, Journal},
    outcome::Kind,
    side::{Side, Source},
    walk::Walk,
    why::{Here, Reasons},
};
use super::{appliance::Appliance, http::encoded, print::print_line, table, typed::moment};
use crate::{
    cli::{self, CompareArgs},
    config::Config,
    failure::{Differs, Failure},
    host::{clock::now, runtime, signals::StopSignal},
};

/// So far back it goes if nothing else is said.
const DEFAULT_FROM: &str = "-7d";
/// While it follows, it looks at what is new so often.
const ROUND: Duration = Duration::from_secs(10);
const TELL_EVERY: Duration = Duration::from_secs(2);
/// So many names are told of PVs and aliases that only one of the two has.
const NAMES_MAX: usize = 100;

/// Our side: an archiver that answers, or the folder of one that does not run.
enum OwnSide {
    Server(Appliance),
    Folder(Box<Store>),
}

struct Comparison<'a> {
    command: &'a CompareArgs,
    ours: OwnSide,
    theirs: Appliance,
    accepted: Vec<Kind>,
    /// Samples that were looked at, for whoever waits.
    looked_at: AtomicU64,
}

/// Which PVs are compared.
#[derive(Default)]
struct Names {
    pvs: Vec<String>,
    /// If all are compared: those that only we have, and their aliases that we have not.
    only_here: Vec<String>,
    aliases_missing: Vec<String>,
}

pub(crate) fn run(command: &CompareArgs) -> Result<(), Failure> {
    if let Some(path) = &command.report {
        report::Form::of(path)?; // a wrong name is told before hours of work
    }
    let theirs = Appliance::at(&command.other, command.retrieval.as_deref())?;
    let ours = match &command.data {
        None => OwnSide::Server(Appliance::at(&command.server.url, None)?),
        Some(folder) => {
            let options = cli::Run { data: Some(folder.clone()), ..cli::Run::default() };
            if !folder.is_dir() {
                return Err(format!("{} is no folder", folder.display()).into());
            }
            let config = store::Config { purpose: Purpose::Read, ..Config::load(&options, |_| None)?.store };
            OwnSide::Folder(Box::new(Store::open(config, now())?))
        }
    };
    let accepted = Kind::ALL.into_iter().filter(|kind| command.accept.iter().any(|name| name == kind.name())).collect();
    let comparison = Comparison { command, ours, theirs, accepted, looked_at: AtomicU64::new(0) };
    let follows = command.follow || command.follow_for.is_some();
    let range = if follows { comparison.follow()? } else { comparison.range()? };
    comparison.compare(range)
}

impl Comparison<'_> {
    /// The range of history that was asked for, as far as both must have it.
    fn range(&self) -> Result<TimeRange, Failure> {
        let (now, command) = (now(), self.command);
        let from = moment(command.from.as_deref().unwrap_or(DEFAULT_FROM), now)?;
        let to = moment(&command.to, now)?.min(now.saturating_sub(command.lag));
        Ok(TimeRange::new(from, to)?)
    }

    /// Looks at what is new again and again, until it is told to stop or the time is over; gives the range that is to be compared then,
    /// from its beginning, because either may have been late.
    fn follow(&self) -> Result<TimeRange, Failure> {
        let runtime = runtime::start("signals", |_| {})?;
        let _tasks_run_here = runtime.enter();
        let stop = StopSignal::on_signals()?;
        let begun = now();
        let from = moment(self.command.from.as_deref().unwrap_or("now"), begun)?;
        let end = self.command.follow_for.map_or(Timestamp::MAX, |span| begun.saturating_add(span));
        let names = self.names()?.pvs;
        let (mut cursor, mut stopped_at, mut round) = (from, None, Instant::now());
        loop {
            if stop.wait_a_second() {
                stopped_at.get_or_insert(now().min(end));
            }
            let end = stopped_at.unwrap_or(end);
            let settled = now().saturating_sub(self.command.lag);
            if settled >= end {
                return Ok(TimeRange::new(from, end)?);
            }
            if stopped_at.is_none() && round.elapsed() >= ROUND && settled > cursor {
                round = Instant::now();
                let (mut equal, mut unequal) = (0, Vec::new());
                self.each(&names, TimeRange { t0: cursor, t1: settled }, &mut |line| {
                    equal += line["equal"].as_u64().unwrap_or(0);
                    if line["status"] != "equal" {
                        unequal.push(format!("{} {}", table::text(&line["pv"]), table::text(&line["status"])));
                    }
                    Ok(())
                })?;
                eprintln!("until {settled}: {equal} samples more are equal; {}", some_of(&unequal, "no PV differs"));
                cursor = settled;
            }
        }
    }

    /// Compares a range of all PVs, and tells of it in every way that is wanted.
    fn compare(&self, range: TimeRange) -> Result<(), Failure> {
        let command = self.command;
        let beside = command.report.as_ref().map(|report| report.with_added_extension("jsonl"));
        let path = command.state.clone().or(beside.filter(|_| !command.follow && command.follow_for.is_none()));
        let (mut journal, earlier) = Journal::open(path.as_deref())?;
        let mut head = self.head(range);
        if let Some(Earlier { head: known, .. }) = &earlier
            && known["asked"] != head["asked"]
        {
            let path = journal.path.display();
            return Err(format!(
                "{path} is the journal of another comparison ({}); name another file with --state, or remove it",
                known["asked"]
            )
            .into());
        }
        let names = self.names()?;
        let (mut range, mut done) = (range, HashSet::new());
        match earlier.filter(|earlier| !earlier.has_ended) {
            Some(Earlier { head: known, done: known_done, .. }) => {
                let time = |key: &str| known[key].as_str().and_then(|text| Timestamp::parse(text).ok());
                let (t0, t1) = time("from").zip(time("to")).ok_or("the journal does not say which range it is of")?;
                (range, done, head) = (TimeRange { t0, t1 }, known_done, known);
                eprintln!("{} PVs have been compared before, from {t0} to {t1}; it goes on behind them", done.len());
            }
            None => journal.begin(&head)?,
        }
        let left: Vec<String> = names.pvs.iter().filter(|pv| !done.contains(*pv)).cloned().collect();
        self.each(&left, range, &mut |line| Ok(journal.write(&line)?))?;
        let total = self.tell(&journal, &head, &names)?;
        if let Some(path) = &command.report {
            report::write(path, &journal, &head, &total)?;
            eprintln!("the report is in {}", path.display());
        }
        let count = |key: &str| total[key].as_u64().unwrap_or(0);
        let (differing, failed) = (count("pvs_differing"), count("pvs_failed"));
        // What failed is asked for again when it is begun again; if nothing did, it begins anew.
        if failed == 0 {
            journal.end(now())?;
        }
        match () {
            () if failed > 0 => Err(format!(
                "{failed} of {} PVs could not be compared to their end; begin it again to go on",
                count("pvs")
            )
            .into()),
            () if total["is_equal"] == true => Ok(()),
            () => {
                let aliases = count("aliases_missing");
                Err(Differs(format!("{differing} of {} PVs differ, {aliases} aliases are missing here", count("pvs")))
                    .into())
            }
        }
    }

    /// What is compared with what, by whom and when.
    fn head(&self, range: TimeRange) -> Value {
        let CompareArgs { other, pvs, list, from, to, stamps_within, accept, follow, follow_for, .. } = self.command;
        let (here, version) = match &self.ours {
            OwnSide::Server(ours) => (ours.url.clone(), ours.version()),
            OwnSide::Folder(_) => {
                let folder = self.command.data.as_deref().map(|folder| folder.display().to_string());
                (folder.unwrap_or_default(), format!("pvark {}", env!("CARGO_PKG_VERSION")))
            }
        };
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        json!({
            // The words of the command, which must be the same when it is begun again.
            "asked": {
                "here": here, "there": other, "pvs": pvs, "list": list, "from": from, "to": to, "accept": accept,
                "stamps_within_seconds": stamps_within.as_secs_f64(),
                "follow": follow, "for_seconds": follow_for.map(|span| span.as_secs_f64()),
            },
            "here": here,
            "version_here": version,
            "there": self.theirs.url,
            "version_there": self.theirs.version(),
            "from": range.t0.to_string(),
            "to": range.t1.to_string(),
            "followed": *follow || follow_for.is_some(),
            "by": std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default(),
            "host": host.trim(),
            "begun": now().to_string(),
        })
    }

    /// The PVs to be compared: those that were named, or all that the other archiver has, without its aliases.
    fn names(&self) -> Result<Names, Failure> {
        let mut wanted = self.command.pvs.clone();
        if let Some(list) = &self.command.list {
            let text =
                if list.as_os_str() == "-" { io::read_to_string(io::stdin())? } else { fs::read_to_string(list)? };
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            wanted.extend(lines.map(str::to_owned));
        }
        if wanted.is_empty() && self.command.list.is_none() {
            return self.all_names();
        }
        let mut pvs = BTreeSet::new();
        for name in wanted {
            match name.contains(['*', '?']) {
                true => pvs.extend(self.theirs.names(Some(&name))?),
                false => _ = pvs.insert(name),
            }
        }
        if pvs.is_empty() {
            return Err(format!("{} has no PV of these names", self.theirs.url).into());
        }
        Ok(Names { pvs: pvs.into_iter().collect(), ..Names::default() })
    }

    fn all_names(&self) -> Result<Names, Failure> {
        let aliases: HashMap<String, String> = self.theirs.aliases()?.into_iter().collect();
        let (ours, our_aliases): (Vec<String>, HashMap<String, String>) = match &self.ours {
            OwnSide::Server(ours) => (ours.names(None)?, ours.aliases()?.into_iter().collect()),
            OwnSide::Folder(store) => {
                let reader = store.reader();
                let aliases = reader.aliases().into_iter();
                (
                    reader.entries().into_iter().map(|entry| entry.name.to_string()).collect(),
                    aliases.map(|(alias, entry)| (alias.to_string(), entry.name.to_string())).collect(),
                )
            }
        };
        let pvs: BTreeSet<String> =
            self.theirs.names(None)?.into_iter().filter(|name| !aliases.contains_key(name)).collect();
        let is_theirs =
            |name: &String| pvs.contains(name) || aliases.contains_key(name) || our_aliases.contains_key(name);
        let only_here = ours.into_iter().filter(|name| !is_theirs(name)).collect();
        let missing = aliases.iter().filter(|(alias, pv)| our_aliases.get(*alias) != Some(*pv));
        let mut aliases_missing: Vec<String> = missing.map(|(alias, pv)| format!("{alias} of {pv}")).collect();
        aliases_missing.sort();
        Ok(Names { pvs: pvs.into_iter().collect(), only_here, aliases_missing })
    }

    /// Compares a range of PVs, some of them at a time, and shows what came of each.
    fn each(
        &self,
        pvs: &[String],
        range: TimeRange,
        see: &mut dyn FnMut(Value) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (tell, told) = mpsc::sync_channel(64);
        thread::scope(|scope| {
            for _ in 0..usize::from(self.command.jobs).min(pvs.len()) {
                let (next, stop, tell) = (&next, &stop, tell.clone());
                scope.spawn(move || {
                    while let Some(pv) = pvs.get(next.fetch_add(1, Relaxed)).filter(|_| !stop.load(Relaxed)) {
                        if tell.send(self.pv(pv, range)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(tell);
            let (begun, mut done, mut unequal) = (Instant::now(), 0, 0);
            let mut told_at = begun;
            loop {
                match told.recv_timeout(TELL_EVERY) {
                    Ok(line) => {
                        done += 1;
                        unequal += usize::from(line["status"] != "equal");
                        if let Err(error) = see(line) {
                            stop.store(true, Relaxed);
                            return Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                if told_at.elapsed() >= TELL_EVERY {
                    told_at = Instant::now();
                    let samples = self.looked_at.load(Relaxed) as f64 / 1e6;
                    let rate = samples / begun.elapsed().as_secs_f64();
                    let all = pvs.len();
                    eprintln!("{done} of {all} PVs, {unequal} not equal; {samples:.1} M samples, {rate:.2} M a second");
                }
            }
        })
    }

    /// Compares a PV. What cannot be read to its end has failed, whatever was equal until then.
    fn pv(&self, pv: &str, range: TimeRange) -> Value {
        let mut line = match self.try_pv(pv, range) {
            Ok(line) => line,
            Err(error) => json!({ "status": "failed", "message": error.to_string() }),
        };
        line["pv"] = pv.into();
        line
    }

    fn try_pv(&self, pv: &str, range: TimeRange) -> Result<Value, Failure> {
        let remote = |archiver| Source::Remote { archiver, pv, answer: None };
        let there = Side::open(remote(&self.theirs), range, Metadata::default())?;
        let reader = match &self.ours {
            OwnSide::Server(_) => None,
            OwnSide::Folder(store) => Some(store.reader()),
        };
        let id: Option<PvId> = reader.as_ref().and_then(|reader| reader.find(pv)).map(|entry| entry.id);
        let (here, reasons_here) = match (&self.ours, &reader) {
            (OwnSide::Server(ours), _) => {
                (Side::open(remote(ours), range, Metadata::default())?, Here::Server(&self.command.server))
            }
            (OwnSide::Folder(_), Some(reader)) => {
                let side = id.map(|id| -> Result<_, Failure> {
                    let metadata = reader.metadata(id, range)?.pop().map(|(_, metadata)| metadata);
                    let samples = Source::Store(Box::new(reader.samples(id, range)));
                    Side::open(samples, range, metadata.unwrap_or_default())
                });
                (side.transpose()?.flatten(), Here::Store(reader, id))
            }
            (OwnSide::Folder(_), None) => unreachable!("a folder has a reader"),
        };
        let nobody = || Side::open(Source::Nothing, range, Metadata::default());
        let unknown = match (&here, &there) {
            (None, None) => return Err("neither of the two knows this PV".into()),
            (None, _) => Some("not in the list here"),
            (_, None) => Some("not in the list there"),
            _ => None,
        };
        let (Some(mut here), Some(mut there)) =
            (here.map_or_else(nobody, |side| Ok(Some(side)))?, there.map_or_else(nobody, |side| Ok(Some(side)))?)
        else {
            unreachable!("nobody is somebody")
        };
        let reasons = Reasons::new(pv, range, reasons_here, &self.theirs);
        let walk = Walk::new(reasons, self.command.stamps_within, &self.looked_at);
        let outcome = walk.compare(&mut here, &mut there)?;
        let mut line = outcome.as_json();
        let is_equal = outcome.is_equal(&[]) && unknown.is_none();
        let is_accepted = outcome.is_equal(&self.accepted) && unknown.is_none();
        line["status"] = if is_equal {
            "equal"
        } else if is_accepted {
            "accepted"
        } else {
            "differs"
        }
        .into();
        line["message"] = unknown.into();
        line["links"] = json!({
            "there": self.theirs.samples_url(pv, range, "json"),
            "here": match &self.ours {
                OwnSide::Server(ours) => Some(format!("{}/?pv={}&from={}&to={}", ours.url, encoded(pv), range.t0, range.t1)),
                OwnSide::Folder(_) => None,
            },
        });
        Ok(line)
    }

    /// Prints what came of it, and gives the totals.
    fn tell(&self, journal: &Journal, head: &Value, names: &Names) -> Result<Value, Failure> {
        let wanted: HashSet<&str> = names.pvs.iter().map(String::as_str).collect();
        let keys = || ["equal"].into_iter().chain(Kind::ALL.map(Kind::name));
        let mut sums: HashMap<&str, u64> = HashMap::new();
        let mut rows =
            vec![["pv", "status"].into_iter().chain(keys()).chain(["why"]).map(str::to_owned).collect::<Vec<_>>()];
        let mut more = 0;
        journal.each(&mut |line| {
            if !wanted.contains(line["pv"].as_str().unwrap_or_default()) {
                return Ok(());
            }
            let status = match line["status"].as_str() {
                Some("equal") => "pvs_equal",
                Some("accepted") => "pvs_accepted",
                Some("differs") => "pvs_differing",
                _ => "pvs_failed",
            };
            *sums.entry(status).or_default() += 1;
            *sums.entry("pvs").or_default() += 1;
            for key in keys().chain(["read_again"]) {
                *sums.entry(key).or_default() += line[key].as_u64().unwrap_or(0);
            }
            if self.command.json {
                return Ok(print_line(&line.to_string())?);
            }
            if status != "pvs_equal" && rows.len() <= self.command.limit {
                let cells = ["pv", "status"].into_iter().chain(keys()).map(|key| table::text(&line[key]));
                rows.push(cells.chain([reason(&line)]).collect());
            } else if status != "pvs_equal" {
                more += 1;
            }
            Ok(())
        })?;
        let total = total(&sums, head, names);
        if self.command.json {
            print_line(&json!({ "total": total }).to_string())?;
            return Ok(total);
        }
        if rows.len() > 1 {
            table::aligned(&rows).iter().try_for_each(|line| print_line(line))?;
        }
        if more > 0 {
            print_line(&format!("… and {more} PVs more: see --limit, --json and --report"))?;
        }
        let sum = |key: &str| sums.get(key).copied().unwrap_or(0);
        print_line(&format!(
            "{} PVs from {} to {}: {} equal, {} accepted, {} differ, {} failed; {} samples equal, {} only here, {} only there",
            sum("pvs"),
            table::text(&head["from"]),
            table::text(&head["to"]),
            sum("pvs_equal"),
            sum("pvs_accepted"),
            sum("pvs_differing"),
            sum("pvs_failed"),
            sum("equal"),
            sum("lost_there"),
            sum("lost_here"),
        ))?;
        if !names.only_here.is_empty() {
            print_line(&format!("only here: {}", some_of(&names.only_here, "")))?;
        }
        if !names.aliases_missing.is_empty() {
            print_line(&format!("aliases that are not here: {}", some_of(&names.aliases_missing, "")))?;
        }
        Ok(total)
    }
}

/// The totals of all PVs.
fn total(sums: &HashMap<&str, u64>, head: &Value, names: &Names) -> Value {
    let keys = ["equal"].into_iter().chain(Kind::ALL.map(Kind::name));
    let sum = |key: &str| sums.get(key).copied().unwrap_or(0);
    let is_equal = sum("pvs_equal") + sum("pvs_accepted") == sum("pvs") && names.aliases_missing.is_empty();
    let mut total = json!({
        "from": head["from"], "to": head["to"], "here": head["here"], "there": head["there"], "is_equal": is_equal,
        "ended": now().to_string(),
        "only_here": names.only_here.len(), "only_here_names": names.only_here.iter().take(NAMES_MAX).collect::<Vec<_>>(),
        "aliases_missing": names.aliases_missing.len(),
        "aliases_missing_names": names.aliases_missing.iter().take(NAMES_MAX).collect::<Vec<_>>(),
    });
    let counted = ["pvs", "pvs_equal", "pvs_accepted", "pvs_differing", "pvs_failed", "read_again"];
    for key in counted.into_iter().chain(keys) {
        total[key] = sum(key).into();
    }
    total
}

/// The reason that counts most of what differs in a PV, or what it failed of.
fn reason(line: &Value) -> String {
    let differences = table::list(&line["differences"]);
    let most = differences.iter().max_by_key(|difference| difference["count"].as_u64());
    match (&line["message"], most) {
        (Value::String(message), _) => message.clone(),
        (_, Some(most)) => table::text(&most["why"]),
        _ => String::new(),
    }
}

/// The first few of many names.
fn some_of(names: &[String], none: &str) -> String {
    match names {
        [] => none.to_owned(),
        names if names.len() <= 5 => names.join(", "),
        names => format!("{} and {} more", names[..5].join(", "), names.len() - 5),
    }
}

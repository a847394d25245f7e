//! The bench of the storage engine: which cases there are, and how one is run, each in a process of its own.

use std::{
    cell::RefCell,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use clap::Args;
use sample::Timestamp;
use store::{Config, Store};

use crate::{
    cases::{self, Case},
    measure::{self, Form, Measurement},
    workload::{START, Signal},
};

/// Nothing that the store does by itself is waited for longer.
const PATIENCE: Duration = Duration::from_secs(600);

/// So long after any moment its week is over for everybody.
pub(crate) const AFTER_THE_WEEK: Duration = Duration::from_secs(14 * 86_400);

#[derive(Args)]
pub(crate) struct Options {
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Only these cases, or all whose names begin with these and a hyphen.
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    only: Vec<String>,
    /// Run the cases in this process, which then starts no other.
    #[arg(long, hide = true)]
    here: bool,
    /// The names of the cases, and what each measures.
    #[arg(long)]
    list: bool,
    /// The seed of all workloads.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How much of everything; ingest, sizes and many PVs are never measured with less than 1 stands for.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Where to put the archives; large ones stay there and are used again. A temporary folder if not given.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The Python with what tools/requirements-rivals.txt names, for the comparison with other databases.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
}

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let wanted = wanted(&options.only);
    if options.list {
        wanted.iter().for_each(|case| measure::tell(&format!("{:<16} {}", case.name, case.what)));
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    fs::create_dir_all(&folder)?;
    match wanted[..] {
        [] => Err("no case has such a name; --list shows them".into()),
        [case] => run_here(case, options, folder),
        _ if options.here => wanted.iter().try_for_each(|case| run_here(case, options, folder.clone())),
        _ => run_all(&wanted, options, &folder),
    }
}

/// The cases of these names; all, if there are none. A name in full is that case alone.
pub(crate) fn wanted(names: &[String]) -> Vec<&'static Case> {
    let is_meant = |case: &&Case, name: &String| {
        let in_full = cases::ALL.iter().any(|other| other.name == name);
        case.name == name
            || (!in_full && case.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('-')))
    };
    cases::ALL.iter().filter(|case| names.is_empty() || names.iter().any(|name| is_meant(case, name))).collect()
}

/// All of them, even if one fails.
fn run_all(cases: &[&Case], options: &Options, folder: &Path) -> Outcome<()> {
    let mut failed = Vec::new();
    for case in cases {
        if let Err(error) = run_apart(case, options, folder) {
            failed.push(error.to_string());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

/// A case has a process of its own, so that its memory and its processor time are nobody else's.
fn run_apart(case: &Case, options: &Options, folder: &Path) -> Outcome<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["store", "--here", "--only", case.name]).arg("--folder").arg(folder);
    command.arg("--python").arg(&options.python);
    command.args(["--seed", &options.seed.to_string(), "--scale", &options.scale.to_string()]);
    if options.json {
        command.arg("--json");
    }
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("the case {} failed", case.name).into()) }
}

fn run_here(case: &Case, options: &Options, folder: PathBuf) -> Outcome<()> {
    let form = if options.json { Form::Json } else { Form::Table };
    let Options { seed, scale, ref python, .. } = *options;
    let (python, scratch) = (python.clone(), RefCell::default());
    let bench = CaseBench { case: case.name, folder, seed, scale, python, form, scratch };
    let done = (case.run)(&bench);
    for folder in bench.scratch.take() {
        fs::remove_dir_all(folder)?;
    }
    done
}

/// What a case works with.
pub(crate) struct CaseBench {
    case: &'static str,
    folder: PathBuf,
    pub(crate) seed: u64,
    pub(crate) scale: f64,
    pub(crate) python: PathBuf,
    form: Form,
    /// Archives that no other case needs.
    scratch: RefCell<Vec<PathBuf>>,
}

impl CaseBench {
    pub(crate) fn tell(&self, metric: &str, value: f64, unit: &str) {
        measure::print(&Measurement { bench: "store", case: self.case, metric, value, unit }, self.form);
    }

    /// Prints what another program has measured, a line of JSON, as this one prints its own.
    pub(crate) fn pass_on(&self, line: &str) -> Outcome<()> {
        let measured: serde_json::Value = serde_json::from_str(line)?;
        let text = |key: &str| measured[key].as_str().ok_or_else(|| format!("{line} has no {key}"));
        let value = measured["value"].as_f64().ok_or_else(|| format!("{line} has no value"))?;
        let (bench, metric, unit) = (text("bench")?, text("metric")?, text("unit")?);
        measure::print(&Measurement { bench, case: self.case, metric, value, unit }, self.form);
        Ok(())
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A new archive, which goes when the case is over.
    pub(crate) fn new_store(&self, name: &str, adjust: impl FnOnce(&mut Config)) -> Outcome<Store> {
        self.scratch.borrow_mut().push(self.folder(name));
        self.new_kept_store(name, adjust)
    }

    /// A new archive for other cases, in place of what an earlier run left under that name.
    pub(crate) fn new_kept_store(&self, name: &str, adjust: impl FnOnce(&mut Config)) -> Outcome<Store> {
        let folder = self.folder(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        open(&folder, now(), adjust)
    }

    /// `count` signals of the kinds and paces given, each with a seed of its own.
    pub(crate) fn signals(&self, count: usize, make: impl Fn(usize, u64) -> Signal) -> Vec<Signal> {
        (0..count).map(|number| make(number, self.seed * 1_000_003 + number as u64)).collect()
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_nanos(START)
}

pub(crate) fn open(folder: &Path, now: Timestamp, adjust: impl FnOnce(&mut Config)) -> Outcome<Store> {
    let mut config = Config::new(folder);
    adjust(&mut config);
    Ok(Store::open(config, now)?)
}

pub(crate) fn register(store: &Store, count: usize) -> Outcome<Vec<PvId>> {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
    let names: Result<Vec<_>, _> = (0..count).map(|i| PvName::new(&format!("LAB:{i:07}"))).collect();
    let pvs: Vec<_> = names?.into_iter().map(|name| (name, settings.clone())).collect();
    let entries = store.writer().register(&pvs, &By::new("the lab", now()))?;
    Ok(entries.iter().map(|entry| entry.id).collect())
}

/// Appends; a full head is answered by waiting, as acquisition does. Gives how often it was refused.
pub(crate) fn append(store: &Store, records: &[(PvId, Record)]) -> Outcome<u32> {
    let mut refused = 0;
    while let Err(error) = store.writer().append(records, now()) {
        if !matches!(error, store::Error::Busy) {
            return Err(error.into());
        }
        refused += 1;
    }
    Ok(refused)
}

/// Puts what is in the head into a segment, and waits until it is there.
pub(crate) fn flush(store: &Store) -> Outcome<()> {
    let flushes = store.reader().health().flushes;
    store.tick(now().saturating_add(Duration::from_secs(3600)));
    wait(|| store.reader().health().flushes > flushes)
}

/// Appends all that the signals give, flushes it in eight parts, and has these merged.
pub(crate) fn fill(store: &Store, pvs: &[PvId], signals: &mut [Signal], rows: usize) -> Outcome<()> {
    for part in 0..8 {
        let rows = rows * (part + 1) / 8 - rows * part / 8;
        for (pv, signal) in pvs.iter().zip(signals.iter_mut()) {
            let mut left = rows;
            while left > 0 {
                let batch = signal.batch(left.min(8192));
                left -= batch.len();
                append(store, &[(*pv, Record::Samples(batch))])?;
            }
        }
        flush(store)?;
    }
    merge(store, now())
}

/// Tells the store that the week of `last` is over, and waits until it has merged and sealed what was written.
pub(crate) fn merge(store: &Store, last: Timestamp) -> Outcome<()> {
    store.tick(last.saturating_add(AFTER_THE_WEEK));
    wait(|| store.reader().health().weeks_pending == 0)
}

pub(crate) fn wait(mut done: impl FnMut() -> bool) -> Outcome<()> {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        if Instant::now() > deadline {
            return Err(format!("the store did not come to rest within {} s", PATIENCE.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        wanted(&only).iter().map(|case| case.name).collect()
    }

    #[test]
    fn the_name_of_a_case_means_that_case_alone() {
        for case in cases::ALL {
            assert_eq!(names(&[case.name]), [case.name]);
        }
    }

    #[test]
    fn the_beginning_of_a_name_means_all_that_begin_so() {
        assert_eq!(names(&["ingest-150k", "query"]), ["ingest-150k-1", "ingest-150k-10", "query"]);
        assert_eq!(names(&["ingest-15"]), [""; 0], "but not within a word");
    }
}

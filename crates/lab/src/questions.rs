//! `pvark-lab questions`: what the questions of operators and physicists take of a running archiver: views, formulas, snapshots, what changed.
//!
//! ```text
//!   Q:00 … Q:19      a sample a second for a year            views, formulas
//!   P:000 … P:279    one a minute for a year                 what changed around a trip, with the twenty
//!   S:00000 …        one each half an hour for two days      snapshots of very many
//!   T:BEAM           one a minute, and lost three times      when it was lost
//! ```

use std::{fs, path::Path, time::Duration};

use archive::{By, Method, Protocol, PvId, PvName, PvSettings, PvState, Record, Sink};
use clap::Args;
use sample::{Alarm, Batch, Column, Runs, Timestamp};
use store::{Config, Durable, Store};

use crate::{
    http::{Connection, address},
    measure::tell,
    store_bench::{Outcome, merge},
    trial::{Archiver, Setup, Usage},
    workload::{Kind, Pace, START, Signal},
};

pub(crate) const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
pub(crate) const DAY: i64 = 86_400 * SECOND;
pub(crate) const YEAR: i64 = 365 * DAY;
/// The year ends where workloads begin, so that all of it is over.
const BEGIN: i64 = START - YEAR;
const FAST: usize = 20;
const SLOW: usize = 280;
const MANY: usize = 100_000;
/// The store's clock goes on by so much at a time.
const STRIDE: i64 = 7 * DAY;

/// The bars, in milliseconds.
const VIEW_MS: f64 = 60.0;
const FORMULA_MS: f64 = 50.0;
const SNAPSHOT_MS: f64 = 500.0;
const DIFF_MS: f64 = 1000.0;
const TRIP_MS: f64 = 5000.0;
/// A tenth of a view, with what each PV has beside its bins.
const PANNED_PART: f64 = 0.2;

#[derive(Args)]
pub(crate) struct Options {
    /// How often each question is asked.
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// How much of everything: with 0.1 a tenth of the samples, and of the PVs of snapshots.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    setup: Setup,
}

/// A group of PVs that are alike.
struct Group {
    names: Vec<String>,
    begin: i64,
    period: i64,
    kind: Kind,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let temporary = tempfile::tempdir()?;
    let folder = options.setup.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    let many = (MANY as f64 * options.scale) as usize;
    make(&folder, options.scale, many)?;
    let cores = options.setup.archiver_cores.as_deref();
    let archiver = Archiver::start(&options.setup.program()?, cores, &folder, &[], &options.setup.config)?;
    let ask = Asking { archiver: &archiver, rounds: options.rounds.max(1) };
    let (from, to) = (Timestamp::from_nanos(BEGIN), Timestamp::from_nanos(START));

    let pvs: String = (0..FAST).map(|number| format!("&pv=Q:{number:02}")).collect();
    let view = ask.measure(&format!("/api/v1/view?from={from}&to={to}&bins=2000{pvs}"))?;
    print("view, 20 PVs, 1 year, 2000 bins", view.cpu_ms, "ms of processor", Some(VIEW_MS));
    print("  by the wall", view.wall_ms, "ms", None);
    print("  answer", view.bytes / 1e6, "MB", None);
    let width = 6 * 3600;
    let tenth = Timestamp::from_nanos(START - YEAR / 10);
    let panned = ask.measure(&format!("/api/v1/view?from={tenth}&to={to}&width={width}{pvs}"))?;
    let whole = ask.measure(&format!("/api/v1/view?from={from}&to={to}&width={width}{pvs}"))?;
    print("view panned by a tenth, bytes", panned.bytes / whole.bytes, "of the whole", Some(PANNED_PART));
    print("  processor", panned.cpu_ms, "ms", None);

    for (what, expression) in [("formula of three PVs", "Q:00%20-%202*Q:01%20%2B%20Q:02/3"), ("one PV", "Q:00")] {
        let found = ask.measure(&format!("/api/v1/formula?from={from}&to={to}&bins=1000&expression={expression}"))?;
        print(&format!("{what}, 1 year, 1000 bins"), found.cpu_ms, "ms of processor", Some(FORMULA_MS));
        let of_samples = found.told.matches("\"made_of\":\"samples\"").count();
        print("  bins for which samples were read", of_samples as f64, "of 1000", None);
    }
    let lost = ask.measure(&format!("/api/v1/when?from={from}&to={to}&expression=T:BEAM%20%3C%201"))?;
    let trip = BEGIN + YEAR / 2;
    let [before, after] = [trip - MINUTE, trip + MINUTE].map(Timestamp::from_nanos);
    let year = YEAR / SECOND;
    let changed =
        ask.measure(&format!("/api/v1/diff?match=~%5BQP%5D:.*&before={before}&after={after}&usual={year}"))?;
    print(
        "when the beam was lost, and what changed then, 300 PVs, a year",
        lost.cpu_ms + changed.cpu_ms,
        "ms",
        Some(TRIP_MS),
    );

    let time = Timestamp::from_nanos(START - 3600 * SECOND);
    let snapshot = ask.measure(&format!("/api/v1/at?match=S:*&time={time}"))?;
    print(&format!("snapshot of {many} PVs"), snapshot.wall_ms, "ms by the wall", Some(SNAPSHOT_MS));
    print("  processor", snapshot.cpu_ms, "ms", None);
    let before = Timestamp::from_nanos(START - 2 * 3600 * SECOND);
    let diff = ask.measure(&format!("/api/v1/diff?match=S:*&before={before}&after={time}"))?;
    print(&format!("diff of {many} PVs, all of which changed"), diff.wall_ms, "ms by the wall", Some(DIFF_MS));
    print("  processor", diff.cpu_ms, "ms", None);
    for (what, path) in [
        ("pairs of means of two PVs, 1 year, each hour", "xy?x=Q:00&y=Q:01&by=mean&step=3600"),
        ("histogram of a PV at 1/min, 1 year", "histogram?expression=P:000"),
        ("spectrum of 10^6 points", "fft?expression=Q:00&step=31&resample=previous"),
    ] {
        let found = ask.measure(&format!("/api/v1/{path}&from={from}&to={to}"))?;
        print(what, found.cpu_ms, "ms of processor", None);
    }

    let mut usage = Usage::watch(archiver.id());
    usage.look();
    print("memory after all of them", usage.memory_gb(), "GB", None);
    Ok(())
}

struct Asking<'a> {
    archiver: &'a Archiver,
    rounds: u32,
}

/// What a question takes, by the mean of all rounds but the first.
struct Taken {
    cpu_ms: f64,
    wall_ms: f64,
    bytes: f64,
    told: String,
}

impl Asking<'_> {
    /// The system tells processor time in ticks of 10 ms, so that only many rounds together say anything. A question that takes long is
    /// asked less often.
    fn measure(&self, path: &str) -> Outcome<Taken> {
        let mut connection = Connection::open(address(self.archiver.url())?)?;
        let mut told = Vec::new();
        let first = connection.get(path, |part| told.extend_from_slice(part))?;
        let told = String::from_utf8_lossy(&told).into_owned();
        if first.status != 200 {
            return Err(format!("{path} was answered with {}: {told}", first.status).into());
        }
        let rounds = if first.whole > 1.0 { self.rounds.min(3) } else { self.rounds };
        let (mut usage, mut wall, mut bytes) = (Usage::watch(self.archiver.id()), 0.0, 0);
        for _ in 0..rounds {
            let answer = connection.get(path, |_| {})?;
            wall += answer.whole;
            bytes = answer.bytes;
        }
        usage.look();
        let each = |seconds: f64| seconds * 1e3 / f64::from(rounds);
        Ok(Taken { cpu_ms: each(usage.cpu_seconds()), wall_ms: each(wall), bytes: bytes as f64, told })
    }
}

fn print(what: &str, value: f64, unit: &str, bar: Option<f64>) {
    let verdict = bar.map(|bar| format!("{} (at most {bar})", if value <= bar { "reached" } else { "MISSED" }));
    tell(format!("{what:<66} {value:>10.3} {unit:<16} {}", verdict.unwrap_or_default()).trim_end());
}

/// Makes the archive below a folder, unless it is there.
fn make(folder: &Path, scale: f64, many: usize) -> Outcome<()> {
    let (data, note, made_of) = (folder.join("data"), folder.join("made-of"), format!("questions {scale}"));
    if fs::read_to_string(&note).is_ok_and(|there| there == made_of) {
        return Ok(());
    }
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    fs::create_dir_all(folder)?;
    let mut config = Config::new(&data);
    config.durable = Durable::Off;
    let store = Store::open(config, Timestamp::from_nanos(BEGIN))?;
    let slower = |period: i64| (period as f64 / scale) as i64;
    let named = |count: usize, of: fn(usize) -> String| (0..count).map(of).collect::<Vec<String>>();
    let groups = [
        Group { names: named(FAST, |i| format!("Q:{i:02}")), begin: BEGIN, period: slower(SECOND), kind: Kind::Adc },
        Group {
            names: named(SLOW, |i| format!("P:{i:03}")),
            begin: BEGIN,
            period: slower(MINUTE),
            kind: Kind::Decimal,
        },
        Group {
            names: named(many, |i| format!("S:{i:05}")),
            begin: START - 2 * DAY,
            period: 30 * MINUTE,
            kind: Kind::Decimal,
        },
    ];
    let mut filling: Vec<(PvId, Signal, &Group, i64)> = Vec::new();
    for group in &groups {
        for (number, pv) in register(&store, &group.names)?.into_iter().enumerate() {
            let signal = Signal::new(group.kind, Pace::Every(group.period), number as u64 + 1);
            filling.push((pv, signal, group, group.begin));
        }
    }
    let beam = register(&store, &["T:BEAM".to_owned()])?[0];
    let mut stride = BEGIN;
    while stride < START {
        stride = (stride + STRIDE).min(START);
        append(&store, vec![(beam, Record::Samples(beam_until(stride)?))], stride)?;
        let mut records = Vec::new();
        for (pv, signal, group, next) in &mut filling {
            while *next < stride {
                let rows = ((stride - *next + group.period - 1) / group.period).min(8192);
                let batch = moved(signal.batch(rows as usize), group.begin - START)?;
                *next += rows * group.period;
                records.push((*pv, Record::Samples(batch)));
                if records.len() >= 64 {
                    append(&store, std::mem::take(&mut records), stride)?;
                }
            }
        }
        append(&store, records, stride)?;
    }
    let end = Timestamp::from_nanos(START);
    merge(&store, end)?;
    store.close(end)?;
    Ok(fs::write(note, made_of)?)
}

/// The samples of a batch at other times.
pub(crate) fn moved(batch: Batch, by: i64) -> Outcome<Batch> {
    let (times, values, alarms, pulses) = batch.into_columns();
    let times = times.into_iter().map(|time| Timestamp::from_nanos(time.nanos() + by)).collect();
    Batch::from_columns(times, values, alarms, pulses).ok_or_else(|| "the columns have no longer one length".into())
}

/// A week of the beam up to a time; it is lost for ten minutes in the middle of the year, and at its thirds.
fn beam_until(end: i64) -> Outcome<Batch> {
    let begin = BEGIN + (end - 1 - BEGIN) / STRIDE * STRIDE;
    let times: Vec<i64> = (begin..end).step_by(MINUTE as usize).collect();
    let is_lost =
        |time: i64| [2, 3].iter().any(|part| (BEGIN + YEAR / part..BEGIN + YEAR / part + 10 * MINUTE).contains(&time));
    let numbers = times.iter().map(|time| if is_lost(*time) { 0.0 } else { 200.0 }).collect();
    let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
    alarms.push(&Alarm::default(), times.len());
    pulses.push(&0, times.len());
    let times = times.into_iter().map(Timestamp::from_nanos).collect();
    Batch::from_columns(times, Column::F64(numbers), alarms, pulses).ok_or_else(|| "columns of one length".into())
}

/// Paused, so that the archiver looks for them nowhere.
pub(crate) fn register(store: &Store, names: &[String]) -> Outcome<Vec<PvId>> {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let mut pvs = Vec::new();
    for names in names.chunks(50_000) {
        let named: Result<Vec<_>, _> =
            names.iter().map(|name| PvName::new(name).map(|name| (name, settings.clone()))).collect();
        let by = By::new("the lab", Timestamp::from_nanos(BEGIN));
        pvs.extend(store.writer().register(&named?, &by)?.iter().map(|entry| entry.id));
    }
    Ok(pvs)
}

/// As the archive would have grown: the clock of the store goes with the samples.
pub(crate) fn append(store: &Store, records: Vec<(PvId, Record)>, time: i64) -> Outcome<()> {
    let time = Timestamp::from_nanos(time);
    store.tick(time);
    while let Err(error) = store.writer().append(&records, time) {
        if !matches!(error, store::Error::Busy) {
            return Err(error.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

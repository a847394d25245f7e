//! `pvark-lab overload`: more than the archiver can take, for as long as wanted, and what its clients notice of it.
//!
//! ```text
//!   quiet PVs ──────────────────────────────────────────────────────►   100 scalars at 10 Hz, the whole time
//!                 │ waveforms at 150 % of the ceiling ──────────│         a farm of its own
//!   clients:  idle │                overload                    │ after   status and a query, 25 times a second each
//! ```

mod beside;

use std::{
    net::{SocketAddr, TcpListener, UdpSocket},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::Args;

use crate::{
    farm::{self, Plan},
    farm_process::{FarmProcess, FarmReport},
    measure::{self, Measurement},
    store_bench::Outcome,
    trial::{self, Archiver, Setup, Usage},
};
use beside::Seen;

/// The PVs that are there all the time.
const QUIET: &str = "name=Q:,count=100,rate=10,slices=10";

/// So many waveforms of 4 kB are the load.
const WAVEFORMS: u32 = 4000;

/// Megabytes that the archiver may take besides its queue and two heads: the program's, the catalogue's, those that are on their way
/// between threads, and those of each PV.
const BESIDES_MEGABYTES: f64 = 192.0;
const PV_MEGABYTES: f64 = 1.0 / 1024.0;

const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Args)]
pub(crate) struct Options {
    /// How long there is too much.
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// How much of the ceiling, in percent.
    #[arg(long, default_value_t = 150.0)]
    percent: f64,
    /// The ceiling in frames a second, where it is known; looked for if not given.
    #[arg(long)]
    ceiling: Option<f64>,
    /// How long each step of that is.
    #[arg(long, default_value_t = 3.0)]
    step_seconds: f64,
    /// How long clients are measured before and after: a hundredth of their answers is to be more than one.
    #[arg(long, default_value_t = 20.0)]
    quiet_seconds: f64,
    #[command(flatten)]
    setup: Setup,
}

/// What an overload showed.
struct OverloadFindings {
    idle: Seen,
    overload: Seen,
    after: Seen,
    archiver: Usage,
    /// What its memory may be.
    memory_max_gb: f64,
    /// From the end of the load until nothing waited any more.
    recovered_after: f64,
    /// When the last update of the quiet PVs that is missing was due, in seconds after the end of the load.
    missing_until: f64,
    quiet_missing: u64,
    offered: u64,
    stored: u64,
    dropped_ioc: u64,
    dropped_archiver: u64,
    wrong: u64,
    ledger_false: u64,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let setup = &options.setup;
    let tell = |metric: &str, value: f64, unit: &str| {
        measure::print(&Measurement { bench: "overload", case: "waveforms", metric, value, unit }, setup.form());
    };
    let frames = match options.ceiling {
        Some(frames) => frames,
        None => {
            let step = |rate: f64| trial::run(&[load(rate)], options.step_seconds, setup);
            let (rate, _) = trial::ceiling(8.0, 3, step)?.0.best.ok_or("no load was without a loss")?;
            rate * f64::from(WAVEFORMS)
        }
    };
    tell("ceiling", frames, "frames/s");
    let rate = frames / f64::from(WAVEFORMS) * options.percent / 100.0;
    tell("load", rate * f64::from(WAVEFORMS), "frames/s");
    let mut found = overload(&load(rate), options)?;
    found.tell(&tell);
    let faults = found.faults();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

fn load(rate: f64) -> String {
    format!("name=O:,count={WAVEFORMS},length=1000,type=i32,rate={rate},slices=20")
}

fn overload(load: &str, options: &Options) -> Outcome<OverloadFindings> {
    let (setup, folder) = (&options.setup, options.setup.scratch()?);
    let quiet_setup = Setup { servers: 1, threads: 1, ..setup.clone() };
    let quiet = quiet_setup.farm(&[QUIET.to_owned()], &["--drain", "2"])?;
    let quiet_plan = plan(QUIET, &quiet)?;
    let port = free_ports(setup.servers)?;
    let later = (0..setup.servers).map(|server| SocketAddr::from(([127, 0, 0, 1], port + server as u16)));
    let servers: Vec<SocketAddr> = quiet.ca.iter().copied().chain(later).collect();
    let mut archiver = setup.archiver(folder.path(), &servers)?;
    archiver.add((0..quiet_plan.len()).map(|pv| quiet_plan.name(pv)))?;
    let url = archiver.url().to_owned();
    let clients = (url.as_str(), setup.archiver_cores.as_deref());
    let mut usage = Usage::watch(archiver.id());
    connected(&mut archiver, quiet_plan.len())?;
    thread::sleep(Duration::from_secs(1));
    let (idle, ()) = beside::ask(clients, "Q:0", || watch(options.quiet_seconds, &mut usage));

    let much = setup.farm(&[load.to_owned()], &["--port", &port.to_string()])?;
    let much_plan = plan(load, &much)?;
    archiver.add((0..much_plan.len()).map(|pv| much_plan.name(pv)))?;
    connected(&mut archiver, quiet_plan.len() + much_plan.len())?;
    let (overload, ()) = beside::ask(clients, "Q:0", || watch(options.seconds, &mut usage));
    let much = much.end()?;
    let (ended, end) = (Instant::now(), farm::now());
    archiver.wait_for("the queue to be empty", PATIENCE, |status| {
        status["queue"]["bytes"].as_u64().is_some_and(|bytes| bytes < 1 << 20)
    })?;
    let recovered_after = ended.elapsed().as_secs_f64();
    let (after, ()) = beside::ask(clients, "Q:0", || watch(options.quiet_seconds, &mut usage));

    let quiet = quiet.end()?;
    archiver.wait_for("the end of all circuits", PATIENCE, |status| {
        status["pvs"]["connected"] == 0 && status["queue"]["bytes"] == 0
    })?;
    let dropped_archiver = archiver.dropped()?;
    archiver.end()?;
    let of_quiet = trial::check(&quiet_plan, &archiver.data, f64::MAX)?;
    let of_much = trial::check(&much_plan, &archiver.data, f64::MAX)?;
    let until = of_quiet.missing_at.map_or(f64::NAN, |(_, last)| last - (end - quiet_plan.start) as f64 / 1e9);
    let posted = |report: &FarmReport| report.count("updates posted to subscriptions");
    Ok(OverloadFindings {
        idle,
        overload,
        after,
        archiver: usage,
        memory_max_gb: memory_max_gb(quiet_plan.len() + much_plan.len(), setup),
        recovered_after,
        missing_until: until,
        quiet_missing: of_quiet.missing,
        offered: posted(&quiet)? + posted(&much)? + of_quiet.pvs + of_much.pvs,
        stored: of_quiet.stored + of_much.stored,
        dropped_ioc: trial::left_out(&quiet)? + trial::left_out(&much)?,
        dropped_archiver,
        wrong: of_quiet.wrong + of_much.wrong,
        ledger_false: of_quiet.ledger.false_pvs + of_much.ledger.false_pvs,
    })
}

/// What docs/operate.md says of the memory of an archiver with this configuration.
fn memory_max_gb(pvs: u32, setup: &Setup) -> f64 {
    let configured = |key: &str| {
        let lines = setup.config.iter().filter_map(|line| line.split_once('='));
        lines.filter(|(name, _)| name.trim() == key).find_map(|(_, value)| value.trim().parse().ok()).unwrap_or(256.0)
    };
    let megabytes = configured("queue_megabytes_max") + 2.0 * configured("head_megabytes_max");
    (megabytes + BESIDES_MEGABYTES + PV_MEGABYTES * f64::from(pvs)) * f64::from(1 << 20) / 1e9
}

fn plan(group: &str, farm: &FarmProcess) -> Outcome<Arc<Plan>> {
    Ok(Arc::new(Plan::new(vec![group.parse()?], farm.start)))
}

fn connected(archiver: &mut Archiver, pvs: u32) -> Outcome<()> {
    let all = u64::from(pvs);
    archiver.wait_for("all PVs to connect", PATIENCE, |status| status["pvs"]["connected"] == all)
}

fn watch(seconds: f64, usage: &mut Usage) {
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        thread::sleep(Duration::from_millis(50));
        usage.look();
    }
}

/// The first of so many ports that were free just now, both for searches and for circuits.
fn free_ports(count: u32) -> Outcome<u16> {
    for _ in 0..100 {
        let first = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let is_free =
            |port: u16| UdpSocket::bind(("127.0.0.1", port)).is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok();
        let last = u32::from(first) + count;
        if last < 65_536 && (0..count as u16).all(|more| is_free(first + more)) {
            return Ok(first);
        }
    }
    Err("there are no free ports".into())
}

impl OverloadFindings {
    fn unexplained(&self) -> i64 {
        let known = self.stored + self.dropped_ioc + self.dropped_archiver;
        self.offered.cast_signed() - known.cast_signed()
    }

    fn faults(&self) -> Vec<String> {
        let failed = self.idle.failed + self.overload.failed + self.after.failed;
        let all = [
            (self.unexplained() != 0, format!("{} updates are missing without a count", self.unexplained())),
            (self.wrong > 0, format!("{} updates are not what was sent", self.wrong)),
            (self.ledger_false > 0, format!("the ledger is wrong about {} PVs", self.ledger_false)),
            (failed > 0, format!("{failed} questions had no answer")),
            (
                self.archiver.memory_gb() > self.memory_max_gb,
                format!("{:.3} GB of memory are more than is configured", self.archiver.memory_gb()),
            ),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect()
    }

    fn tell(&mut self, tell: &dyn Fn(&str, f64, &str)) {
        for (percent, of_status, of_query, ratio) in [
            (50, "status page, half of the answers within", "query, half within", "of idle, half"),
            (99, "status page, 99 % within", "query, 99 % within", "of idle, 99 %"),
        ] {
            let [idle, overload, after] = [&mut self.idle, &mut self.overload, &mut self.after];
            let (idle, overload, after) =
                (idle.percentiles(percent), overload.percentiles(percent), after.percentiles(percent));
            for (word, milliseconds) in [("idle", idle), ("overload", overload), ("after", after)] {
                tell(&format!("{of_status}, {word}"), milliseconds.0, "ms");
                tell(&format!("{of_query}, {word}"), milliseconds.1, "ms");
            }
            tell(&format!("status page {ratio}"), overload.0 / idle.0, "x");
            tell(&format!("query {ratio}"), overload.1 / idle.1, "x");
        }
        let lines = [
            ("offered", self.offered as f64, ""),
            ("stored", self.stored as f64, ""),
            ("dropped by the IOC", self.dropped_ioc as f64, ""),
            ("dropped by the archiver", self.dropped_archiver as f64, ""),
            ("dropped without a count", self.unexplained() as f64, ""),
            ("wrong", self.wrong as f64, ""),
            ("PVs the ledger is wrong about", self.ledger_false as f64, ""),
            ("missing of the quiet PVs", self.quiet_missing as f64, ""),
            ("the last of them after the end of the load", self.missing_until, "s"),
            ("recovered after", self.recovered_after, "s"),
            ("most memory", self.archiver.memory_gb(), "GB"),
            ("memory that is configured", self.memory_max_gb, "GB"),
        ];
        lines.into_iter().for_each(|(metric, value, unit)| tell(metric, value, unit));
    }
}

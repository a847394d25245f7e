//! A trial: a farm and an archiver for some seconds, and then every update of every PV accounted for.
//!
//! ```text
//!   farm (a process) ──Channel Access──► pvark run (a process, a fresh folder) ──► every update read back, compared, counted
//! ```

mod archiver;
mod ceiling;
mod command;
mod frames;
mod usage;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::Value;

use crate::{
    farm::{self, Plan},
    farm_process::{FarmProcess, FarmReport},
    measure::Form,
    store_bench::Outcome,
};
pub(crate) use archiver::Archiver;
pub(crate) use ceiling::{Ceiling, ceiling};
pub(crate) use command::{Options, trial};
pub(crate) use frames::{Frames, check};
pub(crate) use usage::Usage;

/// All PVs are to be connected after so long; an overload may need it.
const CONNECT_PATIENCE: Duration = Duration::from_secs(120);

/// The archiver is to be done with what it has after so long.
const END_PATIENCE: Duration = Duration::from_secs(600);

/// At the end of the farm, what waits in its queues is sent for so long; what then still waits is counted as left out.
const DRAIN_SECONDS: &str = "2";

/// Updates that a farm makes so much later than they are due are another load than was ordered.
const LATE_MAX_MS: f64 = 300.0;

/// So long after all PVs are connected a trial is as it would stay.
const SETTLING_SECONDS: f64 = 1.0;

/// With what trials are made.
#[derive(Args, Clone)]
pub(crate) struct Setup {
    /// The archiver; the one beside this program if not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) pvark: Option<PathBuf>,
    /// Where archives are made, each in a folder that is deleted afterwards.
    #[arg(long)]
    pub(crate) folder: Option<PathBuf>,
    /// Servers of the farm.
    #[arg(long, default_value_t = 1)]
    pub(crate) servers: u32,
    /// Threads of the farm.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: u32,
    /// The cores of the archiver, as taskset -c takes them; those of this program if not given.
    #[arg(long, value_name = "CORES")]
    pub(crate) archiver_cores: Option<String>,
    /// The same for the farm.
    #[arg(long, value_name = "CORES")]
    pub(crate) farm_cores: Option<String>,
    /// Lines for the archiver's configuration, before its sections.
    #[arg(long, value_name = "LINE")]
    pub(crate) config: Vec<String>,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Setup {
    pub(crate) fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Table }
    }

    /// A folder that goes with what it is kept in.
    pub(crate) fn scratch(&self) -> Outcome<tempfile::TempDir> {
        Ok(match &self.folder {
            Some(folder) => tempfile::tempdir_in(folder)?,
            None => tempfile::tempdir()?,
        })
    }

    /// A farm of these groups.
    pub(crate) fn farm(&self, groups: &[String], more: &[&str]) -> Outcome<FarmProcess> {
        let mut arguments: Vec<String> =
            groups.iter().flat_map(|group| ["--group".to_owned(), group.clone()]).collect();
        arguments.extend(["--servers".to_owned(), self.servers.to_string()]);
        arguments.extend(["--threads".to_owned(), self.threads.to_string()]);
        arguments.extend(more.iter().map(|&word| word.to_owned()));
        FarmProcess::start_on(self.farm_cores.as_deref(), &arguments)
    }

    /// An archiver that looks for PVs at these servers.
    pub(crate) fn archiver(&self, folder: &Path, servers: &[SocketAddr]) -> Outcome<Archiver> {
        Archiver::start(&self.program()?, self.archiver_cores.as_deref(), folder, servers, &self.config)
    }

    pub(crate) fn program(&self) -> Outcome<PathBuf> {
        let beside = std::env::current_exe()?.with_file_name("pvark");
        let program = self.pvark.clone().unwrap_or(beside);
        if program.is_file() {
            Ok(program)
        } else {
            Err(format!("there is no archiver at {}; give --pvark", program.display()).into())
        }
    }
}

/// What a trial showed.
pub(crate) struct Findings {
    pub(crate) connected_after: f64,
    pub(crate) seconds: f64,
    /// Stored in these seconds.
    pub(crate) stored: u64,
    pub(crate) received_bytes: f64,
    pub(crate) farm: Usage,
    pub(crate) archiver: Usage,
    pub(crate) report: FarmReport,
    /// Updates that the archiver itself says it dropped.
    pub(crate) dropped_archiver: u64,
    /// From the end of the farm until nothing waited any more.
    pub(crate) drained_after: f64,
    pub(crate) disk_bytes: u64,
    pub(crate) segment_bytes: u64,
    /// What the archiver said of itself when the farm had ended.
    pub(crate) status: Value,
    pub(crate) frames: Frames,
}

/// A farm of these groups sends for so many seconds once all PVs are connected.
pub(crate) fn run(groups: &[String], seconds: f64, setup: &Setup) -> Outcome<Findings> {
    let folder = setup.scratch()?;
    let farm = setup.farm(groups, &["--drain", DRAIN_SECONDS])?;
    let groups = groups.iter().map(|group| group.parse()).collect::<Result<_, _>>()?;
    let plan = Arc::new(Plan::new(groups, farm.start));
    let mut archiver = setup.archiver(folder.path(), &farm.ca)?;
    let begun = Instant::now();
    archiver.add((0..plan.len()).map(|pv| plan.name(pv)))?;
    let all = u64::from(plan.len());
    archiver.wait_for("all PVs to connect", CONNECT_PATIENCE, |status| status["pvs"]["connected"] == all)?;
    let connected_after = begun.elapsed().as_secs_f64();
    let settled = (farm::now() - plan.start) as f64 / 1e9 + SETTLING_SECONDS;
    thread::sleep(Duration::from_secs_f64(SETTLING_SECONDS));
    let (before, received) = (archiver.stored()?, archiver.received_bytes()?);
    let (mut of_farm, mut of_archiver) = (Usage::watch(farm.id()), Usage::watch(archiver.id()));
    let measured = Instant::now();
    while measured.elapsed().as_secs_f64() < seconds {
        thread::sleep(Duration::from_millis(100));
        of_farm.look();
        of_archiver.look();
    }
    let (seconds, stored) = (measured.elapsed().as_secs_f64(), archiver.stored()? - before);
    let received_bytes = archiver.received_bytes()? - received;
    let report = farm.end()?;
    let ended = Instant::now();
    archiver.wait_for("the end of all circuits", END_PATIENCE, |status| {
        status["pvs"]["connected"] == 0 && status["queue"]["bytes"] == 0
    })?;
    let drained_after = ended.elapsed().as_secs_f64();
    let (dropped_archiver, status) = (archiver.dropped()?, archiver.status()?);
    archiver.end()?;
    let files = usage::files(&archiver.data)?;
    Ok(Findings {
        connected_after,
        seconds,
        stored,
        received_bytes,
        farm: of_farm,
        archiver: of_archiver,
        report,
        dropped_archiver,
        drained_after,
        disk_bytes: files.all,
        segment_bytes: files.segments,
        status,
        frames: check(&plan, &archiver.data, settled)?,
    })
}

/// Updates that the IOCs of a farm left out for a client that did not keep up.
pub(crate) fn left_out(report: &FarmReport) -> Outcome<u64> {
    let of = |metric| report.count(metric);
    Ok(of("dropped: a newer took its place")? + of("dropped: subscription ended")? + of("still waiting")?)
}

impl Findings {
    /// Updates for which an archiver that loses nothing would have been asked: the first of each PV, and all that followed.
    pub(crate) fn offered(&self) -> Outcome<u64> {
        Ok(self.report.count("updates posted to subscriptions")? + self.frames.pvs)
    }

    /// Updates that the IOC left out for a client that did not keep up.
    pub(crate) fn dropped_ioc(&self) -> Outcome<u64> {
        left_out(&self.report)
    }

    /// Updates that nobody has counted.
    pub(crate) fn unexplained(&self) -> Outcome<i64> {
        let known = self.frames.stored + self.dropped_ioc()? + self.dropped_archiver;
        Ok(self.offered()?.cast_signed() - known.cast_signed())
    }

    /// In percent of what was offered.
    pub(crate) fn dropped_percent(&self) -> Outcome<f64> {
        let offered = self.offered()?;
        Ok(100.0 * offered.saturating_sub(self.frames.stored) as f64 / offered.max(1) as f64)
    }

    /// Whether the farm made its updates when they were due.
    pub(crate) fn is_in_time(&self) -> Outcome<bool> {
        Ok(self.report.value("latest by")? <= LATE_MAX_MS)
    }

    /// Whether all that is missing was due while PVs were being connected, and descriptions and first values came at once.
    pub(crate) fn is_steady(&self) -> Outcome<bool> {
        let is_in_between = self.offered()? == self.frames.stored + self.frames.missing;
        Ok(is_in_between && self.frames.missing_later == 0)
    }

    /// What is not as it must be, however much was lost; nothing if all is well.
    pub(crate) fn faults(&self) -> Outcome<Vec<String>> {
        let (frames, ledger) = (&self.frames, &self.frames.ledger);
        let lost = ledger.sum.queue_full + ledger.sum.store_refused;
        let all = [
            (self.unexplained()? != 0, format!("{} updates are missing without a count", self.unexplained()?)),
            (frames.wrong > 0, format!("{} updates are not what was sent", frames.wrong)),
            (ledger.false_pvs > 0, format!("the ledger is wrong about {} PVs", ledger.false_pvs)),
            (lost != self.dropped_archiver, format!("the ledger has {lost} losses of {}", self.dropped_archiver)),
        ];
        Ok(all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect())
    }
}

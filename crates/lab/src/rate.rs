//! `pvark-lab rate`: how many scalars a second come from simulated IOCs into an archive without one being lost, and what each
//! costs beside a client that does nothing but count, by EPICS Base's libca.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use crate::{
    measure::{self, Measurement},
    store_bench::Outcome,
    trial::{self, Ceiling, Findings, Setup},
};

/// The source of the client by libca, compiled where it is wanted.
const LIBCA: &str = include_str!("rate/libca.c");

#[derive(Args)]
pub(crate) struct Options {
    /// PVs of 64-bit floats.
    #[arg(long, default_value_t = 50_000)]
    pvs: u32,
    /// Updates of each per second.
    #[arg(long, default_value_t = 10.0)]
    rate: f64,
    /// How long they are sent.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Look for the highest rate at which nothing is lost, too; with so many servers and threads of the farm.
    #[arg(long, value_name = "SERVERS")]
    ceiling: Option<u32>,
    /// How long each step of that is.
    #[arg(long, default_value_t = 4.0)]
    step_seconds: f64,
    /// A Python that has epicscorelibs, with which the client by libca is built and run beside; needs cc.
    #[arg(long, value_name = "PYTHON")]
    libca: Option<PathBuf>,
    #[command(flatten)]
    setup: Setup,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let (setup, pvs) = (&options.setup, options.pvs);
    let case = format!("{pvs} x {} Hz", options.rate);
    let group = |rate: f64| format!("name=R:,count={pvs},rate={rate},slices=50");
    let found = trial::run(&[group(options.rate)], options.seconds, setup)?;
    tell(&case, &found, setup)?;
    let mut faults = found.faults()?;
    if let Some(python) = &options.libca {
        match libca(python, &group(options.rate), options) {
            Ok((updates, cost)) => {
                print(&case, "updates by libca", updates, "/s", setup);
                print(&case, "CPU of libca per update", cost, "µs", setup);
            }
            Err(error) => faults.push(error.to_string()), // what is ours can be measured all the same
        }
    }
    if let Some(servers) = options.ceiling {
        let setup = Setup { servers, threads: servers, ..setup.clone() };
        let step = |rate: f64| trial::run(&[group(rate)], options.step_seconds, &setup);
        let (Ceiling { best, too_much }, of_steps) = trial::ceiling(options.rate, 4, step)?;
        faults.extend(of_steps);
        if let Some((_, found)) = best {
            tell(&format!("most by {servers}"), &found, &setup)?;
        }
        print(&format!("most by {servers}"), "too much", too_much * f64::from(pvs), "/s", &setup);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

fn print(case: &str, metric: &str, value: f64, unit: &str, setup: &Setup) {
    measure::print(&Measurement { bench: "rate", case, metric, value, unit }, setup.form());
}

fn tell(case: &str, found: &Findings, setup: &Setup) -> Outcome<()> {
    let stored = found.frames.stored;
    let per_update = |usage: &trial::Usage| usage.cpu_seconds() * 1e6 / found.stored.max(1) as f64;
    let lines = [
        ("updates stored", found.stored as f64 / found.seconds, "/s"),
        ("offered", found.offered()? as f64, ""),
        ("stored", stored as f64, ""),
        ("dropped by the IOC", found.dropped_ioc()? as f64, ""),
        ("missing once all had been connected for 1 s", found.frames.missing_later as f64, ""),
        ("dropped by the archiver", found.dropped_archiver as f64, ""),
        ("dropped without a count", found.unexplained()? as f64, ""),
        ("wrong", found.frames.wrong as f64, ""),
        ("CPU of the archiver", found.archiver.cpu_percent(), "% of a core"),
        ("CPU of the archiver per update", per_update(&found.archiver), "µs"),
        ("CPU of the farm per update", per_update(&found.farm), "µs"),
        ("RAM of the archiver", found.archiver.memory_gb(), "GB"),
        ("bytes on disk per update", found.disk_bytes as f64 / stored.max(1) as f64, ""),
        ("all connected after", found.connected_after, "s"),
        ("recovered after", found.drained_after, "s"),
    ];
    lines.into_iter().for_each(|(metric, value, unit)| print(case, metric, value, unit, setup));
    Ok(())
}

/// Updates a second, and microseconds of processor time for each, of a client by libca with a farm of its own.
fn libca(python: &Path, group: &str, options: &Options) -> Outcome<(f64, f64)> {
    let folder = options.setup.scratch()?;
    let (source, program) = (folder.path().join("libca.c"), folder.path().join("libca"));
    fs::write(&source, LIBCA)?;
    let words = "import epicscorelibs.path as p; print(p.include_path); print(p.lib_path)";
    let said = String::from_utf8(Command::new(python).args(["-c", words]).output()?.stdout)?;
    let [include, lib] = said.lines().collect::<Vec<_>>()[..] else {
        return Err(format!("{} has no epicscorelibs", python.display()).into());
    };
    let include_of = |part: &str| format!("-I{include}{part}");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-o"]).arg(&program).arg(&source);
    compiler.args([include_of(""), include_of("/os/Linux"), include_of("/compiler/gcc")]);
    compiler.args([format!("-L{lib}"), format!("-Wl,-rpath,{lib}"), "-lca".to_owned(), "-lCom".to_owned()]);
    if !compiler.status()?.success() {
        return Err("the client by libca cannot be compiled".into());
    }
    let farm = options.setup.farm(&[group.to_owned()], &[])?;
    let servers = farm.ca.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut client = Command::new(&program);
    client.args(["R:", &options.pvs.to_string(), &options.seconds.to_string()]);
    client.env("EPICS_CA_ADDR_LIST", servers).env("EPICS_CA_AUTO_ADDR_LIST", "NO");
    let said = String::from_utf8(client.output()?.stdout)?;
    farm.end()?;
    let numbers: Vec<f64> = said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [known, updates, cpu] = numbers[..] else { return Err("the client by libca says nothing".into()) };
    if known < f64::from(options.pvs) {
        return Err(format!("the client by libca heard of {known} PVs only").into());
    }
    Ok((updates / options.seconds, cpu * 1e6 / updates.max(1.0)))
}

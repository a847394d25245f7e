//! `pvark-lab lists`: what a million PVs that nobody serves take of memory, and what each list of them takes of the processor.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    thread,
    time::Duration,
};

use clap::Args;

use crate::{
    http::{Connection, address},
    measure::{median, tell},
    store_bench::Outcome,
    trial::{Archiver, Setup, Usage},
};

/// Lists with a row, or a look, for each PV.
const LISTS: [&str; 18] = [
    "/mgmt/bpl/getNeverConnectedPVs",
    "/mgmt/bpl/getCurrentlyDisconnectedPVs",
    "/mgmt/bpl/getEventRateReport",
    "/mgmt/bpl/getStorageRateReport",
    "/mgmt/bpl/getPVsByStorageConsumed",
    "/mgmt/bpl/getSilentPVsReport",
    "/mgmt/bpl/getLostConnectionsReport",
    "/mgmt/bpl/getPVsByDroppedEventsBuffer",
    "/mgmt/bpl/getTimeSpanReport",
    "/mgmt/bpl/getArchivedWaveforms",
    "/mgmt/bpl/getPausedPVsReport",
    "/mgmt/bpl/getRecentlyAddedPVs",
    "/mgmt/bpl/getRecentlyModifiedPVs",
    "/mgmt/bpl/getCreationReportForAppliance",
    "/mgmt/bpl/getPVStatus",
    "/api/v1/pvs?state=searching",
    "/api/v1/pvs?state=connected",
    "/api/v1/status",
];

/// The bars: of processor time for a list, and of memory.
const CPU_MAX: f64 = 0.2;
const MEMORY_GB_MAX: f64 = 1.0;

/// At most so many are added by one request.
const ADDED_AT_ONCE: u32 = 100_000;
/// How long the archiver rests after the PVs were added: it gives memory back and searches for each name once.
const REST: Duration = Duration::from_secs(30);
/// For how long its processor time is measured while nobody asks; this is taken off what each list takes.
const IDLE: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(crate) struct Options {
    /// How many PVs there are.
    #[arg(long, default_value_t = 1_000_000)]
    pvs: u32,
    /// How often each list is asked for.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    #[command(flatten)]
    setup: Setup,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    // Held and never read: nobody answers there.
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let servers: [SocketAddr; 1] = [nobody.local_addr()?];
    let cores = options.setup.archiver_cores.as_deref();
    let archiver = Archiver::start(&options.setup.program()?, cores, folder.path(), &servers, &options.setup.config)?;
    for first in (0..options.pvs).step_by(ADDED_AT_ONCE as usize) {
        archiver.add((first..options.pvs.min(first + ADDED_AT_ONCE)).map(name))?;
    }
    thread::sleep(REST);
    let mut idle = Usage::watch(archiver.id());
    thread::sleep(IDLE);
    idle.look();
    print("memory", "GB", idle.memory_gb(), Some(MEMORY_GB_MAX));
    for list in LISTS {
        measure(&archiver, list, idle.cpu_percent() / 100.0, options.rounds)?;
    }
    Ok(())
}

/// Names as a facility has them, of 25 bytes.
fn name(number: u32) -> String {
    let (sector, device, channel) = (number / 25_000, number / 100 % 250, number % 100);
    format!("SR{sector:02}C:MG-PS{device:03}:Chan{channel:03}-RB")
}

fn measure(archiver: &Archiver, list: &str, idle_cores: f64, rounds: u32) -> Outcome<()> {
    let (mut cpu, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds.max(1) {
        let mut connection = Connection::open(address(archiver.url())?)?;
        let mut usage = Usage::watch(archiver.id());
        let answer = connection.get(list, |_| {})?;
        usage.look();
        if answer.status != 200 {
            return Err(format!("{list} was answered with {}", answer.status).into());
        }
        bytes = answer.bytes;
        cpu.push(usage.cpu_seconds() - idle_cores * answer.whole);
        whole.push(answer.whole);
    }
    print(list, "s of processor", median(&mut cpu), Some(CPU_MAX));
    print(list, "s", median(&mut whole), None);
    print(list, "MB", bytes as f64 / 1e6, None);
    Ok(())
}

fn print(what: &str, unit: &str, value: f64, bar: Option<f64>) {
    let verdict = bar.map(|bar| format!("{} (at most {bar})", if value <= bar { "reached" } else { "MISSED" }));
    tell(format!("{what:<42} {value:>10.3} {unit:<16} {}", verdict.unwrap_or_default()).trim_end());
}

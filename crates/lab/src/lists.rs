//! `pvark-lab lists`: what a million PVs take of memory, of which a farm serves some or none, and what each list of them takes of the
//! processor.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
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

/// Pages of lists that are sorted, each the first.
const PAGES: [&str; 7] = [
    "/api/v1/pvs?sort=rate&words=ps013&state=searching",
    "/api/v1/pvs?sort=rate&words=sr07c%20chan05&state=searching",
    "/api/v1/pvs?sort=rate&words=rb&state=searching",
    "/api/v1/pvs?sort=rate&words=farm&state=connected",
    "/api/v1/pvs?sort=rate",
    "/api/v1/pvs?sort=name&order=desc",
    "/api/v1/iocs",
];

/// The bars: of processor time for a list, for a page of one, and of memory.
const CPU_MAX: f64 = 0.2;
const PAGE_CPU_MAX: f64 = 0.05;
const MEMORY_GB_MAX: f64 = 1.0;

/// At most so many are added by one request.
const ADDED_AT_ONCE: u32 = 100_000;
/// How long the archiver rests after the PVs were added: it gives memory back and searches for each name once.
const REST: Duration = Duration::from_secs(30);
/// How long it may take until the PVs of the farm are connected.
const FOUND_AFTER: Duration = Duration::from_secs(300);
/// How many PVs were added while pages were asked for.
static NEWS: AtomicU32 = AtomicU32::new(0);
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
    /// How many more a farm serves, with an update every ten seconds.
    #[arg(long, default_value_t = 0)]
    served: u32,
    /// Only lists in whose URLs this stands, such as sort=
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    #[command(flatten)]
    setup: Setup,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    // Held and never read: nobody answers there.
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut servers: Vec<SocketAddr> = vec![nobody.local_addr()?];
    let group = format!("name=FARM:,count={},rate=0.1", options.served);
    let farm = if options.served > 0 { Some(options.setup.farm(&[group], &[])?) } else { None };
    servers.extend(farm.iter().flat_map(|farm| farm.ca.iter().copied()));
    let cores = options.setup.archiver_cores.as_deref();
    let mut archiver =
        Archiver::start(&options.setup.program()?, cores, folder.path(), &servers, &options.setup.config)?;
    archiver.add((0..options.served).map(|number| format!("FARM:{number}")))?;
    for first in (0..options.pvs).step_by(ADDED_AT_ONCE as usize) {
        archiver.add((first..options.pvs.min(first + ADDED_AT_ONCE)).map(name))?;
    }
    let served = u64::from(options.served);
    archiver.wait_for("the farm to be connected", FOUND_AFTER, |status| {
        status["pvs"]["connected"].as_u64() >= Some(served)
    })?;
    thread::sleep(REST);
    let mut idle = Usage::watch(archiver.id());
    thread::sleep(IDLE);
    idle.look();
    print("memory", "GB", idle.memory_gb(), Some(MEMORY_GB_MAX));
    let idle = idle.cpu_percent() / 100.0;
    let is_wanted = |list: &&&str| options.only.as_ref().is_none_or(|part| list.contains(part.as_str()));
    for list in LISTS.iter().filter(is_wanted) {
        measure(&archiver, list, idle, options.rounds, CPU_MAX)?;
    }
    let mut pages = PAGES.iter().filter(is_wanted).peekable();
    if pages.peek().is_some() {
        first_of_all(&archiver, idle)?;
    }
    for page in pages {
        measure(&archiver, page, idle, options.rounds, PAGE_CPU_MAX)?;
        more_while_pvs_come(&archiver, page, idle, options.rounds)?;
    }
    let mut after = Usage::watch(archiver.id());
    after.look();
    print("memory after all of them", "GB", after.memory_gb(), None);
    Ok(())
}

/// What the first page takes, for which the table of all PVs is made.
fn first_of_all(archiver: &Archiver, idle_cores: f64) -> Outcome<()> {
    let mut connection = Connection::open(address(archiver.url())?)?;
    let mut usage = Usage::watch(archiver.id());
    let answer = connection.get("/api/v1/pvs?sort=added&limit=1", |_| {})?;
    usage.look();
    print("the first page of all", "s of processor", usage.cpu_seconds() - idle_cores * answer.whole, None);
    print("the first page of all", "s", answer.whole, None);
    Ok(())
}

/// The same page when a hundred PVs were added since the last.
fn more_while_pvs_come(archiver: &Archiver, page: &str, idle_cores: f64, rounds: u32) -> Outcome<()> {
    let mut cpu = Vec::new();
    for _ in 0..rounds.max(1) {
        let first = NEWS.fetch_add(100, Relaxed);
        archiver.add((first..first + 100).map(|number| format!("NEW:{number}")))?;
        let mut connection = Connection::open(address(archiver.url())?)?;
        let mut usage = Usage::watch(archiver.id());
        let answer = connection.get(page, |_| {})?;
        usage.look();
        cpu.push(usage.cpu_seconds() - idle_cores * answer.whole);
    }
    print(&format!("{page}, 100 new PVs"), "s of processor", median(&mut cpu), Some(PAGE_CPU_MAX));
    Ok(())
}

/// Names as a facility has them, of 25 bytes.
fn name(number: u32) -> String {
    let (sector, device, channel) = (number / 25_000, number / 100 % 250, number % 100);
    format!("SR{sector:02}C:MG-PS{device:03}:Chan{channel:03}-RB")
}

fn measure(archiver: &Archiver, list: &str, idle_cores: f64, rounds: u32, cpu_max: f64) -> Outcome<()> {
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
    print(list, "s of processor", median(&mut cpu), Some(cpu_max));
    print(list, "s", median(&mut whole), None);
    print(list, "MB", bytes as f64 / 1e6, None);
    Ok(())
}

fn print(what: &str, unit: &str, value: f64, bar: Option<f64>) {
    let verdict = bar.map(|bar| format!("{} (at most {bar})", if value <= bar { "reached" } else { "MISSED" }));
    tell(format!("{what:<66} {value:>10.3} {unit:<16} {}", verdict.unwrap_or_default()).trim_end());
}

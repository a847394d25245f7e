//! `pvark-lab ioc`: a farm of simulated IOCs whose every update can be counted.
//!
//! ```text
//!   presets, options ─► plan (what each PV holds at each update) ─► ca    servers of Channel Access, on threads of their own
//!                         shape (what it is by pvAccess)         ─► pva   servers of pvAccess, the same
//!                         pacer (when updates are due)         ─►
//!                         chaos (what disturbs the clients)    ─►        report: what was made, sent, left out
//! ```

mod ca;
mod chaos;
mod group;
mod kind;
mod options;
mod pacer;
mod payload;
mod plan;
mod presets;
mod pva;
mod report;
mod shape;

use std::{
    io,
    net::SocketAddr,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

pub(crate) use options::{FarmProtocol, Options};
pub(crate) use payload::numbers;
pub(crate) use plan::Plan;
pub(crate) use presets::specs;

use crate::{measure::Stopwatch, store_bench::Outcome};
use ca::{Behaviour, CaFarm, Tally};

pub(crate) fn run(options: &Options) -> Outcome<()> {
    if options.list_presets {
        crate::measure::tell(&presets::list());
        return Ok(());
    }
    let plan = Arc::new(options.plan(now())?);
    if options.list_pvs {
        (0..plan.len()).for_each(|pv| crate::measure::tell(&plan.name(pv)));
        return Ok(());
    }
    let behaviour = options.behaviour();
    let (farms, ca) = ca_farms(&plan, options, &behaviour)?;
    let (pva_farms, pva) = pva_farms(&plan, options, &behaviour)?;
    let stop = AtomicBool::new(false);
    let clock = Stopwatch::start();
    let start = Instant::now();
    report::serving(options.case(), &plan, (&ca, &pva), options.form());
    let (tallies, pva_tallies) = thread::scope(|scope| -> Outcome<(Vec<Tally>, Vec<pva::Tally>)> {
        let drain = options.drain();
        let (chaos, stop) = (&behaviour.chaos, &stop);
        let run = |farm: CaFarm| scope.spawn(move || farm.run(start, chaos.clone(), stop, drain));
        let run_pva = |farm: pva::PvaFarm| scope.spawn(move || farm.run(start, chaos.clone(), stop, drain));
        let threads: Vec<_> = farms.into_iter().map(run).collect();
        let pva_threads: Vec<_> = pva_farms.into_iter().map(run_pva).collect();
        let waited = wait(options.seconds);
        stop.store(true, Relaxed);
        let tallies = threads.into_iter().map(join).collect::<Outcome<_>>()?;
        let pva_tallies = pva_threads.into_iter().map(join).collect::<Outcome<_>>()?;
        waited.map(|()| (tallies, pva_tallies))
    })?;
    let passed = clock.passed();
    if options.protocol.has_ca() {
        report::done(options.case(), &tallies, passed, options.form());
    }
    if options.protocol.has_pva() {
        report::done_pva(options.case(), &pva_tallies, passed, options.form());
    }
    Ok(())
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> Outcome<T> {
    Ok(thread.join().map_err(|_| "a thread of the farm panicked")??)
}

/// One farm for each thread, each with its share of the servers, and where these are.
fn ca_farms(plan: &Arc<Plan>, options: &Options, behaviour: &Behaviour) -> Outcome<(Vec<CaFarm>, Vec<SocketAddr>)> {
    if !options.protocol.has_ca() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut farms: Vec<CaFarm> =
        (0..options.threads()).map(|_| CaFarm::new(Arc::clone(plan))).collect::<Result<_, _>>()?;
    let mut addresses = Vec::new();
    for (number, pvs) in shares(plan, options) {
        let farm = &mut farms[(number % options.threads()) as usize];
        addresses.push(farm.serve(port(options.port, number)?, pvs, behaviour)?);
    }
    Ok((farms, addresses))
}

/// The same by pvAccess.
fn pva_farms(
    plan: &Arc<Plan>,
    options: &Options,
    behaviour: &Behaviour,
) -> Outcome<(Vec<pva::PvaFarm>, Vec<SocketAddr>)> {
    if !options.protocol.has_pva() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut farms: Vec<pva::PvaFarm> =
        (0..options.threads()).map(|_| pva::PvaFarm::new(Arc::clone(plan))).collect::<Outcome<_>>()?;
    let mut addresses = Vec::new();
    for (number, pvs) in shares(plan, options) {
        let farm = &mut farms[(number % options.threads()) as usize];
        let seed = options.seed + u64::from(number);
        addresses.push(farm.serve(port(options.pva_port, number)?, pvs, behaviour, seed)?);
    }
    Ok((farms, addresses))
}

/// The PVs of each server by its number; the last may have them all once more.
fn shares(plan: &Plan, options: &Options) -> Vec<(u32, Range<u32>)> {
    let begin = |server: u32| (u64::from(plan.len()) * u64::from(server) / u64::from(options.servers)) as u32;
    let mut shares: Vec<_> = (0..options.servers).map(|server| (server, begin(server)..begin(server + 1))).collect();
    if options.duplicate {
        shares.push((options.servers, 0..plan.len()));
    }
    shares
}

fn port(first: u16, number: u32) -> Outcome<u16> {
    Ok(if first == 0 { 0 } else { first + u16::try_from(number)? })
}

/// Until somebody ends the program, or the time is over.
fn wait(seconds: Option<f64>) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let over = async {
            match seconds {
                Some(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            result = tokio::signal::ctrl_c() => result?,
            _ = terminated.recv() => {}
            () = over => {}
        }
        Ok(())
    })
}

/// Nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the stamps of simulated IOCs begin at the time of day")]
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64)
}

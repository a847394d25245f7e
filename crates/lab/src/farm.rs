//! `pvark-lab ioc`: a farm of simulated IOCs whose every update can be counted.
//!
//! ```text
//!   presets, options ─► plan (what each PV holds at each update) ─► ca    servers of Channel Access, on threads of their own
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
mod report;

use std::{
    net::SocketAddr,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

pub(crate) use options::Options;

use crate::{measure::Clock, store_bench::Outcome};
use ca::{Behaviour, Farm, Tally};
use plan::Plan;

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
    let (farms, addresses) = farms(&plan, options, &behaviour)?;
    let stop = AtomicBool::new(false);
    let clock = Clock::start();
    let start = Instant::now();
    report::serving(options.case(), &plan, &addresses, options.form());
    let tallies = thread::scope(|scope| -> Outcome<Vec<Tally>> {
        let drain = options.drain();
        let run = |farm: Farm| {
            let (chaos, stop) = (behaviour.chaos.clone(), &stop);
            scope.spawn(move || farm.run(start, chaos, stop, drain))
        };
        let threads: Vec<_> = farms.into_iter().map(run).collect();
        let waited = wait(options.seconds);
        stop.store(true, Relaxed);
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread of the farm panicked"));
        let tallies = joined.map(|tally| Ok(tally??)).collect();
        waited.and(tallies)
    })?;
    report::done(options.case(), &tallies, clock.passed(), options.form());
    Ok(())
}

/// One farm for each thread, each with its share of the servers, and where these are.
fn farms(plan: &Arc<Plan>, options: &Options, behaviour: &Behaviour) -> Outcome<(Vec<Farm>, Vec<SocketAddr>)> {
    let threads = options.threads.clamp(1, options.servers);
    let mut farms: Vec<Farm> = (0..threads).map(|_| Farm::new(Arc::clone(plan))).collect::<Result<_, _>>()?;
    let mut addresses = Vec::new();
    let mut add = |number: u32, pvs: Range<u32>| -> Outcome<()> {
        let port = if options.port == 0 { 0 } else { options.port + u16::try_from(number)? };
        addresses.push(farms[(number % threads) as usize].serve(port, pvs, behaviour)?);
        Ok(())
    };
    let share = |server: u32| (u64::from(plan.len()) * u64::from(server) / u64::from(options.servers)) as u32;
    for server in 0..options.servers {
        add(server, share(server)..share(server + 1))?;
    }
    if options.duplicate {
        add(options.servers, 0..plan.len())?;
    }
    Ok((farms, addresses))
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

#[expect(clippy::disallowed_methods, reason = "the stamps of simulated IOCs begin at the time of day")]
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64)
}

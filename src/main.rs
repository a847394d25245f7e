//! pvark: an archiver for EPICS process variables. `run` below is the way of a sample, and the way to stop without losing one.

use std::{process::ExitCode, sync::Arc};

use acquire::Acquire;
use archive::By;
use cli::Cli;
use config::Config;
use failure::Failure;
use host::{clock::now, log, process, runtime, signals::StopSignal};
use query::Query;
use service::{Behind, Service};
use store::Store;
use web::Serve;

mod aliases;
mod cli;
mod cluster;
mod commands;
mod config;
mod failure;
mod host;
mod nodes;
mod old;
mod texts;

/// Gives memory back, whichever thread has freed it: the limits of the configuration are to be those of the process.
#[global_allocator]
static MEMORY: host::allocator::Memory = host::allocator::Memory;

fn main() -> ExitCode {
    failure::exit_code(commands::run(&Cli::typed(), run))
}

/// Archives until told to stop. `wanted` are PVs to add at the start, besides those that the archive knows.
fn run(mut config: Config, wanted: &[archive::AddRequest]) -> Result<(), Failure> {
    log::start(config.log_format);
    process::without_huge_pages();
    // Clients never take the files that the store and the circuits need.
    config.web.connections_max = config.web.connections_max.min(process::open_files_max() / 2);
    if let Some(cluster) = config.cluster.take() {
        return cluster::run(config, cluster, wanted); // the same, shard by shard
    }
    cluster::is_of_no_node(&config.store.folder)?;
    // Threads of their own for clients: those of the network may be busy all the time, and a question waits behind none of them.
    let (network, answers) = (runtime::start("network", |_| {})?, runtime::start("answers", runtime::for_answers)?);
    let _tasks_run_here = network.enter();
    let stop = StopSignal::on_signals()?;

    let started = now();
    let data = config.store.folder.clone();
    let store = Store::open(config.store, started)?; // disk: recovers what a crash left
    let acquire = Acquire::start(config.acquire, store.writer(), started)?; // network → buffer → store
    let (old, aliases) = (old::open(&config.old_archives, &data)?, old::aliases(&config.old_archives)?);
    let copies = nodes::copies(config.copies)?; // other recorders of the same PVs
    let query = Query::over(store.reader()).with([old.clone(), copies].concat()); // all of these → samples and bins
    let (policies, identity) = (config.web.policies.clone(), config.web.appliance.identity.clone());
    let behind = Behind::new(query, store.reader(), store.writer(), acquire.control()); // the only place that knows who they are
    let service = Service::new(behind, policies, identity); // what can be asked and ordered
    let access = Arc::new(commands::access::begin(config.access, store.writer())?); // who asks, and what they may do
    let web = {
        let _tasks_run_here = answers.enter();
        Serve::start(config.web, service, Arc::clone(&access))? // service → HTTP, browser
    };

    acquire.control().add(wanted.to_vec(), &By::new("the command line", started))?;
    let nodes = nodes::listen(config.nodes, store.reader(), &answers)?; // store → other nodes
    let listing = old::Listing::start(old, aliases, acquire.control(), store.reader())?; // their PVs → the list
    tracing::info!("pvark {} listens on {}", env!("CARGO_PKG_VERSION"), web.urls().join(" "));
    while !stop.wait_a_second() {
        stop.asked_to_reload(|| {
            drop(web.look_at_certificates()); // those that were replaced
            commands::access::reload(&access, config.file.as_deref());
        });
        store.tick_heard(now(), acquire.control().heard_until()); // sign of life, packing of old samples
        aliases::settle(&acquire.control(), &store.reader(), now()); // records that were added by another name
    }

    drop(listing);
    drop(nodes); // answer no other node any more, who sees that the answer has no end,
    answers.block_on(web.finish()); // stop answering,
    answers.shutdown_timeout(old::ENDS_WITHIN); // but do not wait for disks that do not answer,
    let control = acquire.control();
    let before = control.totals().counters.store_refused;
    let stopped = acquire.finish(); // stop listening and write what has arrived,
    let lost = control.totals().counters.store_refused - before;
    let closed = store.close(stopped); // then make the last sample safe
    if lost > 0 {
        let told = format!("{lost} samples that waited at the end found no room and are lost");
        return Err(closed.err().map_or(told.clone(), |error| format!("{error}; {told}")).into());
    }
    closed?;
    tracing::info!("every sample is safe; good bye");
    Ok(())
}

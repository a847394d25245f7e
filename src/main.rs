//! pvark: an archiver for EPICS process variables. `run` below is the way of a sample, and the way to stop without losing one.

mod admin;
mod aliases;
mod appliance;
mod backup;
mod capacity;
mod check;
mod cli;
mod client;
mod compare;
mod config;
mod demo;
mod import;
mod lines;
mod look;
mod memory;
mod old;
mod policies;
mod policy;
mod progress;
mod repair;
mod signals;
mod table;
mod texts;
mod turns;

use std::{process::ExitCode, time::Duration};

use acquire::Acquire;
use clap::Parser;
use cli::{Cli, Command};
use config::Config;
use query::Query;
use sample::By;
use serve::Serve;
use signals::{Stop, now};
use store::Store;
use tokio::runtime::{Builder, Runtime};

/// The exit code when an archive is damaged; 1 is every other failure, 2 a mistake on the command line.
const DAMAGED: u8 = 3;
/// The exit code when two archives were compared and are not equal.
const DIFFERS: u8 = 4;

/// Gives memory back, whichever thread has freed it: the limits of the configuration are to be those of the process.
#[global_allocator]
static MEMORY: memory::Memory = memory::Memory;

/// So long a thread waits for another answer to make.
const IDLE_THREAD_MAX: Duration = Duration::from_secs(1);

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(options) => {
            Config::load(&options, signals::env).map_err(Failure::from).and_then(|config| run(config, &[]))
        }
        Command::Add(command) => client::add(&command),
        Command::List(command) => look::list_pvs(&command),
        Command::Status(command) => look::status(&command),
        Command::Report(command) => look::report(&command),
        Command::Pause(command) => look::switch(&command, "pause"),
        Command::Resume(command) => look::switch(&command, "resume"),
        Command::Get(command) => client::get(&command),
        Command::Explain(command) => client::explain(&command),
        Command::Rename(command) => admin::rename(&command),
        Command::Alias(command) => admin::alias(&command),
        Command::Remove(command) => admin::remove(&command),
        Command::Restore(command) => admin::restore(&command),
        Command::Delete(command) => admin::delete(&command),
        Command::Undelete(command) => admin::undelete(&command),
        Command::Purge(command) => admin::purge(&command),
        Command::Import(command) => import::import(&command),
        Command::Compare(command) => compare::run(&command),
        Command::Audit(command) => admin::audit(&command),
        Command::Policy(command) => policy::policy(&command),
        Command::Group(command) => policy::group(&command),
        Command::Check(command) => check::run(&command),
        Command::Repair(command) => repair::run(&command),
        Command::Backup(command) => backup::run(&command),
        Command::TakeOver(command) => backup::take_over(&command),
        Command::Capacity(command) => capacity::run(&command),
        Command::Demo(command) => demo::run(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if signals::reader_has_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pvark: {error}");
            match () {
                () if error.is::<check::Damaged>() => ExitCode::from(DAMAGED),
                () if error.is::<compare::Differs>() => ExitCode::from(DIFFERS),
                () => ExitCode::FAILURE,
            }
        }
    }
}

/// With them each thread takes two megabytes more for every kind of thing it keeps, half of which nobody uses, and to clear them takes
/// longer than to get what is needed in small ones.
fn without_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!("the system goes on giving huge pages: {error}");
    }
}

/// Threads that may block in each runtime: each keeps some memory for itself, and with more of them nothing is answered sooner, unless
/// many wait for a slow disk.
const BLOCKING_THREADS_MAX: usize = 64;

fn runtime(threads: &'static str, adapt: fn(&mut Builder)) -> std::io::Result<Runtime> {
    let mut runtime = Builder::new_multi_thread();
    adapt(&mut runtime);
    runtime.max_blocking_threads(BLOCKING_THREADS_MAX);
    // What a thread keeps of the memory that an answer took goes back when it ends.
    runtime.thread_keep_alive(IDLE_THREAD_MAX).thread_name(threads).enable_all().build()
}

/// Threads have short turns, and take in turn what other threads have made for an answer, and what is asked or can be sent. With the
/// former always first, long answers took three times as long in a crowd of 1,000; with the latter mostly first, as it is otherwise, each
/// first byte did (`pvark-lab retrieval --only crowd`).
fn for_answers(runtime: &mut Builder) {
    runtime.on_thread_start(turns::short).global_queue_interval(2);
}

/// Archives until told to stop. `wanted` are PVs to add at the start, besides those that the archive knows.
fn run(mut config: Config, wanted: &[acquire::AddRequest]) -> Result<(), Failure> {
    signals::start_log(config.log_format);
    without_huge_pages();
    // Clients never take the files that the store and the circuits need.
    config.serve.connections_max = config.serve.connections_max.min(signals::open_files_max() / 2);
    // Threads of their own for clients: those of the network may be busy all the time, and a question waits behind none of them.
    let (network, answers) = (runtime("network", |_| {})?, runtime("answers", for_answers)?);
    let _tasks_run_here = network.enter();
    let stop = Stop::on_signals()?;

    let started = now();
    let data = config.store.folder.clone();
    let store = Store::open(config.store, started)?; // disk: recovers what a crash left
    let acquire = Acquire::start(config.acquire, store.writer(), started)?; // network → buffer → store
    let (old, aliases) = (old::open(&config.old_archives, &data)?, old::aliases(&config.old_archives)?);
    let query = Query::over(store.reader()).with_old(old.clone()); // store, old archives → samples and bins
    let serve = {
        let _tasks_run_here = answers.enter();
        Serve::start(config.serve, query, acquire.control(), store.reader())? // query → HTTP, browser
    };

    acquire.control().add(wanted.to_vec(), &By::new("the command line", started))?;
    let listing = old::Listing::start(old, aliases, acquire.control(), store.reader())?; // their PVs → the list
    tracing::info!("pvark {} listens on http://{}/", env!("CARGO_PKG_VERSION"), serve.address());
    while !stop.wait_a_second() {
        store.tick_heard(now(), acquire.control().heard_until()); // sign of life, packing of old samples
        aliases::settle(&acquire.control(), &store.reader(), now()); // records that were added by another name
    }

    drop(listing);
    answers.block_on(serve.finish()); // stop answering,
    answers.shutdown_timeout(old::ENDS_WITHIN); // but do not wait for disks that do not answer,
    let control = acquire.control();
    let before = control.totals().counters.dropped_store;
    let stopped = acquire.finish(); // stop listening and write what has arrived,
    let lost = control.totals().counters.dropped_store - before;
    let closed = store.close(stopped); // then make the last sample safe
    if lost > 0 {
        let told = format!("{lost} samples that waited at the end found no room and are lost");
        return Err(closed.err().map_or(told.clone(), |error| format!("{error}; {told}")).into());
    }
    closed?;
    tracing::info!("every sample is safe; good bye");
    Ok(())
}

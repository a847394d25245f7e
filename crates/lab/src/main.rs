//! Measurements of pvark: what it takes and gives per second and per byte, on this machine.

mod bars;
mod capacity;
mod cases;
mod clients;
mod cluster;
mod ess;
mod farm;
mod farm_process;
mod figures;
mod history;
mod http;
mod lists;
mod measure;
mod overload;
mod papers;
mod questions;
mod rate;
mod retrieval;
mod shares;
mod store_bench;
mod study;
mod trial;
mod workload;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures pvark. Every workload is made from a seed, so that two runs differ by the machine alone.
#[derive(Parser)]
#[command(name = "pvark-lab", version)]
struct LabCli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// The storage engine in this process: ingest, bytes per sample, scans, queries.
    Store(store_bench::Options),
    /// Runs the bench of the store, and writes a page with its figures.
    Figures(figures::Options),
    /// Simulated IOCs, for as long as wanted: PVs whose every update is counted.
    Ioc(farm::Options),
    /// A client with many PVs: first values, memory, an outage and its end.
    Clients(clients::Options),
    /// Any farm into the archiver, and every update accounted for.
    Trial(trial::Options),
    /// The storage study of ESS: its scenarios with a farm, the archiver, and a check of every frame.
    Ess(ess::Options),
    /// Scalars per second from IOCs into an archive without a loss, and the cost of each beside libca.
    Rate(rate::Options),
    /// More than the archiver can take, and what its clients notice of it.
    Overload(overload::Options),
    /// Fits the lines by which `pvark capacity` predicts, and holds a prediction against a measured ramp.
    Capacity(capacity::Options),
    /// How fast answers come over HTTP, by one client and by many, beside other servers and a paper; and what crowds cost.
    Retrieval(retrieval::Options),
    /// How fast two programs answer the same questions, in turns, and whether the answers are the same.
    Versus(retrieval::versus::Options),
    /// What a million PVs that nobody serves take of memory, and each list of them of the processor.
    Lists(lists::Options),
    /// What views, formulas, snapshots and the like of a year take of a running archiver.
    Questions(questions::Options),
    /// An archive of long times, ten years of one sample a second among them, to be looked at with the page.
    History(history::Options),
    /// What a cluster of many nodes would need, and which limit comes first: measured costs, simulated queues.
    Cluster(cluster::Options),
    /// All that concerns acquisition, measured and written as a page.
    Study(study::Options),
}

fn main() -> ExitCode {
    let result = match LabCli::parse().bench {
        Bench::Store(options) => store_bench::run(&options),
        Bench::Figures(options) => figures::run(&options),
        Bench::Ioc(options) => farm::run(&options),
        Bench::Clients(options) => clients::run(&options),
        Bench::Trial(options) => trial::trial(&options),
        Bench::Ess(options) => ess::run(&options),
        Bench::Rate(options) => rate::run(&options),
        Bench::Overload(options) => overload::run(&options),
        Bench::Capacity(options) => capacity::run(&options),
        Bench::Retrieval(options) => retrieval::run(&options),
        Bench::Versus(options) => retrieval::versus::run(&options),
        Bench::Lists(options) => lists::run(&options),
        Bench::Questions(options) => questions::run(&options),
        Bench::History(options) => history::run(&options),
        Bench::Cluster(options) => cluster::run(&options),
        Bench::Study(options) => study::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pvark-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

//! `pvark-lab cluster`: what a cluster of many nodes would need of each of its machines, what its commits and takeovers would take, and which
//! limit comes first. Calls of the shared store cost what they were measured to cost on a real one; who waits for whom is simulated.

mod costs;
mod machines;
mod run;
mod takeover;

use clap::Args;

use self::{
    costs::Costs,
    machines::Machine,
    run::{Cluster, Outage, Seen},
    takeover::Takeover,
};
use crate::{measure::tell, store_bench::Outcome};

/// The promises that a load must not break: what is durable comes after what was appended by so much at most, and a PV of a node that died is
/// recorded again so soon.
const COMMIT_SECONDS_MAX: f64 = 2.0;
const TAKEOVER_SECONDS_MAX: f64 = 10.0;

/// Loads beyond so many times the one in question are not looked at.
const LOAD_MAX: f64 = 64.0;

/// What facilities record today: PVs, updates a second, and who says so.
const ANCHORS: &str = "beside: SwissFEL 220,000 PVs, 370,000 updates/s (PSI, ICALEPCS 2023); 1,300,000 PVs on 16 Archiver Appliances (their issue 468)";

#[derive(Args)]
pub(crate) struct Options {
    /// Nodes that record.
    #[arg(long, value_delimiter = ',', default_values_t = [16, 64])]
    nodes: Vec<usize>,
    /// PVs of the whole cluster.
    #[arg(long, value_delimiter = ',', default_values_t = [1_300_000, 10_000_000])]
    pvs: Vec<u64>,
    /// Updates a second of a PV; as many as those of SwissFEL have if not given.
    #[arg(long, default_value_t = 370.0 / 220.0)]
    rate: f64,
    /// Nodes of the database, for each node that records.
    #[arg(long, default_value_t = 0.5)]
    servers: f64,
    /// Shards for each node that records.
    #[arg(long, default_value_t = 4)]
    shards: usize,
    /// Processors of a node that records.
    #[arg(long, default_value_t = 8)]
    cores: usize,
    /// Processors of a node of the database.
    #[arg(long, default_value_t = 16)]
    server_cores: usize,
    /// Megabytes a second that a machine can write to its disk.
    #[arg(long, default_value_t = 500.0)]
    disk: f64,
    /// Megabits a second of the network of each machine.
    #[arg(long, default_value_t = 10_000.0)]
    network: f64,
    /// Milliseconds to another machine and back.
    #[arg(long, default_value_t = 0.3)]
    round_trip: f64,
    /// Seconds that are simulated before a node dies, and as many behind that.
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
    /// PVs of the shard whose takeover is measured, by a real store on the twin of the shared store in memory.
    #[arg(long, default_value_t = 20_000)]
    measured_pvs: usize,
}

pub(crate) fn run(options: &Options) -> Outcome<()> {
    let costs = Costs::measured()?;
    let takeover = takeover::measure(options.measured_pvs)?;
    tell(&takeover.in_words());
    tell(ANCHORS);
    for nodes in &options.nodes {
        for pvs in &options.pvs {
            let cluster = options.cluster(*nodes, *pvs, costs, takeover);
            tell(&format!("\n{}", cluster.in_words()));
            for limit in cluster.limits() {
                tell(&format!(
                    "  {:<44} {:>6.1} %   all of it at {:.1} times this load",
                    limit.0,
                    100.0 * limit.1,
                    1.0 / limit.1
                ));
            }
            for outage in [Outage::One, Outage::Quarter] {
                let seen = cluster.simulate(1.0, outage, options.seconds);
                tell(&format!("  {:<44} {}", outage.in_words(), seen.in_words()));
            }
            tell(&format!("  {}", first_limit(&cluster, options.seconds)));
        }
    }
    Ok(())
}

/// What there is least of, and the share of it that is taken.
fn busiest(cluster: &Cluster) -> (&'static str, f64) {
    let shares = cluster.limits().into_iter();
    shares.max_by(|one, other| one.1.total_cmp(&other.1)).expect("there are some")
}

/// Which promise is broken, if one is. Disks hold back nobody for a while, as servers sync what they write later; but not for ever.
fn broken(cluster: &Cluster, seen: &Seen) -> Option<&'static str> {
    let promises = [
        (busiest(cluster).1 > 1.0, "more comes than can be done"),
        (seen.commit_p99 > COMMIT_SECONDS_MAX, "commits come late"),
        (seen.takeover_longest > TAKEOVER_SECONDS_MAX, "takeovers come late"),
    ];
    promises.into_iter().find(|(is_broken, _)| *is_broken).map(|(_, what)| what)
}

/// Up to which load the promises hold, to a twentieth, and what ends there.
fn first_limit(cluster: &Cluster, seconds: f64) -> String {
    let broken_at = |times: f64| broken(&cluster.at_load(times), &cluster.simulate(times, Outage::One, seconds));
    let (mut holds_at, mut breaks_at) = (0.0, 0.25);
    while broken_at(breaks_at).is_none() {
        (holds_at, breaks_at) = (breaks_at, 2.0 * breaks_at);
        if breaks_at > LOAD_MAX {
            return format!("holds at {holds_at} times this load");
        }
    }
    while breaks_at - holds_at > (breaks_at / 20.0).max(0.01) {
        let middle = (holds_at + breaks_at) / 2.0;
        if broken_at(middle).is_none() { holds_at = middle } else { breaks_at = middle }
    }
    let (what, (resource, _)) = (broken_at(breaks_at).unwrap_or("nothing"), busiest(&cluster.at_load(breaks_at)));
    format!("holds up to {holds_at:.2} times this load; beyond, {what}. What there is least of: {resource}")
}

impl Options {
    fn cluster(&self, nodes: usize, pvs: u64, costs: Costs, takeover: Takeover) -> Cluster {
        let servers = ((nodes as f64 * self.servers).ceil() as usize).max(3);
        let link = self.network * 1e6 / 8.0;
        Cluster {
            nodes,
            servers,
            shards: nodes * self.shards,
            pvs: pvs as f64,
            updates: pvs as f64 * self.rate,
            node: Machine { cores: self.cores, link, disk: self.disk * 1e6 },
            server: Machine { cores: self.server_cores, link, disk: self.disk * 1e6 },
            round_trip: self.round_trip / 1e3,
            costs,
            takeover,
        }
    }
}

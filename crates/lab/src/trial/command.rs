//! `pvark-lab trial`: any farm into the archiver, and every update accounted for.

use clap::Args;

use super::{Setup, run};
use crate::{
    farm::{Plan, specs},
    measure::{self, Measurement},
    store_bench::Outcome,
};

#[derive(Args)]
pub(crate) struct Options {
    /// PVs by the name of a farm; `ioc --list-presets` shows them.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// PVs by their properties, as `ioc` takes them; may be given several times.
    #[arg(long, value_name = "PROPERTIES")]
    group: Vec<String>,
    /// How long updates are sent once all PVs are connected.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    #[command(flatten)]
    setup: Setup,
}

pub(crate) fn trial(options: &Options) -> Outcome<()> {
    let preset = options.preset.as_deref().map_or(Ok(&[][..]), specs)?;
    let groups: Vec<String> = preset.iter().map(|&spec| spec.to_owned()).chain(options.group.iter().cloned()).collect();
    let parsed = groups.iter().map(|group| group.parse()).collect::<Result<_, _>>()?;
    if !Plan::new(parsed, 0).counts_far() {
        return Err("values of enums and small integers do not tell which update they are".into());
    }
    let found = run(&groups, options.seconds, &options.setup)?;
    let case = options.preset.as_deref().unwrap_or("groups");
    let lines = [
        ("PVs that sent anything", found.frames.pvs as f64),
        ("offered", found.offered()? as f64),
        ("stored", found.frames.stored as f64),
        ("dropped by the IOC", found.dropped_ioc()? as f64),
        ("dropped by the archiver", found.dropped_archiver as f64),
        ("dropped without a count", found.unexplained()? as f64),
        ("wrong", found.frames.wrong as f64),
        ("PVs the ledger is wrong about", found.frames.ledger.false_pvs as f64),
    ];
    for (metric, value) in lines {
        measure::print(&Measurement { bench: "trial", case, metric, value, unit: "" }, options.setup.form());
    }
    let faults = found.faults()?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

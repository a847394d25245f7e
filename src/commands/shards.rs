//! `pvark check --cluster` and `pvark backup --cluster`: every shard of a cluster, read from the shared store beside the nodes, of which none
//! need run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ::cluster::Pairs;
use shared::{Shard, Shared};

use super::{print::print_line, progress::Told};
use crate::{
    cli::Run,
    cluster,
    config::{ClusterConfig, Config},
    failure::{Damaged, Failure},
    host::{clock::now, process},
};

/// How many orphans are named.
const ORPHANS_TOLD: usize = 20;

/// What the config of a node says of its cluster, which must be there.
fn open(config: &Path) -> Result<(Config, ClusterConfig, Arc<dyn Shared>), Failure> {
    let options = Run { config: Some(config.to_owned()), ..Run::default() };
    let mut loaded = Config::load(&options, process::env)?;
    let no_cluster = || format!("{} has no [cluster]; name the config of one of its nodes", config.display());
    let cluster = loaded.cluster.take().ok_or_else(no_cluster)?;
    let shared = cluster::open(&cluster)?;
    Ok((loaded, cluster, shared))
}

/// Its shards, and what each is called: the site and copies stand behind the others.
fn shards(cluster: &ClusterConfig, shared: &dyn Shared) -> Result<Vec<(Shard, String)>, Failure> {
    let pairs = Pairs::new(cluster.shards, cluster::of_copies(shared)?);
    let called = |number| match pairs.copied(number) {
        _ if number == pairs.site() => "site".to_owned(),
        None => format!("shard-{number}"),
        Some(shard) => format!("shard-{shard}-copy"),
    };
    Ok((0..pairs.all()).filter_map(|number| Some((pairs.archive(number)?, called(number)))).collect())
}

pub(crate) fn check(config: &Path) -> Result<(), Failure> {
    let (_, cluster, shared) = open(config)?;
    let (mut told, mut sum) = (Told::new(), shared::Checked::default());
    let shards = shards(&cluster, &*shared)?;
    for (shard, _) in &shards {
        let before = sum.bytes;
        let mut tell = |bytes: u64| told.say(|| format!("{} MB read, shard {shard} is next", (before + bytes) >> 20));
        let of = shared::check(&*shared, shard, &mut (), &mut tell)?;
        (sum.rows, sum.objects, sum.bytes) = (sum.rows + of.rows, sum.objects + of.objects, sum.bytes + of.bytes);
        sum.problems.extend(of.problems);
        sum.orphans.extend(of.orphans);
    }
    print_line(&format!(
        "{} shards with {} rows in their journals, which name {} objects of {} bytes",
        shards.len(),
        sum.rows,
        sum.objects,
        sum.bytes
    ))?;
    sum.problems.iter().try_for_each(|problem| print_line(&format!("DAMAGED  {problem}")))?;
    sum.orphans.iter().take(ORPHANS_TOLD).try_for_each(|key| print_line(&format!("ORPHAN   {key}")))?;
    if sum.orphans.len() > ORPHANS_TOLD {
        print_line(&format!("         and {} more", sum.orphans.len() - ORPHANS_TOLD))?;
    }
    if !sum.orphans.is_empty() {
        print_line(
            "No journal names the orphans: nodes that were stopped have left them, or a merge of the last minutes. They cost room only.",
        )?;
    }
    if sum.problems.is_empty() {
        return Ok(print_line("every checksum is right")?);
    }
    Err(Damaged::in_cluster(&cluster.name).into())
}

pub(crate) fn backup(config: &Path, to: &Path) -> Result<(), Failure> {
    let (config, cluster, shared) = open(config)?;
    let identity = cluster::identity(&*shared)?;
    let settings = cluster::store_of(config.store, cluster.shards);
    let mut sum = store::ShardBackup::default();
    let (mut made, mut failed): (Vec<PathBuf>, Vec<String>) = (Vec::new(), Vec::new());
    for (shard, name) in shards(&cluster, &*shared)? {
        let of = format!("{name} of the cluster {} {identity}", cluster.name);
        match store::backup_shard(&shared, &shard, (to, &name, &of), &settings, now()) {
            Ok(None) => {}
            Ok(Some(done)) => {
                sum.copied += done.copied;
                sum.kept += done.kept;
                sum.bytes += done.bytes;
                made.push(to.join(name));
            }
            Err(error) => failed.push(format!("{name}: {error}")),
        }
    }
    print_line(&format!(
        "{} archives in {}, with {} MB of segments: {} copied from the shared store, {} were there and are right",
        made.len(),
        to.display(),
        sum.bytes >> 20,
        sum.copied,
        sum.kept
    ))?;
    if let Some(failed) = (!failed.is_empty()).then(|| failed.join("; ")) {
        return Err(format!("what is not backed up stays as it was before: {failed}").into());
    }
    Ok(print_line("each opens without the cluster, when `pvark take-over --data` has made it an archive of its own")?)
}

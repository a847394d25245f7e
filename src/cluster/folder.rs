//! Whose a data folder is. What lies in that of a node is offered to its cluster, so it must be of this cluster and of this node.
//!
//! ```text
//!   data/node := identity of the cluster, its name, the name of the node        in one line, with blanks between them
//! ```

use std::{fs, io, path::Path};

use store::disk::{Disk, RealDisk};

use crate::{config::ClusterConfig, failure::Failure};

const FILE: &str = "node";
/// What the archive of one machine has.
const CATALOGUE: &str = "catalogue.redb";

/// Makes a folder that of a node, or looks whether it is; one that belongs elsewhere is left as it is.
pub(super) fn is_of_this(data: &Path, identity: &str, cluster: &ClusterConfig) -> Result<(), Failure> {
    let ClusterConfig { name, node, .. } = cluster;
    let refused = |why: String| -> Result<(), Failure> { Err(format!("the folder {} {why}", data.display()).into()) };
    if data.join(CATALOGUE).exists() {
        return refused(
            "holds the archive of one machine, which no node of a cluster reads: give `data` of this node another one"
                .into(),
        );
    }
    match read(data)?.as_deref().map(|line| line.split(' ').collect::<Vec<_>>()).as_deref() {
        None => write(data, &format!("{identity} {name} {node}\n")),
        Some([of, _, owner]) if (*of, *owner) == (identity, node) => Ok(()),
        Some([of, _, owner]) if *of == identity => refused(format!(
            "is that of node {owner:?}, and this is node {node:?}: give each node a folder of its own, and one that is to go on its name"
        )),
        Some([_, of, owner]) => refused(format!(
            "is that of node {owner:?} of another cluster, {of:?}; what it holds would come among the samples of this one: give `data` another one"
        )),
        Some(_) => refused(format!("is that of a node, but nobody knows of which: {FILE:?} in it is damaged")),
    }
}

/// An error if a folder is that of a node, of which an archiver that records alone would see nothing.
pub(crate) fn is_of_no_node(data: &Path) -> Result<(), Failure> {
    let Some(line) = read(data)? else { return Ok(()) };
    Err(format!(
        "the folder {} is that of a node of a cluster ({line}), and the config has no [cluster]: say it there, or give `data` another one",
        data.display()
    )
    .into())
}

fn read(data: &Path) -> Result<Option<String>, Failure> {
    match fs::read(data.join(FILE)) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", data.join(FILE).display()).into()),
    }
}

/// Writes it whole or not at all: the machine may lose its power.
fn write(data: &Path, line: &str) -> Result<(), Failure> {
    const NEW: &str = "node.new";
    fs::create_dir_all(data)?;
    let disk = RealDisk::new(data);
    let write = || {
        disk.set_len(NEW, 0)?;
        disk.write_at(NEW, 0, line.as_bytes())?;
        disk.sync(NEW)?;
        disk.rename(NEW, FILE)?;
        disk.sync_folder("")
    };
    write().map_err(|error: io::Error| format!("cannot write {}: {error}", data.join(FILE).display()).into())
}

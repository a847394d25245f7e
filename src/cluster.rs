//! pvark as a node of a cluster. `run` is the way of a sample as in `main.rs`, with as many stores as this node has shards, and answers that
//! come from whichever node has the PV.
//!
//! ```text
//!   IOCs ──► shard ──► shard ──► …        each: acquisition → store → shared store
//!               ▲ taken, given up           node: beats, who lives, which shards are taken
//!   clients ──► web ──► service ──► whole ──┬─► a shard here
//!                                           └─► another node
//! ```

#[cfg(any(feature = "s3", feature = "cql", test))]
mod apart;
mod backend;
mod folder;
mod handover;
mod peers;
mod shards;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use archive::{AddRequest, Copies, Directory, PvId, Sent};
use cluster::{
    Answers, Beat, Board, Claims, CopiesOfShards, Days, Follows, Node, NodeOperator, Pairs, Plan, SiteTokens, Whole,
};
use query::Query;
use remote::{Listener, Offered};
use service::{Behind, Service};
use shared::{Cached, Counted, Shared, Swapped, settle};
use store::{
    Follower,
    disk::{Disk, RealDisk},
};
use web::Serve;

pub(crate) use self::folder::is_of_no_node;
use self::{
    handover::Folders,
    peers::Links,
    shards::{NodeShards, ShardOpening, Wills},
};
use crate::{
    commands,
    config::{ClusterConfig, Config},
    failure::Failure,
    host::{clock::now, runtime, signals::StopSignal},
    old,
};

/// So much of what one machine may take a shard may at least.
const HEAD_BYTES_MIN: usize = 16 << 20;
/// See `HEAD_BYTES_MIN`.
const QUEUE_BYTES_MIN: usize = 16 << 20;
/// See `HEAD_BYTES_MIN`.
const MESSAGES_BYTES_MIN: usize = 64 << 20;
/// How often a node has a turn, looks into journals of others, and offers what it holds.
const EACH: Duration = Duration::from_secs(1);
/// A token that was made or revoked at another node is known here within so many seconds.
const TOKENS_EACH: u64 = 5;
/// A shared store is asked so often how it is set up.
const CAVEATS_EACH: Duration = Duration::from_secs(300);
/// In this folder lies what was read of segments in the shared store.
const CACHE: &str = "cache";
/// Before clients are answered, the lists of PVs of all shards are waited for so long.
const LISTS_READ_WITHIN: Duration = Duration::from_secs(5);
/// Whoever was started with the name of a node that lives is told so within this time.
const NAMED_TWICE_WITHIN: Duration = Duration::from_secs(3);

/// Records the shards that fall to this node, and answers for all, until told to stop.
pub(crate) fn run(config: Config, cluster: ClusterConfig, wanted: &[AddRequest]) -> Result<(), Failure> {
    if !wanted.is_empty() {
        return Err("a node of a cluster adds no PVs when it is started; add them with `pvark add`".into());
    }
    let (network, answers) = (runtime::start("network", |_| {})?, runtime::start("answers", runtime::for_answers)?);
    let stop = {
        let _tasks_run_here = network.enter();
        StopSignal::on_signals()?
    };
    let listener = config.nodes.ok_or("[cluster] needs [nodes]")?;
    let counted = joined(&cluster)?;
    let format = reads_format(&*counted)?;
    let run = listener.run;
    is_alone(&*counted, &cluster.node)?;

    let data = config.store.folder.clone();
    folder::is_of_this(&data, &identity(&*counted)?, &cluster)?;
    let cached = cached(&counted, &data, cluster.cache_bytes_max); // here ↔ shared store
    let shared: Arc<dyn Shared> = cached.clone();
    let folders = Arc::new(Folders::find(&data)?);
    let links = Arc::new(Links::new(listener.key.clone(), run));
    let board = board(&cluster, config.acquire.policies.clone(), &data, &shared, links)?;
    board.writes(format);
    let opening = ShardOpening {
        store: store_of(config.store, cluster.shards),
        acquire: acquire_of(config.acquire, cluster.shards),
        network: network.handle().clone(),
        run,
    };
    let shards = NodeShards::new(board.clone(), shared.clone(), opening, folders.clone()); // network → stores → shared store
    let leaving = Arc::new(AtomicBool::new(false));
    let answers_to_nodes =
        Arc::new(Answers::new(board.clone(), Arc::new(Wills(shards.clone(), folders.clone())), leaving.clone()));
    let whole = Whole::new(board.clone());
    let nodes = {
        let _tasks_run_here = answers.enter();
        let offered = Offered {
            source: Arc::new(Whole::here(board.clone())),
            directory: Arc::new(whole.clone()),
            cluster: Some(Arc::new(Answering { board: board.clone(), node: answers_to_nodes.clone() })),
        };
        Listener::start(listener, offered)? // shards here → other nodes
    };
    let operator = Arc::new(NodeOperator::new(board.clone(), answers_to_nodes, counted, cached));
    let node = Node::new(board.clone(), shared.clone(), first_beat(&cluster, run), leaving);
    let at_work = NodeAtWork::begin(node, &board, &shards, &folders, days(cluster.merge_each), shared)?;

    let service = service(&config.web, behind(&whole, operator));
    let access = Arc::new(commands::access::begin(config.access, SiteTokens::new(board.clone()))?);
    lists_are_read(&board);
    let web = {
        let _tasks_run_here = answers.enter();
        Serve::start(config.web, service, Arc::clone(&access))?
    };
    let (version, urls) = (env!("CARGO_PKG_VERSION"), web.urls().join(" "));
    tracing::info!("pvark {version}, node {} of the cluster {}, listens on {urls}", cluster.node, cluster.name);
    let mut renewal = Renewal::default();
    while !stop.wait_a_second() {
        stop.asked_to_reload(|| {
            drop(web.look_at_certificates());
            commands::access::reload(&access, config.file.as_deref());
        });
        shards.tick(now());
        renewal.tick(&access);
    }

    answers.block_on(web.finish()); // stop answering clients,
    let closed = shards.close(); // make the last sample safe in the shared store,
    at_work.end(); // tell the others that they may take what this node had,
    drop(nodes); // and answer them no more
    answers.shutdown_timeout(old::ENDS_WITHIN);
    closed?;
    tracing::info!("every sample is safe; good bye");
    Ok(())
}

/// What can be asked and ordered of all nodes.
fn service(config: &web::Config, behind: Behind) -> Arc<Service> {
    Service::new(behind, config.policies.clone(), config.appliance.identity.clone())
}

/// Waits a while until this node knows the PVs of all shards. Answers say what it does not know by then.
fn lists_are_read(board: &Board) {
    let begun = Instant::now();
    while !board.unlisted().is_empty() && begun.elapsed() < LISTS_READ_WITHIN {
        thread::sleep(Duration::from_millis(50));
    }
    match board.unlisted().as_slice() {
        [] => {}
        unread => {
            tracing::warn!("the lists of the shards {unread:?} are not known yet; what is asked meanwhile says so")
        }
    }
}

/// Reads the tokens of the cluster anew, on a thread of its own, as whoever keeps them may not answer.
#[derive(Default)]
struct Renewal {
    seconds: u64,
    is_busy: Arc<AtomicBool>,
}

impl Renewal {
    /// To be called once a second.
    fn tick(&mut self, access: &Arc<access::Access>) {
        self.seconds += 1;
        if !self.seconds.is_multiple_of(TOKENS_EACH) || access.is_open() || self.is_busy.swap(true, Relaxed) {
            return;
        }
        let (access, is_busy) = (Arc::clone(access), Arc::clone(&self.is_busy));
        let renew = move || {
            if let Err(error) = access.read_tokens() {
                tracing::warn!("tokens that were made or revoked at other nodes are not known here: {error}");
            }
            is_busy.store(false, Relaxed);
        };
        if let Err(error) = thread::Builder::new().name("tokens".to_owned()).spawn(renew) {
            tracing::warn!("the tokens are not read: {error}");
            self.is_busy.store(false, Relaxed);
        }
    }
}

/// When what two nodes recorded of a time of this length is put together.
fn days(length: Duration) -> Days {
    Days { length, grace: length / 24, lacking: query::lacking }
}

/// What this node says of itself before it has anything.
fn first_beat(cluster: &ClusterConfig, run: u64) -> Beat {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Beat { run, address: cluster.address.clone(), version, ..Beat::default() }
}

/// Who has what, of which nothing is known yet.
fn board(
    cluster: &ClusterConfig,
    policies: archive::Policies,
    data: &Path,
    shared: &Arc<dyn Shared>,
    links: Arc<Links>,
) -> Result<Arc<Board>, Failure> {
    let (node, placement) = (cluster.node.clone(), cluster.placement.clone());
    let copies = copies(&**shared, policies.copies())?;
    let plan = Plan { node, page: cluster.page.clone(), shards: cluster.shards, placement, policies, copies };
    let pairs = Pairs::new(cluster.shards, copies);
    let lists = (0..pairs.all()).map(|shard| List::new(data, shared, pairs, shard)).collect::<Result<Vec<_>, _>>()?;
    Ok(Board::new(plan, Claims::new(shared.clone()), links, lists))
}

/// The whole cluster in the place of a store and of acquisition.
fn behind(whole: &Whole, operator: Arc<NodeOperator>) -> Behind {
    let query = Query::over(whole.clone());
    let query = match whole.board().pairs().copy_of(0) {
        None => query,
        Some(_) => query.with(vec![Arc::new(CopiesOfShards::of(whole.clone()))]), // two recorders → one answer
    };
    let whole = Arc::new(whole.clone());
    Behind {
        query,
        directory: whole.clone(),
        storage: whole.clone(),
        curator: whole.clone(),
        orders: whole.clone(),
        rulebook: whole.clone(),
        standing: whole,
        nodes: Some(operator),
    }
}

/// What of the limits of one machine each shard may take.
pub(crate) fn store_of(config: store::Config, shards: u32) -> store::Config {
    store::Config {
        head_bytes_max: share(config.head_bytes_max, shards, HEAD_BYTES_MIN),
        reserve_bytes: config.reserve_bytes / u64::from(shards),
        ..config
    }
}

fn acquire_of(mut config: acquire::Config, shards: u32) -> acquire::Config {
    config.queue_bytes_max = share(config.queue_bytes_max, shards, QUEUE_BYTES_MIN);
    config.ca.messages_bytes_max = share(config.ca.messages_bytes_max, shards, MESSAGES_BYTES_MIN);
    config.pva.messages_bytes_max = share(config.pva.messages_bytes_max, shards, MESSAGES_BYTES_MIN);
    // The record of a PV may lie in another shard.
    config.resolve_aliases = false;
    config
}

fn share(whole: usize, shards: u32, least: usize) -> usize {
    (whole / shards as usize).max(least).min(whole)
}

/// An error if nodes write what this program cannot read.
fn reads_format(shared: &dyn Shared) -> Result<u32, Failure> {
    match cluster::in_force(shared)? {
        format if format <= cluster::FORMAT => Ok(format),
        format => Err(format!(
            "the nodes of this cluster write format {format}, and this pvark {} reads {} at most: update it",
            env!("CARGO_PKG_VERSION"),
            cluster::FORMAT
        )
        .into()),
    }
}

/// The shared store, which knows of which cluster it is from here on.
fn joined(cluster: &ClusterConfig) -> Result<Arc<Counted>, Failure> {
    let shared = Counted::new(backend::open(cluster.shared.clone(), backend::OF_A_NODE)?);
    join(&shared, cluster)?;
    Ok(Arc::new(shared))
}

/// The shared store with what was read of it in the folder of the node, or without, where nothing can lie there: it records all the same.
fn cached(shared: &Arc<Counted>, data: &Path, bytes_max: u64) -> Arc<Cached> {
    Arc::new(Cached::new(shared.clone(), &data.join(CACHE), bytes_max).unwrap_or_else(|error| {
        tracing::warn!("what is read of the shared store is fetched again each time: {error}");
        Cached::without(shared.clone())
    }))
}

/// Says to the shared store which cluster this is, or hears which one it has.
fn join(shared: &dyn Shared, cluster: &ClusterConfig) -> Result<(), Failure> {
    let own = format!("{} {}", cluster.name, cluster.shards);
    let joined = settle::swap(shared, "cluster", None, own.as_bytes())?;
    if joined == Swapped::Done {
        tracing::info!("the cluster {} with {} shards begins in {:?}", cluster.name, cluster.shards, cluster.shared);
        return Ok(());
    }
    is_of(&settle::read(|| shared.value("cluster"))?.unwrap_or_default(), cluster)
}

/// The shared store of a cluster that is there already, for who is no node of it.
pub(crate) fn open(cluster: &ClusterConfig) -> Result<Arc<dyn Shared>, Failure> {
    let shared = backend::open(cluster.shared.clone(), backend::OF_A_COMMAND)?;
    let Some(found) = settle::read(|| shared.value("cluster"))? else {
        return Err(format!("{:?} holds no cluster", cluster.shared).into());
    };
    is_of(&found, cluster)?;
    reads_format(&*shared)?;
    Ok(shared)
}

/// An error if what a shared store says of its cluster is not what the config says.
fn is_of(found: &[u8], cluster: &ClusterConfig) -> Result<(), Failure> {
    let (own, found) = (format!("{} {}", cluster.name, cluster.shards), String::from_utf8_lossy(found));
    match found.split_once(' ') {
        _ if found == own => Ok(()),
        Some((name, _)) if name != cluster.name => Err(format!(
            "{:?} belongs to the cluster {name:?}, and this node is to be one of {:?}: each cluster needs a place of its own",
            cluster.shared, cluster.name
        )
        .into()),
        Some((name, shards)) => Err(format!(
            "the cluster {name:?} was made with {shards} shards, which never changes; [cluster] says {}: say shards = {shards}",
            cluster.shards
        )
        .into()),
        None => Err(format!("{:?} holds something else than a cluster", cluster.shared).into()),
    }
}

/// Whether shards have copies. Once some policy wanted them they stay: what they recorded belongs to the archive.
fn copies(shared: &dyn Shared, wanted: Copies) -> Result<Copies, Failure> {
    const TWO: &[u8] = b"2";
    if wanted == Copies::Two && settle::swap(shared, COPIES, None, TWO)? == Swapped::Done {
        tracing::info!("a policy says copies = 2: from now on each shard of PVs has a copy, at another node");
    }
    of_copies(shared)
}

/// Under this name stands how many archives a shard has, if there are two.
const COPIES: &str = "copies";

/// Whether the shards of a cluster have copies.
pub(crate) fn of_copies(shared: &dyn Shared) -> Result<Copies, Failure> {
    match settle::read(|| shared.value(COPIES))?.as_deref() {
        None => Ok(Copies::One),
        Some(b"2") => Ok(Copies::Two),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            Err(format!("the shards of this cluster have {other} copies, which this pvark does not know: update it")
                .into())
        }
    }
}

/// What tells this cluster from all others, also from those that have its name: the first node that comes says it.
pub(crate) fn identity(shared: &dyn Shared) -> Result<String, Failure> {
    const NAME: &str = "identity";
    let first = remote::new_run().ok_or("this machine has no random numbers")?;
    let first = format!("{first:016x}");
    if settle::swap(shared, NAME, None, first.as_bytes())? == Swapped::Done {
        return Ok(first);
    }
    Ok(String::from_utf8_lossy(&settle::read(|| shared.value(NAME))?.unwrap_or_default()).into_owned())
}

/// An error if another process goes by the name of this node.
fn is_alone(shared: &dyn Shared, node: &str) -> Result<(), Failure> {
    let beat = || -> Result<Option<Beat>, Failure> {
        let beats = settle::read(|| shared.beats())?;
        Ok(beats.into_iter().find(|(name, _)| name == node).and_then(|(_, beat)| Beat::decode(&beat)))
    };
    let Some(first) = beat()?.filter(|beat| !beat.is_leaving) else { return Ok(()) };
    let begun = Instant::now();
    while begun.elapsed() < NAMED_TWICE_WITHIN {
        thread::sleep(Duration::from_millis(500));
        if beat()?.as_ref() != Some(&first) {
            return Err(format!(
                "another pvark runs as node {node:?} of this cluster, at {}; give each node a name of its own",
                first.address
            )
            .into());
        }
    }
    Ok(())
}

/// The list of PVs of a shard that another node has.
#[derive(Debug)]
struct List(Follower);

impl List {
    fn new(data: &Path, shared: &Arc<dyn Shared>, pairs: Pairs, shard: u32) -> Result<List, Failure> {
        let folder = data.join("lists").join(shard.to_string());
        // What a start before has left is worth nothing.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let id = pairs.archive(shard).ok_or("no shard has this copy")?;
        let disks = ["0", "1"].map(|name| -> Arc<dyn Disk> { Arc::new(RealDisk::new(folder.join(name))) });
        Ok(List(Follower::new(disks, shared.clone(), id)))
    }
}

impl Follows for List {
    fn list(&self) -> &dyn Directory {
        &self.0
    }

    fn catch_up(&self) -> Result<(), String> {
        self.0.catch_up().map_err(|error| error.to_string())
    }
}

/// What this node answers to others.
struct Answering {
    board: Arc<Board>,
    node: Arc<Answers>,
}

impl remote::Cluster for Answering {
    fn lacks(&self, pv: PvId) -> Option<String> {
        self.board.lacks(pv)
    }

    fn answer(&self, question: &[u8]) -> Result<Vec<u8>, String> {
        self.node.answer(question)
    }

    fn take(&self, question: &[u8], pieces: &mut dyn Iterator<Item = Result<Sent, String>>) -> Result<Vec<u8>, String> {
        self.node.take(question, pieces)
    }
}

/// Merges days that are over, until the node ends, and says once what stays at copies.
fn merging(whole: Whole, days: Days, ends: Arc<AtomicBool>) -> Box<dyn FnMut(bool) + Send> {
    let (mut told, mut last) = (BTreeMap::new(), Instant::now());
    Box::new(move |is_last| {
        if is_last || last.elapsed() < days.grace / 2 {
            return;
        }
        let failed: BTreeMap<u32, String> =
            whole.merge_days(&days, now(), &|| !ends.load(Relaxed)).into_iter().collect();
        for (shard, error) in failed.iter().filter(|(shard, error)| told.get(*shard) != Some(*error)) {
            tracing::warn!("what the copy of shard {shard} has of days that are over stays there for now: {error}");
        }
        (told, last) = (failed, Instant::now());
    })
}

/// Asks the shared store now and then whether it keeps what it takes.
fn doubting(shared: Arc<dyn Shared>, board: Arc<Board>) -> Box<dyn FnMut(bool) + Send> {
    let mut asked: Option<Instant> = None;
    Box::new(move |is_last| {
        if is_last || asked.is_some_and(|asked| asked.elapsed() < CAVEATS_EACH) {
            return;
        }
        match shared.caveats() {
            Ok(caveats) => {
                board.is_kept_with(caveats);
                asked = Some(Instant::now());
            }
            Err(error) => tracing::debug!("how the shared store is set up is not known: {error}"),
        }
    })
}

/// The threads of a node.
struct NodeAtWork {
    ends: Arc<AtomicBool>,
    node: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
}

impl NodeAtWork {
    fn begin(
        mut node: Node,
        board: &Arc<Board>,
        shards: &Arc<NodeShards>,
        folders: &Arc<Folders>,
        days: Days,
        shared: Arc<dyn Shared>,
    ) -> std::io::Result<NodeAtWork> {
        let ends = Arc::new(AtomicBool::new(false));
        let spawn = |name: &str, mut turn: Box<dyn FnMut(bool) + Send>| {
            let ends = ends.clone();
            let work = move || {
                while !ends.load(Relaxed) {
                    let begun = Instant::now();
                    turn(false);
                    thread::sleep(EACH.saturating_sub(begun.elapsed()));
                }
                turn(true);
            };
            thread::Builder::new().name(name.to_owned()).spawn(work)
        };
        let (began, taken) = (Instant::now(), shards.clone());
        let turns = spawn(
            "cluster",
            Box::new(move |is_last| {
                if is_last {
                    return node.farewell();
                }
                let clock = now().nanos() / 1_000_000_000;
                for shard in node.turn(began.elapsed(), clock, &taken.taking()) {
                    if let Err(error) = taken.begin_to_take(shard) {
                        tracing::debug!("{error}");
                    }
                }
            }),
        )?;
        let followed = board.clone();
        let follow = spawn(
            "lists of others",
            Box::new(move |is_last| {
                if !is_last {
                    let copies = followed.open_copies();
                    followed
                        .follow()
                        .into_iter()
                        .for_each(|(shard, error)| tracing::debug!("list of shard {shard}: {error}"));
                    followed.mirror(&copies, now());
                }
            }),
        )?;
        let asked = board.clone();
        let figures = spawn(
            "figures of others",
            Box::new(move |is_last| {
                if !is_last {
                    asked.ask_figures();
                }
            }),
        )?;
        let doubts = spawn("caveats", doubting(shared, board.clone()))?;
        let merged = board.clone();
        let (board, folders) = (board.clone(), folders.clone());
        let offer = spawn(
            "handing over",
            Box::new(move |is_last| {
                if !is_last {
                    folders.offer(&board)
                }
            }),
        )?;
        let merge = spawn("days of copies", merging(Whole::new(merged), days, ends.clone()))?;
        Ok(NodeAtWork { ends, node: turns, others: vec![follow, figures, doubts, offer, merge] })
    }

    fn end(self) {
        self.ends.store(true, Relaxed);
        for thread in self.others.into_iter().chain([self.node]) {
            if thread.join().is_err() {
                tracing::error!("a thread of the node panicked");
            }
        }
    }
}

//! The listener for nodes: it answers what other nodes ask of this one's own source, and nobody who has not proved to have the key.
//!
//! ```text
//!   connection ─► TLS, both keys ─► POST /internal/v1/NAME ─► a thread reads the source ─► frames gather ─► two lots wait ─► sent
//! ```
//! A reader that is slow holds three lots of frames (`lots`) and a thread, and loses its answer after a while.

use std::{
    convert::Infallible,
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use archive::{Cost, Directory, GapScope, Key as PvKey, Named, PvId, Sent, Source, SourceError};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use sample::{Batch, Gap, GapCause, TimeRange, Timestamp};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    call::{self, Call, LANGUAGE, Pv, ROOT},
    frame::{Hello, Item},
    key::Key,
    lots::{Frames, Gone, Lot, Sender},
    share,
};

/// So many answers are made at a time, and so long one waits for its turn.
const ANSWERS_MAX: usize = 32;
const TURN_WITHIN: Duration = Duration::from_secs(2);
/// So many nodes and their connections.
const CONNECTIONS_MAX: usize = 256;
/// So long a handshake may take, and the arguments of a question.
const ARRIVES_WITHIN: Duration = Duration::from_secs(5);
/// A connection by which nothing is asked is closed after so long: its node may have lost its power.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// After a refused accept (no file handles left) the next is tried so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// That somebody came without the key is logged at most so often.
const TOLD_EACH: Duration = Duration::from_secs(60);
/// Longer batches are cut into their rows, as a frame has room for one large sample.
pub(crate) const BATCH_BYTES_MAX: usize = 8 << 20;

/// Where nodes are answered, and by which key.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Where it listens.
    pub address: SocketAddr,
    /// What whoever asks must have.
    pub key: Key,
    /// Which run of the program answers.
    pub run: u64,
    /// The version of the program.
    pub program: String,
}

/// What is answered from.
#[derive(Clone)]
pub struct Offered {
    /// What this node recorded itself: what it reads from others it does not pass on, or two nodes would ask each other for ever.
    pub source: Arc<dyn Source>,
    /// Which PVs these are.
    pub directory: Arc<dyn Directory>,
    /// What it has to do with a cluster; none if it is in none.
    pub cluster: Option<Arc<dyn Cluster>>,
}

/// What a node of a cluster answers beyond samples.
pub trait Cluster: Send + Sync {
    /// Why a PV cannot be answered from here; none if its shard is open here. Its number is that of the whole cluster.
    fn lacks(&self, pv: PvId) -> Option<String>;

    /// Answers a question in the cluster's own bytes, or says why not. It may wait for disks and for the shared store.
    fn answer(&self, question: &[u8]) -> Result<Vec<u8>, String>;

    /// Takes the share of an import that comes behind a question, and answers when it is entered, or says why it is not. Nothing of it counts
    /// unless its last piece is the name of the part.
    fn take(&self, question: &[u8], pieces: &mut dyn Iterator<Item = Result<Sent, String>>) -> Result<Vec<u8>, String>;
}

/// The listener while it runs. Dropping it breaks all answers off.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What every connection knows.
struct Node {
    offered: Offered,
    run: u64,
    program: String,
    turns: Arc<Semaphore>,
    shares: Arc<Semaphore>,
    told: Mutex<Option<Instant>>,
}

impl Listener {
    /// Listens, on the current tokio runtime.
    pub fn start(config: ListenerConfig, offered: Offered) -> io::Result<Listener> {
        let ListenerConfig { address, key, run, program } = config;
        let cannot =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot listen for nodes at {address}: {error}"));
        let listener = std::net::TcpListener::bind(address).map_err(cannot)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener).map_err(cannot)?;
        let address = listener.local_addr()?;
        let turns = Arc::new(Semaphore::new(ANSWERS_MAX));
        let shares = Arc::new(Semaphore::new(share::SHARES_MAX));
        let node = Arc::new(Node { offered, run, program, turns, shares, told: Mutex::default() });
        let task = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::clone(&key.server)), node));
        Ok(Listener { address, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, node: Arc<Node>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = match listener.accept().await {
            Ok((stream, peer)) => Arc::clone(&room).try_acquire_owned().ok().map(|permit| (stream, peer, permit)),
            Err(error) => {
                tracing::warn!("a node's connection could not be accepted: {error}");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Some((stream, peer, permit)) = accepted {
            connections.spawn(connection(stream, peer, permit, acceptor.clone(), Arc::clone(&node)));
        }
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    _room: OwnedSemaphorePermit,
    acceptor: TlsAcceptor,
    node: Arc<Node>,
) {
    let _ = stream.set_nodelay(true); // answers would be a little later
    let stream = match timeout(ARRIVES_WITHIN, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return node.tell_of(peer, &error.to_string()),
        Err(_) => return node.tell_of(peer, "it took too long"),
    };
    let answer = service_fn(move |request| {
        let node = Arc::clone(&node);
        async move { Ok::<_, Infallible>(answer(&node, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Some(IDLE_MAX))
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    if let Err(error) = served {
        tracing::debug!("the connection of the node {peer} broke off: {error}");
    }
}

impl Node {
    /// Somebody came who did not prove to have the key.
    fn tell_of(&self, peer: SocketAddr, why: &str) {
        let mut told = self.told.lock().expect("no holder of this lock panics");
        if told.is_none_or(|told| told.elapsed() > TOLD_EACH) {
            *told = Some(Instant::now());
            tracing::warn!("{peer} came to the listener of nodes and did not prove to have the key: {why}");
        }
    }

    fn pv(&self, pv: &Pv) -> Option<PvId> {
        match pv {
            // PVs that the archive keeps for itself are in no list, and other nodes of a cluster read them.
            Pv::Number(pv) if self.offered.cluster.is_some() => Some(*pv),
            Pv::Number(pv) => self.offered.directory.entry(*pv).map(|entry| entry.id),
            // By its own name alone: whoever asks for each alias too is not to be told everything twice.
            Pv::Name(name) => {
                self.offered.directory.find(name.as_str()).filter(|entry| entry.name == *name).map(|entry| entry.id)
            }
        }
    }

    /// Gives the pieces of an answer, until they are not taken any more.
    fn answer(&self, call: Call, give: &mut dyn FnMut(Item) -> Result<(), Gone>) -> Result<(), Gone> {
        let source = &*self.offered.source;
        if let (Some(cluster), Some(pv)) = (&self.offered.cluster, call.number())
            && let Some(message) = cluster.lacks(pv)
        {
            // Whoever asks would take "no such PV" for an answer.
            return give(Item::Trouble(SourceError { cost: Cost::UntilBack, message }));
        }
        match call {
            Call::Cluster { question } => give(match &self.offered.cluster {
                None => Item::Absent,
                Some(cluster) => match cluster.answer(&question) {
                    Ok(answer) => Item::Cluster(answer),
                    Err(message) => Item::Trouble(SourceError { cost: Cost::Answer, message }),
                },
            }),
            Call::Hello => {
                give(Item::Hello(Hello { language: LANGUAGE, run: self.run, program: self.program.clone() }))
            }
            Call::Names => {
                let directory = &self.offered.directory;
                // Aliases lead to the same PVs.
                let is_own = |named: &&Named| directory.entry(named.pv).is_some_and(|entry| entry.name == named.name);
                let names = directory.names();
                names.iter().filter(is_own).try_for_each(|named| give(Item::Name(named.name.to_string())))
            }
            Call::HaveSamples { pvs } => give(Item::Flags(source.may_have_samples(&pvs))),
            Call::HaveMetadata { pvs } => give(match source.may_have_metadata(&pvs) {
                Ok(flags) => Item::Flags(flags),
                Err(error) => Item::Trouble(error),
            }),
            Call::Samples { pv, field, range } => {
                let Some(pv) = self.pv(&pv) else { return give(Item::Absent) };
                let samples = match &field {
                    Some(field) => source.samples_of_field(PvKey::Number(pv), field, range),
                    None => source.samples(PvKey::Number(pv), range),
                };
                samples.into_iter().try_for_each(|batch| match batch {
                    Ok(batch) => give_batch(batch, give),
                    Err(error) => give(Item::Trouble(error)),
                })
            }
            Call::Stretches { pv, field, range, edges } => {
                let Some(pv) = self.pv(&pv) else { return give(Item::Absent) };
                match source.stretches(PvKey::Number(pv), field.as_deref(), range, &edges.into()) {
                    Ok(None) => give(Item::Absent),
                    Err(error) => give(Item::Trouble(error)),
                    Ok(Some(stretches)) => stretches.into_iter().try_for_each(|stretch| match stretch {
                        Ok(sample::Stretch::Summary(summary)) => give(Item::Summary(summary)),
                        Ok(sample::Stretch::Samples(batch)) => give_batch(batch, give),
                        Err(error) => give(Item::Trouble(error)),
                    }),
                }
            }
            call => match self.facts(call) {
                Ok(None) => give(Item::Absent),
                Ok(Some(items)) => items.into_iter().try_for_each(give),
                Err(error) => give(Item::Trouble(error)),
            },
        }
    }

    /// The pieces of a short answer; none if there is no such PV.
    fn facts(&self, call: Call) -> Result<Option<Vec<Item>>, SourceError> {
        let source = &*self.offered.source;
        let pv = match &call {
            Call::Before { pv, .. }
            | Call::Extent { pv }
            | Call::Metadata { pv, .. }
            | Call::Gaps { pv, .. }
            | Call::Lacks { pv, .. }
            | Call::Carried { pv, .. }
            | Call::Headers { pv, .. }
            | Call::Configuration { pv } => self.pv(pv),
            _ => None,
        };
        let Some(pv) = pv else { return Ok(None) };
        let key = PvKey::Number(pv);
        let gaps = |gaps: Vec<(GapScope, Gap)>| gaps.into_iter().map(|(scope, gap)| Item::Gap(scope, gap)).collect();
        Ok(Some(match call {
            Call::Before { time, .. } => {
                source.last_before(key, time)?.map(|sample| Item::Batch(Batch::holding(sample))).into_iter().collect()
            }
            Call::Extent { .. } => source.extent(key)?.map(Item::Extent).into_iter().collect(),
            Call::Metadata { range, .. } => {
                source.metadata(key, range)?.into_iter().map(|(since, of)| Item::Metadata(since, of)).collect()
            }
            Call::Gaps { field, range, .. } => gaps(source.gaps(key, field.as_deref(), range)?),
            Call::Lacks { field, range, .. } => {
                let mut lacks = source.gaps(key, field.as_deref(), range)?;
                lacks.extend(self.before_it_was_recorded(pv, range)?);
                gaps(lacks)
            }
            Call::Carried { name, range, .. } => {
                source.carried(key, range, name.as_deref()).map(|of| of.map(Item::Carried)).collect::<Result<_, _>>()?
            }
            Call::Headers { range, .. } => {
                source.headers(key, range)?.into_iter().map(|(name, text)| Item::Header(name, text)).collect()
            }
            Call::Configuration { .. } => source.configuration(key).map(Item::Text).into_iter().collect(),
            _ => Vec::new(),
        }))
    }

    /// The time before a PV was added here, and before its first sample, as a gap.
    fn before_it_was_recorded(&self, pv: PvId, range: TimeRange) -> Result<Option<(GapScope, Gap)>, SourceError> {
        let Some(entry) = self.offered.directory.entry(pv) else { return Ok(None) };
        let first = self.offered.source.extent(PvKey::Number(pv))?.map_or(Timestamp::MAX, |extent| extent.first);
        let since = entry.added.min(first);
        let gap = Gap { from: Timestamp::MIN, to: Some(since), cause: GapCause::NotArchived, lost: 0 };
        Ok(gap.overlaps(range).then_some((GapScope::Pv, gap)))
    }
}

fn give_batch(batch: Batch, give: &mut dyn FnMut(Item) -> Result<(), Gone>) -> Result<(), Gone> {
    if batch.byte_size() <= BATCH_BYTES_MAX || batch.len() == 1 {
        return give(Item::Batch(batch));
    }
    (0..batch.len()).try_for_each(|row| give(Item::Batch(batch.slice(row..row + 1))))
}

async fn answer(node: &Arc<Node>, request: Request<Incoming>) -> Response<Frames> {
    let refuse = |status: StatusCode| {
        let mut response = Response::new(Frames::none());
        *response.status_mut() = status;
        response
    };
    if request.method() != Method::POST {
        return refuse(StatusCode::METHOD_NOT_ALLOWED);
    }
    let Some(name) = request.uri().path().strip_prefix(ROOT).map(str::to_owned) else {
        return refuse(StatusCode::NOT_FOUND);
    };
    if let (share::NAME, Some(cluster)) = (name.as_str(), &node.offered.cluster) {
        let taken = share::take(Arc::clone(cluster), Arc::clone(&node.shares), request.into_body()).await;
        return taken.map_or_else(|| refuse(StatusCode::BAD_REQUEST), Response::new);
    }
    let call = match timeout(ARRIVES_WITHIN, arguments(request.into_body())).await {
        Ok(Some(arguments)) => Call::read(&name, &arguments),
        Ok(None) | Err(_) => return refuse(StatusCode::BAD_REQUEST),
    };
    let Some(call) = call else { return refuse(StatusCode::NOT_FOUND) };
    let (send, lots) = mpsc::channel(2);
    tokio::spawn(work(Arc::clone(node), call, send));
    Response::new(Frames::of(lots))
}

/// What a question brings; none if it is too long or breaks off.
async fn arguments(mut body: Incoming) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let Some(frame) = next else { return Some(whole) };
        let Ok(bytes) = frame.ok()?.into_data() else { continue };
        if whole.len() + bytes.len() > call::BYTES_MAX {
            return None;
        }
        whole.extend_from_slice(&bytes);
    }
}

/// Makes an answer when it is its turn.
async fn work(node: Arc<Node>, call: Call, send: mpsc::Sender<Lot>) {
    let turn = timeout(TURN_WITHIN, Arc::clone(&node.turns).acquire_owned()).await;
    let make = move || {
        let mut sender = Sender::new(send);
        let answered = match turn {
            Ok(Ok(_)) => node.answer(call, &mut |item| sender.give(&item)),
            _ => sender.give(&Item::Trouble(SourceError {
                cost: Cost::UntilBack,
                message: "the other node answers too many questions already".to_owned(),
            })),
        };
        if answered.is_ok() {
            let _ = sender.end(); // who asked may have gone
        }
    };
    if let Err(error) = spawn_blocking(make).await {
        tracing::error!("an answer to another node failed: {error}"); // it has no end, so who asked sees it
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Node")
    }
}

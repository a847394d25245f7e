//! `GET /metrics`: counters in the OpenMetrics text format. Those of HTTP are kept here, all others are asked for when a
//! scrape comes.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use archive::{
    ClusterStanding, Health, NodeFigures, NodeState, Totals, Watermark,
    ledger::{Column, Kind},
};
use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use hyper::body::{Bytes, Frame, SizeHint};
use prometheus_client::{
    encoding::{
        EncodeLabelSet,
        text::{encode_eof, encode_registry},
    },
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use service::{Ask, Lease};
use tokio::time::Instant;

use crate::{
    auth::Refusals,
    door::Doors,
    peer::AnsweredBy,
    process,
    refusal::{Code, Refusal},
};

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByStatus {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRoute {
    route: String,
}

/// One label, by its name and value.
type Label = [(&'static str, &'static str); 1];

/// One label whose value comes from the configuration.
type OwnedLabel = [(&'static str, String); 1];

/// What is counted of HTTP.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<ByStatus, Counter>,
    seconds: Family<ByRoute, Histogram>,
    bytes: Family<ByRoute, Counter>,
    /// What is counted of requests that were refused for who sent them.
    pub(crate) refusals: Refusals,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("pvark_http");
        let requests = Family::<ByStatus, Counter>::default();
        let seconds = Family::<ByRoute, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.000_5, 4.0, 10))
        });
        let bytes = Family::<ByRoute, Counter>::default();
        registry.register("requests", "Requests answered", requests.clone());
        registry.register("answer_seconds", "From the request to the last byte of the answer", seconds.clone());
        registry.register("answer_bytes", "Bytes of answers, without heads", bytes.clone());
        Metrics { registry, requests, seconds, bytes, refusals: Refusals::new() }
    }
}

/// The text of a scrape.
pub(crate) fn page(metrics: &Metrics, ask: &Ask, doors: &Doors) -> Result<String, Refusal> {
    let mut text = String::new();
    encode_registry(&mut text, &metrics.registry)
        .and_then(|()| encode_registry(&mut text, &metrics.refusals.registry()))
        .and_then(|()| encode_registry(&mut text, &archive(ask)))
        .and_then(|()| encode_registry(&mut text, &certificates(doors)))
        .and_then(|()| encode_registry(&mut text, &process::registry()))
        .and_then(|()| encode_eof(&mut text))
        .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
    Ok(text)
}

/// When the certificates expire that are used, as seconds since 1970; 0 where none can be used.
fn certificates(doors: &Doors) -> Registry {
    let mut registry = Registry::with_prefix("pvark");
    let expires = Family::<OwnedLabel, Gauge>::default();
    let certificates = doors.certificates();
    if certificates.is_empty() {
        return registry;
    }
    for (file, until) in certificates {
        let seconds = until.map_or(0, |until| until.nanos() / 1_000_000_000);
        expires.get_or_create(&[("file", file)]).set(seconds);
    }
    registry.register("tls_certificate_expires_seconds", "When the certificate that is used expires", expires);
    registry
}

/// What the arms of the archive say of themselves now.
fn archive(ask: &Ask) -> Registry {
    let mut registry = Registry::with_prefix("pvark");
    let totals = ask.totals();
    register_acquisition(&mut registry, &totals);
    register_clients(&mut registry, &totals);
    let health = ask.store_health();
    register_store(&mut registry, &health, ask.watermark());
    register_tiers(&mut registry, &health);
    if let Some(cluster) = ask.cluster_if_any() {
        register_cluster(&mut registry, &cluster, &health);
    }
    registry
}

fn register_acquisition(registry: &mut Registry, totals: &Totals) {
    let states = Family::<Label, Gauge>::default();
    for (state, count) in [
        ("searching", totals.searching),
        ("connected", totals.connected),
        ("disconnected", totals.disconnected),
        ("paused", totals.paused),
    ] {
        states.get_or_create(&[("state", state)]).set(clamped(count));
    }
    registry.register("pvs", "PVs by where they stand", states);
    let counts = totals.counters.counts();
    let by = |label, kinds: &[Kind]| {
        counts_by(
            label,
            Column::of(kinds, counts).filter(|(c, _)| c.metric.is_none()).map(|(c, count)| (c.name, count)),
        )
    };
    let help = "Samples lost, by cause; by overrun at least";
    registry.register("samples_dropped", help, by("cause", &[Kind::Lost, Kind::Missed]));
    let help = "Samples whose time stamp is out of the ordinary, by reason; they are stored all the same";
    registry.register("samples_odd_stamp", help, by("reason", &[Kind::OddStamp]));
    let own = |kinds: &[Kind]| {
        let named = Column::of(kinds, counts).filter_map(|(column, count)| Some((column.metric?, count)));
        named.map(|((name, help), count)| (name, help, count)).collect::<Vec<_>>()
    };
    register_counts(registry, &own(&[Kind::Received, Kind::Stored, Kind::Skipped]));
    register_counts(
        registry,
        &[
            ("samples_bad_stamp", "Samples whose time stamp cannot be right", totals.counters.odd_stamps()),
            ("queue_merged", "Gaps and metadata that found no room and were put together", totals.queue_merged),
        ],
    );
    register_counts(registry, &own(&[Kind::Lost, Kind::Missed, Kind::OddStamp, Kind::Suspected]));
    register_amounts(
        registry,
        &[
            ("queue_bytes", "Bytes waiting for the store", totals.queue_bytes as u64),
            ("queue_bytes_max", "The most bytes that may wait for the store", totals.queue_bytes_max as u64),
        ],
    );
}

/// What the clients of both protocols count, with the protocol as a label.
fn register_clients(registry: &mut Registry, totals: &Totals) {
    let (ca, pva) = (&totals.ca, &totals.pva);
    for (name, help, by_ca, by_pva) in [
        ("searches", "Search requests sent to IOCs", ca.searches, pva.searches),
        ("search_replies", "Answers to searches", ca.search_replies, pva.search_replies),
        ("circuits_opened", "Connections made to IOCs", ca.circuits_opened, pva.circuits_opened),
        ("circuits_lost", "Connections to IOCs that were lost or given up", ca.circuits_lost, pva.circuits_lost),
        ("received_bytes", "Bytes received from IOCs", ca.bytes, pva.bytes),
        ("messages", "Messages received from IOCs", ca.messages, pva.messages),
        ("updates", "Updates of monitors among these", ca.updates, pva.updates),
        ("protocol_errors", "Messages of IOCs that could not be understood", ca.protocol_errors, pva.protocol_errors),
    ] {
        registry.register(format!("client_{name}"), help, counts_by("protocol", [("ca", by_ca), ("pva", by_pva)]));
    }
    // Channel Access has no way of saying the first, and by pvAccess servers say who they are in answers, too.
    register_counts(
        registry,
        &[
            (
                "client_beacons_of_note",
                "Beacons of servers that are new or were restarted, by Channel Access",
                totals.beacons_of_note,
            ),
            ("client_overruns", "Updates before which a pvAccess server threw others away", totals.overruns),
            ("client_duplicates", "Answers of a second pvAccess server to the search for one PV", totals.duplicates),
        ],
    );
}

fn register_store(registry: &mut Registry, health: &Health, watermark: Watermark) {
    register_counts(
        registry,
        &[
            ("store_appended", "Samples ever appended to the store", watermark.appended),
            ("store_durable", "Samples known to be on disk", watermark.durable),
            ("store_syncs", "Syncs of the log", health.syncs),
            ("store_flushes", "Heads flushed to blocks", health.flushes),
            ("store_merged_segments", "Segments merged into larger ones", health.merged_segments),
            ("store_flushed_bytes", "Bytes of segments that flushes wrote", health.flushed_bytes),
            ("store_merged_bytes", "Bytes of segments that merges wrote", health.merged_bytes),
            ("store_moved_segments", "Segments moved to other places", health.moved_segments),
            ("store_moved_bytes", "Bytes of segments moved to other places", health.moved_bytes),
            ("store_expired_segments", "Segments that retention took away or wrote anew", health.expired_segments),
            ("store_expired_samples", "Samples that retention took away", health.expired_samples),
            ("store_expired_bytes", "Bytes that retention took away", health.expired_bytes),
            ("store_repeats_dropped", "Samples dropped because they repeat another exactly", health.repeats_dropped),
            ("store_corrupt_blocks", "Damaged blocks found when reading", health.corrupt_blocks),
            ("store_scrubbed_segments", "Segments read in the background to find damage", health.scrubbed_segments),
            ("store_refused_samples", "Samples in appends that the store refused", health.refused_samples),
        ],
    );
    register_amounts(
        registry,
        &[
            ("store_refusing", "1 while the store takes no samples", u64::from(health.refusal.is_some())),
            ("store_log_bytes", "Bytes in the log", health.log_bytes),
            ("store_block_bytes", "Bytes in segments", health.block_bytes),
            ("store_blocks", "Blocks in segments", health.blocks),
            ("store_segments", "Segments", health.segments),
            ("store_weeks_pending", "Weeks in which segments wait to be merged or sealed", health.weeks_pending),
            ("store_scrub_bytes", "Bytes that this pass of the scrub has read", health.scrub.bytes),
            ("store_scrub_findings", "How much damage the scrub has ever found", health.scrub.findings),
            (
                "store_scrub_last_pass_seconds",
                "When the last whole pass of the scrub ended, in seconds since 1970; 0 if none ever did",
                health.scrub.last_pass.map_or(0, |time| time.seconds_and_nanos().0.unsigned_abs()),
            ),
            ("store_reserve_bytes", "Room left of the reserve for a full disk", health.reserve_bytes),
            ("store_reserve_bytes_max", "Room that the reserve should have", health.reserve_bytes_max),
            ("store_head_bytes", "Memory that the heads take", health.head_bytes),
            ("store_head_samples", "Samples in the heads", health.head_samples),
            ("store_last_sync_micros", "How long the last sync of the log took", health.last_sync_micros),
            ("store_last_flush_micros", "How long the last flush took", health.last_flush_micros),
            (
                "store_disk_silent_micros",
                "For how long the oldest call to the disk has not come back",
                health.disk_silent_micros,
            ),
        ],
    );
}

/// How the partitions and places of the store are doing. The folder of the archive is the place without a name.
fn register_tiers(registry: &mut Registry, health: &Health) {
    let levels = health.levels.iter();
    let by_level = levels.map(|of| ("level", of.level.to_owned(), [of.segments, of.bytes]));
    let places = || health.places.iter();
    let by_place = places().map(|of| ("place", of.name.clone(), [of.segments, of.bytes]));
    let amounts = [
        ("store_level", "by how far they have come", by_level.collect::<Vec<_>>()),
        ("store_place", "by the place in which their blocks lie", by_place.collect()),
    ];
    for (name, by, rows) in amounts {
        let (segments, bytes) = (Family::<OwnedLabel, Gauge>::default(), Family::<OwnedLabel, Gauge>::default());
        for (label, value, [count, size]) in rows {
            segments.get_or_create(&[(label, value.clone())]).set(clamped(count));
            bytes.get_or_create(&[(label, value)]).set(clamped(size));
        }
        registry.register(format!("{name}_segments"), format!("Segments {by}"), segments);
        registry.register(format!("{name}_bytes"), format!("Bytes of segments {by}"), bytes);
    }
    let (free, total) = (Family::<OwnedLabel, Gauge>::default(), Family::<OwnedLabel, Gauge>::default());
    for (of, room) in places().filter_map(|of| Some((of, of.room?))) {
        let label = [("place", of.name.clone())];
        free.get_or_create(&label).set(clamped(room.free));
        total.get_or_create(&label).set(clamped(room.total));
    }
    registry.register("store_place_free_bytes", "Room left on the disk of the place", free);
    registry.register("store_place_disk_bytes", "The size of that disk", total);
    let (usable, waiting) = (Family::<OwnedLabel, Gauge>::default(), Family::<OwnedLabel, Gauge>::default());
    for of in places() {
        let label = [("place", of.name.clone())];
        usable.get_or_create(&label).set(i64::from(of.trouble.is_none()));
        waiting.get_or_create(&label).set(clamped(of.moves_waiting));
    }
    registry.register("store_place_usable", "1 while a place can be reached", usable);
    registry.register("store_place_moves_waiting", "Segments that are to be moved to a place", waiting);
}

/// How the nodes of a cluster stand, and how far the shards that this one has are in the store that they share.
fn register_cluster(registry: &mut Registry, cluster: &ClusterStanding, health: &Health) {
    let nodes = Family::<Label, Gauge>::default();
    for state in [NodeState::Lives, NodeState::Leaves, NodeState::Silent, NodeState::Stopped] {
        let count = cluster.nodes.iter().filter(|node| node.state == state).count();
        nodes.get_or_create(&[("state", state.name())]).set(clamped(count as u64));
    }
    registry.register("cluster_nodes", "Nodes by how they stand", nodes);
    let shared = &cluster.shared;
    register_amounts(
        registry,
        &[
            (
                "cluster_shards",
                "Shards that the cluster has, the site and copies included",
                u64::from(cluster.shards + cluster.copies) + 1,
            ),
            ("cluster_shards_here", "Shards that this node has", health.shards.len() as u64),
            (
                "cluster_cache_bytes",
                "Bytes of segments in the store that the nodes share that lie on the own disk, too",
                shared.kept,
            ),
        ],
    );
    let bytes = counts_by("direction", [("written", shared.written), ("read", shared.read)]);
    let help =
        "Bytes that went between this node and the store that the nodes share, without what protocols and replicas add";
    registry.register("cluster_shared_bytes", help, bytes);
    let pieces = counts_by("by", [("found", shared.found), ("fetched", shared.fetched)]);
    let help = "Pieces of segments in the store that the nodes share that were read: found on the own disk, or fetched";
    registry.register("cluster_cache_pieces", help, pieces);
    let rows = Family::<OwnedLabel, Counter>::default();
    let [samples, changes, detached] = [(); 3].map(|()| Family::<OwnedLabel, Gauge>::default());
    for of in &health.shards {
        let shard = [("shard", of.shard.to_string())];
        rows.get_or_create(&shard).inc_by(of.rows);
        samples.get_or_create(&shard).set(clamped(of.samples));
        changes.get_or_create(&shard).set(clamped(of.changes));
        detached.get_or_create(&shard).set(clamped(of.detached_seconds.unwrap_or(0)));
    }
    registry.register("cluster_journal_rows", "Rows that this node has added to the journal of a shard", rows);
    registry.register("cluster_samples_waiting", "Samples that are here, and not in the journal", samples);
    registry.register(
        "cluster_changes_waiting",
        "Changes of the catalogue that are here, and not in the journal",
        changes,
    );
    let help = "For how long the shared store has given no answer; 0 while it does";
    registry.register("cluster_detached_seconds", help, detached);
    register_nodes(registry, cluster);
}

/// What each node says of itself: those that do not answer are missing.
fn register_nodes(registry: &mut Registry, cluster: &ClusterStanding) {
    let mut amount = |name: &str, help: &str, of: &dyn Fn(&NodeFigures) -> Option<u64>| {
        let family = Family::<OwnedLabel, Gauge>::default();
        for node in &cluster.nodes {
            if let Some(amount) = node.figures.as_ref().and_then(of) {
                family.get_or_create(&[("node", node.name.clone())]).set(clamped(amount));
            }
        }
        registry.register(format!("cluster_node_{name}"), help, family);
    };
    amount("said_seconds", "How long ago the node said this", &|of| Some(of.age.as_secs()));
    amount("shards", "Shards that the node has", &|of| Some(of.shards.len() as u64));
    amount("connected", "PVs of the node that are connected", &|of| Some(of.pvs[1]));
    amount("journal_rows", "Rows that the node has added to the journals of its shards", &|of| {
        Some(of.shards.iter().map(|shard| shard.rows).sum())
    });
    amount("samples_waiting", "Samples that the node has, and no journal", &|of| Some(of.samples_waiting()));
    amount("detached_seconds", "For how long the shared store has given the node no answer; 0 while it does", &|of| {
        Some(of.detached_seconds().unwrap_or(0))
    });
    amount("log_bytes", "Bytes in the logs of the node", &|of| Some(of.log_bytes));
    amount("free_bytes", "Room left on the disk of the node", &|of| of.room.map(|room| room.free));
    amount("refusing", "1 while the node takes no samples", &|of| Some(u64::from(of.refusal.is_some())));
    amount("problems", "How many problems the node tells of", &|of| Some(of.problems));
}

/// Counters that differ in one label.
fn counts_by(label: &'static str, counts: impl IntoIterator<Item = (&'static str, u64)>) -> Family<Label, Counter> {
    let family = Family::<Label, Counter>::default();
    for (value, count) in counts {
        family.get_or_create(&[(label, value)]).inc_by(count);
    }
    family
}

fn register_counts(registry: &mut Registry, rows: &[(&'static str, &'static str, u64)]) {
    for (name, help, count) in rows {
        let counter: Counter<u64, AtomicU64> = Counter::default();
        counter.inc_by(*count);
        registry.register(*name, *help, counter);
    }
}

fn register_amounts(registry: &mut Registry, rows: &[(&'static str, &'static str, u64)]) {
    for (name, help, amount) in rows {
        let gauge: Gauge = Gauge::default();
        gauge.set(clamped(*amount));
        registry.register(*name, *help, gauge);
    }
}

fn clamped(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// The response, counted when its last byte is sent or its client has gone.
pub(crate) fn measured(metrics: Arc<Metrics>, begun: Instant, mut response: Response) -> Response {
    let lease = response.extensions_mut().remove::<Arc<Lease>>();
    let route = response.extensions().get::<AnsweredBy>().map_or("(none)", |by| by.0).to_owned();
    let status = response.status().as_u16();
    response.map(|body| {
        Body::new(Measured { body, metrics, begun, route, status, bytes: AtomicU64::new(0), _lease: lease })
    })
}

struct Measured {
    body: Body,
    metrics: Arc<Metrics>,
    begun: Instant,
    route: String,
    status: u16,
    bytes: AtomicU64,
    /// What the answer has of the budget, given back with it.
    _lease: Option<Arc<Lease>>,
}

impl HttpBody for Measured {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
            self.bytes.fetch_add(bytes, Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        let route = ByRoute { route: self.route.clone() };
        let Metrics { requests, seconds, bytes, .. } = &*self.metrics;
        requests.get_or_create(&ByStatus { route: self.route.clone(), status: self.status }).inc();
        seconds.get_or_create(&route).observe(self.begun.elapsed().as_secs_f64());
        bytes.get_or_create(&route).inc_by(self.bytes.load(Relaxed));
    }
}

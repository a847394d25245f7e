//! `/api/v1/cluster`: how the nodes of a cluster stand, and orders to them.

use archive::{NodeFigures, NodeOrder, NodeStanding, ShardLag};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    refusal::{Code, Refusal},
};

/// `GET /cluster`
pub(crate) fn show(call: &Call) -> Answer {
    let of = call.ask.cluster()?;
    json(&json!({
        "node": of.node,
        "shards": of.shards,
        "copies": of.copies,
        "format": of.format,
        "shared_bytes": { "written": of.shared.written, "read": of.shared.read },
        "cache": { "bytes": of.shared.kept, "found": of.shared.found, "fetched": of.shared.fetched },
        "nodes": of.nodes.iter().map(node).collect::<Vec<_>>(),
        "here": call.ask.store_health().shards.iter().map(shard).collect::<Vec<_>>(),
    }))
}

fn node(of: &NodeStanding) -> Value {
    json!({
        "name": of.name,
        "state": of.state.name(),
        "address": of.address,
        "version": of.version,
        "format": of.format,
        "shards": of.shards,
        "figures": of.figures.as_ref().map(figures),
    })
}

fn figures(of: &NodeFigures) -> Value {
    let [searching, connected, disconnected, paused] = of.pvs;
    json!({
        "seconds_old": of.age.as_secs(),
        "pvs": {
            "connected": connected,
            "searching": searching,
            "disconnected": disconnected,
            "paused": paused,
        },
        "lost": of.lost,
        "appended": of.watermark.appended,
        "durable": of.watermark.durable,
        "samples_waiting": of.samples_waiting(),
        "detached_seconds": of.detached_seconds(),
        "log_bytes": of.log_bytes,
        "free_bytes": of.room.map(|room| room.free),
        "disk_bytes": of.room.map(|room| room.total),
        "refusal": of.refusal,
        "problems": of.problems,
        "page": of.page,
        "shards": of.shards.iter().map(shard).collect::<Vec<_>>(),
    })
}

fn shard(of: &ShardLag) -> Value {
    json!({
        "shard": of.shard,
        "epoch": of.epoch,
        "rows": of.rows,
        "samples_waiting": of.samples,
        "changes_waiting": of.changes,
        "detached_seconds": of.detached_seconds,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    to: String,
}

/// `POST /cluster/shards/{shard}/move`
pub(crate) fn move_shard(call: &Call) -> Answer {
    let shard = call.path_number("shard", "a shard")?;
    let wanted: Wanted = serde_json::from_slice(&call.body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}"))
            .hint(r#"send {"to":"archiver2"}"#)
    })?;
    ordered(call, &NodeOrder::Move { shard, to: wanted.to }, "begun")
}

/// `POST /cluster/nodes/{node}/drain`
pub(crate) fn drain(call: &Call) -> Answer {
    ordered(call, &NodeOrder::Drain(named(call)), "begun")
}

/// `POST /cluster/nodes/{node}/join`
pub(crate) fn join(call: &Call) -> Answer {
    ordered(call, &NodeOrder::Join(named(call)), "begun")
}

/// `DELETE /cluster/nodes/{node}`
pub(crate) fn forget(call: &Call) -> Answer {
    ordered(call, &NodeOrder::Forget(named(call)), "done")
}

/// `POST /cluster/raise`
pub(crate) fn raise(call: &Call) -> Answer {
    ordered(call, &NodeOrder::Raise, "done")
}

fn named(call: &Call) -> String {
    call.path_part("node").to_owned()
}

fn ordered(call: &Call, order: &NodeOrder, status: &str) -> Answer {
    call.ask.order_nodes(order)?;
    json(&json!({ "order": order.to_string(), "status": status }))
}

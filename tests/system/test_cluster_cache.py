"""A node that has got a shard reads once what others wrote of it into the shared store, and then from its own disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from archiver import Pvark
from ioc import Ioc
from three_nodes import NAMES, Cluster, store_of
from waiting import wait_for

PV, SAMPLES = "HI:past", 100_000
START = np.datetime64("2024-01-01T00:00:00", "s")
LINES = f"/api/v1/pvs/{PV}/samples?from={START}Z&to={START + SAMPLES}Z&format=csv"


def test_what_lies_in_the_shared_store_alone_is_fetched_once(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> None:
    store = store_of(tmp_path)
    rule = f'[[cluster.rule]]\nmatch = ["{PV}"]\nshard = 0\n'
    cluster = Cluster(tmp_path, [start_ioc("")], store.table(tmp_path) + rule, shards=2)
    try:
        cluster.start()
        owner = cluster.seats()[0]
        written = take(cluster.nodes[owner])
        to = next(name for name in NAMES if name != owner)
        cluster.command("move", "0", to, node=owner)
        wait_for("the shard to be there", lambda: cluster.seats()[0] == to, 60, every=0.5)
        cluster.wait_calm(seconds=120)
        node = cluster.nodes[to]
        assert lines(node) == written
        first = cache(node)
        assert first["fetched"] > 0 and first["bytes"] > 0
        assert lines(node) == written
        again = cache(node)
        assert again["fetched"] == first["fetched"] and again["found"] > first["found"], (first, again)
        # Whoever needs the room may take it.
        shutil.rmtree(node.data / "cache")
        (node.data / "cache").mkdir()
        assert lines(node) == written
        assert cache(node)["fetched"] > first["fetched"]
    finally:
        cluster.kill()
        store.kill()


def take(node: Pvark) -> bytes:
    """Gives a node a history; and what it answers of it."""
    node.archive.add(f"ca://{PV}")
    values = np.random.default_rng(1).normal(5, 1, SAMPLES).round(3)
    text = "\n".join(f"{START + second}Z,{value}" for second, value in enumerate(values))
    status, _, body = node.request("POST", f"/api/v1/pvs/{PV}/import?import=past&part=0&type=f64", text.encode())
    assert status == 200, (status, body)

    def is_shipped() -> bool:
        here = node.json("/api/v1/cluster")["here"]
        return all(of["samples_waiting"] == of["changes_waiting"] == 0 for of in here)

    wait_for("the history to be shipped", is_shipped, 60, every=0.2)
    return lines(node)


def lines(node: Pvark) -> bytes:
    status, _, body = node.request("GET", LINES)
    assert status == 200 and body.count(b"\n") >= SAMPLES, (status, body[:300])
    return body


def cache(node: Pvark) -> dict[str, int]:
    told: dict[str, int] = node.json("/api/v1/cluster")["cache"]
    return told

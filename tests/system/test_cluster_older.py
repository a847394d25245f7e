"""A cluster of which a node runs an older program, as while its nodes are updated one after the other: each order is
carried out from either to the other, or refused with what to do; every URL answers at each; nothing is lost meanwhile.

`make cluster-older REV=…` builds the older program and runs this."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from appliance import header, sample
from archiver import Pvark, run_program
from ioc import Ioc
from test_cluster import PVS, RECORDS, is_whole, now, wait_recorded
from test_cluster_orders import CSV, ORDERS, RULES, SHARDS, Elsewhere
from three_nodes import NAMES, Cluster, Store
from waiting import wait_for

OLDER = os.environ.get("PVARK_OLDER", "")
pytestmark = pytest.mark.skipif(
    not OLDER, reason="PVARK_OLDER names no older program: `make cluster-older REV=…` builds one and runs this"
)


@pytest.fixture(scope="module")
def mixed(module_folder: Path, module_store: Store) -> Iterator[Cluster]:
    """Node c is the older one; each has a shard of PVs."""
    cluster = Cluster(module_folder, [], module_store.table(module_folder) + RULES, shards=SHARDS)
    cluster.nodes["c"].binary = Path(OLDER)
    try:
        cluster.start()
        for shard, node in enumerate(NAMES):
            take(cluster, shard, node)
        yield cluster
    finally:
        cluster.kill()


def take(cluster: Cluster, shard: int, node: str) -> None:
    """That node has the shard, as all nodes see it."""

    def is_there() -> bool:
        if all(cluster.seats(name).get(shard) == node for name in NAMES):
            return True
        # It is refused by a node that has not heard of the last move yet, and while all are about to hear of this one.
        run_program("cluster", "--server", cluster.nodes["a"].url, "move", str(shard), node, seconds=90)
        return False

    wait_for("the shard to be there", is_there, 60, every=1)


def described(node: Pvark) -> set[str]:
    """The URLs that a node has, each with its method before it."""
    paths = node.json("/api/v1/openapi.json")["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


numbers = itertools.count()


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: quote(order, safe=" /{}"))
@pytest.mark.parametrize("asked, owner", [("a", "c"), ("c", "a")], ids=["newer-to-older", "older-to-newer"])
def test_an_order_goes_from_an_older_node_to_a_newer_one_and_back(
    order: str, asked: str, owner: str, mixed: Cluster
) -> None:
    of_site = any(word in order for word in ("notes", "views", "tokens"))
    shard = SHARDS if of_site else NAMES.index(owner)
    take(mixed, shard, owner)
    at = Elsewhere(mixed.nodes[asked], owner, mixed.nodes[owner], 0 if of_site else shard, numbers)
    if order not in described(at.node):
        pytest.skip("the older program does not know it")
    if "import" in order.lower() and "/api/" in order or "appendAndAliasPV" in order:
        pytest.skip("see the test of imports")
    ORDERS[order](at)


def test_imports_name_the_node_where_either_is_older(mixed: Cluster) -> None:
    for asked, owner in (("a", "c"), ("c", "a")):
        shard = NAMES.index(owner)
        take(mixed, shard, owner)
        at = Elsewhere(mixed.nodes[asked], owner, mixed.nodes[owner], shard, numbers)
        name = at.pv()
        status, answer = at.ask("POST", f"/api/v1/pvs/{name}/import?import=csv&part=1&type=f64", CSV)
        assert status == 409 and f"to node {owner}" in json.dumps(answer), (asked, status, answer)
        begin = 1_767_571_200  # 2026-01-05
        lines = header(name) + b"".join(
            sample((begin + second) * 10**9, b"\x19" + struct.pack("<d", second)) for second in range(9)
        )
        path = f"/api/v1/import?import=aa&part={next(numbers)}"
        status, answer = at.ask("POST", path, lines)
        assert status == 409 and f"to node {owner}" in json.dumps(answer), (asked, status, answer)
        # Its node takes it, and both answer.
        at.node_of_owner.take(name, "f64", CSV.decode())

        def is_there(at: Elsewhere = at, name: str = name) -> bool:
            return bool(at.node.archive.get(name, "2026-01-01", "2026-01-10").values.tolist() == [1.0, 2.0])

        wait_for("what was imported", is_there, 20, every=0.3)


def status_of(node: Pvark, path: str) -> int:
    """What a GET comes to; its answer, which may have no end, is not read."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_every_url_answers_at_each_node(mixed: Cluster) -> None:
    mixed.wait_calm()
    for shard, owner in enumerate(NAMES):
        pv = f"O{shard}:asked"
        mixed.nodes["a"].archive.add(pv)
        mixed.nodes[owner].take(pv, "f64", CSV.decode())
    wait_for("all nodes to know them", lambda: all(len(names(node)) >= SHARDS for node in mixed.nodes.values()), 20)
    failed = []
    for name, node in mixed.nodes.items():
        for url in sorted(described(node)):
            method, path = url.split(" ", 1)
            if method != "GET" or "login" in path:
                continue
            for shard in range(SHARDS):
                pv = quote(f"O{shard}:asked")
                query = f"pv={pv}&from=2026-01-01&to=2026-01-10&at=2026-01-06&match=O*&bins=10&limit=100"
                filled = path.replace("{pv}", pv).replace("{name}", pv)
                if "{" in filled:
                    continue
                status = status_of(node, f"{filled}?{query}")
                # A report of the Appliance may be refused by its own parameters; by none may it fail.
                if status >= 500:
                    failed.append((name, f"{filled}?{query}", status))
    assert failed == []
    for node in mixed.nodes.values():
        assert node.json("/api/v1/status")["problems"] == []


def names(node: Pvark) -> list[str]:
    return [of["name"] for of in node.json("/api/v1/pvs?match=*:asked")["pvs"]]


def answers(node: Pvark) -> Any:
    """What all nodes are to say alike, however old they are."""
    samples = [
        node.archive.get(f"O{shard}:asked", "2026-01-01", "2026-01-10").values.tolist() for shard in range(SHARDS)
    ]
    bins = [
        node.archive.bins(f"O{shard}:asked", "2026-01-05", "2026-01-06", 24).count.tolist() for shard in range(SHARDS)
    ]
    return sorted(names(node)), samples, bins


def test_lists_samples_and_bins_are_the_same_at_each_node(mixed: Cluster) -> None:
    told = {name: answers(node) for name, node in mixed.nodes.items()}
    assert told["a"] == told["b"] == told["c"]
    assert told["a"][1] == [[1.0, 2.0]] * SHARDS


@pytest.mark.timeout(900)
def test_nodes_are_updated_one_after_the_other_and_no_count_is_missing(
    tmp_path: Path, module_store: Store, start_ioc: Callable[[str], Ioc]
) -> None:
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], module_store.table(tmp_path))
    for node in cluster.nodes.values():
        node.binary = Path(OLDER)
    try:
        cluster.start()
        cluster.nodes["a"].archive.add(*(f"ca://{pv}" for pv in PVS))
        for node in cluster.nodes.values():
            wait_recorded(node)
        cluster.wait_calm()
        begin = now()
        for name in NAMES:
            other = next(of for of in NAMES if of != name)
            cluster.command("drain", name, node=other)
            cluster.wait_seated(*(of for of in NAMES if of != name), node=other, seconds=120)
            node = cluster.nodes[name]
            assert node.terminate() == 0
            node.binary = None
            node.start(60)
            wait_for("it to have shards again", lambda: name in cluster.seats(other).values(), 60, every=0.5)  # noqa: B023
            cluster.wait_calm(node=other)
            for each in cluster.nodes.values():
                wait_recorded(each)
            end = now() - np.timedelta64(2, "s")
            for each in cluster.nodes.values():
                wait_for("nothing to be missing", partial(is_whole, each, begin, end), 60, every=1)
                assert each.json("/api/v1/status")["problems"] == []
        versions = [of["version"] for of in cluster.nodes["a"].json("/api/v1/cluster")["nodes"]]
        print(f"all nodes run {versions}")
        raised = run_program("cluster", "--server", cluster.nodes["a"].url, "raise", seconds=90)
        assert raised.returncode == 0 or "no newer one is known" in raised.stderr, raised
        time.sleep(3)
        end = now() - np.timedelta64(2, "s")
        for each in cluster.nodes.values():
            wait_for("nothing to be missing", partial(is_whole, each, begin, end), 60, every=1)
    finally:
        cluster.kill()

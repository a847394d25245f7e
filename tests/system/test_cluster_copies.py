"""PVs that two nodes of a cluster record: every count is there once, whoever is killed, and both do what is ordered."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pvark
import pytest
from archiver import Pvark
from ioc import Ioc
from test_cluster import missing_and_twice, now
from three_nodes import NAMES, Cluster, Store
from waiting import wait_for

SHARDS = 3
DEVICES = 6
PVS = [f"TW{device}:count" for device in range(DEVICES)]
ONCE = "ON1:count"
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in [*PVS, ONCE])
POLICY = '[[policy]]\nname = "twice"\nmatch = ["TW*"]\ncopies = 2\n'
KILLS = int(os.environ.get("PVARK_COPIES_KILLS", "2"))


@pytest.fixture
def cluster(tmp_path: Path, module_store: Store, start_ioc: Callable[[str], Ioc]) -> Iterator[Cluster]:
    shared = module_store.table(tmp_path) + POLICY
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], shared, shards=SHARDS, copies=2)
    try:
        cluster.start()
        cluster.nodes["a"].archive.add(*(f"ca://{pv}" for pv in [*PVS, ONCE]))
        wait_apart(cluster)
        for node in cluster.nodes.values():
            wait_for("all to be recorded twice", partial(are_recorded_twice, node), 60, every=0.5)
        yield cluster
    finally:
        cluster.kill()


def wait_apart(cluster: Cluster, *among: str, node: str = "a") -> dict[int, str]:
    """Until no node has a shard and its copy."""

    def apart() -> dict[int, str] | None:
        seats = cluster.wait_seated(*among, node=node)
        both = [shard for shard in range(SHARDS) if seats[shard] == seats[SHARDS + 1 + shard]]
        return None if both else seats

    return wait_for("shards and their copies to be at two nodes", apart, 90, every=0.5)


def has_shards(cluster: Cluster, node: str) -> bool:
    return node in cluster.seats(node).values()


def stand(node: Pvark, pv: str, state: str) -> bool:
    return [of["state"] for of in recorders(node, pv)] == [state] * 2


def recorders(node: Pvark, pv: str) -> list[Any]:
    """Who records a PV, as a node tells it."""
    found: list[Any] = node.json(f"/api/v1/pvs/{pv}").get("recorders", [])
    return found


def are_recorded_twice(node: Pvark, state: str = "connected") -> bool:
    try:
        told = [recorders(node, pv) for pv in PVS]
    except (pvark.ServerFailed, pvark.StoreRefused, RuntimeError, AssertionError):
        return False  # one of the nodes has just gone
    return all(len({of["node"] for of in two}) == 2 and {of["state"] for of in two} == {state} for two in told)


def whole(node: Pvark, begin: np.datetime64, end: np.datetime64) -> bool:
    """Every count of every PV is there once, no gap is told, and bins count what is there."""
    for pv in PVS:
        try:
            samples = node.archive.get(pv, begin, end)
            bins = node.archive.bins(pv, begin, end, 20)
            gaps = node.archive.gaps(pv, begin, end)
        except (pvark.UnknownPv, pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
            raise AssertionError(str(error)) from error
        assert len(samples.values) > 10, (pv, len(samples.values))
        assert missing_and_twice(samples.values, samples.times) == ([], 0), (pv, len(samples.values))
        assert bins.count.sum() == len(samples.values), pv
        assert len(gaps) == 0, (pv, gaps)
    return True


@pytest.mark.timeout(180 + 120 * KILLS)
def test_what_two_nodes_record_is_there_once_whoever_is_killed(cluster: Cluster) -> None:
    begin = now()
    time.sleep(4)
    listed = [pv["name"] for pv in cluster.nodes["b"].json("/api/v1/pvs?limit=100")["pvs"]]
    assert sorted(listed) == sorted([*PVS, ONCE]), "each PV is listed once"
    assert recorders(cluster.nodes["c"], ONCE) == []
    for kill in range(KILLS):
        victim = NAMES[kill % len(NAMES)]
        others = [name for name in NAMES if name != victim]
        cluster.wait_calm(8, node=others[0])
        cluster.nodes[victim].kill()
        time.sleep(2)
        # Nobody waits for the dead one: what it had is taken by the others, at two nodes as well.
        wait_apart(cluster, *others, node=others[0])
        wait_for("all to be recorded twice", partial(are_recorded_twice, cluster.nodes[others[0]]), 60, every=0.5)
        end = now() - np.timedelta64(2, "s")
        for name in others:
            wait_for("nothing to be missing", partial(whole, cluster.nodes[name], begin, end), 30, every=1)
        cluster.nodes[victim].start()
        wait_for("it to have shards again", partial(has_shards, cluster, victim), 60)
        wait_apart(cluster, node=victim)
        wait_for("all to be recorded twice", partial(are_recorded_twice, cluster.nodes[victim]), 60, every=0.5)
    end = now() - np.timedelta64(2, "s")
    for node in cluster.nodes.values():
        wait_for("nothing to be missing", partial(whole, node, begin, end), 30, every=1)


@pytest.mark.timeout(240)
def test_while_a_shard_has_no_node_its_copy_answers_and_says_so(cluster: Cluster) -> None:
    begin = now()
    cluster.wait_calm(8)
    seats = cluster.seats("a")
    shard = recorders(cluster.nodes["a"], PVS[0])[0]["shard"]
    victim = seats[shard]
    names = [name for name in NAMES if name != victim]
    others = [cluster.nodes[name] for name in names]
    of_shard = [pv for pv in PVS if recorders(others[0], pv)[0]["shard"] == shard]
    assert PVS[0] in of_shard

    def told(node: Pvark, pv: str) -> bool:
        """What a node tells of a PV, which is all; whether it says that the copy alone answers."""
        end = now() - np.timedelta64(2, "s")
        window = f"from={begin}Z&to={end}Z"
        status, headers, answer = node.request("GET", f"/api/v1/pvs/{pv}/samples?{window}&before=false")
        assert status == 200, answer
        counts = [int(value) for value in node.archive.get(pv, begin, end).values]
        assert len(counts) > 50 and counts == list(range(counts[0], counts[-1] + 1)), (pv, counts)
        bins = node.archive.bins(pv, begin, end, 20)
        assert bins.count.sum() == len(counts), pv
        assert len(node.archive.gaps(pv, begin, end)) == 0, pv
        at = node.json(f"/api/v1/at?pv={pv}&time={end}Z")
        assert at["pvs"][0]["value"] == counts[-1], (pv, at, counts[-3:])
        assert node.json(f"/api/v1/pvs/{pv}/metadata?{window}")["metadata"] != [], pv
        assert node.json(f"/api/v1/pvs/{pv}")["state"] == "connected", pv
        return f"without shard {shard} of the cluster" in headers.get("pvark-incomplete", "")

    cluster.nodes[victim].kill()
    killed, alone, answers, slowest = time.monotonic(), 0, 0, 0.0
    while time.monotonic() - killed < 6:
        for node in others:
            for pv in of_shard:
                asked = time.monotonic()
                alone += told(node, pv)
                answers, slowest = answers + 1, max(slowest, time.monotonic() - asked)
            listed = {of["name"]: of["state"] for of in node.json("/api/v1/pvs?limit=100")["pvs"]}
            assert {listed[pv] for pv in of_shard} == {"connected"}, listed
    print(f"{alone} of {answers} PVs were answered by the copy alone, the slowest within {slowest:.1f} s")
    assert alone > 0, "it stands in the header"
    assert slowest < 10
    # Another node takes the shard, and both answer.
    wait_apart(cluster, *names, node=names[0])
    wait_for("both to answer", lambda: not any(told(node, pv) for node in others for pv in of_shard), 60, every=1)


@pytest.mark.timeout(240)
def test_what_is_imported_of_a_pv_that_is_recorded_twice_comes_once_whichever_node_is_asked(cluster: Cluster) -> None:
    owner = cluster.nodes[cluster.seats("a")[recorders(cluster.nodes["a"], PVS[0])[0]["shard"]]]
    owner.take(PVS[0], "f64", "".join(f"2020-01-01T00:00:{second:02d}Z,{second}.5\n" for second in range(30)))
    begin, end = np.datetime64("2020-01-01"), np.datetime64("2020-01-02")

    whole = [second + 0.5 for second in range(30)]

    def told(node: Pvark) -> list[float]:
        return [float(value) for value in node.archive.get(PVS[0], begin, end).values]

    def is_told(node: Pvark) -> bool:
        return told(node) == whole

    for node in cluster.nodes.values():
        wait_for("all of it, once", partial(is_told, node), 10)
    status, _, answer = cluster.nodes["b"].request(
        "DELETE", f"/api/v1/pvs/{PVS[0]}/samples?from=2020-01-01T00:00:10Z&to=2020-01-01T00:00:20Z"
    )
    assert status == 200, answer
    wait_for("what is left", lambda: len(told(cluster.nodes["c"])) == 20, 10)
    number = json.loads(answer)["number"]
    assert cluster.nodes["c"].request("POST", f"/api/v1/deletions/{number}/undo")[0] == 200
    wait_for("it to be shown again", lambda: len(told(cluster.nodes["a"])) == 30, 10)


@pytest.mark.timeout(240)
def test_orders_are_done_by_both_and_later_by_one_that_is_away(cluster: Cluster) -> None:
    a, b, c = (cluster.nodes[name] for name in NAMES)
    before = now()
    time.sleep(2)

    def states(node: Pvark, pv: str) -> list[str]:
        return [of["state"] for of in recorders(node, pv)]

    status, headers, _ = a.request("POST", f"/api/v1/pvs/{PVS[0]}/pause")
    assert status == 200 and "pvark-incomplete" not in headers, headers
    assert states(b, PVS[0]) == ["paused", "paused"]
    a.archive.resume(PVS[0])
    wait_for("both to go on", lambda: states(c, PVS[0]) == ["connected"] * 2, 20)
    # Another name, and the old one as well: what was recorded stays, of both.
    status, _, _ = b.request("POST", f"/api/v1/pvs/{PVS[1]}/rename", b'{"to": "TW9:count", "alias": true}')
    assert status == 200
    assert len(recorders(c, "TW9:count")) == 2
    status, _, _ = b.request("POST", "/api/v1/pvs/TW9:count/rename", json.dumps({"to": PVS[1]}).encode())
    assert status == 200
    # Out, and back again.
    a.archive.remove(PVS[2])
    assert a.request("GET", f"/api/v1/pvs/{PVS[2]}")[0] == 404
    status, _, _ = a.request("POST", f"/api/v1/pvs/{PVS[2]}/restore")
    assert status == 200
    wait_for("it to be recorded twice", lambda: states(b, PVS[2]) == ["connected"] * 2, 20)
    # The settings of one, and back to what they were.
    once = json.dumps({"pvs": [{"name": PVS[3], "deadband": 1000}]}).encode()
    assert a.request("POST", "/api/v1/pvs", once)[0] == 200
    assert a.json(f"/api/v1/pvs/{PVS[3]}")["sampling"]["deadband"] == "1000"
    orders = [of for of in a.json("/api/v1/undo")["orders"] if of["action"] == "changed"]
    assert a.request("POST", f"/api/v1/undo/{orders[0]['number']}")[0] == 200
    assert a.json(f"/api/v1/pvs/{PVS[3]}")["sampling"]["deadband"] is None
    # What is hidden is hidden of both, and shown again of both.
    count = len(c.archive.get(PVS[4], before, now()).values)
    until = now() - np.timedelta64(500, "ms")
    window = f"from={before}Z&to={until}Z"
    status, _, answer = a.request("DELETE", f"/api/v1/pvs/{PVS[4]}/samples?{window}")
    assert status == 200, answer
    assert len(b.archive.get(PVS[4], before, until).values) == 0
    number = json.loads(answer)["number"]
    assert a.request("POST", f"/api/v1/deletions/{number}/undo")[0] == 200
    wait_for("it to be shown again", lambda: len(b.archive.get(PVS[4], before, now()).values) >= count, 20)

    # One that is away does it when it is back, and whoever orders hears of it.
    seats = cluster.seats("a")
    shard = recorders(a, PVS[0])[0]["shard"]
    away = seats[SHARDS + 1 + shard]
    others = [name for name in NAMES if name != away]
    cluster.stop(away)
    try:
        asked = cluster.nodes[seats[shard]]
        status, headers, _ = asked.request("POST", f"/api/v1/pvs/{PVS[0]}/pause")
        assert status == 200
        assert f"the copy of shard {shard}" in headers["pvark-incomplete"], headers
    finally:
        cluster.go_on(away)
    wait_apart(cluster, node=others[0])
    for node in cluster.nodes.values():
        wait_for("both to be paused", partial(stand, node, PVS[0], "paused"), 60, every=0.5)

    def is_told_no_more() -> bool:
        status, headers, _ = asked.request("POST", f"/api/v1/pvs/{PVS[5]}/resume")
        return status == 200 and "pvark-incomplete" not in headers

    wait_for("nobody to be behind", is_told_no_more, 30)


@pytest.mark.timeout(300)
def test_a_drained_node_leaves_pairs_apart_and_one_that_is_alone_says_that_it_has_both(cluster: Cluster) -> None:
    begin = now()
    time.sleep(2)
    cluster.command("drain", "c")
    seats = wait_apart(cluster, "a", "b")
    status, _, answer = cluster.nodes["a"].request(
        "POST", "/api/v1/cluster/shards/0/move", json.dumps({"to": seats[SHARDS + 1]}).encode()
    )
    assert status == 409 and "kept apart" in json.loads(answer)["error"]["message"], answer
    time.sleep(3)
    end = now() - np.timedelta64(2, "s")
    wait_for("nothing to be missing", partial(whole, cluster.nodes["c"], begin, end), 30, every=1)
    cluster.command("join", "c")
    wait_for("it to have shards again", lambda: "c" in cluster.seats().values(), 60, every=0.5)
    wait_apart(cluster)
    for name in "bc":
        cluster.nodes[name].kill()
    cluster.wait_seated("a")

    def says_so() -> bool:
        problems: list[str] = cluster.nodes["a"].json("/api/v1/status")["problems"]
        return any(f"{SHARDS} shards and their copies" in problem for problem in problems)

    wait_for("node a to say that it has both", says_so, 40, every=1)
    cluster.nodes["b"].start()
    wait_apart(cluster, "a", "b")

"""Three nodes with one store for all record counters together: whatever one does, every count is there once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from three_nodes import NAMES, Cluster, Store
from waiting import wait_for

DEVICES = 12
PVS = [f"CL{device}:count" for device in range(DEVICES)]
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in PVS)


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


def missing_and_twice(values: np.ndarray, times: np.ndarray) -> tuple[list[int], int]:
    """The counts that are missing between the first and the last, and how many are there twice."""
    assert np.all(np.diff(times.astype("int64")) >= 0), "times go back"
    counts = values.astype("int64").tolist()
    there = set(counts)
    return [count for count in range(counts[0], counts[-1]) if count not in there], len(counts) - len(there)


def assert_whole(node: Pvark, since: np.datetime64, until: np.datetime64) -> None:
    """Every count of every PV is there once, as this node tells it."""
    for pv in PVS:
        samples = node.archive.get(pv, since, until)
        missing, twice = missing_and_twice(samples.values, samples.times)
        assert (missing, twice) == ([], 0), (pv, len(samples.values))


def is_whole(node: Pvark, begin: np.datetime64, end: np.datetime64) -> bool:
    """For who waits until nothing is missing, also while shards change their nodes."""
    try:
        assert_whole(node, begin, end)
    except (pvark.UnknownPv, pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
        raise AssertionError(str(error)) from error
    return True


@pytest.fixture
def cluster(tmp_path: Path, module_store: Store, start_ioc: Callable[[str], Ioc]) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], module_store.table(tmp_path))
    try:
        cluster.start()
        cluster.nodes["a"].archive.add(*(f"ca://{pv}" for pv in PVS[: DEVICES // 2]))
        cluster.nodes["b"].archive.add(*(f"ca://{pv}" for pv in PVS[DEVICES // 2 :]))
        for node in cluster.nodes.values():
            wait_recorded(node)
        cluster.wait_calm()
        yield cluster
    finally:
        cluster.kill()


def wait_recorded(node: Pvark, seconds: float = 30) -> None:
    """Until each PV has a sample of the last second, as this node tells it."""

    def fresh() -> bool:
        begin = now() - np.timedelta64(1500, "ms")
        try:
            return all(len(node.archive.get(pv, begin, now()).values) > 0 for pv in PVS)
        except (pvark.UnknownPv, pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
            raise AssertionError(str(error)) from error  # another node has added it, or just taken it

    wait_for("all PVs to be recorded", fresh, seconds, every=0.3)


def test_every_node_gives_the_same_answers(cluster: Cluster) -> None:
    begin = now()
    time.sleep(6)
    end = now() - np.timedelta64(2, "s")
    asked = ["/api/v1/pvs?limit=100", f"/api/v1/pvs/{PVS[0]}", f"/retrieval/data/getData.csv?pv={PVS[1]}"]
    lists = []
    for node in cluster.nodes.values():
        # A shard may have moved: the last second of the node that had it arrives a few seconds later.
        wait_for("every count to be there", partial(is_whole, node, begin, end), 20)
        lists.append(sorted(pv["name"] for pv in node.json(asked[0])["pvs"]))
    assert lists == [sorted(PVS)] * 3
    window = f"from={begin.astype('datetime64[us]')}000Z&to={end.astype('datetime64[us]')}000Z"
    for pv in PVS:
        for path in (f"/retrieval/data/getData.csv?pv={pv}&{window}", f"/retrieval/data/getData.raw?pv={pv}&{window}"):
            answers = {node.request("GET", path)[::2] for node in cluster.nodes.values()}
            assert len(answers) == 1, path
            assert next(iter(answers))[0] == 200, answers
        bins = [node.archive.bins(pv, begin, end, 20) for node in cluster.nodes.values()]
        assert all(np.array_equal(bins[0].count, other.count) for other in bins[1:]), pv
        assert bins[0].count.sum() > 20, pv
    # Orders are carried out wherever they are given, and every node knows.
    for pv in PVS:
        cluster.nodes["c"].archive.pause(pv)
    for node in cluster.nodes.values():
        states = lambda node=node: {pv["state"] for pv in node.json(asked[0])["pvs"]} == {"paused"}  # noqa: E731
        wait_for("every node to tell that all are paused", states, 10)


def test_what_a_killed_node_had_is_recorded_by_the_others_within_ten_seconds(cluster: Cluster) -> None:
    begin = now()
    time.sleep(6)
    seats = cluster.wait_seated()
    victim = next(name for name in NAMES if name in seats.values())
    other = next(name for name in NAMES if name != victim)
    durable = now() - np.timedelta64(3, "s")
    killed = now()
    cluster.nodes[victim].kill()
    cluster.wait_seated(*(name for name in NAMES if name != victim), node=other)
    wait_recorded(cluster.nodes[other])
    time.sleep(3)
    end = now() - np.timedelta64(2, "s")
    longest, of_others = 0.0, []
    for pv in PVS:
        samples = cluster.nodes[other].archive.get(pv, begin, end)
        missing, twice = missing_and_twice(samples.values, samples.times)
        assert twice == 0, pv
        early = samples.times < durable
        assert missing_and_twice(samples.values[early], samples.times[early]) == ([], 0), pv
        late = samples.times[samples.times > killed]
        again = float((late[0] - killed) / np.timedelta64(1, "s"))
        longest = max(longest, again)
        if again < 1.0:
            of_others.append(pv)
        print(f"{pv}: {len(missing)} counts missing, recorded again {again:.1f} s later")
    assert longest <= 10.0
    assert 0 < len(of_others) < len(PVS)
    # Back again, it gets its share, and hands over all that it heard until it died, once. Of shards that moved
    # meanwhile nothing is missing.
    cluster.nodes[victim].start()
    wait_for("the node to have shards again", lambda: victim in cluster.seats(other).values(), 60, every=0.5)
    wait_recorded(cluster.nodes[victim])

    def has_handed_over() -> bool:
        for pv in PVS:
            samples = cluster.nodes[victim].archive.get(pv, begin, end)
            missing, twice = missing_and_twice(samples.values, samples.times)
            assert twice == 0, pv
            heard = samples.times < killed - np.timedelta64(500, "ms")
            assert missing_and_twice(samples.values[heard], samples.times[heard])[0] == [], pv
            assert pv not in of_others or missing == [], pv
        return True

    wait_for("all that was heard to be there", has_handed_over, 60, every=1)


def test_what_a_node_recorded_before_it_noticed_that_it_was_replaced_is_handed_over(cluster: Cluster) -> None:
    begin = now()
    time.sleep(3)
    seats = cluster.wait_seated()
    sleeper = next(name for name in NAMES if name in seats.values())
    other = next(name for name in NAMES if name != sleeper)
    cluster.stop(sleeper)
    try:
        time.sleep(30)
        cluster.wait_seated(*(name for name in NAMES if name != sleeper), node=other)
    finally:
        cluster.go_on(sleeper)
    wait_recorded(cluster.nodes[sleeper])
    end = now()
    # What it still heard of the time before another node took over arrives within a minute.
    for node in cluster.nodes.values():
        wait_for("nothing to be missing", partial(is_whole, node, begin, end), 60, every=1)


def test_shards_move_and_a_node_is_drained_without_a_gap(cluster: Cluster) -> None:
    begin = now()
    time.sleep(2)
    seats = cluster.wait_seated()
    shard = next(iter(seats))
    to = next(name for name in NAMES if name != seats[shard])
    cluster.command("move", str(shard), to)
    assert cluster.seats()[shard] == to
    cluster.command("drain", "c")
    cluster.wait_seated("a", "b")
    wait_recorded(cluster.nodes["c"])
    time.sleep(5)
    end = now() - np.timedelta64(2, "s")
    for node in cluster.nodes.values():
        wait_for("nothing to be missing", partial(is_whole, node, begin, end), 30, every=1)
    cluster.command("join", "c")
    wait_for("it to have shards again", lambda: "c" in cluster.seats().values(), 60, every=0.5)


def test_a_node_that_is_stopped_right_behind_a_move_has_handed_over_what_it_had(cluster: Cluster) -> None:
    begin = now()
    time.sleep(2)
    seats = cluster.wait_seated()
    last = next(name for name in NAMES if name != "a" and name in seats.values())
    other = next(name for name in NAMES if name not in ("a", last))
    cluster.command("drain", last, node="a")
    cluster.wait_seated("a", other)
    assert cluster.nodes[last].terminate() == 0
    wait_recorded(cluster.nodes["a"])
    end = now() - np.timedelta64(2, "s")
    # It is not needed for what it had.
    for name in ("a", other):
        wait_for("nothing to be missing", partial(is_whole, cluster.nodes[name], begin, end), 30, every=1)


def test_orders_to_nodes_stand_in_the_audit_and_a_node_is_forgotten_when_it_is_gone(cluster: Cluster) -> None:
    a, b = cluster.nodes["a"], cluster.nodes["b"]
    table = cluster.command("status", node="b").splitlines()
    assert table[0].split() == ["node", "state", "address", "version", "waiting", "detached", "free", "shards"]
    assert [line.split()[:2] for line in table[1:]] == [["a", "lives"], ["b", "lives"], ["c", "lives"]]

    def refused(node: Pvark, method: str, path: str, body: dict[str, str] | None = None) -> tuple[int, str]:
        sent = json.dumps(body).encode() if body else None
        status, _, answer = node.request(method, f"/api/v1/cluster/{path}", sent)
        return status, json.loads(answer)["error"]["message"]

    assert refused(a, "DELETE", "nodes/c") == (409, "node c lives: drain it and stop it first")
    assert refused(a, "POST", "nodes/d/drain")[0] == 404
    assert refused(a, "POST", "shards/99/move", {"to": "b"})[0] == 404
    assert refused(a, "POST", "raise")[0] == 409
    # Each node tells of its own shards, and of all nodes.
    wait_for(
        "node a to tell of the shards that it has",
        lambda: (
            {of["shard"] for of in a.json("/api/v1/cluster")["here"]}
            == {shard for shard, node in cluster.seats().items() if node == "a"}
        ),
        30,
    )
    here = a.json("/api/v1/cluster")["here"]
    assert all(of["detached_seconds"] is None for of in here)
    metrics = a.request("GET", "/metrics")[2].decode()
    assert f"pvark_cluster_shards_here {len(here)}" in metrics
    assert 'pvark_cluster_nodes{state="lives"} 3' in metrics
    # An order may be given to any node. The whole cluster knows who gave it.
    cluster.command("drain", "c", node="b")
    cluster.wait_seated("a", "b")
    cluster.nodes["c"].terminate()
    wait_for("it to be gone", lambda: '"stopped"' in json.dumps(a.json("/api/v1/cluster")), 30, every=0.5)
    cluster.command("forget", "c")
    for node in (a, b):
        gone = lambda node=node: [of["name"] for of in node.json("/api/v1/cluster")["nodes"]] == ["a", "b"]  # noqa: E731
        wait_for("every node to know of two alone", gone, 10, every=0.5)

    def told() -> bool:
        lines = b.json("/api/v1/audit?limit=50")["audit"]
        return sorted(of["detail"] for of in lines if of["action"] == "cluster_ordered") == ["drain c", "forget c"]

    wait_for("the audit to tell of it everywhere", told, 10, every=0.5)
    assert "silent" not in str(a.json("/api/v1/status")["problems"])
    # It may come back, as any node may join.
    cluster.nodes["c"].start()
    wait_for("it to have shards", lambda: "c" in cluster.seats().values(), 60, every=0.5)


def test_a_node_that_fits_nowhere_is_told_why(cluster: Cluster, tmp_path: Path) -> None:
    config = cluster.nodes["a"].config_path.read_text()
    cases = {
        'node = "a"': ('node = "a"', "another pvark runs as node"),
        f"shards = {cluster.shards}": ("shards = 9", f"was made with {cluster.shards} shards"),
        'name = "ring"': ('name = "other"', "belongs to the cluster"),
    }
    for index, (right, (wrong, told)) in enumerate(cases.items()):
        folder = tmp_path / f"wrong{index}"
        folder.mkdir()
        text = config.replace(right, wrong).replace(str(cluster.nodes["a"].data), str(folder / "data"))
        (folder / "pvark.toml").write_text(text)
        ended = run_program("run", "--config", folder / "pvark.toml")
        assert ended.returncode == 1
        assert told in ended.stderr, ended.stderr

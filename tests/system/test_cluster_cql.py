"""Three nodes on a real Cassandra whose nodes die: nothing is lost, and what is not shipped meanwhile is told.

`make cluster` starts the database and ends it. The other tests of a cluster run on it as well.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import ROOT, Pvark, run_program, target
from ioc import Ioc
from ports import free_port
from three_nodes import NAMES, Cluster, database, store_of
from waiting import wait_for

pytestmark = [
    pytest.mark.skipif(len(database()) < 3, reason="not available here: no Cassandra of three nodes (`make cluster`)"),
    pytest.mark.timeout(600),
]

CASSANDRA = str(ROOT / "tools" / "cassandra.sh")
PVS = [f"DB{device}:count" for device in range(6)]
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in PVS)


def database_node(order: str, node: int) -> None:
    """Kills, starts or replaces a node of the database; a start ends when it takes clients."""
    subprocess.run([CASSANDRA, order, str(node)], check=True, timeout=300)


def nodetool(node: int, *arguments: str) -> str:
    """What an administrator of Cassandra says to one of its nodes."""
    done = subprocess.run([CASSANDRA, "tool", str(node), *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


def problems(node: Pvark) -> list[str]:
    told: list[str] = node.json("/api/v1/status")["problems"]
    return told


def is_detached(node: Pvark) -> bool:
    return any("the shared store has given no answer" in problem for problem in problems(node))


def is_whole(node: Pvark, begin: np.datetime64, end: np.datetime64) -> bool:
    """Whether every count is there once from before `begin` until after `end`, as this node tells it."""
    try:
        for pv in PVS:
            samples = node.archive.get(pv, begin, end)
            counts, times = samples.values.astype("int64"), samples.times
            assert np.array_equal(counts, np.arange(counts[0], counts[0] + len(counts))), pv
            assert times[0] - begin < np.timedelta64(1, "s") and end - times[-1] < np.timedelta64(1, "s"), pv
    except (IndexError, pvark.UnknownPv, pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
        raise AssertionError(str(error)) from error
    return True


def wait_whole(cluster: Cluster, begin: np.datetime64, end: np.datetime64, seconds: float) -> None:
    for name, node in cluster.nodes.items():
        wait_for(f"{name} to tell of every count", partial(is_whole, node, begin, end), seconds, every=0.5)


@pytest.fixture
def cluster(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], store_of(tmp_path).table(tmp_path), shards=4)
    try:
        cluster.start()
        cluster.nodes["a"].archive.add(*(f"ca://{pv}" for pv in PVS))
        begin = now()
        time.sleep(3)
        wait_whole(cluster, begin + np.timedelta64(2, "s"), begin + np.timedelta64(3, "s"), 60)
        yield cluster
    finally:
        cluster.kill()


def test_one_node_of_the_database_dies_and_comes_back_and_nobody_notices(cluster: Cluster) -> None:
    begin = now()
    time.sleep(3)
    database_node("kill", 3)
    try:
        time.sleep(15)
        assert cluster.wait_seated(), "no node takes another for dead"
        assert [name for name, node in cluster.nodes.items() if is_detached(node)] == []
        wait_whole(cluster, begin, now() - np.timedelta64(3, "s"), 20)
    finally:
        database_node("start", 3)
    time.sleep(3)
    wait_whole(cluster, begin, now() - np.timedelta64(3, "s"), 30)


def test_without_a_quorum_all_is_recorded_told_and_shipped_when_it_is_back(cluster: Cluster) -> None:
    begin = now()
    time.sleep(3)
    seats = cluster.wait_seated()
    database_node("kill", 2)
    database_node("kill", 3)
    try:
        owners = [cluster.nodes[name] for name in NAMES if name in seats.values()]
        for node in owners:
            wait_for("it to say that nothing is shipped", partial(is_detached, node), 60, every=0.5)
        time.sleep(10)
        # What each node recorded it tells, and so do the others.
        wait_whole(cluster, begin, now() - np.timedelta64(2, "s"), 30)
        # Orders wait for the journal, and so they are refused, wherever they are given.
        for node in cluster.nodes.values():
            status, _, body = node.request("POST", f"/api/v1/pvs/{PVS[0]}/pause")
            assert status == 503, (status, body)
            assert "the shared store of the cluster gives no answer" in json.loads(body)["error"]["message"]
    finally:
        database_node("start", 2)
        database_node("start", 3)
    for node in owners:
        wait_for("it to ship again", lambda node=node: not is_detached(node), 120, every=0.5)  # type: ignore[misc]
    cluster.wait_seated()
    time.sleep(3)
    end = now() - np.timedelta64(2, "s")
    wait_whole(cluster, begin, end, 120)
    # All of it is in the database: a node that dies now takes nothing of that with it.
    victim = next(name for name in NAMES if name in cluster.seats().values())
    other = next(name for name in NAMES if name != victim)
    cluster.nodes[victim].kill()
    cluster.wait_seated(*(name for name in NAMES if name != victim), node=other)
    wait_for("the others to tell of every count", partial(is_whole, cluster.nodes[other], begin, end), 60, every=0.5)


def test_a_node_of_the_database_that_has_lost_its_disk_is_replaced_and_repaired(cluster: Cluster) -> None:
    """As docs/cluster.md says it: the new one gets what the old one had, so that another one may die after it."""
    begin = now()
    time.sleep(3)
    database_node("kill", 3)
    time.sleep(3)
    database_node("replace", 3)
    try:
        repaired = nodetool(3, "repair", "-full")
        assert "finished" in repaired or "completed" in repaired, repaired
        assert re.search(r"UN\s+127\.0\.0\.3", nodetool(1, "status")), nodetool(1, "status")
        wait_whole(cluster, begin, now() - np.timedelta64(3, "s"), 60)
        # Of two copies of each row one is on the new node now.
        database_node("kill", 2)
        try:
            time.sleep(10)
            assert [name for name, node in cluster.nodes.items() if is_detached(node)] == []
            wait_whole(cluster, begin, now() - np.timedelta64(3, "s"), 60)
            done = run_program("check", "--cluster", cluster.nodes["a"].config_path, seconds=120)
            assert done.returncode == 0, (done.stdout, done.stderr)
        finally:
            database_node("start", 2)
    finally:
        nodetool(3, "repair", "-full")


def test_a_database_that_acknowledges_what_it_has_not_synced_is_told_of(cluster: Cluster) -> None:
    folder = Path(os.environ.get("PVARK_CASSANDRA") or target() / "cassandra")
    yaml = folder / "node3" / "conf" / "cassandra.yaml"
    as_it_was = yaml.read_text()
    group = "commitlog_sync: group\ncommitlog_sync_group_window: 10ms\n"
    assert group in as_it_was
    a = cluster.nodes["a"]
    assert problems(a) == []

    def says_so() -> list[str]:
        return [problem for problem in problems(a) if "acknowledges what is not on a disk yet" in problem]

    try:
        database_node("kill", 3)
        yaml.write_text(as_it_was.replace(group, "commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\n"))
        database_node("start", 3)
        assert a.terminate() == 0
        a.start(60)
        told = wait_for("it to tell of node 3 of the database", says_so, 60, every=0.5)
        assert len(told) == 1 and told[0].startswith("the node 127.0.0.3:9042 of the database"), told
        # A site may say that it accepts that.
        config = a.config_path.read_text()
        a.config_path.write_text(config.replace("replication = 3\n", "replication = 3\naccept_unsynced = true\n"))
        assert a.terminate() == 0
        a.start(60)
        cluster.wait_seated()
        time.sleep(5)
        assert says_so() == []
        a.config_path.write_text(config)
    finally:
        database_node("kill", 3)
        yaml.write_text(as_it_was)
        database_node("start", 3)
    assert a.terminate() == 0
    a.start(60)
    cluster.wait_seated()
    time.sleep(5)
    assert says_so() == []


def test_nodes_that_start_at_the_same_moment_make_one_keyspace(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> None:
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], store_of(tmp_path).table(tmp_path), shards=4)
    try:
        for node in cluster.nodes.values():
            node.launch()
        for node in cluster.nodes.values():
            node.wait_answers(60)
        cluster.wait_seated()
        for name, pv in zip(NAMES * 2, PVS, strict=True):
            cluster.nodes[name].archive.add(f"ca://{pv}")
        time.sleep(3)
        begin = now()
        time.sleep(3)
        wait_whole(cluster, begin, now() - np.timedelta64(1, "s"), 30)
    finally:
        cluster.kill()


def test_the_demo_records_on_three_nodes_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ports = [free_port() for _ in NAMES]
    command = [sys.executable, str(ROOT / "tools" / "cluster_demo.py"), *map(str, ports)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    demo = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert demo.stdout is not None
        told = []
        for line in demo.stdout:
            told.append(line)
            if "Ctrl-C" in line:
                break
        assert "PVs of a real EPICS IOC are being archived by 3 nodes" in "".join(told), told
        processes = [int(process) for process in re.findall(r"[abc] is process (\d+)", "".join(told))]
        assert len(processes) == 3

        def connected(port: int) -> bool:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/pvs?limit=1000", timeout=10) as answer:
                states = [pv["state"] for pv in json.load(answer)["pvs"]]
            return states.count("connected") >= 100  # there is one that never connects

        for port in ports:
            wait_for("all PVs of the demo to be connected", partial(connected, port), 60, every=0.5)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0
        assert [process for process in processes if Path(f"/proc/{process}").exists()] == []
        assert list(tmp_path.iterdir()) == []
    finally:
        if demo.poll() is None:
            demo.send_signal(signal.SIGTERM)
            demo.wait(60)

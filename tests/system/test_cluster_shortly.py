"""Three nodes on one node of a real Cassandra, one of which is killed: what each run of the tests has of it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from three_nodes import NAMES, Cluster, Cql
from waiting import wait_for

CASSANDRA = str(ROOT / "tools" / "cassandra.sh")
AT = ("127.0.0.1", 9042)
PVS = [f"SH{device}:count" for device in range(4)]
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in PVS)


@pytest.fixture
def store() -> Iterator[Cql]:
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"not available here: there is no {program}")
    with socket.socket() as tried:
        if tried.connect_ex(AT) == 0:
            pytest.skip(f"not available here: a database listens on {AT[0]}:{AT[1]} already")
    try:
        up = subprocess.run([CASSANDRA, "up", "1"], capture_output=True, text=True, timeout=400)
        if up.returncode == 3:
            pytest.skip(up.stderr.strip())
        assert up.returncode == 0, up.stderr
        yield Cql([f"{AT[0]}:{AT[1]}"])
    finally:
        subprocess.run([CASSANDRA, "down"], check=True, timeout=60)


def counts_of(node: Pvark, pv: str, begin: np.datetime64, end: np.datetime64) -> np.ndarray:
    """The counts of a PV; an error where none comes."""
    try:
        counts: np.ndarray = node.archive.get(pv, begin, end).values.astype("int64")
    except (pvark.UnknownPv, pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
        raise AssertionError(str(error)) from error
    assert len(counts) > 0, pv
    return counts


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


def are_fresh(node: Pvark) -> bool:
    return all(len(counts_of(node, pv, now() - np.timedelta64(2, "s"), now())) > 0 for pv in PVS)


@pytest.mark.timeout(600)
def test_on_a_real_database_a_node_dies_and_nothing_that_was_durable_is_lost(
    tmp_path: Path, store: Cql, start_ioc: Callable[[str], Ioc]
) -> None:
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], store.table(tmp_path), shards=3)
    try:
        cluster.start()
        cluster.nodes["a"].archive.add(*(f"ca://{pv}" for pv in PVS))
        for node in cluster.nodes.values():
            wait_for("all PVs to be recorded", partial(are_fresh, node), 60, every=0.3)
        begin = now()
        time.sleep(6)
        seats = cluster.wait_seated()
        victim = next(name for name in NAMES if name in seats.values())
        others = [name for name in NAMES if name != victim]
        durable = now() - np.timedelta64(3, "s")
        cluster.nodes[victim].kill()
        cluster.wait_seated(*others, node=others[0])
        for name in others:
            node = cluster.nodes[name]
            wait_for("all PVs to be recorded again", partial(are_fresh, node), 60, every=0.3)
            for pv in PVS:
                counts = counts_of(node, pv, begin, durable)
                assert np.array_equal(counts, np.arange(counts[0], counts[0] + len(counts))), (name, pv)
                assert len(counts) > 20, (name, pv)
                everything = counts_of(node, pv, begin, now())
                assert len(np.unique(everything)) == len(everything), (name, pv)
    finally:
        cluster.kill()

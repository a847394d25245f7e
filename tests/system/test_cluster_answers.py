"""A node dies amid long answers that other nodes pass on: each goes on behind what was given, or visibly breaks off."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from archiver import Pvark
from farm import Farm
from three_nodes import NAMES, Cluster, store_of
from waiting import wait_for

SCALAR, ARRAY = "LONG:S", "LONG:A"
GROUPS = [f"name={SCALAR},type=f64,rate=20000", f"name={ARRAY},type=f64,length=1000,rate=100,payload=noise"]
RECORDED_SECONDS = 10
SHARD = 1
# What fits into the buffers of the sockets on the way is given whether the node lives or not.
RECEIVE_BYTES = 16 << 10


def samples(pv: str, query: str) -> str:
    """The path of an answer that comes bit by bit."""
    return f"/api/v1/pvs/{pv}/samples?{query}"


# Arrays of noise are long, and a reader that is slow holds the node that sends them.
HELD = {
    "arrays as CSV": samples(ARRAY, "format=csv"),
    "arrays as Arrow": samples(ARRAY, "format=arrow"),
    "arrays as PB": f"/retrieval/data/getData.raw?pv={ARRAY}",
}
# Counts are packed well between nodes, and bins are sent when all are made: what holds these is a node that is slow.
RUNNING = {
    "scalars as JSON": samples(SCALAR, "format=json"),
    "scalars as CSV": samples(SCALAR, "format=csv"),
    "scalars as PB": f"/retrieval/data/getData.raw?pv={SCALAR}",
    "a table": f"/api/v1/aligned?pv={SCALAR}&times_of={SCALAR}&format=csv",
    "bins": f"/api/v1/pvs/{SCALAR}/bins?bins=100000",
    "few bins": f"/api/v1/pvs/{SCALAR}/bins?bins=7",
}
# What is given of an answer when a node is killed.
PARTS = (0.0, 0.01, 0.4)
# On a busy machine some of these may not have begun at the kill; more kills follow until each was in the middle once.
IN_THE_MIDDLE = {"scalars as JSON", "arrays as CSV", "arrays as PB"}
MORE_PARTS = (0.2, 0.5, 0.3, 0.01)
# A tenth of the time; less with each further kill, as a quick machine sends all that it is asked for in a few of these.
RUN_SECONDS = 0.002
BINS = {"bins", "few bins"}
BINS_PARTS = (0.5, 0.3, 0.7, 0.2, 0.6, 0.8)


@dataclass
class Answered:
    """What became of an answer."""

    status: int
    body: bytes
    is_whole: bool
    seconds: float


class Client(threading.Thread):
    """Reads a part of an answer, waits until it may go on, and reads the rest."""

    def __init__(self, port: int, path: str, part: int, goes_on: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.path, self.part, self.goes_on = port, path, part, goes_on
        self.has_begun = threading.Event()
        self.body = bytearray()
        self.answered: Answered | None = None
        self.start()

    def run(self) -> None:
        with socket.socket() as connected:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
            connected.settimeout(90)
            connected.connect(("127.0.0.1", self.port))
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            connection.sock = connected
            self.answered = self._read(connection)
        self.has_begun.set()

    def _read(self, connection: http.client.HTTPConnection) -> Answered:
        is_whole, status, begun = False, 0, time.monotonic()
        try:
            connection.request("GET", self.path)
            if self.part == 0:
                self.has_begun.set()
            answer = connection.getresponse()
            status = answer.status
            while True:
                if len(self.body) >= self.part and not self.goes_on.is_set():
                    self.has_begun.set()
                    assert self.goes_on.wait(90)
                    begun = time.monotonic()
                piece = answer.read(1 << 16)
                if not piece:
                    break
                self.body += piece
            is_whole = True
        except http.client.IncompleteRead as error:
            self.body += error.partial
        except (http.client.HTTPException, ConnectionError):
            pass
        return Answered(status, bytes(self.body), is_whole, time.monotonic() - begun)


class Slowed(threading.Thread):
    """A process that runs for so many of each 20 ms until it is to be killed, and stands still then."""

    def __init__(self, process: subprocess.Popen[bytes], run_seconds: float = RUN_SECONDS) -> None:
        super().__init__(daemon=True)
        self.process, self.run_seconds, self.over = process, run_seconds, threading.Event()
        self.start()

    def run(self) -> None:
        while True:
            self.process.send_signal(signal.SIGSTOP)
            if self.over.wait(0.02 - self.run_seconds):
                return
            self.process.send_signal(signal.SIGCONT)
            time.sleep(self.run_seconds)

    def stop(self) -> None:
        self.over.set()
        self.join()


def same(what: str, one: bytes, other: bytes) -> bool:
    """Whether two whole answers say the same, however they were cut into batches, and sums were added up."""
    if one == other:
        return True
    if "Arrow" in what:
        tables = [pyarrow.ipc.open_stream(body).read_all().combine_chunks() for body in (one, other)]
        return bool(tables[0].equals(tables[1]))
    if "JSON" in what:
        return samples_of(one) == samples_of(other)
    if "bins" not in what:
        return False
    heads = [without_metadata(json.loads(body)) for body in (one, other)]
    bins = [head.pop("bins") for head in heads]
    close = {"mean", "std", "time_weighted_mean"}
    exact = [{name: of[name] for name in of.keys() - close} for of in bins]
    sums = [[np.array(of[name], dtype=float) for name in sorted(close)] for of in bins]
    is_close = all(np.allclose(a, b, rtol=1e-9, atol=1e-6, equal_nan=True) for a, b in zip(*sums, strict=True))
    return bool(heads[0] == heads[1] and exact[0] == exact[1] and is_close)


def without_metadata(told: dict[str, Any]) -> dict[str, Any]:
    """A node that is back hands over metadata too, which may be known since a little earlier then."""
    return {name: value for name, value in told.items() if name != "metadata"}


def samples_of(body: bytes) -> tuple[object, dict[str, list[object]]]:
    """What an answer in JSON says besides samples, and the columns of these."""
    told = without_metadata(json.loads(body))
    chunks = told.pop("chunks")
    columns = {name for chunk in chunks for name in chunk if isinstance(chunk[name], list)}
    return told, {name: [value for chunk in chunks for value in chunk[name]] for name in sorted(columns)}


@pytest.fixture(scope="module")
def recorded(module_folder: Path) -> Iterator[tuple[Cluster, str]]:
    """Three nodes with a long record, which is shipped, and its window as the parameters of a URL."""
    store, farm = store_of(module_folder), Farm("--queue", "0", *(of for group in GROUPS for of in ("--group", group)))
    rule = f'[[cluster.rule]]\nmatch = ["LONG:*"]\nshard = {SHARD}\n'
    cluster = Cluster(module_folder, [farm], store.table(module_folder) + rule, shards=2)  # type: ignore[list-item]
    try:
        cluster.start()
        a = cluster.nodes["a"]
        a.archive.add(f"ca://{SCALAR}", f"ca://{ARRAY}")
        a.wait_connected(SCALAR, ARRAY, seconds=60)
        begin = np.datetime64(time.time_ns(), "ns")
        time.sleep(RECORDED_SECONDS)
        end = np.datetime64(time.time_ns(), "ns")
        time.sleep(2)
        farm.kill()
        wait_for("all of it to be shipped", lambda: is_shipped(cluster), 60, every=0.5)
        counts = a.archive.get(SCALAR, begin, end).values.astype("int64")
        assert np.array_equal(counts, np.arange(counts[0], counts[0] + len(counts))), "the record has holes"
        assert len(counts) > 100_000
        yield cluster, f"from={begin}Z&to={end}Z"
    finally:
        cluster.kill()
        farm.kill()
        store.kill()


def owner(cluster: Cluster, node: str = "a") -> str:
    return cluster.seats(node)[SHARD]


def is_shipped(cluster: Cluster) -> bool:
    here = cluster.nodes[owner(cluster)].json("/api/v1/cluster")["here"]
    return all(of["samples_waiting"] == 0 for of in here)


def asked(node: Pvark, path: str) -> bytes:
    status, headers, body = node.request("GET", path)
    assert status == 200, (status, path, body[:300])
    assert "content-length" in headers or headers["transfer-encoding"] == "chunked", path
    return body


def all_answer(cluster: Cluster, what: str, path: str, body: bytes) -> bool:
    """Whether every node gives that answer, also when shards have just moved."""
    try:
        return all(same(what, asked(node, path), body) for node in cluster.nodes.values())
    except (OSError, http.client.HTTPException) as error:
        raise AssertionError(str(error)) from error


@pytest.mark.timeout(400)
def test_answers_go_on_at_the_next_owner_or_break_off(recorded: tuple[Cluster, str]) -> None:
    cluster, window = recorded
    paths = {what: f"{path}&{window}" for what, path in (HELD | RUNNING).items()}
    first = cluster.nodes[owner(cluster)]
    whole = {what: asked(first, path) for what, path in paths.items()}
    for what in paths:
        wait_for(f"all nodes to agree on {what}", partial(all_answer, cluster, what, paths[what], whole[what]))

    def client(what: str, name: str, part: float = 0, goes_on: threading.Event | None = None) -> Client:
        if goes_on is None:
            goes_on = threading.Event()
            goes_on.set()
        return Client(cluster.nodes[name].port, paths[what], int(len(whole[what]) * part), goes_on)

    went_on: set[str] = set()
    for count, part in enumerate(PARTS + MORE_PARTS):
        if count >= len(PARTS) and went_on >= IN_THE_MIDDLE:
            break
        victim, others, process = doomed(cluster)
        killed = threading.Event()
        clients = {(what, name): client(what, name, part, killed) for what in HELD for name in others}
        for (what, _), of in clients.items():
            assert of.has_begun.wait(90), what
        slowed = Slowed(process, RUN_SECONDS / 2 ** max(0, count + 1 - len(PARTS)))
        clients |= {(what, name): client(what, name) for what in RUNNING for name in others}
        # Some are further than others by then.
        looked = clients["scalars as JSON", others[0]]
        enough = int(len(whole["scalars as JSON"]) * part)
        wait_for("a part of the scalars", lambda: len(looked.body) >= enough or looked.answered, 60, every=0.005)  # noqa: B023
        went_on |= what_goes_on(cluster, victim, slowed, killed, clients, whole)
        is_well_again(cluster, victim, paths, whole)
    # Bins say nothing before they are made: they are struck after a part of the time that they take.
    for part in BINS_PARTS:
        if went_on & BINS:
            break
        victim, others, process = doomed(cluster)
        slowed, begun = Slowed(process), time.monotonic()
        asked(cluster.nodes[others[0]], paths["bins"])
        lasts = time.monotonic() - begun
        clients = {(what, name): client(what, name) for what in BINS for name in others}
        time.sleep(lasts * part)
        went_on |= what_goes_on(cluster, victim, slowed, threading.Event(), clients, whole)
        is_well_again(cluster, victim, paths, whole)
    print("in the middle:", sorted(went_on))
    assert went_on >= IN_THE_MIDDLE, "no kill was in the middle of others"
    assert went_on & BINS, "no kill was in the middle of bins"


def doomed(cluster: Cluster) -> tuple[str, list[str], subprocess.Popen[bytes]]:
    """The node that has the shard, the others, and its process."""
    victim = owner(cluster)
    process = cluster.nodes[victim].process
    assert process is not None
    return victim, [name for name in NAMES if name != victim], process


def what_goes_on(
    cluster: Cluster,
    victim: str,
    slowed: Slowed,
    killed: threading.Event,
    clients: dict[tuple[str, str], Client],
    whole: dict[str, bytes],
) -> set[str]:
    """Kills a node, looks at each answer, and gives those that were in the middle and came to their end."""
    went_on = set()
    slowed.stop()
    given = {key: len(of.body) for key, of in clients.items()}
    cluster.nodes[victim].kill()
    killed.set()
    for (what, name), of in clients.items():
        of.join(120)
        answered = of.answered
        assert answered is not None, (what, name)
        end = "whole" if answered.is_whole else "broken off"
        told = f"{what} through {name}, {victim} killed at byte {given[what, name]}: "
        told += f"{answered.status}, {end} at {len(answered.body)} of {len(whole[what])}, {answered.seconds:.1f} s"
        print(told)
        if answered.status not in (0, 200):
            assert answered.status == 503, (told, answered.body[:300])
            assert json.loads(answered.body)["error"]["message"], told
        elif answered.is_whole:
            assert same(what, answered.body, whole[what]), told
            # Who finds no node at the beginning of bins is told after two seconds: these have waited in the middle.
            if (0 < given[what, name] < len(whole[what]) or what in BINS) and answered.seconds > 3:
                went_on.add(what)
        elif what not in ("scalars as JSON", "arrays as Arrow"):  # these are cut into batches as it happens
            assert whole[what].startswith(answered.body), told
    return went_on


def is_well_again(cluster: Cluster, victim: str, paths: dict[str, str], whole: dict[str, bytes]) -> None:
    cluster.nodes[victim].start()
    cluster.wait_seated(node=next(name for name in NAMES if name != victim))
    for what in ("arrays as PB", "scalars as PB", "bins"):
        again = partial(all_answer, cluster, what, paths[what], whole[what])
        wait_for(f"all nodes to agree on {what} again", again, 60, every=0.5)


@pytest.mark.timeout(300)
def test_an_export_ordered_at_another_node_is_whole_though_the_owner_dies(recorded: tuple[Cluster, str]) -> None:
    cluster, window = recorded
    victim, others, process = doomed(cluster)
    node = cluster.nodes[others[0]]

    def order() -> int:
        path = f"/api/v1/exports?format=csv&rows=raw&pv={SCALAR}&pv={ARRAY}&{window}"
        status, _, body = node.request("POST", path)
        assert status == 201, (status, body[:300])
        return int(json.loads(body)["number"])

    def file_of(number: int) -> bytes:
        wait_for("the export to be done", lambda: node.json(f"/api/v1/exports/{number}")["state"] == "done", 120)
        return asked(node, f"/api/v1/exports/{number}/file")

    expected = file_of(order())
    assert len(expected) > len(asked(node, f"{HELD['arrays as CSV']}&{window}")), "it holds both PVs"
    slowed = Slowed(process)
    number = order()
    wait_for("the export to have begun", lambda: node.json(f"/api/v1/exports/{number}")["samples"] > 0, 60, every=0.005)
    slowed.stop()
    cluster.nodes[victim].kill()
    told = node.json(f"/api/v1/exports/{number}")
    print("killed when the export was", told["state"], "with", told["samples"], "samples")
    assert told["state"] == "running", "the owner died too late"
    assert file_of(number) == expected
    assert node.json(f"/api/v1/exports/{number}")["damage_count"] == 0
    cluster.nodes[victim].start()
    cluster.wait_seated(node=others[0])

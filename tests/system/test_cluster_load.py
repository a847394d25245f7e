"""The load of a laboratory on three nodes and a real Cassandra: 25,000 PVs once a second, of which no update is lost.

`make cluster-load` runs it for ten minutes and with twenty kills (MINUTES=2 KILLS=3 for less). What is lost or there
twice fails. How long things took and what they cost is printed beside its bar, with MISSED where that is not reached.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pvark
import pytest
from archiver import Pvark, started
from farm import Farm
from test_cluster_faults import FAILURES, database_node, now
from three_nodes import NAMES, Cluster, database, store_of
from waiting import wait_for

MINUTES = float(os.environ.get("PVARK_LOAD_MINUTES") or 0)
KILLS = int(os.environ.get("PVARK_LOAD_KILLS") or 20)
PVS_MAX = int(os.environ.get("PVARK_LOAD_PVS") or 25_000)
pytestmark = [
    pytest.mark.skipif(MINUTES == 0, reason="the load of a laboratory is run by `make cluster-load`"),
    pytest.mark.skipif(len(database()) < 3, reason="not available here: no Cassandra of three nodes"),
    pytest.mark.timeout(60 * MINUTES + 300 * KILLS + 3600),
]

# PVs of a device lie in one shard.
DEVICES = [f"LD{device}:" for device in range(50)]
PVS = [f"{device}{number}" for device in DEVICES for number in range(PVS_MAX // len(DEVICES))]
SHARDS = 12
SECOND = np.timedelta64(1, "s")
# For so long most of the database is away.
OUTAGE = min(300.0, 60 * MINUTES / 2)
# A PV of the past, a year at one sample in ten seconds, and the shard that it is in.
HISTORY, HISTORY_SHARD, EACH_SECONDS, SAMPLES = "HI:year", 0, 10, 3_153_600
# So many PVs are asked for at once.
AT_ONCE = 1000
# A commit comes once a second; what a node that is killed heard later is on its disk alone.
UNCOMMITTED = 3 * SECOND
# While a shard moves, what its last owner has heard since the seal is on that disk alone, until it is handed over.
MOVING = 15 * SECOND


def tell(what: str, found: float, unit: str, at_most: float) -> None:
    """A figure beside its bar."""
    verdict = "reached" if found <= at_most else "MISSED"
    print(f"{what}: {found:,.3g} {unit} (bar {at_most:g}: {verdict})", flush=True)


def core_seconds(node: Pvark) -> float:
    """Processor time of a node since it began."""
    assert node.process is not None
    text = Path(f"/proc/{node.process.pid}/stat").read_text()
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metrics(node: Pvark) -> dict[str, float]:
    """What `/metrics` says, by its names and labels."""
    status, _, body = node.request("GET", "/metrics")
    assert status == 200, body[:300]
    lines = (line.rpartition(" ") for line in body.decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


@dataclass
class Lag:
    """How far the journals are behind, looked at once a second."""

    seconds: list[float] = field(default_factory=list)

    def look(self, nodes: list[Pvark], per_second: float) -> None:
        for node in nodes:
            here = node.json("/api/v1/cluster")["here"]
            waiting = sum(of["samples_waiting"] for of in here)
            own = per_second * sum(of["shard"] != SHARDS for of in here) / SHARDS
            if own > 0:
                self.seconds.append(waiting / own)


def add_all(node: Pvark) -> None:
    """All PVs, as one who adds a laboratory would; it is told how long that takes."""
    patient, begun = pvark.Archiver(node.url, timeout=300), time.monotonic()
    for first in range(0, len(PVS), 5000):
        patient.add(*(f"ca://{pv}" for pv in PVS[first : first + 5000]))
    print(f"{len(PVS):,} PVs are added in {time.monotonic() - begun:.1f} s", flush=True)


def connected(nodes: list[Pvark]) -> int:
    return sum(int(metrics(node).get('pvark_pvs{state="connected"}', 0)) for node in nodes)


def counts_of(node: Pvark, pvs: list[str], begin: np.datetime64, end: np.datetime64) -> Iterator[tuple[str, Any]]:
    """The samples of many PVs."""
    for first in range(0, len(pvs), AT_ONCE):
        some = pvs[first : first + AT_ONCE]
        found = node.archive.get(some, begin, end)
        for pv in some:
            yield pv, found[pv]


@dataclass(frozen=True)
class Dead:
    """When a node was killed, or fell asleep, and when all PVs were connected again."""

    since: np.datetime64
    until: np.datetime64
    #: Its disk was lost, too.
    is_emptied: bool = False

    def explains(self, last: np.datetime64, next_one: np.datetime64) -> bool:
        """Whether counts between two samples may be missing for it."""
        uncommitted = MOVING if self.is_emptied else UNCOMMITTED
        return bool(last + SECOND >= self.since - uncommitted and next_one <= self.until + 2 * SECOND)


@dataclass
class Accounts:
    """What became of the updates of a time."""

    there: int = 0
    missing: int = 0
    # Seconds from the death of a node until the last of its PVs was recorded again, by the samples.
    again: list[float] = field(default_factory=list)
    pvs: set[str] = field(default_factory=set)


def account(node: Pvark, pvs: list[str], begin: np.datetime64, end: np.datetime64, dead: list[Dead]) -> Accounts:
    """Each count is there once; where one is missing, a node was dead. An error where it is otherwise."""
    found = Accounts(again=[0.0] * len(dead))
    for pv, samples in counts_of(node, pvs, begin, end):
        counts, times = samples.values.astype("int64"), samples.times
        assert len(counts) > 0, (pv, "has nothing")
        assert times[0] - begin < 2 * SECOND and end - times[-1] < 2 * SECOND, (pv, times[0], times[-1], begin, end)
        steps = np.diff(counts)
        assert np.all(steps > 0), (pv, "counts are there twice, or go back")
        for hole in np.flatnonzero(steps > 1):
            first, last = times[hole], times[hole + 1]
            of = next((place for place, one in enumerate(dead) if one.explains(first, last)), None)
            assert of is not None, (pv, f"{steps[hole] - 1} counts are missing between {first} and {last}", dead)
            found.again[of] = max(found.again[of], (last - dead[of].since) / SECOND)
            found.pvs.add(pv)
        found.there += len(counts)
        found.missing += int(np.sum(steps - 1))
    return found


def accounted(
    cluster: Cluster,
    begin: np.datetime64,
    end: np.datetime64,
    dead: Sequence[Dead] = (),
    pvs: list[str] = PVS,
) -> Accounts:
    """The same at every node, which all have to say the same."""

    said: list[str] = []

    def all_say_it() -> Accounts:
        try:
            with ThreadPoolExecutor() as at_once:
                each = list(
                    at_once.map(lambda node: account(node, pvs, begin, end, list(dead)), cluster.nodes.values())
                )
            assert len({(of.there, of.missing) for of in each}) == 1, [(of.there, of.missing) for of in each]
        except (AssertionError, *FAILURES) as error:
            if [str(error)] != said[-1:]:
                said.append(str(error))
                print(f"not accounted for yet: {said[-1][:500]}", flush=True)
            raise AssertionError(str(error)) from error
        return each[0]

    return wait_for("every update to be accounted for at every node", all_say_it, 300, every=2)


@contextmanager
def farm_of_all() -> Iterator[Farm]:
    groups = [f"name={device},count={PVS_MAX // len(DEVICES)},rate=1,slices=50" for device in DEVICES]
    farm = Farm("--queue", "0", "--servers", "3", *(of for group in groups for of in ("--group", group)))
    try:
        yield farm
    finally:
        farm.kill()


@dataclass(frozen=True)
class Server:
    """One of the servers of the farm, as an archiver looks for it."""

    ca_port: int
    pva_search_port: int = 9


@dataclass(frozen=True)
class Loaded:
    """Three nodes with all PVs, and the share of a core that one archiver takes for these."""

    cluster: Cluster
    of_one: float


@pytest.fixture(scope="module")
def loaded(module_folder: Path) -> Iterator[Loaded]:
    """Three nodes that record all PVs; before them one archiver alone, whose processor time is the measure."""
    with farm_of_all() as farm:
        # Every server of the farm is one to search at.
        servers: Any = [Server(port) for port in farm.ca]
        alone = Pvark(module_folder, servers)
        alone.start()
        add_all(alone)
        wait_for("one archiver to have all", lambda: connected([alone]) == len(PVS), 120, every=1)
        time.sleep(5)
        before, begun = core_seconds(alone), time.monotonic()
        time.sleep(30)
        of_one = (core_seconds(alone) - before) / (time.monotonic() - begun)
        assert alone.terminate() == 0
        rule = f'[[cluster.rule]]\nmatch = ["{HISTORY}"]\nshard = {HISTORY_SHARD}\n'
        cluster = Cluster(module_folder, servers, store_of(module_folder).table(module_folder) + rule, shards=SHARDS)
        try:
            cluster.start()
            add_all(cluster.nodes["a"])
            nodes = list(cluster.nodes.values())
            wait_for("the nodes to have all", lambda: connected(nodes) == len(PVS), 300, every=1)
            cluster.wait_calm(seconds=180)
            time.sleep(5)
            yield Loaded(cluster, of_one)
        finally:
            cluster.kill()


def test_every_update_is_there_once_whichever_node_is_asked(loaded: Loaded) -> None:
    cluster = loaded.cluster
    nodes, begin, lag = list(cluster.nodes.values()), now(), Lag()
    cores = [core_seconds(node) for node in nodes]
    written = [metrics(node)['pvark_cluster_shared_bytes_total{direction="written"}'] for node in nodes]
    begun = time.monotonic()
    while time.monotonic() - begun < 60 * MINUTES:
        time.sleep(1)
        lag.look(nodes, len(PVS))
    seconds = time.monotonic() - begun
    cores = [(core_seconds(node) - before) / seconds for node, before in zip(nodes, cores, strict=True)]
    sent = sum(
        metrics(node)['pvark_cluster_shared_bytes_total{direction="written"}'] - before
        for node, before in zip(nodes, written, strict=True)
    )
    end = now()
    time.sleep(3)
    found = accounted(cluster, begin, end)
    assert found.missing == 0
    of_one = loaded.of_one
    print(f"\n{found.there:,} updates of {len(PVS):,} PVs in {seconds:.0f} s: there once at each node, none missing")
    shares = ", ".join(f"{100 * share:.1f}" for share in cores)
    print(f"one archiver alone takes {100 * of_one:.1f} % of a core, the nodes {shares}")
    tell("the nodes take more than one machine", 100 * (sum(cores) - of_one), "% of a core", 15)
    tell("behind the journal, p99", float(np.percentile(lag.seconds, 99)), "s of samples", 2)
    tell("sent to the database", sent / found.there, "bytes a sample", 45)


def test_a_killed_node_is_replaced_within_ten_seconds_each_time(loaded: Loaded) -> None:
    cluster = loaded.cluster
    dice, begin = random.Random(1), now()
    time.sleep(3)
    dead: list[Dead] = []
    for kill in range(KILLS):
        seats = cluster.wait_seated(node=dice.choice(NAMES), seconds=120)
        victim = dice.choice(sorted(set(seats.values())))
        others = [name for name in NAMES if name != victim]
        shards = sum(of == victim for of in seats.values())
        killed, begun = now(), time.monotonic()
        cluster.nodes[victim].kill()
        cluster.wait_seated(*others, node=others[0], seconds=120)
        left = [cluster.nodes[name] for name in others]
        wait_for("the others to have all PVs", lambda left=left: connected(left) == len(PVS), 120, every=0.2)  # type: ignore[misc]
        recorded = time.monotonic() - begun
        is_emptied = kill % 3 == 2
        dead.append(Dead(killed, now(), is_emptied))
        if is_emptied:
            shutil.rmtree(cluster.nodes[victim].data)
        cluster.nodes[victim].start(60)
        wait_for("all nodes to have all", lambda: connected(list(cluster.nodes.values())) == len(PVS), 180, every=0.5)
        cluster.wait_calm(seconds=180)
        lost = " and its folder" if is_emptied else ""
        print(f"kill {kill + 1}: {victim}{lost}, {shards} shards; all PVs connected {recorded:.1f} s later", flush=True)
    time.sleep(3)
    end = now() - 2 * SECOND
    time.sleep(3)
    found = accounted(cluster, begin, end, dead)
    print(f"{found.there:,} updates there once, {found.missing:,} of {len(found.pvs):,} PVs while nobody recorded")
    print("from each kill until the last PV was recorded again, in s:", ", ".join(f"{s:.1f}" for s in found.again))
    assert gaps_say_so(cluster, sorted(found.pvs)[:50], begin, end)
    tell("until all is recorded again, the longest", max(found.again), "s", 10)


def gaps_say_so(cluster: Cluster, pvs: list[str], begin: np.datetime64, end: np.datetime64) -> bool:
    """Where counts are missing, a gap says so, of some PVs."""
    for pv in pvs:
        samples = cluster.nodes["a"].archive.get(pv, begin, end)
        counts, times = samples.values.astype("int64"), samples.times
        gaps = cluster.nodes["b"].archive.gaps(pv, begin, end)
        for hole in np.flatnonzero(np.diff(counts) > 1):
            middle = times[hole] + (times[hole + 1] - times[hole]) / 2
            spans = [(gap.start, gap.end) for gap in gaps]
            assert any(a <= middle and (b is None or np.isnat(b) or middle <= b) for a, b in spans), (pv, middle, spans)
    return True


def test_a_node_that_slept_hands_over_what_it_holds(loaded: Loaded) -> None:
    cluster = loaded.cluster
    begin = now()
    time.sleep(3)
    seats = cluster.wait_seated()
    victim = next(name for name in NAMES if name in seats.values())
    slept = now()
    cluster.stop(victim)
    try:
        time.sleep(30)
    finally:
        cluster.go_on(victim)
    woke = time.monotonic()
    everywhere = list(cluster.nodes.values())
    wait_for("all nodes to have all", lambda: connected(everywhere) == len(PVS), 180, every=0.5)
    awake = now()
    time.sleep(3)
    dead, end = [Dead(slept, awake)], now() - 2 * SECOND
    # To look at all of them takes a minute: it is over when one of each device is there at every node.
    some = PVS[:: PVS_MAX // len(DEVICES)]
    wait_for("the tail to be there", lambda: accounted(cluster, begin, end, dead, some).missing == 0, 120, every=1)
    handed_over = time.monotonic() - woke
    found = accounted(cluster, begin, end, dead)
    assert found.missing == 0
    print(f"after 30 s of sleep: {found.there:,} there once, none missing")
    tell("until the tail is handed over and there at every node", handed_over, "s", 60)


def test_the_database_loses_one_node_and_then_two(loaded: Loaded) -> None:
    cluster = loaded.cluster
    begin, nodes, lag = now(), list(cluster.nodes.values()), Lag()
    database_node("kill", 3)
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            time.sleep(0.5)
            lag.look(nodes, len(PVS))
        tell("without one node of the database, the longest behind", max(lag.seconds), "s of samples", 3)
        database_node("kill", 2)
        try:
            wait_for("all nodes to say that they are detached", lambda: all(map(is_detached, nodes)), 60, every=0.5)
            time.sleep(OUTAGE)
        finally:
            database_node("start", 2)
        back = time.monotonic()
        wait_for("all to be shipped", lambda: not any(map(is_detached, nodes)) and is_shipped(nodes), 180, every=0.5)
        shipped = time.monotonic() - back
    finally:
        database_node("start", 3)
    time.sleep(3)
    found = accounted(cluster, begin, now() - 2 * SECOND)
    assert found.missing == 0
    print(f"{found.there:,} updates there once, {OUTAGE:.0f} s of them without a database; none missing")
    tell("until all is shipped", shipped, "s", 60)


def is_detached(node: Pvark) -> bool:
    return any(of["detached_seconds"] is not None for of in node.json("/api/v1/cluster")["here"])


def is_shipped(nodes: list[Pvark]) -> bool:
    waiting = [of["samples_waiting"] for node in nodes for of in node.json("/api/v1/cluster")["here"]]
    return bool(sum(waiting) < 4 * len(PVS))


def test_nodes_leave_and_join_and_are_updated_one_by_one(loaded: Loaded) -> None:
    cluster = loaded.cluster
    begin = now()
    cluster.command("drain", "b", node="a")
    cluster.wait_seated("a", "c", seconds=180)
    cluster.command("join", "b", node="a")
    cluster.wait_calm(10, seconds=300)
    shares = sorted(list(cluster.seats().values()).count(name) for name in NAMES)
    print(f"shards of the nodes after b was drained and joined: {shares}")
    assert shares[-1] - shares[0] <= 1, shares
    for name in NAMES:  # as an update of each would go
        other = next(of for of in NAMES if of != name)
        cluster.command("drain", name, node=other)
        cluster.wait_seated(*(of for of in NAMES if of != name), node=other, seconds=180)
        assert cluster.nodes[name].terminate() == 0
        cluster.nodes[name].start(60)
        cluster.command("join", name, node=other)
        cluster.wait_calm(5, seconds=300)
    time.sleep(3)
    found = accounted(cluster, begin, now() - 2 * SECOND)
    assert found.missing == 0
    print(f"{found.there:,} updates there once while every node left, ended, began and joined; none is missing")


def test_what_lies_in_the_database_alone_is_read_from_there_and_then_from_the_cache(
    loaded: Loaded, tmp_path: Path
) -> None:
    """By a node that has just got the shard, and has nothing of it on its disk; beside an archiver that has all."""
    cluster = loaded.cluster
    start = np.datetime64("2024-01-01T00:00:00", "s")
    with started(tmp_path) as local:
        take_history(local, start)
        seats = cluster.wait_seated()
        owner = seats[HISTORY_SHARD]
        take_history(cluster.nodes[owner], start)
        wait_for("the history to be shipped", lambda: is_shipped([cluster.nodes[owner]]), 120, every=0.5)
        to, other = (name for name in NAMES if name != owner)
        cluster.command("move", str(HISTORY_SHARD), to, node=owner)
        wait_for("the shard to be there", lambda: cluster.seats()[HISTORY_SHARD] == to, 60, every=0.5)
        cluster.wait_calm(seconds=180)
        window = np.timedelta64(360_000 * EACH_SECONDS, "s")
        windows = [(start + part * window, start + (part + 1) * window) for part in range(5)]
        lines = [f"/api/v1/pvs/{HISTORY}/samples?from={a}Z&to={b}Z&format=csv" for a, b in windows]
        year = f"/api/v1/pvs/{HISTORY}/bins?from={start}Z&to={start + SAMPLES * EACH_SECONDS}Z&bins=1000"
        for path in (*lines, year):
            timed(local, path)
        of_local = [timed(local, path) for path in lines]
        of_database = [timed(cluster.nodes[to], path) for path in lines]
        of_cache = [timed(cluster.nodes[to], path) for path in lines]
        assert [body for _, body in of_database] == [body for _, body in of_local]
        assert [body for _, body in of_cache] == [body for _, body in of_local]
        ms = [float(np.median([took for took, _ in each])) for each in (of_local, of_database, of_cache)]
        print(f"\n360,000 samples: local {ms[0]:.0f} ms, from the database {ms[1]:.0f}, from the cache {ms[2]:.0f}")
        tell("360,000 samples from the database", ms[1] / ms[0], "times the local", 15)
        tell("360,000 samples from the cache", ms[2] / ms[0], "times the local", 1.5)
        timed(cluster.nodes[other], year)
        before = read_bytes(cluster, to)
        again = float(np.median([timed(cluster.nodes[other], year)[0] for _ in range(5)]))
        read = read_bytes(cluster, to) - before
        here = float(np.median([timed(local, year)[0] for _ in range(5)]))
        print(f"1,000 bins of a year: local {here:.2f} ms, elsewhere {again:.2f}; {read:,.0f} bytes read meanwhile")
        tell("1,000 bins of a year from another node than the owner", again / here, "times the local", 2)


def take_history(node: Pvark, start: np.datetime64) -> None:
    node.archive.add(f"ca://{HISTORY}")
    a_part = SAMPLES // 12
    for part in range(12):
        times = start + np.arange(part * a_part, (part + 1) * a_part) * np.timedelta64(EACH_SECONDS, "s")
        values = np.random.default_rng(part).normal(5, 1, a_part).round(3)
        lines = "\n".join(f"{time}Z,{value}" for time, value in zip(times, values, strict=True))
        path = f"/api/v1/pvs/{HISTORY}/import?import=history&part={part}&type=f64"
        status, _, body = node.request("POST", path, lines.encode())
        assert status == 200, (status, body)


def timed(node: Pvark, path: str) -> tuple[float, bytes]:
    """Milliseconds until all of an answer is there, and the answer."""
    begun = time.perf_counter()
    status, _, body = node.request("GET", path)
    assert status == 200, (path, body[:300])
    return 1000 * (time.perf_counter() - begun), body


def read_bytes(cluster: Cluster, node: str) -> float:
    """What a node has read of the database; in bytes. Beats are read once a second whatever is asked."""
    return metrics(cluster.nodes[node])['pvark_cluster_shared_bytes_total{direction="read"}']


def test_other_nodes_answer_as_soon_as_the_owner(loaded: Loaded) -> None:
    """The first byte of a short answer, and the same bytes."""
    cluster = loaded.cluster
    to = now() - 5 * SECOND
    path = f"/samples?from={to - 60 * SECOND}Z&to={to}Z&format=csv"
    late: list[float] = []
    for pv in random.Random(2).sample(PVS, 40):
        millis = {name: first_byte(node, f"/api/v1/pvs/{pv}{path}") for name, node in cluster.nodes.items()}
        assert len({body for _, body in millis.values()}) == 1, pv
        times = [ms for ms, _ in millis.values()]
        late.append(max(times) - min(times))
    tell("the first byte comes later from another node than from the owner, median", float(np.median(late)), "ms", 2)


def first_byte(node: Pvark, path: str) -> tuple[float, bytes]:
    """The shortest of five, in milliseconds, and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
    try:
        tried: list[float] = []
        for _ in range(5):
            begun = time.perf_counter()
            connection.request("GET", path)
            answer = connection.getresponse()
            first = answer.read(1)
            tried.append(time.perf_counter() - begun)
            body = first + answer.read()
            assert answer.status == 200, body[:300]
        return 1000 * min(tried), body
    finally:
        connection.close()

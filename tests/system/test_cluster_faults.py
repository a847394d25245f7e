"""Long faults, one after the other, on three nodes and a real Cassandra: counters say what became of every update.

`make cluster-faults` runs it for an hour (MINUTES=15 for less). After each fault, when all is well again, every count
is looked for at every node: none may be there twice, and none may be missing but of the seconds in which a node was
dead, within a gap that says so.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import ROOT, Pvark
from disks import small_disk
from ioc import Ioc
from relay import Relay
from test_field_retention import CLOCK
from three_nodes import NAMES, Cluster, database, store_of
from waiting import wait_for

MINUTES = float(os.environ.get("PVARK_FAULT_MINUTES") or 0)
SEED = int(os.environ.get("PVARK_FAULT_SEED") or time.time())
pytestmark = [
    pytest.mark.skipif(MINUTES == 0, reason="long faults are run by `make cluster-faults`"),
    pytest.mark.skipif(len(database()) < 3, reason="not available here: no Cassandra of three nodes"),
    pytest.mark.timeout(60 * MINUTES + 1800),
]

PVS = [f"FT{device}:count" for device in range(24)]
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in PVS)
# Of Cassandra: where its clients come, and where its other nodes do.
CLIENTS, THE_DATABASE = 9042, 7000
SECOND = np.timedelta64(1, "s")
# A commit comes once a second; what a node that is killed heard later is on its disk.
UNCOMMITTED = 3 * SECOND
FAILURES = (
    IndexError,
    pvark.UnknownPv,
    pvark.ServerFailed,
    pvark.BrokenOff,
    pvark.StoreRefused,
    pvark.ConnectionFailed,
)


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


@dataclass
class Tally:
    """What was counted in the whole run."""

    faults: Counter[str] = field(default_factory=Counter)
    counts: int = 0
    missing: int = 0
    looks: int = 0
    longest: float = 0.0


@dataclass
class Ring:
    """The cluster under fault, and when one of its nodes was dead."""

    cluster: Cluster
    relays: dict[str, Relay]
    library: Path
    disk: Path | None
    dice: random.Random
    begin: np.datetime64 = field(default_factory=now)
    dead: list[tuple[np.datetime64, np.datetime64]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def victim(self) -> str:
        """A node that has shards."""
        seats = self.cluster.wait_seated(node=self.dice.choice(NAMES), seconds=120)
        return self.dice.choice(sorted(set(seats.values())))

    def others(self, victim: str) -> list[str]:
        return [name for name in NAMES if name != victim]


def database_node(order: str, node: int) -> None:
    subprocess.run([str(ROOT / "tools" / "cassandra.sh"), order, str(node)], check=True, timeout=300)


def database_process(node: int) -> int:
    root = Path(
        os.environ.get("PVARK_CASSANDRA") or Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "cassandra"
    )
    return int((root / f"node{node}" / "pid").read_text())


def kill_a_node(ring: Ring) -> None:
    victim = ring.victim()
    killed = now()
    ring.cluster.nodes[victim].kill()
    ring.cluster.wait_seated(*ring.others(victim), node=ring.others(victim)[0], seconds=120)
    ring.dead.append((killed - UNCOMMITTED, now() + 2 * SECOND))
    time.sleep(ring.dice.uniform(0, 10))
    ring.cluster.nodes[victim].start(60)


def pause_a_node(ring: Ring) -> None:
    victim = ring.victim()
    ring.cluster.stop(victim)
    try:
        time.sleep(ring.dice.uniform(1, 30))
    finally:
        ring.cluster.go_on(victim)


def restart_a_node(ring: Ring) -> None:
    """Without letting the others have its shards before: nobody records these until they are taken."""
    victim = ring.victim()
    stopped = now()
    assert ring.cluster.nodes[victim].terminate() == 0
    ring.cluster.wait_seated(*ring.others(victim), node=ring.others(victim)[0], seconds=120)
    ring.dead.append((stopped, now() + 2 * SECOND))
    ring.cluster.nodes[victim].start(60)


def drain_a_node(ring: Ring) -> None:
    victim = ring.victim()
    ring.cluster.command("drain", victim, node=ring.others(victim)[0])
    time.sleep(ring.dice.uniform(0, 5))
    ring.cluster.command("join", victim, node=victim)


def kill_a_database_node(ring: Ring) -> None:
    node = ring.dice.choice([2, 3])
    database_node("kill", node)
    try:
        time.sleep(ring.dice.uniform(1, 20))
    finally:
        database_node("start", node)


def pause_a_database_node(ring: Ring) -> None:
    process = database_process(ring.dice.choice([1, 2, 3]))
    os.kill(process, 19)
    try:
        time.sleep(ring.dice.uniform(1, 15))
    finally:
        os.kill(process, 18)


def lose_the_quorum(ring: Ring) -> None:
    processes = [database_process(node) for node in ring.dice.sample([1, 2, 3], 2)]
    for process in processes:
        os.kill(process, 19)
    try:
        time.sleep(ring.dice.uniform(5, 40))
    finally:
        for process in processes:
            os.kill(process, 18)


def cut_a_node_from_nodes(ring: Ring) -> None:
    relay = ring.relays[ring.victim()]
    relay.cut()
    try:
        time.sleep(ring.dice.uniform(1, 20))
    finally:
        relay.heal()


@contextmanager
def cut_off(address: str, port: int) -> Iterator[None]:
    """Nothing gets to a port of an address: connections stall, and new ones fail."""
    rule = ["pref", "10", "ipproto", "tcp", "to", address, "dport", str(port)]
    subprocess.run(["ip", "rule", "add", *rule, "blackhole"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "rule", "del", *rule, "blackhole"], check=True)


def cut_a_database_node_from_nodes(ring: Ring) -> None:
    with cut_off(f"127.0.0.{ring.dice.choice([1, 2, 3])}", CLIENTS):
        time.sleep(ring.dice.uniform(1, 20))


def cut_a_database_node_from_the_others(ring: Ring) -> None:
    """Clients reach it, and what the others would answer does not."""
    with cut_off(f"127.0.0.{ring.dice.choice([1, 2, 3])}", THE_DATABASE):
        time.sleep(ring.dice.uniform(1, 20))


def cut_the_database_from_nodes(ring: Ring) -> None:
    with cut_off("127.0.0.0/29", CLIENTS):
        time.sleep(ring.dice.uniform(1, 30))


def set_a_clock_wrong(ring: Ring) -> None:
    """A node is started with a clock that is ahead or behind, and then with the right one."""
    victim = ring.victim()
    node = ring.cluster.nodes[victim]
    for ahead in (ring.dice.choice([-100, -50, 50, 100]), 0):
        ring.cluster.command("drain", victim, node=ring.others(victim)[0])
        ring.cluster.wait_seated(*ring.others(victim), node=ring.others(victim)[0], seconds=120)
        assert node.terminate() == 0
        node.environment = {"LD_PRELOAD": str(ring.library), "CLOCK_AHEAD": str(ahead)}
        node.start(60)
        time.sleep(5)


def fill_a_disk(ring: Ring) -> None:
    """The node with the small disk says so; drained, it lets the others record what it had."""
    if ring.disk is None:
        return
    filler = ring.disk / "filler"
    full = now()
    node = ring.cluster.nodes["c"]

    def fill() -> bool:
        with filler.open("ab") as file:
            try:
                file.write(b"x" * shutil.disk_usage(ring.disk or "/").free)
            except OSError:
                pass
        return any("space" in problem or "disk" in problem for problem in node.json("/api/v1/status")["problems"])

    try:
        wait_for("it to say that its disk is full", fill, 120, every=1)
        ring.cluster.command("drain", "c", node="a")
        ring.cluster.wait_seated("a", "b", seconds=120)
    finally:
        filler.unlink(missing_ok=True)
        ring.dead.append((full - UNCOMMITTED, now() + 2 * SECOND))
    ring.cluster.command("join", "c", node="a")


FAULTS: dict[str, tuple[int, Callable[[Ring], None]]] = {
    "kill -9 of a node": (4, kill_a_node),
    "a node paused": (3, pause_a_node),
    "a node restarted": (1, restart_a_node),
    "a node drained": (1, drain_a_node),
    "kill -9 of a database node": (1, kill_a_database_node),
    "a database node paused": (2, pause_a_database_node),
    "no quorum": (2, lose_the_quorum),
    "a node cut from nodes": (2, cut_a_node_from_nodes),
    "a clock that is wrong": (1, set_a_clock_wrong),
    "a full disk": (1, fill_a_disk),
}
# In a network of one's own, which `tools/apart.sh` makes.
if "PVARK_APART" in os.environ:
    FAULTS |= {
        "a database node cut from nodes": (2, cut_a_database_node_from_nodes),
        "a database node cut from the others": (2, cut_a_database_node_from_the_others),
        "the database cut from nodes": (2, cut_the_database_from_nodes),
    }


def of_pv(ring: Ring, node: Pvark, pv: str, end: np.datetime64) -> tuple[int, list[np.datetime64]]:
    """How many counts a PV has, and about when those that are missing would have been."""
    samples = node.archive.get(pv, ring.begin, end)
    counts, times = samples.values.astype("int64"), samples.times
    assert np.all(np.diff(times.astype("int64")) >= 0), (pv, "times go back")
    order = np.argsort(counts, kind="stable")
    counts, times = counts[order], times[order]
    twice = int(np.sum(np.diff(counts) == 0))
    assert twice == 0, (pv, f"{twice} counts are there twice")
    assert times[0] - ring.begin < SECOND and end - times[-1] < SECOND, (pv, times[0], times[-1])
    holes = np.flatnonzero(np.diff(counts) > 1)
    missing = [
        times[hole] + (times[hole + 1] - times[hole]) * (step / (counts[hole + 1] - counts[hole]))
        for hole in holes
        for step in range(1, counts[hole + 1] - counts[hole])
    ]
    return len(counts), missing


def is_accounted_for(ring: Ring, node: Pvark, end: np.datetime64) -> tuple[int, int] | None:
    """How many counts are there and how many are not, each of these for a reason; an error where there is none."""
    there = gone = 0
    try:
        for pv in PVS:
            counts, missing = of_pv(ring, node, pv, end)
            there, gone = there + counts, gone + len(missing)
            if not missing:
                continue
            unexplained = [at for at in missing if not any(a <= at <= b for a, b in ring.dead)]
            assert not unexplained, (pv, len(unexplained), unexplained[:3])
            told = node.json(f"/api/v1/pvs/{pv}/gaps?from={ring.begin.astype('datetime64[ms]')}Z")["gaps"]
            spans = [
                (np.datetime64(gap["from"].rstrip("Z")), np.datetime64((gap["to"] or "2100-01-01").rstrip("Z")))
                for gap in told
            ]
            untold = [at for at in missing if not any(a - SECOND <= at <= b + SECOND for a, b in spans)]
            assert not untold, (pv, "missing without a gap", untold[:3], told)
    except FAILURES as error:
        raise AssertionError(str(error)) from error
    return there, gone


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path | None]:
    """A disk that can be filled, where the machine lets us mount one."""
    with small_disk(tmp_path / "disk", 64) as disk:
        if disk is None:
            print("no disk is filled: only root may mount a small one")
        yield disk


@contextmanager
def relayed(cluster: Cluster) -> Iterator[dict[str, Relay]]:
    """Nodes that are reached by relays."""
    relays = {}
    for name, node in cluster.nodes.items():
        text = node.config_path.read_text()
        port = int(text.split('[nodes]\nlisten = "127.0.0.1:')[1].split('"')[0])
        relays[name] = Relay(port)
        node.config_path.write_text(
            text.replace(f'node = "{name}"\n', f'node = "{name}"\naddress = "127.0.0.1:{relays[name].port}"\n')
        )
    try:
        yield relays
    finally:
        for relay in relays.values():
            relay.close()


def test_every_update_is_accounted_for_whatever_fails(
    tmp_path: Path, start_ioc: Callable[[str], Ioc], disk: Path | None
) -> None:
    dice = random.Random(SEED)
    print(f"\nseed {SEED}, {MINUTES:g} minutes (PVARK_FAULT_SEED makes the same faults in the same order)")
    library, source = tmp_path / "clock.so", tmp_path / "clock.c"
    source.write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], store_of(tmp_path).table(tmp_path), shards=6)
    if disk is not None:
        c = cluster.nodes["c"]
        c.config_path.write_text(c.config_path.read_text().replace(str(c.data), str(disk / "data")))
    with relayed(cluster) as relays:
        ring = Ring(cluster, relays, library, disk, dice)
        try:
            for node in cluster.nodes.values():
                node.launch()
            for node in cluster.nodes.values():
                node.wait_answers(180)
            cluster.wait_seated(seconds=180)
            wait_for("the PVs to be added", partial(are_added, cluster.nodes["a"]), 300, every=1)
            ring.begin = now()
            wait_for("all PVs to be recorded", partial(all_are_fresh, cluster.nodes["b"]), 60, every=0.5)
            ring.begin = now()
            time.sleep(5)
            until = time.monotonic() + 60 * MINUTES
            names = [name for name, (weight, _) in FAULTS.items() for _ in range(weight)]
            # Each once, then as the dice fall.
            planned = list(FAULTS)
            dice.shuffle(planned)
            while time.monotonic() < until:
                name = planned.pop() if planned else dice.choice(names)
                strike(ring, name)
        finally:
            tell(ring.tally)
            cluster.kill()


def strike(ring: Ring, name: str) -> None:
    begun = time.monotonic()
    FAULTS[name][1](ring)
    struck = time.monotonic() - begun
    ring.cluster.wait_seated(seconds=180)
    for node in ring.cluster.nodes.values():
        wait_for("all PVs to be recorded again", partial(all_are_fresh, node), 120, every=0.5)
    end = now() - 2 * SECOND
    for of, node in ring.cluster.nodes.items():
        what = f"every count to be accounted for at {of} after {name}"
        there, gone = wait_for(what, partial(is_accounted_for, ring, node, end), 180, every=1)
        ring.tally.looks += 1
    healed = time.monotonic() - begun - struck
    ring.tally.faults[name] += 1
    ring.tally.counts, ring.tally.missing = there, gone
    ring.tally.longest = max(ring.tally.longest, healed)
    print(f"{name}: {struck:.0f} s, whole again {healed:.0f} s later; {there} counts there, {gone} in gaps", flush=True)


def are_added(node: Pvark) -> bool:
    """On a busy machine a database may take long for so many names; what is added twice is added once."""
    try:
        node.archive.add(*(f"ca://{pv}" for pv in PVS))
    except FAILURES as error:
        raise AssertionError(str(error)) from error
    return True


def all_are_fresh(node: Pvark) -> bool:
    begin = now() - 2 * SECOND
    try:
        return all(len(node.archive.get(pv, begin, now()).values) > 0 for pv in PVS)
    except FAILURES as error:
        raise AssertionError(str(error)) from error


def tell(tally: Tally) -> None:
    print(
        json.dumps(
            {"faults": dict(tally.faults), "counts": tally.counts, "in gaps": tally.missing, "looks": tally.looks}
        )
    )

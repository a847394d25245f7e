"""Imports into a cluster while some of its shards have no node: they wait and go on, or say which PVs wait and why;
half of a part is never taken for all of it."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from appliance import YEAR_START, header, sample
from archiver import Pvark, program, run_program
from test_cluster_misuse import Objects
from three_nodes import S3, Cluster
from waiting import wait_for

FOLDER = "imports"
SAMPLES = 1000
HERE, AWAY = "IH:one", "IA:one"
"""A PV of the shard that node a has, and one of the shard whose node dies."""
RULES = "".join(
    f"[[cluster.rule]]\nmatch = {json.dumps([f'{pv[:2]}:*'])}\nshard = {shard}\n"
    for shard, pv in enumerate((HERE, AWAY))
)
START = np.datetime64("2026-01-05T00:00:00", "s")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[S3]:
    store = S3(tmp_path)
    yield store
    store.kill()


@pytest.fixture
def cluster(tmp_path: Path, store: S3) -> Iterator[Cluster]:
    """Node a has shard 0, b has shard 1, and c none: when b dies, a alone can take its shard."""
    cluster = Cluster(tmp_path, [], store.table(tmp_path, FOLDER) + RULES, shards=2)
    try:
        cluster.start()
        cluster.command("drain", "c")
        cluster.wait_seated("a", "b")
        for shard, node in enumerate("ab"):
            if cluster.seats()[shard] != node:
                cluster.command("move", str(shard), node)
        wait_for(
            "the shards to be there", lambda: [cluster.seats()[shard] for shard in (0, 1)] == ["a", "b"], 60, every=0.3
        )
        cluster.nodes["a"].archive.add(HERE, AWAY)
        yield cluster
    finally:
        cluster.kill()


def lines(folder: Path) -> Path:
    """A file of samples, one a second."""
    path = folder / "past.csv"
    path.write_text("".join(f"{START + second}Z,{second}\n" for second in range(SAMPLES)))
    return path


def count(node: Pvark, pv: str) -> int:
    """How many samples a node gives of a PV."""
    return len(node.archive.get(pv, "2026-01-01", "2026-02-01").values)


def has_all(node: Pvark, pv: str) -> bool:
    found = node.archive.get(pv, "2026-01-01", "2026-02-01").values.tolist()
    assert found == list(range(SAMPLES)), (pv, len(found))
    return True


def import_of(
    node: Pvark, pv: str, file: Path, *options: str, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    return run_program("import", "--server", node.url, "--pv", pv, *options, file, seconds=seconds)


@pytest.mark.timeout(240)
def test_an_import_goes_on_when_its_shard_has_a_node_again(cluster: Cluster, tmp_path: Path) -> None:
    file, a, b = lines(tmp_path), cluster.nodes["a"], cluster.nodes["b"]
    # Who has the shard is named, at once.
    refused = import_of(a, AWAY, file, seconds=30)
    assert refused.returncode == 1 and "to node b" in refused.stderr and AWAY in refused.stderr, refused
    b.kill()
    seats: list[dict[int, str]] = []

    def goes_on() -> subprocess.CompletedProcess[str] | None:
        seats.append(cluster.seats())
        tried = import_of(a, AWAY, file)
        # For a second node a does not know that b is dead.
        return None if "to node b" in tried.stderr else tried

    done = wait_for("node a to miss node b", goes_on, 60, every=0.1)
    assert seats[-1].get(1) != "a", "it began while nobody had the shard"
    assert done.returncode == 0 and f"{SAMPLES} samples imported, 0 had been before" in done.stdout, done
    for name in "ac":
        node = cluster.nodes[name]
        wait_for(f"node {name} to have all", lambda node=node: has_all(node, AWAY), 30, every=0.3)  # type: ignore[misc]
    again = import_of(a, AWAY, file)
    assert again.returncode == 0 and f"0 samples imported, {SAMPLES} had been before" in again.stdout, again
    # The node that had it comes back, and knows it as well.
    b.start(60)
    wait_for("node b to have all", lambda: has_all(b, AWAY), 60, every=0.5)


@pytest.mark.timeout(300)
def test_an_import_for_a_shard_that_nobody_can_take_names_its_pvs_and_takes_nothing_by_halves(
    cluster: Cluster, store: S3, tmp_path: Path
) -> None:
    file, a, objects = lines(tmp_path), cluster.nodes["a"], Objects(store)
    cluster.wait_calm()
    cluster.nodes["b"].kill()
    rows = sorted(objects.list("journal/1.a/", FOLDER))
    row = objects.get(rows[-1], FOLDER)
    objects.put(rows[-1], row[:-1] + bytes([row[-1] ^ 1]), FOLDER)
    wait_for("shard 1 to be lost", lambda: 1 not in cluster.seats(), 60, every=0.3)

    waited = import_of(a, AWAY, file, "--patience", "15s")
    assert waited.returncode == 1, waited
    for said in (
        "no node has shard 1",
        f"samples of {AWAY}",
        "nothing of this part is entered",
        "Begin the import again",
    ):
        assert said in waited.stderr, (said, waited.stderr)
    assert "which is waited for" in waited.stderr, waited.stderr
    # A part of an old archive with PVs of both shards.
    appliance = old_archive(tmp_path)
    command = ("import", "archiver-appliance", "--server", a.url)
    half = run_program(*command, "--patience", "1s", appliance, seconds=120)
    assert half.returncode == 1 and "no node has shard 1" in half.stderr and AWAY in half.stderr, half
    assert count(a, HERE) == 0, "nothing of the part is there"

    # It goes on as soon as the shard can be taken.
    both = [str(program()), *command, "--patience", "2m", str(appliance)]
    going_on = subprocess.Popen(both, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert going_on.stdout is not None
        assert any("which is waited for" in line for line in going_on.stdout), going_on.poll()
        objects.put(rows[-1], row, FOLDER)
        output = going_on.stdout.read()
        assert going_on.wait(30) == 0, output
    finally:
        going_on.kill()
    assert f"{2 * SAMPLES} samples read back and found equal" in output, output
    for name in "ac":
        for pv in (HERE, AWAY):
            node = cluster.nodes[name]
            wait_for(f"node {name} to have {pv}", lambda node=node, pv=pv: has_all(node, pv), 30, every=0.3)  # type: ignore[misc]


def old_archive(folder: Path) -> Path:
    """Files of an Archiver Appliance, of both PVs."""
    store = folder / "lts"
    begin = int(START.astype("int64")) - YEAR_START
    for pv in (HERE, AWAY):
        device, number = pv.split(":")
        (store / device).mkdir(parents=True)
        times = ((YEAR_START + begin + second) * 1_000_000_000 for second in range(SAMPLES))
        values = (b"\x19" + struct.pack("<d", second) for second in range(SAMPLES))
        samples = b"".join(sample(time, value) for time, value in zip(times, values, strict=True))
        (store / device / f"{number}:2026.pb").write_bytes(header(pv) + samples)
    return store

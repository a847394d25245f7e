"""A disk that hangs under the archiver: a file system that is frozen for a while.

Recording goes on in memory, what finds no room there is counted and becomes gaps, status and the newest samples can be
read, and afterwards all goes on by itself.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from ioc import Ioc
from waiting import wait_for

NOISE = "".join(
    f'record(calc, "S:{i}") {{ field(SCAN, ".1 second") field(CALC, "RNDM") field(FLNK, "S:{i}:history") }}\n'
    f'record(compress, "S:{i}:history") {{ field(INP, "S:{i}") field(ALG, "Circular Buffer") field(NSAM, "4000") }}\n'
    for i in range(10)
)
NAMES = [f"S:{i}{kind}" for i in range(10) for kind in ("", ":history")]


class Freezer:
    """A small disk that can be made to hang."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def freeze(self) -> None:
        """From now on whatever writes there waits."""
        subprocess.run(["fsfreeze", "--freeze", str(self.folder)], check=True, timeout=30)

    def thaw(self) -> None:
        """Everything goes on; no error if nothing hangs."""
        subprocess.run(["fsfreeze", "--unfreeze", str(self.folder)], check=False, capture_output=True, timeout=30)


@pytest.fixture
def freezer(tmp_path: Path) -> Iterator[Freezer]:
    """A file system of its own, in a file."""
    folder, image = tmp_path / "disk", tmp_path / "image"
    folder.mkdir()
    if not all(shutil.which(tool) for tool in ("fsfreeze", "mkfs.ext4", "mount")):
        pytest.skip("there is no fsfreeze, mkfs.ext4 or mount to make a disk that hangs")
    with image.open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, timeout=60)
    if subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True).returncode != 0:
        pytest.skip("only root may mount the disk that this test lets hang, and there must be loop devices")
    freezer = Freezer(folder)
    try:
        yield freezer
    finally:
        freezer.thaw()
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=30)


def test_a_disk_that_hangs_is_told_and_what_is_lost_is_counted(
    tmp_path: Path, freezer: Freezer, request: pytest.FixtureRequest
) -> None:
    ioc = Ioc.of_records(tmp_path, NOISE)
    request.addfinalizer(ioc.kill)
    sizes = "queue_megabytes_max = 2\nhead_megabytes_max = 4\nreserve_megabytes = 8\n"
    server = Pvark(tmp_path, [ioc.start()], freezer.folder / "data", sizes)
    request.addfinalizer(server.kill)
    request.addfinalizer(freezer.thaw)  # first of all, or nothing that hangs there could be killed
    archive = server.start().archive
    archive.add(*(f"ca://{name}" for name in NAMES))
    wait_for("samples", lambda: len(archive.get("S:0")) > 20)
    before = archive.status()
    assert (before.samples["dropped_store"], before.samples["dropped_queue"]) == (0, 0)

    freezer.freeze()
    wait_for("it to be told", lambda: any("has not answered" in text for text in archive.status().problems), 60)
    assert "pvark_store_disk_silent_micros" in server.request("GET", "/metrics")[2].decode()
    assert archive.status().store["disk_silent_micros"] > 1_000_000
    assert len(archive.get("S:0")) > 20, "the newest can be read"

    def lost() -> int:
        samples = archive.status().samples
        return samples["dropped_store"] + samples["dropped_queue"]

    wait_for("losses", lambda: lost() > 0, 60)
    ioc.kill()
    freezer.thaw()
    wait_for("nothing to be told", lambda: not any("disk" in text for text in archive.status().problems), 60)
    wait_for("everything to be durable", lambda: archive.status().durable == archive.status().appended, 60)

    def agree(cause: str, counter: str) -> bool:
        in_gaps = sum(gap.lost for name in NAMES for gap in archive.gaps(name) if gap.cause == cause)
        return in_gaps == archive.status().samples[counter]

    wait_for("gaps of a refusing store", lambda: agree("store_refused", "dropped_store"), 60)
    wait_for("gaps of a full queue", lambda: agree("queue_full", "dropped_queue"), 60)

    def adds_up() -> bool:
        counted = archive.status().samples
        lost = counted["dropped_store"] + counted["dropped_queue"]
        assert counted["received"] == counted["stored"] + counted["skipped"] + lost, counted
        return True

    wait_for("what waits to be stored, and all to add up", adds_up, 60)

    newest = archive.get("S:0")
    ioc.start()
    wait_for("new samples", lambda: len(archive.get("S:0")) > len(newest), 60)
    assert server.terminate() == 0


def test_a_kill_while_the_disk_hangs_leaves_a_ledger_that_adds_up(
    tmp_path: Path, freezer: Freezer, request: pytest.FixtureRequest
) -> None:
    """What the log had not taken is in the gap of the archiver, what was lost before stands in the ledger."""
    ioc = Ioc.of_records(tmp_path, NOISE)
    request.addfinalizer(ioc.kill)
    sizes = "queue_megabytes_max = 2\nhead_megabytes_max = 4\nreserve_megabytes = 8\n"
    server = Pvark(tmp_path, [ioc.start()], freezer.folder / "data", sizes)
    request.addfinalizer(server.kill)
    request.addfinalizer(freezer.thaw)  # first of all, or nothing that hangs there could be killed
    archive = server.start().archive
    archive.add(*(f"ca://{name}" for name in NAMES))
    wait_for("samples", lambda: len(archive.get("S:0")) > 20)
    freezer.freeze()
    frozen = np.datetime64(time.time_ns(), "ns")

    def lost() -> int:
        samples = archive.status().samples
        return samples["dropped_store"] + samples["dropped_queue"]

    wait_for("losses", lambda: lost() > 100, 90)
    received = archive.status().samples["received"]
    process = server.process
    assert process is not None
    killed = np.datetime64(time.time_ns(), "ns")
    process.kill()
    freezer.thaw()  # a thread that waits for the disk dies when that answers
    process.wait(60)
    ioc.kill()  # so that nothing comes while it is counted
    server.start()
    since = np.datetime64(time.time_ns(), "ns") - np.timedelta64(3600, "s")
    rows = {name: archive.ledger(name, since) for name in NAMES}
    for name in NAMES:
        assert rows[name] and all(row.adds_up for row in rows[name]), rows[name]
        stored = sum(row.stored for row in rows[name])
        assert stored == len(archive.get(name, "2000-01-01T00:00:00Z")) > 0, (name, stored)
    told = sum(row.received for name in NAMES for row in rows[name])
    counted = sum(row.stored + sum(row.lost.values()) for name in NAMES for row in rows[name])
    assert told == counted <= received, (told, counted, received)
    (gap,) = [gap for gap in archive.gaps("S:0") if gap.cause == "archiver_stopped"]
    # A second is what may be on its way to the disk at any time.
    assert gap.start < frozen + np.timedelta64(1, "s") and gap.end is not None and gap.end > killed, (gap, frozen)
    told_of = {reason.kind for reason in archive.explain("S:0", since).reasons}
    assert {"archiver_stopped", "killed"} <= told_of, told_of

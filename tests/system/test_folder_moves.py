"""The data folder of a running archiver moves, is deleted, unmounted or made read-only, and its lock is removed.

Counters count up all the time, so that each sample that is missing shows. Whatever becomes of the folder: nothing
is written into one that is made anew, what was told to be durable can be read afterwards, once, and an end without
the folder is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from waiting import wait_for

COUNT = 100
NAMES = [f"M:{i:03}" for i in range(COUNT)]
COUNTERS = "".join(f'record(calc, "{name}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for name in NAMES)
LONG_AGO = "2000-01-01T00:00:00Z"
# Heads are packed often, so that segments are written and merged while the folder goes and comes.
SIZES = "head_megabytes_max = 2\nreserve_megabytes = 8\n"


class Promises:
    """Asks all the time how much is durable, as whoever deletes elsewhere what is safe here would."""

    def __init__(self, archive: pvark.Archiver) -> None:
        self.archive = archive
        self.most = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self) -> None:
        while not self.ended.wait(0.05):
            try:
                self.most = max(self.most, self.archive.status().durable)
            except pvark.PvarkError:
                return

    def end(self) -> int:
        """The most that was promised."""
        self.ended.set()
        self.thread.join()
        return self.most


class Scene:
    """Counters, an archiver whose data lie in a folder that something happens to, and what it promised."""

    def __init__(self, folder: Path, ioc: Ioc, data: Path) -> None:
        self.data = data
        self.server = Pvark(folder, [ioc], data, SIZES).start()
        assert set(self.server.archive.add(*(f"ca://{name}" for name in NAMES)).values()) == {"added"}
        self.server.wait_connected(NAMES[0], NAMES[-1])
        self.promises = Promises(self.server.archive)
        self.wait_durable(20 * COUNT)

    @property
    def durable(self) -> int:
        return self.server.archive.status().durable

    def wait_durable(self, more: int) -> None:
        """Until so many more are."""
        before = self.durable
        wait_for(f"{more} more durable samples", lambda: self.durable >= before + more, 60)

    def wait_told(self, text: str) -> None:
        """Until the status has a problem that says this."""

        def told() -> bool:
            return any(text in problem for problem in self.server.archive.status().problems)

        wait_for(f"it to be told: {text}", told, 30)

    def is_not_durable(self) -> None:
        """While the folder is away samples arrive, and none of them becomes durable."""
        durable, appended = self.durable, self.server.archive.status().appended
        wait_for("samples in memory", lambda: self.server.archive.status().appended > appended + 10 * COUNT, 60)
        assert self.durable == durable
        newest = self.server.archive.get(NAMES[0])
        assert len(newest) > 0, "the newest can be read"

    def is_back(self) -> None:
        """All goes on, and what waited is durable."""
        wait_for("no problem to be told", lambda: not self.server.archive.status().problems, 60)
        self.wait_durable(10 * COUNT)

    def ends_well(self) -> None:
        """A clean end, after which all is there, without any break but the end itself."""
        promised = self.promises.end()
        assert self.server.terminate() == 0, self.server.log()
        assert "every sample is safe" in self.server.log()
        self.holds(promised)

    def ends_badly(self, text: str) -> int:
        """An end that cannot be one: it says so and has an exit code. What was promised."""
        promised = self.promises.end()
        assert self.server.terminate() == 1, self.server.log()
        log = self.server.log()
        assert text in log and "every sample is safe" not in log, log
        return promised

    def holds(self, promised: int) -> None:
        """Opens the folder again: what was promised is there, each once, and without a break before the end."""
        self.server.start()
        archive = self.server.archive
        stops = [gap for gap in archive.gaps(NAMES[0], LONG_AGO) if gap.cause == "archiver_stopped"]
        assert len(stops) == 1, stops
        total = 0
        for name in NAMES:
            samples = archive.get(name, LONG_AGO, stops[0].start)
            total += len(samples)
            steps = np.diff(samples.values)
            assert np.all(steps == 1), f"{name} has other steps than one: {steps[steps != 1]}"
        # Of the second before the end some may have come after the last sign of life.
        late = sum(len(archive.get(name, stops[0].start, stops[0].end)) for name in NAMES)
        assert total + late >= promised > 0, f"{promised} samples were durable, {total} + {late} are there"
        assert self.server.terminate() == 0
        checked = run_program("check", "--data", self.data)
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture
def start(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> Iterator[Callable[[Path], Scene]]:
    """Begins a scene with the data in a folder."""
    scenes: list[Scene] = []

    def begin(data: Path) -> Scene:
        scenes.append(Scene(tmp_path, start_ioc(COUNTERS), data))
        return scenes[-1]

    yield begin
    for scene in scenes:
        scene.server.kill()
        scene.promises.end()


def mount(*arguments: str | Path) -> None:
    """Mounts something, or skips the test with the reason."""
    if shutil.which("mount") is None:
        pytest.skip("there is no mount to make a folder that goes away")
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"only root may mount what this test needs: {done.stderr.strip()}")


def is_mounted(folder: Path) -> bool:
    """Also if it is a folder of the same disk that is mounted there, which `ismount` does not see."""
    mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.split(" ")[1] == str(folder) for line in mounts)


def unmount(folder: Path) -> None:
    """What is open there stays open."""
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=30)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A folder to which a disk is mounted, and how it is mounted there again."""
    disk, folder = tmp_path / "disk", tmp_path / "mounted"
    disk.mkdir()
    folder.mkdir()

    def again() -> None:
        mount("--bind", disk, folder)

    again()
    yield folder, again
    while is_mounted(folder):
        unmount(folder)


def test_a_folder_that_is_moved_away_and_back_has_every_sample_once(
    tmp_path: Path, start: Callable[[Path], Scene]
) -> None:
    data, moved = tmp_path / "data", tmp_path / "moved"
    scene = start(data)
    for _ in range(2):
        data.rename(moved)
        scene.wait_told("is gone")
        scene.is_not_durable()
        assert not data.exists()
        moved.rename(data)
        scene.is_back()
    scene.ends_well()


def test_a_folder_that_is_moved_for_good_is_an_error_at_the_end(tmp_path: Path, start: Callable[[Path], Scene]) -> None:
    data, moved = tmp_path / "data", tmp_path / "moved"
    scene = start(data)
    data.rename(moved)
    scene.wait_told("is gone")
    scene.is_not_durable()
    promised = scene.ends_badly("samples were not known to be safe")
    assert not data.exists()
    moved.rename(data)
    scene.holds(promised)


def test_a_folder_that_is_deleted_is_told_and_not_made_anew(tmp_path: Path, start: Callable[[Path], Scene]) -> None:
    data = tmp_path / "data"
    scene = start(data)
    # The archiver may make a file in it meanwhile: it is to go as a whole.
    gone = tmp_path / "gone"
    data.rename(gone)
    shutil.rmtree(gone)
    scene.wait_told("is gone")
    scene.is_not_durable()
    scene.ends_badly("is gone, and was not back at the end")
    assert not data.exists() and not gone.exists()


def test_a_folder_that_is_unmounted_and_mounted_again_has_every_sample_once(
    mounted: tuple[Path, Callable[[], None]], start: Callable[[Path], Scene]
) -> None:
    folder, mount_again = mounted
    scene = start(folder)
    unmount(folder)
    scene.wait_told("is another folder")
    scene.is_not_durable()
    assert list(folder.iterdir()) == [], "nothing is written where nothing is mounted"
    mount_again()
    scene.is_back()
    scene.ends_well()


def test_a_folder_over_which_another_is_mounted_is_waited_for(
    mounted: tuple[Path, Callable[[], None]], start: Callable[[Path], Scene]
) -> None:
    folder, _ = mounted
    data = folder / "data"
    scene = start(data)
    mount("-t", "tmpfs", "-o", "size=12m", "tmpfs", data)
    scene.wait_told("pvark-archive is missing")
    scene.is_not_durable()
    assert list(data.iterdir()) == []
    unmount(data)
    scene.is_back()
    scene.ends_well()


def test_a_disk_that_becomes_read_only_is_told_and_is_an_error_at_the_end(
    tmp_path: Path, start: Callable[[Path], Scene]
) -> None:
    """As the kernel does with a file system in which it has found an error."""
    folder, image = tmp_path / "disk", tmp_path / "image"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(256 << 20)
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("there is no mkfs.ext4 to make a disk that fails")
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, timeout=60)
    mount("-o", "loop,errors=remount-ro", image, folder)
    try:
        device = subprocess.run(
            ["findmnt", "-no", "SOURCE", str(folder)], capture_output=True, text=True, check=True
        ).stdout.strip()
        trigger = Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error"
        if not trigger.exists():
            pytest.skip(f"there is no {trigger} to make the disk fail")
        scene = start(folder / "data")
        trigger.write_text("1")
        wait_for("the refusal", lambda: scene.server.archive.status().problems, 30)
        durable = scene.durable
        time.sleep(2)  # the time in which it could rise: syncs come each second
        assert scene.durable == durable
        promised = scene.ends_badly("Read-only file system")
        assert promised <= durable
        unmount(folder)
        wait_for("the device to be free", lambda: not trigger.exists(), 30)
        subprocess.run(["fsck.ext4", "-y", str(image)], capture_output=True, timeout=60)
        mount("-o", "loop", image, folder)
        scene.holds(promised)
    finally:
        while os.path.ismount(folder):
            unmount(folder)


def test_a_second_archiver_is_told_who_has_the_archive_though_the_lock_is_removed(
    tmp_path: Path, start: Callable[[Path], Scene]
) -> None:
    data, linked = tmp_path / "data", tmp_path / "linked"
    scene = start(data)
    linked.symlink_to(data)
    process = scene.server.process
    assert process is not None
    other = tmp_path / "other"
    other.mkdir()

    def refused(folder: Path) -> str:
        second = Pvark(other, [], folder)
        done = run_program("run", "--config", second.config_path)
        assert done.returncode == 1, done
        return done.stderr

    text = refused(linked)
    assert f"in use by pvark process {process.pid} on {os.uname().nodename} since 20" in text, text
    (data / "lock").unlink()
    for folder in (data, linked):
        text = refused(folder)
        assert f"in use by process {process.pid} of this machine" in text, text
    checked = run_program("check", "--data", data)
    assert checked.returncode == 0, checked.stdout
    kept = run_program("backup", "--data", data, "--to", tmp_path / "backup")
    assert kept.returncode == 0, kept.stderr
    scene.wait_durable(10 * COUNT)
    scene.ends_well()

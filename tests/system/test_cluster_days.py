"""What two nodes recorded of a day is in one archive when the day is over; both choose alike; a check reads both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from test_cluster import missing_and_twice, now
from test_cluster_copies import POLICY as TWICE
from test_cluster_copies import PVS, SHARDS, are_recorded_twice, recorders, wait_apart, whole
from test_cluster_copies import RECORDS as COUNTS
from test_cluster_misuse import FOLDER, Objects
from three_nodes import NAMES, S3, Cluster
from waiting import wait_for

RECORDS = """
record(calc, "AL1:scan") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "AL2:band") { field(SCAN, ".1 second") field(CALC, "VAL>=39?0:VAL+1") }
record(ao, "AL3:never") { field(VAL, "7") }
"""
WRONG = "K:wrong"
POLICIES = f"""
[[policy]]
name = "scanned"
match = ["AL1:scan"]
method = "scan"
period = "1s"
copies = 2
[[policy]]
name = "banded"
match = ["AL2:band"]
deadband = 4.5
copies = 2
[[policy]]
name = "others"
match = ["AL3:never", "{WRONG}"]
copies = 2
"""


@contextmanager
def recording(cluster: Cluster, pvs: list[str]) -> Iterator[Cluster]:
    """The cluster, as soon as all of these PVs are recorded twice."""
    try:
        cluster.start()
        cluster.nodes["a"].archive.add(*pvs)
        wait_apart(cluster)
        yield cluster
    finally:
        cluster.kill()


class Backup:
    """The shards of a cluster as archives of one machine."""

    def __init__(self, folder: Path, node: Pvark) -> None:
        self.folder = folder
        self.to = folder / "backup"
        folder.mkdir()
        made = run_program("backup", "--cluster", node.config_path, "--to", self.to, seconds=90)
        assert made.returncode == 0, made.stdout + made.stderr

    @contextmanager
    def opened(self, name: str) -> Iterator[Pvark]:
        """One of them, whose ledger and samples agree."""
        data = self.to / name
        checked = run_program("check", "--data", data)
        assert checked.returncode == 0, checked.stdout
        taken = run_program("take-over", "--data", data)
        assert taken.returncode == 0, taken.stderr
        own = self.folder / name
        own.mkdir()
        alone = Pvark(own, data=data)
        try:
            yield alone.start()
        finally:
            alone.kill()


@pytest.mark.timeout(300)
def test_what_a_shard_missed_of_a_day_is_in_it_when_the_day_is_over_and_its_copy_has_nothing(
    tmp_path: Path, store: S3, start_ioc: Callable[[str], Ioc]
) -> None:
    shared = 'merge_each = "12s"\n' + store.table(tmp_path) + TWICE
    cluster = Cluster(tmp_path, [start_ioc(COUNTS)], shared, shards=SHARDS, copies=2)
    with recording(cluster, [f"ca://{pv}" for pv in PVS]):
        a = cluster.nodes["a"]
        wait_for("all to be recorded twice", partial(are_recorded_twice, a), 60, every=0.5)
        cluster.wait_calm(8)
        begin = now()
        time.sleep(3)
        shard = recorders(a, PVS[0])[0]["shard"]
        victim = cluster.seats("a")[shard]
        others = [name for name in NAMES if name != victim]
        cluster.nodes[victim].kill()
        wait_apart(cluster, *others, node=others[0])
        wait_for("all to be recorded twice", partial(are_recorded_twice, cluster.nodes[others[0]]), 60, every=0.5)
        cluster.nodes[victim].start()
        wait_apart(cluster, node=victim)
        wait_for("all to be recorded twice", partial(are_recorded_twice, a), 60, every=0.5)
        end = now() - np.timedelta64(2, "s")
        for node in cluster.nodes.values():
            wait_for("nothing to be missing", partial(whole, node, begin, end), 30, every=1)
        of_shard = [pv for pv in PVS if recorders(a, pv)[0]["shard"] == shard]
        numbers = iter(range(100))

        def let_go() -> Backup | None:
            """A backup in which the copy has nothing of the time before the end."""
            backup = Backup(tmp_path / f"backup{next(numbers)}", a)
            with backup.opened(f"shard-{shard}-copy") as copy:
                left = [len(copy.archive.get(pv, begin, end)) for pv in of_shard]
            return backup if left == [0] * len(of_shard) else None

        time.sleep(16)
        backup = wait_for("the copy to have nothing of it", let_go, 90, every=3)
        with backup.opened(f"shard-{shard}") as alone:
            for pv in of_shard:
                samples = alone.archive.get(pv, begin, end)
                assert missing_and_twice(samples.values, samples.times) == ([], 0), pv
                told = alone.archive.gaps(pv, begin, end)
                assert len(told) > 0, "it has missed something, or this would prove nothing"
        for node in cluster.nodes.values():
            wait_for("nothing to be missing", partial(whole, node, begin, end), 30, every=1)


@pytest.mark.timeout(240)
def test_two_recorders_of_a_cluster_choose_alike(tmp_path: Path, store: S3, start_ioc: Callable[[str], Ioc]) -> None:
    (tmp_path / "clocks").mkdir()
    clocks = Ioc.of_script(tmp_path / "clocks", "p4p_clocks.py")
    shared = store.table(tmp_path) + POLICIES
    cluster = Cluster(tmp_path, [start_ioc(RECORDS), clocks], shared, shards=SHARDS, copies=2)
    pvs = ["AL1:scan", "AL2:band", "AL3:never", WRONG]
    try:
        clocks.start()
        with recording(cluster, [("pva://" if pv == WRONG else "ca://") + pv for pv in pvs]):
            a = cluster.nodes["a"]

            def both_connected() -> bool:
                told = [[of["state"] for of in recorders(a, pv)] for pv in pvs]
                return told == [["connected"] * 2] * len(pvs)

            wait_for("all to be recorded twice", both_connected, 60, every=0.5)
            begin = now()
            assert clocks.process is not None and clocks.process.stdin is not None
            posted = []
            # Each hears its first update at its own time: they agree from the first jump beyond both on, which is 4 s
            # later at most.
            for number in range(12):
                line = f"{WRONG} {int(time.time()) + 86_400} 0 {100 + number}\n"
                clocks.process.stdin.write(line.encode())
                clocks.process.stdin.flush()
                posted.append(100.0 + number)
                time.sleep(1)
            last = now() - np.timedelta64(3, "s")
            first = last - np.timedelta64(4, "s")
            since = first - np.timedelta64(120, "s")
            shards = {pv: recorders(a, pv)[0]["shard"] for pv in pvs}
            chosen = {
                name: {pv: node.archive.get(pv, first, last).values.tolist() for pv in pvs[:2]}
                for name, node in cluster.nodes.items()
            }
            never = [node.archive.get("AL3:never", since, last).values.tolist() for node in cluster.nodes.values()]
            time.sleep(2)
            until = now()
            ahead = [node.archive.get(WRONG, begin, until).values.tolist() for node in cluster.nodes.values()]
            backup = Backup(tmp_path / "backups", a)
            alone: dict[str, dict[str, list[float]]] = {"shard": {}, "copy": {}}
            for shard in set(shards.values()):
                for which, name in (("shard", f"shard-{shard}"), ("copy", f"shard-{shard}-copy")):
                    with backup.opened(name) as one:
                        for pv in (pv for pv in pvs if shards[pv] == shard):
                            window = (first, last) if pv in pvs[:2] else (begin if pv == WRONG else since, until)
                            alone[which][pv] = one.archive.get(pv, *window).values.tolist()
            assert 3 <= len(alone["shard"]["AL1:scan"]) <= 5, alone
            assert 7 <= len(alone["shard"]["AL2:band"]) <= 10, alone
            for together in chosen.values():
                for told in alone.values():
                    assert together == {pv: told[pv] for pv in pvs[:2]}, (chosen, alone)
            assert never == [[7.0]] * 3, "it came once, although each heard it at its own time"
            assert alone["shard"]["AL3:never"] == alone["copy"]["AL3:never"] == [7.0]
            assert ahead == [posted] * 3, "each came once, although each has its time of arrival"
            assert alone["shard"][WRONG] == alone["copy"][WRONG] == posted
    finally:
        clocks.kill()


@pytest.mark.timeout(240)
def test_a_check_of_the_cluster_names_what_is_wrong_in_a_copy(
    tmp_path: Path, store: S3, start_ioc: Callable[[str], Ioc]
) -> None:
    shared = store.table(tmp_path, FOLDER) + TWICE
    cluster = Cluster(tmp_path, [start_ioc(COUNTS)], shared, shards=SHARDS, copies=2)
    objects = Objects(store)
    with recording(cluster, [f"ca://{pv}" for pv in PVS]):
        a = cluster.nodes["a"]
        wait_for("all to be recorded twice", partial(are_recorded_twice, a), 60, every=0.5)
        shard = recorders(a, PVS[0])[0]["shard"]
        time.sleep(3)
        for node in cluster.nodes.values():
            node.terminate()
        # A second owner, beside which the first has left something.
        for node in cluster.nodes.values():
            node.start()
        wait_apart(cluster)
        wait_for("all to be recorded twice", partial(are_recorded_twice, a), 60, every=0.5)
        for node in cluster.nodes.values():
            node.terminate()

        def check() -> tuple[int, str]:
            done = run_program("check", "--cluster", a.config_path, seconds=60)
            return done.returncode, done.stdout

        code, told = check()
        assert code == 0 and f"{2 * SHARDS + 1} shards" in told, told
        segments = sorted(objects.list(f"object/{shard}.b/seg/"))
        assert segments, "the copy has segments"
        named = [key for key in segments if key.removeprefix("object/") not in told]
        key = named[-1]
        content = objects.get(key)
        objects.put(key, content[:-3] + bytes([content[-3] ^ 8]) + content[-2:])
        code, told = check()
        assert code == 3 and f"{shard}.b/seg/" in told and "checksum is wrong" in told, told
        objects.remove(key)
        code, told = check()
        assert code == 3 and key.removeprefix("object/") in told and "not there" in told, told
        objects.put(key, content)
        assert check()[0] == 0
        first = segments[0].split("/seg/")[0] + "/seg/0000000000000001/2026-W01/000000099999.seg/000000"
        objects.put(first, b"left by who was stopped")
        code, told = check()
        assert code == 0 and f"ORPHAN   {first.removeprefix('object/')}" in told, told
        # The journal of the copy as well.
        rows = sorted(objects.list(f"journal/{shard}.b/"))
        row = objects.get(rows[-1])
        objects.put(rows[-1], row[:-1] + bytes([row[-1] ^ 1]))
        code, told = check()
        assert code == 3 and f"DAMAGED  shard {shard}.b cannot be read" in told, told
        objects.put(rows[-1], row)
        assert check()[0] == 0


def test_a_day_that_is_too_short_is_refused(tmp_path: Path, store: S3) -> None:
    cluster = Cluster(tmp_path, [], 'merge_each = "1s"\n' + store.table(tmp_path), shards=SHARDS)
    try:
        with pytest.raises(RuntimeError, match="merge_each"):
            cluster.nodes["a"].start()
    finally:
        cluster.kill()

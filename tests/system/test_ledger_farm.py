"""The ledger against a farm that counts for itself.

What the farm sent is what the archiver received, and all of that is stored or lost by a cause that is told, whatever
happens meanwhile.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import Pvark
from farm import Farm
from waiting import wait_for

ALWAYS = "2000-01-01T00:00:00Z"
CAUSES = ("queue_full", "store_refused", "rate_capped")
COUNT = 200
NAMES = [f"F:{n}" for n in range(COUNT)]
SMALL = "queue_megabytes_max = 1\nhead_megabytes_max = 4\nreserve_megabytes = 1\n"


@pytest.fixture
def farms() -> Iterator[list[Farm]]:
    started: list[Farm] = []
    yield started
    for farm in started:
        farm.kill()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[..., Pvark]]:
    started: list[Pvark] = []

    def start(farm: Farm, more: str = "", data: Path | None = None) -> Pvark:
        started.append(Pvark(tmp_path, [farm], data, more))  # type: ignore[list-item]
        return started[-1].start()

    yield start
    for server in started:
        server.kill()


def ledger(archive: pvark.Archiver, since: np.datetime64) -> dict[str, int]:
    """All PVs together. Every row must add up by itself."""
    sums = dict.fromkeys(("received", "stored", "skipped", "waiting", *CAUSES), 0)
    for name in NAMES:
        for row in archive.ledger(name, since):
            assert row.adds_up, (name, row)
            for key in ("received", "stored", "skipped", "waiting"):
                sums[key] += getattr(row, key)
            for cause in CAUSES:
                sums[cause] += row.lost[cause]
    return sums


def samples(archive: pvark.Archiver) -> int:
    return sum(len(archive.get(name, ALWAYS)) for name in NAMES)


def begin(server: Pvark, protocol: str) -> np.datetime64:
    server.archive.add(*(f"{protocol}://{name}" for name in NAMES))
    server.wait_connected(NAMES[0], NAMES[-1])
    wait_for("all to be connected", lambda: server.archive.status().pvs["connected"] == COUNT)
    return np.datetime64(time.time_ns(), "ns") - np.timedelta64(600, "s")


def settle(server: Pvark) -> None:
    """Until all that was received is stored or lost."""

    def settled() -> bool:
        counted = server.archive.status().samples
        lost = counted["dropped_queue"] + counted["dropped_store"]
        return server.archive.status().pvs["connected"] == 0 and counted["received"] == counted["stored"] + lost

    wait_for("all to be stored", settled, 60)


def sent_by(report: dict[str, float], protocol: str) -> int:
    """What a farm put on its circuits: all updates, and by Channel Access the first value of each channel besides."""
    if protocol == "pva":
        return int(report["pva updates sent"])
    return int(report["sent"] + report["channels"])


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_an_archiver_without_a_processor_accounts_for_all_that_the_farm_sent(
    farms: list[Farm], servers: Callable[..., Pvark], protocol: str
) -> None:
    farm = Farm("--queue", "0", "--drain", "20", "--protocol", protocol, "--group", f"name=F:,count={COUNT},rate=500")
    farms.append(farm)
    server = servers(farm, SMALL)
    since = begin(server, protocol)
    assert server.process is not None
    # A busy machine gives the farm less to send in a stall; then it takes more of them.
    for stall in range(12):
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(3)  # the stall itself
        server.process.send_signal(signal.SIGCONT)
        before = server.archive.status().samples["received"]
        wait_for("it to go on", lambda before=before: server.archive.status().samples["received"] > before + 200_000)  # type: ignore[misc]
        if stall > 0 and server.archive.status().samples["dropped_queue"] > 100_000:
            break
    report = farm.end()
    settle(server)
    told = ledger(server.archive, since)
    assert told["received"] == sent_by(report, protocol), (told, report)
    assert told["received"] == told["stored"] + sum(told[cause] for cause in CAUSES)
    assert told["queue_full"] > 100_000
    assert told["stored"] == samples(server.archive)
    server.terminate()
    server.start()
    assert ledger(server.archive, since) == told, "the same after a restart"


def test_a_hundred_thousand_updates_beyond_a_cap_are_counted_one_by_one(
    farms: list[Farm], servers: Callable[..., Pvark]
) -> None:
    farm = Farm("--queue", "0", "--drain", "20", "--group", f"name=F:,count={COUNT},rate=50")
    farms.append(farm)
    server = servers(farm)
    capped = [{"name": f"ca://{name}", "rate_cap": 2, "burst": 1} for name in NAMES]
    status, _, body = server.request("POST", "/api/v1/pvs", json.dumps({"pvs": capped}).encode())
    assert status == 200, body
    since = np.datetime64(time.time_ns(), "ns") - np.timedelta64(600, "s")
    wait_for("all to be connected", lambda: server.archive.status().pvs["connected"] == COUNT)
    wait_for("the losses", lambda: server.archive.status().samples["rate_capped"] > 100_000, 120)
    report = farm.end()
    wait_for("the farm to be gone", lambda: server.archive.status().pvs["connected"] == 0, 60)

    def settled() -> bool:
        told = ledger(server.archive, since)
        return told["received"] == sent_by(report, "ca") == told["stored"] + told["rate_capped"]

    wait_for("each update to be stored or counted as capped", settled, 60, 1)
    told = ledger(server.archive, since)
    assert told["rate_capped"] > 100_000 and told["stored"] == samples(server.archive), told
    for name in NAMES[:10]:
        reasons = {reason.kind: reason.lost for reason in server.archive.explain(name, since).reasons}
        rows = server.archive.ledger(name, since)
        assert reasons["rate_capped"] == sum(row.lost["rate_capped"] for row in rows) > 0, reasons

    def is_durable() -> bool:
        status = server.archive.status()
        return status.durable == status.appended

    wait_for("everything to be durable", is_durable, 60)
    server.kill()
    server.start()
    again = ledger(server.archive, since)
    accounted = again["stored"] + again["rate_capped"] + again["waiting"]
    assert again["received"] == accounted and again["stored"] == told["stored"], (
        told,
        again,
    )


def test_what_a_server_threw_away_is_suspected_by_channel_access_and_counted_by_a_counter(
    farms: list[Farm], servers: Callable[..., Pvark]
) -> None:
    """Four places in the queue of each subscription, as in an IOC, and a client that does not read."""
    farm = Farm("--queue", "4", "--drain", "20", "--group", f"name=F:,count={COUNT},rate=250,type=f64,length=200")
    farms.append(farm)
    server = servers(farm)
    since = begin(server, "ca")
    assert server.process is not None
    stalled = np.datetime64(time.time_ns(), "ns")
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(6)  # the stall itself: what the kernel holds is full by then
    server.process.send_signal(signal.SIGCONT)
    wait_for("news", lambda: len(server.archive.get(NAMES[0], stalled)) > 100)
    report = farm.end()
    settle(server)
    replaced = int(report["dropped: a newer took its place"])
    assert replaced > 100_000, report
    told = ledger(server.archive, since)
    assert told["received"] == told["stored"] == sent_by(report, "ca")
    missing = 0
    for name in NAMES:
        plain = server.archive.explain(name, since)
        assert plain.complete in ("suspected", "incomplete"), plain
        assert "suspected" in {reason.kind for reason in plain.reasons}, plain
    wave = [server.archive.get(name, ALWAYS) for name in NAMES]
    for each in wave:
        counts = [int(value[0]) for value in each.values]
        missing += sum(after - before - 1 for before, after in zip(counts, counts[1:], strict=False))
    assert missing == replaced, (missing, replaced)
    # Whoever looks at the archiver as a whole is told, also after a restart.
    for restart in (False, True):
        if restart:
            assert server.terminate() == 0
            server.start()
        (hole,) = wait_for("the hole to be told", lambda: holes(server), 70)
        assert hole.startswith("In the last 6 hours ") and f" {COUNT} PVs may be missing" in hole, hole
        trouble = server.json("/api/v1/status")["trouble"]
        assert trouble["suspected_pvs"] == COUNT and trouble["suspected_seconds_max"] > 1 and trouble["last"], trouble


def holes(server: Pvark) -> list[str]:
    """What is told as a problem of updates that may be missing."""
    return [problem for problem in server.archive.status().problems if "may be missing" in problem]


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_a_hundred_thousand_updates_lost_in_storms_lie_in_gaps_that_are_on_record(
    farms: list[Farm], servers: Callable[..., Pvark], protocol: str
) -> None:
    """All circuits break again and again, while the values count on."""
    group = f"name=F:,count={COUNT},rate=500"
    farm = Farm("--queue", "0", "--drain", "20", "--storm", "1.5", "--protocol", protocol, "--group", group)
    farms.append(farm)
    server = servers(farm)
    server.archive.add(*(f"{protocol}://{name}" for name in NAMES))
    since = np.datetime64(time.time_ns(), "ns") - np.timedelta64(600, "s")

    def missing_of(pv: str) -> int:
        proof = server.archive.explain(pv, since, proof="counter").proof
        return int(proof["missing"]) if proof else 0

    wait_for("the losses", lambda: missing_of(NAMES[0]) * COUNT > 120_000, 100, 1)
    farm.end()
    settle(server)

    def look() -> dict[str, tuple[int, int]]:
        """What each PV is missing, and in how many places, each of which must lie in a gap."""
        found = {}
        for name in NAMES:
            told = server.archive.explain(name, since, proof="counter")
            assert told.complete == "incomplete" and told.proof is not None and told.proof["restarts"] == 0, told
            gaps = [gap for gap in server.archive.gaps(name, since) if gap.cause == "disconnected"]
            places = [reason for reason in told.reasons if reason.kind == "missing"]
            for place in places:
                assert any(gap.start <= place.end and (gap.end is None or place.start <= gap.end) for gap in gaps), (
                    place
                )
            assert told.proof["missing"] == sum(place.lost for place in places)
            found[name] = (told.proof["missing"], len(places))
        return found

    found = look()
    assert sum(missing for missing, _ in found.values()) > 100_000, found
    server.kill()
    server.start()
    assert look() == found, "the same after a kill"


def test_kills_in_the_middle_of_flushes_leave_a_ledger_that_adds_up(
    farms: list[Farm], servers: Callable[..., Pvark]
) -> None:
    """The head is so small that one flush follows the other; each kill comes at another moment of one."""
    farm = Farm("--queue", "0", "--group", f"name=F:,count={COUNT},rate=100")
    farms.append(farm)
    server = servers(farm, "head_megabytes_max = 1\n")
    since = begin(server, "ca")
    flushes = 0
    for kill in range(6):
        wanted = server.archive.status().appended + 20_000 + 3_000 * kill
        wait_for("more samples", lambda wanted=wanted: server.archive.status().appended > wanted, every=0.002)  # type: ignore[misc]
        flushes = max(flushes, server.archive.status().store["segments"])
        server.kill()
        server.start()
        wait_for("all to be back", lambda: server.archive.status().pvs["connected"] == COUNT)
        starts = kill + 2
        before = samples(server.archive)
        told = ledger(server.archive, since)
        after = samples(server.archive)
        # A first value that is sent again is received again and read once.
        assert before <= told["stored"] <= after + starts * COUNT, (kill, before, told, after)
        assert told["received"] == told["stored"] + sum(told[cause] for cause in CAUSES)
        origins = {row.origin for name in NAMES[:5] for row in server.archive.ledger(name, since)}
        assert "rebuilt_in_part" not in origins, (kill, origins)
    assert flushes > 1


def test_a_full_disk_and_a_kill_leave_a_ledger_that_adds_up(
    farms: list[Farm], servers: Callable[..., Pvark], mount_small: Callable[[int], Path]
) -> None:
    folder = mount_small(40)
    farm = Farm("--queue", "0", "--drain", "20", "--group", f"name=F:,count={COUNT},rate=250")
    farms.append(farm)
    server = servers(farm, SMALL, folder / "data")
    since = begin(server, "ca")
    filler = folder / "filler"
    room = os.statvfs(folder)
    with filler.open("wb", buffering=0) as file:
        try:
            file.write(b"x" * (room.f_bavail * room.f_frsize))
        except OSError:
            pass

    def lost() -> int:
        return server.archive.status().samples["dropped_store"]

    wait_for("losses", lambda: lost() > 100_000, 60)
    assert server.archive.status().problems
    filler.unlink()
    before = server.archive.status().samples["stored"]
    wait_for("samples to be stored again", lambda: server.archive.status().samples["stored"] > before + 10_000, 60)
    report = farm.end()
    settle(server)
    told = ledger(server.archive, since)
    assert told["received"] == sent_by(report, "ca") == told["stored"] + told["store_refused"] + told["queue_full"]
    assert told["store_refused"] == lost() > 0 and told["stored"] == samples(server.archive)
    time.sleep(3)  # losses are told once a second, and are safe a second later
    server.kill()
    server.start()
    again = ledger(server.archive, since)
    assert again == told, "what the log had is counted anew, what a row had told stays told"

"""An IOC that comes back at its own address: restarted, only cut off, or nobody can say."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import Pvark
from ioc import Ioc
from referees import pva_context
from waiting import wait_for

RECORDS = """
record(calc, "R:ca") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "R:pva") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(ao, "R:set") { }
"""
PVS = ["R:ca", "R:pva", "R:set"]
RESTART_KINDS = {"ioc_restarted", "ioc_moved", "ioc_ran_on", "ioc_restart_suspected"}


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., Pvark]]:
    started: list[Pvark] = []

    def start(ioc: Ioc, repeater_port: int | None = None) -> Pvark:
        server = Pvark(tmp_path, [ioc], repeater_port=repeater_port)
        server.environment = {"EPICS_CA_CONN_TMO": "3", "EPICS_PVA_CONN_TMO": "3"}
        started.append(server)
        server.start()
        # A record that is set once has a stamp in this run of the IOC, and none in the next.
        with pva_context(ioc) as context:
            context.put("R:set", {"value": 5.0}, timeout=10)
        server.archive.add("ca://R:ca", "pva://R:pva", "ca://R:set")
        server.wait_connected(*PVS)
        return server

    yield start
    for server in started:
        server.kill()


def beacons(server: Pvark) -> float:
    """How many were heard that said something new."""
    _, _, body = server.request("GET", "/metrics")
    (line,) = [line for line in body.decode().splitlines() if "client_beacons_of_note_total " in line]
    return float(line.split()[-1])


def told(archive: pvark.Archiver, pv: str, since: np.datetime64) -> list[pvark.Reason]:
    """What is said of the IOC."""
    return [reason for reason in archive.explain(pv, since).reasons if reason.kind in RESTART_KINDS]


def proofs(archive: pvark.Archiver, pv: str, since: np.datetime64) -> list[pvark.Reason]:
    """The restarts among these."""
    return [reason for reason in told(archive, pv, since) if reason.kind == "ioc_restarted"]


def lose(archive: pvark.Archiver, cut: Callable[[], object], mend: Callable[[], object]) -> np.datetime64:
    """Ends the connection to the IOC and waits until all PVs are back; gives the time before."""
    since = np.datetime64(time.time_ns(), "ns")
    cut()
    wait_for("the loss to be noticed", lambda: archive.status().pvs["connected"] == 0, 60)
    mend()
    wait_for("all PVs to come back", lambda: archive.status().pvs["connected"] == len(PVS), 60)
    for pv in PVS:
        wait_for("the end of the gap", lambda pv=pv: archive.gaps(pv, since)[-1].end, 30)  # type: ignore[misc]
    return since


def test_a_restart_at_the_same_address_is_proved_by_beacons(
    start_ioc: Callable[[str], Ioc], record: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = record(ioc, ioc.repeater_port)
    archive = server.archive
    wait_for("a beacon of the first run", lambda: beacons(server) > 0, 40)
    for _ in range(2):
        # A restart can be told when a beacon of the run before was heard that is not one of its first three. They come
        # 0.02, 0.06, 0.14 s after its start, and each time after twice as long.
        time.sleep(7)
        since = lose(archive, ioc.kill, ioc.start)
        for pv in PVS:
            # The first beacon may come after the first value.
            (reason,) = wait_for("the proof", lambda pv=pv, since=since: proofs(archive, pv, since), 60)  # type: ignore[misc]
            assert [one.kind for one in told(archive, pv, since)] == ["ioc_restarted"], pv
            (gap,) = [gap for gap in archive.gaps(pv, since) if gap.scope == "pv"]
            assert gap.start <= reason.start <= np.datetime64(time.time_ns(), "ns"), (gap, reason)
        assert "beacons" in told(archive, "R:ca", since)[0].text
        assert "another server" in told(archive, "R:pva", since)[0].text


def test_without_beacons_a_record_that_lost_its_stamp_proves_it_and_else_it_is_suspected(
    start_ioc: Callable[[str], Ioc], record: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    archive = record(ioc).archive
    since = lose(archive, ioc.kill, ioc.start)
    assert [reason.kind for reason in told(archive, "R:ca", since)] == ["ioc_restart_suspected"]
    (reason,) = told(archive, "R:set", since)
    assert reason.kind == "ioc_restarted" and "processed" in reason.text, reason
    assert [reason.kind for reason in told(archive, "R:pva", since)] == ["ioc_restarted"]


def test_an_ioc_that_only_hung_is_not_said_to_be_restarted(
    start_ioc: Callable[[str], Ioc], record: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    archive = record(ioc, ioc.repeater_port).archive
    process = ioc.process
    assert process is not None
    since = lose(archive, lambda: process.send_signal(signal.SIGSTOP), lambda: process.send_signal(signal.SIGCONT))
    assert [reason.kind for reason in told(archive, "R:ca", since)] == ["ioc_restart_suspected"]
    assert [reason.kind for reason in told(archive, "R:pva", since)] == ["ioc_ran_on"]

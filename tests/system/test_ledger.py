"""The ledger: what became of every update adds up, whatever happens to the archiver, and the reasons can be told."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import numpy as np
import pvark
from archiver import Pvark, run_program
from ioc import Ioc
from waiting import wait_for

RECORDS = "".join(f'record(calc, "L:{i}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for i in range(20))
RECORDS += 'record(ai, "L:quiet") { field(VAL, "7") field(PINI, "YES") }\n'
RECORDS += 'record(ai, "L:never") { field(VAL, "7") }\n'
PVS = [f"L:{i}" for i in range(20)]
ALWAYS = "2000-01-01T00:00:00Z"
NO_LOSS = {"queue_full": 0, "store_refused": 0, "rate_capped": 0, "overrun": 0}


def kinds(archive: pvark.Archiver, pv: str, start: np.datetime64) -> set[str]:
    return {reason.kind for reason in archive.explain(pv, start).reasons}


def assert_adds_up(archive: pvark.Archiver, since: np.datetime64, starts: int) -> None:
    """Each row by itself, and all of them together with what is stored. A value that is sent again when the archiver
    connects anew is received and stored again, and read once."""
    for pv in PVS:
        rows = archive.ledger(pv, since)
        assert rows and all(row.adds_up for row in rows), rows
        assert all(row.lost == NO_LOSS for row in rows), rows
        # What arrives between the two questions is in the later one.
        samples = len(archive.get(pv, ALWAYS))
        stored = sum(row.stored for row in archive.ledger(pv, since))
        later = len(archive.get(pv, ALWAYS))
        assert samples <= stored <= later + starts, f"{pv}: {samples} to {later} samples, {stored} in the ledger"


def test_the_ledger_adds_up_after_kills_stalls_and_orderly_ends(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    archive = server.archive
    since = np.datetime64(time.time_ns(), "ns") - np.timedelta64(60, "s")
    archive.add(*PVS)
    server.wait_connected(*PVS)
    for start in range(1, 5):
        newest = max(len(archive.get(pv, ALWAYS)) for pv in PVS)
        wait_for("more samples", lambda newest=newest: len(archive.get(PVS[-1], ALWAYS)) > newest + 10)  # type: ignore[misc]
        assert_adds_up(archive, since, start)
        assert server.process is not None
        if start == 1:
            server.terminate()
            server.start()
            continue
        if start == 2:
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(2)  # the stall itself
            server.process.send_signal(signal.SIGCONT)
            wait_for("it to go on", lambda: archive.status())
        server.kill()
        server.start()
        origins = {row.origin for row in archive.ledger(PVS[0], since)}
        assert "rebuilt" in origins and "rebuilt_in_part" not in origins, origins
        assert {"archiver_stopped", "killed"} <= kinds(archive, PVS[0], since)


def test_why_there_is_no_data_is_told(start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    archive = server.archive
    archive.add("L:0", "L:quiet", "L:never", "L:nobody")
    server.wait_connected("L:0", "L:quiet", "L:never")
    settled = np.datetime64(time.time_ns(), "ns")
    wait_for("a few samples", lambda: len(archive.get("L:0", settled)) > 10)

    told = archive.explain("L:0", settled)
    assert told.complete == "unproved", "Channel Access proves nothing by itself"
    proved = archive.explain("L:0", settled, proof="counter")
    assert proved.complete == "proved" and proved.proof is not None and proved.proof["missing"] == 0, proved
    # A stamp that was never set is told of, and a value that does not change.
    (never,) = [row for row in archive.ledger("L:never") if row.received]
    assert never.stamps["never_set"] == 1 and never.stored == 1
    assert kinds(archive, "L:quiet", settled) == {"no_change"}
    assert "never_connected" in kinds(archive, "L:nobody", settled)

    paused = np.datetime64(time.time_ns(), "ns")
    archive.pause("L:0")
    wait_for("the pause to be told", lambda: "paused" in kinds(archive, "L:0", paused))
    archive.resume("L:0")
    wait_for("samples again", lambda: len(archive.get("L:0", paused)) > 5)
    after = archive.explain("L:0", settled, proof="counter")
    assert after.complete == "incomplete"
    missing = [reason for reason in after.reasons if reason.kind == "missing"]
    assert sum(reason.lost for reason in missing) == (after.proof or {})["missing"]

    killed = np.datetime64(time.time_ns(), "ns")
    ioc.kill()
    wait_for("the loss to be noticed", lambda: "disconnected" in kinds(archive, "L:0", killed), 40)
    printed = run_program("explain", "L:0", "--from", "-1h", "--server", server.url)
    assert printed.returncode == 0, printed.stderr
    assert "The PV was paused by 127.0.0.1" in printed.stdout and "The connection to the IOC was lost" in printed.stdout

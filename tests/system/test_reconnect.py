"""IOCs come and go: PVs come back by themselves, and the time between is on record."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pvark
from archiver import Pvark
from ioc import Ioc
from waiting import wait_for

COUNT = 200
COUNTERS = "".join(f'record(calc, "R:{i}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for i in range(COUNT))
CA = [f"R:{i}" for i in range(COUNT // 2)]
PVA = [f"R:{i}" for i in range(COUNT // 2, COUNT)]
ADDRESSES = [*(f"ca://{pv}" for pv in CA), *(f"pva://{pv}" for pv in PVA)]


def states(archive: pvark.Archiver) -> dict[str, int]:
    return archive.status().pvs


def test_all_pvs_come_back_in_seconds_and_the_gap_is_on_record(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(COUNTERS)
    archive = start_pvark(ioc).archive
    archive.add(*ADDRESSES)
    wait_for("all PVs to connect", lambda: states(archive)["connected"] == COUNT)
    started = time.monotonic()
    # More than the IOC has when the PVs come back, however busy the machine is.
    wait_for("seconds of samples", lambda: len(archive.get(CA[0])) > 60 and len(archive.get(PVA[0])) > 60)

    killed = np.datetime64(time.time_ns(), "ns")
    ioc.kill()
    wait_for("the loss to be noticed", lambda: states(archive)["connected"] == 0, 30)
    dead_until = np.datetime64(time.time_ns(), "ns")
    ioc.start()
    back = np.datetime64(time.time_ns(), "ns")
    started = time.monotonic()
    wait_for("all PVs to come back", lambda: states(archive)["connected"] == COUNT, 30)
    assert time.monotonic() - started < 15

    for pv in (CA[0], CA[-1], PVA[0], PVA[-1]):
        wait_for("new samples", lambda pv=pv: len(archive.get(pv, back)) > 5)  # type: ignore[misc]
        (gap,) = [gap for gap in archive.gaps(pv, "2000-01-01T00:00:00Z") if gap.cause == "disconnected"]
        assert gap.scope == "pv"
        assert killed - np.timedelta64(1, "s") <= gap.start <= killed + np.timedelta64(5, "s")
        assert gap.end is not None and gap.end >= back - np.timedelta64(5, "s")
        # It ends when the first value arrives, which a busy machine sends some time after it was stamped.
        assert len(archive.get(pv, gap.start, dead_until)) <= 1, "a gap holds at most the sample that opens it"
        samples = archive.get(pv, "2000-01-01T00:00:00Z")
        before, after = samples.values[samples.times < killed], samples.values[samples.times >= killed]
        assert np.all(np.diff(before) == 1) and np.all(np.diff(after) == 1)
        assert after[0] < before[-1], "the IOC began anew"
        assert archive.pv(pv).details["reconnects"] == 1


def test_pvs_that_nobody_serves_slow_no_other_and_are_on_record_as_never_connected(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(COUNTERS)
    archive = start_pvark(ioc).archive
    archive.add(*(f"{protocol}://NOBODY:{i}" for protocol in ("ca", "pva") for i in range(500)))
    archive.add(*ADDRESSES)
    started = time.monotonic()
    wait_for("those that exist to connect", lambda: states(archive)["connected"] == COUNT, 10)
    assert time.monotonic() - started < 10
    assert states(archive)["searching"] == 500, "a name is archived once, by the protocol given last"
    nobody = archive.pv("NOBODY:7")
    assert nobody.state == "searching"
    (gap,) = archive.gaps("NOBODY:7", "2000-01-01T00:00:00Z")
    assert (gap.cause, gap.end) == ("never_connected", None)


def test_a_pv_that_appears_later_is_found(
    tmp_path: Path, start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = Ioc.of_records(tmp_path, COUNTERS)
    archive = start_pvark(ioc).archive
    archive.add("ca://R:0", "pva://R:150")
    wait_for("both to be searched for", lambda: states(archive)["searching"] == 2)
    try:
        ioc.start()
        wait_for("both to connect", lambda: states(archive)["connected"] == 2, 40)
        for pv in ("R:0", "R:150"):
            # The connection is told at once, the end of the gap when it is written.
            wait_for("the closed gap", lambda pv=pv: archive.gaps(pv, "2000-01-01T00:00:00Z")[0].end)  # type: ignore[misc]
            (gap,) = archive.gaps(pv, "2000-01-01T00:00:00Z")
            assert gap.cause == "never_connected" and gap.end is not None
    finally:
        ioc.kill()


def test_pausing_stops_and_resuming_goes_on_with_the_pause_on_record(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    archive = start_pvark(start_ioc(COUNTERS)).archive
    archive.add("ca://R:0")
    wait_for("samples", lambda: len(archive.get("R:0")) > 5)
    assert (archive.pause("R:0"), archive.pause("R:0")) == ("paused", "already_paused")
    paused = np.datetime64(time.time_ns(), "ns")
    wait_for("the state", lambda: archive.pv("R:0").state == "paused")
    later = paused + np.timedelta64(300, "ms")
    wait_for("a time without samples", lambda: np.datetime64(time.time_ns(), "ns") > later + np.timedelta64(1, "s"))
    assert len(archive.get("R:0", later)) == 0
    assert archive.resume("R:0") == "resumed"
    wait_for("samples again", lambda: len(archive.get("R:0", paused)) > 5)
    (gap,) = [gap for gap in archive.gaps("R:0") if gap.cause == "paused"]
    assert abs(gap.start - paused) < np.timedelta64(2, "s") and gap.end is not None
